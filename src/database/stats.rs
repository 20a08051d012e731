//! Counts and sizes of a database.

use std::time::{Duration, SystemTime};

use crate::database::compaction::due_merge;
use crate::fingerprint::{Fingerprint, Width};
use crate::format::manifest::Manifest;
use crate::format::schema::KeyStorage;
use crate::format::{Hex, VERSION};
use crate::format::{keys, postings, segment, tombstones};
use crate::layout::LayoutChoice;
use crate::run::Run;

/// Counts and sizes of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Width of the fingerprints.
    pub width: Width,
    /// The distance that layouts are tuned for.
    pub k: u32,
    /// The layout of the schema.
    pub layout: LayoutChoice,
    /// Whether rows have keys, and what keys have beside them.
    pub keys: KeyStorage,
    /// How long rows live, and the length of a period, where rows
    /// [expire](crate::Schema::expire_after).
    pub lifetime: Option<(Duration, Duration)>,
    /// The database's random identity, in hexadecimal.
    pub database_id: String,
    /// Version of the manifest; each change adds one.
    pub generation: u64,
    /// The version of the format of the files.
    pub format_version: u32,
    /// Rows of all runs, including unflushed ones. Deleted and repeated rows count until a merge
    /// removes them.
    pub rows: u64,
    /// Deleted ids that runs still store.
    pub tombstones: u64,
    /// Rows that queries find, if that is known without reading them: there is one run, and nothing
    /// deleted. [`AnySnapshot::count_rows`](crate::erased::AnySnapshot::count_rows) reads them otherwise.
    pub live_rows: Option<u64>,
    /// Distinct fingerprints of each run, added up.
    pub fingerprints: u64,
    /// Bytes of the log up to its last complete commit. 0 without a log.
    pub log_bytes: u64,
    /// Commits in the log.
    pub log_frames: u64,
    /// Rows of the runs that the next merge will read. 0 if no merge is due.
    pub merge_debt_rows: u64,
    /// The largest id ever stored.
    pub largest_id: Option<u64>,
    /// Bytes of all files, including the manifest. Unflushed rows count with their size in memory.
    pub bytes: u64,
    /// The parts of [`bytes`](Stats::bytes), by kind; `framing` is headers, checksums, footers and
    /// padding.
    pub sections: Vec<(&'static str, u64)>,
    /// Oldest first; the last one may be the run of unflushed rows.
    pub runs: Vec<RunStats>,
}

/// Counts and sizes of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStats {
    /// The run's number, which its file names start with.
    pub run: u64,
    /// The run's layout.
    pub layout: LayoutChoice,
    /// Number of rows.
    pub rows: u64,
    /// Number of ids that the run deletes from older ones.
    pub tombstones: u64,
    /// Number of distinct fingerprints.
    pub fingerprints: u64,
    /// Smallest id.
    pub smallest_id: u64,
    /// Largest id.
    pub largest_id: u64,
    /// Bytes of the run's files.
    pub bytes: u64,
    /// When the rows expire, where rows do.
    pub expires: Option<SystemTime>,
}

impl Stats {
    pub(crate) fn of<'a, F: Fingerprint>(
        manifest: &Manifest,
        runs: impl Iterator<Item = &'a Run<F>>,
    ) -> Self {
        let manifest_bytes = manifest.encode().len() as u64;
        let sections = segment::sections(F::BITS).iter().chain(postings::sections(F::BITS));
        let sections = sections.chain(&tombstones::SECTIONS).chain(&keys::SECTIONS);
        let mut stats = Self {
            width: F::WIDTH,
            k: manifest.k,
            layout: manifest.layout,
            keys: KeyStorage::of(manifest.keys),
            lifetime: manifest.expiry.map(|expiry| expiry.lifetime.durations()),
            database_id: Hex(manifest.database_id).to_string(),
            generation: manifest.generation,
            format_version: VERSION,
            live_rows: None,
            log_bytes: 0,
            log_frames: 0,
            merge_debt_rows: merge_debt(manifest),
            rows: 0,
            fingerprints: 0,
            largest_id: manifest.largest_id,
            tombstones: 0,
            bytes: manifest_bytes,
            sections: sections.map(|&name| (name, 0)).collect(),
            runs: Vec::new(),
        };
        let mut framing = manifest_bytes;
        for run in runs {
            let parts = run.section_bytes();
            let bytes: u64 = run.files().map(|file| file.len_bytes()).sum();
            framing += bytes - parts.iter().sum::<u64>();
            stats.sections.iter_mut().zip(parts).for_each(|(section, part)| section.1 += part);
            stats.rows += run.record.rows;
            stats.tombstones += run.record.tombstones;
            stats.fingerprints += run.record.entries;
            stats.bytes += bytes;
            stats.runs.push(RunStats {
                run: run.record.run,
                layout: LayoutChoice::from(&run.record.layout),
                rows: run.record.rows,
                tombstones: run.record.tombstones,
                fingerprints: run.record.entries,
                smallest_id: run.postings.info.smallest_id,
                largest_id: run.postings.info.largest_id,
                bytes,
                expires: run.record.expires.map(SystemTime::from),
            });
        }
        stats.sections.push(("framing", framing));
        stats.live_rows = (stats.runs.len() <= 1 && stats.tombstones == 0).then_some(stats.rows);
        stats
    }
}

fn merge_debt(manifest: &Manifest) -> u64 {
    let due = due_merge(manifest, 0);
    due.map_or(0, |range| manifest.runs[range].iter().map(|run| run.rows).sum())
}
