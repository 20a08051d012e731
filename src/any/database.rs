//! A database whose width is known only at run time, and its builder.

use std::path::Path;
use std::sync::Arc;

use super::fingerprint::words;
use super::{AnySnapshot, AnyWriter, NewRows, PerWidth};
use crate::database::activity::Activity;
use crate::database::bulk::Builder;
use crate::database::explain::Explanation;
use crate::database::ingest::IngestReport;
use crate::database::repair::RepairReport;
use crate::database::stats::Stats;
use crate::database::{Database, identity_of, width_of_damaged};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, U256, U320, Width};
use crate::format::schema::{KeyStorage, Schema};
use crate::options::Options;
use crate::progress::Progress;
use crate::run::Verification;

/// A [`Database`] of any width.
///
/// ```
/// use nearprint::{AnyDatabase, Database, Schema, Width};
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("corpus.np");
/// # let mut builder = Database::<u128>::build(&path, &Schema::new())?;
/// # for fingerprint in [7, 15, u128::MAX] {
/// #     builder.push(fingerprint)?;
/// # }
/// # builder.finish()?;
/// let database = AnyDatabase::open(&path)?;
/// assert_eq!((database.width(), database.stats()?.rows), (Width::W128, 3));
/// let pairs = database.snapshot()?.pairs(3)?.collect::<nearprint::Result<Vec<_>>>()?;
/// assert_eq!((&*pairs[0].fingerprints, &*pairs[0].distances), (&[7, 0][..], &[1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum AnyDatabase {
    /// 64-bit fingerprints.
    W64(Database<u64>),
    /// 128-bit fingerprints.
    W128(Database<u128>),
    /// 256-bit fingerprints.
    W256(Database<U256>),
    /// 320-bit fingerprints.
    W320(Database<U320>),
}

impl Options {
    /// Makes an empty database, as [`create`](Options::create) does.
    ///
    /// # Errors
    /// As [`create`](Options::create).
    pub fn create_any(&self, path: impl AsRef<Path>, width: Width, schema: &Schema) -> Result<AnyDatabase> {
        self.build_any(path, width, schema)?.finish()
    }

    /// Opens a database, or makes an empty one of this width, as [`open_or_create`](Options::open_or_create) does.
    ///
    /// # Errors
    /// As [`open_or_create`](Options::open_or_create).
    pub fn open_or_create_any(
        &self,
        path: impl AsRef<Path>,
        width: Width,
        schema: &Schema,
    ) -> Result<AnyDatabase> {
        Ok(match width {
            Width::W64 => AnyDatabase::W64(self.open_or_create(path, schema)?),
            Width::W128 => AnyDatabase::W128(self.open_or_create(path, schema)?),
            Width::W256 => AnyDatabase::W256(self.open_or_create(path, schema)?),
            Width::W320 => AnyDatabase::W320(self.open_or_create(path, schema)?),
        })
    }

    /// Starts loading rows in bulk into a new database, as [`build`](Options::build) does.
    ///
    /// # Errors
    /// As [`build`](Options::build).
    pub fn build_any(&self, path: impl AsRef<Path>, width: Width, schema: &Schema) -> Result<AnyBuilder> {
        AnyBuilder::begin(self, path.as_ref(), width, schema)
    }

    /// Opens a database of any width.
    ///
    /// # Errors
    /// As [`open`](Options::open), without [`Error::Width`](crate::Error::Width).
    pub fn open_any(&self, path: impl AsRef<Path>) -> Result<AnyDatabase> {
        AnyDatabase::open_with(self, path.as_ref())
    }

    /// Saves what can be read of a damaged database, as [`repair`](Options::repair) does. The width
    /// comes from the manifest, or from the other files where the manifest cannot be read.
    ///
    /// # Errors
    /// As [`repair`](Options::repair), without [`Error::Width`](crate::Error::Width).
    pub fn repair_any(
        &self,
        path: impl AsRef<Path>,
        dest: impl AsRef<Path>,
        fallback: &Schema,
    ) -> Result<RepairReport> {
        self.repair_any_with(path, dest, fallback, &mut |_| Ok(()))
    }

