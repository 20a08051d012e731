//! How records become rows of another format.

use std::borrow::Cow;
use std::collections::HashMap;

use super::cell::{Cell, CellKind, Nested};
use super::csv::{contents, push_cell};
use super::fields::{cell_text, json_text};
use super::format::Format;
use super::json;
use super::kind::Encoding;
use super::lines::without_mark;
#[cfg(feature = "parquet")]
use super::parquet::cell_at;
#[cfg(feature = "parquet")]
use super::record::Content;
use super::record::Record;
use crate::error::Result;

/// A column of the rows.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: CellKind,
    /// Its place in records of CSV.
    pub(super) place: usize,
}

/// How records of one format become rows of another.
#[derive(Debug)]
pub(super) struct Conversion {
    /// The format of the rows.
    pub(super) to: Format,
    from: Format,
    columns: Vec<Column>,
    /// The columns by their names.
    places: HashMap<String, usize>,
    /// What is between the cells of records of CSV.
    delimiter: u8,
    nested: Nested,
    /// Of JSON: how many records have made the columns, so that a further member is an error.
    made_of: Option<usize>,
}

impl Conversion {
    pub(super) fn new(
        (from, delimiter): (Format, u8),
        to: Format,
        columns: Vec<Column>,
        (nested, made_of): (Nested, Option<usize>),
    ) -> Self {
        let places = columns.iter().enumerate().map(|(place, column)| (column.name.clone(), place)).collect();
        Self { to, from, columns, places, delimiter, nested, made_of }
    }

    #[cfg(feature = "parquet")]
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Fails if a record of JSON lines is no row.
    pub(super) fn check(&self, line: &str) -> Result<(), String> {
        if self.from == Format::Jsonl { self.of_json(line).map(drop) } else { Ok(()) }
    }

    /// Calls `write` with the row of a record, with another text in this field if there is one.
    pub(super) fn with_row<T>(
        &self,
        record: &Record,
        field: &str,
        text: Option<&str>,
        write: impl FnOnce(&[Cell<'_>]) -> Result<T>,
    ) -> Result<T> {
        let failed = |why| crate::error::Error::input(record.place.to_string(), why);
        let bytes = without_mark(record.content.line());
        if self.from == Format::Jsonl {
            let (mut line, _) = json_text(bytes, record.encoding);
            if let Some(text) = text {
                let mut changed = Vec::new();
                // The record was parsed and has lost a part of its text, so it has the field.
                let _ = json::with_value(&line, field, &json::json_of(text, false), &mut changed);
                line = String::from_utf8_lossy(&changed).into_owned().into();
            }
            return write(&self.of_json(&line).map_err(failed)?);
        }
        let mut row = match &record.content {
            #[cfg(feature = "parquet")]
            Content::Row { row, .. } => {
                self.columns.iter().map(|column| cell_at(row, &column.name)).collect()
            }
            _ => self.of_cells(record.encoding, bytes),
        };
        if let Some(text) = text {
            self.set_text(&mut row, field, text);
        }
        write(&row)
    }

    /// Replaces the text of a field, which may be inside of a column of objects.
    fn set_text<'a>(&self, row: &mut [Cell<'a>], field: &str, text: &'a str) {
        if let Some(column) = self.column(field) {
            row[column] = Cell::Text(text.into());
            return;
        }
        let mut dots = field.match_indices('.');
        let inside = dots.find_map(|(dot, _)| Some((self.column(&field[..dot])?, &field[dot + 1..])));
        if let Some((column, inside)) = inside
            && let Cell::Json(object) = &row[column]
        {
            let mut changed = Vec::new();
            if json::with_value(object, inside, &json::json_of(text, false), &mut changed).is_some() {
                row[column] = Cell::Json(String::from_utf8_lossy(&changed).into_owned().into());
            }
        }
    }

    /// The row of an object.
    fn of_json<'a>(&self, line: &'a str) -> Result<Vec<Cell<'a>>, String> {
        let mut row = vec![Cell::Null; self.columns.len()];
        let mut next = 0;
        for (name, json) in json::members(line)? {
            // Members mostly come in the order of the columns.
            let is_next = self.columns.get(next).is_some_and(|column| column.name == name);
            let found = if is_next { Some(next) } else { self.column(&name) };
            let Some(place) = found else {
                match self.made_of {
                    Some(records) => return Err(further_field(&name, records)),
                    None => continue,
                }
            };
            next = place + 1;
            let cell = cell_of(json)?;
            if let Some(what) = cell.nested_name().filter(|_| self.nested == Nested::Refuse) {
                return Err(format!("field {name:?} is {what}; --nested json writes it as JSON"));
            }
            let kind = self.columns[place].kind;
            if !kind.holds(&cell) {
                let json = json.get(..SHOWN_BYTES).map_or_else(|| json.into(), |start| format!("{start}…"));
                return Err(format!("field {name:?} is {json}, but its column has {kind}"));
            }
            row[place] = cell;
        }
        Ok(row)
    }

    /// The row of a record of CSV.
    fn of_cells<'a>(&self, encoding: Option<Encoding>, record: &'a [u8]) -> Vec<Cell<'a>> {
        let mut row = vec![Cell::Null; self.columns.len()];
        let mut columns = self.columns.iter().enumerate().peekable();
        for (place, content) in contents(record, self.delimiter).enumerate() {
            if let Some((column, _)) = columns.next_if(|(_, column)| column.place == place) {
                row[column] = Cell::Text(match content {
                    Cow::Borrowed(bytes) => cell_text(bytes, encoding).0,
                    Cow::Owned(bytes) => cell_text(&bytes, encoding).0.into_owned().into(),
                });
            }
        }
        row
    }

    /// Appends the names of the columns as the first line of a table to `out`. JSON lines have none.
    pub(super) fn header(&self, out: &mut Vec<u8>) {
        let names = self.columns.iter().map(|column| Some(&*column.name));
        if let Some(delimiter) = self.to.delimiter() {
            push_cells(names, delimiter.byte(), out);
        }
    }

    /// Appends a row as a line to `out`.
    pub(super) fn line(&self, row: &[Cell<'_>], out: &mut Vec<u8>) {
        if let Some(delimiter) = self.to.delimiter() {
            push_cells(row.iter().map(Cell::content), delimiter.byte(), out);
            return;
        }
        out.push(b'{');
        for (at, (Column { name, .. }, cell)) in self.columns.iter().zip(row).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            json::push_string(name, out);
            out.push(b':');
            cell.push_json(out);
        }
        out.extend(b"}\n");
    }
}

/// Bytes of a value that a message has.
const SHOWN_BYTES: usize = 40;

fn further_field(name: &str, records: usize) -> String {
    format!(
        "field {name:?} is no column: the first {records} records do not have it; --fields chooses columns"
    )
}

/// The value of a member, which is valid JSON.
pub(super) fn cell_of(json: &str) -> Result<Cell<'_>, String> {
    Ok(match json.as_bytes().first() {
        Some(b'"') => Cell::Text(json::string_of(json)?),
        Some(b'n') => Cell::Null,
        _ => Cell::Json(json.into()),
    })
}

/// Appends cells and a line feed. A line without a byte would be no record.
fn push_cells<'a>(contents: impl Iterator<Item = Option<&'a str>>, delimiter: u8, out: &mut Vec<u8>) {
    let start = out.len();
    for (at, content) in contents.enumerate() {
        if at > 0 {
            out.push(delimiter);
        }
        push_cell(content.unwrap_or_default(), delimiter, out);
    }
    if out.len() == start {
        out.extend(b"\"\"");
    }
    out.push(b'\n');
}
