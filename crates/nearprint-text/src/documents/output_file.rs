//! A file that has its name only when it is complete.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use nearprint::internal::file::{self, identity, identity_of, sync_folder};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::system;
use crate::error::{Error, OutputProblem, Result};

/// Ends the name of an unfinished file.
const SUFFIX: &str = ".partial";
/// Ends the name of a file of the rows of an unfinished Parquet file.
const ROWS_SUFFIX: &str = ".rows.zst";
/// The longest name of a file, in bytes, on the usual file systems.
const MAX_NAME_BYTES: usize = 255;
/// How many links a path may lead through.
const MAX_LINKS: usize = 40;
/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 20;

/// The beginning of a file that is durable, for [`LineFile::resume`](super::LineFile::resume).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Its length in bytes.
    pub len_bytes: u64,
    /// The XXH3-128 of these bytes.
    pub digest: u128,
}

/// A file that has its name only when it is complete.
///
/// Until then it is `NAME.partial` beside its destination, locked, and marked by an extended
/// attribute, or on Windows by a stream. [`complete`](Self::complete) replaces the destination in one rename,
/// so that the destination is the old file or the whole new one at any moment. Dropping an incomplete file
/// removes it, unless it is to be resumed. After a kill the next file of the same name replaces a marked one.
/// Any other file of that name stays, and is an error.
///
/// A link is followed: its target is replaced. A pipe or a device is written directly. On Windows, devices are
/// `NUL` and paths like `\\.\CON`; other names that mean a device, such as `aux.txt`, are refused.
///
/// ```
/// use nearprint_text::documents::OutputFile;
/// use std::io::Write;
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("rows.tsv");
/// std::fs::write(&path, "old")?;
/// let mut file = OutputFile::create(&path)?;
/// file.file().write_all(b"new")?;
/// assert_eq!(std::fs::read_to_string(&path)?, "old");
/// file.complete()?;
/// assert_eq!(std::fs::read_to_string(&path)?, "new");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// The path as it was given, for messages.
    path: PathBuf,
    /// `None` for a pipe or a device.
    partial: Option<Partial>,
    /// The rows of a Parquet file, which stay until it gets its name.
    rows: Option<Box<OutputFile>>,
}

/// The unfinished file.
#[derive(Debug)]
struct Partial {
    path: PathBuf,
    target: PathBuf,
    /// The process that made it. A forked child must not remove it.
    process: u32,
    is_kept: bool,
}

