//! Which files of folders are read: options of every command that reads folders.

use std::path::PathBuf;

use nearprint_text::documents::{FolderRules, LeftOut, Reader, escape};

use super::{DecodingArgs, GlobalArgs};
use crate::terminal::failure::Failure;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Which files")]
pub(crate) struct FolderArgs {
    /// Skip files and folders that match GLOB; may be repeated. GLOB is a pattern as in the .gitignore of an input
    /// folder
    #[arg(short = 'E', long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Read only files with these extensions: md,txt; a.md.gz has the extension md, too
    #[arg(short, long, value_name = "LIST", value_delimiter = ',')]
    ext: Vec<String>,
    /// Also read licences, lock files, and what .gitignore and .ignore name
    #[arg(short = 'I', long)]
    no_ignore: bool,
    #[command(flatten)]
    pub(crate) decoding: DecodingArgs,
}

impl FolderArgs {
    /// The files of folders that are read.
    pub(crate) fn rules(&self) -> FolderRules {
        let mut rules = FolderRules::default();
        rules.no_ignore = self.no_ignore;
        rules.exclude.clone_from(&self.exclude);
        rules.extensions.clone_from(&self.ext);
        rules
    }
}

/// The number of files that were skipped.
pub(crate) fn num_skipped(left_out: &LeftOut) -> u64 {
    left_out.files().iter().map(|(count, _)| count).sum()
}

/// The files that were skipped, by the reason.
pub(crate) fn skipped_object(left_out: &LeftOut) -> Value {
    let counts = left_out.files().into_iter().map(|(count, what)| (what.to_string(), json!(count)));
    Value::Object(counts.collect::<Map<_, _>>())
}

/// Tells what was skipped of the inputs that a reader has read, and fails if that is everything.
pub(crate) fn check_read(global: GlobalArgs, reader: &Reader) -> Result<(), Failure> {
    note_skipped(global, reader.left_out(), &[], 0);
    Ok(reader.left_out().check_compared(reader.position().records)?)
}

/// Prints what was found and not compared. `further` are numbers of files or records, and why they are skipped;
/// `in_groups` is how many of all are in groups of copies nevertheless.
pub(crate) fn note_skipped(global: GlobalArgs, left_out: &LeftOut, further: &[(u64, &str)], in_groups: u64) {
    for (why, paths) in left_out.named() {
        note_skipped_paths(global, why, paths);
    }
    for why in left_out.unreadable.iter().chain(&left_out.rejected).chain(&left_out.unwritten) {
        global.note(format_args!("warning: {why}"));
    }
    let unread = left_out.unread();
    if !unread.is_empty() {
        global.note(format_args!("warning: formats that cannot be decoded: {}", unread.join(", ")));
    }
    note_encodings(global, left_out);
    left_out.notes.iter().for_each(|note| global.note(format_args!("{note}")));
    let mut counts = left_out.files();
    counts.extend(further.iter().filter(|(count, _)| *count > 0));
    if !counts.is_empty() {
        let listed: Vec<String> = counts.iter().map(|(count, what)| format!("{count} {what}")).collect();
        let listed = listed.join(", ");
        match in_groups {
            0 => global.note(format_args!("skipped: {listed}")),
            some => {
                global.note(format_args!("not compared: {listed}; {some} of these are in groups of copies"))
            }
        }
    }
    let others = left_out.others();
    if !others.is_empty() {
        global.note(format_args!("not counted: {}", others.join(", ")));
    }
}

/// With --verbose, prints the names of files that were skipped for one reason.
pub(crate) fn note_skipped_paths(global: GlobalArgs, why: &str, paths: &[PathBuf]) {
    for path in paths.iter().filter(|_| global.verbose) {
        global.note(format_args!("skipped, {why}: {}", escape(&path.to_string_lossy())));
    }
}

/// Prints how many texts were read in which encodings other than UTF-8.
pub(crate) fn note_encodings(global: GlobalArgs, left_out: &LeftOut) {
    let encodings: Vec<String> =
        left_out.encodings.iter().map(|(encoding, count)| format!("{count} {encoding}")).collect();
    if !encodings.is_empty() {
        global.note(format_args!("texts in other encodings than UTF-8: {}", encodings.join(", ")));
    }
}
