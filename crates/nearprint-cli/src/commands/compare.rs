//! `nearprint compare`

use std::path::PathBuf;

use crate::args::{GlobalArgs, RecipeArgs, values};
use crate::input::documents::{for_each_text, warn};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::{Fingerprint, U256, Width, WidthVisitor};
use nearprint_text::recipe::Recipe;

/// Print in how many bits the fingerprints of two texts differ
///
/// The exit code says whether the texts are near-duplicates: 0 for a distance of at most K, 6 for
/// more. A and B can also be fingerprints: of 64 or 128 bits in decimal or hexadecimal, of 256 bits
/// in hexadecimal.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint compare old.txt new.txt -k 6
  nearprint compare page-1.html page-2.html --clean html,nfc,lower
  nearprint compare 0x1f3a 0x1f3b")]
pub(super) struct Args {
    /// A file of text, - for standard input; or a fingerprint, if B is one too
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The other text or fingerprint
    #[arg(value_name = "B")]
    b: PathBuf,
    /// How many bits may differ between near-duplicates
    #[arg(short, value_name = "K", default_value = "3", value_parser = values::distance, allow_negative_numbers = true)]
    k: u32,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let recipe = self.recipe.recipe()?;
        let (distance, width) = match self.distance_of_fingerprints() {
            Some(found) => found,
            None => {
                let width = recipe.width();
                (width.visit(TextComparison { args: &self, recipe: &recipe, global })?, width)
            }
        };
        width.check_distance(self.k)?;
        let mut out = OutputStream::stdout();
        out.write(|out| writeln!(out, "{distance}"))?;
        out.flush()?;
        if distance <= self.k { Ok(()) } else { Err(Failure::NotNearDuplicates) }
    }

    /// The distance and the width if both arguments are fingerprints and not names of files. The
    /// width is the smallest one in which both can be parsed.
    fn distance_of_fingerprints(&self) -> Option<(u32, Width)> {
        if self.a.exists() || self.b.exists() {
            return None;
        }
        let (a, b) = (self.a.to_str()?, self.b.to_str()?);
        parsed_distance::<u64>(a, b)
            .or_else(|| parsed_distance::<u128>(a, b))
            .or_else(|| parsed_distance::<U256>(a, b))
    }

    /// The distance of the texts in two files.
    fn distance_of_texts<F: Fingerprint>(&self, recipe: &Recipe, global: GlobalArgs) -> Result<u32, Failure> {
        if self.a == self.b && self.a.as_os_str() == "-" {
            return Err(Failure::Usage("only one of the two can be standard input".into()));
        }
        let mut fingerprinter = recipe.fingerprinter::<F>()?;
        let mut found = Vec::new();
        let inputs = [self.a.clone(), self.b.clone()];
        let num_replaced =
            for_each_text(&inputs, &mut |record| found.push(fingerprinter.fingerprint(&record.text)))?;
        let [a, b] = found[..] else {
            return Err(Failure::Usage(format!(
                "`compare` needs two texts, but the inputs have {}",
                found.len()
            )));
        };
        warn(global, num_replaced, [a, b].iter().filter(|found| found.num_tokens == 0).count() as u64);
        Ok(a.value.distance(b.value))
    }
}

/// The distance of two fingerprints of a width, and the width. `None` if they cannot be parsed.
fn parsed_distance<F: Fingerprint>(a: &str, b: &str) -> Option<(u32, Width)> {
    Some((F::parse(a).ok()?.distance(F::parse(b).ok()?), F::WIDTH))
}

/// Compares two texts with fingerprints of the width of the recipe.
struct TextComparison<'a> {
    args: &'a Args,
    recipe: &'a Recipe,
    global: GlobalArgs,
}

impl WidthVisitor for TextComparison<'_> {
    type Output = Result<u32, Failure>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.args.distance_of_texts::<F>(self.recipe, self.global)
    }
}
