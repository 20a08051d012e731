//! Finds the fields of a JSON object in one pass, without a tree of the rest.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::{RankValue, not_a_key};
use super::lines::{without_line_end, without_mark};

/// The requested fields: text, key, value.
const NUM_FIELDS: usize = 3;
const TEXT: usize = 0;
type Names<'n> = [Option<&'n str>; NUM_FIELDS];

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonField<'a> {
    /// A string, decoded.
    Text(Cow<'a, str>),
    /// Any value, as its JSON source.
    Json(&'a str),
    /// The kind of a value that is not a string.
    Other(&'static str),
}

/// Finds fields in an object. The last of several members with one name counts.
pub(super) fn find<'a>(
    object: &'a str,
    names: Names<'_>,
) -> Result<[Option<JsonField<'a>>; NUM_FIELDS], String> {
    let mut found = [const { None }; NUM_FIELDS];
    let mut json = serde_json::Deserializer::from_str(object);
    let top = Object { names, found: &mut found, required: true };
    top.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| describe(&error))?;
    Ok(found)
}

/// The names of the members of an object.
pub(super) fn names(object: &str) -> Vec<String> {
    let members = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(object);
    members.map(|members| members.into_iter().map(|(name, _)| name).collect()).unwrap_or_default()
}

/// The key in one field of an object; `None` without the field.
///
/// # Errors
/// The reason, if this is no JSON object or the field is no key.
pub fn key_in<'a>(object: &'a str, field: &str) -> Result<Option<Cow<'a, str>>, String> {
    let [_, found, _] = find(object, [None, Some(field), None])?;
    found.map(|found| found.into_key().map_err(|kind| not_a_key(field, kind))).transpose()
}

fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    format!("not a JSON object: {} (column {})", without_place(&text), error.column())
}

/// The message of an error without its line and column.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(what, _)| what)
}

