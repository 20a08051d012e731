//! The files of a folder that are documents: one set of rules for every command.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::{DirEntry, WalkBuilder};

use super::kind::{Compression, Kind, reader_of};
use super::output_file::is_unfinished;
use super::own_files::{is_named_undo_list, is_of_database};
use super::system::{self, identity_of_listed, is_special};
use crate::aside::is_aside;
use crate::error::{Error, InputSetProblem, Result};

/// Folders of version control. They hold old versions of files, mostly compressed.
const SKIPPED_FOLDERS: [&str; 3] = [".git", ".hg", ".svn"];

/// Which files below a folder are documents. A file that is named itself always is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FolderRules {
    /// Includes what [`IGNORED_NAMES`](Self::IGNORED_NAMES), `.gitignore` and `.ignore` name.
    pub no_ignore: bool,
    /// Files and folders to leave out: patterns as in a `.gitignore` of the folder.
    pub exclude: Vec<String>,
    /// Only files with one of these extensions, whatever their case; all if there is none. A
    /// compressed file also has the extension before `.gz` or the like.
    pub extensions: Vec<String>,
    /// Files, and folders all of whose files are left out, because they are read as something else.
    pub read_elsewhere: Vec<PathBuf>,
}

impl FolderRules {
    /// Names of licences and of lock files: many folders have the same ones, and need them.
    pub const IGNORED_NAMES: &str = "{LICENSE,LICENCE,UNLICENSE,COPYING,COPYRIGHT,NOTICE},\
        {LICENSE,LICENCE,COPYING}[-_]*,{LICENSE,LICENCE,UNLICENSE,COPYING,COPYRIGHT,NOTICE}.{md,rst,txt,html},\
        COPYING.LESSER,*.lock,package-lock.json,npm-shrinkwrap.json,pnpm-lock.yaml,go.sum";
}

/// What was found in folders, and is no document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Files of kinds that are not compared, such as PDF: by the name of the kind.
    pub kinds: BTreeMap<&'static str, Vec<PathBuf>>,
    /// Files that stand beside the records of a folder, such as `README.md` and `_SUCCESS`.
    pub beside: Vec<PathBuf>,
    /// Texts that are not UTF-8, by their encodings. They are not left out.
    pub encodings: BTreeMap<&'static str, u64>,
    /// What was found out about files that are read, such as what separates their fields: a sentence each.
    pub notes: Vec<String>,
    /// Files without a byte.
    pub empty: Vec<PathBuf>,
    /// Files of more bytes than a document may have.
    pub large: Vec<PathBuf>,
    /// Files whose names are [ignored](FolderRules::IGNORED_NAMES). What `.gitignore` names is not among them.
    pub ignored: Vec<PathBuf>,
    /// Files and folders that are [excluded](FolderRules::exclude), and files with other
    /// [extensions](FolderRules::extensions).
    pub num_excluded: u64,
    /// Further names of files: hard links, files below several of the paths, and files that are [read
    /// elsewhere](FolderRules::read_elsewhere).
    pub num_further_names: u64,
    /// Symbolic links. They are not followed.
    pub links: Vec<PathBuf>,
    /// Named pipes, sockets and devices.
    pub special: Vec<PathBuf>,
    /// Temporary folders of acts on files, which a killed process has left or a living one uses. A file in it may be
    /// the only one of its content: see [`acts::recover`](crate::acts::recover).
    pub temporary: Vec<PathBuf>,
    /// A message for each file and folder that could not be read: it is closed to this user, is
    /// damaged, or has vanished.
    pub unreadable: Vec<String>,
    /// Files for which the program that is to write their texts has failed, each with the reason. They are among the
    /// [kinds](Self::kinds), too.
    pub unwritten: Vec<String>,
    /// A message for each input that cannot be read, or not to its end, and is a [bad
    /// record](super::ReaderOptions::rejects_files). It is not left out.
    pub rejected: Vec<String>,
    /// Files that are known to have something to read, such as a picture, in a format that is not read: by its name.
    pub unread_formats: BTreeMap<&'static str, Vec<PathBuf>>,
}

/// The most paths that are shown of one kind.
const SHOWN_PATHS: usize = 5;

