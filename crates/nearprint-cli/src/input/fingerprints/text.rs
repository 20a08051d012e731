//! Text lines: `FINGERPRINT[<tab, comma or spaces>ID]`, and lines of ids.

use std::path::Path;

use super::rows::{RowSink, parse_id};
use super::stream::InputStream;
use crate::args::FingerprintArgs;
use crate::terminal::failure::Failure;
use nearprint::Width;
use nearprint::any::AnyFingerprint;

pub(super) fn read(
    how: (&FingerprintArgs, Width),
    mut input: InputStream,
    sink: &mut dyn RowSink,
) -> Result<(), Failure> {
    input.for_each_line(false, sink, |text, sink| {
        let (fingerprint, id) = parse_line(how, text.trim())?;
        Ok(sink.row(fingerprint, id, None)?)
    })
}

fn parse_line(
    (args, width): (&FingerprintArgs, Width),
    text: &str,
) -> Result<(AnyFingerprint, Option<u64>), String> {
    let separator = |c: char| c == ',' || c == '\t' || c == ' ';
    let (first, rest) = text.split_at(text.find(separator).unwrap_or(text.len()));
    let fingerprint = args.parse(width, first)?;
    let rest = rest.trim_start();
    let id = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    match id {
        "" if rest.is_empty() => Ok((fingerprint, None)),
        id => Ok((fingerprint, Some(parse_id(id)?))),
    }
}

/// Reads a file with one id on each line.
pub(crate) fn read_ids(
    path: &Path,
    visit: &mut dyn FnMut(u64) -> Result<(), Failure>,
) -> Result<(), Failure> {
    struct NoRows;
    impl RowSink for NoRows {
        fn row(&mut self, _: AnyFingerprint, _: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
            Ok(())
        }
    }
    let mut input = InputStream::open(path)?;
    input.for_each_line(false, &mut NoRows, |text, _| {
        // The message of the line quotes it.
        let id = parse_id(text.trim())
            .map_err(|_| "not an id, which is a number from 0 to 2^64 - 1".to_string())?;
        Ok(visit(id)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_a_fingerprint_and_perhaps_an_id() {
        let args = FingerprintArgs::default();
        for (text, row) in [
            ("7", (7_u64, None)),
            ("0xff", (255, None)),
            ("7\t1", (7, Some(1))),
            ("7,1", (7, Some(1))),
            ("7   1", (7, Some(1))),
            ("7, 1", (7, Some(1))),
            ("7 , 18446744073709551615", (7, Some(u64::MAX))),
        ] {
            let row = (row.0.into(), row.1);
            assert_eq!(parse_line((&args, Width::W64), text), Ok(row), "{text}");
        }
        for text in ["x", "7 x", "7,", "7,,1", "7 1 2", "7 -1", "7 +1", "7;1", "-7", "7 18446744073709551616"]
        {
            assert!(parse_line((&args, Width::W64), text).is_err(), "{text}");
        }
    }
}
