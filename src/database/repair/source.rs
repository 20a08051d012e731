//! The damaged database: its manifest, or what its files say without one.
//!
//! Without a manifest, a run is a segment of table 0 and a postings file with the same number and
//! database. No other file of a run is used: the layout of the tables is unknown, as are the ages
//! of the runs and which runs were live.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use super::log::DamagedLog;
use super::pages::{is_medium_error, open_file, read_page};
use super::report::{FindingKind, RepairReport};
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

/// A damaged database.
pub(super) struct DamagedDatabase {
    pub(super) manifest: Manifest,
    /// Numbers of logs, ascending.
    pub(super) logs: Vec<u64>,
}

impl DamagedDatabase {
    /// Reads the manifest, or reconstructs it from the other files.
    pub(super) fn find<F: Fingerprint>(
        storage: &dyn Storage,
        fallback: &Schema,
        report: &mut RepairReport,
    ) -> Result<Self> {
        let why = match manifest::read(storage) {
            Ok(Some(manifest)) => {
                manifest.check_width(F::BITS, &storage.path(""))?;
                return Ok(Self { logs: manifest.live_wal.into_iter().collect(), manifest });
            }
            Ok(None) => "missing".to_string(),
            Err(Error::Corrupt(damage)) => {
                format!("corrupt {} at offset {}", damage.section, damage.offset)
            }
            Err(Error::Io { source, .. })
                if is_medium_error(&source) || source.kind() == ErrorKind::NotADirectory =>
            {
                source.to_string()
            }
            Err(other) => return Err(other),
        };
        let database = Self::from_files::<F>(storage, fallback, report)?;
        report.add(FindingKind::Damaged, names::MANIFEST, why);
        let what = "the order of the runs is unknown: deleted rows may have come back";
        report.add(FindingKind::Note, names::MANIFEST, what);
        let Schema { k, layout, keys, recipe } = fallback;
        let keys = if keys.has_keys() { "keys" } else { "no keys" };
        let recipe = recipe.as_ref().map_or("no recipe".into(), |recipe| format!("recipe {recipe}"));
        let what = format!("the settings are lost: the copy has layout {layout}, k = {k}, {keys}, {recipe}");
        report.add(FindingKind::Note, names::MANIFEST, what);
        Ok(database)
    }

    /// A manifest without tombstones, with the runs in the order of their numbers.
    /// [`Error::NotADatabase`] if the folder has no file of a database.
    fn from_files<F: Fingerprint>(
        storage: &dyn Storage,
        fallback: &Schema,
        report: &mut RepairReport,
    ) -> Result<Self> {
        let FolderContent { files, runs, logs } = FolderContent::list(storage)?;
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
                    report.add(FindingKind::Lost, &names::segment(run, 0), what);
                }
            }
        }
        for run in numbers(&files, "", ".rows", names::rows) {
            if runs.binary_search(&run).is_err() {
                report.add(FindingKind::Lost, &names::rows(run), "has no fingerprints beside it");
            }
        }
        let mut sound = Vec::new();
        for number in logs {
            let log = DamagedLog::read(storage, number, report)?;
            match log.and_then(|log| log.header(database_id, width)) {
                Some(_) => sound.push(number),
                None => report.add(FindingKind::Lost, &names::wal(number), "the header cannot be read"),
            }
        }
        Ok(Self { manifest, logs: sound })
    }
}

/// The width of a database, from its manifest, or from most of its files if the manifest is
/// unreadable.
pub(crate) fn width(storage: &dyn Storage) -> Result<u32> {
    match manifest::read(storage) {
        Ok(Some(manifest)) => Ok(manifest.width),
        Err(newer @ Error::NewerVersion { .. }) => Err(newer),
        _ => {
            let FolderContent { runs, logs, .. } = FolderContent::list(storage)?;
            most_common(storage, &runs, &logs).map(|(_, width)| width)
        }
    }
}

/// The files of a folder.
struct FolderContent {
    files: Vec<String>,
    /// Numbers of runs with a table 0.
    runs: Vec<u64>,
    logs: Vec<u64>,
}

impl FolderContent {
    fn list(storage: &dyn Storage) -> Result<Self> {
        let files = storage.list().map_err(|error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Error::NotADatabase { path: storage.path("") },
            _ => Error::io("read", storage.path(""))(error),
        })?;
        let files: Vec<String> = files.into_iter().filter_map(|name| name.into_string().ok()).collect();
        let runs = numbers(&files, "", "-t0.seg", |run| names::segment(run, 0));
        let logs = numbers(&files, "wal-", ".log", names::wal);
        Ok(Self { files, runs, logs })
    }
}

