//! The damaged database: its manifest, or what its files say without one.
//!
//! Without a manifest, a run is a segment of table 0 and a postings file with the same number, salt
//! and database, and what else has them. The headers of the files have the settings of the
//! database. The ages of the runs are unknown, as is which runs were live.

use std::io::ErrorKind;

use super::log::DamagedLog;
use super::pages::{is_medium_error, open_file, read_page};
use super::report::{FindingKind, RepairReport};
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::header::{Header, Owner};
use crate::format::keys::KeysInfo;
use crate::format::manifest::{FileRecord, KeysRecord, Manifest, RunRecord};
use crate::format::paged::{Footer, PAGE_BYTES, page_crc};
use crate::format::postings::PostingsInfo;
use crate::format::schema::{KeyStorage, Schema};
use crate::format::segment::SegmentInfo;
use crate::format::wal::{Operation, WalHeader};
use crate::format::{keys, postings, segment};
use crate::layout::{Layout, LayoutChoice};
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
                manifest::check_writable(storage, &manifest)?;
                return Ok(Self {
                    logs: manifest.wal_headers().map(|header| header.number).collect(),
                    manifest,
                });
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
        let Schema { k, layout, keys, recipe, lifetime, .. } = database.manifest.schema();
        let keys = if keys.has_keys() { "keys" } else { "no keys" };
        let recipe = recipe.as_ref().map_or("no recipe".into(), |recipe| format!("recipe {recipe}"));
        let expiry = if lifetime.is_some() { "rows that expire" } else { "rows that do not expire" };
        let what =
            format!("the recipe is lost: the copy has layout {layout}, k = {k}, {keys}, {recipe}, {expiry}");
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
        let (database_id, width, settings) = most_common(storage, &runs, &logs)?;
        let is_known = settings.is_some() || fallback.keys.has_keys();
        let (k, layout, keys) = settings.unwrap_or((fallback.k, fallback.layout, fallback.keys));
        let schema = Schema { k, layout, keys, ..fallback.clone() };
        let mut manifest = manifest::fresh(width, &schema)?;
        manifest.database_id = database_id;
        manifest.check_width(F::BITS, &storage.path(""))?;
        for &run in &runs {
            match record::<F>(storage, &manifest, run)? {
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
        if !is_known && has_keys::<F>(storage, &manifest, &sound)? {
            manifest.keys = KeyStorage::Keys.kept();
        }
        Ok(Self { manifest, logs: sound })
    }
}

