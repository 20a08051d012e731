//! Fingerprints of records, made on all cores.

use super::recent::RecentTexts;
use crate::dedup::decide::{Similarity, too_long};
use crate::documents::{BadRecord, Item, Record};
use crate::error::Error;
use crate::recipe::{AnyFingerprinter, Fingerprinted};
use nearprint::MAX_KEY_BYTES;
use nearprint::any::AnyFingerprint;

/// A record with what was made of it on a thread, or a bad one.
pub(crate) struct Prepared<T> {
    /// See [`Item::digest`].
    pub(crate) digest: u64,
    pub(crate) record: Result<(Record, T), BadRecord>,
}

/// The work of [`each`](crate::documents::each): `check` says which records are bad, and `make` makes
/// fingerprints of the others.
pub(crate) fn preparing<T>(
    check: impl Fn(Item) -> Item + Sync,
    make: impl Fn(&mut Record, &RecentTexts, &mut AnyFingerprinter) -> T + Sync,
) -> impl Fn(Item, &mut AnyFingerprinter) -> Prepared<T> + Sync {
    let recent = RecentTexts::new();
    move |item, fingerprinter| {
        let digest = item.digest();
        let record = match check(item) {
            Item::Record(mut record) => {
                let made = make(&mut record, &recent, fingerprinter);
                Ok((record, made))
            }
            Item::Bad(bad) => Err(bad),
        };
        Prepared { digest, record }
    }
}

/// [Prepares](preparing) whole documents. A text takes as much memory as its record, and goes once its fingerprint is
/// made, unless it is to be kept.
pub(crate) fn preparing_documents(
    similarity: Option<Similarity>,
    keeps_texts: bool,
) -> impl Fn(Item, &mut AnyFingerprinter) -> Prepared<Fingerprinted<AnyFingerprint>> + Sync {
    preparing(
        move |item| checked(item, similarity),
        move |record, recent, fingerprinter| {
            let made = recent.fingerprint(&record.text, fingerprinter);
            if !keeps_texts {
                record.text = String::new();
            }
            made
        },
    )
}

/// A record is bad if its key is too long for a database, or its text to be compared.
pub(crate) fn checked(item: Item, similarity: Option<Similarity>) -> Item {
    match with_valid_key(item, 0) {
        Item::Record(record) if similarity.is_some_and(|similarity| !similarity.accepts(&record.text)) => {
            bad(&record, Similarity::refusal())
        }
        other => other,
    }
}

fn bad(record: &Record, reason: String) -> Item {
    Item::Bad(BadRecord {
        place: record.place.clone(),
        reason,
        raw: record.raw().to_vec(),
        is_dropped: false,
        may_have_mark: record.may_have_mark(),
    })
}

/// A record is bad if its key, with `more` bytes behind it, is too long for a database.
pub(crate) fn with_valid_key(item: Item, more: usize) -> Item {
    match item {
        Item::Record(record) if record.key.len() + more > MAX_KEY_BYTES => {
            bad(&record, too_long(&record.key, MAX_KEY_BYTES - more))
        }
        other => other,
    }
}

/// Ends a run at a malformed record of the inputs.
pub(crate) fn bad_record(bad: &BadRecord) -> Error {
    Error::Record { place: bad.place.to_string(), why: bad.reason.clone() }
}
