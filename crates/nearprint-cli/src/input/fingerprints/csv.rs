//! CSV and TSV.

use std::borrow::Cow;

use super::rows::{DEFAULT_KEY_FIELD, InputRow, LineError, RowSink, parse_id};
use super::stream::InputStream;
use crate::args::{Column, FingerprintArgs};
use crate::terminal::failure::Failure;
use crate::terminal::results::EMPTY_KEY;
use nearprint::Width;
use nearprint_text::documents::unescape;
use nearprint_text::internal::check_header;

/// The most columns of a file that has no header, unless `--columns` names them.
const DEFAULT_COLUMNS: usize = 3;

/// Reads lines of cells. A comma as delimiter means CSV with its quotation marks, a tab means TSV. `columns`
/// name the cells of an input without a header.
pub(super) fn read(
    (args, width): (&FingerprintArgs, Width),
    mut input: InputStream,
    (delimiter, columns): (char, &[Column]),
    sink: &mut dyn RowSink,
) -> Result<(), Failure> {
    let mut table = Table::new(columns)?;
    input.for_each_line(delimiter == ',', sink, |text, sink| {
        let cells = Cells::of_line(text, delimiter)?;
        let Some(columns) = table.columns_of((args, width), &cells)? else {
            return Ok(check_header(text.as_bytes())?);
        };
        let fingerprint = args.parse(width, cells.trimmed(columns.fingerprint).unwrap_or_default())?;
        let id = columns.id.and_then(|index| cells.trimmed(index)).filter(|cell| !cell.is_empty());
        let id = id.map(parse_id).transpose()?;
        let key = columns.key.and_then(|index| cells.key(index));
        InputRow { fingerprint, id, key, has_names: columns.has_names }.send_to(sink)
    })
}

/// What is known of the columns of a file.
struct Table {
    /// `None` before the first line, which decides unless `--columns` does.
    columns: Option<ColumnIndexes>,
    /// The number of cells of each line: as in the header or, with `--columns`, in the first line.
    expected: Option<usize>,
    /// The number of columns that have names without a header.
    named: usize,
}

impl Table {
    fn new(columns: &[Column]) -> Result<Self, Failure> {
        let named = columns.len();
        let columns = if columns.is_empty() { None } else { Some(ColumnIndexes::of(columns)?) };
        Ok(Self { columns, expected: None, named })
    }

    /// The columns of a row. `None` if the line is the header.
    fn columns_of(
        &mut self,
        how: (&FingerprintArgs, Width),
        cells: &Cells<'_>,
    ) -> Result<Option<ColumnIndexes>, LineError> {
        let columns = match self.columns {
            Some(columns) => columns,
            None => match ColumnIndexes::of_header(how, cells)? {
                Some(named) => {
                    (self.columns, self.expected) = (Some(named), Some(cells.count()));
                    return Ok(None);
                }
                None => *self.columns.insert(ColumnIndexes::DEFAULT),
            },
        };
        self.check_count(cells.count())?;
        Ok(Some(columns))
    }

    fn check_count(&mut self, count: usize) -> Result<(), String> {
        let named = self.named;
        if count < named {
            return Err(format!("{count} cells, but --columns names {named}"));
        }
        if named > 0 {
            self.expected.get_or_insert(count);
        }
        match self.expected {
            Some(expected) if count != expected => {
                Err(format!("{count} cells, but the first line has {expected}"))
            }
            None if count > DEFAULT_COLUMNS => Err(format!("{count} cells, but no header with their names")),
            _ => Ok(()),
        }
    }
}

/// The indexes of the columns of a file.
#[derive(Clone, Copy)]
struct ColumnIndexes {
    fingerprint: usize,
    id: Option<usize>,
    key: Option<usize>,
    /// Whether a header names the columns.
    has_names: bool,
}

