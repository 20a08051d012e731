//! Measures a deduplication by the exact similarity of texts.
//!
//! ```sh
//! nearprint dedup pages.jsonl -o unique.jsonl --key-field key --duplicates duplicates.tsv
//! cargo run --release --example yardstick -- pages.jsonl duplicates.tsv
//! ```
//!
//! The first file holds documents, `{"key", "text"}` a line, in the order in which they were
//! deduplicated; the second one begins each line with the key of a document that was left out and,
//! behind a tab, the key of the kept one that it is a copy of.
//!
//! The similarity is that of Jaccard: the size of the intersection of two sets divided by that of
//! their union. The sets are the three-word shingles of a text, its words being those of Unicode
//! Standard Annex 29 in lower case; a text of fewer words is the set of its words.
//!
//! - Precision: the share of documents left out whose kept one has a similarity of 0.4 or more.
//! - Recall: of all documents that should be left out, the share that is. Those are the documents
//!   left out rightly, and each kept document with an earlier kept one of similarity 0.6 or more.
//!
//! No pair is missed: documents of similarity s share one of their n rarest shingles, n being the
//! size of the set less s times the size, and one (Bayardo, Ma and Srikant, "Scaling Up All Pairs
//! Similarity Search", 2007).

use std::collections::HashMap;
use std::path::PathBuf;

use nearprint_text::documents::{Item, Reader, ReaderOptions, unescape};
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

/// The least similarity of a document rightly left out.
const RIGHT: f64 = 0.4;
/// The least similarity of documents of which one should be left out.
const WANTED: f64 = 0.6;

type Error = Box<dyn std::error::Error>;

/// Documents as sets of shingles, the rarest first.
struct Corpus {
    numbers: HashMap<String, usize>,
    sets: Vec<Vec<u32>>,
    /// Different shingles.
    shingles: usize,
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(documents), Some(duplicates)) = (arguments.next(), arguments.next()) else {
        return Err("expected the file of documents and that of duplicates".into());
    };
    let corpus = Corpus::read(documents)?;
    let mut kept_of = vec![None; corpus.sets.len()];
    for line in std::fs::read_to_string(duplicates)?.lines() {
        let mut keys = line.split('\t').map(|key| corpus.numbers.get(&*unescape(key)).copied());
        let (Some(Some(copy)), Some(Some(kept))) = (keys.next(), keys.next()) else {
            return Err(format!("{line:?}: not two keys of documents").into());
        };
        kept_of[copy] = Some(kept);
    }
    let left_out = kept_of.iter().enumerate().filter_map(|(copy, kept)| Some((copy, (*kept)?)));
    let similarities: Vec<f64> = left_out.map(|(copy, kept)| corpus.similarity(copy, kept)).collect();
    let right = similarities.iter().filter(|&&similarity| similarity >= RIGHT).count();
    let missed = corpus.missed(&kept_of);
    let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    println!("{} documents, {} left out", kept_of.len(), similarities.len());
    println!("precision {:.4}, {right} rightly", share(right, similarities.len()));
    println!("recall {:.4}, {missed} missed", share(right, right + missed));
    Ok(())
}

impl Corpus {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let mut options = ReaderOptions::default();
        options.fields.key = Some("key".into());
        let mut reader = Reader::open(&[path], options)?;
        let (mut numbers, mut sets, mut ids) = (HashMap::new(), Vec::new(), HashMap::new());
        let mut counts: Vec<u32> = Vec::new();
        while let Some(item) = reader.next_item()? {
            let record = match item {
                Item::Record(record) => record,
                Item::Bad(bad) => return Err(format!("{}: {}", bad.place, bad.reason).into()),
            };
            let mut set: Vec<u32> = Vec::new();
            for shingle in shingles(&record.text) {
                let next = u32::try_from(ids.len())?;
                set.push(*ids.entry(shingle).or_insert(next));
            }
            set.sort_unstable();
            set.dedup();
            counts.resize(ids.len(), 0);
            set.iter().for_each(|&id| counts[id as usize] += 1);
            if numbers.insert(record.key.clone(), sets.len()).is_some() {
                return Err(format!("{:?}: two documents with this key", record.key).into());
            }
            sets.push(set);
        }
        // Numbered anew by frequency.
        let mut by_frequency: Vec<u32> = (0..u32::try_from(ids.len())?).collect();
        by_frequency.sort_by_key(|&id| counts[id as usize]);
        let mut ranks = vec![0; ids.len()];
        by_frequency.iter().zip(0u32..).for_each(|(&id, rank)| ranks[id as usize] = rank);
        for set in &mut sets {
            set.iter_mut().for_each(|id| *id = ranks[*id as usize]);
            set.sort_unstable();
        }
        Ok(Self { numbers, sets, shingles: ids.len() })
    }

    fn similarity(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (&self.sets[a], &self.sets[b]);
        let (mut common, mut rest) = (0, &b[..]);
        for id in a {
            rest = &rest[rest.iter().position(|other| other >= id).unwrap_or(rest.len())..];
            common += usize::from(rest.first() == Some(id));
        }
        let union = a.len() + b.len() - common;
        if union == 0 { 0.0 } else { common as f64 / union as f64 }
    }

    /// Kept documents with an earlier kept one of the wanted similarity.
    fn missed(&self, kept_of: &[Option<usize>]) -> usize {
        let mut with_shingle: Vec<Vec<u32>> = vec![Vec::new(); self.shingles];
        let mut missed = 0;
        for (number, set) in self.sets.iter().enumerate().filter(|(number, _)| kept_of[*number].is_none()) {
            let rarest = &set[..set.len() - required(set.len()) + usize::from(!set.is_empty())];
            let mut candidates: Vec<u32> =
                rarest.iter().flat_map(|&id| &with_shingle[id as usize]).copied().collect();
            candidates.sort_unstable();
            candidates.dedup();
            let is_copy = |&other: &u32| self.similarity(number, other as usize) >= WANTED;
            missed += usize::from(candidates.iter().any(is_copy));
            for &id in rarest {
                with_shingle[id as usize].push(u32::try_from(number).unwrap_or(u32::MAX));
            }
        }
        missed
    }
}

/// The least number of shingles that a set of `len` shares with one of the wanted similarity.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
fn required(len: usize) -> usize {
    ((WANTED * len as f64 - 1e-9).ceil() as usize).min(len)
}

/// The hashes of the shingles of a text.
fn shingles(text: &str) -> Vec<u64> {
    let text = text.to_lowercase();
    let words: Vec<&str> = text.unicode_words().collect();
    if words.len() < 3 {
        return words.iter().map(|word| xxh3_64(word.as_bytes())).collect();
    }
    words.windows(3).map(|words| xxh3_64(words.join(" ").as_bytes())).collect()
}
