//! The progress of a deduplication of files, as the database stores it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::dedup::decide::{Compared, Original};
use crate::documents::Written;
use crate::recipe::Comparable;

/// The number of documents by outcome.
///
/// `records` is the sum of `kept`, `duplicates`, `bad` and `aside`. If a job compares
/// [units](crate::dedup::FileJob::trim), `copies`, `unconfirmed` and `by_similarity` count units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DocumentCounts {
    /// Records read, bad ones included.
    pub records: u64,
    /// Documents kept.
    pub kept: u64,
    /// Near-duplicates of kept documents, copies included; with units, documents that lost all
    /// their units, or were not written because they are [hollow](crate::dedup::TrimRules::min_left).
    pub duplicates: u64,
    /// Malformed records.
    pub bad: u64,
    /// Documents with too few tokens.
    pub aside: u64,
    /// Documents without any token, except those with too few. Nothing is near them.
    pub empty: u64,
    /// Documents with invalid UTF-8, or with an escape of half a character: other characters stand for these.
    pub invalid_utf8: u64,
    /// Exact copies: near-duplicates with the same tokens, in the same order, as the kept document.
    /// Not counted if the database stores no text or hash.
    pub copies: u64,
    /// Documents kept although a fingerprint is near, because no text confirmed it.
    pub unconfirmed: u64,
    /// Near-duplicates by their similarity to the kept document: below 0.1, below 0.2, …, from 0.9
    /// to 1.
    pub by_similarity: [u64; 10],
    /// The units, if a job compares [units](crate::dedup::FileJob::trim).
    pub units: UnitCounts,
    /// Documents that have tokens, but no feature of the recipe, except those with too few. Only texts
    /// with the same tokens are near them. With units, counts units.
    pub featureless: u64,
}

/// The number of units by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnitCounts {
    /// Units with enough tokens; of [passages](crate::dedup::Unit::Passage), words.
    pub compared: u64,
    /// Units that were removed.
    pub removed: u64,
    /// The texts of all documents, in bytes of UTF-8.
    pub text_bytes: u64,
    /// The texts of removed units, and the rest of hollow documents that are not written, in bytes of UTF-8.
    pub removed_bytes: u64,
    /// Removed units that repeat an earlier one of their own document.
    pub within: u64,
    /// Documents that earlier ones leave [too little](crate::dedup::TrimRules::min_left) of.
    pub hollow: u64,
    /// Documents that were written without some units, by the share of their text that is left: below 0.2,
    /// below 0.4, …, from 0.8 on.
    pub by_left: [u64; 5],
}

impl UnitCounts {
    /// Counts a document by the share that is left of it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 4")]
    pub(crate) fn push_left(&mut self, share: f64) {
        self.by_left[((share * 5.0) as usize).min(4)] += 1;
    }
}

/// More records, bytes or documents than any job has. Sums with what a job adds stay below 2^64.
const MAX_COUNT: u64 = 1 << 62;

impl DocumentCounts {
    /// Whether a job can have counted this: what another program has stored may be any number.
    pub(crate) fn are_possible(&self) -> bool {
        let Self { records, kept, duplicates, bad, aside, empty, .. } = *self;
        let Self { invalid_utf8, copies, unconfirmed, by_similarity, units, featureless, .. } = *self;
        let UnitCounts { compared, removed, text_bytes, removed_bytes, within, hollow, by_left } = units;
        let documents =
            [records, kept, duplicates, bad, aside, empty, invalid_utf8, unconfirmed, featureless];
        let of_units = [compared, removed, text_bytes, removed_bytes, within, hollow];
        let mut all = documents.iter().chain(&of_units).chain(&by_similarity).chain(&by_left);
        all.all(|&count| count <= MAX_COUNT) && copies <= duplicates.max(removed)
    }

    /// Counts a document that has no token or no feature.
    pub(crate) fn push_comparable(&mut self, comparable: Comparable) {
        self.empty += u64::from(comparable == Comparable::Nothing);
        self.featureless += u64::from(comparable == Comparable::Tokens);
    }

    /// Counts a document that is kept although fingerprints are near. Returns what it is a duplicate of otherwise.
    pub(crate) fn push_compared(&mut self, compared: Compared) -> Option<Original> {
        match compared {
            Compared::Near(original) => Some(original),
            Compared::New { is_unconfirmed } => {
                self.unconfirmed += u64::from(is_unconfirmed);
                None
            }
        }
    }

    /// Counts a document that is a near-duplicate.
    pub(crate) fn push_duplicate(&mut self, similarity: f64, is_copy: bool) {
        self.duplicates += 1;
        self.push_similarity(similarity, is_copy);
    }

