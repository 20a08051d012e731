//! Folders in which acts on files set something aside, beside the file that they act on.
//!
//! An act renames a file into such a folder before it removes it, and makes a copy there before the copy gets its
//! name. Each act removes its folder. A process that is killed leaves it, with a file that may be the only one of its
//! content. So folders of documents are read without them, and the next act or undo recovers what is in them.
//!
//! The name of a folder has the purpose, 40 random bits, and 40 bits of a hash of both and of the number of the parent
//! folder: nobody comes upon it by accident, and a copy of the folder elsewhere has another one. A marker in the folder
//! is locked while its process lives.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use nearprint::internal::file::{identity_of, is_removed, rename_from_own};
use nearprint::internal::random_bytes;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const PREFIX: &str = ".nearprint-";
/// The marker. No file with this name is set aside.
pub(crate) const MARKER: &str = ".nearprint-act";
/// The content of the marker, for whoever looks into the folder.
const NOTE: &str = "nearprint works on a file here. The next act or undo in this folder recovers it.\n";
/// The name of a copy until it is complete.
pub(crate) const COPY: &str = "copy";
/// The characters of a name, one for each five bits.
const ALPHABET: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
/// The characters of the random part, and of the hash.
const HALF: usize = 8;
/// How often a folder is made anew that another process has taken for one without an owner.
const ATTEMPTS: usize = 100;

/// What a folder is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// It holds a file under its own name, until the file is removed or put back.
    Old,
    /// It holds a copy that is being made.
    New,
}

impl Purpose {
    fn word(self) -> &'static str {
        match self {
            Self::Old => "old-",
            Self::New => "new-",
        }
    }
}

/// A folder of this process. It is removed when it is dropped, unless something is in it.
pub(crate) struct Aside {
    folder: PathBuf,
    /// Locked.
    marker: Option<File>,
}

impl Aside {
    /// Makes a folder in `parent` that only its owner can read.
    pub(crate) fn make(parent: &Path, purpose: Purpose) -> io::Result<Self> {
        for _ in 0..ATTEMPTS {
            let folder = parent.join(name_of(parent, purpose, random_bits()?)?);
            match make_folder(&folder).and_then(|()| lock_marker(&folder)) {
                Ok(Some(marker)) => return Ok(Self { folder, marker: Some(marker) }),
                Ok(None) => {}
                Err(error) => match error.kind() {
                    // Another process has removed the folder before it was locked, or has this name.
                    io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists if parent.is_dir() => {}
                    _ => {
                        let _ = fs::remove_dir(&folder);
                        return Err(error);
                    }
                },
            }
        }
        Err(io::Error::other("other processes remove temporary folders of this one"))
    }

    /// Where a file of this name is in the folder.
    pub(crate) fn path_of(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.join(name)
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let others =
            |entry: io::Result<fs::DirEntry>| entry.map_or(true, |entry| entry.file_name() != MARKER);
        if fs::read_dir(&self.folder).is_ok_and(|mut entries| !entries.any(others)) {
            // Windows removes no folder with an open file.
            drop(self.marker.take());
            let _ = fs::remove_file(self.folder.join(MARKER));
            let _ = fs::remove_dir(&self.folder);
        }
    }
}

/// What was done about a folder that a process has left.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Recovered {
    /// Its process is alive.
    InUse,
    /// It was empty, or held an unfinished copy, or a file whose bytes stand under its own name.
    Removed,
    /// The file has its own name again.
    Back(PathBuf),
    /// It stays, with the reason.
    Stays(String),
}

/// Recovers what a process has left in a folder that this module has named. `None` if it is no such folder.
pub(crate) fn recover(
    folder: &Path,
    is_same: impl FnOnce(&Path, &Path) -> io::Result<bool>,
) -> io::Result<Option<Recovered>> {
    let Some(purpose) = purpose_of(folder) else { return Ok(None) };
    let marker = match File::open(folder.join(MARKER)) {
        Ok(marker) => match marker.try_lock() {
            Ok(()) => Some(marker),
            Err(TryLockError::WouldBlock) => return Ok(Some(Recovered::InUse)),
            Err(TryLockError::Error(error)) => return Err(error),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // It is removed at the end, if nothing is left in it.
    let left = Aside { folder: folder.to_path_buf(), marker };
    let names = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.file_name()));
    let others = names.filter(|name| !matches!(name, Ok(name) if name == MARKER));
    let others = others.collect::<io::Result<Vec<_>>>()?;
    Ok(Some(match (&others[..], purpose) {
        ([], _) => Recovered::Removed,
        ([name], Purpose::New) if name == COPY && left.path_of(COPY).symlink_metadata()?.is_file() => {
            fs::remove_file(left.path_of(COPY))?;
            Recovered::Removed
        }
        ([name], Purpose::Old) => {
            let (held, own) = (left.path_of(name), folder.with_file_name(name));
            match rename_from_own(&held, &own) {
                Ok(()) => Recovered::Back(own),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                // A link to equal bytes elsewhere, or to the file itself, is no copy of it.
                Err(_) if !own.symlink_metadata()?.is_file() => {
                    Recovered::Stays(format!("{} is something else now", own.display()))
                }
                Err(_) if is_same(&held, &own)? => {
                    fs::remove_file(held)?;
                    Recovered::Removed
                }
                Err(_) => Recovered::Stays(format!("{} has another content now", own.display())),
            }
        }
        _ => Recovered::Stays("something else is in it".into()),
    }))
}

