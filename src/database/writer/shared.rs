//! One writer for several threads, with one sync for the commits of all of them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::util::process::Process;

/// What makes operations durable, and takes those of one call back.
pub trait Commit {
    /// Makes all operations durable.
    ///
    /// # Errors
    /// As [`Writer::commit`].
    fn commit(&mut self) -> Result<()>;

    /// Begins a call of a thread.
    fn begin_call(&mut self);

    /// Ends the call. Its operations stay.
    fn end_call(&mut self);

    /// Takes back the uncommitted operations since the call began, and no others; all, where none has begun.
    ///
    /// # Errors
    /// As [`Writer::discard`]. After an error the operations are still there.
    fn take_back(&mut self) -> Result<()>;
}

impl<F: Fingerprint> Commit for Writer<F> {
    fn commit(&mut self) -> Result<()> {
        Self::commit(self)
    }

    fn begin_call(&mut self) {
        self.pending.mark();
        self.left_out.iter_mut().for_each(|left_out| left_out.pending.mark());
    }

    fn end_call(&mut self) {
        self.pending.unmark();
        self.left_out.iter_mut().for_each(|left_out| left_out.pending.unmark());
    }

    fn take_back(&mut self) -> Result<()> {
        self.discard()
    }
}

/// A writer that several threads use: *group commit*. Each call returns when its own operations are
/// durable, and one sync serves all calls that arrived in the meantime.
///
/// ```
/// use nearprint::{Database, Insertion, Schema, SharedWriter};
/// # let home = tempfile::tempdir()?;
/// let database = Database::<u64>::create(home.path().join("seen.np"), &Schema::new())?;
/// let shared = SharedWriter::new(database.writer()?);
/// let new: usize = std::thread::scope(|scope| {
///     let thread = || shared.commit_with(|writer| writer.insert_if_new(0x1f3a, 3));
///     let threads: Vec<_> = (0..8).map(|_| scope.spawn(thread)).collect();
///     let outcomes = threads.into_iter().map(|thread| thread.join().unwrap().unwrap());
///     outcomes.filter(|outcome| matches!(outcome, Insertion::Inserted(_))).count()
/// });
/// assert_eq!(new, 1);
/// shared.into_inner().close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A call that fails or panics takes back its own operations, and no others. [`Writer::discard`] in a call
/// does the same. Operations that a call has committed or flushed itself stay.
#[derive(Debug)]
pub struct SharedWriter<W> {
    /// Calls that have arrived.
    arrived: AtomicU64,
    shared: Mutex<Shared<W>>,
    /// A call has ended: its commit served others, or they commit themselves.
    changed: Condvar,
}

#[derive(Debug)]
struct Shared<W> {
    writer: W,
    /// Calls that have begun their operations.
    begun: u64,
    /// Calls whose operations were applied.
    applied: u64,
    /// How many of them are durable.
    durable: u64,
    /// Calls that wait until they are.
    waiting: u64,
    /// Whether somebody has worked with the writer since the last commit, without one.
    is_uncommitted: bool,
    /// How many calls have begun when these are committed. Calls that arrive later are not waited for: if all of
    /// them failed, nobody would commit.
    awaited: u64,
}

impl<W: Commit> SharedWriter<W> {
    /// Takes a writer into shared use.
    pub fn new(writer: W) -> Self {
        let shared = Shared {
            writer,
            begun: 0,
            applied: 0,
            durable: 0,
            waiting: 0,
            is_uncommitted: false,
            awaited: 0,
        };
        Self { arrived: AtomicU64::new(0), shared: Mutex::new(shared), changed: Condvar::new() }
    }

    /// Gives the writer back.
    pub fn into_inner(self) -> W {
        self.shared.into_inner().unwrap_or_else(PoisonError::into_inner).writer
    }

