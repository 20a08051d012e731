//! Writes documents: unchanged in the format of their input, or as rows of another one.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nearprint::internal::file;

use super::added::{AddedField, FieldValue, encoded, with_fields};
use super::cell::Nested;
use super::conversion::Conversion;
use super::conversion_plan::plan;
use super::csv::{self, only_cells, with_cells};
use super::delimiter::Delimiter;
use super::format::Format;
use super::json::{only_members, taken};
use super::kind::Compression;
use super::line_file::{LineFile, STDOUT, Span, is_stdout, read_span};
use super::lines::without_mark;
use super::output_file::{OutputFile, Written, rows_path, unfinished_paths};
use super::output_name::format_of_output;
#[cfg(feature = "parquet")]
use super::parquet::{ParquetShape, RowBuilder, RowCopier};
use super::parser::Parser;
use super::reader::Reader;
#[cfg(feature = "parquet")]
use super::record::Content;
use super::record::{Record, path_of_line};
use crate::error::{Error, OutputProblem, Result};

/// How documents are written.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WriterOptions {
    /// Fields to add to each record, behind its own. An existing JSON member of the same name stays
    /// before them; an existing column of CSV or Parquet is an error.
    pub added: Vec<AddedField>,
    /// Keeps only the fields of these names; all if it is empty. They stay in the order of the input.
    /// A column of CSV or Parquet must exist, a JSON member need not. They are the columns of JSON lines that are
    /// written in a format with columns, then in this order.
    pub fields: Vec<String>,
    /// What becomes of arrays and objects in a format with columns.
    pub nested: Nested,
    /// Enables [`DocumentWriter::read_back`] for all outputs. A temporary file keeps the texts of
    /// standard output, compressed files, Parquet and lists of paths.
    pub keep_texts: bool,
    /// Ends each path of plain files with a zero byte in place of a line feed.
    pub nul_ended: bool,
    /// Lets the unfinished file stay when the writer is dropped, to be
    /// [resumed](DocumentWriter::resume).
    pub resumable: bool,
}

/// What the inputs have in common that outputs take over.
#[derive(Clone)]
pub(crate) struct OutputShape {
    parser: Arc<Parser>,
    /// Of CSV: the header of the first input.
    header: Vec<u8>,
    /// Whether there are no inputs, whose format would matter.
    is_empty: bool,
    /// Of Parquet: the columns of all inputs, and the compression of the first one.
    #[cfg(feature = "parquet")]
    parquet: Option<ParquetShape>,
    /// How records become rows, if the outputs have another format.
    conversion: Option<Arc<Conversion>>,
}

impl OutputShape {
    /// Of outputs in the format `to`, before the first input of the reader is read to its end.
    ///
    /// # Errors
    /// [`Error::Output`] if not all columns can be written in this format; those of reading ahead, where the first
    /// records tell the columns, and of opening Parquet inputs.
    pub(crate) fn new(reader: &mut Reader, to: Format, options: &WriterOptions) -> Result<Self> {
        let is_converted = reader.format() != to;
        let conversion =
            is_converted.then(|| plan(reader, to, &options.fields, options.nested)).transpose()?;
        Ok(Self {
            parser: reader.parser().clone(),
            header: reader.header().line.to_vec(),
            is_empty: reader.inputs().is_empty(),
            #[cfg(feature = "parquet")]
            parquet: reader.parquet()?,
            conversion,
        })
    }

    /// The format of the outputs.
    pub(crate) fn format(&self) -> Format {
        self.conversion.as_ref().map_or(self.parser.format, |conversion| conversion.to)
    }
}

impl Span {
    /// The place of a record that has no bytes of its own in the output.
    const NOWHERE: Self = Self { offset: 0, len_bytes: 0 };
}

