//! What a deletion selects, counted before it.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::path::Path;

use nearprint::any::{AnyRow, AnySnapshot};
use nearprint::{Error, LeftOutRows, Options};

/// What is deleted.
pub(super) enum Selected<'a> {
    Ids(&'a [RangeInclusive<u64>]),
    Keys(&'a [String]),
    Prefix(&'a str),
}

impl Selected<'_> {
    /// The number of rows that would be deleted: of keys, those that have no other one. Costs a walk over all rows.
    pub(super) fn count_rows(&self, snapshot: &AnySnapshot) -> Result<u64, Error> {
        let keys: HashSet<&str> = match self {
            Self::Keys(keys) => keys.iter().map(String::as_str).collect(),
            _ => HashSet::new(),
        };
        let is_doomed = |row: &AnyRow<'_>| match self {
            Self::Ids(ranges) => ranges.iter().any(|range| range.contains(&row.id)),
            Self::Keys(_) => row.key.is_some_and(|key| keys.contains(key)),
            Self::Prefix(prefix) => row.key.is_some_and(|key| key.starts_with(prefix)),
        };
        // The keys of a row come one after the other.
        let (mut count, mut last, mut stays) = (0, None, false);
        snapshot.clone().with_keys().rows()?.visit(|block| {
            for row in block.rows() {
                let this = Some(row.row());
                if last != this {
                    count += u64::from(last.is_some() && !stays);
                    (last, stays) = (this, false);
                }
                stays |= !is_doomed(&row);
            }
            Ok::<(), Error>(())
        })?;
        Ok(count + u64::from(last.is_some() && !stays))
    }

    /// The number of documents that a database would forget as left out. Costs a walk over all that it remembers.
    pub(super) fn count_left_out(&self, database: &Path, options: &Options) -> Result<u64, Error> {
        let Some(remembered) = LeftOutRows::open(database, options)? else { return Ok(0) };
        match self {
            Self::Ids(_) => Ok(0),
            Self::Keys(keys) => remembered.count_of(&keys.iter().map(String::as_str).collect::<Vec<_>>()),
            Self::Prefix(prefix) => {
                let mut count = 0;
                remembered.visit(|left_out| {
                    count += u64::from(left_out.key.is_some_and(|key| key.starts_with(prefix)));
                    Ok::<(), Error>(())
                })?;
                Ok(count)
            }
        }
    }
}
