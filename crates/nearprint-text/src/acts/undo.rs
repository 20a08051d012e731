//! Undoes acts.
//!
//! What is there is compared with the list. An act is undone, or there is nothing to do because the file is there as it
//! was, or it fails and says why. Nothing is overwritten. Copies get their names when they are complete.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{self, Error, ErrorKind};
use std::path::{Path, PathBuf};

use nearprint::internal::file::{Identity, num_names};

use super::attributes::{Attributes, may_own};
use super::copy::Copy;
use super::file_act::{ActKind, FileAct};
use super::judged::{Judged, KeepGoing, hash_of};
use super::list::Bounds;
use super::perform::{Actor, Instead, folder_of};
use super::places::{escaped, make_folders};
use crate::aside::asides_in;

/// What became of an act that was to be undone.
#[derive(Debug, PartialEq, Eq)]
pub enum Undone {
    /// It was undone. What the file did not get back is named.
    Yes(Vec<String>),
    /// The file is there as it was.
    Nothing,
}

/// Undoes the acts of a list.
pub struct Undoer<'a> {
    actor: Actor<'a>,
    bounds: &'a Bounds,
    /// How many names of the list each file has.
    names: HashMap<Identity, usize>,
    /// The files that an interrupted act had set aside.
    recovered: HashSet<PathBuf>,
}

impl fmt::Debug for Undoer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Undoer").field("recovered", &self.recovered).finish_non_exhaustive()
    }
}

impl<'a> Undoer<'a> {
    /// `recovered` are files that an interrupted act had set aside, and that have their names again.
    pub fn new(
        acts: &[FileAct],
        bounds: &'a Bounds,
        recovered: HashSet<PathBuf>,
        keep_going: KeepGoing<'a>,
    ) -> Self {
        let links = acts.iter().filter(|act| act.kind == ActKind::Hardlink);
        let paths: HashSet<&Path> = links.flat_map(|act| [act.path(), act.other()]).collect();
        let mut names = HashMap::new();
        for file in paths.into_iter().filter_map(|path| Judged::open_now(path).ok()) {
            *names.entry(file.stamp().id).or_default() += 1;
        }
        Self { actor: Actor::new(keep_going), bounds, names, recovered }
    }

