//! Layouts that follow from the number of fingerprints: what `auto`, `fast` and `small` stand for.

use super::cost::typical;
use super::scheme::Layout;

/// The most tables of a fast layout. Each takes about 7 bytes a fingerprint of 64 bits.
const FAST_TABLES: usize = 16;
/// Blocks of a covering family beyond k. More of them make shorter prefixes.
const FAST_BLOCKS_BEYOND_K: std::ops::RangeInclusive<u32> = 2..=4;
/// The largest k with covering families of few tables.
const FAST_COVERING_UP_TO_K: u32 = 8;
/// How many times as much as with the cheapest rotations a query may cost with `auto`, and with `small`.
const BALANCED_COST: f64 = 1.3;
const SMALL_COST: f64 = 8.0;

/// The `rotations:T` with the least product of tables and time of a query, for uniform data; T <= 4 at 64 bits, and more
/// in proportion for wider fingerprints. A query costs at most 30% more than with the cheapest T.
///
/// Tables take time to build, bytes on disk, and pages that a cold query reads: one percent more of them has to save one
/// percent of the time.
pub(super) fn balanced(width: u32, k: u32, entries: u64) -> Layout {
    let layouts = rotations_within(BALANCED_COST, width, k, entries);
    least(layouts, |layout| layout.table_count() as f64 * typical(layout, entries, k))
}

/// The cheapest rotations or covering family with at most 16 tables.
pub(super) fn fast(width: u32, k: u32, entries: u64) -> Layout {
    let blocks = FAST_BLOCKS_BEYOND_K.filter(|_| k <= FAST_COVERING_UP_TO_K).map(|more| k + more);
    let prefixes = blocks.flat_map(|blocks| (2..=blocks - k).map(move |prefix| (blocks, prefix)));
    let families = prefixes
        .filter_map(|(blocks, prefix)| Layout::covering(width, blocks, prefix, k).ok())
        .filter(|layout| layout.table_count() <= FAST_TABLES);
    least(rotations(width).chain(families), |layout| typical(layout, entries, k))
}

/// The rotations with the fewest tables whose queries cost at most eight times as much as with the
/// cheapest rotations.
pub(super) fn small(width: u32, k: u32, entries: u64) -> Layout {
    least(rotations_within(SMALL_COST, width, k, entries), |layout| layout.table_count() as f64)
}

/// The rotations whose queries cost at most so many times as much as with the cheapest ones.
fn rotations_within(times: f64, width: u32, k: u32, entries: u64) -> impl Iterator<Item = Layout> {
    let cost = move |layout: &Layout| typical(layout, entries, k);
    let most = times * cost(&least(rotations(width), cost));
    rotations(width).filter(move |layout| cost(layout) <= most)
}

fn rotations(width: u32) -> impl Iterator<Item = Layout> {
    (1..=(width / 16).min(64)).filter_map(move |tables| Layout::rotations(width, tables).ok())
}

/// The layout of the least cost. Of equal ones the first: it has fewer tables and takes fewer bytes.
fn least(layouts: impl Iterator<Item = Layout>, cost: impl Fn(&Layout) -> f64) -> Layout {
    layouts
        .map(|layout| (cost(&layout), layout))
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
    fn fast_layouts_cost_least_and_small_ones_have_the_fewest_tables() {
        for (width, k) in [(64, 0), (64, 3), (64, 7), (64, 20), (128, 10), (256, 31)] {
            for entries in [0, 1000, 1_000_000, 50_000_000, 1 << 31] {
                let of = |layout: &Layout| (typical(layout, entries, k), layout.table_count());
                let (balanced, fast) = (balanced(width, k, entries), fast(width, k, entries));
                let small = small(width, k, entries);
                let cheapest = least(rotations(width), |layout| of(layout).0);
                assert!(of(&fast).0 <= of(&cheapest).0, "{width} {k} {entries}");
                assert!(of(&balanced).0 <= BALANCED_COST * of(&cheapest).0, "{width} {k} {entries}");
                assert!(of(&fast).1 <= FAST_TABLES.max(width as usize / 16));
                assert!(of(&small).1 <= of(&balanced).1, "{width} {k} {entries}");
                assert!(of(&small).0 <= SMALL_COST * of(&cheapest).0);
            }
        }
    }

    #[test]
    fn large_databases_gain_from_coverings_and_from_fewer_tables() {
        let name = |layout: Layout| crate::LayoutChoice::from(&layout).to_string();
        assert_eq!(name(balanced(64, 3, 10_000_000)), "rotations:4");
        assert_eq!(
            name(balanced(64, 3, 20_000_000)),
            "rotations:3",
            "a quarter of the tables for 27% of the time"
        );
        assert_eq!(name(balanced(64, 3, 100_000_000)), "rotations:3", "two tables would cost 47% more");
        assert_eq!(name(balanced(64, 3, 50_000_000)), "rotations:3");
        assert_eq!(name(fast(64, 3, 50_000_000)), "blocks:6,2");
        assert_eq!(name(small(64, 3, 50_000_000)), "rotations:2");
        assert_eq!(name(fast(64, 3, 100_000)), "rotations:4", "in cache, more look-ups do not pay");
    }
}
