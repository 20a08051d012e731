//! What the files tell where no manifest does.
//!
//! A run is a segment of table 0 and a postings file of the same number, of the same database. Nothing else
//! is used: the tables' layout is not known, nor which run is older, nor which files were of use.

use std::collections::BTreeMap;

use super::findings::{Findings, Kind};
use super::log::DamagedLog;
use super::pages::{open_file, read_page};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{FileRecord, Manifest, RunRecord};
use crate::format::paged::{Footer, Header, PAGE_BYTES};
use crate::format::postings::PostingsInfo;
use crate::format::schema::Schema;
use crate::format::segment::SegmentInfo;
use crate::format::wal::WalHeader;
use crate::format::{postings, segment};
use crate::layout::Layout;
use crate::log::manifest;
use crate::storage::{ReadFile, Storage, names};

/// A database put together from its files.
pub(super) struct Found {
    /// Without tombstones, in the order of the runs' numbers.
    pub(super) manifest: Manifest,
    /// Numbers of logs, ascending.
    pub(super) logs: Vec<u64>,
}

/// What header and footer of a file say.
type Ends = (Header, FileRecord, Footer);

impl Found {
    /// Looks through the folder. [`Error::NotADatabase`] where it has no file of a database.
    pub(super) fn look<F: Fingerprint>(
        storage: &dyn Storage,
        fallback: &Schema,
        findings: &mut Findings,
    ) -> Result<Self> {
        let Listed { listed, runs, logs } = list(storage)?;
        let (database_id, width) = most_common(storage, &runs, &logs)?;
        let mut manifest = manifest::fresh(width, fallback)?;
        manifest.database_id = database_id;
        manifest.check_width(F::BITS, &storage.path(""))?;
        for &run in &runs {
            match record::<F>(storage, database_id, run)? {
                Some((record, largest_id)) => {
                    manifest.runs.push(record);
                    manifest.largest_id = manifest.largest_id.max(Some(largest_id));
                }
                None => {
                    let what = "with its postings file no run that can be read without a manifest";
                    findings.add(Kind::Lost, &names::segment(run, 0), what);
                }
            }
        }
        for run in numbers(&listed, "", ".rows", names::rows) {
            if !runs.contains(&run) {
                findings.add(Kind::Lost, &names::rows(run), "has no fingerprints beside it");
            }
        }
        let mut sound = Vec::new();
        for number in logs {
            let log = DamagedLog::read(storage, number, findings)?;
            match log.and_then(|log| log.header(database_id, width)) {
                Some(_) => sound.push(number),
                None => findings.add(Kind::Lost, &names::wal(number), "the header cannot be read"),
            }
        }
        Ok(Self { manifest, logs: sound })
    }
}

/// The width that most files carry.
pub(super) fn width(storage: &dyn Storage) -> Result<u32> {
    let Listed { runs, logs, .. } = list(storage)?;
    most_common(storage, &runs, &logs).map(|(_, width)| width)
}

/// What is in a folder.
struct Listed {
    listed: Vec<String>,
    /// Numbers of runs that have a table 0.
    runs: Vec<u64>,
    logs: Vec<u64>,
}

fn list(storage: &dyn Storage) -> Result<Listed> {
    let listed = storage.list().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Error::NotADatabase { path: storage.path("") }
        }
        _ => Error::io("read", storage.path(""))(error),
    })?;
    let listed: Vec<String> = listed.into_iter().filter_map(|name| name.into_string().ok()).collect();
    let runs = numbers(&listed, "", "-t0.seg", |run| names::segment(run, 0));
    let logs = numbers(&listed, "wal-", ".log", names::wal);
    Ok(Listed { listed, runs, logs })
}

/// The numbers of all files of a kind, ascending.
fn numbers(listed: &[String], before: &str, behind: &str, name: impl Fn(u64) -> String) -> Vec<u64> {
    let number = |file: &String| {
        let number = file.strip_prefix(before)?.strip_suffix(behind)?.parse().ok()?;
        (name(number) == *file).then_some(number)
    };
    let mut found: Vec<u64> = listed.iter().filter_map(number).collect();
    found.sort_unstable();
    found
}