/// The folders in a folder that this module has named, with an owner or without.
pub(crate) fn asides_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()) && is_aside(&entry.path()) {
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// What is set aside in a folder.
pub(crate) fn held_in(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|path| !path.ends_with(MARKER)).collect()
}

/// Whether a folder is one of these, or a copy of one: no document is in it.
pub(crate) fn is_aside(folder: &Path) -> bool {
    let has_name =
        folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    has_name && folder.is_dir() && (purpose_of(folder).is_some() || has_marker(folder))
}

fn has_marker(folder: &Path) -> bool {
    let mut head = Vec::new();
    let marker = folder.join(MARKER);
    let is_file = marker.symlink_metadata().is_ok_and(|found| found.is_file());
    let mut read = |marker| File::open(marker)?.take(NOTE.len() as u64).read_to_end(&mut head);
    is_file && read(marker).is_ok() && head == NOTE.as_bytes()
}

/// The purpose of a folder that this module has named where it is.
fn purpose_of(folder: &Path) -> Option<Purpose> {
    let (parent, name) = (folder.parent()?, folder.file_name()?.to_str()?);
    let rest = name.strip_prefix(PREFIX)?;
    let purposes = [Purpose::Old, Purpose::New];
    let purpose = purposes.into_iter().find(|purpose| rest.starts_with(purpose.word()))?;
    let (seed, _) = rest[purpose.word().len()..].split_at_checked(HALF)?;
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    (with_seed(parent, purpose, seed).ok()? == name).then_some(purpose)
}

fn name_of(parent: &Path, purpose: Purpose, bits: u64) -> io::Result<String> {
    with_seed(parent, purpose, &characters(bits))
}

fn with_seed(parent: &Path, purpose: Purpose, seed: &str) -> io::Result<String> {
    let begin = format!("{PREFIX}{}{seed}", purpose.word());
    let (_, number) = identity_of(parent)?;
    Ok(format!("{begin}{}", characters(xxh3_64_with_seed(begin.as_bytes(), number))))
}

/// The lowest 40 bits of a number.
fn characters(bits: u64) -> String {
    let character = |at| char::from(ALPHABET[(bits >> (5 * at) & 31) as usize]);
    (0..HALF).map(character).collect()
}

fn random_bits() -> io::Result<u64> {
    random_bytes().map(u64::from_le_bytes).map_err(io::Error::other)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let builder = &mut fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(builder, 0o700);
    builder.create(folder)
}

