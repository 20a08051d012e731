//! Lists that are spread over tasks: keys, and the pairs of one task.

use std::collections::HashMap;

use nearprint::{Blocks, Fingerprint, Near, Options, Result, Width, WidthVisitor, spanning_forest};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{Column, Columns, PairCollector};
use crate::errors::OrRaise;
use crate::lists::{near_of, stream};
use crate::stream::{Search, Stream};
use crate::words::{self, Words, fingerprints};

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
        let blocks = Blocks::<F>::new(near)?;
        let (mut groups, mut replicated) = (Vec::new(), Words::new(F::WIDTH));
        for fingerprint in fingerprints::<F>(words) {
            let mut push = |key| {
                groups.push(key);
                replicated.push(fingerprint);
            };
            for key in blocks.keys(fingerprint) {
                match split.get(&key) {
                    Some(&parts) => blocks.split(key, fingerprint, parts).for_each(&mut push),
                    None => push(key),
                }
            }
        }
        let (groups, replicated) = (Column::Ids(groups), Column::Fingerprints(replicated));
        Ok(Columns::default().with("group", groups).with("fingerprint", replicated))
    }
}

/// The pairs of a task, as a stream of `a`, `b`, `distance`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "those of the Python function")]
pub(crate) fn join_blocks(
    py: Python<'_>,
    groups: PyReadonlyArray1<'_, u64>,
    words: PyReadonlyArray1<'_, u64>,
    width: u32,
    near: (u32, Option<String>),
    forest: bool,
    threads: usize,
    listener: Option<Py<PyAny>>,
) -> PyResult<Stream> {
    let (groups, words, near) = (groups.as_slice()?, words.as_slice()?, near_of(py, near)?);
    stream(py, width, threads, listener, |options| JoinBlocks { groups, words, near, forest, options })
}

struct JoinBlocks<'a> {
    groups: &'a [u64],
    words: &'a [u64],
    near: Near,
    forest: bool,
    options: Options,
}

impl WidthVisitor for JoinBlocks<'_> {
    type Output = Search;

    fn visit<F: Fingerprint>(self) -> Search {
        let Self { near, forest, options, .. } = self;
        let rows: Vec<(u64, F)> = self.groups.iter().copied().zip(fingerprints(self.words)).collect();
        Box::new(move |sink| {
            let blocks = Blocks::<F>::new(near)?;
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
        let pairs: Vec<(F, F)> = words::fingerprints(self.a).zip(words::fingerprints(self.b)).collect();
        Ok((0..).zip(spanning_forest(&pairs)?).map(|(_, index): (usize, usize)| index as i64).collect())
    }
}
