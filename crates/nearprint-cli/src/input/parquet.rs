//! Fingerprints in Parquet files.

use std::path::Path;

use super::raw::First;
use super::stream::LineFailure;
use super::{DEFAULT_KEY_FIELD, FoundRow, InputArgs, RowSink, parse_id};
use crate::failure::Failure;
use nearprint::Fingerprint;
use nearprint_text::documents::{Fields, InputFile};
use nearprint_text::internal::{ParquetReader, ParquetRow, ParquetValue as Value};

/// Reads the rows of a file. Ids and keys are unsigned numbers or strings; a missing id is one to be given.
pub(super) fn read<F: Fingerprint>(
    path: &Path,
    args: &InputArgs,
    sink: &mut dyn RowSink<F>,
) -> Result<(), Failure> {
    let mut fields = Fields::default();
    fields.text.clone_from(&args.fingerprint_field);
    fields.key.clone_from(&args.key_field);
    let mut rows = ParquetReader::open(&InputFile::new(path), &fields)?;
    let there =
        |rows: &ParquetReader, name: &str| rows.schema().index_of(name).ok().map(|_| name.to_string());
    let id_field = there(&rows, &args.id_field);
    let key_field = there(&rows, args.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD));
    while let Some((number, row)) = rows.next_row()? {
        let found = found(args, &row, id_field.as_deref(), key_field.as_deref());
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

fn found<F: Fingerprint>(
    args: &InputArgs,
    row: &ParquetRow,
    id: Option<&str>,
    key: Option<&str>,
) -> Result<FoundRow<'static, F>, String> {
    let fingerprint = fingerprint(args, row.value(&args.fingerprint_field)?)?;
    let id = id.map(|field| cell(row, field)).transpose()?.flatten();
    let id = id.map(|id| parse_id(&id)).transpose()?;
    let key = key.map(|field| cell(row, field)).transpose()?.flatten().map(Into::into);
    Ok(FoundRow { fingerprint, id, key, has_names: true })
}

/// A fingerprint: a string; all its bytes, the most significant one first; or a number where that has the width.
fn fingerprint<F: Fingerprint>(args: &InputArgs, value: Value<'_>) -> Result<F, String> {
    let (field, bits) = (&args.fingerprint_field, F::BITS);
    match value {
        Value::Text(text) => args.parse(text),
        Value::Bytes(bytes) if bytes.len() == F::LEN_BYTES => Ok(First::Most.read(bytes)),
        Value::Bytes(bytes) => Err(format!("{} bytes, where {bits} bits take {}", bytes.len(), bits / 8)),
        Value::Number(number, _) if bits == u64::BITS => F::parse(&number).map_err(|error| error.to_string()),
        Value::Number(..) => {
            Err(format!("column {field:?} holds numbers; of {bits} bits, strings and bytes are read"))
        }
        Value::Null => Err("no fingerprint".into()),
        Value::Other => Err(format!("column {field:?} holds neither numbers nor strings nor bytes")),
    }
}

/// What a cell holds, as text; `None` where it holds nothing.
fn cell(row: &ParquetRow, field: &str) -> Result<Option<String>, String> {
    match row.value(field)? {
        Value::Text(text) => Ok(Some(text.into())),
        Value::Number(number, _) => Ok(Some(number)),
        Value::Null => Ok(None),
        Value::Bytes(_) | Value::Other => Err(format!("column {field:?} holds neither numbers nor strings")),
    }
}
