//! Deduplication of document streams.
//!
//! Documents are read, and their fingerprints made, on all cores; one after the other they are then looked
//! up among those kept so far, in input order ([`stream`]) or in the order of what they are worth
//! ([`ranked`]). What is kept stands in a database: the user's own, which remembers it for the next run, or
//! one that lives as long as the run.
//!
//! With a database of the user's, a run can go on after it was cut off. At every checkpoint the files are
//! made durable first; then one commit makes durable which documents were kept, and how long the files were.

mod confirm;
mod index;
mod pipeline;
mod progress;
mod ranked;
mod spool;
mod stream;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use confirm::Confirm;
pub use progress::Counts;

use crate::documents::{LineFile, Output, OutputOptions, Position, Reader, ReaderOptions, escape};
use crate::error::{Error, Result};
use crate::recipe::Recipe;
use index::Known;
use nearprint::{Database, Fingerprint, KeyStorage, Options, Schema, Writer};
use progress::Checkpoint;

/// Which of several near-duplicates is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The first in input order.
    First,
    /// The one with the most characters of text, the first of several.
    Longest,
    /// The one with the largest number in a field, the first of several.
    Max(String),
}

/// What is to be done.
#[derive(Clone)]
pub struct Job {
    pub inputs: Vec<PathBuf>,
    pub reader: ReaderOptions,
    pub output: PathBuf,
    pub add_fingerprint: Option<String>,
    pub duplicates: Option<PathBuf>,
    pub rejects: Option<PathBuf>,
    pub database: Option<PathBuf>,
    /// Writes nothing anywhere.
    pub dry_run: bool,
    pub restart: bool,
    /// Where it is not given, the database tells; else 3.
    pub k: Option<u32>,
    pub recipe: Recipe,
    /// Whether a database that has another recipe is refused, or its recipe taken.
    pub insists_on_recipe: bool,
    pub keep: Keep,
    pub confirm: Option<Confirm>,
    pub min_tokens: usize,
    pub options: Options,
}

/// Is told how far a run has come, and may end it.
pub type Report<'a> = &'a mut dyn FnMut(&Counts, Position) -> ControlFlow<()>;

/// Documents between two checkpoints, at most.
const CHECKPOINT_RECORDS: u64 = 10_000;
/// The time between two checkpoints while documents come slowly.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);
/// What is kept in a database of the run's own goes into a run after so many documents.
const FLUSH_KEPT: u64 = 1 << 16;
/// The distance where neither the user nor a database tells one.
const DEFAULT_K: u32 = 3;

impl Job {
    /// Does it with fingerprints of a width, which is that of the recipe, or that of the database where its recipe
    /// is taken. Returns what it came to, and the number of records an earlier run had done.
    pub fn run<F: Fingerprint>(self, report: Report<'_>) -> Result<(Counts, u64)> {
        let spooled;
        let mut job = self;
        if job.keep != Keep::First && job.inputs.iter().any(|input| input == Path::new("-")) {
            spooled = spool::stdin()?;
            job.reader.spooled_stdin = Some(spooled.path().to_path_buf());
        }
        let mut reader = Reader::open(&job.inputs, job.reader.clone())?;
        let mut work = Work::<F>::begin(&job, &reader)?;
        let done_before = work.counts.records;
        match job.keep {
            Keep::First => stream::run(&mut work, &mut reader, report)?,
            _ => ranked::run(&mut work, &mut reader, report)?,
        }
        Ok((work.finish()?, done_before))
    }

    /// Tells runs apart: what they read, what they write, and how.
    fn identity(&self, reader: &Reader, k: u32, recipe: &Recipe) -> String {
        let Self { reader: options, output, add_fingerprint, duplicates, rejects, .. } = self;
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let told = format!(
            "{:?} {:?} {:?} {:?} {output:?} {add_fingerprint:?} {duplicates:?} {rejects:?} {k} {recipe} {:?} {:?} {}",
            reader.inputs(),
            options.fields,
            options.format,
            options.cut_after,
            self.keep,
            self.confirm,
            self.min_tokens,
            output = absolute(output),
            duplicates = duplicates.as_ref().map(absolute),
            rejects = rejects.as_ref().map(absolute),
        );
        format!("{:032x}", xxhash_rust::xxh3::xxh3_128(told.as_bytes()))
    }
}

