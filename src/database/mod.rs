//! A database: a folder that can be created, opened and read.

pub(crate) mod activity;
mod answers;
mod backup;
pub(crate) mod bulk;
mod compaction;
mod cross;
pub(crate) mod engine;
pub(crate) mod explain;
pub(crate) mod follow;
mod handle;
pub(crate) mod ingest;
pub(crate) mod left_out;
pub(crate) mod new_row;
pub(crate) mod repair;
pub(crate) mod snapshot;
pub(crate) mod stats;
pub(crate) mod streams;
mod unflushed;
mod walks;
pub(crate) mod writer;

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use crate::database::bulk::Builder;
use crate::database::snapshot::{Snapshot, verify_all};
use crate::database::writer::Writer;
use crate::error::{Error, Limit, Result};
use crate::event::Event;
use crate::fingerprint::{Fingerprint, Width};
use crate::format::manifest::Manifest;
use crate::format::schema::Schema;
use crate::log::manifest;
use crate::options::{MIN_MEMORY_BYTES, Options};
use crate::run::{Verification, verify_part};
use crate::storage::{Folder, Storage, wait_for_lock};
pub use handle::Database;
use repair::RepairReport;

impl Options {
    /// Makes an empty database. `path` must not exist, or be an empty folder. The handle keeps the
    /// options.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`]; [`Error::InvalidLayout`], [`Error::Distance`] and
    /// [`Error::InvalidRecipe`] for a schema that is not valid; [`Error::Unnamed`],
    /// [`Error::MountPoint`], [`Error::DeviceName`]; [`Error::TooLittleMemory`]; [`Error::Locked`]
    /// while another process builds under the same name; [`Error::Io`].
    pub fn create<F: Fingerprint>(&self, path: impl AsRef<Path>, schema: &Schema) -> Result<Database<F>> {
        self.build(path, schema)?.finish()
    }

    /// Opens a database, or makes an empty one if there is none at the path. A database that exists keeps its
    /// own settings: `schema` is only for a new one. If several processes begin together, one makes the
    /// database, and the others open it. They wait for [`lock_wait`](Options::lock_wait), and for at least a
    /// second.
    ///
    /// # Errors
    /// As [`open`](Options::open) and [`create`](Options::create). [`Error::NotADatabase`] if there is something else
    /// at the path than a database or an empty folder.
    pub fn open_or_create<F: Fingerprint>(
        &self,
        path: impl AsRef<Path>,
        schema: &Schema,
    ) -> Result<Database<F>> {
        let path = path.as_ref();
        open_or_create(self, || self.open(path), || self.create(path, schema))
    }

    /// Starts loading rows in bulk into a new database. `path` must not exist, or be an empty
    /// folder.
    ///
    /// # Errors
    /// As [`create`](Options::create).
    pub fn build<F: Fingerprint>(&self, path: impl AsRef<Path>, schema: &Schema) -> Result<Builder<F>> {
        F::build(path.as_ref(), schema, self)
    }

    /// Saves what can be read of a damaged database into a new one at `dest`, which must not exist,
    /// or be an empty folder. The damaged database is not changed; no writer may have it open.
    ///
    /// Every row of the new database was in the old one. Rows that cannot be proved are left out and counted.
    /// Fingerprints lost from one table are restored from the others. If the manifest cannot be read, runs
    /// are found by their files. The new database has the schema of the old one. If the manifest is lost, k,
    /// layout and keys come from the headers of the other files, and the recipe from `fallback`; if no header
    /// is left, all of them come from `fallback`. Other users have the same access to it, and it does not
    /// reuse the automatic ids of the old one.
    ///
    /// Memory, in addition to the options': 16 bytes for every fingerprint that table 0 has lost, 8
    /// for every deleted id, twice the log, 1/2048 of the largest file.
    ///
    /// # Errors
    /// [`Error::NotADatabase`] where there is no file of a database; [`Error::NewerVersion`],
    /// [`Error::Width`]; [`Error::Distance`] and [`Error::InvalidLayout`] for `fallback`;
    /// [`Error::AlreadyExists`], [`Error::Locked`] and [`Error::InsideDatabase`] for `dest`;
    /// [`Error::TooLittleMemory`]; [`Error::Io`], [`Error::DiskFull`] and [`Error::Interrupted`].
    /// Damage is not an error: the [`RepairReport`] lists it.
    pub fn repair<F: Fingerprint>(
        &self,
        path: impl AsRef<Path>,
        dest: impl AsRef<Path>,
        fallback: &Schema,
    ) -> Result<RepairReport> {
        self.repair_with::<F>(path, dest, fallback, &mut |_| Ok(()))
    }

