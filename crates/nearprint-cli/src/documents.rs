//! Inputs that are documents: the options about them, and what happens to bad records.

use std::path::{Path, PathBuf};

use super::Global;
use super::failure::Failure;
use nearprint_text::Result;
use nearprint_text::documents::{BadRecord, Format, Item, LineFile, Reader, ReaderOptions, Record};

/// Options about inputs, the same for every command that reads documents.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(super) struct DocumentArgs {
    /// What the inputs are [default: by extension: .jsonl .ndjson .json .csv .tsv .parquet, each file a
    /// document with any other; standard input: jsonl, for `fingerprint` text]
    #[arg(long, value_name = "FORMAT")]
    pub(super) input_format: Option<InputFormat>,
    /// The field or column that holds the text; dots reach into JSON objects
    #[arg(long, value_name = "NAME", default_value = "text")]
    pub(super) text_field: String,
    /// The field or column that holds the key [default: INPUT:N, N counted from 1; the path of a file that
    /// is one document]
    #[arg(long, value_name = "NAME")]
    pub(super) key_field: Option<String>,
    /// Write bad records to FILE and go on, instead of stopping at the first one; of a line without end its
    /// first 64 KiB
    #[arg(long, value_name = "FILE")]
    pub(super) rejects: Option<PathBuf>,
    /// Cut texts where TEXT first occurs
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(super) cut_after: Option<String>,
}

/// The formats of documents, as options name them.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum InputFormat {
    /// One JSON object a line
    #[value(alias = "json", alias = "ndjson")]
    Jsonl,
    /// Comma-separated, with a header
    Csv,
    /// Tab-separated, with a header, quoted as CSV
    Tsv,
    /// Parquet
    Parquet,
    /// Each file is one document
    Text,
    /// Each line is one document
    Lines,
}

impl From<InputFormat> for Format {
    fn from(format: InputFormat) -> Self {
        match format {
            InputFormat::Jsonl => Self::Jsonl,
            InputFormat::Csv => Self::Csv,
            InputFormat::Tsv => Self::Tsv,
            InputFormat::Parquet => Self::Parquet,
            InputFormat::Text => Self::Text,
            InputFormat::Lines => Self::Lines,
        }
    }
}

impl DocumentArgs {
    /// Opens the inputs, or standard input where there are none, which is of this format unless the options say
    /// something else.
    pub(super) fn open(&self, inputs: &[PathBuf], stdin_format: Format) -> Result<Reader> {
        let mut options = self.options();
        options.stdin_format = stdin_format;
        open(inputs, options)
    }

    /// The same where the key is a group, which not every record has to have.
    pub(super) fn open_for_groups(&self, inputs: &[PathBuf], key_is_optional: bool) -> Result<Reader> {
        let mut options = self.options();
        options.fields.key_is_optional = key_is_optional;
        open(inputs, options)
    }

    /// How the inputs are read.
    pub(super) fn options(&self) -> ReaderOptions {
        let mut options = ReaderOptions::default();
        options.fields.text.clone_from(&self.text_field);
        options.fields.key.clone_from(&self.key_field);
        options.format = self.input_format.map(Format::from);
        options.cut_after.clone_from(&self.cut_after);
        options
    }

    /// Where bad records of a reader go; `others` are written to as well.
    pub(super) fn rejects(&self, reader: &Reader, others: &[(&str, &Path)]) -> Result<Rejects> {
        let rejects = self.rejects.as_deref().map(|path| ("--rejects", path));
        reader.check_outputs(rejects.into_iter().chain(others.iter().copied()))?;
        let file = self.rejects.as_deref().map(LineFile::create).transpose()?;
        Ok(Rejects { file, count: 0 })
    }
}

fn open(inputs: &[PathBuf], options: ReaderOptions) -> Result<Reader> {
    let stdin = ["-".into()];
    Reader::open(if inputs.is_empty() { &stdin } else { inputs }, options)
}

