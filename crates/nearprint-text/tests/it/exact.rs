//! Exact decisions: against sets of words that are compared here, in all ways of running.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use nearprint::{Database, KeyStorage, NewRow, Options, U256};
use nearprint_text::dedup::{
    Decision, DedupOptions, Deduplicator, DocumentsNear, Evidence, FileJob, Keep, Similarity,
};
use nearprint_text::{DatabaseProblem, Error, Recipe};
use proptest::prelude::*;

/// The Jaccard similarity of the sets of three neighbouring words; of words, in shorter texts.
pub(crate) fn similarity(a: &str, b: &str) -> f64 {
    let shingles = |text: &str| -> BTreeSet<String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        words.windows(if words.len() < 3 { 1 } else { 3 }).map(|words| words.join(" ")).collect()
    };
    let (a, b) = (shingles(a), shingles(b));
    a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64
}

/// For each text, the place of the kept one that it duplicates: the most similar one, of equally similar
/// ones that with the smallest number, among those whose fingerprints make them candidates.
fn expected(
    texts: &[String],
    recipe: &Recipe,
    least: f64,
    number: impl Fn(usize) -> usize,
) -> Vec<Option<usize>> {
    let mut fingerprinter = recipe.fingerprinter::<U256>().unwrap();
    let prints: Vec<U256> = texts.iter().map(|text| fingerprinter.fingerprint(text).value).collect();
    let near = recipe.candidates(least).unwrap();
    let mut decisions: Vec<Option<usize>> = Vec::new();
    for (new, text) in texts.iter().enumerate() {
        let kept = (0..new).filter(|&old| decisions[old].is_none());
        let candidates = kept.filter(|&old| near.contain(prints[old], prints[new]));
        let similar = candidates.map(|old| (similarity(&texts[old], text), old));
        let nearest = similar
            .filter(|(similarity, _)| *similarity >= least)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(number(b.1).cmp(&number(a.1))));
        decisions.push(nearest.map(|(_, old)| old));
    }
    decisions
}

fn decided(dedup: &mut Deduplicator, first: usize, texts: &[String]) -> Vec<Option<usize>> {
    let keys: Vec<String> = (first..first + texts.len()).map(|number| number.to_string()).collect();
    let documents: Vec<(&str, &str)> = keys.iter().zip(texts).map(|(key, text)| (&**key, &**text)).collect();
    let mut decisions = Vec::new();
    let decided = dedup.decide_batch(&documents, |decided| {
        decisions.push(match decided.decision {
            Decision::Kept => None,
            Decision::Duplicate { of, .. } => Some(of.parse().unwrap()),
            other => panic!("{other:?}"),
        });
        Ok(())
    });
    decided.unwrap();
    decisions
}

/// Texts with many similar ones: each begins as another one, with some words changed.
pub(crate) fn texts() -> impl Strategy<Value = Vec<String>> {
    let text = (0usize..6, prop::collection::vec((0usize..60, "[a-z]{2}"), 0..14), 10usize..60);
    prop::collection::vec(text, 1..50)
        .prop_map(|texts| {
            let changed = |(base, changes, len): (usize, Vec<(usize, String)>, usize)| {
                let mut words: Vec<String> = (0..len).map(|at| format!("w{base}x{}", at * at % 47)).collect();
                for (at, word) in changes {
                    if let Some(place) = words.get_mut(at) {
                        *place = word;
                    }
                }
                words.join(" ")
            };
            texts.into_iter().map(changed).collect()
        })
        .prop_filter("shingles that share a hash by chance", |texts: &Vec<String>| hashes_differ(texts))
}

/// Whether the 24 bits of each shingle that a database keeps are its own. Where two shingles have the same ones by
/// chance, similarities are not exact.
fn hashes_differ(texts: &[String]) -> bool {
    let fingerprinter = "simhash".parse::<Recipe>().unwrap().fingerprinter::<u64>().unwrap();
    let words: Vec<Vec<&str>> = texts.iter().map(|text| text.split(' ').collect()).collect();
    let shingles: BTreeSet<String> =
        words.iter().flat_map(|words| words.windows(3)).map(|words| words.join(" ")).collect();
    let hashes: BTreeSet<u64> = shingles.iter().map(|shingle| fingerprinter.hash(shingle) >> 40).collect();
    hashes.len() == shingles.len()
}

