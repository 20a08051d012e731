//! Reading and writing of documents through the public API.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use nearprint_text::documents::{
    AddedField, BadRecord, DocumentWriter, FieldValue, Format, Item, RankValue, Reader, ReaderOptions,
    Record, Spot, WriterOptions, Written,
};
use nearprint_text::{Error, InputSetProblem, OutputProblem};
use proptest::prelude::*;

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Options with a change.
pub fn with<T>(mut options: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut options);
    options
}

pub fn keyed() -> ReaderOptions {
    let mut options = ReaderOptions::default();
    options.fields.key = Some("key".into());
    options
}

fn read_all(mut reader: Reader) -> (Vec<Record>, Vec<BadRecord>) {
    let (mut records, mut bad) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next_item().unwrap() {
        match item {
            Item::Record(record) => records.push(record),
            Item::Bad(record) => bad.push(record),
        }
    }
    let position = reader.position();
    assert_eq!(position.records as usize, records.len() + bad.len());
    assert_eq!(Some(position.bytes), position.total_bytes);
    (records, bad)
}

/// Reads one file.
pub fn read(name: &str, bytes: impl AsRef<[u8]>, options: ReaderOptions) -> (Vec<Record>, Vec<BadRecord>) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(name);
    fs::write(&path, bytes).unwrap();
    read_all(Reader::open(&[path], options).unwrap())
}

pub fn error(name: &str, bytes: impl AsRef<[u8]>, options: ReaderOptions) -> Error {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(name);
    fs::write(&path, bytes).unwrap();
    let mut reader = match Reader::open(&[path], options) {
        Ok(reader) => reader,
        Err(error) => return error,
    };
    loop {
        match reader.next_raw() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("no error"),
            Err(error) => return error,
        }
    }
}

pub fn both(records: &[Record]) -> Vec<(&str, &str)> {
    records.iter().map(|record| (&*record.key, &*record.text)).collect()
}

#[test]
fn every_kind_gives_the_same_documents_compressed_or_not() {
    let expected = [("a", "one"), ("2", "two, \"three\"\nfour"), ("c", "")];
    let jsonl = "{\"key\":\"a\",\"text\":\"one\"}\r\n\n{\"text\":\"two, \\\"three\\\"\\nfour\",\"key\":2}\n{\"key\":\"c\",\"text\":\"\"}";
    let csv = "x,key,text\r\n1,a,one\r\n,2,\"two, \"\"three\"\"\nfour\"\r\n\r\n2,c,\r\n";
    let tsv = "\u{feff}key\ttext\na\tone\n2\t\"two, \"\"three\"\"\nfour\"\nc\t\n";
    for (name, content) in [("d.jsonl", jsonl), ("d.csv", csv), ("d.tsv", tsv)] {
        let bytes = content.as_bytes();
        let halves: Vec<u8> = bytes.chunks(20).flat_map(gzip).collect();
        let frames: Vec<u8> = bytes.chunks(20).flat_map(zstd).collect();
        let files = [
            (name.to_string(), bytes.to_vec()),
            (format!("{name}.gz"), halves),
            (format!("{name}.zst"), frames),
            // Compressed without the extension.
            (name.to_string(), gzip(bytes)),
            (name.to_string(), zstd(bytes)),
        ];
        for (name, bytes) in files {
            let (records, bad) = read(&name, bytes, keyed());
            assert!(bad.is_empty(), "{name}: {bad:?}");
            assert_eq!(both(&records), expected, "{name}");
        }
    }
}

/// A `.json` is what people call JSON: an array, an object of several lines, or one a line.
/// The line of a bad record, or its number where records have no lines.
fn line_of(bad: &BadRecord) -> u64 {
    match bad.place.spot {
        Spot::Line(number) | Spot::Record(number) => number,
        _ => 0,
    }
}

