//! Which rows a search of a writer finds.

use crate::fingerprint::{Distance, Fingerprint};
use crate::layout::BandDistances;

/// What is near: everything within a distance, or what the number of equal bands allows of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nearness<'a> {
    pub(crate) k: Distance,
    pub(crate) by_bands: Option<&'a BandDistances>,
}

impl<'a> Nearness<'a> {
    pub(crate) const fn within(k: Distance) -> Self {
        Self { k, by_bands: None }
    }

    pub(crate) fn by_bands<F: Fingerprint>(distances: &'a BandDistances) -> Self {
        Self { k: Distance::saturating::<F>(distances.largest()), by_bands: Some(distances) }
    }

    /// Whether a fingerprint within the distance is near.
    #[inline]
    pub(crate) fn admits<F: Fingerprint>(self, fingerprint: F, query: F) -> bool {
        self.by_bands.is_none_or(|distances| distances.contain(fingerprint, query))
    }
}
