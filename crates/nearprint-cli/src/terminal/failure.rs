//! Why a command failed: exit code, message and sometimes a hint.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::{STDOUT, print_message};
use nearprint::Error;
use nearprint_text::recipe::RecipeError;

/// Exit code for I/O errors, and for databases that are missing, exist already or have a newer
/// format.
const FAILED: u8 = 1;
/// Exit code for a wrong command line.
pub(crate) const USAGE: u8 = 2;
const CORRUPT: u8 = 3;
const LOCKED: u8 = 4;
const BAD_INPUT: u8 = 5;
const NOT_NEAR: u8 = 6;
const INTERRUPTED: u8 = 130;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the engine.
    Engine(Error),
    /// A wrong command line: an invalid value, or options that exclude each other.
    Usage(String),
    /// Malformed input, with the file and line.
    Input { place: String, why: String },
    /// An input that is compressed in a format that is not read, and a program that decompresses it.
    Compressed { why: String, program: &'static str },
    /// A bad record among documents, with the file and line. `--rejects` would set it aside.
    Record { place: String, why: String },
    /// A damaged database. The damage is printed before this failure.
    Corrupt,
    /// The result of `compare`: the texts are not near-duplicates. Their distance is printed
    /// before.
    NotNearDuplicates,
    /// `repair` found no readable row. The damage is printed before this failure.
    NothingRecovered(PathBuf),
    /// Ctrl-C after a number of records. `resumable`: the same command can resume there.
    Interrupted { records: u64, resumable: bool },
    /// A failure after `committed` rows had become durable.
    Partial { committed: u64, failure: Box<Failure> },
}

impl From<nearprint_text::Error> for Failure {
    fn from(error: nearprint_text::Error) -> Self {
        match error {
            nearprint_text::Error::Engine(error) => Self::Engine(error),
            nearprint_text::Error::Input { place, why } => Self::Input { place, why },
            nearprint_text::Error::Compressed { program, .. } => {
                Self::Compressed { why: error.to_string(), program }
            }
            other => Self::Usage(other.to_string()),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl From<RecipeError> for Failure {
    fn from(error: RecipeError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl Failure {
    /// Malformed input at a line, counted from 1. The message quotes the beginning of `text`, the
    /// line.
    pub(crate) fn at_line(name: impl Display, line: u64, why: impl Display, text: &str) -> Self {
        const SHOWN: usize = 120;
        let shown: String = text.chars().take(SHOWN).collect();
        let more = if text.chars().nth(SHOWN).is_some() { " …" } else { "" };
        Self::Input { place: format!("{name}:{line}"), why: format!("{why}: {shown:?}{more}") }
    }

    /// Prints the message and the hint, and returns the exit code. A closed pipe is not a failure.
    pub(crate) fn report(&self, program: &str) -> u8 {
        if self.is_closed_pipe() {
            return 0;
        }
        self.print(program);
        if let Some(hint) = self.hint() {
            print_message(format_args!("hint: {hint}"));
        }
        self.exit_code()
    }

    fn print(&self, program: &str) {
        match self {
            Self::Engine(Error::Interrupted) => {
                print_message(format_args!("{program}: interrupted; nothing was left behind"))
            }
            Self::Engine(error) => print_message(format_args!("{program}: {error}")),
            Self::Usage(why) | Self::Compressed { why, .. } => {
                print_message(format_args!("{program}: {why}"))
            }
            Self::Input { place, why } | Self::Record { place, why } => {
                print_message(format_args!("{program}: {place}: {why}"))
            }
            Self::Corrupt | Self::NotNearDuplicates => {}
            Self::Interrupted { records, resumable } => {
                let consequence = match resumable {
                    true => "rerun the command to resume",
                    false => "the output is incomplete",
                };
                print_message(format_args!("{program}: interrupted after record {records}; {consequence}"));
            }
            Self::NothingRecovered(path) => {
                print_message(format_args!("{program}: {}: not a row could be saved", path.display()));
            }
            Self::Partial { committed, failure } => {
                failure.print(program);
                print_message(format_args!(
                    "{program}: {committed} rows of earlier batches were committed and stay"
                ));
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
                | Error::Incomparable { .. }
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
            Self::Input { .. } | Self::Compressed { .. } | Self::Record { .. } => BAD_INPUT,
            Self::NotNearDuplicates => NOT_NEAR,
            Self::Engine(Error::Interrupted) | Self::Interrupted { .. } => INTERRUPTED,
            Self::Partial { failure, .. } => failure.exit_code(),
            Self::NothingRecovered(_) | Self::Engine(_) => FAILED,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        if let Self::Compressed { program, .. } = self {
            return Some(format!("`{program} FILE | nearprint … -` reads it").into());
        }
        self.fixed_hint().map(Into::into)
    }

    fn fixed_hint(&self) -> Option<&'static str> {
        match self {
            Self::Engine(Error::NotADatabase { .. }) => Some("`nearprint build DB INPUT` creates one"),
            Self::Engine(Error::AlreadyExists { .. }) => {
                Some("databases are never overwritten; choose another name or remove it first")
            }
            Self::Engine(Error::Corrupt(_)) => Some(
                "`nearprint verify DB` lists all damage; `nearprint repair DB NEW` recovers what can be read",
            ),
            Self::Engine(Error::DiskFull { .. }) => Some("free some space and try again; nothing is lost"),
            Self::Engine(Error::Mismatch { .. }) => {
                Some("build the runs with the -k, --layout, --recipe, --keys and --texts of the database")
            }
            Self::Engine(Error::Overlap { .. }) => {
                Some("build the runs again with `--first-id N`, where N is above all other ids")
            }
            Self::Engine(Error::Width { .. }) => {
                Some("databases that are used together must have fingerprints of one width")
            }
            Self::Engine(Error::Locked { .. }) => {
                Some("only one process at a time can write; readers are not blocked")
            }
            Self::Record { .. } => Some("`--rejects FILE` sets bad records aside and continues"),
            Self::Partial { failure, .. } => failure.fixed_hint(),
            Self::Engine(Error::NewerVersion { .. }) => {
                Some("a newer version of nearprint wrote it; use that version")
            }
            _ => None,
        }
    }

    /// Whether the reader of standard output has gone.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        match self {
            Self::Engine(Error::Io { path, source, .. }) => {
                path == Path::new(STDOUT) && source.kind() == std::io::ErrorKind::BrokenPipe
            }
            _ => false,
        }
    }
}
