//! The files to read.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{FolderRules, LeftOut, Walker};
use super::kind::Records;
use super::regular::open_regular;
use super::stamp::FileStamp;
use super::stdin::StdinSource;
use crate::error::{Error, InputSetProblem, Result};

/// The name of standard input in messages.
const STDIN: &str = "standard input";

/// A file to read, or standard input.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InputFile {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// Its length in bytes, compressed or not; `None` for pipes and devices.
    pub size_bytes: Option<u64>,
    /// The state of a regular file when it was listed.
    pub stamp: Option<FileStamp>,
    /// Whether a folder was named, and not this file.
    pub in_folder: bool,
    /// Its path below the folder that was named, or its name.
    pub(crate) name_in_folder: PathBuf,
    /// The place of the path that was named among all of them.
    pub(super) named: usize,
    /// What records it holds; by its name until it is looked at.
    pub(super) records: Option<Records>,
    pub(crate) stdin: StdinSource,
}

impl InputFile {
    fn with_metadata(path: PathBuf, metadata: &fs::Metadata) -> Self {
        let stamp = metadata.is_file().then(|| FileStamp::of_listed(&path, metadata));
        Self { size_bytes: stamp.map(|stamp| stamp.size_bytes), stamp, ..Self::new(&path) }
    }

    /// A file of unknown length.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            size_bytes: None,
            stamp: None,
            in_folder: false,
            name_in_folder: path.file_name().unwrap_or_default().into(),
            named: 0,
            records: Records::of_name(path),
            stdin: StdinSource::Stream,
        }
    }

    /// Opens the input.
    pub(super) fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        if self.is_stdin() { self.stdin.open() } else { Ok(Box::new(self.open_file()?)) }
    }

    /// Opens an input that is not standard input. What was a regular file when it was listed has to
    /// be one still: a named pipe in its place could block for ever.
    pub(super) fn open_file(&self) -> io::Result<File> {
        if self.size_bytes.is_some() { open_regular(&self.path) } else { File::open(&self.path) }
    }

    pub(super) fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }

    /// The name in messages.
    pub(super) fn name(&self) -> Arc<str> {
        if self.is_stdin() { STDIN.into() } else { self.in_keys() }
    }

    /// The name in keys.
    pub(super) fn in_keys(&self) -> Arc<str> {
        self.path.to_string_lossy().into()
    }
}

/// Lists the files that paths denote, and what was left out of folders.
///
/// A folder denotes the files below it that its rules choose, in the order of their paths. A regular file is listed
/// once, under the first of its names; with `repeats`, as often as it is named itself.
pub(super) fn list(
    paths: &[PathBuf],
    rules: &FolderRules,
    stdin: &StdinSource,
    repeats: bool,
) -> Result<(Vec<InputFile>, LeftOut)> {
    let (mut found, mut left_out) = (Vec::new(), LeftOut::default());
    let mut walker = Walker::new(rules);
    rules.read_elsewhere.iter().for_each(|path| walker.mark(path));
    for (named, path) in paths.iter().enumerate() {
        if path == Path::new("-") {
            if found.iter().any(InputFile::is_stdin) {
                return Err(InputSetProblem::StdinTwice.into());
            }
            found.push(InputFile { stdin: stdin.clone(), ..InputFile::new(path) });
            continue;
        }
        let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            let before = found.len();
            walker.walk(path, &mut left_out, |file, metadata| {
                let name_in_folder = file.strip_prefix(path).unwrap_or(&file).to_path_buf();
                let file = InputFile::with_metadata(file, metadata);
                found.push(InputFile { in_folder: true, name_in_folder, named, ..file });
            })?;
            found[before..].sort_unstable_by(|a, b| a.path.cmp(&b.path));
        } else if walker.is_new(path, &metadata) || repeats || !metadata.is_file() {
            found.push(InputFile { named, ..InputFile::with_metadata(path.clone(), &metadata) });
        } else {
            left_out.num_further_names += 1;
        }
    }
    walker.note_unmatched(&mut left_out);
    left_out.temporary.sort_unstable();
    left_out.links.sort_unstable();
    left_out.special.sort_unstable();
    left_out.unreadable.sort_unstable();
    Ok((found, left_out))
}

/// Lists the files that paths denote, each once and sorted by path, and what was left out of folders.
///
/// ```
/// use nearprint_text::documents::{FolderRules, list_files};
///
/// # let home = tempfile::tempdir()?;
/// std::fs::write(home.path().join("a.md"), "one")?;
/// std::fs::write(home.path().join("LICENSE"), "two")?;
/// let (files, left_out) = list_files(&[home.path().into()], &FolderRules::default())?;
/// assert_eq!((files.len(), left_out.ignored.len()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Engine`] if a path does not exist, or if the process lacks file handles or memory;
/// [`Error::InputSet`] for a malformed pattern.
pub fn list_files(paths: &[PathBuf], rules: &FolderRules) -> Result<(Vec<InputFile>, LeftOut)> {
    let (mut files, left_out) = list(paths, rules, &StdinSource::Stream, false)?;
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok((files, left_out))
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use std::os::unix::fs::symlink;
    #[cfg(windows)]
    use std::os::windows::fs::symlink_file as symlink;

    #[test]
    #[cfg_attr(windows, ignore = "links need a privilege on Windows, and wine has none")]
    fn folders_are_walked_in_order_and_links_left_out() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("d/b/c")).unwrap();
        for name in ["d/z", "d/a", "d/b/c/y", "d/b/x"] {
            fs::write(at(name), "1").unwrap();
        }
        symlink(at("d/z"), at("d/l")).unwrap();
        symlink(at("d"), at("d/b/loop")).unwrap();
        fs::write(at("x"), "1").unwrap();
        let list = |paths: &[PathBuf]| list(paths, &FolderRules::default(), &StdinSource::Stream, false);
        let (found, left_out) = list(&[at("d"), at("d/b"), at("d/l"), at("x"), "-".into()]).unwrap();
        let expected = [at("d/a"), at("d/b/c/y"), at("d/b/x"), at("d/z"), at("x"), "-".into()];
        assert!(found.iter().map(|input| &input.path).eq(&expected), "{found:?}");
        assert_eq!(found[0].size_bytes, Some(1));
        assert_eq!((left_out.links.len(), left_out.num_further_names), (3, 3), "{left_out:?}");
        assert!(list(&[at("missing")]).unwrap_err().to_string().starts_with("cannot open"));
        let twice = list(&["-".into(), "-".into()]).unwrap_err();
        assert!(matches!(twice, Error::InputSet(InputSetProblem::StdinTwice)), "{twice}");
    }
}
