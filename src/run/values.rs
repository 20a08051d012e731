//! The whole fingerprints of a run whose tables hold only their numbers.

use std::ops::Range;
use std::sync::Arc;

use super::page_file::{FileSpec, PageFile};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Stored};
use crate::format::manifest::FileRecord;
use crate::format::postings::VALUES;
use crate::storage::{Access, Storage};

/// A section of the run's postings file: every fingerprint once, in natural order.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    file: Arc<PageFile>,
    base: usize,
}

impl Values {
    /// The fingerprints in a postings file. `None` if the tables hold whole fingerprints.
    pub(super) fn of<F: Fingerprint>(file: &Arc<PageFile>) -> Option<Self> {
        (!F::PAYLOAD.is_whole()).then(|| Self { file: file.clone(), base: file.base(VALUES) })
    }

    /// Maps the fingerprints of a postings file that has just been written. `None` if the tables
    /// hold whole fingerprints.
    pub(crate) fn written<F: Fingerprint>(
        storage: &dyn Storage,
        spec: &FileSpec,
        record: FileRecord,
    ) -> Result<Option<Self>> {
        if F::PAYLOAD.is_whole() {
            return Ok(None);
        }
        let file = PageFile::open(storage, spec, Access::Sequential, record)?;
        Ok(Self::of::<F>(&Arc::new(file)))
    }

    fn place<F: Fingerprint>(&self, entries: &Range<usize>) -> Range<usize> {
        self.base + entries.start * F::LEN_BYTES..self.base + entries.end * F::LEN_BYTES
    }

    /// Prefetches a fingerprint. It lies in one cache line.
    #[inline]
    pub(super) fn prefetch<F: Fingerprint>(&self, entry: usize) {
        self.file.prefetch(self.place::<F>(&(entry..entry + 1)));
    }

    /// Fingerprint number `entry`, which must exist.
    #[inline]
    pub(super) fn get<F: Fingerprint>(&self, entry: usize) -> Result<F> {
        Ok(F::read_le(self.file.bytes(self.place::<F>(&(entry..entry + 1)))?))
    }

    /// Appends neighbouring fingerprints.
    pub(super) fn read<F: Fingerprint>(&self, entries: &Range<usize>, out: &mut Vec<F>) -> Result<()> {
        let bytes = self.file.bytes(self.place::<F>(entries))?;
        out.extend(bytes.chunks_exact(F::LEN_BYTES).map(F::read_le));
        Ok(())
    }

    /// Starts read-ahead of neighbouring fingerprints.
    pub(super) fn will_need<F: Fingerprint>(&self, entries: &Range<usize>) {
        self.file.will_need(self.place::<F>(entries));
    }
}