impl LeftOut {
    /// The kind under which files are counted that are texts in no encoding.
    pub const UNKNOWN_ENCODING: &str = "of an unknown encoding";
    /// The kind of a file for which the program that is to write its text has failed.
    pub const UNWRITTEN: &str = "for which --pre wrote no text";
    /// The kind under which files are counted where only pictures are compared.
    pub const NO_PICTURE: &str = "no images";

    const UNDO_LISTS: &str = "nearprint undo lists";
    const EMPTY: &str = "empty";
    const LARGE: &str = "too large";
    const IGNORED: &str = "on the list of ignored names";

    /// Adds what could not be read.
    ///
    /// # Errors
    /// The same error, if the process lacks file handles or memory, so that other files cannot be read
    /// either.
    pub fn add_unreadable(&mut self, error: Error) -> Result<()> {
        self.unreadable.push(of_one_file(error)?.to_string());
        Ok(())
    }

    /// Adds an input that is a bad record.
    pub(super) fn add_rejected(&mut self, error: Error) -> Result<()> {
        self.rejected.push(of_one_file(error)?.to_string());
        Ok(())
    }

    /// Adds a file of a kind that is not compared.
    pub fn add_kind(&mut self, kind: &'static str, path: &Path) {
        self.kinds.entry(kind).or_default().push(path.to_path_buf());
    }

    /// Adds a file for which the program that is to write its text has failed.
    pub fn add_unwritten(&mut self, path: &Path, why: &str) {
        self.add_kind(Self::UNWRITTEN, path);
        self.unwritten.push(format!("{}: {why}", path.display()));
    }

    /// Fails if files with content were left out, and none is of a kind that is compared: a job that finds nothing
    /// because it has read nothing looks like one without duplicates.
    ///
    /// # Errors
    /// [`InputSetProblem::NothingCompared`].
    pub fn check_compared(&self, num_compared: u64) -> Result<()> {
        if num_compared > 0 || self.kinds.is_empty() {
            return Ok(());
        }
        let kinds: Vec<String> =
            self.kinds.iter().map(|(name, paths)| format!("{} {name}", paths.len())).collect();
        let first = self.kinds.keys().find(|name| reader_of(name).is_some()).or(self.kinds.keys().next());
        Err(InputSetProblem::NothingCompared {
            kinds: kinds.join(", "),
            first: first.copied().unwrap_or_default(),
        }
        .into())
    }

    /// Counts a text that is compared, by the [name](super::Decoded::counted_as) of its encoding.
    pub fn count_encoding(&mut self, name: Option<&'static str>) {
        if let Some(name) = name {
            *self.encodings.entry(name).or_default() += 1;
        }
    }

    /// Adds a file of a format that is not read.
    pub fn add_unread(&mut self, format: &'static str, path: &Path) {
        self.unread_formats.entry(format).or_default().push(path.to_path_buf());
    }

    /// The number of files that are left out, by reason; only reasons that there are.
    #[must_use]
    pub fn files(&self) -> Vec<(u64, &'static str)> {
        let counts = [
            (self.empty.len() as u64, Self::EMPTY),
            (self.large.len() as u64, Self::LARGE),
            (self.ignored.len() as u64, Self::IGNORED),
            (self.num_further_names, "further names of files"),
            (self.unreadable.len() as u64, "unreadable"),
        ];
        let count = |(name, paths): (&&'static str, &Vec<PathBuf>)| (paths.len() as u64, *name);
        let (kinds, formats) = (self.kinds.iter().map(count), self.unread_formats.iter().map(count));
        kinds.chain(counts).chain(formats).filter(|(count, _)| *count > 0).collect()
    }

    /// The files that are left out because of their kind, their size or their name, by reason.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &[PathBuf])> {
        let kinds = self.kinds.iter().map(|(name, paths)| (*name, paths.as_slice()));
        let others = [
            (Self::EMPTY, self.empty.as_slice()),
            (Self::LARGE, &self.large),
            (Self::IGNORED, &self.ignored),
        ];
        kinds.chain(others)
    }

    /// The formats that are not read: the number of files of each, and the first paths.
    #[must_use]
    pub fn unread(&self) -> Vec<String> {
        let formats = self.unread_formats.iter();
        formats.map(|(format, paths)| format!("{} {format} ({})", paths.len(), Shown(paths))).collect()
    }

