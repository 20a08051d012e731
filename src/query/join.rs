//! All pairs within k bits.
//!
//! The join walks over each table group by group; a group is the fingerprints that share a prefix.
//! The filter kernel compares the pairs inside a group. A large group is split first by the bits
//! that vary in it: of k + 1 parts of these bits, k errors leave one untouched. If a table has a
//! radius, groups whose prefixes differ by at most that many bits are compared with each other.
//! Groups of bands are cut into those that share the whole band. The report-once rule assigns each
//! pair to one table. Clusters need only a spanning forest of the pairs, which each group yields
//! without the others.

use std::ops::{ControlFlow, Range};

use super::prepare::masks_within;
use super::union_find::UnionFind;
use super::words::{Words, parts_of, varying, window_of, worth_splitting};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::kernel::Kernel;
use crate::layout::plan::Plan;
use crate::layout::{Metric, Table};
use crate::progress::ProgressFn;
use crate::util::cast::to_u32;
use crate::util::parallel::{self, Sink};

/// Two fingerprints and their distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair<F> {
    /// The smaller fingerprint; between two databases, the fingerprint of the first.
    pub a: F,
    /// The larger fingerprint; between two databases, the fingerprint of the second.
    pub b: F,
    /// Number of differing bits. At least 1, except between two databases, and where only the bits
    /// of a [sketch](crate::BandLayout) count.
    pub distance: u32,
}

/// Pairs of one block.
const BLOCK_PAIRS: usize = 1024;
/// Approximate number of fingerprints in one item of work.
const ITEM_FINGERPRINTS: u64 = 1 << 15;
/// Groups up to this size are compared by one call of the kernel.
const LOOK_ABOVE: usize = 64;
/// Groups up to this size are not split.
pub(super) const SPLIT_ABOVE: usize = 2048;
/// Comparisons of one thread between two checks for cancellation: about ten milliseconds.
const COMPARED_BETWEEN_CHECKS: usize = 1 << 26;
/// Cost of a pair that passes the filter, in pairs that do not.
const PASSED_COST: usize = 32;

/// The fingerprints of one table, group by group.
pub(super) trait Groups<F>: Sync {
    /// Approximate number of fingerprints in all groups.
    fn len(&self) -> u64;
    /// Announces that a range of prefixes is read next, in order.
    fn will_need(&self, _prefixes: &Range<usize>, _bits: u32) -> Result<()> {
        Ok(())
    }
    /// Appends the distinct fingerprints, in the table's order, whose first `bits` bits are
    /// `prefix`.
    fn read(&self, prefix: usize, bits: u32, out: &mut Vec<F>) -> Result<()>;
}

/// Which pairs a join yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Every pair, once.
    All,
    /// Some of the pairs, with the same connected components as all pairs. A large group yields fewer
    /// pairs than it has fingerprints.
    Forest,
    /// The pairs of a fingerprint `a` of one list and `b` of another one. They may be equal.
    Between,
}

/// The settings of a join, the same for all its tables.
pub(super) struct Join<'a, F> {
    pub(super) kernel: Kernel,
    pub(super) threads: usize,
    pub(super) k: u32,
    pub(super) wanted: Wanted,
    pub(super) metric: Metric<F>,
    pub(super) plan: &'a Plan,
    pub(super) tables: &'a [Table<F>],
    /// Receives the number of newly joined fingerprints of a table.
    pub(super) progress: ProgressFn<'a>,
}

