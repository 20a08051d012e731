//! What `dedup` does to a file, the line of it in an undo list, and how it is undone.

use std::fs::{self, File, FileTimes, Metadata};
use std::io::{self, BufRead, BufReader, Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use nearprint::internal::file::{identity_of, rename};
use nearprint_text::documents::{escape, have_same_bytes, open_regular, unescape};
use xxhash_rust::xxh3::Xxh3;

/// An act on one file. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileAct {
    pub(crate) kind: ActKind,
    pub(crate) path: PathBuf,
    /// Where it was moved to; otherwise the file that is kept.
    pub(crate) other: PathBuf,
    /// The mode and the time of the last change of the file.
    mode: u32,
    modified: (u64, u32),
    /// XXH3 of its bytes.
    hash: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActKind {
    Move,
    Hardlink,
    Reflink,
    /// Of a byte-identical copy.
    DeleteCopy,
    Delete,
}

const KINDS: [(ActKind, &str); 5] = [
    (ActKind::Move, "move"),
    (ActKind::Hardlink, "hardlink"),
    (ActKind::Reflink, "reflink"),
    (ActKind::DeleteCopy, "delete-copy"),
    (ActKind::Delete, "delete"),
];

/// What became of an act that was to be undone.
pub(crate) enum Undone {
    Yes,
    /// There was nothing to undo: the act was not done, or was undone before.
    Nothing,
}

impl FileAct {
    pub(crate) fn new(kind: ActKind, path: PathBuf, other: PathBuf) -> io::Result<Self> {
        let metadata = path.symlink_metadata()?;
        let since = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let modified = (since.as_secs(), since.subsec_nanos());
        let hash = hash_of(&path)?;
        Ok(Self { kind, path, other, mode: mode_of(&metadata), modified, hash })
    }

    /// The line in an undo list: act, path, other path, mode, seconds, nanoseconds, hash.
    pub(crate) fn line(&self) -> String {
        let (_, kind) = KINDS.iter().find(|(kind, _)| *kind == self.kind).unwrap_or(&KINDS[0]);
        let [path, other] = [&self.path, &self.other].map(|path| path.to_string_lossy());
        let (seconds, nanoseconds) = self.modified;
        format!(
            "{kind}\t{}\t{}\t{:o}\t{seconds}\t{nanoseconds}\t{:032x}",
            escape(&path),
            escape(&other),
            self.mode,
            self.hash
        )
    }

    /// Reads what [`line`](Self::line) has made.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind, path, other, mode, seconds, nanoseconds, hash] = *cells else { return None };
        let path_of = |cell| PathBuf::from(&*unescape(cell));
        Some(Self {
            kind: KINDS.iter().find(|(_, name)| *name == kind)?.0,
            path: path_of(path),
            other: path_of(other),
            mode: u32::from_str_radix(mode, 8).ok()?,
            modified: (seconds.parse().ok()?, nanoseconds.parse().ok()?),
            hash: u128::from_str_radix(hash, 16).ok()?,
        })
    }

    /// Whether the act is on a byte-identical copy of the kept file.
    pub(crate) fn is_of_copy(&self) -> bool {
        matches!(self.kind, ActKind::Hardlink | ActKind::Reflink | ActKind::DeleteCopy)
    }

    /// Does it. Nothing is overwritten; a copy is compared once more.
    pub(crate) fn act(&self) -> io::Result<()> {
        if self.is_of_copy() && !have_same_bytes(&self.path, &self.other)? {
            return Err(Error::other("is not the same as the kept file any more"));
        }
        match self.kind {
            ActKind::Move => move_file(&self.path, &self.other),
            ActKind::Hardlink => self.replace(|temporary| fs::hard_link(&self.other, temporary)),
            ActKind::Reflink => self.replace(|temporary| {
                share_blocks(&self.other, temporary)?;
                self.restore_attributes(temporary)
            }),
            ActKind::DeleteCopy | ActKind::Delete => fs::remove_file(&self.path),
        }
    }

    /// Undoes it.
    pub(crate) fn undo(&self) -> io::Result<Undone> {
        let is_there = self.path.symlink_metadata().is_ok();
        match self.kind {
            // A shared copy is a file of its own.
            ActKind::Reflink => return Ok(Undone::Nothing),
            ActKind::Move if !is_there => move_file(&self.other, &self.path)?,
            ActKind::Hardlink if is_there && is_same_file(&self.path, &self.other)? => {
                self.replace(|temporary| self.copy(&self.path, temporary))?;
            }
            ActKind::DeleteCopy if !is_there => {
                if hash_of(&self.other)? != self.hash {
                    return Err(Error::other(format!("{} has changed", self.other.display())));
                }
                self.copy(&self.other, &self.path)?;
            }
            ActKind::Delete if !is_there => return Err(Error::other("was no copy, and is deleted")),
            _ => return Ok(Undone::Nothing),
        }
        Ok(Undone::Yes)
    }

    /// Replaces the file by what `make` makes at a temporary path beside it.
    fn replace(&self, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let temporary = tempfile::Builder::new().prefix(".nearprint-").tempdir_in(folder)?;
        let made = temporary.path().join("file");
        make(&made)?;
        rename(&made, &self.path)
    }

    /// Copies a file to a path that does not exist, with the mode and time of this one.
    fn copy(&self, from: &Path, to: &Path) -> io::Result<()> {
        copy_bytes(from, to)?;
        self.restore_attributes(to)
    }

    fn restore_attributes(&self, path: &Path) -> io::Result<()> {
        let (seconds, nanoseconds) = self.modified;
        let modified = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        let file = File::options().write(true).open(path)?;
        file.set_times(FileTimes::new().set_modified(modified))?;
        set_mode(&file, self.mode)
    }
}

