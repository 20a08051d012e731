//! When documents are near-duplicates.

use std::path::Path;

use super::options::{DedupOptions, Evidence};
use super::similarity::Similarity;
use crate::error::{DatabaseProblem, Result};
use crate::recipe::{Candidates, Recipe};
use nearprint::KeyStorage;

/// What decides about documents whose fingerprints are near.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Judge {
    /// Nothing else: fingerprints within the distance are near-duplicates.
    Distance,
    /// The Jaccard similarity of the sets of features, which is at least this.
    Features(f64),
    /// The texts.
    Texts(Similarity),
}

/// When documents are near-duplicates, for reports.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentsNear {
    /// From this Jaccard similarity on, which is computed of their sets of features.
    Exact {
        /// 0 to 1.
        similarity: f64,
    },
    /// Within this distance of their fingerprints, which estimates a similarity.
    Estimated {
        /// The recipe.
        recipe: Recipe,
        /// In bits.
        k: u32,
    },
    /// From this similarity of their texts on.
    Texts {
        /// The measure and the limit.
        similarity: Similarity,
        /// Texts are compared if their fingerprints are within this distance in bits; without one, if they are
        /// candidates by MinHash.
        k: Option<u32>,
    },
}

/// When documents are near-duplicates, and how similar they are.
#[derive(Clone)]
pub(crate) struct Measure {
    /// The largest distance of fingerprints of near-duplicates.
    pub(crate) k: u32,
    /// Which of the documents within it are compared; all, if there are none.
    pub(crate) candidates: Option<Candidates>,
    pub(crate) recipe: Recipe,
    pub(crate) judge: Judge,
    /// Whether sets of features are made, to compare or to store them.
    pub(crate) makes_features: bool,
}

impl Measure {
    /// The measure of a job. `stored` is what its database keeps, and its default distance; without a
    /// database there is nothing that anything would have to fit.
    pub(crate) fn new(
        options: &DedupOptions,
        recipe: Recipe,
        stored: Option<(KeyStorage, u32, &Path)>,
    ) -> Result<Self> {
        options.check_near(&recipe)?;
        let keeps = stored.map(|(keeps, ..)| keeps);
        let default_k = stored.map_or(recipe.default_k(), |(_, k, _)| k);
        if let Some((keeps, _, path)) = stored {
            check_evidence(keeps, (options, &recipe), path)?;
        }
        let least = options.similarity.and_then(Similarity::least_jaccard);
        let estimates = || match least.zip(recipe.bands()) {
            Some((least, bands)) => bands.distance_of(recipe.width(), least),
            None => default_k,
        };
        let (judge, candidates) = match options.similarity_of_texts(&recipe) {
            Some(similarity) => (Judge::Texts(similarity), similarity.candidates(&recipe)),
            None if decides_exactly(options, &recipe, keeps) => {
                let least = least.unwrap_or(recipe.near_similarity());
                (Judge::Features(least), recipe.candidates(least))
            }
            None => (Judge::Distance, None),
        };
        let candidates = candidates.filter(|_| options.k.is_none());
        let k = candidates.as_ref().map_or_else(estimates, Candidates::distance);
        let makes_features =
            matches!(judge, Judge::Features(_)) || keeps == Some(KeyStorage::KeysAndFeatures);
        let k = recipe.check_distance(options.k.unwrap_or(k))?;
        Ok(Self { k, candidates, recipe, judge, makes_features })
    }

    /// The measure of a new database at a path.
    pub(crate) fn planned(options: &DedupOptions, path: &Path) -> Result<Self> {
        let recipe = options.new_recipe();
        let k = options.k.unwrap_or(recipe.default_k());
        let stores = key_storage(options, &recipe);
        Self::new(options, recipe, Some((stores, k, path)))
    }

    /// The same for reports.
    pub(crate) fn near(&self) -> DocumentsNear {
        match self.judge {
            Judge::Distance => DocumentsNear::Estimated { recipe: self.recipe.clone(), k: self.k },
            Judge::Features(similarity) => DocumentsNear::Exact { similarity },
            Judge::Texts(similarity) => {
                DocumentsNear::Texts { similarity, k: self.candidates.is_none().then_some(self.k) }
            }
        }
    }

    /// Tells that many pairs are missed, because bands were chosen for a higher similarity.
    pub(crate) fn misses(&self) -> Option<String> {
        let (Judge::Features(least), Some(candidates)) = (self.judge, &self.candidates) else { return None };
        let (made_for, missed) = (self.recipe.near_similarity(), 1.0 - candidates.share(least));
        let is_other = least < made_for && missed > 0.01;
        is_other.then(|| {
            let percent = 100.0 * missed;
            format!("made for a similarity of {made_for}: {percent:.0}% of the pairs at {least} are missed")
        })
    }

    /// Whether the sets of features are compared.
    pub(crate) fn compares_features(&self) -> bool {
        matches!(self.judge, Judge::Features(_))
    }

    /// Whether texts are compared.
    pub(crate) fn compares_texts(&self) -> bool {
        matches!(self.judge, Judge::Texts(_))
    }

    /// Whether a document is nearer than another one, given their distances and similarities.
    pub(crate) fn is_nearer(&self, one: (u32, f64), other: (u32, f64)) -> bool {
        if self.compares_features() { one.1 > other.1 } else { one.0 < other.0 }
    }
}

/// Whether sets of features decide: where the recipe makes some and no distance was asked for, unless the
/// database lacks them.
fn decides_exactly(options: &DedupOptions, recipe: &Recipe, keeps: Option<KeyStorage>) -> bool {
    recipe.bands().is_some()
        && options.k.is_none()
        && !matches!(options.evidence, Some(Evidence::Hashes | Evidence::Keys))
        && keeps.is_none_or(|keeps| matches!(keeps, KeyStorage::KeysAndFeatures | KeyStorage::KeysAndTexts))
}

/// What a new database keeps of documents.
pub(crate) fn key_storage(options: &DedupOptions, recipe: &Recipe) -> KeyStorage {
    match options.evidence {
        _ if options.similarity_of_texts(recipe).is_some() => KeyStorage::KeysAndTexts,
        Some(Evidence::Texts) => KeyStorage::KeysAndTexts,
        Some(Evidence::Keys) => KeyStorage::Keys,
        _ if decides_exactly(options, recipe, None) => KeyStorage::KeysAndFeatures,
        _ => KeyStorage::KeysAndHashes,
    }
}

/// Refuses a database that lacks what is to decide.
fn check_evidence(keeps: KeyStorage, (options, recipe): (&DedupOptions, &Recipe), path: &Path) -> Result<()> {
    let path = || path.to_path_buf();
    let reads_texts = options.similarity_of_texts(recipe).is_some();
    let wants_texts = reads_texts || options.evidence == Some(Evidence::Texts);
    if wants_texts && !keeps.has_texts() {
        return Err(DatabaseProblem::NoTexts { path: path() }.into());
    }
    let is_estimated = !matches!(keeps, KeyStorage::KeysAndFeatures | KeyStorage::KeysAndTexts);
    let wants_exact = options.similarity.is_some() && options.evidence.is_none();
    if options.evidence == Some(Evidence::Features) && keeps != KeyStorage::KeysAndFeatures
        || wants_exact && is_estimated
    {
        return Err(DatabaseProblem::NoFeatures { path: path() }.into());
    }
    Ok(())
}
