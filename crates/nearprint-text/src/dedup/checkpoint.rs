//! The progress of a deduplication of files, as the database stores it.

use serde::{Deserialize, Serialize};

use crate::error::{Result, ResumeProblem};
use crate::recipe::Comparable;

/// The number of documents by outcome.
///
/// `records` is the sum of `kept`, `duplicates`, `bad` and `aside`. If a job compares
/// [units](super::FileJob::units), `copies`, `unconfirmed` and `by_similarity` count units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DocumentCounts {
    /// Records read, bad ones included.
    pub records: u64,
    /// Documents kept.
    pub kept: u64,
    /// Near-duplicates of kept documents, copies included; with units, documents of which nothing is
    /// left.
    pub duplicates: u64,
    /// Malformed records.
    pub bad: u64,
    /// Documents with too few tokens.
    pub aside: u64,
    /// Documents without any token, except those with too few. Nothing is near them.
    pub empty: u64,
    /// Documents with invalid UTF-8, which was replaced.
    pub invalid_utf8: u64,
    /// Exact copies: near-duplicates whose text has the same tokens, in the same order, as that of
    /// the kept document. Not counted if the database keeps nothing of texts.
    #[serde(default)]
    pub copies: u64,
    /// Documents kept although a fingerprint is near, because no text confirmed it.
    #[serde(default)]
    pub unconfirmed: u64,
    /// Near-duplicates by their similarity to the kept document: below 0.1, below 0.2, …, from 0.9
    /// to 1.
    #[serde(default)]
    pub by_similarity: [u64; 10],
    /// The units, if a job compares [units](super::FileJob::units).
    #[serde(default)]
    pub units: UnitCounts,
    /// Documents that have tokens, but no feature of the recipe, except those with too few. Only texts
    /// with the same tokens are near them. With units, counts units.
    #[serde(default)]
    pub featureless: u64,
}

/// The number of units by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnitCounts {
    /// Units with enough tokens.
    pub compared: u64,
    /// Units that were removed.
    pub removed: u64,
    /// The texts of all documents, in bytes of UTF-8.
    pub text_bytes: u64,
    /// The texts of removed units, in bytes of UTF-8.
    pub removed_bytes: u64,
}

impl DocumentCounts {
    /// Counts a document that has no token or no feature.
    pub(super) fn push_comparable(&mut self, comparable: Comparable) {
        self.empty += u64::from(comparable == Comparable::Nothing);
        self.featureless += u64::from(comparable == Comparable::Tokens);
    }

    /// Counts a document that is a near-duplicate.
    pub(super) fn push_duplicate(&mut self, similarity: f64, is_copy: bool) {
        self.duplicates += 1;
        self.push_similarity(similarity, is_copy);
    }

    /// Counts how similar a document or a unit and the kept one are.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
    pub(super) fn push_similarity(&mut self, similarity: f64, is_copy: bool) {
        self.copies += u64::from(is_copy);
        // Shares such as 0.3 are not exact: the tenth that is printed counts.
        self.by_similarity[((similarity * 10.0 + 1e-9) as usize).min(9)] += 1;
    }
}

/// The progress of one job: everything up to a record is durable, in the database and in the files.
///
/// The names of its JSON members are part of the database, so that later versions can resume the
/// job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    /// A hash of the inputs, the outputs and the options.
    pub(super) job: String,
    /// The sequence number of the first document that the job has kept.
    #[serde(rename = "first_stamp")]
    pub(super) first_sequence: u64,
    pub(super) counts: DocumentCounts,
    /// A hash of all records so far.
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
        serde_json::from_slice(bytes).map_err(|_| ResumeProblem::OtherProgram.into())
    }
}

/// A hash of a sequence of records.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordHash {
    pub(super) value: u64,
    pub(super) records: u64,
    /// The values after 1, 2, 4, 8, … records.
    pub(super) at_powers: Vec<u64>,
}

impl RecordHash {
    /// Adds the digest of the next record.
    pub(super) fn push(&mut self, digest: u64) {
        self.value = nearprint::internal::mix64(self.value.rotate_left(1) ^ digest);
        self.records += 1;
        if self.records.is_power_of_two() {
            self.at_powers.push(self.value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn checkpoints_keep_their_names() {
        let json = r#"{"job":"ab","first_stamp":7,"counts":{"records":1,"kept":2,"duplicates":3,"bad":4,"aside":5,"empty":6,"invalid_utf8":7,"copies":1,"unconfirmed":8,"by_similarity":[0,0,0,0,0,1,0,0,0,2],"units":{"compared":12,"removed":13,"text_bytes":14,"removed_bytes":15},"featureless":16},"digest":8,"output_bytes":9,"duplicates_bytes":10,"rejects_bytes":11}"#;
        let checkpoint = Checkpoint::decode(json.as_bytes()).unwrap();
        assert_eq!((checkpoint.first_sequence, checkpoint.counts.invalid_utf8), (7, 7));
        assert_eq!(checkpoint.counts.featureless, 16);
        assert_eq!(checkpoint.encode(), json.as_bytes());
        let start = json.find(",\"copies").unwrap();
        let earlier = [&json[..start], &json[json.find("},\"digest").unwrap()..]].concat();
        let checkpoint = Checkpoint::decode(earlier.as_bytes()).unwrap();
        assert_eq!((checkpoint.counts.invalid_utf8, checkpoint.counts.copies), (7, 0));
        for other in [&b"\xff"[..], b"{}", b"{\"job\":{},\"counts\":{},\"place\":null}"] {
            let error = Checkpoint::decode(other).unwrap_err();
            assert!(matches!(error, Error::Resume(ResumeProblem::OtherProgram)), "{error}");
        }
    }
}