impl OutputFile {
    /// Creates an unfinished file for a destination.
    ///
    /// # Errors
    /// [`Error::Output`] with [`PartialInUse`](OutputProblem::PartialInUse) or
    /// [`PartialExists`](OutputProblem::PartialExists) if there is an unfinished file already that
    /// another process writes, or a file that no process of nearprint made; [`Error::Engine`] with
    /// [`DeviceName`](nearprint::Error::DeviceName) or an I/O error.
    pub fn create(path: &Path) -> Result<Self> {
        refuse_device(path)?;
        let failed = || Error::io("create", path);
        if let Some(file) = open_stream(path).map_err(failed())? {
            return Ok(Self { file, path: path.to_path_buf(), partial: None, rows: None });
        }
        let target = target_of(path).map_err(failed())?;
        let partial = partial_path(&target);
        let file = loop {
            match create_marked(&partial) {
                Ok(file) => break file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &partial)(error)),
            }
            if let Some(file) = open_abandoned(&partial)? {
                file.set_len(0).map_err(Error::io("truncate", &partial))?;
                break file;
            }
        };
        let partial = Partial { path: partial, target, process: std::process::id(), is_kept: false };
        let file = Self { file, path: path.to_path_buf(), partial: Some(partial), rows: None };
        file.take_mode().map_err(failed())?;
        Ok(file)
    }

    /// Checks that an unfinished file can be [created](Self::create) for a destination: creates and removes it.
    /// One that a killed process has left stays as it is.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub(crate) fn check(path: &Path) -> Result<()> {
        refuse_device(path)?;
        let failed = || Error::io("create", path);
        if system::is_stream(path).map_err(failed())? {
            return system::check_writable(path).map_err(failed());
        }
        let partial = partial_path(&target_of(path).map_err(failed())?);
        let Some(abandoned) = open_abandoned(&partial)? else { return Self::create(path).map(drop) };
        system::unlock(&abandoned);
        // Its folder may have become another one's since.
        let folder = partial.parent().unwrap_or(Path::new("."));
        system::check_writable(folder).map_err(failed())
    }

    /// Opens an unfinished file after its durable beginning, and cuts off the rest. Returns the hash
    /// of the beginning, too.
    ///
    /// # Errors
    /// [`Error::Output`] with [`Truncated`](OutputProblem::Truncated) or
    /// [`OtherContent`](OutputProblem::OtherContent) if the beginning is another one, with
    /// [`NotResumable`](OutputProblem::NotResumable) for pipes and devices, and as
    /// [`create`](Self::create); [`Error::Engine`] with an I/O error.
    pub(super) fn resume(path: &Path, written: Written) -> Result<(Self, Xxh3)> {
        let failed = |action| Error::io(action, path);
        if system::is_stream(path).map_err(failed("open"))? {
            return Err(OutputProblem::NotResumable { path: path.to_path_buf() }.into());
        }
        let target = target_of(path).map_err(failed("open"))?;
        let partial = partial_path(&target);
        let Some(file) = open_unfinished(&partial)? else {
            let len_bytes = written.len_bytes;
            return Err(OutputProblem::Truncated { path: partial, len_bytes }.into());
        };
        let hash = check_beginning(&file, &partial, written)?;
        mark(&file, &partial).map_err(failed("open"))?;
        file.set_len(written.len_bytes).map_err(failed("truncate"))?;
        (&file).seek(SeekFrom::Start(written.len_bytes)).map_err(failed("open"))?;
        let partial = Partial { path: partial, target, process: std::process::id(), is_kept: true };
        Ok((Self { file, path: path.to_path_buf(), partial: Some(partial), rows: None }, hash))
    }

    /// Whether completing what an earlier process has written would replace a file with another content.
    pub(crate) fn would_replace(path: &Path, written: Written) -> bool {
        path.symlink_metadata().is_ok()
            && target_of(path).is_ok_and(|target| {
                partial_path(&target).symlink_metadata().is_ok() && !has_content(&target, written)
            })
    }

    /// Completes a file that an earlier process has written to its end, which made it `written`.
    ///
    /// Does nothing if no unfinished file is left, or if the destination has this content: the file has
    /// its name already, and whoever changed it since has changed a complete file.
    ///
    /// # Errors
    /// As [`resume`](Self::resume).
    pub(crate) fn complete_written(path: &Path, written: Written) -> Result<()> {
        remove_rows(path)?;
        let target = target_of(path).map_err(Error::io("open", path))?;
        if has_content(&target, written) {
            return Ok(());
        }
        let partial = partial_path(&target);
        let Some(file) = open_unfinished(&partial)? else { return Ok(()) };
        check_beginning(&file, &partial, written)?;
        if file.metadata().map_err(Error::io("open", &partial))?.len() != written.len_bytes {
            return Err(OutputProblem::OtherContent { path: partial }.into());
        }
        let partial = Partial { path: partial, target, process: std::process::id(), is_kept: true };
        Self { file, path: path.to_path_buf(), partial: Some(partial), rows: None }.complete()
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether it is a regular file, which can be read back.
    #[must_use]
    pub(crate) fn is_regular(&self) -> bool {
        self.partial.is_some()
    }

    /// The length and the digest of the content.
    pub(crate) fn written(&self) -> Result<Written> {
        let failed = || Error::io("read", &self.path);
        (&self.file).rewind().map_err(failed())?;
        let (len_bytes, hash) = hash_of(&mut &self.file).map_err(failed())?;
        Ok(Written { len_bytes, digest: hash.digest128() })
    }

    /// Lets the unfinished file stay when it is dropped, to be resumed.
    pub(crate) fn keep(&mut self) {
        if let Some(partial) = &mut self.partial {
            partial.is_kept = true;
        }
    }

    /// Keeps the file of the rows that this one was made of until it gets its name.
    #[cfg(feature = "parquet")]
    pub(crate) fn set_rows(&mut self, rows: Self) {
        self.rows = Some(Box::new(rows));
    }

    /// Makes the content, and the name of the unfinished file, durable. Does nothing for a pipe or
    /// a device.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub(crate) fn sync(&self) -> Result<()> {
        let Some(partial) = &self.partial else { return Ok(()) };
        let synced = self.file.sync_all().and_then(|()| sync_folder(folder_of(&partial.path)));
        synced.map_err(Error::io("write", &self.path))
    }

    /// Makes the content durable, and gives the file its name. All that was written has to be in
    /// the file: buffers are flushed before.
    ///
    /// # Errors
    /// [`Error::Output`] with [`PartialExists`](OutputProblem::PartialExists) if somebody has put another
    /// file in the place of the unfinished one; [`Error::Engine`] with an I/O error.
    pub fn complete(mut self) -> Result<()> {
        if let Some(mut rows) = self.rows.take() {
            rows.partial.iter_mut().for_each(|partial| partial.is_kept = false);
        }
        let Some(partial) = self.partial.take() else { return Ok(()) };
        if !is_at(&self.file, &partial.path).map_err(Error::io("open", &partial.path))? {
            return Err(OutputProblem::PartialExists { path: partial.path }.into());
        }
        let mut renamed = self.file.sync_all();
        if renamed.is_ok() {
            renamed = file::rename(&partial.path, &partial.target);
        }
        if let Err(error) = renamed {
            self.partial = Some(partial);
            return Err(Error::io("write", &self.path)(error));
        }
        // The marker names the unfinished file, so it is harmless if it stays after a crash.
        system::remove_marker(&self.file, &[&partial.path, &partial.target]);
        system::unlock(&self.file);
        sync_folder(folder_of(&partial.target)).map_err(Error::io("write", &self.path))
    }

    /// Gives the unfinished file the permissions and the owner of the file that it replaces.
    fn take_mode(&self) -> io::Result<()> {
        let Some(replaced) = self.partial.as_ref().and_then(|partial| partial.target.metadata().ok()) else {
            return Ok(());
        };
        system::take_mode(&self.file, &replaced)
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        let Some(partial) = &self.partial else { return };
        if partial.process != std::process::id() {
            return;
        }
        if !partial.is_kept && is_at(&self.file, &partial.path).unwrap_or(false) {
            // A process that is killed here leaves a file that is marked, or none.
            if fs::remove_file(&partial.path).is_ok() {
                system::remove_marker(&self.file, &[&partial.path]);
            }
        }
        system::unlock(&self.file);
    }
}

