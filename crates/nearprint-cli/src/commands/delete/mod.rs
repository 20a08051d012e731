//! `nearprint delete`

mod selected;

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::args::{GlobalArgs, SummaryArgs, WriterArgs, values};
use crate::input::fingerprints::{KeyEnd, read_ids, read_keys};
use crate::terminal::failure::Failure;
use crate::terminal::{interrupt, plural};
use nearprint::any::AnyWriter;
use nearprint::{KeyStorage, LeftOutRows, Options};
use nearprint_text::dedup::StoredJob;
use selected::{Counts, Selected};
use serde_json::json;

/// Delete rows by key or id
///
/// Deletes every row with one of the ids, whatever its fingerprint. An id that is not stored is not
/// an error. Deletions become durable batch by batch, like the rows of `add`.
///
/// A key is deleted from all rows that have it. A row that has no other key is deleted. Give many keys to one command:
/// all keys of a batch need one pass over the stored keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  echo 42 | nearprint delete corpus.np
  nearprint delete corpus.np withdrawn.txt
  nearprint delete corpus.np --id 42 --id 1000..1999
  nearprint delete corpus.np --key https://example.org/page
  find articles -type f -print0 | nearprint delete corpus.np --keys - -0
  nearprint delete corpus.np --key-prefix https://example.org/ --dry-run
  nearprint delete documents.np --job documents.jsonl --dry-run")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// A file with one id on each line; - or none for standard input
    #[arg(value_name = "INPUT", default_value = "-")]
    input: PathBuf,
    #[command(flatten)]
    selection: Selection,
    /// The keys of --keys end with a zero byte instead of a line feed, and are not escaped
    #[arg(short = '0', long = "null", requires = "keys")]
    null: bool,
    /// Print how many rows would be deleted, and delete nothing. Reads all rows. Refused with ids from INPUT
    #[arg(short = 'n', long, conflicts_with = "input")]
    dry_run: bool,
    #[command(flatten)]
    summary: SummaryArgs,
    #[command(flatten)]
    writer: WriterArgs,
}

/// What to delete instead of ids from INPUT.
#[derive(Debug, clap::Args)]
#[group(multiple = false, conflicts_with = "input")]
struct Selection {
    /// Delete this key instead of ids from INPUT; may be repeated
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// Delete the keys in this file, one on each line, with the escapes of `export`; - for standard
    /// input
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Delete all keys that begin with PREFIX
    #[arg(long, value_name = "PREFIX")]
    key_prefix: Option<String>,
    /// Delete this id, or all from A to B, both included; may be repeated
    #[arg(long, value_name = "A[..B]", value_parser = values::ids)]
    id: Vec<RangeInclusive<u64>>,
    /// Delete what this job of `dedup` or `trim` stored, and forget the job. JOB is its number in `nearprint jobs` or
    /// the name of its output. Documents that later jobs left out because of it are not restored. With a database that
    /// `dedup --remember` made, the command says how many there are
    #[arg(long, value_name = "NAME|NUMBER")]
    job: Option<String>,
}

