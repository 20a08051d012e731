//! The table of kinds in docs/inputs.md.

use super::compression::Compression;
use super::known::{Class, PRINTABLE, READERS, Unread};
use super::records::{HTML_EXTENSIONS, Records, SOURCE_EXTENSIONS};

/// A row: the kind, how it is recognized, and what is done with it by commands that read documents, by commands that
/// compare files, and by commands that compare two texts.
struct Row {
    kind: &'static str,
    signs: String,
    uses: [&'static str; 3],
}

const LEFT_OUT: &str = "left out, counted";
const PICTURE_LEFT_OUT: &str = "left out, counted; `fingerprint` takes it where all are";
const COPIES: &str = "copies alone";
const REFUSED: &str = "refused";

const HEADS: &str = "| kind | how it is recognized | `dedup`, `decontaminate`, `tune`, `fingerprint`, \
                     `query --text`, `--against` | `scan`, `prune`, `--reference` | `compare` |\n\
                     |---|---|---|---|---|\n";

/// The table, as Markdown.
#[must_use]
pub fn table_of_kinds() -> String {
    let records = Records::ALL.map(of_records);
    let unread = Class::ALL.map(of_class);
    let rows = records.into_iter().chain(others()).chain(unread);
    let lines = rows.map(|Row { kind, signs, uses: [documents, files, texts] }| {
        format!("| {kind} | {signs} | {documents} | {files} | {texts} |\n")
    });
    [HEADS.into()].into_iter().chain(lines).collect()
}

fn of_records(records: Records) -> Row {
    let names = extensions(records.extensions());
    let signs = match records {
        Records::JsonLines => format!("each line is an object; else {names}"),
        Records::Json => format!("an array of objects; else {names}"),
        Records::Csv | Records::Tsv => names,
        Records::Parquet => format!("`PAR1`; else {names}"),
    };
    let uses = match records {
        Records::Parquet => ["its records", "copies alone; refused if alone", REFUSED],
        Records::JsonLines => ["its records", "as a text; refused if alone", "refused if both are"],
        Records::Json => ["its records", "as a text", "as a text"],
        Records::Csv | Records::Tsv => ["its records", "as a text; refused if alone", "as a text"],
    };
    Row { kind: records.name(), signs, uses }
}

fn others() -> [Row; 6] {
    let html = format!(
        "{}; else `<!doctype html` or `<html` at its begin, unless {}",
        extensions(&HTML_EXTENSIONS),
        extensions(&SOURCE_EXTENSIONS)
    );
    let row = |kind, signs: &str, uses| Row { kind, signs: signs.into(), uses };
    [
        row("HTML", &html, ["what a reader sees"; 3]),
        row("text", "an encoding in which hardly any character is a control character", ["one document"; 3]),
        row("image", "its first bytes", [PICTURE_LEFT_OUT, "what it shows", "what it shows, if all are"]),
        row("nearprint database", "a folder with its files", [REFUSED; 3]),
        row(
            "empty",
            "no byte, or none when decompressed",
            ["no record; in a folder left out", "left out, counted", "a text without words"],
        ),
        row("pipe, socket or device", "its type", ["read if named; in a folder left out", LEFT_OUT, "read"]),
    ]
}

fn of_class(class: Class) -> Row {
    let (kind, signs) = match class {
        Class::Document => {
            ("document", printable() + ", `docx`, `xlsx`, `pptx`, OpenDocument, e-books, old office")
        }
        Class::Archive => {
            ("archive", "`zip`, `tar`, `7z`, `rar` and the like, and compressions that are not read".into())
        }
        Class::Audio => ("audio", "its first bytes".into()),
        Class::Video => ("video", "its first bytes".into()),
        Class::Font => ("font", "its first bytes".into()),
        Class::Program => ("program", "its first bytes".into()),
        Class::Data => {
            ("data of another program", "SQLite, HDF5, NumPy, Arrow, Avro, ORC, by their first bytes".into())
        }
        Class::Binary => ("binary", format!("none of these; counted as `{}`", Unread::BINARY.name)),
    };
    Row { kind, signs, uses: [LEFT_OUT, COPIES, REFUSED] }
}

/// The names of the formats that only their first bytes tell from texts.
fn printable() -> String {
    let mut names: Vec<String> = PRINTABLE.iter().map(|(_, format)| format!("`{}`", format.name)).collect();
    names.dedup();
    names.truncate(3);
    names.join(", ")
}

/// The programs that make text of formats, as Markdown.
#[must_use]
pub fn table_of_readers() -> String {
    let line = |(names, reader): &(&[&str], &str)| format!("| {} | `{reader}` |\n", quoted(names));
    ["| format | program |\n|---|---|\n".into()].into_iter().chain(READERS.iter().map(line)).collect()
}

fn extensions(names: &[&str]) -> String {
    let dotted: Vec<String> = names.iter().map(|name| format!("`.{name}`")).collect();
    dotted.join(" ")
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The extensions of compressed files that are read, as Markdown.
#[must_use]
pub fn names_of_compressions() -> String {
    Compression::extensions().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}
