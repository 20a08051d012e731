//! The keys of all kept documents.

use std::collections::HashSet;

use crate::error::Result;
use nearprint::{Fingerprint, Snapshot, Writer};

/// The keys of all kept documents: a snapshot has most of them, and a set the ones kept since.
pub(crate) struct KeptKeys<F> {
    /// Taken at the first look-up after a checkpoint.
    durable: Option<Snapshot<F>>,
    fresh: HashSet<String>,
}

impl<F> Default for KeptKeys<F> {
    fn default() -> Self {
        Self { durable: None, fresh: HashSet::new() }
    }
}

impl<F: Fingerprint> KeptKeys<F> {
    /// Adds the key of a document kept since.
    pub(crate) fn push(&mut self, key: &str) {
        self.fresh.insert(key.to_string());
    }

    pub(crate) fn contain(&mut self, writer: &Writer<F>, key: &str) -> Result<bool> {
        if self.fresh.contains(key) {
            return Ok(true);
        }
        let durable = match &mut self.durable {
            Some(durable) => durable,
            none => none.insert(writer.snapshot()?),
        };
        Ok(!durable.ids_of_key(key)?.is_empty())
    }
}
