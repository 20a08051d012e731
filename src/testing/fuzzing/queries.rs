//! Answers for any rows, layouts and runs, compared with brute force.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::files::{Files, NewRun};
use super::input::Input;
use super::options;
use super::oracle::{Rows, all_pairs, compare};
use crate::fingerprint::mix64;
use crate::query::visit_pairs;
use crate::storage::Storage;
use crate::{Result, Row, Schema, Snapshot};

const LAYOUTS: [&str; 11] = [
    "auto",
    "rotations:1",
    "rotations:2",
    "rotations:3",
    "rotations:4",
    "rotations:9",
    "blocks:3,2",
    "blocks:5,2",
    "blocks:6,3",
    "bands:2x16",
    "bands:3x8",
];

/// Builds a database of up to three runs and compares all answers with brute force. For a few
/// inputs, joins a long list in memory instead.
pub fn query_vs_scan(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    if input.byte() == 0xff {
        join_a_list(&mut input).expect("a list is joined");
    } else {
        query_runs(&mut input).expect("a sound database answers");
    }
}

fn query_runs(input: &mut Input<'_>) -> Result<()> {
    let schema = Schema::new().k(u32::from(input.byte() % 4));
    let same = input.flag();
    let first = input.pick(&LAYOUTS);
    let bands = first.starts_with("bands").then(|| first.parse()).transpose()?;
    let schema = bands.map_or(schema.clone(), |bands| schema.layout(bands));
    let questions = input.array::<24>();
    let mut live = Rows::new();
    let mut runs = Vec::new();
    for _ in 0..1 + input.below(3) {
        let other = if same { first } else { input.pick(&LAYOUTS) };
        // All runs of a database have bands, or none has.
        let layout = if bands.is_some() || other.starts_with("bands") { first } else { other };
        let deleted: BTreeSet<u64> = (0..input.below(4)).map(|_| id(input)).collect();
        let rows = rows(input);
        if rows.is_empty() && deleted.is_empty() {
            continue;
        }
        live.retain(|row| !deleted.contains(&row.id));
        live.extend(&rows);
        // Two errors can touch all pairs of three blocks.
        let layout = if schema.k > 1 { layout.replace("blocks:3,2", "rotations:5") } else { layout.into() };
        runs.push(NewRun { layout, rows, deleted: deleted.into_iter().collect() });
    }
    let files = Files::build(&schema, &runs, &[])?;
    let storage: Arc<dyn Storage> = Arc::new(files.disk());
    let snapshot = Snapshot::<u64>::open(&storage, &options(), None)?;
    compare(&snapshot, &live, &mut Input::new(&questions))?;
    assert_eq!(snapshot.verify()?.damage, []);
    Ok(())
}

fn id(input: &mut Input<'_>) -> u64 {
    match input.byte() {
        near @ 0..=199 => u64::from(near % 40),
        _ => input.edge(),
    }
}

/// Some single rows, and some groups of similar rows.
fn rows(input: &mut Input<'_>) -> Vec<Row<u64>> {
    let mut rows = Vec::new();
    for _ in 0..input.below(24) {
        let row = Row { fingerprint: input.fingerprint(), id: id(input) };
        rows.push(row);
    }
    let (crowd, size) = (input.u16(), u64::from(input.byte()));
    for nth in 0..size.saturating_sub(128) * 2 {
        let flips = mix64(nth) & mix64(nth + 1) & mix64(nth + 2) & mix64(u64::from(crowd));
        rows.push(Row { fingerprint: mix64(nth / 16) ^ flips, id: nth % 50 });
    }
    rows
}

/// Joins a list that is long enough to be split, with values that share many bits.
fn join_a_list(input: &mut Input<'_>) -> Result<()> {
    let (mask, base, seed) = (input.u64() | input.u64(), input.u64(), input.u64());
    let (k, count) = (input.k().min(5), 500 + 8 * u64::from(input.byte()) + u64::from(input.u16() % 3000));
    let threads = 1 + input.below(2);
    let value =
        |i: u64| base ^ (mask & mix64((i / 3) ^ seed)) ^ (mix64(i) & mix64(i + 1) & mix64(i + 2) & mask);
    let values: BTreeSet<u64> = (0..count).map(value).collect();
    let list: Vec<u64> = values.iter().rev().copied().collect();
    // Values of a few bits have millions of pairs, too many for a vector under the limit on allocations.
    let mut missing = all_pairs(&values, k.into());
    visit_pairs(list, k, &options().threads(threads), |block| {
        for pair in block {
            assert!(missing.remove(pair), "{pair:?} is no pair, or was found twice");
        }
        Ok::<(), crate::Error>(())
    })?;
    assert!(missing.is_empty(), "{} pairs, among them {:?}, were not found", missing.len(), missing.first());
    Ok(())
}
