//! The record about the database as a whole.

use super::identities::IdentitiesRecord;
use super::ids::IdRanges;
use super::runs::RunRecord;
use crate::fingerprint::Width;
use crate::format::expiry::Lifetime;
use crate::format::{Decoder, Encoder, Flaw, Problem};
use crate::layout::{BandLayout, LayoutChoice};
use crate::util::time::Time;

/// The kind of a layout of bands.
const KIND_BANDS: u32 = 3;
/// The kind of a layout that is chosen for each run, small. The last kind.
const KIND_SMALL: u32 = 5;
/// Bit 0 of the flags: some id has been stored, and `largest_id` is the largest of all time.
const FLAG_HAS_IDS: u32 = 1;
/// Bit 1 of the flags: the folder holds runs for other databases to ingest.
const FLAG_RUNS_ONLY: u32 = 2;
/// Bit 2 of the flags: rows have keys.
const FLAG_KEYS: u32 = 4;
/// Bit 3 of the flags: keys have texts.
const FLAG_TEXTS: u32 = 8;
/// Bit 4 of the flags: keys have hashes of texts.
const FLAG_HASHES: u32 = 16;
/// Bit 5 of the flags: keys have the features of texts.
const FLAG_FEATURES: u32 = 32;
/// Bit 6 of the flags: rows expire.
const FLAG_EXPIRES: u32 = 64;
/// Bit 7 of the flags: a sealed log comes before the live one.
const FLAG_SEALED: u32 = 128;
/// The largest generation, and the largest number of the next run, log, frame or key. Counters that
/// start here never overflow.
pub(crate) const MAX_NUMBER: u64 = 1 << 63;

/// A decoded manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Version number of the manifest. Each replacement increments it.
    pub(crate) generation: u64,
    pub(crate) database_id: [u8; 16],
    pub(crate) width: u32,
    /// The distance that automatic layouts are tuned for.
    pub(crate) k: u32,
    pub(crate) layout: LayoutChoice,
    /// The number of the next run.
    pub(crate) next_run: u64,
    /// The largest id ever stored.
    pub(crate) largest_id: Option<u64>,
    /// Whether the folder holds runs for other databases to ingest. Such a folder has no writer.
    pub(crate) runs_only: bool,
    /// The write-ahead log that commits are appended to. Its operations are in no run yet.
    pub(crate) live_wal: Option<LiveWal>,
    /// The log before it, while a run is made of its operations. Only with a live one.
    pub(crate) sealed_wal: Option<SealedWal>,
    /// The number of the next write-ahead log.
    pub(crate) next_wal: u64,
    /// The number of the first frame of the live write-ahead log, or of the next one.
    pub(crate) next_frame: u64,
    /// Oldest first.
    pub(crate) runs: Vec<RunRecord>,
    /// The files with the identities of ingested runs, including runs that were merged since. The
    /// youngest file is last.
    pub(crate) ingested: Vec<IdentitiesRecord>,
    pub(crate) automatic: IdRanges,
    /// `None` if rows have no keys.
    pub(crate) keys: Option<KeysKept>,
    /// `None` if rows do not expire.
    pub(crate) expiry: Option<Expiry>,
    pub(crate) recipe: Option<String>,
    /// The progress of the last job; empty if there is none.
    pub(crate) checkpoint: Vec<u8>,
    /// The records of finished jobs; empty if there are none.
    pub(crate) history: Vec<u8>,
    /// Features that a program needs to write to the database, one a bit.
    pub(crate) needed_to_write: u32,
    /// Tags and bodies of records that this program does not know and may ignore. Writers keep
    /// them.
    pub(crate) skipped: Vec<([u8; 4], Vec<u8>)>,
}

/// A write-ahead log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LiveWal {
    /// At least 1.
    pub(crate) number: u64,
    /// Random, and in the log's header. It distinguishes the log from the log of a copy.
    pub(crate) salt: u64,
}

/// A write-ahead log that is not written to any more. Its last frame is the one before the first frame
/// of the live log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SealedWal {
    pub(crate) wal: LiveWal,
    pub(crate) first_frame: u64,
}

/// What a database stores besides its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeysKept {
    pub(crate) beside: BesideKeys,
    /// The sequence number of the next key.
    pub(crate) next_sequence: u64,
}

/// How rows expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expiry {
    pub(crate) lifetime: Lifetime,
    /// When the rows of the live log expire; 0 without one.
    pub(crate) of_log: Time,
}

/// What a database stores with each key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BesideKeys {
    Nothing,
    Hashes,
    Texts,
    Features,
}

impl BesideKeys {
    fn flag(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Hashes => FLAG_HASHES,
            Self::Texts => FLAG_TEXTS,
            Self::Features => FLAG_FEATURES,
        }
    }

    /// `None` if several flags are set.
    fn of_flags(flags: u32) -> Option<Self> {
        let all = [Self::Nothing, Self::Hashes, Self::Texts, Self::Features];
        let any = flags & (FLAG_HASHES | FLAG_TEXTS | FLAG_FEATURES);
        all.into_iter().find(|beside| beside.flag() == any)
    }
}

