//! All runs of a snapshot merged into one view: rows in order, and pairs.

use std::ops::Range;

use super::join::{Groups, Join, Pair, Wanted};
use super::lists::{Near, join_sorted};
use super::prepare::Searchable;
use super::view::View;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint, Row};
use crate::kernel::Kernel;
use crate::layout::Table;
use crate::layout::cost::Strategy;
use crate::layout::plan::Plan;
use crate::options::Options;
use crate::progress::Stage;
use crate::run::{BlockRead, RowCursor, Run};
use crate::util::cast::to_usize;

/// Runs of another layout than the largest run are joined with it if they have few fingerprints in all:
/// one for so many of its own.
const ADDED_SHARE: u64 = 4;

/// The runs of a snapshot.
pub(crate) struct MergedView<'a, F> {
    pub(super) view: &'a View<F>,
    kernel: Kernel,
    options: &'a Options,
}

impl<'a, F: Fingerprint> MergedView<'a, F> {
    pub(crate) fn new(view: &'a View<F>, kernel: Kernel, options: &'a Options) -> Self {
        Self { view, kernel, options }
    }

    /// Every row once, by (fingerprint, id).
    pub(crate) fn rows(&self) -> Result<Rows<F>> {
        let view = self.view.clone();
        let heads =
            (0..view.searchables().len()).map(|index| Head::new(&view, index)).collect::<Result<_>>()?;
        Ok(Rows { view, heads, failed: None })
    }

    /// The pairs of distinct fingerprints within `k` bits.
    pub(crate) fn pairs(
        &self,
        k: Distance,
        wanted: Wanted,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
    ) -> Result<()> {
        let runs = || self.view.searchables().iter().filter(|run| run.run.record.entries > 0);
        let Some(largest) = runs().max_by_key(|run| run.run.record.entries) else { return Ok(()) };
        let others =
            runs().filter(|run| !largest.has_layout_of(run)).map(|run| run.run.record.entries).sum::<u64>();
        match &largest.at(k).choice.strategy {
            Strategy::Probe(plan) if others * ADDED_SHARE <= largest.run.record.entries => {
                self.pairs_by_tables(k, wanted, plan, largest, visit)
            }
            _ => join_sorted(&self.distinct()?, Near::from(k.bits()), wanted, self.options, visit),
        }
    }

    /// Joins table by table. The fingerprints of runs with another layout than `largest` has are
    /// held in memory.
    fn pairs_by_tables(
        &self,
        k: Distance,
        wanted: Wanted,
        plan: &Plan,
        largest: &Searchable<F>,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
    ) -> Result<()> {
        let tables: Vec<Table<F>> =
            largest.run.segments.iter().map(|segment| segment.table.clone()).collect();
        let not_empty = self.view.searchables().iter().filter(|run| run.run.record.entries > 0);
        let (runs, others): (Vec<_>, Vec<_>) = not_empty.partition(|run| largest.has_layout_of(run));
        let runs: Vec<&Run<F>> = runs.into_iter().map(|run| &run.run).collect();
        let (added, dead) = (values_of(others.iter().map(|run| &run.run))?, self.view.dead()?);
        let entries = runs.iter().map(|run| run.record.entries).sum::<u64>() + added.len() as u64;
        let progress = self.options.counter(Stage::Joining, entries * plan.used().count() as u64);
        let (kernel, threads) = (self.kernel, self.options.threads);
        let join = Join {
            kernel,
            threads,
            k: k.bits(),
            wanted,
            metric: largest.metric,
            plan,
            tables: &tables,
            progress: &progress,
        };
        for (table, _) in plan.used() {
            let prefix = tables[table].prefix_bits;
            let shortest = runs.iter().map(|run| run.segments[table].directory_bits()).min().unwrap_or(0);
            let permuted = |natural: &[F]| {
                let mut values: Vec<F> = natural.iter().map(|&value| tables[table].permute(value)).collect();
                values.sort_unstable();
                values
            };
            let (added, dead) = (permuted(&added), permuted(&dead));
            join.run(table, &RunGroups { runs: &runs, table, added, dead }, prefix.min(shortest), visit)?;
        }
        Ok(())
    }

    /// All distinct fingerprints that have a row, in ascending order, in memory.
    pub(super) fn distinct(&self) -> Result<Vec<F>> {
        let mut values = values_of(self.view.runs())?;
        if self.view.searchables().len() > 1 {
            values.sort_unstable();
            values.dedup();
            remove_sorted(&mut values, 0, &self.view.dead()?);
        }
        Ok(values)
    }
}

