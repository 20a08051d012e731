//! A folder that a process has made, and may therefore remove.
//!
//! The name of a folder proves nothing: `x.np.building` or `nearprint-…` can be anybody's database.
//! A made folder therefore holds a marker, which no database and no user writes. The marker names
//! the folder and has its number in the file system, so that a copy or a renamed folder is not
//! taken for a made one. It has no number of the device, which changes between boots.
//!
//! The marker is locked while the folder is in use. A folder with a marker that is not locked is
//! left of a process that has ended. Only files of known names are removed, one by one and through
//! no link. If there is anything else, all of the folder stays.
//!
//! A folder is made and marked under a name that nearprint has [chosen](super::chosen_name), and
//! renamed. Under its own name it therefore always has a whole marker. A process that is killed in
//! between leaves a folder that is empty or holds the marker alone. Its name shows that nearprint
//! made it, so it is removed.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::chosen_name;
use super::folder::{Folder, MOVES_IN_USE, release, retake};
use super::names::{self, MARKER};
use crate::error::{Error, Holder, Result};
use crate::util::file;
use crate::util::random::random_bytes;

/// More than the longest marker.
const MAX_MARKER_BYTES: u64 = 4096;
/// The first line of the marker of a folder that is being filled.
const UNFINISHED: &str = "This folder was made by nearprint, which also removes it.";
/// That of a folder that is about to get its final name, or has just got it.
const COMPLETE: &str = "This folder was made by nearprint, and is complete under its final name.";

/// What is found where only another user can tell whether the process that made a folder has ended.
pub(super) const OF_ANOTHER_USER: &str = "belongs to another user";

/// What a made folder may hold beside its marker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contents {
    /// What the folder is for, in one word of its marker.
    pub(super) kind: &'static str,
    /// Whether a name is of its files.
    pub(super) is_file: fn(&str) -> bool,
    /// The names of further files.
    pub(super) files: &'static [&'static str],
    /// The names of databases in it, which may be unfinished.
    pub(super) databases: &'static [&'static str],
}

/// What a folder that exists already is.
#[derive(Debug)]
pub(super) enum Existing {
    /// It was left of a process that has ended, and is gone now.
    Removed,
    /// It was complete when its process ended, and has its final name now.
    Published,
    /// A process is using it, which may not have written its number yet.
    InUse { pid: Option<u32> },
    /// It was left of a process that has ended, and holds something else, so all of it stays.
    Occupied { by: PathBuf },
    /// Nothing shows that nearprint made it.
    Foreign { found: &'static str },
}

/// A made folder. It is removed when its value is dropped, unless it was published.
#[derive(Debug)]
pub(super) struct OwnFolder(Arc<Made>);

#[derive(Debug)]
struct Made {
    parent: Folder,
    name: OsString,
    /// Random, in hexadecimal.
    id: String,
    folder: Folder,
    contents: Contents,
    /// The marker. `None` once the folder is published or removed.
    lock: Mutex<Option<File>>,
}

/// The folders that this process has made.
static MADE: Mutex<Vec<Weak<Made>>> = Mutex::new(Vec::new());
/// What was found in made folders and made them stay.
static OCCUPANTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all folders that this process has made and not published, for a process that is about to
/// end. Their owners may be at work on other threads; these fail from then on.
pub fn remove_own_folders() {
    let made: Vec<Arc<Made>> = locked(&MADE).iter().filter_map(Weak::upgrade).collect();
    // The newest first: it may lie in an older one.
    made.iter().rev().for_each(|made| made.remove());
}

/// Foreign files in folders that nearprint made, found since the last call. Because of them, these
/// folders were not removed.
pub fn take_occupants() -> Vec<PathBuf> {
    std::mem::take(&mut *locked(&OCCUPANTS)).into_iter().collect()
}

impl OwnFolder {
    /// Makes a folder that only its owner can read. One that a killed process has left at the name
    /// is removed, or gets the name `published`; see [`look_at`].
    pub(super) fn make(
        parent: &Folder,
        name: &OsStr,
        contents: Contents,
        published: Option<&OsStr>,
    ) -> Result<Self> {
        let path = parent.path_of("").join(name);
        let _alone = parent.alone().map_err(Error::io("create", &path))?;
        let making = chosen_name::before(parent, name).map_err(Error::io("look at", &path))?;
        let (folder, id, lock) = loop {
            let (folder, id, lock) = loop {
                match make_marked(parent, &making, name, contents)? {
                    Some(made) => break made,
                    None => make_free(parent, &making, contents, None)?,
                }
            };
            let mut lock = Some(lock);
            release(&folder, &mut lock);
            match rename_to_free(parent, &making, name, contents, published) {
                Ok(()) => {
                    let folder = folder.moved_to(parent, name);
                    if let Some(lock) = retake(&folder, lock).map_err(Error::io("lock", &path))? {
                        break (folder, id, lock);
                    }
                }
                // While it was not locked, another process took it for one that a killed process left.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let _ = remove(parent, &making, &folder, contents, &mut lock);
                    return Err(error);
                }
            }
        };
        let lock = Mutex::new(Some(lock));
        let made = Arc::new(Made { parent: parent.clone(), name: name.into(), id, folder, contents, lock });
        let mut all = locked(&MADE);
        all.retain(|made| made.strong_count() > 0);
        all.push(Arc::downgrade(&made));
        Ok(Self(made))
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// Leaves the folder as the end of a killed process does.
    #[cfg(test)]
    pub(super) fn leave(&self) {
        let mut lock = locked(&self.0.lock);
        release(&self.0.folder, &mut lock);
        *lock = None;
    }