    /// Does the same, and passes on the words of the fingerprints whose ids are lost, as
    /// [`repair_with`](Options::repair_with) does.
    ///
    /// # Errors
    /// As [`repair_any`](Options::repair_any), and what `without_id` returns.
    pub fn repair_any_with(
        &self,
        path: impl AsRef<Path>,
        dest: impl AsRef<Path>,
        fallback: &Schema,
        without_id: &mut dyn FnMut(&[u64]) -> Result<()>,
    ) -> Result<RepairReport> {
        repair(self, (path.as_ref(), dest.as_ref()), fallback, without_id)
    }
}

fn repair(
    options: &Options,
    (path, dest): (&Path, &Path),
    fallback: &Schema,
    without_id: &mut dyn FnMut(&[u64]) -> Result<()>,
) -> Result<RepairReport> {
    with_width!(width_of_damaged(path)?, F => {
        options.repair_with::<F>(path, dest, fallback, &mut |fingerprint| without_id(&words(fingerprint)[..F::WIDTH.words()]))
    })
}

impl AnyDatabase {
    /// Opens a database with the default options; see [`Options::open_any`].
    ///
    /// # Errors
    /// As [`Options::open_any`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open_any(path)
    }

    fn open_with(options: &Options, path: &Path) -> Result<Self> {
        let (width, database_id) = identity_of(path)?;
        Ok(match width {
            Width::W64 => Self::W64(Database::new(path, options, database_id)),
            Width::W128 => Self::W128(Database::new(path, options, database_id)),
            Width::W256 => Self::W256(Database::new(path, options, database_id)),
            Width::W320 => Self::W320(Database::new(path, options, database_id)),
        })
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        match self {
            Self::W64(_) => Width::W64,
            Self::W128(_) => Width::W128,
            Self::W256(_) => Width::W256,
            Self::W320(_) => Width::W320,
        }
    }

    /// The folder of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        typed!(AnyDatabase: self, database => database.path())
    }

    /// The same handle with another progress callback.
    #[must_use]
    pub fn with_progress(&self, progress: Arc<dyn Progress>) -> Self {
        match self {
            Self::W64(database) => Self::W64(database.with_progress(progress)),
            Self::W128(database) => Self::W128(database.with_progress(progress)),
            Self::W256(database) => Self::W256(database.with_progress(progress)),
            Self::W320(database) => Self::W320(database.with_progress(progress)),
        }
    }

    /// A view of the database with everything committed so far: see [`Database::snapshot`].
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    pub fn snapshot(&self) -> Result<AnySnapshot> {
        Ok(AnySnapshot::new(try_map!(AnyDatabase: self, database => PerWidth: database.snapshot())))
    }

    /// Opens the database for writing: see [`Database::writer`].
    ///
    /// # Errors
    /// As [`Database::writer`].
    pub fn writer(&self) -> Result<AnyWriter> {
        Ok(AnyWriter(try_map!(AnyDatabase: self, database => PerWidth: database.writer())))
    }

    /// The recipe of the fingerprints: see [`Snapshot::recipe`](crate::Snapshot::recipe).
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    pub fn recipe(&self) -> Result<Option<String>> {
        typed!(AnyDatabase: self, database => Ok(database.snapshot()?.recipe().map(str::to_string)))
    }

    /// Who writes to the database, and when it was written to last: see [`Database::activity`].
    ///
    /// # Errors
    /// As [`Database::activity`].
    pub fn activity(&self) -> Result<Activity> {
        typed!(AnyDatabase: self, database => database.activity())
    }

    /// Counts and sizes: see [`Snapshot::stats`](crate::Snapshot::stats).
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    pub fn stats(&self) -> Result<Stats> {
        typed!(AnyDatabase: self, database => Ok(database.snapshot()?.stats()))
    }

    /// How queries are answered: see [`Snapshot::explain`](crate::Snapshot::explain).
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    pub fn explain(&self, k: u32) -> Result<Explanation> {
        typed!(AnyDatabase: self, database => Ok(database.snapshot()?.explain(k)))
    }

    /// Checks every byte: see [`Database::verify`].
    ///
    /// # Errors
    /// As [`Database::verify`].
    pub fn verify(&self) -> Result<Verification> {
        typed!(AnyDatabase: self, database => database.verify())
    }

    /// Checks one part of the pages: see [`Database::verify_part`].
    ///
    /// # Errors
    /// As [`Database::verify_part`].
    pub fn verify_part(&self, part: u64, parts: u64) -> Result<Verification> {
        typed!(AnyDatabase: self, database => database.verify_part(part, parts))
    }

    /// Copies the database as it stands: see [`Snapshot::backup`](crate::Snapshot::backup).
    ///
    /// # Errors
    /// As [`Snapshot::backup`](crate::Snapshot::backup).
    pub fn backup(&self, dest: impl AsRef<Path>) -> Result<()> {
        self.snapshot()?.backup(dest)
    }

    /// Merges all runs into one and closes the writer: see
    /// [`Writer::compact`](crate::Writer::compact).
    ///
    /// # Errors
    /// As [`Database::writer`] and [`Writer::compact`](crate::Writer::compact).
    pub fn compact(&self) -> Result<()> {
        let mut writer = self.writer()?;
        writer.compact()?;
        writer.close()
    }

    /// Ingests folders of runs and closes the writer: see
    /// [`Writer::ingest`](crate::Writer::ingest).
    ///
    /// # Errors
    /// As [`Database::writer`] and [`Writer::ingest`](crate::Writer::ingest).
    pub fn ingest(&self, folders: &[impl AsRef<Path>]) -> Result<IngestReport> {
        let mut writer = self.writer()?;
        let report = writer.ingest(folders)?;
        writer.close()?;
        Ok(report)
    }
}

