//! The manifest: which runs are live, and what their files must look like.
//!
//! A magic, a version, a length, then tagged records, then one CRC-32 over everything before it.

use super::segment::MAX_ENTRIES;
use super::{Decoder, Encoder, Flaw, Problem, VERSION, check_crc};
use crate::layout::{Layout, LayoutChoice};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPM\r\n\x1a\n";
/// Bytes before the first record.
pub(crate) const PREFIX_BYTES: usize = 24;
/// The record about the database as a whole: the first, and once.
pub(crate) const TAG_DATABASE: [u8; 4] = *b"DATA";
/// A record per live run, oldest first.
pub(crate) const TAG_RUN: [u8; 4] = *b"RUN ";
/// The identities of runs that were built elsewhere and ingested; at most once, behind the runs.
pub(crate) const TAG_ADOPTED: [u8; 4] = *b"ADPT";
/// The ranges of ids that were given automatically; at most once.
pub(crate) const TAG_AUTOMATIC: [u8; 4] = *b"AUTO";
/// Bit 0 of the flags: some id has been stored, and `largest_id` is the largest ever.
pub(crate) const FLAG_HAS_IDS: u32 = 1;
/// Bit 1 of the flags: the folder holds runs for other databases to ingest.
pub(crate) const FLAG_RUNS_ONLY: u32 = 2;
/// Bit 2 of the flags: rows have keys.
pub(crate) const FLAG_KEYS: u32 = 4;
/// Bit 3 of the flags: and texts.
pub(crate) const FLAG_TEXTS: u32 = 8;
/// The recipe that makes fingerprints from documents; at most once.
pub(crate) const TAG_RECIPE: [u8; 4] = *b"RECP";
/// How far an unfinished job has come; at most once, the last.
pub(crate) const TAG_CHECKPOINT: [u8; 4] = *b"CKPT";
/// The longest recipe, in bytes.
pub(crate) const MAX_RECIPE_BYTES: usize = 4096;
/// The longest checkpoint, in bytes.
pub(crate) const MAX_CHECKPOINT_BYTES: usize = 1 << 20;
/// The largest generation, and the largest number of the next run, log or frame: counting on from it
/// does not come to an end.
pub(crate) const MAX_NUMBER: u64 = 1 << 63;
/// The most ranges of automatic ids; beyond, neighbouring ranges are told as one.
pub(crate) const MAX_RANGES: usize = 4096;

/// A decoded manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Counts the manifests of this database; each replacement adds one.
    pub(crate) generation: u64,
    pub(crate) database_id: [u8; 16],
    pub(crate) width: u32,
    /// What automatic layouts are tuned for.
    pub(crate) k: u32,
    pub(crate) layout: LayoutChoice,
    /// The number of the next run.
    pub(crate) next_run: u64,
    /// The largest id ever stored.
    pub(crate) largest_id: Option<u64>,
    /// The folder holds runs for other databases to ingest, and takes no writer.
    pub(crate) runs_only: bool,
    /// The write-ahead log whose operations are in no run yet.
    pub(crate) live_wal: Option<u64>,
    /// The number of the next write-ahead log.
    pub(crate) next_wal: u64,
    /// The number of the first frame of the live write-ahead log, or of the next one.
    pub(crate) next_frame: u64,
    /// Oldest first.
    pub(crate) runs: Vec<RunRecord>,
    /// Identities of ingested runs, merged or not, in the order of ingestion.
    pub(crate) ingested: Vec<[u8; 16]>,
    pub(crate) automatic: IdRanges,
    /// Where rows have keys.
    pub(crate) keys: Option<KeysKept>,
    pub(crate) recipe: Option<String>,
    /// Empty where no job is unfinished.
    pub(crate) checkpoint: Vec<u8>,
}

/// What a database keeps beside its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeysKept {
    pub(crate) texts: bool,
    /// The sequence number of the next key.
    pub(crate) next_sequence: u64,
}

