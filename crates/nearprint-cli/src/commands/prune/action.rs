//! What is done with near-duplicate files: options, messages and counts of acts.

use std::collections::{BTreeSet, HashSet};
use std::path::{Component, Path, PathBuf};

use clap::ArgGroup;
use indicatif::DecimalBytes;
use nearprint::Error;
use nearprint::internal::file::refuse_device;
use nearprint_text::acts::{
    ActKind, Acted, Actor, Bounds, Candidate, Leftovers, Rules, Step, Unplanned, escaped, folder_around,
    read_list, recover, resolved, sync_kept, temporary_beside, write_list,
};
use nearprint_text::dedup::{DuplicateFile, DuplicateFiles};
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::input::refused::refuse_inside_database;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::json_of;
use crate::terminal::{interrupt, plural, quoted};

/// The name of an undo list.
pub(in crate::commands) const UNDO_LIST: &str = "nearprint-undo.tsv";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Action, one of")]
#[command(group(ArgGroup::new("action").required(true).args(["move_to", "hardlink", "reflink", "delete"])))]
pub(super) struct ActionArgs {
    /// Move duplicates to DIR, under their own paths
    #[arg(long, value_name = "DIR")]
    move_to: Option<PathBuf>,
    /// Replace copies by hard links to the kept file
    #[arg(long)]
    hardlink: bool,
    /// Replace copies by files that share its blocks (Btrfs, XFS, APFS)
    #[arg(long)]
    reflink: bool,
    /// Delete duplicates; only copies can be restored. Other duplicates are deleted only with --keep
    #[arg(long)]
    delete: bool,
    /// With --hardlink, also replace files that have another owner or mode than the kept file
    #[arg(long, requires = "hardlink", help_heading = "Which files")]
    any_owner: bool,
    /// Where to write the list for `nearprint undo` [default: nearprint-undo.tsv]. The file must not exist. By default
    /// it is in DIR of --move-to or in the current folder, and gets a number if there is one already
    #[arg(long, value_name = "FILE", help_heading = "Output options")]
    undo_list: Option<PathBuf>,
}

/// An action on all near-duplicates.
pub(super) struct Plan {
    rules: Rules,
    /// Where files are moved to.
    folder: PathBuf,
    /// The same, as it was given.
    shown_folder: PathBuf,
    undo_list: PathBuf,
    /// Where the counts go. No file is moved there.
    summary: Option<PathBuf>,
    /// The folders of the inputs, for the command that undoes.
    folders: Vec<PathBuf>,
    /// Whether the user has said which file stays, so that others may be deleted for good.
    keep_is_chosen: bool,
}

impl ActionArgs {
    /// Whether nothing but byte-identical copies can be acted on.
    pub(super) fn needs_copies(&self) -> bool {
        self.hardlink || self.reflink
    }

    /// What is done to which files.
    fn rules(&self, only_copies: bool) -> Rules {
        let kind = match self {
            Self { move_to: Some(_), .. } => ActKind::Move,
            Self { hardlink: true, .. } => ActKind::Hardlink,
            Self { reflink: true, .. } => ActKind::Reflink,
            _ => ActKind::Delete,
        };
        Rules { kind, only_copies, any_owner: self.any_owner }
    }

    /// The plan. `inputs` are all files and folders that are read. Fails if a file would be moved into one of them or
    /// into a database, or if the undo list is named there; and if the counts would replace an undo list.
    pub(super) fn plan(
        &self,
        (inputs, summary): (&[PathBuf], Option<&Path>),
        only_copies: bool,
        keep_is_chosen: bool,
        is_dry: bool,
    ) -> Result<Plan, Failure> {
        [&self.move_to, &self.undo_list].into_iter().flatten().try_for_each(|path| refuse_device(path))?;
        let folder = self.move_to.as_deref().map(|folder| target_folder(folder, inputs)).transpose()?;
        let folder = folder.unwrap_or_default();
        self.undo_list.iter().try_for_each(|list| refuse_inside_input("--undo-list", list, inputs))?;
        let undo_list = self.undo_list.clone().unwrap_or_else(|| free_name(&folder));
        refuse_inside_database("--undo-list", &undo_list)?;
        if !is_dry && undo_list.symlink_metadata().is_ok() {
            let list = undo_list.display();
            let why = format!("{list}: exists, and may undo an earlier run; --undo-list names another file");
            return Err(Failure::Usage(why));
        }
        let place = |path: &Path| resolved(path).map_err(Error::io("look at", path));
        let summary = summary.map(place).transpose()?;
        if let Some(summary) = &summary {
            refuse_undo_list(summary)?;
            if *summary == place(&undo_list)? {
                let why = format!("--summary {}: is the undo list; choose another name", summary.display());
                return Err(Failure::Usage(why));
            }
        }
        let folder_of = |path: &PathBuf| match path.is_dir() {
            true => resolved(path).ok(),
            false => resolved(path).ok()?.parent().map(Path::to_path_buf),
        };
        let mut folders: Vec<PathBuf> = inputs.iter().filter_map(folder_of).collect();
        folders.push(folder.clone());
        folders.retain(|folder| !folder.as_os_str().is_empty());
        let shown_folder = self.move_to.clone().unwrap_or_default();
        let rules = self.rules(only_copies);
        Ok(Plan { rules, folder, shown_folder, undo_list, summary, folders, keep_is_chosen })
    }
}

