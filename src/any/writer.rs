//! Changing a database of any width.

use std::ops::{Range, RangeInclusive};
use std::path::Path;

use super::columns::{Sink, push_row};
use super::fingerprint::any_matches;
use super::{AnyFingerprint, AnySnapshot, PerWidth};
use crate::database::ingest::IngestReport;
use crate::database::new_row::NewRow;
use crate::database::writer::Writer;
use crate::database::writer::checked::Insertion;
use crate::database::writer::shared::Commit;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row, U256, U320, Width, fingerprints};
use crate::format::schema::{KeyStorage, Remember};
use crate::layout::{BandDistances, BandLayout};
use crate::query::{Match, Query, RowKey};

/// Rows to store, column by column.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewRows<'a> {
    /// The words of the fingerprints.
    pub fingerprints: &'a [u64],
    /// An id for each row. `None` for ids that are assigned, or made from keys.
    pub ids: Option<&'a [u64]>,
    /// A key for each row.
    pub keys: Option<&'a [&'a str]>,
    /// What is stored beside each key.
    pub texts: Option<&'a [&'a [u8]]>,
}

impl NewRows<'_> {
    /// Passes each row on.
    pub(super) fn store<F: Fingerprint>(
        &self,
        stored: &mut dyn FnMut(u64) -> Result<()>,
        mut store: impl FnMut(NewRow<'_, F>) -> Result<u64>,
    ) -> Result<()> {
        fingerprints(self.fingerprints).enumerate().try_for_each(|(index, fingerprint)| {
            let id = self.ids.and_then(|ids| ids.get(index)).copied();
            let key = self.keys.and_then(|keys| keys.get(index)).copied();
            let text = self.texts.and_then(|texts| texts.get(index)).copied().unwrap_or_default();
            stored(store(NewRow { fingerprint, id, key, text })?)
        })
    }
}

/// A [`Writer`] of any width.
#[derive(Debug)]
pub struct AnyWriter(pub(super) PerWidth<Writer<u64>, Writer<u128>, Writer<U256>, Writer<U320>>);

impl AnyWriter {
    /// Inserts rows: see [`Writer::insert`]. `stored` receives the id of each row; an error of it ends
    /// the work, and the rows before it stay.
    ///
    /// # Errors
    /// As [`Writer::insert`], and whatever `stored` returns.
    pub fn insert(&mut self, rows: &NewRows<'_>, stored: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => rows.store(stored, |row| writer.insert(row)))
    }

    /// Makes each row the only one with its id: see [`Writer::upsert`]. `stored` is as in
    /// [`insert`](Self::insert).
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub fn upsert(&mut self, rows: &NewRows<'_>, stored: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => rows.store(stored, |row| writer.upsert(row)))
    }

