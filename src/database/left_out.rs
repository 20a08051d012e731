//! What a database remembers of documents that were left out: of which kept one each is a near-duplicate.
//!
//! It is a database of its own in the folder `left-out` of the other one, so that its rows expire, are deleted,
//! copied and followed as all rows are. FORMAT.md has its rows.

use std::collections::HashSet;
use std::path::Path;

use crate::database::handle::Database;
use crate::database::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::Row;
use crate::format::keys::hash_key;
use crate::format::schema::{KeyStorage, Remember, Schema};
use crate::layout::LayoutChoice;
use crate::log::manifest;
use crate::options::Options;
use crate::storage::{Folder, names};

/// A document that was left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The hash of its key, which is also the id of a row with this key.
    pub id: u64,
    /// Its key, if the database [remembers keys](Remember::Keys).
    pub key: Option<String>,
    /// The id of the kept document: the hash of its key.
    pub kept: u64,
    /// The similarity of the two, from 0 to 1, to four decimals. It is 1 only if it was exactly 1.
    pub similarity: f64,
    /// The number of the job that left it out; 0 if there was no job.
    pub job: u64,
}

/// Marks the database of what was left out.
const RECIPE: &str = "left-out";
/// 1 as a similarity is stored.
const WHOLE: u16 = 10_000;
/// The bits of the number of a job.
const JOB_BITS: u32 = 48;

impl LeftOut {
    /// What stands beside the id.
    pub(crate) fn packed(kept: u64, similarity: f64, job: u64) -> u128 {
        let similarity = if similarity >= 1.0 { WHOLE } else { decimals(similarity.clamp(0.0, 0.9999)) };
        let job = u128::from(job) & ((1 << JOB_BITS) - 1);
        u128::from(kept) << 64 | u128::from(similarity) << JOB_BITS | job
    }

    #[expect(clippy::cast_possible_truncation, reason = "each part is taken by its bits")]
    fn of(row: Row<u128>, key: Option<String>) -> Self {
        let similarity = (f64::from((row.fingerprint >> JOB_BITS) as u16) / f64::from(WHOLE)).min(1.0);
        let job = job_of(row);
        Self { id: row.id, key, kept: (row.fingerprint >> 64) as u64, similarity, job }
    }
}

/// The four decimals that `{:.4}` prints of a number below 1, so that it is the same wherever it is printed.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number is from 0 to 9999")]
fn decimals(number: f64) -> u16 {
    let (scaled, far_from_half) = (number * f64::from(WHOLE), 1e-6);
    // Near the middle of two, the rounding of the product may decide otherwise than the digits, which are exact. To
    // print every number would be a third of what it costs to remember a document.
    match (scaled.fract() - 0.5).abs() > far_from_half {
        true => scaled.round() as u16,
        false => format!("{number:.4}")[2..].parse().unwrap_or_default(),
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
    /// The documents that a database has left out. `None` if it does not remember any.
    ///
    /// # Errors
    /// As [`Database::open`] and [`Database::snapshot`].
    pub fn open(path: impl AsRef<Path>, options: &Options) -> Result<Option<Self>> {
        Self::open_in(path.as_ref(), options)
    }

    /// Not generic, so that callers do not compile the engine again.
    fn open_in(path: &Path, options: &Options) -> Result<Option<Self>> {
        open(path, options)?.map(|database| Ok(Self(database.take_snapshot()?))).transpose()
    }

    /// The number of rows, including those that were deleted since the last merge.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.0.stats().rows
    }

    /// What is remembered.
    #[must_use]
    pub fn remembers(&self) -> Remember {
        remembers(self.0.key_storage())
    }

    /// The document of a key, as the latest of the jobs that left it out found it. Where [hashes](Remember::Hashes) are
    /// remembered, it costs a walk over all rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn find(&self, key: &str) -> Result<Option<LeftOut>> {
        let (id, mut found) = (hash_key(key.as_bytes()), None::<LeftOut>);
        for fingerprint in self.0.fingerprints_of(id)? {
            let row = Row { fingerprint, id };
            let of_row = if self.remembers() == Remember::Hashes {
                LeftOut::of(row, None)
            } else if self.0.keys_of(row)?.iter().any(|known| known.key == key) {
                LeftOut::of(row, Some(key.into()))
            } else {
                continue;
            };
            found = Some(found.filter(|before| before.job > of_row.job).unwrap_or(of_row));
        }
        Ok(found)
    }

    /// The number of rows that are not deleted. Costs a walk over all rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn count(&self) -> Result<u64> {
        let mut count = 0;
        self.0.visit_rows(|_| {
            count += 1;
            Ok::<(), Error>(())
        })?;
        Ok(count)
    }

    /// The number of rows under some keys. Costs a walk over all rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn count_of(&self, keys: &[&str]) -> Result<u64> {
        let ids: HashSet<u64> = keys.iter().map(|key| hash_key(key.as_bytes())).collect();
        let (keys, mut count) = (HashSet::<&str>::from_iter(keys.iter().copied()), 0);
        self.visit(|left_out| {
            let is_one = match &left_out.key {
                Some(key) => keys.contains(&**key),
                None => ids.contains(&left_out.id),
            };
            count += u64::from(is_one);
            Ok::<(), Error>(())
        })?;
        Ok(count)
    }

    /// Visits all documents by ascending id of their kept document, so that those of one kept document come
    /// together. One that several jobs have left out is visited for each of them.
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

