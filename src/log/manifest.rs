//! Reading and replacing the manifest of a folder.

use std::path::Path;

use crate::error::{Error, Limit, Result};
use crate::fingerprint::Fingerprint;
use crate::format::Flaw;
use crate::format::header::Owner;
use crate::format::manifest::{Expiry, IdRanges, LiveWal, MAX_MANIFEST_BYTES, Manifest, RunRecord};
use crate::format::schema::{KeyStorage, Schema};
use crate::format::wal::WalHeader;
use crate::layout::Layout;
use crate::log::leftovers::is_own;
use crate::storage::{Storage, names, read_small};
use crate::util::random::random_id;
use crate::util::sabotage;
use crate::util::time::Time;

/// The manifest of a database without runs.
pub(crate) fn fresh(width: u32, schema: &Schema) -> Result<Manifest> {
    Ok(Manifest {
        generation: 1,
        database_id: random_id()?,
        width,
        k: schema.k,
        layout: schema.layout,
        next_run: 1,
        largest_id: None,
        runs_only: false,
        live_wal: None,
        sealed_wal: None,
        next_wal: 1,
        next_frame: 1,
        runs: Vec::new(),
        ingested: Vec::new(),
        automatic: IdRanges::default(),
        keys: schema.keys.kept(),
        expiry: schema.lifetime.map(|lifetime| Expiry { lifetime, of_log: Time(0) }),
        recipe: schema.recipe.clone(),
        checkpoint: Vec::new(),
        history: Vec::new(),
        needed_to_write: 0,
        skipped: Vec::new(),
    })
}

/// Reads and decodes the manifest. `None` if there is none.
pub(crate) fn read(storage: &dyn Storage) -> Result<Option<Manifest>> {
    let path = storage.path(names::MANIFEST);
    match read_small(storage, names::MANIFEST, MAX_MANIFEST_BYTES as u64) {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => Manifest::decode(&bytes).map(Some).map_err(|problem| problem.of(&path)),
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            Err(Flaw::new("length", 0, format!("at most {MAX_MANIFEST_BYTES} bytes"), "more").of(&path))
        }
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Err(Flaw::new("file", 0, "a regular file", "something else").of(&path))
        }
        Err(error) => Err(Error::io("read", &path)(error)),
    }
}

/// Refuses a database that only a newer program can write to, or copy.
pub(crate) fn check_writable(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    manifest.check_writable().map_err(|problem| problem.of(&storage.path(names::MANIFEST)))
}

/// Reads the manifest of a database of a given width.
pub(crate) fn of<F: Fingerprint>(storage: &dyn Storage) -> Result<Manifest> {
    same::<F>(storage, None)
}

/// Reads the manifest of a database.
pub(crate) fn of_any_width(storage: &dyn Storage) -> Result<Manifest> {
    let found = match read(storage) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotADirectory => None,
        other => other?,
    };
    match found {
        Some(manifest) => Ok(manifest),
        None if holds_rows(storage)? => {
            Err(Flaw::new("file", 0, "a manifest beside tables and logs", "none")
                .of(&storage.path(names::MANIFEST)))
        }
        None => Err(Error::NotADatabase { path: storage.path("") }),
    }
}

/// Whether a folder has tables of runs or a log, and is not one that is being prepared.
fn holds_rows(storage: &dyn Storage) -> Result<bool> {
    let listed = match storage.list() {
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(false),
        other => other.map_err(Error::io("read", storage.path("")))?,
    };
    let has_rows = |name: &str| names::is_wal(name) || name.ends_with(".seg") && names::is_ours(name);
    Ok(listed.iter().filter_map(|name| name.to_str()).any(has_rows)
        && !listed.iter().any(|name| name == names::MARKER))
}

/// How often a reader retries while writers replace the manifest.
const MAX_TRIES: usize = 1000;

