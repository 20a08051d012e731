//! The fuzz targets of documents and fingerprints, and of what a file is.

use std::path::{Path, PathBuf};

use crate::documents::{
    BadRecord, Decoding, Format, Item, Kind, Reader, ReaderOptions, Record, decode, looks_compressed,
    recognize, text_of_file,
};
use crate::recipe::Recipe;
use nearprint::U256;
use nearprint::testing::fuzzing::input::Input;
use nearprint::testing::fuzzing::replay::Target;

pub const TARGET: Target = Target { name: "documents", call: documents, inputs: 2000, seeds };

pub const RECOGNIZER: Target =
    Target { name: "recognizer", call: recognizer, inputs: 20_000, seeds: recognizer_seeds };

const NAMES: [&str; 7] = ["a", "a.txt", "a.jsonl", "a.json.gz", "a.csv", "a.html", "a.parquet"];
const ENCODINGS: [Option<&str>; 5] =
    [None, Some("windows-1251"), Some("shift_jis"), Some("utf-16le"), Some("utf-32be")];

/// Recognizes bytes as a file. What is taken for a text is one: it can be decoded, and has no U+FFFD that the bytes do
/// not have. Valid UTF-8 is never changed.
fn recognizer(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (name, label) = (Path::new(input.pick(&NAMES)), input.pick(&ENCODINGS));
    let given = label.map(|label| label.parse().expect("an encoding"));
    let content = input.rest();
    let found = recognize(name, content, true, given);
    assert_eq!(found.kind == Kind::Empty, content.is_empty());
    let cut = recognize(name, &content[..content.len() / 2], false, given);
    assert!(cut.kind != Kind::Empty || content.len() < 2);
    let Some(decoded) = decode(content, given) else { return assert!(!found.is_text(), "{found:?}") };
    let text = text_of_file(name, content, &Decoding::of(given)).expect("a text");
    assert!(text.text.ends_with(&*decoded.text), "{text:?}");
    let plain = std::str::from_utf8(content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content));
    if given.is_none() {
        assert!(decoded.counted_as().is_some() || plain == Ok(&decoded.text), "{decoded:?}");
        assert!(
            plain.is_ok() || !decoded.text.contains('\u{fffd}') || is_wide(decoded.counted_as()),
            "{decoded:?}"
        );
    }
}

/// Whether an encoding has U+FFFD itself.
fn is_wide(name: Option<&str>) -> bool {
    name.is_some_and(|name| name.starts_with("UTF-") || name == "gb18030")
}

fn recognizer_seeds() -> Vec<Vec<u8>> {
    let starts: [&[u8]; 12] = [
        b"%PDF-1.4 one",
        b"PK\x03\x04\x14\0[Content_Types].xml word/document.xml",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\x89NPS\r\n\x1a\n",
        b"{\"text\": \"one\"}\n{\"text\": \"two\"}\n",
        b"[{\"text\": \"one\"}]",
        b"\xff\xfeo\0n\0e\0",
        b"\0\0\xfe\xff\0\0\0o",
        b"<?xml version='1.0' encoding='koi8-r'?><a>\xd7\xd2\xc5\xcd\xd1</a>",
        b"\xe2\xf0\xe5\xec\xff \xe4\xe5\xed\xfc\xe3\xe8",
        b"\x93\xfa\x96{\x8c\xea \x82\xcc",
        b"\x1b$B%F%9%H\x1b(B",
    ];
    let each = starts.iter().flat_map(|start| (0..5).map(|at| [&[at, at], *start].concat()));
    each.collect()
}

