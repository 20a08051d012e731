//! Measures fingerprinting: megabytes a second on one thread, for each named recipe.
//!
//! `NEARPRINT_BENCH_TEXT=FILE cargo bench --bench text` reads a file of documents, one a line.
//! Otherwise English-like documents are generated, 32 MB or `NEARPRINT_BENCH_MB` in all.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

use std::hint::black_box;
use std::time::Instant;

use nearprint::{Fingerprint, U256, U320};
use nearprint_text::recipe::Recipe;
use testkit::Random;

fn main() {
    let documents = std::env::var("NEARPRINT_BENCH_TEXT").map_or_else(|_| generated(), |path| read(&path));
    let whole = documents.join("\n");
    println!("{} documents, {:.1} MB", documents.len(), whole.len() as f64 / 1e6);
    for name in Recipe::names() {
        measure(name, "documents", &documents);
    }
    measure("simhash width=128", "documents", &documents);
    measure("simhash weights=one", "documents", &documents);
    measure("simhash clean=html,nfc,lower", "documents", &documents);
    measure("simhash", "one long text", &[whole]);
}

/// Measures a recipe.
fn measure(recipe: &str, what: &str, documents: &[String]) {
    let parsed: Recipe = recipe.parse().unwrap();
    // A slow recipe gets a part of the documents.
    let most = if matches!(recipe, "chinese") { 1_000_000 } else { usize::MAX };
    let mut left = most;
    let some: Vec<&String> = documents
        .iter()
        .take_while(|document| {
            let is_wanted = left > 0;
            left = left.saturating_sub(document.len());
            is_wanted
        })
        .collect();
    print_fastest(recipe, what, &some, || match parsed.width() {
        nearprint::Width::W64 => all::<u64>(&parsed, &some),
        nearprint::Width::W128 => all::<u128>(&parsed, &some),
        nearprint::Width::W256 => all::<U256>(&parsed, &some),
        nearprint::Width::W320 => all::<U320>(&parsed, &some),
    });
}

/// Prints the speed of the fastest of several rounds. Each round returns its seconds.
fn print_fastest(name: &str, what: &str, documents: &[&String], mut round: impl FnMut() -> f64) {
    round();
    let fastest = (0..5).map(|_| round()).fold(f64::INFINITY, f64::min);
    let bytes: usize = documents.iter().map(|document| document.len()).sum();
    println!("{name:>28}  {:7.1} MB/s  ({what})", bytes as f64 / 1e6 / fastest);
}

fn all<F: Fingerprint>(recipe: &Recipe, documents: &[&String]) -> f64 {
    let mut fingerprinter = recipe.fingerprinter::<F>().unwrap();
    seconds(documents, |text| fingerprinter.fingerprint(text))
}

/// Seconds for all documents.
fn seconds<T>(documents: &[&String], mut fingerprint: impl FnMut(&str) -> T) -> f64 {
    let started = Instant::now();
    for document in documents {
        black_box(fingerprint(document));
    }
    started.elapsed().as_secs_f64()
}

fn read(path: &str) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_string).collect()
}

/// Documents of 20 to 400 words with punctuation and capitals. Words have 2 to 12 letters; frequent
/// ones are short.
fn generated() -> Vec<String> {
    let megabytes: usize = std::env::var("NEARPRINT_BENCH_MB").map_or(32, |text| text.parse().unwrap());
    let mut random = Random(7);
    let vocabulary: Vec<String> = (0..30_000)
        .map(|rank| {
            let len = 2 + random.below(3 + rank.min(7000) / 1000) as usize;
            (0..len).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
        })
        .collect();
    let mut left = megabytes as i64 * 1_000_000;
    let mut documents = Vec::new();
    while left > 0 {
        let mut text = String::new();
        let mut is_first = true;
        for _ in 0..20 + random.below(380) {
            // The skew of natural language: the logarithm of the rank is uniform.
            let rank = (vocabulary.len() as f64).powf(random.below(1 << 20) as f64 / f64::from(1 << 20));
            let word = &vocabulary[rank as usize - 1];
            text.push_str(if is_first { "" } else { " " });
            if is_first {
                text.push_str(&word[..1].to_uppercase());
                text.push_str(&word[1..]);
            } else {
                text.push_str(word);
            }
            is_first = random.below(15) == 0;
            text.push_str(if is_first {
                "."
            } else if random.below(12) == 0 {
                ","
            } else {
                ""
            });
        }
        left -= text.len() as i64;
        documents.push(text);
    }
    documents
}