/// One live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunRecord {
    pub(crate) run: u64,
    /// Random; the same run keeps it wherever it is copied to.
    pub(crate) identity: [u8; 16],
    pub(crate) layout: Layout,
    pub(crate) entries: u64,
    pub(crate) rows: u64,
    pub(crate) fingerprint_sum: u64,
    pub(crate) row_sum: u64,
    /// Number of ids that the run deletes from older runs.
    pub(crate) tombstones: u64,
    /// Table 0 first.
    pub(crate) segments: Vec<FileRecord>,
    pub(crate) postings_file: FileRecord,
    /// Where there are tombstones.
    pub(crate) tombstones_file: Option<FileRecord>,
    /// Where rows have keys.
    pub(crate) keys: Option<KeysRecord>,
}

/// The keys of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeysRecord {
    pub(crate) count: u64,
    pub(crate) key_sum: u64,
    pub(crate) file: FileRecord,
}

/// What a file must look like to be the one that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRecord {
    pub(crate) len_bytes: u64,
    /// The CRC-32 that ends the footer page.
    pub(crate) footer_crc: u32,
}

impl Manifest {
    /// Gives out a run number, never to be given out again.
    pub(crate) fn take_run_number(&mut self) -> u64 {
        let run = self.next_run;
        self.next_run += 1;
        run
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut records = Encoder::default();
        record(&mut records, TAG_DATABASE, |body| self.encode_database(body));
        for run in &self.runs {
            record(&mut records, TAG_RUN, |body| run.encode(self.keys.is_some(), body));
        }
        let mut count = 1 + u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
        if !self.ingested.is_empty() {
            record(&mut records, TAG_ADOPTED, |body| {
                for identity in &self.ingested {
                    body.put(identity);
                }
            });
            count += 1;
        }
        if !self.automatic.is_empty() {
            record(&mut records, TAG_AUTOMATIC, |body| self.automatic.encode(body));
            count += 1;
        }
        if let Some(recipe) = &self.recipe {
            record(&mut records, TAG_RECIPE, |body| {
                body.put(recipe.as_bytes());
            });
            count += 1;
        }
        if !self.checkpoint.is_empty() {
            record(&mut records, TAG_CHECKPOINT, |body| {
                body.put(&self.checkpoint);
            });
            count += 1;
        }
        let mut file = Encoder::default();
        file.put(&MAGIC).u32(VERSION).u32(count);
        file.u64((PREFIX_BYTES + records.bytes.len() + 4) as u64).put(&records.bytes);
        let crc = crc32fast::hash(&file.bytes);
        file.u32(crc);
        file.bytes
    }