    /// Does the same as [`repair`](Options::repair), and passes on the fingerprints whose ids are lost,
    /// in no particular order and possibly several times. Their rows are not in the new database.
    /// Some of them may have been deleted before the damage.
    ///
    /// # Errors
    /// As [`repair`](Options::repair), and what `without_id` returns.
    pub fn repair_with<F: Fingerprint>(
        &self,
        path: impl AsRef<Path>,
        dest: impl AsRef<Path>,
        fallback: &Schema,
        without_id: &mut dyn FnMut(F) -> Result<()>,
    ) -> Result<RepairReport> {
        F::repair(path.as_ref(), dest.as_ref(), (fallback, self), without_id)
    }
}

/// How far the last commit may lie in the future: so much do the clocks of several machines differ.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(300);
/// The part of the memory of a writer that goes to what was left out.
const LEFT_OUT_SHARE: usize = 16;
/// How long to wait for another process that makes an empty database.
const MAKING: Duration = Duration::from_secs(1);

/// Opens what is there, or makes it.
fn open_or_create<T>(
    options: &Options,
    open: impl Fn() -> Result<T>,
    create: impl Fn() -> Result<T>,
) -> Result<T> {
    wait_for_lock(options, options.lock_wait.max(MAKING), || match open() {
        Err(Error::NotADatabase { .. }) => match create() {
            // Another process has made it meanwhile, or it is something else.
            Err(Error::AlreadyExists { .. }) => open(),
            made => made,
        },
        opened => opened,
    })
}

/// Options have no width: one function serves all.
impl Database<u64> {
    /// The default [`Options`], which you can change, to make and open databases of any width.
    ///
    /// ```
    /// use nearprint::{Database, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let path = home.path().join("seen.np");
    /// let database = Database::options().threads(2).create::<u128>(&path, &Schema::new().k(6))?;
    /// assert_eq!(database.snapshot()?.default_k(), 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn options() -> Options {
        Options::new()
    }
}

impl<F: Fingerprint> Database<F> {
    /// Makes an empty database with the default options; see [`Options::create`].
    ///
    /// # Errors
    /// As [`Options::create`].
    pub fn create(path: impl AsRef<Path>, schema: &Schema) -> Result<Self> {
        Options::new().create(path, schema)
    }

    /// Opens a database, or makes an empty one, with the default options; see [`Options::open_or_create`].
    ///
    /// ```
    /// use nearprint::{Database, KeyStorage, NewRow, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let path = home.path().join("seen.np");
    /// let schema = Schema::new().k(6).keys(KeyStorage::Keys);
    /// for key in ["first run", "second run"] {
    ///     let mut writer = Database::<u64>::open_or_create(&path, &schema)?.writer()?;
    ///     writer.insert(NewRow::keyed(0x1f3a, key))?;
    ///     writer.close()?;
    /// }
    /// assert_eq!(Database::<u64>::open(&path)?.snapshot()?.stats().rows, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Options::open_or_create`].
    pub fn open_or_create(path: impl AsRef<Path>, schema: &Schema) -> Result<Self> {
        Options::new().open_or_create(path, schema)
    }

    /// Starts loading rows in bulk into a new database, with the default options; see
    /// [`Options::build`].
    ///
    /// # Errors
    /// As [`Options::create`].
    pub fn build(path: impl AsRef<Path>, schema: &Schema) -> Result<Builder<F>> {
        Options::new().build(path, schema)
    }

    /// A view of the database with everything committed so far in any process. Later changes do not
    /// affect it.
    ///
    /// Maps every file and checks its header, footer and length. Rows that are still in a writer's
    /// log are read and sorted.
    ///
    /// # Errors
    /// As [`open`](Database::open); [`Error::Corrupt`] also for a file that is missing, cut short,
    /// damaged at an end, or of another database; [`Error::Replaced`] if the path leads to another
    /// database than the one that was opened.
    pub fn snapshot(&self) -> Result<Snapshot<F>> {
        F::snapshot(self)
    }

    fn take_snapshot(&self) -> Result<Snapshot<F>> {
        Snapshot::open_same(&self.storage()?, &self.options, None, Some(self.database_id))
    }

    /// Opens the database for writing. Recovers the log that a crash left.
    ///
    /// # Errors
    /// [`Error::Locked`] if there is another writer, in this process or any other, for longer than
    /// [`Options::lock_wait`]; [`Error::Interrupted`] if the progress callback ends the wait; as
    /// [`open`](Database::open); [`Error::Replaced`] if the path leads to another database than the
    /// one that was opened; [`Error::Io`] on a read-only medium.
    pub fn writer(&self) -> Result<Writer<F>> {
        F::writer(self)
    }

    fn begin_writing(&self) -> Result<Writer<F>> {
        let storage = self.storage()?;
        let last_commit = storage.last_written().map_err(Error::io("look at", &self.path))?;
        let now = storage.now().into();
        let mut writer = Writer::open_same(storage, self.options.clone(), Some(self.database_id))?;
        writer.left_out = self.begin_leaving_out()?.map(Box::new);
        if let Some(last_commit) = last_commit.filter(|&last_commit| last_commit > now + CLOCK_TOLERANCE) {
            self.options.listener.tell(&Event::Clock { last_commit, now });
        }
        Ok(writer)
    }

