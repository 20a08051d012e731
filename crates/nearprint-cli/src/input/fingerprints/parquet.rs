//! Fingerprints in Parquet files.

use std::path::Path;

use super::raw::ByteOrder;
use super::rows::{DEFAULT_KEY_FIELD, InputRow, LineError, RowSink, parse_id};
use crate::args::FingerprintArgs;
use crate::terminal::failure::Failure;
use nearprint::Width;
use nearprint::any::AnyFingerprint;
use nearprint_text::documents::{Fields, InputFile};
use nearprint_text::internal::{ParquetReader, ParquetRow, ParquetValue as Value};

/// Whether a file has the field of fingerprints.
pub(super) fn has_fingerprints(args: &FingerprintArgs, path: &Path) -> Result<bool, Failure> {
    match ParquetReader::open(&InputFile::new(path), &fields(args)) {
        Ok(_) => Ok(true),
        Err(nearprint_text::Error::Input { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The fields that are read.
fn fields(args: &FingerprintArgs) -> Fields {
    let mut fields = Fields::default();
    fields.text.clone_from(&args.fingerprint_field);
    fields.key.clone_from(&args.key_field);
    fields
}

/// Reads the rows of a file. Ids and keys are unsigned numbers or strings.
pub(super) fn read(
    (args, width): (&FingerprintArgs, Width),
    path: &Path,
    sink: &mut dyn RowSink,
) -> Result<(), Failure> {
    let mut rows = ParquetReader::open(&InputFile::new(path), &fields(args))?;
    let existing = |rows: &ParquetReader, name: &str| rows.has_field(name).then(|| name.to_string());
    let id_field = existing(&rows, &args.id_field);
    let key_field = existing(&rows, args.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD));
    while let Some((number, row)) = rows.next_row()? {
        let parsed = parse_row((args, width), &row, id_field.as_deref(), key_field.as_deref());
        parsed.map_err(LineError::Malformed).and_then(|row| row.send_to(sink)).map_err(
            |error| match error {
                LineError::Malformed(why) => {
                    Failure::Input { place: format!("{}:{number}", path.display()), why }
                }
                LineError::Sink(failure) => failure,
            },
        )?;
    }
    Ok(())
}

fn parse_row(
    (args, width): (&FingerprintArgs, Width),
    row: &ParquetRow,
    id: Option<&str>,
    key: Option<&str>,
) -> Result<InputRow<'static>, String> {
    let fingerprint = fingerprint((args, width), row.value(&args.fingerprint_field)?)?;
    let id = id.map(|field| cell(row, field)).transpose()?.flatten();
    let id = id.map(|id| parse_id(&id)).transpose()?;
    let key = key.map(|field| cell(row, field)).transpose()?.flatten().map(Into::into);
    Ok(InputRow { fingerprint, id, key, has_names: true })
}

/// A fingerprint: a string, its bytes with the most significant one first, or a number if it has 64
/// bits.
fn fingerprint((args, width): (&FingerprintArgs, Width), value: Value<'_>) -> Result<AnyFingerprint, String> {
    let (field, bits) = (&args.fingerprint_field, width.bits());
    match value {
        Value::Text(text) => args.parse(width, text),
        Value::Bytes(bytes) if bytes.len() == 8 * width.words() => Ok(ByteOrder::Big.decode(bytes)),
        Value::Bytes(bytes) => Err(format!("{} bytes, where {bits} bits take {}", bytes.len(), bits / 8)),
        Value::Number(number, _) if width == Width::W64 => {
            AnyFingerprint::parse(width, &number, None).map_err(|error| error.to_string())
        }
        Value::Number(..) => {
            Err(format!("column {field:?} holds numbers; fingerprints of {bits} bits are strings or bytes"))
        }
        Value::Float(_) => Err(rounded(field)),
        Value::Null => Err("no fingerprint".into()),
        Value::Time(_) | Value::Other => {
            Err(format!("column {field:?} holds neither numbers nor strings nor bytes"))
        }
    }
}

/// The content of a cell as text. `None` if it is null.
fn cell(row: &ParquetRow, field: &str) -> Result<Option<String>, String> {
    match row.value(field)? {
        Value::Text(text) => Ok(Some(text.into())),
        Value::Number(number, _) => Ok(Some(number)),
        Value::Null => Ok(None),
        Value::Float(_) => Err(rounded(field)),
        Value::Bytes(_) | Value::Time(_) | Value::Other => {
            Err(format!("column {field:?} holds neither numbers nor strings"))
        }
    }
}

fn rounded(field: &str) -> String {
    format!("column {field:?} holds floating-point numbers, which round large integers")
}
