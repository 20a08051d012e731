//! The choice of runs to merge. Pure.
//!
//! Every query searches every run. The policy bounds the sum of these costs, relative to one run of
//! the same rows, or where rows expire to one run for each period: lazy levelling, with the cost model in
//! place of a fixed number of levels. Only neighbours merge. If several merges satisfy the bound,
//! small runs are merged until the work spent on them equals the cost of merging them into the next
//! larger run. This keeps the work per row near the square root of the number of flushes, even if
//! the bound allows only few runs.

use std::ops::Range;

use crate::format::segment::MAX_ENTRIES;

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunSize {
    pub(crate) entries: u64,
    pub(crate) rows: u64,
    pub(crate) tombstones: u64,
}

/// The most that all runs may cost, relative to one run of all rows. The memtable, and runs that
/// are written during a merge, add to this for a time.
const COST_LIMIT: f64 = 1.5;
/// The cost of a query that does not depend on the number of runs, in nanoseconds: mainly finding
/// the rows of its matches, which takes 350 to 430 where there is one. Half of the queries have one.
const ANY_QUERY_NS: f64 = 200.0;
/// The most runs after all merges.
const MAX_RUNS: usize = 6;
/// With more tombstones per row than this, the whole database is merged.
const TOMBSTONES_PER_ROW: f64 = 0.25;

/// A row is as much work for a merge as so many tombstones: it has 28 bytes in four tables, and a
/// tombstone has 8.
const WORK_OF_ROW: u64 = 4;

impl RunSize {
    /// The work of a merge that reads this run, in tombstones.
    fn work(self) -> u64 {
        self.rows * WORK_OF_ROW + self.tombstones
    }
}

/// What queries cost beside the runs that may merge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OtherRuns {
    /// With the runs that there are.
    pub(crate) cost: f64,
    /// With one run for each period.
    pub(crate) least: f64,
}

/// Chooses neighbouring runs to merge. `None` if no merge is due.
///
/// `runs` are oldest first. With `has_older` there are runs before these, so tombstones cannot be
/// dropped. `cost` returns the cost of a query on a run with a number of entries.
pub(crate) fn pick(
    runs: &[RunSize],
    has_older: bool,
    (others, cost): (OtherRuns, &dyn Fn(u64) -> f64),
) -> Option<Range<usize>> {
    let rows: u64 = runs.iter().map(|run| run.rows).sum();
    let tombstones: u64 = runs.iter().map(|run| run.tombstones).sum();
    let whole = 0..runs.len();
    let many = tombstones > 0 && tombstones as f64 > TOMBSTONES_PER_ROW * rows as f64;
    if many && !has_older && fits(&runs[whole.clone()]) {
        return Some(whole);
    }
    if is_cheap(runs, &(0..0), (others, cost)) {
        return None;
    }
    let smallest = (0..runs.len().saturating_sub(1))
        .rev()
        .map(|start| start..runs.len())
        .find(|range| is_cheap(runs, range, (others, cost)) && fits(&runs[range.clone()]));
    smallest.map(|range| grow(runs, range)).or_else(|| all_that_fits(runs))
}

/// All runs, where there are several, and one run can hold them.
pub(crate) fn unite(runs: &[RunSize]) -> Option<Range<usize>> {
    (runs.len() > 1 && fits(runs)).then_some(0..runs.len())
}

/// Whether queries are cheap enough after merging a range.
fn is_cheap(
    runs: &[RunSize],
    merged: &Range<usize>,
    (others, cost): (OtherRuns, &dyn Fn(u64) -> f64),
) -> bool {
    let entries = |part: &[RunSize]| part.iter().map(|run| run.entries).sum::<u64>();
    let total = ANY_QUERY_NS + others.least + cost(entries(runs));
    let merged_sum = entries(&runs[merged.clone()]);
    let apart = runs.iter().enumerate().filter(|(index, _)| !merged.contains(index));
    let costs = apart.map(|(_, run)| run.entries).chain((!merged.is_empty()).then_some(merged_sum));
    let sum: f64 = costs.filter(|&entries| entries > 0).map(cost).sum();
    runs.len() - merged.len().saturating_sub(1) <= MAX_RUNS
        && ANY_QUERY_NS + others.cost + sum <= COST_LIMIT * total
}

