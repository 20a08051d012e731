//! The largest groups of near-duplicates.

use std::cmp::Reverse;

use crate::dedup::temporary::{SortRow, StringFile, WorkFolder};
use crate::error::Result;
use nearprint::internal::Sorter;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The groups to report.
const REPORTED: usize = 5;

/// A kept document or unit, and all that were left out because of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Group {
    /// The key of the kept document; of units, the beginning of the text that was left out first.
    pub name: String,
    /// All documents or units of the group.
    pub size: u64,
}

/// Counts near-duplicates by what was kept instead, in bounded memory.
pub(crate) struct GroupSizes {
    names: StringFile,
    /// A row for each near-duplicate: the hash of key and sequence number, and the place of the name among `names`.
    rows: Sorter<SortRow<3>>,
    /// Removed with the rows.
    _folder: WorkFolder,
}

impl GroupSizes {
    pub(crate) fn new(memory_bytes: usize, threads: usize) -> Result<Self> {
        let folder = WorkFolder::new()?;
        let rows = Sorter::in_folder(folder.path(), 0, memory_bytes, threads)?;
        Ok(Self { names: StringFile::new()?, rows, _folder: folder })
    }

    /// Counts a near-duplicate of what has this key and this sequence number. The group has the name of its first one.
    #[expect(clippy::cast_possible_truncation, reason = "takes both words")]
    pub(crate) fn push(&mut self, (key, sequence): (&str, u64), name: &str) -> Result<()> {
        let (hash, at) = (xxh3_128_with_seed(key.as_bytes(), sequence), self.names.push(name)?);
        Ok(self.rows.push(SortRow([(hash >> 64) as u64, hash as u64, at]))?)
    }

    /// The number of groups, and the largest ones, the largest first; of equal ones, that which was first to have a
    /// near-duplicate.
    pub(crate) fn largest(self) -> Result<(u64, Vec<Group>)> {
        let Self { mut names, rows, _folder } = self;
        let (mut number, mut largest) = (0, Vec::<(Reverse<u64>, u64)>::new());
        let mut add = |group: (Reverse<u64>, u64)| {
            number += 1;
            largest.push(group);
            largest.sort_unstable();
            largest.truncate(REPORTED);
        };
        let (mut hash, mut group) = ([0; 2], (Reverse(1), 0));
        rows.finish()?.for_each_block(|block| {
            for &SortRow([high, low, at]) in block {
                if group.0.0 > 1 && hash == [high, low] {
                    group.0.0 += 1;
                } else {
                    if group.0.0 > 1 {
                        add(group);
                    }
                    (hash, group) = ([high, low], (Reverse(2), at));
                }
            }
            Ok::<(), crate::Error>(())
        })?;
        if group.0.0 > 1 {
            add(group);
        }
        let named = largest.into_iter().map(|(Reverse(size), at)| Ok(Group { name: names.get(at)?, size }));
        Ok((number, named.collect::<Result<_>>()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_groups_are_named() {
        let none = GroupSizes::new(1 << 20, 1).unwrap();
        assert_eq!(none.largest().unwrap(), (0, Vec::new()));
        // With little memory, most rows wait in files.
        let mut sizes = GroupSizes::new(1 << 10, 2).unwrap();
        for round in 0..2000u32 {
            for key in 0..10 {
                if round % (key + 1) == 0 {
                    // A key may name several documents.
                    sizes.push((&format!("key {}", key / 2), key.into()), &format!("name {key}")).unwrap();
                }
            }
        }
        let (number, largest) = sizes.largest().unwrap();
        assert_eq!(number, 10);
        let found: Vec<_> = largest.iter().map(|group| (&*group.name, group.size)).collect();
        let expected =
            [("name 0", 2001), ("name 1", 1001), ("name 2", 668), ("name 3", 501), ("name 4", 401)];
        assert_eq!(found, expected);
    }
}
