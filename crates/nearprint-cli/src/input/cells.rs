//! CSV and TSV.

use std::borrow::Cow;

use clap::ValueEnum;

use super::stream::Input;
use super::{DEFAULT_KEY_FIELD, FoundRow, InputArgs, RowSink, parse_id};
use crate::failure::Failure;
use nearprint::Fingerprint;
use nearprint_text::documents::unescape;

/// What a column may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Column {
    /// The fingerprint
    Fingerprint,
    /// The id; where it is empty, ids are numbered on
    Id,
    /// The key, for databases that keep keys
    Key,
}

/// Where the columns of a file are.
#[derive(Clone, Copy)]
struct Places {
    fingerprint: usize,
    id: Option<usize>,
    key: Option<usize>,
    has_names: bool,
}

impl Places {
    /// In this order, of which the file itself says nothing.
    fn of(columns: &[Column]) -> Result<Self, Failure> {
        let place = |column: Column| columns.iter().position(|&other| other == column);
        let is_repeated = columns.iter().enumerate().any(|(at, &column)| place(column) != Some(at));
        match place(Column::Fingerprint) {
            Some(fingerprint) if !is_repeated => {
                Ok(Self { fingerprint, id: place(Column::Id), key: place(Column::Key), has_names: false })
            }
            _ => Err(Failure::Usage("--columns: one of them is fingerprint, and none comes twice".into())),
        }
    }
}

/// Those of a file that says nothing, where the command line does not either.
const DEFAULT_COLUMNS: [Column; 3] = [Column::Fingerprint, Column::Id, Column::Key];

impl InputArgs {
    pub(super) fn csv<F: Fingerprint>(
        &self,
        mut input: Input,
        delimiter: char,
        sink: &mut dyn RowSink<F>,
    ) -> Result<(), Failure> {
        let unnamed = Places::of(if self.columns.is_empty() { &DEFAULT_COLUMNS } else { &self.columns })?;
        let mut known = if self.columns.is_empty() { None } else { Some(unnamed) };
        input.lines(delimiter == ',', sink, |text, sink| {
            let record = Record::new(text, delimiter)?;
            let places = match known {
                Some(places) => places,
                None => match self.header::<F>(&record)? {
                    Some(named) => {
                        known = Some(named);
                        return Ok(());
                    }
                    None => *known.insert(unnamed),
                },
            };
            let fingerprint = self.parse(record.cell(places.fingerprint).unwrap_or_default())?;
            let id = places.id.and_then(|at| record.cell(at)).filter(|cell| !cell.is_empty());
            let id = id.map(parse_id).transpose()?;
            let key = places.key.and_then(|at| record.key(at));
            FoundRow { fingerprint, id, key, has_names: places.has_names }.give(sink)
        })
    }

    /// Where the columns are, by the first record, if that names them; `None` if it is a row.
    fn header<F: Fingerprint>(&self, first: &Record<'_>) -> Result<Option<Places>, String> {
        let Err(why) = self.parse::<F>(first.cell(0).unwrap_or_default()) else { return Ok(None) };
        let named = |field: &str| {
            let absent = || format!("no column named {field:?}, and the first line is no row, either: {why}");
            first.position(field).ok_or_else(absent)
        };
        let key = match &self.key_field {
            Some(field) => Some(named(field)?),
            None => first.position(DEFAULT_KEY_FIELD),
        };
        let id = first.position(&self.id_field);
        Ok(Some(Places { fingerprint: named(&self.fingerprint_field)?, id, key, has_names: true }))
    }
}

/// The cells of a line.
enum Record<'a> {
    Plain {
        text: &'a str,
        delimiter: char,
    },
    /// A line with quotation marks.
    Quoted(csv::StringRecord),
}

impl<'a> Record<'a> {
    fn new(text: &'a str, delimiter: char) -> Result<Self, String> {
        if delimiter != ',' || !text.contains('"') {
            return Ok(Self::Plain { text, delimiter });
        }
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let mut record = csv::StringRecord::new();
        reader.read_record(&mut record).map_err(|error| error.to_string())?;
        Ok(Self::Quoted(record))
    }

    /// A cell, trimmed.
    fn cell(&self, index: usize) -> Option<&str> {
        self.whole_cell(index).map(str::trim)
    }

    fn whole_cell(&self, index: usize) -> Option<&str> {
        match self {
            Self::Plain { text, delimiter } => text.split(*delimiter).nth(index),
            Self::Quoted(record) => record.get(index),
        }
    }

    /// The key in a cell: as it stands, white space too, but for the escapes of TSV.
    fn key(&self, index: usize) -> Option<Cow<'_, str>> {
        let cell = self.whole_cell(index)?;
        match self {
            Self::Plain { delimiter: '\t', .. } => Some(unescape(cell)),
            _ => Some(cell.into()),
        }
    }

    /// The index of the cell with a given content.
    fn position(&self, content: &str) -> Option<usize> {
        (0..).map_while(|index| self.cell(index)).position(|cell| cell == content)
    }
}
