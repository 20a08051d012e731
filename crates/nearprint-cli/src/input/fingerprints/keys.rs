//! Lists of keys.

use std::path::Path;

use super::stream::InputStream;
use crate::terminal::failure::Failure;
use crate::terminal::results::{EMPTY_KEY, unescape};
use nearprint_text::internal::check_first_line;

/// What ends each key of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyEnd {
    /// A line feed; keys have the escapes of TSV, and blank lines are no keys.
    Line,
    /// A NUL byte; keys have no escapes.
    Null,
}

/// Reads the keys in a file, or on standard input for `-`.
pub(crate) fn read_keys(
    path: &Path,
    end: KeyEnd,
    visit: &mut dyn FnMut(String) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut input = InputStream::open(path)?;
    let end_byte = if end == KeyEnd::Line { b'\n' } else { 0 };
    let (mut bytes, mut is_first) = (Vec::new(), end == KeyEnd::Line);
    while input.next_piece(end_byte, &mut bytes)? {
        let mut key = bytes.strip_suffix(&[end_byte]).unwrap_or(&bytes);
        if std::mem::take(&mut is_first) {
            check_first_line(&bytes).map_err(|why| input.bad_line(why, ""))?;
            key = key.strip_prefix("\u{feff}".as_bytes()).unwrap_or(key);
        }
        let key = str::from_utf8(key)
            .map_err(|_| input.bad_line("not UTF-8 text", &String::from_utf8_lossy(key)))?;
        match (end, key.trim_end_matches('\r')) {
            (KeyEnd::Null, _) => visit(key.to_string())?,
            (KeyEnd::Line, "") => {}
            (KeyEnd::Line, EMPTY_KEY) => visit(String::new())?,
            (KeyEnd::Line, line) => visit(unescape(line).into_owned())?,
        }
    }
    Ok(())
}
