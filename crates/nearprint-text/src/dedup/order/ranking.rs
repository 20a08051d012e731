//! Ranks documents, in temporary files.

use super::keep::{Keep, Kind, Kinds};
use crate::dedup::temporary::{SortRow, StringFile, WorkFolder};
use crate::documents::{InputFile, RankValue, Record};
use crate::error::{Error, Result};
use nearprint::Options;
use nearprint::internal::Sorter;

/// Documents by rank. They are pushed in input order, also those that have none.
pub(crate) struct Ranking {
    keep: Keep,
    rows: Sorter<SortRow<3>>,
    /// Of a field. Their order is known when all of them are.
    values: Option<Values>,
    /// The documents so far.
    count: u64,
}

/// The values of a field, by the position of the document.
struct Values {
    /// See [`encode`]. Empty for a document without a rank.
    values: StringFile,
    kinds: Kinds,
    /// Whether a document that has a rank has a value.
    has_some: bool,
    /// Whether any document has one, also of those that have no rank; `None` before the first document that was read.
    is_known: Option<bool>,
}

impl Ranking {
    pub(crate) fn new(keep: &Keep, engine: &Options, folder: &WorkFolder) -> Result<Self> {
        let memory_bytes = engine.get_memory_bytes() / 4;
        let rows = Sorter::in_folder(folder.path(), 0, memory_bytes, engine.get_threads())?;
        let values = keep.field().map(|_| Values::new(keep)).transpose()?;
        Ok(Self { keep: keep.clone(), rows, values, count: 0 })
    }

    /// Takes a document that has no rank, or with `None` a malformed one.
    pub(crate) fn skip(&mut self, record: Option<&Record>) -> Result<()> {
        self.count += 1;
        let Some(values) = &mut self.values else { return Ok(()) };
        record.into_iter().for_each(|record| values.look_at(&record.value));
        values.values.push_bytes(&[]).map(drop)
    }

    /// Takes a document, with the number of its tokens and the file that it is from.
    pub(crate) fn push(&mut self, record: &Record, tokens: usize, file: &InputFile) -> Result<()> {
        let position = self.count;
        self.count += 1;
        let of_file = |stamp| self.keep.rank_of_file(tokens as u64, &stamp, &file.path);
        if let Some(rank) = file.stamp.and_then(of_file) {
            return self.push_row(rank, position);
        }
        if let Some(values) = &mut self.values {
            let field = self.keep.field().unwrap_or_default();
            return values.push(record, field);
        }
        let rank = match self.keep {
            Keep::Last => position,
            Keep::Longest | Keep::Shortest => record.text.chars().count() as u64,
            _ => 0,
        };
        self.push_row(rank.into(), position)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the key is cut into two halves")]
    fn push_row(&mut self, key: u128, position: u64) -> Result<()> {
        let key = if self.keep.is_descending() { !key } else { key };
        let (high, low) = ((key >> 64) as u64, key as u64);
        Ok(self.rows.push(SortRow([high, low, position]))?)
    }

    /// Visits the positions of all documents that have a rank, block by block, the best document first.
    /// Strings that begin alike are sorted in memory.
    pub(crate) fn for_each_block(mut self, mut visit: impl FnMut(&[u64]) -> Result<()>) -> Result<()> {
        let mut ties = Ties { values: None, is_descending: self.keep.is_descending() };
        if let Some(mut values) = self.values.take() {
            let kind = values.checked_kind(self.keep.field().unwrap_or_default())?;
            for position in 0..self.count {
                if let Some(value) = decode(&values.values.get_bytes(position)?) {
                    self.push_row(kind.key(&value).unwrap_or_default(), position)?;
                }
            }
            ties.values = kind.is_prefix().then_some(values.values);
        }
        let (mut key, mut equal) = (None, Vec::new());
        self.rows.finish()?.for_each_block(|block| {
            let mut positions = Vec::new();
            for &SortRow([high, low, position]) in block {
                if key != Some((high, low)) {
                    key = Some((high, low));
                    positions.append(&mut ties.sorted(&mut equal)?);
                }
                equal.push(position);
            }
            if ties.values.is_none() {
                positions.append(&mut equal);
            }
            visit(&positions)
        })?;
        visit(&ties.sorted(&mut equal)?)
    }
}

/// Sorts documents that have one key.
struct Ties {
    /// If keys are beginnings of strings.
    values: Option<StringFile>,
    is_descending: bool,
}

impl Ties {
    /// Takes positions in ascending order, and returns them in the order of ranks.
    fn sorted(&mut self, positions: &mut Vec<u64>) -> Result<Vec<u64>> {
        let positions = std::mem::take(positions);
        let Some(values) = self.values.as_mut().filter(|_| positions.len() > 1) else { return Ok(positions) };
        let with_text = |position| Ok((values.get_bytes(position)?, position));
        let mut texts = positions.into_iter().map(with_text).collect::<Result<Vec<_>>>()?;
        texts.sort_by(|(a, _), (b, _)| if self.is_descending { b.cmp(a) } else { a.cmp(b) });
        Ok(texts.into_iter().map(|(_, position)| position).collect())
    }
}

impl Values {
    fn new(keep: &Keep) -> Result<Self> {
        Ok(Self { values: StringFile::new()?, kinds: Kinds::new(keep), has_some: false, is_known: None })
    }

    fn look_at(&mut self, value: &RankValue) {
        *self.is_known.get_or_insert(false) |= *value != RankValue::Missing;
    }

    fn push(&mut self, record: &Record, field: &str) -> Result<()> {
        let value = &record.value;
        self.kinds.push(value).map_err(|()| {
            let others = if self.has_some { " with the values before it" } else { "" };
            let why = format!("field {field:?} is {value}, which cannot be ordered{others}");
            Error::input(record.place.to_string(), why)
        })?;
        self.look_at(value);
        self.has_some |= *value != RankValue::Missing;
        self.values.push_bytes(&encode(value)).map(drop)
    }

    /// The kind of the values. A name that no document has is misspelt.
    fn checked_kind(&self, field: &str) -> Result<Kind> {
        match self.is_known {
            Some(false) => Err(Error::input(format!("field {field:?}"), "no document has a value in it")),
            _ => Ok(self.kinds.kind()),
        }
    }
}

/// A value as a temporary file has it: a byte for its form, and its content.
fn encode(value: &RankValue) -> Vec<u8> {
    match value {
        RankValue::Number(number) => [b"n", number.as_bytes()].concat(),
        RankValue::Text(text) => [b"t", text.as_bytes()].concat(),
        RankValue::Time(nanoseconds) => [&b"d"[..], &nanoseconds.to_le_bytes()].concat(),
        // What cannot be ordered is not stored.
        RankValue::Missing | RankValue::Other(_) => b"-".to_vec(),
    }
}

/// Reads what [`encode`] has made. `None` for a document without a rank.
fn decode(bytes: &[u8]) -> Option<RankValue> {
    let (form, content) = bytes.split_first()?;
    let text = || String::from_utf8_lossy(content).into_owned();
    Some(match form {
        b'n' => RankValue::Number(text()),
        b't' => RankValue::Text(text()),
        b'd' => RankValue::Time(content.first_chunk().map_or(0, |bytes| i128::from_le_bytes(*bytes))),
        _ => RankValue::Missing,
    })
}
