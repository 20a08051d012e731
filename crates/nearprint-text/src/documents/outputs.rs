//! Checks that outputs overwrite nothing that is in use.

use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::compression::Compression;
use super::output_file::target_of;
use crate::error::{Error, OutputProblem, Result};

/// Device and inode of a regular file.
type FileId = (u64, u64);

/// Checks that no output overwrites an input, another output, or a file of a database. `-` is
/// standard input or standard output. A file counts under each of its names.
///
/// Each output is the name of its option, for the message, and its path. `databases` are the
/// databases of the command; no output may be placed into any other database either.
///
/// # Errors
/// [`Error::Output`] with [`IsInput`](OutputProblem::IsInput),
/// [`SameFile`](OutputProblem::SameFile) or [`NotWritten`](OutputProblem::NotWritten); [`Error::Engine`] with
/// [`InsideDatabase`](nearprint::Error::InsideDatabase), or if the folder of an output does not
/// exist.
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
    let inputs: Vec<FileId> = inputs.iter().filter_map(|input| file_id(input, io::stdin().as_fd())).collect();
    let used: Vec<FileId> = databases.iter().flat_map(|database| files_of(database)).collect();
    let mut known: Vec<(PathBuf, &str)> = Vec::new();
    for (name, path) in outputs {
        if let Some(compression) = Compression::of(path).filter(|compression| !compression.is_written()) {
            let (path, compression) = (path.to_path_buf(), compression.name());
            return Err(OutputProblem::NotWritten { path, compression }.into());
        }
        let id = file_id(path, io::stdout().as_fd());
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
fn file_id(path: &Path, stream: BorrowedFd<'_>) -> Option<FileId> {
    let metadata = if path == Path::new("-") {
        File::from(stream.try_clone_to_owned().ok()?).metadata()
    } else {
        path.metadata()
    };
    metadata.ok().and_then(|metadata| id_of(&metadata))
}

fn id_of(metadata: &Metadata) -> Option<FileId> {
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

fn files_of(database: &Path) -> Vec<FileId> {
    let entries = database.read_dir().into_iter().flatten().flatten();
    entries.filter_map(|entry| id_of(&entry.metadata().ok()?)).collect()
}
