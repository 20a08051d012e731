//! NumPy arrays: a header, then raw fingerprints.

use std::io::{self, Read};

use super::raw::{ByteOrder, RawSection};
use super::rows::RowSink;
use super::stream::InputStream;
use crate::terminal::failure::Failure;
use nearprint::Width;

const MAGIC: &[u8] = b"\x93NUMPY";
/// Magic, version, and the length of the header text.
const HEAD_BYTES: usize = 10;
/// The data begins at a multiple of this.
const ALIGNMENT: usize = 64;
/// More than any header of two dimensions needs.
const MAX_HEADER_BYTES: u64 = 1 << 16;

/// The header of an array of `count` fingerprints as uint64, in version 1.0 of the format.
pub(crate) fn npy_header(width: Width, count: u64) -> Vec<u8> {
    let shape = shape_of(&count.to_string(), width.bits() / u64::BITS);
    let mut text = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': {shape}, }}");
    let len = (HEAD_BYTES + text.len() + 1).next_multiple_of(ALIGNMENT) - HEAD_BYTES;
    text += &" ".repeat(len - text.len() - 1);
    text.push('\n');
    // The length field has 16 bits. A header of two dimensions needs 7 of them.
    let [low, high, ..] = text.len().to_le_bytes();
    [MAGIC, &[1, 0, low, high], text.as_bytes()].concat()
}

/// The shape of an array with `numbers` numbers per row. One number per row makes it
/// one-dimensional.
fn shape_of(count: &str, numbers: u32) -> String {
    if numbers == 1 { format!("({count},)") } else { format!("({count}, {numbers})") }
}

