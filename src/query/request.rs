//! Which rows near a fingerprint a query returns.

use super::locate::Match;
use super::view::View;
use crate::error::Result;
use crate::fingerprint::{Distance, Fingerprint};

/// Steps in which a growing search increases k once it scans.
const SCAN_STEP: u32 = 4;

/// Which rows near a fingerprint to return. A number is the largest distance: `query(fingerprint,
/// 3)`.
///
/// Rows are ordered by (distance, fingerprint, id). The answer is exact: rows with equal distances
/// are left out only where a limit ends between them.
///
/// ```
/// use nearprint::{Database, Query, Schema};
/// # let home = tempfile::tempdir()?;
/// let mut builder = Database::<u64>::build(home.path().join("corpus.np"), &Schema::new())?;
/// for fingerprint in [0b0111, 0b0001, 0b0001, u64::MAX] {
///     builder.push(fingerprint)?;
/// }
/// let snapshot = builder.finish()?.snapshot()?;
/// let ids = |query: Query| -> nearprint::Result<Vec<u64>> {
///     Ok(snapshot.query(0b0001, query)?.iter().map(|found| found.id).collect())
/// };
/// assert_eq!(ids(Query::within(3))?, [1, 2, 0]);
/// assert_eq!(ids(Query::within(3).limit(2))?, [1, 2]);
/// assert_eq!(ids(Query::nearest(4))?, [1, 2, 0, 3]);
/// assert_eq!(ids(Query::nearest(4).max_k(20))?, [1, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    k: u32,
    limit: usize,
    grows: bool,
}

impl Query {
    /// All rows whose fingerprints differ in at most `k` bits. A `k` above the width counts as the
    /// width.
    #[must_use]
    pub const fn within(k: u32) -> Self {
        Self { k, limit: usize::MAX, grows: false }
    }

    /// The `count` nearest rows, at any distance.
    ///
    /// Grows the distance until enough rows are found. Costs about as much as the last of these
    /// searches, and a few scans where rows are far away.
    #[must_use]
    pub const fn nearest(count: usize) -> Self {
        Self { k: u32::MAX, limit: count, grows: true }
    }

    /// The first `rows` rows. Looks up no others: a million rows of one fingerprint cost as much as
    /// `rows` of them.
    #[must_use]
    pub const fn limit(mut self, rows: usize) -> Self {
        self.limit = rows;
        self
    }

    /// Nothing further away than `k` bits.
    #[must_use]
    pub const fn max_k(mut self, k: u32) -> Self {
        self.k = k;
        self
    }

    pub(crate) fn distance<F: Fingerprint>(self) -> Distance {
        Distance::saturating::<F>(self.k)
    }

    /// The number of rows at which an answer ends.
    pub(crate) fn most_rows(self) -> usize {
        self.limit
    }

    pub(crate) fn grows(self) -> bool {
        self.grows
    }

    /// Answers with `within`, which finds the first rows within a distance: once, or with growing
    /// distances until there are enough rows.
    pub(crate) fn answer<F: Fingerprint>(
        self,
        view: &View<F>,
        mut within: impl FnMut(Distance) -> Result<Vec<Match<F>>>,
    ) -> Result<Vec<Match<F>>> {
        let most = self.distance::<F>().bits();
        // Tables of bands cost the same whatever k.
        let mut k = if self.grows && view.metric().counts_all() { 0 } else { most };
        loop {
            let at = Distance::saturating::<F>(k);
            let found = within(at)?;
            if found.len() >= self.limit || k == most {
                return Ok(found);
            }
            let scans = view.searchables().iter().any(|run| run.at(at).scans());
            k = (k + if scans { SCAN_STEP } else { 1 }).min(most);
        }
    }
}

/// All rows within `k` bits.
impl From<u32> for Query {
    fn from(k: u32) -> Self {
        Self::within(k)
    }
}
