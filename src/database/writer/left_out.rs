//! Remembering documents that are left out.

use std::collections::BTreeSet;

use super::Writer;
use crate::database::left_out::{self, LeftOut};
use crate::database::new_row::NewRow;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::keys::hash_key;
use crate::format::schema::Remember;

impl<F: Fingerprint> Writer<F> {
    /// What the database remembers of documents that are left out.
    #[must_use]
    pub fn remembers(&self) -> Remember {
        let remembers = |writer: &Writer<u128>| left_out::remembers(writer.key_storage());
        self.left_out.as_deref().map_or(Remember::Nothing, remembers)
    }

    /// Remembers that a document was left out as a near-duplicate of a kept one, if the database [remembers
    /// such documents](crate::Schema::remember). What another job has left out under this key stays, too, until it is
    /// forgotten. The job is a number below 2^48; 0 stands for none, and then what was remembered under this key is
    /// replaced. Durable with the next commit.
    ///
    /// # Errors
    /// As [`insert`](Writer::insert).
    pub fn remember_left_out(&mut self, key: &str, kept: &str, similarity: f64, job: u64) -> Result<()> {
        F::remember_left_out(self, (key, kept), similarity, job)
    }

    pub(in crate::database) fn leave_out_document(
        &mut self,
        (key, kept): (&str, &str),
        similarity: f64,
        job: u64,
    ) -> Result<()> {
        let Some(writer) = &mut self.left_out else { return Ok(()) };
        let fingerprint = LeftOut::packed(hash_key(kept.as_bytes()), similarity, job);
        let row = match writer.key_storage().has_keys() {
            true => NewRow::keyed(fingerprint, key),
            false => NewRow { id: Some(hash_key(key.as_bytes())), ..NewRow::from(fingerprint) },
        };
        match job {
            0 => writer.replace(row).map(drop),
            _ => writer.insert(row).map(drop),
        }
    }

    /// Forgets the documents that some jobs have left out, and returns their number. Costs two walks over all that
    /// are remembered. What other jobs have left out under the same keys stays, unless it [expires](
    /// crate::Schema::expire_after): then it is forgotten, too. Durable with the next commit.
    ///
    /// # Errors
    /// As [`delete`](Writer::delete).
    pub fn forget_left_out(&mut self, jobs: &[u64]) -> Result<u64> {
        F::forget_left_out(self, jobs)
    }

    pub(in crate::database) fn forget_left_out_by(&mut self, jobs: &[u64]) -> Result<u64> {
        let Some(writer) = &mut self.left_out else { return Ok(0) };
        let (mut ids, mut forgotten, mut others) = (BTreeSet::new(), 0, Vec::new());
        let snapshot = writer.snapshot_of_all()?;
        let is_of_these = |row| jobs.contains(&left_out::job_of(row));
        snapshot.visit_rows(|row| {
            if is_of_these(row) {
                ids.insert(row.id);
                forgotten += 1;
            }
            Ok::<(), Error>(())
        })?;
        if ids.is_empty() {
            return Ok(0);
        }
        // Rows that are inserted again would live longer.
        if writer.manifest().expiry.is_none() {
            snapshot.visit_rows(|row| {
                if ids.contains(&row.id) && !is_of_these(row) {
                    others.push((row, snapshot.keys_of(row)?));
                }
                Ok::<(), Error>(())
            })?;
        }
        ids.iter().try_for_each(|&id| writer.delete_id(id))?;
        for (row, keys) in others {
            let keyed = keys
                .iter()
                .map(|known| NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, &known.key) });
            let plain = keys.is_empty().then(|| NewRow { id: Some(row.id), ..NewRow::from(row.fingerprint) });
            keyed.chain(plain).try_for_each(|row| writer.insert(row).map(drop))?;
        }
        Ok(forgotten)
    }

    /// Does something to the documents that are remembered as left out, too.
    pub(super) fn with_left_out(&mut self, work: impl FnOnce(&mut Writer<u128>) -> Result<()>) -> Result<()> {
        self.left_out.as_deref_mut().map_or(Ok(()), work)
    }

    /// Forgets documents that were left out, by their keys.
    pub(super) fn forget_left_out_keys(&mut self, keys: &[&str]) -> Result<u64> {
        let Some(writer) = &mut self.left_out else { return Ok(0) };
        if writer.key_storage().has_keys() {
            return writer.delete_some_keys(keys);
        }
        let mut ids = BTreeSet::new();
        for id in keys.iter().map(|key| hash_key(key.as_bytes())) {
            ids.extend(writer.may_hold(id)?.then_some(id));
        }
        if ids.is_empty() {
            return Ok(0);
        }
        let mut forgotten = 0;
        writer.snapshot_of_all()?.visit_rows(|row| {
            forgotten += u64::from(ids.contains(&row.id));
            Ok::<(), Error>(())
        })?;
        ids.into_iter().try_for_each(|id| writer.delete_id(id))?;
        Ok(forgotten)
    }
}
