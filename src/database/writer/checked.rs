//! Inserting rows that have no neighbour yet.

use super::Writer;
use crate::database::new_row::NewRow;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::query::{Match, Query};

/// What happened to a row that is inserted only if it is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion<F> {
    /// Nothing was near. The row has this id.
    Inserted(u64),
    /// The nearest stored row. Of several at one distance, it is the one with the smallest fingerprint, and
    /// then the smallest id. Nothing was inserted.
    Met(Match<F>),
}

impl<F> Insertion<F> {
    /// The id of the row, or of the row that it met.
    #[must_use]
    pub const fn id(&self) -> u64 {
        match self {
            Self::Inserted(id) | Self::Met(Match { id, .. }) => *id,
        }
    }
}

impl<F: Fingerprint> Writer<F> {
    /// Inserts a row, unless a row within `k` bits is stored: check and insert in one call.
    /// Uncommitted rows count, so rows of one batch are compared with each other, too.
    ///
    /// ```
    /// use nearprint::{Database, Insertion, Row, Schema};
    /// # let home = tempfile::tempdir()?;
    /// let database = Database::<u64>::create(home.path().join("seen.np"), &Schema::new())?;
    /// let mut writer = database.writer()?;
    /// assert_eq!(writer.insert_if_new(Row { fingerprint: 0b1000, id: 7 }, 3)?, Insertion::Inserted(7));
    /// let Insertion::Met(near) = writer.insert_if_new(Row { fingerprint: 0b1011, id: 8 }, 3)? else { panic!() };
    /// assert_eq!((near.id, near.distance), (7, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Costs a [query](Writer::query) and an insertion.
    ///
    /// # Errors
    /// As [`insert`](Writer::insert); [`Error::Corrupt`](crate::Error::Corrupt) when a page that the
    /// answer needs is damaged. After an error nothing is inserted.
    pub fn insert_if_new<'a>(&mut self, row: impl Into<NewRow<'a, F>>, k: u32) -> Result<Insertion<F>> {
        F::insert_if_new(self, row.into(), k)
    }

    pub(in crate::database) fn check_and_insert(
        &mut self,
        row: NewRow<'_, F>,
        k: u32,
    ) -> Result<Insertion<F>> {
        row.check(self.manifest.keys, &self.path)?;
        match self.find(row.fingerprint, Query::within(k).limit(1))?.first() {
            Some(&nearest) => Ok(Insertion::Met(nearest)),
            None => self.insert_new(row).map(Insertion::Inserted),
        }
    }
}