    /// Undoes an act. The acts of a list are undone from its end to its beginning.
    ///
    /// # Errors
    /// Those of the system; and if what is there is not what the list has.
    pub fn undo(&mut self, act: &FileAct) -> io::Result<Undone> {
        self.bounds.check_path(act.path())?;
        self.bounds.check_path(act.other())?;
        match act.path().symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => self.restore(act),
            Err(error) => Err(error),
            Ok(found) if !found.is_file() => Err(Error::other("something else has this name now")),
            Ok(_) => self.look_at(act),
        }
    }

    /// Undoes an act whose file has its name.
    fn look_at(&mut self, act: &FileAct) -> io::Result<Undone> {
        let now = Judged::open_now(act.path())?;
        if hash_of(now.file())? != act.hash {
            return Err(Error::other("another content has this name now"));
        }
        if act.kind == ActKind::Hardlink && self.is_linked(act, &now)? {
            return self.part(act, &now);
        }
        let was_aside = [act.path(), act.other()].iter().any(|path| self.recovered.contains(*path));
        if act.kind == ActKind::Move && was_aside {
            return self.finish_move_back(act, &now);
        }
        match self.mend(act, &now)? {
            Some(missing) => Ok(Undone::Yes(missing)),
            None => Ok(Undone::Nothing),
        }
    }

    /// Gives a file that has its name and its bytes what else the list has. Returns what it did not get. `None` if it
    /// lacks nothing.
    fn mend(&self, act: &FileAct, now: &Judged) -> io::Result<Option<Vec<String>>> {
        if act.attributes.are_of(now.file())? {
            return Ok(None);
        }
        if num_names(now.file())? > 1 {
            let why = "has another mode, time, owner or attribute, which its further names share, and stays as it is";
            return Err(Error::other(why));
        }
        let has_owner = Attributes::of(now.file())?.owner == act.attributes.owner;
        self.give_with(act, now.file(), has_owner).map(Some)
    }

    /// Whether a file is a link to the kept one. If its further names are not in the list, and another file has the name
    /// of the kept one, then it is the file of before, of which the act was not done, or nobody knows: an error.
    fn is_linked(&self, act: &FileAct, now: &Judged) -> io::Result<bool> {
        if self.names.get(&now.stamp().id).is_some_and(|names| *names > 1) {
            return Ok(true);
        }
        if num_names(now.file())? == 1 {
            return Ok(false);
        }
        match act.other().symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
            Ok(_) if Attributes::of(now.file())? == act.attributes => Ok(false),
            Ok(_) => {
                Err(Error::other("shares its bytes with a name that is not in the list, and stays as it is"))
            }
        }
    }

    /// Makes a hard link a file of its own.
    fn part(&mut self, act: &FileAct, now: &Judged) -> io::Result<Undone> {
        // The kept name may be gone: the copy is made of the link itself.
        let other = Judged::open_now(act.other()).ok();
        let copy = Copy::of(now, folder_of(act.path()), self.actor.keep_going)?;
        let missing = self.give(act, &copy, now)?;
        let other = other.as_ref().map(|other| (act.other(), other));
        self.actor.take_away(act.path(), now, other, Instead::Copy(copy, act.path()))?;
        if let Some(names) = self.names.get_mut(&now.stamp().id) {
            *names -= 1;
        }
        Ok(Undone::Yes(missing))
    }

    /// Removes the other one of two copies that an interrupted move between file systems, or its undo, has left.
    fn finish_move_back(&mut self, act: &FileAct, now: &Judged) -> io::Result<Undone> {
        if let Ok(copy) = Judged::open_now(act.other())
            && !copy.is(now)
            && copy.has_bytes_of(now, self.actor.keep_going)?
        {
            self.actor.take_away(act.other(), &copy, Some((act.path(), now)), Instead::Nothing)?;
        }
        self.mend(act, now).map(|missing| Undone::Yes(missing.unwrap_or_default()))
    }

    /// Brings back a file whose name nothing has.
    fn restore(&mut self, act: &FileAct) -> io::Result<Undone> {
        if act.kind == ActKind::Delete {
            return Err(Error::other(match held_of(act.path()) {
                Some(held) => {
                    format!("was set aside by an act that was interrupted, and is {}", escaped(&held))
                }
                None => "was no copy, and is deleted".into(),
            }));
        }
        let source = Judged::open_now(act.other())?;
        if hash_of(source.file())? != act.hash {
            return Err(Error::other(format!("{} has changed", escaped(act.other()))));
        }
        source.check()?;
        let folder = folder_of(act.path());
        make_folders(folder)?;
        self.bounds.check_path(act.path())?;
        if act.kind == ActKind::Move {
            match self.actor.rename(act.other(), &source, None, act.path()) {
                Ok(()) => {
                    let missing = self.mend(act, &source)?;
                    return Ok(Undone::Yes(missing.unwrap_or_default()));
                }
                Err(error) if error.kind() == ErrorKind::CrossesDevices => {}
                Err(error) => return Err(error),
            }
        }
        let copy = Copy::of(&source, folder, self.actor.keep_going)?;
        let missing = self.give(act, &copy, &source)?;
        match act.kind {
            ActKind::Move => {
                self.actor.take_away(act.other(), &source, None, Instead::Copy(copy, act.path()))?;
            }
            _ => drop(copy.publish(act.path())?),
        }
        Ok(Undone::Yes(missing))
    }

    /// Gives a copy of a file what the list has, as far as the list may. Returns what it did not get.
    fn give(&self, act: &FileAct, copy: &Copy, source: &Judged) -> io::Result<Vec<String>> {
        let of_source = Attributes::of(source.file())?.owner;
        self.give_with(act, &copy.file, may_own(act.attributes.owner, of_source))
    }

    /// The same for any file. `may_own` says whether the list may give it to its owner.
    fn give_with(&self, act: &FileAct, file: &File, may_own: bool) -> io::Result<Vec<String>> {
        let owner = act.attributes.owner;
        let mut missing = Vec::new();
        if !self.bounds.trusts() && !may_own {
            missing.push(format!("owner {}:{}, which --trust restores", owner.0, owner.1));
        } else if !act.attributes.give_owner(file) {
            missing.push(format!("owner {}:{}", owner.0, owner.1));
        }
        act.attributes.give_but_owner(file, &mut missing)?;
        Ok(missing)
    }
}

/// Where a temporary folder that was not recovered has a file.
fn held_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let mut held = asides_in(folder_of(path)).ok()?.into_iter().map(|folder| folder.join(name));
    held.find(|held| held.is_file())
}
