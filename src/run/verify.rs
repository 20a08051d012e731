//! Full verification: reads every byte with ordinary reads and checks everything, including what
//! opening and querying trust.

use std::ops::Range;

use super::cursor::BlockRead;
use super::files::{
    Run, open_keys, open_postings, open_segment, open_segment_file, open_tombstones, open_values, segment_in,
};
use super::identities::Identities;
use super::keys::Keys;
use super::page_file::PageFile;
use super::postings::Postings;
use super::segment::Segment;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::{Fingerprint, Printed};
use crate::format::manifest::{IdentitiesRecord, Manifest, RunRecord};
use crate::format::paged::{PAGE_BYTES, unseal};
use crate::format::postings::{FILTER, IDS, RANK_ROWS, RANKS, SAMPLE_ENTRIES, SAMPLES, STARTS, row_hash};
use crate::format::segment::{DIRECTORY, HI};
use crate::options::Options;
use crate::progress::Stage;
use crate::storage::{ReadFile, Storage};
use crate::util::cast::to_usize;
use crate::util::parallel;

/// Pages to read at once.
const BATCH_PAGES: usize = 64;
/// Bad pages to list per file. One more entry counts the others.
const MAX_LISTED: usize = 100;

/// The result of verifying a whole database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Number of checked files, including the manifest.
    pub files: u64,
    /// Bytes of the files that could be opened.
    pub bytes: u64,
    /// All damage; empty for a sound database.
    pub damage: Vec<Corruption>,
    /// Bytes of the log behind its last whole frame, which nobody reads: an unfinished commit, or a
    /// damaged last one. The two look the same.
    pub ignored_log_bytes: u64,
}

/// Checks every file that a manifest names, each on its own, on all threads.
pub(crate) fn verify<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    options: &Options,
) -> Result<Verification> {
    let files = |record: &RunRecord| 0..record.files().count();
    let work: Vec<(&RunRecord, usize)> =
        manifest.runs.iter().flat_map(|record| files(record).map(move |file| (record, file))).collect();
    let bytes = manifest.encode().len() as u64;
    let mut report = Verification { files: 1, bytes, ..Verification::default() };
    parallel::ordered(
        options.threads,
        work.len(),
        || (),
        |item, (), sink| {
            let Some(&(record, file)) = work.get(item) else { return Ok(()) };
            let mut checked = Verification { files: 1, ..Verification::default() };
            let result = check_file::<F>(storage, manifest, record, file, &mut checked);
            keep_damage(result, &mut checked.damage)?;
            let _ = sink(checked);
            Ok(())
        },
        |checked| {
            report.files += checked.files;
            report.bytes += checked.bytes;
            report.damage.extend(checked.damage);
            options.report(Stage::Verifying, report.files - 1, Some(work.len() as u64))
        },
    )?;
    for record in &manifest.ingested {
        verify_identities(storage, manifest, record, &mut report)?;
    }
    Ok(report)
}

/// Checks the pages of one of several parts of a database, each with as many data pages as the others, by
/// their CRCs. `part` counts from 1. All files are opened, which checks their ends; only the pages of the part
/// count as checked.
pub(crate) fn verify_part<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    (part, parts): (u64, u64),
    options: &Options,
) -> Result<Verification> {
    let mut report =
        Verification { files: 1, bytes: manifest.encode().len() as u64, ..Verification::default() };
    let runs: Vec<Run<F>> = manifest
        .runs
        .iter()
        .map(|record| Run::open(storage, manifest, record))
        .filter_map(|opened| match opened {
            Err(Error::Corrupt(damage)) => {
                report.damage.push(*damage);
                None
            }
            other => Some(other),
        })
        .collect::<Result<_>>()?;
    let files = || runs.iter().flat_map(Run::files);
    let total: u64 = files().map(|file| file.footer.data_pages).sum();
    let bound = |part: u64| {
        to_usize(u64::try_from(u128::from(total) * u128::from(part) / u128::from(parts)).unwrap_or(total))
    };
    let (start, end) = (bound(part - 1), bound(part));
    let mut before = 0;
    for file in files() {
        let pages = to_usize(file.footer.data_pages);
        let own = start.saturating_sub(before).min(pages)..end.saturating_sub(before).min(pages);
        before += pages;
        if own.is_empty() {
            continue;
        }
        report.files += 1;
        report.bytes += (own.len() * PAGE_BYTES) as u64;
        let source = open_again(storage, file)?;
        let checked =
            check_crcs(&*source, file, own, &mut report.damage).and_then(|_| check_ends(&*source, file));
        keep_damage(checked, &mut report.damage)?;
        options.report(
            Stage::Verifying,
            before.min(end).saturating_sub(start) as u64,
            Some((end - start) as u64),
        )?;
    }
    Ok(report)
}

