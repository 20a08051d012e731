//! Which of several near-duplicates is kept: the order of the values of a field.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::iso8601::nanoseconds;
use crate::documents::{FileStamp, RankValue};

/// Which of several near-duplicates is kept. All but the first need two passes over the inputs.
///
/// The values of a field are numbers, or dates and times as in ISO 8601, or strings, in this order of
/// preference: the first kind that all of them are. Numbers of 64 bits are not rounded. A time without a
/// zone is in UTC; strings are ordered by their characters. A missing value is the smallest and oldest one.
/// Of equal documents, the first is kept.
///
/// [`Best`](Self::Best), [`OldestFile`](Self::OldestFile), [`NewestFile`](Self::NewestFile),
/// [`Largest`](Self::Largest) and [`ShortestPath`](Self::ShortestPath) are for documents that are whole files. Of
/// equal files, these keep the one with the shortest path, then the first.
///
/// ```
/// use nearprint_text::dedup::Keep;
///
/// assert_eq!("newest:date".parse::<Keep>()?, Keep::Newest("date".into()));
/// assert_eq!("newest".parse::<Keep>()?, Keep::NewestFile);
/// assert!("newest:".parse::<Keep>().is_err());
/// # Ok::<(), nearprint_text::dedup::ParseKeepError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Keep {
    /// The first in input order.
    First,
    /// The longest text in characters.
    Longest,
    /// The largest value in a field.
    Max(String),
    /// The last in input order.
    Last,
    /// The shortest text in characters.
    Shortest,
    /// The smallest value in a field.
    Min(String),
    /// The latest date or time in a field; numbers are seconds.
    Newest(String),
    /// The earliest date or time in a field.
    Oldest(String),
    /// The file with the most words, then the one that was changed first, then the one with the shortest path.
    Best,
    /// The file that was changed first.
    OldestFile,
    /// The file that was changed last.
    NewestFile,
    /// The file with the most bytes.
    Largest,
    /// The file with the shortest path, in characters.
    ShortestPath,
}

/// The bits of the number of words and of the length of a path in the rank of a file.
const WORD_BITS: u32 = 40;
const PATH_BITS: u32 = 24;

/// The text is not a [`Keep`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseKeepError;

impl fmt::Display for ParseKeepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "not first, last, longest, shortest, max:FIELD, min:FIELD, newest:FIELD or oldest:FIELD, nor, for files, \
             best, oldest, newest, largest or shortest-path",
        )
    }
}

impl std::error::Error for ParseKeepError {}

impl FromStr for Keep {
    type Err = ParseKeepError;

    fn from_str(text: &str) -> Result<Self, ParseKeepError> {
        Ok(match text.split_once(':') {
            None if text == "first" => Self::First,
            None if text == "last" => Self::Last,
            None if text == "longest" => Self::Longest,
            None if text == "shortest" => Self::Shortest,
            None if text == "best" => Self::Best,
            None if text == "oldest" => Self::OldestFile,
            None if text == "newest" => Self::NewestFile,
            None if text == "largest" => Self::Largest,
            None if text == "shortest-path" => Self::ShortestPath,
            Some((_, "")) | None => return Err(ParseKeepError),
            Some(("max", field)) => Self::Max(field.into()),
            Some(("min", field)) => Self::Min(field.into()),
            Some(("newest", field)) => Self::Newest(field.into()),
            Some(("oldest", field)) => Self::Oldest(field.into()),
            Some(_) => return Err(ParseKeepError),
        })
    }
}

