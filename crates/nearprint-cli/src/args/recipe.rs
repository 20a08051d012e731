//! How texts become fingerprints: options of every command that reads texts.

use std::path::Path;

use super::DecodingArgs;
use super::values::{self, RecipeLine};
use crate::terminal::failure::Failure;
use nearprint_text::recipe::Recipe;

/// Whether two recipes make the same fingerprints.
pub(crate) fn agree(one: &str, other: &str) -> bool {
    let parsed = one.parse::<Recipe>().ok().zip(other.parse::<Recipe>().ok());
    one == other || parsed.is_some_and(|(one, other)| one.makes_fingerprints_of(&other))
}

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Recipe options")]
pub(crate) struct RecipeArgs {
    /// How texts become fingerprints: minhash, simhash, simhash-py, seomoz-cpp, notebook, chinese, cjk or exact, parts
    /// as in 'tokens=char weights=one', or both [default: minhash; simhash for `fingerprint`, and with parts that only
    /// simhashes have]. clean= lists steps: cut:TEXT compares only what stands before the first TEXT, in which %20 is a
    /// space, %2C a comma and %25 a percent sign; html takes the visible text, detect-html that of pages only; nfc or
    /// nfkc normalize Unicode; harakat and tatweel remove Arabic signs; lower makes lower case; none does nothing.
    /// tokens= is words (runs of \w, and each Chinese, Japanese, Korean or Thai character), non-alpha (runs of ASCII
    /// letters), word (\w+ of Python), whitespace, space, char (each letter and digit) or jieba (Chinese words). stop=
    /// is none, english (NLTK's list), the two letters of another language, or a file of words. join= says what stands
    /// between the tokens of a feature: space, nothing or cyclic. short= says what the features of a text with fewer
    /// tokens than a shingle are: one, none or tokens. weights= is frequency, one, or tfidf:K (the K best words of
    /// jieba). hash= is xxh3, md5-be64, md5:B (its lowest B bits), jenkins, or minhash:BxN,R (B bands of N bits with R
    /// MinHash values each, and a sketch). width= is 64, 128, 256 or 320 bits
    #[arg(long, value_name = "RECIPE", value_parser = values::recipe)]
    recipe: Option<RecipeLine>,
    /// Number of consecutive tokens in a feature. N,M makes features of M tokens where they begin with a Chinese,
    /// Japanese, Korean or Thai character. N,L-M makes all of L to M tokens there. all makes one feature of the whole
    /// text
    #[arg(long, value_name = "N")]
    shingle: Option<String>,
}

impl RecipeArgs {
    /// The recipe of the options: the named one or the default, with the parts that other options
    /// set.
    pub(crate) fn recipe(&self) -> Result<Recipe, Failure> {
        match self.named() {
            None => Ok(Recipe::of_parts(self.given_parts()?)?),
            Some(named) => Ok(named.parse::<Recipe>()?.with(self.given_parts()?)?),
        }
    }

    /// The same with another default.
    pub(crate) fn recipe_or(
        &self,
        default: impl FnOnce() -> Result<Recipe, Failure>,
    ) -> Result<Recipe, Failure> {
        let base = self.named().map_or_else(default, |named| Ok(named.parse()?))?;
        Ok(base.with(self.given_parts()?)?)
    }

    fn line(&self) -> Option<&str> {
        self.recipe.as_ref().map(|recipe| &*recipe.line)
    }

    /// The file that its stop words are from.
    pub(crate) fn stop_words_file(&self) -> Option<&Path> {
        self.recipe.as_ref()?.stop_words.as_deref()
    }

    /// The recipe, if it is one for pictures.
    pub(crate) fn of_pictures(&self) -> Option<nearprint_image::Recipe> {
        self.line()?.parse().ok()
    }

    /// The recipe by which images are compared, by default PDQ. `None` if a command reads them as texts. Fails for a
    /// recipe of texts, which images have not.
    pub(crate) fn of_images(
        &self,
        decoding: &DecodingArgs,
        files: &[impl AsRef<Path>],
    ) -> Result<Option<nearprint_image::Recipe>, Failure> {
        match self.of_pictures() {
            Some(recipe) => Ok(Some(recipe)),
            None if decoding.preprocesses_any(files)? => Ok(None),
            None if self.is_given() => Err(Failure::Usage(
                "a recipe of texts, where all inputs are images; --pre makes texts of them".into(),
            )),
            None => Ok(Some(nearprint_image::Recipe::default())),
        }
    }

    /// The recipe, if it has a name.
    pub(crate) fn named(&self) -> Option<&str> {
        self.line().filter(|line| matches!(Recipe::parts_alone(line), Ok(None)))
    }

    /// The parts that replace those of a recipe, by name.
    pub(crate) fn given_parts(&self) -> Result<Vec<(&str, &str)>, Failure> {
        let mut parts = self.line().map_or(Ok(None), Recipe::parts_alone)?.unwrap_or_default();
        parts.extend(self.shingle.as_deref().map(|shingle| ("shingle", shingle)));
        Ok(parts)
    }

    /// The same, or `None` if no option is given.
    pub(crate) fn given(&self) -> Result<Option<Recipe>, Failure> {
        if self.is_given() { self.recipe().map(Some) } else { Ok(None) }
    }

    /// Whether any option is given.
    pub(crate) fn is_given(&self) -> bool {
        self.recipe.is_some() || self.shingle.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct TestCli {
        #[command(flatten)]
        recipe: RecipeArgs,
    }

    fn args(line: &str) -> RecipeArgs {
        TestCli::try_parse_from(line.split(' ').map(|word| word.replace('␣', " "))).unwrap().recipe
    }

    #[test]
    fn parts_are_of_the_named_recipe() {
        let made = args("x --recipe cjk␣weights=one␣stop=english␣width=128 --shingle 2").recipe().unwrap();
        let expected = "cjk weights=one stop=english shingle=2 width=128".parse::<Recipe>().unwrap();
        assert_eq!(made, expected);
        assert_eq!(args("x --recipe tokens=char").recipe().unwrap(), "tokens=char".parse().unwrap());
    }

    #[test]
    fn parts_alone_are_of_the_default() {
        assert_eq!(args("x").given().unwrap(), None);
        assert_eq!(args("x --recipe simhash").given().unwrap(), Some("simhash".parse().unwrap()));
        assert_eq!(args("x --recipe width=128").recipe().unwrap(), "width=128".parse().unwrap());
        assert!(
            matches!(args("x --recipe hash=sha1").recipe(), Err(Failure::Usage(why)) if why.contains("md5:B"))
        );
    }
}
