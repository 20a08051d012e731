//! The handle on a database: its folder, and how to work on it.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::log::manifest;
use crate::options::Options;
use crate::progress::Progress;
use crate::storage::{Folder, Storage};

/// A handle on a database of fingerprints of one width.
///
/// Opening reads a few pages per file, whatever the size. Reading goes through a
/// [`Snapshot`](crate::Snapshot).
///
/// A handle is one database. If another database takes its path, the methods of the handle fail with
/// [`Error::Replaced`](crate::Error::Replaced). A backup has the id of its database: if it takes its place,
/// it counts as the same database. Each call looks up a relative path in the current folder. A program
/// that changes the current folder needs an [absolute](std::path::absolute) path.
///
/// ```
/// use nearprint::{Database, Row, Schema};
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("corpus.np");
/// let mut builder = Database::<u64>::build(&path, &Schema::new())?;
/// builder.push(Row { fingerprint: 0b1111_0000, id: 7 })?;
/// builder.finish()?;
///
/// let snapshot = Database::<u64>::open(&path)?.snapshot()?;
/// let near = snapshot.query(0b1111_0011, 3)?;
/// assert_eq!((near[0].id, near[0].distance), (7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Database<F> {
    pub(super) path: PathBuf,
    pub(super) options: Options,
    /// A handle is one database, whatever stands at its path later.
    pub(super) database_id: [u8; 16],
    width: PhantomData<F>,
}

impl Options {
    /// Opens a database. Snapshots use the threads and the progress of the options; writers use all
    /// of them.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] where there is no database, [`Error::Corrupt`] where `MANIFEST` is
    /// damaged, or missing beside tables, [`Error::NewerVersion`], [`Error::Width`], [`Error::Io`].
    ///
    /// [`Error::NotADatabase`]: crate::Error::NotADatabase
    /// [`Error::Corrupt`]: crate::Error::Corrupt
    /// [`Error::NewerVersion`]: crate::Error::NewerVersion
    /// [`Error::Width`]: crate::Error::Width
    /// [`Error::Io`]: crate::Error::Io
    pub fn open<F: Fingerprint>(&self, path: impl AsRef<Path>) -> Result<Database<F>> {
        F::open(path.as_ref(), self)
    }
}

impl<F: Fingerprint> Database<F> {
    pub(super) fn open_with(path: &Path, options: &Options) -> Result<Self> {
        let database_id = manifest::of::<F>(&Folder::of_database(path)?)?.database_id;
        Ok(Self::new(path, options, database_id))
    }

    /// A handle on the database with this id.
    pub(crate) fn new(path: &Path, options: &Options, database_id: [u8; 16]) -> Self {
        Self { path: path.to_path_buf(), options: options.clone(), database_id, width: PhantomData }
    }

    /// Opens a database with the default options; see [`Options::open`].
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    /// The same handle with another progress callback.
    #[must_use]
    pub fn with_progress(&self, progress: Arc<dyn Progress>) -> Self {
        Self { options: self.options.clone().progress(progress), ..self.clone() }
    }

    /// The folder of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn storage(&self) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(Folder::of_database(&self.path)?))
    }
}
