//! How texts become fingerprints: options of every command that reads texts.

use super::values;
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
    /// How texts become fingerprints: minhash, simhash, simhash-py, seomoz-cpp, notebook, chinese,
    /// cjk, exact, or a complete recipe in its printed form [default: minhash; simhash for
    /// `fingerprint`, or with options that only simhashes have]
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
    /// Steps that clean a text first: none, or some of html, nfc or nfkc, harakat, tatweel, lower
    #[arg(long, value_name = "STEPS")]
    clean: Option<String>,
    /// Tokenizer: words (runs of \w; each Chinese, Japanese, Korean or Thai character), non-alpha
    /// (ASCII letters), word (\w+ of Python), whitespace, space (split at each space), char (letters
    /// and digits), jieba (Chinese words)
    #[arg(long, value_name = "TOKENS")]
    tokens: Option<String>,
    /// Stop words to drop: none; english (NLTK's list), or the two letters of another language: de, fr, ru,
    /// …; or a file of words between white space. The recipe holds the words
    #[arg(long, value_name = "WORDS", value_parser = values::stop_words)]
    stop: Option<String>,
    /// Number of consecutive tokens in a feature; N,M with M from such a character on; N,L-M with
    /// all numbers from L to M; or all: the whole text is one
    #[arg(long, value_name = "N")]
    shingle: Option<String>,
    /// How the tokens of a feature are joined: space, nothing, or cyclic (a rolling hash)
    #[arg(long, value_name = "HOW")]
    join: Option<String>,
    /// Features of a text with fewer tokens than --shingle: one feature, none, or its tokens
    #[arg(long, value_name = "one|none|tokens")]
    short: Option<String>,
    /// Weight of a feature: frequency, one, or tfidf:K (the K best words of jieba)
    #[arg(long, value_name = "WEIGHTS")]
    weights: Option<String>,
    /// Hash of a feature: xxh3, md5-be64, md5:B (its lowest B bits), jenkins; or minhash:BxN,R
    /// instead of a simhash: B bands of N bits with R MinHash values each, and a sketch
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Width of a fingerprint in bits: 64, 128 or 256 [default: the width of the recipe]
    #[arg(long, value_name = "BITS")]
    width: Option<String>,
}

impl RecipeArgs {
    /// The recipe of the options: the named one or the default, with the parts that other options
    /// set.
    pub(crate) fn recipe(&self) -> Result<Recipe, Failure> {
        match &self.recipe {
            None => Ok(Recipe::of_parts(self.given_parts())?),
            Some(named) => Ok(named.parse::<Recipe>()?.with(self.given_parts())?),
        }
    }

    /// The same with another default.
    pub(crate) fn recipe_or(
        &self,
        default: impl FnOnce() -> Result<Recipe, Failure>,
    ) -> Result<Recipe, Failure> {
        let base = self.recipe.as_deref().map_or_else(default, |named| Ok(named.parse()?))?;
        Ok(base.with(self.given_parts())?)
    }

    /// The recipe, if it is one for pictures.
    pub(crate) fn of_pictures(&self) -> Option<nearprint_image::Recipe> {
        self.recipe.as_deref()?.parse().ok()
    }

    /// The parts that options set, by name.
    pub(crate) fn given_parts(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.parts().into_iter().chain([("width", &self.width)]);
        parts.filter_map(|(part, value)| Some((part, value.as_deref()?)))
    }

    /// The same, or `None` if no option but the width is given.
    pub(crate) fn given(&self) -> Result<Option<Recipe>, Failure> {
        if self.is_given() { self.recipe().map(Some) } else { Ok(None) }
    }

    /// Whether an option other than the width is given.
    pub(crate) fn is_given(&self) -> bool {
        self.recipe.is_some() || self.parts().iter().any(|(_, value)| value.is_some())
    }

    /// Whether any option is given.
    pub(crate) fn is_anything_given(&self) -> bool {
        self.is_given() || self.width.is_some()
    }

    /// The options that set parts of the recipe, without the width.
    fn parts(&self) -> [(&'static str, &Option<String>); 8] {
        [
            ("clean", &self.clean),
            ("tokens", &self.tokens),
            ("stop", &self.stop),
            ("shingle", &self.shingle),
            ("join", &self.join),
            ("short", &self.short),
            ("weights", &self.weights),
            ("hash", &self.hash),
        ]
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
        TestCli::try_parse_from(line.split(' ')).unwrap().recipe
    }

    #[test]
    fn every_part_has_a_flag() {
        let whole: Recipe =
            "clean=lower tokens=char stop=english shingle=3 join=nothing short=none weights=one \
                             hash=xxh3 width=128"
                .parse()
                .unwrap();
        let flags =
            whole.to_string().split(' ').map(|part| format!("--{part}")).collect::<Vec<_>>().join(" ");
        for name in Recipe::names().filter(|name| *name != "chinese") {
            let line = format!("x --recipe {name} {flags}");
            assert_eq!(args(&line).recipe().unwrap(), whole, "{name}");
        }
        let parts = args(&format!("x {flags}"));
        assert_eq!(parts.given().unwrap().unwrap(), whole);
    }

    #[test]
    fn a_width_alone_is_not_a_recipe() {
        assert_eq!(args("x").given().unwrap(), None);
        assert_eq!(args("x --width 128").given().unwrap(), None);
        assert_eq!(args("x --recipe simhash").given().unwrap(), Some("simhash".parse().unwrap()));
        assert_eq!(args("x --width 128").recipe().unwrap(), "width=128".parse().unwrap());
        assert!(matches!(args("x --hash sha1").recipe(), Err(Failure::Usage(why)) if why.contains("md5:B")));
    }
}