    /// Gives the folder its final name, durably. It holds no marker from then on, and stays.
    ///
    /// First the marker says that the folder is complete. After a crash before the rename, the next
    /// build of the name renames it. After one behind the rename, the marker stays in the database,
    /// where nothing reads it.
    pub(super) fn publish(&self, name: &OsStr, check_free: impl FnOnce() -> Result<()>) -> Result<()> {
        let Made { parent, folder, .. } = &*self.0;
        let path = folder.path_of("");
        let mut lock = locked(&self.0.lock);
        let Some(marker) = lock.as_ref() else { return Err(Error::Interrupted) };
        self.0.check_place()?;
        check_free()?;
        let id = &self.0.id;
        let text =
            marker_text(COMPLETE, id, std::process::id(), folder, marker, &self.0.name, self.0.contents);
        let written = text.and_then(|text| {
            file::write_all_at(marker, &text, 0)?;
            marker.set_len(text.len() as u64)?;
            marker.sync_data()
        });
        written.map_err(Error::io("write", folder.path_of(MARKER)))?;
        folder.sync().map_err(Error::io("sync", &path))?;
        let _alone = parent.alone().map_err(Error::io("rename", &path))?;
        release(folder, &mut lock);
        if let Err(error) = rename(parent, &self.0.name, folder, name) {
            *lock = retake(folder, lock.take()).unwrap_or(None);
            return Err(Error::io("rename", &path)(error));
        }
        *lock = None;
        Ok(())
    }
}

/// Gives a complete folder its final name, and removes its marker.
fn rename(parent: &Folder, from: &OsStr, folder: &Folder, to: &OsStr) -> io::Result<()> {
    parent.rename_to(from, to)?;
    parent.sync()?;
    let folder = folder.clone().moved_to(parent, to);
    folder.unlink(MARKER)?;
    folder.sync()
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        self.0.remove();
    }
}

impl Made {
    /// Checks that the folder is where it was made.
    fn check_place(&self) -> Result<()> {
        let path = self.folder.path_of("");
        match self.folder.is_at(&self.parent, &self.name).map_err(Error::io("look at", &path))? {
            true => Ok(()),
            false => Err(Error::Replaced { path }),
        }
    }

    /// Removes the folder, unless it was moved, or this is the child of a fork. After a failure the
    /// next process removes the rest.
    fn remove(&self) {
        let Some(lock) = locked(&self.lock).take() else { return };
        if self.folder.check_process().is_err() {
            // Unlocking would release the lock of the parent.
            return;
        }
        // If others are busy for long, the next one removes it.
        let alone = self.parent.alone();
        let is_here = alone.is_ok() && self.check_place().is_ok();
        let mut lock = Some(lock);
        if is_here {
            let _ = remove(&self.parent, &self.name, &self.folder, self.contents, &mut lock);
        }
        // A child that has just been forked has a copy of the file, until it runs its own program.
        lock.iter().for_each(|lock| drop(lock.unlock()));
    }
}

