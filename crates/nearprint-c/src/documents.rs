//! Documents of databases that keep evidence: their similarities are exact.

use std::ffi::c_char;

use nearprint::any::{AnySnapshot, Shape};
use nearprint_text::stored::{Finder, StoredDocuments};

use crate::call::Call;
use crate::columns::{Outputs, nearprint_columns};
use crate::error::{Failure, Outcome, nearprint_error};
use crate::snapshot::nearprint_snapshot;
use crate::status::{NEARPRINT_MISMATCH, nearprint_status};
use crate::stream::{begin, nearprint_stream};

/// All pairs of rows with similar documents: texts that share at least `similarity`, 0 to 1, of their
/// features. `stream` receives the handle.
///
/// The database keeps texts (NEARPRINT_KEYS_AND_TEXTS) or features (NEARPRINT_KEYS_AND_FEATURES), and has a
/// recipe of MinHash; NEARPRINT_MISMATCH otherwise. Fingerprints find candidates, and the features decide, so
/// that the similarity is exact, as that of nearprint_fingerprinter_similarity(). Candidates are those for
/// the limit of the recipe: 0.7, unless it has another one (`minhash near=0.5`). Of the pairs at a limit of
/// 0.5 or more, 1 in 800 is missed, and more where a text has a few words. Of more similar pairs fewer are
/// missed, and of less similar ones more. A row without a text is similar to nothing. A pair of rows with
/// several keys follows once for each two similar documents.
///
/// Columns: fingerprints, ids, keys, other_fingerprints, other_ids, other_keys, distances, similarities.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_similar_pairs(
    snapshot: *const nearprint_snapshot,
    similarity: f64,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe {
        begin(
            snapshot,
            stream,
            error,
            |_, snapshot| Ok(documents(snapshot)?.row_pairs(checked(similarity)?)?),
        )
    }
}

/// The clusters of two rows or more that similar documents connect, numbered from 0 by their smallest
/// fingerprint; the rows of one follow each other. `similarities` are those with the first row of the
/// cluster, which may be smaller than `similarity`. Otherwise as nearprint_snapshot_similar_pairs().
///
/// Columns: groups (the number of the cluster), fingerprints, ids, keys, similarities.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_similar_clusters(
    snapshot: *const nearprint_snapshot,
    similarity: f64,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe {
        begin(snapshot, stream, error, |_, snapshot| Ok(documents(snapshot)?.clusters(checked(similarity)?)?))
    }
}

/// All pairs of a row of `snapshot` and a row of `other` with similar documents. Otherwise as
/// nearprint_snapshot_similar_pairs(), of both databases; NEARPRINT_MISMATCH for another recipe.
///
/// Columns: fingerprints, ids, keys, other_fingerprints, other_ids, other_keys, distances, similarities.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_similar_cross(
    snapshot: *const nearprint_snapshot,
    other: *const nearprint_snapshot,
    similarity: f64,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe {
        begin(snapshot, stream, error, |call, one| {
            let other = documents(&call.handle(other, "other")?.inner)?;
            Ok(documents(one)?.cross_row_pairs(&other, checked(similarity)?)?)
        })
    }
}

/// Finds the documents that are similar to a text, which must be UTF-8: the most similar first, equally
/// similar ones by distance, fingerprint and id. Otherwise as nearprint_snapshot_similar_pairs().
///
/// Columns: fingerprints, ids, distances, similarities. There is no column of keys:
/// nearprint_snapshot_visit_keys() has the keys of a row. `count` receives the number of documents. If it
/// exceeds the capacity, the first ones were written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_snapshot_find_text(
    snapshot: *const nearprint_snapshot,
    text: *const c_char,
    text_len: usize,
    similarity: f64,
    columns: *const nearprint_columns,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let snapshot = call.handle(snapshot, "snapshot")?;
        let text = call.text(text, text_len, "text")?;
        let mut count = call.output(count, "count")?;
        // Keys would live no longer than the finder.
        let shape = Shape { groups: false, keys: false, ..Finder::SHAPE };
        let mut columns = Outputs::new(call, columns, shape, snapshot.words())?;
        let mut finder = documents(&snapshot.inner)?.finder(checked(similarity)?)?;
        finder.find(0, text, usize::MAX, &mut columns)?;
        count.set(columns.rows());
        Ok(())
    })
}

fn documents(snapshot: &AnySnapshot) -> Outcome<StoredDocuments> {
    let why =
        || format!("{}: keeps no texts or features of a recipe of MinHash", snapshot.folder().display());
    let documents = StoredDocuments::of(snapshot.clone())?;
    documents.ok_or_else(|| Failure::new(NEARPRINT_MISMATCH, why()))
}

fn checked(similarity: f64) -> Outcome<f64> {
    match (0.0..=1.0).contains(&similarity) {
        true => Ok(similarity),
        false => Err(Failure::argument("similarity", format_args!("{similarity}, which is not 0 to 1"))),
    }
}

#[cfg(test)]
mod tests {
    use nearprint::{AnyDatabase, Database, KeyStorage, NewRow, U256};
    use nearprint_text::Recipe;
    use nearprint_text::stored::DocumentRows;

    use super::*;
    use crate::growing::Growing;
    use crate::status::{NEARPRINT_INVALID_ARGUMENT, NEARPRINT_OK};

    /// Pointers to keys were written whose memory ended with the call.
    #[test]
    fn regression_a_text_is_found_without_a_column_of_keys() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.np");
        let (recipe, keeps): (Recipe, _) = ("minhash".parse().unwrap(), KeyStorage::KeysAndFeatures);
        let schema = recipe.schema().keys(keeps);
        let mut writer = Database::<U256>::create(&path, &schema).unwrap().writer().unwrap();
        let text = "one two three four five";
        let (fingerprint, evidence) = DocumentRows::new(&recipe, keeps).row("a key", text).unwrap();
        writer.insert(NewRow { text: &evidence, ..NewRow::keyed(fingerprint.typed(), "a key") }).unwrap();
        writer.commit().unwrap();
        let inner = AnyDatabase::open(&path).unwrap().snapshot().unwrap();
        let snapshot = crate::handle::give(nearprint_snapshot::new(inner, false));
        let (mut id, mut key, mut key_len, mut count) = (0, std::ptr::null(), 0, 0);
        let mut columns = nearprint_columns { capacity: 1, ids: &raw mut id, ..nearprint_columns::DEFAULT };
        let mut find = |columns: &nearprint_columns| {
            let (text, len, error) = (text.as_ptr().cast(), text.len(), std::ptr::null_mut());
            // SAFETY: All pointers are valid.
            unsafe { nearprint_snapshot_find_text(snapshot, text, len, 0.5, columns, &raw mut count, error) }
        };
        assert_eq!(find(&columns), NEARPRINT_OK);
        (columns.keys, columns.key_lens) = (&raw mut key, &raw mut key_len);
        assert_eq!(find(&columns), NEARPRINT_INVALID_ARGUMENT);
        assert!(id != 0 && count == 1 && key.is_null());
        // SAFETY: The handle is alive.
        unsafe { crate::snapshot::nearprint_snapshot_free(snapshot) };
    }
}