#[test]
fn regression_shingles_with_one_hash_by_chance_are_no_test_case() {
    let words = |words: &str| vec![words.to_string()];
    assert!(!hashes_differ(&[words("mn w4x1 w4x0"), words("zt w4x21 eo")].concat()));
    assert!(hashes_differ(&[words("mn w4x1 w4x0"), words("zt w4x21 ep")].concat()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn decisions_are_those_of_exact_similarities(texts in texts(), percent in 30u32..=100, cut in 0usize..50) {
        let least = f64::from(percent) / 100.0;
        let recipe: Recipe = format!("minhash near={least}").parse().unwrap();
        let expected = expected(&texts, &recipe, least, |place| place);
        let home = tempfile::tempdir().unwrap();
        let options = |threads| {
            let mut options = DedupOptions::new(recipe.clone());
            options.engine = Options::new().threads(threads);
            options
        };
        for threads in [1, 2] {
            let mut dedup = Deduplicator::temporary(options(threads)).unwrap();
            prop_assert_eq!(&decided(&mut dedup, 0, &texts), &expected);
        }
        let cut = cut.min(texts.len());
        for evidence in [Evidence::Features, Evidence::Texts] {
            let path = home.path().join(format!("{evidence:?}.np"));
            let mut options = options(2);
            options.evidence = Some(evidence);
            let mut dedup = Deduplicator::open(&path, options.clone()).unwrap();
            prop_assert_eq!(&decided(&mut dedup, 0, &texts[..cut]), &expected[..cut]);
            dedup.finish().unwrap();
            // A database knows what it keeps, and from which similarity on documents are near.
            let plain = DedupOptions::new("minhash".parse().unwrap());
            let mut reading = Deduplicator::read_only(&path, plain.clone()).unwrap();
            prop_assert_eq!(&decided(&mut reading, cut, &texts[cut..]), &expected[cut..]);
            let mut dedup = Deduplicator::open(&path, plain).unwrap();
            prop_assert_eq!(&decided(&mut dedup, cut, &texts[cut..]), &expected[cut..]);
        }
    }

    #[test]
    fn files_are_decided_as_documents(texts in texts(), percent in 30u32..=100) {
        let least = f64::from(percent) / 100.0;
        let recipe: Recipe = format!("minhash near={least}").parse().unwrap();
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        // The best documents come last.
        let order: Vec<String> = texts.iter().rev().cloned().collect();
        let last = texts.len() - 1;
        let expected = expected(&order, &recipe, least, |place| last - place);
        let line = |(number, text): (usize, &String)| format!("{{\"id\":\"{number}\",\"n\":{number},\"text\":\"{text}\"}}\n");
        fs::write(at("in.jsonl"), texts.iter().enumerate().map(line).collect::<String>()).unwrap();
        for database in [None, Some(at("seen.np"))] {
            let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), DedupOptions::new(recipe.clone()));
            job.reader.fields.key = Some("id".into());
            job.duplicates = Some(at("gone.tsv"));
            job.database = database;
            job.keep = Some(Keep::Max("n".into()));
            let report = job.run(|_, _| ControlFlow::Continue(())).unwrap();
            prop_assert_eq!(report.near, DocumentsNear::Exact { similarity: least });
            let gone = fs::read_to_string(at("gone.tsv")).unwrap();
            let listed: BTreeSet<(usize, usize)> = gone.lines().skip(1).map(|line| {
                let fields: Vec<&str> = line.split('\t').collect();
                let [one, other] = [fields[0], fields[1]].map(|key| key.parse::<usize>().unwrap());
                let exact = similarity(&texts[one], &texts[other]);
                let printed: f64 = fields[3].parse().unwrap();
                assert!((printed - exact).abs() < 0.0001, "{line} {exact}");
                (one, other)
            }).collect();
            let decisions = expected.iter().enumerate();
            let expected = decisions.filter_map(|(at, of)| Some((last - at, last - (*of)?))).collect();
            prop_assert_eq!(listed, expected);
        }
    }
}