    /// What else is left out: the number of each kind, and the first paths. What `.gitignore` names is
    /// not among it.
    #[must_use]
    pub fn others(&self) -> Vec<String> {
        let excluded = (self.num_excluded > 0).then(|| format!("{} excluded", self.num_excluded));
        let named = [
            (&self.beside, ["file beside the records", "files beside the records"]),
            (&self.links, ["link", "links"]),
            (&self.special, ["pipe, socket or device", "pipes, sockets and devices"]),
            (
                &self.temporary,
                ["temporary folder of an interrupted act", "temporary folders of interrupted acts"],
            ),
        ];
        let named = named.into_iter().filter(|(paths, _)| !paths.is_empty()).map(|(paths, names)| {
            let name = names[usize::from(paths.len() > 1)];
            format!("{} {name} ({})", paths.len(), Shown(paths))
        });
        excluded.into_iter().chain(named).collect()
    }
}

/// An error that is about one file. `Err` if the process lacks file handles or memory.
fn of_one_file(error: Error) -> Result<Error> {
    match error {
        Error::Engine(nearprint::Error::Io { ref source, .. }) if is_shortage(source) => Err(error),
        error => Ok(error),
    }
}

/// The first paths of a list, with all characters escaped that do not print themselves.
struct Shown<'a>(&'a [PathBuf]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, path) in self.0.iter().take(SHOWN_PATHS).enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{}", super::escape(&path.to_string_lossy()))?;
        }
        if self.0.len() > SHOWN_PATHS { f.write_str(", …") } else { Ok(()) }
    }
}

/// The rules, compiled.
pub(super) struct Walker<'a> {
    rules: &'a FolderRules,
    /// `None` before the first folder: to compile them takes half a millisecond. Or if no name is ignored.
    names: Option<Gitignore>,
    /// Device and inode of the files so far.
    visited: HashSet<(u64, u64)>,
    /// The patterns of what is excluded that have matched something.
    matched: Arc<Mutex<HashSet<String>>>,
    has_walked: bool,
}

impl<'a> Walker<'a> {
    pub(super) fn new(rules: &'a FolderRules) -> Self {
        let (visited, matched) = (HashSet::new(), Arc::default());
        Self { rules, names: None, visited, matched, has_walked: false }
    }

    fn compile_names(&mut self) -> Result<()> {
        if self.names.is_none() && !self.rules.no_ignore {
            let mut names = GitignoreBuilder::new("");
            names.case_insensitive(true).map_err(bad_pattern)?;
            self.names = Some(compiled(names, patterns_of(FolderRules::IGNORED_NAMES))?);
        }
        Ok(())
    }

    /// Tells of patterns that exclude nothing: files that were meant to be left out would be read.
    pub(super) fn note_unmatched(&self, left_out: &mut LeftOut) {
        let matched = self.matched.lock().unwrap_or_else(PoisonError::into_inner);
        let unmatched =
            self.rules.exclude.iter().filter(|pattern| self.has_walked && !matched.contains(*pattern));
        left_out.notes.extend(unmatched.map(|pattern| {
            format!("warning: nothing is excluded by {pattern:?}, which is a pattern as in a .gitignore of the folder")
        }));
    }

    /// Whether a file is seen for the first time.
    pub(super) fn is_new(&mut self, path: &Path, file: &Metadata) -> bool {
        self.visited.insert(identity_of_listed(path, file))
    }

