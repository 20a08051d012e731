//! Blocks: runs of neighbouring bits that a layout moves as a whole.

/// The most blocks, and the most tables, of a layout.
pub(crate) const MAX_TABLES: usize = 64;

/// Neighbouring bits, counted from the most significant one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) start: u32,
    pub(super) len: u32,
}

/// Splits `width` bits into `count` blocks. The first `width % count` blocks are one bit longer.
pub(super) fn split(width: u32, count: u32) -> Vec<Block> {
    let mut start = 0;
    (0..count)
        .map(|b| {
            let block = Block { start, len: width / count + u32::from(b < width % count) };
            start += block.len;
            block
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_lengths_differ_by_at_most_one_and_fill_the_width() {
        for count in 1..=64 {
            let blocks = split(64, count);
            assert_eq!(blocks.iter().map(|b| b.len).sum::<u32>(), 64);
            assert!(blocks.iter().all(|b| b.len == 64 / count || b.len == 64 / count + 1));
        }
        assert_eq!(split(64, 3).iter().map(|b| b.len).collect::<Vec<_>>(), [22, 21, 21]);
    }
}