    /// Decodes a whole manifest file. The checksum is verified before anything else is believed.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, Problem> {
        let mut prefix = Decoder::new("prefix", 0, file);
        Flaw::unless_equal("prefix", 0, super::paged::hex(&MAGIC), super::paged::hex(&prefix.array::<8>()?))?;
        let (body, stored) = file
            .split_last_chunk::<4>()
            .ok_or_else(|| Flaw::new("checksum", 0, "a CRC-32", format!("{} bytes", file.len())))?;
        check_crc("checksum", body.len() as u64, u32::from_le_bytes(*stored), crc32fast::hash(body))?;
        let version = prefix.u32()?;
        if version > VERSION {
            return Err(Problem::Newer(version));
        }
        Flaw::unless_equal("prefix", 8, VERSION, version)?;
        let count = prefix.u32()?;
        Flaw::unless_equal("prefix", 16, file.len() as u64, prefix.u64()?)?;
        let records = body.get(PREFIX_BYTES..).unwrap_or_default();
        Ok(Self::decode_records(Decoder::new("records", PREFIX_BYTES as u64, records), count)?)
    }

    fn decode_records(mut records: Decoder<'_>, count: u32) -> Result<Self, Flaw> {
        let (tag, mut body) = next_record(&mut records)?;
        if count == 0 || tag != TAG_DATABASE {
            return Err(records.flaw("record DATA", format!("{tag:?}")));
        }
        let mut manifest = Self::decode_database(&mut body)?;
        let mut last = 0;
        for _ in 1..count {
            let (tag, mut body) = next_record(&mut records)?;
            // The place of each kind in the order; only runs come several times.
            let place = [TAG_RUN, TAG_ADOPTED, TAG_AUTOMATIC, TAG_RECIPE, TAG_CHECKPOINT]
                .iter()
                .position(|known| *known == tag)
                .filter(|&place| place > last || (place == 0 && last == 0));
            match place {
                Some(0) => manifest.runs.push(RunRecord::decode(&mut body, &manifest)?),
                Some(1) => manifest.ingested = decode_adopted(&mut body)?,
                Some(2) => manifest.automatic = IdRanges::decode(&mut body)?,
                Some(3) => manifest.recipe = Some(decode_recipe(&mut body)?),
                Some(4) => manifest.checkpoint = decode_checkpoint(&mut body)?,
                _ => {
                    let expected = "records DATA, RUN, ADPT, AUTO, RECP, CKPT in this order";
                    return Err(records.flaw(expected, format!("{tag:?}")));
                }
            }
            last = place.unwrap_or(last);
        }
        Flaw::unless_equal("records", records.offset(), 0, records.take_rest().len())?;
        Ok(manifest)
    }

    fn encode_database(&self, body: &mut Encoder) {
        let (kind, first, second) = match self.layout {
            LayoutChoice::Auto => (0, 0, 0),
            LayoutChoice::Rotations { tables } => (1, tables, 0),
            LayoutChoice::Blocks { blocks, prefix } => (2, blocks, prefix),
        };
        let has_ids = if self.largest_id.is_some() { FLAG_HAS_IDS } else { 0 };
        let runs_only = if self.runs_only { FLAG_RUNS_ONLY } else { 0 };
        let keys = match self.keys {
            None => 0,
            Some(KeysKept { texts: false, .. }) => FLAG_KEYS,
            Some(KeysKept { texts: true, .. }) => FLAG_KEYS | FLAG_TEXTS,
        };
        let flags = has_ids | runs_only | keys;
        body.u64(self.generation).put(&self.database_id).u32(self.width).u32(self.k);
        body.u32(kind).u32(first).u32(second).u32(flags);
        body.u64(self.next_run).u64(self.largest_id.unwrap_or(0));
        body.u64(self.live_wal.unwrap_or(0)).u64(self.next_wal).u64(self.next_frame);
        if let Some(keys) = self.keys {
            body.u64(keys.next_sequence);
        }
    }

    fn decode_database(body: &mut Decoder<'_>) -> Result<Self, Flaw> {
        let generation = body.u64()?;
        if generation == 0 {
            return Err(body.flaw("a generation of at least 1", generation));
        }
        let database_id = body.array()?;
        let width = body.u32()?;
        if ![64, 128, 256].contains(&width) {
            return Err(body.flaw("a width of 64, 128 or 256", width));
        }
        let k = body.u32()?;
        if k > width {
            return Err(body.flaw(format!("k up to {width}"), k));
        }
        let layout = match (body.u32()?, body.u32()?, body.u32()?) {
            (0, 0, 0) => LayoutChoice::Auto,
            (1, tables @ 1..=64, 0) => LayoutChoice::Rotations { tables },
            (2, blocks @ 1..=64, prefix) if (1..=blocks).contains(&prefix) => {
                LayoutChoice::Blocks { blocks, prefix }
            }
            other => return Err(body.flaw("a known layout", format!("{other:?}"))),
        };
        let flags = body.u32()?;
        let keyed = flags & FLAG_KEYS != 0;
        if flags & !(FLAG_HAS_IDS | FLAG_RUNS_ONLY | FLAG_KEYS | FLAG_TEXTS) != 0
            || (flags & FLAG_TEXTS != 0 && !keyed)
        {
            return Err(body.flaw("known flags", flags));
        }
        let next_run = body.u64()?;
        if next_run == 0 {
            return Err(body.flaw("a next run of at least 1", next_run));
        }
        let largest_id = body.u64()?;
        if flags & FLAG_HAS_IDS == 0 && largest_id != 0 {
            return Err(body.flaw("no largest id without its flag", largest_id));
        }
        let largest_id = (flags & FLAG_HAS_IDS != 0).then_some(largest_id);
        let runs_only = flags & FLAG_RUNS_ONLY != 0;
        let (live_wal, next_wal) = (body.u64()?, body.u64()?);
        if live_wal >= next_wal {
            return Err(body.flaw("a live log below the next one", format!("{live_wal} and {next_wal}")));
        }
        if runs_only && live_wal != 0 {
            return Err(body.flaw("no live log in a folder of runs", live_wal));
        }
        let live_wal = (live_wal != 0).then_some(live_wal);
        let next_frame = body.u64()?;
        let next_sequence = if keyed { body.u64()? } else { 0 };
        let keys = keyed.then_some(KeysKept { texts: flags & FLAG_TEXTS != 0, next_sequence });
        if [generation, next_run, next_wal, next_frame, next_sequence]
            .iter()
            .any(|&number| number > MAX_NUMBER)
        {
            return Err(body.flaw("numbers up to 2^63", "one that is larger"));
        }
        Flaw::unless_equal("records", body.offset(), 0, body.take_rest().len())?;
        Ok(Self {
            generation,
            database_id,
            width,
            k,
            layout,
            next_run,
            largest_id,
            runs_only,
            live_wal,
            next_wal,
            next_frame,
            runs: vec![],
            ingested: vec![],
            automatic: IdRanges::default(),
            keys,
            recipe: None,
            checkpoint: vec![],
        })
    }
}

