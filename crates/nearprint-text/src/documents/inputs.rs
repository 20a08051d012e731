//! Which files are read, and as what.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compressed::Compression;
use crate::error::{Error, Result};

/// What stands in messages for standard input.
const STDIN: &str = "standard input";

/// How documents stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line
    Jsonl,
    /// Comma-separated, with a header
    Csv,
    /// Tab-separated, with a header, quoted as CSV
    Tsv,
    /// Parquet
    Parquet,
    /// Each file is one document
    Text,
    /// Each line is one document
    Lines,
}

impl Format {
    /// What the extension tells, that of a compression left out.
    pub(super) fn of(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let bare = Compression::strip(name);
        match bare.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).as_deref() {
            Some("jsonl" | "ndjson" | "json") => Self::Jsonl,
            Some("csv") => Self::Csv,
            Some("tsv") => Self::Tsv,
            Some("parquet") => Self::Parquet,
            _ => Self::Text,
        }
    }

    pub(super) fn delimiter(self) -> u8 {
        if self == Self::Tsv { b'\t' } else { b',' }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jsonl => "JSON lines",
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::Parquet => "Parquet",
            Self::Text => "plain text",
            Self::Lines => "lines",
        })
    }
}

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file; `-` is standard input.
    pub path: PathBuf,
    /// Its length as it stands, compressed or not; `None` where that is not known: pipes.
    pub size_bytes: Option<u64>,
    /// A file that holds what standard input gave.
    pub(super) spooled: Option<PathBuf>,
}

impl Input {
    fn new(path: PathBuf, metadata: &fs::Metadata) -> Self {
        Self { path, size_bytes: metadata.is_file().then_some(metadata.len()), spooled: None }
    }

    /// A file of whatever length.
    pub fn file(path: &Path) -> Self {
        Self { path: path.to_path_buf(), size_bytes: None, spooled: None }
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

/// Lists the files that paths stand for. Folders are walked, everything in them in the order of paths;
/// links in them are not followed, and what is no file is left out.
pub(super) fn list(paths: &[PathBuf], spooled: Option<&Path>) -> Result<Vec<Input>> {
    let mut found = Vec::new();
    for path in paths {
        if path == Path::new("-") {
            if found.iter().any(Input::is_stdin) {
                return Err(Error::Option("standard input can be read only once".into()));
            }
            let spooled = spooled.map(Path::to_path_buf);
            found.push(Input { path: path.clone(), size_bytes: None, spooled });
            continue;
        }
        let metadata = fs::metadata(path).map_err(Error::io("open", path))?;
        if metadata.is_dir() {
            let before = found.len();
            walk(path, &mut found)?;
            found[before..].sort_unstable_by(|a, b| a.path.cmp(&b.path));
        } else {
            found.push(Input::new(path.clone(), &metadata));
        }
    }
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<Input>) -> Result<()> {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let entry = entry.map_err(Error::io("list", &folder))?;
            let path = entry.path();
            let metadata = entry.metadata().map_err(Error::io("open", &path))?;
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() {
                found.push(Input::new(path, &metadata));
            }
        }
    }
    Ok(())
}

/// The format that all inputs have.
pub(super) fn common_format(inputs: &[Input], given: Option<Format>, stdin: Format) -> Result<Format> {
    let of = |input: &Input| {
        given.unwrap_or_else(|| if input.is_stdin() { stdin } else { Format::of(&input.path) })
    };
    let Some(first) = inputs.first() else {
        return Err(Error::Option("there is no file to read".into()));
    };
    let format = of(first);
    match inputs.iter().find(|input| of(input) != format) {
        None => Ok(format),
        Some(other) => Err(Error::Option(format!(
            "{} is {format}, and {} is {}: all inputs of one run have to be of one kind",
            first.name(),
            other.name(),
            of(other),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_tell_the_format() {
        for (name, format) in [
            ("a.jsonl", Format::Jsonl),
            ("a.NDJSON.gz", Format::Jsonl),
            ("x/a.json.zst", Format::Jsonl),
            ("a.csv.zstd", Format::Csv),
            ("a.b.tsv", Format::Tsv),
            ("a.parquet", Format::Parquet),
            ("a.txt", Format::Text),
            ("csv", Format::Text),
            ("a.gz", Format::Text),
            ("", Format::Text),
        ] {
            assert_eq!(Format::of(Path::new(name)), format, "{name}");
        }
    }

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
        let found = list(&[at("d"), at("d/l"), "-".into()], None).unwrap();
        let expected = [at("d/a"), at("d/b/c/y"), at("d/b/x"), at("d/z"), at("d/l"), "-".into()];
        assert!(found.iter().map(|input| &input.path).eq(&expected), "{found:?}");
        assert_eq!(found[0].size_bytes, Some(1));
        assert!(list(&[at("missing")], None).unwrap_err().to_string().starts_with("cannot open"));
    }
}
