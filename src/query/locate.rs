//! From fingerprints found in any table to their rows.
//!
//! Ids follow table 0, so a fingerprint found elsewhere is first looked up there. The work is done
//! in stages over all hits of a group; each stage prefetches what the next one reads.

use super::search::{Completion, Hit};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::run::Run;
use crate::util::cast::to_u32;

/// A stored row near a query.
///
/// Ordered by distance, then fingerprint, then id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Match<F> {
    /// Number of bits in which the row's fingerprint differs from the query.
    pub distance: u32,
    /// The row's fingerprint.
    pub fingerprint: F,
    /// The row's id.
    pub id: u64,
}

/// The row, without the distance to the query.
///
/// ```
/// use nearprint::{Database, KeyStorage, NewRow, Schema};
/// # let home = tempfile::tempdir()?;
/// let schema = Schema::new().keys(KeyStorage::Keys);
/// let database = Database::<u64>::create(home.path().join("pages.np"), &schema)?;
/// let mut writer = database.writer()?;
/// writer.insert(NewRow::keyed(0x1f3a, "https://a/"))?;
/// writer.commit()?;
/// let snapshot = database.snapshot()?;
/// for found in snapshot.query(0x1f3b, 3)? {
///     assert_eq!(snapshot.keys_of(found.into())?[0].key, "https://a/");
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<F> From<Match<F>> for Row<F> {
    fn from(Match { fingerprint, id, .. }: Match<F>) -> Self {
        Self { fingerprint, id }
    }
}

/// Hits whose rows are looked up together.
const TOGETHER: usize = 64;

/// Appends the rows of all hits, each with the index of its query, in no particular order. Gives up
/// where `found` becomes longer than `most`.
pub(crate) fn rows_of<F: Fingerprint>(
    run: &Run<F>,
    hits: &mut [Hit<F>],
    most: usize,
    found: &mut Vec<(u32, Match<F>)>,
) -> Result<Completion> {
    for some in hits.chunks_mut(TOGETHER) {
        rows_of_some(run, some, found)?;
        if found.len() > most {
            return Ok(Completion::GaveUp);
        }
    }
    Ok(Completion::Complete)
}

fn rows_of_some<F: Fingerprint>(
    run: &Run<F>,
    hits: &mut [Hit<F>],
    found: &mut Vec<(u32, Match<F>)>,
) -> Result<()> {
    find_entries(run, hits)?;
    for hit in hits.iter() {
        run.postings.prefetch_near(hit.entry as usize)?;
    }
    for &Hit { query, distance, fingerprint, entry } in hits.iter() {
        let row = |id| (query, Match { distance, fingerprint, id });
        run.postings.ids_of(entry as usize, found, row)?;
    }
    Ok(())
}

/// Looks up the entries of hits from other tables, and prefetches what is needed to find their
/// rows.
fn find_entries<F: Fingerprint>(run: &Run<F>, hits: &mut [Hit<F>]) -> Result<()> {
    let natural = run.natural();
    let missing = |hit: &Hit<F>| hit.entry == Hit::<F>::NOT_LOCATED;
    hits.iter()
        .filter(|hit| missing(hit))
        .for_each(|hit| natural.prefetch_bucket(natural.bucket_of(hit.fingerprint)));
    for hit in hits.iter() {
        let near =
            if missing(hit) { natural.prefetch_place_of(hit.fingerprint)? } else { hit.entry as usize };
        run.postings.prefetch_sample(near);
    }
    for hit in hits.iter_mut().filter(|hit| missing(hit)) {
        hit.entry = to_u32(entry_of(run, hit)?);
    }
    Ok(())
}

/// The entry of a hit.
pub(super) fn entry_of<F: Fingerprint>(run: &Run<F>, hit: &Hit<F>) -> Result<usize> {
    if hit.entry != Hit::<F>::NOT_LOCATED {
        return Ok(hit.entry as usize);
    }
    run.natural().find(hit.fingerprint)?.ok_or_else(|| lacks(run, hit.fingerprint))
}

/// The damage where table 0 lacks a fingerprint of another table.
pub(super) fn lacks<F: Fingerprint>(run: &Run<F>, fingerprint: F) -> Error {
    let found = format!("that table 0 lacks fingerprint {}", fingerprint.display());
    run.natural().file.flaw(0, "every fingerprint of the other tables", found)
}
