//! A disk in memory whose power can be cut at any call, for tests of what is left then.
//!
//! It promises only what a file system does. The content and length of a file last once the file is
//! synced, its name once the folder is; until then each folder operation, each length and each
//! sector is kept or lost on its own, whatever the order in which they were made.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::storage::{Access, Bytes, Lock, ReadFile, Storage, WriteFile};
use crate::util::cast::to_usize;

/// What a disk writes whole or not at all, in bytes.
pub(crate) const SECTOR: usize = 512;

/// Where the simulated folder claims to be.
const PATH: &str = "/simulated";

/// Something that a power cut keeps or loses. The numbers are those of one moment: operations since
/// the folder was last synced, and files in the order they were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// A creation, rename or removal that the folder was not synced after.
    FolderOperation { index: usize },
    /// The new length of a file.
    Length { inode: usize },
    /// The new content of a sector.
    Sector { inode: usize, index: usize },
}

/// Who is told of each call.
type Hook = Box<dyn FnMut(&SimulatedDisk, u64) + Send>;

/// One folder on a simulated disk. Clones are the same disk.
#[derive(Clone, Default)]
pub(crate) struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl SimulatedDisk {
    /// An empty disk.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Cuts the power: a new disk with what lasted, where nothing is in doubt, no lock is held and no
    /// call was made. `fate` says of each of the [`doubts`](Self::doubts), in their order, whether it
    /// was kept. This disk goes on as if nothing had happened.
    pub(crate) fn crash(&self, fate: &mut dyn FnMut(Doubt) -> bool) -> Self {
        let medium = self.state().medium.clone();
        Self::with(medium.settled(fate))
    }

    /// Everything that a power cut would keep or lose now: folder operations in their order, then
    /// for each file that any of them, or the synced folder, names its length and its sectors.
    #[cfg(test)]
    pub(crate) fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        self.crash(&mut |doubt| {
            doubts.push(doubt);
            true
        });
        doubts
    }

    /// How many calls were made through the storage traits, failed ones included. `path` is none.
    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Lets the call with this number fail; the first is 0. A failing sync loses for good what it was
    /// to make durable, a failing write writes half, and anything else that fails does nothing.
    pub(crate) fn fail_at(&self, call: u64, kind: io::ErrorKind) {
        self.state().failing.insert(call, kind);
    }

    /// Fills the disk: from this call on, creations and writes fail until [`heal`](Self::heal).
    pub(crate) fn fail_from(&self, call: u64, kind: io::ErrorKind) {
        self.state().full = Some((call, kind));
    }

    /// Ends what [`fail_from`](Self::fail_from) began.
    pub(crate) fn heal(&self) {
        self.state().full = None;
    }

    /// Shows `hook` each call's number and a copy of the disk as it is just before that call. The copy
    /// is a disk of its own, without the lock, the faults and the hook, as after the process was
    /// killed. It is made while nothing else is locked, so the hook may use this disk; what is called
    /// until it returns, by it or by other threads, is counted and not shown to it.
    pub(crate) fn on_call(&self, hook: impl FnMut(&SimulatedDisk, u64) + Send + 'static) {
        self.state().hook = Some(Box::new(hook));
    }

    /// What readers of a file see.
    pub(crate) fn file_bytes(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = *state.medium.names.get(name)?;
        Some(state.medium.inodes[inode].current.to_vec())
    }

    /// Gives a file durable content, behind the back of everybody who has it open. One that is not
    /// there appears, with a durable name unless operations on that name are in doubt.
    pub(crate) fn set_file_bytes(&self, name: &str, bytes: Vec<u8>) {
        let medium = &mut self.state().medium;
        match medium.names.get(name) {
            Some(&inode) => medium.inodes[inode] = Inode::durable(Arc::new(bytes)),
            None => medium.place(name.into(), Arc::new(bytes)),
        }
    }

    /// The names of all files now, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.state().medium.names.keys().cloned().collect()
    }

    /// A disk that nobody has called yet.
    fn with(medium: Medium) -> Self {
        Self { state: Arc::new(Mutex::new(State { medium, ..State::default() })) }
    }

    /// The state, locked; no fate and no hook is asked under it.
    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked has failed already; its guards must still be able to go.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, tells the hook, and says whether the call is to fail.
    fn begin(&self, kind: Call) -> (MutexGuard<'_, State>, io::Result<()>) {
        let mut state = self.state();
        let call = state.calls;
        state.calls += 1;
        if let Some(mut hook) = state.hook.take() {
            let frozen = Self::with(state.medium.clone());
            drop(state);
            hook(&frozen, call);
            state = self.state();
            // The hook may have set another.
            state.hook.get_or_insert(hook);
        }
        let fault = state.fault(call, kind);
        (state, fault)
    }

    /// A call that does nothing when it fails.
    fn call<T>(&self, kind: Call, act: impl FnOnce(&mut Medium) -> io::Result<T>) -> io::Result<T> {
        let (mut state, fault) = self.begin(kind);
        fault.and_then(|()| act(&mut state.medium))
    }

    /// Opens a file.
    fn file(&self, inode: usize) -> Box<SimulatedFile> {
        Box::new(SimulatedFile { disk: self.clone(), inode })
    }
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimulatedDisk").field("names", &self.names()).finish_non_exhaustive()
    }
}