/// Reads the manifest of the database with this id, if one is given.
fn same<F: Fingerprint>(storage: &dyn Storage, database_id: Option<[u8; 16]>) -> Result<Manifest> {
    let manifest = of_any_width(storage)?;
    let path = storage.path("");
    // Another database may have another width, too.
    manifest.check_id(database_id, &path)?;
    manifest.check_width(F::BITS, &path)?;
    Ok(manifest)
}

/// Does work that needs the files of a manifest. If an id is given, the manifest must have it. If
/// the work fails and the manifest has been replaced meanwhile, a writer may have removed the
/// files. The work is then repeated with the new manifest.
pub(crate) fn with_current<F: Fingerprint, T>(
    storage: &dyn Storage,
    database_id: Option<[u8; 16]>,
    work: impl Fn(Manifest) -> Result<T>,
) -> Result<T> {
    let mut manifest = same::<F>(storage, database_id)?;
    for _ in 1..MAX_TRIES {
        let generation = manifest.generation;
        let result = work(manifest);
        if result.is_ok() {
            return result;
        }
        manifest = same::<F>(storage, database_id)?;
        if manifest.generation == generation {
            return result;
        }
    }
    work(manifest)
}

impl Manifest {
    /// The settings of the database.
    pub(crate) fn schema(&self) -> Schema {
        let keys = KeyStorage::of(self.keys);
        let lifetime = self.expiry.map(|expiry| expiry.lifetime);
        Schema {
            k: self.k,
            layout: self.layout,
            keys,
            recipe: self.recipe.clone(),
            lifetime,
            ..Schema::new()
        }
    }

    /// The expected headers of the logs, older first.
    pub(crate) fn wal_headers(&self) -> impl Iterator<Item = WalHeader> {
        let sealed = self.sealed_wal.map(|sealed| self.header_of(sealed.wal, sealed.first_frame));
        sealed.into_iter().chain(self.live_wal.map(|live| self.header_of(live, self.next_frame)))
    }

    /// The number behind the last frame of a sealed log.
    pub(crate) fn sealed_at(&self, number: u64) -> Option<u64> {
        self.sealed_wal.filter(|sealed| sealed.wal.number == number).map(|_| self.next_frame)
    }

    /// The header of a log.
    pub(crate) fn header_of(&self, LiveWal { number, salt }: LiveWal, first_frame: u64) -> WalHeader {
        let Self { database_id, width, .. } = *self;
        WalHeader { database_id, width, number, salt, first_frame }
    }

    /// The owner of the files of a run.
    pub(crate) fn owner(&self, run: u64, salt: u64, expires: Option<Time>) -> Owner {
        let Self { database_id, width, k, layout, keys, .. } = *self;
        Owner { database_id, width, k, layout, keys: KeyStorage::of(keys), run, salt, expires }
    }

    /// The owner of the files of a run that is there.
    pub(crate) fn owner_of(&self, record: &RunRecord) -> Owner {
        self.owner(record.run, record.salt, record.expires)
    }

    /// The owner of the files of a new run.
    pub(crate) fn new_owner(&self, run: u64, expires: Option<Time>) -> Result<Owner> {
        let salt = random_id()?.first_chunk().map_or(0, |salt| u64::from_le_bytes(*salt));
        Ok(self.owner(run, salt, expires))
    }

    /// The layout for a run of so many distinct fingerprints.
    pub(crate) fn layout_for(&self, entries: u64) -> Result<Layout> {
        self.layout.of_run(self.width, self.k, entries)
    }

    /// Drops the runs whose rows have expired: the first ones. Returns them.
    pub(crate) fn drop_expired(&mut self, now: Time) -> Vec<RunRecord> {
        let expired = self.runs.iter().take_while(|run| run.is_expired(now)).count();
        self.runs.drain(..expired).collect()
    }

    /// Whether the rows of the live log have expired.
    pub(crate) fn is_log_expired(&self, now: Time) -> bool {
        self.expiry.is_some_and(|expiry| expiry.of_log <= now)
    }