    /// Counts how similar a document or a unit and the kept one are.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
    pub(crate) fn push_similarity(&mut self, similarity: f64, is_copy: bool) {
        self.copies += u64::from(is_copy);
        // Shares such as 0.3 are not exact: the tenth that is printed counts.
        self.by_similarity[((similarity * 10.0 + 1e-9) as usize).min(9)] += 1;
    }
}

/// The identity of a job: hashes, in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct JobIdentity {
    /// Of the inputs, the outputs and the options.
    pub(crate) job: String,
    /// Of the paths of the inputs and their lengths.
    pub(crate) inputs: String,
}

/// The progress of one job: everything up to a record is durable, in the database and in the files.
///
/// The names of its JSON members are part of the database, so that later versions can resume the
/// job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    #[serde(flatten)]
    pub(crate) identity: JobIdentity,
    pub(crate) rows: Rows,
    pub(crate) counts: DocumentCounts,
    /// A hash of all records so far.
    pub(crate) digest: u64,
    /// What was written to the output, the duplicates and the rejects.
    pub(crate) files: [Option<FileDigest>; 3],
    /// What was written to the files of an output that is a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) shards: Option<ShardState>,
    /// A hash of what becomes of all records, if that is decided before the first one is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) decisions: Option<u64>,
}

impl Checkpoint {
    /// Whether a job can have come to this.
    pub(crate) fn is_possible(&self) -> bool {
        let files = self.files.iter().flatten().all(FileDigest::is_possible);
        files && self.counts.are_possible() && self.shards.as_ref().is_none_or(ShardState::is_possible)
    }
}

/// The rows that a job has stored: a range of sequence numbers for each time that it ran. Other
/// processes may have stored rows between.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Rows(pub(crate) Vec<Range<u64>>);

impl Rows {
    /// These rows, and those from `start` to `end`.
    pub(crate) fn and(&self, start: u64, end: u64) -> Self {
        let mut ranges = self.0.clone();
        match ranges.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ if start == end => {}
            _ => ranges.push(start..end),
        }
        Self(ranges)
    }
}

/// What was written to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileDigest {
    bytes: u64,
    /// The upper and the lower half of the XXH3-128 of the content; zeros if it is not known.
    xxh3: [u64; 2],
}

impl FileDigest {
    /// Whether a file can be that long.
    pub(crate) fn is_possible(&self) -> bool {
        self.bytes <= MAX_COUNT
    }

    pub(crate) fn has_digest(&self) -> bool {
        self.xxh3 != [0, 0]
    }

    pub(crate) fn written(&self) -> Written {
        let [upper, lower] = self.xxh3.map(u128::from);
        Written { len_bytes: self.bytes, digest: upper << 64 | lower }
    }
}

impl From<Written> for FileDigest {
    #[expect(clippy::cast_possible_truncation, reason = "both halves are taken")]
    fn from(Written { len_bytes, digest }: Written) -> Self {
        Self { bytes: len_bytes, xxh3: [(digest >> 64) as u64, digest as u64] }
    }
}

/// What a checkpoint stores about the files of an output that is a folder. The names of its JSON members are
/// part of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardState {
    /// The files that were begun.
    pub(crate) begun: usize,
    /// The documents written.
    pub(crate) documents: u64,
    /// What was written to the files that are not ended.
    pub(crate) open: Vec<FileDigest>,
    /// Ended files that may lack their names.
    pub(crate) ended: Vec<(usize, FileDigest)>,
    /// Of the names and contents of all ended files, and their bytes.
    pub(crate) all: Option<FileDigest>,
}

impl ShardState {
    /// Whether a job can have come to this, whatever its files are.
    fn is_possible(&self) -> bool {
        let files = self.open.iter().chain(self.ended.iter().map(|(_, file)| file)).chain(&self.all);
        self.documents <= MAX_COUNT && files.into_iter().all(FileDigest::is_possible)
    }

    /// Whether its files are among so many.
    pub(crate) fn is_within(&self, num_files: usize) -> bool {
        let ended = self.begun.checked_sub(self.open.len()).filter(|_| self.begun <= num_files);
        ended.is_some_and(|ended| self.ended.iter().all(|(place, _)| *place < ended))
    }
}

/// A hash of a sequence of records.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordHash {
    pub(crate) value: u64,
    pub(crate) records: u64,
    /// The values after 1, 2, 4, 8, … records.
    pub(crate) at_powers: Vec<u64>,
}

impl RecordHash {
    /// Adds the digest of the next record.
    pub(crate) fn push(&mut self, digest: u64) {
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

    #[test]
    fn rows_of_a_job_are_ranges() {
        let rows = Rows::default().and(3, 3).and(3, 5).and(5, 8).and(10, 11);
        assert_eq!(rows.0, [3..8, 10..11]);
    }
}