/// Gives a folder another name, once that is free.
fn rename_to_free(
    parent: &Folder,
    from: &OsStr,
    to: &OsStr,
    contents: Contents,
    published: Option<&OsStr>,
) -> Result<()> {
    loop {
        match parent.rename_to_free(from, to) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                make_free(parent, to, contents, published)?;
            }
            other => return other.map_err(Error::io("create", parent.path_of("").join(to))),
        }
    }
}

/// Removes what a killed process has left at a name. Fails if anything else is there, or has got its
/// final name `published`.
fn make_free(parent: &Folder, name: &OsStr, contents: Contents, published: Option<&OsStr>) -> Result<()> {
    let path = parent.path_of("").join(name);
    match look_at(parent, name, contents, published)? {
        None | Some(Existing::Removed) => Ok(()),
        Some(Existing::Published) => {
            Err(Error::AlreadyExists { path: parent.path_of("").join(published.unwrap_or(name)) })
        }
        Some(Existing::InUse { pid }) => {
            Err(Error::Locked { path, holder: pid.map(|pid| Holder { pid, place: None }) })
        }
        Some(Existing::Occupied { by: path }) => {
            Err(Error::NotStaging { path, found: "not a file of a database" })
        }
        Some(Existing::Foreign { found }) => Err(Error::NotStaging { path, found }),
    }
}

/// Decides what a folder is that exists already, and removes it if a process that has ended has left
/// it. One that is complete gets its final name instead, `published`, if that is free. `None` if it
/// does not exist any more.
pub(super) fn look_at(
    parent: &Folder,
    name: &OsStr,
    contents: Contents,
    published: Option<&OsStr>,
) -> Result<Option<Existing>> {
    let path = parent.path_of("").join(name);
    let foreign = |found| Ok(Some(Existing::Foreign { found }));
    let folder = match parent.open_own(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return foreign("not a folder"),
        // A made folder can be opened by its owner.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return foreign(OF_ANOTHER_USER),
        other => other.map_err(Error::io("open", &path))?,
    };
    if !folder.is_own().map_err(Error::io("look at", &path))? {
        return foreign(OF_ANOTHER_USER);
    }
    let (marker, pid, _) = match read_marker(&folder, name, contents) {
        Ok(Some(found)) => found,
        Ok(None) => return look_at_unmarked(parent, name, &folder).map_err(Error::io("remove", &path)),
        Err(error) => return Err(Error::io("read", folder.path_of(MARKER))(error)),
    };
    let locked = folder.lock_marker(MARKER, marker).map_err(Error::io("lock", folder.path_of(MARKER)))?;
    let Some(marker) = locked else { return Ok(Some(Existing::InUse { pid: Some(pid) })) };
    // The process that had it until now may have removed or published it.
    if file::is_removed(&marker) {
        return Ok(None);
    }
    let is_complete = read_marker(&folder, name, contents).map_err(Error::io("read", &path))?;
    let mut lock = Some(marker);
    if let Some(published) = published.filter(|_| is_complete.is_some_and(|(_, _, complete)| complete)) {
        release(&folder, &mut lock);
        // The caller has found the name free. A rename replaces nothing but an empty folder.
        rename(parent, name, &folder, published).map_err(Error::io("rename", &path))?;
        return Ok(Some(Existing::Published));
    }
    let removed = remove(parent, name, &folder, contents, &mut lock).map_err(Error::io("remove", &path))?;
    Ok(Some(removed.map_or(Existing::Removed, |by| Existing::Occupied { by })))
}

/// Decides what a folder without a marker of its own is. It is removed if a process was killed while
/// it made the folder: the name is one that nearprint chooses, and there is a marker at most.
fn look_at_unmarked(parent: &Folder, name: &OsStr, folder: &Folder) -> io::Result<Option<Existing>> {
    let found = folder.names()?;
    if !folder.is_at(parent, name)? {
        // It has just been removed.
        return Ok(None);
    }
    if !chosen_name::is_chosen(parent, name)? || found.iter().any(|name| name != MARKER) {
        return Ok(Some(Existing::Foreign { found: describe(&found) }));
    }
    match remove_unmarked(parent, name, folder) {
        Ok(true) => Ok(Some(Existing::Removed)),
        Ok(false) => Ok(Some(Existing::InUse { pid: None })),
        Err(error) => match error.kind() {
            // Another process removes it, too, or its maker has just gone on.
            io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty => Ok(None),
            // The marker is not a file.
            io::ErrorKind::InvalidData => Ok(Some(Existing::Foreign { found: describe(&found) })),
            _ => Err(error),
        },
    }
}

