//! The manifest file: its prefix, its tagged records in their order, its checksum.

use super::database::Manifest;
use super::identities::IdentitiesRecord;
use super::ids::{IdRanges, MAX_RANGES};
use super::runs::{RunLimits, RunRecord};
use crate::format::{Decoder, Encoder, Flaw, Hex, Problem, VERSION, check_crc};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPM\r\n\x1a\n";
/// Bytes before the first record.
pub(crate) const PREFIX_BYTES: usize = 32;
/// Where the id of the database stands: behind tag and length of the first record, and the generation.
pub(crate) const ID_OFFSET: usize = PREFIX_BYTES + 8 + 8;
/// The features without which no program can read the database. This program supports none.
const NEEDED_TO_READ: u32 = 0;
/// The features without which a program may read the database, and not write to it.
const NEEDED_TO_WRITE: u32 = 0;
/// The record about the database as a whole: the first record, exactly once.
const TAG_DATABASE: [u8; 4] = *b"DATA";
/// One record per live run, oldest first.
const TAG_RUN: [u8; 4] = *b"RUN ";
/// The files with the identities of ingested runs; at most once.
const TAG_INGESTED: [u8; 4] = *b"INGS";
/// The ranges of automatic ids; at most once.
const TAG_AUTOMATIC: [u8; 4] = *b"AUTO";
/// The recipe for the fingerprints of documents; at most once.
const TAG_RECIPE: [u8; 4] = *b"RECP";
/// The checkpoint of the last job; at most once.
const TAG_CHECKPOINT: [u8; 4] = *b"CKPT";
/// The records of finished jobs; at most once.
const TAG_HISTORY: [u8; 4] = *b"HIST";
/// The order of the known records after `DATA`.
const ORDER: [[u8; 4]; 6] = [TAG_RUN, TAG_INGESTED, TAG_AUTOMATIC, TAG_RECIPE, TAG_CHECKPOINT, TAG_HISTORY];
/// The longest manifest, in bytes.
pub(crate) const MAX_MANIFEST_BYTES: usize = 4 << 20;
/// The longest recipe, in bytes.
pub(crate) const MAX_RECIPE_BYTES: usize = 4096;
/// The longest checkpoint, in bytes.
pub(crate) const MAX_CHECKPOINT_BYTES: usize = 1 << 20;
/// The longest history, in bytes.
pub const MAX_HISTORY_BYTES: usize = 1 << 20;

