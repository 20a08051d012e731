//! The fingerprints of a run whose tables hold them whole, with gaps of table 0 filled from the
//! other tables.
//!
//! All tables of a run hold the same fingerprints. The fingerprints that table 0 has lost between
//! two readable ones are therefore those that the other tables have between them. If the other
//! tables supply as many as are missing, they are complete, and sorting assigns them to entries. If
//! they supply fewer, it is unknown which one is missing, and the whole gap is lost.

use std::ops::Range;

use super::fingerprints::{RunFingerprints, conclude};
use super::report::RepairReport;
use super::table::{DamagedTable, TableEntry, Walk};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, RunRecord};
use crate::storage::{Storage, names};
use crate::util::cast::to_usize;

/// Neighbouring unreadable entries of table 0, and what is known about their values.
#[derive(Debug)]
struct Gap<F> {
    entries: Range<u64>,
    /// Smallest and largest value that the directory allows.
    bounds: (F, F),
    /// The readable values around the gap.
    after: Option<F>,
    before: Option<F>,
    /// Candidates. Distinct and ascending after each table; at the end all missing values, or none.
    found: Vec<F>,
    /// Whether there are more candidates than entries. Then the tables disagree.
    contradicted: bool,
}

impl<F: Fingerprint> Gap<F> {
    fn new(entries: Range<u64>, bounds: (F, F), after: Option<F>) -> Self {
        Self { entries, bounds, after, before: None, found: Vec::new(), contradicted: false }
    }

    fn missing(&self) -> usize {
        to_usize(self.entries.end - self.entries.start)
    }

    fn is_filled(&self) -> bool {
        !self.contradicted && self.found.len() == self.missing()
    }

    fn is_below(&self, value: F) -> bool {
        self.bounds.1 < value || self.before.is_some_and(|before| before <= value)
    }

    fn may_hold(&self, value: F) -> bool {
        !self.is_below(value) && self.bounds.0 <= value && self.after < Some(value)
    }

    /// Adds a value of another table. A table holds each value once, so sound tables together never
    /// supply more than two copies of the missing values.
    fn add(&mut self, value: F) {
        if self.found.len() >= 2 * self.missing() {
            self.settle();
        }
        if !self.contradicted {
            self.found.push(value);
        }
    }

    /// Sorts the candidates of several tables and removes duplicates.
    fn settle(&mut self) {
        self.found.sort_unstable();
        self.found.dedup();
        if self.found.len() > self.missing() {
            self.contradicted = true;
            self.found = Vec::new();
        }
    }
}

/// The fingerprints of a run. Each is in every table.
#[derive(Debug)]
pub(super) struct TableFingerprints<F> {
    natural: DamagedTable<F>,
    gaps: Vec<Gap<F>>,
    walk: Walk<F>,
    next_entry: u64,
    current: Option<F>,
    next_gap: usize,
}

impl<F: Fingerprint> TableFingerprints<F> {
    /// Reads table 0 once, and the others as long as it has gaps. Holds the candidates for the
    /// gaps.
    pub(super) fn of(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        report: &mut RepairReport,
    ) -> Result<Self> {
        let natural = DamagedTable::open(storage, manifest, record, 0, report)?;
        let mut fingerprints = Self {
            natural,
            gaps: Vec::new(),
            walk: Walk::default(),
            next_entry: 0,
            current: None,
            next_gap: 0,
        };
        let sum = fingerprints.find_gaps(record.entries);
        fingerprints.natural.report_unreadable(report);
        for number in 1..record.segments.len() {
            if fingerprints.gaps.iter().all(Gap::is_filled) {
                break;
            }
            let mut table = DamagedTable::open(storage, manifest, record, number, report)?;
            if !table.is_missing() {
                fingerprints.fill_from(&mut table);
                table.report_unreadable(report);
            }
        }
        for gap in fingerprints.gaps.iter_mut().filter(|gap| !gap.is_filled()) {
            gap.found = Vec::new();
        }
        let file = names::segment(record.run, 0);
        conclude(&mut fingerprints, sum, record, (&file, "other tables"), report);
        Ok(fingerprints)
    }

