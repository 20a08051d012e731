//! The record of one live run.

use crate::format::segment::MAX_ENTRIES;
use crate::format::{Decoder, Encoder, Flaw};
use crate::layout::{Layout, LayoutChoice};
use crate::util::time::Time;

/// One live run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunRecord {
    pub(crate) run: u64,
    /// Random. Copies of a run keep it.
    pub(crate) identity: [u8; 16],
    /// Random, and in the header page of each file.
    pub(crate) salt: u64,
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
    /// `None` without tombstones.
    pub(crate) tombstones_file: Option<FileRecord>,
    /// `None` without keys.
    pub(crate) keys: Option<KeysRecord>,
    /// When the rows expire. `None` where rows do not.
    pub(crate) expires: Option<Time>,
}

/// The keys of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeysRecord {
    pub(crate) count: u64,
    pub(crate) key_sum: u64,
    pub(crate) value_sum: u64,
    pub(crate) file: FileRecord,
}

/// The expected length and footer of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRecord {
    pub(crate) len_bytes: u64,
    /// The CRC-32 at the end of the footer page.
    pub(crate) footer_crc: u32,
}

/// The parts of a manifest that limit what a run record may contain.
pub(super) struct RunLimits<'a> {
    pub(super) width: u32,
    /// The layout of the database.
    pub(super) layout: LayoutChoice,
    pub(super) next_run: u64,
    /// Whether the database has ever stored an id.
    pub(super) has_ids: bool,
    pub(super) runs_only: bool,
    /// Whether rows have keys.
    pub(super) keyed: bool,
    /// Whether rows expire.
    pub(super) expires: bool,
    /// The runs before this one.
    pub(super) older: &'a [RunRecord],
}

impl RunRecord {
    /// The records of all files: segments, postings, tombstones if there are any, keys if there are
    /// any.
    pub(crate) fn files(&self) -> impl Iterator<Item = &FileRecord> {
        let keys = self.keys.iter().map(|keys| &keys.file);
        self.segments.iter().chain([&self.postings_file]).chain(&self.tombstones_file).chain(keys)
    }

    /// Whether the rows have expired.
    pub(crate) fn is_expired(&self, now: Time) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Total length of all files.
    pub(crate) fn len_bytes(&self) -> u64 {
        self.files().map(|file| file.len_bytes).sum()
    }

    pub(super) fn encode(&self, keyed: bool, body: &mut Encoder) {
        body.u64(self.run).put(&self.identity).u64(self.salt);
        body.u64(self.entries).u64(self.rows).u64(self.fingerprint_sum).u64(self.row_sum);
        body.u64(self.tombstones);
        let small = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        body.u32(small(self.layout.block_count())).u32(small(self.layout.table_count()));
        body.u64s(self.layout.prefixes());
        self.segments.iter().for_each(|file| file.encode(body));
        self.postings_file.encode(body);
        self.tombstones_file.iter().for_each(|file| file.encode(body));
        if keyed {
            KeysRecord::encode(self.keys, body);
        }
        if let Some(expires) = self.expires {
            body.u64(expires.0);
        }
    }

    pub(super) fn decode(body: &mut Decoder<'_>, limits: &RunLimits<'_>) -> Result<Self, Flaw> {
        let run = body.u64()?;
        if run >= limits.next_run || limits.older.iter().any(|known| known.run == run) {
            return Err(body.flaw(format!("a run below {}, each once", limits.next_run), run));
        }
        let (identity, salt) = (body.array()?, body.u64()?);
        let (entries, rows) = decode_counts(body, limits)?;
        let (fingerprint_sum, row_sum) = (body.u64()?, body.u64()?);
        let tombstones = body.u64()?;
        if rows == 0 && tombstones == 0 {
            return Err(body.flaw("rows or tombstones", "neither"));
        }
        if limits.runs_only && tombstones > 0 {
            return Err(body.flaw("no tombstones among runs for other databases", tombstones));
        }
        let layout = decode_layout(body, limits)?;
        let segments =
            (0..layout.table_count()).map(|_| FileRecord::decode(body)).collect::<Result<Vec<_>, _>>()?;
        let postings_file = FileRecord::decode(body)?;
        let tombstones_file = if tombstones > 0 { Some(FileRecord::decode(body)?) } else { None };
        let keys = if limits.keyed { KeysRecord::decode(body)? } else { None };
        let expires = if limits.expires { Some(decode_expires(body, limits)?) } else { None };
        body.end()?;
        Ok(Self {
            run,
            identity,
            salt,
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
            expires,
        })
    }
}

