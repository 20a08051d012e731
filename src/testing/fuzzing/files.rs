//! Sound databases as files in memory, and changes to them with correct checksums.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::input::Input;
use super::options::options;
use crate::build::{RowCounts, RunContent, Target, write_run};
use crate::fingerprint::Bits;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::{ATTRIBUTES, PAGE_BYTES, PAGE_CRC_OFFSET, crc_place, data_pages};
use crate::format::postings::row_hash;
use crate::format::schema::Schema;
use crate::format::wal::{Content, Operation};
use crate::log::manifest;
use crate::log::wal::Wal;
use crate::options::Options;
use crate::run::{BlockRead, Postings, Run, Segment};
use crate::storage::{Access, Storage, names};
use crate::testing::simulated::SimulatedDisk;
use crate::util::cast::to_usize;
use crate::{Result, Row};

/// Offset in a footer page of the CRC of the checksum pages' root.
const ROOT_CRC_OFFSET: usize = 16;

/// The content of a run.
pub(super) struct NewRun {
    pub(super) layout: String,
    pub(super) rows: Vec<Row<u64>>,
    /// Ascending.
    pub(super) deleted: Vec<u64>,
}

/// The files of a database, and its decoded manifest.
#[derive(Clone)]
pub(super) struct Files {
    pub(super) by_name: BTreeMap<String, Vec<u8>>,
    manifest: Manifest,
}

/// Offset of the attributes in a footer page.
const ATTRIBUTES_AT: usize = 16;

impl Files {
    /// A database of these runs, oldest first, and a log with more operations.
    pub(super) fn build(schema: &Schema, runs: &[NewRun], logged: &[Operation<u64>]) -> Result<Self> {
        let disk = SimulatedDisk::new();
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        // Fixes the ids, including the database id.
        let options = options();
        let mut manifest = manifest::fresh(64, schema)?;
        for run in runs {
            let record = write(&storage, &options, schema.k, &mut manifest, run)?;
            manifest.largest_id = manifest.largest_id.max(run.rows.iter().map(|row| row.id).max());
            manifest.runs.push(record);
        }
        if !logged.is_empty() {
            let mut log = Wal::create(&*storage, &manifest)?;
            let mut content = Content::default();
            logged.iter().for_each(|&operation| content.push(operation));
            log.append(&content)?;
            (manifest.live_wal, manifest.next_wal) = (Some(log.live), log.live.number + 1);
        }
        manifest::replace(&*storage, &manifest)?;
        let content = |name: String| (name.clone(), disk.file_bytes(&name).unwrap_or_default());
        Ok(Self { by_name: disk.names().into_iter().map(content).collect(), manifest })
    }

    /// A disk with these files.
    pub(super) fn disk(&self) -> SimulatedDisk {
        let disk = SimulatedDisk::new();
        self.by_name.iter().for_each(|(name, bytes)| disk.set_file_bytes(name, bytes.clone()));
        disk
    }

    /// The names of the files of all runs, or of run `only`.
    pub(super) fn of_runs(&self, only: Option<u64>) -> Vec<String> {
        let wanted = |name: &&String| match only {
            Some(run) => name.starts_with(&format!("{run:08}")),
            None => name.starts_with(|first: char| first.is_ascii_digit()),
        };
        self.by_name.keys().filter(wanted).cloned().collect()
    }

    /// Changes some bytes of some of the named files.
    pub(super) fn edit(&mut self, names: &[String], input: &mut Input<'_>, most: usize) {
        for _ in 0..most {
            if input.is_empty() || names.is_empty() {
                return;
            }
            let name = &names[input.below(names.len())];
            if let Some(bytes) = self.by_name.get_mut(name) {
                edit(bytes, input);
            }
        }
    }

    /// Corrects all checksums, and the manifest's records of them. `mode` selects whether to
    /// correct the copies of footer fields in the manifest, and the sums over the data.
    pub(super) fn repair(&mut self, mode: u8) {
        let (agree, sums) = (mode & 1 == 1, mode & 2 == 2);
        for index in 0..self.manifest.runs.len() {
            let mut record = self.manifest.runs[index].clone();
            self.seal(&mut record);
            if agree {
                self.copy_counts(&mut record);
            }
            if sums {
                // If the data is unreadable, wrong sums do not matter.
                let _ = self.add_up(&mut record);
            }
            self.manifest.runs[index] = record;
        }
        self.by_name.insert(names::MANIFEST.into(), self.manifest.encode());
    }

    /// Corrects the checksums of a run's files and stores them in its record.
    fn seal(&mut self, record: &mut RunRecord) {
        let run = record.run;
        let segments = record.segments.iter_mut().enumerate();
        let rows = (names::rows(run), &mut record.postings_file);
        let deleted = record.tombstones_file.iter_mut().map(|file| (names::tombstones(run), file));
        let files = segments.map(|(table, file)| (names::segment(run, table), file));
        for (name, file) in files.chain([rows]).chain(deleted) {
            let Some(bytes) = self.by_name.get_mut(&name) else { continue };
            seal_pages(bytes);
            file.len_bytes = bytes.len() as u64;
            file.footer_crc = bytes.last_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
        }
    }

