//! JSON lines.

use std::borrow::Cow;

use serde_json::Value;

use super::rows::{DEFAULT_KEY_FIELD, InputRow, RowSink, not_an_id, parse_id};
use super::stream::InputStream;
use crate::args::FingerprintArgs;
use crate::terminal::failure::Failure;
use nearprint::Width;
use nearprint::any::AnyFingerprint;
use nearprint_text::internal::key_in;

pub(super) fn read(
    (args, width): (&FingerprintArgs, Width),
    mut input: InputStream,
    sink: &mut dyn RowSink,
) -> Result<(), Failure> {
    input.for_each_line(false, sink, |text, sink| {
        let object: Value = serde_json::from_str(text).map_err(|error| format!("not JSON ({error})"))?;
        let fingerprint = fingerprint_of((args, width), &object)?;
        let id = match member(&object, &args.id_field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(parse_id(text)?),
            Some(other) => Some(other.as_u64().ok_or_else(|| not_an_id(&other.to_string()))?),
        };
        let key = key_of(args, text, &object)?;
        InputRow { fingerprint, id, key, has_names: true }.send_to(sink)
    })
}

/// The fingerprint in an object: a string, or a number if fingerprints have 64 bits.
fn fingerprint_of(
    (args, width): (&FingerprintArgs, Width),
    object: &Value,
) -> Result<AnyFingerprint, String> {
    let field = &args.fingerprint_field;
    match member(object, field) {
        Some(Value::String(text)) => args.parse(width, text),
        Some(Value::Number(number)) => match number.as_u64() {
            Some(number) if width == Width::W64 => Ok(number.into()),
            Some(_) => Err(format!("field {field:?} is a number; fingerprints of {width} bits are strings")),
            None => Err(format!("field {field:?} is not a {width}-bit fingerprint")),
        },
        Some(_) => Err(format!("field {field:?} is neither a number nor a string")),
        None => Err(format!("no field {field:?}")),
    }
}

/// The key in an object: a string, or the JSON text of a number or an object.
fn key_of<'a>(args: &FingerprintArgs, text: &'a str, object: &Value) -> Result<Option<Cow<'a, str>>, String> {
    let field = args.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD);
    match member(object, field) {
        None if args.key_field.is_some() => Err(format!("no field {field:?}")),
        None | Some(Value::Null) => Ok(None),
        Some(_) => key_in(text, field),
    }
}

/// A member of an object. If no member has the name, the dots in it reach into nested objects.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| name.split('.').try_fold(object, |object, part| object.get(part)))
}
