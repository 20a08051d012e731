//! Checks that outputs overwrite nothing that is in use.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use nearprint::internal::file::Identity;

use super::kind::Compression;
use super::output_file::{refuse_device, target_of};
use super::system::{identity_of_listed, identity_of_open, is_stream, stdin_file, stdout_file};
use crate::error::{Error, OutputProblem, Result};

/// Checks that no output overwrites an input, another output, or a file of a database. `-` is
/// standard input or standard output. A file counts under each of its names.
///
/// Each output is the name of its option, for the message, and its path. `databases` are the
/// databases of the command; no output may be placed into any other database either.
///
/// # Errors
/// [`Error::Output`] with [`IsInput`](OutputProblem::IsInput),
/// [`SameFile`](OutputProblem::SameFile) or [`NotWritten`](OutputProblem::NotWritten); [`Error::Engine`] with
/// [`InsideDatabase`](nearprint::Error::InsideDatabase) or
/// [`DeviceName`](nearprint::Error::DeviceName), or if the folder of an output does not exist.
///
/// ```
/// use nearprint_text::documents::check_outputs;
/// # let home = tempfile::tempdir()?;
/// let pages = home.path().join("pages.jsonl");
/// std::fs::write(&pages, "{}\n")?;
/// assert!(check_outputs([("--output", &*pages)], &[&pages], &[]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_outputs<'a>(
    outputs: impl IntoIterator<Item = (&'a str, &'a Path)>,
    inputs: &[&Path],
    databases: &[&Path],
) -> Result<()> {
    let inputs: Vec<Identity> = inputs.iter().filter_map(|input| file_id(input, stdin_file)).collect();
    let used: Vec<Identity> = databases.iter().flat_map(|database| files_of(database)).collect();
    let mut known: Vec<(PathBuf, &str)> = Vec::new();
    for (name, path) in outputs {
        refuse_device(path)?;
        if let Some(compression) = Compression::of(path).filter(|compression| !compression.is_written()) {
            let (path, compression) = (path.to_path_buf(), compression.name());
            return Err(OutputProblem::NotWritten { path, compression }.into());
        }
        let id = file_id(path, stdout_file);
        if id.is_some_and(|id| inputs.contains(&id)) {
            return Err(OutputProblem::IsInput { output: format!("{name} {}", path.display()) }.into());
        }
        if id.is_some_and(|id| used.contains(&id)) {
            return Err(nearprint::Error::InsideDatabase { path: path.to_path_buf() }.into());
        }
        if path == Path::new("-") {
            refuse_same(&mut known, path, (path.to_path_buf(), name))?;
            continue;
        }
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => {
                return Err(Error::io("create", path)(io::ErrorKind::IsADirectory.into()));
            }
            // Several outputs may go to one device, such as /dev/null.
            Ok(metadata) if !metadata.is_file() => continue,
            _ if cfg!(windows) && is_stream(path).unwrap_or(false) => continue,
            _ => {}
        }
        let resolved = target_of(path).map_err(Error::io("open", path))?;
        if resolved.parent().map_or(Ok(false), is_database)? {
            return Err(nearprint::Error::InsideDatabase { path: path.to_path_buf() }.into());
        }
        refuse_same(&mut known, path, (resolved, name))?;
    }
    Ok(())
}

fn refuse_same<'a>(
    known: &mut Vec<(PathBuf, &'a str)>,
    path: &Path,
    (resolved, name): (PathBuf, &'a str),
) -> Result<()> {
    if let Some((_, other)) = known.iter().find(|(known, _)| *known == resolved) {
        let (first, second) = (other.to_string(), name.to_string());
        return Err(OutputProblem::SameFile { first, second, path: path.to_path_buf() }.into());
    }
    known.push((resolved, name));
    Ok(())
}

/// Whether a folder is a database, be it sound or damaged. Fails if it cannot be read, such as
/// without a free file handle.
pub(crate) fn is_database(folder: &Path) -> Result<bool> {
    match nearprint::width_of(folder) {
        Err(nearprint::Error::NotADatabase { .. }) => Ok(false),
        Err(error @ nearprint::Error::Io { .. }) => Err(error.into()),
        _ => Ok(true),
    }
}

/// The identity of an existing file, or of a standard stream for `-`. `None` for devices and pipes.
fn file_id(path: &Path, stream: fn() -> io::Result<File>) -> Option<Identity> {
    if path == Path::new("-") {
        let stream = stream().ok()?;
        let found = stream.metadata().ok().filter(Metadata::is_file)?;
        return identity_of_open(&stream, &found).ok();
    }
    let found = path.metadata().ok().filter(Metadata::is_file)?;
    Some(identity_of_listed(path, &found))
}

fn files_of(database: &Path) -> Vec<Identity> {
    let entries = database.read_dir().into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let found = entry.metadata().ok().filter(Metadata::is_file)?;
            Some(identity_of_listed(&entry.path(), &found))
        })
        .collect()
}