    /// Copies the fields of the footers to the record.
    fn copy_counts(&self, record: &mut RunRecord) {
        let [entries, fingerprint_sum, ..] = self.attributes(&names::segment(record.run, 0));
        let [_, rows, row_sum, ..] = self.attributes(&names::rows(record.run));
        let [tombstones, ..] = self.attributes(&names::tombstones(record.run));
        (record.entries, record.fingerprint_sum) = (entries, fingerprint_sum);
        (record.rows, record.row_sum) = (rows, row_sum);
        if record.tombstones_file.is_some() {
            record.tombstones = tombstones;
        }
    }

    fn attributes(&self, name: &str) -> [u64; ATTRIBUTES] {
        let bytes = self.by_name.get(name).map_or(&[][..], Vec::as_slice);
        let at = bytes.len().saturating_sub(PAGE_BYTES) + ATTRIBUTES_AT;
        let words = bytes.get(at..at + ATTRIBUTES * 8).unwrap_or(&[0; ATTRIBUTES * 8]);
        let mut attributes = [0; ATTRIBUTES];
        attributes.iter_mut().zip(words.as_chunks().0).for_each(|(to, from)| *to = u64::from_le_bytes(*from));
        attributes
    }

    fn set_attribute(&mut self, name: &str, index: usize, value: u64) {
        let Some(bytes) = self.by_name.get_mut(name) else { return };
        let at = bytes.len().saturating_sub(PAGE_BYTES) + ATTRIBUTES_AT + index * 8;
        if let Some(place) = bytes.get_mut(at..at + 8) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    /// Sets the sums of table 0 and of the rows to the sums of their data.
    fn add_up(&mut self, record: &mut RunRecord) -> Result<()> {
        let owner = self.manifest.owner_of(record);
        let natural = names::segment(record.run, 0);
        let disk = self.disk();
        let spec = Segment::<u64>::file_spec(owner, &record.layout, 0);
        let open = |record: &RunRecord| {
            Segment::<u64>::map(
                &disk,
                &spec,
                record.layout.table(0),
                record.segments[0],
                Access::Random,
                None,
            )
        };
        let segment = open(record)?;
        let (mut cursor, mut block, mut sum) = (segment.cursor(), Vec::new(), 0u64);
        while cursor.next_block(&segment, &mut block)? == BlockRead::Filled {
            sum = block.iter().fold(sum, |sum, value| sum.wrapping_add(value.hash64()));
        }
        let mut squares = 0u64;
        for bucket in 0..segment.buckets() {
            squares += (segment.entries_in(bucket, 1)?.len() as u64).pow(2);
        }
        self.set_attribute(&natural, 1, sum);
        self.set_attribute(&natural, 2, squares);
        record.fingerprint_sum = sum;
        let spec = Postings::file_spec(owner);
        let postings = Postings::open(&disk, &spec, record, Some(u64::MAX))?;
        let run =
            Run { record: record.clone(), segments: vec![segment], postings, tombstones: None, keys: None };
        let (mut cursor, mut block, mut sum) = (run.row_cursor(), Vec::new(), 0u64);
        while cursor.next_block(&run, &mut block)? == BlockRead::Filled {
            let hash = |row: &Row<u64>| row_hash(row.fingerprint.hash64(), row.id);
            sum = block.iter().fold(sum, |sum, row| sum.wrapping_add(hash(row)));
        }
        self.set_attribute(&names::rows(record.run), 2, sum);
        record.row_sum = sum;
        self.seal(record);
        Ok(())
    }
}

fn write(
    storage: &Arc<dyn Storage>,
    options: &Options,
    k: u32,
    manifest: &mut Manifest,
    run: &NewRun,
) -> Result<RunRecord> {
    let mut rows = run.rows.clone();
    rows.sort_unstable();
    rows.dedup();
    let counts = RowCounts::of(&&rows[..], 0, options)?;
    let number = manifest.take_run_number();
    let target = Target { storage, options, owner: manifest.new_owner(number, None)? };
    let layout = run.layout.parse::<crate::LayoutChoice>()?.layout(64, k, counts.entries)?;
    write_run(target, RunContent::new(layout, (Box::new(&rows[..]), counts), &run.deleted, &()))
}

/// One change to a file.
fn edit(bytes: &mut Vec<u8>, input: &mut Input<'_>) {
    let kind = input.byte() % 12;
    let (page, pages) = (usize::from(input.byte()), bytes.len() / PAGE_BYTES);
    let page = page.checked_rem(pages).unwrap_or_default() * PAGE_BYTES;
    match kind {
        0 => bytes.truncate(page + usize::from(input.u16()) % PAGE_BYTES),
        1 => bytes.resize(bytes.len() + usize::from(input.byte()) * 512, input.byte()),
        2 => bytes[page..].iter_mut().take(PAGE_BYTES).for_each(|byte| *byte = 0),
        3 => {
            let from = usize::from(input.byte()).checked_rem(pages).unwrap_or_default() * PAGE_BYTES;
            let copy: Vec<u8> = bytes[from..].iter().copied().take(PAGE_BYTES).collect();
            bytes[page..].iter_mut().zip(copy).for_each(|(to, from)| *to = from);
        }
        4 | 5 => {
            let word = usize::from(input.byte() % 32) * 8;
            let at = bytes.len().saturating_sub(PAGE_BYTES) + word;
            let value = if kind == 4 { input.edge() } else { input.u64() };
            put(bytes, at, &value.to_le_bytes());
        }
        6 | 7 => {
            let at = page + place(input, 4);
            let value = if kind == 6 { u32::from(input.u16()) } else { u32::from_le_bytes(input.array()) };
            put(bytes, at, &value.to_le_bytes());
        }
        8 => {
            let at = page + place(input, 8);
            put(bytes, at, &input.edge().to_le_bytes());
        }
        9 => {
            let (a, b) = (page + place(input, 4), page + place(input, 4));
            for (a, b) in (a..a + 4).zip(b..b + 4) {
                if a.max(b) < bytes.len() {
                    bytes.swap(a, b);
                }
            }
        }
        10 => {
            let at = page + place(input, 1);
            let step = input.byte();
            if let Some(byte) = bytes.get_mut(at) {
                *byte = byte.wrapping_add(step);
            }
        }
        _ => {
            let at = page + place(input, 1);
            let len = input.below(16);
            put(bytes, at, input.take(len));
        }
    }
}

/// One change to the bytes of a range, by what stands elsewhere in it, by the same bytes of another
/// file, or by numbers of the input.
pub(super) fn edit_region(
    bytes: &mut [u8],
    region: Range<usize>,
    other: Option<&[u8]>,
    input: &mut Input<'_>,
) {
    let unit = input.pick(&[1, 4, 8, 16]);
    let mut element = || region.start + usize::from(input.u16()) * unit % region.len().max(1);
    let (at, from) = (element(), element());
    match input.byte() % 8 {
        0 => put(bytes, at, &input.edge().to_le_bytes()[..unit.min(8)]),
        1 => put(bytes, at, &u64::from(input.byte()).to_le_bytes()[..unit.min(8)]),
        2 => {
            let step = input.byte();
            bytes.get_mut(at).into_iter().for_each(|byte| *byte = byte.wrapping_add(step));
        }
        3 => {
            let copy: Vec<u8> = bytes.iter().skip(from).take(unit).copied().collect();
            put(bytes, at, &copy);
        }
        4 => {
            for (a, b) in (at..at + unit).zip(from..from + unit) {
                if a.max(b) < bytes.len() {
                    bytes.swap(a, b);
                }
            }
        }
        5 => put(bytes, region.start, other.and_then(|other| other.get(region.clone())).unwrap_or_default()),
        6 => put(bytes, at, input.take(unit)),
        _ => {
            let flip = 1 << (input.byte() % 8);
            bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= flip);
        }
    }
}

