//! `nearprint scan`

mod compare;
mod features;
mod files;
mod groups;
mod print;
mod report;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::args::values;
use crate::args::{
    FolderArgs, GlobalArgs, NearArgs, PictureArgs, PictureNear, RecipeArgs, ReportArgs, SummaryArgs, exactly,
    left_out_object, limit, note_left_out,
};
use crate::commands::fingerprint::fewer_than;
use crate::input::refused::{refuse_databases, refuse_lone_records};
use crate::pictures::{PictureReader, num_several, with_several};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::plural;
use crate::terminal::progress::Bars;
use compare::{Comparer, Decides};
use files::{FileReader, Limits, ScannedFiles};
use groups::{FileGroup, Grouping};
use indicatif::DecimalBytes;
use nearprint::{Error, Options};
use nearprint_text::dedup::Confirm;
use nearprint_text::recipe::Recipe;
use print::{GroupPrinter, Style};
use report::ScanReport;
use serde_json::{Value, json};

/// Find near-duplicate files under folders
///
/// Prints groups of files, largest savings first. A group begins with the number of files and the
/// bytes that could be saved. A line for each file follows: the similarity with the first file in percent, the
/// path (relative to PATH if that is one folder), and the size on disk. Where fingerprints decide (-k, --confirm,
/// simhashes, pictures), the distance in bits is in place of the similarity. A group of exact
/// copies is one line: their number, the bytes, and the first path. Each file of a group is near the first
/// one, and the others are what `dedup` of the same folders removes. Whole files are
/// compared: similar sections of different files are not found. Compressed texts are read.
///
/// In JSON, `exact` says that a file has the content of the first one; of the first one, that another one has it.
///
/// Pictures (JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC) are compared with each other by PDQ fingerprints. The
/// first one of a group has the most pixels, then the most bytes; lines of pictures end with a column
/// WIDTHxHEIGHT.
///
/// Files that are not compared so are compared byte for byte: other binary files, those that are too large or
/// damaged, plain pictures and texts without a word. Groups of copies show them, too. Bytes that a hard link keeps
/// do not count as savings.
///
/// Empty files, links, the folders .git, .hg and .svn, what .gitignore names, and files on the
/// list of --ignore are left out.
///
/// To act on it: `nearprint dedup` of the same folders writes the list of files to keep.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint scan .
  nearprint scan ~/.cargo/registry/src --similarity 0.8
  nearprint scan articles --report near.html
  nearprint scan ~/Pictures --report near.html --rotated
  nearprint scan articles --min-tokens 100 --json | head -1
  nearprint scan articles -0 | xargs -0 ls -l")]
pub(super) struct Args {
    /// Folders and files
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    #[command(flatten, next_help_heading = "Duplicate options")]
    near: NearArgs,
    /// Connect two files only if their texts are near, too: jaccard:X, contained:X (of one in the
    /// other) or edit:X, as for `dedup`.
    /// Files of more than 1,048,576 characters are too large for edit. Each thread holds two files
    /// in memory
    #[arg(long, value_name = "MEASURE", help_heading = "Duplicate options")]
    confirm: Option<Confirm>,
    /// Leave out files of fewer than N tokens; those without any always. As in `dedup`, which acts on what is
    /// shown, none by default: similarities are exact however short texts are. With -k or simhashes, 30 leaves out
    /// texts whose fingerprints are unreliable
    #[arg(long, value_name = "N", default_value = "0", help_heading = "File options")]
    min_tokens: usize,
    /// Leave out files of fewer than N features, which are what the recipe compares: shingles, or
    /// keywords. Only files with the same tokens are near a file without features
    #[arg(long, value_name = "N", default_value = "0", help_heading = "File options")]
    min_features: usize,
    /// Leave out files of more than SIZE bytes; each thread holds one file in memory
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = values::size, help_heading = "File options")]
    max_size: usize,
    #[command(flatten)]
    folder: FolderArgs,
    /// How near pictures have to be
    #[arg(long, value_name = "HOW", value_enum, default_value_t, num_args = 0..=1, default_missing_value = "default", require_equals = true, help_heading = "Picture options")]
    images: PictureNear,
    /// Leave out pictures
    #[arg(long, conflicts_with = "images", help_heading = "Picture options")]
    no_images: bool,
    #[command(flatten)]
    pictures: PictureArgs,
    /// Show a chain of near files as one group: each is near some other one, and the ends may differ in
    /// everything. By default, each file of a group is near the first one
    #[arg(long, help_heading = "Duplicate options")]
    chains: bool,
    /// Print all files of groups of exact copies, and of large groups on a terminal
    #[arg(long, help_heading = "Output options")]
    all: bool,
    /// Print the paths of the files that are near no other one, and no groups
    #[arg(short = 'v', long, conflicts_with_all = ["all", "limit", "header", "json"], help_heading = "Output options")]
    invert_match: bool,
    /// Print only paths, each as it is and followed by a zero byte: of the files that could go, or with -v of those
    /// near no other one. For `xargs -0`
    #[arg(short = '0', long, conflicts_with_all = ["all", "header", "json"], help_heading = "Output options")]
    null: bool,
    /// Print only the first N groups; all are counted
    #[arg(long, value_name = "N", help_heading = "Output options")]
    limit: Option<usize>,
    /// Begin with a line of the names of the columns
    #[arg(long, help_heading = "Output options")]
    header: bool,
    /// Print one JSON object for each group, with all files and their whole paths
    #[arg(long, help_heading = "Output options")]
    json: bool,
    #[command(flatten, next_help_heading = "Output options")]
    report: ReportArgs,
    #[command(flatten, next_help_heading = "Output options")]
    summary: SummaryArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

