//! Layouts: the blocks of a width, and the blocks that form the prefix of each table.

use super::bands::BandLayout;
use super::block::{Block, MAX_TABLES, split};
use super::covering;
use super::metric::Metric;
use super::table::Table;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// The block of a layout of bands that is the sketch.
const SKETCH: usize = 1;

/// The blocks of a width and the prefix of every table. Table 0 is always the natural order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    width: u32,
    blocks: Vec<Block>,
    /// One bit set of blocks per table: bit `b` is block `b`.
    prefixes: Vec<u64>,
    /// Whether the blocks are bands and a sketch.
    bands: Option<BandLayout>,
}

impl Layout {
    /// `tables` disjoint blocks, each the prefix of one table.
    pub(crate) fn rotations(width: u32, tables: u32) -> Result<Self> {
        if !(1..=64).contains(&tables) {
            let (layout, reason) =
                (format!("rotations:{tables}"), "between 1 and 64 tables are possible".into());
            return Err(Error::InvalidLayout { layout, reason });
        }
        let prefixes = (0..tables).map(|b| 1 << b).collect();
        Ok(Self { width, blocks: split(width, tables), prefixes, bands: None })
    }

    /// Each band is the prefix of one table, and the sketch follows it.
    pub(crate) fn bands(width: u32, bands: BandLayout) -> Result<Self> {
        bands.check_width(width)?;
        let blocks = bands.blocks(width);
        let prefixes = (0..blocks.len()).filter(|&b| b != SKETCH).map(|b| 1 << b).collect();
        Ok(Self { width, blocks, prefixes, bands: Some(bands) })
    }

    /// `blocks` blocks with prefixes of `prefix` blocks, such that k errors always miss one prefix.
    pub(crate) fn covering(width: u32, blocks: u32, prefix: u32, k: u32) -> Result<Self> {
        let layout = format!("blocks:{blocks},{prefix} for k = {k}");
        let why = |reason: String| Error::InvalidLayout { layout: layout.clone(), reason };
        if !(1..=64).contains(&blocks) || prefix == 0 {
            return Err(why("1 to 64 blocks and a prefix of at least one block are possible".into()));
        }
        if k >= blocks {
            return Err(why(match k {
                ..64 => format!("k errors can touch every block; M is at least {}", k + 1),
                _ => "k errors can touch every block; rotations:T serves any k".into(),
            }));
        }
        if prefix > blocks - k {
            let most = blocks - k;
            return Err(why(format!(
                "k errors can touch every prefix unless M - S >= k; S is at most {most}"
            )));
        }
        let prefixes = covering::family(blocks, prefix, k).map_err(|error| why(error.to_string()))?;
        Ok(Self { width, blocks: split(width, blocks), prefixes, bands: None })
    }

    /// Rebuilds a layout from the parts that a file stores. `None` if the parts break a rule.
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
        Some(Self { width, blocks: split(width, blocks), prefixes, bands: None })
    }

    /// Whether tables look only for equal prefixes, whatever the distance.
    pub(crate) fn is_bands(&self) -> bool {
        self.bands.is_some()
    }

    pub(super) fn band_layout(&self) -> Option<BandLayout> {
        self.bands
    }

    /// What near means under this layout.
    pub(crate) fn metric<F: Fingerprint>(&self) -> Metric<F> {
        self.bands.map_or_else(Metric::hamming, |bands| Metric::sketch(bands.sketch_mask()))
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

    /// The number of bits in the prefix of table `table`.
    pub(crate) fn prefix_bits(&self, table: usize) -> u32 {
        self.prefix_blocks(table).map(|block| block.len).sum()
    }

    /// Whether no two of the given tables share a block of their prefixes.
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
        let prefix: Vec<Block> = self.prefix_blocks(table).collect();
        Table::new(&prefix, &self.other_blocks(table))
    }

    /// The prefix blocks of table `table`, ascending.
    fn prefix_blocks(&self, table: usize) -> impl Iterator<Item = Block> + '_ {
        let prefix = self.prefixes[table];
        self.blocks.iter().enumerate().filter(move |(b, _)| prefix >> b & 1 == 1).map(|(_, block)| *block)
    }

    /// The other blocks of table `table`, in the order in which the table writes them: from the
    /// sketch on, or from the block after the last prefix block on, wrapping around.
    fn other_blocks(&self, table: usize) -> Vec<Block> {
        let prefix = self.prefixes[table];
        let after = if self.is_bands() { SKETCH } else { 64 - prefix.leading_zeros() as usize };
        (0..self.blocks.len())
            .map(|step| (after + step) % self.blocks.len())
            .filter(|b| prefix >> b & 1 == 0)
            .map(|b| self.blocks[b])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_band_leads_a_table_and_the_sketch_follows() {
        let layout = Layout::bands(64, BandLayout::new(3, 8).unwrap()).unwrap();
        let orders = layout
            .tables::<u64>()
            .iter()
            .map(|table| table.permute(0xab12_3456_7890_cdef))
            .collect::<Vec<_>>();
        assert_eq!(orders, [0xab12_3456_7890_cdef, 0xcd12_3456_7890_efab, 0xef12_3456_7890_cdab]);
        assert_eq!(layout.metric::<u64>().compared(), 0x00ff_ffff_ffff_0000);
        assert_eq!(
            (crate::LayoutChoice::from(&layout), layout.block_count()),
            ("bands:3x8".parse().unwrap(), 4)
        );
    }

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
        fn permutations_keep_distances_and_move_the_prefix_to_the_front(
            tables in 1u32..=64, m in 1u32..=9, s in 1u32..=4, k in 0u32..=4, x: u64, y: u64, wide: u128,
        ) {
            check_tables(&Layout::rotations(64, tables).unwrap(), x, y);
            if let Ok(layout) = BandLayout::new(m, 6 + 2 * s).and_then(|bands| Layout::bands(128, bands)) {
                check_tables(&layout, wide, u128::from(y) << 31);
            }
            check_tables(&Layout::rotations(128, tables).unwrap(), wide, u128::from(y) << 31);
            if let (Ok(narrow), Ok(broad)) = (Layout::covering(64, m, s, k), Layout::covering(128, m, s, k)) {
                check_tables(&narrow, x, y);
                check_tables(&broad, wide, u128::from(x) << 57);
            }
        }
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