impl<F: Fingerprint> Join<'_, F> {
    /// Finds the pairs that table `table` reports. Compares groups that share `group_bits` bits.
    pub(super) fn run(
        &self,
        table: usize,
        groups: &dyn Groups<F>,
        group_bits: u32,
        consume: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
    ) -> Result<()> {
        let radius = u32::try_from(self.plan.radii()[table]).unwrap_or(0);
        let masks: Vec<u32> =
            masks_within(group_bits, radius).into_iter().filter(|mask| mask.count_ones() <= self.k).collect();
        self.items(table, groups.len(), group_bits, consume, |worker, range, sink| {
            worker.groups(groups, range, group_bits, &masks, sink)
        })
    }

    /// Finds the pairs between two lists that table `table` reports. The radius of the table is 0.
    pub(super) fn run_between(
        &self,
        table: usize,
        (ones, others): (&dyn Groups<F>, &dyn Groups<F>),
        group_bits: u32,
        consume: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
    ) -> Result<()> {
        self.items(table, ones.len() + others.len(), group_bits, consume, |worker, range, sink| {
            worker.groups_between(ones, others, range, group_bits, sink)
        })
    }

    /// Carries out items of work on all threads. Each is a range of prefixes.
    fn items(
        &self,
        table: usize,
        fingerprints: u64,
        group_bits: u32,
        consume: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
        join: impl Fn(&mut Worker<'_, F>, Range<usize>, Sink<'_, Vec<Pair<F>>>) -> Result<()> + Sync,
    ) -> Result<()> {
        let prefixes = 1usize << group_bits;
        let items = usize::try_from(fingerprints / ITEM_FINGERPRINTS + 1)
            .map_or(prefixes, |items| items.min(prefixes));
        parallel::ordered(
            self.threads,
            items,
            || Worker::new(self, table),
            |item, worker, sink| {
                join(worker, prefixes * item / items..prefixes * (item + 1) / items, sink)?;
                // The next call might go on.
                worker.cancelled.take().map_or(Ok(()), Err)?;
                (self.progress)(fingerprints / items as u64)
            },
            |block: Vec<Pair<F>>| consume(&block),
        )
    }
}

/// The state of one thread.
struct Worker<'a, F> {
    join: &'a Join<'a, F>,
    table: usize,
    group: Vec<F>,
    other: Vec<F>,
    words: Words,
    passed: Vec<u32>,
    passed_pairs: Vec<(u32, u32)>,
    found: Vec<Pair<F>>,
    /// For a forest: the components of the fingerprints at work, by position.
    sets: UnionFind,
    /// Number of these components.
    components: usize,
    /// Whether only a forest of the fingerprints at work is wanted. Small groups have few pairs.
    wants_forest: bool,
    /// Comparisons since the last check for cancellation.
    compared: usize,
    /// Why the item of work ends early.
    cancelled: Option<Error>,
    /// Masks in which a pair must differ; otherwise another part reports it.
    differ: Vec<F>,
    /// Prefixes of earlier tables, in this table's order. The earlier table reports a pair that
    /// agrees there.
    earlier: Vec<F>,
    /// The bits that count as distance, in this table's order.
    counted: F,
    /// The number of leading bits that are equal in every pair reported here and are not compared;
    /// `None` if all bits are.
    band_bits: Option<u32>,
}

impl<'a, F: Fingerprint> Worker<'a, F> {
    fn new(join: &'a Join<'a, F>, table: usize) -> Self {
        let (group, other, found, differ) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let used = join.plan.used().map(|(earlier, _)| earlier).take_while(|&earlier| earlier < table);
        let earlier =
            used.map(|earlier| join.tables[table].permute(join.tables[earlier].prefix_mask)).collect();
        let counted = join.tables[table].permute(join.metric.compared());
        let band_bits = (counted != F::ones(0, F::BITS)).then_some(join.tables[table].prefix_bits);
        let (words, passed, passed_pairs) =
            (Words::new(join.k, counted.count_ones()), Vec::new(), Vec::new());
        let (sets, components, wants_forest) = (UnionFind::default(), 0, false);
        Self {
            join,
            table,
            group,
            other,
            words,
            passed,
            passed_pairs,
            found,
            sets,
            components,
            wants_forest,
            compared: 0,
            cancelled: None,
            differ,
            earlier,
            counted,
            band_bits,
        }
    }