/// Adds older runs as long as the work spent on the newer ones exceeds the cost of merging them.
fn grow(runs: &[RunSize], mut range: Range<usize>) -> Range<usize> {
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

fn fits(runs: &[RunSize]) -> bool {
    runs.iter().map(|run| run.entries).sum::<u64>() <= MAX_ENTRIES
}

/// The longest range of two or more newest runs that one run can hold.
fn all_that_fits(runs: &[RunSize]) -> Option<Range<usize>> {
    let start = (0..runs.len()).find(|&start| fits(&runs[start..]))?;
    (runs.len() - start >= 2 && runs.len() > MAX_RUNS).then_some(start..runs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LayoutChoice;
    use crate::layout::cost::typical;

    const FLUSH: u64 = 1 << 16;

    fn run(rows: u64) -> RunSize {
        RunSize { entries: rows, rows, tombstones: 0 }
    }

    fn cost(entries: u64) -> f64 {
        let layout = LayoutChoice::Rotations { tables: 4 }.layout(64, 3, entries).unwrap();
        typical(&layout, entries, 3)
    }

    fn sum_of_costs(runs: &[RunSize]) -> f64 {
        ANY_QUERY_NS + runs.iter().map(|run| cost(run.entries)).sum::<f64>()
    }

    /// Grows a database flush by flush. Returns the rows rewritten per added row, the highest
    /// relative cost, and the largest number of runs.
    fn grow_by(first: u64, flush: u64, flushes: u64) -> (f64, f64, usize) {
        let mut runs = if first > 0 { vec![run(first)] } else { vec![] };
        let (mut work, mut highest, mut most) = (0, 0f64, 0);
        for _ in 0..flushes {
            runs.push(run(flush));
            while let Some(range) = pick(&runs, false, (OtherRuns::default(), &cost)) {
                assert!(range.len() >= 2 && range.end <= runs.len());
                let merged = run(runs[range.clone()].iter().map(|run| run.rows).sum());
                work += merged.rows;
                runs.splice(range, [merged]);
            }
            let whole = ANY_QUERY_NS + cost(runs.iter().map(|run| run.rows).sum());
            highest = highest.max(sum_of_costs(&runs) / whole);
            most = most.max(runs.len());
        }
        (work as f64 / (flush * flushes) as f64, highest, most)
    }

    #[test]
    fn queries_stay_cheap_and_merges_are_bounded() {
        for (first, flush, flushes, limit) in [
            (10_000_000, FLUSH, 160, 25.0),
            (0, FLUSH, 200, 25.0),
            (1_000_000, 1000, 500, 150.0),
            (0, 10, 500, 60.0),
        ] {
            let (work, highest, most) = grow_by(first, flush, flushes);
            assert!(highest <= COST_LIMIT + 1e-9, "{first} + {flushes} x {flush}: {highest} times the cost");
            assert!(work <= limit, "{first} + {flushes} x {flush}: every row rewritten {work} times");
            assert!(most <= MAX_RUNS);
        }
    }

    #[test]
    fn ten_million_rows_need_few_runs() {
        let runs = [run(10_000_000), run(FLUSH * 8), run(FLUSH), run(FLUSH)];
        assert_eq!(pick(&runs[..2], false, (OtherRuns::default(), &cost)), None);
        assert_eq!(
            pick(&runs, false, (OtherRuns::default(), &cost)),
            Some(2..4),
            "the largest run is left alone"
        );
        assert_eq!(
            pick(&[run(30_000_000), runs[1], runs[2]], false, (OtherRuns::default(), &cost)),
            None,
            "more runs beside a larger one"
        );
    }

    #[test]
    fn many_tombstones_merge_everything() {
        let mut runs = [run(1000), run(10), RunSize { entries: 1, rows: 1, tombstones: 300 }];
        assert_eq!(pick(&runs, false, (OtherRuns::default(), &|_| 0.0)), Some(0..3));
        assert_eq!(
            pick(&runs, true, (OtherRuns::default(), &|_| 0.0)),
            None,
            "older runs need the tombstones"
        );
        runs[2].tombstones = 200;
        assert_eq!(pick(&runs, false, (OtherRuns::default(), &|_| 0.0)), None);
        assert_eq!(
            pick(&[RunSize { entries: 0, rows: 0, tombstones: 1 }], false, (OtherRuns::default(), &|_| 0.0)),
            Some(0..1)
        );
    }

    /// Thirty days of a database whose rows expire: a day has few runs, all other days together many.
    #[test]
    fn the_runs_of_a_period_merge_once_beside_many_others() {
        let day = cost(5 * FLUSH);
        let others = |days: f64| OtherRuns { cost: days * day, least: days * day };
        let runs = [run(FLUSH); 5];
        assert!(pick(&runs[..4], true, (others(0.0), &cost)).is_some());
        assert_eq!(pick(&runs, true, (others(29.0), &cost)), None);
        assert!(pick(&[run(FLUSH); MAX_RUNS + 1], true, (others(29.0), &cost)).is_some());
        // Other runs that cost more than they should leave no room.
        let many = OtherRuns { cost: 29.0 * COST_LIMIT * day, least: 29.0 * day };
        assert!(pick(&runs, true, (many, &cost)).is_some());
    }

    #[test]
    fn no_merge_is_larger_than_a_run_can_be() {
        let huge = run(MAX_ENTRIES - 5);
        assert_eq!(pick(&[huge, run(10)], false, (OtherRuns::default(), &|_| 1.0)), None);
        assert_eq!(
            pick(&[huge, run(10), run(10)], false, (OtherRuns::default(), &|_| 1.0)),
            None,
            "too expensive, but no merge is possible"
        );
        let mut many = vec![huge];
        many.extend([run(10); 9]);
        assert_eq!(pick(&many, false, (OtherRuns::default(), &|_| 1.0)), Some(1..10));
    }
}
