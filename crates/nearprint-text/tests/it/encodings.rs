//! Encodings of documents, byte order marks and ends of lines.

use std::fs;
use std::io::Read;
use std::path::Path;

use nearprint_text::documents::{
    AddedField, DocumentWriter, FieldValue, Format, Item, Reader, ReaderOptions, WriterOptions,
};
use nearprint_text::internal::open_decompressed;
use nearprint_text::{Error, OutputProblem};

use crate::documents::{both, error, keyed, read, seven, with};

#[test]
fn what_is_not_utf8_is_replaced_and_its_bytes_kept() {
    let line = b"{\"key\":\"k\",\"text\":\"a\xff\xc3b\"}\n";
    let (records, _) = read("d.jsonl", line, keyed());
    assert_eq!(both(&records), [("k", "a\u{fffd}\u{fffd}b")]);
    assert!(records[0].invalid_utf8);
    assert_eq!(records[0].raw(), line);
}

#[test]
fn regression_tables_and_texts_are_never_compared_as_replacement_characters() {
    let (records, _) = read("d.csv", b"key,text,x\n1,a\xff,\n2,b,\xff\n", keyed());
    assert_eq!(both(&records), [("1", "a\u{ff}"), ("2", "b")]);
    assert!(!records[0].invalid_utf8 && records[1].raw() == b"2,b,\xff\n", "records stay as they are");
    let (records, _) = read("d.txt", b"a\xff", ReaderOptions::default());
    assert_eq!(records[0].text, "a\u{ff}");
    let words = "\u{432}\u{440}\u{435}\u{43c}\u{44f} \u{433}\u{43e}\u{434} ".repeat(20);
    let table = format!("key;text\n1;{words}\n").replace(';', ",");
    let json = format!("{{\"key\": 1, \"text\": \"{words}\"}}\n");
    let given = |label: &str| with(keyed(), |options| options.encoding = label.parse().ok());
    for label in ["windows-1251", "koi8-u", "utf-16le"] {
        let bytes = |text: &str| match label {
            "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            label => encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(text).0.into_owned(),
        };
        let files = [("d.txt", &*words), ("d.csv", &*table), ("d.jsonl", &*json)];
        for (name, content) in files {
            let options = if name == "d.txt" {
                with(given(label), |options| options.fields.key = None)
            } else {
                given(label)
            };
            let (records, bad) = read(name, bytes(content), options);
            assert!(bad.is_empty() && records[0].text.trim() == words.trim(), "{label} {name}: {records:?}");
        }
        match label {
            "utf-16le" => {
                let marked = [b"\xff\xfe".to_vec(), bytes(&json)].concat();
                assert_eq!(read("d.jsonl", marked, keyed()).0[0].text, words);
            }
            "windows-1251" => assert_eq!(read("d.csv", bytes(&table), keyed()).0[0].text, words),
            _ => {}
        }
    }
    let why = error("d.csv", b"\xff\xfe\0\0k\0\0\0", keyed()).to_string();
    assert!(why.contains("iconv -f UTF-32LE"), "{why}");
}

#[test]
fn regression_outputs_of_tables_in_two_encodings_took_all_records_for_those_of_the_first() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let latin = "key,text,x\n1,caf\u{e9} au lait,\u{e9}\n";
    let latin = encoding_rs::WINDOWS_1252.encode(latin).0.into_owned();
    let cyrillic = "key,text,x\n2,\u{444}\u{438}\u{43b}\u{44c}\u{43c} \u{43e},\u{444}\n";
    fs::write(at("latin.csv"), &latin).unwrap();
    fs::write(at("cyrillic.csv"), cyrillic).unwrap();
    for names in [["latin.csv", "cyrillic.csv"], ["cyrillic.csv", "latin.csv"]] {
        let options = with(ReaderOptions::default(), |options| options.fields.key = Some("key".into()));
        let mut reader = Reader::open(&names.map(at), options).unwrap();
        let options =
            with(WriterOptions::default(), |options| options.added = vec![AddedField::text("same")]);
        let mut output = DocumentWriter::create(&at("out.csv"), &mut reader, options).unwrap();
        let mut spans = Vec::new();
        while let Some(Item::Record(record)) = reader.next_item().unwrap() {
            let (start, _) = record.text.split_once(' ').unwrap();
            let values = [FieldValue::Text(start.into())];
            spans.push((output.append(&record, &values).unwrap(), record.text.clone()));
            spans.push((output.append_with_text(&record, start, &values).unwrap(), start.to_string()));
            let other = if record.key == "1" { "\u{444}" } else { "\u{e9}" };
            let refused = output.append(&record, &[FieldValue::Text(other.into())]);
            assert_eq!(refused.is_err(), record.key == "1", "{refused:?}");
        }
        for (span, text) in &spans {
            assert_eq!(output.read_back(*span).unwrap(), *text, "{names:?}");
        }
        drop(output);
    }
}

