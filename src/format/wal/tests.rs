//! Tests of whole logs.

use super::operation::{CHECKPOINT, DELETE_SORTED, HISTORY};
use super::*;
use crate::fingerprint::Row;
use crate::format::keys::KeyRecord;
use crate::format::manifest::{MAX_CHECKPOINT_BYTES, MAX_HISTORY_BYTES};
use crate::format::{Encoder, Flaw};

const HEADER: WalHeader =
    WalHeader { database_id: [7; 16], width: 64, number: 3, salt: 0x1234_5678_9abc_def0, first_frame: 9 };

fn sample() -> (Vec<u8>, Vec<Operation<'static, u64>>) {
    let insert = |fingerprint, id, automatic| Operation::Insert { row: Row { fingerprint, id }, automatic };
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

fn frames(file: &[u8]) -> Frames {
    Frames::scan(&file[HEADER_BYTES..], HEADER.start(), HEADER.salt)
}

/// Where the contents of all sound frames start in a file.
fn content_offsets(file: &[u8]) -> Vec<usize> {
    frames(file).contents.iter().map(|content| HEADER_BYTES + content.start).collect()
}

fn read(file: &[u8]) -> (Vec<Operation<'_, u64>>, Option<Flaw>) {
    let frames = frames(file);
    let mut found = Vec::new();
    for content in frames.contents {
        let offset = content.start as u64;
        operations(&file[HEADER_BYTES..][content], offset, &mut |operation| found.push(operation)).unwrap();
    }
    (found, frames.damage)
}

#[test]
fn survives_the_round_trip_and_fits_only_its_own_place() {
    let (file, all) = sample();
    assert_eq!(HEADER.check(&file), Ok(()));
    assert_eq!(read(&file), (all, None));
    for other in [
        WalHeader { database_id: [8; 16], ..HEADER },
        WalHeader { width: 128, ..HEADER },
        WalHeader { number: 4, ..HEADER },
        WalHeader { salt: 4, ..HEADER },
        WalHeader { first_frame: 8, ..HEADER },
    ] {
        assert!(other.check(&file).is_err(), "{other:?}");
    }
    assert!(HEADER.check(&file[..63]).is_err());
}

#[test]
fn keys_texts_and_notes_of_all_lengths_survive_the_round_trip() {
    let bytes: Vec<u8> = (1..=40).collect();
    let mut all = Vec::new();
    for len in 0..20 {
        let (row, key) = (Row { fingerprint: len as u64, id: u64::MAX - len as u64 }, &bytes[..len]);
        for text in [&bytes[..0], &bytes[len..40]] {
            all.push(Operation::InsertKeyed(KeyRecord {
                row,
                sequence: 77,
                last: 77 + row.id % 2,
                key,
                text,
            }));
        }
        all.push(Operation::Checkpoint(key));
        all.push(Operation::History(key));
    }
    let mut content = Content::default();
    all.iter().for_each(|&operation| content.push(operation));
    let content = content.bytes.bytes;
    let mut found = Vec::new();
    operations::<u64>(&content, 0, &mut |operation| found.push(operation)).unwrap();
    assert_eq!(found, all);
    // Any cut and any non-zero padding is damage, and never panics.
    for cut in (8..content.len()).step_by(8) {
        let _ = operations::<u64>(&content[..cut], 0, &mut |_| ());
    }
    let padding = content.len() - 1;
    let mut other = content.clone();
    assert_eq!(std::mem::replace(&mut other[padding], 1), 0);
    assert!(operations::<u64>(&other, 0, &mut |_| ()).is_err());
}

#[test]
fn packed_deletions_have_the_same_effect_in_less_room() {
    let ids = [7, u64::MAX, 0, 1 << 40, 127, 7, 128, u64::MAX - 1];
    let (delete, note) = (Operation::<u64>::Delete, Operation::Checkpoint(b"halfway"));
    let mut content = Content::default();
    ids.iter().for_each(|&id| content.push(delete(id)));
    content.push::<u64>(note);
    let packed = content.packed::<u64>().unwrap().unwrap();
    let mut found = Vec::new();
    operations::<u64>(&packed.bytes.bytes, 0, &mut |operation| found.push(operation)).unwrap();
    let sorted = [0, 7, 127, 128, 1 << 40, u64::MAX - 1, u64::MAX].map(delete);
    assert_eq!(found, [&[note][..], &sorted].concat());
    (0..1000).for_each(|id| content.push(delete(id)));
    assert!(content.packed::<u64>().unwrap().unwrap().frame_len_bytes() < 1200);
    content.push(Operation::Insert { row: Row { fingerprint: 1u64, id: 2 }, automatic: false });
    assert!(content.packed::<u64>().unwrap().is_none(), "a row may be inserted before its id is deleted");
}

#[test]
fn sorted_ids_have_one_form() {
    let read = |count: u32, len: usize, bytes: &[u8]| {
        let mut content = Encoder::default();
        content
            .u32(DELETE_SORTED)
            .u32(count)
            .u64(len as u64)
            .put(bytes)
            .zeros_up_to(16 + 8 * bytes.len().div_ceil(8));
        let mut ids = Vec::new();
        operations::<u64>(&content.bytes, 0, &mut |operation| match operation {
            Operation::Delete(id) => ids.push(id),
            other => panic!("{other:?}"),
        })
        .map(|()| ids)
    };
    let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert_eq!(read(0, 0, &[]), Ok(vec![]));
    assert_eq!(read(3, 4, &[0, 1, 0x80, 1]), Ok(vec![0, 1, 129]));
    assert_eq!(read(1, 10, &largest), Ok(vec![u64::MAX]));
    let damaged: [(u32, &[u8]); 8] = [
        (2, &[5, 0]),
        (1, &[0x80, 0]),
        (1, &[0x85]),
        (1, &[5, 6]),
        (3, &[5, 6]),
        (1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]),
        (1, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 1]),
        (2, &[&largest[..], &[1]].concat()),
    ];
    for (count, bytes) in damaged {
        assert!(read(count, bytes.len(), bytes).is_err(), "{count} of {bytes:?}");
    }
    assert!(read(u32::MAX, 4, &[0, 1, 0x80, 1]).is_err(), "more ids than bytes");
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
    let last = content_offsets(&file)[2] - FRAME_HEADER_BYTES;
    for bit in 0..file.len() * 8 {
        let mut flipped = file.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if bit / 8 < HEADER_BYTES {
            assert!(HEADER.check(&flipped).is_err(), "bit {bit}");
            continue;
        }
        let (found, damage) = read(&flipped);
        assert!(all.starts_with(&found) && found.len() < all.len(), "bit {bit}");
        assert_eq!(damage.is_some(), bit / 8 < last, "bit {bit}");
    }
}

