//! What near means in a database.

use crate::fingerprint::Fingerprint;

/// Which bits of two fingerprints count as their distance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Metric<F> {
    compared: F,
    /// Whether 0 is a fingerprint like every other.
    has_zero: bool,
}

impl<F: Fingerprint> Metric<F> {
    /// All bits.
    pub(crate) fn hamming() -> Self {
        Self { compared: F::ones(0, F::BITS), has_zero: true }
    }

    /// The bits of a sketch. 0 stands for a text without content, and is near nothing.
    pub(super) fn sketch(compared: F) -> Self {
        Self { compared, has_zero: false }
    }

    /// The bits that count.
    pub(crate) fn compared(self) -> F {
        self.compared
    }

    #[inline]
    pub(crate) fn distance(self, a: F, b: F) -> u32 {
        ((a ^ b) & self.compared).count_ones()
    }

    /// Whether all bits count.
    #[inline]
    pub(crate) fn counts_all(self) -> bool {
        self.has_zero
    }

    /// Whether a fingerprint can be near any.
    #[inline]
    pub(crate) fn admits(self, fingerprint: F) -> bool {
        self.has_zero || fingerprint != F::default()
    }
}
