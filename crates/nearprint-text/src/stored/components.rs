//! Clusters of rows.

use std::collections::HashMap;

use nearprint::any::AnyFingerprint;
use nearprint::internal::UnionFind;
use nearprint::{Error, Limit, Row};

type AnyRow = Row<AnyFingerprint>;

/// The connected components of pairs of rows. Only rows of pairs are in memory: up to 160 bytes each.
#[derive(Default)]
pub(super) struct Components {
    numbers: HashMap<AnyRow, u32>,
    sets: UnionFind,
}

impl Components {
    /// Whether two rows are connected.
    pub(super) fn are_connected(&mut self, (a, b): (AnyRow, AnyRow)) -> bool {
        let sets = &mut self.sets;
        let numbers = self.numbers.get(&a).zip(self.numbers.get(&b));
        numbers.is_some_and(|(&a, &b)| sets.root(a) == sets.root(b))
    }

    /// Connects two rows.
    pub(super) fn connect(&mut self, (a, b): (AnyRow, AnyRow)) -> Result<(), Error> {
        let (a, b) = (self.number(a)?, self.number(b)?);
        self.sets.unite(a, b);
        Ok(())
    }

    fn number(&mut self, row: AnyRow) -> Result<u32, Error> {
        if let Some(&number) = self.numbers.get(&row) {
            return Ok(number);
        }
        let number = self.sets.push().ok_or(Error::Limit(Limit::Clustered))?;
        self.numbers.insert(row, number);
        Ok(number)
    }

    /// The rows with the numbers of their clusters. Clusters are ordered by their first row, and so are
    /// the rows of each.
    pub(super) fn clusters(self) -> Vec<(u64, AnyRow)> {
        let Self { numbers, mut sets } = self;
        let mut rows: Vec<(AnyRow, u32)> =
            numbers.into_iter().map(|(row, number)| (row, sets.root(number))).collect();
        rows.sort_unstable();
        let mut clusters: HashMap<u32, u64> = HashMap::new();
        let mut number = |root| {
            let next = clusters.len() as u64;
            *clusters.entry(root).or_insert(next)
        };
        let mut members: Vec<(u64, AnyRow)> =
            rows.into_iter().map(|(row, root)| (number(root), row)).collect();
        members.sort_unstable();
        members
    }
}
