//! The recipes that `tune` tries.

use crate::terminal::failure::Failure;
use nearprint_text::recipe::Recipe;
use nearprint_text::tune::Cost;

/// The recipes that are tried if no option names one.
const DEFAULT_RECIPES: [&str; 2] = ["simhash", "minhash"];
/// The bands that are then tried, as in `hash=minhash:6x16,2`.
const DEFAULT_BANDS: [&str; 6] = ["6x16,1", "6x16,2", "6x24,2", "8x16,3", "10x14,3", "10x16,2"];
const DEFAULT_SHINGLES: std::ops::RangeInclusive<usize> = 1..=5;

/// A recipe that is tried.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) recipe: Recipe,
    pub(super) shingle: usize,
}

impl Candidate {
    /// The options of other commands that select the recipe, and the options of a distance between
    /// them.
    pub(super) fn options(&self, distance: &str) -> String {
        let Self { recipe, shingle } = self;
        let named = |name: &'static str| {
            let base = name.parse::<Recipe>().ok()?.with([("shingle", shingle.to_string().as_str())]).ok()?;
            let (line, base_line) = (recipe.to_string(), base.to_string());
            let differing = line.split(' ').zip(base_line.split(' ')).filter(|(part, base)| part != base);
            let parts: Vec<(&str, &str)> = differing.filter_map(|(part, _)| part.split_once('=')).collect();
            let is_same = base.with(parts.iter().copied()).is_ok_and(|made| made == *recipe);
            let flags: String = parts.iter().map(|(part, value)| format!(" {part}={value}")).collect();
            let quote = if parts.is_empty() { "" } else { "'" };
            let options = format!("--shingle {shingle}{distance} --recipe {quote}{name}{flags}{quote}");
            is_same.then_some((parts.len(), options))
        };
        let (_, options) =
            Recipe::names().filter_map(named).min_by_key(|(parts, _)| *parts).unwrap_or_default();
        options
    }

    /// The recipe's name with the parts that it does not have by default, without the shingle.
    pub(super) fn name(&self) -> String {
        let options = self.options("");
        let name = options.split_once("--recipe ").map_or("", |(_, name)| name);
        name.trim_matches('\'').replace("minhash hash=minhash:", "minhash:")
    }

    /// The part `hash` of the recipe.
    pub(super) fn hash(&self) -> String {
        let line = self.recipe.to_string();
        line.split(' ').find_map(|part| part.strip_prefix("hash=")).unwrap_or_default().to_string()
    }

    /// The similarity from which on texts share a band in at least half of all cases, if there are
    /// bands. It orders splits into bands and rows.
    pub(super) fn band_similarity(&self) -> Option<f64> {
        let count = f64::from(self.recipe.bands()?.count());
        let rows: f64 = self.hash().rsplit_once(',')?.1.parse().ok()?;
        Some((1.0 - 0.5f64.powf(1.0 / count)).powf(1.0 / rows))
    }
}

/// What is tried: the given recipe, or the default ones, with each shingle size and each split into
/// bands. Those with fewer bytes a row come first, because the first one of equally good ones is
/// recommended.
pub(super) fn candidates(
    given: Option<Recipe>,
    shingles: &[usize],
    bands: &[String],
) -> Result<Vec<Candidate>, Failure> {
    let (bases, bands) = match given {
        Some(recipe) if recipe.bands().is_none() && !bands.is_empty() => {
            return Err(Failure::Usage(
                "--try bands= needs a recipe of MinHash; this one makes simhashes".into(),
            ));
        }
        Some(recipe) => (vec![recipe], bands.to_vec()),
        None => {
            let bases: Result<Vec<Recipe>, _> = DEFAULT_RECIPES.iter().map(|name| name.parse()).collect();
            let default = || DEFAULT_BANDS.map(String::from).to_vec();
            (bases?, if bands.is_empty() { default() } else { bands.to_vec() })
        }
    };
    let mut candidates = Vec::new();
    for base in bases {
        for (shingle, recipe) in with_shingles(&base, shingles)? {
            if bands.is_empty() || recipe.bands().is_none() {
                candidates.push(Candidate { recipe, shingle });
                continue;
            }
            for bands in &bands {
                let recipe = recipe.with([("hash", format!("minhash:{bands}").as_str())])?;
                candidates.push(Candidate { recipe, shingle });
            }
        }
    }
    by_row_bytes(candidates)
}

