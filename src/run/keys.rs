//! The keys of a run's rows.

use std::ops::Range;

use super::page_file::{FileSpec, PageFile};
use super::page_writer::PageFileWriter;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::Encoder;
use crate::format::header::{Header, Owner};
use crate::format::keys::{ENDS, IDS, KeyRecord, KeysInfo, KeysSize, MAGIC, RECORDS, SECTIONS};
use crate::format::manifest::KeysRecord;
use crate::storage::{Access, Storage, names};
use crate::util::cast::to_usize;
use crate::util::search;

/// How far from the likely place of an id a search looks first: half a cache line.
const NEAR: usize = 4;
/// Records per read-ahead.
const AHEAD_RECORDS: u64 = 1 << 14;

/// An open keys file.
#[derive(Debug)]
pub(crate) struct Keys {
    pub(crate) file: PageFile,
    pub(crate) info: KeysInfo,
}

impl Keys {
    /// The expected name and header of the keys file of a run.
    pub(crate) fn file_spec(owner: Owner) -> FileSpec {
        FileSpec { name: names::keys(owner.run), header: Header::new(MAGIC, owner), section_names: &SECTIONS }
    }

    /// Maps a keys file and checks it against its record.
    pub(crate) fn open(storage: &dyn Storage, spec: &FileSpec, record: KeysRecord) -> Result<Self> {
        let file = PageFile::open(storage, spec, Access::Random, record.file)?;
        let info =
            KeysInfo::from_footer(&file.footer, file.footer_offset()).map_err(|flaw| flaw.of(file.path()))?;
        let describe = |[count, keys, values]: [u64; 3]| format!("{count} keys, sums {keys} and {values}");
        let expected = describe([record.count, record.key_sum, record.value_sum]);
        file.check_equal("footer", expected, describe([info.count, info.key_sum, info.value_sum]))?;
        Ok(Self { file, info })
    }

    /// Visits every record of a row. Cost: a binary search over the ids.
    pub(crate) fn of_row<F: Fingerprint>(
        &self,
        row: Row<F>,
        visit: &mut dyn FnMut(KeyRecord<'_, F>),
    ) -> Result<()> {
        for index in self.of_id(row.id)? {
            let record = self.record::<F>(index)?;
            if record.row == row {
                visit(record);
            }
        }
        Ok(())
    }

    /// The numbers of the records of an id.
    pub(crate) fn of_id(&self, id: u64) -> Result<Range<u64>> {
        let start = self.first_from(id)?;
        let mut end = start;
        while end < self.info.count && self.id(end)? == id {
            end += 1;
        }
        Ok(start..end)
    }

    /// The first record whose id is not below `id`.
    ///
    /// Ids that are hashes are spread evenly. The search begins where an id would be then, which reads a few pages
    /// instead of one for each halving.
    fn first_from(&self, id: u64) -> Result<u64> {
        let last = self.info.count - 1;
        let mut likely = part(id, last);
        for _ in 0..2 {
            let found = self.id(likely)?;
            let distance = part(found.abs_diff(id), last);
            likely = if found < id { (likely + distance).min(last) } else { likely.saturating_sub(distance) };
        }
        let is_before = |index| Ok::<_, Error>(self.id(index as u64)? < id);
        let count = to_usize(self.info.count);
        search::partition_near(count, (to_usize(likely), NEAR), is_before).map(|index| index as u64)
    }

    /// Record number `index`, which must exist.
    pub(crate) fn record<F: Fingerprint>(&self, index: u64) -> Result<KeyRecord<'_, F>> {
        self.record_with_len(index).map(|(record, _)| record)
    }

    /// Record number `index`, which must exist, and its length in the file.
    fn record_with_len<F: Fingerprint>(&self, index: u64) -> Result<(KeyRecord<'_, F>, u64)> {
        let start = if index == 0 { 0 } else { self.number(ENDS, index - 1)? };
        let end = self.number(ENDS, index)?;
        let records = self.file.section(RECORDS);
        if start > end || end > records.len_bytes {
            let place = self.file.section(ENDS).offset + index * 8;
            return Err(self.file.flaw(place, format!("{start} to {}", records.len_bytes), end));
        }
        let at = records.offset + start;
        let bytes = self.file.bytes(to_usize(at)..to_usize(records.offset + end))?;
        let record =
            KeyRecord::decode(self.id(index)?, bytes, at).map_err(|flaw| flaw.of(self.file.path()))?;
        Ok((record, end - start))
    }

