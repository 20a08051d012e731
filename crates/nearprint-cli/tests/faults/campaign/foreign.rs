//! Files and folders that nearprint did not make, with names that it uses itself, and what is at
//! them: whatever a command does, they stay as they are.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use nearprint::{Database, Row, Schema};

use crate::history::fingerprint;
use testkit::Random;

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The kind of file, and its permissions.
    mode: u32,
    inode: u64,
    /// In nanoseconds. A folder in which something is made and removed again has another one.
    modified: i128,
    /// The bytes of a file, or the target of a link.
    content: Vec<u8>,
}

/// Everything at a path and below it.
type Listing = BTreeMap<PathBuf, Entry>;

/// A file, folder or link that nearprint did not make.
struct Thing {
    kind: &'static str,
    listing: Listing,
}

/// All foreign things of a folder.
pub struct Foreign {
    home: PathBuf,
    /// By name in the folder.
    things: BTreeMap<String, Thing>,
    planted: u64,
}

/// Names that nearprint uses for its own files beside or inside a database, an output or a work
/// folder. `NAME` is the name of something that a command is about to make.
const NAMES: [&str; 12] = [
    "NAME.building",
    "NAME.partial",
    "NAME.partial-abc123",
    "nearprint-SIXRND",
    "nearprint-corpus-NR",
    "NR.building",
    "NR.partial",
    "LOCK",
    "MANIFEST.tmp",
    "CHECKPOINT",
    "nearprint-a\nb-NR",
    "nearprint-LONG-NR",
];

impl Foreign {
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_path_buf(), things: BTreeMap::new(), planted: 0 }
    }

    /// Whether a name belongs to a foreign thing.
    pub fn has(&self, name: &str) -> bool {
        self.things.contains_key(name)
    }

    /// Whether something foreign stands where nearprint would make its own files for a name.
    pub fn blocks(&self, name: &str) -> bool {
        [".building", ".partial"].iter().any(|suffix| self.has(&format!("{name}{suffix}")))
    }

    /// Puts something of a random kind at a random name, unless that name is taken.
    pub fn plant(&mut self, near: &str, random: &mut Random) {
        let name = self.name(near, random);
        self.plant_at(&name, random);
    }

    /// Puts something of a random kind where nearprint would make its own files for a name.
    pub fn plant_beside(&mut self, near: &str, random: &mut Random) {
        let name = NAMES[random.below(2) as usize].replace("NAME", near);
        self.plant_at(&name, random);
    }

    fn name(&mut self, near: &str, random: &mut Random) -> String {
        self.planted += 1;
        let form = NAMES[random.below(NAMES.len() as u64) as usize];
        let letters: String = (0..6).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
        let name = form.replace("SIXRND", &letters).replace("NR", &self.planted.to_string());
        name.replace("LONG", &"x".repeat(230)).replace("NAME", near)
    }

    fn plant_at(&mut self, name: &str, random: &mut Random) {
        let path = self.home.join(name);
        if name.len() > 255 || path.symlink_metadata().is_ok() {
            return;
        }
        let kind = match random.below(8) {
            0..2 => database(&path),
            2 => half_a_database(&path),
            3 => folder_with_a_lock(&path),
            4 => folder_of_a_lock(&path),
            5 => empty_folder(&path),
            6 => file(&path),
            _ => self.link(&path, random),
        };
        self.adopt(kind, name);
    }

    /// A link to something precious outside of the names that nearprint uses.
    fn link(&mut self, path: &Path, random: &mut Random) -> &'static str {
        const PRECIOUS: &str = "precious";
        if !self.has(PRECIOUS) {
            folder_with_a_lock(&self.home.join(PRECIOUS));
            self.adopt("the folder behind links", PRECIOUS);
        }
        let (target, kind) = match random.below(3) {
            0 => (PRECIOUS.to_owned(), "a link to a folder"),
            1 => (format!("{PRECIOUS}/sub/thesis.tex"), "a link to a file"),
            _ => (format!("{PRECIOUS}/nothing"), "a link to nothing"),
        };
        symlink(target, path).unwrap();
        kind
    }

    /// From now on, what is at a name is foreign.
    pub fn adopt(&mut self, kind: &'static str, name: &str) {
        let listing = listing(&self.home.join(name));
        self.things.insert(name.to_owned(), Thing { kind, listing });
    }

    /// The user takes something away.
    pub fn remove(&mut self, name: &str) {
        self.things.remove(name).unwrap();
        let path = self.home.join(name);
        if path.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }

    /// Describes everything that has changed, and takes what is there now as the new state.
    pub fn differences(&mut self) -> Vec<String> {
        let mut found = Vec::new();
        let mut gone = Vec::new();
        for (name, thing) in &mut self.things {
            let now = listing(&self.home.join(name));
            if now != thing.listing {
                let paths = thing.listing.keys().chain(now.keys());
                let path = paths.into_iter().find(|path| now.get(*path) != thing.listing.get(*path)).unwrap();
                let how = match (thing.listing.get(path), now.get(path)) {
                    (Some(_), None) => "is gone",
                    (None, Some(_)) => "is new",
                    _ => "has changed",
                };
                let path = path.strip_prefix(&self.home).unwrap();
                found.push(format!("{}, {name:?}: {path:?} {how}", thing.kind));
                thing.listing = now;
            }
            if thing.listing.is_empty() {
                gone.push(name.clone());
            }
        }
        gone.iter().for_each(|name| drop(self.things.remove(name)));
        found
    }

    pub fn count(&self) -> usize {
        self.things.len()
    }
}

fn listing(path: &Path) -> Listing {
    let mut found = Listing::new();
    list(path, &mut found);
    found
}

fn list(path: &Path, found: &mut Listing) {
    let Ok(metadata) = path.symlink_metadata() else { return };
    let content = if metadata.is_symlink() {
        fs::read_link(path).unwrap().as_os_str().as_bytes().to_vec()
    } else if metadata.is_file() {
        fs::read(path).unwrap()
    } else {
        fs::read_dir(path).unwrap().for_each(|entry| list(&entry.unwrap().path(), found));
        Vec::new()
    };
    let modified = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    let entry = Entry { mode: metadata.mode(), inode: metadata.ino(), modified, content };
    found.insert(path.to_path_buf(), entry);
}

fn database(path: &Path) -> &'static str {
    let database = Database::<u64>::create(path, &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    for id in 0..50 {
        writer.insert(Row { fingerprint: fingerprint(id), id }).unwrap();
    }
    writer.close().unwrap();
    "a database"
}

/// As a database that is being built, or that somebody has begun to copy.
fn half_a_database(path: &Path) -> &'static str {
    database(path);
    fs::remove_file(path.join("MANIFEST")).unwrap();
    "a database without a manifest"
}

fn folder_with_a_lock(path: &Path) -> &'static str {
    fs::create_dir_all(path.join("sub")).unwrap();
    fs::write(path.join("LOCK"), "").unwrap();
    fs::write(path.join("sub/thesis.tex"), "years of work\n").unwrap();
    "a folder with LOCK and more"
}

fn folder_of_a_lock(path: &Path) -> &'static str {
    fs::create_dir(path).unwrap();
    fs::write(path.join("LOCK"), "held by the head of the institute\n").unwrap();
    "a folder with LOCK alone"
}

fn empty_folder(path: &Path) -> &'static str {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o710)).unwrap();
    "an empty folder"
}

fn file(path: &Path) -> &'static str {
    fs::write(path, "notes\nthat nobody has twice\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
    "a file"
}
