//! The operations in a frame.

use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::KeyRecord;
use crate::format::manifest::{MAX_CHECKPOINT_BYTES, MAX_HISTORY_BYTES};
use crate::format::{Decoder, Flaw, Problem};

/// A batch of rows with ids of the caller.
pub(super) const INSERT: u32 = 1;
/// A batch of ids to delete.
pub(super) const DELETE: u32 = 2;
/// A batch of rows with automatic ids.
pub(super) const INSERT_AUTOMATIC: u32 = 3;
/// A batch of rows with a key each.
pub(super) const INSERT_KEYED: u32 = 4;
/// The checkpoint of a job that the operations before it belong to. An empty one ends the job.
pub(super) const CHECKPOINT: u32 = 5;
/// The records of finished jobs, which replace all earlier ones. An empty one removes them.
pub(super) const HISTORY: u32 = 6;
/// A batch of ids to delete, ascending: each as its distance from the one before.
pub(super) const DELETE_SORTED: u32 = 7;

/// One operation of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation<'a, F> {
    Insert {
        row: Row<F>,
        /// Whether the database assigned the id.
        automatic: bool,
    },
    /// A row and one of its keys.
    InsertKeyed(KeyRecord<'a, F>),
    Delete(u64),
    /// The progress of a job.
    Checkpoint(&'a [u8]),
    /// The records of finished jobs.
    History(&'a [u8]),
}

impl<F> Operation<'_, F> {
    /// Whether it inserts a row.
    pub(crate) fn is_insert(&self) -> bool {
        matches!(self, Self::Insert { .. } | Self::InsertKeyed(_))
    }
}

/// Visits the operations of a frame's content, which starts at `offset`, in order.
pub(crate) fn operations<'a, F: Fingerprint>(
    content: &'a [u8],
    offset: u64,
    visit: &mut impl FnMut(Operation<'a, F>),
) -> Result<(), Problem> {
    let mut fields = Decoder::new("frame", offset, content);
    while !fields.is_at_end() {
        let kind = fields.u32()?;
        if kind == 0 {
            return Err(fields.flaw("a kind of batch", kind).into());
        }
        if kind > DELETE_SORTED {
            return Err(Problem::NewerFeature(format!("batches of kind {kind} in logs")));
        }
        let count = fields.u32()?;
        if kind == DELETE_SORTED {
            sorted_ids(count, &mut fields, &mut |id| visit(Operation::Delete(id)))?;
            continue;
        }
        for _ in 0..count {
            visit(operation(kind, &mut fields)?);
        }
    }
    Ok(())
}

/// Decodes one operation of a batch.
fn operation<'a, F: Fingerprint>(kind: u32, fields: &mut Decoder<'a>) -> Result<Operation<'a, F>, Flaw> {
    Ok(match kind {
        DELETE => Operation::Delete(fields.u64()?),
        INSERT_KEYED => {
            let id = fields.u64()?;
            let (bytes, at) = padded(fields)?;
            Operation::InsertKeyed(KeyRecord::decode(id, bytes, at)?)
        }
        CHECKPOINT => Operation::Checkpoint(note(fields, MAX_CHECKPOINT_BYTES)?),
        HISTORY => Operation::History(note(fields, MAX_HISTORY_BYTES)?),
        _ => {
            let fingerprint = F::read_le(fields.take(F::LEN_BYTES)?);
            let row = Row { fingerprint, id: fields.u64()? };
            Operation::Insert { row, automatic: kind == INSERT_AUTOMATIC }
        }
    })
}

/// The distances between ascending ids, the first one from 0: each in groups of seven bits, the lowest first. The
/// highest bit of a byte says that another one follows.
pub(super) fn encode_sorted(ids: &[u64]) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), 0);
    for &id in ids {
        let mut distance = id - before;
        while distance > 0x7f {
            let [low, ..] = distance.to_le_bytes();
            bytes.push(low | 0x80);
            distance >>= 7;
        }
        let [low, ..] = distance.to_le_bytes();
        bytes.push(low);
        before = id;
    }
    bytes
}

/// Visits the ids of a batch. Each takes a byte or more, so they take memory in proportion to the file.
fn sorted_ids(count: u32, fields: &mut Decoder<'_>, visit: &mut impl FnMut(u64)) -> Result<(), Flaw> {
    let (bytes, at) = padded(fields)?;
    let mut distances = Decoder::new("frame", at, bytes);
    let mut before: Option<u64> = None;
    for _ in 0..count {
        let distance = distance(&mut distances)?;
        let id =
            before.map_or(Some(distance), |before| before.checked_add(distance).filter(|&id| id > before));
        visit(id.ok_or_else(|| distances.flaw("ascending ids", distance))?);
        before = id;
    }
    distances.end()
}

/// Decodes a distance, in as few bytes as it takes.
fn distance(fields: &mut Decoder<'_>) -> Result<u64, Flaw> {
    let mut distance = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let [byte] = fields.array()?;
        let group = u64::from(byte & 0x7f);
        if group << shift >> shift != group || byte == 0 && shift > 0 {
            break;
        }
        distance |= group << shift;
        if byte & 0x80 == 0 {
            return Ok(distance);
        }
    }
    Err(fields.flaw("a number of 64 bits in as few bytes as it takes", "more bytes"))
}

/// Reads the bytes of an application, at most so many.
fn note<'a>(fields: &mut Decoder<'a>, most: usize) -> Result<&'a [u8], Flaw> {
    let (bytes, _) = padded(fields)?;
    if bytes.len() > most {
        return Err(fields.flaw(format!("up to {most} bytes"), bytes.len()));
    }
    Ok(bytes)
}

/// Reads a length, that many bytes, and zero padding up to a multiple of 8. Returns the bytes and
/// their offset.
fn padded<'a>(fields: &mut Decoder<'a>) -> Result<(&'a [u8], u64), Flaw> {
    let len = usize::try_from(fields.u64()?).unwrap_or(usize::MAX);
    let at = fields.offset();
    let bytes = fields.take(len)?;
    Decoder::new("frame", fields.offset(), fields.take(len.next_multiple_of(8) - len)?).rest_is_zero()?;
    Ok((bytes, at))
}
