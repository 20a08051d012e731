//! The expected answers, computed by the simplest code.

use std::collections::{BTreeMap, BTreeSet};

use super::input::Input;
use crate::{Match, Near, Pair, Query, Result, Row, Snapshot};

pub(super) type Rows = BTreeSet<Row<u64>>;

/// All rows, in the order of the snapshot.
pub(super) fn rows_in_order(snapshot: &Snapshot<u64>) -> Result<Vec<Row<u64>>> {
    let mut rows = Vec::new();
    snapshot.visit_rows(|row| {
        rows.push(row);
        Ok::<(), crate::Error>(())
    })?;
    Ok(rows)
}

/// The expected matches of a query.
pub(super) fn near(rows: &Rows, query: u64, near: Near) -> Vec<Match<u64>> {
    let found = rows.iter().filter_map(|&Row { fingerprint, id }| {
        let distance = near.distance(fingerprint, query)?;
        Some(Match { distance, fingerprint, id })
    });
    let mut found: Vec<Match<u64>> = found.collect();
    found.sort_unstable();
    found
}

/// The expected pairs of distinct values.
pub(super) fn all_pairs(values: &BTreeSet<u64>, near: Near) -> BTreeSet<Pair<u64>> {
    let mut pairs = BTreeSet::new();
    for &a in values {
        for &b in values.range(a..).skip(1) {
            if let Some(distance) = near.distance(a, b) {
                pairs.insert(Pair { a, b, distance });
            }
        }
    }
    pairs
}

/// The expected clusters: rows that are equal or that pairs connect, in groups of two or more. Among
/// bands, 0 is near nothing.
fn clusters(rows: &Rows, pairs: &BTreeSet<Pair<u64>>, near: Near) -> Vec<Vec<Row<u64>>> {
    let mut leader: BTreeMap<u64, u64> = rows.iter().map(|row| (row.fingerprint, row.fingerprint)).collect();
    for pair in pairs {
        let (a, b) = (leader[&pair.a], leader[&pair.b]);
        leader.values_mut().filter(|value| **value == a.max(b)).for_each(|value| *value = a.min(b));
    }
    let mut groups: BTreeMap<u64, Vec<Row<u64>>> = BTreeMap::new();
    rows.iter().for_each(|&row| groups.entry(leader[&row.fingerprint]).or_default().push(row));
    groups.retain(|&leader, group| group.len() > 1 && near.distance(leader, leader).is_some());
    groups.into_values().collect()
}

/// Compares rows, queries, pairs and clusters with the expected answers.
pub(super) fn compare(snapshot: &Snapshot<u64>, rows: &Rows, input: &mut Input<'_>) -> Result<()> {
    assert!(rows_in_order(snapshot)?.iter().eq(rows), "rows");
    for _ in 0..1 + input.below(3) {
        let (query, k, count) = (any_query(rows, input), input.k(), input.below(300));
        let expected = near(rows, query, Near { k, bands: snapshot.bands() });
        assert_eq!(snapshot.query(query, k)?, expected, "query {query:#x} at {k}");
        let first = &expected[..count.min(expected.len())];
        assert_eq!(
            snapshot.query(query, Query::nearest(count).max_k(k))?,
            first,
            "nearest to {query:#x} up to {k}"
        );
    }
    compare_pairs(snapshot, rows, input.k())
}

/// A query near some row, or a random one.
fn any_query(rows: &Rows, input: &mut Input<'_>) -> u64 {
    let nth = input.u16();
    let random = input.fingerprint();
    match rows.iter().nth(usize::from(nth) % (rows.len() + 1)) {
        Some(row) => row.fingerprint ^ (random & random.rotate_left(7) & random.rotate_left(22)),
        None => random,
    }
}

/// Compares pairs and clusters. Reduces k if there would be many.
pub(super) fn compare_pairs(snapshot: &Snapshot<u64>, rows: &Rows, k: u32) -> Result<()> {
    let k = if rows.len() > 200 { k.min(4) } else { k };
    let values: BTreeSet<u64> = rows.iter().map(|row| row.fingerprint).collect();
    let near = Near { k, bands: snapshot.bands() };
    let expected = all_pairs(&values, near);
    let mut pairs = Vec::new();
    snapshot.visit_pairs(k, |block| {
        pairs.extend_from_slice(block);
        Ok::<(), crate::Error>(())
    })?;
    assert_eq!(pairs.len(), expected.len(), "each pair once at {k}");
    assert_eq!(pairs.into_iter().collect::<BTreeSet<_>>(), expected, "pairs at {k}");
    let mut found = Vec::new();
    snapshot.visit_clusters(k, |cluster| {
        found.push(cluster.to_vec());
        Ok::<(), crate::Error>(())
    })?;
    assert_eq!(found, clusters(rows, &expected, near), "clusters at {k}");
    Ok(())
}
