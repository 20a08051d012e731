//! The files to read, and their common format.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::Format;
use super::output_file::is_unfinished;
use super::regular::open_regular;
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
    pub(crate) stdin: StdinSource,
}

impl InputFile {
    fn with_metadata(path: PathBuf, metadata: &fs::Metadata) -> Self {
        Self { path, size_bytes: metadata.is_file().then_some(metadata.len()), stdin: StdinSource::Stream }
    }

    /// A file of unknown length.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), size_bytes: None, stdin: StdinSource::Stream }
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

/// Lists the files that paths denote.
///
/// A folder denotes all regular files below it in the order of their paths; links in it are not
/// followed, and unfinished outputs are left out.
pub(super) fn list(paths: &[PathBuf], stdin: &StdinSource) -> Result<Vec<InputFile>> {
    let mut found = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            if found.iter().any(InputFile::is_stdin) {
                return Err(InputSetProblem::StdinTwice.into());
            }
            found.push(InputFile { path: path.clone(), size_bytes: None, stdin: stdin.clone() });
            continue;
        }
        let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            found[before..].sort_unstable_by(|a, b| a.path.cmp(&b.path));
        } else {
            found.push(InputFile::with_metadata(path.clone(), &metadata));
        }
    }
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<InputFile>) -> Result<()> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let entry = entry.map_err(Error::io("list", &folder))?;
            let path = entry.path();
            let metadata = entry.metadata().map_err(Error::io("open", &path))?;
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() && !is_unfinished(&path) {
                found.push(InputFile::with_metadata(path, &metadata));
            }
        }
    }
    Ok(())
}

/// The format of all inputs. `given` overrides what extensions denote.
pub(super) fn common_format(inputs: &[InputFile], given: Option<Format>, stdin: Format) -> Result<Format> {
    let of = |input: &InputFile| {
        given.unwrap_or_else(|| if input.is_stdin() { stdin } else { Format::of(&input.path) })
    };
    let first = inputs.first().ok_or(InputSetProblem::Empty)?;
    let format = of(first);
    match inputs.iter().find(|input| of(input) != format) {
        None => Ok(format),
        Some(other) => Err(InputSetProblem::MixedFormats {
            first: first.name().to_string(),
            first_format: format.name(),
            other: other.name().to_string(),
            other_format: of(other).name(),
        }
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_walked_in_order_and_links_left_out() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::create_dir_all(at("d/b/c")).unwrap();
        for name in ["d/z", "d/a", "d/b/c/y", "d/b/x"] {
            fs::write(at(name), "1").unwrap();
        }
        std::os::unix::fs::symlink(at("d/z"), at("d/l")).unwrap();
        std::os::unix::fs::symlink(at("d"), at("d/b/loop")).unwrap();
        let found = list(&[at("d"), at("d/l"), "-".into()], &StdinSource::Stream).unwrap();
        let expected = [at("d/a"), at("d/b/c/y"), at("d/b/x"), at("d/z"), at("d/l"), "-".into()];
        assert!(found.iter().map(|input| &input.path).eq(&expected), "{found:?}");
        assert_eq!(found[0].size_bytes, Some(1));
        assert!(
            list(&[at("missing")], &StdinSource::Stream).unwrap_err().to_string().starts_with("cannot open")
        );
        let twice = list(&["-".into(), "-".into()], &StdinSource::Stream).unwrap_err();
        assert!(matches!(twice, Error::InputSet(InputSetProblem::StdinTwice)), "{twice}");
    }

    #[test]
    fn inputs_have_one_format() {
        let inputs = ["a.csv", "-", "b.tsv"].map(|name| InputFile::new(Path::new(name)));
        let common = |inputs: &[InputFile], given| common_format(inputs, given, Format::Csv);
        assert_eq!(common(&inputs[..2], None).unwrap(), Format::Csv);
        assert_eq!(common(&inputs, Some(Format::Lines)).unwrap(), Format::Lines);
        let expected = "a.csv is CSV, and b.tsv is TSV: all inputs of one run have to be of one kind";
        assert_eq!(common(&inputs, None).unwrap_err().to_string(), expected);
        assert!(matches!(common(&[], None), Err(Error::InputSet(InputSetProblem::Empty))));
    }
}
