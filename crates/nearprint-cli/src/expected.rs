//! How many lines of pairs and clusters are to be expected, before they are searched for.

use crate::exact::SimilarDocuments;
use crate::terminal::failure::Failure;
use nearprint::any::{AnyRow, Sink};
use nearprint::internal::words;
use nearprint::{Error, Fingerprint, Row, Snapshot};

/// Rows of a database whose neighbours are counted.
const SAMPLED_ROWS: u64 = 1000;
/// Fingerprints of a list that are compared with all others.
const SAMPLED_OF_LIST: usize = 64;
/// How much more than the limit is expected before nothing is printed: the sample may be far off.
const FAR_MORE: f64 = 4.0;

/// The neighbours of a sample of rows, at equal steps through all of them.
pub(crate) struct Expected {
    rows: f64,
    sampled: f64,
    /// The neighbours of all sampled rows.
    neighbours: f64,
    /// The sampled rows that have one.
    clustered: f64,
}

impl Expected {
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
    pub(crate) fn of_rows<F: Fingerprint>(snapshot: &Snapshot<F>, k: u32) -> Result<Self, Error> {
        let (rows, sample) = sample(snapshot)?;
        let near = |row: &Row<F>| Ok(snapshot.query(row.fingerprint, k)?.len().saturating_sub(1));
        let neighbours: Vec<usize> = sample.iter().map(near).collect::<Result<_, Error>>()?;
        Ok(Self::new(rows, neighbours))
    }

    /// For the similar documents of a database.
    pub(crate) fn of_documents<F: Fingerprint>(
        snapshot: &Snapshot<F>,
        similar: &SimilarDocuments,
    ) -> Result<Self, Failure> {
        let (rows, sample) = sample(snapshot)?;
        let mut finder = similar.documents.finder(similar.least)?;
        let mut neighbours = Vec::with_capacity(sample.len());
        for row in sample {
            let (mut found, words) = (Count(0), words(row.fingerprint).collect::<Vec<_>>());
            finder.find_row(0, (&words, row.id), usize::MAX, &mut found)?;
            neighbours.push(found.0.saturating_sub(1));
        }
        Ok(Self::new(rows, neighbours))
    }

    /// For the fingerprints of a list within a distance.
    pub(crate) fn of_list<F: Fingerprint>(list: &[F], k: u32) -> Self {
        let near = |&one: &F| list.iter().filter(|&&other| one.distance(other) <= k).count() - 1;
        let step = list.len().div_ceil(SAMPLED_OF_LIST).max(1);
        Self::new(list.len() as u64, list.iter().step_by(step).map(near))
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
fn sample<F: Fingerprint>(snapshot: &Snapshot<F>) -> Result<(u64, Vec<Row<F>>), Error> {
    let rows = snapshot.stats().rows;
    let (mut sample, mut at, step) = (Vec::new(), 0, rows.div_ceil(SAMPLED_ROWS).max(1));
    snapshot.visit_rows(|row| {
        if at % step == 0 {
            sample.push(row);
        }
        at += 1;
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