pub(super) fn remembers(keys: KeyStorage) -> Remember {
    if keys.has_keys() { Remember::Keys } else { Remember::Hashes }
}

/// The database of what was left out, in the folder of another one. `None` for anything else of its name, such as a
/// link, or another database that somebody has put there.
pub(super) fn open(path: &Path, options: &Options) -> Result<Option<Database<u128>>> {
    let path = path.join(names::LEFT_OUT);
    if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Ok(None);
    }
    let manifest = match Folder::of_database(&path).and_then(|folder| manifest::of_any_width(&folder)) {
        Err(Error::NotADatabase { .. }) => return Ok(None),
        found => found?,
    };
    let is_ours = manifest.width == u128::BITS && manifest.recipe.as_deref() == Some(RECIPE);
    let options = options.clone().without_progress();
    Ok(is_ours.then(|| Database::new(&path, &options, manifest.database_id)))
}

/// What it is, without its keys and its lifetime.
pub(super) fn schema() -> Schema {
    Schema::new().k(0).layout(LayoutChoice::Rotations { tables: 1 }).recipe(RECIPE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 151 of 165 features were 0.9152 in one list and 0.9151 in another one.
    #[test]
    fn regression_a_similarity_is_stored_as_it_is_printed() {
        let stored = |similarity| {
            let row = Row { fingerprint: LeftOut::packed(7, similarity, 9), id: 1 };
            let LeftOut { kept, similarity, job, .. } = LeftOut::of(row, None);
            assert_eq!((kept, job), (7, 9));
            similarity
        };
        let shares = (1..400).flat_map(|of| (0..of).map(move |shared| f64::from(shared) / f64::from(of)));
        // In the middle of two numbers of four decimals, and as near to it as there are numbers.
        let middles = (0..10_000).map(|at| (f64::from(at) + 0.5) / 10_000.0);
        let near_middles = middles.flat_map(|middle| [middle.next_down(), middle, middle.next_up()]);
        for similarity in shares.chain(near_middles) {
            let printed = format!("{:.4}", similarity.min(0.9999));
            assert_eq!(format!("{:.4}", stored(similarity)), printed, "{similarity:?}");
        }
        assert_eq!([1.0, 1.5, -1.0, f64::NAN].map(stored), [1.0, 1.0, 0.0, 0.0]);
        assert!(stored(1.0 - 1e-12) < 1.0);
    }
}