impl ColumnIndexes {
    /// Fingerprint, id, key: the columns of a file without a header.
    const DEFAULT: Self = Self { fingerprint: 0, id: Some(1), key: Some(2), has_names: false };

    /// The indexes of columns in a given order.
    fn of(columns: &[Column]) -> Result<Self, Failure> {
        let index_of = |column: Column| columns.iter().position(|&other| other == column);
        let is_repeated = columns.iter().enumerate().any(|(index, &column)| index_of(column) != Some(index));
        match index_of(Column::Fingerprint) {
            Some(fingerprint) if !is_repeated => Ok(Self {
                fingerprint,
                id: index_of(Column::Id),
                key: index_of(Column::Key),
                has_names: false,
            }),
            _ => Err(Failure::Usage("--columns: name fingerprint, and each column once".into())),
        }
    }

    /// The indexes in a header. `None` if the first line is a row.
    fn of_header(
        (args, width): (&FingerprintArgs, Width),
        first: &Cells<'_>,
    ) -> Result<Option<Self>, String> {
        let Err(why) = args.parse(width, first.trimmed(0).unwrap_or_default()) else { return Ok(None) };
        let named = |field: &str| {
            let absent =
                || format!("no column named {field:?}, and the first line is not a row either: {why}");
            first.position(field)?.ok_or_else(absent)
        };
        let key = match &args.key_field {
            Some(field) => Some(named(field)?),
            None => first.position(DEFAULT_KEY_FIELD)?,
        };
        let id = first.position(&args.id_field)?;
        Ok(Some(Self { fingerprint: named(&args.fingerprint_field)?, id, key, has_names: true }))
    }
}

/// The cells of a line.
enum Cells<'a> {
    /// A line without quotation marks.
    Plain { text: &'a str, delimiter: char },
    /// A line with quotation marks.
    Quoted(csv::StringRecord),
}

impl<'a> Cells<'a> {
    fn of_line(text: &'a str, delimiter: char) -> Result<Self, String> {
        if delimiter != ',' || !text.contains('"') {
            return Ok(Self::Plain { text, delimiter });
        }
        // A carriage return ends no record, as in lines without quotation marks.
        let mut builder = csv::ReaderBuilder::new();
        builder.has_headers(false).flexible(true).terminator(csv::Terminator::Any(b'\n'));
        let mut records = builder.from_reader(text.as_bytes()).into_records();
        let record = records.next().transpose().map_err(|error| error.to_string())?;
        match records.next() {
            None => Ok(Self::Quoted(record.unwrap_or_default())),
            Some(_) => Err("a quotation mark that ends no cell".into()),
        }
    }

    /// A cell without surrounding white space.
    fn trimmed(&self, index: usize) -> Option<&str> {
        self.untrimmed(index).map(str::trim)
    }

    fn untrimmed(&self, index: usize) -> Option<&str> {
        match self {
            Self::Plain { text, delimiter } => text.split(*delimiter).nth(index),
            Self::Quoted(record) => record.get(index),
        }
    }

    /// The key in a cell: untrimmed, and in TSV without its escapes. An empty cell has no key.
    fn key(&self, index: usize) -> Option<Cow<'_, str>> {
        let cell = self.untrimmed(index).filter(|cell| !cell.is_empty())?;
        match self {
            Self::Plain { delimiter: '\t', .. } if cell == EMPTY_KEY => Some("".into()),
            Self::Plain { delimiter: '\t', .. } => Some(unescape(cell)),
            _ => Some(cell.into()),
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Plain { text, delimiter } => {
                1 + text.bytes().filter(|&byte| char::from(byte) == *delimiter).count()
            }
            Self::Quoted(record) => record.len(),
        }
    }

    /// The index of the only cell with this content.
    fn position(&self, content: &str) -> Result<Option<usize>, String> {
        let mut found = (0..self.count()).filter(|&index| self.trimmed(index) == Some(content));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(format!("two columns named {content:?}")),
            (index, _) => Ok(index),
        }
    }
}