/// A run at work.
struct Work<'a, F: Fingerprint> {
    job: &'a Job,
    k: u32,
    recipe: Recipe,
    identity: String,
    /// Keys from this sequence number on are of this run.
    first_sequence: u64,
    /// A database that is only read.
    known: Option<Known<F>>,
    /// Where what is kept is noted: the user's database, or one of the run's own.
    writer: Writer<F>,
    is_own: bool,
    keeps_texts: bool,
    output: Option<Output>,
    duplicates: Option<LineFile>,
    rejects: Option<LineFile>,
    counts: Counts,
    /// What the records so far come to.
    digest: u64,
    /// When the last checkpoint was.
    settled_at: Instant,
    /// Records at the last checkpoint, or documents kept at the last flush.
    settled: u64,
    /// Dropped last.
    _scratch: Option<tempfile::TempDir>,
}

impl<'a, F: Fingerprint> Work<'a, F> {
    fn begin(job: &'a Job, reader: &Reader) -> Result<Self> {
        if let (Some(path), false) = (&job.database, job.dry_run) {
            return Self::with_database(job, reader, path);
        }
        let there = job.database.as_ref().filter(|path| path.exists());
        let known = there.map(|path| read_only(job, path)).transpose()?;
        let (recipe, k) = match &known {
            Some((known, recipe)) => (recipe.clone(), known.k),
            None => (job.recipe.clone(), job.k.unwrap_or(DEFAULT_K)),
        };
        let scratch = spool::folder()?;
        let path = scratch.path().join("kept.np");
        let schema = Schema::new().k(k).keys(KeyStorage::KeysAndTexts);
        let writer = Database::<F>::create_with(&path, schema, job.options.clone())?.writer()?;
        let first_sequence = known.as_ref().map_or(0, |(known, _)| known.before_sequence);
        let mut work = Self {
            job,
            k,
            identity: job.identity(reader, k, &recipe),
            recipe,
            first_sequence,
            known: known.map(|(known, _)| known),
            writer,
            is_own: true,
            keeps_texts: false,
            output: None,
            duplicates: None,
            rejects: None,
            counts: Counts::default(),
            digest: 0,
            settled_at: Instant::now(),
            settled: 0,
            _scratch: Some(scratch),
        };
        work.open_files(reader, None)?;
        Ok(work)
    }

    /// With a database that is to remember what is kept; it is made where there is none.
    fn with_database(job: &'a Job, reader: &Reader, path: &Path) -> Result<Self> {
        let (mut writer, recipe) = open_database(job, path)?;
        let k = job.k.unwrap_or(writer.default_k());
        let keeps_texts = check_texts(job, writer.key_storage(), path)?;
        let identity = job.identity(reader, k, &recipe);
        let mut unfinished = writer.checkpoint().map(Checkpoint::decode).transpose()?;
        if job.restart
            && let Some(checkpoint) = unfinished.take()
        {
            forget(&mut writer, checkpoint.first_sequence)?;
        }
        if let Some(checkpoint) = unfinished.as_ref().filter(|checkpoint| checkpoint.job != identity) {
            return Err(Error::Option(format!(
                "{}: a run with other inputs, outputs or options was cut off behind record {}; give its command \
                 again to go on with it, or --restart to forget what it kept",
                path.display(),
                checkpoint.counts.records
            )));
        }
        let first_sequence =
            unfinished.as_ref().map_or(writer.next_sequence(), |checkpoint| checkpoint.first_sequence);
        let mut work = Self {
            job,
            k,
            recipe,
            identity,
            first_sequence,
            known: None,
            writer,
            is_own: false,
            keeps_texts,
            output: None,
            duplicates: None,
            rejects: None,
            counts: unfinished.as_ref().map_or(Counts::default(), |checkpoint| checkpoint.counts),
            digest: unfinished.as_ref().map_or(0, |checkpoint| checkpoint.digest),
            settled_at: Instant::now(),
            settled: 0,
            _scratch: None,
        };
        work.settled = work.counts.records;
        work.open_files(reader, unfinished.as_ref())?;
        Ok(work)
    }

