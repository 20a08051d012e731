//! Deduplicates documents by gaoya: `gaoya_documents DOCUMENTS DUPLICATES`. The first file holds
//! `{"key", "text"}` a line. The second one receives the key of each document left out, a tab, and
//! the key of the kept document. `documents.py` measures it.
//!
//! The words, the parameters and the index are as in gaoya's documentation; the signatures of a
//! batch are made on all cores.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};

use gaoya::minhash::{MinHashIndex, MinHasher, MinHasher32, calculate_minhash_params};
use gaoya::text::{shingle_tokens, whitespace_split};
use serde_json::Value;

const SIMILARITY: f64 = 0.7;
const HASHES: usize = 128;
const SHINGLE_WORDS: usize = 3;
const BATCH: usize = 1000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [documents, duplicates] = &arguments[..] else {
        return Err("usage: gaoya_documents DOCUMENTS DUPLICATES".into());
    };
    let mut lines = BufReader::new(File::open(documents)?).lines();
    let mut out = BufWriter::new(File::create(duplicates)?);
    let (bands, width) = calculate_minhash_params(SIMILARITY, HASHES);
    let hasher = MinHasher32::new(bands * width);
    let mut index = MinHashIndex::<u32, usize>::new(bands, width, SIMILARITY);
    let mut kept_keys: Vec<String> = Vec::new();
    loop {
        let batch = lines.by_ref().take(BATCH).map(|line| read(&line?)).collect::<Result<Vec<_>, _>>()?;
        if batch.is_empty() {
            return Ok(out.flush()?);
        }
        let (keys, shingles): (Vec<String>, Vec<Vec<String>>) = batch.into_iter().unzip();
        for (key, signature) in keys.into_iter().zip(hasher.bulk_create_signature(&shingles)) {
            if let Some((&kept, _)) = index.query_one(&signature) {
                writeln!(out, "{key}\t{}", kept_keys[kept])?;
            } else {
                index.insert(kept_keys.len(), signature);
                kept_keys.push(key);
            }
        }
    }
}

/// The key of a document, and its shingles; a text of fewer words has its words.
fn read(line: &str) -> Result<(String, Vec<String>), Box<dyn Error>> {
    let document: Value = serde_json::from_str(line)?;
    let (Some(key), Some(text)) = (document["key"].as_str(), document["text"].as_str()) else {
        return Err(format!("{line}: expected a key and a text").into());
    };
    let text = text.to_lowercase();
    let words: Vec<&str> = whitespace_split(&text).collect();
    let size = if words.len() < SHINGLE_WORDS { 1 } else { SHINGLE_WORDS };
    Ok((key.to_owned(), shingle_tokens(&words, size).collect()))
}