    /// Calls `visit` with each file below a folder that is a document, and adds the others to `left_out`.
    pub(super) fn walk(
        &mut self,
        folder: &Path,
        left_out: &mut LeftOut,
        mut visit: impl FnMut(PathBuf, &Metadata),
    ) -> Result<()> {
        self.compile_names()?;
        let exclude = compiled(GitignoreBuilder::new(folder), self.rules.exclude.iter().map(String::as_str))?;
        self.has_walked = true;
        let (num_excluded, matched) = (Arc::new(AtomicU64::new(0)), self.matched.clone());
        let counted = num_excluded.clone();
        let own = Arc::new(Mutex::new(OwnFolders::default()));
        let found_own = own.clone();
        let is_included = move |entry: &DirEntry| {
            let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let own = || found_own.lock().unwrap_or_else(PoisonError::into_inner);
            if is_folder && is_aside(entry.path()) {
                own().temporary.push(entry.path().to_path_buf());
                return false;
            }
            let found = exclude.matched(entry.path(), is_folder);
            if let Some(glob) = found.inner().filter(|_| entry.depth() > 0) {
                matched.lock().unwrap_or_else(PoisonError::into_inner).insert(glob.original().to_string());
            }
            let is_excluded = entry.depth() > 0 && found.is_ignore();
            counted.fetch_add(u64::from(is_excluded), Ordering::Relaxed);
            if is_excluded || entry.depth() > 0 && is_version_control(entry) {
                return false;
            }
            // One that is named itself is a matter of the caller.
            let is_database = is_folder && entry.depth() > 0 && is_of_database(entry.path());
            if is_database {
                own().databases.push(entry.path().to_path_buf());
            }
            !is_database
        };
        let mut entries = WalkBuilder::new(folder);
        // Of the names of one file, the same one is read whatever the file system lists first.
        entries.sort_by_file_name(|a, b| a.cmp(b));
        entries.standard_filters(!self.rules.no_ignore).hidden(false).require_git(false);
        // Of several names of one file, the first one is visited.
        entries.sort_by_file_name(Ord::cmp);
        for entry in entries.filter_entry(is_included).build() {
            let entry = entry.and_then(|entry| Ok((entry.metadata()?, entry.into_path())));
            match entry {
                Ok((metadata, path)) => self.sort_out(path, &metadata, left_out, &mut visit),
                Err(error) => left_out.add_unreadable(listing_error(error, folder))?,
            }
        }
        left_out.num_excluded += num_excluded.load(Ordering::Relaxed);
        let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
        left_out.temporary.append(&mut own.temporary);
        own.databases.iter().for_each(|folder| left_out.add_kind(Kind::Database.name(), folder));
        Ok(())
    }

    /// Takes a file and all files below a folder, whatever the rules say of them, for files that were seen.
    pub(super) fn mark(&mut self, path: &Path) {
        let mut entries = WalkBuilder::new(path);
        // What cannot be listed here cannot be listed as an input either.
        for entry in entries.standard_filters(false).build().flatten() {
            let looked_at = match entry.depth() {
                0 => entry.path().metadata(),
                _ => entry.path().symlink_metadata(),
            };
            if let Ok(metadata) = &looked_at
                && metadata.is_file()
            {
                self.is_new(entry.path(), metadata);
            }
        }
    }

    /// Visits a file that is a document.
    fn sort_out(
        &mut self,
        path: PathBuf,
        metadata: &Metadata,
        left_out: &mut LeftOut,
        visit: &mut impl FnMut(PathBuf, &Metadata),
    ) {
        let kind = metadata.file_type();
        if kind.is_symlink() {
            left_out.links.push(path);
        } else if is_special(kind) {
            left_out.special.push(path);
        } else if !kind.is_file() || is_unfinished(&path) {
        } else if self.is_ignored(&path) {
            left_out.ignored.push(path);
        } else if !self.has_extension(&path) {
            left_out.num_excluded += 1;
        } else if is_named_undo_list(&path) {
            left_out.add_kind(LeftOut::UNDO_LISTS, &path);
        } else if self.is_new(&path, metadata) {
            visit(path, metadata);
        } else {
            left_out.num_further_names += 1;
        }
    }

    fn is_ignored(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default();
        self.names.as_ref().is_some_and(|names| names.matched(name, false).is_ignore())
    }

    fn has_extension(&self, file: &Path) -> bool {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let wanted = &self.rules.extensions;
        wanted.is_empty()
            || [&*name, Compression::strip(&name)].into_iter().any(|name| {
                let found = name.rsplit_once('.').map_or("", |(_, extension)| extension);
                wanted.iter().any(|wanted| wanted.trim_start_matches('.').eq_ignore_ascii_case(found))
            })
    }
}

/// Folders of nearprint in a folder of documents.
#[derive(Default)]
struct OwnFolders {
    temporary: Vec<PathBuf>,
    databases: Vec<PathBuf>,
}

fn is_version_control(entry: &DirEntry) -> bool {
    SKIPPED_FOLDERS.iter().any(|skipped| entry.file_name() == *skipped)
}

fn compiled<'p>(mut builder: GitignoreBuilder, patterns: impl Iterator<Item = &'p str>) -> Result<Gitignore> {
    for pattern in patterns {
        builder.add_line(None, pattern).map_err(bad_pattern)?;
    }
    builder.build().map_err(bad_pattern)
}

