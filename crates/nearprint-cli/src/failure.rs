//! Why a command failed: exit code, message and, where there is one, a hint.

use std::fmt::Display;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use nearprint::Error;

/// Exit code for I/O errors, and databases that are missing, there already or too new.
const FAILED: u8 = 1;
/// Exit code for a wrong command line.
pub(super) const USAGE: u8 = 2;
const CORRUPT: u8 = 3;
const LOCKED: u8 = 4;
const BAD_INPUT: u8 = 5;
const NOT_NEAR: u8 = 6;
const INTERRUPTED: u8 = 130;

/// What stands in messages for standard input and output.
pub(super) const STDIN: &str = "standard input";
pub(super) const STDOUT: &str = "standard output";

/// Writes a line to standard error. That it cannot be written changes nothing about the outcome.
pub(super) fn say(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The end of a command that did not get through.
#[derive(Debug)]
pub(super) enum Failure {
    /// The library's error.
    Engine(Error),
    /// Options that do not go together.
    Usage(String),
    /// A place in an input, and what is wrong there.
    Input { place: String, why: String },
    /// A record of an input, and why it is no document.
    Record { place: String, why: String },
    /// Damage that has been reported already.
    Corrupt,
    /// Two texts that are no near-duplicates. Their distance has been printed.
    NotNear,
    /// A database of which damage has left no row. The damage has been reported already.
    NothingSaved(PathBuf),
    /// Ctrl-C behind so many records; whether the same command goes on from there.
    CutOff { records: u64, goes_on: bool },
    /// What went wrong after some batches had become durable.
    Partial { committed: u64, failure: Box<Failure> },
}

impl From<nearprint_text::Error> for Failure {
    fn from(error: nearprint_text::Error) -> Self {
        match error {
            nearprint_text::Error::Engine(error) => Self::Engine(error),
            nearprint_text::Error::Input { place, why } => Self::Input { place, why },
            other => Self::Usage(other.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl Failure {
    /// Bad input at a line, counted from 1; `text` is the line.
    pub(super) fn line(name: impl Display, line: u64, why: impl Display, text: &str) -> Self {
        const SHOWN: usize = 120;
        let shown: String = text.chars().take(SHOWN).collect();
        let more = if text.chars().nth(SHOWN).is_some() { " …" } else { "" };
        Self::Input { place: format!("{name}:{line}"), why: format!("{why}: {shown:?}{more}") }
    }

    /// Prints the message and tells the exit code. A closed pipe is no failure.
    pub(super) fn report(&self, program: &str) -> ExitCode {
        if self.is_closed_pipe() {
            return ExitCode::SUCCESS;
        }
        self.tell(program);
        if let Some(hint) = self.hint() {
            say(format_args!("hint: {hint}"));
        }
        ExitCode::from(self.exit_code())
    }

    fn tell(&self, program: &str) {
        match self {
            Self::Engine(Error::Interrupted) => {
                say(format_args!("{program}: interrupted; nothing was left behind"))
            }
            Self::Engine(error) => say(format_args!("{program}: {error}")),
            Self::Usage(why) => say(format_args!("{program}: {why}")),
            Self::Input { place, why } | Self::Record { place, why } => {
                say(format_args!("{program}: {place}: {why}"))
            }
            Self::Corrupt | Self::NotNear => {}
            Self::CutOff { records, goes_on: true } => say(format_args!(
                "{program}: interrupted behind record {records}; the same command goes on where it was"
            )),
            Self::CutOff { records, goes_on: false } => {
                say(format_args!("{program}: interrupted behind record {records}; the output is incomplete"));
            }
            Self::NothingSaved(path) => {
                say(format_args!("{program}: {}: not a row could be saved", path.display()));
            }
            Self::Partial { committed, failure } => {
                failure.tell(program);
                say(format_args!("{program}: {committed} rows of earlier batches were committed and stay"));
            }
        }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_)
            | Self::Engine(
                Error::Distance { .. }
                | Error::InsideDatabase { .. }
                | Error::InvalidLayout { .. }
                | Error::InvalidRecipe { .. }
                | Error::KeyTooLong { .. }
                | Error::KeysNotStored { .. }
                | Error::Mismatch { .. }
                | Error::MountPoint { .. }
                | Error::NotRunsOnly { .. }
                | Error::Overlap { .. }
                | Error::RecipeMismatch { .. }
                | Error::RunsOnly { .. }
                | Error::TextTooLong { .. }
                | Error::TextsNotStored { .. }
                | Error::TooLittleMemory { .. }
                | Error::UnknownWidth { .. }
                | Error::Unnamed { .. }
                | Error::Width { .. },
            ) => USAGE,
            Self::Corrupt | Self::Engine(Error::Corrupt(_)) => CORRUPT,
            Self::Engine(Error::Locked { .. }) => LOCKED,
            Self::Input { .. } | Self::Record { .. } => BAD_INPUT,
            Self::NotNear => NOT_NEAR,
            Self::Engine(Error::Interrupted) | Self::CutOff { .. } => INTERRUPTED,
            Self::Partial { failure, .. } => failure.exit_code(),
            Self::NothingSaved(_) | Self::Engine(_) => FAILED,
        }
    }

    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Engine(Error::NotADatabase { .. }) => Some("`nearprint build DB INPUT` makes one"),
            Self::Engine(Error::AlreadyExists { .. }) => {
                Some("databases are never overwritten; choose another name or remove it first")
            }
            Self::Engine(Error::Corrupt(_)) => Some(
                "`nearprint verify DB` lists all damage; `nearprint repair DB NEW` saves what can be read",
            ),
            Self::Engine(Error::DiskFull { .. }) => Some("free some space and try again; nothing is lost"),
            Self::Engine(Error::Mismatch { .. }) => {
                Some("build the runs with the -k and --layout of the database, which `nearprint stats` tells")
            }
            Self::Engine(Error::Overlap { .. }) => {
                Some("build the runs again with `--first-id N`, N above all ids of the others")
            }
            Self::Engine(Error::Width { .. }) => {
                Some("databases that are used together have fingerprints of one width")
            }
            Self::Engine(Error::Locked { .. }) => {
                Some("one program at a time writes; reading goes on meanwhile")
            }
            Self::Record { .. } => Some("`--rejects FILE` sets bad records aside and goes on"),
            Self::Partial { failure, .. } => failure.hint(),
            Self::Engine(Error::NewerVersion { .. }) => Some("a newer nearprint wrote it; use that one"),
            _ => None,
        }
    }

    fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Engine(Error::Io { path, source, .. }) => {
                path == Path::new(STDOUT) && source.kind() == std::io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }
}
