//! The order in which texts are kept.

use nearprint_text::dedup::{Keep, ParseKeepError};
use nearprint_text::documents::RankValue;
use nearprint_text::internal::{Kind, common_kinds};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::errors::input_error;

/// The places of values in the order in which their texts are kept, by a `keep` such as `max:COLUMN`. A value is `None`,
/// a number, a text, or a time: a tuple of one number, the nanoseconds since 1970.
#[pyfunction]
pub(crate) fn order_of<'py>(
    py: Python<'py>,
    keep: &str,
    values: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let (keep, values) = (parse(py, keep)?, rank_values(values)?);
    let order = py.detach(|| keep.order(&values));
    let order = order.map_err(|error| input_error(py, &format!("keep: {error}")))?;
    #[expect(clippy::cast_possible_wrap, reason = "a list has fewer items")]
    let order: Vec<i64> = order.into_iter().map(|place| place as i64).collect();
    Ok(order.into_pyarray(py))
}

/// The kinds that all values of a part are, those that are preferred first: the order of all parts is by the first kind
/// that is common to them.
#[pyfunction]
pub(crate) fn order_kinds(
    py: Python<'_>,
    keep: &str,
    values: &Bound<'_, PyList>,
) -> PyResult<Vec<&'static str>> {
    let (keep, values) = (parse(py, keep)?, rank_values(values)?);
    Ok(py.detach(|| common_kinds(&keep, &values)).into_iter().map(name_of).collect())
}

/// Bytes in the order of values of one kind, none for missing values.
#[pyfunction]
pub(crate) fn order_keys<'py>(
    py: Python<'py>,
    kind: &str,
    values: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyList>> {
    let kind = [Kind::Number, Kind::Time, Kind::Text].into_iter().find(|one| name_of(*one) == kind);
    let key = |value: &RankValue| {
        let key = kind.and_then(|kind| kind.sort_key(value));
        let key = key.ok_or_else(|| input_error(py, &format!("keep: {value} is of another kind")))?;
        Ok(PyBytes::new(py, &key))
    };
    PyList::new(py, rank_values(values)?.iter().map(key).collect::<PyResult<Vec<_>>>()?)
}

fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "number",
        Kind::Time => "time",
        Kind::Text => "text",
    }
}

fn parse(py: Python<'_>, keep: &str) -> PyResult<Keep> {
    keep.parse().map_err(|error: ParseKeepError| input_error(py, &error.to_string()))
}

fn rank_values(values: &Bound<'_, PyList>) -> PyResult<Vec<RankValue>> {
    values.iter().map(|value| rank_value(&value)).collect()
}

fn rank_value(value: &Bound<'_, PyAny>) -> PyResult<RankValue> {
    Ok(match (value.cast::<PyString>(), value.cast::<PyTuple>()) {
        _ if value.is_none() => RankValue::Missing,
        (Ok(text), _) => RankValue::Text(text.to_string_lossy().into_owned()),
        (_, Ok(time)) => RankValue::Time(time.get_item(0)?.extract()?),
        _ => RankValue::Number(value.str()?.to_string_lossy().into_owned()),
    })
}
