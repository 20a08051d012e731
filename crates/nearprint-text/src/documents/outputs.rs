//! Checks that outputs overwrite nothing that is in use.

use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use nearprint::internal::file::Identity;

use super::kind::Compression;
use super::output_file::{refuse_device, target_of, unfinished_paths};
use super::system::{identity_of_listed, identity_of_open, is_stream, stdin_file, stdout_file};
use crate::error::{Error, OutputProblem, Result};

/// Checks that no output overwrites an input, another output, or a file of a database. `-` is
/// standard input or standard output. A file counts under each of its names, and an output under that of its
/// unfinished file, too.
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
    let inputs: HashSet<Identity> = inputs.iter().filter_map(|input| file_id(input, stdin_file)).collect();
    let used: HashSet<Identity> = databases.iter().flat_map(|database| files_of(database)).collect();
    // Some of them may be made only after this check.
    let databases: Vec<PathBuf> = databases.iter().filter_map(|database| target_of(database).ok()).collect();
    let is_inside = |path: &PathBuf| databases.iter().any(|database| path.starts_with(database));
    let mut known: HashMap<PathBuf, &str> = HashMap::new();
    for (name, path) in outputs {
        refuse_device(path)?;
        if let Some(compression) = Compression::unwritten(path) {
            return Err(OutputProblem::NotWritten { path: path.to_path_buf(), compression }.into());
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
        let unfinished = unfinished_paths(path).map_err(Error::io("open", path))?;
        if is_inside(&resolved) || unfinished.iter().any(is_inside) {
            return Err(nearprint::Error::InsideDatabase { path: path.to_path_buf() }.into());
        }
        // No link is written through there.
        let is_input = |path: &&PathBuf| {
            !path.is_symlink() && file_id(path, stdin_file).is_some_and(|id| inputs.contains(&id))
        };
        if let Some(begun) = unfinished.iter().find(is_input) {
            let output = format!("{name} {}, which begins as {}", path.display(), begun.display());
            return Err(OutputProblem::IsInput { output }.into());
        }
        for taken in [resolved].into_iter().chain(unfinished) {
            refuse_same(&mut known, path, (taken, name))?;
        }
    }
    Ok(())
}

fn refuse_same<'a>(
    known: &mut HashMap<PathBuf, &'a str>,
    path: &Path,
    (resolved, name): (PathBuf, &'a str),
) -> Result<()> {
    match known.insert(resolved, name) {
        Some(other) => {
            let (first, second) = (other.to_string(), name.to_string());
            Err(OutputProblem::SameFile { first, second, path: path.to_path_buf() }.into())
        }
        None => Ok(()),
    }
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
