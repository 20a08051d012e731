//! Raw 64-bit numbers, and the same behind the header of a NumPy array.

use std::io::{BufRead, Read};

use super::super::failure::Failure;
use super::{Input, RowSink};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Magic, version, and the length of the text that follows.
const HEAD_BYTES: usize = 10;
/// Data begins at a multiple of this.
const ALIGNMENT: usize = 64;
/// No header of one dimension is longer.
const MAX_HEADER_BYTES: u64 = 1 << 16;

/// The header of an array of so many uint64: version 1.0 of the format.
pub(crate) fn npy_header(count: u64) -> Vec<u8> {
    let mut text = format!("{{'descr': '<u8', 'fortran_order': False, 'shape': ({count},), }}");
    let len = (HEAD_BYTES + text.len() + 1).next_multiple_of(ALIGNMENT) - HEAD_BYTES;
    text += &" ".repeat(len - text.len() - 1);
    text.push('\n');
    // The length has 16 bits, of which a shape of one number needs seven.
    let [low, high, ..] = text.len().to_le_bytes();
    [MAGIC, &[1, 0, low, high], text.as_bytes()].concat()
}

/// The length of an array, from the text of its header.
fn npy_count(text: &str) -> Result<u64, String> {
    let value = |name: &str| {
        let (_, after) = text.split_once(&format!("'{name}'"))?;
        after.trim_start().strip_prefix(':').map(str::trim_start)
    };
    let kind = value("descr").unwrap_or_default();
    if !kind.starts_with("'<u8'") {
        let kind = kind.split(',').next().unwrap_or_default();
        return Err(format!("an array of {kind}, and not of '<u8' (uint64)"));
    }
    let shape = value("shape").and_then(|shape| shape.strip_prefix('(')?.split_once(')'));
    let shape = shape.map(|(shape, _)| shape.trim_end_matches([' ', ',']));
    let count = shape.and_then(|shape| shape.trim().parse().ok());
    count
        .ok_or_else(|| format!("an array of shape ({}), and not of one dimension", shape.unwrap_or_default()))
}

impl Input {
    pub(super) fn npy(&mut self, sink: &mut dyn RowSink) -> Result<(), Failure> {
        let mut head = [0; HEAD_BYTES];
        let no_array = |input: &Self| input.bad_at(0, "no NumPy array".into());
        self.reader.read_exact(&mut head).map_err(|_| no_array(self))?;
        let [.., major, _, low, high] = head;
        let mut len_bytes = u64::from(u16::from_le_bytes([low, high]));
        let mut start = HEAD_BYTES as u64;
        if !head.starts_with(MAGIC) || !(1..=3).contains(&major) {
            return Err(no_array(self));
        }
        if major > 1 {
            // From version 2.0 on the length has 32 bits.
            let mut high = [0; 2];
            self.reader.read_exact(&mut high).map_err(|_| no_array(self))?;
            len_bytes |= u64::from(u16::from_le_bytes(high)) << 16;
            start += 2;
        }
        let mut text = Vec::new();
        let read = (&mut self.reader).take(len_bytes.min(MAX_HEADER_BYTES)).read_to_end(&mut text);
        read.map_err(|source| self.unreadable(source))?;
        let count = npy_count(&String::from_utf8_lossy(&text)).map_err(|why| self.bad_at(start, why))?;
        self.raw(start + len_bytes, Some(count), sink)
    }

    fn check_count(&self, found: u64, expected: Option<u64>) -> Result<(), Failure> {
        match expected {
            Some(expected) if expected != found => {
                let why = format!("{found} numbers, and the header promises {expected}");
                Err(self.bad_at(0, why))
            }
            _ => Ok(()),
        }
    }

    /// Bad input at a byte.
    fn bad_at(&self, offset: u64, why: String) -> Failure {
        Failure::Input { place: format!("{}:{offset}", self.name.display()), why }
    }

    /// Reads numbers from byte `start` to the end; `expected` says how many there should be.
    pub(super) fn raw(
        &mut self,
        start: u64,
        expected: Option<u64>,
        sink: &mut dyn RowSink,
    ) -> Result<(), Failure> {
        let mut at = start;
        loop {
            if self.reader.buffer().is_empty() {
                sink.idle()?;
            }
            let buffer = self.reader.fill_buf();
            let available = match buffer {
                Ok(buffer) => buffer.len(),
                Err(source) => return Err(self.unreadable(source)),
            };
            let whole = available / 8 * 8;
            if whole == 0 {
                let mut rest = Vec::new();
                (&mut self.reader)
                    .take(8)
                    .read_to_end(&mut rest)
                    .map_err(|source| self.unreadable(source))?;
                match rest.first_chunk::<8>() {
                    Some(number) => sink.row(u64::from_le_bytes(*number), None, None)?,
                    None if rest.is_empty() => return self.check_count((at - start) / 8, expected),
                    None => {
                        let why = format!("{} bytes behind the last 64-bit number", rest.len());
                        return Err(self.bad_at(at, why));
                    }
                }
                at += 8;
                continue;
            }
            for number in self.reader.buffer()[..whole].as_chunks::<8>().0 {
                sink.row(u64::from_le_bytes(*number), None, None)?;
            }
            self.reader.consume(whole);
            at += whole as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_numpy() {
        let header = npy_header(3);
        let text = b"{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }";
        assert_eq!((header.len(), &header[..10]), (128, &b"\x93NUMPY\x01\x00\x76\x00"[..]));
        assert_eq!((&header[10..10 + text.len()], header[127]), (&text[..], b'\n'));
        assert_eq!(npy_header(u64::MAX).len() % ALIGNMENT, 0);
        for (text, count) in [
            ("{'descr': '<u8', 'fortran_order': False, 'shape': (3,), }", Ok(3)),
            ("{'shape':(0,),'fortran_order':True,'descr':'<u8'}", Ok(0)),
            ("{'descr': '<i8', 'shape': (3,)}", Err("an array of '<i8', and not of '<u8' (uint64)")),
            ("{'descr': '<u8', 'shape': (3, 2)}", Err("an array of shape (3, 2), and not of one dimension")),
            ("{'descr': '<u8', 'shape': ()}", Err("an array of shape (), and not of one dimension")),
            ("", Err("an array of , and not of '<u8' (uint64)")),
        ] {
            assert_eq!(npy_count(text), count.map_err(str::to_string), "{text}");
        }
    }
}