#[test]
fn regression_changed_records_of_json_were_utf8_among_others() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let json = "{\"key\":\"\u{43a}\",\"text\":\"\u{444} \u{44b}\"}\n";
    let mut bytes = encoding_rs::WINDOWS_1251.encode(json).0.into_owned();
    // Windows-1251 does not have this byte.
    bytes[8] = 0x98;
    fs::write(at("in.jsonl"), &bytes).unwrap();
    let options = with(keyed(), |options| options.encoding = "windows-1251".parse().ok());
    let mut reader = Reader::open(&[at("in.jsonl")], options).unwrap();
    let options = with(WriterOptions::default(), |options| options.added = vec![AddedField::text("\u{44f}")]);
    let mut output = DocumentWriter::create(&at("out.jsonl"), &mut reader, options).unwrap();
    let Some(Item::Record(record)) = reader.next_item().unwrap() else { panic!() };
    let span = output.append_with_text(&record, "\u{444}", &[FieldValue::Text("\u{e9}".into())]).unwrap();
    assert_eq!(output.read_back(span).unwrap(), "\u{444}");
    output.finish().unwrap();
    let line = b"{\"key\":\"\x98\",\"text\":\"\\u0444\",\"\\u044f\":\"\\u00e9\"}\n";
    assert_eq!(fs::read(at("out.jsonl")).unwrap(), line);
}

#[test]
fn regression_bytes_beyond_the_look_at_an_encoding_were_one_replacement_character() {
    let ascii = "1,one two three\n".repeat(5000);
    let table = [b"key,text\n", ascii.as_bytes(), b"2,\xe0\xe1\n\xea,\xe2\xe3\n\xeb,\xc3\xa9\n"].concat();
    let (records, _) = read("late.csv", &table, keyed());
    let expected = [("2", "\u{e0}\u{e1}"), ("\u{ea}", "\u{e2}\u{e3}"), ("\u{eb}", "\u{e9}")];
    assert_eq!(both(&records[5000..]), expected);
    assert!(records[5000..].iter().all(|record| record.invalid_utf8) && !records[4999].invalid_utf8);
    let (lines, _) = read(
        "late.txt",
        &table,
        with(ReaderOptions::default(), |options| options.format = Some(Format::Lines)),
    );
    assert_eq!(lines[5001].text, "2,\u{e0}\u{e1}");
}

#[test]
fn regression_tables_whose_lines_end_with_carriage_returns_had_no_records() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("old.csv");
    for table in ["text,key\rone,1\rtwo,2\r", "\"text\",\"key\"\r\"one\",\"1\"\r"] {
        fs::write(&path, table).unwrap();
        let why = Reader::open(std::slice::from_ref(&path), keyed()).unwrap_err().to_string();
        assert!(why.contains("old.csv:1: its lines end with CR; `tr '\\r' '\\n'`"), "{why}");
    }
    for table in ["\"a\rb\",text,key\r\nx,one,1\r\n", "text,key\r\r\none,1\n"] {
        let fields = if table.starts_with('"') { keyed() } else { ReaderOptions::default() };
        assert_eq!(read("new.csv", table, fields).0[0].text, "one");
    }
    let lines = || with(ReaderOptions::default(), |options| options.format = Some(Format::Lines));
    let (records, bad) = read("old.txt", "one\rtwo\r", lines());
    assert!(records.is_empty() && bad[0].reason.starts_with("its lines end with CR"), "{bad:?}");
    for (text, expected) in [("one\rtwo\nthree", "one\rtwo"), ("one\r", "one")] {
        assert_eq!(read("new.txt", text, lines()).0[0].text, expected);
    }
}