fn hash_of(path: &Path) -> io::Result<u128> {
    let (mut hasher, mut file) = (Xxh3::new(), BufReader::new(open_regular(path)?));
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(hasher.digest128());
        }
        hasher.update(bytes);
        let len = bytes.len();
        file.consume(len);
    }
}

fn is_same_file(one: &Path, other: &Path) -> io::Result<bool> {
    let is_link = |path: &Path| path.symlink_metadata().map(|found| found.is_symlink());
    Ok(!is_link(one)? && !is_link(other)? && identity_of(one)? == identity_of(other)?)
}

/// Copies a file to a path that does not exist, and makes the copy durable.
fn copy_bytes(from: &Path, to: &Path) -> io::Result<()> {
    let mut copy = File::create_new(to)?;
    let copied = io::copy(&mut open_regular(from)?, &mut copy).and_then(|_| copy.sync_all());
    copied.inspect_err(|_| drop(fs::remove_file(to)))
}

/// Moves a file to a path that does not exist. A link and the removal of the old name overwrite
/// nothing; across file systems, a copy takes its place.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    match fs::hard_link(from, to) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {
            let metadata = from.symlink_metadata()?;
            copy_bytes(from, to)?;
            let copy = File::options().write(true).open(to)?;
            copy.set_times(FileTimes::new().set_modified(metadata.modified()?))?;
            copy.set_permissions(metadata.permissions())?;
        }
    }
    fs::remove_file(from)
}

/// The permissions and flags of a file.
#[cfg(unix)]
fn mode_of(file: &Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(file) & 0o7777
}

#[cfg(unix)]
fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))
}

/// Files of Windows have the permissions that their folder hands down.
#[cfg(windows)]
fn mode_of(_: &Metadata) -> u32 {
    0
}

#[cfg(windows)]
fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// Makes a file that shares the blocks of another one.
#[cfg(target_os = "linux")]
fn share_blocks(from: &Path, to: &Path) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(File::create_new(to)?, open_regular(from)?)?)
}

/// The copy of the standard library shares blocks where the file system can.
#[cfg(target_os = "macos")]
fn share_blocks(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to).map(drop)
}

/// A copy would take as much room as before.
#[cfg(windows)]
fn share_blocks(_: &Path, _: &Path) -> io::Result<()> {
    Err(Error::new(ErrorKind::Unsupported, "files of Windows share no blocks"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_were_written() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(if cfg!(windows) { "plain" } else { "line\nfeed\tand\\" });
        fs::write(&path, "one").unwrap();
        for (kind, _) in KINDS {
            let act = FileAct::new(kind, path.clone(), home.path().join("other")).unwrap();
            assert_eq!(FileAct::parse(&act.line()), Some(act));
        }
        assert_eq!(FileAct::parse("move\ta\tb"), None);
        assert_eq!(FileAct::parse("remove\ta\tb\t644\t0\t0\t0"), None);
    }
}