#[test]
fn regression_long_texts_below_the_limit_were_left_out() {
    const NUM_FEATURES: usize = 100_000;
    // The last features of one text and the first ones of the other: 0.6995 are shared.
    let text = |from: usize| -> String {
        (from..from + NUM_FEATURES + 2).map(|number| format!("w{number} ")).collect()
    };
    let texts = [text(0), text(NUM_FEATURES - 82_318)];
    let exact = 82_318.0 / 117_682.0;
    let home = tempfile::tempdir().unwrap();
    for (limit, is_near) in [(0.7, false), (0.69, true)] {
        for evidence in [None, Some(Evidence::Features), Some(Evidence::Texts)] {
            let mut options = DedupOptions::new("minhash".parse().unwrap());
            (options.evidence, options.similarity) = (evidence, Some(Similarity::Jaccard(limit)));
            let path = home.path().join(format!("{limit}-{evidence:?}.np"));
            let open = || match evidence {
                None => Deduplicator::temporary(options.clone()),
                Some(_) => Deduplicator::open(&path, options.clone()),
            };
            let mut dedup = open().unwrap();
            assert_eq!(dedup.decide("one", &texts[0]).unwrap(), Decision::Kept);
            if evidence.is_some() {
                dedup.finish().unwrap();
                dedup = open().unwrap();
            }
            match dedup.decide("other", &texts[1]).unwrap() {
                Decision::Duplicate { of, similarity, .. } => {
                    assert!(is_near && of == "one", "{evidence:?} {similarity}");
                    assert!((similarity - exact).abs() < 0.00002, "{evidence:?} {similarity}");
                }
                decision => assert!(!is_near && decision == Decision::Kept, "{evidence:?} {decision:?}"),
            }
        }
    }
}

/// The percentage of pairs of texts that are candidates, one with so many features, and the other with so many more.
fn found(limit: f64, features: usize, more: usize) -> f64 {
    const PAIRS: usize = 4000;
    let recipe: Recipe = format!("minhash shingle=1 near={limit}").parse().unwrap();
    let near = recipe.candidates(limit).unwrap();
    let mut fingerprinter = recipe.fingerprinter::<U256>().unwrap();
    let is_found = |pair: &usize| {
        let words: Vec<String> = (0..features + more).map(|word| format!("w{pair}x{word}")).collect();
        let mut print = |words: &[String]| fingerprinter.fingerprint(&words.join(" ")).value;
        near.contain(print(&words), print(&words[..features]))
    };
    100.0 * (0..PAIRS).filter(is_found).count() as f64 / PAIRS as f64
}

#[test]
fn tiny_texts_are_found_as_often_as_the_documentation_says() {
    for (limit, features, more, least) in [
        (0.5, 1, 1, 93.0),
        (0.5, 2, 2, 98.0),
        (0.5, 3, 3, 99.2),
        (0.5, 4, 4, 99.5),
        (0.5, 16, 16, 99.7),
        (0.7, 3, 1, 99.7),
        (0.7, 7, 3, 99.6),
        (0.8, 4, 1, 99.6),
        (0.9, 9, 1, 99.7),
    ] {
        let found = found(limit, features, more);
        assert!(found >= least, "{features} of {} at {limit}: {found}%", features + more);
    }
}

