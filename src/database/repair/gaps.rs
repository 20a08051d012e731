//! The fingerprints of a run by entry, with gaps of table 0 filled from the other tables.
//!
//! All tables of a run hold the same fingerprints. What table 0 has lost between two values that it
//! still has is therefore whatever the other tables have between them; where they give as many as are
//! missing, that is all of them, and sorting tells which is which entry. Where they give fewer, nobody
//! can tell which one is missing, and the whole gap is lost.

use std::ops::Range;

use super::findings::{Findings, Kind};
use super::table::{DamagedTable, Step, Walk};
use super::wide::WideFingerprints;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Payload, Stored};
use crate::format::manifest::{Manifest, RunRecord};
use crate::storage::{Storage, names};

/// Entries of table 0 that cannot be read, next to each other, and what is known about their values.
#[derive(Debug)]
struct Gap<F> {
    entries: Range<u64>,
    /// Smallest and largest value that the directory allows.
    bounds: (F, F),
    /// The readable values around.
    after: Option<F>,
    before: Option<F>,
    /// Candidates: distinct and ascending between tables, at the end the missing values or nothing.
    found: Vec<F>,
    /// More candidates than entries: the tables disagree.
    contradicted: bool,
}

impl<F: Fingerprint> Gap<F> {
    fn new(entries: Range<u64>, bounds: (F, F), after: Option<F>) -> Self {
        Self { entries, bounds, after, before: None, found: Vec::new(), contradicted: false }
    }

    fn missing(&self) -> usize {
        crate::util::cast::to_usize(self.entries.end - self.entries.start)
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

    /// Takes a value of another table. A table has each value once, so that honest ones together never
    /// give more than the missing ones twice.
    fn take(&mut self, value: F) {
        if self.found.len() >= 2 * self.missing() {
            self.settle();
        }
        if !self.contradicted {
            self.found.push(value);
        }
    }

    /// Sorts out what several tables gave.
    fn settle(&mut self) {
        self.found.sort_unstable();
        self.found.dedup();
        if self.found.len() > self.missing() {
            self.contradicted = true;
            self.found = Vec::new();
        }
    }
}

/// The fingerprints of a run, to be asked for in ascending order of entries.
#[derive(Debug)]
pub(super) enum Fingerprints<F> {
    InTables(TableFingerprints<F>),
    InRows(WideFingerprints<F>),
}

impl<F: Fingerprint> Fingerprints<F> {
    /// Reads them once where they stand, and elsewhere as far as that has gaps.
    pub(super) fn of(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        findings: &mut Findings,
    ) -> Result<Self> {
        match F::PAYLOAD {
            Payload::Whole => TableFingerprints::of(storage, manifest, record, findings).map(Self::InTables),
            Payload::Numbered { .. } => {
                WideFingerprints::of(storage, manifest, record, findings).map(Self::InRows)
            }
        }
    }

    /// Goes back to the first entry.
    pub(super) fn rewind(&mut self) {
        if let Self::InTables(fingerprints) = self {
            fingerprints.rewind();
        }
    }

    /// The fingerprint of an entry, `None` where it is lost. Entries may be left out, but never asked
    /// for in descending order.
    pub(super) fn at(&mut self, entry: u64) -> Option<F> {
        match self {
            Self::InTables(fingerprints) => fingerprints.at(entry),
            Self::InRows(fingerprints) => fingerprints.at(entry),
        }
    }

    /// Entries that were put together from elsewhere.
    pub(super) fn recovered(&self) -> u64 {
        match self {
            Self::InTables(fingerprints) => fingerprints.recovered(),
            Self::InRows(fingerprints) => fingerprints.recovered(),
        }
    }

    /// Entries that are nowhere.
    pub(super) fn lost(&self) -> u64 {
        match self {
            Self::InTables(fingerprints) => fingerprints.lost(),
            Self::InRows(fingerprints) => fingerprints.lost(),
        }
    }
}

/// 64-bit fingerprints, each of which stands in every table.
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
    /// Reads table 0 once, and the others as far as it has gaps. Holds the candidates for the gaps.
    fn of(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        findings: &mut Findings,
    ) -> Result<Self> {
        let natural = DamagedTable::open(storage, manifest, record, 0, findings)?;
        let mut fingerprints = Self {
            natural,
            gaps: Vec::new(),
            walk: Walk::default(),
            next_entry: 0,
            current: None,
            next_gap: 0,
        };
        let sum = fingerprints.find_gaps(record.entries);
        fingerprints.natural.tell_unreadable(findings);
        for number in 1..record.segments.len() {
            if fingerprints.gaps.iter().all(Gap::is_filled) {
                break;
            }
            let mut table = DamagedTable::open(storage, manifest, record, number, findings)?;
            if !table.is_gone() {
                fingerprints.take_from(&mut table);
                table.tell_unreadable(findings);
            }
        }
        fingerprints.conclude(sum, record, findings);
        Ok(fingerprints)
    }

