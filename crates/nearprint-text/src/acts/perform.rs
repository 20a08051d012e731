//! Does what a plan says, file by file.
//!
//! Nothing is overwritten, and nothing is removed that was not looked at directly before. A file that goes is renamed
//! into a [temporary folder](crate::aside) beside it. Then the kept file is looked up by its name again: if both were
//! one file under two names that look like two files, as in an overlay or a share that is mounted twice, it is gone
//! with the rename. Both have to be in the state in which they were judged. What remains is a write through a handle
//! that was open before, between the last look and the removal.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};

use nearprint::internal::file::{
    identity_of, num_names, remove_in_own, rename_at_once, rename_from_own, rename_into_own,
};

use super::attributes::{Attributes, may_own, share_blocks};
use super::copy::{Copy, remove_own};
use super::file_act::{ActKind, FileAct};
use super::judged::{Judged, KeepGoing};
use super::places::{escaped, make_folders};
use crate::aside::{Aside, MARKER, Purpose};
use crate::documents::{FileStamp, is_undo_list};

/// An act that is planned, with what was judged.
#[derive(Clone, Debug)]
pub struct Step {
    /// The act.
    pub act: FileAct,
    /// The state of the file when it was judged.
    pub stamp: FileStamp,
    /// The kept file, whose path has no link in it.
    pub kept: PathBuf,
    /// Its state then.
    pub kept_stamp: FileStamp,
    /// Whether both had the same bytes when the act was planned.
    pub is_copy: bool,
    /// Whether the file has no other name, so that its bytes are freed with it.
    pub is_only_name: bool,
    /// Whether an undo has to give the file to another user than that of the kept file.
    pub needs_trust: bool,
}

/// What became of an act.
#[derive(Debug)]
pub enum Acted {
    /// It was done. Attributes that did not survive are named.
    Done(Vec<String>),
    /// The file stays, because the kept one has as many names as its file system allows. Later copies are linked to
    /// the file that stays.
    TooManyLinks,
}

/// Does acts one after another.
pub struct Actor<'a> {
    pub(super) keep_going: KeepGoing<'a>,
    /// The temporary folder of the last act, and the folder that it is in.
    aside: Option<(PathBuf, Aside)>,
    /// By kept file that can have no further name: the file that takes its place.
    full: HashMap<PathBuf, (PathBuf, FileStamp)>,
}

impl fmt::Debug for Actor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actor").finish_non_exhaustive()
    }
}

/// What stands in for a file that goes.
pub(super) enum Instead<'a> {
    Nothing,
    /// A link to a file, under the name of the one that goes.
    Link(&'a Path, &'a Judged),
    /// A copy, and its name.
    Copy(Copy, &'a Path),
}

impl<'a> Actor<'a> {
    /// `keep_going` is asked between acts and while files are compared and copied.
    pub fn new(keep_going: KeepGoing<'a>) -> Self {
        Self { keep_going, aside: None, full: HashMap::new() }
    }