#[test]
fn a_database_without_features_is_compared_by_estimates() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let mut options = DedupOptions::new("minhash".parse().unwrap());
    options.evidence = Some(Evidence::Hashes);
    Deduplicator::open(&path, options.clone()).unwrap().finish().unwrap();
    let stores = |path: &Path| Database::<U256>::open(path).unwrap().snapshot().unwrap().key_storage();
    assert_eq!(stores(path.as_path()), KeyStorage::KeysAndHashes);
    options.evidence = None;
    assert_eq!(Deduplicator::open(&path, options.clone()).unwrap().k(), 12);
    for (evidence, message) in
        [(Evidence::Features, "keeps no features of texts"), (Evidence::Texts, "keeps no texts")]
    {
        options.evidence = Some(evidence);
        let error = Deduplicator::open(&path, options.clone()).err().unwrap();
        assert!(error.to_string().contains(message), "{error}");
    }
    // With a distance, a database with features is compared by estimates too, and goes on to keep them.
    let path = home.path().join("exact.np");
    options.evidence = None;
    Deduplicator::open(&path, options.clone()).unwrap().finish().unwrap();
    assert_eq!(stores(path.as_path()), KeyStorage::KeysAndFeatures);
    let text = "one two three four five six seven";
    options.k = Some(5);
    let mut dedup = Deduplicator::open(&path, options.clone()).unwrap();
    assert_eq!(dedup.decide("a", text).unwrap(), Decision::Kept);
    dedup.finish().unwrap();
    options.k = None;
    let mut dedup = Deduplicator::open(&path, options).unwrap();
    let expected = Decision::Duplicate { of: "a".into(), distance: 0, similarity: 1.0, is_exact: true };
    assert_eq!(dedup.decide("b", &format!("{text} and four more words")).unwrap(), Decision::Kept);
    assert_eq!(dedup.decide("c", text).unwrap(), expected);
}

/// Texts of 60 words, each with one word of its own changed.
fn with_a_word_changed(count: usize) -> [String; 2] {
    let line = |text: usize, changed: Option<usize>| {
        let words = (0..60).map(|at| match changed == Some(at) {
            true => format!("changed{text}"),
            false => format!("w{text}x{at}"),
        });
        format!("{{\"text\":\"{}\"}}\n", words.collect::<Vec<_>>().join(" "))
    };
    [None, Some(30)].map(|changed| (0..count).map(|text| line(text, changed)).collect())
}

#[test]
fn regression_collections_were_compared_without_features_beside_a_database_that_keeps_none() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let [of_a, of_b] = with_a_word_changed(100);
    fs::write(at("a.jsonl"), of_a).unwrap();
    fs::write(at("b.jsonl"), of_b).unwrap();
    let run = |input: &str, name: &str, set: &dyn Fn(&mut FileJob)| {
        let options = DedupOptions::new("minhash".parse().unwrap());
        let mut job = FileJob::new(vec![at(input)], at(name), options);
        job.database = Some(at(&format!("{name}.np")));
        set(&mut job);
        let counts = job.run(|_, _| ControlFlow::Continue(())).unwrap().counts;
        (counts.kept, counts.duplicates)
    };
    assert_eq!(run("a.jsonl", "exact", &|_| {}), (100, 0));
    for evidence in [Evidence::Hashes, Evidence::Keys, Evidence::Features, Evidence::Texts] {
        for against in ["a.jsonl", "exact.np"] {
            for keep in [Keep::First, Keep::Longest] {
                let name = format!("{evidence:?}-{against}-{keep:?}");
                let mut stored = DedupOptions::new("minhash".parse().unwrap());
                stored.evidence = Some(evidence);
                Deduplicator::open(at(&format!("{name}.np")), stored).unwrap().finish().unwrap();
                let counts = run("b.jsonl", &name, &|job| {
                    job.against = vec![at(against)];
                    job.keep = Some(keep.clone());
                });
                assert_eq!(counts, (0, 100), "{name}");
            }
        }
    }
}

