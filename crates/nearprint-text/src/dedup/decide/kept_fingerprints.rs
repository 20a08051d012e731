//! Decides fingerprint by fingerprint, without documents.

use crate::dedup::temporary::{KEPT, WorkFolder};
use crate::error::Result;
use nearprint::any::{AnyFingerprint, AnyWriter, NewRows};
use nearprint::{LayoutChoice, Match, Near, Options, Schema, Width};

/// A run is written after this many fingerprints, to bound the memory.
const FLUSH_KEPT: u64 = 1 << 18;

/// The fingerprints of a stream that are near no earlier kept one.
///
/// They are remembered in a temporary folder until the value is dropped. [`FileJob`](crate::dedup::FileJob)
/// with [`Keep::Max`](crate::dedup::Keep::Max) keeps the same documents if their fingerprints come by
/// descending value.
///
/// ```
/// use nearprint::{Options, Width};
/// use nearprint_text::dedup::KeptFingerprints;
///
/// let mut kept = KeptFingerprints::new(Width::W64, 3, Options::new())?;
/// assert_eq!(kept.decide(&[0b0000])?, None);
/// assert_eq!(kept.decide(&[0b0111])?.map(|nearest| nearest.id), Some(0));
/// assert_eq!(kept.decide(&[0b1111])?, None);
/// assert_eq!(kept.decide(&[0b1110])?.map(|nearest| nearest.id), Some(2));
/// # Ok::<(), nearprint_text::Error>(())
/// ```
#[derive(Debug)]
pub struct KeptFingerprints {
    width: Width,
    writer: AnyWriter,
    k: u32,
    /// How many fingerprints were decided, and the kept ones.
    decided: u64,
    kept: u64,
    /// Removed after everything else is dropped.
    _folder: WorkFolder,
}

impl KeptFingerprints {
    /// Nothing is kept yet.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) for a k or bands that do not fit the width, and with
    /// I/O errors.
    pub fn new(width: Width, near: impl Into<Near>, options: Options) -> Result<Self> {
        let Near { k, bands } = near.into();
        let layout = bands.map_or(LayoutChoice::Auto, LayoutChoice::Bands);
        let folder = WorkFolder::new()?;
        let schema = Schema::new().k(k).layout(layout);
        let writer = options.create_any(folder.path().join(KEPT), width, &schema)?.writer()?;
        Ok(Self { width, writer, k, decided: 0, kept: 0, _folder: folder })
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        self.width
    }

    /// The nearest of the fingerprints kept before, the earliest of equally near ones. Its id is its number
    /// among all fingerprints, from 0. If there is none, the fingerprint is kept.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) with I/O errors.
    pub fn decide(&mut self, words: &[u64]) -> Result<Option<Match<AnyFingerprint>>> {
        let id = self.decided;
        self.decided += 1;
        let found = self.writer.matches(AnyFingerprint::new(self.width, words), self.k)?;
        let nearest = found.into_iter().min_by_key(|found| (found.distance, found.id));
        if nearest.is_none() {
            let row = NewRows { fingerprints: words, ids: Some(&[id]), ..NewRows::default() };
            self.writer.insert(&row, &mut |_| Ok(()))?;
            self.kept += 1;
            if self.kept.is_multiple_of(FLUSH_KEPT) {
                self.writer.flush()?;
            }
        }
        Ok(nearest)
    }
}