impl Manifest {
    /// Returns the number for a new run, and never the same number again.
    pub(crate) fn take_run_number(&mut self) -> u64 {
        let run = self.next_run;
        self.next_run += 1;
        run
    }

    /// Whether a counter is above [`MAX_NUMBER`].
    pub(crate) fn exceeds_numbers(&self) -> bool {
        let next_sequence = self.keys.map_or(0, |keys| keys.next_sequence);
        let numbers = [self.generation, self.next_run, self.next_wal, self.next_frame, next_sequence];
        numbers.iter().any(|&number| number > MAX_NUMBER)
    }

    pub(super) fn encode_database(&self, body: &mut Encoder) {
        body.u64(self.generation).put(&self.database_id).u32(self.width).u32(self.k);
        encode_layout(self.layout, body);
        body.u32(self.flags());
        body.u64(self.next_run).u64(self.largest_id.unwrap_or(0));
        let LiveWal { number, salt } = self.live_wal.unwrap_or(LiveWal { number: 0, salt: 0 });
        body.u64(number).u64(self.next_wal).u64(self.next_frame).u64(salt);
        if let Some(keys) = self.keys {
            body.u64(keys.next_sequence);
        }
        if let Some(Expiry { lifetime, of_log }) = self.expiry {
            lifetime.encode(body);
            body.u64(of_log.0);
        }
        if let Some(SealedWal { wal: LiveWal { number, salt }, first_frame }) = self.sealed_wal {
            body.u64(number).u64(first_frame).u64(salt);
        }
    }

    fn flags(&self) -> u32 {
        let has_ids = if self.largest_id.is_some() { FLAG_HAS_IDS } else { 0 };
        let runs_only = if self.runs_only { FLAG_RUNS_ONLY } else { 0 };
        let keys = self.keys.map_or(0, |keys| FLAG_KEYS | keys.beside.flag());
        let expires = if self.expiry.is_some() { FLAG_EXPIRES } else { 0 };
        let sealed = if self.sealed_wal.is_some() { FLAG_SEALED } else { 0 };
        has_ids | runs_only | keys | expires | sealed
    }

    /// Decodes the record. The fields of other records are empty.
    pub(super) fn decode_database(body: &mut Decoder<'_>) -> Result<Self, Problem> {
        let generation = body.u64()?;
        if generation == 0 {
            return Err(body.flaw("a generation of at least 1", generation).into());
        }
        let database_id = body.array()?;
        let (width, k) = decode_width(body)?;
        let layout = decode_layout(body, width)?;
        let most = layout.compared_bits(width);
        if k > most {
            return Err(body.flaw(format!("k up to {most}"), k).into());
        }
        let (flags, beside) = decode_flags(body)?;
        let has = |flag| flags & flag != 0;
        let next_run = body.u64()?;
        if next_run == 0 {
            return Err(body.flaw("a next run of at least 1", next_run).into());
        }
        let largest_id = body.u64()?;
        if !has(FLAG_HAS_IDS) && largest_id != 0 {
            return Err(body.flaw("no largest id without its flag", largest_id).into());
        }
        let (live_wal, next_wal, next_frame) = decode_logs(body, has(FLAG_RUNS_ONLY))?;
        let next_sequence = if has(FLAG_KEYS) { body.u64()? } else { 0 };
        let expiry = has(FLAG_EXPIRES).then(|| decode_expiry(body, live_wal.is_some())).transpose()?;
        let sealed_wal = has(FLAG_SEALED).then(|| decode_sealed(body, live_wal, next_frame)).transpose()?;
        body.end()?;
        let manifest = Self {
            generation,
            database_id,
            width,
            k,
            layout,
            next_run,
            largest_id: has(FLAG_HAS_IDS).then_some(largest_id),
            runs_only: has(FLAG_RUNS_ONLY),
            live_wal,
            sealed_wal,
            next_wal,
            next_frame,
            runs: vec![],
            ingested: vec![],
            automatic: IdRanges::default(),
            keys: has(FLAG_KEYS).then_some(KeysKept { beside, next_sequence }),
            expiry,
            recipe: None,
            checkpoint: vec![],
            history: vec![],
            needed_to_write: 0,
            skipped: vec![],
        };
        if manifest.exceeds_numbers() {
            return Err(body.flaw("numbers up to 2^63", "one that is larger").into());
        }
        Ok(manifest)
    }
}

/// The width, and k.
pub(in crate::format) fn decode_width(body: &mut Decoder<'_>) -> Result<(u32, u32), Flaw> {
    let width = body.u32()?;
    if Width::try_from(width).is_err() {
        return Err(body.flaw("a width of 64, 128, 256 or 320", width));
    }
    Ok((width, body.u32()?))
}

pub(in crate::format) fn encode_layout(layout: LayoutChoice, body: &mut Encoder) {
    let (kind, first, second) = match layout {
        LayoutChoice::Auto => (0, 0, 0),
        LayoutChoice::Rotations { tables } => (1, tables, 0),
        LayoutChoice::Blocks { blocks, prefix } => (2, blocks, prefix),
        LayoutChoice::Bands(bands) => (KIND_BANDS, bands.count(), bands.bits()),
        LayoutChoice::Fast => (4, 0, 0),
        LayoutChoice::Small => (KIND_SMALL, 0, 0),
    };
    body.u32(kind).u32(first).u32(second);
}

