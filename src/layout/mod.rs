//! How a fingerprint is split into blocks, and which blocks lead in which table.
//!
//! Pure arithmetic, no I/O: [`Layout`] is what the manifest stores, [`Table`] is one permutation of
//! the bits ready for use, [`plan`] decides which tables a query probes and how far, [`covering`]
//! finds small families of tables for `blocks(m, s)`.

pub(crate) mod cost;
mod covering;
mod permutation;
pub(crate) mod plan;

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use permutation::Permutation;

/// The most blocks, and the most tables, that a layout may have.
pub(crate) const MAX_TABLES: usize = 64;

/// Bits of a word of the `hi` plane.
pub(crate) const HI_BITS: u32 = 32;

/// Words that the `hi` plane has for each entry of `width` bits.
pub(crate) const fn hi_words(width: u32) -> usize {
    if width > 128 { 3 } else { 1 }
}

/// Whether fingerprints are too wide to stand in each table as a whole.
pub(crate) const fn is_wide(width: u32) -> bool {
    width > 64
}

/// A run of neighbouring bits, counted from the most significant one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// Which layout a database is made with.
///
/// Written and read as `auto`, `rotations:T` or `blocks:M,S`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutChoice {
    /// `rotations:T`, with T picked for each run by its size.
    #[default]
    Auto,
    /// T disjoint blocks; each leads one table. Serves every k.
    Rotations {
        /// Number of blocks and tables, 1 to 64.
        tables: u32,
    },
    /// M blocks, S of which lead each table; as few tables as make every way of spreading k errors
    /// leave one prefix untouched.
    Blocks {
        /// Number of blocks, 1 to 64.
        blocks: u32,
        /// Blocks in each prefix, 1 to `blocks - k`.
        prefix: u32,
    },
}

impl fmt::Display for LayoutChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Rotations { tables } => write!(f, "rotations:{tables}"),
            Self::Blocks { blocks, prefix } => write!(f, "blocks:{blocks},{prefix}"),
        }
    }
}

impl FromStr for LayoutChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |digits: &str| digits.parse::<u32>().ok();
        let parsed = match text.split_once(':') {
            None if text == "auto" => Some(Self::Auto),
            Some(("rotations", tables)) => number(tables).map(|tables| Self::Rotations { tables }),
            Some(("blocks", rest)) => rest.split_once(',').and_then(|(blocks, prefix)| {
                Some(Self::Blocks { blocks: number(blocks)?, prefix: number(prefix)? })
            }),
            _ => None,
        };
        parsed.ok_or_else(|| Error::InvalidLayout {
            layout: format!("layout {text:?}"),
            reason: "expected auto, rotations:T or blocks:M,S, with T, M, S numbers".into(),
        })
    }
}

impl LayoutChoice {
    /// Works the choice out for a run of `entries` distinct fingerprints of `width` bits that will
    /// mostly be asked for `k`.
    pub(crate) fn layout(self, width: u32, k: u32, entries: u64) -> Result<Layout> {
        match self {
            Self::Auto => Ok(cost::best_rotations(width, k, entries)),
            Self::Rotations { tables } => Layout::rotations(width, tables),
            Self::Blocks { blocks, prefix } => Layout::covering(width, blocks, prefix, k),
        }
    }
}

/// The blocks of a width and the prefix of every table. Table 0 is always the natural order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    width: u32,
    blocks: Vec<Block>,
    /// One bit set of blocks per table: bit `b` stands for block `b`.
    prefixes: Vec<u64>,
}

impl Layout {
    /// `tables` disjoint blocks, each leading one table.
    pub(crate) fn rotations(width: u32, tables: u32) -> Result<Self> {
        if !(1..=64).contains(&tables) {
            let (layout, reason) =
                (format!("rotations:{tables}"), "between 1 and 64 tables are possible".into());
            return Err(Error::InvalidLayout { layout, reason });
        }
        Ok(Self { width, blocks: split(width, tables), prefixes: (0..tables).map(|b| 1 << b).collect() })
    }

