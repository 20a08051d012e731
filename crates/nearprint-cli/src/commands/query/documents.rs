//! Queries by the ids of stored documents.

use std::path::Path;

use super::limits::{LimitArgs, match_columns};
use crate::args::{GlobalArgs, NearArgs, ResultArgs};
use crate::exact::SimilarDocuments;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::any::Columns;
use nearprint::{Fingerprint, Printed};
use nearprint_text::stored::Finder;

/// Looks up what is near stored documents.
pub(super) struct DocumentLookUp<'a> {
    pub(super) ids: &'a [u64],
    pub(super) near: NearArgs,
    pub(super) limits: LimitArgs,
    pub(super) results: ResultArgs,
}

impl DocumentLookUp<'_> {
    /// Prints what is near the documents with these ids, by exact similarity. False if the database keeps nothing
    /// that decides so.
    pub(super) fn run<F: Fingerprint>(&self, folder: &Path, global: GlobalArgs) -> Result<bool, Failure> {
        let options = global.options();
        let Some(mut similar) = SimilarDocuments::open(folder, &options, self.near)? else {
            return Ok(false);
        };
        if self.limits.is_top() && self.near.similarity().is_none() {
            similar.least = 0.0;
        }
        let mut finder = similar.documents.finder(similar.least)?;
        let snapshot = options.open::<F>(folder)?.snapshot()?;
        let mut out = OutputStream::stdout();
        self.results.print_header(&mut out, &match_columns(self.limits, true, false, true))?;
        let format = self.results.format;
        for &id in self.ids {
            for fingerprint in snapshot.fingerprints_of(id)? {
                let words = [0, 1, 2, 3].map(|word| fingerprint.le_word(word));
                let mut found = Columns::new(F::WIDTH, Finder::SHAPE);
                let row = (&words[..F::WIDTH.words()], id);
                finder.find_row(0, row, self.limits.most(), &mut found)?;
                let query = Printed(fingerprint).to_string();
                out.write(|out| match self.limits.is_inverted() {
                    true if !found.is_empty() => Ok(()),
                    true => format.unmatched(out, &query, None),
                    false => found.rows().try_for_each(|row| format.text_match::<F>(out, &query, &row)),
                })?;
            }
        }
        out.flush()?;
        similar.note(global);
        Ok(true)
    }
}
