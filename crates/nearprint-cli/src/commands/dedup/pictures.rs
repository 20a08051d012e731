//! `nearprint dedup --images`: near-duplicate pictures of folders.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::DecimalBytes;
use nearprint::internal as parallel;
use nearprint::internal::file::Identity;
use nearprint::{Options, Width};
use nearprint_text::dedup::{DuplicateFile, DuplicateFiles, Keep};
use nearprint_text::documents::{FileStamp, FolderRules, InputFile, LeftOut, check_outputs, list_files};
use nearprint_text::internal::WrittenFormat;
use nearprint_text::{Error, OutputProblem, Result};
use serde_json::json;

use super::Args;
use super::picture_report::{Near, PictureReport};
use crate::args::{GlobalArgs, PictureNear, left_out_object, note_left_out};
use crate::commands::action::{ActCounts, Plan, refuse_inside_database};
use crate::pictures::{
    Candidate, Grouping, HAS_DECODERS, KnownPictures, MAX_PICTURE_BYTES, PictureFile, PictureReader,
    PictureStore, best_first, group, num_several, with_several,
};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::plural;
use crate::terminal::progress::Bars;
use crate::terminal::results::escape;

/// The pictures among the files.
#[derive(Default)]
struct Found {
    pictures: Vec<PictureFile>,
    left_out: LeftOut,
    num_files: u64,
    /// Those that were decoded now.
    num_decoded: u64,
    /// All files.
    ids: Vec<Identity>,
}

impl Args {
    /// Finds near-duplicate pictures, writes lists of them, and acts on them.
    pub(super) fn run_pictures(self, near: PictureNear, global: GlobalArgs) -> Result<(), Failure> {
        if !HAS_DECODERS {
            return Err(Failure::without_feature("images"));
        }
        let started = Instant::now();
        let k = self.near.k(None, Width::W256)?.unwrap_or(near.k());
        self.check_outputs_of_files()?;
        let plan = self.plan_for_pictures()?;
        let bars = global.bars();
        let options = self.writer.options(global).progress(bars.clone());
        let (mut store, known) = self.open_pictures(&options)?;
        let is_rotated = self.pictures.rotated;
        let reader = PictureReader::new(MAX_PICTURE_BYTES, is_rotated);
        let finder =
            Finder { reader, known: &known, is_rotated, threads: options.get_threads(), bars: &bars };
        let (inputs, references) = self.find_pictures(&finder, store.as_mut())?;
        bars.clear();
        let folders = [&self.inputs[..], &self.reference[..]].concat();
        let here: HashSet<_> =
            [&inputs, &references].iter().flat_map(|found| found.ids.iter().copied()).collect();
        let elsewhere = known.elsewhere(&folders, &here, plan.is_some());
        let (num_inputs, num_files) = (inputs.pictures.len(), inputs.num_files);
        let mut pictures = inputs.pictures;
        pictures.extend(references.pictures);
        let num_here = pictures.len();
        self.check_overwrites_none(pictures.iter().map(|picture| picture.stamp))?;
        pictures.extend(elsewhere);
        let near = self.near_pictures(&pictures, num_inputs, k, &options)?;
        let gone = known.gone(&pictures[..num_here], &folders);
        store.map_or(Ok(()), |store| store.finish(&gone))?;
        let files = duplicate_files(&pictures, num_here, &near);
        let paths = pictures[..num_inputs].iter().map(|picture| picture.path.as_path());
        self.write_lists(paths, &files, plan.is_some())?;
        let near_words = self.near_words(k, &pictures[..num_inputs]);
        let report = PictureReport {
            inputs: &self.inputs,
            pictures: &pictures,
            num_inputs,
            near: &near,
            near_words: &near_words,
            reader: &finder.reader,
        };
        self.report.write(|| report.head(), |out| report.write_groups(out, options.get_threads()))?;
        let num_decoded = inputs.num_decoded + references.num_decoded;
        summarize(global, &pictures[..num_inputs], &near, num_decoded, started);
        global.note(format_args!("near: {near_words}"));
        self.note_plain(global, &pictures[..num_inputs]);
        note_left_out(global, &inputs.left_out, num_files, &[]);
        let left_out = left_out_object(&inputs.left_out);
        let temporary = &inputs.left_out.temporary;
        let acted = plan.map(|plan| plan.run(&files, temporary, self.dry_run, global)).transpose()?;
        self.summary.write(|| {
            json!({
                "pictures": num_inputs,
                "decoded": num_decoded,
                "near": near.len(),
                "exact_copies": files.duplicates.iter().filter(|file| file.is_copy).count(),
                "near_bytes": bytes_of(&pictures, &near),
                "distance": k,
                "several_frames": num_several(&pictures[..num_inputs]),
                "not_compared": self.num_plain(&pictures[..num_inputs]),
                "left_out_files": left_out,
                "acted": acted.map(ActCounts::object),
                "seconds": started.elapsed().as_secs_f64(),
            })
        })?;
        acted.filter(|_| !self.dry_run).map_or(Ok(()), ActCounts::check)
    }

