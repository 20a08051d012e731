//! `nearprint add`

use std::path::PathBuf;

use crate::failure::Failure;
use crate::input::{InputArgs, Keys, RowSink};
use crate::output::Output;
use crate::width::{ForWidth, run_for};
use crate::{Global, interrupt};
use nearprint::{Database, Fingerprint, Writer, width_of};

/// Insert rows into a database
///
/// Rows become durable batch by batch, and readers see them from then on. After a bad line, a
/// failure or Ctrl-C everything committed stays, and the message says how many rows that is. Rows
/// without an id are numbered on from the largest id ever stored. Into databases with keys, CSV, TSV, JSON lines
/// and Parquet give keys; a row with a key and no id gets the 64-bit xxh3 of its key as id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint add corpus.np today.txt
  crawler | nearprint add corpus.np --batch 100 --acknowledge
  nearprint add corpus.np changed.tsv --upsert")]
pub(crate) struct Args {
    /// The database
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Files of fingerprints; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Commit after every N rows, as soon as the last of them is read
    #[arg(long, value_name = "N", default_value = "50000", value_parser = clap::value_parser!(u64).range(1..))]
    batch: u64,
    /// Print `ACK <rows so far>` after each commit
    #[arg(long)]
    acknowledge: bool,
    /// A row replaces all that were stored under its id
    #[arg(long)]
    upsert: bool,
    #[command(flatten)]
    input: InputArgs,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let width = width_of(&self.database)?;
        run_for(width, self, (), global)
    }
}

impl ForWidth<()> for Args {
    fn run_wide<F: Fingerprint>(self, (): (), global: Global) -> Result<(), Failure> {
        let writer = Database::<F>::open_with(&self.database, global.options())?.writer()?;
        let mut adder = Adder { args: &self, writer, rows: 0, committed: 0, out: Output::stdout() };
        interrupt::committed(0);
        let added = self.input.read_all(&self.inputs, &mut adder).and_then(|()| adder.finish());
        let committed = adder.committed;
        // What was not committed is forgotten with the writer after a failure; closing would keep it.
        added
            .and_then(|()| Ok(adder.writer.close()?))
            .map_err(|failure| Failure::Partial { committed, failure: Box::new(failure) })?;
        global.note(format_args!("added {committed} rows to {}", self.database.display()));
        Ok(())
    }
}

/// Inserts what comes and commits batch by batch.
struct Adder<'a, F: Fingerprint> {
    args: &'a Args,
    writer: Writer<F>,
    rows: u64,
    committed: u64,
    out: Output,
}

impl<F: Fingerprint> RowSink<F> for Adder<'_, F> {
    fn row(&mut self, fingerprint: F, id: Option<u64>, key: Option<&str>) -> Result<(), Failure> {
        match (key, id) {
            (Some(key), id) if self.args.upsert => {
                self.writer.upsert_keyed(fingerprint, id, key, b"").map(drop)
            }
            (Some(key), id) => self.writer.insert_keyed(fingerprint, id, key, b"").map(drop),
            (None, Some(id)) if self.args.upsert => self.writer.upsert(fingerprint, id),
            (None, id) => self.writer.insert(fingerprint, id).map(drop),
        }?;
        self.rows += 1;
        if self.rows - self.committed < self.args.batch { Ok(()) } else { self.finish() }
    }

    fn keys(&self) -> Keys {
        Keys::kept_if(self.writer.key_storage().has_keys())
    }
}

impl<F: Fingerprint> Adder<'_, F> {
    /// Commits, and says so where asked.
    fn finish(&mut self) -> Result<(), Failure> {
        if self.rows == self.committed {
            return Ok(());
        }
        self.writer.commit()?;
        self.committed = self.rows;
        interrupt::committed(self.committed);
        if self.args.acknowledge {
            let committed = self.committed;
            self.out.write(|out| writeln!(out, "ACK {committed}"))?;
            self.out.flush()?;
        }
        Ok(())
    }
}