    /// Opens the database of what was left out for writing.
    fn begin_leaving_out(&self) -> Result<Option<Writer<u128>>> {
        let Some(mut left_out) = left_out::open(&self.path, &self.options)? else { return Ok(None) };
        let storage = left_out.storage()?;
        // Another database may have come to the path since this one was opened.
        manifest::of::<F>(&*self.storage()?)?.check_id(Some(self.database_id), &self.path)?;
        // Its database follows no more, or it could not be opened for writing.
        follow::follow_no_more(&*storage)?;
        left_out.options.memory_bytes = (self.options.memory_bytes / LEFT_OUT_SHARE).max(MIN_MEMORY_BYTES);
        Writer::open_same(storage, left_out.options, Some(left_out.database_id)).map(Some)
    }

    /// Checks every byte of the database, as [`Snapshot::verify`] does, even where damage prevents
    /// a snapshot.
    ///
    /// # Errors
    /// As [`open`](Database::open); [`Error::Io`] if a file cannot be read. Damage outside the manifest is not an error
    /// here; it is listed.
    pub fn verify(&self) -> Result<Verification> {
        F::verify_all(self)
    }

    /// Checks the checksums of part number `part`, counted from 1, of `parts` parts of the pages. A job that
    /// checks one of 24 parts each hour has read everything within a day. [`verify`](Self::verify) also
    /// checks order and sums.
    ///
    /// # Errors
    /// As [`verify`](Self::verify); [`Error::Limit`] if `part` is 0 or more than `parts`.
    pub fn verify_part(&self, part: u64, parts: u64) -> Result<Verification> {
        F::verify_part(self, part, parts)
    }
}

impl<F: Fingerprint> Database<F> {
    fn verify_whole(&self) -> Result<Verification> {
        let own = self.verify_by(|storage, manifest| verify_all::<F>(storage, manifest, &self.options))?;
        self.with_left_out(own, Database::verify_whole)
    }

    fn verify_one_of(&self, part: u64, parts: u64) -> Result<Verification> {
        if part == 0 || part > parts {
            return Err(Error::Limit(Limit::Parts));
        }
        let of = (part, parts);
        let own =
            self.verify_by(|storage, manifest| verify_part::<F>(storage, manifest, of, &self.options))?;
        self.with_left_out(own, |left_out| left_out.verify_one_of(part, parts))
    }

    /// Adds what `work` finds in the database of what was left out to what was found in this one.
    fn with_left_out(
        &self,
        mut report: Verification,
        work: impl FnOnce(&Database<u128>) -> Result<Verification>,
    ) -> Result<Verification> {
        let opened = left_out::open(&self.path, &self.options);
        let found = match opened.and_then(|left_out| left_out.as_ref().map(work).transpose()) {
            Ok(None) => return Ok(report),
            Ok(Some(found)) => found,
            Err(Error::Corrupt(damage)) => Verification { damage: vec![*damage], ..Verification::default() },
            Err(error) => return Err(error),
        };
        report.files += found.files;
        report.bytes += found.bytes;
        report.damage.extend(found.damage);
        report.ignored_log_bytes += found.ignored_log_bytes;
        Ok(report)
    }

    /// Does the work again if a writer has replaced the manifest, and something is damaged.
    fn verify_by(
        &self,
        work: impl Fn(&dyn Storage, &Manifest) -> Result<Verification>,
    ) -> Result<Verification> {
        let storage = self.storage()?;
        let last = RefCell::new(None);
        let sound = manifest::with_current::<F, _>(&*storage, Some(self.database_id), |manifest| {
            let report = work(&*storage, &manifest)?;
            let first = report.damage.first().cloned();
            last.replace(Some(report));
            first.map_or(Ok(()), |damage| Err(damage.into()))
        });
        match (last.take(), sound) {
            (Some(report), Ok(()) | Err(Error::Corrupt(_))) => Ok(report),
            (_, sound) => sound.map(|()| Verification::default()),
        }
    }
}

/// The width of a database's fingerprints. [`AnyDatabase`](crate::AnyDatabase) opens one of any
/// width.
///
/// # Errors
/// As [`Database::open`], without [`Error::Width`].
pub fn width_of(path: impl AsRef<Path>) -> Result<Width> {
    Ok(identity_of(path.as_ref())?.0)
}

/// The width and the id of a database.
pub(crate) fn identity_of(path: &Path) -> Result<(Width, [u8; 16])> {
    let manifest = manifest::of_any_width(&Folder::of_database(path)?)?;
    Ok((manifest.width.try_into()?, manifest.database_id))
}

/// The width of a database that may be damaged. If the manifest cannot be read, it is the width of the other
/// files.
///
/// # Errors
/// [`Error::NotADatabase`] where there is no file of a database; [`Error::NewerVersion`];
/// [`Error::Io`].
pub fn width_of_damaged(path: impl AsRef<Path>) -> Result<Width> {
    repair::width(&Folder::of_database(path.as_ref())?)?.try_into()
}
