//! A database whose width is known only at run time.

use std::path::Path;

use super::explain::Explanation;
use super::ingest::IngestReport;
use super::repair::RepairReport;
use super::stats::Stats;
use super::{Database, width_of, width_of_damaged};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, U256, Width, WidthVisitor};
use crate::format::schema::Schema;
use crate::options::Options;
use crate::run::Verification;

/// A [`Database`] of any width. What does not depend on the width is a method; for everything else,
/// [`visit`](AnyDatabase::visit) passes the typed database to generic code, and the variants can be
/// matched.
///
/// ```
/// use nearprint::{AnyDatabase, Database, DatabaseVisitor, Fingerprint, Result, Schema, Width};
///
/// /// Counts the distinct fingerprints that have another one within 3 bits.
/// struct CountNear;
/// impl DatabaseVisitor for CountNear {
///     type Output = Result<usize>;
///     fn visit<F: Fingerprint>(self, database: Database<F>) -> Result<usize> {
///         let mut near = std::collections::BTreeSet::new();
///         for pair in database.snapshot()?.pairs(3)? {
///             let pair = pair?;
///             near.extend([pair.a, pair.b]);
///         }
///         Ok(near.len())
///     }
/// }
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
/// assert_eq!(database.visit(CountNear)?, 2);
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
}

/// Code that is generic over the fingerprint, for a database whose width is known only at run time.
pub trait DatabaseVisitor {
    /// What it returns.
    type Output;
    /// Runs on the typed database.
    fn visit<F: Fingerprint>(self, database: Database<F>) -> Self::Output;
}

/// Evaluates an expression on the database, whatever its type.
macro_rules! typed {
    ($any:expr, $database:ident => $result:expr) => {
        match $any {
            AnyDatabase::W64($database) => $result,
            AnyDatabase::W128($database) => $result,
            AnyDatabase::W256($database) => $result,
        }
    };
}

/// Evaluates an expression for each width, and wraps the result.
macro_rules! of_width {
    ($width:expr, $options:ident.$make:ident($($argument:expr),*)) => {
        match $width {
            Width::W64 => $options.$make($($argument),*).map(AnyDatabase::W64),
            Width::W128 => $options.$make($($argument),*).map(AnyDatabase::W128),
            Width::W256 => $options.$make($($argument),*).map(AnyDatabase::W256),
        }
    };
}

impl Options {
    /// Makes an empty database, as [`create`](Options::create) does.
    ///
    /// # Errors
    /// As [`create`](Options::create).
    pub fn create_any(&self, path: impl AsRef<Path>, width: Width, schema: &Schema) -> Result<AnyDatabase> {
        of_width!(width, self.create(path, schema))
    }

    /// Opens a database of any width.
    ///
    /// # Errors
    /// As [`open`](Options::open), without [`Error::Width`](crate::Error::Width).
    pub fn open_any(&self, path: impl AsRef<Path>) -> Result<AnyDatabase> {
        of_width!(width_of(&path)?, self.open(path))
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
        let (path, dest) = (path.as_ref(), dest.as_ref());
        width_of_damaged(path)?.visit(Repair { path, dest, fallback, options: self })
    }
}

impl AnyDatabase {
    /// Opens a database with the default options; see [`Options::open_any`].
    ///
    /// # Errors
    /// As [`Options::open_any`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open_any(path)
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        match self {
            Self::W64(_) => Width::W64,
            Self::W128(_) => Width::W128,
            Self::W256(_) => Width::W256,
        }
    }

    /// The folder of the database.
    #[must_use]
    pub fn path(&self) -> &Path {
        typed!(self, database => database.path())
    }

    /// The recipe of the fingerprints: see [`Snapshot::recipe`](crate::Snapshot::recipe).
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    pub fn recipe(&self) -> Result<Option<String>> {
        typed!(self, database => Ok(database.snapshot()?.recipe().map(str::to_string)))
    }

    /// Runs generic code on the typed database.
    pub fn visit<V: DatabaseVisitor>(self, visitor: V) -> V::Output {
        typed!(self, database => visitor.visit(database))
    }

    /// Counts and sizes: see [`Snapshot::stats`](crate::Snapshot::stats).
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    pub fn stats(&self) -> Result<Stats> {
        typed!(self, database => Ok(database.snapshot()?.stats()))
    }

    /// How queries are answered: see [`Snapshot::explain`](crate::Snapshot::explain).
    ///
    /// # Errors
    /// As [`Database::snapshot`].
    pub fn explain(&self, k: u32) -> Result<Explanation> {
        typed!(self, database => Ok(database.snapshot()?.explain(k)))
    }

    /// Checks every byte: see [`Database::verify`].
    ///
    /// # Errors
    /// As [`Database::verify`].
    pub fn verify(&self) -> Result<Verification> {
        typed!(self, database => database.verify())
    }

    /// Copies the database as it stands: see [`Snapshot::backup`](crate::Snapshot::backup).
    ///
    /// # Errors
    /// As [`Snapshot::backup`](crate::Snapshot::backup).
    pub fn backup(&self, dest: impl AsRef<Path>) -> Result<()> {
        typed!(self, database => database.snapshot()?.backup(dest))
    }

    /// Merges all runs into one and closes the writer: see
    /// [`Writer::compact`](crate::Writer::compact).
    ///
    /// # Errors
    /// As [`Database::writer`] and [`Writer::compact`](crate::Writer::compact).
    pub fn compact(&self) -> Result<()> {
        typed!(self, database => {
            let mut writer = database.writer()?;
            writer.compact()?;
            writer.close()
        })
    }

    /// Ingests folders of runs and closes the writer: see
    /// [`Writer::ingest`](crate::Writer::ingest).
    ///
    /// # Errors
    /// As [`Database::writer`] and [`Writer::ingest`](crate::Writer::ingest).
    pub fn ingest(&self, folders: &[impl AsRef<Path>]) -> Result<IngestReport> {
        typed!(self, database => {
            let mut writer = database.writer()?;
            let report = writer.ingest(folders)?;
            writer.close()?;
            Ok(report)
        })
    }
}

struct Repair<'a> {
    path: &'a Path,
    dest: &'a Path,
    fallback: &'a Schema,
    options: &'a Options,
}

impl WidthVisitor for Repair<'_> {
    type Output = Result<RepairReport>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.options.repair::<F>(self.path, self.dest, self.fallback)
    }
}
