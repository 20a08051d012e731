//! The command line: one file per command, and what they share.

mod commands;
mod compat;
mod documents;
mod failure;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
pub(crate) mod input;
mod interrupt;
mod output;
mod progress;
mod recipe;
mod values;
mod width;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
pub use compat::{find_all_main, find_clusters_main};

/// An exact, persistent database of fingerprints: which stored ones differ from this one by at most
/// k bits?
///
/// Fingerprints are numbers of 64, 128 or 256 bits made so that similar things get numbers that differ in
/// few bits: simhashes of texts, perceptual hashes of images. A database is a folder of files that opens in
/// milliseconds and is never loaded into memory.
#[derive(Debug, Parser)]
#[command(name = "nearprint", version, max_term_width = 100, after_help = EXAMPLES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  nearprint build corpus.np prints.txt      a database from lines of FINGERPRINT[<tab>ID]
  nearprint query corpus.np -f 0x1f3a -k 3  what differs from 0x1f3a by at most 3 bits?
  nearprint clusters corpus.np -k 6         groups of near-duplicates
  nearprint scan ~/projects                 groups of near-duplicate files
  nearprint help query                      all about one command

Exit codes: 0 done, 1 failed, 2 usage, 3 corrupt, 4 locked by another writer, 5 bad input,
6 `compare`: not near-duplicates, 130 interrupted.";

/// Options that every command takes.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
struct Global {
    /// Say nothing but results and errors
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Work on N threads [default: all cores]; results do not depend on it
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Show no progress bar
    #[arg(long, global = true)]
    no_progress: bool,
}

impl Global {
    fn options(self) -> nearprint::Options {
        match self.threads {
            Some(threads) => nearprint::Options::new().threads(threads as usize),
            None => nearprint::Options::new(),
        }
    }

    /// Tells something that is neither a result nor an error.
    fn note(self, text: std::fmt::Arguments<'_>) {
        if !self.quiet {
            failure::say(text);
        }
    }
}

/// Runs the `nearprint` program.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // A closed pipe is all that can keep the text from being printed.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { failure::USAGE } else { 0 });
        }
    };
    interrupt::listen();
    match cli.command.run(cli.global) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report("nearprint"),
    }
}
