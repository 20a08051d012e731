//! The choice of runs to merge. Pure.
//!
//! Every query searches every run. The policy bounds the sum of these costs, relative to one run of
//! the same rows, or where rows expire to one run for each period: lazy levelling, with the cost model in
//! place of a fixed number of levels. Only neighbours merge. If several merges satisfy the bound,
//! small runs are merged until the work spent on them equals the cost of merging them into the next
//! larger run. This keeps the work near the least that the bound allows: if it allows r + 1 runs, a row is
//! rewritten about as often as the r-th root of the number of flushes.

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

/// What queries are like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queries {
    /// The cost of a query that does not depend on the number of runs, in nanoseconds.
    other_ns: f64,
    /// The most runs after all merges.
    max_runs: usize,
}

impl Queries {
    /// Fingerprints that are given. Most of the other cost is finding the rows of a match, which takes 350 to
    /// 430 ns. Half of the queries have one.
    pub(crate) const OF_FINGERPRINTS: Self = Self { other_ns: 200.0, max_runs: 6 };
    /// Fingerprints that are made of texts: of 440 bytes, including what else `dedup` does with one.
    pub(crate) const OF_TEXTS: Self = Self { other_ns: 20_000.0, max_runs: 10 };
}
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
    queries: Queries,
    (others, cost): (OtherRuns, &dyn Fn(u64) -> f64),
) -> Option<Range<usize>> {
    let rows: u64 = runs.iter().map(|run| run.rows).sum();
    let tombstones: u64 = runs.iter().map(|run| run.tombstones).sum();
    let whole = 0..runs.len();
    let many = tombstones > 0 && tombstones as f64 > TOMBSTONES_PER_ROW * rows as f64;
    if many && !has_older && fits(&runs[whole.clone()]) {
        return Some(whole);
    }
    if is_cheap(runs, &(0..0), queries, (others, cost)) {
        return None;
    }
    let smallest = (0..runs.len().saturating_sub(1))
        .rev()
        .map(|start| start..runs.len())
        .find(|range| is_cheap(runs, range, queries, (others, cost)) && fits(&runs[range.clone()]));
    smallest.map(|range| grow(runs, range)).or_else(|| all_that_fits(runs, queries.max_runs))
}

/// All runs, where there are several, and one run can hold them.
pub(crate) fn unite(runs: &[RunSize]) -> Option<Range<usize>> {
    (runs.len() > 1 && fits(runs)).then_some(0..runs.len())
}

/// Whether queries are cheap enough after merging a range.
fn is_cheap(
    runs: &[RunSize],
    merged: &Range<usize>,
    Queries { other_ns, max_runs }: Queries,
    (others, cost): (OtherRuns, &dyn Fn(u64) -> f64),
) -> bool {
    let entries = |part: &[RunSize]| part.iter().map(|run| run.entries).sum::<u64>();
    let total = other_ns + others.least + cost(entries(runs));
    let merged_sum = entries(&runs[merged.clone()]);
    let apart = runs.iter().enumerate().filter(|(index, _)| !merged.contains(index));
    let costs = apart.map(|(_, run)| run.entries).chain((!merged.is_empty()).then_some(merged_sum));
    let sum: f64 = costs.filter(|&entries| entries > 0).map(cost).sum();
    runs.len() - merged.len().saturating_sub(1) <= max_runs
        && other_ns + others.cost + sum <= COST_LIMIT * total
}

/// Adds older runs as long as the work spent on the newer ones exceeds the cost of merging them.
fn grow(runs: &[RunSize], mut range: Range<usize>) -> Range<usize> {
    let newest = runs.last().map_or(1, |run| run.work().max(1)) as f64;
    while let Some(start) = range.start.checked_sub(1) {
        let merged: u64 = runs[range.clone()].iter().map(|run| run.work()).sum();
        let spent = work_spent(merged as f64 / newest, range.len() - 1) * newest;
        if spent < runs[start].work() as f64 || !fits(&runs[start..range.end]) {
            break;
        }
        range.start = start;
    }
    range
}

/// The least work to keep so many flushes in at most `runs` runs, one flush after the other.
///
/// Where each row is rewritten at most d times, `runs` runs hold up to (d + runs) over d flushes, and a row is
/// rewritten runs / (runs + 1) times d times on average (J. Bentley and J. Saxe, Decomposable searching
/// problems I, 1980).
fn work_spent(flushes: f64, runs: usize) -> f64 {
    let (mut rewrites, mut held, runs) = (0.0, 1.0, runs as f64);
    while held < flushes {
        rewrites += 1.0;
        held *= (rewrites + runs) / rewrites;
    }
    flushes * rewrites * runs / (runs + 1.0)
}

fn fits(runs: &[RunSize]) -> bool {
    runs.iter().map(|run| run.entries).sum::<u64>() <= MAX_ENTRIES
}

