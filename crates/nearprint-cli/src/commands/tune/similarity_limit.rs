//! The limit of the exact similarity that `dedup` decides by, chosen by labels.

use super::args::Args;
use super::candidates::Candidate;
use super::corpus::Corpus;
use nearprint_text::jaccard::similarities;
use nearprint_text::recipe::Recipe;
use nearprint_text::tune::{BestLimit, SimilarPair, Study, sample};
use serde_json::{Value, json};

/// The lowest limit that is tried. Below, sets have little in common, and documents of one subject are many.
pub(super) const LEAST: f64 = 0.4;
/// Pairs of this similarity or more are near-duplicates to most people.
const SURELY_NEAR: f64 = 0.9;

/// The best limit, and the shingles that it is a similarity of.
pub(super) struct ExactChoice {
    best: BestLimit,
    options: String,
    reaches_goal: bool,
    /// How many pairs without a label are surely near, and the places of one of them.
    unlabelled: Option<(usize, String, String)>,
}

/// The recipes whose sets of features are compared: one for each shingle size. None without labels, because the
/// limit is the definition then, and none for recipes or similarities of texts whose decisions are other ones.
pub(super) fn recipes(args: &Args, candidates: &[Candidate]) -> Vec<Candidate> {
    let mut recipes: Vec<Candidate> = Vec::new();
    if !args.known.is_given() || args.similarities().next().is_some() {
        return recipes;
    }
    for candidate in candidates.iter().filter(|candidate| candidate.recipe.bands().is_some()) {
        // Bands follow the limit.
        let recipe = match args.recipe.is_given() {
            true => Ok(candidate.recipe.clone()),
            false => Recipe::DEFAULT
                .parse::<Recipe>()
                .and_then(|recipe| recipe.with([("shingle", candidate.shingle.to_string().as_str())])),
        };
        let is_new = recipes.iter().all(|other| other.shingle != candidate.shingle);
        if let Some(recipe) = recipe.ok().filter(|_| is_new) {
            recipes.push(Candidate { recipe, shingle: candidate.shingle });
        }
    }
    recipes.sort_by_key(|candidate| candidate.shingle);
    recipes
}

/// Chooses the limit. `None` without recipes.
pub(super) fn choose(
    args: &Args,
    recipes: &[Candidate],
    corpus: &Corpus,
    study: &Study,
    threads: usize,
) -> Option<ExactChoice> {
    let members = sample(corpus.keys.len(), study.num_sampled());
    let pairs: Vec<Vec<SimilarPair>> =
        corpus.features.iter().map(|sets| similarities(sets, &members, LEAST, threads)).collect();
    let best = study.best_limit(args.goal, &pairs, LEAST, threads)?;
    let is_unlabelled =
        |&&(a, b, similarity): &&SimilarPair| similarity >= SURELY_NEAR && !study.is_labelled(a, b);
    let mut unlabelled = pairs[best.sets].iter().filter(is_unlabelled);
    let first = unlabelled.next().map(|&(a, b, _)| [a, b].map(|at| corpus.keys[at].place.clone()));
    Some(ExactChoice {
        options: recipes[best.sets].options(&format!(" --similarity {:.2}", best.similarity)),
        reaches_goal: args.goal.is_reached(&best.point),
        unlabelled: first.map(|[a, b]| (1 + unlabelled.count(), a, b)),
        best,
    })
}

impl ExactChoice {
    /// The options of `dedup`.
    pub(super) fn options(&self) -> &str {
        &self.options
    }

    pub(super) fn similarity(&self) -> f64 {
        self.best.similarity
    }

    /// How good it is.
    pub(super) fn quality(&self) -> String {
        let Self { best, .. } = self;
        let verdict = if self.reaches_goal { "recommended" } else { "nothing reaches the goal; nearest" };
        format!(
            "{verdict}: precision {:.4}, recall {:.4}; chosen by one half of the documents, in the other: {:.4}, {:.4}",
            best.point.precision(),
            best.point.recall(),
            best.untuned_precision(),
            best.untuned_recall()
        )
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some((count, a, b)) = &self.unlabelled {
            warnings.push(format!(
                "labels may be incomplete: {count} pairs without one have a similarity of {SURELY_NEAR} or more, \
                 such as the documents at {a} and {b}; each counts as an error"
            ));
        }
        if self.best.similarity <= LEAST {
            warnings.push(format!("{LEAST} is the lowest similarity that was tried"));
        }
        warnings
    }

    pub(super) fn counts(&self) -> Value {
        let Self { best, options, reaches_goal, unlabelled } = self;
        json!({
            "options": options,
            "similarity": (best.similarity * 100.0).round() / 100.0,
            "reaches_goal": reaches_goal,
            "precision": best.point.precision(),
            "recall": best.point.recall(),
            "untuned_precision": best.untuned_precision(),
            "untuned_recall": best.untuned_recall(),
            "unlabelled_pairs": unlabelled.as_ref().map_or(0, |(count, ..)| *count),
        })
    }
}
