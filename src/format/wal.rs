//! The write-ahead log: a header, then one frame for each commit.
//!
//! A frame's header carries a checksum of its own, which takes in the log's random salt. The next
//! frame is only written when the one before is durable. So a good frame header behind a bad frame
//! proves that the bad one had been durable, and is damaged; a bad frame with nothing behind it is what
//! a crash leaves of an unfinished commit.

use super::keys::KeyRecord;
use super::manifest::MAX_CHECKPOINT_BYTES;
use super::paged::hex;
use super::{Decoder, Encoder, Flaw, Problem, VERSION, check_crc};
use crate::fingerprint::{Fingerprint, Row};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPW\r\n\x1a\n";
/// Bytes before the first frame.
pub(crate) const HEADER_BYTES: usize = 64;
/// Bytes of a frame before its content.
pub(crate) const FRAME_HEADER_BYTES: usize = 24;
/// Where the CRC of the header stands.
const HEADER_CRC_OFFSET: usize = 60;

/// A batch of rows with ids that were given.
pub(crate) const INSERT: u32 = 1;
/// A batch of ids to delete.
pub(crate) const DELETE: u32 = 2;
/// A batch of rows whose ids were made.
pub(crate) const INSERT_AUTOMATIC: u32 = 3;
/// Inserts of rows that come with a key.
pub(crate) const INSERT_KEYED: u32 = 4;
/// How far a job has come that the operations before belong to; an empty one ends it.
pub(crate) const CHECKPOINT: u32 = 5;

/// The header of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalHeader {
    pub(crate) database_id: [u8; 16],
    pub(crate) width: u32,
    pub(crate) number: u64,
    /// Random: what another log left on the medium does not look like a frame of this one.
    pub(crate) salt: u64,
    /// The number of the first frame.
    pub(crate) first_frame: u64,
}

/// One operation of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a, F> {
    Insert {
        row: Row<F>,
        automatic: bool,
    },
    /// A row and one of its keys.
    InsertKeyed(KeyRecord<'a, F>),
    Delete(u64),
    /// How far a job has come.
    Checkpoint(&'a [u8]),
}

impl WalHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.put(&MAGIC).u32(VERSION).u32(self.width).put(&self.database_id);
        out.u64(self.number).u64(self.salt).u64(self.first_frame);
        out.zeros_up_to(HEADER_CRC_OFFSET);
        let crc = crc32fast::hash(&out.bytes);
        out.u32(crc);
        out.bytes
    }

    /// Decodes the header of log `number` of a database, whose first frame must be `first_frame`.
    pub(crate) fn decode(
        file: &[u8],
        database_id: [u8; 16],
        width: u32,
        number: u64,
        first_frame: u64,
    ) -> Result<Self, Problem> {
        let found = Self::parse(file)?;
        let same = |offset, name: &str, expected: String, found: String| {
            let tag = |value| format!("{name} {value}");
            if expected == found {
                Ok(())
            } else {
                Err(Flaw::new("header", offset, tag(expected), tag(found)))
            }
        };
        same(12, "width", width.to_string(), found.width.to_string())?;
        same(16, "database", hex(&database_id), hex(&found.database_id))?;
        same(32, "log", number.to_string(), found.number.to_string())?;
        same(48, "first frame", first_frame.to_string(), found.first_frame.to_string())?;
        Ok(found)
    }

    /// Decodes the header of a log that may be any.
    pub(crate) fn parse(file: &[u8]) -> Result<Self, Problem> {
        let mut fields = Decoder::new("header", 0, file);
        let mut fields = Decoder::new("header", 0, fields.take(HEADER_BYTES)?);
        Flaw::unless_equal("header", 0, hex(&MAGIC), hex(&fields.array::<8>()?))?;
        let (body, stored) = file.split_at_checked(HEADER_CRC_OFFSET).unwrap_or_default();
        let stored = stored.first_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
        check_crc("header", HEADER_CRC_OFFSET as u64, stored, crc32fast::hash(body))?;
        let version = fields.u32()?;
        if version > VERSION {
            return Err(Problem::Newer(version));
        }
        Flaw::unless_equal("header", 8, VERSION, version)?;
        let (width, database_id) = (fields.u32()?, fields.array()?);
        let (number, salt, first_frame) = (fields.u64()?, fields.u64()?, fields.u64()?);
        Flaw::unless_equal("header", 56, 0, fields.u32()?)?;
        Ok(Self { database_id, width, number, salt, first_frame })
    }
}

