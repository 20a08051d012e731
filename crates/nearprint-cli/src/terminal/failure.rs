//! Why a command failed: exit code, message and sometimes a hint.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use super::{STDOUT, interrupt, plural, print_message};
use nearprint::internal::is_file_of_database;
use nearprint::{Error, ErrorKind};
use nearprint_text::documents::{Kind, look_at, reader_of};
use nearprint_text::recipe::{Recipe, RecipeError};
use nearprint_text::{DatabaseProblem, Error as TextError, InputSetProblem, OutputProblem, ResumeProblem};

/// Exit code for I/O errors, and for databases that are missing, exist already or have a newer
/// format.
pub(crate) const FAILED: u8 = 1;
/// Exit code for a wrong command line.
pub(crate) const USAGE: u8 = 2;
const CORRUPT: u8 = 3;
const LOCKED: u8 = 4;
const BAD_INPUT: u8 = 5;
const NOT_NEAR: u8 = 6;
/// Exit code of `dedup` or `trim` with `-o - --db` whose reader has ended: the next run delivers the rest.
const NOT_DELIVERED: u8 = 7;
/// Exit code of `repair` that has made a database, and lost something or is not certain of it.
const INCOMPLETE: u8 = 9;
/// Exit code for a database that only a newer program can read, or write to.
const NEWER: u8 = 8;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of the engine.
    Engine(Error),
    /// An error of texts, documents or deduplication.
    Text(TextError),
    /// A wrong command line: an invalid value, or options that exclude each other.
    Usage(String),
    /// What another command is for, and that command.
    OtherCommand { why: String, hint: String },
    /// Malformed input, with the file and line.
    Input { place: String, why: String },
    /// A bad record among documents, with the file and line. `--rejects` would set it aside.
    Record { place: String, why: String },
    /// A damaged database. The damage is printed before this failure.
    Corrupt,
    /// The result of `compare`: the texts are not near-duplicates. Their distance is printed
    /// before.
    NotNearDuplicates,
    /// The reader of standard output has ended, and the documents that it did not get are not stored.
    NotDelivered,
    /// `repair` has made a database that lacks something. The losses are printed before this failure.
    Incomplete,
    /// `repair` found no readable row. The damage is printed before this failure.
    NothingRecovered(PathBuf),
    /// Far more results are expected than the command line allows. Nothing is printed.
    TooMuch { most: u64, expected: f64 },
    /// Ctrl-C after a number of records.
    Interrupted {
        records: u64,
        /// What to do, if a database has them.
        rerun: Option<&'static str>,
        /// The unfinished output that was left.
        partial: Option<PathBuf>,
    },
    /// Acts on files were not done. Each is named before.
    ActsFailed { failed: usize },
    /// A signal has stopped acts on files.
    ActsStopped { done: usize },
    /// A failure after `committed` rows had become durable.
    Partial { committed: u64, failure: Box<Failure> },
}

/// The problem with names of options instead of outputs.
fn with_options(problem: OutputProblem) -> OutputProblem {
    let option = |name: String| if name.starts_with("--") { name } else { format!("--{name}") };
    match problem {
        OutputProblem::IsInput { output } => OutputProblem::IsInput { output: option(output) },
        OutputProblem::SameFile { first, second, path } => {
            OutputProblem::SameFile { first: option(first), second: option(second), path }
        }
        other => other,
    }
}

/// What has changed since it was read or written is no fault of the command line.
fn exit_code_of(error: &TextError) -> u8 {
    match error {
        TextError::Compressed { .. } | TextError::InputSet(InputSetProblem::NothingCompared { .. }) => {
            BAD_INPUT
        }
        TextError::InputSet(InputSetProblem::ChangedBetweenPasses)
        | TextError::Output(
            OutputProblem::Truncated { .. }
            | OutputProblem::OtherContent { .. }
            | OutputProblem::PartialInUse { .. }
            | OutputProblem::PartialExists { .. },
        ) => FAILED,
        TextError::Resume(ResumeProblem::Output(error)) => match &**error {
            TextError::Engine(_) => FAILED,
            other => exit_code_of(other),
        },
        _ => USAGE,
    }
}