/// Removes a folder that holds a marker at most. `false` if a process has locked that.
fn remove_unmarked(parent: &Folder, name: &OsStr, folder: &Folder) -> io::Result<bool> {
    let mut lock = None;
    match folder.open_regular(MARKER) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => match folder.lock_marker(MARKER, other?)? {
            Some(marker) => lock = Some(marker),
            None => return Ok(false),
        },
    }
    remove_emptied(parent, name, folder, &mut lock)?;
    Ok(true)
}

/// Removes a folder that holds a marker at most, which the caller has locked. It stays locked until the
/// folder is gone, where that is not in the way.
///
/// Another process must not find the folder without its marker, and take it for somebody's empty folder. So
/// it first gets a name that nearprint chooses, where the system renames a folder in use.
fn remove_emptied(parent: &Folder, name: &OsStr, folder: &Folder, lock: &mut Option<File>) -> io::Result<()> {
    let number = u64::from_le_bytes(random_bytes().map_err(io::Error::other)?);
    let leaving = chosen_name::random(parent, number)?;
    let is_renamed = MOVES_IN_USE
        && !chosen_name::is_chosen(parent, name)?
        && parent.rename_to_free(name, &leaving).is_ok();
    let name = if is_renamed { &leaving } else { name };
    match folder.unlink(MARKER) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => release(folder, lock),
    }
    parent.remove_folder(name)
}

/// What a folder without a marker looks like.
fn describe(names: &[OsString]) -> &'static str {
    let holds = |wanted: &str| names.iter().any(|name| name == wanted);
    if names.is_empty() {
        "an empty folder"
    } else if holds(names::MANIFEST) {
        "a database"
    } else if holds(MARKER) {
        "not the folder that its marker names"
    } else {
        "a folder that nearprint did not make"
    }
}

/// Makes a folder at a chosen name, with the locked marker for its own name. `None` if the chosen name
/// is taken, or another process has removed the folder as one that was left.
fn make_marked(
    parent: &Folder,
    making: &OsStr,
    name: &OsStr,
    contents: Contents,
) -> Result<Option<(Folder, String, File)>> {
    let path = parent.path_of("").join(name);
    let id: String = random_bytes::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    match parent.make_own_folder(making) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(None),
        // `NotFound` means that the parent itself has been removed.
        other => other.map_err(Error::io("create", &path))?,
    }
    let make = || {
        let folder = parent.open_own(making)?;
        match mark(&folder, &id, name, contents) {
            Ok(marker) => Ok(marker.map(|marker| (folder, id, marker))),
            // Another process has removed the folder, made it again, and marked it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            Err(error) => {
                let _ = folder.unlink(MARKER);
                let _ = parent.remove_folder(making);
                Err(error)
            }
        }
    };
    match make() {
        Err(error) if [io::ErrorKind::AlreadyExists, io::ErrorKind::NotFound].contains(&error.kind()) => {
            Ok(None)
        }
        other => other.map_err(Error::io("create", &path)),
    }
}

/// Writes and locks the marker of a new folder. `None` if the folder has been removed.
fn mark(folder: &Folder, id: &str, name: &OsStr, contents: Contents) -> io::Result<Option<File>> {
    let marker = folder.create_file(MARKER)?;
    let Some(marker) = folder.lock_new(marker)? else { return Ok(None) };
    let text = marker_text(UNFINISHED, id, std::process::id(), folder, &marker, name, contents)?;
    file::write_all_at(&marker, &text, 0)?;
    // After a power cut, too, the folder can be recognized.
    marker.sync_data()?;
    Ok(Some(marker))
}

/// A marker names the folder, and has the numbers of the folder and of itself in the file system.
fn marker_text(
    first_line: &str,
    id: &str,
    pid: u32,
    folder: &Folder,
    marker: &File,
    name: &OsStr,
    contents: Contents,
) -> io::Result<Vec<u8>> {
    let (folder, marker, kind) = (folder.inode()?, file::identity(marker)?.1, contents.kind);
    let numbers = format!("inode of the folder: {folder}\ninode of this file: {marker}\n");
    let text = format!("{first_line}\nid: {id}\nprocess: {pid}\nkind: {kind}\n{numbers}name: ");
    Ok([text.as_bytes(), name.as_encoded_bytes()].concat())
}