/// What is counted of a list: whether an id of it is stored is not known without a search.
const OF_LIST: &str = "id";
/// Ids per commit.
const BATCH_IDS: u64 = 50_000;
/// Keys per commit, and per walk over all stored keys.
const BATCH_KEYS: usize = 1_000_000;

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let inputs = [&self.input].into_iter().chain(&self.selection.keys).collect::<Vec<_>>();
        self.summary.check(&inputs, &[&self.database])?;
        if let Some(job) = &self.selection.job {
            return self.delete_job(job, global);
        }
        if self.dry_run {
            return self.count(global);
        }
        let mut deletion = Deletion {
            writer: self.writer.options(global).open_any(&self.database)?.writer()?,
            database: &self.database,
            options: global.options(),
            done: 0,
            left_out: 0,
            because: 0,
            committed: 0,
        };
        interrupt::set_committed_rows(0);
        let deleted = self.delete(&mut deletion).and_then(|what| deletion.commit().map(|()| what));
        let Deletion { writer, done, left_out, because, committed, .. } = deletion;
        let what = deleted
            .and_then(|what| writer.close().map(|()| what).map_err(Into::into))
            .map_err(|failure| Failure::Partial { committed, failure: Box::new(failure) })?;
        let rows = done - left_out;
        let (count, database) = (plural(rows, what), self.database.display());
        let text = match what {
            OF_LIST => format!("deleted what {database} had under {count}"),
            _ => format!("deleted {count} from {database}{}", forgotten(left_out, "forgot")),
        };
        let counts = json!({ format!("{what}s"): rows, "left_out": left_out, "left_out_because": because });
        self.summary.note(global, format_args!("{text}"), counts)?;
        note_not_restored(because, global);
        Ok(())
    }

    /// Counts what would be deleted.
    fn count(&self, global: GlobalArgs) -> Result<(), Failure> {
        let snapshot = global.options().open_any(&self.database)?.snapshot()?;
        let Selection { key, keys, key_prefix, id, job: _ } = &self.selection;
        let mut listed = key.clone();
        if let Some(path) = keys {
            read_keys(path, self.key_end(), &mut |key| {
                listed.push(key);
                Ok(())
            })?;
        }
        let selected = match key_prefix {
            _ if !id.is_empty() => Selected::Ids(id),
            Some(prefix) => Selected::Prefix(prefix),
            None if keys.is_none() && key.is_empty() => {
                return Err(Failure::Usage(
                    "--dry-run: give --id, --key, --keys, --key-prefix or --job".into(),
                ));
            }
            None => Selected::Keys(&listed),
        };
        if id.is_empty() {
            self.check_keys(snapshot.key_storage())?;
        }
        let remembered = LeftOutRows::open(&self.database, &global.options())?;
        let Counts { rows, left_out, because } = selected.count(&snapshot, remembered.as_ref())?;
        let (count, database) = (plural(rows, "row"), self.database.display());
        let text = format!(
            "dry run: {count} would be deleted from {database}{}",
            forgotten(left_out, "would forget")
        );
        let counts = json!({ "rows": rows, "left_out": left_out, "left_out_because": because });
        self.summary.note(global, format_args!("{text}"), counts)?;
        note_not_restored(because, global);
        Ok(())
    }

    fn key_end(&self) -> KeyEnd {
        if self.null { KeyEnd::Null } else { KeyEnd::Line }
    }

    /// Deletes what a job has stored.
    fn delete_job(&self, name: &str, global: GlobalArgs) -> Result<(), Failure> {
        let database = self.writer.options(global).open_any(&self.database)?;
        let mut writer = if self.dry_run { None } else { Some(database.writer()?) };
        let snapshot = match &writer {
            Some(writer) => writer.snapshot()?,
            None => database.snapshot()?,
        };
        let jobs = StoredJob::all(&snapshot)?;
        let job = StoredJob::find(&jobs, name)?;
        let remembered = LeftOutRows::open(&self.database, &global.options())?;
        let left_out: u64 = match &remembered {
            Some(remembered) => job.left_out_later(&snapshot, remembered)?,
            None => {
                jobs.iter().filter(|later| later.number > job.number).map(|job| job.counts.duplicates).sum()
            }
        };
        let (number, output, at) = (job.number, job.output.display(), self.database.display());
        let of_job = format!("of job {number} ({output}, {})", job.completed);
        let rows = match &mut writer {
            Some(writer) => job.delete(writer, &self.database)?,
            None => job.counts.kept,
        };
        writer.map_or(Ok(()), AnyWriter::close)?;
        let counts = json!({ "rows": rows, "job": number, "left_out_later": left_out });
        let rows = plural(rows, "row");
        match self.dry_run {
            true => global.note(format_args!("dry run: up to {rows} {of_job} would be deleted from {at}")),
            false => global.note(format_args!("deleted {rows} {of_job} from {at}")),
        }
        if left_out > 0 {
            let records = plural(left_out, "record");
            match remembered {
                Some(_) => global.note(format_args!(
                    "later jobs left out {records} because of these rows; they stay left out"
                )),
                None => global.note(format_args!(
                    "later jobs left out {records}, perhaps because of these rows; they stay left out"
                )),
            }
        }
        Ok(self.summary.write(|| counts)?)
    }

    /// Deletes what the options select, and returns what is counted.
    fn delete(&self, deletion: &mut Deletion<'_>) -> Result<&'static str, Failure> {
        let Selection { key, keys, key_prefix, id, job: _ } = &self.selection;
        if !id.is_empty() {
            deletion.look(&Selected::Ids(id))?;
            for range in id {
                deletion.done += deletion.writer.delete_ids(range.clone())?;
            }
        } else if let Some(prefix) = key_prefix {
            self.check_keys(deletion.writer.key_storage())?;
            deletion.look(&Selected::Prefix(prefix))?;
            deletion.done += deletion.writer.delete_key_prefix(prefix)?;
        } else if let Some(path) = keys {
            self.check_keys(deletion.writer.key_storage())?;
            self.delete_listed(path, deletion)?;
        } else if !key.is_empty() {
            self.check_keys(deletion.writer.key_storage())?;
            deletion.delete_keys(key)?;
        } else {
            read_ids(&self.input, &mut |id| deletion.delete_id(id))?;
            return Ok(OF_LIST);
        }
        Ok("row")
    }

    /// Deletes the keys in a file.
    fn delete_listed(&self, path: &Path, deletion: &mut Deletion<'_>) -> Result<(), Failure> {
        let mut batch = Vec::new();
        read_keys(path, self.key_end(), &mut |key| {
            batch.push(key);
            if batch.len() < BATCH_KEYS {
                return Ok(());
            }
            deletion.delete_keys(&std::mem::take(&mut batch))?;
            deletion.commit()
        })?;
        deletion.delete_keys(&batch)
    }

    fn check_keys(&self, storage: KeyStorage) -> Result<(), Failure> {
        if storage.has_keys() {
            return Ok(());
        }
        Err(Failure::Usage(format!("{}: the database stores no keys", self.database.display())))
    }
}

