//! `nearprint create`

use std::path::PathBuf;

use crate::args::{GlobalArgs, SchemaArgs};
use crate::terminal::failure::Failure;
use nearprint::AnyDatabase;

/// Create an empty database
///
/// Nothing is overwritten: DB must not exist.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint create corpus.np -k 6")]
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
        AnyDatabase::create_with(&self.database, width, schema, global.options())?;
        global.note(format_args!("created {}", self.database.display()));
        Ok(())
    }
}
