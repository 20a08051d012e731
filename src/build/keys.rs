//! The keys of a run: sorted with bounded memory, or merged from other runs.

use std::sync::Arc;

use super::ascending::MAX_PIECES;
use super::omitted::Omitted;
use super::target::Target;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::{KeyRecord, KeysSize};
use crate::format::manifest::KeysRecord;
use crate::run::{FileSpec, KeyCursor, Keys, NewerTombstones, write_keys};
use crate::storage::{Storage, names};

/// Records of keys in ascending order, which can be read any number of times.
pub(crate) trait KeySource<F> {
    fn for_each(&self, visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()>;

    /// How many records there are, and their bytes.
    fn size(&self) -> Result<KeysSize>
    where
        F: Fingerprint,
    {
        let mut size = KeysSize::default();
        self.for_each(&mut |record| {
            size.add(&record);
            Ok(())
        })?;
        Ok(size)
    }
}

/// No keys.
impl<F> KeySource<F> for () {
    fn for_each(&self, _: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()> {
        Ok(())
    }
}

/// Writes a keys file of all records, durably. `None` if there are no records.
pub(super) fn write_keys_file<F: Fingerprint>(
    storage: &dyn Storage,
    spec: &FileSpec,
    source: &(impl KeySource<F> + ?Sized),
) -> Result<Option<KeysRecord>> {
    let size = source.size()?;
    if size.count == 0 {
        return Ok(None);
    }
    write_keys(storage, spec, size, |visit| source.for_each(visit)).map(Some)
}

/// A keys file, and the tombstones that apply to its rows.
pub(super) struct KeysInput<'a> {
    pub(super) keys: &'a Keys,
    pub(super) newer: NewerTombstones<'a>,
}

/// The live keys of several keys files.
pub(super) struct MergedKeys<'a, F> {
    pub(super) inputs: Vec<KeysInput<'a>>,
    pub(super) omitted: Option<&'a Omitted<F>>,
}

impl<F: Fingerprint> KeySource<F> for MergedKeys<'_, F> {
    fn for_each(&self, visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()> {
        self.merge(self.inputs.iter().map(|input| input.keys.cursor()).collect(), visit)
    }

    /// The second pass checks the sums of the files.
    fn size(&self) -> Result<KeysSize> {
        let mut size = KeysSize::default();
        let cursors = self.inputs.iter().map(|input| input.keys.cursor().without_sums()).collect();
        self.merge(cursors, &mut |record: KeyRecord<'_, F>| {
            size.add(&record);
            Ok(())
        })?;
        Ok(size)
    }
}

impl<F: Fingerprint> MergedKeys<'_, F> {
    fn merge(
        &self,
        mut cursors: Vec<KeyCursor<'_, F>>,
        visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>,
    ) -> Result<()> {
        let mut heads = Vec::with_capacity(cursors.len());
        for (input, cursor) in self.inputs.iter().zip(&mut cursors) {
            heads.push(input.next(cursor)?);
        }
        while let Some(place) = heads.iter().flatten().min_by(|a, b| a.compare(b)).map(KeyRecord::place) {
            let mut united: Option<KeyRecord<'_, F>> = None;
            for ((head, cursor), input) in heads.iter_mut().zip(&mut cursors).zip(&self.inputs) {
                if let &mut Some(record) = head
                    && record.row.id == place.0
                    && record.place() == place
                {
                    united = Some(united.map_or(record, |united| united.with(record)));
                    *head = input.next(cursor)?;
                }
            }
            let is_kept =
                |record: &KeyRecord<'_, F>| self.omitted.is_none_or(|omitted| !omitted.has_key(record));
            united.into_iter().filter(is_kept).try_for_each(&mut *visit)?;
        }
        Ok(())
    }
}

impl KeysInput<'_> {
    /// The next live record.
    fn next<'a, F: Fingerprint>(&self, cursor: &mut KeyCursor<'a, F>) -> Result<Option<KeyRecord<'a, F>>> {
        while let Some(record) = cursor.next()? {
            if !self.newer.hide(record.row.id)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}

/// Sorts any number of keys with bounded memory.
#[derive(Debug)]
pub(crate) struct KeySorter<F> {
    memory_bytes: usize,
    held_bytes: usize,
    held: Vec<HeldKey<F>>,
    pieces: Vec<(FileSpec, KeysRecord)>,
    /// The number of the last piece.
    last_piece: u32,
}

/// A record in memory. It is ordered as records are, with the earliest of several first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HeldKey<F> {
    id: u64,
    fingerprint: F,
    key: Box<[u8]>,
    sequence: u64,
    last: u64,
    text: Box<[u8]>,
}