impl RunRecord {
    /// The records of all files: the segments, the postings file, the tombstones and the keys if there are any.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FileRecord> {
        let keys = self.keys.iter().map(|keys| &keys.file);
        self.segments.iter().chain([&self.postings_file]).chain(&self.tombstones_file).chain(keys)
    }

    fn encode(&self, keyed: bool, body: &mut Encoder) {
        body.u64(self.run).put(&self.identity);
        body.u64(self.entries).u64(self.rows).u64(self.fingerprint_sum).u64(self.row_sum);
        body.u64(self.tombstones);
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        body.u32(small(self.layout.block_count())).u32(small(self.layout.table_count()));
        body.u64s(self.layout.prefixes());
        let keys = self.keys.iter().map(|keys| &keys.file);
        for file in self.files().take(self.files().count() - keys.len()) {
            file.encode(body);
        }
        if keyed {
            body.u64(self.keys.map_or(0, |keys| keys.count)).u64(self.keys.map_or(0, |keys| keys.key_sum));
            keys.for_each(|file| file.encode(body));
        }
    }

    fn decode(body: &mut Decoder<'_>, database: &Manifest) -> Result<Self, Flaw> {
        let run = body.u64()?;
        if run >= database.next_run || database.runs.iter().any(|known| known.run == run) {
            return Err(body.flaw(format!("a run below {}, each once", database.next_run), run));
        }
        let identity = body.array()?;
        let (entries, rows) = (body.u64()?, body.u64()?);
        if entries > MAX_ENTRIES || rows < entries || (entries == 0) != (rows == 0) {
            return Err(body
                .flaw("at most 2^32 - 1 entries, and a row for each", format!("{entries} and {rows} rows")));
        }
        if rows > 0 && database.largest_id.is_none() {
            return Err(body.flaw("the flag that ids have been stored", "rows without it"));
        }
        let (fingerprint_sum, row_sum) = (body.u64()?, body.u64()?);
        let tombstones = body.u64()?;
        if rows == 0 && tombstones == 0 {
            return Err(body.flaw("rows or tombstones", "neither"));
        }
        if database.runs_only && tombstones > 0 {
            return Err(body.flaw("no tombstones among runs for other databases", tombstones));
        }
        let (blocks, tables) = (body.u32()?, body.u32()?);
        if tables > 64 {
            return Err(body.flaw("at most 64 tables", tables));
        }
        let prefixes = (0..tables).map(|_| body.u64()).collect::<Result<Vec<_>, _>>()?;
        let layout = Layout::from_parts(database.width, blocks, prefixes)
            .ok_or_else(|| body.flaw("blocks and prefixes that make a layout", format!("{blocks} blocks")))?;
        let segments = (0..tables).map(|_| FileRecord::decode(body)).collect::<Result<Vec<_>, _>>()?;
        let postings_file = FileRecord::decode(body)?;
        let tombstones_file = if tombstones > 0 { Some(FileRecord::decode(body)?) } else { None };
        let keys = if database.keys.is_some() { KeysRecord::decode(body)? } else { None };
        Flaw::unless_equal("records", body.offset(), 0, body.take_rest().len())?;
        Ok(Self {
            run,
            identity,
            layout,
            entries,
            rows,
            fingerprint_sum,
            row_sum,
            tombstones,
            segments,
            postings_file,
            tombstones_file,
            keys,
        })
    }
}

