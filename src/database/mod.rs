//! A database: a folder that can be created, opened and read.

mod backup;
pub(crate) mod bulk;
mod compaction;
mod cross;
pub(crate) mod explain;
pub(crate) mod ingest;
pub(crate) mod repair;
pub(crate) mod snapshot;
pub(crate) mod stats;
pub(crate) mod writer;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::database::bulk::Builder;
use crate::database::snapshot::{Snapshot, verify_all};
use crate::database::writer::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::log::manifest;
use crate::options::Options;
use crate::run::Verification;
use crate::storage::{Folder, Storage};
use repair::RepairReport;

/// A handle on a database of fingerprints of one width.
///
/// Opening reads a few pages per file, whatever the size. Reading goes through a [`Snapshot`].
///
/// ```
/// use nearprint::{Database, Options};
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("corpus.np");
/// let mut builder = Database::<u64>::build(&path, Options::new())?;
/// builder.push(0b1111_0000, Some(7))?;
/// builder.finish()?;
///
/// let snapshot = Database::<u64>::open(&path)?.snapshot()?;
/// let near = snapshot.query(0b1111_0011, 3)?;
/// assert_eq!((near[0].id, near[0].distance), (7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Database<F> {
    path: PathBuf,
    options: Options,
    width: PhantomData<F>,
}

impl<F: Fingerprint> Database<F> {
    /// Makes an empty database. `path` must not exist, or be an empty folder.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`]; [`Error::Option`] for a layout or k that cannot be;
    /// [`Error::Locked`] while another process builds under the same name; [`Error::Io`].
    pub fn create(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        Self::build(path, options)?.finish()
    }

    /// Starts loading rows in bulk into a new database. `path` must not exist, or be an empty folder.
    ///
    /// # Errors
    /// As [`create`](Database::create).
    pub fn build(path: impl AsRef<Path>, options: Options) -> Result<Builder<F>> {
        Builder::begin(path.as_ref(), options)
    }

    /// Opens a database with the default options.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] where there is no `MANIFEST`, [`Error::Corrupt`] where it is damaged,
    /// [`Error::NewerVersion`], [`Error::Width`], [`Error::Io`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Options::new())
    }

    /// Opens a database. Of the options, only those about how to work apply: threads and progress.
    ///
    /// # Errors
    /// As [`open`](Database::open).
    pub fn open_with(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let database = Self { path: path.as_ref().to_path_buf(), options, width: PhantomData };
        manifest::of::<F>(&Folder::new(&database.path)).map(|_| database)
    }

    /// Where the database is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database as it stands now, with everything committed in any process. Later changes do not
    /// touch the snapshot.
    ///
    /// Maps every file and checks header, footer and length of each; what is still in a writer's log is
    /// read and sorted.
    ///
    /// # Errors
    /// As [`open`](Database::open); [`Error::Corrupt`] also for a file that is missing, cut short,
    /// damaged at an end, or of another database.
    pub fn snapshot(&self) -> Result<Snapshot<F>> {
        Snapshot::open(&self.storage(), &self.options, None)
    }

    /// Becomes the writer of the database. Recovers what a crash has left in the log.
    ///
    /// Of the options, threads, memory, the size of the memtable, background merges and progress apply.
    ///
    /// # Errors
    /// [`Error::Locked`] while there is another writer, in this process or any other; as
    /// [`open`](Database::open); [`Error::Io`] on a read-only medium.
    pub fn writer(&self) -> Result<Writer<F>> {
        Writer::open(self.storage(), self.options.clone())
    }

    /// Checks every byte of the database as it stands now, as [`Snapshot::verify`] does, and goes on where
    /// a damaged file would keep a snapshot from being taken.
    ///
    /// # Errors
    /// As [`open`](Database::open); [`Error::Io`] where a file cannot be read. Damage other than that of
    /// the manifest is no error here; it is listed.
    pub fn verify(&self) -> Result<Verification> {
        let storage = self.storage();
        let last = RefCell::new(None);
        let sound = manifest::with_current::<F, _>(&*storage, |manifest| {
            let report = verify_all::<F>(&*storage, &manifest, &self.options)?;
            let first = report.damage.first().cloned();
            last.replace(Some(report));
            first.map_or(Ok(()), |damage| Err(damage.into()))
        });
        match (last.take(), sound) {
            (Some(report), Ok(()) | Err(Error::Corrupt(_))) => Ok(report),
            (_, sound) => sound.map(|()| Verification::default()),
        }
    }

    /// Saves what can be read of a damaged database into a new one at `dest`, which must not exist, or be
    /// an empty folder. The damaged one is not changed; no writer should be at work on it.
    ///
    /// Every row of the new database stood in the old one: what cannot be told with certainty is left
    /// out and counted. Fingerprints lost from one table are put back from the others. Where the manifest
    /// cannot be read, runs are found by their files. Of the options, threads, memory and progress
    /// apply, and without a manifest k and layout; the new database is asked for the same k and layout,
    /// and gives out none of the old one's automatic ids again.
    ///
    /// Memory, beside that of the options: 16 bytes for every fingerprint that table 0 has lost, 8 for every
    /// deleted id, twice the log, 1/2048 of the largest file.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] where there is no file of a database; [`Error::NewerVersion`],
    /// [`Error::Width`]; [`Error::AlreadyExists`], [`Error::Locked`] and [`Error::Option`] about `dest` and
    /// the options; [`Error::Io`], [`Error::DiskFull`] and [`Error::Interrupted`]. Damage is no error: the
    /// [`RepairReport`] tells of it, and whether anything was saved.
    pub fn repair(path: impl AsRef<Path>, dest: impl AsRef<Path>, options: Options) -> Result<RepairReport> {
        repair::repair::<F>(path.as_ref(), dest.as_ref(), options, &mut |_| ())
    }

    fn storage(&self) -> Arc<dyn Storage> {
        Arc::new(Folder::new(&self.path))
    }
}

/// The width in bits of a database's fingerprints: 64, 128 or 256; so that one knows which type to open it with.
///
/// # Errors
/// As [`Database::open`], but [`Error::Width`].
pub fn width_of(path: impl AsRef<Path>) -> Result<u32> {
    manifest::of_any_width(&Folder::new(path.as_ref())).map(|manifest| manifest.width)
}

/// The same for a database that may be damaged: where the manifest cannot be read, its files are asked.
///
/// # Errors
/// [`Error::NotADatabase`] where there is no file of a database; [`Error::NewerVersion`]; [`Error::Io`].
pub fn width_of_damaged(path: impl AsRef<Path>) -> Result<u32> {
    repair::width(&Folder::new(path.as_ref()))
}