    /// What the database remembers, and where to store more unless this is a dry run.
    fn open_pictures(&self, options: &Options) -> Result<(Option<PictureStore>, KnownPictures), Failure> {
        let Some(db) = &self.db else { return Ok(Default::default()) };
        let store = (!self.dry_run).then(|| PictureStore::open(db, options)).transpose()?;
        Ok((store, KnownPictures::of(db, options, self.pictures.rotated)?))
    }

    /// The pictures of the inputs, and those of `--reference`.
    fn find_pictures(
        &self,
        finder: &Finder<'_>,
        mut store: Option<&mut PictureStore>,
    ) -> Result<(Found, Found)> {
        let mut rules = self.documents.folder_rules();
        let references = finder.find(&self.reference, &rules, store.as_deref_mut())?;
        rules.read_elsewhere.clone_from(&self.reference);
        Ok((finder.find(&self.inputs, &rules, store)?, references))
    }

    fn plan_for_pictures(&self) -> Result<Option<Plan>, Failure> {
        if self.keep.as_ref().is_some_and(|keep| *keep != Keep::Best) {
            return Err(Failure::Usage("--keep: of pictures, the best one is kept".into()));
        }
        self.db.as_deref().map_or(Ok(()), |db| refuse_inside_database("--db", db))?;
        let read = [&self.inputs[..], &self.reference].concat();
        self.action.plan(&read, self.keep.is_some())
    }

    /// When pictures are near, in words.
    fn near_words(&self, k: u32, pictures: &[PictureFile]) -> String {
        let turned = if self.pictures.rotated { ", turned and mirrored, too" } else { "" };
        with_several(format!("PDQ within {k} of 256 bits{turned}"), pictures)
    }

    fn num_plain(&self, pictures: &[PictureFile]) -> usize {
        pictures.iter().filter(|picture| !self.is_compared(picture)).count()
    }

    /// Prints how many pictures were not compared.
    fn note_plain(&self, global: GlobalArgs, pictures: &[PictureFile]) {
        let plain = self.num_plain(pictures);
        if plain > 0 {
            let quality = self.pictures.quality;
            global.note(format_args!("kept without a comparison: {plain} of a quality below {quality}"));
        }
    }

    /// Checks the outputs of a run without documents.
    pub(super) fn check_outputs_of_files(&self) -> Result<(), Failure> {
        if self.dry_run && self.report.path().is_some() {
            return Err(Failure::Usage("--report: is not written with --dry-run".into()));
        }
        let inputs: Vec<&Path> = self.inputs.iter().map(PathBuf::as_path).collect();
        let databases: Vec<&Path> = self.db.iter().map(PathBuf::as_path).collect();
        self.output.as_deref().map_or(Ok(()), |path| WrittenFormat::Lines.check_uncompressed(path))?;
        self.duplicates.as_deref().map_or(Ok(()), |path| WrittenFormat::Tsv.check_uncompressed(path))?;
        Ok(check_outputs(self.picture_outputs(), &inputs, &databases)?)
    }

