//! The content of a simulated disk: what readers see, and what a power cut leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The unit that a disk writes completely or not at all, in bytes.
pub(super) const SECTOR: usize = 512;

/// A change that a power cut may keep or lose. Numbers are valid at one moment: operations count
/// from the last sync of the folder, files from their creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// A creation, rename or removal since the last sync of the folder.
    FolderOperation { index: usize },
    /// The new length of a file.
    Length { inode: usize },
    /// The new content of a sector.
    Sector { inode: usize, index: usize },
}

/// The inode of each name.
pub(super) type Names = BTreeMap<String, usize>;

/// Files and their names, as readers see them and as they are durable. Clones share content until
/// one is written to.
#[derive(Clone, Default)]
pub(super) struct Medium {
    /// All files ever created: an open file may outlive its name.
    pub(super) inodes: Vec<Inode>,
    pub(super) names: Names,
    durable_names: Names,
    /// Changes to the folder since its last sync.
    pending: Vec<Operation>,
}

impl Medium {
    /// The file with a name.
    pub(super) fn find(&self, name: &str) -> io::Result<usize> {
        self.names.get(name).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Adds an empty file under a free name.
    pub(super) fn create(&mut self, name: &str) -> io::Result<usize> {
        if self.names.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let inode = self.inodes.len();
        self.inodes.push(Inode::default());
        self.perform(Operation::Create { name: name.into(), inode });
        Ok(inode)
    }

    /// Changes the folder for readers. Whether the change is durable is in doubt.
    pub(super) fn perform(&mut self, operation: Operation) {
        operation.apply(&mut self.names);
        self.pending.push(operation);
    }

    /// Makes all changes to the folder durable.
    pub(super) fn sync_folder(&mut self) {
        self.pending.drain(..).for_each(|operation| operation.apply(&mut self.durable_names));
    }

    /// Adds a durable file.
    pub(super) fn place(&mut self, name: String, content: Arc<Vec<u8>>) {
        self.names.insert(name.clone(), self.inodes.len());
        self.durable_names.insert(name, self.inodes.len());
        self.inodes.push(Inode::durable(content));
    }

    /// The content after a power cut, given the fate of every change in doubt.
    pub(super) fn settled(&self, fate: &mut dyn FnMut(Doubt) -> bool) -> Self {
        let mut names = self.durable_names.clone();
        for (index, operation) in self.pending.iter().enumerate() {
            if fate(Doubt::FolderOperation { index }) {
                operation.apply(&mut names);
            }
        }
        // Files without a kept name are included: the questions must not depend on the answers.
        let contents: BTreeMap<usize, _> = self
            .may_last()
            .into_iter()
            .map(|inode| (inode, self.inodes[inode].settled(inode, fate)))
            .collect();
        let mut left = Self::default();
        names.into_iter().for_each(|(name, inode)| left.place(name, contents[&inode].clone()));
        left
    }

    /// The files that may have a name after a power cut.
    fn may_last(&self) -> BTreeSet<usize> {
        let bound = self.pending.iter().filter_map(Operation::inode);
        self.durable_names.values().copied().chain(bound).collect()
    }
}

/// A change to the folder. It can be applied without the changes before it.
#[derive(Clone)]
pub(super) enum Operation {
    Create { name: String, inode: usize },
    Rename { from: String, to: String, inode: usize },
    Remove { name: String },
}

impl Operation {
    /// Changes the names. Ignores a missing name that should be removed.
    fn apply(&self, names: &mut Names) {
        if let Self::Rename { from: name, .. } | Self::Remove { name } = self {
            names.remove(name);
        }
        if let Self::Create { name, inode } | Self::Rename { to: name, inode, .. } = self {
            names.insert(name.clone(), *inode);
        }
    }

    /// The file that gets a name.
    fn inode(&self) -> Option<usize> {
        match self {
            Self::Create { inode, .. } | Self::Rename { inode, .. } => Some(*inode),
            Self::Remove { .. } => None,
        }
    }
}

/// A file without its name.
#[derive(Clone, Default)]
pub(super) struct Inode {
    /// What readers see.
    pub(super) current: Arc<Vec<u8>>,
    /// The content on the medium. After a failed sync it differs, although nothing is dirty.
    durable: Arc<Vec<u8>>,
    /// The sectors that the next sync writes. All are within the current length.
    dirty: BTreeSet<usize>,
    /// Whether the next sync writes the length.
    length_dirty: bool,
}

impl Inode {
    /// A file with durable content.
    pub(super) fn durable(content: Arc<Vec<u8>>) -> Self {
        Self { current: content.clone(), durable: content, ..Self::default() }
    }

    /// Overwrites or appends. A gap before `offset` becomes zeros. Writing no bytes changes
    /// nothing.
    pub(super) fn write(&mut self, bytes: &[u8], offset: usize) {
        let range = offset..offset + bytes.len();
        if range.is_empty() {
            return;
        }
        if range.end > self.current.len() {
            self.resize(range.end);
        }
        // After a failed sync, a rewrite of the same bytes also restores their length.
        self.length_dirty |= range.end > self.durable.len();
        Arc::make_mut(&mut self.current)[range.clone()].copy_from_slice(bytes);
        self.mark_dirty(range);
    }

    /// Truncates the file, or extends it with zeros.
    pub(super) fn resize(&mut self, len: usize) {
        let old = self.current.len();
        Arc::make_mut(&mut self.current).resize(len, 0);
        self.length_dirty = len != self.durable.len();
        self.dirty.retain(|&index| index < len.div_ceil(SECTOR));
        // The truncated part of a sector reads as zeros if the file grows again.
        self.mark_dirty(len.min(old)..if len < old { len.next_multiple_of(SECTOR) } else { len });
    }

    /// Marks the sectors of a range of bytes as dirty.
    fn mark_dirty(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.dirty.extend(range.start / SECTOR..range.end.div_ceil(SECTOR));
        }
    }

    /// Makes the content durable, unless the sync fails. Either way the system marks the pages as
    /// clean and never writes them again.
    pub(super) fn sync(&mut self, succeeds: bool) {
        if succeeds {
            self.durable = self.settled(0, &mut |_| true);
        }
        self.dirty.clear();
        self.length_dirty = false;
    }

    /// The content after a power cut, given the fate of its length and its sectors.
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
