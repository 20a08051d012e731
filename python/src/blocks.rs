//! Lists that are spread over tasks: keys, and the pairs of one task.

use std::collections::HashMap;

use nearprint::{Fingerprint, Near, Options, Result, Width, WidthVisitor, list};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Column, Columns, PairCollector};
use crate::errors::OrRaise;
use crate::lists::{near_of, stream};
use crate::stream::{Search, Stream};
use crate::words::{Words, fingerprints};

/// The keys of fingerprints, each with its fingerprint: the columns `group` and `fingerprint`.
/// `split` has the number of parts of keys that are to be split.
#[pyfunction]
pub(crate) fn block_keys<'py>(
    py: Python<'py>,
    words: PyReadonlyArray1<'py, u64>,
    width: u32,
    near: (u32, Option<String>),
    split: HashMap<u64, u32>,
) -> PyResult<Bound<'py, PyDict>> {
    let (words, near) = (words.as_slice()?, near_of(py, near)?);
    let width = Width::try_from(width).or_raise(py)?;
    let columns = py.detach(|| width.visit(Keys { words, near, split: &split }));
    columns.or_raise(py)?.into_dict(py)
}

struct Keys<'a> {
    words: &'a [u64],
    near: Near,
    split: &'a HashMap<u64, u32>,
}

impl WidthVisitor for Keys<'_> {
    type Output = Result<Columns>;

    fn visit<F: Fingerprint>(self) -> Result<Columns> {
        let Self { words, near, split } = self;
        let blocks = list::Blocks::<F>::new(near)?;
        let mut replicated = Replicated::new(F::WIDTH);
        for fingerprint in fingerprints::<F>(words) {
            for key in blocks.keys(fingerprint) {
                match split.get(&key) {
                    Some(&parts) => blocks
                        .split(key, fingerprint, parts)
                        .for_each(|key| replicated.push(key, fingerprint)),
                    None => replicated.push(key, fingerprint),
                }
            }
        }
        Ok(replicated.into_columns())
    }
}

/// The keys that take the place of groups, each with its fingerprint.
#[pyfunction]
pub(crate) fn split_blocks<'py>(
    py: Python<'py>,
    groups: PyReadonlyArray1<'py, u64>,
    words: PyReadonlyArray1<'py, u64>,
    parts: PyReadonlyArray1<'py, u64>,
    width: u32,
    near: (u32, Option<String>),
) -> PyResult<Bound<'py, PyDict>> {
    let (groups, words, parts) = (groups.as_slice()?, words.as_slice()?, parts.as_slice()?);
    let near = near_of(py, near)?;
    let width = Width::try_from(width).or_raise(py)?;
    let columns = py.detach(|| width.visit(SplitBlocks { groups, words, parts, near }));
    columns.or_raise(py)?.into_dict(py)
}

struct SplitBlocks<'a> {
    groups: &'a [u64],
    words: &'a [u64],
    parts: &'a [u64],
    near: Near,
}

impl WidthVisitor for SplitBlocks<'_> {
    type Output = Result<Columns>;

    fn visit<F: Fingerprint>(self) -> Result<Columns> {
        let Self { groups, words, parts, near } = self;
        let blocks = list::Blocks::<F>::new(near)?;
        let mut replicated = Replicated::new(F::WIDTH);
        for ((&group, fingerprint), &parts) in groups.iter().zip(fingerprints::<F>(words)).zip(parts) {
            match u32::try_from(parts).unwrap_or(u32::MAX) {
                0 | 1 => replicated.push(group, fingerprint),
                parts => {
                    blocks.split(group, fingerprint, parts).for_each(|key| replicated.push(key, fingerprint))
                }
            }
        }
        Ok(replicated.into_columns())
    }
}

/// Fingerprints with their groups.
struct Replicated {
    groups: Vec<u64>,
    fingerprints: Words,
}

impl Replicated {
    fn new(width: Width) -> Self {
        Self { groups: Vec::new(), fingerprints: Words::new(width) }
    }

    fn push<F: Fingerprint>(&mut self, group: u64, fingerprint: F) {
        self.groups.push(group);
        self.fingerprints.push(fingerprint);
    }

    fn into_columns(self) -> Columns {
        let (groups, fingerprints) = (Column::Ids(self.groups), Column::Fingerprints(self.fingerprints));
        Columns::default().with("group", groups).with("fingerprint", fingerprints)
    }
}

/// Groups, and the words of their fingerprints.
type Rows<'py> = (PyReadonlyArray1<'py, u64>, PyReadonlyArray1<'py, u64>);

/// The pairs of a task, as a stream of `a`, `b`, `distance`.
#[pyfunction]
pub(crate) fn join_blocks(
    py: Python<'_>,
    rows: Rows<'_>,
    width: u32,
    near: (u32, Option<String>),
    forest: bool,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let (rows, near) = ((rows.0.as_slice()?, rows.1.as_slice()?), near_of(py, near)?);
    stream(py, width, threads, listener, |options| JoinBlocks { rows, near, forest, options })
}

