//! Records and their fingerprints, made on all cores, in input order.

use crate::documents::{self, BadRecord, Item, Position, Reader, Record};
use crate::error::{Error, Result};
use crate::recipe::{Fingerprinted, Fingerprinter, Recipe};
use nearprint::Fingerprint;
use nearprint::MAX_KEY_BYTES;

/// What became of a record.
pub(super) struct Done<F> {
    /// See [`Item::digest`].
    pub(super) digest: u64,
    pub(super) what: What<F>,
}

pub(super) enum What<F> {
    Document(Record, Fingerprinted<F>),
    Bad(BadRecord),
}

/// Hands all records to `take`, block by block, with how far reading has come.
pub(super) fn each<F: Fingerprint>(
    reader: &mut Reader,
    recipe: &Recipe,
    threads: usize,
    take: impl FnMut(Vec<Done<F>>, Position) -> Result<()>,
) -> Result<()> {
    let unsupported = |error: crate::recipe::RecipeError| Error::Option(error.to_string());
    let fingerprinter = recipe.fingerprinter::<F>().map_err(unsupported)?;
    let work = |item: Item, fingerprinter: &mut Fingerprinter<F>| {
        let digest = item.digest();
        let what = match with_a_key_that_fits(item) {
            Item::Record(record) => {
                let fingerprinted = fingerprinter.fingerprint(&record.text);
                What::Document(record, fingerprinted)
            }
            Item::Bad(bad) => What::Bad(bad),
        };
        Done { digest, what }
    };
    documents::each(reader, threads, || fingerprinter.clone(), work, take)
}

/// A record whose key is too long for a database is none.
pub(super) fn with_a_key_that_fits(item: Item) -> Item {
    match item {
        Item::Record(record) if record.key.len() > MAX_KEY_BYTES => Item::Bad(BadRecord {
            place: record.place.clone(),
            reason: format!("a key of {} bytes, where {MAX_KEY_BYTES} fit", record.key.len()),
            raw: record.raw().to_vec(),
        }),
        other => other,
    }
}
