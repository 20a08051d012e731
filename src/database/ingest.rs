//! Ingests runs that were built elsewhere.
//!
//! All folders are checked before anything is written. Then their runs are copied, and one
//! replacement of the manifest makes all of them live.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::database::writer::Writer;
use crate::error::{Error, Limit, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::{
    IdRanges, IdentitiesRecord, MAX_MANIFEST_BYTES, MAX_NUMBER, Manifest, RunRecord,
};
use crate::format::schema::KeyStorage;
use crate::layout::LayoutChoice;
use crate::log::manifest;
use crate::options::Options;
use crate::progress::Stage;
use crate::run::{CopiedRun, Identities, Run, verify, write_identities};
use crate::storage::{Folder, Storage, names};

/// The result of [`Writer::ingest`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IngestReport {
    /// Runs that were ingested.
    pub runs: u64,
    /// Runs that were skipped: ingested before, or given twice.
    pub skipped: u64,
    /// Rows of the ingested runs.
    pub rows: u64,
}

/// A folder of runs.
struct RunFolder {
    path: PathBuf,
    storage: Folder,
    /// Lists only the runs to ingest.
    manifest: Manifest,
}

impl<F: Fingerprint> Writer<F> {
    /// Ingests the runs of folders that were [built](crate::Builder::runs_only) for it as its
    /// newest runs, in the given order, all or none. They are durable on return, as is everything
    /// inserted before.
    ///
    /// Reads and checks the folders completely, and does not change them. Skips a run that was ingested
    /// before, even if its rows were merged or deleted since, and even if the run was copied to another
    /// folder. Two folders, or a folder and the database, must not have assigned the same automatic ids. Keys
    /// get [sequence numbers](Writer::next_sequence) after those of the database, so their files are written
    /// again.
    ///
    /// # Errors
    /// [`Error::NotADatabase`], [`Error::Width`], [`Error::Mismatch`] for another layout or k,
    /// [`Error::Overlap`], [`Error::NotRunsOnly`], [`Error::Corrupt`], [`Error::Interrupted`];
    /// otherwise as [`commit`](Writer::commit). After an error nothing is ingested.
    pub fn ingest(&mut self, folders: &[impl AsRef<Path>]) -> Result<IngestReport> {
        F::ingest(self, &folders.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }

    pub(super) fn ingest_runs(&mut self, folders: &[&Path]) -> Result<IngestReport> {
        self.check_poison()?;
        let read = |&folder: &&Path| RunFolder::read::<F>(folder, self.manifest());
        let mut sources: Vec<RunFolder> = folders.iter().map(read).collect::<Result<_>>()?;
        let skipped = skip_known(&mut sources, &*self.storage(), self.manifest())?;
        if sources.is_empty() {
            return Ok(IngestReport { skipped, ..IngestReport::default() });
        }
        check_ids(self.path(), &self.automatic(), &sources)?;
        check_room(self.manifest(), &sources)?;
        sources.iter().try_for_each(|source| source.verify::<F>(self.options()))?;
        // Rows that were inserted before are older than the runs.
        self.flush()?;
        self.copy_and_publish(&sources)?;
        // A failed merge is still due; the next flush retries it and returns its error.
        let _ = self.merge_if_due();
        let runs = || sources.iter().flat_map(RunFolder::runs);
        Ok(IngestReport { runs: runs().count() as u64, skipped, rows: runs().map(|run| run.rows).sum() })
    }

    /// Copies all runs and makes them live. Removes the copies after an error.
    fn copy_and_publish(&mut self, sources: &[RunFolder]) -> Result<()> {
        let mut numbers: Vec<(u64, usize)> = Vec::new();
        for run in sources.iter().flat_map(RunFolder::runs) {
            numbers.push((self.take_run_number(), run.segments.len()));
        }
        let identities = self.take_run_number();
        let ingested = self.copy_runs(sources, &numbers, identities);
        if ingested.is_err() {
            numbers.iter().for_each(|&(number, tables)| self.forget_run(number, tables));
        }
        let unused = ingested.as_ref().map_or_else(|_| vec![identities], Clone::clone);
        unused.into_iter().for_each(|number| self.forget(&names::identities(number)));
        ingested.map(drop)
    }

    /// Copies all runs, writes their identities, and makes both live. Returns the numbers of the
    /// files of identities that this replaces.
    fn copy_runs(
        &mut self,
        sources: &[RunFolder],
        numbers: &[(u64, usize)],
        identities: u64,
    ) -> Result<Vec<u64>> {
        let runs = self.copy(sources, numbers)?;
        let (kept, record) = merge_identities(&*self.storage(), self.manifest(), sources, identities)?;
        let replaced = self.manifest().ingested.iter().skip(kept).map(|file| file.number).collect();
        let mut next = self.next_manifest();
        next.ingested.truncate(kept);
        next.ingested.push(record);
        take_over(&mut next, sources);
        next.runs.extend(runs);
        self.publish(next)?;
        Ok(replaced)
    }

    fn copy(&self, sources: &[RunFolder], numbers: &[(u64, usize)]) -> Result<Vec<RunRecord>> {
        let (storage, options) = (self.storage(), self.options());
        let total = sources.iter().flat_map(RunFolder::runs).map(RunRecord::len_bytes).sum();
        let mut done = 0;
        let mut report = |bytes| {
            done += bytes;
            options.report(Stage::Copying, done, Some(total))
        };
        let expires = self.expiry_of_new_rows();
        let mut first_sequence = next_sequence(self.manifest());
        let (mut runs, mut numbers) = (Vec::new(), numbers.iter());
        for source in sources {
            for (run, &(number, _)) in source.runs().zip(&mut numbers) {
                let run = Run::<F>::open(&source.storage, &source.manifest, run)?;
                let copied = CopiedRun { number, expires, first_sequence };
                runs.push(run.copy(&*storage, self.manifest(), copied, &mut report)?);
            }
            first_sequence += next_sequence(&source.manifest);
        }
        Ok(runs)
    }
}

impl RunFolder {
    /// Reads the manifest of a folder, and checks that it fits the database.
    fn read<F: Fingerprint>(path: &Path, database: &Manifest) -> Result<Self> {
        let storage = Folder::of_database(path)?;
        let manifest = manifest::of::<F>(&storage)?;
        let path = path.to_path_buf();
        if !manifest.runs_only {
            return Err(Error::NotRunsOnly { path });
        }
        let (found, expected) = (settings(&manifest), settings(database));
        if found != expected {
            return Err(Error::Mismatch { path, found, expected });
        }
        Ok(Self { path, storage, manifest })
    }

