//! Lists of fingerprints in memory, of any width.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::columns::{Columns, Shape, push_fingerprint, push_row};
use super::stream::{AnyStream, Collector};
use crate::database::streams::LIST;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row, Width, fingerprints, words};
use crate::layout::BandLayout;
use crate::options::Options;
use crate::query::{self, Blocks, Near, visit_clusters, visit_pairs, visit_row_clusters};
use crate::util::parallel::for_each;

/// All pairs of distinct values of a list that are near: see [`visit_pairs`]. Blocks of the stream have
/// `block_rows` rows.
///
/// # Errors
/// None before the first block, which fails with [`Error::Io`](crate::Error::Io) where no thread can be started.
/// Blocks fail as [`visit_pairs`] does.
pub fn find_all(
    width: Width,
    values: &[u64],
    near: Near,
    options: Options,
    block_rows: usize,
) -> Result<AnyStream> {
    with_width!(width, F => {
        let values: Vec<F> = fingerprints(values).collect();
        start((width, Shape::PAIRS), options, block_rows, move |options, out| {
            visit_pairs(values, near, options, |pairs| out.push_pairs(pairs))
        })
    })
}

/// The clusters of a list, numbered from 0: see [`visit_clusters`].
///
/// # Errors
/// As [`find_all`]. Blocks fail as [`visit_clusters`] does.
pub fn find_clusters(
    width: Width,
    values: &[u64],
    near: Near,
    options: Options,
    block_rows: usize,
) -> Result<AnyStream> {
    with_width!(width, F => {
        let values: Vec<F> = fingerprints(values).collect();
        start((width, Shape::GROUPS), options, block_rows, move |options, out| {
            let mut cluster = 0;
            visit_clusters(values, near, options, |members| {
                members.iter().for_each(|&member| push_fingerprint(&mut out.block, cluster, member));
                cluster += 1;
                out.send_full()
            })
        })
    })
}

/// All pairs of rows of a list that are near, first the pairs with equal fingerprints. Each of `values` has
/// an id, and equal rows count once.
///
/// # Errors
/// As [`find_all`].
pub fn find_row_pairs(
    width: Width,
    rows: (&[u64], &[u64]),
    near: Near,
    options: Options,
    block_rows: usize,
) -> Result<AnyStream> {
    with_width!(width, F => {
        let rows = sorted::<F>(rows);
        start((width, Shape::ROW_PAIRS), options, block_rows, move |options, out| {
            let is_near_itself = |row: &Row<F>| near.distance(row.fingerprint, row.fingerprint).is_some();
            let groups = rows.chunk_by(|a, b| a.fingerprint == b.fingerprint);
            for equal in groups.filter(|equal| equal.first().is_some_and(is_near_itself)) {
                for (index, &later) in equal.iter().enumerate() {
                    equal[..index].iter().try_for_each(|&earlier| out.push_pair((earlier, later, 0), [None; 2]))?;
                }
            }
            let values = rows.iter().map(|row| row.fingerprint).collect();
            visit_pairs(values, near, options, |pairs| {
                pairs.iter().try_for_each(|pair| {
                    let (ones, others) = (rows_of(&rows, pair.a), rows_of(&rows, pair.b));
                    let mut each = ones.iter().flat_map(|a| others.iter().map(move |b| (*a, *b)));
                    each.try_for_each(|(a, b)| out.push_pair((a, b, pair.distance), [None; 2]))
                })
            })
        })
    })
}

/// The clusters of the rows of a list, numbered from 0: see
/// [`visit_row_clusters`](crate::list::visit_row_clusters). `values` have an id each, and equal rows count once.
///
/// # Errors
/// As [`find_all`]. Blocks fail as [`visit_row_clusters`](crate::list::visit_row_clusters) does.
pub fn find_row_clusters(
    width: Width,
    rows: (&[u64], &[u64]),
    near: Near,
    options: Options,
    block_rows: usize,
) -> Result<AnyStream> {
    with_width!(width, F => {
        let rows = sorted::<F>(rows);
        start((width, Shape::CLUSTERS), options, block_rows, move |options, out| {
            let mut cluster = 0;
            visit_row_clusters(rows, near, options, |members| {
                members.iter().for_each(|&member| push_row(&mut out.block, (cluster, member, 0), None));
                cluster += 1;
                out.send_full()
            })
        })
    })
}

