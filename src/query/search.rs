//! The hot path: queries against one run.
//!
//! A group of queries is processed in stages, so that cache misses overlap. Each stage prefetches
//! what the next one reads: the directory words of all probes, then the `hi` words of all buckets,
//! then the remaining bits of the few candidates that pass the `hi` filter.

use std::ops::Range;

use super::occurring::OccurringBits;
use super::prepare::{Prepared, Searchable};
use super::sweep_order::Orders;
use crate::error::Result;
use crate::fingerprint::{Distance, Fingerprint, Stored};
use crate::kernel::{Kernel, prefetch};
use crate::layout::cost::Strategy;
use crate::layout::cost::{ball, spread};
use crate::layout::plan::Plan;
use crate::layout::{Metric, Table};
use crate::progress::ProgressFn;
use crate::run::{Run, Segment};
use crate::util::cast::{low_half, to_u32};

/// A stored fingerprint within k of a query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit<F> {
    /// Index in the group of queries.
    pub(crate) query: u32,
    pub(crate) distance: u32,
    /// In natural order.
    pub(crate) fingerprint: F,
    /// Index in table 0, or [`NOT_LOCATED`](Hit::NOT_LOCATED).
    pub(crate) entry: u32,
}

impl<F> Hit<F> {
    /// No entry has this index: a run holds at most 2^32 - 1.
    pub(crate) const NOT_LOCATED: u32 = u32::MAX;
}

/// Buckets larger than this are narrowed to the whole prefix by binary search.
const NARROW_ABOVE: usize = 64;
/// Buckets that a scan compares with all queries before the next ones, so that they stay in cache.
const SCAN_BUCKETS: usize = 1 << 12;
/// Queries of one group: the buckets of so many fit the cache.
const GROUP: usize = 16;
/// Least number of queries that are worth sorting by bucket, table by table.
pub(crate) const SWEEP_FROM: usize = 1 << 12;
/// Queries of one group in a sweep.
const SWEPT_TOGETHER: usize = 64;
/// Groups ahead whose buckets are requested from the system.
const SWEPT_AHEAD: usize = 32;
/// Queries per table between two checks for cancellation: a tenth of a second where queries are
/// expensive.
const LOOKED_UP_BETWEEN_CHECKS: usize = 1 << 10;
/// Weight of a scan of [`SCAN_BUCKETS`] in this count.
const SCANNED: usize = 1 << 6;
/// Re-plan when the estimated cost exceeds the expected cost by this factor.
const REPLAN_ABOVE: f64 = 2.0;

/// One bucket to search for one query.
#[derive(Clone, Copy, Debug)]
struct Probe {
    query: u32,
    table: u32,
    radius: u32,
    /// Bits in which the bucket differs from the query's own.
    flips: u32,
    bucket: u32,
    /// Its entries, once the directory has been read.
    start: u32,
    end: u32,
}

/// A candidate whose `hi` words are near enough.
#[derive(Debug)]
struct Survivor {
    /// Index of the probe that met it.
    probe: u32,
    /// Its position in the table.
    place: u32,
    hi: u32,
}

/// A group of queries against one run.
struct Group<'a, F> {
    run: &'a Run<F>,
    metric: Metric<F>,
    prepared: &'a Prepared,
    plan: &'a Plan,
    queries: &'a [F],
}

impl<'a, F> Group<'a, F> {
    /// The plan of a query: its own, or the run's.
    #[inline]
    fn plan_of<'p>(&self, query: u32, own_plans: &'p [Option<Plan>]) -> &'p Plan
    where
        'a: 'p,
    {
        own_plans.get(query as usize).and_then(Option::as_ref).unwrap_or(self.plan)
    }

    /// The tables of the run, for the report-once rule.
    #[inline]
    fn tables(&self) -> impl Fn(usize) -> &'a Table<F> {
        let run = self.run;
        move |table| &run.segments[table].table
    }
}

/// How a search within bounded memory ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Completion {
    /// Every match was found.
    Complete,
    /// There are more matches than the caller can hold; those found so far are of no use.
    GaveUp,
}

impl Completion {
    fn of(complete: bool) -> Self {
        if complete { Self::Complete } else { Self::GaveUp }
    }
}

/// Buffers that queries reuse. One per thread.
#[derive(Debug)]
pub(crate) struct Searcher<'a> {
    kernel: Kernel,
    progress: CancelCheck<'a>,
    probes: Vec<Probe>,
    passed: Vec<u32>,
    survivors: Vec<Survivor>,
    /// Plans of single queries, by query; empty if no query was re-planned.
    own_plans: Vec<Option<Plan>>,
}

