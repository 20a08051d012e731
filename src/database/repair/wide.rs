//! The fingerprints of a run whose tables hold only their numbers.
//!
//! Each fingerprint is in the postings file, once. Every table has the number of each fingerprint
//! and some of its bits. All tables together have all bits, so the content of a lost page can be
//! reconstructed.

use std::collections::BTreeMap;

use super::fingerprints::{RunFingerprints, conclude};
use super::pages::Pages;
use super::postings::DamagedPostings;
use super::report::RepairReport;
use super::table::{DamagedTable, KnownBits, Walk};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::postings::VALUES;
use crate::run::Postings;
use crate::storage::{Storage, names};

/// The fingerprints of a run.
#[derive(Debug)]
pub(super) struct WideFingerprints<F> {
    pages: Option<Pages>,
    /// The fingerprints that are unreadable in the postings file, by number.
    missing: BTreeMap<u64, KnownBits<F>>,
}

impl<F: Fingerprint> WideFingerprints<F> {
    /// Reads all fingerprints once, and the tables as long as some are missing.
    pub(super) fn of(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        report: &mut RepairReport,
    ) -> Result<Self> {
        let spec = Postings::file_spec(manifest.owner_of(record));
        // Reading the ids reports damage of the file as a whole. Here it is not reported again.
        let opened = Pages::open(storage, &spec, record.postings_file, &mut RepairReport::default())?;
        let pages = opened.or_arrange(DamagedPostings::footers(record, &[0]), |_| true);
        let mut fingerprints = Self { pages, missing: BTreeMap::new() };
        if fingerprints.pages.is_none() {
            return Ok(fingerprints);
        }
        let sum = fingerprints.find_missing(record.entries);
        for number in 0..record.segments.len() {
            if fingerprints.missing.values().all(KnownBits::is_whole) {
                break;
            }
            let mut table = DamagedTable::<F>::open(storage, manifest, record, number, report)?;
            if !table.is_missing() {
                fingerprints.combine(&mut table);
                table.report_unreadable(report);
            }
        }
        let file = names::rows(record.run);
        conclude(&mut fingerprints, sum, record, (&file, "the tables"), report);
        Ok(fingerprints)
    }

    /// Finds the unreadable fingerprints. Returns the sum over the readable ones.
    fn find_missing(&mut self, entries: u64) -> u64 {
        let mut sum = 0u64;
        for entry in 0..entries {
            match self.read(entry) {
                Some(value) => sum = sum.wrapping_add(value.hash64()),
                None => drop(self.missing.insert(entry, KnownBits::default())),
            }
        }
        sum
    }

    /// Adds the bits that a table has of the missing fingerprints.
    fn combine(&mut self, table: &mut DamagedTable<F>) {
        let mut walk = Walk::default();
        while let Some((number, known)) = table.next_numbered(&mut walk) {
            if let Some(missing) = number.and_then(|number| self.missing.get_mut(&number)) {
                missing.combine(known);
            }
        }
    }

    fn read(&mut self, entry: u64) -> Option<F> {
        let len = F::LEN_BYTES as u64;
        self.pages.as_mut()?.bytes(VALUES, entry.checked_mul(len)?, len).map(|bytes| F::read_le(&bytes))
    }

    fn whole(&self) -> impl Iterator<Item = &KnownBits<F>> {
        self.missing.values().filter(|known| known.is_whole())
    }
}

impl<F: Fingerprint> RunFingerprints<F> for WideFingerprints<F> {
    fn at(&mut self, entry: u64) -> Option<F> {
        match self.missing.get(&entry) {
            Some(known) => known.is_whole().then_some(known.bits),
            None => self.read(entry),
        }
    }

    fn rewind(&mut self) {}

    fn recovered(&self) -> u64 {
        self.whole().count() as u64
    }

    fn lost(&self) -> u64 {
        self.missing.len() as u64 - self.recovered()
    }

    fn recovered_sum(&self) -> u64 {
        self.whole().fold(0, |sum, known| sum.wrapping_add(known.bits.hash64()))
    }

    fn discard_recovered(&mut self) {
        self.missing.values_mut().for_each(|known| known.mask = F::default());
    }
}
