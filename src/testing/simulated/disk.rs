//! The disk: a storage that counts calls, injects faults and can lose power.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::medium::{Doubt, Inode, Medium, Operation};
use crate::error::{Error, Result};
use crate::storage::{Access, Bytes, Lock, ReadFile, Storage, WriteFile};
use crate::util::cast::to_usize;
use crate::util::time::Time;

/// The path of the simulated folder.
const PATH: &str = "/simulated";

/// A callback before each call.
type Hook = Box<dyn FnMut(&SimulatedDisk, u64) + Send>;

/// A simulated disk with one folder. Clones refer to the same disk.
#[derive(Clone, Default)]
pub(crate) struct SimulatedDisk {
    state: Arc<Mutex<State>>,
}

impl SimulatedDisk {
    /// An empty disk.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Simulates a power cut. Returns a new disk with the remaining content, without doubts, lock
    /// and calls. `fate` decides for each of the [`doubts`](Self::doubts), in their order, whether
    /// it is kept. This disk stays as it is.
    pub(crate) fn crash(&self, fate: &mut dyn FnMut(Doubt) -> bool) -> Self {
        let (medium, now) = {
            let state = self.state();
            (state.medium.clone(), state.now)
        };
        Self::with(medium.settled(fate), now)
    }

    /// All changes that a power cut may keep or lose now: folder operations in their order, then
    /// length and sectors of each file that any of them, or the synced folder, names.
    #[cfg(test)]
    pub(crate) fn doubts(&self) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        self.crash(&mut |doubt| {
            doubts.push(doubt);
            true
        });
        doubts
    }

    /// The number of calls through the storage traits, including failed ones. `path` does not
    /// count.
    pub(crate) fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Makes the call with this number fail; the first is 0. A failing sync permanently loses the
    /// data that it should make durable. A failing write writes half. Other failing calls do
    /// nothing.
    pub(crate) fn fail_at(&self, call: u64, kind: io::ErrorKind) {
        self.state().failing.insert(call, kind);
    }

    /// Fills the disk: from this call on, creations and writes fail, until [`heal`](Self::heal).
    pub(crate) fn fail_from(&self, call: u64, kind: io::ErrorKind) {
        self.state().full = Some((call, kind));
    }

    /// Ends the effect of [`fail_from`](Self::fail_from).
    pub(crate) fn heal(&self) {
        self.state().full = None;
    }

    /// Calls `hook` before each call, with a copy of the disk and the number of the call. The copy
    /// is a separate disk without lock, faults and hook, as after the end of the process. The hook
    /// may use this disk. Calls that it makes, or that other threads make meanwhile, are counted,
    /// but do not call the hook.
    pub(crate) fn on_call(&self, hook: impl FnMut(&SimulatedDisk, u64) + Send + 'static) {
        self.state().hook = Some(Box::new(hook));
    }

    /// The content that readers of a file see.
    pub(crate) fn file_bytes(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.state();
        let inode = *state.medium.names.get(name)?;
        Some(state.medium.inodes[inode].current.to_vec())
    }

    /// Replaces the content of a file durably, also for everyone who has it open. Creates a missing
    /// file; its name is durable unless operations on that name are in doubt.
    pub(crate) fn set_file_bytes(&self, name: &str, bytes: Vec<u8>) {
        let medium = &mut self.state().medium;
        match medium.names.get(name) {
            Some(&inode) => medium.inodes[inode] = Inode::durable(Arc::new(bytes)),
            None => medium.place(name.into(), Arc::new(bytes)),
        }
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        self.state().medium.names.keys().cloned().collect()
    }

    /// Sets the clock, which stands still. Copies of the disk have its time.
    #[cfg(test)]
    pub(crate) fn set_now(&self, now: Time) {
        self.state().now = now;
    }

    /// A disk without calls.
    fn with(medium: Medium, now: Time) -> Self {
        Self { state: Arc::new(Mutex::new(State { medium, now, ..State::default() })) }
    }

    /// The locked state. No fate and no hook runs under this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        // After a panic the test has already failed. Its guards must still be dropped.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call, calls the hook, and returns whether the call fails.
    fn begin(&self, kind: Call) -> (MutexGuard<'_, State>, io::Result<()>) {
        let mut state = self.state();
        let call = state.calls;
        state.calls += 1;
        if let Some(mut hook) = state.hook.take() {
            let frozen = Self::with(state.medium.clone(), state.now);
            drop(state);
            hook(&frozen, call);
            state = self.state();
            // The hook may have set another hook.
            state.hook.get_or_insert(hook);
        }
        let fault = state.fault(call, kind);
        (state, fault)
    }

    /// A call that does nothing if it fails.
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
        self.call(Call::Other, |medium| {
            medium.sync_folder();
            Ok(())
        })
    }

    fn list(&self) -> io::Result<Vec<OsString>> {
        self.call(Call::Other, |medium| Ok(medium.names.keys().map(OsString::from).collect()))
    }

    fn lock(&self) -> Result<Box<dyn Lock>> {
        let (mut state, fault) = self.begin(Call::Other);
        fault.map_err(Error::io("lock", PATH))?;
        if state.locked {
            return Err(Error::Locked { path: PATH.into(), holder: None });
        }
        state.locked = true;
        Ok(Box::new(LockGuard(self.clone())))
    }

    fn reopen(&self) -> Result<Arc<dyn Storage>> {
        Ok(Arc::new(self.clone()))
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(PATH).join(name)
    }

    fn now(&self) -> Time {
        self.state().now
    }
}

/// The held lock of a disk.
#[derive(Debug)]
struct LockGuard(SimulatedDisk);

impl Lock for LockGuard {}

impl Drop for LockGuard {
    fn drop(&mut self) {
        self.0.state().locked = false;
    }
}

/// An open file. It outlives its name.
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
        state.medium.inodes[self.inode].sync(fault.is_ok());
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

/// Whether a full disk rejects a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    TakesSpace,
    Other,
}

/// A disk, its clock and its planned faults.
#[derive(Default)]
struct State {
    medium: Medium,
    now: Time,
    locked: bool,
    calls: u64,
    /// Calls that will fail.
    failing: BTreeMap<u64, io::ErrorKind>,
    /// The first call from which on those that take space fail.
    full: Option<(u64, io::ErrorKind)>,
    /// `None` while it runs.
    hook: Option<Hook>,
}

impl State {
    /// The fault of a call, if it fails.
    fn fault(&self, call: u64, kind: Call) -> io::Result<()> {
        let full = self.full.filter(|&(from, _)| kind == Call::TakesSpace && call >= from);
        match self.failing.get(&call).copied().or(full.map(|(_, kind)| kind)) {
            Some(kind) => Err(kind.into()),
            None => Ok(()),
        }
    }
}
