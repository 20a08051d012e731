//! The write-ahead log: sound frames are replayed, and nothing else.

use std::sync::Arc;

use super::input::Input;
use super::options::options;
use super::oracle::{Rows, rows_in_order};
use crate::format::manifest::{LiveWal, Manifest};
use crate::format::wal::{
    Content, FRAME_HEADER_BYTES, Frames, HEADER_BYTES, Operation, WalHeader, content_hash, operations,
    sound_frames,
};
use crate::log::manifest;
use crate::memtable::changes::ChangeSet;
use crate::storage::{Storage, names};
use crate::testing::simulated::SimulatedDisk;
use crate::{Result, Row, Schema, Snapshot, Writer};

const LIVE: LiveWal = LiveWal { number: 1, salt: 0x5a17 };
const HEADER: WalHeader =
    WalHeader { database_id: [0xa0; 16], width: 64, number: LIVE.number, salt: LIVE.salt, first_frame: 1 };

/// Interprets bytes as a log, or builds a log and damages it. Then reads, opens and recovers it.
pub(super) fn wal_replay(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mode = input.byte();
    let log = if mode & 1 == 1 { damaged_log(&mut input) } else { any_log(&mut input, mode) };
    let _ = open(&log);
}

/// The bytes of the input. `mode` selects whether to make the header or the frames sound.
fn any_log(input: &mut Input<'_>, mode: u8) -> Vec<u8> {
    let mut log = input.rest().to_vec();
    if mode & 2 == 2 {
        log.splice(..HEADER_BYTES.min(log.len()), HEADER.encode());
    }
    if mode & 4 == 4 {
        seal_frames(&mut log);
    }
    if HEADER.check(&log).is_ok() {
        read(&log);
        let _ = sound_frames(&log, &HEADER);
    }
    log
}

/// Makes all frames sound, following their lengths. Uses the salt and the first number of the
/// header.
pub(in crate::testing) fn seal_frames(log: &mut [u8]) {
    let Some((header, mut rest)) = log.split_at_mut_checked(HEADER_BYTES) else { return };
    let salt = header[40..48].to_vec();
    let mut number = u64::from_le_bytes(header[48..56].try_into().unwrap_or_default());
    while rest.len() >= FRAME_HEADER_BYTES {
        let len = usize::from(u16::from_le_bytes([rest[4], rest[5]])) / 8 * 8;
        let len = len.min((rest.len() - FRAME_HEADER_BYTES) / 8 * 8);
        let (frame, later) = rest.split_at_mut(FRAME_HEADER_BYTES + len);
        let content_hash = content_hash(&frame[FRAME_HEADER_BYTES..]);
        frame[4..8].copy_from_slice(&u32::try_from(len).unwrap_or_default().to_le_bytes());
        frame[8..16].copy_from_slice(&number.to_le_bytes());
        frame[16..24].copy_from_slice(&content_hash.to_le_bytes());
        let crc = crc32fast::hash(&[&salt, &frame[4..FRAME_HEADER_BYTES]].concat());
        frame[..4].copy_from_slice(&crc.to_le_bytes());
        number = number.wrapping_add(1);
        rest = later;
    }
}

/// Builds frames of operations, cuts the log and changes a byte. Reading must return exactly the
/// operations of the frames before the damage.
fn damaged_log(input: &mut Input<'_>) -> Vec<u8> {
    let (mut log, mut all, mut ends) = (HEADER.encode(), Vec::new(), Vec::new());
    let changed = usize::from(input.u16());
    let cut = usize::from(input.u16());
    let flips = input.byte();
    let mut number = HEADER.first_frame;
    while !input.is_empty() {
        let frame: Vec<Operation<u64>> = (0..1 + input.below(6)).map(|_| operation(input)).collect();
        let mut content = Content::default();
        frame.iter().for_each(|&operation| content.push(operation));
        log.extend(content.frame(HEADER.salt, number).unwrap_or_default());
        number += 1;
        all.extend(frame);
        ends.push((log.len(), all.len()));
    }
    let cut = if cut < log.len() && flips & 1 == 1 { cut.max(HEADER_BYTES) } else { log.len() };
    log.truncate(cut);
    let mut sound = cut;
    if let Some(byte) = log.get_mut(changed).filter(|_| changed >= HEADER_BYTES && flips > 1) {
        *byte ^= flips & !1;
        sound = sound.min(changed);
    }
    let found = read(&log);
    let expected = ends.iter().rev().find(|(end, _)| *end <= sound).map_or(0, |&(_, count)| count);
    assert!(found == all[..expected], "exactly the operations before the damage");
    log
}