    /// The names of all files of the database.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = String> + '_ {
        let whole = [names::LOCK.to_string(), names::MANIFEST.to_string()];
        let ingested = self.ingested.iter().map(|file| names::identities(file.number));
        let runs = self.runs.iter().flat_map(RunRecord::file_names);
        let logs = self.wal_headers().map(|header| names::wal(header.number));
        whole.into_iter().chain(logs).chain(ingested).chain(runs)
    }

    /// Returns an error for another database than the one with this id, if one is given.
    pub(crate) fn check_id(&self, database_id: Option<[u8; 16]>, path: &Path) -> Result<()> {
        match database_id {
            Some(database_id) if database_id != self.database_id => {
                Err(Error::Replaced { path: path.to_path_buf() })
            }
            _ => Ok(()),
        }
    }

    /// Returns an error for a database of another width.
    pub(crate) fn check_width(&self, width: u32, path: &Path) -> Result<()> {
        if self.width == width {
            return Ok(());
        }
        Err(Error::Width { path: path.to_path_buf(), database: self.width, requested: width })
    }
}

impl RunRecord {
    /// The names of all files of the run.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = String> + '_ {
        let segments = (0..self.segments.len()).map(|table| names::segment(self.run, table));
        let tombstones = self.tombstones_file.map(|_| names::tombstones(self.run));
        let keys = self.keys.map(|_| names::keys(self.run));
        segments.chain([names::rows(self.run)]).chain(tombstones).chain(keys)
    }
}

/// Replaces the manifest of the folder: the commit point of every change. Durable on return.
///
/// The first sync makes the files that the manifest names durable: otherwise the rename might reach
/// the medium before them. Until the rename the old manifest is in force. A new one that cannot be
/// written is removed.
pub(crate) fn replace(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    let path = storage.path(names::MANIFEST_NEW);
    storage.sync_folder().map_err(Error::io("sync", storage.path("")))?;
    write(storage, manifest, &path)?;
    storage.rename(names::MANIFEST_NEW, names::MANIFEST).map_err(Error::io("rename", &path))?;
    storage.sync_folder().map_err(Error::io("sync", storage.path("")))
}

/// Removes the files that a crash left: those that have our names, are not in the manifest, and are of this database.
/// The reserve stays. Disowns the files of others, and returns their names.
pub(crate) fn remove_unnamed(storage: &dyn Storage, manifest: &Manifest) -> Result<Vec<String>> {
    let mut named: std::collections::HashSet<String> = manifest.file_names().collect();
    named.insert(names::RESERVE.into());
    let listed = storage.list().map_err(Error::io("read", storage.path("")))?;
    let mut foreign = Vec::new();
    for name in listed.iter().filter_map(|name| name.to_str()) {
        if !names::is_ours(name) || named.contains(name) {
            continue;
        }
        let is_own = is_own(storage, manifest, name);
        if is_own.as_ref().is_ok_and(|&is_own| is_own) {
            storage.remove(name).map_err(Error::io("remove", storage.path(name)))?;
            continue;
        }
        // What could not be read may turn out to be of this database later.
        if is_own.is_ok() {
            storage.disown(name);
        }
        foreign.push(name.to_string());
    }
    Ok(foreign)
}

