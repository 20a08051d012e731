//! Numbers the distinct fingerprints of a snapshot, for the union-find of clusters.

use super::clusters::{LOOKED_UP_TOGETHER, Member, SortedIndex};
use super::join::Pair;
use super::locate::lacks;
use super::merged::MergedView;
use super::union_find::UnionFind;
use crate::error::{Error, Limit, Result};
use crate::fingerprint::Fingerprint;
use crate::format::segment::MAX_ENTRIES;
use crate::run::{BlockRead, Cursor, Run};
use crate::util::cast::to_u32;

/// The distinct fingerprints, ascending: the entries of the only run, or a merged list of several
/// runs.
pub(crate) enum Order<'a, F> {
    Entries(&'a Run<F>),
    /// The merged list, and the oldest run.
    Values(Vec<F>, Option<&'a Run<F>>),
}

impl<'a, F: Fingerprint> MergedView<'a, F> {
    /// Numbers the distinct fingerprints in ascending order.
    pub(crate) fn order(&self) -> Result<Order<'a, F>> {
        match self.view.searchables() {
            [only] => Ok(Order::Entries(&only.run)),
            several => {
                let values = self.distinct()?;
                if values.len() as u64 > MAX_ENTRIES {
                    return Err(Error::Limit(Limit::Clustered));
                }
                Ok(Order::Values(values, several.first().map(|oldest| &oldest.run)))
            }
        }
    }
}

impl<F: Fingerprint> Order<'_, F> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Entries(run) => run.natural().entries(),
            Self::Values(values, _) => values.len(),
        }
    }

    /// A look-up from fingerprints to numbers.
    pub(crate) fn numbers(&self) -> Numbers<'_, F> {
        match self {
            Self::Entries(run) => Numbers::Entries(run),
            Self::Values(values, oldest) => Numbers::Values(SortedIndex::new(values), *oldest),
        }
    }

    /// Marks the fingerprints with two rows or more that are near each other.
    pub(crate) fn with_several_ids(&self, merged: &MergedView<'_, F>) -> Result<Vec<bool>> {
        let mut several = self.with_several_rows(merged)?;
        if let Some(several) = several.first_mut() {
            *several &= merged.view.metric().admits(self.ascending().at(0)?);
        }
        Ok(several)
    }

    fn with_several_rows(&self, merged: &MergedView<'_, F>) -> Result<Vec<bool>> {
        match self {
            Self::Entries(run) => run.postings.entries_of_several_rows(),
            Self::Values(values, _) => {
                let mut several = vec![false; values.len()];
                let (mut at, mut last) = (0, None);
                for row in merged.rows()? {
                    let row = row?;
                    if last == Some(row.fingerprint) {
                        // Rows of an untrusted file may be out of order.
                        several.get_mut(at).into_iter().for_each(|several| *several = true);
                    } else {
                        at += usize::from(last.is_some());
                        last = Some(row.fingerprint);
                    }
                }
                Ok(several)
            }
        }
    }

    /// A walk over the fingerprints by number.
    pub(crate) fn ascending(&self) -> NumberedWalk<'_, F> {
        match self {
            Self::Entries(run) => {
                let walk = Some((*run, run.natural().cursor()));
                NumberedWalk { values: &[], walk, block: Vec::new(), passed: 0 }
            }
            Self::Values(values, _) => NumberedWalk { values, walk: None, block: Vec::new(), passed: 0 },
        }
    }

    /// Prefetches the ids of a fingerprint.
    pub(crate) fn prefetch_ids(&self, member: &Member<F>) -> Result<()> {
        match self {
            Self::Entries(run) => run.postings.prefetch_near(member.index),
            Self::Values(..) => Ok(()),
        }
    }

    /// Replaces `ids` by the ids of a fingerprint.
    pub(crate) fn ids_of(
        &self,
        merged: &MergedView<'_, F>,
        member: &Member<F>,
        ids: &mut Vec<u64>,
    ) -> Result<()> {
        match self {
            Self::Entries(run) => {
                ids.clear();
                run.postings.ids_of(member.index, ids, |id| id)
            }
            Self::Values(..) => merged.view.ids_of(member.value, ids),
        }
    }
}

/// Looks up the numbers of fingerprints in an [`Order`].
pub(crate) enum Numbers<'a, F> {
    Entries(&'a Run<F>),
    /// The merged list, and the oldest run.
    Values(SortedIndex<'a, F>, Option<&'a Run<F>>),
}

impl<F: Fingerprint> Numbers<'_, F> {
    /// Unites the sets of each pair's ends.
    pub(crate) fn unite(&self, pairs: &[Pair<F>], sets: &mut UnionFind) -> Result<()> {
        let mut numbers = Vec::with_capacity(2 * LOOKED_UP_TOGETHER);
        for some in pairs.chunks(LOOKED_UP_TOGETHER) {
            let ends = || some.iter().flat_map(|pair| [pair.a, pair.b]);
            match self {
                Self::Values(values, _) => values.prefetch(some),
                Self::Entries(run) => {
                    let natural = run.natural();
                    ends().for_each(|end| natural.prefetch_bucket(natural.bucket_of(end)));
                    ends().try_for_each(|end| natural.prefetch_place_of(end).map(drop))?;
                }
            }
            numbers.clear();
            for end in ends() {
                numbers.push(self.of(end)?);
            }
            sets.unite_pairs(&numbers);
        }
        Ok(())
    }

    /// The number of a fingerprint that some table contains. It is damage if table 0 lacks it.
    fn of(&self, value: F) -> Result<u32> {
        let (found, run) = match self {
            Self::Entries(run) => (run.natural().find(value)?.map(to_u32), Some(*run)),
            Self::Values(values, oldest) => (values.index_of(value), *oldest),
        };
        match (found, run) {
            (None, Some(run)) => Err(lacks(run, value)),
            (found, _) => Ok(found.unwrap_or_default()),
        }
    }
}

/// A walk over an [`Order`].
pub(crate) struct NumberedWalk<'a, F> {
    values: &'a [F],
    walk: Option<(&'a Run<F>, Cursor)>,
    block: Vec<F>,
    /// Number of fingerprints before the block.
    passed: usize,
}

impl<F: Fingerprint> NumberedWalk<'_, F> {
    /// The fingerprint with a number. Numbers of successive calls must ascend.
    pub(crate) fn at(&mut self, index: usize) -> Result<F> {
        let Some((run, cursor)) = &mut self.walk else { return Ok(self.values[index]) };
        while index - self.passed >= self.block.len() {
            self.passed += self.block.len();
            if cursor.next_block(run.natural(), &mut self.block)? == BlockRead::End {
                return Err(run.natural().file.flaw(0, format!("fingerprint {index}"), "fewer"));
            }
        }
        Ok(self.block[index - self.passed])
    }
}
