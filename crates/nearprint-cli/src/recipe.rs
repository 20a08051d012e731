//! The options that say how texts become fingerprints, the same for every command that takes texts.

use super::failure::Failure;
use nearprint_text::recipe::{Recipe, RecipeError};

/// A named recipe, or one with parts of its own.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Recipe options")]
pub(super) struct RecipeArgs {
    /// How texts become fingerprints: default, simhash-py, seomoz-cpp, notebook, chinese, cjk, or a whole
    /// recipe as it is printed [default: default]
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
    /// What is done to a text first: none, or some of html,nfc,lower
    #[arg(long, value_name = "STEPS")]
    clean: Option<String>,
    /// What is a token: non-alpha (ASCII letters), word (\w+), unicode (words by UAX #29), whitespace,
    /// space (split at each space), char (letters and digits), jieba (Chinese words)
    #[arg(long, value_name = "TOKENS")]
    tokens: Option<String>,
    /// Tokens to drop: none, or english (NLTK's stop words)
    #[arg(long, value_name = "WORDS")]
    stop: Option<String>,
    /// Neighbouring tokens that make a feature
    #[arg(long, value_name = "N")]
    shingle: Option<String>,
    /// What joins them: space, nothing, or cyclic (a rolling hash)
    #[arg(long, value_name = "HOW")]
    join: Option<String>,
    /// A text with fewer tokens than that is one feature, or has none
    #[arg(long, value_name = "one|none")]
    short: Option<String>,
    /// What a feature counts for: frequency, one, or tfidf:K (the K best words of jieba)
    #[arg(long, value_name = "WEIGHTS")]
    weights: Option<String>,
    /// How features are hashed: xxh3, md5-be64, md5:B (its lowest B bits), jenkins
    #[arg(long, value_name = "HASH")]
    hash: Option<String>,
    /// Width of a fingerprint in bits: 64, 128 or 256 [default: what the recipe says]
    #[arg(long, value_name = "BITS")]
    width: Option<String>,
}

impl From<RecipeError> for Failure {
    fn from(error: RecipeError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl RecipeArgs {
    /// The recipe that the options ask for, and the default one where they ask for none.
    pub(super) fn recipe(&self) -> Result<Recipe, Failure> {
        let base: Recipe = self.recipe.as_deref().unwrap_or("default").parse()?;
        let parts = self.parts().into_iter().chain([("width", &self.width)]);
        Ok(base.with(parts.filter_map(|(part, value)| Some((part, value.as_deref()?))))?)
    }

    /// The same, `None` where no option but the width is given.
    pub(super) fn given(&self) -> Result<Option<Recipe>, Failure> {
        let is_given = self.recipe.is_some() || self.parts().iter().any(|(_, value)| value.is_some());
        if is_given { self.recipe().map(Some) } else { Ok(None) }
    }

    /// Whether the options settle the width: one of them is it, or they give a recipe of some width.
    pub(super) fn tells_width(&self) -> Result<bool, Failure> {
        Ok(self.width.is_some() || self.given()?.is_some())
    }

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
    struct Line {
        #[command(flatten)]
        recipe: RecipeArgs,
    }

    fn args(line: &str) -> RecipeArgs {
        Line::try_parse_from(line.split(' ')).unwrap().recipe
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
    fn it_is_known_whether_a_recipe_was_asked_for() {
        assert_eq!(args("x").given().unwrap(), None);
        assert_eq!(args("x --width 128").given().unwrap(), None);
        assert_eq!(args("x --recipe default").given().unwrap(), Some("default".parse().unwrap()));
        assert_eq!(args("x --width 128").recipe().unwrap(), "width=128".parse().unwrap());
        assert!(matches!(args("x --hash sha1").recipe(), Err(Failure::Usage(why)) if why.contains("md5:B")));
    }
}
