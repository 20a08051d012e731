//! Reads everything and checks everything: what opening and querying take on trust is looked at
//! here, with ordinary reads.

use std::ops::Range;

use super::page_file::PageFile;
use super::run::{open_keys, open_postings, open_segment, open_tombstones};
use super::{Keys, Postings, Run, Segment};
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::{CRCS_PER_PAGE, PAGE_BYTES, checksum_pages, unseal};
use crate::format::postings::{RANK_ROWS, RANKS, SAMPLE_ENTRIES, SAMPLES, STARTS, row_hash};
use crate::layout::is_wide;
use crate::options::Options;
use crate::progress::Stage;
use crate::storage::{Input, Storage};
use crate::util::cast::to_usize;
use crate::util::parallel;

/// Pages read at once.
const BATCH_PAGES: usize = 64;
/// Bad pages listed for one file; one line more tells how many others there are.
const MAX_LISTED: usize = 100;

/// What a check of a whole database found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Files looked at, the manifest included.
    pub files: u64,
    /// Bytes of those that could be opened.
    pub bytes: u64,
    /// Everything that is wrong; empty for a sound database.
    pub damage: Vec<Corruption>,
}

/// Checks every file that a manifest names, each by itself, on all threads.
pub(crate) fn verify<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    options: &Options,
) -> Result<Verification> {
    let files = |record: &RunRecord| 0..record.files().count();
    let work: Vec<(&RunRecord, usize)> =
        manifest.runs.iter().flat_map(|record| files(record).map(move |file| (record, file))).collect();
    let mut report = Verification { files: 1, bytes: manifest.encode().len() as u64, damage: Vec::new() };
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
    Ok(report)
}

