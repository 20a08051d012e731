//! Measures a deduplication by the exact similarity of texts.
//!
//! ```sh
//! nearprint dedup pages.jsonl -o unique.jsonl --key-field key --duplicates duplicates.tsv
//! cargo run --release --package measures --bin yardstick -- pages.jsonl duplicates.tsv 0.7 0.999
//! ```
//!
//! The first file holds documents, `{"key", "text"}` a line, in the order in which they were
//! deduplicated; the second one has a header, and begins each line with the key of a document that was
//! left out and, behind a tab, the key of the kept one that it is a copy of. The third argument is the similarity from
//! which on documents are near-duplicates. With a fourth one, a precision or a recall below it is an error.
//!
//! The similarity is Jaccard's, of the sets of three-word shingles: see
//! [`nearprint_text::jaccard`].
//!
//! - Precision: the share of documents left out whose kept one has this similarity.
//! - Recall: of all documents that should be left out, the share that is. Those are the documents
//!   left out rightly, and each kept document with an earlier kept one of this similarity.

use std::collections::HashMap;
use std::path::PathBuf;

use nearprint_text::documents::{Item, Reader, ReaderOptions, unescape};
use nearprint_text::jaccard::{Index, ShingleSet};

type Error = Box<dyn std::error::Error>;

/// Documents as sets of shingles.
struct Corpus {
    numbers: HashMap<String, usize>,
    sets: Vec<ShingleSet>,
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |what: &str| arguments.next().ok_or(format!("expected {what}"));
    let documents = PathBuf::from(argument("the file of documents")?);
    let duplicates = PathBuf::from(argument("the file of duplicates")?);
    let least: f64 = argument("a similarity")?.parse()?;
    let bound: f64 = arguments.next().map_or(Ok(0.0), |bound| bound.parse())?;
    let corpus = Corpus::read(documents)?;
    let mut kept_of = vec![None; corpus.sets.len()];
    for line in std::fs::read_to_string(duplicates)?.lines().skip(1) {
        let mut keys = line.split('\t').map(|key| corpus.numbers.get(&*unescape(key)).copied());
        let (Some(Some(copy)), Some(Some(kept))) = (keys.next(), keys.next()) else {
            return Err(format!("{line:?}: not two keys of documents").into());
        };
        kept_of[copy] = Some(kept);
    }
    let left_out = kept_of.iter().enumerate().filter_map(|(copy, kept)| Some((copy, (*kept)?)));
    let similarities: Vec<f64> =
        left_out.map(|(copy, kept)| corpus.sets[copy].similarity(&corpus.sets[kept])).collect();
    let right = similarities.iter().filter(|&&similarity| similarity >= least).count();
    let missed = corpus.missed(&kept_of, least);
    let share = |part: usize, whole: usize| if whole == 0 { 1.0 } else { part as f64 / whole as f64 };
    let (precision, recall) = (share(right, similarities.len()), share(right, right + missed));
    println!("{} documents, {} left out", kept_of.len(), similarities.len());
    println!("precision {precision:.4}, {right} rightly");
    println!("recall {recall:.4}, {missed} missed");
    if precision.min(recall) < bound {
        return Err(format!("precision or recall is below {bound}").into());
    }
    Ok(())
}

impl Corpus {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let mut options = ReaderOptions::default();
        options.fields.key = Some("key".into());
        let mut reader = Reader::open(&[path], options)?;
        let (mut numbers, mut sets) = (HashMap::new(), Vec::new());
        while let Some(item) = reader.next_item()? {
            let record = match item {
                Item::Record(record) => record,
                Item::Bad(bad) => return Err(format!("{}: {}", bad.place, bad.reason).into()),
            };
            if numbers.insert(record.key.clone(), sets.len()).is_some() {
                return Err(format!("{:?}: two documents with this key", record.key).into());
            }
            sets.push(ShingleSet::of_text(&record.text));
        }
        Ok(Self { numbers, sets })
    }

    /// Kept documents with an earlier kept one of at least a similarity.
    fn missed(&self, kept_of: &[Option<usize>], least: f64) -> usize {
        let kept = || (0..self.sets.len()).filter(|&number| kept_of[number].is_none());
        let index = Index::new(&self.sets, kept());
        let has_earlier = |&number: &usize| {
            let similar = index.similar(&self.sets[number], least);
            similar.first().is_some_and(|&other| other < number)
        };
        kept().filter(has_earlier).count()
    }
}