pub(in crate::format) fn decode_layout(body: &mut Decoder<'_>, width: u32) -> Result<LayoutChoice, Problem> {
    match (body.u32()?, body.u32()?, body.u32()?) {
        (0, 0, 0) => Ok(LayoutChoice::Auto),
        (1, tables @ 1..=64, 0) => Ok(LayoutChoice::Rotations { tables }),
        (2, blocks @ 1..=64, prefix) if (1..=blocks).contains(&prefix) => {
            Ok(LayoutChoice::Blocks { blocks, prefix })
        }
        (4, 0, 0) => Ok(LayoutChoice::Fast),
        (KIND_SMALL, 0, 0) => Ok(LayoutChoice::Small),
        (KIND_BANDS, count, bits) => BandLayout::new(count, bits)
            .and_then(|bands| bands.check_width(width).map(|()| LayoutChoice::Bands(bands)))
            .map_err(|_| body.flaw("bands and a sketch", format!("{count} bands of {bits} bits")).into()),
        (0..=KIND_SMALL, first, second) => {
            Err(body.flaw("a layout", format!("its numbers are {first} and {second}")).into())
        }
        (kind, ..) => Err(Problem::NewerFeature(format!("layouts of kind {kind}"))),
    }
}

/// The flags of a header page: of keys, and whether the rows of the run expire.
pub(in crate::format) fn run_flags(keys: Option<KeysKept>, expires: bool) -> u32 {
    keys.map_or(0, |keys| FLAG_KEYS | keys.beside.flag()) | if expires { FLAG_EXPIRES } else { 0 }
}

/// Reads the flags of a header page.
pub(in crate::format) fn decode_run_flags(
    fields: &mut Decoder<'_>,
) -> Result<(Option<KeysKept>, bool), Problem> {
    let (flags, beside) = decode_flags(fields)?;
    if flags & (FLAG_HAS_IDS | FLAG_RUNS_ONLY | FLAG_SEALED) != 0 {
        return Err(fields.flaw("flags of a run", flags).into());
    }
    let keys = (flags & FLAG_KEYS != 0).then_some(KeysKept { beside, next_sequence: 0 });
    Ok((keys, flags & FLAG_EXPIRES != 0))
}

/// The flags, and what they say is stored with each key.
fn decode_flags(body: &mut Decoder<'_>) -> Result<(u32, BesideKeys), Problem> {
    const KNOWN: u32 = (FLAG_SEALED << 1) - 1;
    let flags = body.u32()?;
    if flags & !KNOWN != 0 {
        return Err(Problem::NewerFeature(format!("flag {}", (flags & !KNOWN).trailing_zeros())));
    }
    let beside = BesideKeys::of_flags(flags)
        .filter(|beside| flags & FLAG_KEYS != 0 || *beside == BesideKeys::Nothing)
        .ok_or_else(|| body.flaw("flags that do not contradict each other", flags))?;
    Ok((flags, beside))
}

/// How rows expire.
fn decode_expiry(body: &mut Decoder<'_>, has_log: bool) -> Result<Expiry, Flaw> {
    let (lifetime, of_log) = (Lifetime::decode(body)?, Time(body.u64()?));
    if !has_log && of_log != Time(0) {
        return Err(body.flaw("no expiry without a live log", of_log.0));
    }
    Ok(Expiry { lifetime, of_log })
}

/// The live log, if there is one, and the numbers of the next one and of the first frame.
fn decode_logs(body: &mut Decoder<'_>, runs_only: bool) -> Result<(Option<LiveWal>, u64, u64), Flaw> {
    let (live, next) = (body.u64()?, body.u64()?);
    if live >= next {
        return Err(body.flaw("a live log below the next one", format!("{live} and {next}")));
    }
    if runs_only && live != 0 {
        return Err(body.flaw("no live log in a folder of runs", live));
    }
    let (next_frame, salt) = (body.u64()?, body.u64()?);
    match live {
        0 if salt != 0 => Err(body.flaw("no salt without a live log", salt)),
        0 => Ok((None, next, next_frame)),
        number => Ok((Some(LiveWal { number, salt }), next, next_frame)),
    }
}

/// The sealed log of a manifest with a live one.
fn decode_sealed(body: &mut Decoder<'_>, live: Option<LiveWal>, next_frame: u64) -> Result<SealedWal, Flaw> {
    let (number, first_frame, salt) = (body.u64()?, body.u64()?, body.u64()?);
    let live = live.map_or(0, |live| live.number);
    if number == 0 || number >= live {
        return Err(body.flaw("a sealed log below the live one", format!("{number} and {live}")));
    }
    if first_frame > next_frame {
        return Err(body.flaw("a first frame before the live log", first_frame));
    }
    Ok(SealedWal { wal: LiveWal { number, salt }, first_frame })
}
