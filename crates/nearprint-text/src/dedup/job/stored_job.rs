//! The finished jobs that a database remembers, and how one is taken back.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::checkpoint::DocumentCounts;
use super::history::{FinishedJob, History};
use super::progress::Progress;
use crate::dedup::decide::Deduplicator;
use crate::error::{Error, Result, ResumeProblem};
use crate::time::UtcTime;
use nearprint::LeftOutRows;
use nearprint::any::{AnySnapshot, AnyWriter};

/// A finished job of a database.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredJob {
    /// The number among the jobs of the database: 1 for the first one, and one more for each next job.
    pub number: u64,
    /// When it was finished.
    pub completed: UtcTime,
    /// Its output, as it was named.
    pub output: PathBuf,
    /// Its records by outcome.
    pub counts: DocumentCounts,
    /// The sequence numbers of the keys that it has stored.
    rows: Vec<Range<u64>>,
}

/// How many jobs a message names.
const MOST_NAMED: usize = 5;

impl StoredJob {
    /// The jobs of a database, the earliest first. The oldest jobs are missing if there was no room for their
    /// records ([`MAX_HISTORY_BYTES`](nearprint::MAX_HISTORY_BYTES)).
    ///
    /// # Errors
    /// [`Error::Database`] if another program has written these records.
    pub fn all(snapshot: &AnySnapshot) -> Result<Vec<Self>> {
        let history = History::of(snapshot.history(), &snapshot.folder())?;
        Ok(history.jobs.into_iter().map(Self::from).collect())
    }

    /// Refuses the database at a path if jobs have stored parts of documents in it: whole documents are not compared
    /// with those.
    ///
    /// # Errors
    /// [`Error::Database`] for such a database, and for one whose records of jobs another program has written.
    pub fn check_whole_documents(deduplicator: &Deduplicator, path: &Path) -> Result<()> {
        History::decode(deduplicator.history(), path, None).map(drop)
    }

    /// As [`check_whole_documents`](Self::check_whole_documents), for a database that is only read.
    ///
    /// # Errors
    /// As there.
    pub fn check_whole_documents_of(snapshot: &AnySnapshot) -> Result<()> {
        History::decode(snapshot.history(), &snapshot.folder(), None).map(drop)
    }

    /// The job of a number, or of an output: its name as it was given, or the last part of it.
    ///
    /// # Errors
    /// [`Error::Setting`] if there is no such job, or several have this output.
    pub fn find<'a>(jobs: &'a [Self], name: &str) -> Result<&'a Self> {
        let number: Option<u64> = name.parse().ok();
        let has_name = |job: &&Self| {
            let is_last = job.output.file_name().is_some_and(|last| last == name);
            number == Some(job.number) || job.output == Path::new(name) || is_last
        };
        let found: Vec<&Self> = jobs.iter().filter(has_name).collect();
        match found[..] {
            [job] => Ok(job),
            [] => {
                let of_job = |job: &Self| format!("{} ({})", job.number, job.output.display());
                let all: Vec<String> = jobs.iter().rev().take(MOST_NAMED).map(of_job).collect();
                let latest = match all.is_empty() {
                    true => "it has none".to_string(),
                    false => format!("the latest are {}", all.join(", ")),
                };
                Err(Error::setting("job", format!("{name}: the database has no such job; {latest}")))
            }
            _ => {
                let numbers: Vec<String> = found.iter().map(|job| job.number.to_string()).collect();
                let why =
                    format!("{name}: several jobs wrote it: {}; give the number of one", numbers.join(", "));
                Err(Error::setting("job", why))
            }
        }
    }

    /// The number of documents that later jobs have left out because of rows of this job. Costs a walk over
    /// all documents that are remembered as left out.
    ///
    /// # Errors
    /// [`Error::Engine`] with errors of the engine.
    pub fn left_out_later(&self, snapshot: &AnySnapshot, remembered: &LeftOutRows) -> Result<u64> {
        let is_own = |sequence: u64| self.rows.iter().any(|rows| rows.contains(&sequence));
        let (mut found, mut last) = (HashSet::new(), None);
        remembered.visit(|left_out| {
            // A document that is decided outside of jobs may have come at any time.
            if (1..=self.number).contains(&left_out.job) {
                return Ok(());
            }
            let is_of_this = match last {
                Some((kept, is_of_this)) if kept == left_out.kept => is_of_this,
                _ => {
                    let words = snapshot.fingerprints_of(left_out.kept)?;
                    let mut rows = words.chunks_exact(snapshot.width().words());
                    rows.try_fold(false, |found, words| {
                        let keys = snapshot.keys_of(words, left_out.kept)?;
                        Ok::<bool, Error>(found || keys.iter().any(|key| is_own(key.sequence)))
                    })?
                }
            };
            last = Some((left_out.kept, is_of_this));
            if is_of_this {
                found.insert(left_out.id);
            }
            Ok::<(), Error>(())
        })?;
        Ok(found.len() as u64)
    }

    /// Deletes the rows that this job has stored, and forgets that it has run, by one commit. Documents that
    /// later jobs left out because of these rows stay left out. The database forgets the documents that this
    /// job left out. Returns the number of deleted rows. Costs a walk over all keys.
    ///
    /// # Errors
    /// [`Error::Resume`] while a job is unfinished; [`Error::Database`] as [`all`](Self::all); [`Error::Engine`] with
    /// errors of the engine.
    pub fn delete(&self, writer: &mut AnyWriter, path: &Path) -> Result<u64> {
        if let Some(unfinished) = writer.checkpoint() {
            let records = Progress::decode(unfinished)?.records();
            return Err(ResumeProblem::OtherRun { path: path.to_path_buf(), records }.into());
        }
        let mut history = History::of(writer.history(), path)?;
        history.jobs.retain(|job| job.number != self.number);
        writer.forget_left_out(&[self.number])?;
        writer.set_history(&history.encode(path)?)?;
        // Where rows expire, it may be durable by this, together with the history.
        let rows = writer.delete_keys_between(&self.rows)?;
        writer.commit()?;
        Ok(rows)
    }
}

impl From<FinishedJob> for StoredJob {
    fn from(job: FinishedJob) -> Self {
        Self {
            number: job.number,
            completed: job.completed,
            output: job.output.into(),
            counts: job.counts,
            rows: job.rows.0,
        }
    }
}