impl Storage for SimulatedDisk {
    fn create(&self, name: &str) -> io::Result<Box<dyn WriteFile>> {
        let inode = self.call(Call::TakesSpace, |medium| medium.create(name))?;
        Ok(self.file(inode))
    }

    fn map(&self, name: &str, _access: Access) -> io::Result<Bytes> {
        self.call(Call::Other, |medium| {
            medium.find(name).map(|inode| Bytes::from_slice(&medium.inodes[inode].current))
        })
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadFile>> {
        let inode = self.call(Call::Other, |medium| medium.find(name))?;
        Ok(self.file(inode))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.call(Call::Other, |medium| {
            let inode = medium.find(from)?;
            medium.perform(Operation::Rename { from: from.into(), to: to.into(), inode });
            Ok(())
        })
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.call(Call::Other, |medium| {
            medium.find(name)?;
            medium.perform(Operation::Remove { name: name.into() });
            Ok(())
        })
    }

    fn sync_folder(&self) -> io::Result<()> {
        let (mut state, fault) = self.begin(Call::Other);
        let Medium { pending, durable_names, .. } = &mut state.medium;
        if fault.is_ok() {
            pending.drain(..).for_each(|operation| operation.apply(durable_names));
        }
        fault
    }

    fn list(&self) -> io::Result<Vec<OsString>> {
        self.call(Call::Other, |medium| Ok(medium.names.keys().map(OsString::from).collect()))
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        let (mut state, fault) = self.begin(Call::Other);
        fault.map_err(Error::io("lock", PATH))?;
        if state.locked {
            return Err(Error::Locked { path: PATH.into(), pid: Some(std::process::id()) });
        }
        state.locked = true;
        Ok(Box::new(Guard(self.clone())))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(PATH).join(name)
    }
}

/// The lock of a disk, held.
#[derive(Debug)]
struct Guard(SimulatedDisk);

impl Lock for Guard {}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.state().locked = false;
    }
}

/// An open file. It stays when its name goes.
#[derive(Debug)]
struct SimulatedFile {
    disk: SimulatedDisk,
    inode: usize,
}

impl WriteFile for SimulatedFile {
    fn write_all_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let (mut state, fault) = self.disk.begin(Call::TakesSpace);
        let written = if fault.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        state.medium.inodes[self.inode].write(written, to_usize(offset));
        fault
    }

    fn truncate(&mut self, len_bytes: u64) -> io::Result<()> {
        self.disk.call(Call::Other, |medium| {
            medium.inodes[self.inode].resize(to_usize(len_bytes));
            Ok(())
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        let (mut state, fault) = self.disk.begin(Call::Other);
        let inode = &mut state.medium.inodes[self.inode];
        if fault.is_ok() {
            inode.durable = inode.settled(self.inode, &mut |_| true);
        }
        // Failed or not: the system takes the pages for clean and never writes them again.
        inode.dirty.clear();
        inode.length_dirty = false;
        fault
    }
}

impl ReadFile for SimulatedFile {
    fn len_bytes(&self) -> io::Result<u64> {
        self.disk.call(Call::Other, |medium| Ok(medium.inodes[self.inode].current.len() as u64))
    }

    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.call(Call::Other, |medium| {
            let rest = medium.inodes[self.inode].current.get(to_usize(offset)..).unwrap_or_default();
            let read = rest.get(..bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            bytes.copy_from_slice(read);
            Ok(())
        })
    }
}

/// What a full disk refuses, and what it does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    TakesSpace,
    Other,
}

