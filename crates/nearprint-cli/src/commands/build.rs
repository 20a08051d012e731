//! `nearprint build`

use std::path::PathBuf;
use std::time::Instant;

use crate::args::{FingerprintArgs, GlobalArgs, SchemaArgs, SummaryArgs, values};
use crate::input::fingerprints::{Description, DroppedKeys, Inputs, KeyPolicy, RowSink, store};
use crate::terminal::failure::Failure;
use crate::terminal::interrupt;
use nearprint::any::{AnyBuilder, AnyFingerprint, NewRows};
use nearprint::{Error, Width};
use serde_json::json;

/// Make a database from fingerprints
///
/// DB appears when everything is written and synced. After an error, a bad line or Ctrl-C there is no DB. A row without
/// an id gets the largest id so far plus 1, and the first row 0. Equal rows are stored once. The input may be larger
/// than --memory. With --store keys, keys are read from CSV, TSV, JSON lines and Parquet. The id of a row with a key
/// and no id is the 64-bit xxh3 of the key.
///
/// What `fingerprint` and `export` print needs no options: the first line of the first input shows the width, and
/// whether there are keys. With --header, these commands also write the recipe and its distance. Without that header,
/// keys that are numbers are read as ids.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint build corpus.np fingerprints.txt
  zcat prints.txt.gz | nearprint build corpus.np --memory 4G
  nearprint fingerprint articles --header | nearprint build simhashes.np -
  nearprint build corpus.np prints.u64 -k 6 --first-id 1000000
  nearprint build images.np pdq.tsv.gz --width 256 -k 31 --store keys --columns fingerprint,key
  nearprint build monday.runs monday.u64 --runs-only")]
pub(super) struct Args {
    /// The folder to create
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// Files of fingerprints, each with a tab and its id behind it if you give ids; - or none for standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    schema: SchemaArgs,
    /// Memory to use: 512M, 6G, …
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = values::size)]
    memory: usize,
    /// Id of the first row without one
    #[arg(long, value_name = "N", default_value = "0")]
    first_id: u64,
    /// Create a folder of runs for `ingest` instead. It can be read like a database, but no row can be added
    #[arg(long)]
    runs_only: bool,
    /// With --runs-only: `ingest` takes only one of all runs with this name. Without a name, it takes only one of all
    /// runs with the same rows, unless ids were given automatically
    #[arg(long, value_name = "NAME", requires = "runs_only")]
    identity: Option<String>,
    #[command(flatten)]
    summary: SummaryArgs,
    #[command(flatten)]
    input: FingerprintArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        self.summary.check(&self.inputs, &[])?;
        let bars = global.bars();
        let options = global.options().memory_bytes(self.memory).progress(bars.clone());
        // A signal that comes when the database is complete waits for the end.
        interrupt::set_cancellable(true);
        let start = |schema: &SchemaArgs| -> Result<AnyBuilder, Failure> {
            Ok(options.build_any(&self.database, schema.width()?, &schema.schema()?)?)
        };
        // The name is taken before the input is awaited, which may show that the rows are others.
        let mut builder = start(&self.schema)?;
        let inputs = Inputs::open(&self.input, &self.inputs)?;
        let changed = self.schema.with_input(&inputs.description())?;
        if let Some(schema) = &changed {
            drop(builder);
            builder = start(schema)?;
        }
        let schema = changed.as_ref().unwrap_or(&self.schema);
        let width = schema.width()?;
        schema.note_open_kind(global)?;
        builder = builder.first_id(self.first_id);
        if self.runs_only {
            builder = builder.runs_only();
        }
        if let Some(name) = &self.identity {
            builder = builder.identity(name);
        }
        let recipe = schema.recipe_line().map(str::to_string);
        let mut loader =
            Loader { builder: &mut builder, recipe, global, dropped_keys: DroppedKeys::default() };
        let loaded = inputs.read((&self.input, width), &mut loader);
        let built = loaded
            .and_then(
                |()| if interrupt::settle().is_break() { Err(Error::Interrupted.into()) } else { Ok(()) },
            )
            .and_then(|()| Ok(builder.finish()?));
        bars.clear();
        if interrupt::check().is_break() && built.is_err() {
            return Err(Error::Interrupted.into());
        }
        let stats = built?.stats()?;
        let (rows, fingerprints, bytes) = (stats.rows, stats.fingerprints, stats.bytes);
        let seconds = started.elapsed().as_secs_f64();
        let text = format_args!(
            "built {}: {rows} rows, {fingerprints} distinct fingerprints, {:.1} MB, {seconds:.1} s",
            self.database.display(),
            bytes as f64 / 1e6,
        );
        let counts =
            json!({ "rows": rows, "fingerprints": fingerprints, "bytes": bytes, "seconds": seconds });
        Ok(self.summary.note(global, text, counts)?)
    }
}

/// Passes rows to a builder.
struct Loader<'a> {
    builder: &'a mut AnyBuilder,
    /// What makes the fingerprints, which no input may contradict.
    recipe: Option<String>,
    global: GlobalArgs,
    dropped_keys: DroppedKeys,
}

impl RowSink for Loader<'_> {
    fn row(
        &mut self,
        fingerprint: AnyFingerprint,
        id: Option<u64>,
        key: Option<&str>,
    ) -> Result<(), Failure> {
        Ok(store(fingerprint, id, key, |row| self.builder.push(row, &mut |_| Ok(())))?)
    }

    fn fingerprints(&mut self, _: Width, words: &[u64]) -> Result<(), Failure> {
        let rows = NewRows { fingerprints: words, ..NewRows::default() };
        Ok(self.builder.push(&rows, &mut |_| Ok(()))?)
    }

    fn described(&mut self, input: &Description) -> Result<(), Failure> {
        input.check_recipe(self.recipe.as_deref())
    }

    fn key_policy(&self) -> KeyPolicy {
        KeyPolicy::keep_if(self.builder.key_storage().has_keys())
    }

    fn drops_key(&mut self) {
        self.dropped_keys.warn(self.global);
    }
}
