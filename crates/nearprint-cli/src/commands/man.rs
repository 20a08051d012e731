//! `nearprint man`

use std::path::PathBuf;

use clap::CommandFactory;
use clap_mangen::{Man, generate_to};

use crate::Cli;
use crate::failure::Failure;
use crate::output::Output;
use nearprint::Error;

/// Print the manual page, or write the pages of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint man | man -l -
  nearprint man --dir ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Write one page for the program and one for each command to this folder, which has to exist
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Args {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let command = Cli::command();
        if let Some(folder) = &self.dir {
            return Ok(generate_to(command, folder).map_err(Error::io("write manual pages to", folder))?);
        }
        let mut out = Output::stdout();
        out.write(|mut out| Man::new(command).render(&mut out))?;
        Ok(out.flush()?)
    }
}