/// Writes documents unchanged but for [options](WriterOptions), in the format of their input, or as rows of the format
/// that the name of the output denotes: JSON lines, CSV, TSV or Parquet.
///
/// Columns of CSV and Parquet are those of the input. Those of JSON lines are the chosen
/// [fields](WriterOptions::fields) or the members of the first 10,000 records, or of the first 256 MiB of them, which
/// are read ahead; the reader then takes a record with a further member, or with a value that its column does not hold,
/// for a bad one.
///
/// Records of JSON lines, CSV and lines are copied byte for byte; the header of CSV is written once. Columns of several
/// Parquet inputs are united by name. A last record without a line feed receives one if another record follows. Of
/// plain files the paths are written, one a line; one with a line feed is [not](DocumentWriter::unlisted). An output
/// named `.gz`, `.zst` or `.zstd` is compressed; `-` is standard output.
///
/// ```
/// use nearprint_text::documents::{DocumentWriter, Item, Reader, ReaderOptions, WriterOptions};
///
/// # let home = tempfile::tempdir()?;
/// # let (path, long) = (home.path().join("pages.csv"), home.path().join("long.csv"));
/// std::fs::write(&path, "url,text\na,one two three\nb,one\n")?;
/// let mut reader = Reader::open(&[path], ReaderOptions::default())?;
/// let mut writer = DocumentWriter::create(&long, &mut reader, WriterOptions::default())?;
/// while let Some(item) = reader.next_item()? {
///     if let Item::Record(record) = item
///         && record.text.len() > 5
///     {
///         writer.append(&record, &[])?;
///     }
/// }
/// writer.finish()?;
/// assert_eq!(std::fs::read_to_string(&long)?, "url,text\na,one two three\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DocumentWriter {
    path: PathBuf,
    /// How the last written record was read.
    parser: Arc<Parser>,
    /// How records were read, and the offset of the first one that was read so.
    parsers: Vec<(u64, Arc<Parser>)>,
    conversion: Option<Arc<Conversion>>,
    options: WriterOptions,
    /// The columns of CSV and Parquet that are kept, sorted.
    columns: Vec<usize>,
    target: Target,
    /// The texts, if they cannot be read back from the target.
    texts: Option<TextFile>,
    line: Vec<u8>,
    /// The kept fields of the current record.
    kept: Vec<u8>,
    /// The current record with another text.
    changed: Vec<u8>,
    unlisted: Vec<PathBuf>,
}

enum Target {
    Lines(LineFile),
    #[cfg(feature = "parquet")]
    Rows(RowCopier),
    /// Rows of records of another format.
    #[cfg(feature = "parquet")]
    Built(RowBuilder),
}

/// An unnamed temporary file of texts.
#[derive(Debug)]
struct TextFile {
    file: File,
    len_bytes: u64,
}

impl DocumentWriter {
    /// Creates a file for the documents of a reader. It has its name when it is
    /// [finished](Self::finish). `-` is standard output.
    ///
    /// # Errors
    /// [`Error::Output`] if the file is one of the reader's inputs, if the inputs have no fields or
    /// already have a column that is to be added, if two added fields have one name, if not all columns can be written
    /// in the format of the file, or if Parquet is to be compressed again; [`Error::Engine`] with an I/O error; those
    /// of the reader, where it reads ahead.
    pub fn create(path: &Path, reader: &mut Reader, options: WriterOptions) -> Result<Self> {
        let unfinished = unfinished_paths(path).unwrap_or_default();
        if reader.reads(path) || unfinished.iter().any(|begun| reader.reads(begun)) {
            return Err(OutputProblem::IsInput { output: path.display().to_string() }.into());
        }
        let shape = OutputShape::new(reader, format_of_output(path, reader)?, &options)?;
        Self::create_shaped(path, &shape, options)
    }

    /// The same for documents of some shape. The file must not be an input.
    pub(crate) fn create_shaped(path: &Path, shape: &OutputShape, options: WriterOptions) -> Result<Self> {
        let columns = check_options(path, shape, &options)?;
        let target = Target::create(path, shape, &options, &columns, None)?;
        let mut output = Self::to_target(path, shape, options, target)?;
        output.write_header(&shape.header)?;
        Ok(output)
    }