fn hint_of(error: &TextError) -> Option<&'static str> {
    match error {
        TextError::Output(OutputProblem::ChangedAfterEnd { .. } | OutputProblem::AlreadyRun { .. }) => Some(
            "--restart forgets what that run kept, and runs again; --against DB compares with it and stores nothing",
        ),
        TextError::Database(DatabaseProblem::NoKeys { .. }) => {
            Some("`nearprint create --store keys` makes a database that stores keys")
        }
        TextError::Database(DatabaseProblem::NoFeatures { .. }) => Some(
            "`nearprint create NEW.np --recipe minhash --store features` makes a database that stores features",
        ),
        TextError::Database(DatabaseProblem::NoRecipe { .. }) => Some(
            "`nearprint create NEW.np --recipe minhash --store keys` makes a database for documents; with --store texts, it \
             also keeps their texts",
        ),
        TextError::Resume(ResumeProblem::OtherRun { .. }) => {
            Some("rerun its command to resume, or give --restart to forget what it kept")
        }
        TextError::Resume(
            ResumeProblem::OtherRecords { .. } | ResumeProblem::OtherDecisions | ResumeProblem::Output(_),
        ) => Some("--restart forgets what the interrupted run has kept, and starts over"),
        TextError::Resume(ResumeProblem::Completed { .. }) => {
            Some("name another output, or repeat the command to replace this one")
        }
        _ => None,
    }
}

impl From<TextError> for Failure {
    fn from(error: TextError) -> Self {
        match error {
            TextError::Engine(error) => Self::Engine(error),
            TextError::Input { place, why } => Self::Input { place, why },
            TextError::Record { place, why } => Self::Record { place, why },
            TextError::Setting { name, why } => {
                let dashes = if name.len() == 1 { "-" } else { "--" };
                Self::Usage(format!("{dashes}{}: {why}", name.replace('_', "-")))
            }
            TextError::Output(problem) => Self::Text(with_options(problem).into()),
            other => Self::Text(other),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::NotADatabase { path } => no_database(path).unwrap_or(Self::Engine(error)),
            _ => Self::Engine(error),
        }
    }
}

/// What a path is that stands where a database should, if it is another input.
fn no_database(path: &Path) -> Option<Failure> {
    let found = look_at(path).ok()?;
    let mut names = path.read_dir().into_iter().flatten().flatten().map(|entry| entry.file_name()).peekable();
    // What is left of a database is no folder of files: it may be removed just now.
    let is_filled =
        names.peek().is_some() && !names.any(|name| name.to_str().is_some_and(is_file_of_database));
    let path = path.display();
    let (what, hint) = match found.map(|found| found.kind) {
        None if is_filled => (
            "a folder of files".to_string(),
            format!(
                "`nearprint scan {path}` compares its files; `nearprint fingerprint {path} --header | nearprint build \
                 NEW.np -` makes a database of them"
            ),
        ),
        Some(Kind::Records(records)) => (
            format!("a file of {}", records.name()),
            format!("`nearprint dedup {path} -o OUT` compares its records"),
        ),
        _ => return None,
    };
    Some(Failure::OtherCommand { why: format!("{path} is {what}, not a database"), hint })
}

/// Whether the first row of a file has no fingerprint, so that the file may have other content.
fn is_no_fingerprint(place: &str, why: &str) -> bool {
    // Records of documents have no such field unless it is asked for.
    let starts = ["no column named \"fingerprint\"", "no field \"fingerprint\"", "not a fingerprint "];
    place.ends_with(":1") && starts.iter().any(|start| why.starts_with(start))
}

