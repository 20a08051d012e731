//! What counts as near: options of every command that compares fingerprints.

use super::values;
use crate::terminal::failure::Failure;
use crate::terminal::plural;
use nearprint::{BandLayout, Error, Width};
use nearprint_text::dedup::Similarity;
use nearprint_text::recipe::Recipe;

/// What is near at distance k, in words: for MinHash the `--similarity` that means it.
pub(crate) fn limit(recipe: &Recipe, k: u32) -> String {
    let hundredths = (0..=100u32).rev().map(|at| f64::from(at) / 100.0);
    let mut similarities = std::iter::once(recipe.near_similarity()).chain(hundredths);
    let means_k = |bands: BandLayout, similarity| bands.distance_of(recipe.width(), similarity) == k;
    let option = recipe.bands().and_then(|bands| similarities.find(|&similarity| means_k(bands, similarity)));
    match option {
        Some(similarity) => format!("similarity {similarity} or more, estimated (-k {k})"),
        None => format!("similarity about {:.2} or more (-k {k})", recipe.similarity(k)),
    }
}

/// What is near from an exact similarity on, in words.
pub(crate) fn exactly(similarity: f64) -> String {
    format!("similarity {similarity} or more, exact")
}

/// What is near from a similarity of texts on, in words, where those within `k` bits are compared.
pub(crate) fn of_texts(similarity: Similarity, k: Option<u32>) -> String {
    let near = match similarity {
        Similarity::Jaccard(least) => exactly(least),
        Similarity::Contained(least) => format!("{least} or more of the one in the other, exact"),
        Similarity::Edit(least) => format!("{least} or more of the characters equal, exact"),
    };
    k.map_or(near.clone(), |k| format!("{near}, of texts within {} (-k {k})", plural(k.into(), "bit")))
}

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct NearArgs {
    /// At most K bits differ [default: the k of the database or the recipe, else 3]. For MinHash, these are bits of the
    /// sketch, and one band must be equal
    #[arg(short, value_name = "K", value_parser = values::distance, allow_negative_numbers = true)]
    k: Option<u32>,
    /// The minimum similarity of near texts, such as 0.7 or 70%, instead of -k. It is the share of their shingles that
    /// both texts have (Jaccard). The similarity is exact for texts, and for databases that keep features or texts.
    /// Otherwise, MinHash fingerprints estimate it
    #[arg(short, long, value_name = "S", value_parser = values::similarity, conflicts_with = "k", allow_negative_numbers = true)]
    similarity: Option<f64>,
}

impl NearArgs {
    /// Whether an option is given.
    pub(crate) fn is_given(self) -> bool {
        self.k.is_some() || self.similarity.is_some()
    }

    /// The recipe with the bands for the similarity, if one is given.
    pub(crate) fn chosen(self, recipe: Recipe) -> Recipe {
        match self.similarity.filter(|_| recipe.bands().is_some()) {
            Some(similarity) => recipe.with_similarity(similarity),
            None => recipe,
        }
    }

    /// Whether a distance is given.
    pub(crate) fn has_distance(self) -> bool {
        self.k.is_some()
    }

    /// The similarity, if it is given.
    pub(crate) fn similarity(self) -> Option<f64> {
        self.similarity
    }

    /// The distance and the exact similarity, whichever is given, for documents with a recipe.
    pub(crate) fn of_documents(self, recipe: &Recipe) -> Result<(Option<u32>, Option<f64>), Failure> {
        let k = self.k(recipe.bands(), recipe.width())?;
        Ok((k.filter(|_| self.k.is_some()), self.similarity))
    }

    /// The largest distance, if an option sets it, between fingerprints of a width with these bands
    /// or none.
    pub(crate) fn k(self, bands: Option<BandLayout>, width: Width) -> Result<Option<u32>, Failure> {
        let most = bands.map_or(width.bits(), |bands| bands.sketch_bits(width));
        match (self.k, self.similarity, bands) {
            (Some(k), _, Some(_)) if k > most => Err(Failure::Usage(format!(
                "-k {k}: the sketches of these MinHash fingerprints have only {most} bits"
            ))),
            (Some(k), _, _) if k > most => Err(Error::Distance { k, width: most }.into()),
            (Some(k), _, _) => Ok(Some(k)),
            (None, Some(similarity), Some(bands)) => Ok(Some(bands.distance_of(width, similarity))),
            (None, Some(_), None) => {
                Err(Failure::Usage("--similarity needs MinHash fingerprints; give -k for others".into()))
            }
            (None, None, _) => Ok(None),
        }
    }
}

/// What counts as near among documents, whose texts are there.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct DocumentNearArgs {
    /// At most K bits of the fingerprints differ, instead of --similarity. With a similarity of texts, only texts whose
    /// fingerprints are so near are compared. For MinHash, these are bits of the sketch, and one band must be equal
    #[arg(short, value_name = "K", value_parser = values::distance, allow_negative_numbers = true)]
    k: Option<u32>,
    /// The minimum similarity of near texts, such as 0.7 or 70%. It is the share of their shingles that both texts have
    /// (Jaccard). contained:S is the share of the new text's shingles that the kept text has. edit:S is the share of
    /// equal characters. Both compare texts, and so does S with a recipe for simhash. edit:S rejects texts of more than
    /// 1,048,576 characters
    #[arg(short, long, value_name = "S", allow_negative_numbers = true)]
    similarity: Option<Similarity>,
}

impl DocumentNearArgs {
    /// Whether an option is given.
    pub(crate) fn is_given(self) -> bool {
        self.k.is_some() || self.similarity.is_some()
    }

    /// The similarity, if it is given.
    pub(crate) fn similarity(self) -> Option<Similarity> {
        self.similarity
    }

    /// The distance of fingerprints and the similarity, whichever is given.
    ///
    /// # Errors
    /// Wrong usage if both are given and no text is compared, or for a distance beyond the width.
    pub(crate) fn of(self, recipe: &Recipe) -> Result<(Option<u32>, Option<Similarity>), Failure> {
        if let (Some(_), Some(similarity)) = (self.k, self.similarity)
            && !similarity.reads_texts(recipe)
        {
            return Err(Failure::Usage("-k and --similarity: give only one of them".into()));
        }
        let k = NearArgs { k: self.k, similarity: None }.k(recipe.bands(), recipe.width())?;
        Ok((k, self.similarity))
    }

    /// The recipe with the bands for the similarity, if one is given.
    pub(crate) fn chosen(self, recipe: Recipe) -> Recipe {
        let least = self.similarity.and_then(Similarity::least_jaccard);
        match least.filter(|_| recipe.bands().is_some() && self.k.is_none()) {
            Some(least) => recipe.with_similarity(least),
            None => recipe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_the_options_that_mean_them() {
        let limit = |recipe: &str, k| limit(&recipe.parse().unwrap(), k);
        assert_eq!(limit("minhash", 12), "similarity 0.7 or more, estimated (-k 12)");
        assert_eq!(limit("minhash", 0), "similarity 1 or more, estimated (-k 0)");
        assert_eq!(limit("minhash", 96), "similarity about 0.00 or more (-k 96)");
        assert_eq!(limit("simhash", 3), "similarity about 0.99 or more (-k 3)");
    }
}
