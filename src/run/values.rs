//! The whole fingerprints of a run wider than 64 bits, which its tables only have numbers of.

use std::ops::Range;
use std::sync::Arc;

use super::page_file::{FileSpec, PageFile};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::FileRecord;
use crate::format::postings::VALUES;
use crate::storage::{Access, Storage};
use crate::util::cast::to_usize;

/// A section of the run's postings file: every fingerprint once, in natural order.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    file: Arc<PageFile>,
    base: usize,
}

impl Values {
    /// They begin at offset `base`.
    pub(super) fn new(file: Arc<PageFile>, base: usize) -> Self {
        Self { file, base }
    }

    /// Maps the fingerprints of a postings file that has just been written.
    pub(crate) fn written(storage: &dyn Storage, spec: &FileSpec, record: FileRecord) -> Result<Self> {
        let bytes = super::run::map(storage, &spec.name, Access::Sequential)?;
        let file = PageFile::open(spec, storage.path(&spec.name), bytes, record)?;
        let base = to_usize(file.section(VALUES).offset);
        Ok(Self::new(Arc::new(file), base))
    }

    fn place<F: Fingerprint>(&self, entries: &Range<usize>) -> Range<usize> {
        self.base + entries.start * F::LEN_BYTES..self.base + entries.end * F::LEN_BYTES
    }

    /// Asks for a fingerprint that will be wanted soon. It lies in one line of the cache.
    #[inline]
    pub(crate) fn prefetch<F: Fingerprint>(&self, entry: usize) {
        self.file.prefetch(self.place::<F>(&(entry..entry + 1)));
    }

    /// Fingerprint number `entry`. The caller knows that there are so many.
    #[inline]
    pub(crate) fn get<F: Fingerprint>(&self, entry: usize) -> Result<F> {
        Ok(F::read_le(self.file.bytes(self.place::<F>(&(entry..entry + 1)))?))
    }

    /// Appends neighbouring fingerprints.
    pub(crate) fn read<F: Fingerprint>(&self, entries: &Range<usize>, out: &mut Vec<F>) -> Result<()> {
        let bytes = self.file.bytes(self.place::<F>(entries))?;
        out.extend(bytes.chunks_exact(F::LEN_BYTES).map(F::read_le));
        Ok(())
    }

    /// Asks the system to read neighbouring fingerprints soon.
    pub(crate) fn will_need<F: Fingerprint>(&self, entries: &Range<usize>) {
        self.file.will_need(self.place::<F>(entries));
    }
}