/// Checks for cancellation from time to time.
struct CancelCheck<'a> {
    progress: ProgressFn<'a>,
    /// Queries per table since the last check.
    looked_up: usize,
}

impl CancelCheck<'_> {
    fn count(&mut self, queries: usize) -> Result<()> {
        self.looked_up += queries;
        if self.looked_up < LOOKED_UP_BETWEEN_CHECKS {
            return Ok(());
        }
        self.looked_up = 0;
        (self.progress)(0)
    }
}

impl std::fmt::Debug for CancelCheck<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CancelCheck").field("looked_up", &self.looked_up).finish_non_exhaustive()
    }
}

impl<'a> Searcher<'a> {
    pub(crate) fn new(kernel: Kernel, progress: ProgressFn<'a>) -> Self {
        let (probes, passed, survivors) = (Vec::new(), Vec::new(), Vec::new());
        let (progress, own_plans) = (CancelCheck { progress, looked_up: 0 }, Vec::new());
        Self { kernel, progress, probes, passed, survivors, own_plans }
    }

    /// Appends every fingerprint of the run within k of each query, each once per query, in no
    /// particular order. At most 2^32 queries. `orders` are of these queries. Gives up where `hits` becomes longer
    /// than `most`.
    pub(crate) fn search<F: Fingerprint>(
        &mut self,
        searchable: &Searchable<F>,
        (queries, orders): (&[F], &mut Orders),
        k: Distance,
        most: usize,
        hits: &mut Vec<Hit<F>>,
    ) -> Result<Completion> {
        let (run, metric, prepared) = (&searchable.run, searchable.metric, searchable.at(k));
        match &prepared.choice.strategy {
            Strategy::Scan => self.scan(run, queries, prepared, most, hits),
            Strategy::Probe(plan) => {
                let group = Group { run, metric, prepared, plan, queries };
                self.own_plans.clear();
                if prepared.skewed {
                    for some in queries.chunks(SWEPT_TOGETHER) {
                        self.plan_each(run, prepared, some)?;
                        self.progress.count(some.len())?;
                    }
                }
                if queries.len() >= SWEEP_FROM {
                    return self.sweep(&group, (&searchable.occurring, orders), most, hits);
                }
                for (number, some) in (0u32..).zip(queries.chunks(GROUP)) {
                    if hits.len() > most {
                        break;
                    }
                    self.probes.clear();
                    for (index, &query) in (number * to_u32(GROUP)..).zip(some) {
                        self.probe_tables(&group, index, query);
                    }
                    self.search_probes(&group, hits)?;
                    self.progress.count(GROUP)?;
                }
                Ok(Completion::of(hits.len() <= most))
            }
        }
    }

    /// Searches table by table, with the queries sorted roughly by bucket. Each bucket is read from
    /// memory once for all queries, and buckets are read almost in order.
    fn sweep<F: Fingerprint>(
        &mut self,
        group: &Group<'_, F>,
        (occurring, orders): (&OccurringBits, &mut Orders),
        most: usize,
        hits: &mut Vec<Hit<F>>,
    ) -> Result<Completion> {
        occurring.count(group.queries.len());
        orders.prepare(&group.run.record.layout, group.run.segments.len());
        let mut left = Vec::new();
        for (table, segment) in group.run.segments.iter().enumerate() {
            if self.own_plans.is_empty() && group.plan.radius(table).is_none() {
                continue;
            }
            let all = orders.of_table(table, group.queries, &segment.table);
            let looks_up_equal = self.own_plans.is_empty() && group.plan.radius(table) == Some(0);
            let bits = if looks_up_equal { occurring.of_table(table, segment)? } else { None };
            let order = match bits {
                Some(bits) => {
                    left.clear();
                    left.extend(all.iter().filter(|&entry| bits.may_hold(low_half(entry >> 32))));
                    &left
                }
                None => all,
            };
            let mut ahead = order.chunks(SWEPT_TOGETHER);
            ahead.by_ref().take(SWEPT_AHEAD).try_for_each(|some| will_need(segment, some))?;
            for some in order.chunks(SWEPT_TOGETHER) {
                ahead.next().map_or(Ok(()), |some| will_need(segment, some))?;
                self.probes.clear();
                for &entry in some {
                    let index = low_half(entry);
                    // The next stages read it.
                    prefetch(group.queries, index as usize);
                    self.probe_table(group, index, table, bucket_of_entry(segment, entry));
                }
                self.search_probes(group, hits)?;
                self.progress.count(some.len())?;
                if hits.len() > most {
                    return Ok(Completion::GaveUp);
                }
            }
        }
        Ok(Completion::Complete)
    }

