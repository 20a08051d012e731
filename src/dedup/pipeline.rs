//! Records and their fingerprints, made on all cores, in input order.

use crate::documents::{self, BadRecord, Item, Position, Reader, Record};
use crate::error::{Error, Result};
use crate::simhash::{Fingerprinted, Fingerprinter, Recipe};

/// What became of a record.
pub(super) enum Done {
    Document(Record, Fingerprinted<u64>),
    Bad(BadRecord),
}

/// Hands all records to `take`, block by block, with how far reading has come.
pub(super) fn each(
    reader: &mut Reader,
    recipe: &Recipe,
    threads: usize,
    take: impl FnMut(Vec<Done>, Position) -> Result<()>,
) -> Result<()> {
    let unsupported = |error: crate::simhash::RecipeError| Error::Option(error.to_string());
    let fingerprinter = recipe.fingerprinter::<u64>().map_err(unsupported)?;
    let work = |item, fingerprinter: &mut Fingerprinter<u64>| match item {
        Item::Record(record) => {
            let fingerprinted = fingerprinter.fingerprint(&record.text);
            Done::Document(record, fingerprinted)
        }
        Item::Bad(bad) => Done::Bad(bad),
    };
    documents::each(reader, threads, || fingerprinter.clone(), work, take)
}