/// Checks a file of identities. Returns it if it is sound, with all its pages read.
pub(crate) fn verify_identities(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &IdentitiesRecord,
    checked: &mut Verification,
) -> Result<Option<Identities>> {
    checked.files += 1;
    let sound = Identities::open(storage, manifest, record).and_then(|identities| {
        let sound = check_pages(storage, &identities.file, checked)?;
        if sound {
            identities.all()?;
        }
        Ok(sound.then_some(identities))
    });
    match sound {
        Err(Error::Corrupt(damage)) => checked.damage.push(*damage),
        other => return other,
    }
    Ok(None)
}

/// Checks file number `index` of a run, in the order of [`RunRecord::files`].
fn check_file<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    index: usize,
    checked: &mut Verification,
) -> Result<()> {
    let tombstones = usize::from(record.tombstones_file.is_some());
    match index.checked_sub(record.segments.len()) {
        None => check_segment_file::<F>(storage, manifest, record, index, checked),
        Some(0) => check_postings_file::<F>(storage, manifest, record, checked),
        Some(beside) if beside <= tombstones => {
            let tombstones = open_tombstones(storage, manifest, record)?;
            tombstones.map_or(Ok(()), |tombstones| {
                let sound = check_pages(storage, &tombstones.file, checked)?;
                if sound { tombstones.ids().map(drop) } else { Ok(()) }
            })
        }
        Some(_) => {
            let keys = open_keys(storage, manifest, record)?;
            keys.map_or(Ok(()), |keys| {
                if check_pages(storage, &keys.file, checked)? { check_keys::<F>(&keys) } else { Ok(()) }
            })
        }
    }
}

fn check_segment_file<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    table: usize,
    checked: &mut Verification,
) -> Result<()> {
    let (file, info) = open_segment_file::<F>(storage, manifest, record, table)?;
    if !check_pages(storage, &file, checked)? {
        return Ok(());
    }
    // The check of the postings file reports its damage. Here it is not reported again.
    let Ok(values) = open_values::<F>(storage, manifest, record) else { return Ok(()) };
    let segment = segment_in::<F>(file, info, record, table, values);
    match check_segment(&segment) {
        Err(Error::Corrupt(elsewhere)) if elsewhere.file != segment.file.path() => Ok(()),
        other => other,
    }
}

fn check_postings_file<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    checked: &mut Verification,
) -> Result<()> {
    let postings = open_postings(storage, manifest, record)?;
    if !check_pages(storage, &postings.file, checked)? {
        return Ok(());
    }
    check_starts(&postings)?;
    // The order of rows can be checked only if table 0 is readable.
    let natural = open_segment::<F>(storage, manifest, record, 0, postings.values::<F>());
    if natural.as_ref().is_ok_and(|segment| check_segment(segment).is_ok()) {
        let (record, segments) = (record.clone(), vec![natural?]);
        check_rows(&Run { record, segments, postings, tombstones: None, keys: None })?;
    }
    Ok(())
}

/// The damage of one file, numbered as in [`check_file`].
#[cfg(test)]
pub(crate) fn verify_file<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    index: usize,
) -> Result<Vec<Corruption>> {
    let mut checked = Verification::default();
    let result = check_file::<F>(storage, manifest, record, index, &mut checked);
    keep_damage(result, &mut checked.damage)?;
    Ok(checked.damage)
}

fn keep_damage(result: Result<()>, found: &mut Vec<Corruption>) -> Result<()> {
    match result {
        Err(Error::Corrupt(corruption)) => found.push(*corruption),
        other => other?,
    }
    Ok(())
}