    /// Stages 2 to 4.
    fn search_probes<F: Fingerprint>(&mut self, group: &Group<'_, F>, hits: &mut Vec<Hit<F>>) -> Result<()> {
        self.find_buckets(group)?;
        self.filter(group)?;
        self.confirm(group, hits)
    }

    /// Stage 1 for one query.
    fn probe_tables<F: Fingerprint>(&mut self, group: &Group<'_, F>, index: u32, query: F) {
        for (table, segment) in group.run.segments.iter().enumerate() {
            self.probe_table(group, index, table, bucket_number(segment, segment.table.leading(query)));
        }
    }

    /// Stage 1: lists the buckets of a table to search for a query, and prefetches their directory
    /// words.
    #[inline]
    fn probe_table<F: Fingerprint>(&mut self, group: &Group<'_, F>, query: u32, table: usize, own: u32) {
        let Some(radius) = group.plan_of(query, &self.own_plans).radius(table) else { return };
        let segment = &group.run.segments[table];
        for &mask in group.prepared.masks(table, radius) {
            let (bucket, flips) = (own ^ mask.bits, mask.flips);
            segment.prefetch_bucket(bucket as usize);
            self.probes.push(Probe { query, table: to_u32(table), radius, flips, bucket, start: 0, end: 0 });
        }
    }

    /// Re-plans the queries whose own buckets are unusually large.
    fn plan_each<F: Fingerprint>(&mut self, run: &Run<F>, prepared: &Prepared, queries: &[F]) -> Result<()> {
        for segment in &run.segments {
            queries
                .iter()
                .for_each(|&query| segment.prefetch_bucket(segment.bucket_of(segment.table.leading(query))));
        }
        let expected = REPLAN_ABOVE * prepared.choice.estimate.nanoseconds;
        for &query in queries {
            let mut own = 0;
            for segment in &run.segments {
                own += prefix_entries(segment, segment.table.leading(query), 0)?.len();
            }
            let expensive = prepared.model.probes(0.0, own as f64) > expected;
            self.own_plans.push(if expensive { replan(run, prepared, query)? } else { None });
        }
        Ok(())
    }

    /// Stage 2: finds the entries of each bucket and prefetches their `hi` words.
    fn find_buckets<F: Fingerprint>(&mut self, group: &Group<'_, F>) -> Result<()> {
        for probe in &mut self.probes {
            let segment = &group.run.segments[probe.table as usize];
            let range = segment.entries_of(probe.bucket as usize)?;
            (probe.start, probe.end) = (to_u32(range.start), to_u32(range.end));
            if !range.is_empty() {
                segment.prefetch_hi(&range);
            }
        }
        Ok(())
    }

    /// Stage 3: filters candidates by their `hi` words and prefetches the remaining bits of the
    /// survivors.
    fn filter<F: Fingerprint>(&mut self, group: &Group<'_, F>) -> Result<()> {
        let Self { kernel, probes, passed, survivors, own_plans, .. } = self;
        survivors.clear();
        for (index, probe) in (0u32..).zip(probes.iter()) {
            if probe.start == probe.end {
                continue;
            }
            let segment = &group.run.segments[probe.table as usize];
            let permuted = segment.table.leading(group.queries[probe.query as usize]);
            let mut range = probe.start as usize..probe.end as usize;
            if range.len() > NARROW_ABOVE && probe.flips == probe.radius {
                range = narrow(segment, permuted, range)?;
            }
            let left = group.prepared.k - probe.flips;
            let words = segment.hi(&range)?;
            segment.near(*kernel, words, permuted, left, passed);
            for &at in passed.iter() {
                let (place, hi) = (to_u32(range.start) + at, words.first(at as usize));
                if !group.metric.counts_all() {
                    // The known bits are of one band and the sketch, and say nothing of other bands.
                    segment.prefetch_rest(place as usize);
                    survivors.push(Survivor { probe: index, place, hi });
                    continue;
                }
                let plan = group.plan_of(probe.query, own_plans);
                let difference =
                    segment.table.restore(segment.leading_difference(probe.bucket, hi, permuted));
                if !plan.reported_before(
                    group.tables(),
                    probe.table as usize,
                    difference,
                    segment.known_bits(),
                ) {
                    segment.prefetch_rest(place as usize);
                    if !segment.locates_entries() {
                        let value = group.queries[probe.query as usize] ^ difference;
                        group.run.natural().prefetch_bucket_if_known(value, segment.known_bits());
                    }
                    survivors.push(Survivor { probe: index, place, hi });
                }
            }
        }
        Ok(())
    }