/// The file of the rows of an unfinished Parquet file.
pub(crate) fn rows_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ROWS_SUFFIX);
    name.into()
}

/// Removes the file of the rows of a Parquet file that has its own, if a killed process has left it.
fn remove_rows(path: &Path) -> Result<()> {
    let path = partial_path(&target_of(&rows_path(path)).map_err(Error::io("open", path))?);
    match open_unfinished(&path)? {
        Some(file) if is_marked(&file, &path) => fs::remove_file(&path).map_err(Error::io("remove", &path)),
        _ => Ok(()),
    }
}

/// Opens an existing regular file.
fn open_regular(path: &Path) -> io::Result<File> {
    let file = system::unfinished().open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("not a regular file")) }
}

/// Creates an unfinished file, marked and locked. Fails if the name is taken.
///
/// Where the system can, the file has no name before it is marked: a process that is killed at any
/// moment leaves no file that the next one does not recognize.
fn create_marked(path: &Path) -> io::Result<File> {
    if let Some(file) = system::create_unnamed(folder_of(path)) {
        mark(&file, path)?;
        system::lock(&file)?;
        if system::give_name(&file, path)? {
            return Ok(file);
        }
    }
    let file = system::unfinished().create_new(true).open(path)?;
    mark(&file, path)?;
    system::lock(&file)?;
    Ok(file)
}

/// Locks an unfinished file.
fn lock(file: &File, path: &Path) -> Result<()> {
    match system::try_lock(file).map_err(Error::io("lock", path))? {
        true => Ok(()),
        false => Err(in_use(path)),
    }
}

fn in_use(path: &Path) -> Error {
    OutputProblem::PartialInUse { path: path.to_path_buf() }.into()
}

/// Opens and locks the unfinished file of a killed process. `None` if there is none, or it has been completed
/// or removed meanwhile.
fn open_abandoned(path: &Path) -> Result<Option<File>> {
    let foreign = || OutputProblem::PartialExists { path: path.to_path_buf() }.into();
    let file = match system::unfinished().open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if system::is_in_use(&error) => return Err(in_use(path)),
        // A link, a folder or a pipe; other errors say nothing about what has the name.
        Err(_) if path.symlink_metadata().is_ok_and(|found| !found.is_file()) => return Err(foreign()),
        other => other.map_err(Error::io("open", path))?,
    };
    if !file.metadata().map_err(Error::io("open", path))?.is_file() || !is_marked(&file, path) {
        return Err(foreign());
    }
    lock(&file, path)?;
    match is_at(&file, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => Ok(found.map_err(Error::io("open", path))?.then_some(file)),
    }
}

/// Opens and locks an unfinished file. `None` if there is no file.
fn open_unfinished(partial: &Path) -> Result<Option<File>> {
    let file = match open_regular(partial) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if system::is_in_use(&error) => return Err(in_use(partial)),
        other => other.map_err(Error::io("open", partial))?,
    };
    lock(&file, partial)?;
    Ok(Some(file))
}

/// Whether a regular file has just this content.
fn has_content(path: &Path, written: Written) -> bool {
    let Ok(mut file) = system::unfinished().write(false).open(path) else { return false };
    let has_length = file.metadata().is_ok_and(|found| found.is_file() && found.len() == written.len_bytes);
    has_length && hash_of(&mut file).is_ok_and(|(_, hash)| hash.digest128() == written.digest)
}

