//! What `scan` shows and `prune` acts on: groups of near-duplicate files.

mod compare;
mod features;
mod groups;
mod read;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use indicatif::DecimalBytes;
use nearprint::Options;
use nearprint_text::dedup::{DuplicateFile, DuplicateFiles, Keep, Outcome};
use nearprint_text::documents::{Decoding, LeftOut, check_outputs};
use nearprint_text::recipe::{Candidates, Recipe};
use serde_json::{Map, Value, json};

use crate::args::values;
use crate::args::{
    DocumentNearArgs, FolderArgs, GlobalArgs, PictureArgs, PictureNear, RecipeArgs, exactly, limit,
    note_skipped, note_skipped_paths, num_skipped, of_texts, outcome_object, skipped_object,
};
use crate::commands::fingerprint::fewer_than;
use crate::input::refused::{refuse_databases, refuse_inside_database, refuse_lone_records};
use crate::pictures::{HAS_DECODERS, PictureMemory, PictureReader, num_several, with_several};
use crate::terminal::failure::Failure;
use crate::terminal::progress::Bars;
use compare::{Comparer, Decides};
pub(crate) use groups::{FileGroup, GroupMember, Grouping};
#[cfg(test)]
pub(crate) use read::{Content, TextFile};
use read::{FileReader, Limits, Listed, PictureRules, read_all, read_none};
pub(crate) use read::{GroupKind, GroupedFile, ScannedFiles};

#[derive(Debug, clap::Args)]
pub(crate) struct FilesArgs {
    #[command(flatten, next_help_heading = "What counts as near")]
    near: DocumentNearArgs,
    /// Find only byte-identical copies. All files take part but those with ignored names, whatever they contain and however
    /// large they are
    #[arg(long, conflicts_with_all = ["k", "similarity", "recipe", "min_words", "min_features", "max_size", "picture_db"], help_heading = "What counts as near")]
    pub(crate) copies: bool,
    /// How near images have to be. At most 15 of 256 bits differ for strict, 31 for default and 47 for loose; none
    /// skips images
    #[arg(long, value_name = "HOW", value_enum, default_value_t, help_heading = "What counts as near")]
    images: PictureNear,
    #[command(flatten)]
    pictures: PictureArgs,
    /// Remember images in DB, so that each is decoded once. They are known by path, size and time. DB is created if
    /// missing. Images of other folders in DB are compared first, and always stay
    #[arg(id = "picture_db", long = "db", value_name = "DB", help_heading = "Which files")]
    db: Option<PathBuf>,
    /// Which file of a group is kept [default: best]. WHICH is best, oldest, newest, largest, shortest-path, first or
    /// last. best is the file with the most words or pixels, then the oldest file, the shortest path. first and last
    /// are in the order of paths
    #[arg(long, value_name = "WHICH", value_parser = keep_of_files, help_heading = "Which files")]
    keep: Option<Keep>,
    /// Never touch files below DIR, and compare with them first; may be repeated. DIR may be inside a PATH
    #[arg(long, value_name = "DIR", help_heading = "Which files")]
    reference: Vec<PathBuf>,
    /// Skip texts of fewer words. With -k or simhash, give 30: fingerprints of shorter texts are unreliable
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Which files")]
    min_words: usize,
    /// Skip texts of fewer features. Features are what the recipe compares: shingles or keywords, repetitions included.
    /// Only texts with the same words are near a text without features
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Which files")]
    min_features: usize,
    /// Compare only the bytes of files that are larger than SIZE. Each thread holds one file in memory
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = values::size, help_heading = "Which files")]
    max_size: usize,
    #[command(flatten)]
    folder: FolderArgs,
    #[command(flatten)]
    recipe: RecipeArgs,
}

/// Parses which file is kept.
fn keep_of_files(text: &str) -> Result<Keep, String> {
    match text.parse::<Keep>() {
        Ok(keep) if keep.of_files().is_some() || matches!(keep, Keep::First | Keep::Last) => Ok(keep),
        _ => Err("not best, oldest, newest, largest, shortest-path, first or last".into()),
    }
}

/// Groups of near files below some paths.
pub(crate) struct Found {
    pub(crate) scanned: ScannedFiles,
    /// In the order in which they are shown.
    pub(crate) groups: Vec<FileGroup>,
    /// The folder that shown paths are relative to.
    pub(crate) root: Option<PathBuf>,
    pub(crate) recipe: Recipe,
    /// When files are near, in words.
    pub(crate) near: String,
    /// When pictures are near, in words.
    pub(crate) near_pictures: String,
    /// Whether similarities of texts are exact.
    pub(crate) is_by_similarity: bool,
    pub(crate) pictures: PictureReader,
    num_decoded: u64,
    /// Whether bytes alone were compared.
    only_copies: bool,
    /// Why texts and pictures are too short or too plain.
    too_small: [String; 2],
    took: Duration,
}