impl From<RecipeError> for Failure {
    fn from(error: RecipeError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// A result of printing. That nobody reads any more is no reason to leave out what comes behind it.
pub(crate) fn unless_closed(printed: Result<(), Failure>) -> Result<(), Failure> {
    match printed {
        Err(failure) if failure.is_closed_pipe() => Ok(()),
        other => other,
    }
}

impl Failure {
    /// What needs a cargo feature that this program lacks.
    pub(crate) fn without_feature(name: &str) -> Self {
        Self::Usage(format!("this program was made without the feature `{name}`"))
    }

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
                print_message(format_args!("{program}: interrupted; nothing was written"))
            }
            Self::Engine(error) => print_message(format_args!("{program}: {error}")),
            Self::Text(error) => print_message(format_args!("{program}: {error}")),
            Self::Usage(why) | Self::OtherCommand { why, .. } => {
                print_message(format_args!("{program}: {why}"));
            }
            Self::Input { place, why } | Self::Record { place, why } => {
                print_message(format_args!("{program}: {place}: {why}"))
            }
            Self::Corrupt | Self::NotNearDuplicates | Self::NotDelivered | Self::Incomplete => {}
            Self::Interrupted { records, rerun, partial } => {
                let rerun = rerun.unwrap_or("no output is complete");
                let partial =
                    partial.as_ref().map(|partial| format!("; the output so far is {}", partial.display()));
                let partial = partial.unwrap_or_default();
                print_message(format_args!(
                    "{program}: interrupted after record {records}{partial}; {rerun}"
                ));
            }
            Self::NothingRecovered(path) => {
                print_message(format_args!("{program}: {}: no row could be recovered", path.display()));
            }
            Self::TooMuch { most, expected } => print_message(format_args!(
                "{program}: about {expected:.0} lines are expected, and --max-output is {most}"
            )),
            Self::ActsFailed { failed } => {
                print_message(format_args!("{program}: {} not done", plural(*failed as u64, "act")))
            }
            Self::ActsStopped { done } => {
                print_message(format_args!("{program}: interrupted after {}", plural(*done as u64, "act")))
            }
            Self::Partial { committed, failure } => {
                failure.print(program);
                if *committed > 0 {
                    let rows = plural(*committed, "row");
                    print_message(format_args!(
                        "{program}: {rows} of earlier batches were committed, and stay"
                    ));
                }
            }
        }
    }

    /// After a signal, the signal is why a command has failed: its input may have ended early.
    pub(crate) fn or_interrupted(self) -> Self {
        let is_other = self.exit_code() != interrupt::exit_code();
        if interrupt::check().is_break() && is_other { Error::Interrupted.into() } else { self }
    }

    fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::OtherCommand { .. } => USAGE,
            Self::Engine(error) => match error.kind() {
                kind if kind.is_argument() => USAGE,
                ErrorKind::Corrupt => CORRUPT,
                ErrorKind::NewerFeature => NEWER,
                ErrorKind::Locked => LOCKED,
                ErrorKind::Interrupted => interrupt::exit_code(),
                _ => FAILED,
            },
            Self::Text(error) => exit_code_of(error),
            Self::Corrupt => CORRUPT,
            Self::Input { .. } | Self::Record { .. } => BAD_INPUT,
            Self::NotNearDuplicates => NOT_NEAR,
            Self::NotDelivered => NOT_DELIVERED,
            Self::Incomplete => INCOMPLETE,
            Self::Interrupted { .. } | Self::ActsStopped { .. } => interrupt::exit_code(),
            Self::Partial { failure, .. } => failure.exit_code(),
            Self::NothingRecovered(_) | Self::TooMuch { .. } | Self::ActsFailed { .. } => FAILED,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Text(TextError::Compressed { program, .. }) => {
                Some(format!("`{program} FILE | nearprint … -` reads it").into())
            }
            Self::Text(TextError::InputSet(InputSetProblem::NothingCompared { first, .. })) => match *first {
                "images" => Some(
                    "`nearprint scan` compares images, `prune` acts on them, `fingerprint --recipe pdq` prints their fingerprints"
                        .into(),
                ),
                name @ ("tar" | "zip") => {
                    reader_of(name).map(|reader| format!("`{reader} | nearprint … -` reads its content").into())
                }
                name => reader_of(name).map(|reader| format!("`{reader}` writes the text of a {name}").into()),
            },
            Self::Text(TextError::Database(DatabaseProblem::NoTexts { .. })) => {
                Some(format!("`nearprint create NEW.np --recipe {} --store texts` makes a database that stores texts", Recipe::DEFAULT).into())
            }
            Self::Text(TextError::Database(DatabaseProblem::NoRecipe { .. })) => Some(
                format!(
                    "`nearprint create NEW.np --recipe {} --store keys` makes a database for documents; with --store texts, it \
                     also stores their texts",
                    Recipe::DEFAULT
                )
                .into(),
            ),
            Self::OtherCommand { hint, .. } => Some(hint.clone().into()),
            Self::Text(error) => hint_of(error).map(Into::into),
            Self::Input { place, why } if is_no_fingerprint(place, why) => Some(
                "`nearprint fingerprint INPUT --header | nearprint build DB -` makes fingerprints of records, texts and \
                 images; --fingerprint-field or --columns names a column of fingerprints"
                    .into(),
            ),
            Self::Partial { failure, .. } => failure.hint(),
            _ => self.fixed_hint().map(Into::into),
        }
    }

    fn fixed_hint(&self) -> Option<&'static str> {
        match self {
            Self::Engine(Error::NotADatabase { .. }) => Some("`nearprint build DB INPUT` creates one"),
            Self::Engine(Error::AlreadyExists { .. }) => {
                Some("databases are never overwritten; choose another name or remove the database first")
            }
            Self::Engine(Error::Corrupt(_)) => Some(
                "`nearprint verify DB` lists all damage; `nearprint repair DB NEW` recovers what can be read",
            ),
            Self::Engine(Error::DiskFull { .. }) => Some("free some space and try again; nothing was lost"),
            Self::Engine(Error::Mismatch { .. }) => Some(
                "build the runs with the -k, --layout, --recipe, --store keys and --store texts of the database",
            ),
            Self::Engine(Error::Overlap { .. }) => {
                Some("build the runs again with `--first-id N`, where N is above all other ids")
            }
            Self::Engine(Error::Width { .. }) => {
                Some("databases that are used together must have fingerprints of one width")
            }
            Self::Engine(Error::Locked { .. }) => Some(
                "only one process at a time can write; --wait SECONDS waits for it; readers are not blocked",
            ),
            Self::Engine(Error::Follower { .. }) => {
                Some("remove its file FOLLOWER to make it a database of its own")
            }
            Self::Engine(Error::NotRunsOnly { .. }) => {
                Some("`nearprint build --runs-only` builds runs to ingest")
            }
            // If the first record lacks a field, its name is probably wrong.
            Self::Record { place, why }
                if why.starts_with("no column ")
                    || why.starts_with("no field ")
                        && (place.ends_with(":1") || place.ends_with(" record 1")) =>
            {
                Some("`--text-field` and `--key-field` name the fields")
            }
            Self::Record { .. } => Some("`--rejects FILE` writes bad records to FILE and goes on"),
            Self::Engine(Error::NewerVersion { .. } | Error::NewerFeature { .. }) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(error: impl Into<TextError>) -> Failure {
        error.into().into()
    }

    #[test]
    fn regression_what_has_changed_meanwhile_is_no_wrong_command_line() {
        let truncated = || OutputProblem::Truncated { path: "out".into(), len_bytes: 9 };
        assert_eq!(failure(InputSetProblem::ChangedBetweenPasses).exit_code(), FAILED);
        assert_eq!(failure(truncated()).exit_code(), FAILED);
        let resumed = failure(ResumeProblem::Output(Box::new(truncated().into())));
        assert_eq!(resumed.exit_code(), FAILED);
        assert!(resumed.hint().is_some_and(|hint| hint.contains("--restart")));
        assert_eq!(failure(InputSetProblem::Empty).exit_code(), USAGE);
        let partial = Failure::Partial { committed: 0, failure: Box::new(resumed) };
        assert_eq!((partial.exit_code(), partial.hint().is_some()), (FAILED, true));
    }

    #[test]
    fn outputs_are_named_by_their_options() {
        let problem = |first: &str| OutputProblem::SameFile {
            first: first.into(),
            second: "rejects".into(),
            path: "out".into(),
        };
        for name in ["output", "--output"] {
            let Failure::Text(error) = failure(problem(name)) else { panic!("another failure") };
            assert_eq!(error.to_string(), "--output and --rejects are the same file, out");
        }
    }
}