/// The fingerprints of runs, one run after the other, each in natural order.
fn values_of<'a, F: Fingerprint>(runs: impl Iterator<Item = &'a Run<F>>) -> Result<Vec<F>> {
    let (mut values, mut block) = (Vec::new(), Vec::new());
    for run in runs {
        let mut cursor = run.natural().cursor();
        while cursor.next_block(run.natural(), &mut block)? == BlockRead::Filled {
            values.extend_from_slice(&block);
        }
    }
    Ok(values)
}

/// Removes ascending values from `values[start..]`, which ascends too.
fn remove_sorted<F: Fingerprint>(values: &mut Vec<F>, start: usize, removed: &[F]) {
    let mut removed = removed.iter().copied().peekable();
    let mut kept = start;
    for at in start..values.len() {
        let value = values[at];
        while removed.next_if(|&gone| gone < value).is_some() {}
        if removed.peek() != Some(&value) {
            values[kept] = value;
            kept += 1;
        }
    }
    values.truncate(kept);
}

/// Every row, by (fingerprint, id). Owns what it reads. After an error the iterator ends.
pub(crate) struct Rows<F> {
    view: View<F>,
    heads: Vec<Head<F>>,
    /// Returned after the row that was read before it.
    failed: Option<Error>,
}

impl<F: Fingerprint> Iterator for Rows<F> {
    type Item = Result<Row<F>>;

    #[inline]
    fn next(&mut self) -> Option<Result<Row<F>>> {
        if let Some(error) = self.failed.take() {
            self.heads.clear();
            return Some(Err(error));
        }
        let least = self.heads.iter().filter_map(Head::row).min()?;
        for head in self.heads.iter_mut().filter(|head| head.row() == Some(least)) {
            self.failed = head.advance(&self.view).err().or(self.failed.take());
        }
        Some(Ok(least))
    }
}

/// The next live row of a run.
struct Head<F> {
    /// The number of the run.
    index: usize,
    cursor: RowCursor<F>,
    block: Vec<Row<F>>,
    at: usize,
}

impl<F: Fingerprint> Head<F> {
    fn new(view: &View<F>, index: usize) -> Result<Self> {
        let cursor = view.searchables()[index].run.row_cursor();
        let mut head = Self { index, cursor, block: Vec::new(), at: 0 };
        head.refill(view)?;
        Ok(head)
    }

    /// Reads blocks until one has a live row, or to the end.
    fn refill(&mut self, view: &View<F>) -> Result<()> {
        let (run, newer) = (&view.searchables()[self.index].run, view.newer(self.index));
        self.at = 0;
        while self.cursor.next_block(run, &mut self.block)? == BlockRead::Filled {
            newer.retain_behind(0, &mut self.block, |row| row.id)?;
            if !self.block.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn row(&self) -> Option<Row<F>> {
        self.block.get(self.at).copied()
    }

    fn advance(&mut self, view: &View<F>) -> Result<()> {
        self.at += 1;
        if self.at == self.block.len() { self.refill(view) } else { Ok(()) }
    }
}

/// One table of all runs, merged group by group.
struct RunGroups<'a, F> {
    runs: &'a [&'a Run<F>],
    table: usize,
    /// Fingerprints of other runs, in the table's order.
    added: Vec<F>,
    /// Fingerprints without a row, in the table's order.
    dead: Vec<F>,
}

impl<F: Fingerprint> Groups<F> for RunGroups<'_, F> {
    fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.record.entries).sum::<u64>() + self.added.len() as u64
    }

    fn will_need(&self, prefixes: &Range<usize>, bits: u32) -> Result<()> {
        self.runs.iter().try_for_each(|run| {
            let segment = &run.segments[self.table];
            let below = segment.directory_bits() - bits;
            segment.will_need_buckets(prefixes.start << below, prefixes.len() << below)
        })
    }

    fn read(&self, prefix: usize, bits: u32, out: &mut Vec<F>) -> Result<()> {
        let start = out.len();
        for run in self.runs {
            let segment = &run.segments[self.table];
            let below = segment.directory_bits() - bits;
            segment.read_buckets(prefix << below, 1 << below, out)?;
        }
        let from = self.added.partition_point(|value| to_usize(value.bits(0, bits)) < prefix);
        let added = self.added[from..].iter().take_while(|value| to_usize(value.bits(0, bits)) == prefix);
        out.extend(added);
        if self.runs.len() > 1 || !self.added.is_empty() {
            // The stable sort merges a few ascending sequences.
            out.sort();
            out.dedup();
        }
        if let (false, Some(&first)) = (self.dead.is_empty(), out.get(start)) {
            let from = self.dead.partition_point(|&gone| gone < first);
            remove_sorted(out, start, &self.dead[from..]);
        }
        Ok(())
    }
}