    /// `blocks` blocks with prefixes of `prefix` blocks, such that k errors always miss one prefix.
    pub(crate) fn covering(width: u32, blocks: u32, prefix: u32, k: u32) -> Result<Self> {
        let layout = format!("blocks:{blocks},{prefix} for k = {k}");
        let why = |reason: String| Error::InvalidLayout { layout: layout.clone(), reason };
        if !(1..=64).contains(&blocks) || prefix == 0 {
            return Err(why("1 to 64 blocks and a prefix of at least one block are possible".into()));
        }
        if prefix > blocks || k > blocks - prefix {
            return Err(why(format!(
                "k errors can touch every prefix unless M - S >= k; try a prefix of at most {}",
                blocks.saturating_sub(k)
            )));
        }
        let prefixes = covering::search(blocks, prefix, k).map_err(|error| why(error.to_string()))?;
        Ok(Self { width, blocks: split(width, blocks), prefixes })
    }

    /// Rebuilds a layout from what a file says. `None` where the parts break a rule.
    pub(crate) fn from_parts(width: u32, blocks: u32, prefixes: Vec<u64>) -> Option<Self> {
        if !(1..=64).contains(&blocks) || blocks > width || prefixes.is_empty() || prefixes.len() > MAX_TABLES
        {
            return None;
        }
        let all = u64::MAX >> (64 - blocks);
        if prefixes.iter().any(|&prefix| prefix == 0 || prefix & !all != 0) {
            return None;
        }
        let first = prefixes.first()?;
        if first & first.wrapping_add(1) != 0 {
            return None;
        }
        Some(Self { width, blocks: split(width, blocks), prefixes })
    }

    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The prefix of each table as a bit set of blocks.
    pub(crate) fn prefixes(&self) -> &[u64] {
        &self.prefixes
    }

    pub(crate) fn table_count(&self) -> usize {
        self.prefixes.len()
    }

    /// The number of bits that lead table `table`.
    pub(crate) fn prefix_bits(&self, table: usize) -> u32 {
        self.blocks_of(self.prefixes[table]).map(|block| block.len).sum()
    }

    /// Whether no two of the given tables share a prefix block.
    pub(crate) fn disjoint(&self, mut tables: impl Iterator<Item = usize>) -> bool {
        let mut seen = 0u64;
        tables.all(|table| {
            let fresh = seen & self.prefixes[table] == 0;
            seen |= self.prefixes[table];
            fresh
        })
    }

    /// The tables as permutations, in order.
    pub(crate) fn tables<F: Fingerprint>(&self) -> Vec<Table<F>> {
        debug_assert_eq!(self.width, F::BITS);
        (0..self.table_count()).map(|table| self.table(table)).collect()
    }

    /// One table as a permutation.
    pub(crate) fn table<F: Fingerprint>(&self, table: usize) -> Table<F> {
        Table::new(self, table)
    }

    fn blocks_of(&self, set: u64) -> impl Iterator<Item = Block> + '_ {
        self.blocks.iter().enumerate().filter(move |(b, _)| set >> b & 1 == 1).map(|(_, block)| *block)
    }

    /// The order in which table `table` writes the blocks: the prefix ascending, then the others from
    /// the one behind the last prefix block on, wrapping around.
    fn block_order(&self, table: usize) -> Vec<Block> {
        let prefix = self.prefixes[table];
        let behind = 64 - prefix.leading_zeros() as usize;
        let rest = (0..self.blocks.len())
            .map(|step| (behind + step) % self.blocks.len())
            .filter(|b| prefix >> b & 1 == 0)
            .map(|b| self.blocks[b]);
        self.blocks_of(prefix).chain(rest).collect()
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefix = self.prefixes[0].count_ones();
        if prefix == 1 && self.prefixes.len() == self.blocks.len() {
            write!(f, "rotations:{}", self.prefixes.len())
        } else {
            write!(f, "blocks:{},{prefix}", self.blocks.len())
        }
    }
}

/// Splits `width` bits into `count` blocks; the first `width % count` are one bit longer.
fn split(width: u32, count: u32) -> Vec<Block> {
    let mut start = 0;
    (0..count)
        .map(|b| {
            let block = Block { start, len: width / count + u32::from(b < width % count) };
            start += block.len;
            block
        })
        .collect()
}

/// One permutation of the bits: the prefix in front.
#[derive(Clone, Debug)]
pub(crate) struct Table<F> {
    /// Number of bits brought to the front.
    pub(crate) prefix_bits: u32,
    /// Where those bits stand in natural order.
    pub(crate) prefix_mask: F,
    permutation: Permutation<F>,
}