fn write(storage: &dyn Storage, manifest: &Manifest, path: &Path) -> Result<()> {
    let bytes = manifest.encode();
    if bytes.len() + manifest.reserved_bytes() > MAX_MANIFEST_BYTES {
        return Err(Error::Limit(Limit::Runs));
    }
    if manifest.exceeds_numbers() {
        return Err(Error::Limit(Limit::Numbers));
    }
    // A manifest that cannot be decoded must not be written.
    Manifest::decode(&bytes).map_err(|problem| problem.of(path))?;
    let mut file = storage.create(names::MANIFEST_NEW).map_err(Error::io("create", path))?;
    let mut write = || {
        file.write_all_at(&bytes, 0).map_err(Error::io("write", path))?;
        if sabotage::skips("manifest-sync") {
            return Ok(());
        }
        file.sync().map_err(Error::io("sync", path))
    };
    write().inspect_err(|_| drop(storage.remove(names::MANIFEST_NEW)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::header::Header;
    use crate::format::manifest::sample::sample;
    use crate::format::{identities, keys, postings, segment, tombstones};
    use crate::testing::simulated::SimulatedDisk;

    /// Files of database `id` with these numbers in their headers, under the names that the numbers of `named` make.
    fn files(manifest: &Manifest, number: u64, named: u64) -> Vec<(String, Vec<u8>)> {
        let paged = |magic| Header::new(magic, manifest.owner(number, 7, None)).encode();
        let log = manifest.header_of(LiveWal { number, salt: 7 }, 1).encode();
        vec![
            (names::segment(named, 0), paged(segment::MAGIC)),
            (names::rows(named), paged(postings::MAGIC)),
            (names::tombstones(named), paged(tombstones::MAGIC)),
            (names::keys(named), paged(keys::MAGIC)),
            (names::identities(named), paged(identities::MAGIC)),
            (names::wal(named), log.to_vec()),
        ]
    }

    fn left(manifest: &Manifest, files: &[(String, Vec<u8>)]) -> Vec<String> {
        let disk = SimulatedDisk::new();
        for (name, bytes) in files {
            disk.set_file_bytes(name, bytes.clone());
        }
        remove_unnamed(&disk, manifest).unwrap();
        disk.names()
    }

    /// A file was removed by its name alone.
    #[test]
    fn regression_a_file_of_another_program_with_a_name_of_ours_stays() {
        let manifest = sample();
        let other = Manifest { database_id: [9; 16], ..sample() };
        let with_tmp = |mut files: Vec<(String, Vec<u8>)>, manifest: &Manifest| {
            files.push((names::MANIFEST_NEW.into(), manifest.encode()));
            files
        };
        let own = with_tmp(files(&manifest, 99, 99), &manifest);
        // What a crash leaves of them: their start, or nothing in their place.
        for len in [0, 1, 8, 11, 20, 39, 48, 50, 63, 64, 4096] {
            let cut =
                |(name, bytes): &(String, Vec<u8>)| (name.clone(), bytes[..len.min(bytes.len())].to_vec());
            assert_eq!(left(&manifest, &own.iter().map(cut).collect::<Vec<_>>()), [""; 0], "{len} bytes");
            let zeros = |(name, _): &(String, Vec<u8>)| (name.clone(), vec![0; len]);
            assert_eq!(left(&manifest, &own.iter().map(zeros).collect::<Vec<_>>()), [""; 0], "{len} zeros");
        }
        let spill = (names::spill(99, 0, 1), b"anything".to_vec());
        assert_eq!(left(&manifest, &[spill]), [""; 0]);
        let names = |files: &[(String, Vec<u8>)]| {
            let mut names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
            names.sort_unstable();
            names
        };
        let foreign = |(name, _): &(String, Vec<u8>)| (name.clone(), b"my notes".to_vec());
        let text = |(name, _): &(String, Vec<u8>)| (name.clone(), b"x".to_vec());
        let late = |(name, _): &(String, Vec<u8>)| (name.clone(), [vec![0; 20], b"mine".to_vec()].concat());
        for files in [
            own.iter().map(foreign).collect(),
            own.iter().map(text).collect(),
            own.iter().map(late).collect(),
            with_tmp(files(&other, 99, 99), &other),
            files(&manifest, 98, 99),
        ] {
            assert_eq!(left(&manifest, &files), names(&files));
        }
    }

    /// What failed to create a file removed the one that was in its place.
    #[test]
    fn regression_a_new_manifest_removed_a_file_in_its_place() {
        let disk = SimulatedDisk::new();
        replace(&disk, &sample()).unwrap();
        disk.set_file_bytes(names::MANIFEST_NEW, b"my notes".to_vec());
        let next = Manifest { generation: sample().generation + 1, ..sample() };
        assert!(replace(&disk, &next).is_err());
        assert_eq!(disk.file_bytes(names::MANIFEST_NEW).unwrap(), b"my notes");
        assert_eq!(read(&disk).unwrap().unwrap(), sample());
    }
}
