//! Compressed inputs: what is read, what is refused, and what is no file any more.

use std::fs;

use nearprint_text::documents::{DocumentWriter, Item, Reader, ReaderOptions, WriterOptions, check_outputs};
use nearprint_text::{Error, OutputProblem};

use crate::documents::{both, error, gzip, keyed, read, zstd};

/// JSON lines of two documents by xz, by xz with a dictionary of 256 MiB, and by bzip2.
const XZ: &str = "\
    fd377a585a000004e6d6b4460200210116000000742fe5a3e0003100255d003d888966948f3df27a37b5467647\
    b170e67a937d33bbc338c27ac089616c35e12150d45c00000000002f62a1dc8a28ce6b00014132ef9a33011fb6\
    f37d010000000004595a";
const XZ_256_MIB: &str = "\
    fd377a585a000004e6d6b44602002101200000000988a576e0003100255d003d888966948f3df27a37b5467647\
    b170e67a937d33bbc338c27ac089616c35e12150d45c00000000002f62a1dc8a28ce6b00014132ef9a33011fb6\
    f37d010000000004595a";
const BZIP2: &str = "\
    425a683931415926535930fe03fd0000175980001010040010320984ea2000212a69a69a1a69a14c00134a1b3e\
    3a68a13624c4012e48a37af42599c2853e2ee48a70a12061fc07fa";

fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..][..2], 16).unwrap()).collect()
}

#[test]
fn regression_bzip2_and_xz_are_read() {
    let expected = [("a", "one"), ("b", "two")];
    for (extension, bytes) in [("xz", unhex(XZ)), ("bz2", unhex(BZIP2))] {
        // Of several streams in a row, all count.
        let twice = [&bytes[..], &bytes].concat();
        let (records, bad) = read(&format!("d.jsonl.{extension}"), &twice, keyed());
        assert!(bad.is_empty());
        assert_eq!(both(&records), [expected, expected].concat());
        // The content decides, not the name.
        let (records, _) = read("d.jsonl", &bytes, keyed());
        assert_eq!(both(&records), expected);
        let (records, _) = read(&format!("d.txt.{extension}"), &bytes, ReaderOptions::default());
        assert_eq!(records[0].text, "one", "records, whatever the name");

        let name = format!("d.jsonl.{extension}");
        for len in [bytes.len() - 1, bytes.len() / 2] {
            let error = error(&name, &bytes[..len], keyed());
            assert!(matches!(&error, Error::Input { why, .. } if why.starts_with("damaged")), "{error}");
        }
        let error = error(&name, "{}", keyed());
        assert!(error.to_string().ends_with("data, and is none"), "{error}");
    }
    let error = error("d.jsonl.xz", unhex(XZ_256_MIB), keyed());
    assert!(error.to_string().contains("its xz dictionary is larger than 128 MiB"), "{error}");
}

#[test]
fn damaged_bzip2_and_xz_are_errors() {
    let home = tempfile::tempdir().unwrap();
    for (name, bytes) in [("d.jsonl.xz", unhex(XZ)), ("d.jsonl.bz2", unhex(BZIP2))] {
        let path = home.path().join(name);
        for at in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                fs::write(&path, damaged).unwrap();
                let Ok(mut reader) = Reader::open(std::slice::from_ref(&path), keyed()) else { continue };
                // Reading on after an error ends.
                let items: Vec<_> = (0..6).map(|_| reader.next_item()).collect();
                let found = items.iter().filter(|item| matches!(item, Ok(Some(Item::Record(_))))).count();
                assert!(items.iter().any(Result::is_err) || found == 2, "{name} {at}: {items:?}");
                assert!(matches!(items.last(), Some(Ok(None))), "{name} {at}: {items:?}");
            }
        }
    }
}

#[test]
fn regression_zstandard_may_begin_with_a_skippable_frame() {
    let frame = [&b"\x53\x2a\x4d\x18\x03\0\0\0abc"[..], &zstd(b"{\"text\":\"one\"}\n")].concat();
    for name in ["d.jsonl.zst", "d.jsonl"] {
        let (records, _) = read(name, &frame, ReaderOptions::default());
        assert_eq!(records[0].text, "one");
    }
}