impl Keep {
    /// The field whose values are ordered.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::Max(field) | Self::Min(field) | Self::Newest(field) | Self::Oldest(field) => Some(field),
            _ => None,
        }
    }

    /// Its name, if it is for files alone.
    #[must_use]
    pub fn of_files(&self) -> Option<&'static str> {
        match self {
            Self::Best => Some("best"),
            Self::OldestFile => Some("oldest"),
            Self::NewestFile => Some("newest"),
            Self::Largest => Some("largest"),
            Self::ShortestPath => Some("shortest-path"),
            _ => None,
        }
    }

    /// The place of a file in the order of files; the smallest is kept. `None` if this is no order of files.
    ///
    /// `words` are the tokens of its text.
    #[must_use]
    pub fn rank_of_file(&self, words: u64, stamp: &FileStamp, path: &Path) -> Option<u128> {
        let (seconds, nanoseconds) = stamp.modified;
        let time = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
        let time = time.clamp(i64::MIN.into(), i64::MAX.into());
        let time = u128::from_ne_bytes((time - i128::from(i64::MIN)).to_ne_bytes());
        let (latest, most) = (u128::from(u64::MAX), (1 << WORD_BITS) - 1);
        let first = match self {
            Self::Best => (most - u128::from(words).min(most)) << 64 | time,
            Self::OldestFile => time,
            Self::NewestFile => latest - time,
            Self::Largest => u128::from(u64::MAX - stamp.size_bytes),
            Self::ShortestPath => 0,
            _ => return None,
        };
        let chars = path.to_string_lossy().chars().count() as u128;
        Some(first << PATH_BITS | chars.min((1 << PATH_BITS) - 1))
    }

    /// The kinds that values may be, those that are preferred first.
    fn kinds(&self) -> &'static [Kind] {
        match self {
            Self::Newest(_) | Self::Oldest(_) => &[Kind::Time, Kind::Number],
            _ => &[Kind::Number, Kind::Time, Kind::Text],
        }
    }

    /// What values may be, in words.
    fn wanted(&self) -> &'static str {
        match self.kinds().contains(&Kind::Text) {
            true => "number, date, time or string",
            false => "date of ISO 8601, time or number",
        }
    }

    /// Whether the largest values are the best ones.
    pub(crate) fn is_descending(&self) -> bool {
        matches!(self, Self::Max(_) | Self::Newest(_) | Self::Longest | Self::Last)
    }

    /// The places of values in the order in which their documents are kept, the best first.
    ///
    /// ```
    /// use nearprint_text::dedup::Keep;
    /// use nearprint_text::documents::RankValue;
    ///
    /// let numbers = ["9007199254740992", "9007199254740993"].map(|text| RankValue::Number(text.into()));
    /// assert_eq!(Keep::Max("n".into()).order(&numbers)?, [1, 0]);
    /// # Ok::<(), nearprint_text::dedup::NotOrdered>(())
    /// ```
    ///
    /// # Errors
    /// The first value that cannot be ordered with those before it.
    pub fn order(&self, values: &[RankValue]) -> Result<Vec<usize>, NotOrdered> {
        let mut kinds = Kinds::new(self);
        for (index, value) in values.iter().enumerate() {
            kinds.push(value).map_err(|()| {
                let is_of_none = self.kinds().iter().all(|kind| kind.key(value).is_none());
                NotOrdered { index, value: value.to_string(), wanted: is_of_none.then(|| self.wanted()) }
            })?;
        }
        let kind = kinds.kind();
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&a, &b| {
            let ascending = kind.key(&values[a]).cmp(&kind.key(&values[b]));
            let texts = [a, b].map(|at| if kind.is_prefix() { values[at].as_text() } else { "" });
            let ascending = ascending.then_with(|| texts[0].cmp(texts[1]));
            if self.is_descending() { ascending.reverse() } else { ascending }
        });
        Ok(order)
    }
}

/// A value that cannot be ordered with those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOrdered {
    /// Its place.
    pub index: usize,
    /// The value.
    pub value: String,
    /// What it should be, if it is nothing that can be ordered.
    pub wanted: Option<&'static str>,
}

impl fmt::Display for NotOrdered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, value, wanted } = self;
        match wanted {
            Some(wanted) => write!(f, "item {index}: {value} is no {wanted}"),
            None => write!(f, "item {index}: {value} cannot be ordered with the values before it"),
        }
    }
}

impl std::error::Error for NotOrdered {}

/// What all values of a field are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers, also in strings.
    Number,
    /// Dates and times, also in strings.
    Time,
    /// Strings.
    Text,
}

/// The kinds that all of some values are, those that are preferred first.
#[must_use]
pub fn common_kinds(keep: &Keep, values: &[RankValue]) -> Vec<Kind> {
    let mut kinds = Kinds::new(keep);
    match values.iter().try_for_each(|value| kinds.push(value)) {
        Ok(()) => kinds.0,
        Err(()) => Vec::new(),
    }
}

/// The kinds that all values so far are.
pub(crate) struct Kinds(Vec<Kind>);

impl Kinds {
    pub(crate) fn new(keep: &Keep) -> Self {
        Self(keep.kinds().to_vec())
    }