#[test]
fn regression_arrays_of_json_were_cut_within_characters() {
    for label in ["shift_jis", "big5", "gbk", "gb18030", "euc-kr", "utf-8"] {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        // In some encodings, the second byte of a character is that of a backslash.
        let of = |c: &char| encoding.encode(c.encode_utf8(&mut [0; 4])).0.into_owned();
        let odd = ('\u{4e00}'..'\u{9fa5}').find(|c| of(c).ends_with(b"\\")).unwrap_or('\u{5b57}');
        let elements = [1, 2].map(|key| format!("{{\"key\":{key},\"text\":\"{odd}\"}}"));
        let options = with(keyed(), |options| options.encoding = label.parse().ok());
        for text in [format!("[{}]", elements.join(",")), elements.join("\n").replace(":\"", ":\n\"")] {
            let (records, bad) = read("a.json", encoding.encode(&text).0, options.clone());
            let expected = odd.to_string();
            assert_eq!(both(&records), [("1", &*expected), ("2", &expected)], "{label}: {bad:?}");
            let raw = encoding.encode(&elements[0]).0;
            let unspaced: Vec<u8> =
                records[0].raw().iter().copied().filter(|b| !b" \n".contains(b)).collect();
            assert_eq!(unspaced, *raw, "{label}");
        }
    }
}

#[test]
fn regression_chosen_fields_of_json_in_other_encodings_were_destroyed() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    // The second byte of the first character of 表 and of 予 in Shift_JIS is one of ASCII.
    let lines = |x: &str| {
        format!(
            "{{\"\u{8868}\":\"\u{8868}\u{4e88}\\n\"{x},\"n\":1}}\n{{\"\u{8868}\": \"caf\"{x}, \"n\": 2}}\r\n"
        )
    };
    let chosen = "{\"\u{8868}\":\"\u{8868}\u{4e88}\\n\",\"n\":1}\n{\"\u{8868}\":\"caf\",\"n\":2}\r\n";
    for label in ["shift_jis", "gbk", "big5", "euc-jp", "euc-kr", "gb18030", "utf-8"] {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let encoded = |text: &str| {
            let mut bytes = encoding.encode(text).0.into_owned();
            // A byte that no encoding has before a quotation mark.
            let odd = bytes.windows(3).position(|bytes| bytes == b"caf").unwrap();
            bytes.splice(odd..odd + 3, *b"ca\xff");
            bytes
        };
        fs::write(at("in.jsonl"), encoded(&lines(",\"x\":\"\u{8868}\""))).unwrap();
        let mut reader_options = ReaderOptions::default();
        reader_options.encoding = label.parse().ok();
        reader_options.fields.text = "\u{8868}".into();
        let mut reader = Reader::open(&[at("in.jsonl")], reader_options.clone()).unwrap();
        let mut options = WriterOptions::default();
        options.fields = vec!["n".into(), "\u{8868}".into()];
        let mut output = DocumentWriter::create(&at("out.jsonl"), &mut reader, options).unwrap();
        while let Some(Item::Record(record)) = reader.next_item().unwrap() {
            output.append(&record, &[]).unwrap();
        }
        output.finish().unwrap();
        assert_eq!(fs::read(at("out.jsonl")).unwrap(), encoded(chosen), "{label}");

        let mut reader = Reader::open(&[at("in.jsonl")], reader_options).unwrap();
        let mut options = WriterOptions::default();
        options.added = vec![AddedField::text("\u{8868}")];
        let mut output = DocumentWriter::create(&at("out.jsonl"), &mut reader, options).unwrap();
        let Some(Item::Record(record)) = reader.next_item().unwrap() else { panic!() };
        let why = output.append(&record, &seven()).unwrap_err();
        assert!(matches!(why, Error::Output(OutputProblem::FieldExists { .. })), "{label}: {why}");
    }
}

