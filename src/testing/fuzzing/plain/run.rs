//! The files of runs.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

use super::fields::{Bytes, Fault, Fields, Found, Place, ensure, ensure_number, long_words, words};
use super::manifest::{Identities, Keys, Manifest, Run};
use super::paged::{Header, Paged};
use super::rows::{Content, Key, Row};
use super::value::{Value, mix, row_hash};
use crate::util::cast::to_usize;

/// Reads all files of a run, and checks each against the others.
pub(super) fn read(files: &Bytes, manifest: &Manifest, run: &Run) -> Found<Content> {
    let postings = Postings::read(files, manifest, run)?;
    let mut natural = Vec::new();
    for table in 0..run.prefixes.len() {
        let entries = read_table(files, manifest, (run, table), &postings.values)?;
        if table == 0 {
            natural = entries;
        } else {
            let order = bit_order(manifest, run, table);
            let mut restored: Vec<Value> = entries.iter().map(|value| value.restored(&order)).collect();
            restored.sort_unstable();
            ensure(restored == natural, format!("table {table} has other fingerprints"))?;
        }
    }
    let rows = postings.rows(&natural, manifest, run)?;
    let deleted = read_tombstones(files, manifest, run)?;
    let keys = run.keys.as_ref().map_or(Ok(Vec::new()), |keys| read_keys(files, manifest, run, keys))?;
    Ok(Content { rows, deleted, keys })
}

/// Which bit of a fingerprint stands where in a permuted one.
fn bit_order(manifest: &Manifest, run: &Run, table: usize) -> Vec<u32> {
    let (width, blocks) = (manifest.width, run.blocks);
    let len = |block: u32| match manifest.bands {
        Some((bands, bits)) if block == 1 => width - bands * bits,
        Some((_, bits)) => bits,
        None => width / blocks + u32::from(block < width % blocks),
    };
    let starts: Vec<u32> =
        (0..blocks).scan(0, |at, block| Some(std::mem::replace(at, *at + len(block)))).collect();
    let in_prefix = |block: &u32| run.prefixes[table] >> block & 1 == 1;
    let prefix: Vec<u32> = (0..blocks).filter(in_prefix).collect();
    let first = match (manifest.bands, prefix.last()) {
        (None, Some(last)) => last + 1,
        _ => 1,
    };
    let others = (first..first + blocks).map(|block| block % blocks).filter(|block| !in_prefix(block));
    prefix
        .iter()
        .copied()
        .chain(others)
        .flat_map(|block| {
            let start = starts[block as usize];
            start..start + len(block)
        })
        .collect()
}

/// Opens a segment, and checks its attributes but for sums.
fn open_table<'a>(
    files: &'a Bytes,
    manifest: &Manifest,
    (run, table): (&Run, usize),
    name: &str,
) -> Found<Paged<'a>> {
    let header = Header {
        table: u32::try_from(table).unwrap_or_default(),
        blocks: run.blocks,
        prefix: run.prefixes[table],
        ..Header::new(b'S', run.number, run.salt, run.expires)
    };
    let lens = |[n, _, _, bits, ..]: [u64; 8]| {
        let lo = match (manifest.width, bits) {
            (64, 24..) => 1,
            (64, 16..) => 2,
            (64, _) => 4,
            _ if table == 0 => 0,
            _ => 4,
        };
        let n = u128::from(n);
        vec![4 * ((1 << bits.min(60)) + 1), 4 * hi_words(manifest.width) as u128 * n, lo * n]
    };
    let file = Paged::read(files, manifest, (name, &run.segments[table], &header), lens)?;
    file.ensure_unused(4)?;
    let [n, _, _, bits, ..] = &file.attributes;
    let most = manifest.bands.map_or(28, |(_, bits)| u64::from(bits).min(28));
    ensure(n.value == run.entries && (8..=most).contains(&bits.value), format!("attributes of {name}"))?;
    Ok(file)
}

/// Words of the plane `hi` for each entry.
fn hi_words(width: u32) -> usize {
    if width > 128 { 3 } else { 1 }
}

