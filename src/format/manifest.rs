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
/// The number of the first write-ahead log.
pub(crate) const FIRST_WAL: u64 = 1;
/// Bit 0 of the flags: some id has been stored, and `largest_id` is the largest ever.
pub(crate) const FLAG_HAS_IDS: u32 = 1;

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
    /// The first write-ahead log that is not yet in a run.
    pub(crate) first_live_wal: u64,
    pub(crate) runs: Vec<RunRecord>,
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
    /// Table 0 first.
    pub(crate) segments: Vec<FileRecord>,
    pub(crate) rows_file: FileRecord,
}

/// What a file must look like to be the one that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRecord {
    pub(crate) len_bytes: u64,
    /// The CRC-32 that ends the footer page.
    pub(crate) footer_crc: u32,
}

impl Manifest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut records = Encoder::default();
        record(&mut records, TAG_DATABASE, |body| self.encode_database(body));
        for run in &self.runs {
            record(&mut records, TAG_RUN, |body| run.encode(body));
        }
        let mut file = Encoder::default();
        let count = 1 + u32::try_from(self.runs.len()).unwrap_or(u32::MAX);
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
        for _ in 1..count {
            let (tag, mut body) = next_record(&mut records)?;
            if tag != TAG_RUN {
                return Err(records.flaw("record RUN", format!("{tag:?}")));
            }
            manifest.runs.push(RunRecord::decode(&mut body, &manifest)?);
        }
        Flaw::unless_equal("records", records.offset(), 0, records.take_rest().len())?;
        Ok(manifest)
    }

    fn encode_database(&self, body: &mut Encoder) {
        let (kind, first, second) = match self.layout {
            LayoutChoice::Auto => (0, 0, 0),
            LayoutChoice::Rotations { tables } => (1, tables, 0),
            LayoutChoice::Blocks { blocks, lead } => (2, blocks, lead),
        };
        let flags = if self.largest_id.is_some() { FLAG_HAS_IDS } else { 0 };
        body.u64(self.generation).put(&self.database_id).u32(self.width).u32(self.k);
        body.u32(kind).u32(first).u32(second).u32(flags);
        body.u64(self.next_run).u64(self.largest_id.unwrap_or(0)).u64(self.first_live_wal);
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
            (2, blocks @ 1..=64, lead) if (1..=blocks).contains(&lead) => {
                LayoutChoice::Blocks { blocks, lead }
            }
            other => return Err(body.flaw("a known layout", format!("{other:?}"))),
        };
        let flags = body.u32()?;
        if flags & !FLAG_HAS_IDS != 0 {
            return Err(body.flaw("known flags", flags));
        }
        let next_run = body.u64()?;
        let largest_id = body.u64()?;
        if flags & FLAG_HAS_IDS == 0 && largest_id != 0 {
            return Err(body.flaw("no largest id without its flag", largest_id));
        }
        let largest_id = (flags & FLAG_HAS_IDS != 0).then_some(largest_id);
        let first_live_wal = body.u64()?;
        Flaw::unless_equal("records", body.offset() - 8, FIRST_WAL, first_live_wal)?;
        Flaw::unless_equal("records", body.offset(), 0, body.take_rest().len())?;
        Ok(Self {
            generation,
            database_id,
            width,
            k,
            layout,
            next_run,
            largest_id,
            first_live_wal,
            runs: vec![],
        })
    }
}

impl RunRecord {
    fn encode(&self, body: &mut Encoder) {
        body.u64(self.run).put(&self.identity);
        body.u64(self.entries).u64(self.rows).u64(self.fingerprint_sum).u64(self.row_sum);
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        body.u32(small(self.layout.block_count())).u32(small(self.layout.table_count()));
        body.u64s(self.layout.leads());
        for file in self.segments.iter().chain([&self.rows_file]) {
            body.u64(file.len_bytes).u32(file.footer_crc).u32(0);
        }
    }

    fn decode(body: &mut Decoder<'_>, database: &Manifest) -> Result<Self, Flaw> {
        let run = body.u64()?;
        if run >= database.next_run || database.runs.iter().any(|known| known.run == run) {
            return Err(body.flaw(format!("a run below {}, each once", database.next_run), run));
        }
        if database.largest_id.is_none() {
            return Err(body.flaw("the flag that ids have been stored", "a run without it"));
        }
        let identity = body.array()?;
        let (entries, rows) = (body.u64()?, body.u64()?);
        if entries == 0 || entries > MAX_ENTRIES || rows < entries {
            return Err(
                body.flaw("1 to 2^32 - 1 entries, and a row for each", format!("{entries} and {rows} rows"))
            );
        }
        let (fingerprint_sum, row_sum) = (body.u64()?, body.u64()?);
        let (blocks, tables) = (body.u32()?, body.u32()?);
        if tables > 64 {
            return Err(body.flaw("at most 64 tables", tables));
        }
        let leads = (0..tables).map(|_| body.u64()).collect::<Result<Vec<_>, _>>()?;
        let layout = Layout::from_parts(database.width, blocks, leads)
            .ok_or_else(|| body.flaw("blocks and leads that make a layout", format!("{blocks} blocks")))?;
        let mut files = (0..=tables).map(|_| FileRecord::decode(body)).collect::<Result<Vec<_>, _>>()?;
        let rows_file = files.pop().ok_or_else(|| body.flaw("a rows file", "none"))?;
        Flaw::unless_equal("records", body.offset(), 0, body.take_rest().len())?;
        Ok(Self {
            run,
            identity,
            layout,
            entries,
            rows,
            fingerprint_sum,
            row_sum,
            segments: files,
            rows_file,
        })
    }
}

impl FileRecord {
    fn decode(body: &mut Decoder<'_>) -> Result<Self, Flaw> {
        let record = Self { len_bytes: body.u64()?, footer_crc: body.u32()? };
        Flaw::unless_equal("records", body.offset(), 0, body.u32()?)?;
        Ok(record)
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
mod tests {
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
            segments: vec![file(6), file(7), file(8)],
            rows_file: file(9),
        };
        Manifest {
            generation: 5,
            database_id: [1; 16],
            width: 64,
            k: 3,
            layout: LayoutChoice::Blocks { blocks: 6, lead: 2 },
            next_run: 9,
            largest_id: Some(u64::MAX),
            first_live_wal: FIRST_WAL,
            runs: vec![run(8), run(2)],
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
        let empty = Manifest { runs: vec![], largest_id: None, layout: LayoutChoice::Auto, ..manifest };
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
        refused(|manifest| manifest.first_live_wal = 2);
        refused(|manifest| manifest.width = 63);
        refused(|manifest| manifest.k = 65);
        refused(|manifest| manifest.largest_id = None);
        refused(|manifest| manifest.layout = LayoutChoice::Rotations { tables: 65 });
        refused(|manifest| manifest.layout = LayoutChoice::Rotations { tables: 0 });
        refused(|manifest| manifest.layout = LayoutChoice::Blocks { blocks: 5, lead: 0 });
        refused(|manifest| manifest.layout = LayoutChoice::Blocks { blocks: 5, lead: 6 });
        refused(|manifest| manifest.next_run = 8);
        refused(|manifest| manifest.runs[1].run = 8);
        refused(|manifest| manifest.runs[1].entries = 0);
        refused(|manifest| manifest.runs[1].rows = 9);
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
