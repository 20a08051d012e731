//! Deciding which texts of a stream are kept.

use std::ffi::c_char;

use nearprint::any::{AnyRow, Columns, Shape, Sink};
use nearprint_text::dedup::{Decision, DedupOptions, Deduplicator, DocumentsNear, StoredJob};
use nearprint_text::{DatabaseProblem, Error};

use crate::call::Call;
use crate::error::{Failure, Outcome, nearprint_error};
use crate::handle::{self, Handle};
use crate::rows::{documents, nearprint_rows};
use crate::settings::{self, nearprint_options};
use crate::shared::Shared;
use crate::status::{NEARPRINT_MISMATCH, nearprint_status};
use crate::stream::nearprint_stream;

/// The columns of duplicates.
const DUPLICATES: Shape = Shape { ids: false, keys: true, similarities: true, ..Shape::MATCHES };

/// Decides which texts of a stream are kept, and stores those in a database: a text is kept unless an
/// earlier kept one is similar.
pub struct nearprint_deduplicator {
    inner: Shared<Deduplicator>,
}

impl Handle for nearprint_deduplicator {
    const NAME: &'static str = "nearprint_deduplicator";
}

/// Opens the database of a deduplication, or makes one. `deduplicator` receives the handle.
///
/// `recipe` makes the fingerprints, see nearprint_fingerprinter_new(). Null: the recipe of the database,
/// and `minhash` for a new one; NEARPRINT_MISMATCH for another one than the database has, but for the limit
/// `near`, which counts for a new database alone. `similarity` is the least exact Jaccard similarity of
/// duplicates, 0 to 1; 0 for the limit of the recipe of the database, which is 0.7 for `minhash`. It chooses the
/// bands of a new database: nearprint_snapshot_recipe() tells the recipe that it has. A database that was made for a
/// higher limit misses duplicates of a lower one: of one for 0.9, a quarter at 0.5.
///
/// With a recipe of simhash and a `similarity` of 0, texts with fingerprints within the distance of the
/// database are duplicates, and similarities are estimates. With another `similarity`, the words of these texts
/// are compared, too. A new database keeps the texts for that. Texts of a lower similarity often have fingerprints
/// that are further apart: MinHash finds them.
///
/// With MinHash, similarities are exact: NEARPRINT_MISMATCH for a database that keeps neither texts nor features,
/// such as one with the schema of NEARPRINT_KEYS.
///
/// `options` may be null.
/// NEARPRINT_LOCKED while the database has a writer, NEARPRINT_MISMATCH while it has an unfinished job of
/// `nearprint dedup`, whose progress a commit would forget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_deduplicator_open(
    path: *const c_char,
    path_len: usize,
    recipe: *const c_char,
    recipe_len: usize,
    similarity: f64,
    options: *const nearprint_options,
    deduplicator: *mut *mut nearprint_deduplicator,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let deduplicator = call.new_handle(deduplicator, "deduplicator")?;
        let path = call.path(path, path_len)?;
        let recipe = call.optional_text(recipe, recipe_len, "recipe")?;
        let mut dedup = DedupOptions::with_default_recipe()?;
        for (name, value) in [("recipe", recipe.map(str::to_string)), ("similarity", limit_of(similarity)?)] {
            value.map_or(Ok(()), |value| dedup.set(name, &[value.into()]))?;
        }
        dedup.engine = settings::options(call, options)?;
        let opened = Deduplicator::open(&path, dedup)?;
        StoredJob::check_whole_documents(&opened, &path)?;
        if matches!(opened.near(), DocumentsNear::Estimated { recipe, .. } if recipe.bands().is_some()) {
            return Err(Error::from(DatabaseProblem::NoFeatures { path }).into());
        }
        if opened.unfinished().is_some() {
            let why =
                format!("{}: an unfinished job has to be finished first, by its command", path.display());
            return Err(Failure::new(NEARPRINT_MISMATCH, why));
        }
        deduplicator.give(nearprint_deduplicator { inner: Shared::new(opened) });
        Ok(())
    })
}