impl KeysRecord {
    /// Nothing where a run has no keys.
    fn decode(body: &mut Decoder<'_>) -> Result<Option<Self>, Flaw> {
        let (count, key_sum) = (body.u64()?, body.u64()?);
        match count {
            0 if key_sum == 0 => Ok(None),
            0 => Err(body.flaw("a key sum of 0 for no keys", key_sum)),
            _ => Ok(Some(Self { count, key_sum, file: FileRecord::decode(body)? })),
        }
    }
}

impl FileRecord {
    fn encode(&self, body: &mut Encoder) {
        body.u64(self.len_bytes).u32(self.footer_crc).u32(0);
    }

    fn decode(body: &mut Decoder<'_>) -> Result<Self, Flaw> {
        let record = Self { len_bytes: body.u64()?, footer_crc: body.u32()? };
        Flaw::unless_equal("records", body.offset(), 0, body.u32()?)?;
        Ok(record)
    }
}

fn decode_adopted(body: &mut Decoder<'_>) -> Result<Vec<[u8; 16]>, Flaw> {
    let offset = body.offset();
    let (identities, rest) = body.take_rest().as_chunks::<16>();
    if identities.is_empty() || !rest.is_empty() {
        return Err(Flaw::new("records", offset, "identities of 16 bytes", "another length"));
    }
    Ok(identities.to_vec())
}

fn decode_recipe(body: &mut Decoder<'_>) -> Result<String, Flaw> {
    let offset = body.offset();
    let bytes = body.take_rest();
    let text = std::str::from_utf8(bytes).ok().filter(|text| (1..=MAX_RECIPE_BYTES).contains(&text.len()));
    let flaw = || Flaw::new("records", offset, "a recipe of at most 4096 bytes of UTF-8", "something else");
    text.map(str::to_string).ok_or_else(flaw)
}

fn decode_checkpoint(body: &mut Decoder<'_>) -> Result<Vec<u8>, Flaw> {
    let (offset, bytes) = (body.offset(), body.take_rest());
    if (1..=MAX_CHECKPOINT_BYTES).contains(&bytes.len()) {
        return Ok(bytes.to_vec());
    }
    Err(Flaw::new("records", offset, "a checkpoint of at most 1 MiB", bytes.len()))
}

/// Ids that were given automatically: disjoint ranges in ascending order, ends included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct IdRanges(Vec<(u64, u64)>);

impl IdRanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().copied()
    }

    /// Adds a range, and joins what touches. Beyond [`MAX_RANGES`], the nearest two become one.
    pub(crate) fn add(&mut self, first: u64, last: u64) {
        if let Some(end) = self.0.last_mut()
            && end.1.checked_add(1) == Some(first)
        {
            end.1 = last;
            return;
        }
        let (mut first, mut last) = (first, last);
        let touches = |&(a, b): &(u64, u64)| a <= last.saturating_add(1) && first <= b.saturating_add(1);
        let start = self
            .0
            .iter()
            .position(touches)
            .unwrap_or_else(|| self.0.partition_point(|range| range.0 < first));
        let end = start + self.0.iter().skip(start).take_while(|range| touches(range)).count();
        for &(a, b) in self.0.get(start..end).unwrap_or_default() {
            first = first.min(a);
            last = last.max(b);
        }
        self.0.splice(start..end, [(first, last)]);
        if self.0.len() > MAX_RANGES {
            self.join_nearest();
        }
    }

    fn join_nearest(&mut self) {
        let gaps = self.0.iter().zip(self.0.iter().skip(1)).map(|(left, right)| right.0 - left.1);
        if let Some((at, _)) = gaps.enumerate().min_by_key(|&(_, gap)| gap) {
            let right = self.0.remove(at + 1);
            if let Some(left) = self.0.get_mut(at) {
                left.1 = right.1;
            }
        }
    }

    fn encode(&self, body: &mut Encoder) {
        for (first, last) in self.iter() {
            body.u64(first).u64(last);
        }
    }

    fn decode(body: &mut Decoder<'_>) -> Result<Self, Flaw> {
        let offset = body.offset();
        let (ranges, rest) = body.take_rest().as_chunks::<16>();
        let number = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let ranges: Vec<(u64, u64)> =
            ranges.iter().map(|range| (number(range), number(range.split_at(8).1))).collect();
        let ordered = ranges.iter().all(|range| range.0 <= range.1)
            && ranges.iter().zip(ranges.iter().skip(1)).all(|(left, right)| left.1 < right.0);
        if ranges.is_empty() || ranges.len() > MAX_RANGES || !rest.is_empty() || !ordered {
            return Err(Flaw::new(
                "records",
                offset,
                "up to 4096 ranges in ascending order",
                "something else",
            ));
        }
        Ok(Self(ranges))
    }
}