fn operation(input: &mut Input<'_>) -> Operation<'static, u64> {
    match input.byte() % 4 {
        0 => Operation::Delete(input.byte().into()),
        kind => {
            let row = Row { fingerprint: input.fingerprint(), id: input.byte().into() };
            Operation::Insert { row, automatic: kind == 1 }
        }
    }
}

/// The operations of the sound frames, up to the first invalid one.
fn read(log: &[u8]) -> Vec<Operation<'_, u64>> {
    let bytes = log.get(HEADER_BYTES..).unwrap_or_default();
    let frames = Frames::scan(bytes, HEADER.start(), HEADER.salt);
    let mut found = Vec::new();
    for content in frames.contents {
        if operations(&bytes[content], 0, &mut |operation| found.push(operation)).is_err() {
            break;
        }
    }
    assert!(frames.end.offset <= log.len().max(HEADER_BYTES) as u64);
    found
}

/// A database whose rows are all in the log. A reader, a writer that recovers the log, and a reader
/// after the recovery must see the same rows.
fn open(log: &[u8]) -> Result<()> {
    let options = options();
    let manifest =
        Manifest { live_wal: Some(LIVE), next_wal: 2, next_frame: 1, ..manifest::fresh(64, &Schema::new())? };
    let disk = SimulatedDisk::new();
    disk.set_file_bytes(names::MANIFEST, manifest.encode());
    disk.set_file_bytes(&names::wal(1), log.to_vec());
    let storage: Arc<dyn Storage> = Arc::new(disk);
    let read = Snapshot::<u64>::open(&storage, &options, None);
    let damaged = read.is_err();
    let recovered = Writer::<u64>::open(storage.clone(), options.clone()).and_then(Writer::close);
    assert_eq!(recovered.is_err(), damaged, "reader and writer agree: {recovered:?}");
    let before = rows_in_order(&read?)?;
    let after = rows_in_order(&Snapshot::open(&storage, &options, None)?)?;
    assert_eq!(before, after, "the replayed rows");
    let mut changes = ChangeSet::new();
    for operation in self::read(log) {
        changes.apply(operation);
    }
    assert_eq!(changes.rows().into_iter().collect::<Rows>(), before.into_iter().collect());
    Ok(())
}

/// Logs of a few operations, sound and damaged.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut content = Content::default();
    for id in 0..4 {
        let row = Row { fingerprint: id * 3, id };
        content.push(Operation::Insert { row, automatic: id > 2 });
    }
    content.push(Operation::<u64>::Delete(1));
    let frame = |number| content.frame(HEADER.salt, number).expect("a frame");
    let log = [HEADER.encode(), frame(1), frame(2)].concat();
    let made = |mode: u8, log: &[u8]| [&[mode], log].concat();
    let operations: Vec<u8> = (0..60).map(|i: u8| i.wrapping_mul(37)).collect();
    vec![
        made(0, &log),
        made(2, &log[..log.len() - 9]),
        made(6, &log),
        made(6, &[0; 200]),
        made(1, &[&[0, 0, 0, 0, 0], &operations[..]].concat()),
        made(1, &[&[90, 0, 0, 0, 2], &operations[..]].concat()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All headers are sound and have the same number, and each content extends to the end of the
    /// file. Reading every content would take hours.
    #[test]
    fn long_logs_of_overlapping_frames_are_read_in_linear_time() {
        let count = (8 << 20) / FRAME_HEADER_BYTES;
        let mut log = HEADER.encode();
        log.resize(HEADER_BYTES + count * FRAME_HEADER_BYTES, 0);
        for (nth, frame) in log[HEADER_BYTES..].chunks_exact_mut(FRAME_HEADER_BYTES).enumerate() {
            let len = u32::try_from((count - 1 - nth) * FRAME_HEADER_BYTES).unwrap();
            frame[4..8].copy_from_slice(&len.to_le_bytes());
            frame[8..16].copy_from_slice(&HEADER.first_frame.to_le_bytes());
            let crc = crc32fast::hash(&[&HEADER.salt.to_le_bytes(), &frame[4..]].concat());
            frame[..4].copy_from_slice(&crc.to_le_bytes());
        }
        assert!(read(&log).is_empty());
        assert!(sound_frames(&log, &HEADER).is_empty());
        wal_replay(&[&[2], &log[..]].concat());
    }
}
