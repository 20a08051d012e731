//! `nearprint scan`

mod print;
mod report;

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use super::files::{FilesArgs, Found, Grouping, Mode};
use crate::args::{GivenArgs, GlobalArgs, HeaderArgs, ReportArgs, SummaryArgs};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::quoted;
use nearprint::Error;
use print::{GroupPrinter, Style};
use report::ScanReport;
use serde_json::Value;

/// Show groups of near-duplicate files; changes nothing
///
/// Each file of a group is near the group's first file. `prune` keeps the first file and acts on the others. Whole files
/// are compared: similar sections of different files are not found. Compressed texts are read.
///
/// In a pipe or a file, the output is a table with a line for each file. Its columns are group, outcome, similarity,
/// bytes and path. Groups are numbered from 1, and the group that saves most comes first. The outcome of a file is kept,
/// copy (the same bytes as the kept file) or near. The similarity is that with the first file, from 0 to 1. The bytes
/// are the size on disk.
///
/// A terminal shows a heading for each group: the bytes that could be saved and the number of files. Paths are relative
/// to PATH if that is one folder. Where fingerprints decide (-k, simhashes, images), lines begin with the distance in
/// bits. A group of copies is one line.
///
/// In JSON, `copy` is true for a copy of the first file, and for the first file if it has a copy.
///
/// Images (JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC) are compared with each other by PDQ fingerprints. Their similarity is
/// the share of equal bits.
///
/// All other files are compared byte for byte: binary files, files that are too large or damaged, plain images and texts
/// without a word. Copies among them are groups, too. Bytes that a hard link keeps do not count as savings.
///
/// `scan` skips empty files, links, the folders .git, .hg and .svn, licences, lock files, and what .gitignore names.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint scan
  nearprint scan ~/Photos --rotated --report photos.html
  nearprint scan articles -s 0.9 -e md,txt
  nearprint scan articles --paths -0 | xargs -0 ls -l
  nearprint prune articles -s 0.9 -e md,txt --move-to gone --dry-run    # acts on it")]
pub(super) struct Args {
    #[command(flatten)]
    given: GivenArgs,
    /// Folders and files. Texts are compared with texts, images with images
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    files: FilesArgs,
    /// Join groups whose files are near each other. Each file is near some other one, and the ends may differ in
    /// everything. By default, each file of a group is near the first one
    #[arg(long, conflicts_with = "copies", help_heading = "What counts as near")]
    chains: bool,
    /// Print every path of every group. Without it, a terminal shows groups of copies and large groups in part
    #[arg(long, help_heading = "Output options")]
    all: bool,
    /// Print only the paths of duplicates, which could go
    #[arg(id = "only_paths", long = "paths", conflicts_with_all = ["all", "header", "json"], help_heading = "Output options")]
    only_paths: bool,
    /// Print only the paths of files that are near no other one. Of files that are compared byte for byte, these
    /// are those without a copy
    #[arg(long, conflicts_with_all = ["all", "limit", "header", "json", "only_paths"], help_heading = "Output options")]
    unique: bool,
    /// End paths with a zero byte, for `xargs -0`. With --paths or --unique, also for names with line feeds
    #[arg(short = '0', long, help_heading = "Output options")]
    null: bool,
    /// Print only the N groups with the most to save; all are counted
    #[arg(long, value_name = "N", help_heading = "Output options")]
    limit: Option<usize>,
    #[command(flatten, next_help_heading = "Output options")]
    header: HeaderArgs,
    /// Print one JSON object for each group. It has all files and their whole paths
    #[arg(long, help_heading = "Output options")]
    json: bool,
    #[command(flatten, next_help_heading = "Output options")]
    report: ReportArgs,
    #[command(flatten, next_help_heading = "Output options")]
    summary: SummaryArgs,
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        if self.null && !self.only_paths && !self.unique {
            return Err(Failure::Usage("-0 needs --paths or --unique".into()));
        }
        let read = self.files.read_for(&self.paths);
        let outputs = [("--report", self.report.path()), ("--summary", self.summary.path())];
        self.files.check_outputs(outputs, &read)?;
        self.report.check_scanned(&read)?;
        self.summary.check_scanned(&read)?;
        let grouping = if self.chains { Grouping::Chains } else { Grouping::Centres };
        let mode = Mode { grouping, acts: false, is_dry: false };
        let found = self.files.find(("scan", &self.paths), mode, global)?;
        let report = ScanReport { paths: &self.paths, found: &found };
        let threads = global.options().get_threads();
        self.report.write(|| report.head(), |out| report.write_groups(out, threads))?;
        self.print(&found)?;
        found.note(global);
        if let Some(report) = self.report.path() {
            global.note(format_args!("wrote {}", report.display()));
        }
        if io::stderr().is_terminal() && found.outcome().duplicates > 0 {
            let paths: Vec<String> = self.paths.iter().map(|path| quoted(path)).collect();
            // What decides which files stay has to be the same.
            let others = self.given.has_other_than(&["paths", "report", "summary", "limit"]);
            let options = if others { "with the same options, " } else { "" };
            let command = format!("nearprint prune {} --move-to gone --dry-run", paths.join(" "));
            global.note(format_args!("next: {options}{command}"));
        }
        Ok(self.summary.write(|| Value::Object(found.object()))?)
    }

    /// Prints the groups, or paths.
    fn print(&self, found: &Found) -> Result<(), Error> {
        let mut out = OutputStream::stdout();
        let groups = &found.groups;
        let shown = &groups[..self.limit.unwrap_or(usize::MAX).min(groups.len())];
        if self.unique {
            out.write(|out| print::paths(out, &print::ungrouped(found), self.null))?;
        } else if self.only_paths {
            out.write(|out| print::paths(out, &print::spare(found, shown), self.null))?;
        } else {
            let mut printer = GroupPrinter::new(Style::of_stdout(self.json), self.all, found.root.as_deref());
            if self.header.is_wanted() && !self.json {
                out.write(|out| printer.write_header(out, found.is_by_similarity))?;
            }
            out.write(|out| shown.iter().try_for_each(|group| printer.write(out, group, &found.scanned)))?;
        }
        out.flush()
    }
}
