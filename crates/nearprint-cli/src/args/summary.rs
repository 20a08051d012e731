//! The option for the counts of a summary.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::GlobalArgs;
use super::scanned::refuse_scanned;
use nearprint_text::Result;
use nearprint_text::dedup::Outcome;
use nearprint_text::documents::{OutputFile, check_outputs};

/// The numbers of all that was read, for programs.
pub(crate) fn outcome_object(outcome: &Outcome) -> Map<String, Value> {
    let Outcome { kept, duplicates, copies, groups, skipped, rejected } = *outcome;
    let numbers = [
        ("read", Some(outcome.read())),
        ("kept", Some(kept)),
        ("duplicates", Some(duplicates)),
        ("copies", copies),
        ("near", outcome.near()),
        ("groups", groups),
        ("skipped", Some(skipped)),
        ("rejected", Some(rejected)),
    ];
    numbers.into_iter().map(|(name, number)| (name.to_string(), number.into())).collect()
}

#[derive(Debug, clap::Args)]
pub(crate) struct SummaryArgs {
    /// Also write the counts of the summary to FILE.json, as one JSON object
    #[arg(long, value_name = "FILE.json")]
    summary: Option<PathBuf>,
}

impl SummaryArgs {
    /// Where the counts go, if they are wanted.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.summary.as_deref()
    }

    /// Fails if the file is an input or lies in a database, or if its folder does not exist.
    pub(crate) fn check(&self, inputs: &[impl AsRef<Path>], databases: &[&Path]) -> Result<()> {
        let inputs: Vec<&Path> = inputs.iter().map(AsRef::as_ref).collect();
        check_outputs(self.path().map(|path| ("--summary", path)), &inputs, databases)
    }

    /// Fails if the file would take the place of one in a scanned folder, unless that has counts.
    pub(crate) fn check_scanned(&self, folders: &[PathBuf]) -> Result<()> {
        let has_counts =
            |start: &[u8]| start.starts_with(b"{") && start.windows(9).any(|bytes| bytes == b"\"seconds\"");
        refuse_scanned(("summary", self.path()), folders, has_counts)
    }

    /// Prints the summary of a command, and writes its counts if they are wanted.
    pub(crate) fn note(&self, global: GlobalArgs, text: fmt::Arguments<'_>, counts: Value) -> Result<()> {
        global.note(text);
        self.write(|| counts)
    }

    /// Writes an object, if it is wanted, to a file that takes its name when it is complete.
    pub(crate) fn write(&self, object: impl FnOnce() -> Value) -> Result<()> {
        let Some(path) = self.path() else { return Ok(()) };
        let file = OutputFile::create(path)?;
        writeln!(file.file(), "{}", object()).map_err(nearprint::Error::io("write", path))?;
        file.complete()
    }
}