    fn runs(&self) -> std::slice::Iter<'_, RunRecord> {
        self.manifest.runs.iter()
    }

    /// Checks every byte.
    fn verify<F: Fingerprint>(&self, options: &Options) -> Result<()> {
        let report = verify::<F>(&self.storage, &self.manifest, options)?;
        report.damage.into_iter().next().map_or(Ok(()), |damage| Err(damage.into()))
    }
}

/// The settings that runs must share with a database. Rotations and bands do not depend on k.
fn settings(manifest: &Manifest) -> String {
    let kept = match KeyStorage::of(manifest.keys) {
        KeyStorage::None => String::new(),
        keys => format!(", {keys}"),
    };
    let recipe = manifest.recipe.as_ref().map_or(String::new(), |recipe| format!(", recipe {recipe}"));
    format!("{}{kept}{recipe}", layout_settings(manifest))
}

fn layout_settings(manifest: &Manifest) -> String {
    match manifest.layout {
        LayoutChoice::Rotations { .. } | LayoutChoice::Bands(_) => format!("layout {}", manifest.layout),
        LayoutChoice::Auto | LayoutChoice::Fast | LayoutChoice::Small | LayoutChoice::Blocks { .. } => {
            format!("layout {} for k = {}", manifest.layout, manifest.k)
        }
    }
}