    /// Goes back to the first entry.
    fn rewind(&mut self) {
        (self.walk, self.next_entry, self.current, self.next_gap) = (Walk::default(), 0, None, 0);
    }

    /// The fingerprint of an entry, `None` where it is lost. Entries may be left out, but never asked
    /// for in descending order.
    fn at(&mut self, entry: u64) -> Option<F> {
        while self.next_entry <= entry {
            self.current = self.natural.next(&mut self.walk)?.value;
            self.next_entry += 1;
        }
        self.current.or_else(|| self.filled(entry))
    }

    /// Entries that other tables gave.
    fn recovered(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.found.len() as u64).sum()
    }

    /// Entries that are nowhere.
    fn lost(&self) -> u64 {
        let missing: u64 = self.gaps.iter().map(|gap| gap.missing() as u64).sum();
        missing - self.recovered()
    }

    fn filled(&mut self, entry: u64) -> Option<F> {
        while self.gaps.get(self.next_gap)?.entries.end <= entry {
            self.next_gap += 1;
        }
        let gap = self.gaps.get(self.next_gap)?;
        let place = entry.checked_sub(gap.entries.start)?;
        gap.found.get(crate::util::cast::to_usize(place)).copied()
    }

    /// Walks over table 0 and notes what cannot be read. Returns the sum over what can.
    fn find_gaps(&mut self, entries: u64) -> u64 {
        if self.natural.is_gone() {
            self.gaps.push(Gap::new(0..entries, (F::default(), F::ones(0, F::BITS)), None));
            return 0;
        }
        let mut walk = Walk::default();
        let (mut sum, mut entry, mut last) = (0u64, 0, None);
        while let Some(Step { value, bounds }) = self.natural.next(&mut walk) {
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

    /// Takes what another table has for the gaps.
    fn take_from(&mut self, table: &mut DamagedTable<F>) {
        let mut walk = Walk::default();
        while let Some(step) = table.next(&mut walk) {
            let Some(value) = step.value.map(|permuted| table.table.restore(permuted)) else { continue };
            let place = self.gaps.partition_point(|gap| gap.is_below(value));
            if let Some(gap) = self.gaps.get_mut(place)
                && gap.may_hold(value)
            {
                gap.take(value);
            }
        }
        self.gaps.iter_mut().for_each(Gap::settle);
    }

    /// Keeps the gaps that are filled. Where that makes the run complete, its sum has to be right.
    fn conclude(&mut self, sum: u64, record: &RunRecord, findings: &mut Findings) {
        let name = names::segment(record.run, 0);
        for gap in self.gaps.iter_mut().filter(|gap| !gap.is_filled()) {
            gap.found = Vec::new();
        }
        let values = self.gaps.iter().flat_map(|gap| &gap.found);
        let sum = values.fold(sum, |sum, value| sum.wrapping_add(value.hash64()));
        if self.lost() == 0 && sum != record.fingerprint_sum {
            findings.add(Kind::Note, &name, "the sum over all fingerprints is not the one it should be");
            self.gaps.iter_mut().for_each(|gap| gap.found = Vec::new());
        }
        match self.recovered() {
            0 => {}
            count => findings.add(Kind::Recovered, &name, format!("{count} fingerprints from other tables")),
        }
        findings.lost(&name, self.lost(), "fingerprints, with their rows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(len: u64) -> Gap<u64> {
        Gap { before: Some(90), ..Gap::new(5..5 + len, (10, 99), Some(20)) }
    }

    #[test]
    fn a_gap_holds_what_lies_strictly_between_its_neighbours() {
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
            table.iter().for_each(|&value| filled.take(value));
            filled.settle();
        }
        assert!(filled.is_filled());
        assert_eq!(filled.found, [30, 50, 70]);
    }

    #[test]
    fn a_gap_with_more_values_than_entries_is_never_filled() {
        let mut gap = gap(2);
        (21..80).for_each(|value| gap.take(value));
        gap.settle();
        assert!(gap.contradicted && gap.found.is_empty() && !gap.is_filled());
        gap.take(30);
        gap.take(31);
        gap.settle();
        assert!(!gap.is_filled());
    }
}
