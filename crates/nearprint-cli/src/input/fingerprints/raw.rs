//! Raw fingerprints of a fixed number of bytes.

use std::io::{BufRead, Read};

use super::rows::RowSink;
use super::stream::InputStream;
use crate::terminal::failure::Failure;
use nearprint::Fingerprint;

/// The order of the bytes of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

impl ByteOrder {
    /// The fingerprint of `F::LEN_BYTES` bytes.
    pub(super) fn decode<F: Fingerprint>(self, bytes: &[u8]) -> F {
        match self {
            Self::Little => F::read_le(bytes),
            Self::Big => {
                let bytes = bytes.iter().map(|&byte| u64::from(byte));
                (0..)
                    .step_by(8)
                    .zip(bytes)
                    .fold(F::default(), |all, (at, byte)| all | F::from_bits(byte, at, 8))
            }
        }
    }
}

/// Reads a file of raw fingerprints of a width, which must be the width of `F`.
pub(super) fn read<F: Fingerprint>(
    input: &mut InputStream,
    bits: u32,
    sink: &mut dyn RowSink<F>,
) -> Result<(), Failure> {
    if bits != F::BITS {
        let why = format!("fingerprints of {bits} bits, expected {} bits", F::BITS);
        return Err(Failure::Input { place: input.name.display().to_string(), why });
    }
    RawSection { start: 0, expected: None, order: ByteOrder::Little }.read(input, sink)
}

/// The part of a file that holds raw fingerprints. It ends at the end of the file.
pub(super) struct RawSection {
    /// The byte offset of its first fingerprint.
    pub(super) start: u64,
    /// The number of fingerprints, if a header contains it.
    pub(super) expected: Option<u64>,
    pub(super) order: ByteOrder,
}

impl RawSection {
    /// Reads the fingerprints of an input that is positioned at the start of the section.
    pub(super) fn read<F: Fingerprint>(
        &self,
        input: &mut InputStream,
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        let len_bytes = F::LEN_BYTES;
        let mut at = self.start;
        loop {
            if input.reader.buffer().is_empty() {
                sink.idle()?;
            }
            let available = match input.reader.fill_buf() {
                Ok(buffer) => buffer.len(),
                Err(source) => return Err(input.unreadable(source)),
            };
            let whole = available / len_bytes * len_bytes;
            if whole > 0 {
                for bytes in input.reader.buffer()[..whole].chunks_exact(len_bytes) {
                    sink.row(self.order.decode(bytes), None, None)?;
                }
                input.reader.consume(whole);
                at += whole as u64;
                continue;
            }
            // The buffer holds a part of a fingerprint, or the input has ended.
            let mut rest = Vec::new();
            let read = (&mut input.reader).take(len_bytes as u64).read_to_end(&mut rest);
            read.map_err(|source| input.unreadable(source))?;
            match rest.len() {
                0 => return self.check_count(input, (at - self.start) / len_bytes as u64),
                len if len == len_bytes => sink.row(self.order.decode(&rest), None, None)?,
                len => {
                    let why = format!("{len} bytes after the last {}-bit number", F::BITS);
                    return Err(input.bad_byte(at, why));
                }
            }
            at += len_bytes as u64;
        }
    }

    fn check_count(&self, input: &InputStream, found: u64) -> Result<(), Failure> {
        match self.expected {
            Some(expected) if expected != found => {
                let why = format!("{found} fingerprints, but the header promises {expected}");
                Err(input.bad_byte(0, why))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearprint::{Printed, U256};

    #[test]
    fn both_byte_orders_are_decoded() {
        let bytes: Vec<u8> = (1..=32).collect();
        assert_eq!(ByteOrder::Big.decode::<u64>(&bytes[..8]), 0x0102_0304_0506_0708);
        assert_eq!(ByteOrder::Little.decode::<u64>(&bytes[..8]), 0x0807_0605_0403_0201);
        assert_eq!(ByteOrder::Big.decode::<u128>(&bytes[..16]), 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
        let digits =
            |bytes: &[u8]| bytes.iter().fold("0x".to_string(), |text, byte| format!("{text}{byte:02x}"));
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        assert_eq!(Printed(ByteOrder::Big.decode::<U256>(&bytes)).to_string(), digits(&bytes));
        assert_eq!(Printed(ByteOrder::Little.decode::<U256>(&bytes)).to_string(), digits(&reversed));
    }
}