/// How files are grouped, and what for.
#[derive(Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) grouping: Grouping,
    /// Whether pictures that a database remembers have to be there.
    pub(crate) acts: bool,
    /// Whether the database of pictures stays as it is.
    pub(crate) is_dry: bool,
}

impl FilesArgs {
    /// All files and folders that are read for some paths.
    pub(crate) fn read_for(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        [paths, &self.reference].concat()
    }

    /// Checks that outputs, each with the name of its option, replace neither each other nor a file that is read: one
    /// that is named here, the stop words or the command of --pre.
    pub(crate) fn check_outputs<'a>(
        &self,
        outputs: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>,
        read: &[PathBuf],
    ) -> Result<(), Failure> {
        let outputs = outputs.into_iter().filter_map(|(name, path)| Some((name, path?)));
        let options = [self.recipe.stop_words_file(), self.folder.decoding.program()];
        let read: Vec<&Path> =
            read.iter().map(PathBuf::as_path).chain(options.into_iter().flatten()).collect();
        Ok(check_outputs(outputs, &read, &[])?)
    }

    /// Compares bytes alone, as for acts that need copies.
    pub(crate) fn only_copies(self) -> Result<Self, Failure> {
        let Self { near, db, recipe, .. } = &self;
        let is_more_than_bytes = [
            (near.is_given(), "a limit of nearness"),
            (db.is_some(), "--db"),
            (recipe.is_given(), "a recipe"),
        ];
        match is_more_than_bytes.into_iter().find(|(is_given, _)| *is_given) {
            None => Ok(Self { copies: true, ..self }),
            Some((_, name)) => Err(Failure::Usage(format!(
                "--hardlink and --reflink compare the bytes of files, and cannot be used with {name}"
            ))),
        }
    }

    /// Whether files of other folders may be kept.
    fn has_others(&self) -> bool {
        self.db.is_some() || !self.reference.is_empty()
    }

    /// Which file of a group is kept.
    fn keep(&self) -> &Keep {
        self.keep.as_ref().unwrap_or(&Keep::Best)
    }

    /// Whether the user has said which file is kept.
    pub(crate) fn keep_is_chosen(&self) -> bool {
        self.keep.is_some()
    }

    /// Finds the groups of near files below some paths.
    pub(crate) fn find(
        &self,
        (command, paths): (&str, &[PathBuf]),
        mode: Mode,
        global: GlobalArgs,
    ) -> Result<Found, Failure> {
        if paths.iter().any(|path| path.as_os_str() == "-") {
            let why = format!(
                "{command} compares files, and - is standard input; `nearprint dedup -` reads records"
            );
            return Err(Failure::Usage(why));
        }
        refuse_databases(command, paths)?;
        if !self.copies {
            refuse_lone_records(command, paths)?;
        }
        let started = Instant::now();
        let recipe = self.near.chosen(self.recipe.recipe()?);
        let (k, decides) = self.decides(&recipe)?;
        let bars = global.bars();
        let options = global.options().progress(bars.clone());
        let pictures = PictureReader::new(self.max_size as u64, self.pictures.rotated);
        let mut memory = self.memory(mode.is_dry, &options)?;
        let (folders, decoding) = (self.read_for(paths), self.folder.decoding.decoding()?);
        let mut scanned = bars.run_cancellable(|| {
            let listed = Listed::below(paths, &self.reference, self.folder.rules())?;
            let elsewhere = memory.known.elsewhere(&folders, &listed.identities(), mode.acts);
            let mut scanned = if self.copies {
                read_none(listed)
            } else {
                let reader = self.reader((&recipe, &decides), &pictures, &memory, decoding);
                read_all(listed, &reader, &mut memory, (options.get_threads(), &bars))?
            };
            scanned.pictures.extend(elsewhere);
            Ok::<_, nearprint_text::Error>(scanned)
        })?;
        let num_decoded = memory.num_decoded;
        memory.finish(&folders)?;
        let near = (&recipe, (k, &decides));
        let groups =
            bars.run_cancellable(|| self.groups(&mut scanned, near, mode.grouping, (&options, &bars)))?;
        let near = match &decides {
            _ if self.copies => "the same bytes".into(),
            Decides::Features(candidates) => exactly(candidates.least()),
            Decides::Texts(similarity, candidates) => {
                of_texts(*similarity, candidates.is_none().then_some(k))
            }
            _ => limit(&recipe, k),
        };
        let near_pictures = with_several(self.near_pictures(), &scanned.pictures);
        Ok(Found {
            groups,
            root: root_of(paths).filter(|_| !self.has_others()).map(Path::to_path_buf),
            near,
            near_pictures,
            is_by_similarity: self.copies || matches!(decides, Decides::Features(_)),
            pictures,
            num_decoded,
            only_copies: self.copies,
            too_small: [
                format!("of fewer than {}", fewer_than(self.min_words.max(1), self.min_features)),
                format!("images below --min-detail {}", self.pictures.quality),
            ],
            took: started.elapsed(),
            scanned,
            recipe,
        })
    }

    /// What reads files.
    fn reader(
        &self,
        (recipe, decides): (&Recipe, &Decides),
        pictures: &PictureReader,
        memory: &PictureMemory,
        decoding: Decoding,
    ) -> FileReader {
        let mut fingerprinter = recipe.any_fingerprinter();
        if matches!(decides, Decides::Features(_)) {
            fingerprinter = fingerprinter.with_features();
        }
        let limits =
            Limits { min_words: self.min_words, min_features: self.min_features, max_bytes: self.max_size };
        let pictures = self.images.k().map(|_| PictureRules {
            reader: pictures.clone(),
            least_quality: self.pictures.quality,
            is_rotated: self.pictures.rotated,
            known: memory.known.clone(),
        });
        FileReader::new(fingerprinter, limits, self.near.similarity(), decoding, pictures)
    }

    /// All groups, in the order in which they are shown.
    fn groups(
        &self,
        scanned: &mut ScannedFiles,
        (recipe, near): (&Recipe, (u32, &Decides)),
        grouping: Grouping,
        (options, bars): (&Options, &Bars),
    ) -> nearprint_text::Result<Vec<FileGroup>> {
        let (order, threads) = ((grouping, self.keep()), options.get_threads());
        let mut left_out = std::mem::take(&mut scanned.counts.left_out);
        let mut groups = groups::find(&Comparer::new(scanned, recipe, near), order, options, bars)?;
        if let Some(k) = self.images.k() {
            groups.extend(groups::find_pictures(scanned, k, order, options)?);
        }
        // Those that were read have been counted.
        let counted = if self.copies { &mut left_out } else { &mut LeftOut::default() };
        groups.extend(groups::find_others(scanned, counted, self.keep(), (threads, bars))?);
        scanned.counts.left_out = left_out;
        groups.retain(|group| group.members.iter().any(|member| !scanned.stays(group.kind, member.file)));
        groups::sort(&mut groups);
        Ok(groups)
    }

    /// When pictures are near, in words.
    fn near_pictures(&self) -> String {
        let turned = if self.pictures.rotated { ", turned and mirrored, too" } else { "" };
        format!("PDQ within {} of 256 bits{turned}", self.images.k().unwrap_or_default())
    }

    /// The largest distance of fingerprints, and what decides within it.
    fn decides(&self, recipe: &Recipe) -> Result<(u32, Decides), Failure> {
        let (k, similarity) = self.near.of(recipe)?;
        let candidates = match similarity {
            Some(similarity) => similarity.candidates(recipe),
            None => recipe.candidates(recipe.near_similarity()),
        };
        let candidates = candidates.filter(|_| k.is_none());
        let estimated = k.unwrap_or(recipe.default_k());
        let distance = candidates.as_ref().map_or(estimated, Candidates::distance);
        Ok(match (similarity.filter(|similarity| similarity.reads_texts(recipe)), candidates) {
            (Some(similarity), candidates) => (distance, Decides::Texts(similarity, candidates)),
            (None, Some(candidates)) => (distance, Decides::Features(candidates)),
            (None, None) => (distance, Decides::Fingerprints),
        })
    }

    /// What is known of pictures.
    fn memory(&self, is_dry: bool, options: &Options) -> Result<PictureMemory, Failure> {
        let Some(db) = &self.db else { return Ok(PictureMemory::default()) };
        if self.images.k().is_none() {
            return Err(Failure::Usage("--db remembers images, but --images none skips them".into()));
        }
        if !HAS_DECODERS {
            return Err(Failure::without_feature("images"));
        }
        refuse_inside_database("--db", db)?;
        PictureMemory::open(db, options, self.pictures.rotated, is_dry)
    }
}

