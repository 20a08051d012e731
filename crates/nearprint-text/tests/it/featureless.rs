//! Texts without features: nothing is near them but texts with the same tokens.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;

use nearprint::{Database, KeyStorage};
use nearprint_text::dedup::{
    Decision, DedupOptions, Deduplicator, DocumentCounts, FileJob, Keep, Similarity,
};
use nearprint_text::jaccard::ShingleSet;
use nearprint_text::recipe::Recipe;
use proptest::prelude::*;

fn options(recipe: &str) -> DedupOptions {
    DedupOptions::new(recipe.parse().unwrap())
}

fn copy_of(key: &str, is_exact: bool) -> Decision {
    Decision::Duplicate { of: key.to_string(), distance: 0, similarity: 1.0, is_exact }
}

/// Whether sets of features decide.
fn is_exact(recipe: &str) -> bool {
    recipe.starts_with("minhash")
}

/// Recipes of 64 bits, and two texts each that make no feature.
const FEATURELESS: &[(&str, [&str; 2])] = &[
    ("simhash-py", ["red car sale", "blue house rent"]),
    #[cfg(feature = "chinese")]
    ("chinese", ["你 和 我 都 在 这 吧", "好 大 一 只 猫 啊"]),
    ("simhash short=none", ["two words", "other words"]),
    ("minhash short=none width=64 hash=minhash:2x16,1", ["two words", "other words"]),
];

#[test]
fn regression_texts_without_features_are_near_only_copies() {
    for &(recipe, [a, b]) in FEATURELESS {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("seen.np");
        for round in 0..2 {
            for similarity in [None, Some(Similarity::Contained(0.9)), Some(Similarity::Edit(1.0))] {
                let mut options = options(recipe);
                options.similarity = similarity;
                let mut dedup = Deduplicator::temporary(options).unwrap();
                let decided = [a, b, a, "", "", b].map(|text| dedup.decide("key", text).unwrap());
                let [kept, copy] = [Decision::Kept, copy_of("key", is_exact(recipe) || similarity.is_some())];
                let expected = [&kept, &kept, &copy, &kept, &kept, &copy];
                assert_eq!(decided.each_ref(), expected, "{recipe} {similarity:?}");
            }
            let mut dedup = Deduplicator::open(&path, options(recipe)).unwrap();
            let decided = [("a", a), ("b", b), ("c", a)].map(|(key, text)| dedup.decide(key, text).unwrap());
            let [copy_a, copy_b] = ["a", "b"].map(|key| copy_of(key, is_exact(recipe)));
            let [first, second] =
                if round == 0 { [Decision::Kept, Decision::Kept] } else { [copy_a.clone(), copy_b] };
            assert_eq!(decided, [first, second, copy_a], "{recipe} in run {round}");
            dedup.checkpoint(b"x").unwrap();
            dedup.finish().unwrap();
        }
        // What is stored of them is near no other fingerprint, nor is what is stored of empty texts.
        let mut dedup = Deduplicator::open(&path, options(recipe)).unwrap();
        for key in ["x", "y", "z"] {
            assert_eq!(dedup.decide(key, "").unwrap(), Decision::Kept);
        }
        dedup.finish().unwrap();
        let snapshot = Database::<u64>::open(&path).unwrap().snapshot().unwrap();
        assert_eq!(snapshot.stats().rows, 5);
        let visit = |cluster: &[_]| panic!("{recipe}: {} rows are near", cluster.len());
        snapshot.visit_clusters::<nearprint::Error>(3, visit).unwrap();
        assert!(snapshot.query(0, 3).unwrap().is_empty(), "{recipe}");
    }
}

#[test]
fn regression_texts_without_features_are_known_under_their_keys() {
    for &(recipe, [a, b]) in FEATURELESS {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("seen.np");
        for round in 0..3 {
            let mut options = options(recipe);
            options.unique_keys = true;
            let mut dedup = match round {
                0 | 1 => Deduplicator::open(&path, options).unwrap(),
                _ => Deduplicator::read_only(&path, options).unwrap(),
            };
            let documents = [("a", a), ("b", b), ("empty", ""), ("other", ""), ("c", a), ("a", b)];
            let decided = documents.map(|(key, text)| dedup.decide(key, text).unwrap());
            let first = if round == 0 { Decision::Kept } else { Decision::Known };
            for (decision, (key, _)) in decided[..4].iter().zip(documents) {
                assert_eq!(*decision, first, "{recipe} {round} {key}");
            }
            let copies = ["a", "b"].map(|key| copy_of(key, is_exact(recipe)));
            assert_eq!(decided[4..], copies, "{recipe} {round}");
            assert_eq!(dedup.decide("empty", a).unwrap(), copies[0]);
            assert_eq!(dedup.decide("a", "").unwrap(), Decision::KeyTaken);
            if round < 2 {
                dedup.finish().unwrap();
            }
        }
    }
}

#[test]
fn regression_texts_without_features_are_set_aside_on_request() {
    for &(recipe, [a, b]) in FEATURELESS {
        let mut options = options(recipe);
        options.min_features = 1;
        let mut dedup = Deduplicator::temporary(options).unwrap();
        for text in [a, b, ""] {
            assert_eq!(dedup.decide("key", text).unwrap(), Decision::TooShort, "{recipe}");
        }
        let long = "数据库 fingerprints of longer texts 指纹 have features";
        assert_eq!(dedup.decide("key", long).unwrap(), Decision::Kept, "{recipe}");
    }
}

