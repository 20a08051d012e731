//! The keys of all kept documents.

use std::collections::HashSet;

use crate::error::Result;
use nearprint::any::{AnySnapshot, AnyWriter};

/// The keys of all kept documents: a snapshot has most of them, and a set the ones kept since.
#[derive(Default)]
pub(crate) struct KeptKeys {
    /// Taken at the first look-up after a checkpoint.
    durable: Option<AnySnapshot>,
    fresh: HashSet<String>,
}

impl KeptKeys {
    /// Adds the key of a document kept since.
    pub(crate) fn push(&mut self, key: &str) {
        self.fresh.insert(key.to_string());
    }

    pub(crate) fn contain(&mut self, writer: &AnyWriter, key: &str) -> Result<bool> {
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