/// Removes runs that the database has, and repeated ones. Returns their number.
fn skip_known(sources: &mut Vec<RunFolder>, storage: &dyn Storage, database: &Manifest) -> Result<u64> {
    let mut known: HashSet<[u8; 16]> = database.runs.iter().map(|run| run.identity).collect();
    for file in &database.ingested {
        known.extend(Identities::open(storage, database, file)?.all()?);
    }
    let mut skipped = 0;
    for source in &mut *sources {
        let given = source.manifest.runs.len();
        source.manifest.runs.retain(|run| known.insert(run.identity));
        skipped += (given - source.manifest.runs.len()) as u64;
    }
    sources.retain(|source| !source.manifest.runs.is_empty());
    Ok(skipped)
}

fn next_sequence(manifest: &Manifest) -> u64 {
    manifest.keys.map_or(0, |kept| kept.next_sequence)
}

/// Bytes of a manifest that runs to ingest must leave free for further runs of the database.
const ROOM_FOR_RUNS: usize = 256 << 10;

/// Refuses more runs than the manifest can hold, and more keys than there are numbers for.
fn check_room(database: &Manifest, sources: &[RunFolder]) -> Result<()> {
    let given = sources.iter().map(|source| u128::from(next_sequence(&source.manifest))).sum::<u128>();
    if u128::from(next_sequence(database)) + given > u128::from(MAX_NUMBER) {
        return Err(Error::Limit(Limit::Numbers));
    }
    let mut next = database.clone();
    next.runs.extend(sources.iter().flat_map(RunFolder::runs).cloned());
    if next.encode().len() + next.reserved_bytes() + ROOM_FOR_RUNS > MAX_MANIFEST_BYTES {
        return Err(Error::Limit(Limit::Runs));
    }
    Ok(())
}

/// Writes the identities of the sources, together with the identities of younger files that have at
/// most twice as many. So there are few files, and each identity is rewritten a logarithmic number
/// of times. Returns how many of the older files stay.
fn merge_identities(
    storage: &dyn Storage,
    database: &Manifest,
    sources: &[RunFolder],
    number: u64,
) -> Result<(usize, IdentitiesRecord)> {
    let mut all: Vec<[u8; 16]> = sources.iter().flat_map(RunFolder::runs).map(|run| run.identity).collect();
    let mut kept = database.ingested.len();
    for file in database.ingested.iter().rev() {
        if file.count > 2 * all.len() as u64 {
            break;
        }
        all.extend(Identities::open(storage, database, file)?.all()?);
        kept -= 1;
    }
    all.sort_unstable();
    all.dedup();
    Ok((kept, write_identities(storage, database, number, &all)?))
}

/// Refuses automatic ids that two folders, or a folder and the database, have assigned.
fn check_ids(database: &Path, automatic: &IdRanges, sources: &[RunFolder]) -> Result<()> {
    let of_folders = sources.iter().map(|source| (&*source.path, &source.manifest.automatic));
    let owners: Vec<(&Path, &IdRanges)> = [(database, automatic)].into_iter().chain(of_folders).collect();
    let Some([one, two]) = first_overlap(owners.iter().map(|(_, ranges)| *ranges)) else { return Ok(()) };
    // The error names the later one of the command line: that is the one to rebuild.
    let (earlier, later) = if one.owner < two.owner { (one, two) } else { (two, one) };
    Err(Error::Overlap {
        path: owners[later.owner].0.to_path_buf(),
        given: later.range,
        other: owners[earlier.owner].0.to_path_buf(),
        given_by_other: earlier.range,
    })
}

/// A range of ids, and the number of its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OwnedRange {
    range: (u64, u64),
    owner: usize,
}

