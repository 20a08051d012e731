//! An open input, and what its first line says about its rows.

use std::path::Path;

use serde_json::Value;

use super::rows::{DEFAULT_KEY_FIELD, Description, RowSink, parse_id};
use super::stream::InputStream;
use super::{csv, jsonl, npy, raw, text};
use crate::args::{Column, FingerprintArgs, FingerprintFormat};
use crate::row_header::RowHeader;
use crate::terminal::failure::Failure;
use crate::terminal::print_message;
use nearprint::Width;
use nearprint_text::documents::Compression;

/// An input before its first row.
pub(crate) struct OpenedInput {
    input: InputStream,
    format: FingerprintFormat,
    /// The columns of TSV without a header.
    columns: Vec<Column>,
    pub(super) description: Description,
}

impl OpenedInput {
    /// Opens a file that is not Parquet, or standard input for `-`, and reads its first line.
    pub(super) fn open(args: &FingerprintArgs, path: &Path) -> Result<Self, Failure> {
        if path.is_dir() {
            let path = path.display();
            return Err(Failure::OtherCommand {
                why: format!("{path} is a folder, not a file of fingerprints"),
                hint: format!("nearprint fingerprint {path} --header | nearprint build NEW.np -"),
            });
        }
        let by_name = args.input_format.or_else(|| by_extension(path));
        let is_raw = matches!(
            by_name,
            Some(
                FingerprintFormat::U64
                    | FingerprintFormat::U128
                    | FingerprintFormat::U256
                    | FingerprintFormat::U320
            )
        );
        let input = if is_raw { InputStream::open_raw(path)? } else { InputStream::open(path)? };
        Self::of_stream(args, by_name, input)
    }

    /// `format` is what an option or the name of the file says.
    pub(super) fn of_stream(
        args: &FingerprintArgs,
        format: Option<FingerprintFormat>,
        input: InputStream,
    ) -> Result<Self, Failure> {
        let (columns, description) = (args.columns.clone(), Description::default());
        let mut opened =
            Self { input, format: format.unwrap_or(FingerprintFormat::Text), columns, description };
        match opened.format {
            FingerprintFormat::U64 => opened.description.width = Some(Width::W64),
            FingerprintFormat::U128 => opened.description.width = Some(Width::W128),
            FingerprintFormat::U256 => opened.description.width = Some(Width::W256),
            FingerprintFormat::U320 => opened.description.width = Some(Width::W320),
            FingerprintFormat::Npy | FingerprintFormat::Parquet => {}
            FingerprintFormat::Lines => return Err(no_fingerprints(&opened.input)),
            FingerprintFormat::Text
            | FingerprintFormat::Csv
            | FingerprintFormat::Tsv
            | FingerprintFormat::Jsonl => {
                opened.read_header()?;
                opened.look_at_first_line(args, format.is_none())?;
            }
        }
        let has_columns = matches!(opened.format, FingerprintFormat::Csv | FingerprintFormat::Tsv);
        if !args.columns.is_empty() && !has_columns {
            let why = "--columns is for CSV and TSV only; --input-format can set the format";
            return Err(Failure::Usage(format!("{}: {why}", opened.input.name.display())));
        }
        Ok(opened)
    }

    /// Reads the line with which `--header` begins, if there is one.
    fn read_header(&mut self) -> Result<(), Failure> {
        let line = self.input.peek_line()?;
        let Some(header) = RowHeader::parse(&line) else { return Ok(()) };
        self.input.skip_line();
        let header = header.map_err(|why| self.input.bad_line(why, &line))?;
        self.description.width = header.width;
        self.description.header = header;
        Ok(())
    }

