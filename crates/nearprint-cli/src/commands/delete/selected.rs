//! What a deletion selects, counted before it.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use nearprint::any::{AnyFingerprint, AnyRow, AnySnapshot};
use nearprint::{Error, LeftOutRows, Row};

/// What is deleted.
pub(super) enum Selected<'a> {
    Ids(&'a [RangeInclusive<u64>]),
    Keys(&'a [String]),
    Prefix(&'a str),
}

/// What a deletion takes.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Rows: of keys, those that have no other one.
    pub(super) rows: u64,
    /// Documents that were left out and are forgotten.
    pub(super) left_out: u64,
    /// Others that were left out because of the rows.
    pub(super) because: u64,
}

impl Selected<'_> {
    /// Costs walks over all rows and over all documents that are remembered as left out, and then memory for the ids of
    /// the selected rows.
    pub(super) fn count(
        &self,
        snapshot: &AnySnapshot,
        remembered: Option<&LeftOutRows>,
    ) -> Result<Counts, Error> {
        let keys: HashSet<&str> = match self {
            Self::Keys(keys) => keys.iter().map(String::as_str).collect(),
            _ => HashSet::new(),
        };
        let has_key = |key: &str| match self {
            Self::Ids(_) => false,
            Self::Keys(_) => keys.contains(key),
            Self::Prefix(prefix) => key.starts_with(prefix),
        };
        let is_doomed = |row: &AnyRow<'_>| match self {
            Self::Ids(ranges) => ranges.iter().any(|range| range.contains(&row.id)),
            _ => row.key.is_some_and(has_key),
        };
        let (mut counts, mut ids) = (Counts::default(), HashSet::new());
        // The keys of a row come one after the other.
        let (mut last, mut stays) = (None, true);
        let mut end = |last: Option<Row<AnyFingerprint>>, stays: bool| {
            if let Some(row) = last.filter(|_| !stays) {
                counts.rows += 1;
                ids.extend(remembered.map(|_| row.id));
            }
        };
        snapshot.clone().with_keys().rows()?.visit(|block| {
            for row in block.rows() {
                let this = Some(row.row());
                if last != this {
                    end(last, stays);
                    (last, stays) = (this, false);
                }
                stays |= !is_doomed(&row);
            }
            Ok::<(), Error>(())
        })?;
        end(last, stays);
        let Some(remembered) = remembered else { return Ok(counts) };
        if let Self::Keys(_) = self {
            counts.left_out = remembered.count_of(&keys.iter().copied().collect::<Vec<_>>())?;
        }
        remembered.visit(|left_out| {
            let is_forgotten = left_out.key.as_deref().is_some_and(has_key);
            counts.left_out += u64::from(is_forgotten && matches!(self, Self::Prefix(_)));
            counts.because += u64::from(!is_forgotten && ids.contains(&left_out.kept));
            Ok::<(), Error>(())
        })?;
        Ok(counts)
    }
}
