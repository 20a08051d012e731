//! Deleting rows by their ids and by their keys.

use std::collections::{BTreeSet, HashSet};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use super::Writer;
use crate::build::Omitted;
use crate::database::compaction::{Made, MergePlan, Merged};
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::{KeyRecord, hash_key};
use crate::format::wal::Operation;
use crate::memtable::Memtable;
use crate::query::prepare::Searchable;
use crate::query::view::View;
use crate::run::{Keys, NewerTombstones, Run};

/// Selects records of keys.
type Doomed<'a, F> = dyn Fn(&KeyRecord<'_, F>) -> bool + 'a;

impl<F: Fingerprint> Writer<F> {
    /// Deletes every row with this id. An unknown id is not an error, and costs nothing later.
    ///
    /// # Errors
    /// [`Error::Poisoned`], [`Error::Forked`]; [`Error::Corrupt`] when a page that shows whether the
    /// id is stored is damaged.
    pub fn delete(&mut self, id: u64) -> Result<()> {
        F::delete(self, id)
    }

    pub(in crate::database) fn delete_id(&mut self, id: u64) -> Result<()> {
        self.check_poison()?;
        if self.may_hold(id)? { self.apply(Operation::Delete(id)) } else { Ok(()) }
    }

    /// Whether a deletion of an id may have an effect.
    pub(super) fn may_hold(&self, id: u64) -> Result<bool> {
        for Memtable { changes, .. } in self.unflushed().rev() {
            if changes.holds(id) || changes.deletes(id) {
                return Ok(changes.holds(id));
            }
        }
        self.view.may_hold(id)
    }

