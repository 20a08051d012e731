//! `nearprint dedup --only-exact`: byte-identical copies among the files of folders.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::DecimalBytes;
use nearprint::width_of;
use nearprint_text::dedup::{DuplicateFile, DuplicateFiles, Keep};
use nearprint_text::documents::{FileStamp, InputFile, LeftOut, find_copies, list_files};
use serde_json::json;

use super::Args;
use crate::args::{GlobalArgs, GroupWriter, left_out_object, note_left_out, write_groups};
use crate::commands::action::ActCounts;
use crate::pictures::is_any_picture;
use crate::report::{Histogram, Report, ReportGroup, ReportMember};
use crate::terminal::failure::Failure;
use crate::terminal::plural;

/// The files that are compared, and their groups.
struct Found {
    /// Those of the inputs come first.
    files: Vec<InputFile>,
    /// What comes after these stays.
    num_inputs: usize,
    left_out: LeftOut,
    /// The files that are found in the inputs, with those that are left out.
    num_files: u64,
    /// Files with equal bytes: the kept one, then the copies that are not.
    groups: Vec<(usize, Vec<usize>)>,
}

impl Args {
    /// Finds byte-identical copies, writes lists of them, and acts on them.
    pub(super) fn run_copies(self, global: GlobalArgs) -> Result<(), Failure> {
        let started = Instant::now();
        self.check_only_exact()?;
        self.check_outputs_of_files()?;
        let read = [&self.inputs[..], &self.reference, &self.against].concat();
        let plan = self.action.plan(&read, self.keep.is_some())?;
        let found = self.find_copies(global)?;
        let stamps = found.files.iter().filter_map(|file| file.stamp);
        self.check_overwrites_none(stamps)?;
        let duplicates = found.duplicates();
        self.write_lists(found.inputs(), &duplicates, plan.is_some())?;
        let threads = global.options().get_threads();
        self.report.write(|| found.head(&self.inputs), |out| found.write_groups(out, threads))?;
        found.summarize(global, started);
        global.note(format_args!("stays: {}", super::stays(self.keep.as_ref())));
        note_left_out(global, &found.left_out, found.num_files, &[]);
        let temporary = &found.left_out.temporary;
        let acted = plan.map(|plan| plan.run(&duplicates, temporary, self.dry_run, global)).transpose()?;
        self.summary.write(|| {
            json!({
                "files": found.num_files,
                "groups": found.groups.len(),
                "exact_copies": duplicates.duplicates.len(),
                "copied_bytes": found.bytes_of_copies(),
                "left_out_files": left_out_object(&found.left_out),
                "acted": acted.map(ActCounts::object),
                "seconds": started.elapsed().as_secs_f64(),
            })
        })?;
        acted.filter(|_| !self.dry_run).map_or(Ok(()), ActCounts::check)
    }

    /// Refuses options that say what is near, or how records are written.
    fn check_only_exact(&self) -> Result<(), Failure> {
        let is_database = |path: &PathBuf| path.is_dir() && width_of(path).is_ok();
        let is_stdin = |path: &PathBuf| path == Path::new("-");
        let refused = [
            (self.db.is_some(), "--db"),
            (self.against.iter().any(is_database), "a database as --against"),
            (self.inputs.iter().any(is_stdin), "standard input"),
            (self.shards.is_some(), "--shards"),
            (self.unit.is_some(), "--unit"),
            (self.annotate, "--annotate"),
            (self.cluster_size, "--cluster-size"),
            (self.confirm.is_some(), "--confirm"),
            (self.evidence.is_some(), "--evidence"),
            (self.near.is_given(), "a limit of nearness"),
            (self.recipe.is_anything_given(), "a recipe"),
            (self.min_tokens.is_some() || self.min_features > 0, "a least number of tokens or features"),
        ];
        match refused.into_iter().find(|(is_given, _)| *is_given) {
            None => Ok(()),
            Some((_, name)) => {
                let how = "--only-exact, --hardlink and --reflink compare the bytes of files";
                Err(Failure::Usage(format!("{how}, and cannot be used with {name}")))
            }
        }
    }

    fn find_copies(&self, global: GlobalArgs) -> Result<Found, Failure> {
        let keep = self.keep.as_ref().unwrap_or(&Keep::Best);
        if keep.field().is_some() {
            return Err(Failure::Usage("--keep: files have no fields".into()));
        }
        let mut rules = self.documents.folder_rules();
        let stays = [&self.reference[..], &self.against[..]].concat();
        let (mut kept, _) = list_files(&stays, &rules)?;
        rules.read_elsewhere = stays;
        let (mut files, mut left_out) = list_files(&self.inputs, &rules)?;
        if self.images.is_some() {
            let others = files.extract_if(.., |file| !is_any_picture(&file.path));
            others.for_each(|file| left_out.add_kind(LeftOut::NO_PICTURE, &file.path));
            kept.retain(|file| is_any_picture(&file.path));
        }
        let is_left_out: u64 = left_out.files().iter().map(|(count, _)| count).sum();
        let (num_inputs, num_files) = (files.len(), files.len() as u64 + is_left_out);
        files.append(&mut kept);
        let bars = global.bars();
        let threads = global.options().get_threads();
        let groups = bars.run_cancellable(|| {
            find_copies(&files, &mut left_out, threads, |work, done, total| {
                Ok(bars.show(work, done, Some(total))?)
            })
        })?;
        let within = self.against.is_empty() || self.within || !self.reference.is_empty();
        let kept_of = |group: Vec<usize>| {
            let (inputs, stays): (Vec<_>, Vec<_>) = group.into_iter().partition(|&at| at < num_inputs);
            let among = if stays.is_empty() && within { &inputs } else { &stays };
            let kept = among.iter().copied().min_by_key(|&at| place(keep, &files[at], at))?;
            let copies: Vec<usize> = inputs.into_iter().filter(|&at| at != kept).collect();
            (!copies.is_empty()).then_some((kept, copies))
        };
        let groups = groups.into_iter().filter_map(kept_of).collect();
        Ok(Found { files, num_inputs, left_out, num_files, groups })
    }
}

