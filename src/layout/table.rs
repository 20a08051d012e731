//! One table of a layout: a permutation that moves the bits of its prefix to the front.

use super::block::Block;
use super::permutation::Permutation;
use crate::fingerprint::Fingerprint;

/// One permutation of the bits: the prefix first, then the other bits.
#[derive(Clone, Debug)]
pub(crate) struct Table<F> {
    /// Number of bits in the prefix.
    pub(crate) prefix_bits: u32,
    /// The bits of the prefix, in natural order.
    pub(crate) prefix_mask: F,
    permutation: Permutation<F>,
}

impl<F: Fingerprint> Table<F> {
    /// The table that writes the blocks of its prefix first, then the others, each in the given
    /// order.
    pub(super) fn new(prefix: &[Block], others: &[Block]) -> Self {
        let mask = |mask, block: &Block| mask | F::ones(block.start, block.len);
        Self {
            prefix_bits: prefix.iter().map(|block| block.len).sum(),
            prefix_mask: prefix.iter().fold(F::default(), mask),
            permutation: Permutation::new(&[prefix, others].concat()),
        }
    }

    /// Converts from natural order to this table's order. Distances stay the same.
    #[inline]
    pub(crate) fn permute(&self, natural: F) -> F {
        self.permutation.apply(natural)
    }

    /// The first 128 bits of [`permute`](Table::permute), which determine bucket and `hi` words. The bits behind them
    /// are undefined.
    #[inline]
    pub(crate) fn leading(&self, natural: F) -> F {
        self.permutation.leading(natural)
    }

    /// Converts from this table's order back to natural order.
    #[inline]
    pub(crate) fn restore(&self, permuted: F) -> F {
        self.permutation.undo(permuted)
    }
}