/// What a deletion forgets beside rows, as the end of a sentence.
fn forgotten(left_out: u64, forgets: &str) -> String {
    match left_out {
        0 => String::new(),
        _ => format!("; {forgets} {} left out", plural(left_out, "document")),
    }
}

/// Tells what nothing stands for any more.
fn note_not_restored(because: u64, global: GlobalArgs) {
    if because > 0 {
        let documents = plural(because, "document");
        let (were, stay) = if because == 1 { ("was", "stays") } else { ("were", "stay") };
        global.note(format_args!("{documents} {were} left out because of these rows, and {stay} left out"));
    }
}

/// Deletes and commits in batches.
struct Deletion<'a> {
    writer: AnyWriter,
    database: &'a Path,
    options: Options,
    /// Ids or rows deleted so far, with the documents that were remembered as left out.
    done: u64,
    /// Those documents.
    left_out: u64,
    /// Others that were left out because of the rows.
    because: u64,
    /// Those of them that are durable.
    committed: u64,
}

impl Deletion<'_> {
    /// Counts what was left out, if that is remembered, before a deletion.
    fn look(&mut self, selected: &Selected<'_>) -> Result<(), Failure> {
        let Some(remembered) = LeftOutRows::open(self.database, &self.options)? else { return Ok(()) };
        let counts = selected.count(&self.writer.snapshot()?, Some(&remembered))?;
        self.left_out += counts.left_out;
        self.because += counts.because;
        Ok(())
    }

    fn delete_id(&mut self, id: u64) -> Result<(), Failure> {
        self.writer.delete(&[id])?;
        self.done += 1;
        if self.done - self.committed == BATCH_IDS { self.commit() } else { Ok(()) }
    }

    fn delete_keys(&mut self, keys: &[String]) -> Result<(), Failure> {
        if keys.is_empty() {
            return Ok(());
        }
        self.look(&Selected::Keys(keys))?;
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        self.done += self.writer.delete_keys(&keys)?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.writer.commit()?;
        self.committed = self.done;
        interrupt::set_committed_rows(self.committed);
        Ok(())
    }
}