/// Reads a table: the permuted values in their order.
fn read_table(
    files: &Bytes,
    manifest: &Manifest,
    (run, table): (&Run, usize),
    values: &[Value],
) -> Found<Vec<Value>> {
    let name = format!("{:08}-t{table}.seg", run.number);
    let file = open_table(files, manifest, (run, table), &name)?;
    let [n, sum, squares, bits, ..] = &file.attributes;
    let bits = u32::try_from(bits.value).unwrap_or_default();
    let directory = words(file.sections[0]);
    let ends = (directory.first(), directory.last().copied().map(u64::from));
    ensure(ends == (Some(&0), Some(n.value)) && directory.is_sorted(), format!("directory of {name}"))?;
    let (hi, lo) = (words(file.sections[1]), file.sections[2]);
    let (mut found, mut square_sum) = (Vec::new(), 0u64);
    let (order, h) = (bit_order(manifest, run, table), hi_words(manifest.width));
    for (bucket, bounds) in (0..).zip(directory.windows(2)) {
        let entries = bounds[0] as usize..bounds[1] as usize;
        square_sum = square_sum.wrapping_add((entries.len() as u64).pow(2));
        for entry in entries {
            let value = if manifest.width == 64 {
                narrow_entry(bits, bucket, hi[entry], read_le(lo, entry, lo.len() / hi.len()))?
            } else {
                let number = if table == 0 { entry as u64 } else { read_le(lo, entry, 4) };
                let value = values.get(to_usize(number)).map(|value| value.permuted(&order));
                wide_entry(bits, bucket, &hi[entry * h..][..h], value)?
            };
            ensure(found.last().is_none_or(|last| *last < value), format!("order of entries of {name}"))?;
            found.push(value);
        }
    }
    ensure_number(square_sum, &[squares])?;
    let fingerprints = found.iter().fold(0u64, |sum, value| sum.wrapping_add(value.restored(&order).hash()));
    let in_manifest = Some(&run.fingerprint_sum).filter(|_| table == 0);
    ensure_number(fingerprints, &[Some(sum), in_manifest].into_iter().flatten().collect::<Vec<_>>())?;
    Ok(found)
}