impl Manifest {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut records = Records::default();
        records.add(TAG_DATABASE, |body| self.encode_database(body));
        for run in &self.runs {
            records.add(TAG_RUN, |body| run.encode(self.keys.is_some(), body));
        }
        if !self.ingested.is_empty() {
            records.add(TAG_INGESTED, |body| self.ingested.iter().for_each(|file| file.encode(body)));
        }
        if !self.automatic.is_empty() {
            records.add(TAG_AUTOMATIC, |body| self.automatic.encode(body));
        }
        if let Some(recipe) = &self.recipe {
            records.add(TAG_RECIPE, |body| {
                body.put(recipe.as_bytes());
            });
        }
        for (tag, note) in [(TAG_CHECKPOINT, &self.checkpoint), (TAG_HISTORY, &self.history)] {
            if !note.is_empty() {
                records.add(tag, |body| {
                    body.put(note);
                });
            }
        }
        for (tag, body) in &self.skipped {
            records.add(*tag, |encoded| {
                encoded.put(body);
            });
        }
        records.into_file(self.needed_to_write)
    }

    /// Decodes a whole manifest file. Verifies the checksum before anything else.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, Problem> {
        let mut prefix = Decoder::new("prefix", 0, file);
        Flaw::unless_equal("prefix", 0, Hex(MAGIC), Hex(prefix.array()?))?;
        let (body, stored) = file
            .split_last_chunk::<4>()
            .ok_or_else(|| Flaw::new("checksum", 0, "a CRC-32", format!("{} bytes", file.len())))?;
        // A file that was cut short has no checksum. Its length says more.
        let len = file.get(16..24).and_then(|len| len.first_chunk()).map(|len| u64::from_le_bytes(*len));
        if let Some(len) = len.filter(|&len| len > file.len() as u64) {
            return Err(Flaw::new("length", 16, format!("{len} bytes"), file.len()).into());
        }
        check_crc("checksum", body.len() as u64, u32::from_le_bytes(*stored), crc32fast::hash(body))?;
        let version = prefix.u32()?;
        if version > VERSION {
            return Err(Problem::Newer(version));
        }
        Flaw::unless_equal("prefix", 8, VERSION, version)?;
        let count = prefix.u32()?;
        Flaw::unless_equal("prefix", 16, file.len() as u64, prefix.u64()?)?;
        let (needed_to_read, needed_to_write) = (prefix.u32()?, prefix.u32()?);
        if needed_to_read & !NEEDED_TO_READ != 0 {
            return Err(unknown_features(needed_to_read & !NEEDED_TO_READ));
        }
        let records = body.get(PREFIX_BYTES..).unwrap_or_default();
        let manifest = Self::decode_records(Decoder::new("records", PREFIX_BYTES as u64, records), count)?;
        Ok(Self { needed_to_write, ..manifest })
    }

    /// Bytes by which the manifest may grow without a new run: up to the longest recipe, checkpoint
    /// and history, and the most ranges of ids. They stay free, so that a database that has many
    /// runs can be written to, and compacted.
    pub(crate) fn reserved_bytes(&self) -> usize {
        const MOST: usize = MAX_RECIPE_BYTES + MAX_CHECKPOINT_BYTES + MAX_HISTORY_BYTES + 16 * MAX_RANGES;
        let recipe = self.recipe.as_ref().map_or(0, String::len);
        let used = recipe + self.checkpoint.len() + self.history.len() + 16 * self.automatic.iter().count();
        MOST.saturating_sub(used)
    }

    /// Refuses a database that only a newer program can write to.
    pub(crate) fn check_writable(&self) -> Result<(), Problem> {
        match self.needed_to_write & !NEEDED_TO_WRITE {
            0 => Ok(()),
            unknown => Err(unknown_features(unknown)),
        }
    }

    fn decode_records(mut records: Decoder<'_>, count: u32) -> Result<Self, Problem> {
        let (tag, mut body) = next_record(&mut records)?;
        if count == 0 || tag != TAG_DATABASE {
            return Err(records.flaw("record DATA", name(tag)).into());
        }
        let mut manifest = Self::decode_database(&mut body)?;
        let mut last = 0;
        for _ in 1..count {
            let (tag, mut body) = next_record(&mut records)?;
            if !tag.iter().all(|byte| (b' '..=b'~').contains(byte)) {
                return Err(records.flaw("a tag of four printable characters", name(tag)).into());
            }
            if tag[0].is_ascii_lowercase() {
                manifest.skipped.push((tag, body.take_rest().to_vec()));
                continue;
            }
            if tag == TAG_DATABASE {
                return Err(records.flaw("one record DATA", "another one").into());
            }
            let place = ORDER.iter().position(|known| *known == tag);
            let place = place.ok_or_else(|| Problem::NewerFeature(format!("record {}", name(tag))))?;
            // Only run records repeat.
            if place < last || (place == last && place > 0) || !manifest.skipped.is_empty() {
                let expected = "records DATA, RUN, INGS, AUTO, RECP, CKPT, HIST in this order, then others";
                return Err(records.flaw(expected, name(tag)).into());
            }
            manifest.decode_record(tag, &mut body)?;
            last = place;
        }
        records.end()?;
        Ok(manifest)
    }

    /// Decodes a record other than the first into its field.
    fn decode_record(&mut self, tag: [u8; 4], body: &mut Decoder<'_>) -> Result<(), Flaw> {
        match tag {
            TAG_RUN => {
                let run = RunRecord::decode(body, &self.run_limits())?;
                self.runs.push(run);
            }
            TAG_INGESTED => self.ingested = IdentitiesRecord::decode_all(body, self.next_run, &self.runs)?,
            TAG_AUTOMATIC => self.automatic = IdRanges::decode(body)?,
            TAG_RECIPE => self.recipe = Some(decode_recipe(body)?),
            TAG_CHECKPOINT => {
                self.checkpoint = decode_note(body, MAX_CHECKPOINT_BYTES, "a checkpoint of 1 byte to 1 MiB")?;
            }
            _ => self.history = decode_note(body, MAX_HISTORY_BYTES, "a history of 1 byte to 1 MiB")?,
        }
        Ok(())
    }

    fn run_limits(&self) -> RunLimits<'_> {
        RunLimits {
            width: self.width,
            layout: self.layout,
            next_run: self.next_run,
            has_ids: self.largest_id.is_some(),
            runs_only: self.runs_only,
            keyed: self.keys.is_some(),
            expires: self.expiry.is_some(),
            older: &self.runs,
        }
    }
}

