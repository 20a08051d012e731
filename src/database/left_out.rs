//! What a database remembers of documents that were left out: of which kept one each is a near-duplicate.
//!
//! It is a database of its own in the folder `left-out` of the other one, so that its rows expire, are deleted,
//! copied and followed as all rows are. FORMAT.md has its rows.

use std::path::Path;

use crate::database::Database;
use crate::database::follow::{self, Follower};
use crate::database::repair::{self, RepairReport};
use crate::database::snapshot::Snapshot;
use crate::database::writer::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::Row;
use crate::format::keys::hash_key;
use crate::format::schema::{KeyStorage, Remember, Schema};
use crate::layout::LayoutChoice;
use crate::options::{MIN_MEMORY_BYTES, Options};
use crate::run::Verification;
use crate::storage::{Folder, names};

/// A document that was left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The hash of its key, as rows with keys have it for an id.
    pub id: u64,
    /// Its key, if the database [remembers keys](Remember::Keys).
    pub key: Option<String>,
    /// The id of the kept document: the hash of its key.
    pub kept: u64,
    /// The similarity of the two, from 0 to 1, in steps of 1/65,535. It is 1 only if it was exactly 1.
    pub similarity: f64,
    /// The number of the job that left it out; 0 for none.
    pub job: u64,
}

/// 1 as a similarity is stored.
const WHOLE: u16 = u16::MAX;
/// The bits of the number of a job.
const JOB_BITS: u32 = 48;
/// The part of the memory of a writer that the writer of what was left out gets.
const MEMORY_SHARE: usize = 16;

impl LeftOut {
    /// What stands beside the id.
    pub(crate) fn packed(kept: u64, similarity: f64, job: u64) -> u128 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to WHOLE")]
        let similarity = match similarity {
            1.0.. => WHOLE,
            less => (less.max(0.0) * f64::from(WHOLE)).round().min(f64::from(WHOLE - 1)) as u16,
        };
        let job = u128::from(job) & ((1 << JOB_BITS) - 1);
        u128::from(kept) << 64 | u128::from(similarity) << JOB_BITS | job
    }

    #[expect(clippy::cast_possible_truncation, reason = "each part is taken by its bits")]
    fn of(row: Row<u128>, key: Option<String>) -> Self {
        let similarity = f64::from((row.fingerprint >> JOB_BITS) as u16) / f64::from(WHOLE);
        let job = job_of(row);
        Self { id: row.id, key, kept: (row.fingerprint >> 64) as u64, similarity, job }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the part is taken by its bits")]
pub(super) fn job_of(row: Row<u128>) -> u64 {
    row.fingerprint as u64 & ((1 << JOB_BITS) - 1)
}

/// The documents that a database remembers as left out, at one moment.
#[derive(Clone, Debug)]
pub struct LeftOutRows(Snapshot<u128>);

impl LeftOutRows {
    /// Those of a database. `None` if it does not remember any.
    ///
    /// # Errors
    /// As [`Database::open`] and [`Database::snapshot`].
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Option<Self>> {
        open(path.as_ref(), options)?.map(|database| Ok(Self(database.take_snapshot()?))).transpose()
    }

    /// Their number, with those that were deleted since the last merge.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.stats().rows
    }

    /// What is remembered.
    #[must_use]
    pub fn remembers(&self) -> Remember {
        remembers(self.0.key_storage())
    }

    /// The document of a key. Where [hashes](Remember::Hashes) are remembered, it costs a walk over all rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn find(&self, key: &str) -> Result<Option<LeftOut>> {
        let id = hash_key(key.as_bytes());
        for fingerprint in self.0.fingerprints_of(id)? {
            let row = Row { fingerprint, id };
            if self.remembers() == Remember::Hashes {
                return Ok(Some(LeftOut::of(row, None)));
            }
            if self.0.keys_of(row)?.iter().any(|known| known.key == key) {
                return Ok(Some(LeftOut::of(row, Some(key.into()))));
            }
        }
        Ok(None)
    }

    /// Passes all of them on, those of one kept document together, by ascending ids of these.
    ///
    /// # Errors
    /// [`Error::Corrupt`], and what `visit` returns.
    pub fn visit<E: From<Error>>(&self, mut visit: impl FnMut(LeftOut) -> Result<(), E>) -> Result<(), E> {
        let has_keys = self.remembers() == Remember::Keys;
        self.0.visit_rows(|row| match has_keys {
            true => {
                let mut keys = self.0.keys_of(row)?.into_iter();
                keys.try_for_each(|known| visit(LeftOut::of(row, Some(known.key))))
            }
            false => visit(LeftOut::of(row, None)),
        })
    }
}

