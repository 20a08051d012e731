//! How many lines of pairs and clusters are to be expected, before they are searched for.

use crate::similar_documents::SimilarDocuments;
use crate::terminal::failure::Failure;
use nearprint::any::{AnyFingerprint, AnyRow, AnySnapshot, Sink, distances};
use nearprint::{Error, Row, Width};

/// Rows of a database whose neighbours are counted.
const SAMPLED_ROWS: u64 = 1000;
/// Fingerprints of a list that are compared with all others.
const SAMPLED_OF_LIST: usize = 64;
/// How much more than the limit is expected before nothing is printed: the sample may be far off.
const FAR_MORE: f64 = 4.0;

/// The neighbours of a sample of rows, at equal steps through all of them.
pub(crate) struct OutputEstimate {
    rows: f64,
    sampled: f64,
    /// The neighbours of all sampled rows.
    neighbours: f64,
    /// The sampled rows that have one.
    clustered: f64,
}

impl OutputEstimate {
    fn new(rows: u64, neighbours: impl IntoIterator<Item = usize>) -> Self {
        let mut expected = Self { rows: rows as f64, sampled: 0.0, neighbours: 0.0, clustered: 0.0 };
        for near in neighbours {
            expected.sampled += 1.0;
            expected.neighbours += near as f64;
            expected.clustered += f64::from(u8::from(near > 0));
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
            Ok(finder.find_row(0, (row.fingerprint.words(), row.id), usize::MAX, found)?)
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
            let mut found = Count(0);
            find(row, &mut found)?;
            neighbours.push(found.0.saturating_sub(1));
        }
        Ok(Self::new(rows, neighbours))
    }

    /// For the fingerprints of a list within a distance.
    pub(crate) fn of_list(width: Width, words: &[u64], k: u32) -> Self {
        let list = words.chunks_exact(width.words());
        let near =
            |one| distances(width, one, words).into_iter().filter(|distance| *distance <= k).count() - 1;
        let step = list.len().div_ceil(SAMPLED_OF_LIST).max(1);
        Self::new(list.len() as u64, list.step_by(step).map(near))
    }

    /// Fails if the pairs are far more than a limit.
    pub(crate) fn check_pairs(&self, most: u64) -> Result<(), Failure> {
        self.check(self.neighbours / 2.0, most)
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

/// Counts rows.
struct Count(usize);

impl Sink for Count {
    fn push(&mut self, _row: &AnyRow<'_>) {
        self.0 += 1;
    }
}
