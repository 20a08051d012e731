//! Which columns an output in another format has: decided before the first record is written.

use std::collections::HashMap;
use std::sync::Arc;

use super::cell::{Cell, CellKind, Kinds, Nested};
use super::conversion::{Column, Conversion, cell_of};
use super::escape::escape;
use super::fields::Fields;
use super::format::Format;
use super::json;
#[cfg(feature = "parquet")]
use super::parquet::check_type;
use super::reader::Reader;
use crate::error::{OutputProblem, Result};

/// The records of JSON lines that make the columns.
const COLUMN_RECORDS: usize = 10_000;
/// The most bytes of them, which are held in memory.
const COLUMN_BYTES: usize = 256 << 20;
/// The most columns that they make: objects may have names that are data.
const MAX_COLUMNS: usize = 10_000;
/// The names of columns that the summary has.
const SHOWN_COLUMNS: usize = 40;

/// How the records of a reader become rows in the format `to`, with these fields only, all if there are none. JSON
/// lines are read ahead; the reader then takes records that are no rows for bad ones.
pub(super) fn plan(
    reader: &mut Reader,
    to: Format,
    fields: &[String],
    nested: Nested,
) -> Result<Arc<Conversion>> {
    let from = reader.format();
    let (columns, made_of) = match from {
        Format::Jsonl => columns_of_json(reader, to, (fields, nested))?,
        Format::Parquet => {
            // JSON has arrays and objects of its own.
            let nested = if to == Format::Jsonl { Nested::Json } else { nested };
            (columns_of_parquet(reader, fields, nested)?, None)
        }
        _ => (columns_of_header(reader, fields)?, None),
    };
    let delimiter = reader.parser().delimiter();
    let conversion = Arc::new(Conversion::new((from, delimiter), to, columns, (nested, made_of)));
    if from == Format::Jsonl {
        reader.convert(conversion.clone());
    }
    Ok(conversion)
}

/// The columns of JSON lines, in the order in which they first occur, and how many records have made them, if no fields
/// are chosen.
fn columns_of_json(
    reader: &mut Reader,
    to: Format,
    (fields, nested): (&[String], Nested),
) -> Result<(Vec<Column>, Option<usize>)> {
    let mut found = Found::default();
    fields.iter().for_each(|name| found.add(name));
    let mut num_records = 0;
    if fields.is_empty() || to == Format::Parquet {
        reader.look_ahead((COLUMN_RECORDS, COLUMN_BYTES), |line| {
            num_records += 1;
            for (name, json) in json::members(line).unwrap_or_default() {
                if !fields.is_empty() && !fields.contains(&name) {
                    continue;
                }
                let kinds = found.kinds_of(&name);
                // Otherwise, such a record is a bad one.
                let is_row = |cell: &Cell<'_>| cell.nested_name().is_none() || nested == Nested::Json;
                cell_of(json).iter().filter(|cell| is_row(cell)).for_each(|cell| kinds.push(cell));
            }
        })?;
    }
    if found.columns.len() > MAX_COLUMNS {
        return Err(OutputProblem::ManyColumns { count: found.columns.len() }.into());
    }
    if found.columns.is_empty() {
        let Fields { text, key, .. } = &reader.parser().fields;
        [Some(text), key.as_ref()].into_iter().flatten().for_each(|name| found.add(name));
    }
    let kind = |kinds: Kinds| if to == Format::Parquet { kinds.narrowest() } else { CellKind::Text };
    let columns = found.columns.into_iter().map(|(name, kinds)| Column { name, kind: kind(kinds), place: 0 });
    let columns: Vec<Column> = columns.collect();
    let made_of = fields.is_empty().then_some(num_records);
    if num_records > 0 {
        let names = columns.iter().take(SHOWN_COLUMNS).map(|column| escape(&column.name).into_owned());
        let names = names.collect::<Vec<_>>().join(", ");
        let more = if columns.len() > SHOWN_COLUMNS { ", …" } else { "" };
        let what = if made_of.is_some() { "columns" } else { "types of columns" };
        reader.note(format!("{what} by the first {num_records} records: {names}{more}"));
    }
    Ok((columns, made_of))
}

/// The members of records, in the order in which they first occur.
#[derive(Default)]
struct Found {
    columns: Vec<(String, Kinds)>,
    places: HashMap<String, usize>,
}

impl Found {
    fn add(&mut self, name: &str) {
        self.kinds_of(name);
    }

    fn kinds_of(&mut self, name: &str) -> &mut Kinds {
        let place = match self.places.get(name) {
            Some(&place) => place,
            None => {
                self.places.insert(name.to_string(), self.columns.len());
                self.columns.push((name.to_string(), Kinds::default()));
                self.columns.len() - 1
            }
        };
        &mut self.columns[place].1
    }
}

/// The columns of a table, in its order.
fn columns_of_header(reader: &Reader, fields: &[String]) -> Result<Vec<Column>> {
    let (parser, header) = (reader.parser(), reader.header());
    let mut names = if header.line.is_empty() { Vec::new() } else { header.names() };
    if names.is_empty() {
        names =
            [Some(&parser.fields.text), parser.fields.key.as_ref()].into_iter().flatten().cloned().collect();
    }
    chosen(names, fields)
}

/// The columns of Parquet, in its order, all of which have types that are converted.
#[cfg(feature = "parquet")]
fn columns_of_parquet(reader: &Reader, fields: &[String], nested: Nested) -> Result<Vec<Column>> {
    let Some(shape) = reader.parquet()? else { return columns_of_header(reader, fields) };
    let schema = shape.schema;
    let columns = chosen(schema.fields().iter().map(|field| field.name().clone()).collect(), fields)?;
    for Column { name, place, .. } in &columns {
        check_type(schema.field(*place).data_type(), nested).map_err(|why| {
            let (column, why) = (name.clone(), why.to_string());
            OutputProblem::NotConverted { column, why }
        })?;
    }
    Ok(columns)
}

#[cfg(not(feature = "parquet"))]
fn columns_of_parquet(reader: &Reader, fields: &[String], _: Nested) -> Result<Vec<Column>> {
    columns_of_header(reader, fields)
}

/// The chosen ones of these columns, all if none is chosen.
fn chosen(names: Vec<String>, fields: &[String]) -> Result<Vec<Column>> {
    if let Some(column) = fields.iter().find(|field| !names.contains(field)) {
        return Err(OutputProblem::NoColumn { column: column.clone() }.into());
    }
    let mut columns: Vec<Column> = Vec::new();
    for (place, name) in names.into_iter().enumerate() {
        if !fields.is_empty() && !fields.contains(&name) {
            continue;
        }
        if columns.iter().any(|earlier| earlier.name == name) {
            return Err(OutputProblem::TwoColumns { column: name }.into());
        }
        columns.push(Column { name, kind: CellKind::Text, place });
    }
    Ok(columns)
}
