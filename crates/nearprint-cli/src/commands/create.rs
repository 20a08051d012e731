//! `nearprint create`

use std::path::PathBuf;

use crate::args::{GlobalArgs, SchemaArgs};
use crate::terminal::failure::Failure;

/// Make an empty database
///
/// Nothing is overwritten: DB must not exist.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint create corpus.np -k 6
  nearprint create seen.np --recipe minhash --store keys")]
pub(super) struct Args {
    /// The folder to create
    #[arg(value_name = "DB")]
    database: PathBuf,
    #[command(flatten)]
    schema: SchemaArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let (width, schema) = (self.schema.width()?, self.schema.schema()?);
        self.schema.note_open_kind(global)?;
        global.options().create_any(&self.database, width, &schema)?;
        global.note(format_args!("created {}", self.database.display()));
        Ok(())
    }
}
