//! `nearprint tune`

mod advice;
mod args;
mod border;
mod candidates;
mod corpus;
mod labels;
mod plot;
mod report;
mod similarity_limit;
mod tried;

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;
pub(super) use args::Args;
use corpus::{Corpus, Needs};
use nearprint_text::dedup::Similarity;
use tried::Tried;

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let confirms = self.confirms()?;
        let given = if self.recipe.is_given() { Some(self.recipe.recipe()?) } else { None };
        let candidates = candidates::candidates(given, &self.shingles(), &self.bands())?;
        let threads = global.options().get_threads();
        let exact = similarity_limit::recipes(&self, &candidates);
        let mut corpus = Corpus::new(&candidates, &exact, threads, self.needs(&confirms));
        corpus.read(&self, global)?;
        corpus.unusual.warn(global);
        let (study, pairs_at) = labels::study(&self, &corpus, threads)?;
        let exact = similarity_limit::choose(&self, &exact, &corpus, &study, threads);
        let mut tried = Tried::measure(candidates, &confirms, &corpus, &study, threads)?;
        tried.definition = (!self.known.is_given()).then(|| Similarity::Jaccard(self.similarity()));
        tried.pairs_at = pairs_at;
        report::report(&self, (&tried, exact.as_ref()), &study, global)
    }

    /// The similarities of texts to try, and whether to compare none.
    fn confirms(&self) -> Result<Vec<Option<Similarity>>, Failure> {
        let has_default = self.similarities().next().is_none() && !self.recipe.is_given();
        if self.known.is_given() && self.similarity.is_some() && !has_default {
            let why = "--similarity: has no effect with labels and --try similarity= or a recipe";
            return Err(Failure::Usage(why.into()));
        }
        if has_default {
            return Ok(vec![None, Some(Similarity::Jaccard(self.similarity()))]);
        }
        let mut confirms: Vec<Option<Similarity>> = Vec::new();
        for confirm in self.similarities() {
            if !confirms.contains(&confirm) {
                confirms.push(confirm);
            }
        }
        // Lines that compare no texts come first, because they cost less.
        confirms.sort_by_key(Option::is_some);
        Ok(if confirms.is_empty() { vec![None] } else { confirms })
    }

    fn needs(&self, confirms: &[Option<Similarity>]) -> Needs {
        let measured = |measure: fn(&Similarity) -> bool| confirms.iter().flatten().any(measure);
        let edits = confirms.iter().flatten().copied().find(|confirm| matches!(confirm, Similarity::Edit(_)));
        Needs {
            sets: !self.known.is_given() || measured(|confirm| !matches!(confirm, Similarity::Edit(_))),
            texts: edits.is_some(),
            edits,
        }
    }
}