/// The marker of a folder, the process that wrote it, and whether the folder is complete. `None` if
/// there is none, or it is not the one of this folder.
fn read_marker(folder: &Folder, name: &OsStr, contents: Contents) -> io::Result<Option<(File, u32, bool)>> {
    let file = match folder.open_regular(MARKER) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => {
            return Ok(None);
        }
        other => other?,
    };
    let mut found = Vec::new();
    (&file).take(MAX_MARKER_BYTES).read_to_end(&mut found)?;
    let text = String::from_utf8_lossy(&found);
    let mut lines = text.lines().skip(1);
    let id = lines.next().and_then(|line| line.strip_prefix("id: "));
    let pid = lines.next().and_then(|line| line.strip_prefix("process: ")?.parse().ok());
    let Some((id, pid)) = id.zip(pid) else { return Ok(None) };
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let first_line = if text.starts_with(COMPLETE) { COMPLETE } else { UNFINISHED };
    let expected = marker_text(first_line, id, pid, folder, &file, name, contents)?;
    Ok((is_id && found == expected).then_some((file, pid, first_line == COMPLETE)))
}

/// The files of a made folder, and the databases in it with theirs.
#[derive(Default)]
struct Listing {
    files: Vec<String>,
    databases: Vec<(Folder, String, Vec<String>)>,
}

/// Removes a folder whose marker the caller has locked. If it holds anything else, nothing is removed
/// and the result is what it is.
fn remove(
    parent: &Folder,
    name: &OsStr,
    folder: &Folder,
    contents: Contents,
    lock: &mut Option<File>,
) -> io::Result<Option<PathBuf>> {
    let listing = match list(folder, contents)? {
        Ok(listing) => listing,
        Err(occupant) => {
            locked(&OCCUPANTS).insert(occupant.clone());
            return Ok(Some(occupant));
        }
    };
    for (database, name, files) in &listing.databases {
        files.iter().try_for_each(|file| database.unlink(file))?;
        folder.remove_folder(name.as_ref())?;
    }
    listing.files.iter().try_for_each(|file| folder.unlink(file))?;
    // Another thread may have added files. They need the marker to be removed later.
    if folder.names()?.iter().all(|name| name == MARKER) {
        remove_emptied(parent, name, folder, lock)?;
    }
    Ok(None)
}

/// Everything in a folder but its marker, or the path of what nearprint has not put there.
fn list(folder: &Folder, contents: Contents) -> io::Result<Result<Listing, PathBuf>> {
    let mut listing = Listing::default();
    for name in folder.names()? {
        let path = folder.path_of("").join(&name);
        let Some(name) = name.to_str() else { return Ok(Err(path)) };
        let database = name.strip_suffix(names::BUILDING).unwrap_or(name);
        // One that was about to be prepared may still have its first name.
        if contents.databases.contains(&database) || chosen_name::is_chosen(folder, name.as_ref())? {
            match list_database(folder, name)? {
                Ok((database, files)) => listing.databases.push((database, name.into(), files)),
                Err(occupant) => return Ok(Err(occupant)),
            }
        } else if ((contents.is_file)(name) || contents.files.contains(&name)) && folder.is_file(name)? {
            listing.files.push(name.into());
        } else if name != MARKER {
            return Ok(Err(path));
        }
    }
    Ok(Ok(listing))
}

/// The files of a database in a made folder.
fn list_database(parent: &Folder, name: &str) -> io::Result<Result<(Folder, Vec<String>), PathBuf>> {
    let folder = match parent.open_own(name.as_ref()) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Err(parent.path_of(name))),
        other => other?,
    };
    let mut files = Vec::new();
    for name in folder.names()? {
        let is_ours = |name: &&str| [MARKER, names::FOLLOWER].contains(name) || names::is_ours(name);
        match name.to_str().filter(is_ours) {
            Some(file) if folder.is_file(file)? => files.push(file.to_string()),
            _ => return Ok(Err(folder.path_of("").join(name))),
        }
    }
    Ok(Ok((folder, files)))
}
