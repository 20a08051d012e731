//! Finds the fields of a JSON object in one pass, without a tree of the rest.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::{RankValue, json_text, not_a_key};
use super::kind::Encoding;
use super::lines::{without_line_end, without_mark};

/// The requested fields: text, key, value.
const NUM_FIELDS: usize = 3;
/// The numbers that Python writes and JSON does not have. A minus sign may be before the second one.
const NUMBER_WORDS: [&str; 2] = ["NaN", "Infinity"];
type Names<'n> = [Option<&'n str>; NUM_FIELDS];

/// The value of a field, as its JSON source, which is valid but for what [`masked`] forgives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct JsonField<'a>(&'a str);

/// Finds fields in an object. The last of several members with one name counts.
pub(super) fn find<'a>(
    object: &'a str,
    names: Names<'_>,
) -> Result<[Option<JsonField<'a>>; NUM_FIELDS], String> {
    find_strictly(object, names).or_else(|error| {
        let masked = masked(object).ok_or(error)?;
        let found = find_strictly(&masked, names)?;
        let place = |JsonField(value): JsonField<'_>| JsonField(&object[place_in(&masked, value)]);
        Ok(found.map(|value| value.map(place)))
    })
}

fn find_strictly<'a>(
    object: &'a str,
    names: Names<'_>,
) -> Result<[Option<JsonField<'a>>; NUM_FIELDS], String> {
    let mut found = [const { None }; NUM_FIELDS];
    let mut json = serde_json::Deserializer::from_str(object);
    let top = Object { names, found: &mut found, required: true };
    top.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| describe(&error))?;
    Ok(found)
}

/// The place of a part of a text in it.
fn place_in(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    start..start + part.len()
}

/// JSON of the same length without what Python writes and JSON does not have: NaN, Infinity and -Infinity are other
/// numbers, and escapes of half a character in names are those of U+FFFD. `None` if there is nothing of it.
fn masked(json: &str) -> Option<String> {
    let bytes = json.as_bytes();
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr3(b'"', b'N', b'I', rest)) {
        at += found;
        let is_at = |word: &&str| {
            let rest = bytes[at..].strip_prefix(word.as_bytes());
            rest.is_some_and(|rest| !rest.first().is_some_and(u8::is_ascii_alphanumeric))
        };
        let word = NUMBER_WORDS.into_iter().find(is_at);
        match word {
            Some(word) => {
                masked[at..at + word.len()].fill(b'1');
                at += word.len();
            }
            None if bytes[at] == b'"' => at = mask_string(bytes, at + 1, &mut masked),
            None => at += 1,
        }
    }
    (masked != bytes).then(|| String::from_utf8(masked).ok())?
}

/// Masks what is behind the quotation mark that begins a string. Returns the place behind the one that ends it.
fn mask_string(json: &[u8], mut at: usize, masked: &mut [u8]) -> usize {
    while let Some(found) = json.get(at..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        at += found;
        if json[at] == b'"' {
            return at + 1;
        }
        let escape = Escape::of(&json[at..]);
        if escape.is_some_and(|escape| escape.is_half) {
            masked[at..at + 6].copy_from_slice(b"\\ufffd");
        }
        at += escape.map_or(2, |escape| escape.len);
    }
    json.len()
}

/// An escape in a string.
#[derive(Clone, Copy)]
struct Escape {
    character: char,
    len: usize,
    /// Whether it is one of half a character, in place of which U+FFFD stands.
    is_half: bool,
}

impl Escape {
    /// The escape at the start of bytes.
    fn of(bytes: &[u8]) -> Option<Self> {
        let short = |character| Some(Self { character, len: 2, is_half: false });
        match bytes.get(1)? {
            b'n' => short('\n'),
            b'r' => short('\r'),
            b't' => short('\t'),
            b'b' => short('\u{8}'),
            b'f' => short('\u{c}'),
            same @ (b'"' | b'\\' | b'/') => short(char::from(*same)),
            _ => {
                let units = [code_unit(bytes)?, bytes.get(6..).and_then(code_unit).unwrap_or_default()];
                Some(match char::decode_utf16(units).next()? {
                    Ok(character) => Self { character, len: 6 * character.len_utf16(), is_half: false },
                    Err(_) => Self { character: char::REPLACEMENT_CHARACTER, len: 6, is_half: true },
                })
            }
        }
    }
}

/// The code unit of UTF-16 that an escape at the start of bytes denotes.
fn code_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"\\u")?.get(..4)?;
    let unit = digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?));
    unit.and_then(|unit| u16::try_from(unit).ok())
}

/// The names of the members of an object.
pub(super) fn names(object: &str) -> Vec<String> {
    let masked = masked(object);
    let object = masked.as_deref().unwrap_or(object);
    let members = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(object);
    members.map(|members| members.into_iter().map(|(name, _)| name).collect()).unwrap_or_default()
}