    /// Fails if an output would overwrite one of the files with these states.
    pub(super) fn check_overwrites_none(
        &self,
        files: impl Iterator<Item = FileStamp> + Clone,
    ) -> Result<(), Failure> {
        for (name, path) in self.picture_outputs() {
            let Ok(stamp) = path.canonicalize().and_then(|path| FileStamp::of(&path)) else { continue };
            if files.clone().any(|file| file.id == stamp.id) {
                let output = format!("{name} {}", path.display());
                return Err(Error::from(OutputProblem::IsInput { output }).into());
            }
        }
        Ok(())
    }

    /// The names of options for outputs, and their paths.
    fn picture_outputs(&self) -> impl Iterator<Item = (&str, &Path)> {
        let outputs = [
            ("output", self.output.as_deref()),
            ("duplicates", self.duplicates.as_deref()),
            ("report", self.report.path()),
            ("summary", self.summary.path()),
        ];
        outputs.into_iter().filter_map(|(name, path)| Some((name, path?)))
    }

    fn is_compared(&self, picture: &PictureFile) -> bool {
        picture.quality >= self.pictures.quality
    }

    /// The pictures among the first `num_inputs` that are near a kept one. The others are all kept, and compared
    /// with first.
    fn near_pictures(
        &self,
        pictures: &[PictureFile],
        num_inputs: usize,
        k: u32,
        options: &Options,
    ) -> Result<Vec<Near>, Failure> {
        let is_kept = |at: usize| at >= num_inputs;
        let mut order = best_first(pictures, is_kept);
        order.retain(|&at| self.is_compared(&pictures[at]));
        let groups = group(pictures, &order, Grouping { k, chains: false, is_kept: &is_kept }, options)?;
        let mut near: Vec<Near> = groups
            .iter()
            .flat_map(|group| {
                group[1..].iter().map(|&(picture, distance)| Near { picture, kept: group[0].0, distance })
            })
            .collect();
        near.sort_unstable_by_key(|near| near.picture);
        Ok(near)
    }

    /// Writes those of some paths that are kept, and the duplicates, these to standard output if nothing else is
    /// done.
    pub(super) fn write_lists<'a>(
        &self,
        paths: impl Iterator<Item = &'a Path>,
        files: &DuplicateFiles,
        has_plan: bool,
    ) -> Result<(), Failure> {
        if self.dry_run {
            return Ok(());
        }
        if let Some(output) = &self.output {
            let gone: HashMap<&Path, ()> =
                files.duplicates.iter().map(|file| (file.path.as_path(), ())).collect();
            let end = if self.null { b"\0" } else { b"\n" };
            let mut out = OutputStream::create(Some(output))?;
            let mut kept = paths.filter(|path| !gone.contains_key(path));
            out.write(|out| {
                kept.try_for_each(|path| {
                    out.write_all(path.as_os_str().as_encoded_bytes()).and_then(|()| out.write_all(end))
                })
            })?;
            out.finish()?;
        }
        let wanted = self.duplicates.is_some() || self.output.is_none() && !has_plan;
        if wanted {
            let mut out = OutputStream::create(self.duplicates.as_deref())?;
            out.write(|out| {
                if self.duplicates_header {
                    writeln!(out, "key\tduplicate_of\tdistance\tsimilarity\tcluster\texact")?;
                }
                files.duplicates.iter().try_for_each(|file| {
                    let [path, kept] = [&file.path, &file.kept].map(|path| path.to_string_lossy());
                    let (path, kept) = (escape(&path), escape(&kept));
                    let distance = (256.0 * (1.0 - file.similarity)).round();
                    let exact = file.is_copy;
                    writeln!(out, "{path}\t{kept}\t{distance}\t{:.4}\t{kept}\t{exact}", file.similarity)
                })
            })?;
            out.finish()?;
        }
        Ok(())
    }
}

/// Finds the pictures of folders.
struct Finder<'a> {
    reader: PictureReader,
    known: &'a KnownPictures,
    is_rotated: bool,
    threads: usize,
    bars: &'a Bars,
}

