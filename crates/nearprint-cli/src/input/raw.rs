//! Raw fingerprints, of a known number of bytes each.

use std::io::{BufRead, Read};

use super::RowSink;
use super::stream::Input;
use crate::failure::Failure;
use nearprint::Fingerprint;

/// Which byte of a fingerprint comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The least significant one, as in memory.
    Least,
    /// The most significant one, as on paper.
    Most,
}

impl First {
    /// The fingerprint of so many bytes as it has.
    pub(super) fn read<F: Fingerprint>(self, bytes: &[u8]) -> F {
        match self {
            Self::Least => F::read_le(bytes),
            Self::Most => {
                let bytes = bytes.iter().map(|&byte| u64::from(byte));
                (0..)
                    .step_by(8)
                    .zip(bytes)
                    .fold(F::default(), |all, (at, byte)| all | F::from_bits(byte, at, 8))
            }
        }
    }
}

impl Input {
    /// Reads a file of raw fingerprints of so many bits, which have to be those of `F`.
    pub(super) fn raw_of<F: Fingerprint>(
        &mut self,
        bits: u32,
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        if bits != F::BITS {
            let why = format!("fingerprints of {bits} bits, where those of {} are wanted", F::BITS);
            return Err(Failure::Input { place: self.name.display().to_string(), why });
        }
        self.raw(0, None, First::Least, sink)
    }

    /// Reads fingerprints from byte `start` to the end; `expected` says how many there should be.
    pub(super) fn raw<F: Fingerprint>(
        &mut self,
        start: u64,
        expected: Option<u64>,
        first: First,
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        let len_bytes = F::LEN_BYTES;
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
            let whole = available / len_bytes * len_bytes;
            if whole == 0 {
                let mut rest = Vec::new();
                (&mut self.reader)
                    .take(len_bytes as u64)
                    .read_to_end(&mut rest)
                    .map_err(|source| self.unreadable(source))?;
                match rest.len() {
                    0 => return self.check_count((at - start) / len_bytes as u64, expected),
                    len if len == len_bytes => sink.row(first.read(&rest), None, None)?,
                    len => {
                        let why = format!("{len} bytes behind the last {}-bit number", F::BITS);
                        return Err(self.bad_at(at, why));
                    }
                }
                at += len_bytes as u64;
                continue;
            }
            for bytes in self.reader.buffer()[..whole].chunks_exact(len_bytes) {
                sink.row(first.read(bytes), None, None)?;
            }
            self.reader.consume(whole);
            at += whole as u64;
        }
    }

    fn check_count(&self, found: u64, expected: Option<u64>) -> Result<(), Failure> {
        match expected {
            Some(expected) if expected != found => {
                let why = format!("{found} fingerprints, and the header promises {expected}");
                Err(self.bad_at(0, why))
            }
            _ => Ok(()),
        }
    }

    /// Bad input at a byte.
    pub(super) fn bad_at(&self, offset: u64, why: String) -> Failure {
        Failure::Input { place: format!("{}:{offset}", self.name.display()), why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearprint::U256;

    #[test]
    fn either_end_comes_first() {
        let bytes: Vec<u8> = (1..=32).collect();
        assert_eq!(First::Most.read::<u64>(&bytes[..8]), 0x0102_0304_0506_0708);
        assert_eq!(First::Least.read::<u64>(&bytes[..8]), 0x0807_0605_0403_0201);
        assert_eq!(First::Most.read::<u128>(&bytes[..16]), 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
        assert_eq!(First::Most.read::<U256>(&bytes).bits(0, 64), 0x0102_0304_0506_0708);
        assert_eq!(First::Most.read::<U256>(&bytes).bits(248, 8), 0x20);
        assert_eq!(First::Least.read::<U256>(&bytes).bits(0, 8), 0x20);
    }
}