    /// Compares every group of a range with itself and with the groups at the masks.
    fn groups(
        &mut self,
        groups: &dyn Groups<F>,
        range: Range<usize>,
        group_bits: u32,
        masks: &[u32],
        sink: Sink<'_, Vec<Pair<F>>>,
    ) -> Result<()> {
        groups.will_need(&range, group_bits)?;
        for prefix in range {
            let mut group = std::mem::take(&mut self.group);
            group.clear();
            groups.read(prefix, group_bits, &mut group)?;
            if group.is_empty() {
                self.group = group;
                continue;
            }
            let mut flow = match self.band_bits {
                None => self.inside(&mut group, group_bits, sink),
                Some(bits) => self.bands(&mut group, bits, sink),
            };
            for &mask in masks.iter().skip(1) {
                let partner = prefix ^ mask as usize;
                if partner > prefix && flow.is_continue() {
                    let mut other = std::mem::take(&mut self.other);
                    other.clear();
                    groups.read(partner, group_bits, &mut other)?;
                    flow = self.across(&group, &other, (group_bits, mask.count_ones()), sink);
                    self.other = other;
                }
            }
            self.group = group;
            if flow.is_break() {
                return Ok(());
            }
        }
        let _ = self.hand_on(sink);
        Ok(())
    }

    /// Compares every group of one list with the group of the other list that has its prefix.
    fn groups_between(
        &mut self,
        ones: &dyn Groups<F>,
        others: &dyn Groups<F>,
        range: Range<usize>,
        group_bits: u32,
        sink: Sink<'_, Vec<Pair<F>>>,
    ) -> Result<()> {
        let shared = F::ones(0, self.band_bits.unwrap_or(group_bits));
        for prefix in range {
            let (mut group, mut other) = (std::mem::take(&mut self.group), std::mem::take(&mut self.other));
            for (list, read) in [(ones, &mut group), (others, &mut other)] {
                read.clear();
                list.read(prefix, group_bits, read)?;
                read.retain(|&value| self.join.metric.admits(value));
            }
            let flow = self.where_equal(&mut group, &mut other, shared, group_bits, sink);
            (self.group, self.other) = (group, other);
            if flow.is_break() {
                return Ok(());
            }
        }
        let _ = self.hand_on(sink);
        Ok(())
    }