/// A disk and what is to happen to those who call it.
#[derive(Default)]
struct State {
    medium: Medium,
    locked: bool,
    calls: u64,
    /// Calls that fail.
    failing: BTreeMap<u64, io::ErrorKind>,
    /// The call from which on those that take space fail.
    full: Option<(u64, io::ErrorKind)>,
    /// Taken out while it runs.
    hook: Option<Hook>,
}

impl State {
    /// Whether a call fails, and how.
    fn fault(&self, call: u64, kind: Call) -> io::Result<()> {
        let full = self.full.filter(|&(from, _)| kind == Call::TakesSpace && call >= from);
        match self.failing.get(&call).copied().or(full.map(|(_, kind)| kind)) {
            Some(kind) => Err(kind.into()),
            None => Ok(()),
        }
    }
}

/// The inode behind each name.
type Names = BTreeMap<String, usize>;

/// Files and their names, as seen now and as they will last. Clones share content until written to.
#[derive(Clone, Default)]
struct Medium {
    /// All there ever were: an open file may outlive its name.
    inodes: Vec<Inode>,
    names: Names,
    durable_names: Names,
    /// What was done to the folder since it was last synced.
    pending: Vec<Operation>,
}

impl Medium {
    /// The file that has a name now.
    fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Adds an empty file under a name that is free.
    fn create(&mut self, name: &str) -> io::Result<usize> {
        if self.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = self.inodes.len();
        self.inodes.push(Inode::default());
        self.perform(Operation::Create { name: name.into(), inode });
        Ok(inode)
    }

    /// Changes the folder as seen now; how it will last is in doubt.
    fn perform(&mut self, operation: Operation) {
        operation.apply(&mut self.names);
        self.pending.push(operation);
    }

    /// Adds a file that lasts.
    fn place(&mut self, name: String, content: Arc<Vec<u8>>) {
        self.names.insert(name.clone(), self.inodes.len());
        self.durable_names.insert(name, self.inodes.len());
        self.inodes.push(Inode::durable(content));
    }

    /// What is left when the fate of everything in doubt is known.
    fn settled(&self, fate: &mut dyn FnMut(Doubt) -> bool) -> Self {
        let mut names = self.durable_names.clone();
        for (index, operation) in self.pending.iter().enumerate() {
            if fate(Doubt::FolderOperation { index }) {
                operation.apply(&mut names);
            }
        }
        // Whether or not its name was kept, so that what is asked does not hang on the answers.
        let contents: BTreeMap<usize, _> = self
            .may_last()
            .into_iter()
            .map(|inode| (inode, self.inodes[inode].settled(inode, fate)))
            .collect();
        let mut left = Self::default();
        names.into_iter().for_each(|(name, inode)| left.place(name, contents[&inode].clone()));
        left
    }

    /// The files that can have a name after a power cut.
    fn may_last(&self) -> BTreeSet<usize> {
        let bound = self.pending.iter().filter_map(Operation::inode);
        self.durable_names.values().copied().chain(bound).collect()
    }
}

/// An entry of the folder's journal. It has what it takes to be applied without those before it.
#[derive(Clone)]
enum Operation {
    Create { name: String, inode: usize },
    Rename { from: String, to: String, inode: usize },
    Remove { name: String },
}

impl Operation {
    /// Changes the names; one that was to go and is not there is passed over.
    fn apply(&self, names: &mut Names) {
        if let Self::Rename { from: name, .. } | Self::Remove { name } = self {
            names.remove(name);
        }
        if let Self::Create { name, inode } | Self::Rename { to: name, inode, .. } = self {
            names.insert(name.clone(), *inode);
        }
    }