/// Whether logs insert rows with keys.
fn has_keys<F: Fingerprint>(storage: &dyn Storage, manifest: &Manifest, logs: &[u64]) -> Result<bool> {
    // What is wrong with them is reported when they are recovered.
    let mut report = RepairReport::default();
    for &number in logs {
        let Some(log) = DamagedLog::read(storage, number, &mut report)? else { continue };
        let operations = log.operations::<F>(manifest, &mut report)?;
        if operations.iter().any(|operation| matches!(operation, Operation::InsertKeyed(_))) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The width of a database, from its manifest, or from most of its files if the manifest is
/// unreadable.
pub(crate) fn width(storage: &dyn Storage) -> Result<u32> {
    match manifest::read(storage) {
        Ok(Some(manifest)) => Ok(manifest.width),
        Err(newer @ (Error::NewerVersion { .. } | Error::NewerFeature { .. })) => Err(newer),
        _ => {
            let FolderContent { runs, logs, .. } = FolderContent::list(storage)?;
            most_common(storage, &runs, &logs).map(|(_, width, _)| width)
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

/// The database id and width of most files, and the settings in most of their headers.
/// [`Error::NotADatabase`] if there are no files.
fn most_common(
    storage: &dyn Storage,
    runs: &[u64],
    logs: &[u64],
) -> Result<([u8; 16], u32, Option<Settings>)> {
    let (mut databases, mut settings) = (Vec::new(), Vec::new());
    for &run in runs {
        for (magic, name) in [(segment::MAGIC, names::segment(run, 0)), (postings::MAGIC, names::rows(run))] {
            if let Ok(file) = open_file(storage, &name)?
                && let Some(Header { owner, .. }) = header(&*file, magic)
            {
                databases.push((owner.database_id, owner.width));
                settings.push((owner.database_id, (owner.k, owner.layout, owner.keys)));
            }
        }
    }
    for &number in logs {
        let header = DamagedLog::read(storage, number, &mut RepairReport::default())?;
        if let Some(WalHeader { database_id, width, .. }) = header.and_then(|log| log.any_header()) {
            databases.push((database_id, width));
        }
    }
    let most = most_frequent(&databases).ok_or_else(|| Error::NotADatabase { path: storage.path("") })?;
    settings.retain(|(database_id, _)| *database_id == most.0);
    Ok((most.0, most.1, most_frequent(&settings).map(|(_, settings)| settings)))
}

/// k, layout and keys of a database.
type Settings = (u32, LayoutChoice, KeyStorage);

/// The value that is there most often.
fn most_frequent<T: Copy + PartialEq>(values: &[T]) -> Option<T> {
    let frequency = |value: &&T| values.iter().filter(|other| other == value).count();
    values.iter().max_by_key(frequency).copied()
}

fn header(file: &dyn ReadFile, magic: [u8; 8]) -> Option<Header> {
    Header::decode(magic, &read_page(file, 0)?).ok()
}

/// Header and footer of a file, and its record for a manifest.
struct FileEnds {
    header: Header,
    record: FileRecord,
    footer: Footer,
}

/// Header and footer of a file, if both are sound.
fn ends(storage: &dyn Storage, name: &str, magic: [u8; 8]) -> Result<Option<FileEnds>> {
    let Ok(file) = open_file(storage, name)? else { return Ok(None) };
    let read = || {
        let len_bytes = file.len_bytes().ok()?;
        let last = read_page(&*file, (len_bytes / PAGE_BYTES as u64).checked_sub(1)?)?;
        let footer = Footer::decode(&last, len_bytes - PAGE_BYTES as u64, len_bytes).ok()?;
        let record = FileRecord { len_bytes, footer_crc: page_crc(&last) };
        Some(FileEnds { header: header(&*file, magic)?, record, footer })
    };
    Ok(read())
}

/// The record of a run for a manifest, if table 0 and postings file belong together and to the
/// database, and its largest id.
fn record<F: Fingerprint>(
    storage: &dyn Storage,
    database: &Manifest,
    run: u64,
) -> Result<Option<(RunRecord, u64)>> {
    let natural = ends(storage, &names::segment(run, 0), segment::MAGIC)?;
    let postings = ends(storage, &names::rows(run), postings::MAGIC)?;
    let Some((natural, postings)) = natural.zip(postings) else { return Ok(None) };
    let salt = natural.header.owner.salt;
    let owner = database.owner(run, salt, natural.header.owner.expires);
    let infos = SegmentInfo::from_footer(&natural.footer, 0, F::BITS, 0)
        .and_then(|segment| Ok((segment, PostingsInfo::from_footer(&postings.footer, 0, F::BITS)?)));
    let Ok((segment_info, postings_info)) = infos else { return Ok(None) };
    let owned = [&natural, &postings].iter().all(|ends| ends.header.owner == owner);
    if !owned || segment_info.entries != postings_info.entries {
        return Ok(None);
    }
    let Some((layout, segments)) = tables(storage, owner, &natural)? else { return Ok(None) };
    let record = RunRecord {
        run,
        identity: [0; 16],
        salt,
        layout,
        entries: segment_info.entries,
        rows: postings_info.rows,
        fingerprint_sum: segment_info.fingerprint_sum,
        row_sum: postings_info.row_sum,
        tombstones: 0,
        segments,
        postings_file: postings.record,
        tombstones_file: None,
        keys: keys_record(storage, owner)?,
        expires: owner.expires,
    };
    Ok(Some((record, postings_info.largest_id)))
}

/// The layout of a run, and the records of its tables. A damaged table ends the list; with bands
/// its record is one that no file has.
fn tables(
    storage: &dyn Storage,
    owner: Owner,
    natural: &FileEnds,
) -> Result<Option<(Layout, Vec<FileRecord>)>> {
    let blocks = natural.header.blocks;
    let (mut prefixes, mut segments) = (vec![natural.header.prefix], vec![natural.record]);
    while let Some(ends) = ends(storage, &names::segment(owner.run, segments.len()), segment::MAGIC)?
        .filter(|ends| (ends.header.owner, ends.header.blocks) == (owner, blocks))
    {
        prefixes.push(ends.header.prefix);
        segments.push(ends.record);
    }
    let layout = match owner.layout {
        LayoutChoice::Bands(bands) => Layout::bands(owner.width, bands).ok(),
        _ => Layout::from_parts(owner.width, blocks, prefixes),
    };
    Ok(layout.map(|layout| {
        segments.resize(layout.table_count(), FileRecord { len_bytes: 0, footer_crc: 0 });
        (layout, segments)
    }))
}

/// The record of a run's keys, if the database has keys and their file is there.
fn keys_record(storage: &dyn Storage, owner: Owner) -> Result<Option<KeysRecord>> {
    let ends = ends(storage, &names::keys(owner.run), keys::MAGIC)?;
    let owned = ends.filter(|ends| owner.keys.has_keys() && ends.header.owner == owner);
    Ok(owned.and_then(|ends| {
        let KeysInfo { count, key_sum, value_sum, .. } = KeysInfo::from_footer(&ends.footer, 0).ok()?;
        Some(KeysRecord { count, key_sum, value_sum, file: ends.record })
    }))
}