#[test]
fn regression_compressed_data_that_is_not_read_is_no_document() {
    for (name, start, format) in [
        ("d.jsonl.lz4", &b"\x04\x22\x4d\x18\x64\x40"[..], "LZ4"),
        ("d.jsonl", b"PK\x03\x04\x14\0", "zip"),
        ("d.csv.7z", b"7z\xbc\xaf\x27\x1c\0", "7-Zip"),
        ("d.jsonl.lzma", b"\x5d\0\0\x80\0", "LZMA"),
        ("d.jsonl.Z", b"\x1f\x9d\x90", "compress"),
        ("d.jsonl.br", b"{}", "Brotli"),
    ] {
        let refused = error(name, start, ReaderOptions::default());
        assert!(matches!(&refused, Error::Compressed { format: found, .. } if *found == format), "{refused}");
        // A file that is one document is left out, and counted by what it is.
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(name.replace("jsonl", "txt").replace("csv", "txt"));
        fs::write(&path, start).unwrap();
        for input in [home.path(), &path] {
            let mut reader = Reader::open(&[input.into()], ReaderOptions::default()).unwrap();
            assert!(reader.next_item().unwrap().is_none(), "{name}");
            let kinds = &reader.left_out().kinds;
            assert!(kinds.len() == 1 && kinds.values().all(|paths| *paths == [path.clone()]), "{kinds:?}");
        }
    }
}

#[test]
fn regression_what_cannot_be_written_compressed_is_refused() {
    let home = tempfile::tempdir().unwrap();
    for name in ["out.jsonl.bz2", "out.jsonl.xz"] {
        let path = home.path().join(name);
        let error = check_outputs([("--output", &*path)], &[], &[]).unwrap_err();
        assert!(matches!(error, Error::Output(OutputProblem::NotWritten { .. })), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn regression_extensions_of_compressions_in_capitals_were_none() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let table = "text\none\ntwo\n";
    fs::write(at("A.CSV.GZ"), gzip(table.as_bytes())).unwrap();
    let mut reader = Reader::open(&[at("A.CSV.GZ")], ReaderOptions::default()).unwrap();
    let mut output = DocumentWriter::create(&at("b.csv.Gz"), &mut reader, WriterOptions::default()).unwrap();
    while let Some(Item::Record(record)) = reader.next_item().unwrap() {
        output.append(&record, &[]).unwrap();
    }
    output.finish().unwrap();
    let written = fs::read(at("b.csv.Gz")).unwrap();
    let text = std::io::read_to_string(flate2::read::GzDecoder::new(&written[..])).unwrap();
    assert_eq!(text, table);
}

#[test]
fn regression_outputs_under_names_of_other_compressions_were_plain() {
    let home = tempfile::tempdir().unwrap();
    for name in ["a.jsonl.zip", "a.jsonl.7z", "a.LZ4", "a.jsonl.br", "a.jsonl.Z", "a.jsonl.BZ2"] {
        let path = home.path().join(name);
        let error = check_outputs([("--duplicates", &*path)], &[], &[]).unwrap_err();
        assert!(matches!(error, Error::Output(OutputProblem::NotWritten { .. })), "{name}: {error}");
    }
    assert!(check_outputs([("--output", &*home.path().join("a.zst"))], &[], &[]).is_ok());
}

#[test]
#[cfg_attr(windows, ignore = "needs a named pipe")]
fn regression_listed_files_that_become_pipes_or_vanish_do_not_end_the_others() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    for name in ["a.txt", "b.txt", "c.txt", "d.txt"] {
        fs::write(at(name), "one").unwrap();
    }
    let mut reader = Reader::open(&[home.path().into()], ReaderOptions::default()).unwrap();
    assert!(reader.next_raw().unwrap().is_some());
    fs::remove_file(at("b.txt")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(at("b.txt")).status().unwrap();
    assert!(made.success());
    fs::remove_file(at("c.txt")).unwrap();
    let Some(Item::Record(record)) = reader.next_item().unwrap() else { panic!("d.txt is not read") };
    assert!(record.key.ends_with("d.txt") && reader.next_raw().unwrap().is_none());
    let [pipe, vanished] = &*reader.left_out().unreadable else { panic!("{:?}", reader.left_out()) };
    assert!(pipe.contains("b.txt") && pipe.contains("no regular file any more"), "{pipe}");
    assert!(vanished.contains("c.txt"), "{vanished}");
}
