//! The cost model of queries, and the choice of the cheapest plan.
//!
//! The model counts probes (directory look-ups) and candidates (entries that the filter reads in
//! order). The look-ups of a query overlap, so it waits for their latency once. The
//! constants are fitted to `cargo bench --bench model`; see docs/decisions/0029-plans-and-their-cost.md.

use super::plan::{MAX_PROOF_STEPS, Plan};
use super::scheme::Layout;
use crate::fingerprint::{HI_BITS, Payload};
use crate::util::cast::to_u32;

/// Nanoseconds that a query waits for the memory that it reads first, in cache and in memory.
const WAIT_NS: (f64, f64) = (0.0, 220.0);
/// Nanoseconds to permute the query for one table and to begin with it.
const TABLE_NS: f64 = 20.0;
/// Nanoseconds of a probe.
const PROBE_NS: f64 = 23.0;
/// Nanoseconds that each additional `hi` word of an entry adds to a probe, in cache and in memory.
const WORD_NS: (f64, f64) = (14.0, 21.0);
/// Nanoseconds per candidate of a bucket and `hi` word, in cache and in memory.
const CANDIDATE_NS: (f64, f64) = (0.12, 0.29);
/// Nanoseconds per candidate that passes the `hi` filter, in cache and in memory, where the table
/// holds whole fingerprints.
const SURVIVOR_NS: (f64, f64) = (18.0, 33.0);
/// The same where the table holds their numbers.
const NUMBERED_SURVIVOR_NS: f64 = 43.0;
/// Nanoseconds per entry and `hi` word of a scan, which reads every bucket in order.
const SCAN_NS: f64 = 0.8;
/// Nanoseconds per entry of a scan that passes the `hi` filter.
const SCAN_SURVIVOR_NS: f64 = 5.0;
/// The size of a table whose needed parts stay in the caches.
const CACHE_BYTES: f64 = 4e6;

/// The cost of the parts of a query on one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    wait_ns: f64,
    probe_ns: f64,
    candidate_ns: f64,
    scan_ns: f64,
}

impl Model {
    /// The model for queries at distance `k` on a run of `entries` fingerprints of `width` bits.
    pub(crate) fn new(width: u32, entries: u64, k: u32) -> Self {
        let payload = Payload::of_width(width);
        let words = payload.hi_words() as f64;
        // After the words: up to two bytes of `lo`, or the number of an entry.
        let entry_bytes = words * 4.0 + if payload.is_whole() { 2.0 } else { 4.0 };
        let cached = (CACHE_BYTES / (entries as f64 * entry_bytes).max(1.0)).min(1.0);
        let between = |(cache, memory): (f64, f64)| cache * cached + memory * (1.0 - cached);
        let pass_rate = pass_rate(HI_BITS * to_u32(payload.hi_words()), k);
        let survivor_ns = if payload.is_whole() { between(SURVIVOR_NS) } else { NUMBERED_SURVIVOR_NS };
        Self {
            wait_ns: between(WAIT_NS),
            probe_ns: PROBE_NS + (words - 1.0) * between(WORD_NS),
            candidate_ns: between(CANDIDATE_NS) * words + pass_rate * survivor_ns,
            scan_ns: SCAN_NS * words + pass_rate * SCAN_SURVIVOR_NS,
        }
    }

    /// The time of this many probes and candidates of a table, in nanoseconds, waiting aside.
    pub(crate) fn probes(&self, probes: f64, candidates: f64) -> f64 {
        TABLE_NS + probes * self.probe_ns + candidates * self.candidate_ns
    }

    /// The time of a scan over this many entries, in nanoseconds.
    fn scan(&self, entries: u64) -> f64 {
        TABLE_NS + entries as f64 * self.scan_ns
    }
}

/// The properties of a table that determine the cost of probing it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableShape {
    pub(crate) prefix_bits: u32,
    pub(crate) directory_bits: u32,
    /// Entries that share the probed bits of a random query.
    pub(crate) mean_bucket: f64,
    /// Entries that share the probed bits of a stored fingerprint: more than the mean for skewed
    /// data.
    pub(crate) typical_bucket: f64,
}

