//! The manifest.

use super::fields::{Fault, Fields, Found, Place, ensure, ensure_version};

const MOST_BYTES: usize = 4 << 20;
const MOST_NUMBER: u64 = 1 << 63;

#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) database_id: [u8; 16],
    pub(super) width: u32,
    pub(super) k: u32,
    /// The layout asked for, with its two numbers.
    pub(super) layout: [u32; 3],
    pub(super) flags: u32,
    next_run: u64,
    pub(super) largest_id: Place,
    /// The sealed one, if there is one, and the live one.
    pub(super) logs: Vec<Log>,
    pub(super) bands: Option<(u32, u32)>,
    pub(super) runs: Vec<Run>,
    pub(super) identities: Vec<Identities>,
    pub(super) recipe: Option<Vec<u8>>,
    pub(super) checkpoint: Option<Vec<u8>>,
    pub(super) history: Option<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct Log {
    pub(super) number: u64,
    pub(super) salt: u64,
    pub(super) first_frame: u64,
    /// The number behind the last frame of a sealed log.
    pub(super) end: Option<u64>,
    /// When its rows expire, where rows do.
    pub(super) expires: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) number: u64,
    pub(super) salt: u64,
    pub(super) entries: u64,
    pub(super) rows: u64,
    pub(super) fingerprint_sum: Place,
    pub(super) row_sum: Place,
    pub(super) tombstones: u64,
    pub(super) blocks: u32,
    pub(super) prefixes: Vec<u64>,
    pub(super) segments: Vec<FileRecord>,
    pub(super) postings: FileRecord,
    pub(super) tombstones_file: Option<FileRecord>,
    pub(super) keys: Option<Keys>,
    /// In milliseconds since 1970, where rows expire.
    pub(super) expires: Option<u64>,
}

#[derive(Debug)]
pub(super) struct Keys {
    pub(super) count: u64,
    pub(super) key_sum: Place,
    pub(super) value_sum: Place,
    pub(super) file: FileRecord,
}

#[derive(Debug)]
pub(super) struct Identities {
    pub(super) number: u64,
    pub(super) count: u64,
    pub(super) file: FileRecord,
}

#[derive(Debug)]
pub(super) struct FileRecord {
    pub(super) len_bytes: u64,
    pub(super) footer_crc: u32,
    /// Where the manifest has it.
    offset: usize,
}

impl FileRecord {
    fn read(fields: &mut Fields<'_>) -> Found<Self> {
        let offset = fields.at;
        let record = Self { len_bytes: fields.u64()?, footer_crc: fields.u32()?, offset };
        fields.expect(&[0; 4], "padding")?;
        Ok(record)
    }
}

impl Manifest {
    pub(super) fn read(bytes: &[u8]) -> Found<Self> {
        let mut fields = Fields::new("MANIFEST", bytes, 0);
        fields.expect(b"\x89NPM\r\n\x1a\n", "magic")?;
        let Some((body, crc)) = bytes.split_last_chunk::<4>() else {
            return Err(Fault::Damage("a short manifest".into()));
        };
        ensure(crc32fast::hash(body).to_le_bytes() == *crc, "the CRC of the manifest")?;
        ensure_version(fields.u32()?, "MANIFEST")?;
        let count = fields.u32()?;
        ensure(fields.u64()? == bytes.len() as u64 && bytes.len() <= MOST_BYTES, "length of the manifest")?;
        let (to_read, _to_write) = (fields.u32()?, fields.u32()?);
        if to_read != 0 {
            return Err(Fault::Newer("features".into()));
        }
        let mut records = Vec::new();
        let mut fields = Fields::new("MANIFEST", body.get(32..).unwrap_or_default(), 32);
        while !fields.is_empty() {
            let (tag, len) = (fields.array::<4>()?, fields.u32()?);
            ensure(tag.iter().all(|byte| (0x20..=0x7e).contains(byte)), "a tag that is not ASCII")?;
            let at = fields.at;
            records.push((tag, Fields::new("MANIFEST", fields.take(len.into())?, at)));
        }
        ensure(records.len() as u64 == count.into(), "number of records")?;
        let mut records = records.into_iter();
        match records.next() {
            Some((tag, mut data)) if tag == *b"DATA" => Self::read_data(&mut data)?.read_records(records),
            _ => Err(Fault::Damage("no record DATA".into())),
        }
    }

