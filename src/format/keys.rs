//! A keys file: the text keys of rows, and their texts or hashes of texts if the database stores
//! them, by (id, fingerprint, key).
//!
//! A row has several keys if two keys share an id, or if the same row was inserted under two keys.
//! Sequence numbers order keys by insertion.

use std::cmp::Ordering;

use super::paged::{ATTRIBUTES, Footer};
use xxhash_rust::xxh3::xxh3_64;

use super::{Decoder, Encoder, Flaw};
use crate::fingerprint::{Fingerprint, Row, mix64};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPK\r\n\x1a\n";
/// Names of the sections, in order.
pub(crate) const SECTIONS: [&str; 3] = ["key_ids", "ends", "records"];
/// Index of each section.
pub(crate) const IDS: usize = 0;
pub(crate) const ENDS: usize = 1;
pub(crate) const RECORDS: usize = 2;
/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1 << 16;
/// The bit of a key's length that announces the sequence number of the last insertion. Without it, the
/// key was inserted once.
const INSERTED_AGAIN: u32 = 1 << 31;
/// The longest hash of a text, in bytes.
pub const MAX_HASH_BYTES: usize = 32;

/// One key of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRecord<'a, F> {
    pub(crate) row: Row<F>,
    /// The sequence number of its first insertion.
    pub(crate) sequence: u64,
    /// The sequence number of its last insertion.
    pub(crate) last: u64,
    pub(crate) key: &'a [u8],
    /// The text, or its hash; empty if the database stores neither.
    pub(crate) text: &'a [u8],
}

impl<'a, F: Fingerprint> KeyRecord<'a, F> {
    /// The sort key of records, which is unique in a file.
    pub(crate) fn place(&self) -> (u64, F, &'a [u8]) {
        (self.row.id, self.row.fingerprint, self.key)
    }

    /// The order of records. Few have the same id, and their other fields are not read.
    #[inline]
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.row.id.cmp(&other.row.id).then_with(|| self.place().cmp(&other.place()))
    }

    /// The hash of a record. [`KeysInfo::key_sum`] is the sum of these hashes.
    pub(crate) fn hash(&self) -> u64 {
        let row = super::postings::row_hash(self.row.fingerprint.hash64(), self.row.id);
        mix64(row.wrapping_add(hash_key(self.key)))
    }

    /// One record of two of the same key: the earlier insertion, and the number of the last one.
    pub(crate) fn with(self, other: Self) -> Self {
        let first = if other.sequence < self.sequence { other } else { self };
        Self { last: self.last.max(other.last), ..first }
    }

    /// The hash of a record with its sequence numbers and its text. [`KeysInfo::value_sum`] is the
    /// sum of these hashes.
    pub(crate) fn value_hash(&self) -> u64 {
        let inserted = [self.sequence, self.last, xxh3_64(self.text)];
        inserted.iter().fold(self.hash(), |hash, number| mix64(hash.wrapping_add(*number)))
    }

    fn is_inserted_again(&self) -> bool {
        self.last != self.sequence
    }

    /// Length in the section `records`, as [`encode`](Self::encode) writes it.
    pub(crate) fn len_bytes(&self) -> u64 {
        let last = if self.is_inserted_again() { 8 } else { 0 };
        (F::LEN_BYTES + 12 + last + self.key.len() + self.text.len()) as u64
    }

    /// Appends the form that the section `records` stores.
    pub(crate) fn encode(&self, out: &mut Encoder) {
        self.row.fingerprint.write_le(&mut out.bytes);
        let key_len = u32::try_from(self.key.len()).unwrap_or(INSERTED_AGAIN - 1);
        if self.is_inserted_again() {
            out.u64(self.sequence).u32(key_len | INSERTED_AGAIN).u64(self.last);
        } else {
            out.u64(self.sequence).u32(key_len);
        }
        out.put(self.key).put(self.text);
    }

    /// Reads the record at `offset`.
    pub(crate) fn decode(id: u64, bytes: &'a [u8], offset: u64) -> Result<Self, Flaw> {
        let mut fields = Decoder::new("records", offset, bytes);
        let fingerprint = F::read_le(fields.take(F::LEN_BYTES)?);
        let (sequence, key_len) = (fields.u64()?, fields.u32()?);
        let last = if key_len & INSERTED_AGAIN == 0 { sequence } else { fields.u64()? };
        let key_len = (key_len & !INSERTED_AGAIN) as usize;
        if key_len > MAX_KEY_BYTES {
            return Err(fields.flaw(format!("a key of at most {MAX_KEY_BYTES} bytes"), key_len));
        }
        Ok(Self {
            row: Row { fingerprint, id },
            sequence,
            last,
            key: fields.take(key_len)?,
            text: fields.take_rest(),
        })
    }
}