/// Refuses to put counts in the place of an undo list.
pub(in crate::commands) fn refuse_undo_list(summary: &Path) -> Result<(), Failure> {
    if read_list(summary).is_ok_and(|acts| !acts.is_empty()) {
        let path = summary.display();
        let why = format!("--summary {path}: is the undo list of an earlier run; choose another name");
        return Err(Failure::Usage(why));
    }
    Ok(())
}

/// The name of the first undo list that is not there yet.
fn free_name(folder: &Path) -> PathBuf {
    let numbered = (2..).map(|number| format!("nearprint-undo-{number}.tsv"));
    let mut names = std::iter::once(UNDO_LIST.to_string()).chain(numbered).map(|name| folder.join(name));
    names.find(|name| name.symlink_metadata().is_err()).unwrap_or_default()
}

/// The absolute path of the folder of `--move-to`.
fn target_folder(folder: &Path, inputs: &[PathBuf]) -> Result<PathBuf, Failure> {
    refuse_inside_input("--move-to", folder, inputs)?;
    refuse_inside_database("--move-to", &folder.join(UNDO_LIST))?;
    let shown = folder.display();
    if folder.metadata().is_ok_and(|found| !found.is_dir()) {
        return Err(Failure::Usage(format!("--move-to {shown}: is not a folder")));
    }
    Ok(resolved(folder).map_err(Error::io("look at", folder))?)
}

/// Refuses to put a file where the next run would look.
fn refuse_inside_input(option: &str, path: &Path, inputs: &[PathBuf]) -> Result<(), Failure> {
    let around = folder_around(path, inputs.iter().map(PathBuf::as_path));
    match around.map_err(Error::io("look at", path))? {
        Some(input) => {
            let (path, input) = (path.display(), input.display());
            Err(Failure::Usage(format!(
                "{option} {path}: is inside {input}, where the next run would read it"
            )))
        }
        None => Ok(()),
    }
}

/// What was done, or would be.
#[derive(Clone, Copy, Default)]
pub(super) struct ActCounts {
    files: usize,
    /// Byte-identical copies among them.
    copies: usize,
    /// Bytes of files that have no other name.
    bytes: u64,
    failed: usize,
    skipped: usize,
    is_interrupted: bool,
}

impl ActCounts {
    pub(super) fn object(self) -> Value {
        let Self { files, copies, bytes, failed, skipped, .. } = self;
        json!({ "files": files, "copies": copies, "bytes": bytes, "not_done": failed, "skipped": skipped })
    }

    /// Counts further acts that were not done.
    pub(super) fn with_failed(self, further: usize) -> Self {
        Self { failed: self.failed + further, ..self }
    }

    /// A failure if an act was not done.
    pub(super) fn check(self) -> Result<(), Failure> {
        match self {
            Self { is_interrupted: true, files, .. } => Err(Failure::ActsStopped { done: files }),
            Self { failed: 0, .. } => Ok(()),
            Self { failed, .. } => Err(Failure::ActsFailed { failed }),
        }
    }
}

/// How a dry run prints steps.
#[derive(Clone, Copy)]
pub(super) struct Listing {
    pub(super) has_header: bool,
    pub(super) is_json: bool,
}

/// A step with the file that it is for.
struct Planned<'a> {
    file: &'a DuplicateFile,
    step: Step,
}

