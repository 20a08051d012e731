//! The record of the jobs that a database has seen to their end.
//!
//! A database remembers the documents of a finished job. The same job again would find all of them,
//! keep none, and replace its output by an empty one. The history recognizes the inputs and the
//! outputs of every finished job, whatever the options are, and refuses another output.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::checkpoint::{Checkpoint, DocumentCounts, FileDigest, JobIdentity, RecordHash, Rows};
use super::file_job::FileJob;
use super::report::{FileReport, Report, report_progress};
use super::shards::digest_of_all;
use crate::dedup::decide::Measure;
use crate::dedup::unit::Unit;
use crate::documents::{LeftOut, OutputFile, Reader, digest_of};
use crate::error::{DatabaseProblem, Error, OutputProblem, Result};
use crate::time::UtcTime;
use nearprint::MAX_HISTORY_BYTES;

/// What a database has that holds no units of documents.
pub(crate) const WHOLE_DOCUMENT: &str = "record";

/// Records between two reports.
const REPORT_RECORDS: u64 = 1000;

/// A finished job. The names of its JSON members are part of the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FinishedJob {
    /// 1 for the first job of a database; one more than that of the job before.
    pub(crate) number: u64,
    pub(crate) completed: UtcTime,
    #[serde(flatten)]
    pub(crate) identity: JobIdentity,
    pub(crate) rows: Rows,
    pub(crate) counts: DocumentCounts,
    /// A hash of all records.
    digest: u64,
    /// The units that it has compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Unit>,
    /// The hashes of the first 1, 2, 4, 8, … records, their lower halves.
    at_powers: Vec<u32>,
    /// The output, the duplicates and the rejects; `None` if there is none, or no regular file.
    files: [Option<FinishedFile>; 3],
    /// The name of the output, for people.
    pub(crate) output: String,
}

/// A file that a job has completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FinishedFile {
    /// The hash of its absolute path.
    path: u64,
    #[serde(flatten)]
    content: FileDigest,
}

impl FinishedJob {
    /// Whether a job can have come to this.
    pub(crate) fn is_possible(&self) -> bool {
        self.number < u64::MAX
            && self.counts.are_possible()
            && self.files.iter().flatten().all(|file| file.content.is_possible())
    }

    /// The record of a job that has written its files to their ends. They may lack their names.
    pub(crate) fn new(
        (job, number): (&FileJob, u64),
        checkpoint: Checkpoint,
        hash: &RecordHash,
        outputs: &[Option<OutputFile>; 3],
    ) -> Result<Self> {
        let mut files = [None, None, None];
        for (place, path) in job.outputs().into_iter().enumerate() {
            let regular = outputs[place].as_ref().filter(|output| output.is_regular());
            let Some((path, output)) = path.zip(regular) else { continue };
            let content = match checkpoint.files[place].as_ref().filter(|written| written.has_digest()) {
                Some(written) => written.clone(),
                None => output.written()?.into(),
            };
            files[place] = Some(FinishedFile { path: path_hash(path), content });
        }
        if let Some(content) = checkpoint.shards.and_then(|shards| shards.all) {
            files[0] = Some(FinishedFile { path: path_hash(&job.output), content });
        }
        Ok(Self {
            number,
            completed: UtcTime::now(),
            identity: checkpoint.identity,
            rows: checkpoint.rows,
            counts: checkpoint.counts,
            digest: checkpoint.digest,
            by: job.trim.map(|rules| rules.by),
            at_powers: hash.at_powers.iter().map(|&value| lower_half(value)).collect(),
            files,
            output: job.output.to_string_lossy().into_owned(),
        })
    }

    /// Gives the files of this job, which is `job`, their names, unless they have them.
    pub(crate) fn complete_files(&self, job: &FileJob) -> Result<()> {
        // The files of a folder have their names before.
        let files = job.outputs().into_iter().zip(&self.files).skip(usize::from(job.shards.is_some()));
        files
            .filter_map(|(path, file)| path.zip(file.as_ref()))
            .try_for_each(|(path, file)| OutputFile::complete_written(path, file.content.written()))
    }