    /// Does an act.
    ///
    /// # Errors
    /// Those of the system; and if a file is not what was judged. The file has its name then, or the error tells where
    /// it is.
    pub fn act(&mut self, step: &Step) -> io::Result<Acted> {
        let path = step.act.path();
        let victim = Judged::open(path, &step.stamp)?;
        let first = (step.kept.clone(), step.kept_stamp);
        let (kept_path, kept_stamp) = match step.act.kind {
            ActKind::Hardlink => self.full.get(&step.kept).cloned().unwrap_or(first),
            _ => first,
        };
        let kept = Judged::open(&kept_path, &kept_stamp)?;
        if victim.is(&kept) {
            return Err(Error::other("is the kept file under another name"));
        }
        if step.act.kind.is_of_copy() && !victim.has_bytes_of(&kept, self.keep_going)? {
            return Err(Error::other("is not the same as the kept file any more"));
        }
        let kept_one = Some((&*kept_path, &kept));
        match step.act.kind {
            ActKind::Move => self.move_file(&step.act, &victim, (&*kept_path, &kept)).map(Acted::Done),
            ActKind::DeleteCopy | ActKind::Delete => {
                self.take_away(path, &victim, kept_one, Instead::Nothing).map(|()| Acted::Done(Vec::new()))
            }
            ActKind::Reflink => {
                let copy = Copy::made(folder_of(path), |to| share_blocks(kept.file(), &kept_path, to))?;
                let missing = step.act.attributes.give(&copy.file)?;
                self.take_away(path, &victim, kept_one, Instead::Copy(copy, path))
                    .map(|()| Acted::Done(missing))
            }
            ActKind::Hardlink => {
                match self.take_away(path, &victim, kept_one, Instead::Link(&kept_path, &kept)) {
                    Ok(()) => Ok(Acted::Done(Vec::new())),
                    Err(error) if error.kind() == ErrorKind::TooManyLinks && path.exists() => {
                        self.full.insert(step.kept.clone(), (path.to_path_buf(), step.stamp));
                        Ok(Acted::TooManyLinks)
                    }
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Moves a file to a name that nothing has. Returns the attributes that did not survive.
    fn move_file(
        &mut self,
        act: &FileAct,
        victim: &Judged,
        kept: (&Path, &Judged),
    ) -> io::Result<Vec<String>> {
        let target = act.other();
        make_folders(folder_of(target))?;
        match self.rename(act.path(), victim, Some(kept), target) {
            Ok(()) => Ok(Vec::new()),
            Err(error) if error.kind() == ErrorKind::CrossesDevices => self.move_by_copy(act, victim, kept),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Error::new(error.kind(), format!("{} exists", escaped(target))))
            }
            Err(error) => Err(error),
        }
    }

    /// Gives a file another name, which nothing has. It gets its name back if it or the kept file is another one now.
    pub(super) fn rename(
        &mut self,
        path: &Path,
        victim: &Judged,
        kept: Option<(&Path, &Judged)>,
        target: &Path,
    ) -> io::Result<()> {
        let look = |at: &Path| {
            victim.check_at(at)?;
            kept.map_or(Ok(()), |(path, kept)| kept.check_at(path))
        };
        match rename_at_once(path, target) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {}
            renamed => {
                return renamed.and_then(|()| look(target).map_err(|error| put_back(target, path, error)));
            }
        }
        // By way of a folder in which nobody else gives names.
        let held = self.held_path(path)?;
        rename_into_own(path, &held)?;
        let placed = look(&held).and_then(|()| rename_from_own(&held, target));
        placed.map_err(|error| put_back(&held, path, error))
    }

    fn move_by_copy(
        &mut self,
        act: &FileAct,
        victim: &Judged,
        kept: (&Path, &Judged),
    ) -> io::Result<Vec<String>> {
        let target = act.other();
        let copy = Copy::of(victim, folder_of(target), self.keep_going)?;
        let missing = act.attributes.give(&copy.file)?;
        self.take_away(act.path(), victim, Some(kept), Instead::Copy(copy, target)).map(|()| missing)
    }

    /// Removes a file, after what stands in for it has its name.
    pub(super) fn take_away(
        &mut self,
        path: &Path,
        victim: &Judged,
        kept: Option<(&Path, &Judged)>,
        instead: Instead<'_>,
    ) -> io::Result<()> {
        let held = self.held_path(path)?;
        rename_into_own(path, &held)?;
        let is_there = || kept.map_or(Ok(()), |(path, kept)| kept.check_at(path));
        let looked_at = victim.check_at(&held).and_then(|()| is_there());
        let replaced = looked_at.and_then(|()| instead.put(path));
        let placed = match replaced {
            Ok(placed) => placed,
            Err(error) => return Err(put_back(&held, path, error)),
        };
        victim.check_at(&held).and_then(|()| remove_in_own(&held)).map_err(|error| {
            // What stands in for the file stays if it may be all that is left.
            let is_held = identity_of(&held).is_ok_and(|id| id == victim.stamp().id);
            match placed.filter(|_| is_held).map_or(Ok(()), |(file, path)| remove_own(&file, &path)) {
                Ok(()) if is_held => put_back(&held, path, error),
                Ok(()) => error,
                Err(other) => Error::other(format!("{error}; {other}; it is {}", escaped(&held))),
            }
        })
    }

    /// Where a file is put before it is removed.
    fn held_path(&mut self, path: &Path) -> io::Result<PathBuf> {
        let folder = folder_of(path);
        let name = path.file_name().filter(|name| *name != MARKER);
        let name = name.ok_or_else(|| Error::other("its name is that of a file of nearprint"))?;
        if self.aside.as_ref().is_none_or(|(parent, _)| parent != folder) {
            self.aside = None;
            self.aside = Some((folder.to_path_buf(), Aside::make(folder, Purpose::Old)?));
        }
        self.aside.as_ref().map(|(_, aside)| aside.path_of(name)).ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl Instead<'_> {
    /// Gives what stands in for the file that had a name its own name. Returns it with that.
    fn put(self, path: &Path) -> io::Result<Option<(fs::File, PathBuf)>> {
        match self {
            Self::Nothing => Ok(None),
            Self::Copy(copy, name) => copy.publish(name).map(|file| Some((file, name.to_path_buf()))),
            Self::Link(kept_path, kept) => {
                fs::hard_link(kept_path, path)?;
                let file = kept.file().try_clone()?;
                match identity_of(path)? == kept.stamp().id {
                    true => Ok(Some((file, path.to_path_buf()))),
                    false => Err(Error::other("the kept file has changed meanwhile")),
                }
            }
        }
    }
}

/// Gives a file back the name that it had. Returns the error with what became of that.
fn put_back(held: &Path, path: &Path, error: Error) -> Error {
    match rename_from_own(held, path) {
        Ok(()) => error,
        Err(other) => {
            Error::other(format!("{error}; it could not be put back ({other}), and is {}", escaped(held)))
        }
    }
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Makes the kept files of steps durable, before the first of their copies goes: a power cut could lose what was
/// written a moment ago. Returns the kept files that could not be opened: nothing is to be done to their copies.
///
/// # Errors
/// Those of the system. Nothing is to be done then.
pub fn sync_kept(steps: &[Step]) -> io::Result<HashMap<PathBuf, Error>> {
    let (mut synced, mut unopened) = (HashSet::new(), HashMap::new());
    for step in steps.iter().filter(|step| step.act.kind != ActKind::Move) {
        let file = match Judged::open_now(&step.kept) {
            Ok(file) => file,
            Err(error) => {
                unopened.insert(step.kept.clone(), error);
                continue;
            }
        };
        // One call for all files of a file system, where there is such a call.
        let (device, number) = file.stamp().id;
        if synced.insert((device, if HAS_SYNCFS { 0 } else { number })) {
            sync_with(file.file())?;
        }
    }
    Ok(unopened)
}

const HAS_SYNCFS: bool = cfg!(target_os = "linux");

#[cfg(target_os = "linux")]
fn sync_with(file: &fs::File) -> io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

/// Windows syncs no file that is open for reading alone.
#[cfg(not(target_os = "linux"))]
fn sync_with(file: &fs::File) -> io::Result<()> {
    if cfg!(windows) { Ok(()) } else { file.sync_all() }
}

/// Why a file is not planned for.
#[derive(Debug)]
pub enum Unplanned {
    /// The act would be wrong for it, or is not allowed: the reason.
    Skipped(&'static str),
    /// It cannot be done: the reason.
    Failed(String),
}

/// What is asked of all acts of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// What is done; [`ActKind::Delete`] also stands for [`ActKind::DeleteCopy`].
    pub kind: ActKind,
    /// Whether only byte-identical copies are acted on.
    pub only_copies: bool,
    /// Whether links take the place of files of another owner or mode.
    pub any_owner: bool,
}

/// A file that may go, as it was judged.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The file.
    pub path: &'a Path,
    /// Its state when it was judged.
    pub stamp: FileStamp,
    /// The file that is kept.
    pub kept: &'a Path,
    /// Its state then.
    pub kept_stamp: FileStamp,
    /// Whether they were judged to have the same bytes. Nothing is done to a file whose bytes are others.
    pub is_copy: bool,
}

impl Step {
    /// Plans an act. `target` is where the file would be moved to. `None` if the act is not for the file.
    ///
    /// # Errors
    /// See [`Unplanned`].
    pub fn plan(
        rules: Rules,
        candidate: Candidate<'_>,
        target: Option<&Path>,
        keep_going: KeepGoing<'_>,
    ) -> Result<Option<Self>, Unplanned> {
        let Candidate { path, stamp, kept, kept_stamp, is_copy: was_copy } = candidate;
        let failed = |error: Error| Unplanned::Failed(error.to_string());
        let kept =
            kept.canonicalize().map_err(|error| Unplanned::Failed(format!("{}: {error}", escaped(kept))))?;
        let path = std::path::absolute(path).map_err(failed)?;
        let victim = Judged::open(&path, &stamp).map_err(failed)?;
        let kept_file = Judged::open(&kept, &kept_stamp).map_err(failed)?;
        if victim.is(&kept_file) {
            return Err(Unplanned::Failed("is the kept file under another name".into()));
        }
        if is_undo_list(victim.file()).map_err(failed)? {
            return Err(Unplanned::Skipped("is an undo list"));
        }
        let is_copy = victim.has_bytes_of(&kept_file, keep_going).map_err(failed)?;
        if was_copy && !is_copy {
            return Err(Unplanned::Failed("has other bytes than the kept file, whose hash it has".into()));
        }
        let kind = if rules.kind == ActKind::Delete && is_copy { ActKind::DeleteCopy } else { rules.kind };
        if (rules.only_copies || kind.is_of_copy()) && !is_copy {
            return Ok(None);
        }
        let attributes = Attributes::of(victim.file()).map_err(failed)?;
        if let Some(why) = attributes.privilege(victim.file()) {
            return Err(Unplanned::Skipped(why));
        }
        let of_kept = Attributes::of(kept_file.file()).map_err(failed)?;
        if kind == ActKind::Hardlink && !rules.any_owner && !attributes.has_rights_of(&of_kept) {
            return Err(Unplanned::Skipped("its owner or mode is another one than that of the kept file"));
        }
        if let Some(target) = target.filter(|target| target.symlink_metadata().is_ok()) {
            // A name of the file itself may be its only one, by way of a link.
            let is_copy = Judged::open_now(target)
                .and_then(|found| Ok(!found.is(&victim) && found.has_bytes_of(&victim, keep_going)?));
            let hint = match is_copy {
                Ok(true) => {
                    " and has the same bytes, as an interrupted move leaves them: remove it, and run again"
                }
                _ => "",
            };
            return Err(Unplanned::Failed(format!("{} exists{hint}", escaped(target))));
        }
        let is_only_name = num_names(victim.file()).map_err(failed)? == 1;
        let needs_trust = kind.is_of_copy() && !may_own(attributes.owner, of_kept.owner);
        let act = FileAct::of(kind, &path, target.unwrap_or(&kept), &victim).map_err(failed)?;
        victim.check().map_err(failed)?;
        Ok(Some(Self { act, stamp, kept, kept_stamp, is_copy, is_only_name, needs_trust }))
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    #[test]
    fn a_file_is_set_aside_beside_its_place() {
        let home = tempfile::tempdir().unwrap();
        let go_on: KeepGoing<'_> = &mut || ControlFlow::Continue(());
        let mut actor = Actor::new(go_on);
        let [one, other] = ["one", "other"].map(|name| home.path().join(name));
        [&one, &other].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let held = actor.held_path(&one.join("a")).unwrap();
        assert_eq!(held.ancestors().nth(2), Some(&*one));
        assert_eq!(actor.held_path(&one.join("b")).unwrap().parent(), held.parent());
        assert_eq!(actor.held_path(&other.join("a")).unwrap().ancestors().nth(2), Some(&*other));
    }
}