const FORMATS: [Format; 5] = [Format::Jsonl, Format::Csv, Format::Tsv, Format::Text, Format::Lines];
const RECIPES: [&str; 6] =
    ["simhash", "simhash clean=html,nfc,lower", "simhash-py", "seomoz-cpp", "notebook hash=md5:64", "cjk"];
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const MARKS: [&[u8]; 4] = [BYTE_ORDER_MARK, b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"];

/// Reads bytes as a file of documents. The lines are unchanged, JSON has the text that another
/// parser finds, and each fingerprint equals the sum of its explanation.
fn documents(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (format, recipe) = (input.pick(&FORMATS), input.pick(&RECIPES));
    let content = input.rest();
    let items = read(content, format);
    if matches!(format, Format::Jsonl | Format::Lines)
        && !looks_compressed(content)
        && !MARKS.iter().any(|mark| content.starts_with(mark))
    {
        let lines = content.split_inclusive(|byte| *byte == b'\n');
        let blank = |line: &[u8]| format == Format::Jsonl && line.trim_ascii().is_empty();
        let expected: Vec<&[u8]> = lines.filter(|line| !blank(line)).collect();
        let found: Vec<&[u8]> = items.iter().map(raw).collect();
        assert_eq!(found, expected, "unchanged lines");
    }
    let recipe: Recipe = recipe.parse().expect("a recipe");
    let mut fingerprinter = recipe.any_fingerprinter();
    let minhash: Recipe = Recipe::DEFAULT.parse().expect("a recipe");
    let mut minhash = minhash.fingerprinter::<U256>().expect("256 bits");
    for item in &items {
        if format == Format::Jsonl {
            agree(item);
        }
        if let Item::Record(record) = item {
            let found = fingerprinter.fingerprint(&record.text);
            let explained = fingerprinter.explain(&record.text);
            assert_eq!(found.value, explained.value, "{:?}", record.text);
            assert_eq!(found.num_features == 0, explained.features.is_empty(), "{:?}", record.text);
            // A text has a fingerprint other than 0 exactly if it has a token.
            let found = minhash.fingerprint(&record.text);
            assert_eq!(found.value == U256::default(), found.num_tokens == 0, "{:?}", record.text);
        }
    }
}

fn read(content: &[u8], format: Format) -> Vec<Item> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), content).expect("room");
    let options =
        ReaderOptions { format: Some(format), max_record_bytes: 1 << 16, ..ReaderOptions::default() };
    let Ok(mut reader) = Reader::open(&[PathBuf::from(file.path())], options) else { return Vec::new() };
    // Damaged compression ends the file with an error.
    std::iter::from_fn(|| reader.next_item().ok().flatten()).collect()
}

fn raw(item: &Item) -> &[u8] {
    match item {
        Item::Record(record) => record.raw(),
        Item::Bad(BadRecord { raw, .. }) => raw,
    }
}

/// An object with a text for another JSON parser is one here, with the same text.
fn agree(item: &Item) {
    let Ok(line) = std::str::from_utf8(raw(item)) else { return };
    let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
    let expected = value.as_ref().and_then(|value| value.get("text")).and_then(|text| text.as_str());
    match (item, expected) {
        (Item::Record(Record { text, .. }), Some(expected)) => assert_eq!(text, expected, "{line:?}"),
        (Item::Bad(bad), Some(_)) => panic!("{line:?}: {}", bad.reason),
        // The other parser refuses numbers that are too large.
        (Item::Record(_), None) => assert!(value.is_none(), "{line:?} has no text"),
        (Item::Bad(_), None) => {}
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let jsonl = r#"{"a":{"b":[1,-2.5e3,null]},"text":"one \u00e9 \ud83d\ude00 <b>two</b> &amp; three"}
{"text":"caf\u00e9 no yes","text":"the last one"}

{"text":7}
not json"#;
    let csv = "key,text,x\n1,\"one, \"\"two\"\"\nthree\",\n\"2\",four five,\"\"\r\n3\n";
    let page = "<!doctype html><title>T</title><script>if (a < b) {}</script><p>One&nbsp;two<br>three &#x41; \u{65e5}\u{672c}";
    let plain = "It's U.S. news: 3.14, don't\u{0301} \u{1f1e9}\u{1f1ea} \u{30c6}\u{30b9}\u{30c8}\n\u{fb01}ne";
    let contents = [
        (0, jsonl.to_string()),
        (1, csv.into()),
        (2, csv.replace(',', "\t")),
        (3, page.into()),
        (4, plain.into()),
    ];
    let each = contents.iter().flat_map(|(format, content)| {
        [0, 1, 3, 5].map(|recipe| [&[*format, recipe], content.as_bytes()].concat())
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_pass() {
        TARGET.replay();
        RECOGNIZER.replay();
    }

    #[test]
    fn regression_white_space_that_json_does_not_allow_is_trimmed_by_neither_parser() {
        documents(b"\0\0{\"text\":\"one\"}\x0b\n{\"text\":\"two\"}\xc2\xa0\n");
    }
}