/// The numbers of entries and rows.
fn decode_counts(body: &mut Decoder<'_>, limits: &RunLimits<'_>) -> Result<(u64, u64), Flaw> {
    let (entries, rows) = (body.u64()?, body.u64()?);
    if entries > MAX_ENTRIES || rows < entries || (entries == 0) != (rows == 0) {
        let found = format!("{entries} and {rows} rows");
        return Err(body.flaw("at most 2^32 - 1 entries, and a row for each", found));
    }
    if rows > 0 && !limits.has_ids {
        return Err(body.flaw("the flag that ids have been stored", "rows without it"));
    }
    Ok((entries, rows))
}

/// When the rows expire: not before the rows of older runs.
fn decode_expires(body: &mut Decoder<'_>, limits: &RunLimits<'_>) -> Result<Time, Flaw> {
    let expires = Time(body.u64()?);
    match limits.older.last().and_then(|older| older.expires) {
        Some(older) if older > expires => Err(body.flaw(format!("at least {}", older.0), expires.0)),
        _ => Ok(expires),
    }
}

fn decode_layout(body: &mut Decoder<'_>, limits: &RunLimits<'_>) -> Result<Layout, Flaw> {
    let (blocks, tables) = (body.u32()?, body.u32()?);
    if tables > 64 {
        return Err(body.flaw("at most 64 tables", tables));
    }
    let prefixes = (0..tables).map(|_| body.u64()).collect::<Result<Vec<_>, _>>()?;
    let layout = match limits.layout {
        LayoutChoice::Bands(bands) => Layout::bands(limits.width, bands)
            .ok()
            .filter(|layout| layout.block_count() == blocks as usize && layout.prefixes() == prefixes),
        _ => Layout::from_parts(limits.width, blocks, prefixes),
    };
    layout.ok_or_else(|| body.flaw("blocks and prefixes that make a layout", format!("{blocks} blocks")))
}

impl KeysRecord {
    fn encode(keys: Option<Self>, body: &mut Encoder) {
        let numbers = keys.map_or([0; 3], |keys| [keys.count, keys.key_sum, keys.value_sum]);
        body.u64s(&numbers);
        keys.iter().for_each(|keys| keys.file.encode(body));
    }

    /// `None` for a run without keys.
    fn decode(body: &mut Decoder<'_>) -> Result<Option<Self>, Flaw> {
        let (count, key_sum, value_sum) = (body.u64()?, body.u64()?, body.u64()?);
        match count {
            0 if (key_sum, value_sum) == (0, 0) => Ok(None),
            0 => Err(body.flaw("sums of 0 for no keys", "others")),
            _ => Ok(Some(Self { count, key_sum, value_sum, file: FileRecord::decode(body)? })),
        }
    }
}

impl FileRecord {
    pub(super) fn encode(&self, body: &mut Encoder) {
        body.u64(self.len_bytes).u32(self.footer_crc).u32(0);
    }

    pub(super) fn decode(body: &mut Decoder<'_>) -> Result<Self, Flaw> {
        let record = Self { len_bytes: body.u64()?, footer_crc: body.u32()? };
        match body.u32()? {
            0 => Ok(record),
            other => Err(body.flaw("0 after a footer's CRC", other)),
        }
    }
}
