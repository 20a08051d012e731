//! Which runs to merge. Pure.
//!
//! A query asks every run, so the bound is on what that costs together, compared with one run of the same
//! rows: lazy levelling with the cost model in place of a fixed number of levels. Only neighbours
//! merge. Where several merges would do, small runs are merged until the work on them comes to what
//! merging them into the next larger run costs; that keeps the work per row near the square root of the
//! number of flushes, however few runs the bound allows.

use std::ops::Range;

use crate::format::segment::MAX_ENTRIES;

/// What the policy knows of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) entries: u64,
    pub(crate) rows: u64,
    pub(crate) tombstones: u64,
}

/// The runs may cost so many times what one run of all rows does. Memtable and runs that come while a
/// merge is at work make the worst moment dearer than this.
const COST_LIMIT: f64 = 1.5;
/// What a query costs however many runs there are, in nanoseconds: above all finding the rows of its
/// matches.
const ANY_QUERY_NS: f64 = 150.0;
/// The most runs at rest.
const MAX_RUNS: usize = 6;
/// A database of which a larger part may be deleted is merged as a whole.
const TOMBSTONES_PER_ROW: f64 = 0.25;

impl Size {
    /// What a merge reads and writes.
    fn work(self) -> u64 {
        self.rows + self.tombstones
    }
}

/// Picks neighbouring runs to merge, oldest first in `runs`; `None` when all is well. `has_older` tells of
/// runs before these, which leave nothing to be done about tombstones; `cost`, what a query of a run with
/// so many entries costs.
pub(crate) fn pick(runs: &[Size], has_older: bool, cost: &dyn Fn(u64) -> f64) -> Option<Range<usize>> {
    let rows: u64 = runs.iter().map(|run| run.rows).sum();
    let tombstones: u64 = runs.iter().map(|run| run.tombstones).sum();
    let whole = 0..runs.len();
    let many = tombstones > 0 && tombstones as f64 > TOMBSTONES_PER_ROW * rows as f64;
    if many && !has_older && fits(&runs[whole.clone()]) {
        return Some(whole);
    }
    if is_cheap(runs, &(0..0), cost) {
        return None;
    }
    let smallest = (0..runs.len().saturating_sub(1))
        .rev()
        .map(|start| start..runs.len())
        .find(|range| is_cheap(runs, range, cost) && fits(&runs[range.clone()]));
    smallest.map(|range| grow(runs, range)).or_else(|| all_that_fits(runs))
}

/// Whether queries are cheap enough once a range has been merged.
fn is_cheap(runs: &[Size], merged: &Range<usize>, cost: &dyn Fn(u64) -> f64) -> bool {
    let entries = |part: &[Size]| part.iter().map(|run| run.entries).sum::<u64>();
    let total = ANY_QUERY_NS + cost(entries(runs));
    let merged_sum = entries(&runs[merged.clone()]);
    let apart = runs.iter().enumerate().filter(|(index, _)| !merged.contains(index));
    let costs = apart.map(|(_, run)| run.entries).chain((!merged.is_empty()).then_some(merged_sum));
    let sum: f64 = costs.filter(|&entries| entries > 0).map(cost).sum();
    runs.len() - merged.len().saturating_sub(1) <= MAX_RUNS && ANY_QUERY_NS + sum <= COST_LIMIT * total
}

/// Takes older runs in as long as the work that went into the newer ones pays for it.
fn grow(runs: &[Size], mut range: Range<usize>) -> Range<usize> {
    let newest = runs.last().map_or(1, |run| run.work().max(1)) as f64;
    while let Some(start) = range.start.checked_sub(1) {
        let merged: u64 = runs[range.clone()].iter().map(|run| run.work()).sum();
        let spent = merged as f64 * merged as f64 / (2.0 * newest);
        if spent < runs[start].work() as f64 || !fits(&runs[start..range.end]) {
            break;
        }
        range.start = start;
    }
    range
}

fn fits(runs: &[Size]) -> bool {
    runs.iter().map(|run| run.entries).sum::<u64>() <= MAX_ENTRIES
}

