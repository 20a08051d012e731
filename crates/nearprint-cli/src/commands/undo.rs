//! `nearprint undo`

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nearprint::Error;
use nearprint_text::acts::{
    Bounds, FileAct, Undoer, Undone, escaped, read_list, recover, resolved, temporary_beside,
};
use serde_json::json;

use super::prune::{UNDO_LIST, note_leftovers, note_missing, refuse_undo_list};
use crate::args::{GlobalArgs, SummaryArgs};
use crate::terminal::failure::Failure;
use crate::terminal::{interrupt, plural};

/// Reverse what prune did
///
/// Reads the undo list of `prune` from its end to its beginning. Moved files are moved back, hard links become files of
/// their own again, and deleted byte-identical copies are copied from the file that was kept, with their modes, times
/// and extended attributes. Nothing is overwritten. A file is restored only if its content is the one in the list. The
/// command names what it cannot undo, and the exit code is then 1. It may be repeated.
///
/// A list may touch files below the current folder, its own folder, and each --root. A list that names any other file
/// is refused as a whole.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint prune articles --move-to gone && nearprint undo gone/nearprint-undo.tsv")]
pub(super) struct Args {
    /// The undo list
    #[arg(value_name = "FILE")]
    list: PathBuf,
    /// Let the list also touch files below DIR; may be repeated
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
    /// Let the list also restore owners, and make files setuid or setgid. Give it only for a list that you wrote, and
    /// that nobody else could change
    #[arg(long)]
    trust: bool,
    #[command(flatten)]
    summary: SummaryArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        self.summary.check(&[&self.list], &[])?;
        self.summary.path().map_or(Ok(()), refuse_undo_list)?;
        if self.list.is_dir() {
            let (folder, first) = (self.list.display(), self.list.join(UNDO_LIST));
            let why = match first.is_file() {
                true => format!("{folder}: a folder; its undo list is {}", first.display()),
                false => format!("{folder}: a folder, not an undo list"),
            };
            return Err(Failure::Usage(why));
        }
        let acts = read_list(&self.list)?;
        let look = Error::io("look at", &self.list);
        let bounds = Bounds::new(&self.list, &self.root, self.trust).map_err(look)?;
        if let Some(why) = bounds.refusal(&acts).map_err(Error::io("look at", &self.list))? {
            return Err(Failure::Usage(format!("{}: {why}", self.list.display())));
        }
        self.check_summary(&acts)?;
        interrupt::set_cancellable(true);
        let leftovers = recover(temporary_of(&acts).iter().map(PathBuf::as_path));
        note_leftovers(global, &leftovers);
        let mut counts = Counts { failed: leftovers.stays.len(), ..Counts::default() };
        let mut keep_going = interrupt::check;
        let mut undoer = Undoer::new(&acts, &bounds, leftovers.back.into_iter().collect(), &mut keep_going);
        for act in acts.iter().rev() {
            if interrupt::check().is_break() {
                return Err(Failure::ActsStopped { done: counts.restored });
            }
            counts.count(act, undoer.undo(act), global);
        }
        interrupt::set_cancellable(false);
        self.finish(counts, global)
    }

    /// Checks that the counts replace no file that is restored, and none that it is restored from.
    fn check_summary(&self, acts: &[FileAct]) -> Result<(), Failure> {
        let Some(summary) = self.summary.path() else { return Ok(()) };
        let place = |path: &Path| resolved(path).map_err(Error::io("look at", path));
        let own = place(summary)?;
        for path in acts.iter().flat_map(|act| [act.path(), act.other()]) {
            if place(path)? == own {
                let (summary, list) = (summary.display(), self.list.display());
                let why = format!("--summary {summary}: is a file of {list}; choose another name");
                return Err(Failure::Usage(why));
            }
        }
        Ok(())
    }

    fn finish(&self, counts: Counts, global: GlobalArgs) -> Result<(), Failure> {
        let Counts { restored, nothing, failed } = counts;
        let rest = if nothing > 0 { format!("; {nothing} had nothing to undo") } else { String::new() };
        let object = json!({ "restored": restored, "nothing_to_undo": nothing, "failed": failed });
        self.summary.note(
            global,
            format_args!("{} restored{rest}", plural(restored as u64, "file")),
            object,
        )?;
        for other in self.other_lists() {
            global.note(format_args!("another undo list: {}", escaped(&other)));
        }
        if failed > 0 { Err(Failure::ActsFailed { failed }) } else { Ok(()) }
    }
}

impl Args {
    /// The lists that other calls of `prune` have written beside this one.
    fn other_lists(&self) -> Vec<PathBuf> {
        let Some((folder, own)) = self.list.parent().zip(self.list.file_name()) else { return Vec::new() };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let is_list = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("nearprint-undo") && name.ends_with(".tsv")
        };
        let names = entries.map(|entry| entry.file_name()).filter(|name| is_list(name) && name != own);
        let mut lists: Vec<PathBuf> = names.map(|name| self.list.with_file_name(name)).collect();
        lists.sort();
        lists
    }
}

/// The temporary folders that acts may have left.
fn temporary_of(acts: &[FileAct]) -> Vec<PathBuf> {
    temporary_beside(acts.iter().flat_map(|act| [act.path(), act.other()]))
}

/// What became of acts.
#[derive(Default)]
struct Counts {
    restored: usize,
    nothing: usize,
    /// What was not restored, and what lacks something.
    failed: usize,
}

impl Counts {
    fn count(&mut self, act: &FileAct, undone: io::Result<Undone>, global: GlobalArgs) {
        match undone {
            Ok(Undone::Yes(missing)) => {
                self.restored += 1;
                self.failed += usize::from(!missing.is_empty());
                note_missing(global, act.path(), &missing);
            }
            Ok(Undone::Nothing) => self.nothing += 1,
            Err(error) => {
                self.failed += 1;
                let path = escaped(act.path());
                global.note(format_args!("warning: {path}: {error}"));
            }
        }
    }
}
