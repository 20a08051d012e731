//! Work on all records on all cores, in input order.

use std::sync::{Mutex, PoisonError};

use super::{Item, Position, RawRecord, Reader};
use nearprint::internal::ordered_from;

use crate::error::Error;

/// Records that one thread takes at a time, at most.
const RECORDS: usize = 64;
/// Bytes that one thread takes at a time, unless one record has more.
const BYTES: usize = 1 << 18;

/// Hands every record to `work`, on as many threads, and what that makes to `take`, on this one: in input
/// order, block by block, with how far reading has come. `state` is made once per thread. Only a few blocks per thread are in memory. The first
/// error in input order ends it all; what stands before it is taken.
///
/// # Errors
/// Those of the reader, and whatever `take` returns.
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
            // Whoever wants no more has got an error already.
            let _ = sink(records.into_iter().map(|raw: RawRecord| work(raw.parse(), state)).collect());
            Ok(())
        },
        |done| {
            let position = *at();
            take(done, position)
        },
    )
}

/// The next records; none at the end, and behind an error, which comes after what stands before it.
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
    use crate::documents::{Format, ReaderOptions};

    #[test]
    fn what_stands_before_an_error_is_taken() {
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