fn decode_recipe(body: &mut Decoder<'_>) -> Result<String, Flaw> {
    let offset = body.offset();
    let bytes = body.take_rest();
    let text = std::str::from_utf8(bytes).ok().filter(|text| (1..=MAX_RECIPE_BYTES).contains(&text.len()));
    let flaw =
        || Flaw::new("record RECP", offset, "a recipe of at most 4096 bytes of UTF-8", "something else");
    text.map(str::to_string).ok_or_else(flaw)
}

/// The bytes of an application.
fn decode_note(body: &mut Decoder<'_>, most: usize, expected: &str) -> Result<Vec<u8>, Flaw> {
    let bytes = body.take_rest();
    if (1..=most).contains(&bytes.len()) {
        return Ok(bytes.to_vec());
    }
    Err(body.flaw(expected, bytes.len()))
}

/// Encoded records.
#[derive(Default)]
struct Records {
    encoded: Encoder,
    count: u32,
}

impl Records {
    /// Appends a record: tag, length of the body, body.
    fn add(&mut self, tag: [u8; 4], fill: impl FnOnce(&mut Encoder)) {
        let mut body = Encoder::default();
        fill(&mut body);
        let len = u32::try_from(body.bytes.len()).unwrap_or(u32::MAX);
        self.encoded.put(&tag).u32(len).put(&body.bytes);
        self.count += 1;
    }

    /// The whole file.
    fn into_file(self, needed_to_write: u32) -> Vec<u8> {
        let records = self.encoded.bytes;
        let mut file = Encoder::default();
        file.put(&MAGIC).u32(VERSION).u32(self.count);
        file.u64((PREFIX_BYTES + records.len() + 4) as u64);
        file.u32(NEEDED_TO_READ).u32(needed_to_write).put(&records);
        let crc = crc32fast::hash(&file.bytes);
        file.u32(crc);
        file.bytes
    }
}

fn next_record<'a>(records: &mut Decoder<'a>) -> Result<([u8; 4], Decoder<'a>), Flaw> {
    let tag = records.array()?;
    let len = records.u32()? as usize;
    let base = records.offset();
    let section = match tag {
        TAG_DATABASE => "record DATA",
        TAG_RUN => "record RUN",
        TAG_INGESTED => "record INGS",
        TAG_AUTOMATIC => "record AUTO",
        TAG_RECIPE => "record RECP",
        TAG_CHECKPOINT => "record CKPT",
        TAG_HISTORY => "record HIST",
        _ => "records",
    };
    Ok((tag, Decoder::new(section, base, records.take(len)?)))
}

fn unknown_features(bits: u32) -> Problem {
    Problem::NewerFeature(format!("feature {}", bits.trailing_zeros()))
}

fn name(tag: [u8; 4]) -> String {
    tag.escape_ascii().to_string()
}