/// A table number that no layout has, for the names of spilled pieces.
const NO_TABLE: usize = 64;

impl<F: Fingerprint> KeySorter<F> {
    pub(crate) fn new(memory_bytes: usize) -> Self {
        Self { memory_bytes, held_bytes: 0, held: Vec::new(), pieces: Vec::new(), last_piece: 0 }
    }

    pub(crate) fn push(&mut self, target: Target<'_>, record: &KeyRecord<'_, F>) -> Result<()> {
        let KeyRecord { row: Row { fingerprint, id }, sequence, last, key, text } = *record;
        self.held_bytes += size_of::<HeldKey<F>>() + key.len() + text.len();
        self.held.push(HeldKey { id, fingerprint, key: key.into(), sequence, last, text: text.into() });
        if self.held_bytes >= self.memory_bytes { self.spill(target) } else { Ok(()) }
    }

    fn spill(&mut self, target: Target<'_>) -> Result<()> {
        self.sort();
        let held = std::mem::take(&mut self.held);
        self.write_piece(target, &HeldKeys(&held))?;
        self.held_bytes = 0;
        if self.pieces.len() == MAX_PIECES {
            let pieces = Pieces::open(target, std::mem::take(&mut self.pieces))?;
            self.write_piece(target, &pieces.merged())?;
        }
        Ok(())
    }

    fn sort(&mut self) {
        self.held.sort_unstable();
        self.held.dedup_by(|later, first| {
            let is_same =
                (later.id, later.fingerprint, &later.key) == (first.id, first.fingerprint, &first.key);
            if is_same {
                first.last = first.last.max(later.last);
            }
            is_same
        });
    }

    fn write_piece(&mut self, target: Target<'_>, source: &dyn KeySource<F>) -> Result<()> {
        self.last_piece += 1;
        let mut spec = Keys::file_spec(target.owner);
        spec.header.table = self.last_piece;
        spec.name = names::spill(target.owner.run, NO_TABLE, u64::from(self.last_piece));
        let record = write_keys_file(&**target.storage, &spec, source)?;
        self.pieces.extend(record.map(|record| (spec, record)));
        Ok(())
    }

    /// All records in order.
    pub(crate) fn sorted(mut self, target: Target<'_>) -> Result<SortedKeys<F>> {
        if self.pieces.is_empty() {
            self.sort();
            return Ok(SortedKeys::Held(self.held));
        }
        if !self.held.is_empty() {
            self.spill(target)?;
        }
        Pieces::open(target, self.pieces).map(SortedKeys::Spilled)
    }
}

/// The keys of a [`KeySorter`].
pub(crate) enum SortedKeys<F> {
    Held(Vec<HeldKey<F>>),
    Spilled(Pieces),
}

impl<F: Fingerprint> KeySource<F> for SortedKeys<F> {
    fn for_each(&self, visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()> {
        match self {
            Self::Held(held) => HeldKeys(held).for_each(visit),
            Self::Spilled(pieces) => pieces.merged().for_each(visit),
        }
    }
}

/// Spilled keys. Their files are removed with them.
pub(crate) struct Pieces {
    storage: Arc<dyn Storage>,
    names: Vec<String>,
    opened: Vec<Keys>,
}

impl Pieces {
    fn open(target: Target<'_>, pieces: Vec<(FileSpec, KeysRecord)>) -> Result<Self> {
        let open = |(spec, record): &(FileSpec, KeysRecord)| Keys::open(&**target.storage, spec, *record);
        let opened = pieces.iter().map(open).collect::<Result<_>>()?;
        let names = pieces.into_iter().map(|(spec, _)| spec.name).collect();
        Ok(Self { storage: target.storage.clone(), names, opened })
    }

    fn merged<F>(&self) -> MergedKeys<'_, F> {
        let input = |keys| KeysInput { keys, newer: NewerTombstones::none() };
        MergedKeys { inputs: self.opened.iter().map(input).collect(), omitted: None }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        for name in &self.names {
            // If this fails, the file is removed with the staging folder, or by the next writer.
            let _ = self.storage.remove(name);
        }
    }
}

/// Sorted keys in memory.
struct HeldKeys<'a, F>(&'a [HeldKey<F>]);

impl<F: Fingerprint> KeySource<F> for HeldKeys<'_, F> {
    fn for_each(&self, visit: &mut dyn FnMut(KeyRecord<'_, F>) -> Result<()>) -> Result<()> {
        self.0.iter().try_for_each(|held| {
            let row = Row { fingerprint: held.fingerprint, id: held.id };
            let HeldKey { sequence, last, ref key, ref text, .. } = *held;
            visit(KeyRecord { row, sequence, last, key, text })
        })
    }
}