/// Two ranges of different owners that share an id.
fn first_overlap<'a>(owners: impl Iterator<Item = &'a IdRanges>) -> Option<[OwnedRange; 2]> {
    let of_giver =
        |(owner, ranges): (_, &'a IdRanges)| ranges.iter().map(move |range| OwnedRange { range, owner });
    let mut all: Vec<OwnedRange> = owners.enumerate().flat_map(of_giver).collect();
    all.sort_unstable();
    // If any two ranges overlap, the first of them also overlaps the one that starts next. Ranges
    // of one owner never overlap.
    let mut neighbours = all.iter().zip(all.iter().skip(1));
    neighbours.find(|(left, right)| right.range.0 <= left.range.1).map(|(&left, &right)| [left, right])
}

/// Adds everything but the runs of the folders to a manifest.
fn take_over(manifest: &mut Manifest, sources: &[RunFolder]) {
    for source in sources {
        manifest.largest_id = manifest.largest_id.max(source.manifest.largest_id);
        if let Some((kept, more)) = manifest.keys.as_mut().zip(source.manifest.keys) {
            kept.next_sequence += more.next_sequence;
        }
        source.manifest.automatic.iter().for_each(|(first, last)| manifest.automatic.add(first, last));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::ErrorKind;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::database::snapshot::{Snapshot, verify_all};
    use crate::fingerprint;
    use crate::fingerprint::Row;
    use crate::format::schema::Schema;
    use crate::storage::Storage;
    use crate::testing::simulated::{Doubt, SimulatedDisk};

    fn schema() -> Schema {
        Schema::new().layout(LayoutChoice::Rotations { tables: 2 })
    }

    fn options() -> Options {
        Options::new().threads(1).background_merges(false)
    }

    /// Two folders of runs, without the row 0 of [`disk`].
    fn folders(home: &Path) -> [PathBuf; 2] {
        [(0, 3), (1, 4)].map(|(folder, count)| {
            let path = home.join(format!("{folder}"));
            let first_id = 1 + folder * 10;
            let builder = options().build::<u64>(&path, &schema()).unwrap();
            let mut builder = builder.first_id(first_id).runs_only();
            for value in 0..count {
                builder.push(fingerprint::mix64(value)).unwrap();
            }
            builder.finish().unwrap();
            path
        })
    }

    /// A disk with a database of one row.
    fn disk() -> SimulatedDisk {
        let disk = SimulatedDisk::new();
        manifest::replace(&disk, &manifest::fresh(64, &schema()).unwrap()).unwrap();
        let mut writer = writer(&disk);
        writer.insert(Row { fingerprint: 9, id: 0 }).unwrap();
        writer.close().unwrap();
        disk
    }

    fn writer(disk: &SimulatedDisk) -> Writer<u64> {
        Writer::open(Arc::new(disk.clone()), options()).unwrap()
    }

    /// Verifies everything and counts the rows.
    fn row_count(disk: &SimulatedDisk) -> usize {
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let manifest = manifest::of::<u64>(disk).unwrap();
        assert_eq!(verify_all::<u64>(disk, &manifest, &options()).unwrap().damage, []);
        let mut rows = BTreeSet::new();
        let snapshot = Snapshot::<u64>::open(&storage, &options(), None).unwrap();
        let mut note = |row: Row<u64>| {
            rows.insert(row);
            Ok::<(), Error>(())
        };
        snapshot.visit_rows(&mut note).unwrap();
        rows.len()
    }

    #[test]
    fn a_full_disk_is_told_and_nothing_stays_of_the_copies() {
        let home = tempfile::tempdir().unwrap();
        let folders = folders(home.path());
        let mut failures = 0;
        loop {
            let disk = disk();
            let mut writer = writer(&disk);
            let before = disk.names();
            disk.fail_from(disk.calls() + failures, ErrorKind::StorageFull);
            let result = writer.ingest(&folders);
            disk.heal();
            if let Ok(ingested) = result {
                assert_eq!((ingested.runs, ingested.rows), (2, 7));
                break;
            }
            assert!(matches!(result, Err(Error::DiskFull { .. })), "{result:?}");
            assert_eq!(disk.names(), before);
            assert_eq!(writer.ingest(&folders).unwrap().runs, 2, "once there is room");
            drop(writer);
            assert_eq!(row_count(&disk), 8);
            failures += 1;
        }
        assert!(failures > 20, "{failures}");
    }

    #[test]
    fn a_failing_call_is_an_error_and_adopts_all_or_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folders = folders(home.path());
        for call in 0.. {
            let disk = disk();
            let mut writer = writer(&disk);
            let first = disk.calls();
            disk.fail_at(first + call, ErrorKind::PermissionDenied);
            let result = writer.ingest(&folders);
            if disk.calls() <= first + call {
                assert_eq!(result.unwrap().runs, 2);
                break;
            }
            if result.is_err() && writer.check_poison().is_ok() {
                assert_eq!(row_count(&disk), 1);
                assert_eq!(writer.ingest(&folders).unwrap().runs, 2);
            }
            drop(writer);
            self::writer(&disk).close().unwrap();
            let rows = row_count(&disk);
            assert!(rows == 8 || (rows == 1 && result.is_err()), "call {call}: {rows} rows, {result:?}");
        }
    }

    #[test]
    fn a_power_cut_leaves_all_or_nothing() {
        let home = tempfile::tempdir().unwrap();
        let folders = folders(home.path());
        let disk = disk();
        let mut writer = writer(&disk);
        let states = Arc::new(Mutex::new(Vec::new()));
        let seen = states.clone();
        disk.on_call(move |frozen, _| seen.lock().unwrap().push(frozen.clone()));
        writer.ingest(&folders).unwrap();
        disk.on_call(|_, _| ());
        let mut cuts = std::mem::take(&mut *states.lock().unwrap());
        cuts.push(disk.crash(&mut |_| true));
        let mut seed = 1;
        for (cut, state) in cuts.iter().enumerate() {
            // All, nothing, names without content, content without names, and some of each.
            for fate in 0..12 {
                let mut keeps = |doubt| match fate {
                    0 => true,
                    1 => false,
                    2 => matches!(doubt, Doubt::FolderOperation { .. }),
                    3 => !matches!(doubt, Doubt::FolderOperation { .. }),
                    _ => {
                        seed = fingerprint::mix64(seed + 1);
                        seed % 2 == 0
                    }
                };
                let left = state.crash(&mut keeps);
                self::writer(&left).close().unwrap();
                let rows = row_count(&left);
                assert!(rows == 1 || rows == 8, "{rows} rows after cut {cut}");
                assert!(rows == 8 || cut + 1 < cuts.len(), "durable once it is reported");
            }
        }
    }

    fn ranges(ranges: &[(u64, u64)]) -> IdRanges {
        let mut all = IdRanges::default();
        ranges.iter().for_each(|&(first, last)| all.add(first, last));
        all
    }

    #[test]
    fn shared_ids_are_found_wherever_they_are() {
        let found = |owners: &[&[(u64, u64)]]| {
            let owners: Vec<IdRanges> = owners.iter().map(|giver| ranges(giver)).collect();
            first_overlap(owners.iter()).map(|[one, two]| (one.owner, one.range, two.owner, two.range))
        };
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[&[(0, 4), (9, u64::MAX)], &[], &[(5, 8)]]), None);
        assert_eq!(found(&[&[(0, 4), (9, 9)], &[(5, 9)]]), Some((1, (5, 9), 0, (9, 9))));
        assert_eq!(found(&[&[(3, 3)], &[(7, 7)], &[(0, 20)]]), Some((2, (0, 20), 0, (3, 3))));
        assert_eq!(found(&[&[(0, 1), (5, 5)], &[(3, 3)], &[(3, 3)]]), Some((1, (3, 3), 2, (3, 3))));
    }
}