    /// Checks what [`create_shaped`](Self::create_shaped) needs, and writes nothing.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub(crate) fn check_shaped(path: &Path, shape: &OutputShape, options: &WriterOptions) -> Result<()> {
        check_options(path, shape, options)?;
        if is_stdout(path) {
            return Ok(());
        }
        OutputFile::check(path)?;
        let has_rows = options.resumable && shape.format() == Format::Parquet;
        if has_rows { OutputFile::check(&rows_path(path)) } else { Ok(()) }
    }

    /// Resumes an unfinished file after what [`flush_and_sync`](Self::flush_and_sync) has returned. Where JSON lines
    /// become rows, the reader has to be at its beginning: the first records tell the columns.
    ///
    /// # Errors
    /// As [`LineFile::resume`] and [`create`](Self::create).
    pub fn resume(
        path: &Path,
        written: Written,
        reader: &mut Reader,
        options: WriterOptions,
    ) -> Result<Self> {
        let shape = OutputShape::new(reader, format_of_output(path, reader)?, &options)?;
        Self::resume_shaped(path, written, &shape, options)
    }

    /// The same for documents of some shape.
    pub(crate) fn resume_shaped(
        path: &Path,
        written: Written,
        shape: &OutputShape,
        options: WriterOptions,
    ) -> Result<Self> {
        let target = match shape.format() {
            Format::Parquet => {
                let columns = kept_columns(shape, &options)?;
                Target::create(path, shape, &options, &columns, Some(written))?
            }
            _ => Target::Lines(LineFile::resume(path, written)?),
        };
        Self::to_target(path, shape, options, target)
    }

    fn to_target(path: &Path, shape: &OutputShape, options: WriterOptions, target: Target) -> Result<Self> {
        let (format, columns) = (shape.format(), kept_columns(shape, &options)?);
        let texts = match &target {
            // Records without the text cannot be read back.
            Target::Lines(lines)
                if lines.is_readable()
                    && options.fields.is_empty()
                    && format != Format::Text
                    && shape.conversion.is_none() =>
            {
                None
            }
            _ if options.keep_texts => Some(TextFile::new()?),
            _ => None,
        };
        let path = if is_stdout(path) { STDOUT.into() } else { path.to_path_buf() };
        let (parser, conversion) = (shape.parser.clone(), shape.conversion.clone());
        let (line, kept, changed) = <(Vec<u8>, Vec<u8>, Vec<u8>)>::default();
        let (unlisted, parsers) = (Vec::new(), vec![(0, parser.clone())]);
        Ok(Self {
            path,
            parser,
            parsers,
            conversion,
            options,
            columns,
            target,
            texts,
            line,
            kept,
            changed,
            unlisted,
        })
    }

    /// The format of the output, and the byte between its cells.
    fn output_format(&self) -> (Format, u8) {
        let Some(conversion) = &self.conversion else { return (self.parser.format, self.parser.delimiter()) };
        (conversion.to, conversion.to.delimiter().unwrap_or(Delimiter::COMMA).byte())
    }

    /// Writes the header of a table. `header` is that of the input.
    fn write_header(&mut self, header: &[u8]) -> Result<()> {
        let (_, delimiter) = self.output_format();
        self.line.clear();
        let encoding = self.parser.encoding.filter(|_| self.conversion.is_none());
        let names = self.options.added.iter().map(|field| encoded(&field.name, encoding));
        let names = names.collect::<Result<Vec<_>, _>>();
        let names = names.map_err(|why| Error::input(self.path.display().to_string(), why))?;
        let mut kept = Vec::new();
        let header = match &self.conversion {
            Some(conversion) => {
                conversion.header(&mut kept);
                &kept
            }
            None if self.options.fields.is_empty() => header,
            None => {
                only_cells(without_mark(header), delimiter, &self.columns, &mut kept);
                &kept
            }
        };
        if header.is_empty() {
            return Ok(());
        }
        with_cells(header, delimiter, names.iter(), &mut self.line);
        self.write_line(false).map(drop)
    }

    /// Writes a record with a value for each [added](WriterOptions::added) field, in their order.
    ///
    /// Returns the place of the record, for [`read_back`](Self::read_back).
    ///
    /// # Errors
    /// [`Error::Output`] for a record of JSON lines that has an added field already, or none of the chosen
    /// [fields](WriterOptions::fields); [`Error::Engine`] with an I/O error.
    pub fn append(&mut self, record: &Record, values: &[FieldValue<'_>]) -> Result<Span> {
        self.write(record, None, values)
    }

    /// Writes a record of JSON lines, CSV or Parquet with another text in its
    /// [field](super::Fields::text), and [otherwise](Self::append) unchanged. Of a JSON record with
    /// invalid UTF-8, invalid bytes are replaced.
    ///
    /// # Errors
    /// [`Error::Output`] if records have no fields, and as [`append`](Self::append).
    pub fn append_with_text(
        &mut self,
        record: &Record,
        text: &str,
        values: &[FieldValue<'_>],
    ) -> Result<Span> {
        if !self.parser.format.has_fields() {
            return Err(OutputProblem::NoFields { format: self.parser.format.name() }.into());
        }
        self.write(record, Some(text), values)
    }

    fn write(&mut self, record: &Record, text: Option<&str>, values: &[FieldValue<'_>]) -> Result<Span> {
        let written = match &mut self.target {
            #[cfg(feature = "parquet")]
            Target::Rows(rows) => {
                if let Content::Row { row, .. } = &record.content {
                    rows.append(row, text, values)?;
                }
                Span::NOWHERE
            }
            #[cfg(feature = "parquet")]
            Target::Built(rows) => {
                if let Some(conversion) = &self.conversion {
                    let field = &self.parser.fields.text;
                    conversion.with_row(record, field, text, |row| rows.append(row, values))?;
                }
                Span::NOWHERE
            }
            Target::Lines(lines) if self.parser.format == Format::Text => {
                match &listed_path(record.raw(), self.options.nul_ended) {
                    Some(line) => lines.append_path(line)?,
                    None => {
                        self.unlisted.push(path_of_line(record.raw()).to_path_buf());
                        Span::NOWHERE
                    }
                }
            }
            Target::Lines(_) => {
                self.parser = self.parser.with_encoding(record.encoding);
                self.make_line(record, text, values)?;
                let span = self.write_line(record.may_have_mark())?;
                if self.parsers.last().is_none_or(|(_, last)| !Arc::ptr_eq(last, &self.parser)) {
                    self.parsers.push((span.offset, self.parser.clone()));
                }
                span
            }
        };
        match &mut self.texts {
            Some(texts) => texts.append(text.unwrap_or(&record.text)),
            None => Ok(written),
        }
    }

    /// Makes the line of a record.
    fn make_line(&mut self, record: &Record, text: Option<&str>, values: &[FieldValue<'_>]) -> Result<()> {
        let (format, delimiter) = self.output_format();
        let encoding = record.encoding.filter(|_| self.conversion.is_none());
        let output_format = (format, delimiter, encoding);
        let Self { parser, conversion, options, columns, line, kept, changed, .. } = self;
        let mut fields_of_record = record.raw();
        kept.clear();
        if let Some(conversion) = conversion {
            conversion.with_row(record, &parser.fields.text, text, |row| {
                conversion.line(row, kept);
                Ok(())
            })?;
            fields_of_record = kept;
        } else {
            if let Some(text) = text {
                changed.clear();
                parser.with_text(fields_of_record, text, changed);
                fields_of_record = changed;
            }
            if !options.fields.is_empty() {
                match parser.format {
                    Format::Jsonl => {
                        if only_members(fields_of_record, encoding, &options.fields, kept) == 0 {
                            let (place, fields) = (record.place.to_string(), options.fields.join(", "));
                            return Err(OutputProblem::NoneOfFields { place, fields }.into());
                        }
                    }
                    _ => only_cells(fields_of_record, parser.delimiter(), columns, kept),
                }
                fields_of_record = kept;
            }
        }
        line.clear();
        let with_added = match &*options.added {
            [] => {
                line.extend(fields_of_record);
                Ok(())
            }
            // The columns of a table were compared before.
            added if output_format.0 == Format::Jsonl => {
                let names = added.iter().map(|field| field.name.as_str());
                if let Some(field) = taken(fields_of_record, encoding, names) {
                    let (place, field) = (record.place.to_string(), field.to_string());
                    return Err(OutputProblem::FieldExists { place, field }.into());
                }
                with_fields(output_format, fields_of_record, added, values, line)
            }
            added => with_fields(output_format, fields_of_record, added, values, line),
        };
        with_added.map_err(|why| Error::input(record.place.to_string(), why))
    }

    /// Writes the line that is made. It may begin with the byte order mark of its input.
    fn write_line(&mut self, may_have_mark: bool) -> Result<Span> {
        match &mut self.target {
            Target::Lines(lines) => lines.append_record(&self.line, may_have_mark),
            #[cfg(feature = "parquet")]
            Target::Rows(_) | Target::Built(_) => Ok(Span::NOWHERE),
        }
    }

    /// The plain files whose paths have a line feed, which no list of lines can hold. They are not in
    /// the output, unless its paths end with [zero bytes](WriterOptions::nul_ended).
    #[must_use]
    pub fn unlisted(&self) -> &[PathBuf] {
        &self.unlisted
    }

    /// Whether [`flush_and_sync`](Self::flush_and_sync) ends a member of a compressed file.
    pub(crate) fn ends_members(&self) -> bool {
        match &self.target {
            Target::Lines(lines) => lines.ends_members(),
            #[cfg(feature = "parquet")]
            Target::Rows(_) | Target::Built(_) => false,
        }
    }

    /// Reads the text of a written record back.
    ///
    /// # Errors
    /// [`Error::Output`] if the output cannot be read and texts are not
    /// [kept](WriterOptions::keep_texts); [`Error::Input`] if another program has changed the
    /// output; [`Error::Engine`] with an I/O error.
    pub fn read_back(&mut self, span: Span) -> Result<String> {
        if let Some(texts) = &self.texts {
            return texts.read(span);
        }
        match &mut self.target {
            Target::Lines(lines) => {
                let line = lines.read(span)?;
                let place = self.parsers.partition_point(|(first, _)| *first <= span.offset);
                let (_, parser) = &self.parsers[place.saturating_sub(1)];
                let text = parser.text_of_line(line);
                text.map_err(|why| Error::input(self.path.display().to_string(), why))
            }
            #[cfg(feature = "parquet")]
            Target::Rows(_) | Target::Built(_) => {
                Err(OutputProblem::NotReadable { path: self.path.clone() }.into())
            }
        }
    }

    /// Makes everything so far durable, and returns what [`resume`](Self::resume) needs. Standard
    /// output is flushed only. Does nothing for Parquet that is not to be [resumable](WriterOptions::resumable).
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn flush_and_sync(&mut self) -> Result<Written> {
        match &mut self.target {
            Target::Lines(lines) => lines.flush_and_sync(),
            #[cfg(feature = "parquet")]
            Target::Rows(rows) => rows.flush_and_sync(),
            #[cfg(feature = "parquet")]
            Target::Built(rows) => rows.flush_and_sync(),
        }
    }

    /// Whether what is written can be read only with its end, as Parquet on a stream: nothing is delivered before.
    pub(crate) fn needs_its_end(&self) -> bool {
        match &self.target {
            Target::Lines(_) => false,
            #[cfg(feature = "parquet")]
            Target::Rows(rows) => rows.needs_its_end(),
            #[cfg(feature = "parquet")]
            Target::Built(rows) => rows.needs_its_end(),
        }
    }

    /// Whether the bytes of the file are known only at its end, because its rows are elsewhere until then.
    pub(crate) fn is_made_at_the_end(&self) -> bool {
        self.output_format().0 == Format::Parquet
    }

    /// Writes the end of the file, makes it durable, and gives it its name.
    ///
    /// # Errors
    /// [`Error::Engine`] with an I/O error.
    pub fn finish(self) -> Result<()> {
        self.end()?.map_or(Ok(()), OutputFile::complete)
    }

    /// Writes the end of the file. Returns the file, which is to get its name; `None` for standard output.
    pub(crate) fn end(self) -> Result<Option<OutputFile>> {
        match self.target {
            Target::Lines(lines) => lines.end(),
            #[cfg(feature = "parquet")]
            Target::Rows(rows) => rows.end(),
            #[cfg(feature = "parquet")]
            Target::Built(rows) => rows.end(),
        }
    }
}

/// The path of a file as lists have it, from its [line](Record::raw). `None` if no list of lines can hold
/// it.
pub(crate) fn listed_path(line: &[u8], nul_ended: bool) -> Option<Vec<u8>> {
    let path = line.strip_suffix(b"\n").unwrap_or(line);
    let end: &[u8] = if nul_ended { b"\0" } else { b"\n" };
    (nul_ended || !path.contains(&b'\n')).then(|| [path, end].concat())
}

/// The place of the column of this name in the inputs, or among the columns of rows.
fn column_of(shape: &OutputShape, name: &str) -> Option<usize> {
    if let Some(conversion) = &shape.conversion {
        return conversion.column(name);
    }
    #[cfg(feature = "parquet")]
    if let Some(shape) = &shape.parquet {
        return shape.schema.column_with_name(name).map(|(column, _)| column);
    }
    let (delimiter, encoding) = (shape.parser.delimiter(), shape.parser.encoding);
    csv::column_of(csv::Header { line: &shape.header, delimiter, encoding }, name)
}

/// Checks that records of a shape can be written with these options under this name. Returns the columns that are
/// kept.
fn check_options(path: &Path, shape: &OutputShape, options: &WriterOptions) -> Result<Vec<usize>> {
    let format = shape.format();
    let is_changed = !options.added.is_empty() || !options.fields.is_empty();
    if is_changed && !format.has_fields() && !shape.is_empty {
        return Err(OutputProblem::NoFields { format: format.name() }.into());
    }
    if format == Format::Parquet && Compression::of(path).is_some() {
        return Err(OutputProblem::ParquetCompressed { path: path.to_path_buf() }.into());
    }
    let columns = kept_columns(shape, options)?;
    for (number, AddedField { name, .. }) in options.added.iter().enumerate() {
        let is_kept = |column: usize| {
            shape.conversion.is_some() || options.fields.is_empty() || columns.binary_search(&column).is_ok()
        };
        let exists = column_of(shape, name).is_some_and(is_kept);
        if exists || options.added[..number].iter().any(|earlier| earlier.name == *name) {
            return Err(OutputProblem::ColumnExists { column: name.clone() }.into());
        }
    }
    Ok(columns)
}

/// The columns that are kept, sorted; none of JSON, nor of rows, which have no others.
fn kept_columns(shape: &OutputShape, options: &WriterOptions) -> Result<Vec<usize>> {
    if shape.conversion.is_some() || !matches!(shape.format(), Format::Csv | Format::Tsv | Format::Parquet) {
        return Ok(Vec::new());
    }
    let find = |name: &String| {
        let found = column_of(shape, name);
        found.ok_or_else(|| OutputProblem::NoColumn { column: name.clone() }.into())
    };
    let mut columns = options.fields.iter().map(find).collect::<Result<Vec<_>>>()?;
    columns.sort_unstable();
    columns.dedup();
    Ok(columns)
}

impl Target {
    #[cfg(feature = "parquet")]
    fn create(
        path: &Path,
        shape: &OutputShape,
        options: &WriterOptions,
        columns: &[usize],
        written: Option<Written>,
    ) -> Result<Self> {
        let resumes = (options.resumable, written);
        match (&shape.conversion, &shape.parquet) {
            (Some(conversion), _) if conversion.to == Format::Parquet => {
                let columns = conversion.columns().iter().map(|column| (&*column.name, column.kind));
                Ok(Self::Built(RowBuilder::create(path, columns, &options.added, resumes)?))
            }
            (None, Some(source)) => {
                let source = (source, &*shape.parser.fields.text);
                Ok(Self::Rows(RowCopier::create(path, source, (&options.added, columns), resumes)?))
            }
            _ => Self::lines(path, options),
        }
    }

    #[cfg(not(feature = "parquet"))]
    fn create(
        path: &Path,
        _: &OutputShape,
        options: &WriterOptions,
        _: &[usize],
        _: Option<Written>,
    ) -> Result<Self> {
        Self::lines(path, options)
    }

    fn lines(path: &Path, options: &WriterOptions) -> Result<Self> {
        let create = if options.resumable { LineFile::create_resumable } else { LineFile::create };
        create(path).map(Self::Lines)
    }
}

impl TextFile {
    fn new() -> Result<Self> {
        let file = tempfile::tempfile().map_err(Error::io("create", "a temporary file"))?;
        Ok(Self { file, len_bytes: 0 })
    }

    fn append(&mut self, text: &str) -> Result<Span> {
        let span = Span { offset: self.len_bytes, len_bytes: text.len() as u64 };
        let written = file::write_all_at(&self.file, text.as_bytes(), span.offset);
        written.map_err(Error::io("write", "a temporary file"))?;
        self.len_bytes += span.len_bytes;
        Ok(span)
    }

    fn read(&self, span: Span) -> Result<String> {
        let bytes = read_span(&self.file, span).map_err(Error::io("read", "a temporary file"))?;
        String::from_utf8(bytes)
            .map_err(|error| Error::io("read", "a temporary file")(io::Error::other(error)))
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Lines(_) => "Lines",
            #[cfg(feature = "parquet")]
            Self::Rows(_) => "Rows",
            #[cfg(feature = "parquet")]
            Self::Built(_) => "Built",
        })
    }
}