/// The number of `len` bytes at an index.
fn read_le(bytes: &[u8], index: usize, len: usize) -> u64 {
    bytes[index * len..(index + 1) * len].iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn narrow_entry(bits: u32, bucket: u64, hi: u32, lo: u64) -> Found<Value> {
    ensure(lo < 1 << (32 - bits), "an entry of `lo`")?;
    let value = bucket << (64 - bits) | u64::from(hi) << (32 - bits) | lo;
    Ok(Value::from_le_bytes(&value.to_le_bytes()))
}

fn wide_entry(bits: u32, bucket: u64, hi: &[u32], value: Option<Value>) -> Found<Value> {
    let agrees = |value: &Value| {
        let words = (0..).zip(hi).all(|(at, &word)| value.bits(bits + 32 * at, 32) == word.into());
        value.bits(0, bits) == bucket && words
    };
    value.filter(agrees).ok_or_else(|| Fault::Damage("an entry differs from its value".into()))
}

struct Postings {
    ids: Vec<u64>,
    /// The first row of each entry.
    starts: Vec<usize>,
    values: Vec<Value>,
    row_sum: Place,
    largest_id: u64,
}

impl Postings {
    fn read(files: &Bytes, manifest: &Manifest, run: &Run) -> Found<Self> {
        let name = format!("{:08}.rows", run.number);
        let wide = manifest.width > 64;
        let lens = |[n, r, _, least, most, blocks, ..]: [u64; 8]| {
            let (n, r) = (u128::from(n), u128::from(r));
            let id = if most.wrapping_sub(least) < 1 << 32 { 4 } else { 8 };
            let many = |len: u128| if n == r { 0 } else { len };
            let starts = [many(8 * r.div_ceil(64)), many(8 * n.div_ceil(512)), many(4 * r.div_ceil(4096))];
            let lens = [id * r].into_iter().chain(starts).chain([32 * u128::from(blocks)]);
            lens.chain(wide.then_some(u128::from(manifest.width / 8) * n)).collect()
        };
        let header = Header::new(b'R', run.number, run.salt, run.expires);
        let file = Paged::read(files, manifest, (&name, &run.postings, &header), lens)?;
        file.ensure_unused(6)?;
        let [n, r, row_sum, least, most, blocks, ..] = &file.attributes;
        ensure(n.value == run.entries && r.value == run.rows, format!("attributes of {name}"))?;
        ensure(least.value <= most.value, format!("ids of {name}"))?;
        let rows = to_usize(r.value);
        let ids = match file.sections[0].len() == rows * 4 {
            true => words(file.sections[0]).iter().map(|&id| least.value.wrapping_add(id.into())).collect(),
            false => long_words(file.sections[0]),
        };
        ensure_number(ids.iter().min().copied().unwrap_or(0), &[least])?;
        ensure_number(ids.iter().max().copied().unwrap_or(0), &[most])?;
        let starts = read_starts(&file.sections, to_usize(n.value), rows, &name)?;
        ensure(blocks.value < 1 << 32, format!("blocks of {name}"))?;
        let filter = words(file.sections[4]);
        ensure(
            filter.is_empty() || ids.iter().all(|&id| passes(&filter, id)),
            format!("an id is not in the filter of {name}"),
        )?;
        let values = file.sections.get(5).copied().unwrap_or_default();
        let values = values.chunks(manifest.width as usize / 8).map(Value::from_le_bytes).collect();
        let (row_sum, largest_id) = (row_sum.clone(), if rows == 0 { 0 } else { most.value });
        Ok(Self { ids, starts, values, row_sum, largest_id })
    }

    fn rows(&self, entries: &[Value], manifest: &Manifest, run: &Run) -> Found<Vec<Row>> {
        let (mut rows, mut sum) = (Vec::new(), 0u64);
        let ends = self.starts.iter().copied().skip(1).chain([self.ids.len()]);
        for (entry, (&start, end)) in entries.iter().zip(self.starts.iter().zip(ends)) {
            let ids = &self.ids[start..end];
            ensure(ids.windows(2).all(|pair| pair[0] < pair[1]), "ids of an entry")?;
            sum = ids.iter().fold(sum, |sum, &id| sum.wrapping_add(row_hash(entry, id)));
            rows.extend(ids.iter().map(|&id| (entry.clone(), id)));
        }
        ensure_number(sum, &[&self.row_sum, &run.row_sum])?;
        let largest = &manifest.largest_id;
        if self.largest_id > largest.value {
            ensure_number(self.largest_id, &[largest])?;
        }
        Ok(rows)
    }
}

/// Whether all bits of an id are set in a filter.
fn passes(filter: &[u32], id: u64) -> bool {
    const SALTS: [u32; 8] =
        [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];
    let hash = mix(id);
    let blocks = filter.len() as u64 / 8;
    let block = to_usize(((hash >> 32) * blocks) >> 32);
    let low = u32::try_from(hash & 0xffff_ffff).unwrap_or_default();
    let is_set = |(word, salt): (&u32, u32)| word >> (low.wrapping_mul(salt) >> 27) & 1 == 1;
    filter[block * 8..][..8].iter().zip(SALTS).all(is_set)
}

/// The first row of each entry, by `starts`. `samples` and `ranks` must agree.
fn read_starts(sections: &[&[u8]], entries: usize, rows: usize, name: &str) -> Found<Vec<usize>> {
    if entries == rows {
        return Ok((0..entries).collect());
    }
    let (bits, samples, ranks) = (long_words(sections[1]), long_words(sections[2]), words(sections[3]));
    let is_start = |row: &usize| bits[row / 64] >> (row % 64) & 1 == 1;
    let starts: Vec<usize> = (0..bits.len() * 64).filter(is_start).collect();
    let holds = starts.len() == entries && starts.first() == Some(&0) && starts.last() < Some(&rows);
    ensure(holds, format!("starts of {name}"))?;
    let sampled = starts.iter().step_by(512).map(|&start| start as u64);
    ensure(sampled.eq(samples), format!("samples of {name}"))?;
    let before = (0..rows).step_by(4096).map(|row| starts.partition_point(|&start| start < row));
    ensure(before.eq(ranks.iter().map(|&rank| rank as usize)), format!("ranks of {name}"))?;
    Ok(starts)
}

fn read_tombstones(files: &Bytes, manifest: &Manifest, run: &Run) -> Found<Vec<u64>> {
    let Some(record) = &run.tombstones_file else { return Ok(Vec::new()) };
    let name = format!("{:08}.dels", run.number);
    let header = Header::new(b'D', run.number, run.salt, run.expires);
    let file = Paged::read(files, manifest, (&name, record, &header), |[d, ..]| vec![8 * u128::from(d)])?;
    file.ensure_unused(3)?;
    let [d, least, most, ..] = &file.attributes;
    ensure(d.value == run.tombstones, format!("attributes of {name}"))?;
    let deleted = long_words(file.sections[0]);
    ensure(deleted.windows(2).all(|pair| pair[0] < pair[1]), format!("order of {name}"))?;
    ensure_number(deleted[0], &[least])?;
    ensure_number(deleted[deleted.len() - 1], &[most])?;
    Ok(deleted)
}

fn read_keys(files: &Bytes, manifest: &Manifest, run: &Run, keys: &Keys) -> Found<Vec<(Row, Key)>> {
    let name = format!("{:08}.keys", run.number);
    let header = Header::new(b'K', run.number, run.salt, run.expires);
    let lens = |[n, _, b, ..]: [u64; 8]| vec![8 * u128::from(n), 8 * u128::from(n), b.into()];
    let file = Paged::read(files, manifest, (&name, &keys.file, &header), lens)?;
    file.ensure_unused(6)?;
    let [n, key_sum, _, value_sum, other_ids, keyed_rows, ..] = &file.attributes;
    ensure(n.value == keys.count, format!("attributes of {name}"))?;
    let (ids, ends) = (long_words(file.sections[0]), long_words(file.sections[1]));
    let records = file.sections[2];
    ensure(ends.last() == Some(&(records.len() as u64)) && ends.is_sorted(), format!("ends of {name}"))?;
    let (mut found, mut start, mut sums) = (Vec::new(), 0, (0u64, 0u64));
    let (mut last, mut others, mut rows) = (None, 0, BTreeSet::new());
    for (&id, &end) in ids.iter().zip(&ends) {
        let (fingerprint, key) = Key::read(&name, &records[start..to_usize(end)], manifest.width)?;
        start = to_usize(end);
        let this = Some((id, fingerprint.clone(), key.key.clone()));
        ensure(last < this, format!("order of the records of {name}"))?;
        others += u64::from(xxh3_64(&key.key) != id);
        rows.insert((id, fingerprint.clone()));
        last = this;
        let hash = mix(row_hash(&fingerprint, id).wrapping_add(xxh3_64(&key.key)));
        sums.0 = sums.0.wrapping_add(hash);
        let (first, again) = (hash.wrapping_add(key.first), key.last);
        let value = mix(mix(first).wrapping_add(again)).wrapping_add(xxh3_64(&key.text));
        sums.1 = sums.1.wrapping_add(mix(value));
        found.push(((fingerprint, id), key));
    }
    ensure_number(sums.0, &[key_sum, &keys.key_sum])?;
    ensure_number(sums.1, &[value_sum, &keys.value_sum])?;
    ensure_number(others, &[other_ids])?;
    ensure_number(rows.len() as u64, &[keyed_rows])?;
    Ok(found)
}

impl Key {
    /// Reads a record of a key, of a keys file or a log.
    pub(super) fn read(name: &str, record: &[u8], width: u32) -> Found<(Value, Self)> {
        let mut fields = Fields::new(name, record, 0);
        let fingerprint = Value::from_le_bytes(fields.take(u64::from(width / 8))?);
        let (first, len) = (fields.u64()?, fields.u32()?);
        let last = if len >> 31 == 1 { fields.u64()? } else { first };
        let len = u64::from(len & !(1 << 31));
        ensure(len <= 65536, format!("length of a key of {name}"))?;
        let key = fields.take(len)?.to_vec();
        Ok((fingerprint, Self { key, first, last, text: fields.rest().to_vec() }))
    }
}

pub(super) fn check_identities(files: &Bytes, manifest: &Manifest, of: &Identities) -> Found<()> {
    let name = format!("{:08}.ings", of.number);
    let header = Header::new(b'I', of.number, 0, None);
    let file = Paged::read(files, manifest, (&name, &of.file, &header), |[n, ..]| vec![16 * u128::from(n)])?;
    file.ensure_unused(1)?;
    ensure(file.attributes[0].value == of.count, format!("attributes of {name}"))?;
    let identities = file.sections[0].as_chunks::<16>().0;
    ensure(identities.windows(2).all(|pair| pair[0] < pair[1]), format!("order of {name}"))
}
