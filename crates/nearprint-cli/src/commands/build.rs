//! `nearprint build`

use std::path::PathBuf;
use std::time::Instant;

use super::create::Settings;
use crate::failure::Failure;
use crate::input::{InputArgs, Keys, RowSink};
use crate::progress::Bars;
use crate::width::{ForWidth, run_for};
use crate::{Global, interrupt, values};
use nearprint::{Builder, Database, Error, Fingerprint};

/// Make a database from files of fingerprints
///
/// All or nothing: DB appears when everything is written and synced; after an error, a bad line or
/// Ctrl-C there is nothing. Rows without an id are numbered on from the largest id so far, starting
/// with 0. A row that comes twice is stored once. Any amount of input works within the memory given. With
/// --keys, CSV, TSV, JSON lines and Parquet give keys; a row with a key and no id gets the 64-bit xxh3 of its key as
/// id.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint build corpus.np fingerprints.txt
  zcat prints.txt.gz | nearprint build corpus.np --memory 4G
  nearprint build corpus.np prints.u64 -k 6 --first-id 1000000
  nearprint build images.np pdq.tsv.gz --width 256 -k 31 --keys --columns fingerprint,key
  nearprint build monday.runs monday.u64 --runs-only")]
pub(crate) struct Args {
    /// The folder to make
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Files of fingerprints; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    /// What may be held in memory: 512M, 6G, …
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = values::size)]
    memory: usize,
    /// The id of the first row that comes without one
    #[arg(long, value_name = "N", default_value = "0")]
    first_id: u64,
    /// Make a folder of runs for `ingest` instead; it is read like a database, and takes no more rows
    #[arg(long)]
    runs_only: bool,
    #[command(flatten)]
    input: InputArgs,
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let width = self.settings.width()?;
        run_for(width, self, (), global)
    }
}

impl ForWidth<()> for Args {
    fn run_wide<F: Fingerprint>(self, (): (), global: Global) -> Result<(), Failure> {
        let started = Instant::now();
        let bars = Bars::new(global);
        let options = global.options().memory_bytes(self.memory).progress(bars.clone());
        // A signal before the staging folder is known here waits until it is.
        interrupt::ends_by_itself(true);
        let mut builder = Database::<F>::build_with(&self.database, self.settings.schema()?, options)?;
        builder = builder.first_id(self.first_id);
        if self.runs_only {
            builder = builder.runs_only();
        }
        interrupt::guard(Some(builder.staging_path().to_path_buf()));
        interrupt::ends_by_itself(false);
        let built = self
            .input
            .read_all(&self.inputs, &mut Loader(&mut builder))
            .and_then(
                |()| if interrupt::check().is_break() { Err(Error::Interrupted.into()) } else { Ok(()) },
            )
            .and_then(|()| Ok(builder.finish()?));
        bars.clear();
        // The database is there, or nothing is: a signal comes too late now, and waits for the end.
        interrupt::ends_by_itself(true);
        interrupt::guard(None);
        if interrupt::check().is_break() && built.is_err() {
            return Err(Error::Interrupted.into());
        }
        let stats = built?.snapshot()?.stats();
        global.note(format_args!(
            "built {}: {} rows, {} distinct fingerprints, {:.1} MB, {:.1} s",
            self.database.display(),
            stats.rows,
            stats.fingerprints,
            stats.bytes as f64 / 1e6,
            started.elapsed().as_secs_f64(),
        ));
        Ok(())
    }
}

struct Loader<'a, F: Fingerprint>(&'a mut Builder<F>);

impl<F: Fingerprint> RowSink<F> for Loader<'_, F> {
    fn row(&mut self, fingerprint: F, id: Option<u64>, key: Option<&str>) -> Result<(), Failure> {
        match key {
            Some(key) => self.0.push_keyed(fingerprint, id, key, b"")?,
            None => self.0.push(fingerprint, id)?,
        };
        Ok(())
    }

    fn keys(&self) -> Keys {
        Keys::kept_if(self.0.key_storage().has_keys())
    }
}