/// The place of a file among files with equal bytes, which are equally long: the first is kept. `at` is its place in the
/// list.
fn place(keep: &Keep, file: &InputFile, at: usize) -> (Option<u128>, usize) {
    let rank = |keep: &Keep| file.stamp.and_then(|stamp| keep.rank_of_file(0, &stamp, &file.path));
    match keep {
        Keep::First => (None, at),
        Keep::Last => (None, usize::MAX - at),
        Keep::Longest | Keep::Shortest => (rank(&Keep::Best), at),
        keep => (rank(keep), at),
    }
}

impl Found {
    /// The paths of the inputs.
    fn inputs(&self) -> impl Iterator<Item = &Path> {
        self.files[..self.num_inputs].iter().map(|file| file.path.as_path())
    }

    /// The copies that are not kept, in input order.
    fn duplicates(&self) -> DuplicateFiles {
        let mut copies: Vec<(usize, usize)> = Vec::new();
        let mut stamps: HashMap<PathBuf, FileStamp> = HashMap::new();
        for (kept, others) in &self.groups {
            copies.extend(others.iter().map(|&other| (other, *kept)));
            for at in others.iter().chain([kept]) {
                let file = &self.files[*at];
                stamps.extend(file.stamp.map(|stamp| (file.path.clone(), stamp)));
            }
        }
        copies.sort_unstable();
        let path = |at: usize| self.files[at].path.clone();
        let duplicate =
            |(at, kept)| DuplicateFile { path: path(at), kept: path(kept), similarity: 1.0, is_copy: true };
        DuplicateFiles { duplicates: copies.into_iter().map(duplicate).collect(), stamps }
    }

    fn num_copies(&self) -> u64 {
        self.groups.iter().map(|(_, copies)| copies.len() as u64).sum()
    }

    /// The size of the copies that are not kept.
    fn bytes_of_copies(&self) -> u64 {
        self.groups.iter().map(|group| self.bytes_of(group)).sum()
    }

    fn bytes_of(&self, (_, copies): &(usize, Vec<usize>)) -> u64 {
        copies.iter().filter_map(|&copy| self.files[copy].size_bytes).sum()
    }

    fn summarize(&self, global: GlobalArgs, started: Instant) {
        global.note(format_args!(
            "{}, {:.1} s: {} of {}, {}",
            plural(self.num_files, "file"),
            started.elapsed().as_secs_f64(),
            match self.num_copies() {
                1 => "1 byte-identical copy".to_string(),
                count => format!("{count} byte-identical copies"),
            },
            plural(self.groups.len() as u64, "file"),
            DecimalBytes(self.bytes_of_copies()),
        ));
    }

    /// The part of a report before its groups.
    fn head(&self, inputs: &[PathBuf]) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let paths: Vec<String> = inputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let facts = vec![
            fact("Folders", paths.join(", ")),
            fact("Files", self.num_files.to_string()),
            fact("Copies", format!("{}, {}", self.num_copies(), DecimalBytes(self.bytes_of_copies()))),
            fact("Groups", self.groups.len().to_string()),
            fact("Near", "the same bytes".into()),
        ];
        let histograms = vec![Histogram::of_sizes(self.groups.iter().map(|(_, copies)| copies.len() + 1))];
        let root = Some(String::new());
        Report { title: "nearprint dedup --only-exact".into(), facts, histograms, root, ..Report::default() }
    }

    /// Writes the groups, those with the most bytes beside the kept file first.
    fn write_groups(&self, out: &mut GroupWriter, threads: usize) -> io::Result<()> {
        let mut groups: Vec<_> = self.groups.iter().collect();
        groups.sort_by_key(|group| Reverse(self.bytes_of(group)));
        write_groups(out, threads, groups.len(), |at, _| {
            let (kept, copies) = groups[at];
            let copy = |&copy: &usize| ReportMember {
                distance: Some(0),
                similarity: Some(1.0),
                is_exact: true,
                ..self.shown(copy)
            };
            let others = copies.iter().map(copy).collect();
            ReportGroup { kept: self.shown(*kept), others, num_unlisted: 0 }
        })
    }

    fn shown(&self, at: usize) -> ReportMember {
        let file = &self.files[at];
        ReportMember {
            name: file.path.to_string_lossy().into_owned(),
            bytes: file.size_bytes,
            stamp: file.path.to_str().and(file.stamp),
            ..ReportMember::default()
        }
    }
}