    /// Works with the writer while no other thread does. Nothing is committed: the operations are durable with the
    /// next commit of any thread, or of [`commit_every`](Self::commit_every).
    pub fn with<T>(&self, work: impl FnOnce(&mut W) -> T) -> T {
        let mut shared = self.lock();
        shared.is_uncommitted = true;
        let mut call = Call::of(&mut shared.writer);
        let done = work(call.writer);
        call.stays = true;
        done
    }

    /// Applies operations while no other thread does, and returns when they are durable.
    ///
    /// # Errors
    /// Whatever `apply` returns: then its operations are taken back, which costs what
    /// [`discard`](Writer::discard) does if there are any. If that fails, its error is returned, and they are durable
    /// if a later commit succeeds. As [`Writer::commit`]: then it is not known whether the operations are stored.
    /// They are durable if a later commit succeeds.
    pub fn commit_with<T, E: From<Error>>(&self, apply: impl FnOnce(&mut W) -> Result<T, E>) -> Result<T, E> {
        self.arrived.fetch_add(1, Ordering::SeqCst);
        let _wakes = WakesOthers(&self.changed);
        let mut shared = self.lock();
        shared.begun += 1;
        let applied = Call::of(&mut shared.writer).apply(apply).inspect_err(|_| shared.serve())?;
        if shared.durable == shared.applied || shared.waiting == 0 {
            shared.awaited = self.arrived.load(Ordering::SeqCst);
        }
        shared.applied += 1;
        shared.waiting += 1;
        let own = shared.applied;
        let committed = loop {
            if shared.durable >= own {
                break Ok(());
            }
            if shared.begun < shared.awaited {
                // Who arrives commits for this call, too.
                shared = self.changed.wait(shared).unwrap_or_else(PoisonError::into_inner);
            } else if let Err(error) = shared.commit() {
                break Err(error);
            }
        };
        shared.waiting -= 1;
        committed?;
        Ok(applied)
    }

    fn lock(&self) -> MutexGuard<'_, Shared<W>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Commit + Send + 'static> SharedWriter<W> {
    /// Commits the operations of [`with`](Self::with) once in each `interval`, on a thread of its own. So a
    /// crash of the machine loses at most the operations of one interval, and no call waits for a sync of its
    /// own. `failed` receives the errors of commits; the next interval tries again.
    ///
    /// The thread ends when the returned value is dropped, or when nobody else has the writer. It does not commit then.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use nearprint::{Database, Schema, SharedWriter};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let database = Database::<u64>::create(home.path().join("seen.np"), &Schema::new())?;
    /// let shared = Arc::new(SharedWriter::new(database.writer()?));
    /// let commits = shared.commit_every(Duration::from_millis(1), |error| eprintln!("{error}"))?;
    /// shared.with(|writer| writer.insert(0x1f3a))?;
    /// while database.snapshot()?.stats().rows == 0 {
    ///     std::thread::yield_now();
    /// }
    /// drop(commits);
    /// Arc::into_inner(shared).expect("the thread has ended").into_inner().close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Io`] where no thread can be started.
    pub fn commit_every(
        self: &Arc<Self>,
        interval: Duration,
        mut failed: impl FnMut(Error) + Send + 'static,
    ) -> Result<Commits> {
        let (writer, (ends, ended)) = (Arc::downgrade(self), channel());
        let work = move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(interval) {
                let Some(writer) = writer.upgrade() else { break };
                let mut shared = writer.lock();
                if shared.is_uncommitted
                    && let Err(error) = shared.commit()
                {
                    drop(shared);
                    failed(error);
                }
                writer.changed.notify_all();
            }
        };
        let thread = thread::Builder::new().name("nearprint-commits".into()).spawn(work);
        let thread = thread.map_err(Error::io("start", "a thread for commits"))?;
        Ok(Commits { ends: Some(ends), thread: Some(thread), process: Process::current() })
    }
}

/// Commits of a [`SharedWriter`] in intervals: see [`SharedWriter::commit_every`]. They end when this value
/// is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends the commits"]
pub struct Commits {
    /// The thread waits for its end.
    ends: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: Process,
}

