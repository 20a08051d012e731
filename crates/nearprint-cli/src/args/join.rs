//! Where `pairs` and `clusters` find their fingerprints.

use std::path::{Path, PathBuf};

use super::values;
use crate::terminal::failure::Failure;
use nearprint::Width;

/// A database, or a list of fingerprints of a given width.
#[derive(Debug, clap::Args)]
pub(crate) struct JoinArgs {
    /// The database or a file of fingerprints; - for standard input. A file is held in memory
    #[arg(value_name = "DB|FILE")]
    source: PathBuf,
    /// Width of the fingerprints of a file in bits [default: by its header or its digits, else 64]
    #[arg(long, value_name = "BITS", value_parser = values::width())]
    pub(crate) width: Option<Width>,
    /// Stop with an error once there are more than N lines of results
    #[arg(long, value_name = "N")]
    pub(crate) max_output: Option<u64>,
}

impl JoinArgs {
    /// The database, if it is one: a folder. What is not there was meant as one.
    pub(crate) fn database(&self) -> Result<Option<&Path>, Failure> {
        if self.source.as_os_str() == "-" || self.source.exists() && !self.source.is_dir() {
            return Ok(None);
        }
        match self.width {
            None => Ok(Some(&self.source)),
            Some(_) => Err(Failure::Usage(
                "--width is for a file of fingerprints; a database has its own width".into(),
            )),
        }
    }

    /// The file of the list.
    pub(crate) fn list(&self) -> &[PathBuf] {
        std::slice::from_ref(&self.source)
    }
}
