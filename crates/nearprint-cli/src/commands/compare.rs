//! `nearprint compare`

use std::path::PathBuf;

use crate::documents::{for_each_text, warn};
use crate::failure::Failure;
use crate::output::Output;
use crate::recipe::RecipeArgs;
use crate::{Global, values};
use nearprint::{Fingerprint, U256, Width, WidthVisitor};
use nearprint_text::recipe::Recipe;

/// Tell in how many bits the fingerprints of two texts differ
///
/// Prints the distance. The exit code says whether they are near-duplicates: 0 for a distance of at most
/// K, 6 for more. Fingerprints may be compared as well: of 64 or 128 bits in decimal or hexadecimal, of 256 bits in
/// hexadecimal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint compare old.txt new.txt -k 6
  nearprint compare page-1.html page-2.html --clean html,nfc,lower
  nearprint compare 0x1f3a 0x1f3b")]
pub(crate) struct Args {
    /// A file of text, - for standard input; or both are fingerprints
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other one
    #[arg(value_name = "B")]
    b: PathBuf,
    /// How many bits may differ between near-duplicates
    #[arg(short, value_name = "K", default_value = "3", value_parser = values::distance)]
    k: u32,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let recipe = self.recipe.recipe()?;
        let (distance, width) = match self.of_fingerprints() {
            Some(found) => found,
            None => {
                let width = recipe.width();
                (width.visit(OfTexts { args: &self, recipe: &recipe, global })?, width)
            }
        };
        width.check_distance(self.k)?;
        let mut out = Output::stdout();
        out.write(|out| writeln!(out, "{distance}"))?;
        out.flush()?;
        if distance <= self.k { Ok(()) } else { Err(Failure::NotNear) }
    }

    /// The distance and the width where both arguments are fingerprints, and no files have these names. The
    /// width is the first one in which both can be read.
    fn of_fingerprints(&self) -> Option<(u32, Width)> {
        if self.a.exists() || self.b.exists() {
            return None;
        }
        let (a, b) = (self.a.to_str()?, self.b.to_str()?);
        distance_of::<u64>(a, b).or_else(|| distance_of::<u128>(a, b)).or_else(|| distance_of::<U256>(a, b))
    }

    fn of_texts<F: Fingerprint>(&self, recipe: &Recipe, global: Global) -> Result<u32, Failure> {
        if self.a == self.b && self.a.as_os_str() == "-" {
            return Err(Failure::Usage("standard input can be only one of the two".into()));
        }
        let mut fingerprinter = recipe.fingerprinter::<F>()?;
        let mut found = Vec::new();
        let inputs = [self.a.clone(), self.b.clone()];
        let num_replaced =
            for_each_text(&inputs, &mut |record| found.push(fingerprinter.fingerprint(&record.text)))?;
        let [a, b] = found[..] else {
            return Err(Failure::Usage(format!("two texts are compared, and here are {}", found.len())));
        };
        warn(global, num_replaced, [a, b].iter().filter(|found| found.num_tokens == 0).count() as u64);
        Ok(a.value.distance(b.value))
    }
}

/// The distance of two texts that are fingerprints of a width, and that width.
fn distance_of<F: Fingerprint>(a: &str, b: &str) -> Option<(u32, Width)> {
    Some((F::parse(a).ok()?.distance(F::parse(b).ok()?), F::WIDTH))
}

/// Compares two texts, with fingerprints of the recipe's width.
struct OfTexts<'a> {
    args: &'a Args,
    recipe: &'a Recipe,
    global: Global,
}

impl WidthVisitor for OfTexts<'_> {
    type Output = Result<u32, Failure>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.args.of_texts::<F>(self.recipe, self.global)
    }
}