impl Finder<'_> {
    /// The pictures below some paths, sorted by path. What is known is not decoded; what is decoded is stored.
    fn find(
        &self,
        paths: &[PathBuf],
        rules: &FolderRules,
        mut store: Option<&mut PictureStore>,
    ) -> Result<Found> {
        let (files, left_out) = list_files(paths, rules)?;
        let ids = files.iter().filter_map(|file| Some(file.stamp?.id)).collect();
        let mut found = Found { left_out, ids, ..Found::default() };
        let work = |at: usize, _: &mut (), sink: parallel::Sink<'_, _>| {
            // The sink fails only after an interrupt, which `ordered` reports.
            let _ = sink(self.read(&files[at]));
            Ok::<(), nearprint_text::Error>(())
        };
        let mut done = 0;
        parallel::ordered(
            self.threads,
            files.len(),
            || (),
            work,
            |read| {
                match read {
                    Ok((Candidate::Picture(picture), is_known)) => {
                        if !is_known {
                            found.num_decoded += 1;
                            store.as_mut().map_or(Ok(()), |store| store.remember(&picture))?;
                        }
                        found.pictures.push(*picture);
                    }
                    Ok((Candidate::Large, _)) => found.left_out.num_large += 1,
                    Ok((Candidate::Undecoded(format), _)) => {
                        found.left_out.add_unread(format, &files[done].path)
                    }
                    Ok((Candidate::Other, _)) => {
                        found.left_out.add_kind(LeftOut::NO_PICTURE, &files[done].path)
                    }
                    Err(error) => found.left_out.add_unreadable(error)?,
                }
                done += 1;
                Ok(self.bars.show(("reading", "files"), done as u64, Some(files.len() as u64))?)
            },
        )?;
        let left_out: u64 = found.left_out.files().iter().map(|(count, _)| count).sum();
        found.num_files = found.pictures.len() as u64 + left_out;
        Ok(found)
    }

    /// What a file is, and whether this was known.
    fn read(&self, file: &InputFile) -> Result<(Candidate<Box<PictureFile>>, bool)> {
        let known = file.stamp.and_then(|stamp| {
            let known = self.known.get(&file.path, &stamp, self.is_rotated)?;
            Some(PictureFile { path: file.path.clone(), stamp, ..known.clone() })
        });
        match known {
            Some(picture) => Ok((Candidate::Picture(Box::new(picture)), true)),
            None => Ok((self.reader.read(&file.path)?, false)),
        }
    }
}

/// What the actions need. The kept picture may be one that only a database remembers: it has to be there still.
fn duplicate_files(pictures: &[PictureFile], num_here: usize, near: &[Near]) -> DuplicateFiles {
    let mut stamps: HashMap<PathBuf, FileStamp> =
        pictures[..num_here].iter().map(|picture| (picture.path.clone(), picture.stamp)).collect();
    let mut duplicates = Vec::new();
    for near in near {
        let (picture, other) = (&pictures[near.picture], &pictures[near.kept]);
        if near.kept >= num_here
            && let Some(stamp) = other.identified_stamp()
        {
            stamps.insert(other.path.clone(), stamp);
        }
        duplicates.push(DuplicateFile {
            path: picture.path.clone(),
            kept: other.path.clone(),
            similarity: near.similarity(),
            is_copy: near.is_copy(pictures),
        });
    }
    DuplicateFiles { duplicates, stamps }
}

/// The bytes of near-duplicates.
fn bytes_of(pictures: &[PictureFile], near: &[Near]) -> u64 {
    near.iter().map(|near| pictures[near.picture].stamp.size_bytes).sum()
}

fn summarize(
    global: GlobalArgs,
    pictures: &[PictureFile],
    near: &[Near],
    num_decoded: u64,
    started: Instant,
) {
    global.note(format_args!(
        "{}, {num_decoded} decoded now, {:.1} s: {} near a kept one, {}",
        plural(pictures.len() as u64, "picture"),
        started.elapsed().as_secs_f64(),
        near.len(),
        DecimalBytes(bytes_of(pictures, near)),
    ));
}
