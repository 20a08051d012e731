//! What the user sees: results on standard output, messages and progress bars on standard error,
//! exit codes. Ctrl-C belongs here as well.

pub(crate) mod failure;
pub(crate) mod interrupt;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod results;

use std::io::Write;

/// The names of the standard streams in messages.
pub(crate) const STDIN: &str = "standard input";
pub(crate) const STDOUT: &str = "standard output";

/// Writes a line to standard error. A failure to write it does not change the outcome of the
/// command.
pub(crate) fn print_message(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