impl TableShape {
    /// The shape for uniformly distributed fingerprints.
    pub(crate) fn uniform(prefix_bits: u32, directory_bits: u32, entries: u64) -> Self {
        let mean = entries as f64 / f64::from(prefix_bits.min(directory_bits)).exp2();
        Self { prefix_bits, directory_bits, mean_bucket: mean, typical_bucket: mean }
    }

    /// The number of leading bits that a probe looks up.
    pub(crate) fn probe_bits(&self) -> u32 {
        self.prefix_bits.min(self.directory_bits)
    }
}

/// The expected work of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Estimate {
    /// Directory look-ups.
    pub(crate) probes: f64,
    /// Entries that the filter reads.
    pub(crate) candidates: f64,
    /// Modelled time on one core, warm.
    pub(crate) nanoseconds: f64,
}

/// How a run answers queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Strategy {
    /// Probe the tables of a plan.
    Probe(Plan),
    /// Compare with every entry of table 0.
    Scan,
}

/// The cheapest strategy and its alternative.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) strategy: Strategy,
    pub(crate) estimate: Estimate,
    /// The modelled time of a scan, in nanoseconds.
    pub(crate) scan_nanoseconds: f64,
}

/// Chooses the cheapest valid strategy for a run of `entries` with these tables.
pub(crate) fn choose(layout: &Layout, shapes: &[TableShape], entries: u64, k: u32) -> Choice {
    let model = Model::new(layout.width(), entries, k);
    let scan = Estimate { probes: 1.0, candidates: entries as f64, nanoseconds: model.scan(entries) };
    let best = candidates(layout, shapes, entries, k, &model)
        .into_iter()
        .filter_map(|radii| Plan::prove(layout, radii, k))
        .map(|plan| (estimate(&plan, shapes, entries, &model), plan))
        .min_by(|a, b| a.0.nanoseconds.total_cmp(&b.0.nanoseconds));
    match best {
        Some((estimate, plan))
            if estimate.nanoseconds <= scan.nanoseconds || always_probes() || layout.is_bands() =>
        {
            Choice { strategy: Strategy::Probe(plan), estimate, scan_nanoseconds: scan.nanoseconds }
        }
        _ => Choice { strategy: Strategy::Scan, estimate: scan, scan_nanoseconds: scan.nanoseconds },
    }
}

/// The modelled time of a query at `k` against a run of `entries` uniform fingerprints, in
/// nanoseconds.
pub(crate) fn typical(layout: &Layout, entries: u64, k: u32) -> f64 {
    choose(layout, &uniform_shapes(layout, entries), entries, k).estimate.nanoseconds
}

/// The tables of a layout that hold `entries` uniform fingerprints.
pub(crate) fn uniform_shapes(layout: &Layout, entries: u64) -> Vec<TableShape> {
    let shape = |table: usize| {
        let prefix = layout.prefix_bits(table);
        TableShape::uniform(prefix, directory_bits(prefix, entries), entries)
    };
    (0..layout.table_count()).map(shape).collect()
}

#[cfg(not(test))]
const fn always_probes() -> bool {
    false
}

/// Queries scan small runs. A test can disable scans for its thread, to exercise the tables.
#[cfg(test)]
fn always_probes() -> bool {
    ALWAYS_PROBES.get()
}

