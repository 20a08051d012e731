//! Queries by text.

use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use super::limits::{Answered, LimitArgs, match_columns};
use crate::args::{
    DecodingArgs, FingerprintArgs, FingerprintFormat, GlobalArgs, NearArgs, ResultArgs, check_read,
};
use crate::similar_documents::SimilarDocuments;
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::position::PositionBar;
use crate::terminal::results::ResultFormat;
use nearprint::any::{AnyRow, AnySnapshot, Columns, Sink};
use nearprint::{Error, Width};
use nearprint_text::documents::{Delimiter, Format, Item, Reader, ReaderOptions, each};
use nearprint_text::stored::Finder;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(super) struct TextArgs {
    /// What separates the fields of CSV and TSV with texts: a character, or comma, tab, semicolon or bar [default: the
    /// header tells]
    #[arg(long, value_name = "CHAR", allow_hyphen_values = true)]
    delimiter: Option<Delimiter>,
    /// Field or column that holds the text
    #[arg(long, value_name = "NAME", default_value = "text")]
    text_field: String,
    #[command(flatten)]
    decoding: DecodingArgs,
}

/// Looks up texts.
pub(super) struct TextLookUp<'a> {
    pub(super) args: &'a TextArgs,
    /// How inputs are read.
    pub(super) input: &'a FingerprintArgs,
    pub(super) near: NearArgs,
    pub(super) limits: LimitArgs,
    pub(super) results: ResultArgs,
}

impl TextLookUp<'_> {
    /// Prints what is near some texts.
    pub(super) fn run_texts(
        &self,
        snapshots: &[AnySnapshot],
        texts: &[String],
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        let (mut finders, similar) = self.finders(snapshots)?;
        let mut printer = self.printer(snapshots)?;
        for text in texts {
            let found = find(printer.width, &mut finders, text, self.limits.most())?;
            printer.print(text, &found)?;
        }
        printer.end(&similar, global)
    }

    /// Prints what is near the texts of files.
    pub(super) fn run(
        &self,
        snapshots: &[AnySnapshot],
        files: &[PathBuf],
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        let (finders, similar) = self.finders(snapshots)?;
        let mut reader = Reader::open(files, self.reader_options(files)?)?;
        reader.check_delimiter()?;
        let (mut printer, mut bar) = (self.printer(snapshots)?, PositionBar::new(global));
        let (width, most) = (printer.width, self.limits.most());
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
                    printer.print(&query, &rows)?;
                }
                Ok::<(), Failure>(printer.out.flush()?)
            },
        );
        bar.clear();
        read?;
        printer.end(&similar, global)?;
        check_read(global, &reader)
    }

    /// How texts are looked up in all databases. Where they keep evidence, also what is near.
    fn finders(
        &self,
        snapshots: &[AnySnapshot],
    ) -> Result<(Vec<Finder>, Vec<Option<SimilarDocuments>>), Failure> {
        let finders: Result<Vec<_>, _> = snapshots.iter().map(|snapshot| self.finder(snapshot)).collect();
        Ok(finders?.into_iter().unzip())
    }

    /// Begins to print.
    fn printer(&self, snapshots: &[AnySnapshot]) -> Result<TextPrinter, Failure> {
        let has_keys = snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
        let width = snapshots.first().map(AnySnapshot::width).unwrap_or_default();
        let mut out = OutputStream::stdout();
        self.results.print_header(&mut out, &match_columns(self.limits, has_keys, false, true))?;
        let (limits, format) = (self.limits, self.results.format());
        Ok(TextPrinter { width, limits, format, answered: Answered::default(), out })
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

    fn reader_options(&self, files: &[PathBuf]) -> Result<ReaderOptions, Failure> {
        let mut options = ReaderOptions::default();
        options.fields.text.clone_from(&self.args.text_field);
        options.fields.key.clone_from(&self.input.key_field);
        options.format = self.input.input_format.and_then(FingerprintFormat::of_texts);
        options.encoding = self.args.decoding.encoding;
        options.pre = self.args.decoding.preprocessing();
        options.delimiter = self.args.delimiter;
        if files.iter().any(|path| path == Path::new("-")) {
            let mut stdin = io::stdin().lock();
            let start = stdin.fill_buf().map_err(Error::io("read", "standard input"))?;
            options.stdin_format = if start.starts_with(b"{") { Format::Jsonl } else { Format::Lines };
        }
        Ok(options)
    }
}

/// Prints the rows near texts.
struct TextPrinter {
    width: Width,
    limits: LimitArgs,
    format: ResultFormat,
    answered: Answered,
    out: OutputStream,
}

impl TextPrinter {
    fn print(&mut self, query: &str, rows: &Columns) -> Result<(), Failure> {
        self.answered.push(rows.len());
        let format = self.format;
        Ok(self.out.write(|out| match self.limits.prints_unmatched() {
            true if !rows.is_empty() => Ok(()),
            true => format.unmatched(out, query, None),
            false => rows.rows().try_for_each(|row| format.text_match(out, query, &row)),
        })?)
    }

    /// Says how many rows were found, and what near means.
    fn end(mut self, similar: &[Option<SimilarDocuments>], global: GlobalArgs) -> Result<(), Failure> {
        self.out.flush()?;
        self.answered.note(self.limits, global);
        SimilarDocuments::note_all(similar.iter().flatten(), global);
        Ok(())
    }
}

/// What is near a text in all databases.
fn find(width: Width, finders: &mut [Finder], text: &str, limit: usize) -> Result<Columns, Failure> {
    let mut found = Columns::new(width, Finder::SHAPE);
    for finder in finders {
        finder.find(0, text, limit, &mut found)?;
    }
    Ok(nearest(width, &found, limit))
}

/// The first rows of what several databases have found, each once at its highest similarity. The most similar ones come
/// first, and equally similar ones in the order of matches.
pub(super) fn nearest(width: Width, found: &Columns, limit: usize) -> Columns {
    let mut rows: Vec<_> = found.rows().map(|row| ((row.distance, row.row(), row.key), row)).collect();
    let similarity = |a: &AnyRow<'_>, b: &AnyRow<'_>| b.similarity.total_cmp(&a.similarity);
    rows.sort_by(|(place, a), (other, b)| place.cmp(other).then_with(|| similarity(a, b)));
    rows.dedup_by(|a, b| a.0 == b.0);
    rows.sort_by(|(_, a), (_, b)| similarity(a, b));
    let mut nearest = Columns::new(width, Finder::SHAPE);
    rows.iter().take(limit).for_each(|(_, row)| nearest.push(row));
    nearest
}
