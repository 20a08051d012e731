//! `nearprint compare`

use std::path::PathBuf;

use crate::args::{GlobalArgs, NearArgs, RecipeArgs, values};
use crate::input::documents::{for_each_text, warn};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::{BandLayout, Fingerprint, Width, WidthVisitor};
use nearprint_text::recipe::Recipe;

/// Print in how many bits the fingerprints of two texts differ
///
/// The fingerprints are MinHash by default, of which the bits of the sketches are compared. The exit
/// code says whether the texts are near-duplicates: 0 for a distance of at most K and, for MinHash,
/// an equal band; 6 otherwise. A and B can also be fingerprints: of 64 or 128 bits in decimal or
/// hexadecimal, of 256 bits in hexadecimal. All their bits are compared, unless --recipe says that
/// they are MinHash.
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
    #[command(flatten)]
    near: NearArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let recipe = self.recipe.recipe()?;
        let (distance, is_near) = match self.compared_fingerprints()? {
            Some(found) => found,
            None => recipe.width().visit(TextComparison { args: &self, recipe: &recipe, global })?,
        };
        let mut out = OutputStream::stdout();
        out.write(|out| writeln!(out, "{distance}"))?;
        out.flush()?;
        if is_near { Ok(()) } else { Err(Failure::NotNearDuplicates) }
    }

    /// The distance, and whether they are near, if both arguments are fingerprints and not names of
    /// files. Their width is the smallest one in which both can be parsed.
    fn compared_fingerprints(&self) -> Result<Option<(u32, bool)>, Failure> {
        if self.a.exists() || self.b.exists() {
            return Ok(None);
        }
        let Some((a, b)) = self.a.to_str().zip(self.b.to_str()) else { return Ok(None) };
        let recipe = self.recipe.given()?;
        // A recipe determines the width.
        let is_possible = |width: &Width| recipe.as_ref().is_none_or(|recipe| recipe.width() == *width);
        let mut widths = Width::ALL.into_iter().filter(is_possible);
        let parsed = widths.find_map(|width| width.visit(Parsed { a, b, recipe: recipe.as_ref() }));
        let Some((distance, width, bands, shares_band)) = parsed else { return Ok(None) };
        let default =
            recipe.filter(|_| bands.is_some()).map_or(values::DEFAULT_K, |recipe| recipe.default_k());
        let k = self.near.k(bands, width)?.unwrap_or(default);
        Ok(Some((distance, shares_band && distance <= k)))
    }

    /// The distance of the texts in two files, and whether they are near.
    fn compared_texts<F: Fingerprint>(
        &self,
        recipe: &Recipe,
        global: GlobalArgs,
    ) -> Result<(u32, bool), Failure> {
        let k = self.near.k(recipe.bands(), F::WIDTH)?.unwrap_or(recipe.default_k());
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
        let distance = recipe.distance(a.value, b.value);
        if let Some(bands) = recipe.bands() {
            let similarity = bands.similarity(F::WIDTH, distance);
            if [a, b].iter().any(|text| text.value == F::default()) {
                global.note(format_args!("a text without a token is near no other"));
            } else if bands.shares_band(a.value, b.value) {
                global.note(format_args!("similarity about {similarity:.2}"));
            } else {
                global.note(format_args!("similarity about {similarity:.2}; not near, as no band is equal"));
            }
        }
        Ok((distance, recipe.near(k).distance(a.value, b.value).is_some()))
    }
}

/// Two fingerprints of a width, to be parsed and compared.
struct Parsed<'a> {
    a: &'a str,
    b: &'a str,
    /// The recipe of the options.
    recipe: Option<&'a Recipe>,
}

impl WidthVisitor for Parsed<'_> {
    /// The distance, the width, the bands if the recipe makes some, and whether one is equal; true
    /// without bands. `None` if the texts cannot be parsed.
    type Output = Option<(u32, Width, Option<BandLayout>, bool)>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        let (a, b) = (F::parse(self.a).ok()?, F::parse(self.b).ok()?);
        let bands = self.recipe.and_then(Recipe::bands);
        Some(match bands {
            Some(layout) => {
                let shares_band = layout.near(a, b, F::BITS).is_some();
                (layout.sketch_distance(a, b), F::WIDTH, bands, shares_band)
            }
            None => (a.distance(b), F::WIDTH, None, true),
        })
    }
}

/// Compares two texts with fingerprints of the width of the recipe.
struct TextComparison<'a> {
    args: &'a Args,
    recipe: &'a Recipe,
    global: GlobalArgs,
}

impl WidthVisitor for TextComparison<'_> {
    type Output = Result<(u32, bool), Failure>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.args.compared_texts::<F>(self.recipe, self.global)
    }
}