    /// Takes a value. An error if it cannot be ordered with those before it.
    pub(crate) fn push(&mut self, value: &RankValue) -> Result<(), ()> {
        self.0.retain(|kind| kind.key(value).is_some());
        if self.0.is_empty() { Err(()) } else { Ok(()) }
    }

    /// The kind that is preferred.
    pub(crate) fn kind(&self) -> Kind {
        self.0.first().copied().unwrap_or(Kind::Text)
    }
}

/// What a key of a missing value is, below all others.
const MISSING: u128 = 0;

impl Kind {
    /// A number in the order of the values. `None` if a value is not of this kind. Strings with
    /// [equal](Self::is_prefix) numbers may differ.
    pub(crate) fn key(self, value: &RankValue) -> Option<u128> {
        match (self, value) {
            (_, RankValue::Missing) => Some(MISSING),
            (Self::Number, RankValue::Number(text) | RankValue::Text(text)) => number_key(text.trim()),
            (Self::Time, RankValue::Time(nanoseconds)) => Some(time_key(*nanoseconds)),
            (Self::Time, RankValue::Text(text)) => nanoseconds(text.trim()).map(time_key),
            (Self::Text, RankValue::Text(text)) => Some(prefix_key(text)),
            _ => None,
        }
    }

    /// Bytes in the order of the values, none for a missing one. `None` if a value is not of this kind.
    #[must_use]
    pub fn sort_key(self, value: &RankValue) -> Option<Vec<u8>> {
        let key = self.key(value)?;
        Some(match (self, value) {
            (_, RankValue::Missing) => Vec::new(),
            (Self::Text, _) => [&[1], value.as_text().as_bytes()].concat(),
            _ => key.to_be_bytes().to_vec(),
        })
    }

    /// Whether values with one key have to be compared as strings.
    pub(crate) fn is_prefix(self) -> bool {
        self == Self::Text
    }
}

/// The order of numbers: the largest float that is not above one, then the rest of an integer. `None` for
/// what is no number; NaN is none.
#[expect(clippy::cast_possible_truncation, reason = "the float is a whole number of at most 2^127")]
fn number_key(text: &str) -> Option<u128> {
    let (float, rest) = match text.parse::<i128>() {
        Ok(integer) => {
            let mut float = integer as f64;
            if float as i128 > integer {
                float = float.next_down();
            }
            (float, u64::try_from(integer.saturating_sub(float as i128)).unwrap_or(u64::MAX))
        }
        Err(_) => (text.parse::<f64>().ok().filter(|float| !float.is_nan())?, 0),
    };
    // The bits of positive floats are in the order of the numbers, the bits of negative floats in the
    // reverse order. Adding zero turns the negative zero into the positive one.
    let bits = (float + 0.0).to_bits();
    let ascending = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
    Some(u128::from(ascending) << 64 | u128::from(rest))
}

fn time_key(nanoseconds: i128) -> u128 {
    nanoseconds.cast_unsigned() ^ 1 << 127
}