/// Checks that a file begins with what was written to it, and returns the hash of that.
fn check_beginning(file: &File, path: &Path, written: Written) -> Result<Xxh3> {
    let (len_bytes, hash) = hash_of(&mut file.take(written.len_bytes)).map_err(Error::io("read", path))?;
    if len_bytes < written.len_bytes {
        let (path, len_bytes) = (path.to_path_buf(), written.len_bytes);
        return Err(OutputProblem::Truncated { path, len_bytes }.into());
    }
    if hash.digest128() != written.digest {
        return Err(OutputProblem::OtherContent { path: path.to_path_buf() }.into());
    }
    Ok(hash)
}

/// The length and the digest of a file.
pub(crate) fn digest_of(path: &Path) -> io::Result<Written> {
    let (len_bytes, hash) = hash_of(&mut File::open(path)?)?;
    Ok(Written { len_bytes, digest: hash.digest128() })
}

/// The length and the hash of all bytes of a stream.
fn hash_of(stream: &mut impl Read) -> io::Result<(u64, Xxh3)> {
    let (mut hash, mut len_bytes, mut block) = (Xxh3::new(), 0, vec![0; BLOCK_BYTES]);
    loop {
        match stream.read(&mut block) {
            Ok(0) => return Ok((len_bytes, hash)),
            Ok(len) => {
                hash.update(&block[..len]);
                len_bytes += len as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Marks a file as unfinished. Where the file system has neither extended attributes nor streams, a file that a
/// kill leaves is not replaced by the next one.
fn mark(file: &File, path: &Path) -> io::Result<()> {
    system::set_marker(file, path, &marker(file, path)?);
    Ok(())
}

/// Whether a path is an unfinished output.
pub(super) fn is_unfinished(path: &Path) -> bool {
    let has_suffix = path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes());
    has_suffix
        && match system::unfinished().write(false).open(path) {
            Ok(file) => is_marked(&file, path),
            Err(error) => system::is_in_use(&error),
        }
}

/// Whether a file is marked as unfinished, under this name. A copy of it, or the file under another
/// name, is not.
fn is_marked(file: &File, path: &Path) -> bool {
    marker(file, path).is_ok_and(|expected| system::has_marker(file, path, &expected))
}

fn marker(file: &File, path: &Path) -> io::Result<String> {
    let name = xxh3_64(path.file_name().unwrap_or_default().as_encoded_bytes());
    let (_, number) = identity(file)?;
    Ok(format!("an unfinished output of nearprint: inode {number}, name {name:016x}\n"))
}

/// Whether a path leads to an open file.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let is_link = fs::symlink_metadata(path)?.is_symlink();
    Ok(!is_link && identity_of(path)? == identity(file)?)
}

/// Rejects a file whose name means a device to this system. The null device is meant, and so is what is given in
/// the form of a device.
pub(crate) fn refuse_device(path: &Path) -> Result<()> {
    let is_null = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("NUL"));
    match is_null || path.as_os_str().as_encoded_bytes().starts_with(br"\\.\") {
        true => Ok(()),
        false => Ok(file::refuse_device(path)?),
    }
}

/// Opens what is no regular file, to be written directly. `None` for a regular file, and for a
/// path that leads to nothing.
fn open_stream(path: &Path) -> io::Result<Option<File>> {
    if system::is_stream(path)? { system::open_stream(path).map(Some) } else { Ok(None) }
}

/// The file that a path leads to, through all links. It need not exist; its folder must.
pub(super) fn target_of(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if let Ok(found) = system::canonical(&path) {
            return Ok(found);
        }
        match path.read_link() {
            Ok(next) => path = folder_of(&path).join(next),
            Err(_) => {
                let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
                return Ok(system::canonical(folder_of(&path))?.join(name));
            }
        }
    }
    Err(io::Error::other("too many links"))
}

/// The name of the unfinished file. A name that would be too long is cut, and a hash of it added.
fn partial_path(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default();
    let mut partial = name.to_os_string();
    if name.len() + SUFFIX.len() > MAX_NAME_BYTES {
        let text = name.to_string_lossy();
        let hash = format!("-{:016x}", xxh3_64(name.as_encoded_bytes()));
        let room = MAX_NAME_BYTES - SUFFIX.len() - hash.len();
        let end = (0..=room).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        partial = format!("{}{hash}", &text[..end]).into();
    }
    partial.push(SUFFIX);
    target.with_file_name(partial)
}

/// The files that an output may be before it is complete.
pub(super) fn unfinished_paths(path: &Path) -> io::Result<[PathBuf; 2]> {
    let [own, rows] = [target_of(path)?, target_of(&rows_path(path))?];
    Ok([own, rows].map(|target| partial_path(&target)))
}

/// The folder of a path: `.` for a bare name.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
