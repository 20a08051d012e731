//! Where `pairs` and `clusters` find their fingerprints.

use std::path::{Path, PathBuf};

use super::values;
use nearprint::Width;

/// A database, or a list of fingerprints of a given width.
#[derive(Debug, clap::Args)]
pub(crate) struct JoinArgs {
    #[command(flatten)]
    source: DatabaseOrList,
    /// With --input: width of a fingerprint in bits [default: by its header or its digits, else 64]
    #[arg(long, value_name = "BITS", value_parser = values::width(), conflicts_with = "database")]
    pub(crate) width: Option<Width>,
    /// Stop with an error once there are more than N lines of results
    #[arg(long, value_name = "N")]
    pub(crate) max_output: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = false)]
struct DatabaseOrList {
    /// The database
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,
    /// A file of fingerprints instead of a database (- for standard input); held in memory
    #[arg(long = "input", value_name = "FILE")]
    list: Option<PathBuf>,
}

impl JoinArgs {
    /// The database, if one is given.
    pub(crate) fn database(&self) -> Option<&Path> {
        self.source.database.as_deref()
    }

    /// The file of the list, if one is given.
    pub(crate) fn list(&self) -> &[PathBuf] {
        self.source.list.as_slice()
    }
}
