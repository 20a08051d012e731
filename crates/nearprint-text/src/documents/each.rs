//! Processes records on all cores, with results in input order.

use std::sync::{Mutex, PoisonError};

use super::parser::RawRecord;
use super::reader::{Position, Reader};
use super::record::Item;
use crate::error::Error;
use nearprint::internal::ordered_from;

/// The most records in one block of work.
const RECORDS: usize = 64;
/// The most bytes in one block of work, unless a single record has more.
const BYTES: usize = 1 << 18;

/// Calls `work` for every record on `threads` threads, and `take` with blocks of its results on
/// this one.
///
/// Blocks arrive in input order, each with the position of the reader, which is some blocks ahead.
/// `state` is called once per thread, for example to create a fingerprinter. Memory: a few blocks
/// per thread, of up to 64 records or 256 KiB each. The first error in input order ends the call;
/// `take` receives the results before it.
///
/// ```
/// use nearprint_text::documents::{Item, Reader, ReaderOptions, each};
/// use nearprint_text::{Error, Recipe};
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("pages.jsonl");
/// # std::fs::write(&path, "{\"text\": \"one two\"}\n{\"text\": \"three\"}\n")?;
/// let recipe: Recipe = "simhash".parse()?;
/// let fingerprinter = recipe.fingerprinter::<u64>()?;
/// let mut reader = Reader::open(&[path], ReaderOptions::default())?;
/// let mut counts = Vec::new();
/// each(
///     &mut reader,
///     4,
///     || fingerprinter.clone(),
///     |item, fingerprinter| match item {
///         Item::Record(record) => fingerprinter.fingerprint(&record.text).num_tokens,
///         Item::Bad(_) => 0,
///     },
///     |block, _position| {
///         counts.extend(block);
///         Ok::<(), Error>(())
///     },
/// )?;
/// assert_eq!(counts, [2, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`Reader::next_item`], and any error of `take`.
pub fn each<T: Send, S, E: From<Error> + Send>(
    reader: &mut Reader,
    threads: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(Item, &mut S) -> T + Sync,
    mut take: impl FnMut(Vec<T>, Position) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let position = Mutex::new(reader.position());
    let at = || position.lock().unwrap_or_else(PoisonError::into_inner);
    let mut failed = None;
    let source = || {
        let records = next_records(reader, &mut failed);
        *at() = reader.position();
        match failed.take() {
            Some(error) if records.is_empty() => Err(E::from(error)),
            waiting => {
                failed = waiting;
                Ok((!records.is_empty()).then_some(records))
            }
        }
    };
    ordered_from(
        threads,
        source,
        state,
        |records, state, sink| {
            // A closed channel means that an error has ended the call.
            let _ = sink(records.into_iter().map(|raw: RawRecord| work(raw.parse(), state)).collect());
            Ok(())
        },
        |done| {
            let position = *at();
            take(done, position)
        },
    )
}

/// The next block. Empty at the end and after an error, which is reported after the records before
/// it.
fn next_records(reader: &mut Reader, failed: &mut Option<Error>) -> Vec<RawRecord> {
    let (mut records, mut bytes) = (Vec::new(), 0);
    while failed.is_none() && records.len() < RECORDS && bytes < BYTES {
        match reader.next_raw() {
            Ok(Some(record)) => {
                bytes += record.len_bytes();
                records.push(record);
            }
            Ok(None) => break,
            Err(error) => *failed = Some(error),
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::format::Format;
    use crate::documents::reader::ReaderOptions;

    #[test]
    fn records_before_an_error_are_taken() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("d.zst");
        let mut bytes: Vec<u8> =
            (0..700).flat_map(|line| zstd::encode_all(format!("{line}\n").as_bytes(), 1).unwrap()).collect();
        bytes.extend_from_slice(b"damage");
        std::fs::write(&path, bytes).unwrap();
        for threads in [1, 3] {
            let options = ReaderOptions { format: Some(Format::Lines), ..ReaderOptions::default() };
            let mut reader = Reader::open(std::slice::from_ref(&path), options).unwrap();
            let (mut found, mut records) = (Vec::new(), 0);
            let result = each(
                &mut reader,
                threads,
                || (),
                |item, ()| matches!(item, Item::Record(record) if record.number == record.text.parse::<u64>().unwrap() + 1),
                |done, position| {
                    found.extend(done);
                    records = position.records;
                    Ok::<_, Error>(())
                },
            );
            assert!(matches!(result, Err(Error::Input { .. })), "{result:?}");
            assert_eq!((found, records), (vec![true; 700], 700));
        }
    }
}