    fn look_at_first_line(&mut self, args: &FingerprintArgs, may_set_format: bool) -> Result<(), Failure> {
        let line = self.input.peek_line()?;
        if may_set_format && line.starts_with('{') {
            self.format = FingerprintFormat::Jsonl;
        }
        if self.format == FingerprintFormat::Jsonl {
            let object: Value = serde_json::from_str(&line).unwrap_or_default();
            let member = |name: &str| object.get(name).and_then(Value::as_str);
            self.found_width(args, member(&args.fingerprint_field).unwrap_or_default());
            let key = args.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD);
            self.description.has_keys = self.may_have_keys(may_set_format) && member(key).is_some();
            return Ok(());
        }
        let first = line.split([',', '\t', ' ']).next().unwrap_or_default();
        self.found_width(args, first);
        if self.format == FingerprintFormat::Csv || !line.contains('\t') {
            return Ok(());
        }
        let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
        let is_named = cells.contains(&&*args.fingerprint_field);
        let has_key = matches!(cells[..], [_, cell] if !cell.is_empty() && parse_id(cell).is_err());
        if may_set_format && (is_named || has_key || cells.len() > 2 || !args.columns.is_empty()) {
            self.format = FingerprintFormat::Tsv;
        }
        if self.format == FingerprintFormat::Tsv && args.columns.is_empty() {
            if is_named {
                let key = args.key_field.as_deref().unwrap_or(DEFAULT_KEY_FIELD);
                self.description.has_keys = self.may_have_keys(may_set_format) && cells.contains(&key);
            } else if has_key {
                self.columns = vec![Column::Fingerprint, Column::Key];
                self.description.has_keys = true;
            } else {
                self.description.has_keys = cells.len() == 3;
            }
        }
        Ok(())
    }

    /// Whether a key that a header or JSON names is meant for nearprint. In a file whose format is given, it
    /// may be meant for another program.
    fn may_have_keys(&self, may_set_format: bool) -> bool {
        may_set_format || self.description.header != RowHeader::default()
    }

    fn found_width(&mut self, args: &FingerprintArgs, digits: &str) {
        if self.description.width.is_none() {
            self.description.width = args.width_by_digits(digits);
            args.doubt(digits).iter().for_each(|doubt| print_message(format_args!("{doubt}")));
        }
    }

    /// Passes the rows to a sink.
    pub(super) fn read(
        mut self,
        how: (&FingerprintArgs, Width),
        sink: &mut dyn RowSink,
    ) -> Result<(), Failure> {
        sink.described(&self.description)?;
        match self.format {
            FingerprintFormat::Text => text::read(how, self.input, sink),
            FingerprintFormat::U64 => raw::read(how.1, &mut self.input, Width::W64, sink),
            FingerprintFormat::U128 => raw::read(how.1, &mut self.input, Width::W128, sink),
            FingerprintFormat::U256 => raw::read(how.1, &mut self.input, Width::W256, sink),
            FingerprintFormat::U320 => raw::read(how.1, &mut self.input, Width::W320, sink),
            FingerprintFormat::Csv => csv::read(how, self.input, (',', &self.columns), sink),
            FingerprintFormat::Tsv => csv::read(how, self.input, ('\t', &self.columns), sink),
            FingerprintFormat::Jsonl => jsonl::read(how, self.input, sink),
            FingerprintFormat::Npy => npy::read(how.1, &mut self.input, sink),
            FingerprintFormat::Parquet => Err(self.input.bad_line("Parquet has to be in a file", "")),
            FingerprintFormat::Lines => Err(no_fingerprints(&self.input)),
        }
    }
}

/// Texts instead of fingerprints.
fn no_fingerprints(input: &InputStream) -> Failure {
    let name = input.name.display();
    Failure::OtherCommand {
        why: format!("--input-format lines: {name} has texts, but this command reads fingerprints"),
        hint: format!(
            "nearprint fingerprint {name} --input-format lines --header | nearprint build NEW.np -"
        ),
    }
}

/// The format that the extension of a file names. An extension of a compression is skipped.
pub(super) fn by_extension(path: &Path) -> Option<FingerprintFormat> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let bare = Path::new(Compression::strip(name));
    let extension = bare.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("u64") => Some(FingerprintFormat::U64),
        Some("u128") => Some(FingerprintFormat::U128),
        Some("u256") => Some(FingerprintFormat::U256),
        Some("u320") => Some(FingerprintFormat::U320),
        Some("csv") => Some(FingerprintFormat::Csv),
        Some("tsv") => Some(FingerprintFormat::Tsv),
        Some("jsonl") => Some(FingerprintFormat::Jsonl),
        Some("npy") => Some(FingerprintFormat::Npy),
        Some("parquet") => Some(FingerprintFormat::Parquet),
        _ => None,
    }
}