impl Drop for Commits {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // The child of a fork has no such thread, and its end of the channel may be locked.
            std::mem::forget((self.ends.take(), self.thread.take()));
            return;
        }
        self.ends = None;
        // A panic of the caller's function was printed there.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl<W: Commit> Shared<W> {
    fn commit(&mut self) -> Result<()> {
        self.writer.commit()?;
        (self.durable, self.is_uncommitted) = (self.applied, false);
        Ok(())
    }

    /// Commits for those who wait for no call any more, at the end of one that fails. They might not come by the
    /// writer among calls that arrive.
    fn serve(&mut self) {
        if self.waiting > 0 && self.durable < self.applied && self.begun >= self.awaited {
            // After an error, they try it themselves.
            let _ = self.commit();
        }
    }
}

/// A call that works with the writer.
struct Call<'a, W: Commit> {
    writer: &'a mut W,
    /// Whether its operations stay. Otherwise it has panicked.
    stays: bool,
}

impl<'a, W: Commit> Call<'a, W> {
    fn of(writer: &'a mut W) -> Self {
        writer.begin_call();
        Self { writer, stays: false }
    }

    /// Applies operations, and takes them back after an error.
    fn apply<T, E: From<Error>>(mut self, apply: impl FnOnce(&mut W) -> Result<T, E>) -> Result<T, E> {
        let applied = apply(self.writer);
        self.stays = true;
        if applied.is_err() {
            self.writer.take_back()?;
        }
        applied
    }
}

impl<W: Commit> Drop for Call<'_, W> {
    fn drop(&mut self) {
        if !self.stays {
            // If this fails, they are committed with the next ones.
            let _ = self.writer.take_back();
        }
        self.writer.end_call();
    }
}

/// Wakes waiting calls when a call ends, in whatever way.
struct WakesOthers<'a>(&'a Condvar);