/// The longest range of two or more newest runs that one run can hold.
fn all_that_fits(runs: &[RunSize], max_runs: usize) -> Option<Range<usize>> {
    let start = (0..runs.len()).find(|&start| fits(&runs[start..]))?;
    (runs.len() - start >= 2 && runs.len() > max_runs).then_some(start..runs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::LayoutChoice;
    use crate::layout::cost::typical;

    const FLUSH: u64 = 1 << 16;
    const GIVEN: Queries = Queries::OF_FINGERPRINTS;

    fn run(rows: u64) -> RunSize {
        RunSize { entries: rows, rows, tombstones: 0 }
    }

    fn cost(entries: u64) -> f64 {
        let layout = LayoutChoice::Rotations { tables: 4 }.layout(64, 3, entries).unwrap();
        typical(&layout, entries, 3)
    }

    /// Grows a database flush by flush. Returns the rows rewritten per added row, the highest
    /// relative cost, and the largest number of runs.
    fn grow_by(queries: Queries, first: u64, flush: u64, flushes: u64) -> (f64, f64, usize) {
        let mut runs = if first > 0 { vec![run(first)] } else { vec![] };
        let (mut work, mut highest, mut most) = (0, 0f64, 0);
        for _ in 0..flushes {
            runs.push(run(flush));
            while let Some(range) = pick(&runs, false, queries, (OtherRuns::default(), &cost)) {
                assert!(range.len() >= 2 && range.end <= runs.len());
                let merged = run(runs[range.clone()].iter().map(|run| run.rows).sum());
                work += merged.rows;
                runs.splice(range, [merged]);
            }
            let whole = queries.other_ns + cost(runs.iter().map(|run| run.rows).sum());
            let sum: f64 = runs.iter().map(|run| cost(run.entries)).sum();
            highest = highest.max((queries.other_ns + sum) / whole);
            most = most.max(runs.len());
        }
        (work as f64 / (flush * flushes) as f64, highest, most)
    }

    #[test]
    fn queries_stay_cheap_and_merges_are_bounded() {
        let texts = Queries::OF_TEXTS;
        for (queries, first, flush, flushes, limit) in [
            (GIVEN, 10_000_000, FLUSH, 160, 18.0),
            (GIVEN, 0, FLUSH, 200, 13.0),
            (GIVEN, 1_000_000, 1000, 500, 55.0),
            (GIVEN, 0, 10, 500, 18.0),
            (texts, 0, FLUSH, 500, 4.0),
            (texts, 30_000_000, FLUSH, 60, 2.5),
        ] {
            let (work, highest, most) = grow_by(queries, first, flush, flushes);
            let case = format!("{queries:?}: {first} + {flushes} x {flush}");
            assert!(highest <= COST_LIMIT + 1e-9, "{case}: {highest} times the cost");
            assert!(work <= limit, "{case}: every row rewritten {work} times");
            assert!(most <= queries.max_runs);
        }
    }

    #[test]
    fn ten_million_rows_need_few_runs() {
        let runs = [run(10_000_000), run(FLUSH * 8), run(FLUSH), run(FLUSH)];
        assert_eq!(pick(&runs[..2], false, GIVEN, (OtherRuns::default(), &cost)), None);
        assert_eq!(
            pick(&runs, false, GIVEN, (OtherRuns::default(), &cost)),
            Some(2..4),
            "the largest run is left alone"
        );
        assert_eq!(
            pick(&[run(30_000_000), runs[1], runs[2]], false, GIVEN, (OtherRuns::default(), &cost)),
            None,
            "more runs beside a larger one"
        );
    }

    #[test]
    fn many_tombstones_merge_everything() {
        let mut runs = [run(1000), run(10), RunSize { entries: 1, rows: 1, tombstones: 300 }];
        assert_eq!(pick(&runs, false, GIVEN, (OtherRuns::default(), &|_| 0.0)), Some(0..3));
        assert_eq!(
            pick(&runs, true, GIVEN, (OtherRuns::default(), &|_| 0.0)),
            None,
            "older runs need the tombstones"
        );
        runs[2].tombstones = 200;
        assert_eq!(pick(&runs, false, GIVEN, (OtherRuns::default(), &|_| 0.0)), None);
        assert_eq!(
            pick(
                &[RunSize { entries: 0, rows: 0, tombstones: 1 }],
                false,
                GIVEN,
                (OtherRuns::default(), &|_| 0.0)
            ),
            Some(0..1)
        );
    }

    /// Thirty days of a database whose rows expire: a day has few runs, all other days together many.
    #[test]
    fn the_runs_of_a_period_merge_once_beside_many_others() {
        let day = cost(5 * FLUSH);
        let others = |days: f64| OtherRuns { cost: days * day, least: days * day };
        let runs = [run(FLUSH); 5];
        assert!(pick(&runs[..4], true, GIVEN, (others(0.0), &cost)).is_some());
        assert_eq!(pick(&runs, true, GIVEN, (others(29.0), &cost)), None);
        assert!(pick(&[run(FLUSH); GIVEN.max_runs + 1], true, GIVEN, (others(29.0), &cost)).is_some());
        // Other runs that cost more than they should leave no room.
        let many = OtherRuns { cost: 29.0 * COST_LIMIT * day, least: 29.0 * day };
        assert!(pick(&runs, true, GIVEN, (many, &cost)).is_some());
    }

    #[test]
    fn no_merge_is_larger_than_a_run_can_be() {
        let huge = run(MAX_ENTRIES - 5);
        assert_eq!(pick(&[huge, run(10)], false, GIVEN, (OtherRuns::default(), &|_| 1.0)), None);
        assert_eq!(
            pick(&[huge, run(10), run(10)], false, GIVEN, (OtherRuns::default(), &|_| 1.0)),
            None,
            "too expensive, but no merge is possible"
        );
        let mut many = vec![huge];
        many.extend([run(10); 9]);
        assert_eq!(pick(&many, false, GIVEN, (OtherRuns::default(), &|_| 1.0)), Some(1..10));
    }
}
