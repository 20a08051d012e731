//! Queries by stored documents.

use super::limits::{Answered, LimitArgs, match_columns};
use crate::args::{GlobalArgs, NearArgs, ResultArgs};
use crate::similar_documents::SimilarDocuments;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::Row;
use nearprint::any::{AnyFingerprint, AnySnapshot, Columns};
use nearprint_text::stored::Finder;

/// Looks up what is near stored documents.
pub(super) struct DocumentLookUp<'a> {
    pub(super) rows: &'a [Row<AnyFingerprint>],
    pub(super) near: NearArgs,
    pub(super) limits: LimitArgs,
    pub(super) results: ResultArgs,
}

impl DocumentLookUp<'_> {
    /// Prints what is near these documents, by exact similarity. False if the database keeps nothing
    /// that decides so.
    pub(super) fn run(&self, snapshot: &AnySnapshot, global: GlobalArgs) -> Result<bool, Failure> {
        let Some(mut similar) = SimilarDocuments::of(snapshot, self.near)? else {
            return Ok(false);
        };
        if self.limits.is_top() && self.near.similarity().is_none() {
            similar.least = 0.0;
        }
        let mut finder = similar.documents.finder(similar.least)?;
        let mut out = OutputStream::stdout();
        self.results.print_header(&mut out, &match_columns(self.limits, true, false, true))?;
        let (format, width) = (self.results.format(), snapshot.width());
        let mut answered = Answered::default();
        for Row { fingerprint, id } in self.rows {
            let mut found = Columns::new(width, Finder::SHAPE);
            finder.find_row(0, (fingerprint.words(), *id), self.limits.most(), &mut found)?;
            answered.push(found.len());
            let query = fingerprint.to_string();
            out.write(|out| match self.limits.prints_unmatched() {
                true if !found.is_empty() => Ok(()),
                true => format.unmatched(out, &query, None),
                false => found.rows().try_for_each(|row| format.text_match(out, &query, &row)),
            })?;
        }
        out.flush()?;
        answered.note(self.limits, global);
        similar.note(global);
        Ok(true)
    }
}
