//! The fingerprints of a run wider than 64 bits, with gaps filled from the tables.
//!
//! Each stands once as a whole, in the postings file. Every table has the number of each fingerprint and some of its
//! bits, of which all tables together have all: so what one lost page held can be put together again.

use std::collections::BTreeMap;

use super::findings::{Findings, Kind};
use super::pages::{Opened, Pages};
use super::postings::Postings;
use super::table::{DamagedTable, Walk};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::postings::VALUES;
use crate::run::Postings as PostingsFile;
use crate::storage::{Storage, names};

/// A fingerprint as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part<F> {
    pub(super) bits: F,
    /// Ones where bits are known.
    pub(super) known: F,
}

impl<F: Fingerprint> Part<F> {
    fn is_whole(&self) -> bool {
        self.known == F::ones(0, F::BITS)
    }

    /// Takes what another table tells. Tables that contradict each other tell nothing.
    fn take(&mut self, other: Self) {
        if (self.bits ^ other.bits) & self.known & other.known == F::default() {
            *self = Self { bits: self.bits | other.bits, known: self.known | other.known };
        } else {
            *self = Self { bits: F::default(), known: F::default() };
        }
    }
}

/// The fingerprints of a run.
#[derive(Debug)]
pub(super) struct WideFingerprints<F> {
    pages: Option<Pages>,
    /// By number: those that cannot be read where they stand.
    missing: BTreeMap<u64, Part<F>>,
}

impl<F: Fingerprint> WideFingerprints<F> {
    /// Reads all of them once, and the tables as far as some are missing.
    pub(super) fn of(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &RunRecord,
        findings: &mut Findings,
    ) -> Result<Self> {
        let spec = PostingsFile::file_spec(manifest.database_id, record.run, F::BITS);
        // What is wrong with the file as a whole is told by those who look for ids in it.
        let pages = match Pages::open(storage, &spec, record.postings_file, &mut Findings::default())? {
            Opened::Whole(pages) => Some(pages),
            Opened::WithoutFooter(pages) => pages.arrange(Postings::footers(record, &[0]), |_| true),
            Opened::Gone => None,
        };
        let mut fingerprints = Self { pages, missing: BTreeMap::new() };
        if fingerprints.pages.is_none() {
            return Ok(fingerprints);
        }
        let nothing = Part { bits: F::default(), known: F::default() };
        let mut sum = 0u64;
        for entry in 0..record.entries {
            match fingerprints.read(entry) {
                Some(value) => sum = sum.wrapping_add(value.hash64()),
                None => drop(fingerprints.missing.insert(entry, nothing)),
            }
        }
        for number in 0..record.segments.len() {
            if fingerprints.missing.values().all(Part::is_whole) {
                break;
            }
            let mut table = DamagedTable::<F>::open(storage, manifest, record, number, findings)?;
            if !table.is_gone() {
                let mut walk = Walk::default();
                while let Some((entry, part)) = table.next_part(&mut walk, number) {
                    if let Some(missing) = entry.and_then(|entry| fingerprints.missing.get_mut(&entry)) {
                        missing.take(part);
                    }
                }
                table.tell_unreadable(findings);
            }
        }
        fingerprints.conclude(sum, record, findings);
        Ok(fingerprints)
    }

    /// Where nothing is missing any more, the sum has to be right.
    fn conclude(&mut self, sum: u64, record: &RunRecord, findings: &mut Findings) {
        let name = names::rows(record.run);
        let whole = self.missing.values().filter(|part| part.is_whole());
        let sum = whole.fold(sum, |sum, part| sum.wrapping_add(part.bits.hash64()));
        if self.lost() == 0 && sum != record.fingerprint_sum {
            findings.add(Kind::Note, &name, "the sum over all fingerprints is not the one it should be");
            self.missing.values_mut().for_each(|part| part.known = F::default());
        }
        match self.recovered() {
            0 => {}
            count => findings.add(Kind::Recovered, &name, format!("{count} fingerprints from the tables")),
        }
        findings.lost(&name, self.lost(), "fingerprints, with their rows");
    }

    /// The fingerprint of an entry, `None` where it is lost.
    pub(super) fn at(&mut self, entry: u64) -> Option<F> {
        match self.missing.get(&entry) {
            Some(part) => part.is_whole().then_some(part.bits),
            None => self.read(entry),
        }
    }

    fn read(&mut self, entry: u64) -> Option<F> {
        let len = F::LEN_BYTES as u64;
        self.pages.as_mut()?.bytes(VALUES, entry.checked_mul(len)?, len).map(|bytes| F::read_le(&bytes))
    }

    /// Entries that the tables gave.
    pub(super) fn recovered(&self) -> u64 {
        self.missing.values().filter(|part| part.is_whole()).count() as u64
    }

    /// Entries that are nowhere.
    pub(super) fn lost(&self) -> u64 {
        self.missing.len() as u64 - self.recovered()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_unless_they_contradict_each_other() {
        let part = |bits: u128, known: u128| Part { bits, known };
        let mut whole = part(0, 0);
        whole.take(part(0xab << 120, 0xff << 120));
        whole.take(part(0xb7 << 116, 0xff << 116));
        assert_eq!(whole, part(0xab7 << 116, 0xfff << 116));
        assert!(!whole.is_whole());
        whole.take(part(5, u128::MAX >> 12));
        assert!(whole.is_whole() && whole.bits == 0xab7 << 116 | 5);
        whole.take(part(0, 1));
        assert_eq!(whole, part(0, 0));
    }
}
