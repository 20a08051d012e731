//! `nearprint man`

use std::path::PathBuf;

use clap_mangen::{Man, generate_to};

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::Error;
use nearprint_text::documents::check_outputs;

/// Print the manual page, or write the pages of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint man | man -l -
  nearprint man --dir ~/.local/share/man/man1")]
pub(super) struct Args {
    /// Write one page for the program and one for each command to this folder, which must exist
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Args {
    /// Prints the pages of `program`.
    pub(super) fn run(&self, program: clap::Command) -> Result<(), Failure> {
        if let Some(folder) = &self.dir {
            check_outputs([("--dir", &*folder.join("nearprint.1"))], &[], &[])?;
            return Ok(generate_to(program, folder).map_err(Error::io("write manual pages to", folder))?);
        }
        let mut out = OutputStream::stdout();
        out.write(|mut out| Man::new(program).render(&mut out))?;
        Ok(out.flush()?)
    }
}