    /// The file that is given a name.
    fn inode(&self) -> Option<usize> {
        match self {
            Self::Create { inode, .. } | Self::Rename { inode, .. } => Some(*inode),
            Self::Remove { .. } => None,
        }
    }
}

/// A file without its name.
#[derive(Clone, Default)]
struct Inode {
    /// What readers see.
    current: Arc<Vec<u8>>,
    /// What the medium holds. Where a sync failed it differs and nothing is dirty.
    durable: Arc<Vec<u8>>,
    /// The sectors that the next sync writes, all of them within the current length.
    dirty: BTreeSet<usize>,
    /// Whether the next sync writes the length.
    length_dirty: bool,
}

impl Inode {
    /// A file of which nothing is in doubt.
    fn durable(content: Arc<Vec<u8>>) -> Self {
        Self { current: content.clone(), durable: content, ..Self::default() }
    }

    /// Overwrites or appends; a gap before `offset` becomes zeros. No bytes change nothing.
    fn write(&mut self, bytes: &[u8], offset: usize) {
        let range = offset..offset + bytes.len();
        if range.is_empty() {
            return;
        }
        if range.end > self.current.len() {
            self.resize(range.end);
        }
        // After a failed sync a rewrite of the same bytes has to bring their length back, too.
        self.length_dirty |= range.end > self.durable.len();
        Arc::make_mut(&mut self.current)[range.clone()].copy_from_slice(bytes);
        self.soil(range);
    }

    /// Cuts the file off, or goes on with zeros.
    fn resize(&mut self, len: usize) {
        let old = self.current.len();
        Arc::make_mut(&mut self.current).resize(len, 0);
        self.length_dirty = len != self.durable.len();
        self.dirty.retain(|&index| index < len.div_ceil(SECTOR));
        // What is cut off within a sector reads as zeros should the file grow again.
        self.soil(len.min(old)..if len < old { len.next_multiple_of(SECTOR) } else { len });
    }