/// A [`Builder`] of any width.
#[derive(Debug)]
pub struct AnyBuilder(pub(super) PerWidth<Builder<u64>, Builder<u128>, Builder<U256>, Builder<U320>>);

/// Evaluates an expression on a builder, and makes a builder of the result.
macro_rules! rebuilt {
    ($any:expr, $builder:ident => $result:expr) => {
        Self(match $any.0 {
            PerWidth::W64($builder) => PerWidth::W64($result),
            PerWidth::W128($builder) => PerWidth::W128($result),
            PerWidth::W256($builder) => PerWidth::W256($result),
            PerWidth::W320($builder) => PerWidth::W320($result),
        })
    };
}

impl AnyBuilder {
    fn begin(options: &Options, path: &Path, width: Width, schema: &Schema) -> Result<Self> {
        Ok(Self(match width {
            Width::W64 => PerWidth::W64(options.build(path, schema)?),
            Width::W128 => PerWidth::W128(options.build(path, schema)?),
            Width::W256 => PerWidth::W256(options.build(path, schema)?),
            Width::W320 => PerWidth::W320(options.build(path, schema)?),
        }))
    }

    /// The id of the first row that comes without one: see [`Builder::first_id`].
    #[must_use]
    pub fn first_id(self, id: u64) -> Self {
        rebuilt!(self, builder => builder.first_id(id))
    }

    /// Makes a folder of runs: see [`Builder::runs_only`].
    #[must_use]
    pub fn runs_only(self) -> Self {
        rebuilt!(self, builder => builder.runs_only())
    }

    /// The identity of the run: see [`Builder::identity`].
    #[must_use]
    pub fn identity(self, name: &str) -> Self {
        rebuilt!(self, builder => builder.identity(name))
    }

    /// Whether rows have keys, and what is stored beside keys.
    #[must_use]
    pub fn key_storage(&self) -> KeyStorage {
        typed!(PerWidth: &self.0, builder => builder.key_storage())
    }

    /// Adds rows: see [`Builder::push`]. `stored` receives the id of each row; an error of it ends the
    /// work, and the rows before it stay.
    ///
    /// # Errors
    /// As [`Builder::push`], and whatever `stored` returns.
    pub fn push(&mut self, rows: &NewRows<'_>, stored: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        typed!(PerWidth: &mut self.0, builder => rows.store(stored, |row| builder.push(row)))
    }

    /// Makes the database: see [`Builder::finish`].
    ///
    /// # Errors
    /// As [`Builder::finish`].
    pub fn finish(self) -> Result<AnyDatabase> {
        Ok(try_map!(PerWidth: self.0, builder => AnyDatabase: builder.finish()))
    }
}