    /// The report of a job of this identity, which had read the same inputs, and was not run.
    pub(crate) fn report(
        &self,
        identity: &JobIdentity,
        measure: &Measure,
        counts_copies: bool,
    ) -> FileReport {
        let mut left_out = LeftOut::default();
        if self.identity.job != identity.job {
            left_out.notes.push("that job had other options; a restart runs it with these".into());
        }
        FileReport {
            near: measure.near(),
            recipe: measure.recipe.clone(),
            counts: self.counts,
            resumed_after: self.counts.records,
            completed: Some(self.completed),
            groups: None,
            largest: Vec::new(),
            counts_copies,
            left_out,
            are_files: false,
            files: None,
            unlisted: Vec::new(),
            crowding: None,
        }
    }

    /// Whether `job` is this job, or would replace its output.
    pub(crate) fn is_or_has_output_of(&self, job: &FileJob, identity: &JobIdentity) -> bool {
        self.identity == *identity || self.has_output_of(job)
    }

    fn has_output_of(&self, job: &FileJob) -> bool {
        let output = self.files[0].as_ref().filter(|_| is_named(&job.output));
        output.is_some_and(|output| output.path == path_hash(&job.output))
    }

    /// Refuses a job with an output that this job has not written.
    pub(crate) fn already_run(&self, path: &Path) -> Error {
        let (path, completed) = (path.to_path_buf(), self.completed);
        let (into, records) = (self.output.clone(), self.counts.records);
        OutputProblem::AlreadyRun { path, completed, into, records }.into()
    }

    fn file(&self, path: &Path) -> Option<&FinishedFile> {
        let hash = path_hash(path);
        self.files.iter().flatten().find(|file| file.path == hash)
    }

    /// Whether the job may have read the records of a hash, and more behind them.
    fn may_begin_with(&self, found: &RecordHash) -> bool {
        let powers = found.at_powers.iter().map(|&value| lower_half(value));
        found.records <= self.counts.records
            && self.at_powers.get(..found.at_powers.len()).is_some_and(|own| powers.eq(own.iter().copied()))
    }

    fn has_read(&self, found: &RecordHash) -> bool {
        found.records == self.counts.records && found.value == self.digest
    }

    /// Checks that every output that `job` asks for is one that this job has completed, and still
    /// is as this job wrote it.
    pub(crate) fn check_files(&self, job: &FileJob, reader: &Reader) -> Result<()> {
        let shards = job.shard_targets(reader)?;
        for path in job.outputs().into_iter().flatten().filter(|path| is_named(path)) {
            let Some(file) = self.file(path) else { return Err(self.already_run(path)) };
            if let Some(targets) = shards.as_ref().filter(|_| *path == job.output) {
                let found = match digest_of_all(targets) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                    found => found.map_err(Error::io("read", path))?,
                };
                if found.as_ref() != Some(&file.content) {
                    return Err(OutputProblem::ChangedAfterEnd { path: path.to_path_buf() }.into());
                }
                continue;
            }
            if !path.is_file()
                || FileDigest::from(digest_of(path).map_err(Error::io("read", path))?) != file.content
            {
                return Err(OutputProblem::ChangedAfterEnd { path: path.to_path_buf() }.into());
            }
        }
        Ok(())
    }
}

/// All finished jobs, the earliest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct History {
    pub(crate) jobs: Vec<FinishedJob>,
}

