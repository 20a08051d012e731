//! Counts and sizes of a database.

use std::time::{Duration, SystemTime};

use crate::database::compaction::due_merge;
use crate::fingerprint::{Fingerprint, Width};
use crate::format::identities::IDENTITY_BYTES;
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
    /// Whether rows have keys, and what is stored beside keys.
    pub keys: KeyStorage,
    /// How long rows live, and the length of a period, if rows [expire](crate::Schema::expire_after).
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
    /// deleted. [`AnySnapshot::count_rows`](crate::any::AnySnapshot::count_rows) reads them otherwise.
    pub live_rows: Option<u64>,
    /// Distinct fingerprints of each run, added up.
    pub fingerprints: u64,
    /// Bytes of the logs up to their last complete commit. 0 without a log.
    pub log_bytes: u64,
    /// Commits in the logs.
    pub log_frames: u64,
    /// Rows of the runs that the next merge will read. 0 if no merge is due.
    pub merge_debt_rows: u64,
    /// The largest id ever stored.
    pub largest_id: Option<u64>,
    /// Bytes of all files of the database: the manifest, the files of runs and of identities, and the logs
    /// up to their last complete commit.
    pub bytes: u64,
    /// The parts of [`bytes`](Stats::bytes), by kind; `log` is the logs, and `framing` the manifest,
    /// headers, checksums, footers and padding.
    pub sections: Vec<(&'static str, u64)>,
    /// The runs that are on disk, oldest first. Unflushed rows are in none.
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
    /// When the rows expire, if they do.
    pub expires: Option<SystemTime>,
}

impl Stats {
    /// `manifest` also has what the logs say; `published` is the one on disk. `runs` are those of the manifest,
    /// then runs in memory with the unflushed rows. The last argument is the bytes and the commits of the logs.
    pub(crate) fn of<'a, F: Fingerprint>(
        manifest: &Manifest,
        published: &Manifest,
        runs: impl Iterator<Item = &'a Run<F>>,
        (log_bytes, log_frames): (u64, u64),
    ) -> Self {
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
            log_bytes,
            log_frames,
            merge_debt_rows: merge_debt(manifest),
            rows: 0,
            fingerprints: 0,
            largest_id: manifest.largest_id,
            tombstones: 0,
            bytes: 0,
            sections: sections.map(|&name| (name, 0)).collect(),
            runs: Vec::new(),
        };
        let mut searched = 0;
        for run in runs {
            stats.add_rows(run);
            if searched < manifest.runs.len() {
                stats.add_files(run);
            }
            searched += 1;
        }
        stats.add_others(published);
        stats.live_rows = (searched <= 1 && stats.tombstones == 0).then_some(stats.rows);
        stats
    }

    fn add_rows<F: Fingerprint>(&mut self, Run { record, .. }: &Run<F>) {
        self.rows += record.rows;
        self.tombstones += record.tombstones;
        self.fingerprints += record.entries;
    }

    /// Adds a run that is on disk.
    fn add_files<F: Fingerprint>(&mut self, run: &Run<F>) {
        self.sections.iter_mut().zip(run.section_bytes()).for_each(|(section, part)| section.1 += part);
        let bytes = run.files().map(|file| file.len_bytes()).sum();
        self.bytes += bytes;
        self.runs.push(RunStats {
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

    /// Adds the files that belong to no run.
    fn add_others(&mut self, manifest: &Manifest) {
        let in_sections: u64 = self.sections.iter().map(|(_, bytes)| bytes).sum();
        let identities: u64 = manifest.ingested.iter().map(|file| file.count * IDENTITY_BYTES as u64).sum();
        let identities_files: u64 = manifest.ingested.iter().map(|ingested| ingested.file.len_bytes).sum();
        self.bytes += manifest.encode().len() as u64 + identities_files;
        let framing = self.bytes - in_sections - identities;
        self.bytes += self.log_bytes;
        self.sections.extend([("identities", identities), ("log", self.log_bytes), ("framing", framing)]);
    }
}

fn merge_debt(manifest: &Manifest) -> u64 {
    let due = due_merge(manifest, 0);
    due.map_or(0, |range| manifest.runs[range].iter().map(|run| run.rows).sum())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::AnyDatabase;

    /// Unflushed rows counted as runs, with the size that they have in memory.
    #[test]
    fn regression_only_what_is_there_is_counted() {
        for (name, runs) in
            [("sealed", 0), ("unflushed", 1), ("living", 2), ("empty", 0), ("keyed", 2), ("bands-256", 1)]
        {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name);
            let stats = AnyDatabase::open(&path).unwrap().snapshot().unwrap().stats();
            let files = std::fs::read_dir(&path).unwrap().map(|file| file.unwrap());
            let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
            assert_eq!((stats.runs.len(), stats.bytes), (runs, bytes), "{name}");
            assert_eq!(stats.sections.iter().map(|(_, bytes)| bytes).sum::<u64>(), bytes, "{name}");
        }
    }
}