#[test]
fn json_files_may_be_laid_out_in_any_way() {
    let array = "[\n  {\"key\": \"a\",\n   \"text\": \"one\"},\n  {\"key\": 2, \"text\": \"x [\"}\n]\n";
    let objects = "{\n\"key\": \"a\", \"text\": \"one\"\n}\n{\"key\": 2, \"text\": \"x [\"}";
    let lines = "{\"key\": \"a\", \"text\": \"one\"}\n{\"key\": 2, \"text\": \"x [\"}";
    for content in [array, objects, lines] {
        for (name, bytes) in
            [("d.json", content.as_bytes().to_vec()), ("d.JSON.gz", gzip(content.as_bytes()))]
        {
            let (records, bad) = read(name, bytes, keyed());
            assert!(bad.is_empty(), "{content}: {bad:?}");
            assert_eq!(both(&records), [("a", "one"), ("2", "x [")], "{content}");
            assert!(
                records.iter().all(|record| record.raw().iter().filter(|&&byte| byte == b'\n').count() <= 1)
            );
        }
    }
    let (records, bad) = read("d.json", "[{\"key\": 1, \"text\": \"a\"},\n3] x\n[]\n", keyed());
    assert_eq!(both(&records), [("1", "a")]);
    let told: Vec<String> = bad.iter().map(|bad| format!("{}: {}", line_of(bad), bad.reason)).collect();
    assert!(
        told.len() == 2 && told[0].starts_with("2: not a JSON object") && told[1].contains("after the end")
    );
    // A format that is given is not guessed.
    let lines = with(keyed(), |options| options.format = Some(Format::Jsonl));
    assert_eq!(read("d.json", array, lines).1.len(), 4);
}

#[test]
fn records_know_where_they_stand() {
    let (records, _) = read("d.csv", "text\n\"a\nb\"\n\nc\n", ReaderOptions::default());
    let places: Vec<String> = records.iter().map(|record| record.place.to_string()).collect();
    assert!(places[0].ends_with("d.csv:2") && places[1].ends_with("d.csv:5"), "{places:?}");
    assert!(records[1].key.ends_with("d.csv:2"), "{}", records[1].key);
    assert_eq!((records[1].number, records[1].raw()), (2, &b"c\n"[..]));
}

#[test]
fn lines_and_files_are_documents_too() {
    let lines = with(ReaderOptions::default(), |options| options.format = Some(Format::Lines));
    let (records, _) = read("d.log", "\u{feff}a\r\n\nb", lines);
    assert!(records.iter().map(|record| &*record.text).eq(["a", "", "b"]));

    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("d")).unwrap();
    fs::write(home.path().join("d/b.txt"), "\u{feff}B\nb\n").unwrap();
    fs::write(home.path().join("d/a.html.gz"), gzip(b"A")).unwrap();
    let (records, _) = read_all(Reader::open(&[home.path().into()], ReaderOptions::default()).unwrap());
    assert!(records.iter().map(|record| &*record.text).eq(["<!doctype html>A", "B\nb\n"]));
    let name = Path::new("d").join("b.txt").to_str().unwrap().to_string();
    assert!(records[1].key.ends_with(&name) && records[1].raw().ends_with(format!("{name}\n").as_bytes()));
}

#[test]
fn bad_records_are_named_and_reading_goes_on() {
    let (records, bad) = read(
        "d.jsonl",
        "{\"key\":1,\"text\":\"a\"}\n{\"key\":1}\nnot\n{\"key\":1,\"text\":3}\n{\"key\":null,\"text\":\"\"}\n{\"key\":2,\"text\":\"b\"}\n",
        keyed(),
    );
    assert_eq!(both(&records), [("1", "a"), ("2", "b")]);
    let found: Vec<String> = bad.iter().map(|bad| format!("{} {}", line_of(bad), bad.reason)).collect();
    assert_eq!(
        found,
        [
            "2 no field \"text\"; there are \"key\"",
            "3 not a JSON object: expected ident (column 2)",
            "4 field \"text\" is a number, and not a string",
            "5 field \"key\" is null, and no key: a string, a number or an object",
        ]
    );
    assert_eq!(bad[1].raw, b"not\n");

    let mut ranked = keyed();
    ranked.fields.value = Some("n".into());
    let (records, bad) = read("d.csv", "key,text,n\na,b,-1.5\na,b\na,b,x\na,b,\na,\"b,3\n", ranked);
    let values: Vec<&RankValue> = records.iter().map(|record| &record.value).collect();
    let text = |text: &str| RankValue::Text(text.into());
    assert_eq!(values, [&text("-1.5"), &text("x"), &RankValue::Missing]);
    let found: Vec<String> = bad.iter().map(|bad| format!("{} {}", line_of(bad), bad.reason)).collect();
    assert_eq!(found, ["3 2 cells, but the header has 3", "6 a quotation mark that is never closed",]);

    let short = with(keyed(), |options| options.max_record_bytes = 30);
    let long = format!("{{\"key\":1,\"text\":\"{}\"}}\n{{\"key\":2,\"text\":\"b\"}}\n", "x".repeat(1 << 20));
    let (records, bad) = read("d.jsonl", long, short);
    assert_eq!(both(&records), [("2", "b")]);
    assert_eq!(bad[0].reason, "a line of more than 30 bytes");
}