#[test]
fn regression_texts_without_words_have_nothing_in_common() {
    let [a, b] = ["...", "!!!"].map(ShingleSet::of_text);
    assert_eq!((a.similarity(&b), a.similarity(&ShingleSet::of_text("word"))), (0.0, 0.0));
    // Marks are tokens of this recipe, and words of no measure.
    let mut options = options("simhash tokens=whitespace shingle=1");
    options.k = Some(64);
    for similarity in [Similarity::Jaccard(0.0), Similarity::Edit(0.0)] {
        options.similarity = Some(similarity);
        let mut dedup = Deduplicator::temporary(options.clone()).unwrap();
        let decided = ["...", "!!!", "..."].map(|text| dedup.decide("key", text).unwrap());
        assert_eq!(decided, [Decision::Kept, Decision::Kept, copy_of("key", true)]);
    }
}

/// The counts by a job, its output and its duplicates.
fn run(input: &str, adapt: impl FnOnce(&mut FileJob)) -> (DocumentCounts, String, String) {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("in.jsonl"), input).unwrap();
    let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), options("simhash-py"));
    job.reader.fields.key = Some("id".into());
    job.duplicates = Some(at("duplicates.tsv"));
    adapt(&mut job);
    let report = job.run(|_, _| ControlFlow::Continue(())).unwrap();
    let read = |name: &str| fs::read_to_string(at(name)).unwrap();
    let duplicates = read("duplicates.tsv").split_once('\n').unwrap().1.to_string();
    (report.counts, read("out.jsonl"), duplicates)
}

const LINES: &str = "{\"id\":1,\"text\":\"red car sale\",\"n\":1}
{\"id\":2,\"text\":\"blue house rent\",\"n\":3}
{\"id\":3,\"text\":\"\",\"n\":1}
{\"id\":4,\"text\":\"red car sale\",\"n\":2}
{\"id\":5,\"text\":\"\",\"n\":1}
{\"id\":6,\"text\":\"more than four words here\",\"n\":1}
{\"id\":7,\"text\":\"more than four words here\",\"n\":1}
";

#[test]
fn regression_texts_without_features_are_counted_in_every_order() {
    for (keep, gone) in [
        (Keep::First, "4\t1\t0\t1.0000\t1\ttrue\n7\t6\t0\t1.0000\t6\ttrue\n"),
        (Keep::Longest, "4\t1\t0\t1.0000\t1\ttrue\n7\t6\t0\t1.0000\t6\ttrue\n"),
        (Keep::Max("n".into()), "1\t4\t0\t1.0000\t4\ttrue\n7\t6\t0\t1.0000\t6\ttrue\n"),
    ] {
        for similarity in [None, Some(Similarity::Jaccard(0.5))] {
            let (counts, out, duplicates) = run(LINES, |job| {
                job.keep = Some(keep.clone());
                job.dedup.similarity = similarity;
                job.added.fingerprint = Some("print".into());
            });
            assert_eq!(duplicates, gone, "{keep:?} {similarity:?}");
            let DocumentCounts { kept, copies, empty, featureless, unconfirmed, .. } = counts;
            assert_eq!((kept, copies, empty, featureless, unconfirmed), (5, 2, 2, 3, 0), "{keep:?}");
            // The recipe's own fingerprint is written.
            assert_eq!(out.matches("\"print\":\"0\"").count(), 4, "{out}");
        }
        let (counts, _, duplicates) = run(LINES, |job| {
            job.keep = Some(keep.clone());
            job.dedup.min_features = 1;
        });
        assert_eq!((counts.aside, counts.kept, counts.empty, counts.featureless), (5, 1, 0, 0));
        assert_eq!(duplicates, "7\t6\t0\t1.0000\t6\ttrue\n");
    }
}

#[test]
fn regression_units_without_features_are_removed_if_they_are_copies() {
    let input = "{\"id\":1,\"text\":\"red car sale\\nblue house rent\\nred car sale\\n!\\n!\"}\n";
    let (counts, out, duplicates) = run(input, |job| {
        job.trim = Some(crate::by_line(1));
        job.dedup.recipe = "simhash-py tokens=words".parse().unwrap();
    });
    assert_eq!(duplicates, "1\t3\t1\t1\n");
    assert_eq!(out, "{\"id\":1,\"text\":\"red car sale\\nblue house rent\\n!\\n!\"}\n");
    assert_eq!((counts.featureless, counts.units.compared, counts.units.removed), (3, 3, 1));
    let (counts, ..) = run(input, |job| {
        job.trim = Some(crate::by_line(1));
        job.dedup.min_features = 1;
    });
    assert_eq!((counts.units.compared, counts.units.removed), (0, 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Texts of one to three words have no feature here, and are decided as members of a set.
    #[test]
    fn regression_copies_without_features_are_those_of_a_set(
        texts in prop::collection::vec("[a-c]( [a-c]){0,2}|", 1..120), stored: bool, every in 1usize..50,
    ) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("seen.np");
        let recipe: Recipe = "simhash short=none shingle=4".parse().unwrap();
        let keys = if stored { KeyStorage::KeysAndTexts } else { KeyStorage::Keys };
        Database::<u64>::create(&path, &recipe.schema().keys(keys)).unwrap();
        let mut dedup = Deduplicator::open(&path, DedupOptions::new(recipe.clone())).unwrap();
        let mut seen: HashMap<&str, String> = HashMap::new();
        for (at, text) in texts.iter().enumerate() {
            let expected = match seen.get(&**text) {
                Some(of) => copy_of(of, false),
                None => {
                    if !text.is_empty() {
                        seen.insert(text, at.to_string());
                    }
                    Decision::Kept
                }
            };
            prop_assert_eq!(dedup.decide(&at.to_string(), text).unwrap(), expected);
            if at % every == 0 {
                dedup.finish().unwrap();
                dedup = Deduplicator::open(&path, DedupOptions::new(recipe.clone())).unwrap();
            }
        }
    }
}