    /// All pairs between two sets that have the bits of `mask` in common.
    fn where_equal(
        &mut self,
        ones: &mut [F],
        others: &mut [F],
        mask: F,
        shared_bits: u32,
        sink: Sink<'_, Vec<Pair<F>>>,
    ) -> ControlFlow<()> {
        if ones.is_empty() || others.is_empty() {
            return ControlFlow::Continue(());
        }
        ones.sort_unstable_by_key(|&value| value & mask);
        others.sort_unstable_by_key(|&value| value & mask);
        let equal = |&a: &F, &b: &F| (a ^ b) & mask == F::default();
        let mut sets = others.chunk_by_mut(equal).peekable();
        for ones in ones.chunk_by_mut(equal) {
            while sets.next_if(|others| others[0] & mask < ones[0] & mask).is_some() {}
            if let Some(others) = sets.next_if(|others| others[0] & mask == ones[0] & mask) {
                self.between(ones, others, shared_bits, sink)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// All pairs between two sets. Splits large sets as [`inside`](Self::inside) does.
    fn between(
        &mut self,
        ones: &mut [F],
        others: &mut [F],
        shared_bits: u32,
        sink: Sink<'_, Vec<Pair<F>>>,
    ) -> ControlFlow<()> {
        if ones.len().min(others.len()) > LOOK_ABOVE {
            let varying = varying(ones) | varying(others) | (ones[0] ^ others[0]);
            if self.earlier.iter().chain(&self.differ).any(|&mask| varying & mask == F::default()) {
                return ControlFlow::Continue(());
            }
            let parts = parts_of(varying & self.counted, self.join.k + 1);
            if ones.len().max(others.len()) > SPLIT_ABOVE && worth_splitting(&parts) {
                let before = self.differ.len();
                for &part in &parts {
                    self.where_equal(ones, others, part, 0, sink)?;
                    self.differ.push(part);
                }
                self.differ.truncate(before);
                return ControlFlow::Continue(());
            }
        }
        self.across(ones, others, (self.band_bits.unwrap_or(shared_bits), 0), sink)
    }

    /// All pairs within the sets of fingerprints that share a band.
    fn bands(&mut self, group: &mut [F], band_bits: u32, sink: Sink<'_, Vec<Pair<F>>>) -> ControlFlow<()> {
        let band = F::ones(0, band_bits);
        let metric = self.join.metric;
        // The groups of a list are not sorted.
        group.sort_unstable();
        let first = group.iter().take_while(|&&value| !metric.admits(value)).count();
        for same in group[first..].chunk_by_mut(|&a, &b| (a ^ b) & band == F::default()) {
            if same.len() > 1 {
                self.inside(same, band_bits, sink)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// All pairs within one set of fingerprints. Splits a large set.
    fn inside(&mut self, group: &mut [F], shared_bits: u32, sink: Sink<'_, Vec<Pair<F>>>) -> ControlFlow<()> {
        let mut start = self.band_bits.unwrap_or(shared_bits);
        if group.len() > LOOK_ABOVE {
            let varying = varying(group);
            if self.earlier.iter().chain(&self.differ).any(|&mask| varying & mask == F::default()) {
                // No pair of the group differs where it must differ to be reported here.
                return ControlFlow::Continue(());
            }
            let parts = parts_of(varying & self.counted, self.join.k + 1);
            if group.len() > SPLIT_ABOVE && worth_splitting(&parts) {
                return self.split(group, &parts, sink);
            }
            if self.band_bits.is_none() {
                start = window_of(varying, shared_bits, self.words.bits());
            }
        }
        self.words.fill(group, start);
        let wants_forest = self.begin(group.len());
        if let Words::One(words) = &self.words
            && group.len() <= LOOK_ABOVE
        {
            self.passed_pairs.clear();
            self.join.kernel.filter_pairs(words, self.join.k, &mut self.passed_pairs);
            for at in 0..self.passed_pairs.len() {
                let (a, b) = self.passed_pairs[at];
                self.check((a, group[a as usize]), (b, group[b as usize]));
            }
            return self.hand_on_full(sink);
        }
        for (index, &a) in group.iter().enumerate() {
            if wants_forest && self.components == 1 {
                break;
            }
            self.words.near(self.join.kernel, index + 1, (a, start), self.join.k, &mut self.passed);
            for at in 0..self.passed.len() {
                let other = index + 1 + self.passed[at] as usize;
                self.check((to_u32(index), a), (to_u32(other), group[other]));
            }
            self.compared += group.len() - index + PASSED_COST * self.passed.len();
            self.hand_on_full(sink)?;
        }
        ControlFlow::Continue(())
    }

    /// A pair within k errors agrees on one of k + 1 parts. The first such part reports it.
    fn split(&mut self, group: &mut [F], parts: &[F], sink: Sink<'_, Vec<Pair<F>>>) -> ControlFlow<()> {
        let before = self.differ.len();
        for &part in parts {
            group.sort_unstable_by_key(|&value| value & part);
            for same in group.chunk_by_mut(|&a, &b| (a ^ b) & part == F::default()) {
                if same.len() > 1 {
                    self.inside(same, 0, sink)?;
                }
            }
            self.differ.push(part);
        }
        self.differ.truncate(before);
        ControlFlow::Continue(())
    }

    /// All pairs between two groups with `prefix_bits` common bits each. The prefixes differ by
    /// `apart` bits.
    ///
    /// Inlined, it would take registers from the loop over groups.
    #[inline(never)]
    fn across(
        &mut self,
        group: &[F],
        other: &[F],
        (prefix_bits, apart): (u32, u32),
        sink: Sink<'_, Vec<Pair<F>>>,
    ) -> ControlFlow<()> {
        let (mut start, mut unseen) = (prefix_bits, apart);
        if group.len().min(other.len()) > LOOK_ABOVE && self.band_bits.is_none() {
            let (between, window) = (group[0] ^ other[0], self.words.bits());
            start = window_of(varying(group) | varying(other) | between, prefix_bits, window);
            // The filter counts differences of the prefixes inside its window.
            let seen = between & F::ones(0, prefix_bits) & F::ones(start, window);
            unseen -= seen.count_ones();
        }
        self.words.fill(other, start);
        let wants_forest = self.begin(group.len() + other.len());
        for (index, &a) in group.iter().enumerate() {
            if wants_forest && self.components == 1 {
                break;
            }
            self.words.near(self.join.kernel, 0, (a, start), self.join.k - unseen, &mut self.passed);
            for at in 0..self.passed.len() {
                let near = self.passed[at] as usize;
                self.check((to_u32(index), a), (to_u32(group.len() + near), other[near]));
            }
            self.compared += other.len() + PASSED_COST * self.passed.len();
            self.hand_on_full(sink)?;
        }
        ControlFlow::Continue(())
    }

    /// Starts the comparison of so many fingerprints. Returns whether only a forest is wanted. No
    /// further pair is then wanted once there is one component.
    fn begin(&mut self, count: usize) -> bool {
        self.wants_forest = self.join.wanted == Wanted::Forest && count > LOOK_ABOVE;
        if self.wants_forest {
            self.sets.reset(count);
            self.components = count;
        }
        self.wants_forest
    }

    /// Keeps a pair, given by positions and values, if it is within k and wanted here.
    #[inline]
    fn check(&mut self, a: (u32, F), b: (u32, F)) {
        if self.wants_forest { self.connect(a, b) } else { self.report(a.1, b.1) }
    }

    /// Keeps a pair if it is within k and connects two components.
    #[cold]
    #[inline(never)]
    fn connect(&mut self, (at_a, a): (u32, F), (at_b, b): (u32, F)) {
        let table = &self.join.tables[self.table];
        let difference = table.restore(a ^ b);
        // What a later table reports is connected there, and not yet.
        if self.distance(a, b) > self.join.k
            || !self.join.plan.reports_by_then(|i| &self.join.tables[i], self.table, difference)
        {
            return;
        }
        if self.sets.unite(at_a, at_b) {
            self.components -= 1;
            // What an earlier table or part reports has been connected there.
            self.report(a, b);
        }
    }

    /// Keeps a pair if it is within k and reported here.
    #[inline]
    fn report(&mut self, a: F, b: F) {
        if self.distance(a, b) > self.join.k || self.differ.iter().any(|&mask| (a ^ b) & mask == F::default())
        {
            return;
        }
        let table = &self.join.tables[self.table];
        let (a, b) = (table.restore(a), table.restore(b));
        if self.join.plan.reports(|i| &self.join.tables[i], self.table, a ^ b) {
            let (a, b) = if self.join.wanted == Wanted::Between { (a, b) } else { (a.min(b), a.max(b)) };
            self.found.push(Pair { a, b, distance: self.join.metric.distance(a, b) });
        }
    }

    /// The distance of two fingerprints in this table's order.
    #[inline]
    fn distance(&self, a: F, b: F) -> u32 {
        ((a ^ b) & self.counted).count_ones()
    }

    /// Passes pairs on once there are enough of them. Checks for cancellation.
    fn hand_on_full(&mut self, sink: Sink<'_, Vec<Pair<F>>>) -> ControlFlow<()> {
        if self.compared > COMPARED_BETWEEN_CHECKS {
            self.compared = 0;
            if let Err(error) = (self.join.progress)(0) {
                self.cancelled = Some(error);
                return ControlFlow::Break(());
            }
        }
        if self.found.len() < BLOCK_PAIRS { ControlFlow::Continue(()) } else { self.hand_on(sink) }
    }

    fn hand_on(&mut self, sink: Sink<'_, Vec<Pair<F>>>) -> ControlFlow<()> {
        if self.found.is_empty() { ControlFlow::Continue(()) } else { sink(std::mem::take(&mut self.found)) }
    }
}