    /// Opens what is written to: anew, or as it was at a checkpoint.
    fn open_files(&mut self, reader: &Reader, unfinished: Option<&Checkpoint>) -> Result<()> {
        if self.job.dry_run {
            return Ok(());
        }
        let Job { output, duplicates, rejects, confirm, add_fingerprint, .. } = self.job;
        let all = [
            ("--output", Some(output)),
            ("--duplicates", duplicates.as_ref()),
            ("--rejects", rejects.as_ref()),
        ];
        reader.check_outputs(all.into_iter().filter_map(|(name, path)| Some((name, path?.as_path()))))?;
        // In a database that keeps texts, they are there.
        let keep_texts = confirm.is_some() && self.is_own && self.job.keep == Keep::First;
        let options = OutputOptions {
            add_fingerprint: add_fingerprint.clone(),
            keep_texts,
            // What a commit has not made durable must not be delivered: it would come again.
            hold: !self.is_own,
        };
        let open = |path: &Option<PathBuf>, len_bytes: Option<u64>| {
            let Some(path) = path else { return Ok(None) };
            let opened = match len_bytes.filter(|_| path != Path::new("-")) {
                Some(len_bytes) => LineFile::open_at(path, len_bytes).map_err(cannot_go_on),
                None => LineFile::create(path),
            };
            opened.map(|file| Some(file.that_may_close()))
        };
        self.duplicates = open(duplicates, unfinished.map(|checkpoint| checkpoint.duplicates_bytes))?;
        self.rejects = open(rejects, unfinished.map(|checkpoint| checkpoint.rejects_bytes))?;
        let standing = unfinished.filter(|_| output != Path::new("-"));
        self.output = Some(match standing {
            Some(checkpoint) => {
                let output = Output::open_at(output, checkpoint.output_bytes, reader, options);
                output.map_err(cannot_go_on)?
            }
            None => Output::create(output, reader, options)?,
        });
        Ok(())
    }