#[test]
fn regression_collections_had_other_bands_than_the_documents_where_a_similarity_was_given() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let [of_a, of_b] = with_a_word_changed(100);
    fs::write(at("a.jsonl"), of_a).unwrap();
    fs::write(at("b.jsonl"), of_b).unwrap();
    let of_recipe = |recipe: &str| DedupOptions::new(recipe.parse().unwrap());
    let run = |input: &str, options: DedupOptions, database: Option<&str>, against: &[&str]| {
        let mut job = FileJob::new(vec![at(input)], at("out.jsonl"), options);
        job.database = database.map(at);
        job.against = against.iter().map(|name| at(name)).collect();
        job.run(|_, _| ControlFlow::Continue(())).map(|done| done.counts.kept)
    };
    for near in ["0.5", "0.7", "0.75", "0.8", "0.9"] {
        let (kept, empty, new) = (format!("{near}.np"), format!("{near}-empty.np"), format!("{near}-new.np"));
        let of_database = of_recipe(&format!("minhash near={near}"));
        assert_eq!(run("a.jsonl", of_database.clone(), Some(&kept), &[]).unwrap(), 100);
        Deduplicator::open(at(&empty), of_database).unwrap().finish().unwrap();
        for (database, against) in
            [(Some(&*empty), "a.jsonl"), (Some(&*empty), &*kept), (Some(&*new), &*kept), (None, &*kept)]
        {
            let mut options = of_recipe("minhash");
            options.similarity = Some("0.8".parse().unwrap());
            options.require_recipe = true;
            for _ in 0..2 {
                let found = run("b.jsonl", options.clone(), database, &[against]);
                assert_eq!(found.unwrap(), 0, "{near} {database:?} {against}");
            }
        }
    }
    // Fingerprints of two recipes cannot be compared.
    let refused = run("b.jsonl", of_recipe("minhash"), None, &["0.75.np", "0.8.np"]);
    assert!(matches!(refused, Err(Error::Database(DatabaseProblem::OtherRecipe { .. }) | Error::Engine(_))));
    assert_eq!(run("b.jsonl", of_recipe("minhash"), None, &["0.7.np", "a.jsonl"]).unwrap(), 0);
}

#[test]
fn regression_a_changed_text_with_the_key_and_the_fingerprint_of_a_kept_one_is_compared() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    for (recipe, least) in [
        ("simhash", "1"),
        ("simhash", "contained:1"),
        ("simhash", "edit:1"),
        ("minhash", "contained:1"),
        ("minhash", "edit:1"),
    ] {
        let mut options = DedupOptions::new(recipe.parse().unwrap());
        options.similarity = Some(least.parse().unwrap());
        let mut temporary = Deduplicator::temporary(options.clone()).unwrap();
        let mut fingerprinter = temporary.fingerprinter();
        let text = |changed: usize| -> String {
            (0..1000).map(|at| if at == changed { "changed ".into() } else { format!("w{at} ") }).collect()
        };
        let (old, mut print) = (text(1000), |text: &str| fingerprinter.fingerprint(text).value);
        let of_old = print(&old);
        let new = (0..1000).map(text).find(|new| print(new) == of_old).unwrap();
        let stored = Deduplicator::open(at(&format!("{recipe}-{least}.np")), options.clone()).unwrap();
        for dedup in [&mut temporary, &mut { stored }] {
            assert_eq!(dedup.decide("key", &old).unwrap(), Decision::Kept);
            assert_eq!(dedup.decide("key", &new).unwrap(), Decision::Kept, "{recipe} {least}");
            let again = dedup.decide("key", &old).unwrap();
            assert!(matches!(again, Decision::Duplicate { similarity: 1.0, .. }), "{again:?}");
        }
        let line = |text: &str| format!("{{\"id\":\"key\",\"text\":\"{text}\"}}\n");
        fs::write(at("in.jsonl"), line(&old) + &line(&new) + &line(&old)).unwrap();
        for keep in [Keep::First, Keep::Longest] {
            let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), options.clone());
            job.reader.fields.key = Some("id".into());
            job.keep = Some(keep);
            let counts = job.run(|_, _| ControlFlow::Continue(())).unwrap().counts;
            assert_eq!((counts.kept, counts.copies), (2, 1), "{recipe} {least}");
        }
    }
}

#[test]
fn regression_nothing_is_near_a_row_without_a_text_where_texts_are_compared() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let mut options = DedupOptions::new("minhash".parse().unwrap());
    options.similarity = Some("edit:0.9".parse().unwrap());
    let dedup = Deduplicator::open(&path, options.clone()).unwrap();
    let text = "one two three four five six seven";
    let made = dedup.fingerprinter().fingerprint(text).value;
    dedup.finish().unwrap();
    let words: [u64; 4] = made.words().try_into().unwrap();
    let mut writer = Database::<U256>::open(&path).unwrap().writer().unwrap();
    writer.insert(NewRow::keyed(U256::from_words(words), "a")).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let mut dedup = Deduplicator::open(&path, options).unwrap();
    assert_eq!(dedup.decide("b", text).unwrap(), Decision::Kept);
    assert!(matches!(dedup.decide("c", text).unwrap(), Decision::Duplicate { of, .. } if of == "b"));
}