    /// Whether rows of an id have another key than this one: a look-up where the id is stored.
    pub(super) fn has_other_key(&self, id: u64, key: &[u8]) -> Result<bool> {
        self.check_poison()?;
        let (expired_runs, is_expired) = self.expired();
        for Memtable { changes, .. } in self.unflushed().rev() {
            if changes.holds_other_key(id, key) || changes.deletes(id) {
                return Ok(changes.holds_other_key(id, key) && !is_expired);
            }
        }
        for (index, run) in self.view.runs().enumerate().skip(expired_runs) {
            let Some(keys) = &run.keys else { continue };
            if !run.postings.may_hold(id)? || self.view.newer(index).hide(id)? {
                continue;
            }
            for at in keys.of_id(id)? {
                if keys.record::<F>(at)?.key != key {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Deletes the rows of an id but those of other keys than this one.
    pub(super) fn delete_key_of(&mut self, id: u64, key: &[u8]) -> Result<()> {
        self.delete_records(&BTreeSet::from([id]), &|record| record.key == key, true).map(drop)
    }

    /// Deletes the rows that have one of these keys, whatever their ids. A row with other keys keeps
    /// those and is not deleted; neither are other rows of the same id. Documents that are remembered as [left
    /// out](Writer::remember_left_out) under these keys are forgotten. Returns the number of deleted rows, with those.
    ///
    /// Costs a look-up for each key and a sort of the unflushed rows. A run in which rows have other ids than the hash
    /// of their key costs a walk over its keys. Rows without a key cost a walk over all rows, if there is something to
    /// delete. Both walks serve all keys of the call.
    ///
    /// Where rows [expire](crate::Schema::expire_after), the rows that stay under the ids of deleted ones expire as if
    /// what was inserted with the deleted keys had never been: the runs that have them are written again, without the
    /// deleted rows. That is durable on return, together with everything that is uncommitted, as a whole or not at all.
    ///
    /// # Errors
    /// [`Error::KeysNotStored`]; otherwise as [`commit`](Writer::commit).
    pub fn delete_keys(&mut self, keys: &[&str]) -> Result<u64> {
        F::delete_keys(self, keys)
    }

    pub(in crate::database) fn delete_some_keys(&mut self, keys: &[&str]) -> Result<u64> {
        self.check_keys_are_stored()?;
        let forgotten = self.forget_left_out_keys(keys)?;
        let doomed: HashSet<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
        let view = self.view_of_all()?;
        let mut ids = BTreeSet::new();
        for (index, run) in view.runs().enumerate() {
            let Some(keys) = &run.keys else { continue };
            let newer = view.newer(index);
            if keys.info.other_ids > 0 {
                ids_of_doomed::<F>(keys, &newer, &|record| doomed.contains(record.key), &mut ids)?;
                continue;
            }
            for &key in &doomed {
                let id = hash_key(key);
                if !keys.of_id(id)?.is_empty() && !newer.hide(id)? {
                    ids.insert(id);
                }
            }
        }
        Ok(forgotten + self.delete_records(&ids, &|record| doomed.contains(record.key), false)?)
    }

    /// Deletes the rows that have a key with this prefix, as [`delete_keys`](Writer::delete_keys) does. Documents that
    /// were left out are forgotten only where the database remembers [their keys](crate::Remember::Keys).
    ///
    /// # Errors
    /// As [`delete_keys`](Writer::delete_keys).
    pub fn delete_key_prefix(&mut self, prefix: &str) -> Result<u64> {
        F::delete_key_prefix(self, prefix)
    }

    pub(in crate::database) fn delete_keys_with(&mut self, prefix: &str) -> Result<u64> {
        self.check_keys_are_stored()?;
        let forgotten = match &mut self.left_out {
            Some(left_out) if left_out.key_storage().has_keys() => left_out.delete_keys_with(prefix)?,
            _ => 0,
        };
        Ok(forgotten + self.delete_keys_where(&|record| record.key.starts_with(prefix.as_bytes()))?)
    }

    fn check_keys_are_stored(&self) -> Result<()> {
        if self.key_storage().has_keys() {
            Ok(())
        } else {
            Err(Error::KeysNotStored { path: self.path.clone() })
        }
    }

    /// Deletes every row with an id in a range. Returns the number of deleted rows. Costs a walk over
    /// all rows, and memory for the deleted ids.
    ///
    /// # Errors
    /// As [`delete`](Writer::delete); [`Error::Corrupt`].
    pub fn delete_ids(&mut self, range: RangeInclusive<u64>) -> Result<u64> {
        F::delete_ids(self, range)
    }

    pub(in crate::database) fn delete_id_range(&mut self, range: RangeInclusive<u64>) -> Result<u64> {
        let (mut ids, mut rows) = (BTreeSet::new(), 0);
        self.snapshot()?.visit_rows(|row| {
            if range.contains(&row.id) {
                ids.insert(row.id);
                rows += 1;
            }
            Ok::<(), Error>(())
        })?;
        ids.into_iter().try_for_each(|id| self.delete(id))?;
        Ok(rows)
    }

    /// Deletes the keys that were first and last inserted in some of the ranges of sequence numbers,
    /// and the rows that have no other key. Undoes keyed insertions between two calls of
    /// [`next_sequence`](Writer::next_sequence), and deletes no key that was also inserted before or
    /// afterwards. Returns the number of rows deleted.
    ///
    /// # Errors
    /// As [`commit`](Writer::commit).
    pub fn delete_keys_between(&mut self, ranges: &[Range<u64>]) -> Result<u64> {
        F::delete_keys_between(self, ranges)
    }

    pub(in crate::database) fn delete_sequences(&mut self, ranges: &[Range<u64>]) -> Result<u64> {
        if ranges.iter().all(Range::is_empty) {
            return Ok(0);
        }
        let are_within = |sequence: u64| ranges.iter().any(|range| range.contains(&sequence));
        self.delete_keys_where(&|record| are_within(record.sequence) && are_within(record.last))
    }

    /// Deletes the keys that `doomed` selects: a walk over all keys.
    fn delete_keys_where(&mut self, doomed: &Doomed<'_, F>) -> Result<u64> {
        let view = self.view_of_all()?;
        let mut ids = BTreeSet::new();
        for (index, run) in view.runs().enumerate() {
            if let Some(keys) = &run.keys {
                ids_of_doomed(keys, &view.newer(index), doomed, &mut ids)?;
            }
        }
        self.delete_records(&ids, doomed, false)
    }

    /// All runs, and runs in memory with what is in none yet: what is deleted by its keys is searched in runs. A flush
    /// would find no room on a full disk.
    fn view_of_all(&self) -> Result<View<F>> {
        self.check_poison()?;
        Ok(self.snapshot_of_all()?.view().clone())
    }

    /// Of the keys of `ids`, deletes those that `doomed` selects, and the rows that have no others; rows without keys
    /// only if `takes_keyless` is set. A deletion by id removes everything with that id, so the rest is inserted again,
    /// or the runs are written again where the rest would begin a new lifetime.
    fn delete_records(
        &mut self,
        ids: &BTreeSet<u64>,
        doomed: &Doomed<'_, F>,
        takes_keyless: bool,
    ) -> Result<u64> {
        if ids.is_empty() {
            return Ok(0);
        }
        let view = self.view_of_all()?;
        let (mut keyed, mut kept, mut is_any_doomed) = (BTreeSet::new(), Vec::new(), false);
        for (index, run) in view.runs().enumerate() {
            let (Some(keys), newer) = (&run.keys, view.newer(index)) else { continue };
            for &id in ids {
                if newer.hide(id)? {
                    continue;
                }
                for at in keys.of_id(id)? {
                    let record = keys.record::<F>(at)?;
                    keyed.insert(record.row);
                    is_any_doomed |= doomed(&record);
                    kept.extend((!doomed(&record)).then_some(record));
                }
            }
        }
        if !is_any_doomed && !takes_keyless {
            return Ok(0);
        }
        let mut others = self.rows_without_keys(&view, ids, &keyed)?;
        kept.iter().for_each(|record| _ = keyed.remove(&record.row));
        if takes_keyless {
            keyed.extend(std::mem::take(&mut others));
        }
        if !is_any_doomed && keyed.is_empty() {
            return Ok(0);
        }
        let deleted = keyed.len() as u64;
        if self.manifest.expiry.is_some() {
            let staying = kept.iter().map(|record| record.row.id).chain(others.iter().map(|row| row.id));
            let leaving = Leaving { ids: staying.collect(), doomed, rows: keyed };
            self.leave_out(ids, &leaving)?;
            return Ok(deleted);
        }
        ids.iter().try_for_each(|&id| self.delete(id))?;
        // These rows were there before, so the deletions make room all the same.
        let inserts = self.inserts;
        kept.into_iter().try_for_each(|record| self.apply(Operation::InsertKeyed(record)))?;
        others.into_iter().try_for_each(|row| self.apply(Operation::Insert { row, automatic: false }))?;
        self.inserts = inserts;
        Ok(deleted)
    }

    /// Deletes `ids`, but where rows of them stay, only what leaves: by one manifest, together with all that is
    /// uncommitted.
    fn leave_out(&mut self, ids: &BTreeSet<u64>, leaving: &Leaving<'_, F>) -> Result<()> {
        if leaving.ids.is_empty() {
            return ids.iter().try_for_each(|&id| self.delete(id));
        }
        self.check_lock()?;
        self.with_left_out(Writer::commit_all)?;
        self.with_reserve(|writer| writer.finish_flush(true))?;
        ids.difference(&leaving.ids).try_for_each(|&id| self.delete(id))?;
        // They have the replaced runs as inputs.
        self.discard_merges();
        self.with_reserve(|writer| writer.replace_runs(leaving))?;
        self.merge_if_due()
    }

    fn replace_runs(&mut self, leaving: &Leaving<'_, F>) -> Result<()> {
        let mut merged = Vec::new();
        let made = self.write_without(leaving, &mut merged);
        made.and_then(|made| self.install_flush(&made, &merged, true))
            .inspect_err(|_| merged.iter().for_each(|merged| self.forget_made(&merged.made)))
    }

    /// Writes the runs again that have something that leaves, and what is in none as a new one.
    fn write_without(&mut self, leaving: &Leaving<'_, F>, merged: &mut Vec<Merged>) -> Result<Made> {
        let (view, options) = (self.view.clone(), self.options.clone().without_progress());
        for (index, run) in view.runs().enumerate() {
            let newer = view.newer(index);
            let omitted =
                leaving.of_run(run, |id| Ok(self.memtable.changes.deletes(id) || newer.hide(id)?))?;
            if !omitted.is_empty() {
                merged.push(MergePlan { omitted, ..self.plan(index..index + 1)? }.run(&options)?);
            }
        }
        // What is sealed is a run by now.
        if let Some(unflushed) = self.unflushed_runs()?.pop() {
            let omitted = leaving.of_run(&unflushed.run, |_| Ok(false))?;
            if !omitted.is_empty() {
                let plan = MergePlan { omitted, ..self.plan_of_unflushed(unflushed)? };
                return Ok(plan.run(&options)?.made);
            }
        }
        let work = self.run_work()?;
        Made::by(|| work(&self.memtable.changes, &options))
    }

    /// A run of what is in none, from a run in memory.
    fn plan_of_unflushed(&mut self, unflushed: Arc<Searchable<F>>) -> Result<MergePlan<F>> {
        let run = self.take_run_number();
        Ok(MergePlan {
            has_older: !self.manifest.runs.is_empty(),
            inputs: vec![unflushed],
            omitted: Omitted::default(),
            newer: Vec::new(),
            storage: self.storage(),
            owner: self.manifest.new_owner(run, self.expires)?,
            layout: Box::new(self.layout_of_new_run()),
        })
    }

    /// The live rows of ids that have no key. Reads all rows, unless every row has a key.
    fn rows_without_keys(
        &self,
        view: &View<F>,
        ids: &BTreeSet<u64>,
        keyed: &BTreeSet<Row<F>>,
    ) -> Result<Vec<Row<F>>> {
        let with_keys = |run: &Run<F>| run.keys.as_ref().map_or(0, |keys| keys.info.rows);
        let mut others = Vec::new();
        if view.runs().all(|run| with_keys(run) == run.record.rows) {
            return Ok(others);
        }
        self.snapshot()?.visit_rows(|row| {
            others.extend((ids.contains(&row.id) && !keyed.contains(&row)).then_some(row));
            Ok::<(), Error>(())
        })?;
        Ok(others)
    }
}

/// What is deleted of ids of which rows stay.
struct Leaving<'a, F: Fingerprint> {
    ids: BTreeSet<u64>,
    doomed: &'a Doomed<'a, F>,
    /// Rows that have no keys but doomed ones.
    rows: BTreeSet<Row<F>>,
}

impl<F: Fingerprint> Leaving<'_, F> {
    /// What a run has of it, but for ids that it hides. A row leaves a run in which only doomed keys name it: it
    /// was inserted with these.
    fn of_run(&self, run: &Run<F>, hides: impl Fn(u64) -> Result<bool>) -> Result<Omitted<F>> {
        let (mut omitted, mut kept) = (Omitted::default(), BTreeSet::new());
        for &id in &self.ids {
            if !run.postings.may_hold(id)? || hides(id)? {
                continue;
            }
            omitted.rows.extend(self.rows.iter().filter(|row| row.id == id));
            let Some(keys) = &run.keys else { continue };
            for at in keys.of_id(id)? {
                let record = keys.record::<F>(at)?;
                if (self.doomed)(&record) {
                    omitted.rows.insert(record.row);
                    omitted.keys.entry(record.row).or_default().push(record.key.into());
                } else {
                    kept.insert(record.row);
                }
            }
        }
        omitted.rows.retain(|row| !kept.contains(row));
        Ok(omitted)
    }
}

/// Adds the ids of live records that `doomed` selects: one walk over all keys of a run.
fn ids_of_doomed<F: Fingerprint>(
    keys: &Keys,
    newer: &NewerTombstones<'_>,
    doomed: &Doomed<'_, F>,
    ids: &mut BTreeSet<u64>,
) -> Result<()> {
    let mut cursor = keys.cursor::<F>();
    while let Some(record) = cursor.next()? {
        if doomed(&record) && !newer.hide(record.row.id)? {
            ids.insert(record.row.id);
        }
    }
    Ok(())
}