impl<F: Fingerprint> Table<F> {
    fn new(layout: &Layout, table: usize) -> Self {
        let prefix_mask = layout
            .blocks_of(layout.prefixes[table])
            .fold(F::default(), |mask, block| mask | F::ones(block.start, block.len));
        Self {
            prefix_bits: layout.prefix_bits(table),
            prefix_mask,
            permutation: Permutation::new(&layout.block_order(table)),
        }
    }

    /// Natural order to this table's order. Distances do not change.
    #[inline]
    pub(crate) fn permute(&self, natural: F) -> F {
        self.permutation.apply(natural)
    }

    /// This table's order back to natural order.
    #[inline]
    pub(crate) fn restore(&self, permuted: F) -> F {
        self.permutation.undo(permuted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_tables<F: Fingerprint>(layout: &Layout, x: F, y: F) {
        for (index, table) in layout.tables::<F>().iter().enumerate() {
            let (px, py) = (table.permute(x), table.permute(y));
            assert_eq!(table.restore(px), x);
            assert_eq!(px.distance(py), x.distance(y));
            let prefix = |p: F| p & F::ones(0, table.prefix_bits);
            assert_eq!(prefix(px).distance(prefix(py)), ((x ^ y) & table.prefix_mask).count_ones());
            if index == 0 {
                assert_eq!(px, x, "table 0 is the natural order");
            }
        }
    }

    proptest! {
        #[test]
        fn permutations_keep_distances_and_bring_the_prefix_to_the_front(
            tables in 1u32..=64, m in 1u32..=9, s in 1u32..=4, k in 0u32..=4, x: u64, y: u64, wide: u128,
        ) {
            check_tables(&Layout::rotations(64, tables).unwrap(), x, y);
            check_tables(&Layout::rotations(128, tables).unwrap(), wide, u128::from(y) << 31);
            if let (Ok(narrow), Ok(broad)) = (Layout::covering(64, m, s, k), Layout::covering(128, m, s, k)) {
                check_tables(&narrow, x, y);
                check_tables(&broad, wide, u128::from(x) << 57);
            }
        }
    }

    #[test]
    fn block_lengths_differ_by_at_most_one_and_fill_the_width() {
        for count in 1..=64 {
            let blocks = split(64, count);
            assert_eq!(blocks.iter().map(|b| b.len).sum::<u32>(), 64);
            assert!(blocks.iter().all(|b| b.len == 64 / count || b.len == 64 / count + 1));
        }
        assert_eq!(split(64, 3).iter().map(|b| b.len).collect::<Vec<_>>(), [22, 21, 21]);
    }

    #[test]
    fn choices_read_what_they_print() {
        for text in ["auto", "rotations:4", "blocks:6,2"] {
            assert_eq!(text.parse::<LayoutChoice>().unwrap().to_string(), text);
        }
        for text in ["", "rotations", "rotations:", "rotations:x", "blocks:6", "blocks:6,2,1", "blocks:-6,2"]
        {
            assert!(matches!(text.parse::<LayoutChoice>(), Err(Error::InvalidLayout { .. })), "{text}");
        }
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let refused =
            |choice: LayoutChoice, k| matches!(choice.layout(64, k, 1000), Err(Error::InvalidLayout { .. }));
        assert!(refused(LayoutChoice::Rotations { tables: 0 }, 3));
        assert!(refused(LayoutChoice::Rotations { tables: 65 }, 3));
        assert!(refused(LayoutChoice::Blocks { blocks: 6, prefix: 4 }, 3));
        assert!(refused(LayoutChoice::Blocks { blocks: 6, prefix: 0 }, 3));
        assert!(refused(LayoutChoice::Blocks { blocks: 65, prefix: 2 }, 3));
        assert!(refused(LayoutChoice::Blocks { blocks: 40, prefix: 20 }, 10));
    }

    #[test]
    fn parts_from_a_file_are_checked() {
        assert!(Layout::from_parts(64, 4, vec![1, 2, 4, 8]).is_some());
        assert!(Layout::from_parts(64, 64, vec![u64::MAX]).is_some());
        for (blocks, prefixes) in [
            (0, vec![1]),
            (65, vec![1]),
            (4, vec![]),
            (4, vec![0]),
            (4, vec![1, 16]),
            (4, vec![2]),
            (4, vec![5]),
            (4, vec![1; 65]),
        ] {
            assert!(Layout::from_parts(64, blocks, prefixes.clone()).is_none(), "{blocks} {prefixes:?}");
        }
    }
}
