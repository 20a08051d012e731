//! Documents of databases that keep evidence: their similarities are exact.

use std::sync::Arc;

use nearprint::any::{AnyStream, Columns as Found};
use nearprint::internal::for_each;
use nearprint_text::stored::{Finder, StoredDocuments};
use nearprint_text::{DatabaseProblem, Result};
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::errors::OrRaise;
use crate::handle::Handle;
use crate::stream::Stream;
use crate::watch::{Ticker, watch};

/// The documents of a database, and the similarity from which on they are near: by default its limit.
pub(crate) fn documents(
    handle: &Handle,
    ticker: &Arc<Ticker>,
    similarity: Option<f64>,
) -> Result<(StoredDocuments, f64)> {
    let snapshot = handle.watched_snapshot(ticker)?;
    let path = snapshot.folder();
    let documents = StoredDocuments::of(snapshot)?.ok_or(DatabaseProblem::NoFeatures { path })?;
    let least = similarity.unwrap_or(documents.recipe().near_similarity());
    Ok((documents, least))
}

/// Starts a search among documents. `group` names the column of groups.
pub(crate) fn stream(
    py: Python<'_>,
    (handle, similarity): (&Handle, Option<f64>),
    group: &'static str,
    listener: Option<Py<PyAny>>,
    start: impl FnOnce(&StoredDocuments, f64) -> Result<AnyStream> + Send,
) -> PyResult<Stream> {
    let ticker = Arc::new(Ticker::default());
    let begin = || {
        let (documents, least) = documents(handle, &ticker, similarity)?;
        start(&documents, least)
    };
    let rows = py.detach(begin).or_raise(py)?;
    Ok(Stream::new(rows, group, ticker, listener))
}

/// The documents that are similar to texts, at most `limit` for each; nothing for a missing text.
pub(crate) fn find(
    py: Python<'_>,
    (handle, similarity): (&Handle, Option<f64>),
    texts: &[Option<String>],
    limit: usize,
) -> PyResult<Columns> {
    let ticker = Arc::new(Ticker::default());
    let found = watch(py, &ticker, None, || find_all(handle, similarity, texts, limit, &ticker))?;
    Ok(Columns::of(found, "query"))
}

fn find_all(
    handle: &Handle,
    similarity: Option<f64>,
    texts: &[Option<String>],
    limit: usize,
    ticker: &Arc<Ticker>,
) -> Result<Found> {
    let (documents, least) = documents(handle, ticker, similarity)?;
    let (finder, snapshot) = (documents.finder(least)?, handle.snapshot()?);
    let part_len = texts.len().div_ceil(snapshot.threads().max(1)).max(1);
    let parts: Vec<&[Option<String>]> = texts.chunks(part_len).collect();
    let mut results: Vec<Result<Found>> = Vec::new();
    results.resize_with(parts.len(), || Ok(Found::new(snapshot.width(), Finder::SHAPE)));
    let numbered = (0u64..).step_by(part_len).zip(parts).zip(&mut results);
    for_each(snapshot.threads(), numbered, |((first, part), result)| {
        let mut finder = finder.clone();
        if let Ok(found) = result
            && let Err(error) = find_some(&mut finder, first, part, limit, (found, ticker))
        {
            *result = Err(error);
        }
    });
    let mut all = Found::new(snapshot.width(), Finder::SHAPE);
    for result in results {
        all.append(&result?);
    }
    Ok(all)
}

fn find_some(
    finder: &mut Finder,
    first: u64,
    texts: &[Option<String>],
    limit: usize,
    (found, ticker): (&mut Found, &Ticker),
) -> Result<()> {
    for (query, text) in (first..).zip(texts) {
        ticker.check()?;
        finder.find(query, text.as_deref().unwrap_or_default(), limit, found)?;
    }
    Ok(())
}
