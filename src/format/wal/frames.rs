//! Finding the sound frames of a log.

use std::ops::Range;

use super::header::{HEADER_BYTES, LogPlace, WalHeader};
use crate::format::{Decoder, Flaw};

/// Bytes of a frame before its content.
pub(crate) const FRAME_HEADER_BYTES: usize = 24;

/// The CRC of a frame header. It covers the salt, and the header without the CRC itself.
pub(super) fn header_crc(salt: u64, rest: [u8; FRAME_HEADER_BYTES - 4]) -> u32 {
    let mut covered = [0; 8 + FRAME_HEADER_BYTES - 4];
    covered[..8].copy_from_slice(&salt.to_le_bytes());
    covered[8..].copy_from_slice(&rest);
    crc32fast::hash(&covered)
}

/// The hash of a frame's content. CRC-32 would not do: a content may have 4 GiB.
pub(crate) fn content_hash(content: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(content)
}

/// A decoded frame header.
#[derive(Clone, Copy, Debug)]
struct FrameHeader {
    len: usize,
    number: u64,
    content_hash: u64,
}

/// Decodes the frame header at an offset, if its checksum is correct.
fn sound_header(file: &[u8], offset: usize, salt: u64) -> Option<FrameHeader> {
    let (stored, rest) = file.get(offset..)?.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*stored) != header_crc(salt, *rest.first_chunk()?) {
        return None;
    }
    let mut fields = Decoder::new("frame", offset as u64, rest);
    let (len, number, content_hash) = (fields.u32().ok()?, fields.u64().ok()?, fields.u64().ok()?);
    len.is_multiple_of(8).then_some(FrameHeader { len: len as usize, number, content_hash })
}

/// The first of the offsets `start`, `start + 8`, … where a frame header may start: one that is not
/// all zeros. A file can have holes of gigabytes.
fn skip_zeros(file: &[u8], start: usize) -> usize {
    let words = file.get(start..).unwrap_or_default().as_chunks::<8>().0;
    match words.iter().position(|word| *word != [0; 8]) {
        Some(zeros) => start + 8 * zeros.saturating_sub(FRAME_HEADER_BYTES / 8 - 1),
        // The last bytes are no word, and too few for a header.
        None => file.len().max(start),
    }
}

/// The content of a frame, if its checksum is correct.
fn sound_content(file: &[u8], offset: usize, header: FrameHeader) -> Option<&[u8]> {
    let content = file.get(offset + FRAME_HEADER_BYTES..)?.get(..header.len)?;
    (content_hash(content) == header.content_hash).then_some(content)
}

/// The content of frame `number`, if it starts at `offset` and is sound.
fn sound_frame(file: &[u8], offset: usize, salt: u64, number: u64) -> Option<&[u8]> {
    let header = sound_header(file, offset, salt).filter(|header| header.number == number)?;
    sound_content(file, offset, header)
}

/// The frames of a log from some place on, up to the first bad one.
#[derive(Debug)]
pub(crate) struct Frames {
    /// The places of the contents of all sound frames, in order.
    pub(crate) contents: Vec<Range<usize>>,
    /// Where the sound frames end.
    pub(crate) end: LogPlace,
    /// Set if the first bad frame was durable and is damaged.
    pub(crate) damage: Option<Flaw>,
}

impl Frames {
    /// Checks the frames of `bytes`, which stand at `from` in a log with this salt. The contents
    /// are parts of `bytes`.
    pub(crate) fn scan(bytes: &[u8], from: LogPlace, salt: u64) -> Self {
        let (mut contents, mut end, mut number) = (Vec::new(), 0, from.frame);
        while let Some(content) = sound_frame(bytes, end, salt, number) {
            let start = end + FRAME_HEADER_BYTES;
            end = start + content.len();
            contents.push(start..end);
            number = number.wrapping_add(1);
        }
        let mut later = skip_zeros(bytes, end);
        while later < bytes.len()
            && sound_header(bytes, later, salt).is_none_or(|later| later.number <= number)
        {
            later = skip_zeros(bytes, later + 8);
        }
        let end = LogPlace { offset: from.offset + end as u64, frame: number };
        let damage = (later < bytes.len()).then(|| {
            let found = format!("a damaged one, and a sound one at offset {}", from.offset + later as u64);
            Flaw::new("frame", end.offset, format!("frame {number}"), found)
        });
        Self { contents, end, damage }
    }
}

/// A sound frame of a damaged log.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) number: u64,
    /// Offset of its content.
    pub(crate) offset: usize,
    pub(crate) content: &'a [u8],
}

/// All sound frames, including those after damage, by ascending number.
///
/// Takes linear time: the scan skips the content of every frame with a sound header, so it reads no
/// content twice.
pub(crate) fn sound_frames<'a>(file: &'a [u8], header: &WalHeader) -> Vec<Frame<'a>> {
    let mut frames = Vec::new();
    let (mut offset, mut least) = (HEADER_BYTES, header.first_frame);
    while offset < file.len() {
        let Some(found) = sound_header(file, offset, header.salt) else {
            offset = skip_zeros(file, offset + 8);
            continue;
        };
        if found.number >= least
            && let Some(content) = sound_content(file, offset, found)
        {
            frames.push(Frame { number: found.number, offset: offset + FRAME_HEADER_BYTES, content });
            least = found.number.saturating_add(1);
        }
        offset = (offset + FRAME_HEADER_BYTES).saturating_add(found.len.next_multiple_of(8));
    }
    frames
}
