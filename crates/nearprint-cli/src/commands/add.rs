//! `nearprint add`

use std::path::PathBuf;

use crate::args::{FingerprintArgs, GlobalArgs, SummaryArgs, WriterArgs, values};
use crate::input::fingerprints::{Description, DroppedKeys, KeyPolicy, RowSink, read_all, store};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::{interrupt, plural};
use nearprint::any::{AnyFingerprint, AnyWriter};
use serde_json::json;

/// Add rows
///
/// Rows become durable and visible to readers batch by batch. After a bad line, a failure or Ctrl-C, all committed rows
/// stay, and the message reports their number. A row without an id gets the one after the largest id ever stored. A row
/// that is stored already is counted, and stays stored once. For databases with keys, keys come from CSV, TSV, JSON lines
/// and Parquet; the id of a row with a key and no id is the 64-bit xxh3 of the key. What `fingerprint` and `export` print
/// needs no options.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint add corpus.np today.txt
  nearprint fingerprint articles --header | nearprint add corpus.np -
  crawler | nearprint add corpus.np --batch 100 --acknowledge
  nearprint add corpus.np more.txt --first-id 100000
  nearprint add corpus.np changed.tsv --upsert")]
pub(super) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Files of fingerprints, each with a tab and its id behind it if you give ids; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Id of the first row without one, from which the others count on [default: one more than the largest id ever
    /// stored]
    #[arg(long, value_name = "N")]
    first_id: Option<u64>,
    /// Commit after every N rows, as soon as the last of them has been read
    #[arg(long, value_name = "N", default_value = "50000", value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// Print `ACK <rows so far>` after each commit
    #[arg(long)]
    acknowledge: bool,
    /// Replace all stored rows that have the id of a new row
    #[arg(long)]
    upsert: bool,
    /// Write at most SIZE a second while merging runs, such as 20M; 0 merges no runs. `compact` merges them later
    #[arg(long, value_name = "SIZE", value_parser = values::rate)]
    merge_rate: Option<u64>,
    /// Leave new rows in a log of at most SIZE, such as 64K, instead of writing a run
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    keep_log: Option<usize>,
    #[command(flatten)]
    summary: SummaryArgs,
    #[command(flatten)]
    writer: WriterArgs,
    #[command(flatten)]
    input: FingerprintArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        self.summary.check(&self.inputs, &[&self.database])?;
        let options = self.writer.options(global).merges(self.merge_rate != Some(0));
        let options = options.merge_rate(self.merge_rate.unwrap_or(0));
        let options = options.keep_log(self.keep_log.unwrap_or(0) as u64);
        let database = options.open_any(&self.database)?;
        let (width, writer) = (database.width(), database.writer()?);
        let recipe = writer.recipe().map(str::to_string);
        let mut adder = Adder {
            args: &self,
            global,
            dropped_keys: DroppedKeys::default(),
            writer,
            recipe,
            next_id: self.first_id,
            rows: 0,
            committed: 0,
            out: OutputStream::stdout(),
        };
        interrupt::set_committed_rows(0);
        let added = read_all((&self.input, width), &self.inputs, &mut adder).and_then(|()| adder.commit());
        let committed = adder.committed;
        // After a failure the writer is dropped, which discards uncommitted rows. Closing would
        // commit them.
        added
            .and_then(|()| Ok(adder.writer.close()?))
            .map_err(|failure| Failure::Partial { committed, failure: Box::new(failure) })?;
        let text = format_args!("added {} to {}", plural(committed, "row"), self.database.display());
        Ok(self.summary.note(global, text, json!({ "rows": committed }))?)
    }
}

/// Inserts rows and commits them in batches.
struct Adder<'a> {
    args: &'a Args,
    global: GlobalArgs,
    dropped_keys: DroppedKeys,
    writer: AnyWriter,
    recipe: Option<String>,
    /// The id of the next row without one, if --first-id sets them.
    next_id: Option<u64>,
    /// Rows inserted so far.
    rows: u64,
    /// Those of them that are durable.
    committed: u64,
    out: OutputStream,
}

impl RowSink for Adder<'_> {
    fn row(
        &mut self,
        fingerprint: AnyFingerprint,
        id: Option<u64>,
        key: Option<&str>,
    ) -> Result<(), Failure> {
        let id = match (id, key) {
            (None, None) => self.next_id()?,
            _ => id,
        };
        store(fingerprint, id, key, |row| match self.args.upsert {
            true => self.writer.upsert(row, &mut |_| Ok(())),
            false => self.writer.insert(row, &mut |_| Ok(())),
        })?;
        self.rows += 1;
        if self.rows - self.committed < self.args.batch { Ok(()) } else { self.commit() }
    }

    fn described(&mut self, input: &Description) -> Result<(), Failure> {
        input.check_recipe(self.recipe.as_deref())
    }

    fn key_policy(&self) -> KeyPolicy {
        KeyPolicy::keep_if(self.writer.key_storage().has_keys())
    }

    fn drops_key(&mut self) {
        self.dropped_keys.warn(self.global);
    }
}

impl Adder<'_> {
    fn next_id(&mut self) -> Result<Option<u64>, Failure> {
        let Some(id) = self.next_id else { return Ok(None) };
        let exceeded = || Failure::Usage(format!("--first-id: no id is left after {id}"));
        self.next_id = Some(id.checked_add(1).ok_or_else(exceeded)?);
        Ok(Some(id))
    }

    /// Commits all rows so far, and acknowledges that with `--acknowledge`.
    fn commit(&mut self) -> Result<(), Failure> {
        if self.rows == self.committed {
            return Ok(());
        }
        self.writer.commit()?;
        self.committed = self.rows;
        interrupt::set_committed_rows(self.committed);
        if self.args.acknowledge {
            let committed = self.committed;
            self.out.write(|out| writeln!(out, "ACK {committed}"))?;
            self.out.flush()?;
        }
        Ok(())
    }
}