#[test]
fn html_is_compared_by_its_text() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let words = "one two three four five six seven eight nine ten eleven twelve";
    fs::create_dir(at("d")).unwrap();
    let rest = &words[4..];
    for (name, text) in [
        ("a.txt", words.to_string()),
        ("b.txt", format!("<!doctype html><p class=a>one <i>{rest}</i><script>var x = 1</script>")),
        ("c.txt", format!("<HTML><div><b>one</b> {rest}</div>")),
        ("d.html", format!("{{{{ one }}}} <td title=\"a b c\">{rest}")),
        ("e.txt", format!("{{{{ one }}}} <td title=\"a b c\">{rest}")),
    ] {
        fs::write(at("d").join(name), text).unwrap();
    }
    let options = DedupOptions::new("minhash near=0.9".parse().unwrap());
    FileJob::new(vec![at("d")], at("kept"), options).run(|_, _| ControlFlow::Continue(())).unwrap();
    let kept = fs::read_to_string(at("kept")).unwrap();
    let names: Vec<&str> = kept.lines().map(|path| &path[path.len() - 5..]).collect();
    assert_eq!(names, ["a.txt", "e.txt"], "only the last one is no page, and has the words of its markup");
}

#[test]
fn a_part_of_a_kept_text_is_contained_in_it() {
    let word = |number: usize| format!("w{number} ");
    let text = |numbers: std::ops::Range<usize>| numbers.map(word).collect::<String>();
    let (whole, half, other) = (text(0..100), text(0..60), text(55..155));
    for (texts, kept) in [([&whole, &half, &other], vec![0, 2]), ([&half, &whole, &other], vec![0, 1, 2])] {
        let mut options = DedupOptions::new("minhash hash=minhash:10x16,1".parse().unwrap());
        options.similarity = Some("contained:0.8".parse().unwrap());
        let mut dedup = Deduplicator::temporary(options).unwrap();
        let decisions: Vec<Decision> =
            (0..3).map(|at| dedup.decide(&at.to_string(), texts[at]).unwrap()).collect();
        let found: Vec<usize> = (0..3).filter(|&at| decisions[at] == Decision::Kept).collect();
        assert_eq!(found, kept);
    }
}

/// Two texts whose sets of three neighbouring words have three quarters in common.
fn three_quarters() -> [String; 2] {
    let words = |count: usize| (0..count).map(|number| format!("w{number} ")).collect::<String>();
    [words(32), words(42)]
}

/// The decision about the second of two texts.
fn second(mut dedup: Deduplicator) -> Decision {
    let [one, other] = three_quarters();
    assert_eq!(dedup.decide("one", &one).unwrap(), Decision::Kept);
    let decision = dedup.decide("other", &other).unwrap();
    dedup.finish().unwrap();
    decision
}

#[test]
fn regression_the_schema_of_a_recipe_makes_a_database_of_exact_decisions() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("week.np");
    let recipe: Recipe = "minhash near=0.7".parse().unwrap();
    let schema = recipe.schema().expire_after(Duration::from_secs(7 * 86_400), None).unwrap();
    Database::<U256>::create(&path, &schema).unwrap();
    let mut options = DedupOptions::new(recipe);
    options.similarity = Some(Similarity::Jaccard(0.75));
    let dedup = Deduplicator::open(&path, options).unwrap();
    assert_eq!(dedup.near(), DocumentsNear::Exact { similarity: 0.75 });
    let decision = second(dedup);
    assert!(
        matches!(&decision, Decision::Duplicate { similarity: 0.75, is_exact: true, .. }),
        "{decision:?}"
    );
    let simhash = "simhash".parse::<Recipe>().unwrap().schema();
    let database = Database::<u64>::create(home.path().join("simhash.np"), &simhash).unwrap();
    assert_eq!(database.snapshot().unwrap().key_storage(), KeyStorage::KeysAndHashes);
}

