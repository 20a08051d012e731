//! What `dedup` and `apply` do with near-duplicate files.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Component, Path, PathBuf};

use indicatif::DecimalBytes;
use nearprint::Error;
use nearprint::internal::file::refuse_device;
use nearprint_text::dedup::{DuplicateFile, DuplicateFiles};
use nearprint_text::documents::{FileStamp, have_same_bytes};
use serde_json::{Value, json};

use crate::args::GlobalArgs;
use crate::file_act::{ActKind, FileAct};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::plural;

/// The name of an undo list.
const UNDO_LIST: &str = "nearprint-undo.tsv";

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Actions on near-duplicate files of folders")]
pub(super) struct ActionArgs {
    /// Move them to DIR, under their own paths. Nothing is overwritten
    #[arg(long, value_name = "DIR", group = "action")]
    move_to: Option<PathBuf>,
    /// Replace byte-identical copies by hard links to the kept file
    #[arg(long, group = "action")]
    hardlink: bool,
    /// Replace byte-identical copies by files that share the blocks of the kept one, on file systems that
    /// can: Btrfs, XFS, APFS
    #[arg(long, group = "action")]
    reflink: bool,
    /// Delete them. Only byte-identical copies can be restored
    #[arg(long, group = "action")]
    delete: bool,
    /// Act on byte-identical copies alone. `dedup` then compares nothing but bytes: of all files of folders,
    /// whatever they contain, and however large they are. It keeps the oldest of several copies, then the one with
    /// the shortest path. Without an action or an output, it prints the copies as in --duplicates
    #[arg(long)]
    pub(super) only_exact: bool,
    /// The list for `nearprint undo`; the file must not exist [default: nearprint-undo.tsv, in DIR of --move-to
    /// or in the current folder]
    #[arg(long, value_name = "FILE", requires = "action")]
    undo_list: Option<PathBuf>,
}

/// An action on all near-duplicates.
pub(super) struct Plan {
    kind: ActKind,
    /// Where files are moved to.
    folder: PathBuf,
    only_exact: bool,
    undo_list: PathBuf,
}

impl ActionArgs {
    /// The plan, if there is an action. Fails if files would be moved into an input.
    pub(super) fn plan(&self, inputs: &[PathBuf]) -> Result<Option<Plan>, Failure> {
        let kind = match self {
            Self { move_to: Some(_), .. } => ActKind::Move,
            Self { hardlink: true, .. } => ActKind::Hardlink,
            Self { reflink: true, .. } => ActKind::Reflink,
            Self { delete: true, .. } => ActKind::Delete,
            _ => return Ok(None),
        };
        [&self.move_to, &self.undo_list].into_iter().flatten().try_for_each(|path| refuse_device(path))?;
        let folder = self.move_to.as_deref().map(absolute).transpose()?.unwrap_or_default();
        for input in inputs {
            if kind == ActKind::Move && folder.starts_with(absolute(input)?) {
                let (folder, input) = (folder.display(), input.display());
                let why = format!("--move-to {folder}: is inside {input}, and would be read by the next run");
                return Err(Failure::Usage(why));
            }
        }
        let undo_list = self.undo_list.clone().unwrap_or_else(|| folder.join(UNDO_LIST));
        if undo_list.symlink_metadata().is_ok() {
            let list = undo_list.display();
            let why = format!("{list}: exists, and may undo an earlier run; --undo-list names another file");
            return Err(Failure::Usage(why));
        }
        Ok(Some(Plan { kind, folder, only_exact: self.only_exact, undo_list }))
    }
}

/// An absolute path without `.` in it.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path).map_err(Error::io("open", path))?;
    Ok(path.components().collect())
}

/// What was done, or would be.
#[derive(Clone, Copy)]
pub(super) struct ActCounts {
    files: usize,
    exact: usize,
    bytes: u64,
}

impl ActCounts {
    pub(super) fn object(self) -> Value {
        json!({ "files": self.files, "exact_copies": self.exact, "bytes": self.bytes })
    }
}

/// An act that is planned.
struct Step<'a> {
    file: &'a DuplicateFile,
    act: FileAct,
    is_exact: bool,
    size_bytes: u64,
}

impl Plan {
    /// Acts on the near-duplicates, or prints what would be done.
    pub(super) fn run(
        &self,
        files: &DuplicateFiles,
        is_dry: bool,
        global: GlobalArgs,
    ) -> Result<ActCounts, Failure> {
        let left = |path: &Path, why: &str| {
            global.note(format_args!("warning: left as it is: {}: {why}", path.display()));
        };
        let mut steps = Vec::new();
        for file in &files.duplicates {
            match self.step(file, &files.stamps)? {
                Ok(step) => steps.extend(step),
                Err(why) => left(&file.path, &why),
            }
        }
        if is_dry {
            print(&steps)?;
        } else if !steps.is_empty() {
            self.write_undo_list(&steps)?;
            steps.retain(|step| {
                let acted = check(step.file, &files.stamps)
                    .and_then(|()| step.act.act().map_err(|error| error.to_string()));
                acted.inspect_err(|why| left(&step.file.path, why)).is_ok()
            });
        }
        Ok(self.summarize(&steps, is_dry, global))
    }

