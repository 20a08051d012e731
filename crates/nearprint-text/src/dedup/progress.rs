//! How far a run has come: what a database keeps so that a run can go on after it was cut off.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Counts of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Records read, bad ones too.
    pub records: u64,
    pub kept: u64,
    pub duplicates: u64,
    /// Bad records.
    pub bad: u64,
    /// Documents of too few tokens.
    pub aside: u64,
    /// Documents without a token that were not set aside.
    pub empty: u64,
    /// Documents of which some bytes were replaced.
    pub invalid_utf8: u64,
}

/// What a checkpoint says: for one job, up to which record everything is durable, and how long the
/// files were then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// A hash of the inputs, the outputs and the options.
    pub(super) job: String,
    /// Keys from this sequence number on are of this job.
    pub(super) first_sequence: u64,
    pub(super) counts: Counts,
    /// What the records so far come to.
    pub(super) digest: u64,
    pub(super) output_bytes: u64,
    pub(super) duplicates_bytes: u64,
    pub(super) rejects_bytes: u64,
}

impl Checkpoint {
    pub(super) fn encode(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        serde_json::from_slice(bytes)
            .map_err(|_| Error::Option("an unfinished run of another program".into()))
    }
}