/// Reads a file again with ordinary reads. Checks the CRC of every page, and that padding is zero.
/// Returns whether all pages are sound.
fn check_pages(storage: &dyn Storage, file: &PageFile, checked: &mut Verification) -> Result<bool> {
    checked.bytes += file.len_bytes();
    let source = open_again(storage, file)?;
    let all = 0..to_usize(file.footer.data_pages);
    let is_sound = check_crcs(&*source, file, all, &mut checked.damage)?;
    check_ends(&*source, file)?;
    if is_sound {
        check_padding(&*source, file)?;
    }
    Ok(is_sound)
}

/// Opens a mapped file for ordinary reads.
fn open_again(storage: &dyn Storage, file: &PageFile) -> Result<Box<dyn ReadFile>> {
    let path = file.path();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    storage.open(&name).map_err(Error::io("open", path))
}

/// Checks the CRCs of some data pages of a file, and all checksum pages. Returns whether they are sound.
fn check_crcs(
    source: &dyn ReadFile,
    file: &PageFile,
    pages: Range<usize>,
    damage: &mut Vec<Corruption>,
) -> Result<bool> {
    let crcs = file.read_crcs(source)?;
    let (mut bad_pages, mut last, mut first) = (0, 0, pages.start);
    for batch_crcs in crcs.get(pages).unwrap_or_default().chunks(BATCH_PAGES) {
        let start = (1 + first) * PAGE_BYTES;
        first += batch_crcs.len();
        let mut pages = vec![0; batch_crcs.len() * PAGE_BYTES];
        source.read_exact_at(&mut pages, start as u64).map_err(Error::io("read", file.path()))?;
        for (index, (page, &crc)) in pages.chunks(PAGE_BYTES).zip(batch_crcs).enumerate() {
            let computed = crc32fast::hash(page);
            if computed == crc {
                continue;
            }
            bad_pages += 1;
            last = (start + index * PAGE_BYTES) as u64;
            if bad_pages <= MAX_LISTED {
                let flaw = file.flaw(last, format!("CRC-32 {crc:#010x}"), format!("{computed:#010x}"));
                keep_damage(Err(flaw), damage)?;
            }
        }
    }
    if bad_pages > MAX_LISTED {
        let more = format!("{} more such pages, this the last", bad_pages - MAX_LISTED);
        keep_damage(Err(file.flaw(last, "pages with the right CRC-32", more)), damage)?;
    }
    Ok(bad_pages == 0)
}

/// Checks header and footer as they are in the file now.
fn check_ends(source: &dyn ReadFile, file: &PageFile) -> Result<()> {
    for (section, offset) in [("header", 0), ("footer", file.footer_offset())] {
        let mut page = vec![0; PAGE_BYTES];
        source.read_exact_at(&mut page, offset).map_err(Error::io("read", file.path()))?;
        unseal(section, offset, &page).map_err(|flaw| flaw.of(file.path()))?;
    }
    Ok(())
}

/// The bytes between the end of a section and the end of its last page must be zero.
fn check_padding(source: &dyn ReadFile, file: &PageFile) -> Result<()> {
    for section in &file.footer.sections {
        let end = section.offset + section.len_bytes;
        let mut padding = vec![0; to_usize(end.next_multiple_of(PAGE_BYTES as u64) - end)];
        source.read_exact_at(&mut padding, end).map_err(Error::io("read", file.path()))?;
        if let Some(at) = padding.iter().position(|&byte| byte != 0) {
            return Err(file.flaw(end + at as u64, "zero padding", "another byte"));
        }
    }
    Ok(())
}

/// Checks the order, the directory and the sums of a segment.
fn check_segment<F: Fingerprint>(segment: &Segment<F>) -> Result<()> {
    let file = &segment.file;
    let (mut sum, mut squares, mut entries) = (0u64, 0u64, 0usize);
    let mut last = None;
    let mut values = Vec::new();
    let directory = file.section(DIRECTORY).offset;
    for bucket in 0..segment.buckets() {
        let range = segment.entries_in(bucket, 1)?;
        if range.start != entries {
            return Err(file.flaw(directory + bucket as u64 * 4, format!("start {entries}"), range.start));
        }
        entries = range.end;
        squares = squares.saturating_add((range.len() as u64).saturating_mul(range.len() as u64));
        values.clear();
        segment.read_buckets(bucket, 1, &mut values)?;
        for (place, &value) in range.zip(&values) {
            if last >= Some(value) {
                let offset = file.section(HI).offset + place as u64 * 4;
                return Err(file.flaw(offset, "ascending fingerprints", "one that is not larger"));
            }
            last = Some(value);
            sum = sum.wrapping_add(segment.table.restore(value).hash64());
            segment.check_place(bucket, place, value)?;
        }
    }
    let describe = |entries: u64, sum, squares| format!("{entries} entries, sum {sum}, squares {squares}");
    let expected = describe(segment.info.entries, segment.info.fingerprint_sum, segment.info.bucket_squares);
    file.check_equal("footer", expected, describe(entries as u64, sum, squares))
}