/// Visits texts that are a whole file each, or standard input, and tells how many were not UTF-8.
pub(super) fn for_each_text(
    inputs: &[PathBuf],
    visit: &mut dyn FnMut(&Record),
) -> std::result::Result<u64, Failure> {
    let mut options = ReaderOptions::default();
    options.format = Some(Format::Text);
    let mut num_replaced = 0;
    let mut reader = Reader::open(inputs, options)?;
    while let Some(item) = reader.next_item()? {
        match item {
            Item::Record(record) => {
                num_replaced += u64::from(record.invalid_utf8);
                visit(&record);
            }
            Item::Bad(bad) => return Err(Failure::Input { place: bad.place.to_string(), why: bad.reason }),
        }
    }
    Ok(num_replaced)
}

/// Warns of documents that are likely to be no good.
pub(super) fn warn(global: Global, num_replaced: u64, num_empty: u64) {
    if num_replaced > 0 {
        let what = "not valid UTF-8; what is not was replaced";
        global.note(format_args!("warning: {num_replaced} of the documents: {what}"));
    }
    if num_empty > 0 {
        let what = "without a token; they have the fingerprint 0";
        global.note(format_args!("warning: {num_empty} of the documents: {what}"));
    }
}

/// Takes bad records.
pub(super) struct Rejects {
    file: Option<LineFile>,
    /// How many there were.
    pub(super) count: u64,
}

impl Rejects {
    /// Sets a record aside. Where no file was given for that, it is the end of the run.
    pub(super) fn take(&mut self, bad: &BadRecord) -> std::result::Result<(), Failure> {
        self.count += 1;
        match &mut self.file {
            Some(file) => Ok(file.append(&bad.raw).map(drop)?),
            None => Err(Failure::Record { place: bad.place.to_string(), why: bad.reason.clone() }),
        }
    }

    /// Sets a record aside that is not bad; it is not counted.
    pub(super) fn set_aside(&mut self, raw: &[u8]) -> Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.append(raw).map(drop))
    }

    /// Writes what ends the file.
    pub(super) fn finish(self) -> Result<()> {
        self.file.map_or(Ok(()), LineFile::finish)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        documents: DocumentArgs,
    }

    fn parse(arguments: &[&str]) -> DocumentArgs {
        Cli::parse_from(std::iter::once("x").chain(arguments.iter().copied())).documents
    }

    #[test]
    fn bad_records_stop_the_run_or_are_set_aside() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        std::fs::write(path("a"), "{\"x\":{\"y\":1},\"t\":\"a|b\"}\nbad\n{\"t\":2}").unwrap();
        let rejects = path("rejects").display().to_string();
        let arguments =
            ["--input-format", "json", "--text-field", "t", "--key-field", "x.y", "--cut-after", "|"];
        let stopping = parse(&arguments);
        let setting_aside = parse(&[&arguments[..], &["--rejects", &rejects]].concat());
        let mut reader = stopping.open(&[path("a")], Format::Jsonl).unwrap();
        let Some(Item::Record(record)) = reader.next_item().unwrap() else { panic!("no record") };
        assert_eq!((&*record.key, &*record.text), ("1", "a"));

        let (mut stop, mut aside) =
            (stopping.rejects(&reader, &[]).unwrap(), setting_aside.rejects(&reader, &[]).unwrap());
        while let Some(Item::Bad(bad)) = reader.next_item().unwrap() {
            let failure = stop.take(&bad).unwrap_err();
            assert!(
                matches!(&failure, Failure::Record { place, .. } if place.ends_with("a:2") || place.ends_with("a:3"))
            );
            aside.take(&bad).unwrap();
        }
        assert_eq!(aside.count, 2);
        aside.finish().unwrap();
        assert_eq!(std::fs::read(path("rejects")).unwrap(), b"bad\n{\"t\":2}");
    }
}