    /// Finds the unreadable entries of table 0. Returns the sum over the readable ones.
    fn find_gaps(&mut self, entries: u64) -> u64 {
        if self.natural.is_missing() {
            self.gaps.push(Gap::new(0..entries, (F::default(), F::ones(0, F::BITS)), None));
            return 0;
        }
        let mut walk = Walk::default();
        let (mut sum, mut entry, mut last) = (0u64, 0, None);
        while let Some(TableEntry { value, bounds }) = self.natural.next(&mut walk) {
            match value {
                Some(value) => {
                    sum = sum.wrapping_add(value.hash64());
                    last = Some(value);
                    if let Some(gap) = self.gaps.last_mut().filter(|gap| gap.entries.end == entry) {
                        gap.before = Some(value);
                    }
                }
                None => self.widen_gap(entry, bounds, last),
            }
            entry += 1;
        }
        sum
    }

    fn widen_gap(&mut self, entry: u64, bounds: (F, F), after: Option<F>) {
        if let Some(gap) = self.gaps.last_mut()
            && gap.entries.end == entry
            && gap.bounds == bounds
        {
            gap.entries.end += 1;
            return;
        }
        self.gaps.push(Gap::new(entry..entry + 1, bounds, after));
    }

    /// Adds the values that another table has for the gaps.
    fn fill_from(&mut self, table: &mut DamagedTable<F>) {
        let mut walk = Walk::default();
        while let Some(entry) = table.next(&mut walk) {
            let Some(value) = entry.value.map(|permuted| table.table.restore(permuted)) else { continue };
            let place = self.gaps.partition_point(|gap| gap.is_below(value));
            if let Some(gap) = self.gaps.get_mut(place)
                && gap.may_hold(value)
            {
                gap.add(value);
            }
        }
        self.gaps.iter_mut().for_each(Gap::settle);
    }

    /// The value of an entry in a filled gap.
    fn filled(&mut self, entry: u64) -> Option<F> {
        while self.gaps.get(self.next_gap)?.entries.end <= entry {
            self.next_gap += 1;
        }
        let gap = self.gaps.get(self.next_gap)?;
        let place = entry.checked_sub(gap.entries.start)?;
        gap.found.get(to_usize(place)).copied()
    }
}

impl<F: Fingerprint> RunFingerprints<F> for TableFingerprints<F> {
    fn at(&mut self, entry: u64) -> Option<F> {
        while self.next_entry <= entry {
            self.current = self.natural.next(&mut self.walk)?.value;
            self.next_entry += 1;
        }
        self.current.or_else(|| self.filled(entry))
    }

    fn rewind(&mut self) {
        (self.walk, self.next_entry, self.current, self.next_gap) = (Walk::default(), 0, None, 0);
    }

    fn recovered(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.found.len() as u64).sum()
    }

    fn lost(&self) -> u64 {
        let missing: u64 = self.gaps.iter().map(|gap| gap.missing() as u64).sum();
        missing - self.recovered()
    }

    fn recovered_sum(&self) -> u64 {
        self.gaps.iter().flat_map(|gap| &gap.found).fold(0, |sum, value| sum.wrapping_add(value.hash64()))
    }

    fn discard_recovered(&mut self) {
        self.gaps.iter_mut().for_each(|gap| gap.found = Vec::new());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(len: u64) -> Gap<u64> {
        Gap { before: Some(90), ..Gap::new(5..5 + len, (10, 99), Some(20)) }
    }

    #[test]
    fn a_gap_holds_values_strictly_between_its_neighbours() {
        let gap = gap(3);
        let held: Vec<u64> = (0..200).filter(|&value| gap.may_hold(value)).collect();
        assert!(held.iter().copied().eq(21..90));
        let narrow = Gap { before: None, ..Gap::new(0..1, (30u64, 40), None) };
        assert!(narrow.may_hold(30) && narrow.may_hold(40) && !narrow.may_hold(29) && !narrow.may_hold(41));
    }

    #[test]
    fn a_gap_is_filled_by_as_many_distinct_values_as_it_has_entries() {
        let mut filled = gap(3);
        for table in [&[30, 70][..], &[30], &[50, 70]] {
            assert!(!filled.is_filled());
            table.iter().for_each(|&value| filled.add(value));
            filled.settle();
        }
        assert!(filled.is_filled());
        assert_eq!(filled.found, [30, 50, 70]);
    }

    #[test]
    fn a_gap_with_more_values_than_entries_is_never_filled() {
        let mut gap = gap(2);
        (21..80).for_each(|value| gap.add(value));
        gap.settle();
        assert!(gap.contradicted && gap.found.is_empty() && !gap.is_filled());
        gap.add(30);
        gap.add(31);
        gap.settle();
        assert!(!gap.is_filled());
    }
}
