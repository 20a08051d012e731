//! The command line of nearprint.
//!
//! [`commands`] has one file per command. The other modules do not depend on it: [`args`] are
//! options that several commands share, [`input`] reads files, [`terminal`] writes results, messages
//! and progress, and [`report`] writes HTML pages with the differences that [`words`] finds.
//! [`similar_documents`] is what commands share that compare documents exactly, and [`pictures`] what they share that
//! compare pictures. [`output_estimate`] says how much a command would print.
//! [`foreign_options`] knows options of other programs. [`row_header`] is the first line of lists of fingerprints.
//! [`simhash_cpp`] holds two further programs with the interface of simhash-cpp.

mod allocator;
mod args;
mod commands;
mod foreign_options;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod input;
mod left_out;
mod output_estimate;
mod pictures;
mod report;
mod row_header;
mod simhash_cpp;
mod similar_documents;
mod terminal;
mod words;

use std::borrow::Cow;
use std::ffi::OsString;
use std::process::ExitCode;

pub use allocator::Allocator;
use commands::Cli;
pub use commands::DedupReport;
pub use simhash_cpp::{find_all_main, find_clusters_main};
use terminal::failure::Failure;
use terminal::{failure, interrupt, print_lines, print_message, stdout, warn_of_occupants, without_controls};

/// Runs the `nearprint` program.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os()))
}

/// Runs the program with arguments, the first of them its name, and returns its exit code. Signals
/// end the process.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    interrupt::install_handler();
    pictures::quiet_decoders();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let result = match Cli::of(&arguments) {
        Ok(cli) => cli.run(),
        Err(error) if error.use_stderr() => {
            if let Some((why, hint)) = foreign_options::no_command(&error) {
                return Failure::OtherCommand { why, hint }.report("nearprint");
            }
            let (error, hint) = foreign_options::with_hint(error);
            print_usage_error(&error, &arguments);
            hint.iter().for_each(|hint| print_message(format_args!("hint: {hint}")));
            return failure::USAGE;
        }
        // The help or the version.
        Err(error) => {
            let printed = stdout::check().and_then(|()| error.print().map_err(stdout::unwritable));
            printed.map_err(Into::into)
        }
    };
    warn_of_occupants();
    match result {
        Ok(()) => 0,
        Err(failure) => failure.or_interrupted().report("nearprint"),
    }
}

/// Prints what is wrong with the arguments, in colour if they cannot control the terminal.
fn print_usage_error(error: &clap::Error, arguments: &[OsString]) {
    let mut text = error.render().to_string();
    for argument in arguments.iter().map(|argument| argument.to_string_lossy()) {
        if argument.contains('\n') {
            text = text.replace(&*argument, &argument.replace('\n', "\\n"));
        }
    }
    match without_controls(&text) {
        // Printing fails only if the pipe is closed.
        Cow::Borrowed(same) if same == error.render().to_string() => drop(error.print()),
        escaped => print_lines(escaped.trim_end()),
    }
}