fn remembers(keys: KeyStorage) -> Remember {
    if keys.has_keys() { Remember::Keys } else { Remember::Hashes }
}

/// The database of what was left out, in the folder of another one.
fn open(path: &Path, options: &Options) -> Result<Option<Database<u128>>> {
    match Database::open_with(&path.join(names::LEFT_OUT), &options.clone().without_progress()) {
        Err(Error::NotADatabase { .. }) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Makes an empty one in the folder of a database that is being made.
pub(super) fn create(folder: &Path, schema: &Schema, options: &Options) -> Result<()> {
    let keys = match schema.remember {
        Remember::Nothing => return Ok(()),
        Remember::Hashes => KeyStorage::None,
        Remember::Keys => KeyStorage::Keys,
    };
    let schema = Schema { keys, lifetime: schema.lifetime, ..schema_of_rows() };
    options.create::<u128>(folder.join(names::LEFT_OUT), &schema).map(drop)
}

fn schema_of_rows() -> Schema {
    Schema::new().k(0).layout(LayoutChoice::Rotations { tables: 1 })
}

/// Opens it for writing, together with its database.
pub(super) fn writer(path: &Path, options: &Options) -> Result<Option<Box<Writer<u128>>>> {
    let Some(mut database) = open(path, options)? else { return Ok(None) };
    let storage = database.storage()?;
    if follow::follows(&*storage)? {
        // Its database follows no more, or it could not be opened for writing.
        let note = storage.path(names::FOLLOWER);
        storage.remove(names::FOLLOWER).map_err(Error::io("remove", note))?;
    }
    database.options.memory_bytes = (options.memory_bytes / MEMORY_SHARE).max(MIN_MEMORY_BYTES);
    Ok(Some(Box::new(database.begin_writing()?)))
}

/// Copies it into the folder of a copy that is being made.
pub(super) fn backup(path: &Path, folder: &Path, base: Option<&Path>, options: &Options) -> Result<u64> {
    let Some(database) = open(path, options)? else { return Ok(0) };
    let base = base.map(|base| base.join(names::LEFT_OUT)).filter(|base| base.exists());
    database.take_snapshot()?.copy_to(&folder.join(names::LEFT_OUT), base.as_deref())
}

/// Makes a follower of it in the folder of a follower that is being made.
pub(super) fn seed(path: &Path, folder: &Path, options: &Options) -> Result<()> {
    let Some(database) = open(path, options)? else { return Ok(()) };
    let (source, of) = (Folder::of_database(&database.path)?, (database.database_id, &database.options));
    follow::seed::<u128>(&source, &folder.join(names::LEFT_OUT), of)
}

/// Follows it in the folder of a follower.
pub(super) fn follow(path: &Path, dest: &Path, options: &Options) -> Result<Option<Box<Follower<u128>>>> {
    let Some(database) = open(path, options)? else { return Ok(None) };
    Ok(Some(Box::new(database.follow_in(&dest.join(names::LEFT_OUT))?)))
}

/// Adds what `work` finds in it to what was found in its database.
pub(super) fn verify(
    path: &Path,
    options: &Options,
    mut report: Verification,
    work: impl FnOnce(&Database<u128>) -> Result<Verification>,
) -> Result<Verification> {
    let found = match open(path, options).and_then(|database| database.as_ref().map(work).transpose()) {
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

/// Saves what can be read of it into the folder of a repaired database that is being made.
pub(super) fn repair(path: &Path, folder: &Path, options: &Options, report: &mut RepairReport) -> Result<()> {
    let path = path.join(names::LEFT_OUT);
    if !path.is_dir() {
        return Ok(());
    }
    let options = options.clone().without_progress();
    let dest = folder.join(names::LEFT_OUT);
    let found = match repair::repair::<u128>(&path, &dest, (&schema_of_rows(), &options), &mut |_| Ok(())) {
        // It is no database of ours, and stays where it is.
        Err(Error::NotADatabase { .. } | Error::Width { .. }) => return Ok(()),
        found => found?,
    };
    for mut finding in found.findings {
        finding.file = format!("{}/{}", names::LEFT_OUT, finding.file);
        report.findings.push(finding);
    }
    Ok(())
}
