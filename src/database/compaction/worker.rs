//! Work on runs: a merge or a flush, on a separate thread or on the calling one.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::build::{Omitted, Target, merge};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::header::Owner;
use crate::format::manifest::{Manifest, RunRecord};
use crate::layout::Layout;
use crate::options::Options;
use crate::progress::{Progress, Stage};
use crate::query::prepare::Searchable;
use crate::run::Run;
use crate::storage::Storage;

/// A run that was made, and how long that took. `None` if it would have no rows and no tombstones.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) record: Option<RunRecord>,
    pub(crate) took: Duration,
}

/// A finished merge: the replaced runs, and the run that takes their place if any row is left.
#[derive(Debug)]
pub(crate) struct Merged {
    /// Numbers of neighbouring runs, oldest first.
    pub(crate) replaced: Vec<u64>,
    pub(crate) made: Made,
}

/// A planned merge.
pub(crate) struct MergePlan<F> {
    /// Neighbouring runs, oldest first.
    pub(crate) inputs: Vec<Arc<Searchable<F>>>,
    /// What the result lacks.
    pub(crate) omitted: Omitted<F>,
    /// Newer runs whose deletions take effect in the result.
    pub(crate) newer: Vec<Arc<Searchable<F>>>,
    /// Whether there are older runs, for which the result must keep the tombstones.
    pub(crate) has_older: bool,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) owner: Owner,
    /// The layout for a number of entries.
    pub(crate) layout: Box<dyn Fn(u64) -> Result<Layout> + Send>,
}

/// A run that is being made in the background.
#[derive(Debug)]
pub(crate) struct RunJob {
    thread: JoinHandle<Result<Made>>,
    stop: Arc<AtomicBool>,
}

/// A merge in the background.
#[derive(Debug)]
pub(crate) struct MergeJob {
    pub(crate) job: RunJob,
    pub(crate) replaces: Vec<u64>,
}

/// Cancels the work when the flag is set.
struct StopFlag(Arc<AtomicBool>);

impl Progress for StopFlag {
    fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl<F: Fingerprint> MergePlan<F> {
    /// Merges on the calling thread.
    pub(crate) fn run(self, options: &Options) -> Result<Merged> {
        Ok(Merged { replaced: self.replaces(), made: Made::by(|| self.merge(options))? })
    }

    fn merge(&self, options: &Options) -> Result<Option<RunRecord>> {
        let [runs, newer] = [&self.inputs, &self.newer]
            .map(|of| of.iter().map(|searchable| &searchable.run).collect::<Vec<&Run<F>>>());
        let target = Target { storage: &self.storage, options, owner: self.owner };
        merge(target, (&runs, &self.omitted, &newer), self.has_older, &*self.layout)
    }

    fn replaces(&self) -> Vec<u64> {
        self.inputs.iter().map(|searchable| searchable.run.record.run).collect()
    }

    /// Merges on a separate thread. `None` if the system cannot start one.
    pub(crate) fn spawn(self, options: &Options) -> Option<MergeJob> {
        let replaces = self.replaces();
        let work = move |options: &Options| self.merge(options);
        Some(MergeJob { job: RunJob::spawn("nearprint merge", options, work)?, replaces })
    }
}

impl Made {
    /// Makes a run on the calling thread.
    pub(crate) fn by(work: impl FnOnce() -> Result<Option<RunRecord>>) -> Result<Self> {
        let started = Instant::now();
        Ok(Self { record: work()?, took: started.elapsed() })
    }

    /// The rows of the run, and the bytes of its files.
    pub(crate) fn size(&self) -> (u64, u64) {
        self.record.as_ref().map_or((0, 0), |record| (record.rows, record.len_bytes()))
    }
}

impl Merged {
    /// Names the result in a manifest in place of the inputs, and returns these. `None` if they have expired.
    pub(crate) fn replace_in(&self, next: &mut Manifest) -> Option<Vec<RunRecord>> {
        let start = next.runs.iter().position(|run| Some(&run.run) == self.replaced.first())?;
        let range = start..start + self.replaced.len();
        debug_assert!(
            next.runs[range.clone()].iter().map(|run| &run.run).eq(&self.replaced),
            "merged runs stay neighbours"
        );
        Some(next.runs.splice(range, self.made.record.clone()).collect())
    }
}

impl RunJob {
    /// Works on a separate thread, with half of the threads of the options. `None` if the system
    /// cannot start one.
    pub(crate) fn spawn(
        name: &str,
        options: &Options,
        work: impl FnOnce(&Options) -> Result<Option<RunRecord>> + Send + 'static,
    ) -> Option<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (options.threads / 2).max(1);
        let options = options.clone().threads(threads).progress(Arc::new(StopFlag(stop.clone())));
        let thread =
            std::thread::Builder::new().name(name.into()).spawn(move || Made::by(|| work(&options))).ok()?;
        Some(Self { thread, stop })
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the run.
    pub(crate) fn wait(self) -> Result<Made> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Cancels the work and waits until it has removed its files. Returns the run if it was made nevertheless.
    /// Does not panic where the work has: a writer that is dropped may already unwind.
    pub(crate) fn abandon(self) -> Option<RunRecord> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().ok()?.ok()?.record
    }
}

impl MergeJob {
    /// Waits for the result.
    pub(crate) fn wait(self) -> Result<Merged> {
        Ok(Merged { made: self.job.wait()?, replaced: self.replaces })
    }
}
