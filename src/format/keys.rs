//! A keys file: the text keys of rows, and texts where a database keeps them, by (id, fingerprint, key).
//!
//! A row may have several keys: where two keys share an id, or where one row is given under two keys. Each
//! comes with a sequence number that tells which was there first.

use super::paged::{ATTRIBUTES, Footer};
use super::{Decoder, Encoder, Flaw};
use crate::fingerprint::{Fingerprint, Row, mix64};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPK\r\n\x1a\n";
/// Names of the sections, in order.
pub(crate) const SECTIONS: [&str; 3] = ["key ids", "ends", "records"];
/// Index of each section.
pub(crate) const IDS: usize = 0;
pub(crate) const ENDS: usize = 1;
pub(crate) const RECORDS: usize = 2;
/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1 << 16;

/// One key of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyRecord<'a, F> {
    pub(crate) row: Row<F>,
    /// Smaller for what was inserted earlier.
    pub(crate) sequence: u64,
    pub(crate) key: &'a [u8],
    /// Empty where the database keeps no texts.
    pub(crate) text: &'a [u8],
}

impl<'a, F: Fingerprint> KeyRecord<'a, F> {
    /// What records are ordered by; no two of a file are the same in it.
    pub(crate) fn place(&self) -> (u64, F, &'a [u8]) {
        (self.row.id, self.row.fingerprint, self.key)
    }

    /// What [`KeysInfo::key_sum`] adds up.
    pub(crate) fn hash(&self) -> u64 {
        let row = super::postings::row_hash(self.row.fingerprint.hash64(), self.row.id);
        mix64(row.wrapping_add(hash_key(self.key)))
    }

    /// Bytes in the section `records`.
    pub(crate) fn len_bytes(&self) -> u64 {
        (F::LEN_BYTES + 12 + self.key.len() + self.text.len()) as u64
    }

    /// Appends what stands in the section `records`.
    pub(crate) fn encode(&self, out: &mut Encoder) {
        self.row.fingerprint.write_le(&mut out.bytes);
        out.u64(self.sequence).u32(u32::try_from(self.key.len()).unwrap_or(u32::MAX));
        out.put(self.key).put(self.text);
    }

    /// Reads a record that stands at `offset`.
    pub(crate) fn decode(id: u64, bytes: &'a [u8], offset: u64) -> Result<Self, Flaw> {
        let mut fields = Decoder::new("records", offset, bytes);
        let fingerprint = F::read_le(fields.take(F::LEN_BYTES)?);
        let (sequence, key_len) = (fields.u64()?, fields.u32()? as usize);
        if key_len > MAX_KEY_BYTES {
            return Err(fields.flaw(format!("a key of at most {MAX_KEY_BYTES} bytes"), key_len));
        }
        Ok(Self {
            row: Row { fingerprint, id },
            sequence,
            key: fields.take(key_len)?,
            text: fields.take_rest(),
        })
    }
}

/// The 64-bit xxh3 of a key: also the id of a row that comes with a key and without an id.
pub(crate) fn hash_key(key: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key)
}

/// What the footer of a keys file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeysInfo {
    /// Number of records, at least 1.
    pub(crate) count: u64,
    /// Wrapping sum of the records' 64-bit hashes.
    pub(crate) key_sum: u64,
    /// Bytes of the section `records`.
    pub(crate) record_bytes: u64,
}

impl KeysInfo {
    /// Counts one more record.
    pub(crate) fn add<F: Fingerprint>(&mut self, record: &KeyRecord<'_, F>) {
        self.count += 1;
        self.key_sum = self.key_sum.wrapping_add(record.hash());
        self.record_bytes += record.len_bytes();
    }

    pub(crate) fn attributes(&self) -> [u64; ATTRIBUTES] {
        [self.count, self.key_sum, self.record_bytes, 0, 0, 0, 0, 0]
    }

    /// The lengths of the sections, in order.
    pub(crate) fn section_lens(&self) -> [u64; 3] {
        let numbers = self.count.saturating_mul(8);
        [numbers, numbers, self.record_bytes]
    }

    /// Reads a footer that stands at `offset`, and checks its sections against its counts.
    pub(crate) fn from_footer(footer: &Footer, offset: u64) -> Result<Self, Flaw> {
        let [count, key_sum, record_bytes, zeros @ ..] = footer.attributes;
        if count == 0 {
            return Err(Flaw::new("footer", offset, "at least one key", count));
        }
        Flaw::unless_equal("footer", offset, [0; 5], zeros)?;
        let info = Self { count, key_sum, record_bytes };
        let lens: Vec<u64> = footer.sections.iter().map(|section| section.len_bytes).collect();
        Flaw::unless_equal("footer", offset, &info.section_lens()[..], &lens)?;
        Ok(info)
    }
}
