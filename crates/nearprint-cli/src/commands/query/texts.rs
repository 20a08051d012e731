//! Queries by text.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use super::limits::{LimitArgs, match_columns};
use crate::args::{DecodingArgs, DocumentFormat, GlobalArgs, NearArgs, ResultArgs, check_read};
use crate::similar_documents::SimilarDocuments;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::position::PositionBar;
use nearprint::any::{AnyRow, AnySnapshot, Columns, Sink};
use nearprint::{Error, Width};
use nearprint_text::documents::{Delimiter, Format, Item, Reader, ReaderOptions, each};
use nearprint_text::stored::Finder;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(super) struct TextArgs {
    /// Find what is near the texts of FILE, by the recipe of the database: a record or a file each, as
    /// in `dedup`; - is standard input. May be repeated
    #[arg(long = "text", value_name = "FILE", conflicts_with_all = ["fingerprints", "id"])]
    pub(super) files: Vec<PathBuf>,
    /// Format of the texts [default: by extension, as in `dedup`; standard input is jsonl if it begins
    /// with {, else lines]
    #[arg(long, value_name = "FORMAT", requires = "files")]
    text_format: Option<DocumentFormat>,
    /// What separates the fields of CSV and TSV: a character, or comma, tab, semicolon or bar [default: the header
    /// tells]
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true, requires = "files")]
    delimiter: Option<Delimiter>,
    /// Field or column that holds the text
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,
    #[command(flatten)]
    decoding: DecodingArgs,
}

/// Looks up texts.
pub(super) struct TextLookUp<'a> {
    pub(super) texts: &'a TextArgs,
    /// The field or column that holds the key of a text.
    pub(super) key_field: Option<&'a str>,
    pub(super) near: NearArgs,
    pub(super) limits: LimitArgs,
    pub(super) results: ResultArgs,
}

impl TextLookUp<'_> {
    /// Prints what is near the texts.
    pub(super) fn run(&self, snapshots: &[AnySnapshot], global: GlobalArgs) -> Result<(), Failure> {
        let has_keys = snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
        let width = snapshots.first().map(AnySnapshot::width).unwrap_or_default();
        let finders =
            snapshots.iter().map(|snapshot| self.finder(snapshot)).collect::<Result<Vec<_>, _>>()?;
        let (finders, similar): (Vec<Finder>, Vec<Option<SimilarDocuments>>) = finders.into_iter().unzip();
        let mut reader = Reader::open(&self.texts.files, self.reader_options()?)?;
        reader.check_delimiter()?;
        let (mut out, mut bar) = (OutputStream::stdout(), PositionBar::new(global));
        self.results.print_header(&mut out, &match_columns(self.limits, has_keys, false, true))?;
        let (most, format) = (self.limits.most(), self.results.format());
        let read = each(
            &mut reader,
            global.options().get_threads(),
            || finders.clone(),
            |item, finders| match item {
                Item::Bad(bad) => Err(Failure::Input { place: bad.place.to_string(), why: bad.reason }),
                Item::Record(record) => Ok((find(width, finders, &record.text, most)?, record.key)),
            },
            |block, position| {
                bar.show(position);
                for found in block {
                    let (rows, query) = found?;
                    out.write(|out| match self.limits.is_inverted() {
                        true if !rows.is_empty() => Ok(()),
                        true => format.unmatched(out, &query, None),
                        false => rows.rows().try_for_each(|row| format.text_match(out, &query, &row)),
                    })?;
                }
                Ok::<(), Failure>(out.flush()?)
            },
        );
        bar.clear();
        read?;
        similar.iter().flatten().for_each(|similar| similar.note(global));
        check_read(global, &reader)
    }

    /// How texts are looked up in one database. Where it keeps evidence, also what is near.
    fn finder(&self, snapshot: &AnySnapshot) -> Result<(Finder, Option<SimilarDocuments>), Failure> {
        if let Some(mut similar) = SimilarDocuments::of(snapshot, self.near)? {
            if self.limits.is_top() && self.near.similarity().is_none() {
                similar.least = 0.0;
            }
            return Ok((similar.documents.finder(similar.least)?, Some(similar)));
        }
        let k = self.near.k(snapshot.bands(), snapshot.width())?;
        let query = self.limits.query(k, snapshot.default_k(), snapshot.width());
        Ok((Finder::by_distance(snapshot, query)?, None))
    }

    fn reader_options(&self) -> Result<ReaderOptions, Failure> {
        let mut options = ReaderOptions::default();
        options.fields.text.clone_from(&self.texts.text_field);
        options.fields.key = self.key_field.map(str::to_string);
        options.format = self.texts.text_format.map(Format::from);
        options.encoding = self.texts.decoding.encoding;
        options.pre = self.texts.decoding.preprocessing();
        options.delimiter = self.texts.delimiter;
        if self.texts.files.iter().any(|path| path == Path::new("-")) {
            let mut stdin = io::stdin().lock();
            let start = stdin.fill_buf().map_err(Error::io("read", "standard input"))?;
            options.stdin_format = if start.starts_with(b"{") { Format::Jsonl } else { Format::Lines };
        }
        Ok(options)
    }
}

/// What is near a text in all databases, the most similar first.
fn find(width: Width, finders: &mut [Finder], text: &str, limit: usize) -> Result<Columns, Failure> {
    let mut found = Columns::new(width, Finder::SHAPE);
    for finder in finders {
        finder.find(0, text, limit, &mut found)?;
    }
    let mut rows: Vec<AnyRow<'_>> = found.rows().collect();
    rows.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    let mut nearest = Columns::new(width, Finder::SHAPE);
    rows.iter().take(limit).for_each(|row| nearest.push(row));
    Ok(nearest)
}
