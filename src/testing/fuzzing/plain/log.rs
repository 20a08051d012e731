//! The write-ahead log.

use xxhash_rust::xxh3::xxh3_64;

use super::fields::{Bytes, Fault, Fields, Found, ensure, ensure_version, find};
use super::manifest::{Log, Manifest};
use super::rows::{Key, Row};
use super::value::Value;

const HEADER: usize = 64;
const FRAME_HEADER: usize = 24;

pub(super) enum Operation {
    Insert(Row, Option<Key>),
    Delete(u64),
    Checkpoint(Vec<u8>),
    History(Vec<u8>),
}

/// The operations of a log.
pub(super) fn read(files: &Bytes, manifest: &Manifest, log: &Log) -> Found<Vec<Operation>> {
    let name = format!("wal-{:08}.log", log.number);
    let bytes = find(files, &name)?;
    ensure(bytes.len() >= HEADER && bytes.len() as u64 <= 1 << 32, format!("length of {name}"))?;
    let mut header = Fields::new(&name, &bytes[..HEADER], 0);
    header.expect(b"\x89NPW\r\n\x1a\n", "magic")?;
    ensure(crc32fast::hash(&bytes[..60]).to_le_bytes() == bytes[60..64], format!("CRC of {name}"))?;
    ensure_version(header.u32()?, &name)?;
    header.expect(&manifest.width.to_le_bytes(), "width")?;
    header.expect(&manifest.database_id, "database id")?;
    let numbers = [log.number, log.salt, log.first_frame];
    numbers.iter().try_for_each(|number| header.expect(&number.to_le_bytes(), "field"))?;
    header.expect(&[0; 4], "padding")?;

    let (mut at, mut number, mut operations) = (HEADER, log.first_frame, Vec::new());
    while let Some(content) = good_frame(bytes, at, log.salt, number) {
        read_content(&mut Fields::new(&name, content, at + FRAME_HEADER), manifest, &mut operations)?;
        (at, number) = (at + FRAME_HEADER + content.len(), number + 1);
    }
    for later in (at..).step_by(8).take_while(|later| later + FRAME_HEADER <= bytes.len()) {
        let is_later = frame_header(bytes, later, log.salt).is_some_and(|(_, found)| found > number);
        ensure(!is_later, format!("a lost frame of {name}"))?;
    }
    ensure(log.end.is_none_or(|end| end == number), format!("the end of {name}"))?;
    let has_rows = operations.iter().any(|operation| matches!(operation, Operation::Insert(..)));
    let may_have_rows = log.end.is_none() || manifest.flags & 1 == 1;
    ensure(!has_rows || may_have_rows, format!("rows of {name} without the flag of ids"))?;
    Ok(operations)
}

/// The length and the number of a header whose checksum holds.
fn frame_header(bytes: &[u8], at: usize, salt: u64) -> Option<(usize, u64)> {
    let header = bytes.get(at..at + FRAME_HEADER)?;
    let crc = crc32fast::hash(&[&salt.to_le_bytes(), &header[4..]].concat());
    let mut fields = Fields::new("", header, at);
    let (stored, len, number) = (fields.u32().ok()?, fields.u32().ok()?, fields.u64().ok()?);
    (stored == crc && len % 8 == 0).then_some((len as usize, number))
}

/// The content of the frame of a number, if it is good.
fn good_frame(bytes: &[u8], at: usize, salt: u64, number: u64) -> Option<&[u8]> {
    let (len, _) = frame_header(bytes, at, salt).filter(|&(_, found)| found == number)?;
    let content = bytes.get(at + FRAME_HEADER..at + FRAME_HEADER + len)?;
    (xxh3_64(content).to_le_bytes() == bytes[at + 16..at + 24]).then_some(content)
}

fn read_content(content: &mut Fields<'_>, manifest: &Manifest, to: &mut Vec<Operation>) -> Found<()> {
    while !content.is_empty() {
        let (kind, count) = (content.u32()?, content.u32()?);
        ensure(kind != 0, "a batch of kind 0")?;
        if kind > 7 {
            return Err(Fault::Newer("a kind of batch".into()));
        }
        ensure(kind != 4 || count == 0 || manifest.flags & 4 == 4, "keys in a database without keys")?;
        if kind == 7 {
            read_sorted(count, content, to)?;
            continue;
        }
        for _ in 0..count {
            to.push(read_operation(kind, content, manifest.width)?);
        }
    }
    Ok(())
}

fn read_operation(kind: u32, content: &mut Fields<'_>, width: u32) -> Found<Operation> {
    Ok(match kind {
        2 => Operation::Delete(content.u64()?),
        4 => {
            let id = content.u64()?;
            let (fingerprint, key) = Key::read("a log", padded(content)?, width)?;
            Operation::Insert((fingerprint, id), Some(key))
        }
        5 | 6 => {
            let text = padded(content)?.to_vec();
            ensure(text.len() <= 1 << 20, "length of a text")?;
            if kind == 5 { Operation::Checkpoint(text) } else { Operation::History(text) }
        }
        _ => {
            let fingerprint = Value::from_le_bytes(content.take(u64::from(width / 8))?);
            Operation::Insert((fingerprint, content.u64()?), None)
        }
    })
}

/// Ids to delete: how far each is from the one before, seven bits a byte.
fn read_sorted(count: u32, content: &mut Fields<'_>, to: &mut Vec<Operation>) -> Found<()> {
    let mut bytes = padded(content)?.iter();
    let mut id = 0u128;
    for index in 0..count {
        let (mut distance, mut shift) = (0u128, 0);
        loop {
            let byte = *bytes.next().ok_or(Fault::Damage("ids of a sorted batch".into()))?;
            ensure(byte != 0 || shift == 0, "the last byte of a distance")?;
            distance |= u128::from(byte & 127) << shift;
            shift += 7;
            ensure(distance >> 64 == 0 && shift <= 70, "a long distance")?;
            if byte < 128 {
                break;
            }
        }
        ensure(index == 0 || distance > 0, "an id twice")?;
        id += distance;
        to.push(Operation::Delete(u64::try_from(id).map_err(|_| Fault::Damage("a large id".into()))?));
    }
    ensure(bytes.next().is_none(), "more bytes than ids")
}

/// A length, so many bytes, and zeros up to a multiple of 8.
fn padded<'a>(content: &mut Fields<'a>) -> Found<&'a [u8]> {
    let len = content.u64()?;
    let bytes = content.take(len)?;
    let padding = content.take(len.next_multiple_of(8) - len)?;
    ensure(padding.iter().all(|&byte| byte == 0), "padding of an operation")?;
    Ok(bytes)
}