/// The longest range at the young end that one run can hold, of two runs or more.
fn all_that_fits(runs: &[Size]) -> Option<Range<usize>> {
    let start = (0..runs.len()).find(|&start| fits(&runs[start..]))?;
    (runs.len() - start >= 2 && runs.len() > MAX_RUNS).then_some(start..runs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LayoutChoice;
    use crate::layout::cost::typical;

    const FLUSH: u64 = 1 << 16;

    fn run(rows: u64) -> Size {
        Size { entries: rows, rows, tombstones: 0 }
    }

    fn cost(entries: u64) -> f64 {
        let layout = LayoutChoice::Rotations { tables: 4 }.layout(64, 3, entries).unwrap();
        typical(&layout, entries, 3)
    }

    fn sum_of_costs(runs: &[Size]) -> f64 {
        ANY_QUERY_NS + runs.iter().map(|run| cost(run.entries)).sum::<f64>()
    }

    /// Grows a database flush by flush; tells the rows rewritten per row added, and the dearest state.
    fn grow_by(first: u64, flush: u64, flushes: u64) -> (f64, f64, usize) {
        let mut runs = if first > 0 { vec![run(first)] } else { vec![] };
        let (mut work, mut dearest, mut most) = (0, 0f64, 0);
        for _ in 0..flushes {
            runs.push(run(flush));
            while let Some(range) = pick(&runs, false, &cost) {
                assert!(range.len() >= 2 && range.end <= runs.len());
                let merged = run(runs[range.clone()].iter().map(|run| run.rows).sum());
                work += merged.rows;
                runs.splice(range, [merged]);
            }
            let whole = ANY_QUERY_NS + cost(runs.iter().map(|run| run.rows).sum());
            dearest = dearest.max(sum_of_costs(&runs) / whole);
            most = most.max(runs.len());
        }
        (work as f64 / (flush * flushes) as f64, dearest, most)
    }

    #[test]
    fn queries_stay_cheap_and_merges_affordable() {
        for (first, flush, flushes, limit) in [
            (10_000_000, FLUSH, 160, 25.0),
            (0, FLUSH, 200, 25.0),
            (1_000_000, 1000, 500, 150.0),
            (0, 10, 500, 60.0),
        ] {
            let (work, dearest, most) = grow_by(first, flush, flushes);
            assert!(dearest <= COST_LIMIT + 1e-9, "{first} + {flushes} x {flush}: {dearest} times the cost");
            assert!(work <= limit, "{first} + {flushes} x {flush}: every row rewritten {work} times");
            assert!(most <= MAX_RUNS);
        }
    }

    #[test]
    fn ten_million_rows_rest_in_a_few_runs() {
        let runs = [run(10_000_000), run(FLUSH * 8), run(FLUSH), run(FLUSH)];
        assert_eq!(pick(&runs[..2], false, &cost), None);
        assert_eq!(pick(&runs, false, &cost), Some(1..4), "the largest run is left alone");
        assert_eq!(
            pick(&[run(30_000_000), runs[1], runs[2]], false, &cost),
            None,
            "more runs beside a larger one"
        );
    }

    #[test]
    fn many_tombstones_merge_everything() {
        let mut runs = [run(1000), run(10), Size { entries: 1, rows: 1, tombstones: 300 }];
        assert_eq!(pick(&runs, false, &|_| 0.0), Some(0..3));
        assert_eq!(pick(&runs, true, &|_| 0.0), None, "they have to stay");
        runs[2].tombstones = 200;
        assert_eq!(pick(&runs, false, &|_| 0.0), None);
        assert_eq!(pick(&[Size { entries: 0, rows: 0, tombstones: 1 }], false, &|_| 0.0), Some(0..1));
    }

    #[test]
    fn no_merge_is_larger_than_a_run_can_be() {
        let huge = run(MAX_ENTRIES - 5);
        assert_eq!(pick(&[huge, run(10)], false, &|_| 1.0), None);
        assert_eq!(pick(&[huge, run(10), run(10)], false, &|_| 1.0), None, "too dear, but nothing helps");
        let mut many = vec![huge];
        many.extend([run(10); 9]);
        assert_eq!(pick(&many, false, &|_| 1.0), Some(1..10));
    }
}