#[test]
fn damaged_files_are_named() {
    let options = ReaderOptions::default;
    let content: String =
        (0..20_000u32).map(|at| format!("{{\"text\":\"{}\"}}\n", at.wrapping_mul(2_654_435_761))).collect();
    for (name, whole) in [("d.jsonl.gz", gzip(content.as_bytes())), ("d.jsonl.zst", zstd(content.as_bytes()))]
    {
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x55;
        for bytes in [&whole[..whole.len() / 2], &whole[..whole.len() - 1], &flipped] {
            let error = error(name, bytes, options());
            assert!(
                matches!(&error, Error::Input { place, why } if place.ends_with(name) && why.starts_with("damaged")),
                "{error}"
            );
        }
        let error = error(name, &content, options());
        assert!(error.to_string().contains("data, and is none"), "{error}");
    }
}

#[test]
fn inputs_have_to_be_of_one_kind() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("a.csv"), "text,b\n1,2\n").unwrap();
    fs::write(at("b.csv"), "\u{feff}text,b\r\n3,4\r\n").unwrap();
    fs::write(at("c.csv"), "b,text\n1,2\n").unwrap();
    fs::write(at("d.jsonl"), "").unwrap();
    fs::write(at("e.csv"), "").unwrap();
    fs::create_dir(at("empty")).unwrap();
    let open = |names: &[&str]| -> Result<usize, String> {
        let paths: Vec<PathBuf> = names.iter().map(|name| at(name)).collect();
        let mut reader = Reader::open(&paths, ReaderOptions::default()).map_err(|error| error.to_string())?;
        let skipped = reader.skip(100).map_err(|error| error.to_string())?;
        Ok(skipped as usize)
    };
    assert_eq!(open(&["a.csv", "b.csv"]), Ok(2));
    assert!(open(&["a.csv", "c.csv"]).unwrap_err().contains("c.csv:1: its header differs from"));
    assert!(open(&["a.csv", "d.jsonl"]).unwrap_err().contains("one kind"));
    assert_eq!((open(&["e.csv"]), open(&["e.csv", "a.csv"])), (Ok(0), Ok(1)));
    assert_eq!(open(&["empty"]), Ok(0), "days without a file are no error");
    assert!(open(&[]).unwrap_err().contains("no file to read"));
    assert!(open(&["missing"]).unwrap_err().contains("missing"));
    let keyed_lines = with(keyed(), |options| options.format = Some(Format::Lines));
    let error = Reader::open(&[at("d.jsonl")], keyed_lines).err().unwrap();
    assert!(matches!(error, Error::InputSet(InputSetProblem::NoFields { .. })), "{error}");
}

/// Copies every record. Returns the bytes of the copy, and the texts read back.
fn copy(inputs: &[PathBuf], out: &Path, options: WriterOptions) -> (Vec<u8>, Vec<String>) {
    let mut reader = Reader::open(inputs, ReaderOptions::default()).unwrap();
    let mut output = DocumentWriter::create(out, &mut reader, options).unwrap();
    let (mut spans, mut expected) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next_item().unwrap() {
        let Item::Record(record) = item else { panic!("{item:?}") };
        spans.push(output.append(&record, &seven()).unwrap());
        expected.push(record.text);
    }
    let texts: Vec<String> = spans.iter().map(|&span| output.read_back(span).unwrap()).collect();
    assert_eq!(texts, expected);
    output.finish().unwrap();
    (fs::read(out).unwrap(), texts)
}

pub fn seven() -> Vec<FieldValue<'static>> {
    vec![FieldValue::Text("7".into())]
}

fn kept() -> WriterOptions {
    with(WriterOptions::default(), |options| (options.keep_texts, options.resumable) = (true, true))
}

