//! Fingerprints in Parquet files.

use std::path::Path;

use super::super::failure::Failure;
use super::{RowSink, parse_id};
use crate::Fingerprint;
use crate::documents::parquet::{Row, Rows, Value};
use crate::documents::{Fields, Input};

/// Reads the rows of a file. Fingerprints and ids are unsigned numbers or strings; a missing id is one
/// to be given.
pub(super) fn read(
    path: &Path,
    fingerprint_field: &str,
    id_field: &str,
    sink: &mut dyn RowSink,
) -> Result<(), Failure> {
    let fields = Fields { text: fingerprint_field.into(), key: None, value: None };
    let mut rows = Rows::open(&Input::file(path), &fields)?;
    let has_ids = rows.schema().index_of(id_field).is_ok();
    while let Some((number, row)) = rows.next_row()? {
        let bad = |why| Failure::Input { place: format!("{}:{number}", path.display()), why };
        let fingerprint = cell(&row, fingerprint_field).map_err(bad)?;
        let fingerprint = fingerprint.ok_or_else(|| bad("no fingerprint".into()))?;
        let fingerprint = u64::parse(&fingerprint).map_err(|error| bad(error.to_string()))?;
        let id = if has_ids { cell(&row, id_field).map_err(bad)? } else { None };
        let id = id.map(|id| parse_id(&id)).transpose().map_err(bad)?;
        sink.row(fingerprint, id)?;
    }
    Ok(())
}

/// What a cell holds, as text; `None` where it holds nothing.
fn cell(row: &Row, field: &str) -> Result<Option<String>, String> {
    match row.value(field)? {
        Value::Text(text) => Ok(Some(text.into())),
        Value::Number(number, _) => Ok(Some(number)),
        Value::Null => Ok(None),
        Value::Other => Err(format!("column {field:?} holds neither numbers nor strings")),
    }
}
