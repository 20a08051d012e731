//! The command line of nearprint.
//!
//! [`commands`] has one file per command. The other modules do not depend on it: [`args`] are
//! options that several commands share, [`input`] reads files, and [`terminal`] writes results,
//! messages and progress. [`simhash_cpp`] holds two further programs with the interface of
//! simhash-cpp.

mod args;
mod commands;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod simhash_cpp;
mod terminal;
mod typed;

use std::process::ExitCode;

use clap::Parser;

use commands::Cli;
pub use simhash_cpp::{find_all_main, find_clusters_main};
use terminal::{failure, interrupt};

/// Runs the `nearprint` program.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Printing fails only if the pipe is closed.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { failure::USAGE } else { 0 });
        }
    };
    interrupt::install_handler();
    match cli.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report("nearprint"),
    }
}