/// The key in one field of an object; `None` without the field.
///
/// # Errors
/// The reason, if this is no JSON object or the field is no key.
pub fn key_in<'a>(object: &'a str, field: &str) -> Result<Option<Cow<'a, str>>, String> {
    let [_, found, _] = find(object, [None, Some(field), None])?;
    let key = |found: JsonField<'a>| found.into_key().map_err(|kind| not_a_key(field, kind));
    Ok(found.map(key).transpose()?.map(|(key, _)| key))
}

fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    format!("not a JSON object: {} (column {})", without_place(&text), error.column())
}

/// The message of an error without its line and column.
fn without_place(message: &str) -> &str {
    message.rsplit_once(" at line ").map_or(message, |(what, _)| what)
}

/// The string of a valid JSON value, and whether it has escapes of half a character, which become U+FFFD. `None` for
/// other values. `serde_json` decodes strings with escapes into a buffer that grows anew for each string.
fn unescaped(json: &str) -> Option<(Cow<'_, str>, bool)> {
    let mut rest = json.strip_prefix('"')?.strip_suffix('"')?;
    let next_escape = |rest: &str| memchr::memchr(b'\\', rest.as_bytes());
    let Some(mut at) = next_escape(rest) else { return Some((Cow::Borrowed(rest), false)) };
    let mut text = String::with_capacity(rest.len());
    let mut has_half = false;
    loop {
        text.push_str(&rest[..at]);
        let escape = Escape::of(&rest.as_bytes()[at..])?;
        text.push(escape.character);
        has_half |= escape.is_half;
        rest = &rest[at + escape.len..];
        match next_escape(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    text.push_str(rest);
    Some((Cow::Owned(text), has_half))
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
            } else if hit.whole == [false; NUM_FIELDS] {
                members.next_value_seed(Object { names: inside, found: self.found, required: false })?;
            } else {
                let json = members.next_value::<&RawValue>()?.get();
                if nested {
                    let mut again = serde_json::Deserializer::from_str(json);
                    let object = Object { names: inside, found: self.found, required: false };
                    object.deserialize(&mut again).map_err(A::Error::custom)?;
                }
                for at in (0..NUM_FIELDS).filter(|&at| hit.whole[at]) {
                    self.found[at] = Some(JsonField(json));
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

/// A string with U+FFFD for escapes of half a character, and whether there are any.
pub(super) type Decoded<'a> = (Cow<'a, str>, bool);

impl<'a> JsonField<'a> {
    /// The kind of the value in messages.
    fn kind(self) -> &'static str {
        match self.0.as_bytes().first() {
            Some(b'"') => "a string",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "true or false",
            Some(b'n') => "null",
            _ => "a number",
        }
    }

    /// The string, or the kind of another value.
    pub(super) fn into_text(self) -> Result<Decoded<'a>, &'static str> {
        unescaped(self.0).ok_or_else(|| self.kind())
    }

    pub(super) fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// Whether it is a number that JSON has.
    fn is_number(self) -> bool {
        let digits = self.0.strip_prefix('-').unwrap_or(self.0);
        digits.starts_with(|c: char| c.is_ascii_digit())
    }

    /// The key: the content of a string, the source of a number, an object without white space.
    pub(super) fn into_key(self) -> Result<Decoded<'a>, &'static str> {
        match self.0 {
            json if json.starts_with('{') => Ok((compact(json).into(), false)),
            json if self.is_number() => Ok((json.into(), false)),
            _ => self.into_text(),
        }
    }

    /// What ranks a record.
    pub(super) fn into_rank(self) -> RankValue {
        match self.0 {
            "null" | "NaN" => RankValue::Missing,
            json if self.kind() == "a number" => RankValue::Number(json.into()),
            _ => match self.into_text() {
                Ok((text, _)) => RankValue::Text(text.into_owned()),
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

/// Appends an object to `out`, with only the members that have one of these names, whose bytes stay. Returns their
/// number: 0 for what is no object.
pub(super) fn only_members(
    line: &[u8],
    encoding: Option<Encoding>,
    names: &[String],
    out: &mut Vec<u8>,
) -> usize {
    let object = without_line_end(line);
    let bytes = without_mark(object);
    let ascii = encoding.unwrap_or(Encoding::UTF_8).ascii_of(bytes);
    let masked = masked(&ascii);
    let json = masked.as_deref().unwrap_or(&ascii);
    let RawMembers(members) = serde_json::from_str(json).unwrap_or_default();
    let places = members.iter().map(|(name, value)| [name, value].map(|part| place_in(json, part.get())));
    let is_chosen = |name: &[u8]| {
        let (name, _) = json_text(name, encoding);
        unescaped(&name).is_some_and(|(name, _)| names.iter().any(|chosen| *chosen == name))
    };
    out.push(b'{');
    let mut count = 0;
    for [name, value] in places.filter(|[name, _]| is_chosen(&bytes[name.clone()])) {
        if count > 0 {
            out.push(b',');
        }
        count += 1;
        out.extend(&bytes[name]);
        out.push(b':');
        out.extend(&bytes[value]);
    }
    out.push(b'}');
    out.extend(&line[object.len()..]);
    count
}

/// The first of these names that a member of an object has.
pub(super) fn taken<'a>(
    line: &[u8],
    encoding: Option<Encoding>,
    names: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let (object, _) = json_text(without_mark(without_line_end(line)), encoding);
    let names: Vec<&str> = names.collect();
    names.chunks(NUM_FIELDS).find_map(|names| {
        let found = find(&object, std::array::from_fn(|at| names.get(at).copied())).ok()?;
        names.iter().zip(found).find_map(|(&name, value)| value.map(|_| name))
    })
}

/// Removes the names of the members of an object from `names`.
pub(super) fn remove_names(line: &[u8], encoding: Option<Encoding>, names: &mut Vec<String>) {
    let (object, _) = json_text(without_mark(without_line_end(line)), encoding);
    let found = members(&object).unwrap_or_default();
    names.retain(|name| !found.iter().any(|(found, _)| found == name));
}

/// A string as JSON, of ASCII alone for records in another encoding than UTF-8.
pub(super) fn json_of(text: &str, is_ascii: bool) -> String {
    let json = serde_json::Value::from(text).to_string();
    if !is_ascii || json.is_ascii() {
        return json;
    }
    let escaped = |c: char| -> String {
        let mut units = [0; 2];
        c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    json.chars().map(|c| if c.is_ascii() { c.into() } else { escaped(c) }).collect()
}

/// Appends an object to `out`, with another value, which is JSON, of a field that it has. `None` if it is
/// no object with this field.
pub(super) fn with_value(object: &str, field: &str, value: &str, out: &mut Vec<u8>) -> Option<()> {
    let [_, found, _] = find(object, [None, Some(field), None]).ok()?;
    let Range { start, end } = place_in(object, found?.0);
    out.extend(&object.as_bytes()[..start]);
    out.extend(value.as_bytes());
    out.extend(&object.as_bytes()[end..]);
    Some(())
}

/// The names and values of the members of an object, in their order.
///
/// # Errors
/// The reason, if this is no object.
pub(super) fn members(object: &str) -> Result<Vec<(String, &str)>, String> {
    let parsed = |json| serde_json::from_str::<RawMembers<'_>>(json).map_err(|error| describe(&error));
    let masked;
    let (json, RawMembers(members)) = match parsed(object) {
        Ok(members) => (object, members),
        Err(error) => {
            masked = self::masked(object).ok_or(error)?;
            (&*masked, parsed(&masked)?)
        }
    };
    let of = |(name, value): (&RawValue, &RawValue)| {
        let (name, _) = unescaped(name.get())?;
        Some((name.into_owned(), &object[place_in(json, value.get())]))
    };
    Ok(members.into_iter().filter_map(of).collect())
}

/// The string of a value that begins with a quotation mark.
///
/// # Errors
/// The reason, if it is none.
pub(super) fn string_of(json: &str) -> Result<Cow<'_, str>, String> {
    unescaped(json).map(|(text, _)| text).ok_or_else(|| "not a valid string".into())
}

/// Appends a string as JSON to `out`.
pub(super) fn push_string(text: &str, out: &mut Vec<u8>) {
    out.extend(json_of(text, false).bytes());
}

/// The members of an object with their names, in their order.
#[derive(Default)]
struct RawMembers<'a>(Vec<(&'a RawValue, &'a RawValue)>);

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

/// Appends an object to `out`, with more members before its last brace, whose values are JSON. `None` without a brace.
pub(super) fn with_members(
    object: &[u8],
    members: impl Iterator<Item = (String, String)>,
    out: &mut Vec<u8>,
) -> Option<()> {
    let brace = memchr::memrchr(b'}', object)?;
    let mut is_empty = object[..brace].trim_ascii_end().last() == Some(&b'{');
    out.extend(&object[..brace]);
    for (name, value) in members {
        if !std::mem::take(&mut is_empty) {
            out.push(b',');
        }
        out.extend(name.bytes());
        out.push(b':');
        out.extend(value.bytes());
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
            text.map(|found| found.into_text().unwrap().0.into_owned()),
            key.map(|found| found.into_key().unwrap().0.into_owned()),
        )
    }

    proptest! {
        #[test]
        fn strings_are_unescaped_as_serde_json_does(
            text in "\\PC{0,20}", json in "\"([^\"\\\\\\x00-\\x1f]|\\\\([nrtbf\"\\\\/]|u00[2-7][0-9a-f]|u[efEF][0-9a-fA-F]{3}|ud8[0-3][0-9a-f]\\\\udc[0-9a-f]{2})){0,20}\"",
        ) {
            let escaped = serde_json::to_string(&text).unwrap();
            for json in [&escaped, &json] {
                let expected: String = serde_json::from_str(json).unwrap();
                prop_assert_eq!(unescaped(json).unwrap(), (expected.into(), false));
            }
        }
    }

    #[test]
    fn texts_with_damaged_escapes_have_an_error_with_one_place() {
        for text in [r"\q", r"\u12", "a\u{1}b"] {
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
    fn regression_escapes_of_half_a_character_become_a_replacement_character() {
        let [text, key, rank] = find(
            r#"{"x\udc00":NaN,"t":"a \ud83d b\udc00\ud83d\ude00","k":"\ud83d\u0041","r":-Infinity}"#,
            [Some("t"), Some("k"), Some("r")],
        )
        .unwrap();
        assert_eq!(text.unwrap().into_text(), Ok(("a \u{fffd} b\u{fffd}😀".into(), true)));
        assert_eq!(key.unwrap().into_key(), Ok(("\u{fffd}A".into(), true)));
        assert_eq!(rank.unwrap().into_rank(), RankValue::Number("-Infinity".into()));
    }

    #[test]
    fn regression_numbers_of_python_are_no_error_where_they_are_not_asked_for() {
        let object = r#"{"n":NaN,"list":[Infinity,{"x":-Infinity}],"t":"NaN","k":{"i": Infinity},"r":NaN}"#;
        let [text, key, rank] = find(object, [Some("t"), Some("k"), Some("r")]).unwrap();
        assert_eq!(text.unwrap().into_text(), Ok(("NaN".into(), false)));
        assert_eq!(key.unwrap().into_key(), Ok((r#"{"i":Infinity}"#.into(), false)));
        assert_eq!(rank.unwrap().into_rank(), RankValue::Missing);
        assert_eq!(names(object), ["k", "list", "n", "r", "t"]);
        let [text, key, _] = find(object, [Some("n"), Some("r"), None]).unwrap();
        assert_eq!((text.unwrap().into_text(), key.unwrap().into_key()), (Err("a number"), Err("a number")));
        for object in [r#"{"t":NaNa}"#, r#"{"t":Inf}"#, r#"{"t":-NaN1}"#, r#"{NaN:1}"#, r#"{"t":"NaN}"#] {
            assert!(find(object, [Some("t"), None, None]).is_err(), "{object}");
        }
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
        assert_eq!(text, Some(JsonField("\"t\"")));
    }

    #[test]
    fn members_are_chosen_in_their_order() {
        let only = |line: &str, names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            let mut out = Vec::new();
            let count = only_members(line.as_bytes(), None, &names, &mut out);
            (count, String::from_utf8(out).unwrap())
        };
        let line = "{\"a\" : 1e2, \"b\":{\"a\": [1, 2]},\"\\u0063\":\"}\",\"a\":null}\r\n";
        let found = |count: usize, object: &str| (count, object.to_string());
        assert_eq!(only(line, &["a"]), found(2, "{\"a\":1e2,\"a\":null}\r\n"));
        let chosen = found(2, "{\"b\":{\"a\": [1, 2]},\"\\u0063\":\"}\"}\r\n");
        assert_eq!(only(line, &["c", "b"]), chosen);
        assert_eq!(only(line, &["x"]), found(0, "{}\r\n"));
        assert_eq!(only("\u{feff}{\"a\":1}", &["a"]), found(1, "{\"a\":1}"));
        assert_eq!(only("[1]", &["a"]).0, 0);
        let odd = r#"{"\udc00":1,"a":"\ud83d","b":NaN,"c":-Infinity}"#;
        assert_eq!(only(odd, &["a", "b"]), found(2, r#"{"a":"\ud83d","b":NaN}"#));
    }

    #[test]
    fn the_text_is_replaced_at_its_place() {
        let with = |object: &str, field: &str| {
            let mut out = Vec::new();
            with_value(object, field, &json_of("new \"\n", false), &mut out)
                .map(|()| String::from_utf8(out).unwrap())
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
            let (members, mut out) = ([("f\"", "\"7\""), ("n", "0.5")], Vec::new());
            let members = members.map(|(name, value)| (json_of(name, false), value.to_string()));
            with_members(object.as_bytes(), members.into_iter(), &mut out)
                .map(|()| String::from_utf8(out).unwrap())
        };
        assert_eq!(with("{\"a\":{}} \r\n").unwrap(), "{\"a\":{},\"f\\\"\":\"7\",\"n\":0.5} \r\n");
        assert_eq!(with("{ }").unwrap(), "{ \"f\\\"\":\"7\",\"n\":0.5}");
        assert_eq!(with("x"), None);
    }
}