impl Args {
    /// The largest distance of fingerprints, and what decides within it.
    fn decides(&self, recipe: &Recipe) -> Result<(u32, Decides), Failure> {
        let (k, similarity) = self.near.of_documents(recipe)?;
        let estimated = self.near.k(recipe.bands(), recipe.width())?.unwrap_or(recipe.default_k());
        let candidates = recipe.candidates(similarity.unwrap_or(recipe.near_similarity()));
        Ok(match (self.confirm, candidates, k) {
            (Some(confirm), ..) => (estimated, Decides::Texts(confirm)),
            (None, Some(candidates), None) => (candidates.distance(), Decides::Features(candidates)),
            _ => (estimated, Decides::Fingerprints),
        })
    }

    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        refuse_databases("scan", &self.paths)?;
        refuse_lone_records(&self.paths)?;
        let recipe = self.near.chosen(self.recipe.recipe()?);
        let (k, decides) = self.decides(&recipe)?;
        let paths: Vec<&Path> = self.paths.iter().map(PathBuf::as_path).collect();
        self.report.check(&paths, &[])?;
        self.summary.check(&paths, &[])?;
        self.report.check_scanned(&self.paths)?;
        self.summary.check_scanned(&self.paths)?;
        let started = Instant::now();
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        let limits =
            Limits { min_tokens: self.min_tokens, min_features: self.min_features, max_bytes: self.max_size };
        let mut fingerprinter = recipe.any_fingerprinter();
        if matches!(decides, Decides::Features(_)) {
            fingerprinter = fingerprinter.with_features();
        }
        let pictures = PictureReader::new(self.max_size as u64, self.pictures.rotated);
        let with_pictures = (!self.no_images).then(|| (pictures.clone(), self.pictures.quality));
        let reader =
            FileReader::new(fingerprinter, limits, self.confirm, self.folder.encoding, with_pictures);
        let rules = self.folder.rules();
        let scanned = files::scan_all(&self.paths, &rules, &reader, options.get_threads(), &bars)
            .inspect_err(|_| bars.clear())?;
        let groups = self.groups(&Comparer::new(&scanned, &recipe, (k, &decides)), &options, &bars);
        bars.clear();
        let groups = groups?;
        let mut out = OutputStream::stdout();
        let root = root_of(&self.paths);
        let near_pictures = with_several(self.near_pictures(), &scanned.pictures);
        let near = match &decides {
            Decides::Features(candidates) => exactly(candidates.least()),
            _ => limit(&recipe, k),
        };
        let report = ScanReport {
            paths: &self.paths,
            root,
            recipe: &recipe,
            near: &near,
            near_pictures: &near_pictures,
            scanned: &scanned,
            groups: &groups,
            pictures: &pictures,
        };
        self.report.write(|| report.head(), |out| report.write_groups(out, options.get_threads()))?;
        self.print((&scanned, &groups), matches!(decides, Decides::Features(_)), root, &mut out)?;
        global.note(format_args!("{}", summary(&scanned, &groups, started.elapsed())));
        global.note(format_args!("near: {near}"));
        if !scanned.pictures.is_empty() {
            global.note(format_args!("near pictures: {near_pictures}"));
        }
        if scanned.num_featureless > 0 {
            let count = scanned.num_featureless;
            global.note(format_args!(
                "warning: {count} of the files: without a feature of the recipe; only copies of them are found"
            ));
        }
        let too_short =
            format!("of fewer than {}", fewer_than(limits.min_tokens.max(1), limits.min_features));
        let too_plain = format!("pictures of a quality below {}", self.pictures.quality);
        let further = [(scanned.num_short, &*too_short), (scanned.num_plain, &*too_plain)];
        note_left_out(global, &scanned.left_out, scanned.num_files(), &further);
        Ok(self.summary.write(|| object(&scanned, &groups, &near, started.elapsed()))?)
    }
}