/// Distinct rows, by fingerprint and id.
fn sorted<F: Fingerprint>((values, ids): (&[u64], &[u64])) -> Vec<Row<F>> {
    let rows = fingerprints(values).zip(ids).map(|(fingerprint, &id)| Row { fingerprint, id });
    let mut rows: Vec<Row<F>> = rows.collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// The rows with one fingerprint in a sorted list.
fn rows_of<F: Fingerprint>(rows: &[Row<F>], fingerprint: F) -> &[Row<F>] {
    let start = rows.partition_point(|row| row.fingerprint < fingerprint);
    let len = rows[start..].partition_point(|row| row.fingerprint == fingerprint);
    &rows[start..start + len]
}

/// The keys of fingerprints, each with its fingerprint: see [`Blocks::keys`]. `split` has the number
/// of parts of keys that are [split](Blocks::split).
///
/// # Errors
/// As [`Blocks::new`].
pub fn block_keys(width: Width, values: &[u64], near: Near, split: &HashMap<u64, u32>) -> Result<Columns> {
    let mut keys = Columns::new(width, Shape::GROUPS);
    with_width!(width, F => {
        let blocks = Blocks::<F>::new(near)?;
        for value in fingerprints(values) {
            for key in blocks.keys(value) {
                let parts = split.get(&key).copied().unwrap_or(1);
                push_split(&blocks, key, value, parts, &mut keys);
            }
        }
    });
    Ok(keys)
}

/// The keys that replace keys which are [split](Blocks::split) into parts, each with its fingerprint.
///
/// # Errors
/// As [`Blocks::new`].
pub fn split_blocks(
    width: Width,
    (keys, values): (&[u64], &[u64]),
    parts: &[u64],
    near: Near,
) -> Result<Columns> {
    let mut split = Columns::new(width, Shape::GROUPS);
    with_width!(width, F => {
        let blocks = Blocks::<F>::new(near)?;
        for ((&key, value), &parts) in keys.iter().zip(fingerprints(values)).zip(parts) {
            push_split(&blocks, key, value, parts.try_into().unwrap_or(u32::MAX), &mut split);
        }
    });
    Ok(split)
}

fn push_split<F: Fingerprint>(blocks: &Blocks<F>, key: u64, value: F, parts: u32, out: &mut Columns) {
    match parts {
        0 | 1 => push_fingerprint(out, key, value),
        parts => blocks.split(key, value, parts).for_each(|key| push_fingerprint(out, key, value)),
    }
}

/// The pairs of keys and their fingerprints: see [`Blocks::visit_pairs`]; of a spanning forest only,
/// with `forest`: see [`Blocks::visit_forest`].
///
/// # Errors
/// As [`find_all`]. Blocks of the stream fail as [`Blocks::visit_pairs`] does.
pub fn join_blocks(
    width: Width,
    rows: (&[u64], &[u64]),
    near: Near,
    forest: bool,
    options: Options,
    block_rows: usize,
) -> Result<AnyStream> {
    with_width!(width, F => {
        let rows = keyed::<F>(rows);
        start((width, Shape::PAIRS), options, block_rows, move |options, out| {
            let blocks = Blocks::<F>::new(near)?;
            match forest {
                true => blocks.visit_forest(rows, options, |pairs| out.push_pairs(pairs)),
                false => blocks.visit_pairs(rows, options, |pairs| out.push_pairs(pairs)),
            }
        })
    })
}

/// The pairs between two lists of keys and their fingerprints: see [`Blocks::visit_between`].
///
/// # Errors
/// As [`find_all`]. Blocks of the stream fail as [`Blocks::visit_between`] does.
pub fn join_between(
    width: Width,
    ones: (&[u64], &[u64]),
    others: (&[u64], &[u64]),
    near: Near,
    options: Options,
    block_rows: usize,
) -> Result<AnyStream> {
    with_width!(width, F => {
        let (ones, others) = (keyed::<F>(ones), keyed(others));
        start((width, Shape::PAIRS), options, block_rows, move |options, out| {
            Blocks::<F>::new(near)?.visit_between(ones, others, options, |pairs| out.push_pairs(pairs))
        })
    })
}

fn keyed<F: Fingerprint>((keys, values): (&[u64], &[u64])) -> Vec<(u64, F)> {
    keys.iter().copied().zip(fingerprints(values)).collect()
}

/// The indexes of the pairs of a spanning forest: see
/// [`spanning_forest`](crate::list::spanning_forest).
///
/// # Errors
/// As [`spanning_forest`](crate::list::spanning_forest).
pub fn spanning_forest(width: Width, a: &[u64], b: &[u64]) -> Result<Vec<usize>> {
    with_width!(width, F => query::spanning_forest(&ends::<F>(a, b)))
}

/// The ends of pairs, each with the smallest end of its connected component, as pairs: see
/// [`components`](crate::list::components).
///
/// # Errors
/// As [`components`](crate::list::components).
pub fn components(width: Width, a: &[u64], b: &[u64]) -> Result<(Vec<u64>, Vec<u64>)> {
    let (mut members, mut smallest) = (Vec::new(), Vec::new());
    with_width!(width, F => {
        for (member, least) in query::components(&ends::<F>(a, b))? {
            members.extend(words(member));
            smallest.extend(words(least));
        }
    });
    Ok((members, smallest))
}

fn ends<F: Fingerprint>(a: &[u64], b: &[u64]) -> Vec<(F, F)> {
    fingerprints(a).zip(fingerprints(b)).collect()
}

/// The distances between fingerprints at the same place in two lists, or between the only one of a
/// list and all others.
#[must_use]
pub fn distances(width: Width, a: &[u64], b: &[u64]) -> Vec<u32> {
    with_width!(width, F => {
        let (mut a, mut b) = (fingerprints::<F>(a), fingerprints::<F>(b));
        match (a.len(), b.len()) {
            (1, _) => a.next().map_or_else(Vec::new, |one| b.map(|other| one.distance(other)).collect()),
            (_, 1) => b.next().map_or_else(Vec::new, |one| a.map(|other| one.distance(other)).collect()),
            _ => a.zip(b).map(|(one, other)| one.distance(other)).collect(),
        }
    })
}

/// Writes the distances between all fingerprints into a square matrix, row by row, on some threads.
///
/// # Errors
/// As `check`, which is called before each row.
#[expect(clippy::cast_possible_truncation, reason = "distances are at most 256")]
pub fn fill_distance_matrix(
    width: Width,
    values: &[u64],
    threads: usize,
    matrix: &mut [u16],
    check: &(dyn Fn() -> Result<()> + Sync),
) -> Result<()> {
    with_width!(width, F => {
        let list: Vec<F> = fingerprints(values).collect();
        let rows_each = list.len().div_ceil(threads.max(1)).max(1);
        let failed = Mutex::new(None);
        let parts = matrix.chunks_mut(rows_each * list.len().max(1));
        for_each(threads, list.chunks(rows_each).zip(parts), |(ones, part)| {
            for (one, row) in ones.iter().zip(part.chunks_exact_mut(list.len())) {
                if let Err(error) = check() {
                    // The next call might go on.
                    failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                    return;
                }
                row.iter_mut().zip(&list).for_each(|(cell, other)| *cell = one.distance(*other) as u16);
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => check(),
        }
    })
}

/// The sketches of fingerprints with bands: all other bits are 0, so that [`distances`] compares
/// sketches.
///
/// # Errors
/// As [`BandLayout::check`].
pub fn sketches(width: Width, values: &[u64], bands: BandLayout) -> Result<Vec<u64>> {
    bands.check(width)?;
    Ok(with_width!(width, F => {
        let mask = bands.sketch_mask::<F>();
        fingerprints::<F>(values).flat_map(|value| words(value & mask)).collect()
    }))
}

/// Rows that `work` makes.
fn start(
    columns: (Width, Shape),
    options: Options,
    block_rows: usize,
    work: impl FnOnce(&Options, &mut Collector<'_>) -> Result<()> + Send + 'static,
) -> Result<AnyStream> {
    Ok(AnyStream::new(columns, block_rows, (options.progress.clone(), LIST.into()), move |until, out| {
        work(&options.progress(until), out)
    }))
}