    fn read_data(data: &mut Fields<'_>) -> Found<Self> {
        let generation = data.u64()?;
        ensure((1..=MOST_NUMBER).contains(&generation), "generation")?;
        let (database_id, width, k) = (data.array()?, data.u32()?, data.u32()?);
        ensure([64, 128, 256, 320].contains(&width) && k <= width, "width or k")?;
        let layout = [data.u32()?, data.u32()?, data.u32()?];
        let bands = check_layout(layout, width, k)?;
        let flags = data.u32()?;
        if flags >= 256 {
            return Err(Fault::Newer("flags".into()));
        }
        let is_set = |bit: u32| flags >> bit & 1 == 1;
        let texts = flags >> 3 & 0b111;
        ensure(is_set(2) || texts == 0, "texts without keys")?;
        ensure(texts.count_ones() <= 1, "two of texts, hashes and features")?;
        let (next_run, largest_id) = (data.u64()?, data.place()?);
        ensure((1..=MOST_NUMBER).contains(&next_run), "next run")?;
        ensure(is_set(0) || largest_id.value == 0, "a largest id without ids")?;
        let (number, next_log, first_frame, salt) = (data.u64()?, data.u64()?, data.u64()?, data.u64()?);
        ensure((1..=MOST_NUMBER).contains(&next_log) && number < next_log, "number of the log")?;
        ensure(first_frame <= MOST_NUMBER, "number of a frame")?;
        ensure(number != 0 || salt == 0, "a salt without a log")?;
        ensure(number == 0 || !is_set(1), "a log of a folder of runs")?;
        if is_set(2) {
            ensure(data.u64()? <= MOST_NUMBER, "next sequence number")?;
        }
        let mut expires = None;
        if is_set(6) {
            let (lifetime, period, of_log) = (data.u64()?, data.u64()?, data.u64()?);
            let in_range = (1..=1 << 50).contains(&lifetime) && (1..=lifetime).contains(&period);
            ensure(in_range && lifetime / period <= 1024, "lifetime")?;
            ensure(number != 0 || of_log == 0, "expiry of no log")?;
            expires = Some(of_log);
        }
        let mut logs = Vec::new();
        if is_set(7) {
            let (sealed, first, salt) = (data.u64()?, data.u64()?, data.u64()?);
            ensure((1..number).contains(&sealed) && first <= first_frame, "sealed log")?;
            let end = Some(first_frame);
            logs.push(Log { number: sealed, salt, first_frame: first, end, expires });
        }
        data.end()?;
        logs.extend((number != 0).then_some(Log { number, salt, first_frame, end: None, expires }));
        let (runs, identities) = (Vec::new(), Vec::new());
        let (recipe, checkpoint, history) = (None, None, None);
        Ok(Self {
            database_id,
            width,
            k,
            layout,
            flags,
            next_run,
            largest_id,
            logs,
            bands,
            runs,
            identities,
            recipe,
            checkpoint,
            history,
        })
    }

    fn read_records<'a>(mut self, records: impl Iterator<Item = ([u8; 4], Fields<'a>)>) -> Found<Self> {
        const ORDER: [&[u8; 4]; 6] = [b"RUN ", b"INGS", b"AUTO", b"RECP", b"CKPT", b"HIST"];
        let mut reached = 0;
        for (tag, mut body) in records {
            let place = match ORDER.iter().position(|&known| *known == tag) {
                Some(place) => place,
                None if tag[0].is_ascii_lowercase() => ORDER.len(),
                None if tag == *b"DATA" => return Err(Fault::Damage("two records DATA".into())),
                None => return Err(Fault::Newer("tag".into())),
            };
            let repeats = place == 0 || place == ORDER.len();
            ensure(place > reached || place == reached && repeats, "order of the records")?;
            reached = place;
            match place {
                0 => self.runs.push(Run::read(&mut body, &self)?),
                1 => self.read_identities(&mut body)?,
                2 => check_ranges(&mut body)?,
                3 => {
                    self.recipe = Some(read_text(&mut body, 4096)?);
                    ensure(
                        self.recipe.as_deref().is_some_and(|recipe| str::from_utf8(recipe).is_ok()),
                        "UTF-8",
                    )?;
                }
                4 => self.checkpoint = Some(read_text(&mut body, 1 << 20)?),
                5 => self.history = Some(read_text(&mut body, 1 << 20)?),
                _ => continue,
            }
            body.end()?;
        }
        self.check_runs()
    }

    fn read_identities(&mut self, body: &mut Fields<'_>) -> Found<()> {
        ensure(!body.is_empty(), "no identities file")?;
        while !body.is_empty() {
            let (number, count) = (body.u64()?, body.u64()?);
            ensure(count >= 1, "an empty identities file")?;
            self.identities.push(Identities { number, count, file: FileRecord::read(body)? });
        }
        Ok(())
    }

    fn check_runs(self) -> Found<Self> {
        let numbers = self.runs.iter().map(|run| run.number);
        let mut numbers: Vec<u64> = numbers.chain(self.identities.iter().map(|file| file.number)).collect();
        ensure(numbers.iter().all(|&number| number < self.next_run), "a number above the next run")?;
        numbers.sort_unstable();
        ensure(numbers.windows(2).all(|pair| pair[0] != pair[1]), "a number twice")?;
        ensure(self.flags & 1 == 1 || self.runs.iter().all(|run| run.rows == 0), "rows without the flag")?;
        ensure(
            self.flags & 2 == 0 || self.runs.iter().all(|run| run.tombstones == 0),
            "tombstones of new runs",
        )?;
        Ok(self)
    }

    /// The records of files: file name and offset.
    pub(super) fn file_records(&self) -> Vec<(String, usize)> {
        let mut records = Vec::new();
        for run in &self.runs {
            let segments = run.segments.iter().enumerate();
            records.extend(
                segments.map(|(table, file)| (format!("{:08}-t{table}.seg", run.number), file.offset)),
            );
            records.push((format!("{:08}.rows", run.number), run.postings.offset));
            records.extend(
                run.tombstones_file.iter().map(|file| (format!("{:08}.dels", run.number), file.offset)),
            );
            records.extend(run.keys.iter().map(|keys| (format!("{:08}.keys", run.number), keys.file.offset)));
        }
        records.extend(
            self.identities.iter().map(|file| (format!("{:08}.ings", file.number), file.file.offset)),
        );
        records
    }
}