/// The numbers of files scanned and grouped, as one object.
fn object(scanned: &ScannedFiles, groups: &[FileGroup], near: &str, time: Duration) -> Value {
    let members = || groups.iter().flat_map(|group| &group.members);
    json!({
        "files": scanned.num_files(),
        "compared_texts": scanned.texts.len(),
        "compared_pictures": scanned.pictures.len(),
        "several_frames": num_several(&scanned.pictures),
        "compared_bytes": scanned.len_bytes,
        "groups": groups.len(),
        "exact_groups": groups.iter().filter(|group| group.is_exact).count(),
        "grouped_files": members().count(),
        "spare_files": members().filter(|member| member.is_spare).count(),
        "spare_bytes": groups.iter().map(|group| group.spare_bytes).sum::<u64>(),
        "near": near,
        "too_short": scanned.num_short,
        "too_plain": scanned.num_plain,
        "left_out_files": left_out_object(&scanned.left_out),
        "seconds": time.as_secs_f64(),
    })
}

impl Args {
    /// All groups, in the order in which they are shown.
    fn groups(
        &self,
        comparer: &Comparer<'_>,
        options: &Options,
        bars: &Bars,
    ) -> nearprint_text::Result<Vec<FileGroup>> {
        let scanned = comparer.scanned();
        let grouping = if self.chains { Grouping::Chains } else { Grouping::Centres };
        let mut groups = groups::find(comparer, grouping, options, bars)?;
        groups.extend(groups::find_pictures(&scanned.pictures, self.images.k(), grouping, options)?);
        groups.extend(groups::find_others(scanned, options.get_threads(), bars)?);
        groups::sort(&mut groups);
        Ok(groups)
    }

    /// Prints the groups, or paths.
    fn print(
        &self,
        (scanned, groups): (&ScannedFiles, &[FileGroup]),
        is_by_similarity: bool,
        root: Option<&Path>,
        out: &mut OutputStream,
    ) -> Result<(), Error> {
        let shown = &groups[..self.limit.unwrap_or(usize::MAX).min(groups.len())];
        if self.invert_match {
            let paths = print::ungrouped(scanned, groups);
            out.write(|out| print::paths(out, &paths, self.null))?;
        } else if self.null {
            let paths = print::spare(scanned, shown);
            out.write(|out| print::paths(out, &paths, self.null))?;
        } else {
            let mut printer = GroupPrinter::new(Style::of_stdout(self.json), self.all, root);
            if self.header {
                out.write(|out| printer.write_header(out, is_by_similarity))?;
            }
            out.write(|out| shown.iter().try_for_each(|group| printer.write(out, group, scanned)))?;
        }
        out.flush()
    }

    /// When pictures are near, in words.
    fn near_pictures(&self) -> String {
        let turned = if self.pictures.rotated { ", turned and mirrored, too" } else { "" };
        format!("PDQ within {} of 256 bits{turned}", self.images.k())
    }
}

/// The folder that printed paths are relative to.
fn root_of(paths: &[PathBuf]) -> Option<&Path> {
    let [root] = paths else { return None };
    root.is_dir().then_some(root)
}

/// The numbers of files scanned and grouped.
fn summary(scanned: &ScannedFiles, groups: &[FileGroup], time: Duration) -> String {
    let num_grouped: usize = groups.iter().map(|group| group.members.len()).sum();
    let num_exact = groups.iter().filter(|group| group.is_exact).count();
    let spare_bytes: u64 = groups.iter().map(|group| group.spare_bytes).sum();
    format!(
        "{}, {:.1} MB in {:.1} s: {} in {}, {num_exact} of them of exact copies; {} could go",
        plural(scanned.num_files(), "file"),
        scanned.len_bytes as f64 / 1e6,
        time.as_secs_f64(),
        plural(num_grouped as u64, "near-duplicate"),
        plural(groups.len() as u64, "group"),
        DecimalBytes(spare_bytes),
    )
}
