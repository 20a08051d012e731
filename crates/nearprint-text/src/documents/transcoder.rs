//! Reads a stream in another encoding as UTF-8.

use std::io::{self, Read};

use encoding_rs::{Decoder, DecoderResult};

/// Bytes that are decoded at once.
const CHUNK_BYTES: usize = 1 << 16;
/// What stands for bytes that the encoding does not have. It is in no UTF-8, so that a record with it is counted as
/// damaged.
const ODD_BYTE: u8 = 0xff;

/// Reads a stream as UTF-8.
pub(super) struct Transcoder<R> {
    inner: R,
    decoder: Decoder,
    /// Bytes of the stream.
    chunk: Vec<u8>,
    /// What was decoded, and is not returned yet from `start` on.
    decoded: Vec<u8>,
    start: usize,
    has_ended: bool,
}

impl<R: Read> Transcoder<R> {
    pub(super) fn new(inner: R, decoder: Decoder) -> Self {
        let chunk = vec![0; CHUNK_BYTES];
        Self { inner, decoder, chunk, decoded: Vec::new(), start: 0, has_ended: false }
    }

    /// Decodes the first bytes of the chunk.
    fn decode(&mut self, len: usize) {
        let is_last = len == 0;
        let (mut at, mut filled) = (0, 0);
        loop {
            // Of a character of two bytes, three are made.
            self.decoded.resize(filled + 3 * (len - at) + 16, 0);
            let (result, read, written) = self.decoder.decode_to_utf8_without_replacement(
                &self.chunk[at..len],
                &mut self.decoded[filled..],
                is_last,
            );
            at += read;
            filled += written;
            match result {
                DecoderResult::InputEmpty => break,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => {
                    self.decoded.truncate(filled);
                    self.decoded.push(ODD_BYTE);
                    filled += 1;
                }
            }
        }
        self.decoded.truncate(filled);
        self.start = 0;
        self.has_ended = is_last;
    }
}

impl<R: Read> Read for Transcoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.start == self.decoded.len() && !self.has_ended {
            let len = self.inner.read(&mut self.chunk)?;
            self.decode(len);
        }
        let len = buffer.len().min(self.decoded.len() - self.start);
        buffer[..len].copy_from_slice(&self.decoded[self.start..][..len]);
        self.start += len;
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one byte at a time.
    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = buffer.len().min(1);
            self.0.read(&mut buffer[..len])
        }
    }

    fn read(bytes: &[u8], label: &str) -> Vec<u8> {
        let decoder = || label.parse::<super::super::Encoding>().unwrap().decoder().unwrap();
        let [mut whole, mut slow] = [Vec::new(), Vec::new()];
        Transcoder::new(bytes, decoder()).read_to_end(&mut whole).unwrap();
        Transcoder::new(Slow(bytes), decoder()).read_to_end(&mut slow).unwrap();
        assert_eq!(whole, slow);
        whole
    }

    #[test]
    fn characters_may_be_cut_anywhere() {
        let text = "one \u{65e5}\u{672c}\n".repeat(30_000);
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert_eq!(read(&bytes, "utf-16le"), text.as_bytes());
        assert_eq!(read(&encoding_rs::SHIFT_JIS.encode(&text).0, "shift_jis"), text.as_bytes());
        assert_eq!(read(b"a\0\x3d\xd8b\0", "utf-16le"), b"a\xffb");
        assert_eq!(read(b"a\0b", "utf-16le"), b"a\xff");
        assert_eq!(read(b"", "koi8-r"), b"");
    }
}
