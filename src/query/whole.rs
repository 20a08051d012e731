//! All runs of a database taken together: rows in order, pairs, and an order over the distinct
//! fingerprints.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::clusters::index_in;
use super::join::{Groups, Join, Pair};
use super::lists::join_sorted;
use super::prepare::Searchable;
use crate::cast::to_u32;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::segment::MAX_ENTRIES;
use crate::kernel::Kernel;
use crate::layout::Table;
use crate::layout::cost::Strategy;
use crate::layout::plan::Plan;
use crate::options::{Options, Stage};
use crate::segment::{Row, RowCursor, Run};

/// The runs of a snapshot.
pub(crate) struct Whole<'a, F> {
    runs: &'a [Searchable<F>],
    kernel: Kernel,
    options: &'a Options,
}

impl<'a, F: Fingerprint> Whole<'a, F> {
    pub(crate) fn new(runs: &'a [Searchable<F>], kernel: Kernel, options: &'a Options) -> Self {
        Self { runs, kernel, options }
    }

    /// Visits every row once, by (fingerprint, id).
    pub(crate) fn rows(&self, mut visit: impl FnMut(Row<F>) -> Result<()>) -> Result<()> {
        let mut heads = self.runs.iter().map(|run| Head::new(&run.run)).collect::<Result<Vec<_>>>()?;
        loop {
            let Some(least) = heads.iter().filter_map(Head::row).min() else { return Ok(()) };
            visit(least)?;
            for head in &mut heads {
                if head.row() == Some(least) {
                    head.advance()?;
                }
            }
        }
    }

    /// All pairs of distinct fingerprints within `k` bits.
    pub(crate) fn pairs(&self, k: u32, visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>) -> Result<()> {
        let Some(largest) = self.runs.iter().max_by_key(|run| run.run.record.entries) else { return Ok(()) };
        let same = |run: &Searchable<F>| run.run.record.layout == largest.run.record.layout;
        match &largest.at(k).choice.strategy {
            Strategy::Probe(plan) if self.runs.iter().all(same) => {
                self.pairs_by_tables(k, plan, largest, visit)
            }
            _ => join_sorted(&self.distinct()?, k, self.options.threads, visit),
        }
    }

    /// Joins table by table. All runs have the layout of `largest`.
    fn pairs_by_tables(
        &self,
        k: u32,
        plan: &Plan,
        largest: &Searchable<F>,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
    ) -> Result<()> {
        let tables: Vec<Table<F>> =
            largest.run.segments.iter().map(|segment| segment.table.clone()).collect();
        let entries: u64 = self.runs.iter().map(|run| run.run.record.entries).sum();
        let (done, total) = (AtomicU64::new(0), entries * plan.used().count() as u64);
        let tick = |more: u64| {
            let done = done.fetch_add(more, Ordering::Relaxed) + more;
            self.options.report(Stage::Joining, done, Some(total))
        };
        let (kernel, threads) = (self.kernel, self.options.threads);
        let join = Join { kernel, threads, k, plan, tables: &tables, tick: &tick };
        for (table, _) in plan.used() {
            let lead = tables[table].lead_bits;
            let shortest =
                self.runs.iter().map(|run| run.run.segments[table].directory_bits()).min().unwrap_or(0);
            join.run(table, &RunGroups { runs: self.runs, table }, lead.min(shortest), visit)?;
        }
        Ok(())
    }

    /// All distinct fingerprints in ascending order, in memory.
    fn distinct(&self) -> Result<Vec<F>> {
        let mut values = Vec::new();
        for run in self.runs {
            let mut cursor = run.run.natural().cursor();
            let mut block = Vec::new();
            while cursor.next_block(&mut block)? {
                values.extend_from_slice(&block);
            }
        }
        if self.runs.len() > 1 {
            values.sort_unstable();
            values.dedup();
        }
        Ok(values)
    }

    /// Numbers the distinct fingerprints in ascending order.
    pub(crate) fn order(&self) -> Result<Order<'a, F>> {
        match self.runs {
            [] => Ok(Order::Values(Vec::new())),
            [only] => Ok(Order::Entries(&only.run)),
            _ => {
                let values = self.distinct()?;
                if values.len() as u64 > MAX_ENTRIES {
                    return Err(Error::Limit("clusters of at most 2^32 - 1 distinct fingerprints"));
                }
                Ok(Order::Values(values))
            }
        }
    }
}

/// The next row of a run.
struct Head<'a, F> {
    cursor: RowCursor<'a, F>,
    block: Vec<Row<F>>,
    at: usize,
}

impl<'a, F: Fingerprint> Head<'a, F> {
    fn new(run: &'a Run<F>) -> Result<Self> {
        let mut head = Self { cursor: run.row_cursor(), block: Vec::new(), at: 0 };
        head.cursor.next_block(&mut head.block)?;
        Ok(head)
    }

    fn row(&self) -> Option<Row<F>> {
        self.block.get(self.at).copied()
    }

    fn advance(&mut self) -> Result<()> {
        self.at += 1;
        if self.at == self.block.len() {
            self.cursor.next_block(&mut self.block)?;
            self.at = 0;
        }
        Ok(())
    }
}

/// One table of all runs, merged group by group.
struct RunGroups<'a, F> {
    runs: &'a [Searchable<F>],
    table: usize,
}

impl<F: Fingerprint> Groups<F> for RunGroups<'_, F> {
    fn len(&self) -> u64 {
        self.runs.iter().map(|run| run.run.record.entries).sum()
    }

    fn will_need(&self, prefixes: &Range<usize>, bits: u32) -> Result<()> {
        self.runs.iter().try_for_each(|run| {
            let segment = &run.run.segments[self.table];
            let below = segment.directory_bits() - bits;
            segment.will_need_cells(prefixes.start << below, prefixes.len() << below)
        })
    }

    fn read(&self, prefix: usize, bits: u32, out: &mut Vec<F>) -> Result<()> {
        for run in self.runs {
            let segment = &run.run.segments[self.table];
            let below = segment.directory_bits() - bits;
            segment.read_cells(prefix << below, 1 << below, out)?;
        }
        if self.runs.len() > 1 {
            out.sort_unstable();
            out.dedup();
        }
        Ok(())
    }
}

/// Numbers for the distinct fingerprints of a database, ascending: the entries of the only run, or
/// a merged list where there are several.
pub(crate) enum Order<'a, F> {
    Entries(&'a Run<F>),
    Values(Vec<F>),
}

impl<F: Fingerprint> Order<'_, F> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Entries(run) => run.natural().entries(),
            Self::Values(values) => values.len(),
        }
    }

    /// The number of a stored fingerprint.
    pub(crate) fn index_of(&self, value: F) -> Result<u32> {
        match self {
            Self::Entries(run) => Ok(to_u32(run.natural().find(value)?.unwrap_or_default())),
            Self::Values(values) => Ok(index_in(values, value)),
        }
    }

    pub(crate) fn value_at(&self, index: usize) -> Result<F> {
        match self {
            Self::Entries(run) => run.natural().at(index),
            Self::Values(values) => Ok(values[index]),
        }
    }

    /// Whether a fingerprint stands for two rows or more.
    pub(crate) fn has_several_ids(&self, index: usize, whole: &Whole<'_, F>) -> Result<bool> {
        match self {
            Self::Entries(run) => Ok(run.rows.rows_of(index)?.len() > 1),
            Self::Values(values) => {
                let mut ids = Vec::new();
                whole.runs.iter().try_for_each(|run| run.run.ids_of(values[index], &mut ids))?;
                Ok(ids.iter().any(|&id| id != ids[0]))
            }
        }
    }
}