/// Each candidate once, those with fewer bytes a row first, otherwise in their order.
fn by_row_bytes(candidates: Vec<Candidate>) -> Result<Vec<Candidate>, Failure> {
    let mut sorted: Vec<(f64, Candidate)> = Vec::new();
    for candidate in candidates {
        let cost = Cost::of(&candidate.recipe, candidate.recipe.default_k())?;
        if sorted.iter().all(|(_, other)| other.recipe != candidate.recipe) {
            sorted.push((cost.row_bytes, candidate));
        }
    }
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(sorted.into_iter().map(|(_, candidate)| candidate).collect())
}

/// A recipe with each of the shingle sizes, or with the default sizes that it allows.
fn with_shingles(base: &Recipe, shingles: &[usize]) -> Result<Vec<(usize, Recipe)>, Failure> {
    let with = |len: usize| Ok((len, base.with([("shingle", len.to_string().as_str())])?));
    if shingles.is_empty() {
        return Ok(DEFAULT_SHINGLES.filter_map(|len| with(len).ok()).collect());
    }
    let mut sizes = shingles.to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(given: Option<&str>, shingles: &[usize], bands: &[&str]) -> Vec<String> {
        let bands: Vec<String> = bands.iter().map(ToString::to_string).collect();
        let candidates = candidates(given.map(|given| given.parse().unwrap()), shingles, &bands).unwrap();
        candidates.iter().map(|candidate| candidate.options("")).collect()
    }

    #[test]
    fn options_select_the_recipe() {
        assert_eq!(lines(Some("minhash"), &[2], &[]), ["--shingle 2 --recipe minhash"]);
        assert_eq!(
            lines(Some("minhash"), &[3], &["8x16,3", "6x16,2", "8x16,3"]),
            [
                "--shingle 3 --recipe 'minhash hash=minhash:6x16,2'",
                "--shingle 3 --recipe 'minhash hash=minhash:8x16,3'"
            ]
        );
        let own = "simhash clean=nfc,lower tokens=char join=nothing weights=one width=128";
        let options = &lines(Some(own), &[4], &[])[0];
        assert_eq!(options, "--shingle 4 --recipe 'cjk weights=one width=128'");
        assert_eq!(lines(Some("chinese"), &[], &[]), ["--shingle 1 --recipe chinese"]);
        assert_eq!(lines(None, &[], &[]).len(), 5 + 5 * 6);
        assert_eq!(
            lines(None, &[3], &["10x16,2"]),
            ["--shingle 3 --recipe simhash", "--shingle 3 --recipe minhash"]
        );
    }

    #[test]
    fn names_are_short() {
        let name = |recipe: &str| Candidate { recipe: recipe.parse().unwrap(), shingle: 2 }.name();
        assert_eq!(name("minhash shingle=2"), "minhash");
        assert_eq!(name("minhash shingle=2 hash=minhash:8x16,3"), "minhash:8x16,3");
        assert_eq!(name("cjk shingle=2 width=128"), "cjk width=128");
    }

    #[test]
    fn splits_are_ordered_by_similarity() {
        let bands = DEFAULT_BANDS.map(String::from);
        let candidates = candidates(Some("minhash".parse().unwrap()), &[3], &bands).unwrap();
        let similarities: Vec<f64> = candidates.iter().filter_map(Candidate::band_similarity).collect();
        assert_eq!(similarities.len(), 6);
        // 1 - (1 - 0.33 ^ 2) ^ 6 is one half.
        assert!((similarities[1] - 0.330).abs() < 0.001 && similarities[0] < 0.2, "{similarities:?}");
        assert!(similarities[2..].iter().all(|other| *other > 0.2), "{similarities:?}");
    }
}
