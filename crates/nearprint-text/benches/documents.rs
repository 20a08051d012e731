//! Measures reading of documents: MB/s of decompressed input, on one thread, from the page cache.
//!
//! `NEARPRINT_BENCH_MB=1000 cargo bench --bench documents` sets the size of the input (200 by
//! default).

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nearprint_text::documents::{DocumentWriter, Item, Reader, ReaderOptions, WriterOptions, recognize};
use testkit::Random;

const ROUNDS: usize = 5;

fn main() {
    let megabytes: usize = std::env::var("NEARPRINT_BENCH_MB").map_or(200, |size| size.parse().unwrap());
    let home = std::env::temp_dir().join(format!("nearprint-documents-{}", std::process::id()));
    fs::create_dir_all(&home).unwrap();
    let result = std::panic::catch_unwind(|| measure(&home, megabytes << 20));
    fs::remove_dir_all(&home).unwrap();
    result.unwrap();
}

/// The same documents as JSON lines and as CSV, of about 1 KB each, with several paragraphs.
fn documents(len_bytes: usize) -> (Vec<u8>, Vec<u8>) {
    let mut random = Random(7);
    let words: Vec<String> = (0..5000)
        .map(|_| (0..2 + random.below(9)).map(|_| (b'a' + random.below(26) as u8) as char).collect())
        .collect();
    let (mut jsonl, mut csv) = (Vec::new(), b"url,text,n\n".to_vec());
    while jsonl.len() < len_bytes {
        let mut text = String::new();
        for at in 0..170 {
            text += match at % 40 {
                0 => "\n",
                20 => ", \"",
                25 => "\" ",
                _ => " ",
            };
            text += &words[random.below(words.len() as u64) as usize];
        }
        let url = format!("https://example.org/{}", random.next());
        let object = serde_json::json!({"url": url, "text": text, "n": random.below(1000)});
        writeln!(jsonl, "{object}").unwrap();
        writeln!(csv, "{url},\"{}\",{}", text.replace('"', "\"\""), random.below(1000)).unwrap();
    }
    (jsonl, csv)
}

/// The time that it takes to say what a file is, without opening it.
fn report_recognizing(jsonl: &[u8], csv: &[u8]) {
    let cases = [("a.txt", &csv[..200]), ("page.md", &csv[..8192]), ("d.jsonl", &jsonl[..8192])];
    for (name, head) in cases {
        let count = 20_000;
        let best = (0..ROUNDS).map(|_| {
            let started = Instant::now();
            for _ in 0..count {
                std::hint::black_box(recognize(Path::new(name), std::hint::black_box(head), false, None));
            }
            started.elapsed()
        });
        let micros = best.min().unwrap_or_default().as_secs_f64() * 1e6 / f64::from(count);
        println!("{:>24}: {micros:.2} us a file", format!("recognize {name}, {} B", head.len()));
    }
}

fn measure(home: &Path, len_bytes: usize) {
    let (jsonl, csv) = documents(len_bytes);
    report_recognizing(&jsonl, &csv);
    for (name, bytes) in [("d.jsonl", &jsonl), ("d.csv", &csv)] {
        let path = home.join(name);
        fs::write(&path, bytes).unwrap();
        report(name, bytes.len(), || read(&path));
        report(&format!("{name}, boundaries"), bytes.len(), || skip(&path));
        report(&format!("{name}, copied"), bytes.len(), || copy(&path, &home.join("copy")));
        let path = home.join(format!("{name}.gz"));
        let mut gzip =
            flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::default());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap();
        report(&format!("{name}.gz"), bytes.len(), || read(&path));
        let path = home.join(format!("{name}.zst"));
        fs::write(&path, zstd::encode_all(&bytes[..], 3).unwrap()).unwrap();
        report(&format!("{name}.zst"), bytes.len(), || read(&path));
    }
}

fn open(path: &PathBuf) -> Reader {
    let mut options = ReaderOptions::default();
    options.fields.key = Some("url".into());
    Reader::open(std::slice::from_ref(path), options).unwrap()
}

fn read(path: &PathBuf) {
    let mut reader = open(path);
    while let Some(item) = reader.next_item().unwrap() {
        assert!(matches!(item, Item::Record(_)));
    }
}

fn skip(path: &PathBuf) {
    open(path).skip(u64::MAX).unwrap();
}

fn copy(path: &PathBuf, out: &Path) {
    let mut reader = open(path);
    let mut output = DocumentWriter::create(out, &mut reader, WriterOptions::default()).unwrap();
    while let Some(Item::Record(record)) = reader.next_item().unwrap() {
        output.append(&record, &[]).unwrap();
    }
    output.finish().unwrap();
}

/// Prints the best of several rounds.
fn report(name: &str, len_bytes: usize, work: impl Fn()) {
    let round = |_| {
        let started = Instant::now();
        work();
        started.elapsed()
    };
    let best: Duration = (0..ROUNDS).map(round).min().unwrap();
    println!("{name:>22}: {:>6.0} MB/s", len_bytes as f64 / 1e6 / best.as_secs_f64());
}