    /// Stage 4: compares all bits of the survivors and applies the report-once rule.
    fn confirm<F: Fingerprint>(&mut self, group: &Group<'_, F>, hits: &mut Vec<Hit<F>>) -> Result<()> {
        if !F::PAYLOAD.is_whole() {
            for &Survivor { probe, place, .. } in &self.survivors {
                let segment = &group.run.segments[self.probes[probe as usize].table as usize];
                segment.prefetch_value(place as usize)?;
            }
        }
        for &Survivor { probe, place, hi } in &self.survivors {
            let Probe { query, table, bucket, .. } = self.probes[probe as usize];
            let plan = group.plan_of(query, &self.own_plans);
            let segment = &group.run.segments[table as usize];
            let fingerprint = segment.natural_value(bucket as usize, hi, place as usize)?;
            let asked = group.queries[query as usize];
            let distance = group.metric.distance(fingerprint, asked);
            if distance <= group.prepared.k
                && plan.reports(group.tables(), table as usize, fingerprint ^ asked)
                && group.metric.admits(fingerprint)
                && group.metric.admits(asked)
            {
                let entry = segment.entry_at(place as usize)?.map_or(Hit::<F>::NOT_LOCATED, to_u32);
                hits.push(Hit { query, distance, fingerprint, entry });
            }
        }
        Ok(())
    }

    /// Compares with every entry of table 0, except in buckets that differ in more than k bits.
    fn scan<F: Fingerprint>(
        &mut self,
        run: &Run<F>,
        queries: &[F],
        prepared: &Prepared,
        most: usize,
        hits: &mut Vec<Hit<F>>,
    ) -> Result<Completion> {
        let (segment, k) = (run.natural(), prepared.k);
        let mut first = 0;
        while first < segment.buckets() {
            let buckets = first..(first + SCAN_BUCKETS).min(segment.buckets());
            segment.will_need_buckets(first, 2 * SCAN_BUCKETS)?;
            for (index, &query) in (0u32..).zip(queries) {
                let own = bucket_number(segment, query);
                for bucket in to_u32(buckets.start)..to_u32(buckets.end) {
                    let Some(left) = k.checked_sub((bucket ^ own).count_ones()) else { continue };
                    let range = segment.entries_of(bucket as usize)?;
                    let words = segment.hi(&range)?;
                    segment.near(self.kernel, words, query, left, &mut self.passed);
                    for &at in &self.passed {
                        let entry = range.start + at as usize;
                        let hi = words.first(at as usize);
                        let fingerprint = segment.natural_value(bucket as usize, hi, entry)?;
                        let distance = fingerprint.distance(query);
                        if distance <= k {
                            hits.push(Hit { query: index, distance, fingerprint, entry: to_u32(entry) });
                        }
                    }
                }
                self.progress.count(SCANNED)?;
                if hits.len() > most {
                    return Ok(Completion::GaveUp);
                }
            }
            first = buckets.end;
        }
        Ok(Completion::Complete)
    }
}

/// Requests the buckets of a group of a sweep from the system, if few others lie between them.
fn will_need<F: Fingerprint>(segment: &Segment<F>, some: &[u64]) -> Result<()> {
    let bucket = |entry: Option<&u64>| entry.map_or(0, |&entry| bucket_of_entry(segment, entry)) as usize;
    let buckets = bucket(some.iter().min())..bucket(some.iter().max()) + 1;
    if buckets.len() <= some.len() { segment.will_need_hi(buckets) } else { Ok(()) }
}

/// The bucket of a query in an order: leading bits of its upper half.
#[inline]
fn bucket_of_entry<F: Fingerprint>(segment: &Segment<F>, entry: u64) -> u32 {
    let bits = segment.directory_bits();
    if bits == 0 { 0 } else { low_half(entry >> (u64::BITS - bits)) }
}

/// The bucket of a permuted value; a directory has at most 2^28.
#[inline]
fn bucket_number<F: Fingerprint>(segment: &Segment<F>, permuted: F) -> u32 {
    to_u32(segment.bucket_of(permuted))
}

/// The entries of a bucket that share the query's whole prefix, where the prefix is longer
/// than the directory.
fn narrow<F: Fingerprint>(segment: &Segment<F>, permuted: F, range: Range<usize>) -> Result<Range<usize>> {
    let beyond = segment.table.prefix_bits.saturating_sub(segment.directory_bits()).min(32);
    if beyond == 0 {
        return Ok(range);
    }
    let words = segment.hi(&range)?;
    let prefix = |hi: u32| hi >> (32 - beyond);
    let wanted = prefix(segment.hi_of(permuted));
    let start = words.partition(0..words.len(), |hi| prefix(hi) < wanted);
    let end = words.partition(start..words.len(), |hi| prefix(hi) == wanted);
    Ok(range.start + start..range.start + end)
}