#[test]
fn regression_a_database_that_estimates_is_refused_where_a_similarity_is_asked_for() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("hashes.np");
    let mut options = DedupOptions::new("minhash near=0.7".parse().unwrap());
    options.evidence = Some(Evidence::Hashes);
    options.similarity = Some(Similarity::Jaccard(0.5));
    let decision = second(Deduplicator::open(&path, options.clone()).unwrap());
    assert!(matches!(decision, Decision::Duplicate { is_exact: false, .. }), "{decision:?}");
    options.evidence = None;
    for open in [Deduplicator::open, Deduplicator::read_only] {
        let refused = open(path.clone(), options.clone()).err().unwrap();
        assert!(matches!(refused, Error::Database(DatabaseProblem::NoFeatures { .. })), "{refused}");
    }
    options.similarity = None;
    let dedup = Deduplicator::open(&path, options).unwrap();
    assert!(matches!(dedup.near(), DocumentsNear::Estimated { .. }));
}

#[test]
fn a_new_database_has_the_lifetime_that_is_asked_for_and_another_one_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let (path, forever) = (home.path().join("month.np"), home.path().join("forever.np"));
    let day = Duration::from_secs(86_400);
    let mut options = DedupOptions::new("minhash".parse().unwrap());
    Deduplicator::open(&forever, options.clone()).unwrap().finish().unwrap();
    options.set("expire_after", &["30d".into()]).unwrap();
    assert_eq!(options.expire_after, Some(30 * day));
    for _ in 0..2 {
        Deduplicator::open(&path, options.clone()).unwrap().finish().unwrap();
    }
    let snapshot = Database::<U256>::open(&path).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.stats().lifetime, Some((30 * day, 3 * day)));
    let message = |refused: Result<Deduplicator, Error>| refused.err().unwrap().to_string();
    assert!(message(Deduplicator::open(&forever, options.clone())).contains("its rows never expire"));
    assert!(message(Deduplicator::temporary(options.clone())).contains("needs a database"));
    let mut job = FileJob::new(vec![], home.path().join("out"), options.clone());
    let refused = job.clone().run(|_, _| ControlFlow::Continue(())).unwrap_err();
    assert!(refused.to_string().contains("needs a database"), "{refused}");
    options.expire_after = Some(7 * day);
    for open in [Deduplicator::open, Deduplicator::read_only] {
        assert!(message(open(path.clone(), options.clone())).contains("its rows expire after 2592000s"));
    }
    options.expire_after = None;
    Deduplicator::open(&path, options.clone()).unwrap().finish().unwrap();
    // A job remembers for as long.
    let input = home.path().join("in.jsonl");
    fs::write(&input, "{\"text\": \"one two three four\"}\n").unwrap();
    (job.inputs, job.database) = (vec![input], Some(home.path().join("job.np")));
    job.run(|_, _| ControlFlow::Continue(())).unwrap();
    let snapshot = Database::<U256>::open(home.path().join("job.np")).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.stats().lifetime, Some((30 * day, 3 * day)));
}

#[test]
fn fingerprints_made_before_are_decided_as_their_texts_and_others_are_refused() {
    for recipe in ["minhash near=0.7", "simhash", "simhash width=128"] {
        let texts = three_quarters();
        let documents = [("one", &texts[0]), ("other", &texts[1]), ("copy", &texts[0])];
        let temporary = || Deduplicator::temporary(DedupOptions::new(recipe.parse().unwrap())).unwrap();
        let (mut whole, mut apart) = (temporary(), temporary());
        let mut fingerprinter = apart.fingerprinter();
        for (key, text) in documents {
            let made = fingerprinter.fingerprint(text);
            let decision = apart.decide_fingerprinted(key, text, made).unwrap();
            assert_eq!(decision, whole.decide(key, text).unwrap(), "{recipe} {key}");
        }
        // It has 256 bits, and no features.
        let made = "minhash".parse::<Recipe>().unwrap().any_fingerprinter().fingerprint(&texts[0]);
        let refused = apart.decide_fingerprinted("x", &texts[0], made);
        assert!(matches!(refused, Err(Error::Input { .. })), "{recipe}: {refused:?}");
    }
}