#[cfg(test)]
thread_local! {
    pub(crate) static ALWAYS_PROBES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The radii to prove and compare.
fn candidates(layout: &Layout, shapes: &[TableShape], entries: u64, k: u32, model: &Model) -> Vec<Vec<i32>> {
    if layout.is_bands() {
        return vec![vec![0; layout.table_count()]];
    }
    let cost = |table: usize, radius: u32| table_estimate(&shapes[table], radius, entries, model).nanoseconds;
    let all: Vec<usize> = (0..layout.table_count()).collect();
    let apart = disjoint_tables(layout);
    let mut found = vec![spread(layout.table_count(), &apart, k, cost)];
    if apart.len() < all.len() {
        let mut steps = MAX_PROOF_STEPS;
        let mut same = (0..=k).map(|radius| vec![radius.cast_signed(); all.len()]);
        let valid = same.find(|radii| Plan::prove_within(layout, radii.clone(), k, &mut steps).is_some());
        found.extend(valid.map(|radii| thin_out(layout, radii, k, &mut steps)));
    }
    found
}

/// Removes tables, the last first, as long as the plan stays valid.
fn thin_out(layout: &Layout, mut radii: Vec<i32>, k: u32, steps_left: &mut u32) -> Vec<i32> {
    for table in (0..radii.len()).rev() {
        let radius = std::mem::replace(&mut radii[table], Plan::UNUSED);
        if Plan::prove_within(layout, radii.clone(), k, steps_left).is_none() {
            radii[table] = radius;
        }
    }
    radii
}

/// A greedy choice of tables whose prefixes do not overlap: all of them for rotations.
fn disjoint_tables(layout: &Layout) -> Vec<usize> {
    let mut chosen: Vec<usize> = Vec::new();
    for table in 0..layout.table_count() {
        if layout.disjoint(chosen.iter().copied().chain([table])) {
            chosen.push(table);
        }
    }
    chosen
}

/// The cheapest radii for tables with disjoint prefixes. The sum of (radius + 1) must be k + 1 and
/// the costs add up, so dynamic programming over that sum finds the minimum.
pub(crate) fn spread(
    table_count: usize,
    tables: &[usize],
    k: u32,
    cost: impl Fn(usize, u32) -> f64,
) -> Vec<i32> {
    let goal = k as usize + 1;
    let mut best = vec![f64::INFINITY; goal + 1];
    best[0] = 0.0;
    let mut taken = vec![vec![0usize; goal + 1]; tables.len()];
    for (row, &table) in tables.iter().enumerate() {
        let shares: Vec<f64> =
            std::iter::once(0.0).chain((0..=k).map(|radius| cost(table, radius))).collect();
        let before = best.clone();
        for sum in 0..=goal {
            for (share, share_cost) in shares.iter().enumerate().take(sum + 1) {
                let total = before[sum - share] + share_cost;
                if total < best[sum] {
                    best[sum] = total;
                    taken[row][sum] = share;
                }
            }
        }
    }
    let mut radii = vec![Plan::UNUSED; table_count];
    let mut sum = goal;
    for (row, &table) in tables.iter().enumerate().rev() {
        let share = taken[row][sum];
        radii[table] = i32::try_from(share).map_or(i32::MAX, |share| share - 1);
        sum -= share;
    }
    radii
}

/// The expected work of a plan.
fn estimate(plan: &Plan, shapes: &[TableShape], entries: u64, model: &Model) -> Estimate {
    let waiting = Estimate { nanoseconds: model.wait_ns, ..Estimate::default() };
    plan.used().fold(waiting, |sum, (table, radius)| {
        let part = table_estimate(&shapes[table], radius, entries, model);
        Estimate {
            probes: sum.probes + part.probes,
            candidates: sum.candidates + part.candidates,
            nanoseconds: sum.nanoseconds + part.nanoseconds,
        }
    })
}

fn table_estimate(shape: &TableShape, radius: u32, entries: u64, model: &Model) -> Estimate {
    if radius >= shape.probe_bits() {
        // This would probe every bucket. A scan does the same in order.
        return Estimate { nanoseconds: f64::INFINITY, ..Estimate::default() };
    }
    let probes = ball(shape.probe_bits(), radius);
    let hot = (shape.mean_bucket + shape.typical_bucket) / 2.0;
    let candidates = (hot + (probes - 1.0) * (hot + shape.mean_bucket) / 2.0).min(entries as f64);
    let buckets = f64::from(shape.directory_bits - shape.probe_bits()).exp2();
    let nanoseconds = model.probes(probes + (buckets - 1.0) * probes / 8.0, candidates);
    Estimate { probes, candidates, nanoseconds }
}

/// The share of random `bits`-bit values within `k` bits of a given one: what the filter lets pass.
fn pass_rate(bits: u32, k: u32) -> f64 {
    ball(bits, k) / f64::from(bits).exp2()
}

/// The number of `bits`-bit values within `radius` of a given one.
pub(crate) fn ball(bits: u32, radius: u32) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for i in 0..radius.min(bits) {
        term *= f64::from(bits - i) / f64::from(i + 1);
        sum += term;
    }
    sum
}

