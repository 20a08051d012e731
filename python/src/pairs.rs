//! The class behind deduplications that are spread over many tasks: decides about pairs of documents.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray};
use arrow_schema::DataType;
use nearprint::Width;
use nearprint_text::Result;
use nearprint_text::dedup::{self, DedupOptions, PairDocument};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arguments::NamedOptions;
use crate::capsules::ArrowArrays;
use crate::errors::OrRaise;
use crate::tables::ArrowColumn;
use crate::texts::texts_of;
use crate::watch::{Ticker, watch};
use crate::words::Words;

/// Of documents that can be compared: their places, fingerprints, evidence, and digests of two words each.
type Documents<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyAny>, ArrowColumn, Bound<'py, PyAny>);
/// The similarities of new documents and kept ones, and the same with their parts exchanged.
type Similarities<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// Decides about pairs as a deduplication on one machine does.
#[pyclass(frozen, module = "nearprint._nearprint")]
pub(crate) struct PairJudge(dedup::PairJudge);

#[pymethods]
impl PairJudge {
    #[new]
    fn new(py: Python<'_>, settings: NamedOptions) -> PyResult<Self> {
        let mut options = DedupOptions::with_default_recipe().or_raise(py)?;
        settings.values.iter().try_for_each(|(name, values)| options.set(name, values)).or_raise(py)?;
        Ok(Self(dedup::PairJudge::new(options).or_raise(py)?))
    }

    /// The recipe, and the distance of fingerprints within which documents are compared.
    fn candidates(&self) -> (String, u32) {
        (self.0.recipe().to_string(), self.0.k())
    }

    /// Whether evidence decides, and whether the more similar of two kept documents is the nearer one.
    fn compares(&self) -> (bool, bool) {
        (self.0.compares_evidence(), self.0.prefers_similar())
    }

    /// What pairs of texts are decided by; texts that are near nothing are left out.
    fn documents<'py>(&self, py: Python<'py>, texts: ArrowArrays) -> PyResult<Documents<'py>> {
        let chunks = texts.chunks.iter().map(texts_of).collect::<PyResult<Vec<_>>>()?;
        let (mut judge, ticker) = (self.0.clone(), Ticker::default());
        let made = watch(py, &ticker, None, || {
            let mut made = Vec::new();
            for (place, text) in (0..).zip(chunks.into_iter().flatten()) {
                ticker.check()?;
                made.extend(text.and_then(|text| judge.document(text)).map(|document| (place, document)));
            }
            Ok::<_, nearprint::Error>(made)
        })?;
        let (places, made): (Vec<i64>, Vec<PairDocument>) = made.into_iter().unzip();
        let words = made.iter().flat_map(|document| document.fingerprint.words()).copied().collect();
        #[expect(clippy::cast_possible_truncation, reason = "takes both words")]
        let halves = |digest: u128| [digest as u64, (digest >> 64) as u64];
        let digests = made.iter().flat_map(|document| halves(document.digest())).collect();
        let evidence = made.iter().map(|one| &one.evidence);
        let evidence: ArrayRef = match i32::try_from(evidence.clone().map(|bytes| bytes.len()).sum::<usize>())
        {
            Ok(_) => Arc::new(BinaryArray::from_iter_values(evidence)),
            Err(_) => Arc::new(LargeBinaryArray::from_iter_values(evidence)),
        };
        Ok((
            places.into_pyarray(py),
            Words::from_words(self.0.recipe().width(), words).into_array(py)?,
            ArrowColumn(evidence),
            Words::from_words(Width::W128, digests).into_array(py)?,
        ))
    }

    /// Which pairs of fingerprints within the distance make documents candidates.
    fn are_candidates<'py>(
        &self,
        py: Python<'py>,
        a: PyReadonlyArray1<'py, u64>,
        b: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let words = self.0.recipe().width().words();
        let pairs = a.as_slice()?.chunks_exact(words).zip(b.as_slice()?.chunks_exact(words));
        Ok(pairs.map(|(a, b)| self.0.are_candidates(a, b)).collect::<Vec<_>>().into_pyarray(py))
    }

    /// The similarities of pairs by their evidence, where they are near-duplicates, and NaN where not: of `a` as
    /// the new document and `b` as the kept one, and the other way round.
    fn similarities<'py>(
        &self,
        py: Python<'py>,
        a: ArrowArrays,
        b: ArrowArrays,
        distances: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Similarities<'py>> {
        let (a, b, ticker) = (bytes_of(&a)?, bytes_of(&b)?, Ticker::default());
        let pairs = a.into_iter().zip(b).zip(distances.as_slice()?);
        let pairs: Vec<Pair<'_>> = pairs.map(|((a, b), distance)| (a, b, *distance)).collect();
        let (own, reverse) = watch(py, &ticker, None, || all_similarities(&self.0, &pairs, &ticker))?;
        Ok((own.into_pyarray(py), reverse.into_pyarray(py)))
    }
}

/// The evidence of two documents, and the distance of their fingerprints.
type Pair<'a> = (&'a [u8], &'a [u8], u32);

/// The similarities of pairs in both directions, NaN where the first is no near-duplicate of the second.
fn all_similarities(
    judge: &dedup::PairJudge,
    pairs: &[Pair<'_>],
    ticker: &Ticker,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut judged = (Vec::with_capacity(pairs.len()), Vec::with_capacity(pairs.len()));
    for &(a, b, distance) in pairs {
        ticker.check()?;
        judged.0.push(judge.similarity(a, b, distance)?.unwrap_or(f64::NAN));
        judged.1.push(judge.similarity(b, a, distance)?.unwrap_or(f64::NAN));
    }
    Ok(judged)
}

/// The values of an array of bytes; none for nulls.
fn bytes_of(arrays: &ArrowArrays) -> PyResult<Vec<&[u8]>> {
    let mut all = Vec::new();
    for chunk in &arrays.chunks {
        match chunk.data_type() {
            DataType::Binary => all.extend(chunk.as_binary::<i32>().iter().map(Option::unwrap_or_default)),
            DataType::LargeBinary => {
                all.extend(chunk.as_binary::<i64>().iter().map(Option::unwrap_or_default))
            }
            DataType::Null => all.resize(all.len() + chunk.len(), &[][..]),
            other => {
                return Err(PyTypeError::new_err(format!("an Arrow array of {other}: bytes are wanted")));
            }
        }
    }
    Ok(all)
}