    /// The step for a file. `None` if the action is not for it; a reason if it is left as it is.
    fn step<'a>(
        &self,
        file: &'a DuplicateFile,
        stamps: &HashMap<PathBuf, FileStamp>,
    ) -> Result<Result<Option<Step<'a>>, String>, Failure> {
        if let Err(why) = check(file, stamps) {
            return Ok(Err(why));
        }
        let is_exact = file.is_copy && have_same_bytes(&file.path, &file.kept).unwrap_or(false);
        let kind = if self.kind == ActKind::Delete && is_exact { ActKind::DeleteCopy } else { self.kind };
        let needs_exact = self.only_exact || matches!(kind, ActKind::Hardlink | ActKind::Reflink);
        if needs_exact && !is_exact {
            return Ok(Ok(None));
        }
        let path = absolute(&file.path)?;
        let other = match kind {
            ActKind::Move => {
                let parts = file.path.components().filter(|part| matches!(part, Component::Normal(_)));
                self.folder.join(parts.collect::<PathBuf>())
            }
            _ => absolute(&file.kept)?,
        };
        let size_bytes = stamps[&file.path].size_bytes;
        Ok(match FileAct::new(kind, path, other) {
            Ok(act) => Ok(Some(Step { file, act, is_exact, size_bytes })),
            Err(error) => Err(error.to_string()),
        })
    }

    /// Writes all steps before the first one is taken, so that a crash loses none.
    fn write_undo_list(&self, steps: &[Step<'_>]) -> Result<(), Failure> {
        let path = &self.undo_list;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        let lines: String = steps.iter().map(|step| step.act.line() + "\n").collect();
        let written = File::create_new(path).and_then(|mut file| {
            file.write_all(lines.as_bytes())?;
            file.sync_all()
        });
        Ok(written.map_err(Error::io("create", path))?)
    }

    fn summarize(&self, steps: &[Step<'_>], is_dry: bool, global: GlobalArgs) -> ActCounts {
        let done = match self.kind {
            ActKind::Move => "moved",
            ActKind::Hardlink => "replaced by hard links",
            ActKind::Reflink => "replaced by files that share blocks",
            ActKind::Delete | ActKind::DeleteCopy => "deleted",
        };
        let would = if is_dry { "would be " } else { "" };
        let undo = match is_dry || steps.is_empty() || self.kind == ActKind::Reflink {
            true => String::new(),
            false => format!("; `nearprint undo {}` restores them", self.undo_list.display()),
        };
        let count = plural(steps.len() as u64, "file");
        let exact = steps.iter().filter(|step| step.is_exact).count();
        let bytes = steps.iter().map(|step| step.size_bytes).sum();
        let size = DecimalBytes(bytes);
        global.note(format_args!("{count}, {exact} of them exact copies, {size}: {would}{done}{undo}"));
        ActCounts { files: steps.len(), exact, bytes }
    }
}

/// Prints an act, the path, where it goes or what is kept, the similarity, and whether both are
/// byte-identical.
fn print(steps: &[Step<'_>]) -> Result<(), Failure> {
    let mut out = OutputStream::stdout();
    out.write(|out| {
        steps.iter().try_for_each(|Step { file, act, is_exact, .. }| {
            let line = act.line();
            let columns: Vec<&str> = line.split('\t').take(3).collect();
            let similarity = Some(file.similarity).filter(|similarity| !similarity.is_nan());
            let similarity = similarity.map(|similarity| format!("{similarity:.4}")).unwrap_or_default();
            writeln!(out, "{}\t{similarity}\t{is_exact}", columns.join("\t"))
        })
    })?;
    Ok(out.flush()?)
}

/// Checks that a file and the kept one are those that were listed.
fn check(file: &DuplicateFile, stamps: &HashMap<PathBuf, FileStamp>) -> Result<(), String> {
    for path in [&file.path, &file.kept] {
        let shown = path.display();
        let stamp = stamps.get(path).ok_or_else(|| format!("{shown} was not read"))?;
        let now = FileStamp::of(path).map_err(|error| format!("{shown}: {error}"))?;
        if now != *stamp {
            return Err(format!("{shown} has changed since it was listed"));
        }
        if path.to_str().is_none() {
            return Err("its name is not UTF-8".into());
        }
    }
    Ok(())
}