/// The first bytes of a string, after a byte that makes it larger than a missing value.
fn prefix_key(text: &str) -> u128 {
    let mut bytes = [0; 16];
    bytes[0] = 1;
    bytes[1..].iter_mut().zip(text.bytes()).for_each(|(byte, of_text)| *byte = of_text);
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(values: &[&str]) -> Vec<RankValue> {
        values
            .iter()
            .map(|text| if text.is_empty() { RankValue::Missing } else { RankValue::Text((*text).into()) })
            .collect()
    }

    fn order(keep: &str, values: &[&str]) -> Vec<usize> {
        keep.parse::<Keep>().unwrap().order(&texts(values)).unwrap()
    }

    #[test]
    fn the_best_file_has_most_words_then_is_oldest_then_has_the_shortest_path() {
        let stamp = |size_bytes, seconds| FileStamp { size_bytes, modified: (seconds, 5), id: (0, 0) };
        // Each is better than those behind it.
        let files = [
            (9, stamp(1, 7), "long/path"),
            (8, stamp(1, -3), "a"),
            (8, stamp(1, 2), "a"),
            (8, stamp(3, 3), "é.txt"),
            (8, stamp(2, 3), "r (1).txt"),
            (0, stamp(2, i64::MIN), ""),
        ];
        let ranks = |keep: &Keep| {
            files.map(|(words, stamp, path)| keep.rank_of_file(words, &stamp, path.as_ref()).unwrap())
        };
        assert!(ranks(&Keep::Best).is_sorted(), "{:?}", ranks(&Keep::Best));
        let first =
            |keep: Keep| ranks(&keep).into_iter().enumerate().min_by_key(|(_, rank)| *rank).unwrap().0;
        assert_eq!(first(Keep::OldestFile), 5);
        assert_eq!(first(Keep::NewestFile), 0);
        assert_eq!(first(Keep::Largest), 3);
        assert_eq!(first(Keep::ShortestPath), 5);
        assert_eq!(Keep::First.rank_of_file(1, &stamp(1, 1), "a".as_ref()), None);
        for name in ["best", "oldest", "newest", "largest", "shortest-path"] {
            assert_eq!(name.parse::<Keep>().unwrap().of_files(), Some(name));
        }
    }

    #[test]
    fn regression_numbers_of_64_bits_are_not_rounded() {
        let values = ["9007199254740992", "9007199254740993", "18446744073709551615", "18446744073709551614"];
        assert_eq!(order("max:n", &values), [2, 3, 1, 0]);
        assert_eq!(order("min:n", &["-9007199254740993", "-9007199254740992", "-1e300", "0"]), [2, 0, 1, 3]);
        assert_eq!(order("max:n", &["2", "10", "", "1.5", "-0", "0", " 7 "]), [1, 6, 0, 3, 4, 5, 2]);
        assert_eq!(order("min:n", &["2", "", "-1"]), [1, 2, 0]);
    }

    #[test]
    fn times_of_all_forms_are_ordered() {
        let values = [
            "2024-03-01",
            "2024-02-29T23:59:59.5Z",
            "2024-03-01T01:00:00+02:00",
            "",
            "2024-W09-5T12:00",
            "20240301T235959",
            "2024-061 06:00:00,25",
        ];
        assert_eq!(order("newest:d", &values), [5, 4, 6, 0, 1, 2, 3]);
        assert_eq!(order("oldest:d", &values), [3, 2, 1, 0, 6, 4, 5]);
        assert_eq!(order("max:d", &values), order("newest:d", &values));
        assert_eq!(order("newest:d", &["1700000000", "1700000001.5"]), [1, 0]);
    }

    #[test]
    fn strings_are_ordered_to_their_ends_and_others_named() {
        let long = "the same beginning of several ";
        let values = [format!("{long}b"), format!("{long}a"), "z".into(), "a\u{0}".into(), "a".into()];
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        assert_eq!(order("max:s", &values), [2, 0, 1, 3, 4]);
        let error = Keep::Newest("d".into()).order(&texts(&["2024-01-01", "", "2024-13-01"])).unwrap_err();
        assert_eq!((error.index, &*error.value), (2, "\"2024-13-01\""));
        let mut keys = texts(&values).iter().map(|text| Kind::Text.sort_key(text)).collect::<Vec<_>>();
        keys.sort();
        assert_eq!(keys, [4, 3, 1, 0, 2].map(|at| Kind::Text.sort_key(&texts(&values)[at])));
        let mixed = [RankValue::Number("1".into()), RankValue::Text("b".into())];
        assert_eq!(common_kinds(&Keep::Max("n".into()), &mixed), []);
        assert_eq!(Keep::Max("n".into()).order(&mixed).unwrap_err().index, 1);
        assert!(Keep::Max("n".into()).order(&[RankValue::Other("an array")]).is_err());
    }

    proptest! {
        #[test]
        fn keys_are_in_the_order_of_numbers(a in any::<i64>(), b in any::<u64>(), d in -9i64..9, c in any::<f64>(), e in any::<i32>()) {
            for (a, b) in [(i128::from(a), i128::from(b)), (i128::from(a), i128::from(a) + i128::from(d))] {
                prop_assert_eq!(number_key(&a.to_string()).cmp(&number_key(&b.to_string())), a.cmp(&b));
            }
            let ordered = number_key(&c.to_string()).cmp(&number_key(&e.to_string()));
            prop_assert_eq!(Some(ordered), c.partial_cmp(&f64::from(e)));
            let bytes = [c.to_string(), e.to_string()].map(|text| Kind::Number.sort_key(&RankValue::Number(text)));
            prop_assert_eq!(bytes[0].cmp(&bytes[1]), ordered);
        }
    }
}