/// An offset in a page, more likely near its start, where small files have their data.
fn place(input: &mut Input<'_>, unit: usize) -> usize {
    let near = input.byte();
    if near < 192 { usize::from(near) * unit } else { usize::from(input.u16()) % PAGE_BYTES }
}

/// Overwrites existing bytes.
pub(super) fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes.iter_mut().skip(at).zip(new).for_each(|(to, from)| *to = *from);
}

/// Corrects every checksum of a file of pages, if its length is possible.
pub(super) fn seal_pages(bytes: &mut [u8]) {
    let pages = (bytes.len() / PAGE_BYTES) as u64;
    if pages < 2 || !bytes.len().is_multiple_of(PAGE_BYTES) {
        return;
    }
    let data_pages = data_pages(bytes.len() as u64).unwrap_or(0);
    // From the data up to the root of the checksum pages.
    for number in 1..pages - 1 {
        let content = page(bytes, number);
        let crc = if number <= data_pages { crc32fast::hash(content) } else { seal(content) };
        let (holder, at) = crc_place(number, data_pages).unwrap_or((pages - 1, ROOT_CRC_OFFSET));
        put(page(bytes, holder), at, &crc.to_le_bytes());
    }
    for number in [0, pages - 1] {
        seal(page(bytes, number));
    }
}

/// Corrects the CRC at the end of a page.
fn seal(page: &mut [u8]) -> u32 {
    let crc = crc32fast::hash(&page[..PAGE_CRC_OFFSET]);
    put(page, PAGE_CRC_OFFSET, &crc.to_le_bytes());
    crc
}

fn page(bytes: &mut [u8], number: u64) -> &mut [u8] {
    let start = to_usize(number) * PAGE_BYTES;
    &mut bytes[start..start + PAGE_BYTES]
}
