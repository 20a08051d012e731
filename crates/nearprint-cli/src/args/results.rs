//! How results are printed: options of the commands that print tables.

use std::io::{self, IsTerminal};

use crate::terminal::output::OutputStream;
use crate::terminal::results::ResultFormat;
use nearprint::Error;

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ResultArgs {
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    format: ResultFormat,
    /// Print JSON, as --format json does
    #[arg(long, conflicts_with = "format")]
    json: bool,
    #[command(flatten)]
    header: HeaderArgs,
}

/// Whether tables begin with the names of their columns.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct HeaderArgs {
    /// Begin with the names of the columns [default: on a terminal]
    #[arg(long)]
    header: bool,
    /// Do not begin with the names of the columns
    #[arg(long, conflicts_with = "header")]
    no_header: bool,
}

impl HeaderArgs {
    /// Whether the names are printed to standard output.
    pub(crate) fn is_wanted(self) -> bool {
        self.header || !self.no_header && io::stdout().is_terminal()
    }
}

impl ResultArgs {
    /// The format of the results.
    pub(crate) fn format(self) -> ResultFormat {
        if self.json { ResultFormat::Json } else { self.format }
    }

    /// Prints the names of the columns that are there, if they are to be printed.
    pub(crate) fn print_header(self, out: &mut OutputStream, columns: &[(&str, bool)]) -> Result<(), Error> {
        if !self.header.is_wanted() {
            return Ok(());
        }
        let names: Vec<&str> =
            columns.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
        out.write_uncounted(|out| self.format().header(out, &names))
    }
}