impl Drop for WakesOthers<'_> {
    fn drop(&mut self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::Receiver;

    use super::*;

    /// Counts commits. Each one waits for an outcome.
    struct Gate {
        operations: Vec<u64>,
        /// How many of them others had when the call began.
        others: usize,
        commits: Vec<Vec<u64>>,
        outcomes: Receiver<Result<()>>,
    }

    impl Commit for Gate {
        fn commit(&mut self) -> Result<()> {
            self.outcomes.recv().unwrap()?;
            self.commits.push(std::mem::take(&mut self.operations));
            Ok(())
        }

        fn begin_call(&mut self) {
            self.others = self.operations.len();
        }

        fn end_call(&mut self) {
            self.others = 0;
        }

        fn take_back(&mut self) -> Result<()> {
            self.operations.truncate(self.others);
            Ok(())
        }
    }

    /// The results of eight calls and the commits. The first call commits while the others arrive, one of which fails.
    fn eight_calls(fails: Option<u64>, outcomes: Vec<Result<()>>) -> (Vec<Result<u64>>, Vec<Vec<u64>>) {
        let (sender, receiver) = channel();
        let gate = Gate { operations: Vec::new(), others: 0, commits: Vec::new(), outcomes: receiver };
        let shared = SharedWriter::new(gate);
        let call = |number| {
            shared.commit_with(|gate| {
                gate.operations.push(number);
                if fails == Some(number) { Err(Error::Interrupted) } else { Ok(number) }
            })
        };
        let results = thread::scope(|scope| {
            let first = scope.spawn(|| call(0));
            // The first call holds the writer once it has applied its operation and waits for the gate.
            while shared.shared.try_lock().is_ok() {
                thread::yield_now();
            }
            let others: Vec<_> = (1..8).map(|number| scope.spawn(move || call(number))).collect();
            while shared.arrived.load(Ordering::SeqCst) < 8 {
                thread::yield_now();
            }
            outcomes.into_iter().for_each(|outcome| sender.send(outcome).unwrap());
            std::iter::once(first).chain(others).map(|call| call.join().unwrap()).collect()
        });
        (results, shared.into_inner().commits)
    }

    #[test]
    fn one_commit_serves_all_calls_that_arrived_during_another() {
        let (results, mut commits) = eight_calls(Some(5), vec![Ok(()), Ok(())]);
        for (number, result) in results.iter().enumerate() {
            assert_eq!(result.as_ref().ok().copied(), (number != 5).then_some(number as u64), "{number}");
        }
        commits.iter_mut().for_each(|operations| operations.sort_unstable());
        assert_eq!(commits, [vec![0], vec![1, 2, 3, 4, 6, 7]]);
    }

    #[test]
    fn a_failed_commit_fails_one_call_and_the_next_one_commits_for_all() {
        let failed = || Err(Error::DiskFull { action: "write", path: "wal".into() });
        let (results, commits) = eight_calls(None, vec![failed(), failed(), Ok(())]);
        assert!(matches!(results[0], Err(Error::DiskFull { .. })));
        let full = results.iter().filter(|result| matches!(result, Err(Error::DiskFull { .. })));
        assert_eq!(full.count(), 2);
        assert_eq!(commits.len(), 1);
        assert_eq!(commits[0].len(), 8, "nothing was lost");
    }

    /// Two threads whose calls always fail, each while a call of the other one waits.
    #[test]
    fn regression_calls_that_fail_do_not_keep_others_from_committing() {
        const MOST: u64 = 1000;
        let (sender, outcomes) = channel();
        sender.send(Ok(())).unwrap();
        let gate = Gate { operations: Vec::new(), others: 0, commits: Vec::new(), outcomes };
        let (shared, begun) = (SharedWriter::new(gate), AtomicU64::new(1));
        let fails = || {
            let mut is_over = false;
            while !is_over {
                let failed: Result<()> = shared.commit_with(|gate| {
                    is_over = !gate.commits.is_empty() || begun.load(Ordering::SeqCst) >= MOST;
                    let own = begun.fetch_add(u64::from(!is_over), Ordering::SeqCst) + 1;
                    // It ends when a call of the other thread waits for the writer.
                    while !is_over && own < MOST && shared.arrived.load(Ordering::SeqCst) <= own {
                        thread::yield_now();
                    }
                    Err(Error::Interrupted)
                });
                assert!(failed.is_err());
            }
        };
        thread::scope(|scope| {
            let waits = |gate: &mut Gate| {
                gate.operations.push(7);
                (0..2).for_each(|_| drop(scope.spawn(fails)));
                while shared.arrived.load(Ordering::SeqCst) < 3 {
                    thread::yield_now();
                }
                Ok::<(), Error>(())
            };
            shared.commit_with(waits).unwrap();
        });
        let begun = begun.into_inner();
        assert!(begun <= 4, "{begun} calls have begun before the commit");
        assert_eq!(shared.into_inner().commits, [[7]]);
    }

    #[test]
    fn work_without_a_commit_is_committed_in_intervals_and_idle_intervals_commit_nothing() {
        let (sender, outcomes) = channel();
        let gate = Gate { operations: Vec::new(), others: 0, commits: Vec::new(), outcomes };
        let shared = Arc::new(SharedWriter::new(gate));
        sender.send(Err(Error::Interrupted)).unwrap();
        let (failures, failed) = channel();
        let every = Duration::from_millis(1);
        let commits = shared.commit_every(every, move |error| failures.send(error).unwrap()).unwrap();
        shared.with(|gate| gate.operations.push(1));
        assert!(matches!(failed.recv().unwrap(), Error::Interrupted));
        sender.send(Ok(())).unwrap();
        while shared.lock().writer.commits.is_empty() {
            thread::yield_now();
        }
        // Without an outcome, a further commit would wait for ever.
        thread::sleep(20 * every);
        drop(commits);
        let gate = Arc::into_inner(shared).unwrap().into_inner();
        assert_eq!(gate.commits, [[1]], "what failed was committed with the next interval");
    }
}