/// Makes the marker of a folder. `None` if another process has taken it, which then removes the folder.
fn lock_marker(folder: &Path) -> io::Result<Option<File>> {
    let mut marker = File::create_new(folder.join(MARKER))?;
    match marker.try_lock() {
        Ok(()) if !is_removed(&marker) => {
            marker.write_all(NOTE.as_bytes())?;
            Ok(Some(marker))
        }
        Ok(()) | Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &Path, other: &Path) -> io::Result<bool> {
        Ok(fs::read(one)? == fs::read(other)?)
    }

    /// A folder with a file, as a killed process leaves it.
    fn left(parent: &Path, purpose: Purpose, name: &str) -> PathBuf {
        let mut aside = Aside::make(parent, purpose).unwrap();
        fs::write(aside.path_of(name), "content").unwrap();
        aside.marker = None;
        aside.folder.clone()
    }

    #[test]
    fn what_a_killed_act_has_set_aside_gets_its_name_back_or_is_removed_or_stays() {
        let home = tempfile::tempdir().unwrap();
        let own = home.path().join("own");
        let folder = left(home.path(), Purpose::Old, "own");
        assert_eq!(asides_in(home.path()).unwrap(), [&*folder]);
        assert_eq!(recover(&folder, same).unwrap(), Some(Recovered::Back(own.clone())));
        assert!(!folder.exists() && fs::read(&own).unwrap() == b"content");

        let folder = left(home.path(), Purpose::Old, "own");
        assert_eq!(recover(&folder, same).unwrap(), Some(Recovered::Removed));
        assert!(!folder.exists() && own.exists());

        let folder = left(home.path(), Purpose::Old, "own");
        fs::write(&own, "another").unwrap();
        assert!(matches!(recover(&folder, same).unwrap(), Some(Recovered::Stays(_))));
        assert_eq!(fs::read(folder.join("own")).unwrap(), b"content");
        assert_eq!(fs::read(&own).unwrap(), b"another");

        let folder = left(home.path(), Purpose::New, COPY);
        assert_eq!(recover(&folder, same).unwrap(), Some(Recovered::Removed));
        assert!(!folder.exists());
        let folder = left(home.path(), Purpose::New, "somebody's");
        assert!(matches!(recover(&folder, same).unwrap(), Some(Recovered::Stays(_))));
        assert!(folder.join("somebody's").exists());
    }

    /// A link under the name of the file led to equal bytes, and the file was removed.
    #[cfg(unix)]
    #[test]
    fn regression_a_link_under_the_name_of_a_file_does_not_stand_for_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = left(home.path(), Purpose::Old, "own");
        for target in [home.path().join("elsewhere"), folder.join("own")] {
            fs::write(home.path().join("elsewhere"), "content").unwrap();
            std::os::unix::fs::symlink(&target, home.path().join("own")).unwrap();
            assert!(matches!(recover(&folder, same).unwrap(), Some(Recovered::Stays(_))), "{target:?}");
            assert_eq!(fs::read(folder.join("own")).unwrap(), b"content");
            fs::remove_file(home.path().join("own")).unwrap();
        }
    }

    #[cfg(windows)]
    #[test]
    #[ignore = "few may make links there"]
    fn regression_a_link_under_the_name_of_a_file_does_not_stand_for_it() {}

    #[test]
    fn what_a_living_process_uses_stays() {
        let home = tempfile::tempdir().unwrap();
        let aside = Aside::make(home.path(), Purpose::Old).unwrap();
        fs::write(aside.path_of("own"), "content").unwrap();
        assert_eq!(recover(&aside.folder, same).unwrap(), Some(Recovered::InUse));
        let folder = aside.folder.clone();
        drop(aside);
        assert!(folder.join("own").exists(), "a folder with something in it is not removed");
    }

    #[cfg(unix)]
    #[test]
    fn a_marker_that_cannot_be_opened_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let folder = left(home.path(), Purpose::Old, "own");
        fs::remove_file(folder.join(MARKER)).unwrap();
        std::os::unix::fs::symlink(MARKER, folder.join(MARKER)).unwrap();
        assert!(recover(&folder, same).is_err());
        assert!(folder.join("own").exists());
    }

    #[cfg(windows)]
    #[test]
    #[ignore = "few may make links there"]
    fn a_marker_that_cannot_be_opened_is_an_error() {}

    #[test]
    fn folders_of_others_are_no_temporary_ones() {
        let home = tempfile::tempdir().unwrap();
        let folder = left(home.path(), Purpose::Old, "own");
        for name in
            [".nearprint-notes", ".nearprint-old-aaaaaaaaaaaaaaaa", ".nearprint-old-", "nearprint-old"]
        {
            let other = home.path().join(name);
            fs::create_dir(&other).unwrap();
            fs::write(other.join("own"), "somebody's").unwrap();
            assert!(!is_aside(&other), "{name}");
            assert_eq!(recover(&other, same).unwrap(), None, "{name}");
            fs::write(other.join(MARKER), "somebody's").unwrap();
            assert!(!is_aside(&other), "{name}");
        }
        assert_eq!(asides_in(home.path()).unwrap(), [&*folder]);
        // A copy of a temporary folder is read by nobody, and is not recovered either.
        let (moved, name) = (home.path().join("moved"), folder.file_name().unwrap());
        fs::create_dir(&moved).unwrap();
        fs::rename(&folder, moved.join(name)).unwrap();
        assert!(is_aside(&moved.join(name)));
        assert_eq!(recover(&moved.join(name), same).unwrap(), None);
        assert!(moved.join(name).join("own").exists());
    }

    #[test]
    fn names_are_chosen_at_random() {
        let home = tempfile::tempdir().unwrap();
        let [one, other] = [(), ()].map(|()| Aside::make(home.path(), Purpose::Old).unwrap());
        assert_ne!(one.folder, other.folder);
        let missing = Aside::make(&home.path().join("missing"), Purpose::Old);
        assert_eq!(missing.err().map(|error| error.kind()), Some(io::ErrorKind::NotFound));
        // Each five bits are one more than those below.
        assert_eq!(characters((0..8).map(|at| at << (5 * at)).sum()), "abcdefgh");
    }

    #[test]
    fn a_folder_is_removed_when_it_is_empty() {
        let home = tempfile::tempdir().unwrap();
        drop(Aside::make(home.path(), Purpose::New).unwrap());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        let folder = left(home.path(), Purpose::Old, "own");
        for name in ["own", MARKER] {
            fs::remove_file(folder.join(name)).unwrap();
        }
        assert_eq!(recover(&folder, same).unwrap(), Some(Recovered::Removed));
        assert!(!folder.exists(), "it was made just before a kill");
    }
}
