//! Values of records between two formats, and the types of columns that hold them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::json::push_string;

/// A value of a record that is written in another format.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Null,
    Text(Cow<'a, str>),
    /// Any other value, as its JSON: a number with all its digits, true, false, an array or an object.
    Json(Cow<'a, str>),
}

/// What becomes of arrays and objects in formats that have only columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nested {
    /// They are errors.
    #[default]
    Refuse,
    /// They are texts: their JSON.
    Json,
}

impl FromStr for Nested {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "json" { Ok(Self::Json) } else { Err("not json") }
    }
}

/// The type of a column of Parquet that holds values of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellKind {
    /// Strings; of other values their JSON.
    Text,
    /// From -2^63 to 2^63 - 1.
    Integer,
    /// From 0 to 2^64 - 1.
    Unsigned,
    /// Numbers that a 64-bit float holds with all their digits.
    Float,
    Flag,
}

impl Cell<'_> {
    /// What an array or an object is called.
    pub(super) fn nested_name(&self) -> Option<&'static str> {
        match self {
            Self::Json(json) if json.starts_with('{') => Some("an object"),
            Self::Json(json) if json.starts_with('[') => Some("an array"),
            _ => None,
        }
    }

    /// Appends the value as JSON to `out`.
    pub(super) fn push_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend(b"null"),
            Self::Text(text) => push_string(text, out),
            Self::Json(json) => out.extend(json.bytes()),
        }
    }

    /// The content of a cell of CSV, or of a string.
    pub(super) fn content(&self) -> Option<&str> {
        match self {
            Self::Null => None,
            Self::Text(text) | Self::Json(text) => Some(text),
        }
    }

    /// The number or flag of this kind; `None` if it is none.
    #[cfg(feature = "parquet")]
    pub(super) fn number<T: FromStr>(&self, kind: CellKind) -> Option<T> {
        self.content().filter(|_| kind.holds(self)).and_then(|content| content.parse().ok())
    }
}

impl CellKind {
    /// Whether a column of this kind holds a value, unchanged.
    pub(super) fn holds(self, cell: &Cell<'_>) -> bool {
        match (self, cell) {
            (_, Cell::Null) | (Self::Text, _) => true,
            (_, Cell::Text(_)) => false,
            (Self::Integer, Cell::Json(json)) => json.parse::<i64>().is_ok() && **json != *"-0",
            (Self::Unsigned, Cell::Json(json)) => json.parse::<u64>().is_ok(),
            (Self::Float, Cell::Json(json)) => fits_float(json),
            (Self::Flag, Cell::Json(json)) => **json == *"true" || **json == *"false",
        }
    }
}

impl fmt::Display for CellKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "strings",
            Self::Integer => "64-bit integers",
            Self::Unsigned => "unsigned 64-bit integers",
            Self::Float => "64-bit floats",
            Self::Flag => "booleans",
        })
    }
}

/// The kinds that hold all values of a column so far.
#[derive(Clone, Debug)]
pub(super) struct Kinds(Vec<CellKind>);

impl Default for Kinds {
    fn default() -> Self {
        Self(vec![CellKind::Flag, CellKind::Integer, CellKind::Unsigned, CellKind::Float])
    }
}

impl Kinds {
    pub(super) fn push(&mut self, cell: &Cell<'_>) {
        self.0.retain(|kind| kind.holds(cell));
    }

    /// The narrowest of them; strings if there is no other one, or no value.
    pub(super) fn narrowest(&self) -> CellKind {
        match &*self.0 {
            [_, _, _, _] | [] => CellKind::Text,
            [first, ..] => *first,
        }
    }
}

/// Whether the nearest 64-bit float of a number of JSON is printed as the same number.
fn fits_float(json: &str) -> bool {
    let Ok(float) = json.parse::<f64>() else { return false };
    // Python writes these words as numbers.
    matches!(json, "NaN" | "Infinity" | "-Infinity")
        || float.is_finite() && Digits::of(json) == Digits::of(&format!("{float:e}"))
}

/// A number as its sign, its digits without zeros around them, and the power of ten of the last one.
#[derive(PartialEq)]
struct Digits {
    is_negative: bool,
    digits: String,
    power: i64,
}

impl Digits {
    /// `None` if the power has too many digits, or this is no number.
    fn of(number: &str) -> Option<Self> {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{}{fraction}", whole.trim_start_matches('-'));
        let digits = all.trim_end_matches('0');
        let power = i64::try_from(all.len() - digits.len()).ok()? - i64::try_from(fraction.len()).ok()?;
        let digits = digits.trim_start_matches('0').to_string();
        let is_zero = digits.is_empty();
        let power = if is_zero { 0 } else { exponent.parse::<i64>().ok()?.checked_add(power)? };
        Some(Self { is_negative: number.starts_with('-'), digits, power })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(values: &[&str]) -> CellKind {
        let mut kinds = Kinds::default();
        for value in values {
            kinds.push(&match *value {
                "null" => Cell::Null,
                text if text.starts_with('"') => Cell::Text(text.trim_matches('"').into()),
                json => Cell::Json(json.into()),
            });
        }
        kinds.narrowest()
    }

    #[test]
    fn the_narrowest_kind_holds_all_values() {
        for (values, expected) in [
            (&["null"][..], CellKind::Text),
            (&[], CellKind::Text),
            (&["true", "null", "false"], CellKind::Flag),
            (&["true", "1"], CellKind::Text),
            (&["1", "\"1\""], CellKind::Text),
            (&["-9223372036854775808", "9223372036854775807"], CellKind::Integer),
            (&["9223372036854775808", "0"], CellKind::Unsigned),
            (&["18446744073709551615"], CellKind::Unsigned),
            (&["18446744073709551616"], CellKind::Text),
            (&["1e19"], CellKind::Float),
            (&["18446744073709551617"], CellKind::Text),
            (&["9223372036854775808", "-1"], CellKind::Text),
            (&["1e18", "-1"], CellKind::Float),
            (&["-0", "1"], CellKind::Float),
            (&["1", "0.5", "1e300", "-2.50E+3"], CellKind::Float),
            (&["1.0"], CellKind::Float),
            (&["0.1234567890123456789"], CellKind::Text),
            (&["1e400"], CellKind::Text),
            (&["1e-400"], CellKind::Text),
            (&["0e-999999999999999999999"], CellKind::Float),
            (&["1e99999999999999999999"], CellKind::Text),
            (&["NaN", "-Infinity", "1"], CellKind::Float),
            (&["[1]"], CellKind::Text),
        ] {
            assert_eq!(kind(values), expected, "{values:?}");
        }
    }
}
