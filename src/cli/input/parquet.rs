//! Fingerprints in Parquet files.

use std::path::Path;

use super::super::failure::Failure;
use super::{DEFAULT_KEY_FIELD, FoundRow, InputArgs, LineFailure, RowSink, parse_id};
use crate::Fingerprint;
use crate::documents::parquet::{Row, Rows, Value};
use crate::documents::{Fields, Input};

/// Reads the rows of a file. Fingerprints, ids and keys are unsigned numbers or strings; a missing id is one
/// to be given.
pub(super) fn read(path: &Path, args: &InputArgs, sink: &mut dyn RowSink) -> Result<(), Failure> {
    let (text, key) = (args.fingerprint_field.clone(), args.key_field.clone());
    let fields = Fields { text, key, ..Fields::default() };
    let mut rows = Rows::open(&Input::file(path), &fields)?;
    let there = |rows: &Rows, name: &str| rows.schema().index_of(name).ok().map(|_| name.to_string());
    let id_field = there(&rows, &args.id_field);
    let key_field = there(&rows, args.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD));
    while let Some((number, row)) = rows.next_row()? {
        let found = found(&row, &args.fingerprint_field, id_field.as_deref(), key_field.as_deref());
        found.map_err(LineFailure::Wrong).and_then(|found| found.give(sink)).map_err(
            |failure| match failure {
                LineFailure::Wrong(why) => {
                    Failure::Input { place: format!("{}:{number}", path.display()), why }
                }
                LineFailure::Sink(failure) => failure,
            },
        )?;
    }
    Ok(())
}

fn found(
    row: &Row,
    fingerprint: &str,
    id: Option<&str>,
    key: Option<&str>,
) -> Result<FoundRow<'static>, String> {
    let fingerprint = cell(row, fingerprint)?.ok_or("no fingerprint")?;
    let fingerprint = u64::parse(&fingerprint).map_err(|error| error.to_string())?;
    let id = id.map(|field| cell(row, field)).transpose()?.flatten();
    let id = id.map(|id| parse_id(&id)).transpose()?;
    let key = key.map(|field| cell(row, field)).transpose()?.flatten().map(Into::into);
    Ok(FoundRow { fingerprint, id, key, has_names: true })
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