/// The numbers of all files of a kind, ascending.
fn numbers(files: &[String], prefix: &str, suffix: &str, name: impl Fn(u64) -> String) -> Vec<u64> {
    let number = |file: &String| {
        let number = file.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()?;
        (name(number) == *file).then_some(number)
    };
    let mut found: Vec<u64> = files.iter().filter_map(number).collect();
    found.sort_unstable();
    found
}

/// The database id and width of most files. [`Error::NotADatabase`] if there are none.
fn most_common(storage: &dyn Storage, runs: &[u64], logs: &[u64]) -> Result<([u8; 16], u32)> {
    let mut counts: BTreeMap<([u8; 16], u32), u64> = BTreeMap::new();
    let mut count = |database_id, width| *counts.entry((database_id, width)).or_default() += 1;
    for &run in runs {
        for (magic, name) in [(segment::MAGIC, names::segment(run, 0)), (postings::MAGIC, names::rows(run))] {
            if let Ok(file) = open_file(storage, &name)?
                && let Some(header) = header(&*file, magic)
            {
                count(header.database_id, header.width);
            }
        }
    }
    for &number in logs {
        let header = DamagedLog::read(storage, number, &mut RepairReport::default())?;
        if let Some(WalHeader { database_id, width, .. }) = header.and_then(|log| log.any_header()) {
            count(database_id, width);
        }
    }
    let found = counts.into_iter().max_by_key(|&(_, count)| count).map(|(found, _)| found);
    found.ok_or_else(|| Error::NotADatabase { path: storage.path("") })
}

fn header(file: &dyn ReadFile, magic: [u8; 8]) -> Option<Header> {
    Header::decode(magic, &read_page(file, 0)?).ok()
}

/// Header and footer of a file, and its record for a manifest.
type FileEnds = (Header, FileRecord, Footer);

/// Header and footer of a file, if both are sound.
fn ends(storage: &dyn Storage, name: &str, magic: [u8; 8]) -> Result<Option<FileEnds>> {
    let Ok(file) = open_file(storage, name)? else { return Ok(None) };
    let read = || {
        let len_bytes = file.len_bytes().ok()?;
        let last = read_page(&*file, (len_bytes / PAGE_BYTES as u64).checked_sub(1)?)?;
        let footer = Footer::decode(&last, len_bytes - PAGE_BYTES as u64, len_bytes).ok()?;
        let footer_crc = u32::from_le_bytes(*last.last_chunk()?);
        Some((header(&*file, magic)?, FileRecord { len_bytes, footer_crc }, footer))
    };
    Ok(read())
}

/// The record of a run for a manifest, if segment and postings file belong together, and its
/// largest id.
fn record<F: Fingerprint>(
    storage: &dyn Storage,
    database_id: [u8; 16],
    run: u64,
) -> Result<Option<(RunRecord, u64)>> {
    let natural = ends(storage, &names::segment(run, 0), segment::MAGIC)?;
    let postings = ends(storage, &names::rows(run), postings::MAGIC)?;
    let Some((
        (segment_header, segment_file, segment_footer),
        (postings_header, postings_file, postings_footer),
    )) = natural.zip(postings)
    else {
        return Ok(None);
    };
    let ours = |header: &Header| {
        (header.database_id, header.run, header.table, header.width) == (database_id, run, 0, F::BITS)
    };
    let segment_info = SegmentInfo::from_footer(&segment_footer, 0, F::BITS, 0).ok();
    let postings_info = PostingsInfo::from_footer(&postings_footer, 0, F::BITS).ok();
    let infos = segment_info.zip(postings_info).filter(|_| ours(&segment_header) && ours(&postings_header));
    let Some((segment_info, postings_info)) = infos else { return Ok(None) };
    if segment_info.entries != postings_info.entries {
        return Ok(None);
    }
    let record = RunRecord {
        run,
        identity: [0; 16],
        // Table 0 is the natural order in every layout.
        layout: Layout::rotations(F::BITS, 1)?,
        entries: segment_info.entries,
        rows: postings_info.rows,
        fingerprint_sum: segment_info.fingerprint_sum,
        row_sum: postings_info.row_sum,
        tombstones: 0,
        segments: vec![segment_file],
        postings_file,
        tombstones_file: None,
        keys: None,
    };
    Ok(Some((record, postings_info.largest_id)))
}