/// The content of a frame in the making.
#[derive(Debug, Default)]
pub(crate) struct Content {
    bytes: Encoder,
    /// Kind, place and count of the batch that is open.
    batch: Option<(u32, usize, u32)>,
}

impl Content {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.bytes.clear();
        self.batch = None;
    }

    pub(crate) fn push<F: Fingerprint>(&mut self, operation: Operation<'_, F>) {
        match operation {
            Operation::Insert { row, automatic } => {
                self.open(if automatic { INSERT_AUTOMATIC } else { INSERT });
                row.fingerprint.write_le(&mut self.bytes.bytes);
                self.bytes.u64(row.id);
            }
            Operation::Delete(id) => {
                self.open(DELETE);
                self.bytes.u64(id);
            }
            Operation::InsertKeyed(record) => {
                self.open(INSERT_KEYED);
                self.bytes.u64(record.row.id).u64(record.len_bytes());
                record.encode(&mut self.bytes);
                self.pad();
            }
            Operation::Checkpoint(bytes) => {
                self.open(CHECKPOINT);
                self.bytes.u64(bytes.len() as u64).put(bytes);
                self.pad();
            }
        }
    }

    /// Operations start at multiples of 8 bytes.
    fn pad(&mut self) {
        self.bytes.zeros_up_to(self.bytes.bytes.len().next_multiple_of(8));
    }

    /// Counts one more in the batch of a kind, a new one where another kind is open.
    fn open(&mut self, kind: u32) {
        let (at, count) = match self.batch {
            Some((open, at, count)) if open == kind && count < u32::MAX => (at, count + 1),
            _ => {
                let at = self.bytes.bytes.len();
                self.bytes.u32(kind).u32(0);
                (at, 1)
            }
        };
        self.batch = Some((kind, at, count));
        if let Some(place) = self.bytes.bytes.get_mut(at + 4..at + 8) {
            place.copy_from_slice(&count.to_le_bytes());
        }
    }

    /// The whole frame. `None` when the content is longer than a frame can be.
    pub(crate) fn frame(&self, salt: u64, number: u64) -> Option<Vec<u8>> {
        let len = u32::try_from(self.bytes.bytes.len()).ok()?;
        let mut rest = Encoder::default();
        rest.u32(len).u64(number).u32(crc32fast::hash(&self.bytes.bytes)).u32(0);
        let mut frame = Encoder::default();
        frame.u32(header_crc(salt, &rest.bytes)).put(&rest.bytes).put(&self.bytes.bytes);
        Some(frame.bytes)
    }
}

fn header_crc(salt: u64, rest: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(rest);
    hasher.finalize()
}

/// A frame header whose checksum holds.
#[derive(Clone, Copy, Debug)]
struct FrameHeader {
    len: usize,
    number: u64,
    content_crc: u32,
}

fn frame_header(file: &[u8], offset: usize, salt: u64) -> Option<FrameHeader> {
    let bytes = file.get(offset..)?.get(..FRAME_HEADER_BYTES)?;
    let (stored, rest) = bytes.split_first_chunk::<4>()?;
    if u32::from_le_bytes(*stored) != header_crc(salt, rest) {
        return None;
    }
    unchecked_header(file, offset)
}

fn unchecked_header(file: &[u8], offset: usize) -> Option<FrameHeader> {
    let bytes = file.get(offset..)?.get(4..FRAME_HEADER_BYTES)?;
    let mut fields = Decoder::new("frame", offset as u64, bytes);
    let (len, number, content_crc) = (fields.u32().ok()?, fields.u64().ok()?, fields.u32().ok()?);
    fields.rest_is_zero().ok()?;
    if !len.is_multiple_of(8) {
        return None;
    }
    Some(FrameHeader { len: len as usize, number, content_crc })
}

/// What a log holds.
#[derive(Debug)]
pub(crate) struct Frames<'a> {
    /// The contents of the good frames, in order.
    pub(crate) contents: Vec<(usize, &'a [u8])>,
    /// Where the good frames end.
    pub(crate) end: usize,
    /// A frame that had been durable, and is damaged.
    pub(crate) damage: Option<Flaw>,
}

