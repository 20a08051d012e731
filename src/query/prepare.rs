//! Plans, computed once per run and k.

use std::sync::OnceLock;

use super::occurring::OccurringBits;
use crate::fingerprint::{Distance, Fingerprint};
use crate::layout::cost::{Choice, Model, Strategy, TableShape, choose};
use crate::layout::plan::Plan;
use crate::layout::{Layout, Metric};
use crate::run::Run;

/// A run with its plans for every k used so far.
#[derive(Debug)]
pub(crate) struct Searchable<F> {
    pub(crate) run: Run<F>,
    pub(crate) metric: Metric<F>,
    /// For sweeps.
    pub(super) occurring: OccurringBits,
    by_k: Box<[OnceLock<Prepared>]>,
}

/// How a run answers queries at one k.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) k: u32,
    pub(crate) choice: Choice,
    pub(crate) shapes: Vec<TableShape>,
    pub(crate) model: Model,
    /// Whether some stored fingerprints have far larger buckets than random ones. A query then
    /// looks at its own buckets before it chooses a plan.
    pub(crate) skewed: bool,
    /// For each table and radius, the buckets to probe.
    masks: Vec<Box<[OnceLock<Vec<BucketMask>>]>>,
}

/// A bucket to probe, relative to the query's own bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketMask {
    /// The bits in which it differs.
    pub(crate) bits: u32,
    /// The number of these bits. Counted once: without POPCNT that takes as long as a probe's other
    /// arithmetic.
    pub(crate) flips: u32,
}

/// A run is skewed if its typical bucket exceeds the mean by this factor.
const SKEW: f64 = 3.0;

impl<F: Fingerprint> Searchable<F> {
    pub(crate) fn new(run: Run<F>) -> Self {
        let by_k = (0..=F::BITS).map(|_| OnceLock::new()).collect();
        let occurring = OccurringBits::new(run.segments.len());
        Self { metric: run.record.layout.metric(), run, occurring, by_k }
    }

    /// Whether both runs have the same tables.
    pub(crate) fn has_layout_of(&self, other: &Self) -> bool {
        self.run.record.layout == other.run.record.layout
    }

    /// The preparation for k.
    #[inline]
    pub(crate) fn at(&self, k: Distance) -> &Prepared {
        let prepared = &self.by_k[k.bits() as usize];
        match prepared.get() {
            Some(prepared) => prepared,
            None => prepared.get_or_init(|| self.prepare(k)),
        }
    }

    #[cold]
    fn prepare(&self, k: Distance) -> Prepared {
        let shapes = self.run.segments.iter().map(|segment| segment.shape()).collect();
        Prepared::new(&self.run.record.layout, shapes, self.run.record.entries, k)
    }
}

impl Prepared {
    /// Plans for tables of a layout that hold `entries` fingerprints.
    pub(crate) fn new(layout: &Layout, shapes: Vec<TableShape>, entries: u64, k: Distance) -> Self {
        let k = k.bits();
        let choice = choose(layout, &shapes, entries, k);
        let model = Model::new(layout.width(), entries, k);
        let has_other_plans = !layout.is_bands() && layout.disjoint(0..shapes.len());
        let skewed = has_other_plans
            && shapes.iter().any(|shape| shape.typical_bucket > SKEW * (shape.mean_bucket + 16.0));
        let radii = k as usize + 1;
        let masks = shapes.iter().map(|_| (0..radii).map(|_| OnceLock::new()).collect()).collect();
        Self { k, choice, shapes, model, skewed, masks }
    }

    /// Whether every query reads the whole run.
    pub(crate) fn scans(&self) -> bool {
        self.choice.strategy == Strategy::Scan
    }

    /// The buckets that a table probes at a radius, nearest first.
    #[inline]
    pub(crate) fn masks(&self, table: usize, radius: u32) -> &[BucketMask] {
        let radius = radius.min(self.k);
        let masks = &self.masks[table][radius as usize];
        match masks.get() {
            Some(masks) => masks,
            None => masks.get_or_init(|| bucket_masks(&self.shapes[table], radius, self.k)),
        }
    }

    /// The tables that a plan uses, each with its radius and masks.
    pub(crate) fn probes<'a>(
        &'a self,
        plan: &'a Plan,
    ) -> impl Iterator<Item = (usize, u32, &'a [BucketMask])> {
        plan.used().map(|(table, radius)| (table, radius, self.masks(table, radius)))
    }
}

/// All masks with at most `radius` ones in the probed bits and at most k in all. Where the
/// directory has more bits than the prefix, a prefix has many neighbouring buckets.
fn bucket_masks(shape: &TableShape, radius: u32, k: u32) -> Vec<BucketMask> {
    let below = shape.directory_bits - shape.probe_bits();
    let mut masks = Vec::new();
    for prefix in masks_within(shape.probe_bits(), radius) {
        let around = (0..1u32 << below).map(|low| prefix << below | low);
        let counted = around.map(|bits| BucketMask { bits, flips: bits.count_ones() });
        masks.extend(counted.filter(|mask| mask.flips <= k));
    }
    masks
}

/// All `bits`-bit values with at most `radius` ones, fewest ones first.
pub(crate) fn masks_within(bits: u32, radius: u32) -> Vec<u32> {
    let mut masks = vec![0u32];
    let mut from = 0;
    for _ in 0..radius.min(bits) {
        let to = masks.len();
        for index in from..to {
            let mask = masks[index];
            // Only bits above the highest one, so that every mask is made once.
            masks.extend((u32::BITS - mask.leading_zeros()..bits).map(|bit| mask | 1 << bit));
        }
        from = to;
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::cost::ball;

    #[test]
    fn masks_are_all_there_once() {
        for (bits, radius) in [(0, 0), (0, 3), (1, 1), (5, 2), (8, 8), (12, 3)] {
            let mut masks = masks_within(bits, radius);
            assert_eq!(masks.len() as f64, ball(bits, radius));
            assert!(masks.is_sorted_by_key(|mask| mask.count_ones()));
            assert!(masks.iter().all(|mask| mask.count_ones() <= radius && u64::from(*mask) < 1 << bits));
            masks.sort_unstable();
            masks.dedup();
            assert_eq!(masks.len() as f64, ball(bits, radius));
        }
    }

    #[test]
    fn a_directory_longer_than_the_prefix_is_probed_over_all_its_buckets() {
        let shape = TableShape::uniform(4, 8, 1000);
        assert_eq!(bucket_masks(&shape, 0, 64).len(), 16);
        assert_eq!(bucket_masks(&shape, 1, 64).len(), 5 * 16);
        assert_eq!(bucket_masks(&shape, 1, 1).len(), 1 + 4 + 4);
    }
}
