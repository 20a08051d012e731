//! `nearprint prune`

mod action;
mod list;

use std::path::PathBuf;

use super::files::{FilesArgs, Grouping, Mode};
use crate::args::{GlobalArgs, HeaderArgs, SummaryArgs};
use crate::terminal::failure::Failure;
use action::{ActionArgs, Listing};
pub(super) use action::{UNDO_LIST, note_leftovers, note_missing, refuse_undo_list};
use serde_json::{Map, Value};

/// Move, link or delete the duplicates that scan shows
///
/// Finds the same groups as `scan` with the same options, keeps the first file of each group, and acts on the others.
/// Nothing is overwritten. A file that changes while the command runs is left alone, and its name is printed. Before
/// the first act, all acts are written to a list, which `nearprint undo` reads.
///
/// With --list, it acts on the files that were chosen in a page of `scan --report` or `dedup --report`. Run it in the
/// folder in which the report was made: relative paths start there. A file that has changed since the report is left
/// alone, and its name is printed. The list has a header, then a line for each file: `path kept similarity state
/// kept_state`, with tabs between them. Lines may be removed. A state is the size, time and number of a file.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "nearprint prune [OPTIONS] <--move-to DIR|--hardlink|--reflink|--delete> <PATH>..."
)]
#[command(after_help = "\
Examples:
  nearprint prune articles --move-to gone --dry-run
  nearprint prune articles --move-to gone && nearprint undo gone/nearprint-undo.tsv
  nearprint prune photos --copies --hardlink
  nearprint prune --list ~/Downloads/nearprint-chosen.tsv --move-to gone")]
#[command(mut_arg("header", |header| header.requires("dry_run")))]
#[command(mut_arg("no_header", |header| header.requires("dry_run")))]
pub(super) struct Args {
    /// Folders and files, at least one unless --list is given. They are read as by `scan`
    #[arg(value_name = "PATH", required_unless_present = "list")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    action: ActionArgs,
    /// Print what would be done, and do nothing. The columns are act, path, moved_to, similarity, copy (whether both
    /// files have the same bytes) and kept
    #[arg(short = 'n', long, help_heading = "Action, one of")]
    dry_run: bool,
    /// Act on the files chosen in a report: FILE is the list that the page saves
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "k", "similarity", "images", "quality", "rotated", "picture_db", "keep", "reference", "min_words", "min_features", "max_size", "exclude", "ext", "no_ignore", "encoding", "pre", "pre_glob", "recipe", "shingle"], help_heading = "Which files")]
    list: Option<PathBuf>,
    #[command(flatten)]
    files: FilesArgs,
    /// With --dry-run: print one JSON object for each act. It has whole paths
    #[arg(long, requires = "dry_run", help_heading = "Output options")]
    json: bool,
    #[command(flatten, next_help_heading = "Output options")]
    header: HeaderArgs,
    #[command(flatten, next_help_heading = "Output options")]
    summary: SummaryArgs,
}

impl Args {
    pub(super) fn run(mut self, global: GlobalArgs) -> Result<(), Failure> {
        if let Some(list) = &self.list {
            let plan = self.action.plan((&[], self.summary.path()), self.files.copies, true, self.dry_run)?;
            let (files, num_changed) = list::read(list, global)?;
            let read: Vec<_> = files.stamps.keys().chain([list]).collect();
            self.summary.check(&read, &[])?;
            let counts = plan.run(&files, &[], self.dry(), global)?.with_failed(num_changed);
            self.summary.write(|| counts.object())?;
            return if self.dry_run { Ok(()) } else { counts.check() };
        }
        if self.action.needs_copies() {
            self.files = self.files.only_copies()?;
        }
        let read = self.files.read_for(&self.paths);
        self.files.check_outputs([("--summary", self.summary.path())], &read)?;
        self.summary.check_scanned(&read)?;
        let keep_is_chosen = self.files.keep_is_chosen();
        let read = (&*read, self.summary.path());
        let plan = self.action.plan(read, self.files.copies, keep_is_chosen, self.dry_run)?;
        let mode = Mode { grouping: Grouping::Centres, acts: true, is_dry: self.dry_run };
        let found = self.files.find(("prune", &self.paths), mode, global)?;
        found.note(global);
        let acted = plan.run(&found.duplicates(), found.temporary(), self.dry(), global)?;
        let mut object: Map<String, Value> = found.object();
        object.insert("acted".into(), acted.object());
        self.summary.write(|| Value::Object(object))?;
        if self.dry_run { Ok(()) } else { acted.check() }
    }

    /// How a dry run prints acts.
    fn dry(&self) -> Option<Listing> {
        self.dry_run.then(|| Listing { has_header: self.header.is_wanted(), is_json: self.json })
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command};

    use super::*;

    /// `--list` took `--exclude`, `--ext` and others without a word, and acted on files that these left out.
    #[test]
    fn regression_a_list_refuses_every_option_that_it_does_not_use() {
        let command = Args::augment_args(Command::new("prune"));
        let list = command.get_arguments().find(|arg| arg.get_id() == "list").unwrap();
        let refused = command.get_arg_conflicts_with(list);
        for id in FilesArgs::augment_args(Command::new("files")).get_arguments().map(clap::Arg::get_id) {
            let is_refused = refused.iter().any(|other| other.get_id() == id);
            assert_eq!(is_refused, id != "copies", "{id}");
        }
    }
}