/// The entries that share the probed bits of a value with `flips` applied to them.
fn prefix_entries<F: Fingerprint>(segment: &Segment<F>, permuted: F, flips: u32) -> Result<Range<usize>> {
    let below = segment.directory_bits().saturating_sub(segment.table.prefix_bits);
    let first = ((bucket_number(segment, permuted) >> below) ^ flips) << below;
    segment.entries_in(first as usize, 1 << below)
}

/// A plan from this query's own bucket sizes at radius 0 and 1, and the mean beyond.
fn replan<F: Fingerprint>(run: &Run<F>, prepared: &Prepared, query: F) -> Result<Option<Plan>> {
    let mut near = Vec::with_capacity(run.segments.len());
    for (segment, shape) in run.segments.iter().zip(&prepared.shapes) {
        let permuted = segment.table.leading(query);
        let own = prefix_entries(segment, permuted, 0)?.len();
        let mut around = own;
        for bit in 0..shape.probe_bits() {
            around += prefix_entries(segment, permuted, 1 << bit)?.len();
        }
        near.push((own as f64, around as f64));
    }
    let cost = |table: usize, radius: u32| {
        let shape = &prepared.shapes[table];
        let probes = ball(shape.probe_bits(), radius);
        if radius >= shape.probe_bits() {
            return f64::INFINITY;
        }
        let (own, around) = near[table];
        let candidates = match radius {
            0 => own,
            _ => around + (probes - 1.0 - f64::from(shape.probe_bits())) * shape.mean_bucket,
        };
        prepared.model.probes(probes, candidates)
    };
    let tables: Vec<usize> = (0..near.len()).collect();
    let radii = spread(near.len(), &tables, prepared.k, cost);
    Ok(Plan::prove(&run.record.layout, radii, prepared.k))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::bulk::build_runs;
    use crate::fingerprint::Row;
    use crate::fingerprint::{Bits, mix64};
    use crate::progress::NO_PROGRESS;

    fn skewed_rows() -> Vec<Row<u64>> {
        // A tenth shares five values of the first 16 bits.
        let hot = |i: u64| (0xabc0 | (i % 5)) << 48 | mix64(i) >> 16;
        let rows = (0..400_000).map(|id| if id % 10 == 0 { hot(id / 10) } else { mix64(id) });
        rows.zip(0..).map(|(fingerprint, id)| Row { fingerprint, id }).collect()
    }

    #[test]
    fn a_query_in_a_hot_bucket_gets_a_plan_that_avoids_it() {
        let rows = skewed_rows();
        for (layout, most) in [("rotations:3", 9000), ("rotations:4", 2000)] {
            let home = tempfile::tempdir().unwrap();
            let database = build_runs(&home.path().join("db"), &[(layout, &rows)]).unwrap();
            let snapshot = database.snapshot().unwrap();
            let mut searcher = Searcher::new(Kernel::detect(), NO_PROGRESS);
            for hot in [&rows[0], &rows[10], &rows[40]] {
                let (k, mut hits) = (Distance::saturating::<u64>(3), Vec::new());
                let run = &snapshot.searchables()[0];
                let done = searcher
                    .search(run, (&[hot.fingerprint], &mut Orders::default()), k, usize::MAX, &mut hits)
                    .unwrap();
                assert_eq!(done, Completion::Complete);
                assert!(hits.iter().any(|hit| hit.fingerprint == hot.fingerprint));
                let candidates: u32 = searcher.probes.iter().map(|probe| probe.end - probe.start).sum();
                assert!(candidates < most, "{layout}: {candidates} candidates; a hot range has 8,000");
            }
        }
    }

    #[test]
    fn prefix_entries_hold_what_shares_the_probed_bits() {
        let rows = &skewed_rows()[..5000];
        for (layout, bits) in [("rotations:4", 8), ("rotations:16", 4), ("rotations:64", 1)] {
            let home = tempfile::tempdir().unwrap();
            let database = build_runs(&home.path().join("db"), &[(layout, rows)]).unwrap();
            let snapshot = database.snapshot().unwrap();
            let natural = snapshot.searchables()[0].run.natural();
            for flips in [0, 1] {
                let query = rows[70].fingerprint;
                let shares =
                    |row: &&Row<u64>| row.fingerprint.bits(0, bits) == query.bits(0, bits) ^ u64::from(flips);
                let expected = rows.iter().filter(shares).count();
                assert_eq!(prefix_entries(natural, query, flips).unwrap().len(), expected, "{layout}");
            }
        }
    }
}