/// The database id, and the width, that most files carry. [`Error::NotADatabase`] where there are none.
fn most_common(storage: &dyn Storage, runs: &[u64], logs: &[u64]) -> Result<([u8; 16], u32)> {
    let mut counts: BTreeMap<([u8; 16], u32), u64> = BTreeMap::new();
    let mut count = |database_id, width| *counts.entry((database_id, width)).or_default() += 1;
    for &run in runs {
        for (magic, name) in [(segment::MAGIC, names::segment(run, 0)), (postings::MAGIC, names::rows(run))] {
            if let Ok(input) = open_file(storage, &name)?
                && let Some(header) = header(&*input, magic)
            {
                count(header.database_id, header.width);
            }
        }
    }
    for &number in logs {
        let header = DamagedLog::read(storage, number, &mut Findings::default())?;
        if let Some(WalHeader { database_id, width, .. }) = header.and_then(|log| log.any_header()) {
            count(database_id, width);
        }
    }
    let found = counts.into_iter().max_by_key(|&(_, count)| count).map(|(found, _)| found);
    found.ok_or_else(|| Error::NotADatabase { path: storage.path("") })
}

fn header(input: &dyn ReadFile, magic: [u8; 8]) -> Option<Header> {
    Header::decode(magic, &read_page(input, 0)?).ok()
}

/// Header and footer of a file, if both are sound.
fn ends(storage: &dyn Storage, name: &str, magic: [u8; 8]) -> Result<Option<Ends>> {
    let Ok(input) = open_file(storage, name)? else { return Ok(None) };
    let read = || {
        let len_bytes = input.len_bytes().ok()?;
        let last = read_page(&*input, (len_bytes / PAGE_BYTES as u64).checked_sub(1)?)?;
        let footer = Footer::decode(&last, len_bytes - PAGE_BYTES as u64, len_bytes).ok()?;
        let footer_crc = u32::from_le_bytes(*last.last_chunk()?);
        Some((header(&*input, magic)?, FileRecord { len_bytes, footer_crc }, footer))
    };
    Ok(read())
}

/// What a manifest would say of a run, if segment and postings file belong together; and its largest id.
fn record<F: Fingerprint>(
    storage: &dyn Storage,
    database_id: [u8; 16],
    run: u64,
) -> Result<Option<(RunRecord, u64)>> {
    let natural = ends(storage, &names::segment(run, 0), segment::MAGIC)?;
    let postings = ends(storage, &names::rows(run), postings::MAGIC)?;
    let Some(((header, natural_file, natural), (rows_header, postings_file, postings))) =
        natural.zip(postings)
    else {
        return Ok(None);
    };
    let ours = |header: &Header| {
        (header.database_id, header.run, header.table, header.width) == (database_id, run, 0, F::BITS)
    };
    let info = SegmentInfo::from_footer(&natural, 0, F::BITS, 0).ok();
    let rows_info = PostingsInfo::from_footer(&postings, 0, F::BITS).ok();
    let Some((info, rows_info)) = info.zip(rows_info).filter(|_| ours(&header) && ours(&rows_header)) else {
        return Ok(None);
    };
    if info.entries != rows_info.entries {
        return Ok(None);
    }
    let record = RunRecord {
        run,
        identity: [0; 16],
        // Table 0 is the natural order in every layout.
        layout: Layout::rotations(F::BITS, 1)?,
        entries: info.entries,
        rows: rows_info.rows,
        fingerprint_sum: info.fingerprint_sum,
        row_sum: rows_info.row_sum,
        tombstones: 0,
        segments: vec![natural_file],
        postings_file,
        tombstones_file: None,
        keys: None,
    };
    Ok(Some((record, rows_info.largest_id)))
}