    /// Inserts each row unless a row within `k` bits is stored, rows of this call included: see
    /// [`Writer::insert_if_new`]. For each row that is not inserted, `met` receives the nearest stored row,
    /// once for each of its keys; the group is the index of the row that was not inserted. `stored` receives
    /// the id of each inserted row, and of the nearest row for each other one.
    ///
    /// # Errors
    /// As [`Writer::insert_if_new`], and whatever `stored` returns.
    pub fn insert_if_new(
        &mut self,
        rows: &NewRows<'_>,
        k: u32,
        stored: &mut dyn FnMut(u64) -> Result<()>,
        met: &mut dyn Sink,
    ) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => {
            let mut index = 0;
            rows.store(stored, |row| {
                let outcome = writer.insert_if_new(row, k)?;
                if let Insertion::Met(Match { distance, fingerprint, id }) = outcome {
                    let near = Row { fingerprint, id };
                    let keys = writer.keys_of(near)?;
                    let keys = keys.iter().map(|key| Some(key.key.as_str()));
                    let keyless = keys.len() == 0;
                    keys.chain(keyless.then_some(None)).for_each(|key| push_row(met, (index, near, distance), key));
                }
                index += 1;
                Ok(outcome.id())
            })
        })
    }

    /// Deletes every row with one of these ids.
    ///
    /// # Errors
    /// As [`Writer::delete`].
    pub fn delete(&mut self, ids: &[u64]) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => ids.iter().try_for_each(|&id| writer.delete(id)))
    }

    /// Deletes every row with an id in a range: see [`Writer::delete_ids`].
    ///
    /// # Errors
    /// As [`Writer::delete_ids`].
    pub fn delete_ids(&mut self, range: RangeInclusive<u64>) -> Result<u64> {
        typed!(PerWidth: &mut self.0, writer => writer.delete_ids(range))
    }

    /// Deletes keys, and the rows that have no others: see [`Writer::delete_keys`].
    ///
    /// # Errors
    /// As [`Writer::delete_keys`].
    pub fn delete_keys(&mut self, keys: &[&str]) -> Result<u64> {
        typed!(PerWidth: &mut self.0, writer => writer.delete_keys(keys))
    }

    /// Deletes all keys with a prefix: see [`Writer::delete_key_prefix`].
    ///
    /// # Errors
    /// As [`Writer::delete_key_prefix`].
    pub fn delete_key_prefix(&mut self, prefix: &str) -> Result<u64> {
        typed!(PerWidth: &mut self.0, writer => writer.delete_key_prefix(prefix))
    }

    /// Deletes keys by their sequence numbers: see [`Writer::delete_keys_between`].
    ///
    /// # Errors
    /// As [`Writer::delete_keys_between`].
    pub fn delete_keys_between(&mut self, ranges: &[Range<u64>]) -> Result<u64> {
        typed!(PerWidth: &mut self.0, writer => writer.delete_keys_between(ranges))
    }

    /// Forgets the documents that jobs have left out: see [`Writer::forget_left_out`].
    ///
    /// # Errors
    /// As [`Writer::forget_left_out`].
    pub fn forget_left_out(&mut self, jobs: &[u64]) -> Result<u64> {
        typed!(PerWidth: &mut self.0, writer => writer.forget_left_out(jobs))
    }

    /// The rows near a fingerprint, including uncommitted ones: see [`Writer::query`].
    ///
    /// # Errors
    /// As [`Writer::query`].
    pub fn query(&mut self, fingerprint: &[u64], query: impl Into<Query>, sink: &mut dyn Sink) -> Result<()> {
        self.query_rows(fingerprint, query.into(), sink)
    }

    fn query_rows(&mut self, fingerprint: &[u64], query: Query, sink: &mut dyn Sink) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => {
            let matches = writer.query(Fingerprint::from_le_words(fingerprint), query)?;
            for Match { distance, fingerprint, id } in matches {
                push_row(sink, (0, Row { fingerprint, id }, distance), None);
            }
            Ok(())
        })
    }

    /// The rows near a fingerprint of this width, including uncommitted ones, as a list: see [`Writer::query`].
    ///
    /// # Errors
    /// As [`Writer::query`].
    pub fn matches(
        &mut self,
        fingerprint: AnyFingerprint,
        query: impl Into<Query>,
    ) -> Result<Vec<Match<AnyFingerprint>>> {
        self.listed_matches(fingerprint, query.into())
    }

    fn listed_matches(
        &mut self,
        fingerprint: AnyFingerprint,
        query: Query,
    ) -> Result<Vec<Match<AnyFingerprint>>> {
        typed!(PerWidth: &mut self.0, writer => Ok(any_matches(&writer.query(fingerprint.typed(), query)?)))
    }

    /// The rows near a fingerprint of this width by their equal bands, as a list: see [`Writer::query_by_bands`].
    ///
    /// # Errors
    /// As [`Writer::query_by_bands`].
    pub fn matches_by_bands(
        &mut self,
        fingerprint: AnyFingerprint,
        distances: &BandDistances,
    ) -> Result<Vec<Match<AnyFingerprint>>> {
        typed!(PerWidth: &mut self.0, writer => {
            Ok(any_matches(&writer.query_by_bands(fingerprint.typed(), distances)?))
        })
    }

    /// Whether rows were flushed to runs: see [`Writer::has_runs`].
    #[must_use]
    pub fn has_runs(&self) -> bool {
        typed!(PerWidth: &self.0, writer => writer.has_runs())
    }

    /// Looks fingerprints up together for calls of [`matches`](Self::matches) that follow: see [`Writer::look_ahead`].
    ///
    /// # Errors
    /// As [`Writer::look_ahead`].
    pub fn look_ahead(&mut self, fingerprints: &[AnyFingerprint], k: u32) -> Result<bool> {
        typed!(PerWidth: &mut self.0, writer => writer.look_ahead(&typed_list(fingerprints), k))
    }

    /// [`look_ahead`](Self::look_ahead) for calls of [`matches_by_bands`](Self::matches_by_bands): see
    /// [`Writer::look_ahead_by_bands`].
    ///
    /// # Errors
    /// As [`Writer::look_ahead_by_bands`].
    pub fn look_ahead_by_bands(
        &mut self,
        fingerprints: &[AnyFingerprint],
        distances: &BandDistances,
    ) -> Result<bool> {
        typed!(PerWidth: &mut self.0, writer => writer.look_ahead_by_bands(&typed_list(fingerprints), distances))
    }

    /// The keys of a row, including uncommitted ones: see [`Writer::keys_of`].
    ///
    /// # Errors
    /// As [`Writer::keys_of`].
    pub fn keys_of(&self, fingerprint: &[u64], id: u64) -> Result<Vec<RowKey>> {
        typed!(PerWidth: &self.0, writer => {
            writer.keys_of(Row { fingerprint: Fingerprint::from_le_words(fingerprint), id })
        })
    }

    /// A snapshot that includes uncommitted operations: see [`Writer::snapshot`].
    ///
    /// # Errors
    /// As [`Writer::snapshot`].
    pub fn snapshot(&self) -> Result<AnySnapshot> {
        Ok(AnySnapshot::new(try_map!(PerWidth: &self.0, writer => PerWidth: writer.snapshot())))
    }

    /// Stores the progress of the caller's job: see [`Writer::set_checkpoint`].
    ///
    /// # Errors
    /// As [`Writer::set_checkpoint`].
    pub fn set_checkpoint(&mut self, checkpoint: &[u8]) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.set_checkpoint(checkpoint))
    }

    /// The checkpoint, committed or not: see [`Writer::checkpoint`].
    #[must_use]
    pub fn checkpoint(&self) -> Option<&[u8]> {
        typed!(PerWidth: &self.0, writer => writer.checkpoint())
    }

    /// Stores the records of finished jobs: see [`Writer::set_history`].
    ///
    /// # Errors
    /// As [`Writer::set_history`].
    pub fn set_history(&mut self, history: &[u8]) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.set_history(history))
    }

    /// The records of finished jobs, committed or not: see [`Writer::history`].
    #[must_use]
    pub fn history(&self) -> Option<&[u8]> {
        typed!(PerWidth: &self.0, writer => writer.history())
    }

    /// Sets the recipe of a database that has none: see [`Writer::set_recipe`].
    ///
    /// # Errors
    /// As [`Writer::set_recipe`].
    pub fn set_recipe(&mut self, recipe: &str) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.set_recipe(recipe))
    }

    /// The recipe of the fingerprints, if the database stores one.
    #[must_use]
    pub fn recipe(&self) -> Option<&str> {
        typed!(PerWidth: &self.0, writer => writer.recipe())
    }

    /// Whether rows have keys, and what is stored beside keys.
    #[must_use]
    pub fn key_storage(&self) -> KeyStorage {
        typed!(PerWidth: &self.0, writer => writer.key_storage())
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        match self.0 {
            PerWidth::W64(_) => Width::W64,
            PerWidth::W128(_) => Width::W128,
            PerWidth::W256(_) => Width::W256,
            PerWidth::W320(_) => Width::W320,
        }
    }

    /// The bands of the fingerprints: see [`Writer::bands`].
    #[must_use]
    pub fn bands(&self) -> Option<BandLayout> {
        typed!(PerWidth: &self.0, writer => writer.bands())
    }

    /// The distance that the layout is tuned for.
    #[must_use]
    pub fn default_k(&self) -> u32 {
        typed!(PerWidth: &self.0, writer => writer.default_k())
    }

    /// The sequence number of the next key.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        typed!(PerWidth: &self.0, writer => writer.next_sequence())
    }

    /// What the database remembers of documents that are left out.
    #[must_use]
    pub fn remembers(&self) -> Remember {
        typed!(PerWidth: &self.0, writer => writer.remembers())
    }

    /// Remembers that a document was left out: see [`Writer::remember_left_out`].
    ///
    /// # Errors
    /// As [`Writer::remember_left_out`].
    pub fn remember_left_out(&mut self, key: &str, kept: &str, similarity: f64, job: u64) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.remember_left_out(key, kept, similarity, job))
    }

    /// Makes all operations durable: see [`Writer::commit`].
    ///
    /// # Errors
    /// As [`Writer::commit`].
    pub fn commit(&mut self) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.commit())
    }

    /// Whether there are operations that the next commit makes durable: see [`Writer::has_uncommitted`].
    #[must_use]
    pub fn has_uncommitted(&self) -> bool {
        typed!(PerWidth: &self.0, writer => writer.has_uncommitted())
    }

    /// Forgets all operations since the last commit: see [`Writer::discard`].
    ///
    /// # Errors
    /// As [`Writer::discard`].
    pub fn discard(&mut self) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.discard())
    }

    /// Commits, and writes all unflushed rows as a run.
    ///
    /// # Errors
    /// As [`Writer::flush`].
    pub fn flush(&mut self) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.flush())
    }

    /// Merges all runs into one without deleted rows.
    ///
    /// # Errors
    /// As [`Writer::compact`].
    pub fn compact(&mut self) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.compact())
    }

    /// Ingests folders of runs: see [`Writer::ingest`].
    ///
    /// # Errors
    /// As [`Writer::ingest`].
    pub fn ingest(&mut self, folders: &[impl AsRef<Path>]) -> Result<IngestReport> {
        let folders: Vec<&Path> = folders.iter().map(AsRef::as_ref).collect();
        self.ingest_folders(&folders)
    }

    fn ingest_folders(&mut self, folders: &[&Path]) -> Result<IngestReport> {
        typed!(PerWidth: &mut self.0, writer => writer.ingest(folders))
    }

    /// Commits, flushes, and waits for all due merges: see [`Writer::wait_for_merges`].
    ///
    /// # Errors
    /// As [`Writer::wait_for_merges`].
    pub fn wait_for_merges(&mut self) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.wait_for_merges())
    }

    /// Does what [`close`](Self::close) does, and keeps the lock.
    ///
    /// # Errors
    /// As [`Writer::finish`].
    pub fn finish(&mut self) -> Result<()> {
        typed!(PerWidth: &mut self.0, writer => writer.finish())
    }

    /// Commits, flushes, waits for merges, and releases the lock.
    ///
    /// # Errors
    /// As [`Writer::close`].
    pub fn close(self) -> Result<()> {
        typed!(PerWidth: self.0, writer => writer.close())
    }
}

impl Commit for AnyWriter {
    fn commit(&mut self) -> Result<()> {
        Self::commit(self)
    }

    fn begin_call(&mut self) {
        typed!(PerWidth: &mut self.0, writer => writer.begin_call())
    }

    fn end_call(&mut self) {
        typed!(PerWidth: &mut self.0, writer => writer.end_call())
    }

    fn take_back(&mut self) -> Result<()> {
        self.discard()
    }
}

fn typed_list<F: Fingerprint>(fingerprints: &[AnyFingerprint]) -> Vec<F> {
    fingerprints.iter().map(|fingerprint| fingerprint.typed()).collect()
}
