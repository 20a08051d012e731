//! Files and folders of nearprint, which are no documents.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::path::Path;

use super::regular::open_regular;

/// Bytes that hold the cells of the first line of an undo list by which it is known: two paths are the longest.
const MAX_HEAD_BYTES: u64 = 1 << 16;

/// Whether a file with the usual extension is an undo list. What cannot be read is none.
pub(super) fn is_named_undo_list(path: &Path) -> bool {
    let has_name = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
    has_name && open_regular(path).and_then(|file| is_undo_list(&file)).unwrap_or(false)
}

/// Whether an open file is an undo list: by the cells of its first line that no other table has in these places.
pub(crate) fn is_undo_list(mut file: &File) -> io::Result<bool> {
    file.rewind()?;
    let mut head = BufReader::new(file.take(MAX_HEAD_BYTES));
    let mut cell = || {
        let mut bytes = Vec::new();
        head.read_until(b'\t', &mut bytes)?;
        let is_whole = bytes.pop() == Some(b'\t') && !bytes.contains(&b'\n');
        Ok::<_, io::Error>(String::from_utf8(bytes).ok().filter(|_| is_whole))
    };
    let is_word = |cell: &str| cell.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let is_path = |cell: &str| Path::new(cell).is_absolute();
    let is_mode = |cell: &str| u32::from_str_radix(cell, 8).is_ok();
    let is_seconds = |cell: &str| cell.parse::<i64>().is_ok();
    let is_hash = |cell: &str| cell.len() == 32 && cell.bytes().all(|byte| byte.is_ascii_hexdigit());
    let cells: [&dyn Fn(&str) -> bool; 7] =
        [&is_word, &is_path, &is_path, &is_mode, &is_seconds, &is_seconds, &is_hash];
    for is_right in cells {
        if !cell()?.is_some_and(|cell| is_right(&cell)) {
            return Ok(false);
        }
    }
    Ok(true)
}
