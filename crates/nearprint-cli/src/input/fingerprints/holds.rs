//! Whether an input has fingerprints, and not texts or records.

use std::io::{self, BufRead, Read};
use std::path::Path;

use serde_json::Value;

use super::opened::by_extension;
use crate::args::{FingerprintArgs, FingerprintFormat};
use crate::row_header::RowHeader;
use crate::terminal::failure::Failure;
use crate::terminal::quoted;
use nearprint::{Error, Width};
use nearprint_text::internal::open_decompressed;

/// The bytes that are looked at.
const LOOKED_AT: u64 = 1 << 16;

/// Whether a path, or standard input for `-`, has fingerprints, where texts and records could be, too: by an option, its
/// extension, its columns or its first line.
pub(crate) fn holds_fingerprints(
    (args, width): (&FingerprintArgs, Width),
    path: &Path,
) -> Result<bool, Failure> {
    if path.is_dir() {
        return Ok(false);
    }
    Ok(match args.input_format.or_else(|| by_extension(path)) {
        _ if !args.columns.is_empty() => true,
        Some(
            FingerprintFormat::U64
            | FingerprintFormat::U128
            | FingerprintFormat::U256
            | FingerprintFormat::U320
            | FingerprintFormat::Npy,
        ) => true,
        Some(FingerprintFormat::Lines | FingerprintFormat::Text) => false,
        #[cfg(feature = "parquet")]
        Some(FingerprintFormat::Parquet) => super::parquet::has_fingerprints(args, path)?,
        #[cfg(not(feature = "parquet"))]
        Some(FingerprintFormat::Parquet) => false,
        Some(FingerprintFormat::Csv | FingerprintFormat::Tsv | FingerprintFormat::Jsonl) | None => {
            line_has_fingerprint((args, width), &first_line(path)?)
        }
    })
}

/// The first line, or its begin. What is looked at of standard input is read again by others.
fn first_line(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        let mut stdin = io::stdin().lock();
        bytes.extend_from_slice(stdin.fill_buf().map_err(Error::io("read", "standard input"))?);
    } else if !path.is_file() {
        return Err(Failure::OtherCommand {
            why: format!(
                "{}: is no regular file, and inputs are looked at before they are read",
                path.display()
            ),
            hint: format!("give it as standard input: nearprint query DB - < {}", quoted(path)),
        });
    } else {
        let read = open_decompressed(path)?.take(LOOKED_AT).read_to_end(&mut bytes);
        read.map_err(Error::io("read", path))?;
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    Ok(text.lines().next().unwrap_or_default().to_string())
}

/// Whether a line names fingerprints, or begins with one. So does an empty input, which has none.
fn line_has_fingerprint((args, width): (&FingerprintArgs, Width), line: &str) -> bool {
    let field = &*args.fingerprint_field;
    if line.trim().is_empty() || RowHeader::parse(line).is_some() {
        return true;
    }
    if line.starts_with('{') {
        let object: Value = serde_json::from_str(line).unwrap_or_default();
        return object.get(field).is_some();
    }
    let has_columns = line.contains([',', '\t']);
    if has_columns && line.split([',', '\t']).any(|cell| cell.trim().trim_matches('"') == field) {
        return true;
    }
    // Behind spaces, there is an id at most.
    let is_short = has_columns || line.split_whitespace().count() <= 2;
    let first = line.split([',', '\t', ' ']).next().unwrap_or_default().trim_matches('"');
    is_short && args.parse(width, first).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_tell_fingerprints_from_texts() {
        let args = FingerprintArgs::default();
        let has = |line: &str| line_has_fingerprint((&args, Width::W64), line);
        let lines = [
            "",
            "17",
            "17 3",
            "17\t3",
            "17,3,a key",
            "id,fingerprint",
            r#"{"fingerprint":"0x17"}"#,
            "0x17\ta key",
        ];
        for line in lines {
            assert!(has(line), "{line}");
        }
        for line in ["a text", "17 monkeys ate", r#"{"text":"17"}"#, "url,text", "fingerprint", "{"] {
            assert!(!has(line), "{line}");
        }
    }
}
