//! How many lines of pairs and clusters are to be expected, before they are searched for.

use std::collections::HashSet;
use std::slice::from_mut;

use crate::similar_documents::SimilarDocuments;
use crate::terminal::failure::Failure;
use nearprint::any::{AnyFingerprint, AnyRow, AnySnapshot, Sink, distances};
use nearprint::{Error, Row, Width};
use nearprint_text::stored::Finder;

/// Rows of a database whose neighbours are counted.
const SAMPLED_ROWS: u64 = 1000;
/// Fingerprints of a list that are compared with all others.
const SAMPLED_OF_LIST: usize = 64;
/// How much more than the limit is expected before nothing is printed: the sample may be far off.
const FAR_MORE: f64 = 4.0;

/// The neighbours of a sample of rows, at equal steps through all of them.
#[derive(Default)]
pub(crate) struct OutputEstimate {
    rows: f64,
    sampled: f64,
    /// The neighbours of all sampled rows.
    neighbours: f64,
    /// The same of fingerprints, as the share of each row that has its fingerprint.
    near_fingerprints: f64,
    /// The sampled rows that have a neighbour.
    clustered: f64,
}

impl OutputEstimate {
    fn new(rows: u64, sample: impl IntoIterator<Item = Neighbours>) -> Self {
        let mut expected = Self { rows: rows as f64, ..Self::default() };
        for near in sample {
            expected.sampled += 1.0;
            expected.neighbours += near.rows as f64;
            expected.near_fingerprints += near.others.len() as f64 / near.equal.max(1) as f64;
            expected.clustered += f64::from(u8::from(near.rows > 0));
        }
        expected
    }

    /// For the rows of a database within a distance.
    pub(crate) fn of_rows(snapshot: &AnySnapshot, k: u32) -> Result<Self, Error> {
        Self::of_sample(snapshot, |row, found| snapshot.query(row.fingerprint.words(), k, found))
    }

    /// For the similar documents of a database.
    pub(crate) fn of_documents(snapshot: &AnySnapshot, similar: &SimilarDocuments) -> Result<Self, Failure> {
        let mut finder = similar.documents.finder(similar.least)?;
        Self::of_sample(snapshot, |row, found| {
            let row = (row.fingerprint.words(), row.id);
            Ok(Finder::find_row(from_mut(&mut finder), 0, row, usize::MAX, found)?)
        })
    }

    /// For what a search finds that finds the searched row, too.
    fn of_sample<E: From<Error>>(
        snapshot: &AnySnapshot,
        mut find: impl FnMut(Row<AnyFingerprint>, &mut dyn Sink) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (rows, sample) = sample(snapshot)?;
        let mut neighbours = Vec::with_capacity(sample.len());
        for row in sample {
            let mut found = Neighbours::of(row.fingerprint);
            find(row, &mut found)?;
            found.rows = found.rows.saturating_sub(1);
            neighbours.push(found);
        }
        Ok(Self::new(rows, neighbours))
    }

    /// For the fingerprints of a list within a distance.
    pub(crate) fn of_list(width: Width, words: &[u64], k: u32) -> Self {
        let list = words.chunks_exact(width.words());
        let near = |one: &[u64]| {
            let mut found = Neighbours::of(AnyFingerprint::new(width, one));
            for (other, distance) in list.clone().zip(distances(width, one, words)) {
                if distance <= k {
                    found.add(AnyFingerprint::new(width, other));
                }
            }
            found.rows -= 1;
            found
        };
        let step = list.len().div_ceil(SAMPLED_OF_LIST).max(1);
        Self::new(list.len() as u64, list.clone().step_by(step).map(near))
    }

    /// Fails if the pairs, of rows or of fingerprints, are far more than a limit.
    pub(crate) fn check_pairs(&self, of_rows: bool, most: u64) -> Result<(), Failure> {
        self.check(if of_rows { self.neighbours } else { self.near_fingerprints } / 2.0, most)
    }

    /// Fails if the members of clusters are far more than a limit.
    pub(crate) fn check_clusters(&self, most: u64) -> Result<(), Failure> {
        self.check(self.clustered, most)
    }

    fn check(&self, of_sample: f64, most: u64) -> Result<(), Failure> {
        let expected = self.rows * of_sample / self.sampled.max(1.0);
        match expected > FAR_MORE * most as f64 {
            true => Err(Failure::TooMuch { most, expected }),
            false => Ok(()),
        }
    }
}

/// The number of rows, and some of them.
fn sample(snapshot: &AnySnapshot) -> Result<(u64, Vec<Row<AnyFingerprint>>), Error> {
    let rows = snapshot.stats().rows;
    let (mut sample, mut at, step) = (Vec::new(), 0, rows.div_ceil(SAMPLED_ROWS).max(1));
    snapshot.rows()?.visit(|block| {
        for row in block.rows() {
            if at % step == 0 {
                sample.push(row.row());
            }
            at += 1;
        }
        Ok::<(), Error>(())
    })?;
    Ok((rows, sample))
}

/// What is near a row.
struct Neighbours {
    own: AnyFingerprint,
    rows: usize,
    /// The rows with its fingerprint, and the other fingerprints.
    equal: usize,
    others: HashSet<AnyFingerprint>,
}

impl Neighbours {
    fn of(own: AnyFingerprint) -> Self {
        Self { own, rows: 0, equal: 0, others: HashSet::new() }
    }

    fn add(&mut self, found: AnyFingerprint) {
        self.rows += 1;
        if found == self.own {
            self.equal += 1;
        } else {
            self.others.insert(found);
        }
    }
}

impl Sink for Neighbours {
    fn push(&mut self, row: &AnyRow<'_>) {
        self.add(row.row().fingerprint);
    }
}