/// Checks file `index` of a run: segment `index`; behind the segments the postings file, then the tombstones
/// and the keys as far as there are any.
fn check_file<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    record: &RunRecord,
    index: usize,
    checked: &mut Verification,
) -> Result<()> {
    if index < record.segments.len() {
        // Wide fingerprints stand in the postings file; what is wrong there is told once, about that file.
        let values =
            open_postings::<F>(storage, manifest, record).ok().and_then(|postings| postings.values());
        let is_readable = values.is_some() || !is_wide(F::BITS);
        let segment = open_segment::<F>(storage, manifest, record, index, values)?;
        if check_pages(storage, &segment.file, checked)? && is_readable {
            return match check_segment(&segment) {
                Err(Error::Corrupt(elsewhere)) if elsewhere.file != segment.file.path() => Ok(()),
                other => other,
            };
        }
        return Ok(());
    }
    let beside = index - record.segments.len();
    if beside > 1 || (beside == 1 && record.tombstones_file.is_none()) {
        let keys = open_keys::<F>(storage, manifest, record)?;
        return keys.map_or(Ok(()), |keys| {
            if check_pages(storage, &keys.file, checked)? { check_keys::<F>(&keys) } else { Ok(()) }
        });
    }
    if beside == 1 {
        let tombstones = open_tombstones::<F>(storage, manifest, record)?;
        return tombstones.map_or(Ok(()), |tombstones| {
            let sound = check_pages(storage, &tombstones.file, checked)?;
            if sound { tombstones.ids().map(drop) } else { Ok(()) }
        });
    }
    let postings = open_postings::<F>(storage, manifest, record)?;
    if check_pages(storage, &postings.file, checked)? {
        check_starts(&postings)?;
        // The order of rows can only be checked where table 0 can be read.
        let natural = open_segment::<F>(storage, manifest, record, 0, postings.values());
        if natural.as_ref().is_ok_and(|segment| check_segment(segment).is_ok()) {
            let (record, segments) = (record.clone(), vec![natural?]);
            check_rows(&Run { record, segments, postings, tombstones: None, keys: None })?;
        }
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

/// Reads a file again with ordinary reads, checks the CRC of every page and that padding is zero.
/// Tells whether all is well.
fn check_pages(storage: &dyn Storage, file: &PageFile, checked: &mut Verification) -> Result<bool> {
    checked.bytes += file.len_bytes();
    let path = file.path();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let input = storage.open(&name).map_err(Error::io("open", path))?;
    let crcs = read_crcs(&*input, file)?;
    let (mut bad_pages, mut last) = (0, 0);
    for (batch, batch_crcs) in crcs.chunks(BATCH_PAGES).enumerate() {
        let start = (1 + batch * BATCH_PAGES) * PAGE_BYTES;
        let mut pages = vec![0; batch_crcs.len() * PAGE_BYTES];
        input.read_exact_at(&mut pages, start as u64).map_err(Error::io("read", path))?;
        for (index, (page, &crc)) in pages.chunks(PAGE_BYTES).zip(batch_crcs).enumerate() {
            let computed = crc32fast::hash(page);
            if computed == crc {
                continue;
            }
            bad_pages += 1;
            last = (start + index * PAGE_BYTES) as u64;
            if bad_pages <= MAX_LISTED {
                let flaw = file.flaw(last, format!("CRC-32 {crc:#010x}"), format!("{computed:#010x}"));
                keep_damage(Err(flaw), &mut checked.damage)?;
            }
        }
    }
    if bad_pages > MAX_LISTED {
        let more = format!("{} more such pages, this the last", bad_pages - MAX_LISTED);
        keep_damage(Err(file.flaw(last, "pages with the right CRC-32", more)), &mut checked.damage)?;
    }
    check_ends(&*input, file)?;
    if bad_pages == 0 {
        check_padding(&*input, file)?;
    }
    Ok(bad_pages == 0)
}

/// Reads the checksum pages.
pub(super) fn read_crcs(input: &dyn Input, file: &PageFile) -> Result<Vec<u32>> {
    let data_pages = file.footer.data_pages;
    let mut crcs = Vec::new();
    for number in 0..checksum_pages(data_pages) {
        let offset = (1 + data_pages + number) * PAGE_BYTES as u64;
        let mut page = vec![0; PAGE_BYTES];
        input.read_exact_at(&mut page, offset).map_err(Error::io("read", file.path()))?;
        let of_file = |flaw: Flaw| flaw.of(file.path());
        let mut fields = unseal("checksums", offset, &page).map_err(of_file)?;
        let left = to_usize(data_pages) - crcs.len();
        for _ in 0..left.min(CRCS_PER_PAGE) {
            crcs.push(fields.u32().map_err(of_file)?);
        }
        fields.rest_is_zero().map_err(of_file)?;
    }
    Ok(crcs)
}

/// Checks header and footer as they stand in the file now.
fn check_ends(input: &dyn Input, file: &PageFile) -> Result<()> {
    for (section, offset) in [("header", 0), ("footer", file.footer_offset())] {
        let mut page = vec![0; PAGE_BYTES];
        input.read_exact_at(&mut page, offset).map_err(Error::io("read", file.path()))?;
        unseal(section, offset, &page).map_err(|flaw| flaw.of(file.path()))?;
    }
    Ok(())
}

/// The bytes between the end of a section and the end of its last page are zero.
fn check_padding(input: &dyn Input, file: &PageFile) -> Result<()> {
    for section in &file.footer.sections {
        let end = section.offset + section.len_bytes;
        let mut padding = vec![0; to_usize(end.next_multiple_of(PAGE_BYTES as u64) - end)];
        input.read_exact_at(&mut padding, end).map_err(Error::io("read", file.path()))?;
        if let Some(at) = padding.iter().position(|&byte| byte != 0) {
            return Err(file.flaw(end + at as u64, "zero padding", "another byte"));
        }
    }
    Ok(())
}

/// Order, directory and sums of a segment.
fn check_segment<F: Fingerprint>(segment: &Segment<F>) -> Result<()> {
    let file = &segment.file;
    let (mut sum, mut squares, mut entries) = (0u64, 0u64, 0usize);
    let mut last = None;
    let mut values = Vec::new();
    let directory = file.section(crate::format::segment::DIRECTORY).offset;
    for bucket in 0..segment.buckets() {
        let range = segment.entries_in(bucket, 1)?;
        if range.start != entries {
            return Err(file.flaw(directory + bucket as u64 * 4, format!("start {entries}"), range.start));
        }
        entries = range.end;
        squares = squares.saturating_add((range.len() as u64).saturating_mul(range.len() as u64));
        values.clear();
        segment.read_buckets(bucket, 1, &mut values)?;
        for (index, &value) in values.iter().enumerate() {
            if last >= Some(value) {
                let hi = file.section(crate::format::segment::HI).offset;
                let offset = hi + (range.start + index) as u64 * 4;
                return Err(file.flaw(offset, "ascending fingerprints", "one that is not larger"));
            }
            last = Some(value);
            sum = sum.wrapping_add(segment.table.restore(value).hash64());
            segment.check_place(bucket, range.start + index, value)?;
        }
    }
    let tell = |entries: u64, sum, squares| format!("{entries} entries, sum {sum}, squares {squares}");
    let expected = tell(segment.info.entries, segment.info.fingerprint_sum, segment.info.bucket_squares);
    Flaw::unless_equal("footer", file.footer_offset(), expected, tell(entries as u64, sum, squares))
        .map_err(|flaw| flaw.of(file.path()))
}

/// Order, lengths and sum of the keys.
fn check_keys<F: Fingerprint>(keys: &Keys) -> Result<()> {
    let (mut cursor, mut bytes) = (keys.cursor::<F>(), 0);
    while let Some(record) = cursor.next()? {
        bytes += record.len_bytes();
    }
    Flaw::unless_equal("footer", keys.file.footer_offset(), keys.info.record_bytes, bytes)
        .map_err(|flaw| flaw.of(keys.file.path()))
}

/// Order, counts and sum of the postings.
fn check_rows<F: Fingerprint>(run: &Run<F>) -> Result<()> {
    let postings = &run.postings;
    let mut cursor = run.row_cursor();
    let mut block = Vec::new();
    let (mut sum, mut smallest, mut largest) = (0u64, u64::MAX, 0);
    let mut last = None;
    while cursor.next_block(&mut block)? {
        for &row in &block {
            if last >= Some(row) {
                let offset = postings.file.section(crate::format::postings::IDS).offset;
                return Err(postings.file.flaw(
                    offset,
                    "ascending ids for each fingerprint",
                    format!("{row:?}"),
                ));
            }
            last = Some(row);
            sum = sum.wrapping_add(row_hash(row.fingerprint.hash64(), row.id));
            smallest = smallest.min(row.id);
            largest = largest.max(row.id);
        }
    }
    if postings.info.rows == 0 {
        smallest = 0;
    }
    let tell = |sum, ids: Range<u64>| format!("row sum {sum}, ids {} to {}", ids.start, ids.end);
    let expected = tell(postings.info.row_sum, postings.info.smallest_id..postings.info.largest_id);
    Flaw::unless_equal("footer", postings.file.footer_offset(), expected, tell(sum, smallest..largest))
        .map_err(|flaw| flaw.of(postings.file.path()))
}

/// As many starts as entries, the first row one of them, and samples that agree.
fn check_starts(postings: &Postings) -> Result<()> {
    if postings.info.one_row_each() {
        return Ok(());
    }
    let (starts, samples, ranks) = (STARTS, SAMPLES, RANKS);
    let row_count = to_usize(postings.info.rows);
    let mut entries = 0u64;
    for row in 0..row_count.next_multiple_of(64) {
        if row < row_count && (row as u64).is_multiple_of(RANK_ROWS) {
            let index = row / to_usize(RANK_ROWS);
            let rank = postings.rank(index)? as u64;
            if rank != entries {
                let offset = postings.file.section(ranks).offset + index as u64 * 4;
                return Err(postings.file.flaw(offset, format!("rank {entries}"), rank));
            }
        }
        if postings.starts_word(row / 64)? >> (row % 64) & 1 == 0 {
            if row == 0 {
                return Err(postings.file.flaw(
                    postings.file.section(starts).offset,
                    "a start at row 0",
                    "none",
                ));
            }
            continue;
        }
        if row >= row_count {
            return Err(postings.file.flaw(
                postings.file.section(starts).offset,
                "no start behind the last row",
                row,
            ));
        }
        if entries.is_multiple_of(SAMPLE_ENTRIES) {
            let index = to_usize(entries / SAMPLE_ENTRIES);
            let sample = if entries < postings.info.entries { postings.sample(index)? } else { row as u64 };
            if sample != row as u64 {
                let offset = postings.file.section(samples).offset + index as u64 * 8;
                return Err(postings.file.flaw(offset, format!("row {row}"), sample));
            }
        }
        entries += 1;
    }
    if entries == postings.info.entries {
        Ok(())
    } else {
        let offset = postings.file.section(starts).offset;
        Err(postings.file.flaw(offset, format!("{} starts", postings.info.entries), entries))
    }
}