/// The folder that printed paths are relative to.
fn root_of(paths: &[PathBuf]) -> Option<&Path> {
    let [root] = paths else { return None };
    root.is_dir().then_some(root)
}

impl Found {
    /// The file of a member.
    pub(crate) fn file(&self, group: &FileGroup, member: &GroupMember) -> &dyn GroupedFile {
        self.scanned.file(group.kind, member.file)
    }

    /// The members that could go, with their groups.
    fn spare(&self) -> impl Iterator<Item = (&FileGroup, &GroupMember)> {
        let members =
            self.groups.iter().flat_map(|group| group.members.iter().map(move |member| (group, member)));
        members.filter(|(_, member)| member.is_spare)
    }

    /// The files that could go, sorted by path, for acts.
    pub(crate) fn duplicates(&self) -> DuplicateFiles {
        let mut files = DuplicateFiles::default();
        for (group, member) in self.spare() {
            let [file, kept] = [member, &group.members[0]].map(|member| self.file(group, member));
            for file in [file, kept] {
                // A file that a database remembers is read for it.
                if !files.stamps.contains_key(file.path()) {
                    files.stamps.extend(file.stamp().map(|stamp| (file.path().to_path_buf(), stamp)));
                }
            }
            files.duplicates.push(DuplicateFile {
                path: file.path().to_path_buf(),
                kept: kept.path().to_path_buf(),
                similarity: member.similarity,
                is_copy: member.is_exact,
            });
        }
        files.duplicates.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }

