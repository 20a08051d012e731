//! The order in which a sweep asks its queries.

use crate::fingerprint::Fingerprint;
use crate::layout::{Layout, Table};
use crate::util::sort::{MAX_BITS, distribute};

/// The queries of a sweep, roughly in the order of each table: the leading bits of a query in the upper half, and its
/// index in the lower one. Runs of one layout share them.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    layout: Option<Layout>,
    /// Empty where no table has asked for it.
    of_tables: Vec<Vec<u64>>,
    scratch: Vec<u64>,
}

impl Orders {
    /// Forgets the orders of another layout.
    pub(super) fn prepare(&mut self, layout: &Layout, tables: usize) {
        if self.layout.as_ref() != Some(layout) {
            self.layout = Some(layout.clone());
            self.of_tables = vec![Vec::new(); tables];
        }
    }

    /// The order of a table of the layout.
    ///
    /// Only some leading bits are sorted by. The buckets of neighbouring entries then fit the cache together, and a
    /// whole order would take longer than it saves.
    pub(super) fn of_table<F: Fingerprint>(&mut self, table: usize, queries: &[F], of: &Table<F>) -> &[u64] {
        let order = &mut self.of_tables[table];
        if order.is_empty() {
            let leading = |query| of.leading(query).bits(0, u32::BITS) << u32::BITS;
            let unordered = &mut self.scratch;
            unordered.clear();
            unordered.extend((0..).zip(queries).map(|(index, &query): (u64, _)| leading(query) | index));
            order.resize(queries.len(), 0);
            let _ = distribute(unordered, order, 0, queries.len().max(1).ilog2().min(MAX_BITS));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::fingerprint::mix64;
    use crate::util::cast::low_half;

    #[test]
    fn a_rough_order_keeps_all_queries_and_orders_leading_bits() {
        let layouts = [3, 5].map(|tables| Layout::rotations(64, tables).unwrap());
        for (len, ordered_bits) in [(1, 0), (5000, 12), (70_000, 12)] {
            let queries: Vec<u64> = (0..len).map(mix64).collect();
            let mut orders = Orders::default();
            for layout in layouts.iter().chain(&layouts) {
                let tables = layout.tables::<u64>();
                orders.prepare(layout, tables.len());
                for (number, table) in tables.iter().enumerate() {
                    let order = orders.of_table(number, &queries, table).to_vec();
                    assert!(order.is_sorted_by_key(|entry| entry >> 32 >> (32 - ordered_bits)), "{len}");
                    let expected = |entry: &u64| table.permute(queries[low_half(*entry) as usize]) >> 32;
                    assert!(order.iter().all(|entry| entry >> 32 == expected(entry)), "{layout:?}");
                    let indexes: BTreeSet<u32> = order.iter().map(|&entry| low_half(entry)).collect();
                    assert_eq!(indexes.len() as u64, len);
                }
            }
        }
    }
}
