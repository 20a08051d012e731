//! Fingerprints of all records, made on all cores, in input order.

use super::confirm::Confirm;
use super::deduplicator::too_long;
use super::recent::RecentTexts;
use crate::documents::{self, BadRecord, Item, Position, Reader, Record};
use crate::error::Result;
use crate::recipe::{Fingerprinted, Fingerprinter};
use nearprint::{Fingerprint, MAX_KEY_BYTES};

/// A record with what was made of it on a thread, or a bad one.
pub(super) struct Prepared<T> {
    /// See [`Item::digest`].
    pub(super) digest: u64,
    pub(super) record: Result<(Record, T), BadRecord>,
}

/// Calls `take` with blocks of all records and the position of the reader. `check` says which records
/// are bad, and `make` makes fingerprints of the others.
pub(super) fn each<F: Fingerprint, T: Send>(
    reader: &mut Reader,
    (fingerprinter, threads): (&Fingerprinter<F>, usize),
    check: impl Fn(Item) -> Item + Sync,
    make: impl Fn(&Record, &RecentTexts<F>, &mut Fingerprinter<F>) -> T + Sync,
    take: impl FnMut(Vec<Prepared<T>>, Position) -> Result<()>,
) -> Result<()> {
    let recent = RecentTexts::new();
    let work = |item: Item, fingerprinter: &mut Fingerprinter<F>| {
        let digest = item.digest();
        let record = match check(item) {
            Item::Record(record) => {
                let made = make(&record, &recent, fingerprinter);
                Ok((record, made))
            }
            Item::Bad(bad) => Err(bad),
        };
        Prepared { digest, record }
    };
    documents::each(reader, threads, || fingerprinter.clone(), work, take)
}

/// Calls `take` as [`each`], with the fingerprints of whole documents.
pub(super) fn each_document<F: Fingerprint>(
    reader: &mut Reader,
    by: (&Fingerprinter<F>, usize),
    confirm: Option<Confirm>,
    take: impl FnMut(Vec<Prepared<Fingerprinted<F>>>, Position) -> Result<()>,
) -> Result<()> {
    let make = |record: &Record, recent: &RecentTexts<F>, fingerprinter: &mut Fingerprinter<F>| {
        recent.fingerprint(&record.text, fingerprinter)
    };
    each(reader, by, |item| checked(item, confirm), make, take)
}

/// A record is bad if its key is too long for a database, or its text for its confirmation.
pub(super) fn checked(item: Item, confirm: Option<Confirm>) -> Item {
    match with_valid_key(item, 0) {
        Item::Record(record) if confirm.is_some_and(|confirm| !confirm.accepts(&record.text)) => {
            bad(&record, Confirm::refusal())
        }
        other => other,
    }
}

fn bad(record: &Record, reason: String) -> Item {
    Item::Bad(BadRecord { place: record.place.clone(), reason, raw: record.raw().to_vec() })
}

/// A record is bad if its key, with `more` bytes behind it, is too long for a database.
pub(super) fn with_valid_key(item: Item, more: usize) -> Item {
    match item {
        Item::Record(record) if record.key.len() + more > MAX_KEY_BYTES => {
            bad(&record, too_long(&record.key, MAX_KEY_BYTES - more))
        }
        other => other,
    }
}