/// The 64-bit xxh3 of a key. It is also the id of a row that is inserted with a key and without an
/// id.
pub(crate) fn hash_key(key: &[u8]) -> u64 {
    xxh3_64(key)
}

/// What determines the lengths of the sections of a keys file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeysSize {
    /// Number of records.
    pub(crate) count: u64,
    /// Length of the section `records`.
    pub(crate) record_bytes: u64,
}

impl KeysSize {
    pub(crate) fn add<F: Fingerprint>(&mut self, record: &KeyRecord<'_, F>) {
        self.count += 1;
        self.record_bytes += record.len_bytes();
    }

    /// The lengths of the sections, in order.
    pub(crate) fn section_lens(self) -> [u64; 3] {
        let numbers = self.count.saturating_mul(8);
        [numbers, numbers, self.record_bytes]
    }
}

/// The content of a keys file's footer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeysInfo {
    /// Number of records, at least 1.
    pub(crate) count: u64,
    /// Wrapping sum of the records' 64-bit hashes.
    pub(crate) key_sum: u64,
    /// Wrapping sum of the records' hashes with their sequence numbers and texts.
    pub(crate) value_sum: u64,
    /// Length of the section `records`.
    pub(crate) record_bytes: u64,
    /// Number of records whose id is not the hash of their key.
    pub(crate) other_ids: u64,
    /// Number of rows that have a key.
    pub(crate) rows: u64,
}

impl KeysInfo {
    /// Adds a record, and its length in the file, to the counts. `last` is the row of the record before.
    ///
    /// A file may hold a record longer than this program writes it: with the sequence number of a last
    /// insertion that is the first one.
    pub(crate) fn add<F: Fingerprint>(
        &mut self,
        record: &KeyRecord<'_, F>,
        len_bytes: u64,
        last: Option<Row<F>>,
    ) {
        self.count += 1;
        self.other_ids += u64::from(record.row.id != hash_key(record.key));
        self.rows += u64::from(last != Some(record.row));
        self.key_sum = self.key_sum.wrapping_add(record.hash());
        self.value_sum = self.value_sum.wrapping_add(record.value_hash());
        self.record_bytes += len_bytes;
    }

    pub(crate) fn size(&self) -> KeysSize {
        KeysSize { count: self.count, record_bytes: self.record_bytes }
    }

    pub(crate) fn attributes(&self) -> [u64; ATTRIBUTES] {
        [self.count, self.key_sum, self.record_bytes, self.value_sum, self.other_ids, self.rows, 0, 0]
    }

    /// Reads the footer at `offset`, and checks its sections against its counts.
    pub(crate) fn from_footer(footer: &Footer, offset: u64) -> Result<Self, Flaw> {
        let [count, key_sum, record_bytes, value_sum, other_ids, rows, zeros @ ..] = footer.attributes;
        if count == 0 {
            return Err(Flaw::new("footer", offset, "at least one key", count));
        }
        if rows == 0 || rows.max(other_ids) > count {
            let found = format!("{rows} rows, and {other_ids} other ids");
            return Err(Flaw::new("footer", offset, format!("up to {count}"), found));
        }
        Flaw::unless_equal("footer", offset, [0; 2], zeros)?;
        let info = Self { count, key_sum, value_sum, record_bytes, other_ids, rows };
        let lens: Vec<u64> = footer.sections.iter().map(|section| section.len_bytes).collect();
        Flaw::unless_equal("footer", offset, &info.size().section_lens()[..], &lens)?;
        Ok(info)
    }
}