/// Decides documents in their order, and stores those that are kept. Earlier ones count, of this call, of other
/// threads, and uncommitted ones. After a failure, some of the documents may have been decided.
///
/// A document that is given again is a duplicate of itself, unless it has no word: nothing is near such a one.
/// `documents` has keys and texts, and neither fingerprints nor ids. `kept` receives 1 for each one that is
/// kept, and 0 otherwise; it may be null. `duplicates` receives a stream of those that are not kept, and
/// may be null.
///
/// Columns: groups (the number of the document, from 0), fingerprints (of the document), distances,
/// similarities and keys (of the most similar kept one).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_deduplicator_decide(
    deduplicator: *const nearprint_deduplicator,
    documents: *const nearprint_rows,
    kept: *mut i32,
    duplicates: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let given = self::documents(call, documents)?;
        let mut kept = call.outputs(kept, given.len(), "kept")?;
        let stream =
            if duplicates.is_null() { None } else { Some(call.new_handle(duplicates, "duplicates")?) };
        let deduplicator = call.handle(deduplicator, "deduplicator")?;
        let found = deduplicator.inner.with("deduplicator", |shared| {
            shared.with(|dedup| {
                let mut found = Columns::new(dedup.recipe().width(), DUPLICATES);
                let mut at = 0;
                dedup.decide_batch(&given, |decided| {
                    kept.set_at(at, i32::from(decided.decision == Decision::Kept));
                    if let Decision::Duplicate { of, distance, similarity, .. } = &decided.decision {
                        let (distance, similarity, key) = (*distance, *similarity, Some(of.as_str()));
                        let fingerprint = &decided.fingerprint;
                        let group = at as u64;
                        found.push(&AnyRow {
                            group,
                            fingerprint,
                            distance,
                            key,
                            similarity,
                            ..AnyRow::default()
                        });
                    }
                    at += 1;
                    Ok(())
                })?;
                Ok(found)
            })
        })?;
        if let Some(stream) = stream {
            stream.give(found.into());
        }
        Ok(())
    })
}

/// Returns when all that was decided before is durable, and visible to new snapshots. One sync serves all
/// threads that call it in the meantime (group commit).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_deduplicator_commit(
    deduplicator: *const nearprint_deduplicator,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let deduplicator = call.handle(deduplicator, "deduplicator")?;
        let committed =
            |shared: &nearprint::SharedWriter<_>| Ok(shared.commit_with(|_| Ok::<(), nearprint::Error>(()))?);
        deduplicator.inner.with("deduplicator", committed)
    })
}

/// Commits, flushes, waits for merges and releases the lock. NEARPRINT_BUSY while another thread uses the
/// deduplicator. After a failure it is still open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_deduplicator_close(
    deduplicator: *const nearprint_deduplicator,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let deduplicator = call.handle(deduplicator, "deduplicator")?;
        deduplicator.inner.close("deduplicator", |dedup| Ok(dedup.try_finish()?))
    })
}

/// Frees the handle, without what was not committed. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_deduplicator_free(deduplicator: *mut nearprint_deduplicator) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(deduplicator) }
}

/// The limit that was given, if any.
fn limit_of(similarity: f64) -> Outcome<Option<String>> {
    if !(0.0..=1.0).contains(&similarity) {
        return Err(Failure::argument("similarity", format_args!("{similarity}, which is not 0 to 1")));
    }
    Ok((similarity > 0.0).then(|| similarity.to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::ptr;

    use super::*;
    use crate::status::NEARPRINT_OK;

    fn open(path: &Path) -> (nearprint_status, *mut nearprint_deduplicator) {
        let (name, mut opened) = (path.to_str().unwrap(), ptr::null_mut());
        let (at, len) = (name.as_ptr().cast(), name.len());
        // SAFETY: All pointers are null or alive.
        let status = unsafe {
            nearprint_deduplicator_open(
                at,
                len,
                ptr::null(),
                0,
                0.0,
                ptr::null(),
                &raw mut opened,
                ptr::null_mut(),
            )
        };
        (status, opened)
    }

    #[test]
    fn regression_the_progress_of_an_unfinished_job_is_not_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("seen.np");
        let options = || DedupOptions::new("minhash".parse().unwrap());
        let mut job = Deduplicator::open(&path, options()).unwrap();
        job.checkpoint(b"half of it").unwrap();
        drop(job);
        let (status, opened) = open(&path);
        assert!(status == NEARPRINT_MISMATCH && opened.is_null(), "{status}");
        let job = Deduplicator::open(&path, options()).unwrap();
        assert_eq!(job.unfinished(), Some(&b"half of it"[..]));
        job.finish().unwrap();
        let (status, opened) = open(&path);
        assert_eq!(status, NEARPRINT_OK);
        // SAFETY: It was made above.
        unsafe { nearprint_deduplicator_free(opened) };
    }
}