    /// Marks the sectors of a range of bytes dirty.
    fn soil(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.dirty.extend(range.start / SECTOR..range.end.div_ceil(SECTOR));
        }
    }

    /// The content when the fate of its length and its sectors is known.
    fn settled(&self, inode: usize, fate: &mut dyn FnMut(Doubt) -> bool) -> Arc<Vec<u8>> {
        if self.dirty.is_empty() && !self.length_dirty {
            return self.durable.clone();
        }
        let length_kept = self.length_dirty && fate(Doubt::Length { inode });
        let length = if length_kept { self.current.len() } else { self.durable.len() };
        let mut content = self.durable.to_vec();
        content.resize(self.current.len().max(content.len()), 0);
        for &index in &self.dirty {
            if fate(Doubt::Sector { inode, index }) {
                let sector = index * SECTOR..content.len().min((index + 1) * SECTOR);
                let shown = &self.current[sector.start..sector.end.min(self.current.len())];
                content[sector.clone()].fill(0);
                content[sector][..shown.len()].copy_from_slice(shown);
            }
        }
        content.truncate(length);
        Arc::new(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::names::{MANIFEST, MANIFEST_NEW};
    use io::ErrorKind::{self, AlreadyExists, NotFound, StorageFull, UnexpectedEof};

    const KEEP: fn(Doubt) -> bool = |_| true;
    const LOSE: fn(Doubt) -> bool = |_| false;

    /// A disk with one durable file, open.
    fn disk(name: &str, content: &[u8]) -> (SimulatedDisk, Box<dyn WriteFile>) {
        let disk = SimulatedDisk::new();
        let mut file = disk.create(name).unwrap();
        file.write_all_at(content, 0).unwrap();
        file.sync().unwrap();
        disk.sync_folder().unwrap();
        (disk, file)
    }

    fn crashed(disk: &SimulatedDisk, mut fate: impl FnMut(Doubt) -> bool) -> SimulatedDisk {
        disk.crash(&mut fate)
    }

    /// Lets the next call fail.
    fn fail(disk: &SimulatedDisk) {
        disk.fail_at(disk.calls(), ErrorKind::Other);
    }

    #[test]
    fn content_is_in_doubt_until_synced() {
        let (disk, mut file) = disk("a", b"");
        file.write_all_at(&[1; 700], 0).unwrap();
        let inode = 0;
        let sectors = [0, 1].map(|index| Doubt::Sector { inode, index });
        assert_eq!(disk.doubts(), [Doubt::Length { inode }, sectors[0], sectors[1]]);
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"");
        assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), [1; 700]);
        let zeros = crashed(&disk, |doubt| doubt == Doubt::Length { inode });
        assert_eq!(zeros.file_bytes("a").unwrap(), [0; 700]);
        let cut = crashed(&disk, |doubt| doubt != Doubt::Length { inode });
        assert_eq!(cut.file_bytes("a").unwrap(), b"", "sectors past the end");
        file.sync().unwrap();
        assert_eq!(disk.doubts(), []);
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), [1; 700]);
    }

    #[test]
    fn sectors_tear_one_by_one() {
        let (disk, mut file) = disk("a", &[1; 1500]);
        file.write_all_at(&[2; 900], 600).unwrap();
        assert_eq!(disk.doubts(), [1, 2].map(|index| Doubt::Sector { inode: 0, index }));
        let torn = |kept| {
            let disk = crashed(&disk, |doubt| doubt == Doubt::Sector { inode: 0, index: kept });
            disk.file_bytes("a").unwrap()
        };
        assert_eq!(torn(1), [&[1; 600][..], &[2; 424], &[1; 476]].concat());
        assert_eq!(torn(2), [&[1; 1024][..], &[2; 476]].concat());
    }

    #[test]
    fn a_synced_file_vanishes_with_its_name() {
        let disk = SimulatedDisk::new();
        let mut file = disk.create("a").unwrap();
        file.write_all_at(b"x", 0).unwrap();
        file.sync().unwrap();
        assert_eq!(disk.doubts(), [Doubt::FolderOperation { index: 0 }]);
        assert!(crashed(&disk, LOSE).names().is_empty());
        assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), b"x");
        disk.remove("a").unwrap();
        let removed = crashed(&disk, |doubt| doubt == Doubt::FolderOperation { index: 1 });
        assert!(removed.names().is_empty(), "a removal without its creation");
    }

    #[test]
    fn folder_operations_are_kept_or_lost_each_on_its_own() {
        let (disk, _) = disk(MANIFEST, b"old");
        let mut file = disk.create(MANIFEST_NEW).unwrap();
        file.write_all_at(b"new", 0).unwrap();
        file.sync().unwrap();
        disk.rename(MANIFEST_NEW, MANIFEST).unwrap();
        for (kept, manifest, names) in [
            ([false, false], b"old", &[MANIFEST][..]),
            ([true, false], b"old", &[MANIFEST, MANIFEST_NEW]),
            ([false, true], b"new", &[MANIFEST]),
            ([true, true], b"new", &[MANIFEST]),
        ] {
            let mut fates = kept.into_iter();
            let crashed = crashed(&disk, |_| fates.next().unwrap());
            assert_eq!(crashed.file_bytes(MANIFEST).unwrap(), manifest, "{kept:?}");
            assert_eq!(crashed.names(), names, "{kept:?}");
        }
        disk.sync_folder().unwrap();
        let crashed = crashed(&disk, LOSE);
        assert_eq!((crashed.names(), crashed.file_bytes(MANIFEST)), (disk.names(), Some(b"new".to_vec())));
    }

    #[test]
    fn what_a_failed_sync_was_to_save_is_lost_until_rewritten() {
        let (disk, mut file) = disk("a", b"old");
        file.write_all_at(b"newer", 0).unwrap();
        fail(&disk);
        file.sync().unwrap_err();
        file.sync().unwrap();
        assert_eq!(disk.file_bytes("a").unwrap(), b"newer", "what readers see");
        assert_eq!(disk.doubts(), []);
        assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), b"old");
        file.write_all_at(b"newer", 0).unwrap();
        file.sync().unwrap();
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"newer");
    }

    #[test]
    fn what_a_failed_folder_sync_was_to_save_stays_in_doubt() {
        let (disk, _) = disk("a", b"x");
        disk.rename("a", "b").unwrap();
        disk.create("c").unwrap();
        fail(&disk);
        disk.sync_folder().unwrap_err();
        assert_eq!(crashed(&disk, LOSE).names(), ["a"]);
        assert_eq!(crashed(&disk, KEEP).names(), ["b", "c"]);
        disk.sync_folder().unwrap();
        assert_eq!(crashed(&disk, LOSE).names(), ["b", "c"]);
    }

    #[test]
    fn truncation_is_in_doubt_and_leaves_zeros_behind() {
        let (disk, mut file) = disk("a", &[1; 1500]);
        file.truncate(600).unwrap();
        assert_eq!(disk.file_bytes("a").unwrap(), [1; 600]);
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), [1; 1500]);
        assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), [1; 600]);
        let zeroed = crashed(&disk, |doubt| doubt != Doubt::Length { inode: 0 });
        let expected = [&[1; 600][..], &[0; 424], &[1; 476]].concat();
        assert_eq!(zeroed.file_bytes("a").unwrap(), expected, "the sector that was cut");
        file.truncate(1500).unwrap();
        assert_eq!(disk.doubts(), [1, 2].map(|index| Doubt::Sector { inode: 0, index }));
        let grown = [&[1; 600][..], &[0; 900]].concat();
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), [1; 1500]);
        assert_eq!(crashed(&disk, KEEP).file_bytes("a").unwrap(), grown);
        file.sync().unwrap();
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), grown);
        file.write_all_at(&[2; 1500], 0).unwrap();
        file.truncate(0).unwrap();
        assert_eq!(disk.doubts(), [Doubt::Length { inode: 0 }], "no sector is left");
        file.sync().unwrap();
        file.write_all_at(b"", 1).unwrap();
        assert_eq!(disk.file_bytes("a").unwrap(), b"", "nothing was written");
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"");
    }

    #[test]
    fn a_full_disk_refuses_what_takes_space_until_healed() {
        let (disk, mut file) = disk("a", b"");
        disk.fail_from(disk.calls() + 1, StorageFull);
        file.write_all_at(b"1", 0).unwrap();
        for _ in 0..2 {
            assert_eq!(file.write_all_at(b"23456", 1).unwrap_err().kind(), StorageFull);
            assert_eq!(disk.create("b").unwrap_err().kind(), StorageFull);
        }
        assert_eq!(disk.file_bytes("a").unwrap(), b"123", "half of what was to be written");
        file.sync().unwrap();
        disk.rename("a", "b").unwrap();
        disk.heal();
        file.write_all_at(b"4", 3).unwrap();
        disk.create("a").unwrap();
    }

    #[test]
    fn any_call_fails_once_and_nothing_is_done() {
        let (disk, mut file) = disk("a", b"x");
        let input = disk.open("a").unwrap();
        let mut calls: Vec<Box<dyn FnMut() -> io::Result<()>>> = vec![
            Box::new(|| disk.create("b").map(drop)),
            Box::new(|| disk.map("a", Access::Random).map(drop)),
            Box::new(|| disk.open("a").map(drop)),
            Box::new(|| disk.rename("a", "c")),
            Box::new(|| disk.remove("c")),
            Box::new(|| disk.list().map(drop)),
            Box::new(|| match disk.lock() {
                Err(Error::Io { source, .. }) => Err(source),
                other => other.map(drop).map_err(|_| ErrorKind::InvalidData.into()),
            }),
            Box::new(|| file.truncate(0)),
            Box::new(|| input.len_bytes().map(drop)),
            Box::new(|| input.read_exact_at(&mut [], 0)),
        ];
        for call in &mut calls {
            let before = (disk.names(), disk.file_bytes("a"), disk.doubts());
            let number = disk.calls();
            disk.fail_at(number, ErrorKind::PermissionDenied);
            assert_eq!(call().unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert_eq!((disk.names(), disk.file_bytes("a"), disk.doubts()), before);
            call().unwrap();
            assert_eq!(disk.calls(), number + 2);
        }
    }

    #[test]
    fn the_hook_sees_the_state_before_each_call() {
        let disk = SimulatedDisk::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, live) = (seen.clone(), disk.clone());
        disk.on_call(move |frozen, call| {
            live.list().unwrap();
            log.lock().unwrap().push((call, frozen.clone()));
        });
        let mut file = disk.create("a").unwrap();
        let _lock = disk.lock().unwrap();
        file.write_all_at(b"x", 0).unwrap();
        disk.sync_folder().unwrap();
        disk.remove("a").unwrap();
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        // The hook's own calls have the numbers between.
        let states = seen.iter().map(|(call, disk)| (*call, disk.file_bytes("a"), disk.doubts().len()));
        let (empty, written) = (Some(vec![]), Some(b"x".to_vec()));
        assert!(states.eq([
            (0, None, 0),
            (2, empty.clone(), 1),
            (4, empty, 1),
            (6, written.clone(), 3),
            (8, written, 2)
        ]));
        let frozen = &seen[4].1;
        assert_eq!(frozen.calls(), 0);
        frozen.lock().expect("the lock stays behind");
        frozen.create("b").unwrap();
        assert!(disk.names().is_empty(), "a disk of its own");
    }

    #[test]
    fn an_open_file_outlives_its_name() {
        let (disk, mut file) = disk("a", b"old");
        let input = disk.open("a").unwrap();
        disk.remove("a").unwrap();
        disk.create("a").unwrap();
        file.write_all_at(b"new", 0).unwrap();
        let mut read = [0; 3];
        input.read_exact_at(&mut read, 0).unwrap();
        assert_eq!((&read, disk.file_bytes("a")), (b"new", Some(vec![])));
        assert_eq!(input.read_exact_at(&mut read, 1).unwrap_err().kind(), UnexpectedEof);
        disk.sync_folder().unwrap();
        assert_eq!(disk.doubts(), [], "nobody can find it after a power cut");
    }

    #[test]
    fn names_are_checked_and_content_is_found() {
        let (disk, _) = disk("a", b"x");
        assert_eq!(disk.create("a").unwrap_err().kind(), AlreadyExists);
        assert_eq!(disk.open("b").unwrap_err().kind(), NotFound);
        assert_eq!(disk.map("b", Access::Random).unwrap_err().kind(), NotFound);
        assert_eq!(disk.rename("b", "a").unwrap_err().kind(), NotFound);
        assert_eq!(disk.remove("b").unwrap_err().kind(), NotFound);
        assert_eq!(disk.path("b"), Path::new("/simulated/b"));
        disk.set_file_bytes("a", b"flipped".to_vec());
        disk.set_file_bytes("b", b"placed".to_vec());
        assert_eq!(disk.list().unwrap(), ["a", "b"]);
        assert_eq!(&*disk.map("a", Access::Random).unwrap(), b"flipped");
        assert_eq!(disk.open("b").unwrap().len_bytes().unwrap(), 6);
        assert_eq!(crashed(&disk, LOSE).file_bytes("a").unwrap(), b"flipped");
        assert_eq!(crashed(&disk, LOSE).file_bytes("b").unwrap(), b"placed");
    }

    #[test]
    fn one_holds_the_lock_and_a_crash_frees_it() {
        let (disk, mut file) = disk("a", b"x");
        let lock = disk.lock().unwrap();
        let pid = std::process::id();
        assert!(matches!(disk.lock(), Err(Error::Locked { pid: Some(p), .. }) if p == pid));
        file.write_all_at(b"y", 0).unwrap();
        let crashed = crashed(&disk, KEEP);
        assert_eq!((crashed.calls(), crashed.doubts()), (0, vec![]));
        crashed.lock().unwrap();
        crashed.remove("a").unwrap();
        assert_eq!(disk.names(), ["a"], "a disk of its own");
        drop(lock);
        disk.lock().unwrap();
    }
}
