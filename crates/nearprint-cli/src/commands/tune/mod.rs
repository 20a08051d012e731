//! `nearprint tune`

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
use args::Confirmation;
use corpus::{Corpus, Needs};
use nearprint_text::dedup::Confirm;
use tried::Tried;

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let confirms = self.confirms()?;
        let given = if self.recipe.is_anything_given() { Some(self.recipe.recipe()?) } else { None };
        let candidates = candidates::candidates(given, &self.shingles, &self.bands)?;
        let threads = global.options().get_threads();
        let exact = similarity_limit::recipes(&self, &candidates);
        let mut corpus = Corpus::new(&candidates, &exact, threads, self.needs(&confirms));
        corpus.read(&self, global)?;
        corpus.unusual.warn(global);
        let study = labels::study(&self, &corpus, threads)?;
        let exact = similarity_limit::choose(&self, &exact, &corpus, &study, threads);
        let mut tried = Tried::measure(candidates, &confirms, &corpus, &study, threads)?;
        tried.definition = (!self.known.is_given()).then(|| Confirm::Jaccard(self.similarity()));
        report::report(&self, (&tried, exact.as_ref()), &study, global)
    }

    /// The ways of confirmation to try.
    fn confirms(&self) -> Result<Vec<Option<Confirm>>, Failure> {
        let has_default = self.confirm.is_empty() && !self.recipe.is_anything_given();
        if self.known.is_given() && self.similarity.is_some() && !has_default {
            let why = "--similarity: has no effect with labels and --confirm or a recipe";
            return Err(Failure::Usage(why.into()));
        }
        if has_default {
            return Ok(vec![None, Some(Confirm::Jaccard(self.similarity()))]);
        }
        let mut confirms: Vec<Option<Confirm>> = Vec::new();
        for Confirmation(confirm) in &self.confirm {
            if !confirms.contains(confirm) {
                confirms.push(*confirm);
            }
        }
        // Lines without confirmation come first, because they cost less.
        confirms.sort_by_key(Option::is_some);
        Ok(if confirms.is_empty() { vec![None] } else { confirms })
    }

    fn needs(&self, confirms: &[Option<Confirm>]) -> Needs {
        let measured = |measure: fn(&Confirm) -> bool| confirms.iter().flatten().any(measure);
        let edits = confirms.iter().flatten().copied().find(|confirm| matches!(confirm, Confirm::Edit(_)));
        Needs {
            sets: !self.known.is_given() || measured(|confirm| !matches!(confirm, Confirm::Edit(_))),
            texts: edits.is_some(),
            edits,
        }
    }
}
