//! Fingerprints of all records, made on all cores, in input order.

use super::confirm::Confirm;
use super::deduplicator::too_long;
use super::recent::RecentTexts;
use crate::documents::{self, BadRecord, Item, Position, Reader, Record};
use crate::error::Result;
use crate::recipe::{Fingerprinted, Fingerprinter};
use nearprint::{Fingerprint, MAX_KEY_BYTES};

/// A record with its fingerprint, or a bad one.
pub(super) struct Prepared<F> {
    /// See [`Item::digest`].
    pub(super) digest: u64,
    pub(super) record: PreparedRecord<F>,
}

pub(super) enum PreparedRecord<F> {
    Document(Record, Fingerprinted<F>),
    Bad(BadRecord),
}

/// Calls `take` with blocks of all records and the position of the reader. Records are bad as
/// [`checked`] says.
pub(super) fn each<F: Fingerprint>(
    reader: &mut Reader,
    fingerprinter: &Fingerprinter<F>,
    confirm: Option<Confirm>,
    threads: usize,
    take: impl FnMut(Vec<Prepared<F>>, Position) -> Result<()>,
) -> Result<()> {
    let recent = RecentTexts::new();
    let work = |item: Item, fingerprinter: &mut Fingerprinter<F>| {
        let digest = item.digest();
        let record = match checked(item, confirm) {
            Item::Record(record) => {
                let fingerprinted = recent.fingerprint(&record.text, fingerprinter);
                PreparedRecord::Document(record, fingerprinted)
            }
            Item::Bad(bad) => PreparedRecord::Bad(bad),
        };
        Prepared { digest, record }
    };
    documents::each(reader, threads, || fingerprinter.clone(), work, take)
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