/// Checks the order, the lengths and the sums of the keys.
fn check_keys<F: Fingerprint>(keys: &Keys) -> Result<()> {
    let mut cursor = keys.cursor::<F>();
    while cursor.next()?.is_some() {}
    Ok(())
}

/// Checks the order, the ids and the sum of the postings.
fn check_rows<F: Fingerprint>(run: &Run<F>) -> Result<()> {
    let file = &run.postings.file;
    let info = &run.postings.info;
    let mut cursor = run.row_cursor();
    let mut block = Vec::new();
    let (mut sum, mut smallest, mut largest) = (0u64, u64::MAX, 0);
    let mut last = None;
    while cursor.next_block(run, &mut block)? == BlockRead::Filled {
        for &row in &block {
            if last >= Some(row) {
                let expected = "ascending ids for each fingerprint";
                return Err(file.flaw(
                    file.section(IDS).offset,
                    expected,
                    format!("{}, id {}", Printed(row.fingerprint), row.id),
                ));
            }
            if info.filter_blocks > 0 && !run.postings.may_hold(row.id)? {
                let found = format!("no bits of id {}", row.id);
                return Err(file.flaw(file.section(FILTER).offset, "the bits of every id", found));
            }
            last = Some(row);
            sum = sum.wrapping_add(row_hash(row.fingerprint.hash64(), row.id));
            smallest = smallest.min(row.id);
            largest = largest.max(row.id);
        }
    }
    if info.rows == 0 {
        smallest = 0;
    }
    let describe = |sum, first: u64, last: u64| format!("row sum {sum}, ids {first} to {last}");
    let expected = describe(info.row_sum, info.smallest_id, info.largest_id);
    file.check_equal("footer", expected, describe(sum, smallest, largest))
}

/// There must be as many starts as entries, the first at row 0, and samples and ranks must agree.
fn check_starts(postings: &Postings) -> Result<()> {
    let (file, info) = (&postings.file, &postings.info);
    if info.one_row_each() {
        return Ok(());
    }
    let starts = file.section(STARTS).offset;
    let row_count = to_usize(info.rows);
    let mut entries = 0u64;
    for row in 0..row_count.next_multiple_of(64) {
        if row < row_count && (row as u64).is_multiple_of(RANK_ROWS) {
            check_rank(postings, row, entries)?;
        }
        if postings.starts_word(row / 64)? >> (row % 64) & 1 == 0 {
            if row == 0 {
                return Err(file.flaw(starts, "a start at row 0", "none"));
            }
            continue;
        }
        if row >= row_count {
            return Err(file.flaw(starts, "no start after the last row", row));
        }
        if entries.is_multiple_of(SAMPLE_ENTRIES) && entries < info.entries {
            check_sample(postings, row, entries)?;
        }
        entries += 1;
    }
    if entries == info.entries {
        Ok(())
    } else {
        Err(file.flaw(starts, format!("{} starts", info.entries), entries))
    }
}

/// The rank at `row` must be the number of entries before it.
fn check_rank(postings: &Postings, row: usize, entries: u64) -> Result<()> {
    let index = row / to_usize(RANK_ROWS);
    let rank = postings.rank(index)? as u64;
    if rank == entries {
        return Ok(());
    }
    let offset = postings.file.section(RANKS).offset + index as u64 * 4;
    Err(postings.file.flaw(offset, format!("rank {entries}"), rank))
}

/// The sample of an entry must be its first row.
fn check_sample(postings: &Postings, row: usize, entry: u64) -> Result<()> {
    let index = to_usize(entry / SAMPLE_ENTRIES);
    let sample = postings.sample(index)?;
    if sample == row as u64 {
        return Ok(());
    }
    let offset = postings.file.section(SAMPLES).offset + index as u64 * 8;
    Err(postings.file.flaw(offset, format!("row {row}"), sample))
}