impl<'a> Frames<'a> {
    /// Reads frames up to the first bad one.
    pub(crate) fn scan(file: &'a [u8], header: &WalHeader) -> Self {
        let mut frames = Self { contents: Vec::new(), end: HEADER_BYTES, damage: None };
        let mut number = header.first_frame;
        while let Some(content) = good_frame(file, frames.end, header.salt, number) {
            frames.contents.push((frames.end + FRAME_HEADER_BYTES, content));
            frames.end += FRAME_HEADER_BYTES + content.len();
            number = number.wrapping_add(1);
        }
        let later = |offset: &usize| {
            frame_header(file, *offset, header.salt).is_some_and(|later| later.number > number)
        };
        let behind = (frames.end..file.len()).step_by(8).find(later);
        frames.damage = behind.map(|offset| {
            let found = format!("a damaged one, and a sound one at offset {offset}");
            Flaw::new("frame", frames.end as u64, format!("frame {number}"), found)
        });
        frames
    }

    /// All sound frames, those behind damage too, by ascending number.
    ///
    /// Takes time in proportion to the file: a frame whose header is sound is stepped over as a whole,
    /// so no byte of a content is looked at twice.
    pub(crate) fn salvage(file: &'a [u8], header: &WalHeader) -> Vec<Frame<'a>> {
        let mut frames = Vec::new();
        let (mut offset, mut least) = (HEADER_BYTES, header.first_frame);
        while offset < file.len() {
            let Some(found) = frame_header(file, offset, header.salt) else {
                offset += 8;
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

    /// The frames up to the first bad one in a log whose header is damaged, and with it the salt.
    ///
    /// The checksum of the content tells whether a frame is sound, and its number that it belongs here:
    /// no two frames of a database have the same.
    pub(crate) fn without_salt(file: &'a [u8], first_frame: u64) -> Vec<Frame<'a>> {
        let mut frames: Vec<Frame<'a>> = Vec::new();
        let (mut offset, mut number) = (HEADER_BYTES, first_frame);
        while let Some(found) = unchecked_header(file, offset).filter(|found| found.number == number)
            && let Some(content) = sound_content(file, offset, found)
        {
            offset += FRAME_HEADER_BYTES;
            frames.push(Frame { number, offset, content });
            offset += content.len();
            number = number.saturating_add(1);
        }
        frames
    }
}

/// A frame of a damaged log.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    pub(crate) number: u64,
    /// Where its content stands.
    pub(crate) offset: usize,
    pub(crate) content: &'a [u8],
}

fn good_frame(file: &[u8], offset: usize, salt: u64, number: u64) -> Option<&[u8]> {
    let header = frame_header(file, offset, salt).filter(|header| header.number == number)?;
    sound_content(file, offset, header)
}

fn sound_content(file: &[u8], offset: usize, header: FrameHeader) -> Option<&[u8]> {
    let content = file.get(offset + FRAME_HEADER_BYTES..)?.get(..header.len)?;
    (crc32fast::hash(content) == header.content_crc).then_some(content)
}

/// Hands out the operations of a frame that stands at `offset`, in order.
pub(crate) fn operations<'a, F: Fingerprint>(
    content: &'a [u8],
    offset: usize,
    visit: &mut impl FnMut(Operation<'a, F>),
) -> Result<(), Flaw> {
    let mut fields = Decoder::new("frame", offset as u64, content);
    while !fields.is_at_end() {
        let kind = fields.u32()?;
        if !(INSERT..=CHECKPOINT).contains(&kind) {
            return Err(fields.flaw("a batch of kind 1 to 5", kind));
        }
        let count = fields.u32()?;
        for _ in 0..count {
            visit(match kind {
                DELETE => Operation::Delete(fields.u64()?),
                INSERT_KEYED => {
                    let id = fields.u64()?;
                    let (bytes, at) = padded(&mut fields)?;
                    Operation::InsertKeyed(KeyRecord::decode(id, bytes, at)?)
                }
                CHECKPOINT => {
                    let (bytes, _) = padded(&mut fields)?;
                    if bytes.len() > MAX_CHECKPOINT_BYTES {
                        return Err(fields.flaw(format!("up to {MAX_CHECKPOINT_BYTES} bytes"), bytes.len()));
                    }
                    Operation::Checkpoint(bytes)
                }
                _ => {
                    let fingerprint = F::read_le(fields.take(F::LEN_BYTES)?);
                    let row = Row { fingerprint, id: fields.u64()? };
                    Operation::Insert { row, automatic: kind == INSERT_AUTOMATIC }
                }
            });
        }
    }
    Ok(())
}

/// Bytes with their length before them, padded with zeros, and where they stand.
fn padded<'a>(fields: &mut Decoder<'a>) -> Result<(&'a [u8], u64), Flaw> {
    let len = usize::try_from(fields.u64()?).unwrap_or(usize::MAX);
    let at = fields.offset();
    let bytes = fields.take(len)?;
    Decoder::new("frame", fields.offset(), fields.take(len.next_multiple_of(8) - len)?).rest_is_zero()?;
    Ok((bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: WalHeader =
        WalHeader { database_id: [7; 16], width: 64, number: 3, salt: 0x1234_5678_9abc_def0, first_frame: 9 };

    fn sample() -> (Vec<u8>, Vec<Operation<'static, u64>>) {
        let insert =
            |fingerprint, id, automatic| Operation::Insert { row: Row { fingerprint, id }, automatic };
        let all = vec![
            insert(1, 2, false),
            insert(3, 4, false),
            Operation::Delete(2),
            insert(5, 6, true),
            Operation::Delete(u64::MAX),
            Operation::Delete(0),
        ];
        let mut file = HEADER.encode();
        for (number, part) in (9..).zip(all.chunks(2)) {
            let mut content = Content::default();
            part.iter().for_each(|&operation| content.push(operation));
            file.extend(content.frame(HEADER.salt, number).unwrap());
        }
        (file, all)
    }

    fn read(file: &[u8]) -> (Vec<Operation<'_, u64>>, Option<Flaw>) {
        let frames = Frames::scan(file, &HEADER);
        let mut found = Vec::new();
        for (offset, content) in &frames.contents {
            operations(content, *offset, &mut |operation| found.push(operation)).unwrap();
        }
        (found, frames.damage)
    }

    #[test]
    fn survives_the_round_trip_and_belongs_to_one_place() {
        let (file, all) = sample();
        assert_eq!(WalHeader::decode(&file, [7; 16], 64, 3, 9), Ok(HEADER));
        assert_eq!(read(&file), (all, None));
        assert!(WalHeader::decode(&file, [8; 16], 64, 3, 9).is_err());
        assert!(WalHeader::decode(&file, [7; 16], 128, 3, 9).is_err());
        assert!(WalHeader::decode(&file, [7; 16], 64, 4, 9).is_err());
        assert!(WalHeader::decode(&file, [7; 16], 64, 3, 8).is_err());
        assert!(WalHeader::decode(&file[..63], [7; 16], 64, 3, 9).is_err());
    }

    #[test]
    fn keys_texts_and_checkpoints_of_all_lengths_survive_the_round_trip() {
        let bytes: Vec<u8> = (1..=40).collect();
        let mut all = Vec::new();
        for len in 0..20 {
            let (row, key) = (Row { fingerprint: len as u64, id: u64::MAX - len as u64 }, &bytes[..len]);
            for text in [&bytes[..0], &bytes[len..40]] {
                all.push(Operation::InsertKeyed(KeyRecord { row, sequence: 77, key, text }));
            }
            all.push(Operation::Checkpoint(key));
        }
        let mut content = Content::default();
        all.iter().for_each(|&operation| content.push(operation));
        let content = content.bytes.bytes;
        let mut found = Vec::new();
        operations::<u64>(&content, 0, &mut |operation| found.push(operation)).unwrap();
        assert_eq!(found, all);
        // Cut anywhere, or with anything in the padding, it is damage and no panic.
        for cut in (8..content.len()).step_by(8) {
            let _ = operations::<u64>(&content[..cut], 0, &mut |_| ());
        }
        let padding = content.len() - 1;
        let mut other = content.clone();
        assert_eq!(std::mem::replace(&mut other[padding], 1), 0);
        assert!(operations::<u64>(&other, 0, &mut |_| ()).is_err());
    }

    #[test]
    fn every_cut_leaves_the_frames_before_it() {
        let (file, all) = sample();
        for len in HEADER_BYTES..file.len() {
            let (found, damage) = read(&file[..len]);
            assert!(all.starts_with(&found) && found.len() < all.len(), "cut to {len}");
            assert_eq!(damage, None, "cut to {len}");
        }
    }

    #[test]
    fn a_flipped_bit_is_damage_or_an_end_in_the_last_frame() {
        let (file, all) = sample();
        let last = Frames::scan(&file, &HEADER).contents[2].0 - FRAME_HEADER_BYTES;
        for bit in 0..file.len() * 8 {
            let mut flipped = file.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if bit / 8 < HEADER_BYTES {
                assert!(WalHeader::decode(&flipped, [7; 16], 64, 3, 9).is_err(), "bit {bit}");
                continue;
            }
            let (found, damage) = read(&flipped);
            assert!(all.starts_with(&found) && found.len() < all.len(), "bit {bit}");
            assert_eq!(damage.is_some(), bit / 8 < last, "bit {bit}");
        }
    }

    /// A frame that had been cut out was taken for a commit that never ended.
    #[test]
    fn regression_a_missing_frame_is_damage() {
        let (file, all) = sample();
        let frames = Frames::scan(&file, &HEADER).contents;
        let (second, third) = (frames[1].0 - FRAME_HEADER_BYTES, frames[2].0 - FRAME_HEADER_BYTES);
        let spliced = [&file[..second], &file[third..]].concat();
        let (found, damage) = read(&spliced);
        assert_eq!((&found[..], damage.is_some()), (&all[..2], true));
    }

    /// Batches of no known kind were passed over where they had no operations.
    #[test]
    fn regression_an_unknown_kind_is_damage_even_without_operations() {
        for kind in [0u32, 6, u32::MAX] {
            let content = [kind.to_le_bytes(), 0u32.to_le_bytes()].concat();
            assert!(operations::<u64>(&content, 0, &mut |_| ()).is_err(), "{kind}");
        }
        let checkpoint = |len: usize| {
            let mut content = vec![CHECKPOINT, 1].into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
            content.extend_from_slice(&(len as u64).to_le_bytes());
            content.resize(content.len() + len.next_multiple_of(8), 0);
            operations::<u64>(&content, 0, &mut |_| ())
        };
        assert!(checkpoint(MAX_CHECKPOINT_BYTES).is_ok());
        assert!(checkpoint(MAX_CHECKPOINT_BYTES + 1).is_err(), "no manifest could hold it");
        assert!(operations::<u64>(&[1, 0, 0, 0, 0, 0, 0, 0], 0, &mut |_| ()).is_ok());
    }

    #[test]
    fn zeros_and_frames_of_another_log_are_no_frames() {
        let (file, all) = sample();
        let mut padded = file.clone();
        padded.resize(file.len() + 4096, 0);
        assert_eq!(read(&padded), (all.clone(), None));
        let mut content = Content::default();
        content.push(Operation::Delete::<u64>(1));
        let mut foreign = file.clone();
        foreign.extend(content.frame(HEADER.salt + 1, 12).unwrap());
        assert_eq!(read(&foreign), (all, None));
    }

    #[test]
    fn salvage_goes_on_behind_damage() {
        let (sound, _) = sample();
        let frames = Frames::scan(&sound, &HEADER).contents;
        for (index, &(content, _)) in frames.iter().enumerate() {
            // In the header of a frame, and in its content.
            for at in [content - FRAME_HEADER_BYTES, content - 12, content] {
                let mut file = sound.clone();
                file[at] ^= 1;
                let numbers: Vec<u64> =
                    Frames::salvage(&file, &HEADER).iter().map(|frame| frame.number).collect();
                let expected: Vec<u64> =
                    (0..3).filter(|&other| other != index as u64).map(|other| 9 + other).collect();
                assert_eq!(numbers, expected, "byte {at}");
                assert_eq!(Frames::without_salt(&file, 9).len() < 3, at != content - FRAME_HEADER_BYTES);
            }
        }
    }

    #[test]
    fn frames_are_found_without_the_salt_where_their_numbers_are_known() {
        let (mut file, all) = sample();
        file[..HEADER_BYTES].fill(0xff);
        let mut found = Vec::new();
        for frame in Frames::without_salt(&file, 9) {
            operations(frame.content, frame.offset, &mut |operation| found.push(operation)).unwrap();
        }
        assert_eq!(found, all);
        assert!(Frames::without_salt(&file, 8).is_empty());
        file.resize(file.len() + 4096, 0);
        assert_eq!(Frames::without_salt(&file, 9).len(), 3);
    }
}