/// The number of leading bits that the directory of a segment of `entries` indexes. A bucket holds
/// about 16 entries. At least the leading byte is indexed, and otherwise no more than the prefix.
pub(crate) fn directory_bits(prefix_bits: u32, entries: u64) -> u32 {
    let nearest_power = (entries.max(1).saturating_mul(3) / 2).ilog2();
    let wanted = nearest_power.saturating_sub(4);
    wanted.min(prefix_bits).clamp(MIN_DIRECTORY_BITS, MAX_DIRECTORY_BITS)
}

/// Directories always index the leading byte.
pub(crate) const MIN_DIRECTORY_BITS: u32 = 8;
/// 2^28 buckets of 16 entries hold the largest run.
pub(crate) const MAX_DIRECTORY_BITS: u32 = 28;

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(tables: u32, entries: u64, k: u32) -> Choice {
        let layout = Layout::rotations(64, tables).unwrap();
        choose(&layout, &uniform_shapes(&layout, entries), entries, k)
    }

    #[test]
    fn plans_are_the_expected_ones() {
        let plan = |tables, entries, k| match chosen(tables, entries, k).strategy {
            Strategy::Probe(plan) => plan.radii().to_vec(),
            Strategy::Scan => vec![],
        };
        assert_eq!(plan(4, 10_000_000, 3), [0, 0, 0, 0]);
        let mut three = plan(3, 50_000_000, 3);
        three.sort_unstable();
        assert_eq!(three, [0, 0, 1]);
        assert_eq!(plan(4, 10_000_000, 40), Vec::<i32>::new(), "scan");
        assert_eq!(plan(1, 100, 3), Vec::<i32>::new(), "scan");
    }

    #[test]
    fn every_k_has_a_strategy_for_every_layout() {
        for (m, s, k) in [(6, 2, 3), (8, 3, 3), (5, 2, 3), (6, 3, 3)] {
            let layout = Layout::covering(64, m, s, k).unwrap();
            let shapes = uniform_shapes(&layout, 1 << 24);
            for query_k in 0..=64 {
                let choice = choose(&layout, &shapes, 1 << 24, query_k);
                assert!(choice.estimate.nanoseconds <= choice.scan_nanoseconds);
                assert!(
                    query_k > k || matches!(choice.strategy, Strategy::Probe(_)),
                    "{m},{s} k = {query_k}"
                );
            }
        }
    }

    #[test]
    fn balls_are_binomial_sums() {
        assert_eq!(ball(22, 0), 1.0);
        assert_eq!(ball(22, 1), 23.0);
        assert_eq!(ball(16, 2), 137.0);
        assert_eq!(ball(8, 8), 256.0);
        assert_eq!(ball(8, 50), 256.0);
    }

    #[test]
    fn regression_plans_for_irregular_layouts_take_bounded_time() {
        use crate::fingerprint::mix64;
        // Prefixes that overlap irregularly, as a file may have them: no proof finishes.
        let prefix = |table: u64| (0..2).fold(0, |prefix, nth| prefix | 1 << (mix64(table * 2 + nth) % 64));
        let prefixes = std::iter::once(0b11).chain((1..64).map(prefix)).collect();
        let layout = Layout::from_parts(64, 64, prefixes).unwrap();
        let shapes: Vec<TableShape> =
            (0..64).map(|table| TableShape::uniform(layout.prefix_bits(table), 8, 1000)).collect();
        // Without a bound, none of them ends.
        for k in 20..32 {
            assert!(matches!(choose(&layout, &shapes, 1000, k).strategy, Strategy::Scan), "k = {k}");
        }
    }
}