/// Writes one record: tag, length of the body, body.
fn record(out: &mut Encoder, tag: [u8; 4], fill: impl FnOnce(&mut Encoder)) {
    let mut body = Encoder::default();
    fill(&mut body);
    out.put(&tag).u32(u32::try_from(body.bytes.len()).unwrap_or(u32::MAX)).put(&body.bytes);
}

fn next_record<'a>(records: &mut Decoder<'a>) -> Result<([u8; 4], Decoder<'a>), Flaw> {
    let tag = records.array()?;
    let len = records.u32()? as usize;
    let base = records.offset();
    Ok((tag, Decoder::new("records", base, records.take(len)?)))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample() -> Manifest {
        let layout = Layout::rotations(64, 3).unwrap();
        let file =
            |n: u64| FileRecord { len_bytes: n * 8192, footer_crc: 0xdead_0000 + u32::try_from(n).unwrap() };
        let run = |run| RunRecord {
            run,
            identity: [9; 16],
            layout: layout.clone(),
            entries: 10,
            rows: 12,
            fingerprint_sum: 77,
            row_sum: 78,
            tombstones: run % 2,
            segments: vec![file(6), file(7), file(8)],
            postings_file: file(9),
            tombstones_file: (run % 2 == 1).then(|| file(10)),
            keys: (run % 2 == 0).then(|| KeysRecord { count: 13, key_sum: 79, file: file(11) }),
        };
        Manifest {
            generation: 5,
            database_id: [1; 16],
            width: 64,
            k: 3,
            layout: LayoutChoice::Blocks { blocks: 6, prefix: 2 },
            next_run: 9,
            largest_id: Some(u64::MAX),
            runs_only: false,
            live_wal: Some(3),
            next_wal: 4,
            next_frame: 17,
            runs: vec![run(7), run(2)],
            ingested: vec![[3; 16], [2; 16]],
            automatic: IdRanges(vec![(0, 5), (7, u64::MAX)]),
            keys: Some(KeysKept { texts: true, next_sequence: 50 }),
            recipe: Some("some words".into()),
            checkpoint: vec![1, 2, 3],
        }
    }

    fn resealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let body = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    #[test]
    fn survives_the_round_trip() {
        let manifest = sample();
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest.clone()));
        let empty = Manifest {
            runs: vec![],
            ingested: vec![],
            automatic: IdRanges::default(),
            live_wal: None,
            runs_only: true,
            largest_id: None,
            layout: LayoutChoice::Auto,
            keys: None,
            recipe: None,
            checkpoint: vec![],
            ..manifest
        };
        assert_eq!(Manifest::decode(&empty.encode()), Ok(empty));
    }

    #[test]
    fn manifests_that_no_writer_makes_are_refused() {
        let refused = |change: fn(&mut Manifest)| {
            let mut manifest = sample();
            change(&mut manifest);
            assert!(matches!(Manifest::decode(&manifest.encode()), Err(Problem::Flaw(_))), "{manifest:?}");
        };
        refused(|manifest| manifest.generation = 0);
        refused(|manifest| manifest.recipe = Some(String::new()));
        refused(|manifest| manifest.recipe = Some("x".repeat(MAX_RECIPE_BYTES + 1)));
        refused(|manifest| manifest.checkpoint = vec![0; MAX_CHECKPOINT_BYTES + 1]);
        refused(|manifest| {
            manifest.runs[1].keys = manifest.runs[1].keys.map(|keys| KeysRecord { count: 0, ..keys })
        });
        refused(|manifest| manifest.next_wal = 3);
        refused(|manifest| manifest.runs_only = true);
        refused(|manifest| (manifest.runs_only, manifest.live_wal) = (true, None));
        refused(|manifest| manifest.automatic = IdRanges(vec![(2, 1)]));
        refused(|manifest| manifest.automatic = IdRanges(vec![(1, 2), (2, 3)]));
        refused(|manifest| manifest.width = 63);
        refused(|manifest| manifest.k = 65);
        refused(|manifest| manifest.largest_id = None);
        refused(|manifest| manifest.layout = LayoutChoice::Rotations { tables: 65 });
        refused(|manifest| manifest.layout = LayoutChoice::Rotations { tables: 0 });
        refused(|manifest| manifest.layout = LayoutChoice::Blocks { blocks: 5, prefix: 0 });
        refused(|manifest| manifest.layout = LayoutChoice::Blocks { blocks: 5, prefix: 6 });
        refused(|manifest| manifest.next_run = 7);
        refused(|manifest| (manifest.next_run, manifest.runs) = (0, Vec::new()));
        refused(|manifest| manifest.runs[1].run = 7);
        refused(|manifest| manifest.runs[1].entries = 0);
        refused(|manifest| manifest.runs[1].rows = 9);
        refused(|manifest| (manifest.runs[1].entries, manifest.runs[1].rows) = (0, 0));
    }

    #[test]
    fn regression_numbers_that_cannot_be_counted_on_from_are_refused() {
        type Change = fn(&mut Manifest, u64);
        let changes: [Change; 5] = [
            |manifest, number| manifest.keys = Some(KeysKept { texts: false, next_sequence: number }),
            |manifest, number| manifest.generation = number,
            |manifest, number| manifest.next_run = number,
            |manifest, number| manifest.next_wal = number,
            |manifest, number| manifest.next_frame = number,
        ];
        for change in changes {
            for (number, decodes) in [(MAX_NUMBER, true), (MAX_NUMBER + 1, false), (u64::MAX, false)] {
                let mut manifest = sample();
                change(&mut manifest, number);
                assert_eq!(Manifest::decode(&manifest.encode()).is_ok(), decodes, "{number}");
            }
        }
    }

    #[test]
    fn ranges_of_ids_join_where_they_touch_and_stay_few() {
        let mut ranges = IdRanges::default();
        for (first, last) in [(10, 12), (20, 20), (13, 13), (0, 3), (5, 5), (4, 4), (u64::MAX, u64::MAX)] {
            ranges.add(first, last);
        }
        assert_eq!(ranges.0, [(0, 5), (10, 13), (20, 20), (u64::MAX, u64::MAX)]);
        ranges.add(2, 30);
        assert_eq!(ranges.0, [(0, 30), (u64::MAX, u64::MAX)]);
        (0..2 * MAX_RANGES as u64).for_each(|i| ranges.add(100 + i * i, 100 + i * i));
        assert_eq!(ranges.0.len(), MAX_RANGES);
        assert!(ranges.0.is_sorted());
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let bytes = sample().encode();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(Manifest::decode(&flipped), Err(Problem::Flaw(_))), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(matches!(Manifest::decode(&bytes[..len]), Err(Problem::Flaw(_))), "cut to {len}");
        }
    }

    #[test]
    fn a_sound_newer_version_is_told_from_damage() {
        let mut bytes = sample().encode();
        bytes[8] = 2;
        assert!(matches!(Manifest::decode(&bytes), Err(Problem::Flaw(_))), "the checksum comes first");
        assert_eq!(Manifest::decode(&resealed(bytes)), Err(Problem::Newer(2)));
    }

    #[test]
    fn hostile_bytes_under_a_good_checksum_never_panic() {
        let bytes = sample().encode();
        for at in 8..bytes.len() - 4 {
            for value in [0, 1, 0x7f, 0xff] {
                let mut hostile = bytes.clone();
                hostile[at] = value;
                let _ = Manifest::decode(&resealed(hostile));
            }
        }
        assert!(Manifest::decode(&resealed(bytes[..28].to_vec())).is_err());
    }
}
