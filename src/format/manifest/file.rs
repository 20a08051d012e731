//! The manifest file: its prefix, its tagged records in their order, its checksum.

use super::database::Manifest;
use super::ids::IdRanges;
use super::runs::{RunLimits, RunRecord};
use crate::format::{Decoder, Encoder, Flaw, Hex, Problem, VERSION, check_crc};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPM\r\n\x1a\n";
/// Bytes before the first record.
pub(crate) const PREFIX_BYTES: usize = 24;
/// The record about the database as a whole: the first record, exactly once.
const TAG_DATABASE: [u8; 4] = *b"DATA";
/// One record per live run, oldest first.
const TAG_RUN: [u8; 4] = *b"RUN ";
/// The identities of runs that were built elsewhere and ingested; at most once.
const TAG_ADOPTED: [u8; 4] = *b"ADPT";
/// The ranges of automatic ids; at most once.
const TAG_AUTOMATIC: [u8; 4] = *b"AUTO";
/// The recipe for the fingerprints of documents; at most once.
const TAG_RECIPE: [u8; 4] = *b"RECP";
/// The checkpoint of the last job; at most once.
const TAG_CHECKPOINT: [u8; 4] = *b"CKPT";
/// The records of finished jobs; at most once.
const TAG_HISTORY: [u8; 4] = *b"HIST";
/// The order of the records after `DATA`.
const ORDER: [[u8; 4]; 6] = [TAG_RUN, TAG_ADOPTED, TAG_AUTOMATIC, TAG_RECIPE, TAG_CHECKPOINT, TAG_HISTORY];
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
            records.add(TAG_ADOPTED, |body| {
                body.put(self.ingested.as_flattened());
            });
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
        records.into_file()
    }

    /// Decodes a whole manifest file. Verifies the checksum before anything else.
    pub(crate) fn decode(file: &[u8]) -> Result<Self, Problem> {
        let mut prefix = Decoder::new("prefix", 0, file);
        Flaw::unless_equal("prefix", 0, Hex(MAGIC), Hex(prefix.array()?))?;
        let (body, stored) = file
            .split_last_chunk::<4>()
            .ok_or_else(|| Flaw::new("checksum", 0, "a CRC-32", format!("{} bytes", file.len())))?;
        // A file that was cut short has no checksum. Its length says more.
        let len =
            file.get(16..PREFIX_BYTES).and_then(|len| len.first_chunk()).map(|len| u64::from_le_bytes(*len));
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
        let records = body.get(PREFIX_BYTES..).unwrap_or_default();
        Ok(Self::decode_records(Decoder::new("records", PREFIX_BYTES as u64, records), count)?)
    }

    fn decode_records(mut records: Decoder<'_>, count: u32) -> Result<Self, Flaw> {
        let (tag, mut body) = next_record(&mut records)?;
        if count == 0 || tag != TAG_DATABASE {
            return Err(records.flaw("record DATA", name(tag)));
        }
        let mut manifest = Self::decode_database(&mut body)?;
        let mut last = 0;
        for _ in 1..count {
            let (tag, mut body) = next_record(&mut records)?;
            let place = ORDER.iter().position(|known| *known == tag);
            // Only run records repeat.
            let place =
                place.filter(|&place| place > last || (place == 0 && last == 0)).ok_or_else(|| {
                    let expected = "records DATA, RUN, ADPT, AUTO, RECP, CKPT, HIST in this order";
                    records.flaw(expected, name(tag))
                })?;
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
            TAG_ADOPTED => self.ingested = decode_adopted(body)?,
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
            older: &self.runs,
        }
    }
}

fn decode_adopted(body: &mut Decoder<'_>) -> Result<Vec<[u8; 16]>, Flaw> {
    let offset = body.offset();
    let (identities, rest) = body.take_rest().as_chunks::<16>();
    if identities.is_empty() || !rest.is_empty() {
        return Err(Flaw::new("record ADPT", offset, "identities of 16 bytes", "another length"));
    }
    Ok(identities.to_vec())
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
    fn into_file(self) -> Vec<u8> {
        let records = self.encoded.bytes;
        let mut file = Encoder::default();
        file.put(&MAGIC).u32(VERSION).u32(self.count);
        file.u64((PREFIX_BYTES + records.len() + 4) as u64).put(&records);
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
        TAG_ADOPTED => "record ADPT",
        TAG_AUTOMATIC => "record AUTO",
        TAG_RECIPE => "record RECP",
        TAG_CHECKPOINT => "record CKPT",
        TAG_HISTORY => "record HIST",
        _ => "records",
    };
    Ok((tag, Decoder::new(section, base, records.take(len)?)))
}

fn name(tag: [u8; 4]) -> String {
    tag.escape_ascii().to_string()
}