    /// Settles what has been done once that is enough.
    fn settle(&mut self) -> Result<()> {
        if self.is_own {
            if self.counts.kept - self.settled >= FLUSH_KEPT {
                self.settled = self.counts.kept;
                self.writer.flush()?;
            }
        } else if self.counts.records - self.settled >= CHECKPOINT_RECORDS
            || self.settled_at.elapsed() >= CHECKPOINT_INTERVAL
        {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Makes the files durable, then, by one commit, what is kept and how long they were.
    fn checkpoint(&mut self) -> Result<()> {
        let len_of = |file: &mut Option<LineFile>| file.as_mut().map_or(Ok(0), LineFile::flush_and_sync);
        let checkpoint = Checkpoint {
            job: self.identity.clone(),
            first_sequence: self.first_sequence,
            counts: self.counts,
            digest: self.digest,
            output_bytes: self.output.as_mut().map_or(Ok(0), Output::flush_and_sync)?,
            duplicates_bytes: len_of(&mut self.duplicates)?,
            rejects_bytes: len_of(&mut self.rejects)?,
        };
        self.writer.set_checkpoint(&checkpoint.encode())?;
        self.writer.commit()?;
        self.settled = self.counts.records;
        self.settled_at = Instant::now();
        self.output.as_mut().map_or(Ok(()), Output::release)
    }

    /// Counts a record.
    fn count(&mut self, digest: u64) {
        self.counts.records += 1;
        self.digest = chain(self.digest, digest);
    }

    /// Passes over the records that a run which was cut off has done. They have to be the same.
    fn skip(&self, reader: &mut Reader) -> Result<()> {
        let mut digest = 0;
        for _ in 0..self.counts.records {
            match reader.next_item()? {
                Some(item) => digest = chain(digest, item.digest()),
                None => break,
            }
        }
        if digest == self.digest {
            return Ok(());
        }
        Err(Error::Option(format!(
            "the first {} records of the inputs are not those that a run which was cut off has read; --restart \
             forgets what it kept, and begins anew",
            self.counts.records
        )))
    }

    /// Completes the files, and lets the database come to rest. That nothing is unfinished is the last thing it
    /// says: a run that is cut off before goes on when its command is given again, whatever is left to do.
    fn finish(mut self) -> Result<Counts> {
        if !self.is_own {
            self.checkpoint()?;
        }
        let Self { output, duplicates, rejects, mut writer, is_own, counts, .. } = self;
        output.map_or(Ok(()), Output::finish)?;
        for file in [duplicates, rejects].into_iter().flatten() {
            file.finish()?;
        }
        if !is_own {
            writer.wait_for_merges()?;
            writer.set_checkpoint(b"")?;
            writer.close()?;
        }
        Ok(counts)
    }

    fn write_duplicate(&mut self, key: &str, of: &str, distance: u32) -> Result<()> {
        self.counts.duplicates += 1;
        if let Some(file) = &mut self.duplicates {
            file.append(format!("{}\t{}\t{distance}\n", escape(key), escape(of)).as_bytes())?;
        }
        Ok(())
    }

    /// Sets a record aside that is no document, or ends the run.
    fn take_bad(&mut self, bad: &crate::documents::BadRecord) -> Result<()> {
        self.counts.bad += 1;
        match &mut self.rejects {
            Some(file) => file.append(&bad.raw).map(drop),
            None if self.job.rejects.is_some() => Ok(()),
            None => Err(Error::Input { place: bad.place.to_string(), why: bad.reason.clone() }),
        }
    }

    /// Sets a document aside that has too few tokens.
    fn take_short(&mut self, raw: &[u8]) -> Result<()> {
        self.counts.aside += 1;
        self.rejects.as_mut().map_or(Ok(()), |file| file.append(raw).map(drop))
    }
}

/// What two hashes come to, in this order.
fn chain(before: u64, digest: u64) -> u64 {
    nearprint::internal::mix64(before.rotate_left(1) ^ digest)
}

/// A file of a run that was cut off cannot be taken up again.
fn cannot_go_on(error: Error) -> Error {
    Error::Option(format!(
        "{error}; --restart forgets what the run that was cut off has kept, and begins anew"
    ))
}

/// Opens a database for writing, or makes one. Its recipe and that of the job must be the same; one that has
/// none takes that of the job.
fn open_database<F: Fingerprint>(job: &Job, path: &Path) -> Result<(Writer<F>, Recipe)> {
    let database = match Database::<F>::open_with(path, job.options.clone()) {
        Err(nearprint::Error::NotADatabase { .. }) if !path.exists() => {
            let schema = Schema::new().k(job.k.unwrap_or(DEFAULT_K)).keys(KeyStorage::Keys);
            Database::create_with(path, schema.recipe(job.recipe.to_string()), job.options.clone())?
        }
        other => other?,
    };
    let mut writer = database.writer()?;
    if !writer.key_storage().has_keys() {
        return Err(Error::Option(format!(
            "{}: was made without keys; `nearprint create --keys` makes one that has them",
            path.display()
        )));
    }
    let recipe = match writer.recipe() {
        Some(known) => same_recipe(job, known, path)?,
        None => {
            writer.set_recipe(&job.recipe.to_string())?;
            job.recipe.clone()
        }
    };
    Ok((writer, recipe))
}

fn same_recipe(job: &Job, known: &str, path: &Path) -> Result<Recipe> {
    let known: Recipe =
        known.parse().map_err(|error| Error::Option(format!("{}: {error}", path.display())))?;
    if job.insists_on_recipe && job.recipe != known {
        return Err(Error::Option(format!(
            "{}: its fingerprints are made by another recipe: {known}; not by {}",
            path.display(),
            job.recipe
        )));
    }
    Ok(known)
}

/// Whether a database keeps texts; `--confirm` needs them.
fn check_texts(job: &Job, storage: KeyStorage, path: &Path) -> Result<bool> {
    let keeps = storage.has_texts();
    if job.confirm.is_some() && !keeps {
        return Err(Error::Option(format!(
            "{}: keeps no texts to confirm with; `nearprint create --texts` makes a database that does",
            path.display()
        )));
    }
    Ok(keeps)
}

/// A database that is to be left as it is.
fn read_only<F: Fingerprint>(job: &Job, path: &Path) -> Result<(Known<F>, Recipe)> {
    let snapshot = Database::<F>::open_with(path, job.options.clone())?.snapshot()?;
    check_texts(job, snapshot.key_storage(), path)?;
    let recipe = match snapshot.recipe() {
        Some(known) => same_recipe(job, known, path)?,
        None => job.recipe.clone(),
    };
    let k = job.k.unwrap_or(snapshot.default_k());
    // What a run that was cut off has kept will be done again, or forgotten.
    let unfinished = snapshot.checkpoint().map(Checkpoint::decode).transpose()?;
    let before_sequence = unfinished.map_or(u64::MAX, |checkpoint| checkpoint.first_sequence);
    Ok((Known { snapshot, before_sequence, k, confirm: job.confirm }, recipe))
}

/// Deletes what a run that was cut off has kept, and with it its checkpoint.
fn forget<F: Fingerprint>(writer: &mut Writer<F>, first_sequence: u64) -> Result<()> {
    writer.delete_keys_since(first_sequence)?;
    writer.set_checkpoint(b"")?;
    writer.commit()?;
    Ok(())
}
