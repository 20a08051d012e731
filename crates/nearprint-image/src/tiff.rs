//! Whether the first directory of a TIFF can be read: its decoder reserves memory for as many values as an entry
//! declares, before it looks for them.

/// Bytes of a value by the number of its type (TIFF 6.0, section 2; 13 is an offset of a directory). Decoders
/// skip others.
const SIZES: [u64; 14] = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4];

/// Whether no entry of the first directory declares more bytes than the file has.
pub(crate) fn is_possible(bytes: &[u8]) -> bool {
    let little = bytes.starts_with(b"II");
    let number = |at: usize, len: usize| {
        let digits = bytes.get(at..at.checked_add(len)?)?;
        let joined = |number: u64, &digit: &u8| number << 8 | u64::from(digit);
        Some(if little { digits.iter().rev().fold(0, joined) } else { digits.iter().fold(0, joined) })
    };
    let entry_is_possible = |at: usize| {
        // What the file does not have to its end is found by the decoder.
        let (Some(kind), Some(count)) = (number(at + 2, 2), number(at + 4, 4)) else { return true };
        let size = usize::try_from(kind).ok().and_then(|kind| SIZES.get(kind)).unwrap_or(&0);
        size * count <= bytes.len() as u64
    };
    let Some(directory) = number(4, 4).and_then(|at| usize::try_from(at).ok()) else { return true };
    let entries = number(directory, 2).unwrap_or(0);
    (0..entries).all(|entry| entry_is_possible(directory + 2 + 12 * usize::try_from(entry).unwrap_or(0)))
}
