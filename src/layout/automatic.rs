//! Layouts that follow from the number of fingerprints: what `auto`, `fast` and `small` stand for.

use super::cost::typical;
use super::scheme::Layout;

/// The most tables of a fast layout. Each takes about 7 bytes a fingerprint of 64 bits.
const FAST_TABLES: usize = 16;
/// Blocks of a covering family beyond k. More of them make shorter prefixes.
const FAST_BLOCKS_BEYOND_K: std::ops::RangeInclusive<u32> = 2..=4;
/// The largest k with covering families of few tables.
const FAST_COVERING_UP_TO_K: u32 = 8;
/// How much more than with `auto` a query of a small layout may cost.
const SMALL_COST: f64 = 8.0;

/// The cheapest `rotations:T` for uniform data, with T <= 4 at 64 bits and more in proportion for
/// wider fingerprints.
pub(super) fn balanced(width: u32, k: u32, entries: u64) -> Layout {
    cheapest(rotations(width), k, entries)
}

/// The cheapest of these and of covering families with at most 16 tables.
pub(super) fn fast(width: u32, k: u32, entries: u64) -> Layout {
    let blocks = FAST_BLOCKS_BEYOND_K.filter(|_| k <= FAST_COVERING_UP_TO_K).map(|more| k + more);
    let prefixes = blocks.flat_map(|blocks| (2..=blocks - k).map(move |prefix| (blocks, prefix)));
    let families = prefixes
        .filter_map(|(blocks, prefix)| Layout::covering(width, blocks, prefix, k).ok())
        .filter(|layout| layout.table_count() <= FAST_TABLES);
    cheapest(rotations(width).chain(families), k, entries)
}

/// The rotations with the fewest tables whose queries cost at most eight times as much as with the
/// cheapest rotations.
pub(super) fn small(width: u32, k: u32, entries: u64) -> Layout {
    let best = balanced(width, k, entries);
    let most = SMALL_COST * typical(&best, entries, k);
    rotations(width).find(|layout| typical(layout, entries, k) <= most).unwrap_or(best)
}

fn rotations(width: u32) -> impl Iterator<Item = Layout> {
    (1..=(width / 16).min(64)).filter_map(move |tables| Layout::rotations(width, tables).ok())
}

/// Of equally cheap layouts the first: it has fewer tables and takes fewer bytes.
fn cheapest(layouts: impl Iterator<Item = Layout>, k: u32, entries: u64) -> Layout {
    layouts
        .map(|layout| (typical(&layout, entries, k), layout))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or_else(|| unreachable!("every width has rotations"), |(_, layout)| layout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_layouts_need_fewer_tables_as_runs_grow() {
        let tables: Vec<usize> = [1_000_000, 10_000_000, 100_000_000, 3_000_000_000]
            .map(|entries| balanced(64, 3, entries).table_count())
            .to_vec();
        assert!(tables.is_sorted_by(|a, b| a >= b), "{tables:?}");
        assert_eq!(tables[0], 4);
    }

    #[test]
    fn fast_layouts_cost_no_more_than_balanced_ones_and_small_ones_have_no_more_tables() {
        for (width, k) in [(64, 0), (64, 3), (64, 7), (64, 20), (128, 10), (256, 31)] {
            for entries in [0, 1000, 1_000_000, 50_000_000, 1 << 31] {
                let of = |layout: &Layout| (typical(layout, entries, k), layout.table_count());
                let (balanced, fast) = (balanced(width, k, entries), fast(width, k, entries));
                let small = small(width, k, entries);
                assert!(of(&fast).0 <= of(&balanced).0, "{width} {k} {entries}");
                assert!(of(&fast).1 <= FAST_TABLES.max(width as usize / 16));
                assert!(of(&small).1 <= of(&balanced).1, "{width} {k} {entries}");
                assert!(of(&small).0 <= SMALL_COST * of(&balanced).0);
            }
        }
    }

    #[test]
    fn large_databases_gain_from_coverings_and_from_fewer_tables() {
        let name = |layout: Layout| crate::LayoutChoice::from(&layout).to_string();
        assert_eq!(name(balanced(64, 3, 10_000_000)), "rotations:4");
        assert_eq!(name(balanced(64, 3, 50_000_000)), "rotations:3");
        assert_eq!(name(fast(64, 3, 50_000_000)), "blocks:6,2");
        assert_eq!(name(small(64, 3, 50_000_000)), "rotations:2");
        assert_eq!(name(fast(64, 3, 100_000)), "rotations:4", "in cache, more look-ups do not pay");
    }
}