/// Parses the header text. Returns the number of fingerprints and their byte order.
///
/// A row of uint64 starts with the least significant word, so its bytes are in memory order. A row
/// of uint8 starts with the most significant byte, which is the order of digests and of packed
/// bits.
fn parse_header(width: Width, text: &str) -> Result<(u64, ByteOrder), String> {
    let value = |name: &str| {
        let (_, after) = text.split_once(&format!("'{name}'"))?;
        after.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let kind = value("descr").unwrap_or_default();
    let kind = kind.split([',', '}']).next().unwrap_or_default().trim();
    let shape = value("shape").and_then(|shape| shape.strip_prefix('(')?.split_once(')'));
    let shape = shape.map_or("", |(shape, _)| shape.trim_end_matches([' ', ',']));
    let (words, bytes) = (width.bits() / u64::BITS, width.bits() / 8);
    let (order, numbers) = match kind {
        "'<u8'" => (ByteOrder::Little, words),
        "'|u1'" => (ByteOrder::Big, bytes),
        _ => (ByteOrder::Little, 0),
    };
    let dimensions: Option<Vec<u64>> = shape.split(',').map(|number| number.trim().parse().ok()).collect();
    let count = match dimensions.as_deref() {
        Some(&[count]) if numbers == 1 => Some(count),
        Some(&[count, row]) if numbers > 1 && row == u64::from(numbers) => Some(count),
        _ => None,
    };
    let wanted = || {
        let (words, bytes) = (shape_of("n", words), shape_of("n", bytes));
        format!("fingerprints of {width} bits are uint64 of shape {words} or uint8 of shape {bytes}")
    };
    let count = count.ok_or_else(|| format!("an array of {kind} and shape ({shape}); {}", wanted()))?;
    let is_by_columns = value("fortran_order").is_some_and(|order| order.starts_with("True"));
    if is_by_columns && numbers > 1 {
        return Err("an array in Fortran order; numpy.ascontiguousarray makes one that can be read".into());
    }
    Ok((count, order))
}

/// Reads an array.
pub(super) fn read(width: Width, input: &mut InputStream, sink: &mut dyn RowSink) -> Result<(), Failure> {
    let mut head = [0; HEAD_BYTES];
    let no_array = |input: &InputStream| input.bad_byte(0, "no NumPy array".into());
    let unread = |input: &InputStream, error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => no_array(input),
        _ => input.unreadable(error),
    };
    input.reader.read_exact(&mut head).map_err(|error| unread(input, error))?;
    let [.., major, _, low, high] = head;
    let mut len_bytes = u64::from(u16::from_le_bytes([low, high]));
    let mut text_start = HEAD_BYTES as u64;
    if !head.starts_with(MAGIC) || !(1..=3).contains(&major) {
        return Err(no_array(input));
    }
    if major > 1 {
        // Since version 2.0 the length field has 32 bits.
        let mut high = [0; 2];
        input.reader.read_exact(&mut high).map_err(|error| unread(input, error))?;
        len_bytes |= u64::from(u16::from_le_bytes(high)) << 16;
        text_start += 2;
    }
    let mut text = Vec::new();
    let read = (&mut input.reader).take(len_bytes.min(MAX_HEADER_BYTES)).read_to_end(&mut text);
    read.map_err(|source| input.unreadable(source))?;
    let text = String::from_utf8_lossy(&text);
    let (count, order) = parse_header(width, &text).map_err(|why| input.bad_byte(text_start, why))?;
    RawSection { start: text_start + len_bytes, expected: Some(count), order }.read(width, input, sink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Width::{W64, W128, W256};

    fn header(kind: &str, shape: &str) -> String {
        format!("{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}")
    }

    #[test]
    fn headers_are_those_of_numpy() {
        let bytes = npy_header(W64, 3);
        let text = header("'<u8'", "(3,)");
        assert_eq!((bytes.len(), &bytes[..10]), (128, &b"\x93NUMPY\x01\x00\x76\x00"[..]));
        assert_eq!((&bytes[10..10 + text.len()], bytes[127]), (text.as_bytes(), b'\n'));
        for (bytes, shape) in [(npy_header(W128, 7), "(7, 2)"), (npy_header(W256, 0), "(0, 4)")] {
            let text = header("'<u8'", shape);
            assert_eq!(&bytes[10..10 + text.len()], text.as_bytes());
        }
        assert_eq!(npy_header(W256, u64::MAX).len() % ALIGNMENT, 0);
    }

    #[test]
    fn rows_are_whole_fingerprints() {
        let (little, big) = (ByteOrder::Little, ByteOrder::Big);
        assert_eq!(parse_header(W64, &header("'<u8'", "(3,)")), Ok((3, little)));
        assert_eq!(parse_header(W64, "{'shape':(0,),'fortran_order':True,'descr':'<u8'}"), Ok((0, little)));
        assert_eq!(parse_header(W64, "{'shape':(2,8),'descr':'|u1'}"), Ok((2, big)));
        assert_eq!(parse_header(W128, &header("'<u8'", "(3, 2)")), Ok((3, little)));
        assert_eq!(parse_header(W128, &header("'|u1'", "(3, 16)")), Ok((3, big)));
        assert_eq!(parse_header(W256, &header("'<u8'", "(3, 4)")), Ok((3, little)));
        assert_eq!(parse_header(W256, &header("'|u1'", "(3, 32)")), Ok((3, big)));
    }

    #[test]
    fn unreadable_arrays_have_a_reason() {
        let wanted = "fingerprints of 64 bits are uint64 of shape (n,) or uint8 of shape (n, 8)";
        for (kind, shape, quoted) in [
            ("'<i8'", "(3,)", "(3)"),
            ("'>u8'", "(3,)", "(3)"),
            ("'<u8'", "(3, 1)", "(3, 1)"),
            ("'<u8'", "(3, 2)", "(3, 2)"),
            ("'<u8'", "()", "()"),
            ("'|u1'", "(8,)", "(8)"),
            ("'|u1'", "(3, 16)", "(3, 16)"),
            ("'<f8'", "(3, 0)", "(3, 0)"),
        ] {
            let why = format!("an array of {kind} and shape {quoted}; {wanted}");
            assert_eq!(parse_header(W64, &header(kind, shape)), Err(why));
        }
        assert_eq!(parse_header(W64, ""), Err(format!("an array of  and shape (); {wanted}")));
        let wide = parse_header(W128, &header("'<u8'", "(3,)")).unwrap_err();
        assert!(wide.ends_with("128 bits are uint64 of shape (n, 2) or uint8 of shape (n, 16)"), "{wide}");
        let wide = parse_header(W256, &header("'<u8'", "(3, 2)")).unwrap_err();
        assert!(wide.ends_with("256 bits are uint64 of shape (n, 4) or uint8 of shape (n, 32)"), "{wide}");
        let columns = header("'<u8'", "(3, 2)").replace("False", "True");
        assert!(parse_header(W128, &columns).unwrap_err().contains("Fortran order"));
    }
}