    /// Files that an interrupted act has left.
    pub(crate) fn temporary(&self) -> &[PathBuf] {
        &self.scanned.counts.left_out.temporary
    }

    fn spare_bytes(&self) -> u64 {
        self.groups.iter().map(|group| group.spare_bytes).sum()
    }

    /// What became of the files below the paths that were given.
    pub(crate) fn outcome(&self) -> Outcome {
        let counts = &self.scanned.counts;
        let (mut duplicates, mut copies) = (0, 0);
        for (_, member) in self.spare() {
            duplicates += 1;
            copies += u64::from(member.is_exact);
        }
        // Members of groups are compared, whatever they are.
        let too_small = (counts.short.len() + counts.plain.len()) as u64;
        let skipped = num_skipped(&counts.left_out) + too_small - self.num_copied_others();
        Outcome {
            kept: counts.files - skipped - duplicates,
            duplicates,
            copies: Some(copies),
            groups: Some(self.groups.len() as u64),
            skipped,
            rejected: 0,
        }
    }

    /// Prints what became of the files, what is near, and what was skipped.
    pub(crate) fn note(&self, global: GlobalArgs) {
        let (counts, outcome) = (&self.scanned.counts, self.outcome());
        let freed = match outcome.duplicates {
            0 => String::new(),
            _ => format!("; {} to save", DecimalBytes(self.spare_bytes())),
        };
        global.note(format_args!("{}{freed}", outcome.verdict("file")));
        let rules = match (counts.texts, counts.pictures) {
            (_, 0) => self.near.clone(),
            (0, _) => format!("images: {}", self.near_pictures),
            _ => format!("{}; images: {}", self.near, self.near_pictures),
        };
        global.note(format_args!("near: {rules}"));
        if global.verbose {
            let (megabytes, seconds) = (counts.len_bytes as f64 / 1e6, self.took.as_secs_f64());
            global.note(format_args!("{megabytes:.1} MB in {seconds:.1} s"));
        }
        if counts.featureless > 0 {
            let count = counts.featureless;
            global.note(format_args!(
                "warning: {count} of the files have no feature of the recipe; only their copies are found"
            ));
        }
        let [too_short, too_plain] = &self.too_small;
        let further = [(too_short, &counts.short), (too_plain, &counts.plain)];
        for (why, paths) in further {
            note_skipped_paths(global, why, paths);
        }
        let further = further.map(|(why, paths)| (paths.len() as u64, why.as_str()));
        note_skipped(global, &counts.left_out, &further, self.num_copied_others());
        if !counts.plain.is_empty() && !global.verbose {
            global.note(format_args!(
                "--verbose names images with little detail, --min-detail 0 compares them"
            ));
        }
    }

    /// The files in groups of copies that are neither texts nor images, where those are compared.
    fn num_copied_others(&self) -> u64 {
        if self.only_copies {
            return 0;
        }
        let groups = self.groups.iter().filter(|group| group.kind == GroupKind::Others);
        let members = groups.flat_map(|group| group.members.iter());
        members.filter(|member| !self.scanned.stays(GroupKind::Others, member.file)).count() as u64
    }

    /// The numbers of files, as one object.
    pub(crate) fn object(&self) -> Map<String, Value> {
        let counts = &self.scanned.counts;
        let further = json!({
            "freed": self.spare_bytes(),
            "compared_texts": counts.texts,
            "compared_images": counts.pictures,
            "decoded_images": self.num_decoded,
            "several_frames": num_several(&self.scanned.pictures[self.scanned.inputs(GroupKind::Pictures)]),
            "compared_bytes": counts.len_bytes,
            "rule": self.near,
            "rule_of_images": self.near_pictures,
            "too_short": counts.short.len(),
            "too_plain": counts.plain.len(),
            "skipped_files": skipped_object(&counts.left_out),
            "seconds": self.took.as_secs_f64(),
        });
        let mut object = outcome_object(&self.outcome());
        if let Value::Object(further) = further {
            object.extend(further);
        }
        object
    }
}