pub(super) fn bad_pattern(error: ignore::Error) -> Error {
    InputSetProblem::BadPattern { why: error.to_string() }.into()
}

/// The patterns of a list: between commas that are not in braces.
fn patterns_of(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let between = list.split(move |c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    between.map(str::trim).filter(|pattern| !pattern.is_empty())
}

/// Whether the process lacks something, so that other files cannot be read either.
fn is_shortage(error: &io::Error) -> bool {
    // A walk wraps the error of the system in one of its own.
    let wrapped = error.get_ref().and_then(|walk| walk.source()?.downcast_ref());
    system::is_shortage(wrapped.unwrap_or(error))
}

/// The error of something somewhere below `path`.
fn listing_error(error: ignore::Error, path: &Path) -> Error {
    match error {
        ignore::Error::WithPath { path, err } => listing_error(*err, &path),
        ignore::Error::WithDepth { err, .. } => listing_error(*err, path),
        ignore::Error::Io(source) => Error::io("list", path)(source),
        other => Error::input(path.to_string_lossy(), other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn walked(at: &Path, rules: &FolderRules) -> (Vec<String>, LeftOut) {
        let (mut found, mut left_out) = (Vec::new(), LeftOut::default());
        let mut walker = Walker::new(rules);
        let name = |path: PathBuf| path.strip_prefix(at).unwrap().to_string_lossy().replace('\\', "/");
        walker.walk(at, &mut left_out, |path, _| found.push(name(path))).unwrap();
        found.sort_unstable();
        (found, left_out)
    }

    #[test]
    fn licences_and_lock_files_are_ignored_and_sources_are_not() {
        let default = FolderRules::default();
        let mut walker = Walker::new(&default);
        walker.compile_names().unwrap();
        for name in [
            "LICENSE",
            "license-mit",
            "LICENCE.txt",
            "UNLICENSE",
            "COPYING.LESSER",
            "Cargo.lock",
            "yarn.lock",
            "go.sum",
            "NOTICE",
            "package-lock.json",
        ] {
            assert!(walker.is_ignored(&Path::new("a").join(name)), "{name}");
        }
        for name in ["license.rs", "LicenseManager.java", "notices.py", "lock.c", "Cargo.toml", "licenses"] {
            assert!(!walker.is_ignored(&Path::new("a").join(name)), "{name}");
        }
    }

    #[test]
    fn rules_leave_out_and_count() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        for name in [
            "a.md",
            "b.TXT.gz",
            ".hidden.md",
            "s/c.md",
            "s/d.rs",
            "out/e.md",
            ".git/f.md",
            "LICENSE",
            "g.log",
        ] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "1").unwrap();
        }
        fs::write(at(".gitignore"), "*.log\n").unwrap();
        fs::hard_link(at("s/d.rs"), at("s/e.rs")).unwrap();
        // Windows has no pipes among files, and links need a privilege there.
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(at("a.md"), at("link")).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        }
        let links_and_pipes =
            if cfg!(unix) { ", 1 link (link), 1 pipe, socket or device (pipe)" } else { "" };
        let mut rules = FolderRules { exclude: vec!["/out/".into()], ..FolderRules::default() };
        let (found, left_out) = walked(home.path(), &rules);
        let found: Vec<&str> = found.iter().map(|name| name.split('.').next_back().unwrap()).collect();
        assert_eq!(found, ["gitignore", "md", "md", "gz", "md", "rs"]);
        assert_eq!(left_out.files(), [(1, "on the list of ignored names"), (1, "further names of files")]);
        let others = left_out.others().join(", ").replace(&format!("{}/", home.path().display()), "");
        assert_eq!(others, format!("1 excluded{links_and_pipes}"));
        rules.extensions = vec![".txt".into(), "md".into()];
        rules.no_ignore = true;
        let (found, left_out) = walked(home.path(), &rules);
        assert_eq!(found, [".hidden.md", "a.md", "b.TXT.gz", "s/c.md"]);
        assert_eq!((left_out.ignored.len(), left_out.num_excluded), (0, 6));
    }
    #[test]
    fn regression_the_first_name_of_a_file_is_visited() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("50"), "1").unwrap();
        for name in 10..90 {
            let _ = fs::hard_link(home.path().join("50"), home.path().join(name.to_string()));
        }
        assert_eq!(walked(home.path(), &FolderRules::default()).0, ["10"]);
    }
}
