//! JSON lines.

use std::borrow::Cow;

use serde_json::Value;

use super::stream::Input;
use super::{DEFAULT_KEY_FIELD, FoundRow, InputArgs, RowSink, not_an_id, parse_id};
use crate::failure::Failure;
use nearprint::Fingerprint;
use nearprint_text::internal::key_in;

impl InputArgs {
    pub(super) fn jsonl<F: Fingerprint>(
        &self,
        mut input: Input,
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        input.lines(false, sink, |text, sink| {
            let object: Value = serde_json::from_str(text).map_err(|error| format!("not JSON ({error})"))?;
            let fingerprint = self.json_fingerprint(&object)?;
            let id = match member(&object, &self.id_field) {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(parse_id(text)?),
                Some(other) => Some(other.as_u64().ok_or_else(|| not_an_id(&other.to_string()))?),
            };
            let key = self.json_key(text, &object)?;
            FoundRow { fingerprint, id, key, has_names: true }.give(sink)
        })
    }

    /// The fingerprint in an object: a string, or a number where all of them are JSON numbers.
    fn json_fingerprint<F: Fingerprint>(&self, object: &Value) -> Result<F, String> {
        let field = &self.fingerprint_field;
        match member(object, field) {
            Some(Value::String(text)) => self.parse(text),
            Some(Value::Number(number)) => match number.as_u64() {
                Some(number) if F::BITS == u64::BITS => Ok(F::from_bits(number, 0, u64::BITS)),
                Some(_) => Err(format!("field {field:?} is a number; of {} bits, strings are read", F::BITS)),
                None => Err(format!("field {field:?} is not a {}-bit fingerprint", F::BITS)),
            },
            Some(_) => Err(format!("field {field:?} is neither a number nor a string")),
            None => Err(format!("no field {field:?}")),
        }
    }

    /// The key in an object: a string, or a number or an object as it stands.
    fn json_key<'a>(&self, text: &'a str, object: &Value) -> Result<Option<Cow<'a, str>>, String> {
        let field = self.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD);
        match member(object, field) {
            None if self.key_field.is_some() => Err(format!("no field {field:?}")),
            None | Some(Value::Null) => Ok(None),
            Some(_) => key_in(text, field),
        }
    }
}

/// A member of an object; dots reach into members that are objects, where no name has them.
fn member<'a>(object: &'a Value, name: &str) -> Option<&'a Value> {
    object.get(name).or_else(|| name.split('.').try_fold(object, |object, part| object.get(part)))
}
