//! How results are printed: options of the commands that print tables.

use crate::terminal::output::OutputStream;
use crate::terminal::results::ResultFormat;
use nearprint::Error;

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ResultArgs {
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "tsv")]
    pub(crate) format: ResultFormat,
    /// Begin TSV with a line of column names, the names that JSON has
    #[arg(long)]
    header: bool,
}

impl ResultArgs {
    /// Prints the names of the columns that are there, if they are to be printed.
    pub(crate) fn print_header(self, out: &mut OutputStream, columns: &[(&str, bool)]) -> Result<(), Error> {
        if !self.header {
            return Ok(());
        }
        let names: Vec<&str> =
            columns.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
        out.write_uncounted(|out| self.format.header(out, &names))
    }
}
