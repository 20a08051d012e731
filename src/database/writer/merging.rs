//! Merging: what the policy asks for, in the background, taken over by the writer.

use std::ops::Range;
use std::sync::Arc;

use super::Writer;
use crate::build::remove_run;
use crate::database::compaction::policy::{self, RunSize};
use crate::database::compaction::{MergeJob, MergePlan, Merged};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::RunRecord;
use crate::layout::cost::typical;
use crate::layout::{Layout, LayoutChoice};
use crate::query::prepare::Searchable;
use crate::query::view::View;
use crate::run::Run;

/// While old runs are being merged, the few young ones that come meanwhile may be, too.
const MOST_MERGES: usize = 2;

impl<F: Fingerprint> Writer<F> {
    /// Starts merges where the policy asks for them.
    pub(crate) fn merge_if_due(&mut self) -> Result<()> {
        while self.merges.len() < MOST_MERGES {
            let Some(range) = self.due_merge() else { return Ok(()) };
            let plan = self.plan(range);
            if self.options.background {
                self.merges.push(plan.spawn(&self.options)?);
            } else {
                let merged = plan.run(&self.options.clone().without_progress());
                if !self.take_over(merged)? {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// What to merge next of the runs that are younger than all that are being merged.
    fn due_merge(&self) -> Option<Range<usize>> {
        let size = |record: &RunRecord| RunSize {
            entries: record.entries,
            rows: record.rows,
            tombstones: record.tombstones,
        };
        let last = self.merges.last().and_then(|job| job.replaces.last());
        let young = last.and_then(|last| self.manifest.runs.iter().position(|record| record.run == *last));
        let start = young.map_or(0, |position| position + 1);
        let sizes: Vec<RunSize> = self.manifest.runs[start..].iter().map(size).collect();
        let layout = &self.largest_run()?.layout;
        let cost = |entries| typical(layout, entries, self.options.k);
        let due = policy::pick(&sizes, start > 0, &cost)?;
        Some(start + due.start..start + due.end)
    }

    fn largest_run(&self) -> Option<&RunRecord> {
        self.manifest.runs.iter().max_by_key(|record| record.entries)
    }

    /// Whether there is nothing that a merge of everything would change.
    pub(super) fn is_compact(&self) -> Result<bool> {
        Ok(match &self.manifest.runs[..] {
            [] => true,
            [only] => only.tombstones == 0 && only.layout == self.layout_of(only.entries, true)?,
            _ => false,
        })
    }

    /// The layout for a run of so many entries. Runs beside a larger one take its layout, so that they
    /// can be joined and merged table by table.
    pub(super) fn layout_of(&self, entries: u64, holds_largest: bool) -> Result<Layout> {
        match self.largest_run() {
            Some(largest) if !holds_largest && largest.entries >= entries => Ok(largest.layout.clone()),
            _ => choose_layout::<F>(self.options.layout, self.options.k, entries),
        }
    }

    pub(super) fn plan(&mut self, range: Range<usize>) -> MergePlan<F> {
        let largest = self.largest_run().map(|record| record.run);
        let holds_largest =
            self.manifest.runs[range.clone()].iter().any(|record| Some(record.run) == largest);
        let beside = self.largest_run().filter(|_| !holds_largest).map(|record| record.layout.clone());
        let (choice, k) = (self.options.layout, self.options.k);
        let run = self.manifest.take_run_number();
        MergePlan {
            has_older: range.start > 0,
            inputs: self.view.searchables()[range].to_vec(),
            storage: self.storage(),
            database_id: self.manifest.database_id,
            run,
            layout: Box::new(move |entries| match &beside {
                Some(layout) => Ok(layout.clone()),
                None => choose_layout::<F>(choice, k, entries),
            }),
        }
    }

    /// Takes over the results of merges that have ended.
    pub(super) fn take_finished_merge(&mut self) -> Result<()> {
        while let Some(at) = self.merges.iter().position(MergeJob::is_finished) {
            let merged = self.merges.remove(at).wait();
            if !self.take_over(merged)? {
                return Ok(());
            }
            self.merge_if_due()?;
        }
        Ok(())
    }

    /// Waits for the merge of the youngest runs, the smallest, and takes over its result. Tells whether it
    /// has found room.
    pub(super) fn wait_for_merge(&mut self) -> Result<bool> {
        match self.merges.pop() {
            Some(job) => self.take_over(job.wait()),
            None => Ok(true),
        }
    }

    /// Takes over the result of a merge that the policy asked for, and tells whether it has found room.
    ///
    /// A full disk is no reason to refuse rows for which there is room, nor to call a commit or a close
    /// failed: the database is as it was, only slower than it could be. The next flush tries again.
    fn take_over(&mut self, merged: Result<Merged>) -> Result<bool> {
        match merged.and_then(|merged| self.adopt_merge(merged)) {
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Puts a merged run in the place of its inputs.
    pub(super) fn adopt_merge(&mut self, merged: Merged) -> Result<()> {
        let Merged { replaced, record } = merged;
        let runs = &self.manifest.runs;
        let start = runs.iter().position(|run| Some(&run.run) == replaced.first()).unwrap_or(runs.len());
        let range = start..start + replaced.len();
        debug_assert!(
            runs[range.clone()].iter().map(|run| run.run).eq(replaced),
            "merged runs stay neighbours"
        );
        let adopted = self.replace_runs(range, record.as_ref());
        if let (Err(_), Some(record)) = (&adopted, &record) {
            self.forget_run(record.run, record.segments.len());
        }
        adopted
    }

    fn replace_runs(&mut self, range: Range<usize>, record: Option<&RunRecord>) -> Result<()> {
        let mut next = self.manifest.clone();
        let opened = match record {
            Some(record) => Some(Arc::new(Searchable::new(Run::open(&self.storage, &next, record)?))),
            None => None,
        };
        let inputs: Vec<RunRecord> = next.runs.splice(range.clone(), record.cloned()).collect();
        self.replace_manifest(next)?;
        let mut runs = self.view.searchables().to_vec();
        runs.splice(range, opened);
        self.view = View::new(runs);
        inputs.iter().for_each(|input| remove_run(&self.storage, input.run, input.segments.len()));
        Ok(())
    }

    /// Ends merges that are not wanted any more.
    pub(super) fn discard_merges(&mut self) {
        let jobs = std::mem::take(&mut self.merges);
        for record in jobs.into_iter().filter_map(|job| job.abandon().ok().flatten()) {
            self.forget_run(record.run, record.segments.len());
        }
    }
}

fn choose_layout<F: Fingerprint>(choice: LayoutChoice, k: u32, entries: u64) -> Result<Layout> {
    choice.layout(F::BITS, k, entries)
}
