//! Merges that the policy requests: they run in the background, and the writer installs their
//! results.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::Writer;
use crate::build::Omitted;
use crate::database::compaction::{MergePlan, Merged, due_merge, periods};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::RunRecord;
use crate::layout::Layout;
use crate::query::prepare::Searchable;

/// Young runs may be merged while a merge of old runs is running.
const MOST_MERGES: usize = 2;
/// Number of runs from which a flush waits for a running merge.
const MOST_RUNS: usize = 24;

impl<F: Fingerprint> Writer<F> {
    /// Starts the merges that the policy requests.
    pub(crate) fn merge_if_due(&mut self) -> Result<()> {
        while self.merges.len() < MOST_MERGES {
            let Some(range) = self.due_merge().filter(|_| self.options.merges) else { return Ok(()) };
            if self.options.background_merges
                && let Some(job) = self.paced_plan(range.clone())?.spawn(&self.options)
            {
                self.merges.push(job);
                continue;
            }
            let merged = self.paced_plan(range)?.run(&self.options.clone().without_progress());
            if !self.take_over(merged)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits until there are few runs, or nothing merges them.
    pub(super) fn wait_for_few_runs(&mut self) -> Result<()> {
        while self.manifest.runs.len() >= MOST_RUNS && !self.merges.is_empty() {
            self.wait_for_merge()?;
        }
        Ok(())
    }

    /// Runs all due merges that the disk has space for.
    pub(super) fn finish_merges(&mut self) -> Result<()> {
        loop {
            // The next merge may need the room.
            self.finish_removals();
            self.merge_if_due()?;
            if self.merges.is_empty() || !self.wait_for_merge()? {
                return Ok(());
            }
        }
    }

    /// The plan of a merge that the policy requests, beside commits if the options say so, and at their rate.
    fn paced_plan(&mut self, range: Range<usize>) -> Result<MergePlan<F>> {
        let plan = self.plan(range)?;
        Ok(match (self.options.background_merges, self.options.merge_bytes_per_second) {
            (false, 0) => plan,
            (_, rate) => MergePlan { storage: Arc::new(self.storage.beside_commits(rate)), ..plan },
        })
    }

    /// The next merge among the runs that are younger than all running merges.
    fn due_merge(&self) -> Option<Range<usize>> {
        let last = self.merges.last().and_then(|job| job.replaces.last());
        let young = last.and_then(|last| self.manifest.runs.iter().position(|record| record.run == *last));
        due_merge(&self.manifest, young.map_or(0, |position| position + 1))
    }

    /// Writes each run again without its deleted rows, the smallest first, where the disk has room. What is in no run
    /// yet has to be durable.
    ///
    /// A run that has no room may have it after a larger one that is left without rows, so it is tried again.
    pub(super) fn shrink_runs(&mut self) -> Result<()> {
        let mut runs: Vec<(u64, u64)> =
            self.manifest.runs.iter().map(|record| (record.len_bytes(), record.run)).collect();
        runs.sort_unstable();
        let (options, unflushed) = (self.options.clone(), self.unflushed_runs()?);
        loop {
            let (tried, mut without_room) = (runs.len(), Vec::new());
            for (bytes, run) in runs {
                let Some(at) = self.manifest.runs.iter().position(|record| record.run == run) else {
                    continue;
                };
                let mut plan = self.plan_to_compact(at..at + 1)?;
                plan.newer.extend(unflushed.iter().cloned());
                match plan.run(&options).and_then(|merged| self.install_merge(merged)) {
                    Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => {
                        without_room.push((bytes, run))
                    }
                    other => other?,
                }
                self.finish_removals();
            }
            if without_room.is_empty() || without_room.len() == tried {
                return Ok(());
            }
            runs = without_room;
        }
    }

    /// Runs in memory with what is in no run yet.
    pub(super) fn unflushed_runs(&self) -> Result<Vec<Arc<Searchable<F>>>> {
        let snapshot = self.snapshot_of_all()?;
        let is_new = |of: &&Arc<Searchable<F>>| {
            self.manifest.runs.iter().all(|record| record.run != of.run.record.run)
        };
        Ok(snapshot.view().searchables().iter().filter(is_new).cloned().collect())
    }

    fn largest_run(&self) -> Option<&RunRecord> {
        self.manifest.runs.iter().max_by_key(|record| record.entries)
    }

    /// The first period that a merge of its runs would change.
    pub(super) fn next_to_compact(&self) -> Result<Option<Range<usize>>> {
        let largest = self.largest_run().map(|record| record.run);
        for period in periods(&self.manifest.runs) {
            let is_compact = match &self.manifest.runs[period.clone()] {
                [only] => {
                    let layout = self.layout_of(only.entries, Some(only.run) == largest)?;
                    // Older periods may have rows that this one deletes.
                    (only.tombstones == 0 || period.start > 0)
                        && only.layout == layout
                        && !self.view.hides_rows_of(period.start)?
                }
                _ => false,
            };
            if !is_compact {
                return Ok(Some(period));
            }
        }
        Ok(None)
    }

    /// The layout for a run of so many entries. Runs beside a larger one get its layout, so that
    /// both can be joined and merged table by table.
    fn layout_of(&self, entries: u64, holds_largest: bool) -> Result<Layout> {
        if holds_largest { self.manifest.layout_for(entries) } else { self.layout_of_new_run()(entries) }
    }

    /// The same for a run that is not made yet.
    pub(super) fn layout_of_new_run(&self) -> impl Fn(u64) -> Result<Layout> + Send + use<F> {
        let largest = self.largest_run().map(|largest| (largest.entries, largest.layout.clone()));
        let (choice, k) = (self.manifest.layout, self.manifest.k);
        move |entries| match &largest {
            Some((largest, layout)) if *largest >= entries => Ok(layout.clone()),
            _ => choice.of_run(F::BITS, k, entries),
        }
    }

    pub(super) fn plan(&mut self, range: Range<usize>) -> Result<MergePlan<F>> {
        let largest = self.largest_run().map(|record| record.run);
        let holds_largest =
            self.manifest.runs[range.clone()].iter().any(|record| Some(record.run) == largest);
        let beside = self.largest_run().filter(|_| !holds_largest).map(|record| record.layout.clone());
        let (choice, k) = (self.manifest.layout, self.manifest.k);
        let run = self.take_run_number();
        let expires = self.manifest.runs.get(range.start).and_then(|record| record.expires);
        Ok(MergePlan {
            has_older: range.start > 0,
            inputs: self.view.searchables()[range].to_vec(),
            omitted: Omitted::default(),
            newer: Vec::new(),
            storage: self.storage(),
            owner: self.manifest.new_owner(run, expires)?,
            layout: Box::new(move |entries| match &beside {
                Some(layout) => Ok(layout.clone()),
                None => choice.of_run(F::BITS, k, entries),
            }),
        })
    }

    /// A merge whose result also lacks the rows that newer runs delete.
    pub(super) fn plan_to_compact(&mut self, range: Range<usize>) -> Result<MergePlan<F>> {
        let newer = self.view.searchables()[range.end..].to_vec();
        Ok(MergePlan { newer, ..self.plan(range)? })
    }

    /// Installs the results of finished merges.
    pub(super) fn take_finished_merge(&mut self) -> Result<()> {
        while let Some(at) = self.merges.iter().position(|merge| merge.job.is_finished()) {
            let merged = self.merges.remove(at).wait();
            if !self.take_over(merged)? {
                return Ok(());
            }
            self.merge_if_due()?;
        }
        Ok(())
    }

    /// Waits for the merge of the youngest runs, which is the smallest, and installs its result.
    pub(super) fn wait_for_merge(&mut self) -> Result<bool> {
        let Some(job) = self.merges.pop() else { return Ok(true) };
        let merged = self.timed(!job.job.is_finished(), || job.wait());
        self.take_over(merged)
    }

    /// Does what may have to wait for a thread.
    pub(super) fn timed<T>(&self, waits: bool, wait: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = wait();
        if waits {
            self.options.listener.tell(&Event::Stall { took: started.elapsed() });
        }
        result
    }

    /// Installs the result of a merge that the policy requested.
    ///
    /// A merge that runs out of disk space does not fail the commit or close that waits for it: the
    /// database is unchanged, only slower than it could be. The next flush tries again.
    fn take_over(&mut self, merged: Result<Merged>) -> Result<bool> {
        match merged.and_then(|merged| self.install_merge(merged)) {
            Err(Error::DiskFull { .. }) if !self.storage.is_poisoned() => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// Replaces the inputs of a merge by its result.
    pub(super) fn install_merge(&mut self, merged: Merged) -> Result<()> {
        let mut next = self.next_manifest();
        let Some(inputs) = merged.replace_in(&mut next) else {
            // They have expired.
            self.forget_made(&merged.made);
            return Ok(());
        };
        let held = self.held(&inputs);
        self.publish(next).inspect_err(|_| self.forget_made(&merged.made))?;
        self.remove_runs(&inputs, held);
        self.tell_merge(&merged);
        Ok(())
    }

    pub(super) fn tell_merge(&self, merged: &Merged) {
        let ((rows, bytes), took) = (merged.made.size(), merged.made.took);
        self.options.listener.tell(&Event::Merge { runs: merged.replaced.len(), rows, bytes, took });
    }

    /// Cancels running merges.
    pub(super) fn discard_merges(&mut self) {
        let jobs = std::mem::take(&mut self.merges);
        if self.lock.check_process().is_err() {
            // The child of a fork has none of the threads, and must not wait for them.
            std::mem::forget(jobs);
            return;
        }
        for record in jobs.into_iter().filter_map(|merge| merge.job.abandon()) {
            self.forget_run(record.run, record.segments.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::mix64;
    use crate::format::schema::Schema;
    use crate::options::Options;

    /// A writer with a run for each number of rows.
    fn with_runs(home: &tempfile::TempDir, rows_of_runs: &[u64]) -> Writer<u64> {
        let options = Options::new().merges(false).background_merges(false);
        let database = options.create::<u64>(home.path().join("rows.np"), &Schema::new()).unwrap();
        let mut writer = database.writer().unwrap();
        let mut id = 0;
        for &rows in rows_of_runs {
            for _ in 0..rows {
                writer.insert(mix64(id)).unwrap();
                id += 1;
            }
            writer.flush().unwrap();
        }
        writer
    }

    #[test]
    fn a_merge_beside_a_larger_run_gets_its_layout() {
        let home = tempfile::tempdir().unwrap();
        let mut writer = with_runs(&home, &[100_000, 10, 10]);
        let (small, large) =
            (writer.manifest.layout_for(20).unwrap(), writer.manifest.runs[0].layout.clone());
        assert_ne!(small, large, "the layout depends on the rows");
        let layout = |plan: MergePlan<u64>| (plan.layout)(20).unwrap();
        assert_eq!(layout(writer.plan(1..3).unwrap()), large);
        assert_eq!(layout(writer.plan(0..3).unwrap()), small, "as many rows as the merged run has");
        assert_eq!(layout(writer.plan(0..1).unwrap()), small);
    }
}
