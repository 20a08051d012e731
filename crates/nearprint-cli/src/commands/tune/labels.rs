//! The near-duplicates: from a file of pairs, from a field of the documents, or by their texts.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::args::{Args, KnownDuplicates};
use super::corpus::{Corpus, DocumentKey};
use super::similarity_limit::LEAST;
use crate::terminal::failure::Failure;
use crate::terminal::results::unescape;
use nearprint::Error;
use nearprint_text::jaccard::similarities;
use nearprint_text::tune::{Labels, Study, affordable_sample, sample};

/// The limits at which pairs are counted.
const LIMITS: [f64; 5] = [0.5, 0.6, 0.7, 0.8, 0.9];

/// The number of pairs with a similarity of a limit or more.
pub(super) type PairsAt = Vec<(f64, usize)>;

/// The labels of all documents: those that the options name or, without any, the similar pairs of
/// the sample, which are counted at several limits.
pub(super) fn study(args: &Args, corpus: &Corpus, threads: usize) -> Result<(Study, PairsAt), Failure> {
    let len = corpus.keys.len();
    let sample_size = sample_size(args, corpus, threads);
    let mut pairs_at = PairsAt::new();
    let (labels, why) = if args.known.is_given() {
        (read(&args.known, &corpus.keys)?, "no near-duplicates are known of the documents of --sample".into())
    } else {
        let least = args.similarity();
        let pairs = similarities(&corpus.sets, &sample(len, sample_size), least.min(LIMITS[0]), threads);
        let count = |limit| pairs.iter().filter(|&&(_, _, similarity)| similarity >= limit).count();
        pairs_at.extend(LIMITS.map(|limit| (limit, count(limit))));
        let near = pairs.iter().filter(|&&(_, _, similarity)| similarity >= least);
        (
            Labels::Pairs(near.map(|&(a, b, _)| (a, b)).collect()),
            format!("no two documents have a similarity of {least} or more"),
        )
    };
    let study = Study::new(labels, len, sample_size);
    if study.num_positives() == 0 {
        let why = format!("{why}, so there is nothing to learn from");
        return Err(Failure::Input { place: "documents".into(), why });
    }
    Ok((study, pairs_at))
}

/// The size of the sample: the usual one, less where many documents are near, unless it is given.
fn sample_size(args: &Args, corpus: &Corpus, threads: usize) -> usize {
    let usual = args.sample_size(corpus.keys.len());
    // Of several sizes of shingles, the smallest one has the most similar pairs.
    let (sets, least) = match corpus.features.first() {
        Some(features) => (features, LEAST),
        None => (&corpus.sets, args.similarity().min(LIMITS[0])),
    };
    let is_known = args.sample.is_some() || sets.is_empty();
    if is_known { usual } else { affordable_sample(sets, usual, least, threads) }
}

/// Reads the labels of documents. `keys` has the key or the group of each document.
fn read(known: &KnownDuplicates, keys: &[DocumentKey]) -> Result<Labels, Failure> {
    let (labels, place, why) = match (&known.pairs, &known.group_field) {
        (Some(path), _) => (pairs(path, keys)?, path.display().to_string(), "no pair of keys"),
        (None, field) => {
            let place = format!("field {:?}", field.as_deref().unwrap_or_default());
            (groups(keys), place, "no two documents have the same value")
        }
    };
    if labels.num_positives() == 0 {
        return Err(Failure::Input { place, why: format!("{why}, so there is nothing to learn from") });
    }
    Ok(labels)
}

fn groups(keys: &[DocumentKey]) -> Labels {
    let mut groups = BTreeMap::<&str, Vec<usize>>::new();
    for (index, key) in keys.iter().enumerate().filter(|(_, key)| !key.text.is_empty()) {
        groups.entry(&key.text).or_default().push(index);
    }
    Labels::Groups(groups.into_values().filter(|group| group.len() > 1).collect())
}

fn pairs(path: &Path, keys: &[DocumentKey]) -> Result<Labels, Failure> {
    let indexes = indexes(keys)?;
    let failed = |source| Error::Io { action: "read", path: path.to_path_buf(), source };
    let bytes = std::fs::read(path).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        Failure::Input { place: format!("{}:{line}", path.display()), why: "not valid UTF-8".into() }
    })?;
    let mut pairs = Vec::new();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.is_empty()) {
        let pair = pair(text, &indexes).map_err(|why| Failure::at_line(path.display(), line, why, text))?;
        pairs.push(pair);
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(Labels::Pairs(pairs))
}

/// The index of the document with each key.
fn indexes(keys: &[DocumentKey]) -> Result<HashMap<&str, usize>, Failure> {
    let mut indexes = HashMap::with_capacity(keys.len());
    for (index, key) in keys.iter().enumerate() {
        if let Some(earlier) = indexes.insert(key.text.as_str(), index) {
            let why = format!("the document at {} has the key {:?}, too", keys[earlier].place, key.text);
            return Err(Failure::Input { place: key.place.clone(), why });
        }
    }
    Ok(indexes)
}

/// The indexes of the documents of a line, the smaller one first.
fn pair(line: &str, indexes: &HashMap<&str, usize>) -> Result<(usize, usize), String> {
    let (a, b) = line.split_once('\t').ok_or("no tab between two keys")?;
    let index = |key: &str| {
        let key = unescape(key);
        indexes.get(key.as_ref()).copied().ok_or_else(|| format!("no document has the key {key:?}"))
    };
    let (a, b) = (index(a)?, index(b)?);
    if a == b { Err("the same key twice".into()) } else { Ok((a.min(b), a.max(b))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_without_a_group_are_alone() {
        let key = |group: &str| DocumentKey { text: group.to_string(), place: String::new() };
        let keys = ["a", "", "b", "a", "", "a"].map(key);
        assert!(matches!(groups(&keys), Labels::Groups(groups) if groups == [[0, 3, 5]]));
    }
}