    fn id(&self, index: u64) -> Result<u64> {
        self.number(IDS, index)
    }

    fn number(&self, section: usize, index: u64) -> Result<u64> {
        let at = to_usize(self.file.section(section).offset + index * 8);
        Ok(self.file.bytes(at..at + 8)?.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)))
    }

    /// Reads all records in order. Checks their order and sums.
    pub(crate) fn cursor<F: Fingerprint>(&self) -> KeyCursor<'_, F> {
        KeyCursor { keys: self, next: 0, seen: Some(KeysInfo::default()), last: None }
    }

    /// Starts read-ahead of records.
    fn will_need(&self, from: u64) -> Result<()> {
        let end = (from + AHEAD_RECORDS).min(self.info.count);
        for section in [IDS, ENDS] {
            let base = self.file.section(section).offset;
            self.file.will_need(to_usize(base + from * 8)..to_usize(base + end * 8));
        }
        let base = self.file.section(RECORDS).offset;
        let start = if from == 0 { 0 } else { self.number(ENDS, from - 1)? };
        let end = self.number(ENDS, end - 1)?.min(self.info.record_bytes);
        self.file.will_need(to_usize(base + start.min(end))..to_usize(base + end));
        Ok(())
    }
}

/// The share of `whole` that `ids` is of all ids.
fn part(ids: u64, whole: u64) -> u64 {
    ((u128::from(ids) * u128::from(whole)) >> 64) as u64
}

/// Reads the records of a keys file in order.
pub(crate) struct KeyCursor<'a, F> {
    keys: &'a Keys,
    /// The number of the next record.
    next: u64,
    /// The sums of the records so far, if they are checked.
    seen: Option<KeysInfo>,
    last: Option<KeyRecord<'a, F>>,
}

impl<'a, F: Fingerprint> KeyCursor<'a, F> {
    /// Does not check the sums.
    pub(crate) fn without_sums(self) -> Self {
        Self { seen: None, ..self }
    }

    /// The next record; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<KeyRecord<'a, F>>> {
        let Keys { file, info } = self.keys;
        let next = self.next;
        if next == info.count {
            return file.check_equal("key_ids", *info, self.seen.unwrap_or(*info)).map(|()| None);
        }
        if next.is_multiple_of(AHEAD_RECORDS) {
            self.keys.will_need(next)?;
        }
        let (record, len_bytes) = self.keys.record_with_len::<F>(next)?;
        if self.last.is_some_and(|last| last.place() >= record.place()) {
            let place = file.section(IDS).offset + next * 8;
            return Err(file.flaw(place, "ascending ids, fingerprints and keys", record.row.id));
        }
        let last = self.last.replace(record).map(|last| last.row);
        if let Some(seen) = &mut self.seen {
            seen.add(&record, len_bytes, last);
        }
        self.next += 1;
        Ok(Some(record))
    }
}

/// Writes a keys file of the records that `visit_all` produces in order, which have this size.
pub(crate) fn write_keys<F: Fingerprint>(
    storage: &dyn Storage,
    spec: &FileSpec,
    size: KeysSize,
    visit_all: impl FnOnce(&mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()>,
) -> Result<KeysRecord> {
    let mut file = PageFileWriter::create(storage, spec, &size.section_lens())?;
    let (mut info, mut last, mut bytes) = (KeysInfo::default(), None, Encoder::default());
    visit_all(&mut |record| {
        bytes.bytes.clear();
        record.encode(&mut bytes);
        info.add(&record, record.len_bytes(), last.replace(record.row));
        file.put(IDS, &record.row.id.to_le_bytes())?;
        file.put(ENDS, &info.record_bytes.to_le_bytes())?;
        file.put(RECORDS, &bytes.bytes)
    })?;
    let file = file.finish(info.attributes())?;
    Ok(KeysRecord { count: info.count, key_sum: info.key_sum, value_sum: info.value_sum, file })
}