/// The string of a valid JSON value. `None` for other values, and for strings with rare escapes: `serde_json` decodes
/// these into a buffer that grows anew for each string.
fn unescaped(json: &str) -> Option<Cow<'_, str>> {
    let mut rest = json.strip_prefix('"')?.strip_suffix('"')?;
    let next_escape = |rest: &str| memchr::memchr(b'\\', rest.as_bytes());
    let Some(mut at) = next_escape(rest) else { return Some(Cow::Borrowed(rest)) };
    let mut text = String::with_capacity(rest.len());
    loop {
        text.push_str(&rest[..at]);
        text.push(match rest.as_bytes().get(at + 1)? {
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            same @ (b'"' | b'\\' | b'/') => char::from(*same),
            _ => return None,
        });
        rest = &rest[at + 2..];
        match next_escape(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    text.push_str(rest);
    Some(Cow::Owned(text))
}

/// Finds fields in an object.
struct Object<'n, 'f, 'de> {
    names: Names<'n>,
    found: &'f mut [Option<JsonField<'de>>; NUM_FIELDS],
    /// Whether any other value is an error; otherwise it has no fields.
    required: bool,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        if self.required { json.deserialize_map(self) } else { json.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for Object<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut settled = [false; NUM_FIELDS];
        while let Some(hit) = members.next_key_seed(Member { names: self.names })? {
            let inside = std::array::from_fn(|at| hit.inside[at].filter(|_| !settled[at]));
            let nested = inside.iter().any(Option::is_some);
            if !nested && hit.whole == [false; NUM_FIELDS] {
                members.next_value::<IgnoredAny>()?;
            } else if !nested && hit.whole == [true, false, false] {
                let json = members.next_value::<&RawValue>()?.get();
                self.found[TEXT] = Some(match unescaped(json) {
                    Some(text) => JsonField::Text(text),
                    None => TextOnly
                        .deserialize(&mut serde_json::Deserializer::from_str(json))
                        .map_err(|error| A::Error::custom(without_place(&error.to_string())))?,
                });
                settled[TEXT] = true;
            } else if hit.whole == [false; NUM_FIELDS] {
                members.next_value_seed(Object { names: inside, found: self.found, required: false })?;
            } else {
                let json = members.next_value::<&RawValue>()?.get();
                let mut again = serde_json::Deserializer::from_str(json);
                let object = Object { names: inside, found: self.found, required: false };
                object.deserialize(&mut again).map_err(A::Error::custom)?;
                for at in (0..NUM_FIELDS).filter(|&at| hit.whole[at]) {
                    self.found[at] = Some(JsonField::Json(json));
                    settled[at] = true;
                }
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<(), A::Error> {
        IgnoredAny.visit_seq(items).map(drop)
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

/// Matches the name of a member with the requested names, whole or before a dot.
struct Member<'n> {
    names: Names<'n>,
}

struct Hit<'n> {
    whole: [bool; NUM_FIELDS],
    inside: Names<'n>,
}

impl<'de, 'n> DeserializeSeed<'de> for Member<'n> {
    type Value = Hit<'n>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Hit<'n>, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'n> Visitor<'_> for Member<'n> {
    type Value = Hit<'n>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, member: &str) -> Result<Hit<'n>, E> {
        let inside = |name: Option<&'n str>| name?.strip_prefix(member)?.strip_prefix('.');
        Ok(Hit { whole: self.names.map(|name| name == Some(member)), inside: self.names.map(inside) })
    }
}

/// Reads a value that should be a string.
struct TextOnly;

impl<'de> DeserializeSeed<'de> for TextOnly {
    type Value = JsonField<'de>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<JsonField<'de>, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TextOnly {
    type Value = JsonField<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<JsonField<'de>, E> {
        Ok(JsonField::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonField<'de>, E> {
        Ok(JsonField::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<JsonField<'de>, E> {
        Ok(JsonField::Other("true or false"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<JsonField<'de>, E> {
        Ok(JsonField::Other("a number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<JsonField<'de>, E> {
        Ok(JsonField::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<JsonField<'de>, E> {
        Ok(JsonField::Other("a number"))
    }

    fn visit_unit<E>(self) -> Result<JsonField<'de>, E> {
        Ok(JsonField::Other("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<JsonField<'de>, A::Error> {
        IgnoredAny.visit_seq(items)?;
        Ok(JsonField::Other("an array"))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<JsonField<'de>, A::Error> {
        IgnoredAny.visit_map(members)?;
        Ok(JsonField::Other("an object"))
    }
}

impl<'a> JsonField<'a> {
    /// The string, or the kind of another value.
    pub(super) fn into_text(self) -> Result<Cow<'a, str>, &'static str> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Other(kind) => Err(kind),
            Self::Json(json) => {
                let mut json = serde_json::Deserializer::from_str(json);
                TextOnly.deserialize(&mut json).map_err(|_| "no valid string")?.into_text()
            }
        }
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Json("null") | Self::Other("null"))
    }

    /// The key: the content of a string, the source of a number, an object without white space.
    pub(super) fn into_key(self) -> Result<Cow<'a, str>, &'static str> {
        match self {
            Self::Json(json) if json.starts_with('{') => Ok(compact(json).into()),
            Self::Json(json) if json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => Ok(json.into()),
            other => other.into_text(),
        }
    }

    /// What ranks a record.
    pub(super) fn into_rank(self) -> RankValue {
        match self {
            other if other.is_null() => RankValue::Missing,
            Self::Json(json) if json.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                RankValue::Number(json.into())
            }
            other => match other.into_text() {
                Ok(text) => RankValue::Text(text.into_owned()),
                Err(kind) => RankValue::Other(kind),
            },
        }
    }
}

/// JSON without the white space between its tokens.
fn compact(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    let keep = |&c: &char| {
        let kept = inside || !c.is_ascii_whitespace();
        inside ^= c == '"' && !escaped;
        escaped = inside && c == '\\' && !escaped;
        kept
    };
    json.chars().filter(keep).collect()
}

/// Appends an object to `out`, with only the members that have one of these names. `None` if it is no
/// object.
pub(super) fn only_members(line: &[u8], names: &[String], out: &mut Vec<u8>) -> Option<()> {
    let object = without_line_end(line);
    let RawMembers(members) = serde_json::from_slice(without_mark(object)).ok()?;
    out.push(b'{');
    let kept = members.iter().filter(|(name, _)| names.contains(name));
    for (at, (name, value)) in kept.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend(serde_json::Value::from(name.as_str()).to_string().bytes());
        out.push(b':');
        out.extend(value.get().bytes());
    }
    out.push(b'}');
    out.extend(&line[object.len()..]);
    Some(())
}

/// Appends an object to `out`, with another string as the value of a field that it has. `None` if it is
/// no object with this field.
pub(super) fn with_text(object: &str, field: &str, text: &str, out: &mut Vec<u8>) -> Option<()> {
    let [_, found, _] = find(object, [None, Some(field), None]).ok()?;
    let Some(JsonField::Json(value)) = found else { return None };
    // The value is a part of the object.
    let start = value.as_ptr().addr() - object.as_ptr().addr();
    out.extend(&object.as_bytes()[..start]);
    serde_json::to_writer(&mut *out, text).ok()?;
    out.extend(&object.as_bytes()[start + value.len()..]);
    Some(())
}

/// The members of an object, in their order.
struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawMembers<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(member) = members.next_entry()? {
                    all.push(member);
                }
                Ok(RawMembers(all))
            }
        }

        json.deserialize_map(Members)
    }
}

/// Appends an object to `out`, with more members before its last brace. `None` without a brace.
pub(super) fn with_members<'a>(
    object: &[u8],
    members: impl Iterator<Item = (&'a str, serde_json::Value)>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let brace = memchr::memrchr(b'}', object)?;
    let mut is_empty = object[..brace].trim_ascii_end().last() == Some(&b'{');
    out.extend(&object[..brace]);
    for (name, value) in members {
        if !std::mem::take(&mut is_empty) {
            out.push(b',');
        }
        out.extend(serde_json::Value::from(name).to_string().bytes());
        out.push(b':');
        out.extend(value.to_string().bytes());
    }
    out.extend(&object[brace..]);
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(object: &str, text: &str, key: &str) -> (Option<String>, Option<String>) {
        let [text, key, _] = find(object, [Some(text), Some(key), None]).unwrap();
        (
            text.map(|found| found.into_text().unwrap().into_owned()),
            key.map(|found| found.into_key().unwrap().into_owned()),
        )
    }

    proptest! {
        #[test]
        fn strings_are_unescaped_as_serde_json_does(
            text in "\\PC{0,20}", json in "\"([^\"\\\\\\x00-\\x1f]|\\\\([nrtbf\"\\\\/]|u00[2-7][0-9a-f])){0,20}\"",
        ) {
            let escaped = serde_json::to_string(&text).unwrap();
            for json in [&escaped, &json] {
                let expected: String = serde_json::from_str(json).unwrap();
                if let Some(text) = unescaped(json) {
                    prop_assert_eq!(text, expected);
                } else {
                    prop_assert!(["\\u", "\\b", "\\f"].iter().any(|rare| json.contains(rare)), "{}", json);
                }
            }
        }
    }

    #[test]
    fn texts_with_damaged_escapes_have_an_error_with_one_place() {
        for text in [r"\ud800", r"\q", r"\u12", "a\u{1}b"] {
            let object = format!("{{\"a\":\"{text}\"}}");
            let error = find(&object, [Some("a"), None, None]).unwrap_err();
            assert!(
                error.starts_with("not a JSON object: ") && error.matches("column").count() == 1,
                "{error}"
            );
        }
    }

    #[test]
    fn fields_are_found_at_any_place() {
        let some = |text: &str, key: &str| (Some(text.to_string()), Some(key.to_string()));
        for (object, expected) in [
            (r#"{"x":[{"a":1}],"a":"t","b":{"c":"k"}}"#, some("t", "k")),
            (r#" { "b" : { "c" : -1.50e2 } , "a" : "t\n\u00e9\ud83d\ude00" } "#, some("t\né😀", "-1.50e2")),
            (r#"{"a":"1","a":"2","b":{"c":"3"},"b":{"c":"4"}}"#, some("2", "4")),
            (r#"{"b.c":"whole","b":{"c":"nested"},"a":""}"#, some("", "whole")),
            (r#"{"b":{"c":"nested"},"b.c":"whole","\u0061":"t"}"#, some("t", "whole")),
            (
                r#"{"b":{"c":{ "$oid" : "a \" }" , "n":[1, 2]}},"a":"t"}"#,
                some("t", r#"{"$oid":"a \" }","n":[1,2]}"#),
            ),
            (r#"{"b":3,"c":{"c":1},"a":"t"}"#, (Some("t".into()), None)),
            (r#"{}"#, (None, None)),
        ] {
            assert_eq!(texts(object, "a", "b.c"), expected, "{object}");
        }
    }

    #[test]
    fn one_member_may_be_several_fields() {
        let object = r#"{"a":{"b":"x"}}"#;
        assert_eq!(texts(object, "a.b", "a"), (Some("x".into()), Some(r#"{"b":"x"}"#.into())));
        assert_eq!(texts(object, "a.b", "a.b"), (Some("x".into()), Some("x".into())));
        let [.., value] = find(r#"{"v":" 2.5 "}"#, [None, None, Some("v")]).unwrap();
        assert_eq!(value.unwrap().into_rank(), RankValue::Text(" 2.5 ".into()));
    }

    #[test]
    fn other_values_than_objects_are_refused() {
        for object in [
            "",
            "[]",
            "1",
            "{",
            r#"{"a":1}{}"#,
            r#"{"a":1,}"#,
            r#"{"x":tru}"#,
            r#"{"x":"\q"}"#,
            "{\"x\":\"\u{1}\"}",
        ] {
            let error = find(object, [Some("a"), None, None]).unwrap_err();
            assert!(error.starts_with("not a JSON object: ") && error.ends_with(')'), "{object}: {error}");
        }
        for (object, kind) in [
            (r#"{"a":1}"#, "a number"),
            (r#"{"a":null}"#, "null"),
            (r#"{"a":[{"a":1}]}"#, "an array"),
            (r#"{"a":{"a":1}}"#, "an object"),
            (r#"{"a":false}"#, "true or false"),
        ] {
            let [text, ..] = find(object, [Some("a"), None, None]).unwrap();
            assert_eq!(text.unwrap().into_text(), Err(kind));
            let [text, ..] = find(object, [Some("a"), Some("a"), None]).unwrap();
            assert_eq!(text.unwrap().into_text(), Err(kind));
        }
    }

    #[test]
    fn values_may_be_nested_deeply() {
        let deep = format!("{{\"x\":{}{},\"a\":\"t\"}}", "[".repeat(100_000), "]".repeat(100_000));
        let [text, ..] = find(&deep, [Some("a"), None, None]).unwrap();
        assert_eq!(text, Some(JsonField::Text("t".into())));
    }

    #[test]
    fn members_are_chosen_in_their_order() {
        let only = |line: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            let mut out = Vec::new();
            only_members(line.as_bytes(), &names, &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        let line = "{\"a\" : 1e2, \"b\":{\"a\": [1, 2]},\"\\u0063\":\"}\",\"a\":null}\r\n";
        assert_eq!(only(line, &["a"]).unwrap(), "{\"a\":1e2,\"a\":null}\r\n");
        assert_eq!(only(line, &["c", "b"]).unwrap(), "{\"b\":{\"a\": [1, 2]},\"c\":\"}\"}\r\n");
        assert_eq!(only(line, &["x"]).unwrap(), "{}\r\n");
        assert_eq!(only("\u{feff}{\"a\":1}", &["a"]).unwrap(), "{\"a\":1}");
        assert_eq!(only("[1]", &["a"]), None);
    }

    #[test]
    fn the_text_is_replaced_at_its_place() {
        let with = |object: &str, field: &str| {
            let mut out = Vec::new();
            with_text(object, field, "new \"\n", &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        let new = r#""new \"\n""#;
        for (object, field) in [
            (r#" { "a":1, "t" : "old" ,"z":[2]} "#, "t"),
            (r#"{"t":"first","x":{"t":"other"},"\u0074":"old"}"#, "t"),
            (r#"{"x":{"y":{"t":"old"},"t":"other"}}"#, "x.y.t"),
        ] {
            assert_eq!(with(object, field).unwrap(), object.replace("\"old\"", new), "{object}");
        }
        assert_eq!(with(r#"{"a":"b"}"#, "t"), None);
        assert_eq!(with("[1]", "t"), None);
    }

    #[test]
    fn members_are_added_at_the_end() {
        let with = |object: &str| {
            let (members, mut out) = ([("f\"", "7".into()), ("n", 0.5.into())], Vec::new());
            with_members(object.as_bytes(), members.into_iter(), &mut out)
                .map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(with("{\"a\":{}} \r\n").unwrap(), "{\"a\":{},\"f\\\"\":\"7\",\"n\":0.5} \r\n");
        assert_eq!(with("{ }").unwrap(), "{ \"f\\\"\":\"7\",\"n\":0.5}");
        assert_eq!(with("x"), None);
    }
}
