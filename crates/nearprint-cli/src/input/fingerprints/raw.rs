//! Raw fingerprints of a fixed number of bytes.

use std::io::{BufRead, Read};

use super::rows::RowSink;
use super::stream::InputStream;
use crate::terminal::failure::Failure;
use nearprint::Width;
use nearprint::any::AnyFingerprint;

/// The order of the bytes of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

impl ByteOrder {
    /// The fingerprint of the bytes of a width.
    pub(super) fn decode(self, bytes: &[u8]) -> AnyFingerprint {
        let (mut words, (bytes, _)) = ([0; Width::W320.words()], bytes.as_chunks());
        let own = &mut words[..bytes.len().min(Width::W320.words())];
        match self {
            Self::Little => own.iter_mut().zip(bytes).for_each(|(word, le)| *word = u64::from_le_bytes(*le)),
            Self::Big => {
                own.iter_mut().zip(bytes.iter().rev()).for_each(|(word, be)| *word = u64::from_be_bytes(*be));
            }
        }
        AnyFingerprint::from(&*own)
    }

    /// Appends the words of the fingerprints of bytes.
    fn decode_all(self, bytes: &[u8], width: Width, words: &mut Vec<u64>) {
        match self {
            Self::Little => words.extend(bytes.as_chunks().0.iter().map(|le| u64::from_le_bytes(*le))),
            Self::Big => {
                let fingerprints = bytes.chunks_exact(8 * width.words());
                words
                    .extend(fingerprints.flat_map(|bytes| {
                        bytes.as_chunks().0.iter().rev().map(|be| u64::from_be_bytes(*be))
                    }));
            }
        }
    }
}

/// Reads a file of raw fingerprints of a width, which must be the one that is wanted.
pub(super) fn read(
    wanted: Width,
    input: &mut InputStream,
    width: Width,
    sink: &mut dyn RowSink,
) -> Result<(), Failure> {
    if width != wanted {
        let why = format!("fingerprints of {width} bits, expected {wanted} bits");
        return Err(Failure::Input { place: input.name.display().to_string(), why });
    }
    RawSection { start: 0, expected: None, order: ByteOrder::Little }.read(width, input, sink)
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
    pub(super) fn read(
        &self,
        width: Width,
        input: &mut InputStream,
        sink: &mut dyn RowSink,
    ) -> Result<(), Failure> {
        let len_bytes = 8 * width.words();
        let (mut at, mut words) = (self.start, Vec::new());
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
                words.clear();
                self.order.decode_all(&input.reader.buffer()[..whole], width, &mut words);
                sink.fingerprints(width, &words)?;
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
                    let why = format!("{len} bytes after the last {width}-bit number");
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

    #[test]
    fn both_byte_orders_are_decoded() {
        let bytes: Vec<u8> = (1..=32).collect();
        assert_eq!(ByteOrder::Big.decode(&bytes[..8]), 0x0102_0304_0506_0708_u64.into());
        assert_eq!(ByteOrder::Little.decode(&bytes[..8]), 0x0807_0605_0403_0201_u64.into());
        assert_eq!(
            ByteOrder::Big.decode(&bytes[..16]),
            0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128.into()
        );
        let digits =
            |bytes: &[u8]| bytes.iter().fold("0x".to_string(), |text, byte| format!("{text}{byte:02x}"));
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        assert_eq!(ByteOrder::Big.decode(&bytes).to_string(), digits(&bytes));
        assert_eq!(ByteOrder::Little.decode(&bytes).to_string(), digits(&reversed));
        let many: Vec<u8> = (0..=239).collect();
        for width in Width::ALL {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let many = &many[..many.len() / width.words() / 8 * width.words() * 8];
                let mut words = Vec::new();
                order.decode_all(many, width, &mut words);
                let one_by_one = many.chunks_exact(8 * width.words()).map(|bytes| order.decode(bytes));
                let all = words.chunks_exact(width.words()).map(|words| AnyFingerprint::new(width, words));
                assert!(all.eq(one_by_one), "{order:?} {width}");
            }
        }
    }
}
