//! The order in which texts are kept.

use nearprint_text::dedup::{Keep, ParseKeepError};
use nearprint_text::documents::RankValue;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

use crate::errors::input_error;

/// The places of values in the order in which their texts are kept, by a `keep` such as `max:COLUMN`. A value is `None`,
/// a number, a text, or a time: a tuple of one number, the nanoseconds since 1970.
#[pyfunction]
pub(crate) fn order_of<'py>(
    py: Python<'py>,
    keep: &str,
    values: &Bound<'py, PyList>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let keep: Keep = keep.parse().map_err(|error: ParseKeepError| input_error(py, &error.to_string()))?;
    let values = values.iter().map(|value| rank_value(&value)).collect::<PyResult<Vec<_>>>()?;
    let order = py.detach(|| keep.order(&values));
    let order = order.map_err(|error| input_error(py, &format!("keep: {error}")))?;
    #[expect(clippy::cast_possible_wrap, reason = "a list has fewer items")]
    let order: Vec<i64> = order.into_iter().map(|place| place as i64).collect();
    Ok(order.into_pyarray(py))
}

fn rank_value(value: &Bound<'_, PyAny>) -> PyResult<RankValue> {
    Ok(match (value.cast::<PyString>(), value.cast::<PyTuple>()) {
        _ if value.is_none() => RankValue::Missing,
        (Ok(text), _) => RankValue::Text(text.to_string_lossy().into_owned()),
        (_, Ok(time)) => RankValue::Time(time.get_item(0)?.extract()?),
        _ => RankValue::Number(value.str()?.to_string_lossy().into_owned()),
    })
}