/// The run of a plan.
struct Run<'a> {
    plan: &'a Plan,
    files: &'a DuplicateFiles,
    global: GlobalArgs,
    counts: ActCounts,
}

impl Plan {
    /// Acts on the near-duplicates, or in a dry run prints what would be done. `temporary` are folders that killed acts have left.
    pub(super) fn run(
        &self,
        files: &DuplicateFiles,
        temporary: &[PathBuf],
        dry: Option<Listing>,
        global: GlobalArgs,
    ) -> Result<ActCounts, Failure> {
        interrupt::set_cancellable(true);
        let mut run = Run { plan: self, files, global, counts: ActCounts::default() };
        let done = run.run(temporary, dry);
        interrupt::set_cancellable(false);
        done.map(|()| run.counts)
    }

    /// Where a file is moved to below a folder.
    fn target(&self, folder: &Path, file: &Path) -> Option<PathBuf> {
        let parts = file.components().filter(|part| matches!(part, Component::Normal(_)));
        (self.rules.kind == ActKind::Move).then(|| folder.join(parts.collect::<PathBuf>()))
    }

    /// Prints steps: the act, the path, where it is moved to, the similarity, whether both are byte-identical, and what
    /// is kept.
    fn print(&self, steps: &[Planned<'_>], listing: Listing) -> Result<(), Failure> {
        let mut out = OutputStream::stdout();
        if listing.has_header && !listing.is_json {
            out.write_uncounted(|out| writeln!(out, "act\tpath\tmoved_to\tsimilarity\tcopy\tkept"))?;
        }
        out.write(|out| {
            steps.iter().try_for_each(|Planned { file, step }| {
                let act = self.rules.kind.name();
                let target = self.target(&self.shown_folder, &file.path);
                let similarity = Some(file.similarity).filter(|similarity| !similarity.is_nan());
                if listing.is_json {
                    let [path, kept] = [&file.path, &file.kept].map(|path| path.to_string_lossy());
                    let (target, copy) = (target.map(|target| target.to_string_lossy().into_owned()), step.is_copy);
                    let object = json!({
                        "act": act, "path": path, "moved_to": target, "similarity": similarity, "copy": copy, "kept": kept,
                    });
                    return writeln!(out, "{}", json_of(&object));
                }
                let similarity = similarity.map(|similarity| format!("{similarity:.4}")).unwrap_or_default();
                let target = target.unwrap_or_default();
                let [path, target, kept] = [&file.path, &target, &file.kept].map(|path| escaped(path));
                writeln!(out, "{act}\t{path}\t{target}\t{similarity}\t{}\t{kept}", step.is_copy)
            })
        })?;
        Ok(out.flush()?)
    }

    /// The folders that an undo has to allow for the list of steps.
    fn further_roots(&self, steps: &[Planned<'_>]) -> Result<Vec<PathBuf>, Failure> {
        let list = &self.undo_list;
        let steps: Vec<Step> = steps.iter().map(|planned| planned.step.clone()).collect();
        let further = Bounds::new(list, &[], false).and_then(|own| own.further_roots(&steps, &self.folders));
        Ok(further.map_err(Error::io("look at", list))?)
    }

    /// The command that undoes steps, of a list that needs these folders.
    fn undo_command(&self, steps: &[Planned<'_>], roots: &[PathBuf]) -> String {
        let mut command = String::from("nearprint undo");
        for root in roots {
            command += &format!(" --root {}", quoted(root));
        }
        if steps.iter().any(|planned| planned.step.needs_trust) {
            command += " --trust";
        }
        format!("{command} {}", quoted(&self.undo_list))
    }
}

impl<'a> Run<'a> {
    fn run(&mut self, temporary: &[PathBuf], dry: Option<Listing>) -> Result<(), Failure> {
        let is_dry = dry.is_some();
        let mut leftovers = Leftovers::default();
        if !is_dry {
            let beside = temporary_beside(self.files.duplicates.iter().map(|file| &*file.path));
            let all: BTreeSet<&Path> = temporary.iter().chain(&beside).map(PathBuf::as_path).collect();
            leftovers = recover(all);
            note_leftovers(self.global, &leftovers);
        }
        let mut steps = self.plan_all()?;
        self.refuse_losses(&steps, dry)?;
        let mut roots = Vec::new();
        if let Some(listing) = dry {
            self.plan.print(&steps, listing)?;
        } else {
            if interrupt::check().is_break() {
                steps.clear();
            }
            self.sync_kept(&mut steps)?;
            if !steps.is_empty() {
                // An undo refuses a list as a whole, so that those of all its steps are needed, done or not.
                roots = self.plan.further_roots(&steps)?;
                self.write_list(&steps)?;
                self.act_all(&mut steps);
            }
        }
        self.summarize(&steps, &roots, is_dry);
        if !leftovers.back.is_empty() {
            self.global.note(format_args!("recovered files were not compared: run the command again"));
        }
        Ok(())
    }

    fn leave(&mut self, path: &Path, why: &str) {
        self.counts.failed += 1;
        let path = escaped(path);
        self.global.note(format_args!("warning: {path} was left alone: {why}"));
    }

    /// The steps for all files.
    fn plan_all(&mut self) -> Result<Vec<Planned<'a>>, Failure> {
        let kept_ids: HashSet<_> =
            self.files.duplicates.iter().filter_map(|file| self.id(&file.kept)).collect();
        let (mut names, mut steps) = (HashSet::new(), Vec::new());
        let mut targets: HashSet<PathBuf> = self.plan.summary.iter().cloned().collect();
        for file in &self.files.duplicates {
            if interrupt::check().is_break() {
                self.counts.is_interrupted = true;
                break;
            }
            if self.id(&file.path).is_some_and(|id| kept_ids.contains(&id)) {
                self.leave(&file.path, "is the file that another one is compared with");
            } else if file.path.canonicalize().is_ok_and(|name| !names.insert(name)) {
                self.leave(&file.path, "is named twice");
            } else {
                steps.extend(self.plan_one(file, &mut targets));
            }
        }
        Ok(steps)
    }

    /// The device and inode of a file that was judged.
    fn id(&self, path: &Path) -> Option<(u64, u64)> {
        self.files.stamps.get(path).map(|stamp| stamp.id)
    }

    fn plan_one(&mut self, file: &'a DuplicateFile, targets: &mut HashSet<PathBuf>) -> Option<Planned<'a>> {
        let [stamp, kept_stamp] = [&file.path, &file.kept].map(|path| self.files.stamps.get(path).copied());
        let (Some(stamp), Some(kept_stamp)) = (stamp, kept_stamp) else {
            self.leave(
                &file.path,
                "it or the kept file was not read, or is not the remembered image any more",
            );
            return None;
        };
        let target = self.plan.target(&self.plan.folder, &file.path);
        if target.as_ref().is_some_and(|target| targets.contains(target)) {
            self.leave(&file.path, "another file of this run gets its place");
            return None;
        }
        let (path, kept, is_copy) = (&*file.path, &*file.kept, file.is_copy);
        let candidate = Candidate { path, stamp, kept, kept_stamp, is_copy };
        match Step::plan(self.plan.rules, candidate, target.as_deref(), &mut interrupt::check) {
            Ok(Some(step)) => {
                targets.extend(target);
                Some(Planned { file, step })
            }
            Ok(None) => None,
            Err(Unplanned::Failed(why)) => {
                self.leave(&file.path, &why);
                None
            }
            Err(Unplanned::Skipped(why)) => {
                self.counts.skipped += 1;
                let path = escaped(path);
                self.global.note(format_args!("skipped: {path}: {why}"));
                None
            }
        }
    }

    /// Refuses to delete for good what nobody has chosen.
    fn refuse_losses(&self, steps: &[Planned<'_>], dry: Option<Listing>) -> Result<(), Failure> {
        let lost = steps.iter().filter(|planned| planned.step.act.kind() == ActKind::Delete).count();
        if lost == 0 || self.plan.keep_is_chosen {
            return Ok(());
        }
        if let Some(listing) = dry {
            self.plan.print(steps, listing)?;
        }
        let (count, are) = (plural(lost as u64, "file"), if lost == 1 { "is" } else { "are" });
        Err(Failure::Usage(format!(
            "--delete: nothing was deleted, because {count} {are} no byte-identical copy and could not be restored; \
             --copies deletes only copies, --keep best deletes these, too, and --move-to DIR moves them"
        )))
    }

    /// Makes what is kept durable. Leaves the copies of what is not there any more alone.
    fn sync_kept(&mut self, planned: &mut Vec<Planned<'a>>) -> Result<(), Failure> {
        let steps: Vec<Step> = planned.iter().map(|planned| planned.step.clone()).collect();
        let unopened = sync_kept(&steps).map_err(Error::io("sync", "the kept files"))?;
        planned.retain(|Planned { file, step }| match unopened.get(&step.kept) {
            Some(error) => {
                self.leave(&file.path, &error.to_string());
                false
            }
            None => true,
        });
        Ok(())
    }

    /// Writes all steps before the first one is taken, so that a crash loses none.
    fn write_list(&self, steps: &[Planned<'_>]) -> Result<(), Failure> {
        let path = &self.plan.undo_list;
        let steps: Vec<Step> = steps.iter().map(|planned| planned.step.clone()).collect();
        Ok(write_list(path, &steps).map_err(Error::io("create", path))?)
    }

    /// Takes the steps, and keeps those that were done.
    fn act_all(&mut self, steps: &mut Vec<Planned<'a>>) {
        let mut keep_going = interrupt::check;
        let mut actor = Actor::new(&mut keep_going);
        steps.retain(|Planned { file, step }| {
            if interrupt::check().is_break() {
                self.counts.is_interrupted = true;
                return false;
            }
            match actor.act(step) {
                Ok(Acted::Done(missing)) => {
                    note_missing(self.global, &file.path, &missing);
                    true
                }
                Ok(Acted::TooManyLinks) => {
                    self.counts.skipped += 1;
                    false
                }
                Err(error) => {
                    self.leave(&file.path, &error.to_string());
                    false
                }
            }
        });
    }

    /// Prints what was done. `roots` are the folders that an undo has to allow.
    fn summarize(&mut self, steps: &[Planned<'_>], roots: &[PathBuf], is_dry: bool) {
        let done = match self.plan.rules.kind {
            ActKind::Move => "moved",
            ActKind::Hardlink => "replaced by hard links",
            ActKind::Reflink => "replaced by files that share blocks",
            _ => "deleted",
        };
        let would = if is_dry { "would be " } else { "" };
        let count = plural(steps.len() as u64, "file");
        let own = steps.iter().filter(|planned| planned.step.is_only_name);
        let bytes = own.map(|planned| planned.step.stamp.size_bytes).sum();
        let copies = steps.iter().filter(|planned| planned.step.is_copy).count();
        let undo = if is_dry || steps.is_empty() { String::new() } else { self.undo_words(steps, roots) };
        let size = DecimalBytes(bytes);
        self.global.note(format_args!("{count}, {copies} of them copies, {size}: {would}{done}{undo}"));
        let ActCounts { failed, skipped, .. } = self.counts;
        if failed + skipped > 0 {
            self.global.note(format_args!("not {done}: {failed} because of errors, {skipped} skipped"));
        }
        (self.counts.files, self.counts.copies, self.counts.bytes) = (steps.len(), copies, bytes);
    }

    /// How many files can be restored, and how.
    fn undo_words(&self, steps: &[Planned<'_>], roots: &[PathBuf]) -> String {
        let lost = steps.iter().filter(|planned| planned.step.act.kind() == ActKind::Delete).count();
        let restored = match steps.len() - lost {
            0 => return "; none can be restored".into(),
            _ if self.plan.rules.kind == ActKind::Reflink => return String::new(),
            some if lost == 0 => format!("restores {}", if some == 1 { "it" } else { "all of them" }),
            some => format!("restores {some} of them, and {lost} cannot be restored"),
        };
        format!("; `{}` {restored}", self.plan.undo_command(steps, roots))
    }
}

/// Prints which attributes a file has lost.
pub(in crate::commands) fn note_missing(global: GlobalArgs, path: &Path, missing: &[String]) {
    if !missing.is_empty() {
        let path = escaped(path);
        global.note(format_args!("warning: {path} was restored without {}", missing.join(", ")));
    }
}

/// Prints what was recovered, and what could not be.
pub(in crate::commands) fn note_leftovers(global: GlobalArgs, leftovers: &Leftovers) {
    for path in &leftovers.back {
        let path = escaped(path);
        global.note(format_args!("recovered {path}, which an interrupted act had moved"));
    }
    for why in &leftovers.stays {
        global.note(format_args!("warning: an interrupted act left this: {why}"));
    }
}