impl History {
    /// Decodes what the database at a path stores: its jobs, one JSON object a line.
    pub(crate) fn of(stored: Option<&[u8]>, path: &Path) -> Result<Self> {
        let lines = serde_json::Deserializer::from_slice(stored.unwrap_or_default()).into_iter();
        let jobs: Vec<FinishedJob> = lines.collect::<Result<_, _>>().map_err(unreadable(path))?;
        if !jobs.iter().all(FinishedJob::is_possible) {
            return Err(unreadable(path)(serde::de::Error::custom("numbers that no job has counted")));
        }
        Ok(Self { jobs })
    }

    /// The same for a database that is to have units of one kind, or whole documents.
    pub(crate) fn decode(stored: Option<&[u8]>, path: &Path, by: Option<Unit>) -> Result<Self> {
        let Self { jobs } = Self::of(stored, path)?;
        if let Some(other) = jobs.iter().find(|other| other.by != by) {
            let (path, found) = (path.to_path_buf(), other.by.map_or(WHOLE_DOCUMENT, Unit::name));
            return Err(DatabaseProblem::OtherUnits { path, found }.into());
        }
        Ok(Self { jobs })
    }

    /// Tells that a job replaces what an earlier one has written.
    pub(crate) fn replaced_by(&self, job: &FileJob) -> Option<String> {
        let FinishedJob { number, completed, .. } =
            self.jobs.iter().rev().find(|earlier| earlier.has_output_of(job))?;
        let output = job.output.display();
        Some(format!("{output} replaces what job {number} of {completed} wrote; those records stay stored"))
    }

    /// The number of the next job.
    pub(crate) fn next_number(&self) -> u64 {
        self.jobs.last().map_or(1, |last| last.number + 1)
    }

    /// Encodes the jobs of a database at a path, the latest ones if there is no room for all.
    pub(crate) fn encode(&self, path: &Path) -> Result<Vec<u8>> {
        let lines = self.jobs.iter().map(serde_json::to_vec).collect::<Result<Vec<_>, _>>();
        let lines = lines.map_err(unreadable(path))?;
        let mut room = MAX_HISTORY_BYTES;
        let fits = |line: &&Vec<u8>| {
            let left = room.checked_sub(line.len() + 1);
            room = left.unwrap_or(0);
            left.is_some()
        };
        let num_latest = lines.iter().rev().take_while(fits).count();
        let latest = &lines[lines.len() - num_latest..];
        Ok(latest.iter().flat_map(|line| [&**line, b"\n"].concat()).collect())
    }

    /// The places of the jobs that have read the same records as a reader, from the same inputs.
    /// Other records are recognized, at the latest, where there are twice as many as the equal ones
    /// before them.
    pub(crate) fn same_inputs(
        &self,
        identity: &JobIdentity,
        reader: &mut Reader,
        report: Report<'_>,
    ) -> Result<Vec<usize>> {
        let mut same: Vec<usize> = (0..self.jobs.len()).collect();
        same.retain(|&job| self.jobs[job].identity.inputs == identity.inputs);
        let mut found = RecordHash::default();
        while !same.is_empty()
            && let Some(item) = reader.next_item()?
        {
            found.push(item.digest());
            same.retain(|&job| self.jobs[job].may_begin_with(&found));
            if found.records.is_multiple_of(REPORT_RECORDS) {
                report_progress(report, &DocumentCounts::default(), reader.position())?;
            }
        }
        same.retain(|&job| self.jobs[job].has_read(&found));
        Ok(same)
    }
}

fn unreadable(path: &Path) -> impl FnOnce(serde_json::Error) -> Error {
    let path = path.to_path_buf();
    |error| DatabaseProblem::UnknownHistory { path, why: error.to_string() }.into()
}

fn lower_half(value: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
    let half = value as u32;
    half
}

/// Whether an output has a name of its own: it is not standard output, a pipe or a device.
pub(crate) fn is_named(path: &Path) -> bool {
    path != Path::new("-") && path.metadata().map_or(true, |found| found.is_file() || found.is_dir())
}

fn path_hash(path: &Path) -> u64 {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    xxh3_64(absolute.as_os_str().as_encoded_bytes())
}