#[test]
fn what_is_kept_is_written_unchanged() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("a.jsonl"), b" {\"text\" : \"a\"}\r\n{\"text\":\"\xff\"}").unwrap();
    fs::write(at("b.jsonl"), "{\"text\":\"c\",\"x\":{}}").unwrap();
    let inputs = [at("a.jsonl"), at("b.jsonl")];
    let expected: &[u8] = b" {\"text\" : \"a\"}\r\n{\"text\":\"\xff\"}\n{\"text\":\"c\",\"x\":{}}";
    assert_eq!(copy(&inputs, &at("out.jsonl"), kept()).0, expected);
    let (bytes, _) = copy(&inputs, &at("out.jsonl.gz"), kept());
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut plain).unwrap();
    assert_eq!(plain, expected);
    let (bytes, _) = copy(&inputs, &at("out.jsonl.zst"), kept());
    assert_eq!(zstd::decode_all(&bytes[..]).unwrap(), expected);

    let added = || with(kept(), |options| options.added = vec![AddedField::text("f")]);
    let (bytes, _) = copy(&inputs[1..], &at("out.jsonl"), added());
    assert_eq!(bytes, b"{\"text\":\"c\",\"x\":{},\"f\":\"7\"}");

    fs::write(at("a.csv"), "x,text\r\n1,\"a\nb\"\r\n2,c").unwrap();
    fs::copy(at("a.csv"), at("b.csv")).unwrap();
    let (bytes, _) = copy(&[at("a.csv"), at("b.csv")], &at("out.csv"), kept());
    assert_eq!(bytes, b"x,text\r\n1,\"a\nb\"\r\n2,c\n1,\"a\nb\"\r\n2,c");
    let (bytes, _) = copy(&[at("a.csv")], &at("out.csv"), added());
    assert_eq!(bytes, b"x,text,f\r\n1,\"a\nb\",7\r\n2,c,7");

    fs::write(at("a.txt"), "whole").unwrap();
    let (bytes, texts) = copy(&[at("a.txt")], &at("paths"), kept());
    assert_eq!((bytes, &*texts[0]), (format!("{}\n", at("a.txt").display()).into_bytes(), "whole"));
    let mut reader = Reader::open(&[at("a.txt")], ReaderOptions::default()).unwrap();
    let mut refused = |path: &Path, options| match DocumentWriter::create(path, &mut reader, options) {
        Err(Error::Output(problem)) => problem,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(&at("paths"), added()), OutputProblem::NoFields { .. }));
    assert!(matches!(refused(&at("a.txt"), kept()), OutputProblem::IsInput { .. }));
    assert_eq!(fs::read(at("a.txt")).unwrap(), b"whole");
}

#[test]
fn an_output_is_continued_where_it_was() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let content = "text,n\n\"a\n\",1\nb,2\nc,3\n";
    fs::write(at("a.csv"), content).unwrap();
    let open = || Reader::open(&[at("a.csv")], ReaderOptions::default()).unwrap();
    let next = |reader: &mut Reader| match reader.next_item().unwrap() {
        Some(Item::Record(record)) => record,
        other => panic!("{other:?}"),
    };
    let mut reader = open();
    let mut output = DocumentWriter::create(&at("out.csv"), &mut reader, kept()).unwrap();
    let span = output.append(&next(&mut reader), &[]).unwrap();
    let written = output.flush_and_sync().unwrap();
    output.append(&next(&mut reader), &[]).unwrap();
    output.flush_and_sync().unwrap();
    drop(output);

    let mut reader = open();
    assert_eq!(reader.skip(1).unwrap(), 1);
    let mut output = DocumentWriter::resume(&at("out.csv"), written, &mut reader, kept()).unwrap();
    assert_eq!(output.read_back(span).unwrap(), "a\n");
    for text in ["b", "c"] {
        let record = next(&mut reader);
        assert_eq!(record.text, text);
        let span = output.append(&record, &[]).unwrap();
        assert_eq!(output.read_back(span).unwrap(), text);
    }
    output.finish().unwrap();
    assert_eq!(fs::read_to_string(at("out.csv")).unwrap(), content);

    let written = |len_bytes| Written { len_bytes, ..written };
    for (path, len) in [("out.csv", 10_000), ("out.csv", 1), ("out.csv.gz", 0), ("-", 0), ("missing", 0)] {
        let path = if path == "-" { path.into() } else { at(path) };
        assert!(DocumentWriter::resume(&path, written(len), &mut reader, kept()).is_err());
        assert_eq!(fs::read_to_string(at("out.csv")).unwrap(), content);
    }
}

#[test]
fn a_document_of_100_mb_is_read() {
    let text = "word ".repeat(20 << 20);
    let (records, _) = read("d.jsonl", format!("{{\"key\":1,\"text\":\"{text}\"}}\n"), keyed());
    assert!(records[0].text == text);
    let (records, _) = read("d.csv.gz", gzip(format!("key,text\n1,\"{text}\"\n").as_bytes()), keyed());
    assert!(records[0].text == text);
}

#[cfg(feature = "parquet")]
mod parquet {
    use std::fs::File;
    use std::sync::Arc;

