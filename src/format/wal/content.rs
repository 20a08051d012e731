//! The content of the next frame.

use super::frames::{FRAME_HEADER_BYTES, content_hash, header_crc};
use super::operation::{
    CHECKPOINT, DELETE, DELETE_SORTED, HISTORY, INSERT, INSERT_AUTOMATIC, INSERT_KEYED, Operation,
    encode_sorted, operations,
};
use crate::fingerprint::Fingerprint;
use crate::format::{Encoder, Problem};
use crate::util::cast::to_u32;

/// The most ids of a sorted batch.
const MOST_SORTED: usize = 1 << 24;

/// Encoded operations, grouped into batches of the same kind.
#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(super) bytes: Encoder,
    /// The batch that further operations can join.
    batch: Option<OpenBatch>,
    /// The length without the operations that [`take_back`](Self::take_back) removes.
    mark: usize,
}

#[derive(Debug)]
struct OpenBatch {
    kind: u32,
    /// Where it starts in the content.
    start: usize,
    count: u32,
}

impl Content {
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.bytes.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.unmark();
        self.take_back();
    }

    /// From now on, only operations that come later are taken back.
    pub(crate) fn mark(&mut self) {
        self.mark = self.bytes.bytes.len();
        self.batch = None;
    }

    /// From now on, all operations are taken back.
    pub(crate) fn unmark(&mut self) {
        self.mark = 0;
    }

    /// Whether there is anything to take back.
    pub(crate) fn is_past_mark(&self) -> bool {
        self.bytes.bytes.len() > self.mark
    }

    /// Removes the operations behind the mark.
    pub(crate) fn take_back(&mut self) {
        self.bytes.bytes.truncate(self.mark);
        self.batch = None;
    }

    /// Visits the operations, in order.
    pub(crate) fn visit<F: Fingerprint>(
        &self,
        visit: &mut impl FnMut(Operation<'_, F>),
    ) -> Result<(), Problem> {
        operations(&self.bytes.bytes, 0, visit)
    }

    /// The same effect with less room for deletions. `None` if rows are inserted: then the order matters.
    pub(crate) fn packed<F: Fingerprint>(&self) -> Result<Option<Self>, Problem> {
        let (mut ids, mut notes, mut inserts) = (Vec::new(), Self::default(), false);
        self.visit::<F>(&mut |operation| match operation {
            Operation::Delete(id) => ids.push(id),
            _ if operation.is_insert() => inserts = true,
            note => notes.push(note),
        })?;
        if inserts {
            return Ok(None);
        }
        ids.sort_unstable();
        ids.dedup();
        for ids in ids.chunks(MOST_SORTED) {
            let bytes = encode_sorted(ids);
            notes.bytes.u32(DELETE_SORTED).u32(to_u32(ids.len())).u64(bytes.len() as u64).put(&bytes);
            notes.pad();
        }
        notes.batch = None;
        Ok(Some(notes))
    }

    /// What frames have held.
    pub(crate) fn of_frame(content: &[u8]) -> Self {
        let mut read = Self::default();
        read.bytes.put(content);
        read
    }

    pub(crate) fn push<F: Fingerprint>(&mut self, operation: Operation<'_, F>) {
        match operation {
            Operation::Insert { row, automatic } => {
                self.count(if automatic { INSERT_AUTOMATIC } else { INSERT });
                row.fingerprint.write_le(&mut self.bytes.bytes);
                self.bytes.u64(row.id);
            }
            Operation::Delete(id) => {
                self.count(DELETE);
                self.bytes.u64(id);
            }
            Operation::InsertKeyed(record) => {
                self.count(INSERT_KEYED);
                self.bytes.u64(record.row.id).u64(record.len_bytes());
                record.encode(&mut self.bytes);
                self.pad();
            }
            Operation::Checkpoint(bytes) => self.push_note(CHECKPOINT, bytes),
            Operation::History(bytes) => self.push_note(HISTORY, bytes),
        }
    }

    fn push_note(&mut self, kind: u32, bytes: &[u8]) {
        self.count(kind);
        self.bytes.u64(bytes.len() as u64).put(bytes);
        self.pad();
    }

    /// Pads to a multiple of 8 bytes, where every operation starts.
    fn pad(&mut self) {
        self.bytes.zeros_up_to(self.bytes.bytes.len().next_multiple_of(8));
    }

    /// Counts one more operation in the current batch, or in a new one if the kind differs.
    fn count(&mut self, kind: u32) {
        let (start, count) = match self.batch {
            Some(OpenBatch { kind: open, start, count }) if open == kind && count < u32::MAX => {
                (start, count + 1)
            }
            _ => {
                let start = self.bytes.bytes.len();
                self.bytes.u32(kind).u32(0);
                (start, 1)
            }
        };
        self.batch = Some(OpenBatch { kind, start, count });
        if let Some(place) = self.bytes.bytes.get_mut(start + 4..start + 8) {
            place.copy_from_slice(&count.to_le_bytes());
        }
    }

    /// Length of the whole frame, in bytes.
    pub(crate) fn frame_len_bytes(&self) -> u64 {
        (FRAME_HEADER_BYTES + self.bytes.bytes.len()) as u64
    }

    /// The whole frame. `None` if the content is too long for a frame.
    pub(crate) fn frame(&self, salt: u64, number: u64) -> Option<Vec<u8>> {
        let len = u32::try_from(self.bytes.bytes.len()).ok()?;
        let mut header = Encoder::default();
        header.u32(len).u64(number).u64(content_hash(&self.bytes.bytes));
        let mut frame = Encoder::default();
        frame.u32(header_crc(salt, *header.bytes.first_chunk()?)).put(&header.bytes);
        debug_assert_eq!(frame.bytes.len(), FRAME_HEADER_BYTES);
        frame.put(&self.bytes.bytes);
        Some(frame.bytes)
    }
}