struct JoinBlocks<'a> {
    rows: (&'a [u64], &'a [u64]),
    near: Near,
    forest: bool,
    options: Options,
}

impl WidthVisitor for JoinBlocks<'_> {
    type Output = Search;

    fn visit<F: Fingerprint>(self) -> Search {
        let Self { near, forest, options, .. } = self;
        let rows = rows_of::<F>(self.rows);
        Box::new(move |sink| {
            let blocks = list::Blocks::<F>::new(near)?;
            let mut pairs = PairCollector::new::<F>(false);
            let visit = |block: &[_]| {
                pairs.push(block);
                sink.send_full(&mut pairs)
            };
            match forest {
                true => blocks.visit_forest(rows, &options, visit)?,
                false => blocks.visit_pairs(rows, &options, visit)?,
            }
            sink.send_rest(&mut pairs)
        })
    }
}

/// The pairs between two lists of a task, as a stream of `a`, `b`, `distance`.
#[pyfunction]
pub(crate) fn join_between(
    py: Python<'_>,
    ones: Rows<'_>,
    others: Rows<'_>,
    width: u32,
    near: (u32, Option<String>),
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let ones = (ones.0.as_slice()?, ones.1.as_slice()?);
    let others = (others.0.as_slice()?, others.1.as_slice()?);
    let near = near_of(py, near)?;
    stream(py, width, threads, listener, |options| JoinBetween { ones, others, near, options })
}

struct JoinBetween<'a> {
    ones: (&'a [u64], &'a [u64]),
    others: (&'a [u64], &'a [u64]),
    near: Near,
    options: Options,
}

impl WidthVisitor for JoinBetween<'_> {
    type Output = Search;

    fn visit<F: Fingerprint>(self) -> Search {
        let Self { near, options, .. } = self;
        let (ones, others) = (rows_of::<F>(self.ones), rows_of::<F>(self.others));
        Box::new(move |sink| {
            let mut pairs = PairCollector::new::<F>(false);
            list::Blocks::<F>::new(near)?.visit_between(ones, others, &options, |block| {
                pairs.push(block);
                sink.send_full(&mut pairs)
            })?;
            sink.send_rest(&mut pairs)
        })
    }
}

fn rows_of<F: Fingerprint>((groups, words): (&[u64], &[u64])) -> Vec<(u64, F)> {
    groups.iter().copied().zip(fingerprints(words)).collect()
}

/// The indexes of the pairs of a spanning forest.
#[pyfunction]
pub(crate) fn forest<'py>(
    py: Python<'py>,
    a: PyReadonlyArray1<'py, u64>,
    b: PyReadonlyArray1<'py, u64>,
    width: u32,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let width = Width::try_from(width).or_raise(py)?;
    let indexes = py.detach(|| width.visit(Forest { a, b })).or_raise(py)?;
    Ok(indexes.into_pyarray(py))
}

struct Forest<'a> {
    a: &'a [u64],
    b: &'a [u64],
}

impl WidthVisitor for Forest<'_> {
    type Output = Result<Vec<i64>>;

    fn visit<F: Fingerprint>(self) -> Result<Vec<i64>> {
        let pairs = ends_of::<F>(self.a, self.b);
        Ok((0..).zip(list::spanning_forest(&pairs)?).map(|(_, index): (usize, usize)| index as i64).collect())
    }
}

/// The ends of pairs, each with the smallest end of its connected component.
#[pyfunction]
pub(crate) fn components<'py>(
    py: Python<'py>,
    a: PyReadonlyArray1<'py, u64>,
    b: PyReadonlyArray1<'py, u64>,
    width: u32,
) -> PyResult<Bound<'py, PyDict>> {
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let width = Width::try_from(width).or_raise(py)?;
    py.detach(|| width.visit(Components { a, b })).or_raise(py)?.into_dict(py)
}

struct Components<'a> {
    a: &'a [u64],
    b: &'a [u64],
}

impl WidthVisitor for Components<'_> {
    type Output = Result<Columns>;

    fn visit<F: Fingerprint>(self) -> Result<Columns> {
        let (mut members, mut smallest) = (Words::new(F::WIDTH), Words::new(F::WIDTH));
        for (member, label) in nearprint::list::components(&ends_of::<F>(self.a, self.b))? {
            members.push(member);
            smallest.push(label);
        }
        let (members, smallest) = (Column::Fingerprints(members), Column::Fingerprints(smallest));
        Ok(Columns::default().with("fingerprint", members).with("cluster", smallest))
    }
}

fn ends_of<F: Fingerprint>(a: &[u64], b: &[u64]) -> Vec<(F, F)> {
    fingerprints(a).zip(fingerprints(b)).collect()
}
