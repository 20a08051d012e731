//! Records and their fingerprints, made on all cores, in input order.

use std::sync::Mutex;

use crate::documents::{BadRecord, Item, Position, RawRecord, Reader, Record};
use crate::error::{Error, Result};
use crate::parallel;
use crate::simhash::{Fingerprinted, Recipe};

/// What became of a record.
pub(super) enum Done {
    Document(Record, Fingerprinted<u64>),
    Bad(BadRecord),
}

/// Records that one thread takes at a time, at most.
const RECORDS: usize = 64;
/// Bytes that one thread takes at a time, unless one record has more.
const BYTES: usize = 1 << 18;

/// Hands all records to `take`, block by block, with how far reading has come.
pub(super) fn each(
    reader: &mut Reader,
    recipe: &Recipe,
    threads: usize,
    mut take: impl FnMut(Vec<Done>, Position) -> Result<()>,
) -> Result<()> {
    let unsupported = |error: crate::simhash::RecipeError| Error::Option(error.to_string());
    let fingerprinter = recipe.fingerprinter::<u64>().map_err(unsupported)?;
    let position = Mutex::new(reader.position());
    let at = || *position.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let source = || {
        let records = next_records(reader)?;
        *position.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = reader.position();
        Ok((!records.is_empty()).then_some(records))
    };
    parallel::ordered_from(
        threads,
        source,
        || fingerprinter.clone(),
        |records, fingerprinter, sink| {
            let done = records.into_iter().map(|raw| match raw.parse() {
                Item::Record(record) => {
                    let fingerprinted = fingerprinter.fingerprint(&record.text);
                    Done::Document(record, fingerprinted)
                }
                Item::Bad(bad) => Done::Bad(bad),
            });
            // Whoever wants no more has got an error already.
            let _ = sink(done.collect());
            Ok(())
        },
        |done| take(done, at()),
    )
}

fn next_records(reader: &mut Reader) -> Result<Vec<RawRecord>> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    while records.len() < RECORDS && bytes < BYTES {
        let Some(record) = reader.next_raw()? else { break };
        bytes += record.len_bytes();
        records.push(record);
    }
    Ok(records)
}
