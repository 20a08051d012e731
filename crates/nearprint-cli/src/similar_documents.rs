//! Documents of databases that keep evidence: exact similarities decide, not fingerprints.

use crate::args::{GlobalArgs, NearArgs, ResultArgs, exactly};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::any::{AnySnapshot, AnyStream};
use nearprint_text::stored::StoredDocuments;

/// The documents of a database, and the similarity from which on they are near.
pub(crate) struct SimilarDocuments {
    pub(crate) documents: StoredDocuments,
    pub(crate) least: f64,
}

impl SimilarDocuments {
    /// The documents of a database that keeps evidence, unless a distance is given.
    pub(crate) fn of(snapshot: &AnySnapshot, near: NearArgs) -> Result<Option<Self>, Failure> {
        if near.has_distance() {
            return Ok(None);
        }
        let documents = StoredDocuments::of(snapshot.clone())?;
        Ok(documents.map(|documents| {
            let least = near.similarity().unwrap_or(documents.recipe().near_similarity());
            Self { documents, least }
        }))
    }

    /// Whether the fingerprints of both are made by the same recipe.
    pub(crate) fn has_recipe_of(&self, other: &Self) -> bool {
        self.documents.recipe().makes_fingerprints_of(other.documents.recipe())
    }

    /// Reports what near means, how much of it the bands find, and which candidates were passed over.
    pub(crate) fn note(&self, global: GlobalArgs) {
        Self::note_all([self], global);
    }

    /// As [`note`](Self::note), of several databases. What is the same of two of them is said once.
    pub(crate) fn note_all<'a>(all: impl IntoIterator<Item = &'a Self>, global: GlobalArgs) {
        let (mut said, mut undecided) = (Vec::<&Self>::new(), 0);
        for one in all {
            undecided += one.documents.num_undecided();
            if one.least > 0.0 && !said.iter().any(|said| said.least == one.least && said.has_recipe_of(one))
            {
                global.note(format_args!("near: {}", exactly(one.least)));
                one.note_share(global);
                said.push(one);
            }
        }
        if undecided > 0 {
            global.note(format_args!(
                "warning: {undecided} candidates were not compared, because `add` stored them without features or a \
                 text; -k compares their fingerprints"
            ));
        }
    }

    fn note_share(&self, global: GlobalArgs) {
        let (recipe, least) = (self.documents.recipe(), self.least);
        if let Some(share) =
            recipe.candidates(least).map(|all| all.share(least)).filter(|share| *share < 0.99)
        {
            global.note(format_args!(
                "warning: the bands of the database are made for a similarity of {}; at {least} they find \
                 {:.0}% of the pairs",
                recipe.near_similarity(),
                100.0 * share
            ));
        }
    }

    /// Prints pairs: of rows with their keys, or of fingerprints. Returns their number.
    pub(crate) fn print_pairs(
        &self,
        pairs: AnyStream,
        results: ResultArgs,
        global: GlobalArgs,
        out: &mut OutputStream,
    ) -> Result<usize, Failure> {
        let (has_ids, format) = (pairs.shape().ids, results.format());
        results.print_header(out, &pair_columns(has_ids, true, true))?;
        let mut count = 0;
        pairs.visit(|block| {
            count += block.len();
            out.write(|out| block.rows().try_for_each(|pair| format.similar_pair(out, &pair, has_ids)))
        })?;
        self.note(global);
        Ok(count)
    }
}

/// The columns of pairs, and whether they are there.
pub(crate) fn pair_columns(has_ids: bool, has_keys: bool, has_similarity: bool) -> [(&'static str, bool); 8] {
    let has_keys = has_ids && has_keys;
    [
        ("a", !has_ids),
        ("b", !has_ids),
        ("id_a", has_ids),
        ("id_b", has_ids),
        ("distance", true),
        ("key_a", has_keys),
        ("key_b", has_keys),
        ("similarity", has_similarity),
    ]
}
