//! Queries by stored documents.

use std::path::PathBuf;

use super::limits::{Answered, LimitArgs, match_columns};
use super::texts::nearest;
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
    /// Prints what is near these documents in all databases, by exact similarity. False if one of them keeps nothing
    /// that decides so.
    pub(super) fn run(
        &self,
        (folders, snapshots): (&[PathBuf], &[AnySnapshot]),
        global: GlobalArgs,
    ) -> Result<bool, Failure> {
        let similar = snapshots.iter().map(|snapshot| SimilarDocuments::of(snapshot, self.near));
        let Some(mut similar) = similar.collect::<Result<Option<Vec<_>>, _>>()? else {
            return Ok(false);
        };
        if let Some(at) = similar.iter().position(|other| !other.has_recipe_of(&similar[0])) {
            let (other, first) = (folders[at].display(), folders[0].display());
            let why = format!("{other}: has fingerprints of another recipe than {first}; name one database");
            return Err(Failure::Usage(why));
        }
        if self.limits.is_top() && self.near.similarity().is_none() {
            similar.iter_mut().for_each(|similar| similar.least = 0.0);
        }
        let finders = similar.iter().map(|similar| similar.documents.finder(similar.least));
        let mut finders = finders.collect::<Result<Vec<_>, _>>()?;
        let mut out = OutputStream::stdout();
        self.results.print_header(&mut out, &match_columns(self.limits, true, false, true))?;
        let (format, width) = (self.results.format(), snapshots[0].width());
        let (mut answered, most) = (Answered::default(), self.limits.most());
        for Row { fingerprint, id } in self.rows {
            let mut found = Columns::new(width, Finder::SHAPE);
            Finder::find_row(&mut finders, 0, (fingerprint.words(), *id), most, &mut found)?;
            let found = nearest(width, &found, most);
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
        SimilarDocuments::note_all(&similar, global);
        Ok(true)
    }
}
