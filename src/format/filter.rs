//! Filters of ids: split block Bloom filters.
//!
//! A filter has one bit in each of the eight words of a block for every id of a set. If one of them
//! is missing, the id is not in the set. Otherwise it may be: one id in about a hundred passes by
//! accident. A look-up reads one block, which lies in one cache line (Putze, Sanders and Singler,
//! "Cache-, Hash- and Space-Efficient Bloom Filters", 2007). Hash and salts are as in the [Bloom
//! filters of Apache Parquet](https://parquet.apache.org/docs/file-format/bloomfilter/).

use crate::fingerprint::mix64;
use crate::kernel::prefetch;
use crate::util::cast::to_usize;

/// Bytes of a block.
pub(crate) const FILTER_BLOCK_BYTES: u64 = size_of::<Block>() as u64;
/// Bits for each id that a filter is made for.
const BITS_PER_ID: u64 = 10;

/// The number of ids whose blocks are fetched from memory together.
pub(crate) const INSERTED_AT_ONCE: usize = 64;

/// Eight words, each with one bit of every id of the block.
type Block = [u32; 8];

/// Each word has a multiplier of its own: the bit of an id follows from the product.
const SALTS: Block =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

/// The number of blocks for so many ids.
pub(crate) fn blocks_for(ids: u64) -> u64 {
    ids.saturating_mul(BITS_PER_ID).div_ceil(FILTER_BLOCK_BYTES * 8)
}

/// The most blocks: an index is 32 bits of a product.
pub(crate) const MAX_BLOCKS: u64 = u32::MAX as u64;

/// The place of an id in filters of so many blocks.
#[derive(Clone, Copy)]
pub(crate) struct FilterPlace {
    /// The number of its block.
    pub(crate) block: u64,
    bits: Block,
}

impl FilterPlace {
    #[inline]
    pub(crate) fn of(id: u64, blocks: u64) -> Self {
        let hash = mix64(id);
        #[expect(clippy::cast_possible_truncation, reason = "the other half chooses the block")]
        let low = hash as u32;
        let bits = SALTS.map(|salt| 1 << (low.wrapping_mul(salt) >> 27));
        Self { block: ((hash >> 32) * blocks) >> 32, bits }
    }

    /// Whether the block of the id has all of its bits.
    #[inline]
    pub(crate) fn is_in(&self, block: &Block) -> bool {
        block.iter().zip(&self.bits).all(|(word, bit)| word & bit != 0)
    }
}

/// A filter in memory.
#[derive(Debug)]
pub(crate) struct Filter(Vec<Block>);

impl Filter {
    pub(crate) fn with_blocks(blocks: u64) -> Self {
        Self(vec![Block::default(); to_usize(blocks)])
    }

    /// A filter of these ids.
    pub(crate) fn of(ids: &[u64]) -> Self {
        let mut filter = Self::with_blocks(blocks_for(ids.len() as u64));
        ids.chunks(INSERTED_AT_ONCE).for_each(|ids| filter.insert_all(ids));
        filter
    }

    /// Adds ids; not many more than [`INSERTED_AT_ONCE`], because their blocks are prefetched. Does
    /// nothing without blocks.
    pub(crate) fn insert_all(&mut self, ids: &[u64]) {
        let blocks = self.0.len() as u64;
        ids.iter().for_each(|&id| prefetch(&self.0, to_usize(FilterPlace::of(id, blocks).block)));
        ids.iter().for_each(|&id| self.insert(id));
    }

    #[inline]
    fn insert(&mut self, id: u64) {
        let place = FilterPlace::of(id, self.0.len() as u64);
        if let Some(block) = self.0.get_mut(to_usize(place.block)) {
            block.iter_mut().zip(place.bits).for_each(|(word, bit)| *word |= bit);
        }
    }

    /// Whether the filter may contain an id.
    #[inline]
    pub(crate) fn may_contain(&self, id: u64) -> bool {
        let place = FilterPlace::of(id, self.0.len() as u64);
        self.0.get(to_usize(place.block)).is_some_and(|block| place.is_in(block))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_passes_and_one_other_in_a_hundred() {
        for count in [1, 100, 100_000u64] {
            let ids: Vec<u64> = (0..count).map(|at| at * 3).collect();
            let filter = Filter::of(&ids);
            assert_eq!(filter.as_bytes().len() as u64, blocks_for(count) * FILTER_BLOCK_BYTES);
            assert!(ids.iter().all(|&id| filter.may_contain(id)));
            let passed = (0..count).filter(|at| filter.may_contain(at * 3 + 1)).count() as u64;
            assert!(passed * 50 <= count, "{passed} of {count}");
        }
    }

    #[test]
    fn a_filter_without_blocks_contains_nothing() {
        let mut empty = Filter::with_blocks(0);
        empty.insert_all(&[5]);
        assert!(!empty.may_contain(5) && empty.as_bytes().is_empty());
    }
}