impl Run {
    fn read(body: &mut Fields<'_>, manifest: &Manifest) -> Found<Self> {
        let number = body.u64()?;
        body.take(16)?;
        let (salt, entries, rows) = (body.u64()?, body.u64()?, body.u64()?);
        ensure(entries <= u32::MAX.into() && entries <= rows && (rows == 0) == (entries == 0), "entries")?;
        let (fingerprint_sum, row_sum, tombstones) = (body.place()?, body.place()?, body.u64()?);
        ensure(rows > 0 || tombstones > 0, "an empty run")?;
        let (blocks, tables) = (body.u32()?, body.u32()?);
        ensure((1..=64).contains(&blocks) && (1..=64).contains(&tables), "blocks or tables")?;
        let prefixes = (0..tables).map(|_| body.u64()).collect::<Found<Vec<u64>>>()?;
        check_prefixes(blocks, &prefixes, manifest.bands)?;
        let segments = (0..tables).map(|_| FileRecord::read(body)).collect::<Found<_>>()?;
        let postings = FileRecord::read(body)?;
        let tombstones_file = if tombstones > 0 { Some(FileRecord::read(body)?) } else { None };
        let keys = if manifest.flags & 4 == 4 { Keys::read(body)? } else { None };
        let expires = if manifest.flags & 64 == 64 { Some(body.u64()?) } else { None };
        ensure(manifest.runs.last().is_none_or(|older| older.expires <= expires), "order of expiry")?;
        Ok(Self {
            number,
            salt,
            entries,
            rows,
            fingerprint_sum,
            row_sum,
            tombstones,
            blocks,
            prefixes,
            segments,
            postings,
            tombstones_file,
            keys,
            expires,
        })
    }
}

impl Keys {
    fn read(body: &mut Fields<'_>) -> Found<Option<Self>> {
        let (count, key_sum, value_sum) = (body.u64()?, body.place()?, body.place()?);
        if count == 0 {
            ensure(key_sum.value == 0 && value_sum.value == 0, "sums without keys")?;
            return Ok(None);
        }
        Ok(Some(Self { count, key_sum, value_sum, file: FileRecord::read(body)? }))
    }
}

/// Checks the layout asked for. Returns the bands.
fn check_layout([kind, first, second]: [u32; 3], width: u32, k: u32) -> Found<Option<(u32, u32)>> {
    let holds = match kind {
        0 | 4 | 5 => first == 0 && second == 0,
        1 => (1..=64).contains(&first) && second == 0,
        2 => (1..=64).contains(&first) && (1..=first).contains(&second),
        3 => {
            let least = if width == 256 { 96 } else { 32 };
            let in_range = (1..=32).contains(&first) && (8..=32).contains(&second);
            in_range && first * second + least <= width && k <= width - first * second
        }
        _ => return Err(Fault::Newer("layout".into())),
    };
    ensure(holds, "layout")?;
    Ok((kind == 3).then_some((first, second)))
}

fn check_prefixes(blocks: u32, prefixes: &[u64], bands: Option<(u32, u32)>) -> Found<()> {
    if let Some((bands, _)) = bands {
        let expected = std::iter::once(1).chain((2..=bands).map(|block| 1 << block));
        return ensure(blocks == bands + 1 && prefixes.iter().copied().eq(expected), "tables of bands");
    }
    let holds = |&prefix: &u64| prefix != 0 && (blocks == 64 || prefix >> blocks == 0);
    ensure(prefixes.iter().all(holds), "a prefix")?;
    ensure(prefixes[0] & prefixes[0].wrapping_add(1) == 0, "the prefix of table 0")
}

fn check_ranges(body: &mut Fields<'_>) -> Found<()> {
    let (mut last_before, mut count) = (None, 0);
    while !body.is_empty() {
        let (first, last) = (body.u64()?, body.u64()?);
        ensure(first <= last && last_before.is_none_or(|before| before < first), "ranges of ids")?;
        (last_before, count) = (Some(last), count + 1);
    }
    ensure((1..=4096).contains(&count), "number of ranges")
}

fn read_text(body: &mut Fields<'_>, most: usize) -> Found<Vec<u8>> {
    let text = body.rest();
    ensure((1..=most).contains(&text.len()), "length of a text")?;
    Ok(text.to_vec())
}