#[test]
fn regression_marks_of_later_inputs_stood_within_the_output() {
    let home = tempfile::tempdir().unwrap();
    let inputs = ["a.jsonl", "b.jsonl"].map(|name| home.path().join(name));
    for (path, text) in inputs.iter().zip(["a", "b"]) {
        fs::write(path, format!("\u{feff}{{\"text\":\"{text}\"}}\n")).unwrap();
    }
    let expected = "\u{feff}{\"text\":\"a\"}\n{\"text\":\"b\"}\n";
    for name in ["out.jsonl", "out.jsonl.gz"] {
        let mut reader = Reader::open(&inputs, ReaderOptions::default()).unwrap();
        let path = home.path().join(name);
        let mut output = DocumentWriter::create(&path, &mut reader, WriterOptions::default()).unwrap();
        while let Some(Item::Record(record)) = reader.next_item().unwrap() {
            output.append(&record, &[]).unwrap();
        }
        output.finish().unwrap();
        let mut text = String::new();
        open_decompressed(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, expected, "{name}");
    }
}

/// Each record lost the bytes of a mark with which it began, whatever they are in its encoding.
#[test]
fn regression_bytes_of_a_mark_within_an_input_stay() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    // In GBK, the second line begins with two characters that have the bytes of the mark.
    let gbk = encoding_rs::GBK.encode("first line\n锘靠第二行\n").0.into_owned();
    assert!(gbk[11..].starts_with(b"\xef\xbb\xbf"));
    fs::write(at("a.txt"), &gbk).unwrap();
    let copied = |input: &Path, options: ReaderOptions| {
        let mut reader = Reader::open(&[input.to_path_buf()], options).unwrap();
        let mut output = DocumentWriter::create(&at("out"), &mut reader, WriterOptions::default()).unwrap();
        while let Some(Item::Record(record)) = reader.next_item().unwrap() {
            output.append(&record, &[]).unwrap();
        }
        output.finish().unwrap();
        fs::read(at("out")).unwrap()
    };
    let lines = |encoding: &str| {
        let mut options = ReaderOptions::default();
        (options.format, options.encoding) = (Some(Format::Lines), encoding.parse().ok());
        options
    };
    assert_eq!(copied(&at("a.txt"), lines("gbk")), gbk);
    fs::write(at("b.txt"), "a\n\u{feff}b\n").unwrap();
    assert_eq!(copied(&at("b.txt"), lines("utf-8")), fs::read(at("b.txt")).unwrap());
    fs::write(at("a.csv"), "text,key\na,k0\n\u{feff}b,k1\n").unwrap();
    assert_eq!(copied(&at("a.csv"), ReaderOptions::default()), fs::read(at("a.csv")).unwrap());
}

/// They were a malformed record of JSON lines, an empty line, and a table without columns.
#[test]
fn regression_inputs_that_hold_only_a_byte_order_mark_have_no_records() {
    let lines = || with(ReaderOptions::default(), |options| options.format = Some(Format::Lines));
    let utf8 = |options: ReaderOptions| with(options, |options| options.encoding = "utf-8".parse().ok());
    for name in ["d.jsonl", "d.json", "d.csv", "d.tsv"] {
        assert_eq!(read(name, "\u{feff}", ReaderOptions::default()).0.len(), 0, "{name}");
        assert_eq!(read(name, "\u{feff}", utf8(ReaderOptions::default())).0.len(), 0, "{name}");
    }
    for blank in ["\u{feff}\n", "\u{feff} \r\n\n", "\u{feff}[]"] {
        let (records, bad) = read("d.json", blank, ReaderOptions::default());
        assert!(records.is_empty() && bad.is_empty(), "{blank:?}: {bad:?}");
    }
    for options in [lines(), utf8(lines())] {
        assert_eq!(read("d.txt", "\u{feff}", options.clone()).0.len(), 0);
        assert_eq!(read("d.txt", "\u{feff}\n", options.clone()).0.len(), 1, "an empty line is a record");
        assert_eq!(read("d.txt", "a\n\u{feff}", options).0.len(), 2);
    }
    let (records, bad) = read("d.jsonl", "\u{feff}\n{\"text\":\"a\"}\n", ReaderOptions::default());
    assert_eq!((records.len(), bad.len()), (1, 0));
}