    use ::parquet::arrow::ArrowWriter;
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::cast::AsArray;
    use arrow_array::{
        Array, ArrayRef, DictionaryArray, Float64Array, Int64Array, ListArray, RecordBatch, StringArray,
        StructArray, types,
    };
    use arrow_schema::{DataType, Field, Schema};

    use super::*;

    const ROWS: i64 = 5000;

    /// Copies the rows of files to another one, whose batches are returned.
    fn copied(inputs: &[PathBuf], output: &Path) -> nearprint_text::Result<Vec<RecordBatch>> {
        let mut reader = Reader::open(inputs, ReaderOptions::default())?;
        let mut writer = DocumentWriter::create(output, &mut reader, WriterOptions::default())?;
        while let Some(Item::Record(record)) = reader.next_item()? {
            writer.append(&record, &[])?;
        }
        writer.finish()?;
        Ok(read_batches(output))
    }

    #[test]
    fn regression_dictionaries_of_row_groups_with_more_values_than_keys_were_damage() {
        let home = tempfile::tempdir().unwrap();
        let (path, output) = (home.path().join("a.parquet"), home.path().join("b.parquet"));
        let rows = |group: usize| {
            let names: Vec<String> = (0..100).map(|row| format!("{group}-{row}")).collect();
            let names: DictionaryArray<types::Int8Type> = names.iter().map(|name| Some(&**name)).collect();
            let names: ArrayRef = Arc::new(names);
            let field = Arc::new(Field::new("name", names.data_type().clone(), true));
            let inside: ArrayRef = Arc::new(StructArray::from(vec![(field, names.clone())]));
            RecordBatch::try_from_iter([("text", names), ("inside", inside)]).unwrap()
        };
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), rows(0).schema(), None).unwrap();
        for group in 0..4 {
            writer.write(&rows(group)).unwrap();
            writer.flush().unwrap();
        }
        writer.close().unwrap();
        let batches = copied(&[path], &output).unwrap();
        let mut number = 0;
        for batch in batches {
            for column in [batch.column(0), batch.column(1).as_struct().column(0)] {
                let names = column.as_dictionary::<types::Int32Type>();
                let names = names.downcast_dict::<StringArray>().unwrap();
                let expected = (number..).map(|row| format!("{}-{}", row / 100, row % 100));
                assert!(names.into_iter().zip(expected).all(|(name, expected)| name == Some(&expected)));
            }
            number += batch.num_rows();
        }
        assert_eq!(number, 400);
    }

    #[test]
    fn regression_columns_of_one_name_were_united() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let texts = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
        let field = |name: &str| Field::new(name, DataType::Utf8, false);
        let table = |columns: &[(&str, &str)]| {
            let fields: Vec<Field> = columns.iter().map(|(name, _)| field(name)).collect();
            let columns = columns.iter().map(|(_, text)| texts(text)).collect();
            RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
        };
        let twice = table(&[("text", "a"), ("x", "b"), ("x", "c")]);
        for (name, rows) in [("twice.parquet", &twice), ("same.parquet", &twice)] {
            write(&at(name), rows);
        }
        write(&at("once.parquet"), &table(&[("text", "d"), ("x", "e")]));
        let inside: ArrayRef = Arc::new(StructArray::from(twice.project(&[1, 2]).unwrap()));
        let nested = RecordBatch::try_from_iter([("text", texts("f")), ("inside", inside)]).unwrap();
        write(&at("nested.parquet"), &nested);
        for names in [["twice", "once"], ["once", "twice"], ["once", "nested"], ["nested", "once"]] {
            let inputs = names.map(|name| at(&format!("{name}.parquet")));
            let why = copied(&inputs, &at("out.parquet")).unwrap_err().to_string();
            let input = names.iter().find(|name| **name != "once").unwrap();
            assert!(
                why.contains(&format!("{input}.parquet: two columns or fields have the name \"x\"")),
                "{why}"
            );
        }
        let rows = copied(&[at("twice.parquet"), at("same.parquet")], &at("out.parquet")).unwrap();
        let cells: Vec<&str> =
            rows[0].columns().iter().map(|column| column.as_string::<i32>().value(1)).collect();
        assert_eq!(cells, ["a", "b", "c"]);
    }

    /// Texts, keys, ranks with a null, and lists, which are copied only.
    fn rows() -> RecordBatch {
        let text = StringArray::from_iter_values((0..ROWS).map(|at| format!("text {at}")));
        let key = Int64Array::from_iter_values(0..ROWS);
        let n = Float64Array::from_iter((0..ROWS).map(|at| (at != 7).then_some(at as f64 / 2.0)));
        let lists = (0..ROWS).map(|at| Some((0..at % 4).map(Some)));
        let list = ListArray::from_iter_primitive::<types::Int64Type, _, _>(lists);
        let columns: [(&str, ArrayRef); 4] =
            [("text", Arc::new(text)), ("key", Arc::new(key)), ("n", Arc::new(n)), ("list", Arc::new(list))];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn write(path: &Path, rows: &RecordBatch) {
        let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), rows.schema(), None).unwrap();
        writer.write(rows).unwrap();
        writer.close().unwrap();
    }

    fn read_batches(path: &Path) -> Vec<RecordBatch> {
        let file = File::open(path).unwrap();
        ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn rows_are_documents_and_are_copied_whole() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let rows = rows();
        write(&at("a.parquet"), &rows);
        let mut options = keyed();
        options.fields.value = Some("n".into());
        let mut reader = Reader::open(&[at("a.parquet")], options.clone()).unwrap();
        let added = with(kept(), |options| options.added = vec![AddedField::text("f")]);
        let mut output = DocumentWriter::create(&at("out.parquet"), &mut reader, added).unwrap();
        let (mut wanted, mut spans) = (Vec::new(), Vec::new());
        while let Some(item) = reader.next_item().unwrap() {
            match item {
                Item::Bad(bad) => panic!("{bad:?}"),
                Item::Record(record) => {
                    let number = record.number - 1;
                    assert_eq!((record.text, record.key), (format!("text {number}"), number.to_string()));
                    let value = RankValue::Number((number as f64 / 2.0).to_string());
                    assert_eq!(record.value, if number == 7 { RankValue::Missing } else { value });
                }
            }
        }
        assert_eq!(reader.position().total_bytes, Some(reader.position().bytes));
        let mut reader = Reader::open(&[at("a.parquet")], options.clone()).unwrap();
        while let Some(item) = reader.next_item().unwrap() {
            let Item::Record(record) = item else { continue };
            if record.number % 3 == 0 || record.number > 4000 {
                wanted.push(record.number - 1);
                spans.push(
                    output.append(&record, &[FieldValue::Text(record.number.to_string().into())]).unwrap(),
                );
            }
        }
        assert_eq!(output.read_back(spans[1]).unwrap(), "text 5");
        output.finish().unwrap();

        let batches = read_batches(&at("out.parquet"));
        let fields: Vec<&str> =
            batches[0].schema_ref().fields().iter().map(|field| &**field.name()).collect();
        assert_eq!(fields, ["text", "key", "n", "list", "f"]);
        let mut wanted = wanted.into_iter();
        for batch in batches {
            for row in 0..batch.num_rows() {
                let from = usize::try_from(wanted.next().unwrap()).unwrap();
                for column in 0..4 {
                    let (copied, original) = (batch.column(column), rows.column(column));
                    assert_eq!(copied.slice(row, 1).to_data(), original.slice(from, 1).to_data());
                }
            }
        }
        assert_eq!(wanted.next(), None);

        // Without the added column, the schema is the same.
        let mut reader = Reader::open(&[at("a.parquet")], options).unwrap();
        DocumentWriter::create(&at("empty.parquet"), &mut reader, kept()).unwrap().finish().unwrap();
        let file = File::open(at("empty.parquet")).unwrap();
        let empty = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        assert_eq!(empty.schema().fields(), rows.schema().fields());
    }

    #[test]
    fn what_cannot_be_is_said() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        write(&at("a.parquet"), &rows());
        write(&at("b.parquet"), &rows().project(&[0, 1]).unwrap());
        let open = |names: &[&str], options: ReaderOptions| {
            let paths: Vec<PathBuf> = names.iter().map(|name| at(name)).collect();
            let mut reader = Reader::open(&paths, options).map_err(|error| error.to_string())?;
            reader.skip(u64::MAX).map_err(|error| error.to_string())
        };
        assert_eq!(open(&["a.parquet", "a.parquet"], keyed()), Ok(ROWS as u64), "one file is read once");
        let repeats = with(keyed(), |options| options.repeats = true);
        assert_eq!(open(&["a.parquet", "a.parquet"], repeats), Ok(2 * ROWS as u64));
        assert_eq!(open(&["a.parquet", "b.parquet"], keyed()), Ok(2 * ROWS as u64));
        let mut other = keyed();
        other.fields.text = "missing".into();
        assert!(open(&["a.parquet"], other).unwrap_err().contains("no column named \"missing\""));
        let stdin = with(keyed(), |options| options.format = Some(Format::Parquet));
        assert!(Reader::open(&["-".into()], stdin).is_err());
        let mut reader = Reader::open(&[at("a.parquet")], keyed()).unwrap();
        let compressed = DocumentWriter::create(&at("x.parquet.gz"), &mut reader, kept());
        assert!(matches!(compressed, Err(Error::Output(OutputProblem::ParquetCompressed { .. }))));

        let whole = fs::read(at("a.parquet")).unwrap();
        assert_eq!(read("d.parquet", b"", keyed()).0.len(), 0);
        for len in [3, 100, whole.len() / 2, whole.len() - 1] {
            let error = error("d.parquet", &whole[..len], keyed());
            assert!(matches!(&error, Error::Input { why, .. } if why.contains("Parquet")), "{error}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn damage_is_an_error_or_another_text(at in any::<prop::sample::Index>(), flip in 1u8..) {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("d.parquet");
            write(&path, &rows().slice(0, 50));
            let mut bytes = fs::read(&path).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
            fs::write(&path, bytes).unwrap();
            let mut items = 0;
            let ended = Reader::open(std::slice::from_ref(&path), keyed()).and_then(|mut reader| {
                while reader.next_item()?.is_some() {
                    items += 1;
                }
                Ok(())
            });
            prop_assert!(items <= 50, "{} items of 50 rows", items);
            if let Err(error) = ended {
                let message = error.to_string();
                prop_assert!(message.contains("d.parquet") || message.contains("column"), "{}", message);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn json_lines_are_read_as_serde_reads_them(
        texts in prop::collection::vec(any::<String>(), 0..20),
        extra in "[a-z\"\\\\{}]{0,8}",
    ) {
        let lines: Vec<String> = texts
            .iter()
            .enumerate()
            .map(|(at, text)| serde_json::json!({"x": {"text": extra}, "text": text, "key": at, &extra: [extra, {}]}).to_string() + "\n")
            .collect();
        let (records, bad) = read("d.jsonl", lines.concat(), keyed());
        prop_assert!(bad.is_empty(), "{:?}", bad);
        prop_assert!(records.iter().map(|record| &record.text).eq(&texts));
        prop_assert!(records.iter().map(|record| record.raw()).eq(lines.iter().map(|line| line.as_bytes())));
    }

    #[test]
    fn csv_is_read_as_the_csv_crate_reads_it(
        rows in prop::collection::vec(("[^\\r]{0,10}", "[^\\r]{0,10}"), 0..20),
        tabs in any::<bool>(),
    ) {
        let delimiter = if tabs { b'\t' } else { b',' };
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        writer.write_record(["text", "key"]).unwrap();
        rows.iter().for_each(|(text, key)| writer.write_record([text, key]).unwrap());
        let bytes = writer.into_inner().unwrap();
        let (records, bad) = read(if tabs { "d.tsv" } else { "d.csv" }, &bytes, keyed());
        prop_assert!(bad.is_empty(), "{:?}", bad);
        let found: Vec<(String, String)> = records.iter().map(|record| (record.text.clone(), record.key.clone())).collect();
        prop_assert_eq!(found, rows);
        let raw: Vec<u8> = records.iter().flat_map(|record| record.raw().to_vec()).collect();
        prop_assert_eq!(&bytes[b"text,key\n".len()..], raw);
    }
}

#[test]
fn a_header_tells_what_separates_its_fields() {
    let texts = |name: &str, content: &str| -> Result<(String, Option<String>), String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(name);
        fs::write(&path, content).unwrap();
        let mut reader = Reader::open(&[path], keyed()).map_err(|error| error.to_string())?;
        let note = reader.left_out().notes.first();
        let found = note.map(|note| note.rsplit_once(": fields separated by ").unwrap().1.to_string());
        match reader.next_item().unwrap() {
            Some(Item::Record(record)) => Ok((record.text, found)),
            other => panic!("{other:?}"),
        }
    };
    let found = |text: &str, delimiter: &str| Ok((text.to_string(), Some(delimiter.to_string())));
    let usual = |text: &str| Ok((text.to_string(), None));
    for (header, row, expected) in [
        ("key,text", "1,\"a;b\"", usual("a;b")),
        ("key;text", "1;a,b", found("a,b", ";")),
        ("key\ttext", "1\ta,b", found("a,b", "tab")),
        ("key|text", "1|\"a|\"\"b\"", found("a|\"b", "|")),
        // Names with commas, quoted or not; a semicolon in a header of commas, and both.
        ("\"key\";\"text\";\"a,b\"", "1;2;3", found("2", ";")),
        ("a,b;key;text", "1,2;3;4", found("4", ";")),
        ("key,text,\"a;b\"", "1,2,3", usual("2")),
        ("a;b,key,text", "1,2,3", usual("3")),
        ("key,text,text;key", "1,2,3", usual("2")),
        ("\"a\nb\";key;text", "1;2;3", found("3", ";")),
        ("\"a;\"\"\nb\",key,text", "1,2,3", usual("3")),
        ("\u{feff}\"key\"|text", "1|2", found("2", "|")),
    ] {
        assert_eq!(texts("a.csv", &format!("{header}\n{row}\n")), expected, "{header:?}");
    }
    assert_eq!(texts("a.tsv", "key\ttext\n1\ta,b\n"), usual("a,b"));
    assert_eq!(texts("a.tsv", "key,text\n1,a\n"), found("a", ","));
    // Two delimiters with which the columns are there, or none.
    for header in ["key;text;x|key|text", "key:text", "key;txt", "key", "", "\"key;text"] {
        let refused = texts("a.csv", &format!("{header}\n1\n")).unwrap_err();
        assert!(
            refused.contains("a.csv:1: no column named") || refused.contains("never closed"),
            "{refused}"
        );
        assert_eq!(
            refused.ends_with("--delimiter says what separates them"),
            header.contains(';') && !header.starts_with('"')
        );
    }
    let (records, _) = read("a.csv", "text\na;b|c\n", ReaderOptions::default());
    assert_eq!(records[0].text, "a;b|c", "one column");
}

#[test]
fn a_given_delimiter_is_that_of_all_tables() {
    let given = |text: &str| with(keyed(), |options| options.delimiter = text.parse().ok());
    for (delimiter, byte) in [("semicolon", ';'), ("\\t", '\t'), (":", ':'), ("\u{1}", '\u{1}')] {
        let content = format!("key{byte}text\n1{byte}\"a{byte}b\"\n");
        let (records, _) = read("a.csv", &content, given(delimiter));
        assert_eq!(records[0].text, format!("a{byte}b"));
    }
    let refused = error("a.csv", "key;text\n1;2\n", given("comma")).to_string();
    assert!(refused.contains("no column named \"text\""), "{refused}");
    // In Shift_JIS, the second byte of a character may be a bar.
    let content = encoding_rs::SHIFT_JIS.encode("key|text\n1|\u{30dd}\u{30dd}\n").0.into_owned();
    assert!(content[10..].contains(&b'|'));
    let encoded =
        |options| with(options, |options: &mut ReaderOptions| options.encoding = "shift_jis".parse().ok());
    let refused = error("a.csv", &content, encoded(given("bar"))).to_string();
    assert!(refused.contains("has this delimiter in other characters"), "{refused}");
    assert!(matches!(error("a.csv", &content, encoded(keyed())), Error::Input { .. }));

    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("a.csv"), "key;text\n1;one\n").unwrap();
    fs::write(at("b.csv"), "key,text\n2,two\n").unwrap();
    fs::write(at("c.jsonl"), "{\"key\":1,\"text\":\"a\"}\n").unwrap();
    let mut reader = Reader::open(&[at("a.csv"), at("b.csv")], keyed()).unwrap();
    reader.next_item().unwrap();
    let refused = reader.next_item().unwrap_err().to_string();
    assert!(refused.contains("b.csv:1: its fields are separated by ,, but those of "), "{refused}");
    let lines = Reader::open(&[at("c.jsonl")], given("|")).unwrap();
    assert!(matches!(lines.check_delimiter(), Err(Error::InputSet(InputSetProblem::NoCells { .. }))));
}

#[test]
fn records_keep_their_delimiter() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("a.csv"), "key;text;x\r\n1;\"a;,b\";\"\"\r\n").unwrap();
    let options = with(WriterOptions::default(), |options| {
        options.fields = vec!["text".into(), "key".into()];
        options.added = vec![AddedField::text("more;")];
    });
    let mut reader = Reader::open(&[at("a.csv")], keyed()).unwrap();
    let mut output = DocumentWriter::create(&at("out.csv"), &mut reader, options).unwrap();
    while let Some(Item::Record(record)) = reader.next_item().unwrap() {
        output.append_with_text(&record, "c;d,", &[FieldValue::Text("e;f".into())]).unwrap();
    }
    output.finish().unwrap();
    let expected = "key;text;\"more;\"\r\n1;\"c;d,\";\"e;f\"\r\n";
    assert_eq!(fs::read_to_string(at("out.csv")).unwrap(), expected);
}
