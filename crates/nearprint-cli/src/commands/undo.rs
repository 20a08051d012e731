//! `nearprint undo`

use std::fs;
use std::path::PathBuf;

use nearprint::Error;

use crate::args::{GlobalArgs, SummaryArgs};
use crate::file_act::{FileAct, Undone};
use crate::terminal::failure::Failure;
use crate::terminal::plural;
use serde_json::json;

/// Undo what `dedup` has done to files
///
/// Reads the undo list of `dedup --move-to`, --hardlink or --delete, from its end to its beginning. Moved
/// files are moved back, hard links become files of their own again, and deleted byte-identical copies are copied
/// from the file that was kept, with their modes and times. Nothing is overwritten. What cannot be undone is named, and
/// the exit code is then 1; the command may be repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint dedup articles --move-to gone && nearprint undo gone/nearprint-undo.tsv")]
pub(super) struct Args {
    /// The undo list
    #[arg(value_name = "FILE")]
    list: PathBuf,
    #[command(flatten)]
    summary: SummaryArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        self.summary.check(&[&self.list], &[])?;
        let lines = fs::read_to_string(&self.list).map_err(Error::io("read", &self.list))?;
        let mut acts = Vec::new();
        for (line, number) in lines.lines().zip(1..) {
            acts.push(FileAct::parse(line).ok_or_else(|| Failure::Input {
                place: format!("{}:{number}", self.list.display()),
                why: "is no line of an undo list".into(),
            })?);
        }
        let (mut undone, mut nothing, mut failed) = (0, 0, Vec::new());
        for act in acts.iter().rev() {
            match act.undo() {
                Ok(Undone::Yes) => undone += 1,
                Ok(Undone::Nothing) => nothing += 1,
                Err(error) => {
                    global.note(format_args!("warning: {}: {error}", act.path.display()));
                    failed.push(Error::io("restore", &act.path)(error));
                }
            }
        }
        let rest = if nothing > 0 { format!("; {nothing} had nothing to undo") } else { String::new() };
        let counts = json!({ "restored": undone, "nothing_to_undo": nothing, "failed": failed.len() });
        self.summary.note(global, format_args!("{} restored{rest}", plural(undone, "file")), counts)?;
        failed.pop().map_or(Ok(()), |error| Err(error.into()))
    }
}