/// A log with a frame cut out was mistaken for one with an unfinished commit.
#[test]
fn regression_a_missing_frame_is_damage() {
    let (file, all) = sample();
    let contents = content_offsets(&file);
    let (second, third) = (contents[1] - FRAME_HEADER_BYTES, contents[2] - FRAME_HEADER_BYTES);
    let spliced = [&file[..second], &file[third..]].concat();
    let (found, damage) = read(&spliced);
    assert_eq!((&found[..], damage.is_some()), (&all[..2], true));
}

/// Empty batches of unknown kinds were accepted.
#[test]
fn regression_an_unknown_kind_is_damage_even_without_operations() {
    for kind in [0u32, 8, u32::MAX] {
        let content = [kind.to_le_bytes(), 0u32.to_le_bytes()].concat();
        assert!(operations::<u64>(&content, 0, &mut |_| ()).is_err(), "{kind}");
    }
    let note = |kind: u32, len: usize| {
        let mut content = vec![kind, 1].into_iter().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        content.extend_from_slice(&(len as u64).to_le_bytes());
        content.resize(content.len() + len.next_multiple_of(8), 0);
        operations::<u64>(&content, 0, &mut |_| ())
    };
    for (kind, most) in [(CHECKPOINT, MAX_CHECKPOINT_BYTES), (HISTORY, MAX_HISTORY_BYTES)] {
        assert!(note(kind, most).is_ok());
        assert!(note(kind, most + 1).is_err(), "no manifest could hold it");
    }
    assert!(operations::<u64>(&[1, 0, 0, 0, 0, 0, 0, 0], 0, &mut |_| ()).is_ok());
}

#[test]
fn a_log_is_read_on_from_every_place_between_two_frames() {
    let (file, all) = sample();
    let whole = frames(&file);
    for (count, content) in whole.contents.iter().enumerate() {
        let start = content.start - FRAME_HEADER_BYTES;
        let place = LogPlace { offset: (HEADER_BYTES + start) as u64, frame: 9 + count as u64 };
        let rest = &file[HEADER_BYTES + start..];
        let frames = Frames::scan(rest, place, HEADER.salt);
        assert_eq!((frames.end, frames.damage), (whole.end, None));
        let mut found = Vec::new();
        for content in frames.contents {
            operations(&rest[content], 0, &mut |operation| found.push(operation)).unwrap();
        }
        assert_eq!(found, all[2 * count..]);
        let wrong = LogPlace { frame: place.frame + 1, ..place };
        assert!(Frames::scan(rest, wrong, HEADER.salt).contents.is_empty());
    }
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
fn frames_after_damage_are_found() {
    let (sound, _) = sample();
    for (index, content) in content_offsets(&sound).into_iter().enumerate() {
        // In the header of a frame, and in its content.
        for at in [content - FRAME_HEADER_BYTES, content - 12, content] {
            let mut file = sound.clone();
            file[at] ^= 1;
            let numbers: Vec<u64> = sound_frames(&file, &HEADER).iter().map(|frame| frame.number).collect();
            let expected: Vec<u64> =
                (0..3).filter(|&other| other != index as u64).map(|other| 9 + other).collect();
            assert_eq!(numbers, expected, "byte {at}");
        }
    }
}
