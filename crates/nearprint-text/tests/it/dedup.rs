//! Deduplication through the public API: decisions against brute force, checkpoints, and refusals.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use nearprint::{Database, Fingerprint, KeyStorage, NewRow, Options, Schema, SharedWriter, Width};
use nearprint_text::dedup::{Decision, DedupOptions, Deduplicator, FileJob, Keep, Similarity, recipe_of};
use nearprint_text::documents::Format;
use nearprint_text::{DatabaseProblem, Error, OutputProblem, Recipe, ResumeProblem};
use proptest::prelude::*;

const RECIPE: &str = "simhash shingle=1";

fn options(k: u32) -> DedupOptions {
    let mut options = DedupOptions::new(RECIPE.parse().unwrap());
    options.k = Some(k);
    options
}

fn unique(k: u32) -> DedupOptions {
    let mut options = options(k);
    options.unique_keys = true;
    options
}

fn duplicate(of: &str, distance: u32) -> Decision {
    let similarity = RECIPE.parse::<Recipe>().unwrap().similarity(distance);
    Decision::Duplicate { of: of.to_string(), distance, similarity, is_exact: false }
}

fn fingerprint(text: &str) -> u64 {
    RECIPE.parse::<Recipe>().unwrap().fingerprinter().unwrap().fingerprint(text).value
}

/// The decisions by comparing each document with all kept ones.
fn greedy(texts: &[String], k: u32) -> Vec<Decision> {
    let mut kept: Vec<(usize, u64)> = Vec::new();
    let decide = |(index, text): (usize, &String)| {
        let value = fingerprint(text);
        let near = kept.iter().map(|&(other, of)| (value.distance(of), other));
        match near.filter(|(distance, _)| *distance <= k).min() {
            Some((distance, of)) => duplicate(&of.to_string(), distance),
            None => {
                kept.push((index, value));
                Decision::Kept
            }
        }
    };
    texts.iter().enumerate().map(decide).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn decisions_are_those_of_brute_force(
        texts in prop::collection::vec("[a-d]( [a-d]){0,5}", 0..150),
        k in 0u32..20,
        threads in 1usize..4,
    ) {
        let home = tempfile::tempdir().unwrap();
        let expected = greedy(&texts, k);
        let keys: Vec<String> = (0..texts.len()).map(|index| index.to_string()).collect();
        let documents: Vec<(&str, &str)> = keys.iter().zip(&texts).map(|(key, text)| (&**key, &**text)).collect();
        let mut options = options(k);
        options.engine = Options::new().threads(threads);
        let mut temporary = Deduplicator::temporary(options.clone()).unwrap();
        let mut durable = Deduplicator::open(home.path().join("seen.np"), options).unwrap();
        let mut decided = Vec::new();
        temporary.decide_batch(&documents, |found| {
            assert_eq!(found.fingerprint, [fingerprint(&texts[decided.len()])]);
            decided.push(found.decision);
            Ok(())
        }).unwrap();
        prop_assert_eq!(&decided, &expected);
        for ((key, text), expected) in documents.iter().zip(&expected) {
            prop_assert_eq!(&durable.decide(key, text).unwrap(), expected);
            durable.checkpoint(b"x").unwrap();
        }
    }
}

#[test]
fn a_batch_ends_at_the_first_error_of_its_visitor() {
    let mut dedup = Deduplicator::temporary(options(0)).unwrap();
    let numbers: Vec<String> = (0..500).map(|index| index.to_string()).collect();
    let documents: Vec<(&str, &str)> = numbers.iter().map(|number| (&**number, &**number)).collect();
    let mut visited = 0;
    let ended = dedup.decide_batch(&documents, |_| {
        visited += 1;
        if visited == 100 { Err(nearprint::Error::Interrupted.into()) } else { Ok(()) }
    });
    assert!(matches!(ended, Err(Error::Engine(nearprint::Error::Interrupted))), "{ended:?}");
    assert_eq!(visited, 100);
    assert_eq!(dedup.decide("x", "99").unwrap(), duplicate("99", 0));
    assert_eq!(dedup.decide("y", "100").unwrap(), Decision::Kept);
}

#[test]
fn documents_since_the_last_checkpoint_are_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let open = || Deduplicator::open(&path, options(3)).unwrap();
    let mut dedup = open();
    assert_eq!(
        (dedup.unfinished(), dedup.k(), dedup.recipe().to_string()),
        (None, 3, RECIPE.parse::<Recipe>().unwrap().to_string())
    );
    let before = dedup.next_sequence();
    assert_eq!(dedup.decide("a", "one two three").unwrap(), Decision::Kept);
    dedup.checkpoint(b"first").unwrap();
    assert_eq!(dedup.decide("b", "four five six").unwrap(), Decision::Kept);
    drop(dedup);

    let mut dedup = open();
    assert_eq!(dedup.unfinished(), Some(&b"first"[..]));
    assert_eq!(dedup.decide("c", "Three, two, one!").unwrap(), duplicate("a", 0));
    assert_eq!(dedup.decide("d", "four five six").unwrap(), Decision::Kept);
    dedup.checkpoint(b"second").unwrap();
    dedup.finish().unwrap();

    let mut dedup = open();
    assert_eq!(dedup.unfinished(), None);
    assert_eq!(dedup.decide("e", "four five six").unwrap(), duplicate("d", 0));
    dedup.checkpoint(b"third").unwrap();
    let later = dedup.next_sequence();
    assert_eq!(dedup.decide("f", "seven eight nine").unwrap(), Decision::Kept);
    dedup.forget(std::slice::from_ref(&(before..later))).unwrap();
    drop(dedup);

    let mut dedup = open();
    assert_eq!(dedup.unfinished(), None);
    assert_eq!(dedup.decide("g", "one two three").unwrap(), Decision::Kept);
    assert_eq!(dedup.decide("h", "seven eight nine").unwrap(), duplicate("f", 0));
}

/// A kept document had the sequence number of its first insertion, and so belonged to the job that
/// inserted it first.
#[test]
fn regression_a_restart_keeps_what_another_writer_has_stored_again() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let open = || Deduplicator::open(&path, options(3)).unwrap();
    let mut dedup = open();
    let start = dedup.next_sequence();
    for (key, text) in [("a", "one two three"), ("b", "four five six"), ("nothing", "")] {
        assert_eq!(dedup.decide(key, text).unwrap(), Decision::Kept);
    }
    dedup.checkpoint(b"half").unwrap();
    drop(dedup);

    let database = Database::<u64>::open(&path).unwrap();
    let snapshot = database.snapshot().unwrap();
    let rows: Vec<_> = snapshot.rows().unwrap().map(Result::unwrap).collect();
    let mut writer = database.writer().unwrap();
    for (row, key) in rows.iter().map(|row| (row, snapshot.keys_of(*row).unwrap().remove(0).key)) {
        if key != "b" {
            writer.insert(NewRow { id: Some(row.id), ..NewRow::keyed(row.fingerprint, &key) }).unwrap();
        }
    }
    writer.close().unwrap();

    let mut dedup = open();
    // Nothing is near a text without tokens, not even itself.
    assert_eq!(dedup.decide("nothing", "").unwrap(), Decision::Kept);
    assert_eq!(dedup.decide("c", "seven eight nine").unwrap(), Decision::Kept);
    // Two of five insertions so far were not the job's.
    dedup.forget(&[start..start + 3, start + 5..dedup.next_sequence()]).unwrap();
    drop(dedup);

    let snapshot = database.snapshot().unwrap();
    let keys = |row| snapshot.keys_of(row).unwrap().remove(0).key;
    let mut left: Vec<String> = snapshot.rows().unwrap().map(|row| keys(row.unwrap())).collect();
    left.sort();
    assert_eq!(left, ["a", "nothing"]);
}

#[test]
fn a_database_that_is_only_read_stays_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let mut dedup = Deduplicator::open(&path, unique(3)).unwrap();
    dedup.decide("a", "one two three").unwrap();
    dedup.checkpoint(b"progress").unwrap();
    drop(dedup);
    let rows = || Database::<u64>::open(&path).unwrap().snapshot().unwrap().stats().rows;
    assert_eq!(rows(), 1);
    let mut dry = Deduplicator::read_only(&path, unique(3)).unwrap();
    assert_eq!(dry.unfinished(), Some(&b"progress"[..]));
    assert_eq!(dry.decide("b", "one two three").unwrap(), duplicate("a", 0));
    assert_eq!(dry.decide("a", "one two three").unwrap(), Decision::Known);
    assert_eq!(dry.decide("a", "something else").unwrap(), Decision::KeyTaken);
    assert_eq!(dry.decide("c", "four five six").unwrap(), Decision::Kept);
    assert_eq!(dry.decide("d", "four five six").unwrap(), duplicate("c", 0));
    dry.checkpoint(b"other").unwrap();
    dry.forget(std::slice::from_ref(&(0..u64::MAX))).unwrap();
    dry.finish().unwrap();
    let dedup = Deduplicator::open(&path, unique(3)).unwrap();
    assert_eq!(dedup.unfinished(), Some(&b"progress"[..]));
    assert_eq!(rows(), 1);
}

#[test]
fn a_key_may_recur_unless_keys_are_unique() {
    let texts = ["one two three", "four five six", "three two one", "four five six"];
    let decide = |options: DedupOptions, checkpoints: bool| {
        let home = tempfile::tempdir().unwrap();
        let mut dedup = Deduplicator::open(home.path().join("seen.np"), options).unwrap();
        texts.map(|text| {
            let decision = dedup.decide("key", text).unwrap();
            if checkpoints {
                dedup.checkpoint(b"x").unwrap();
            }
            decision
        })
    };
    for checkpoints in [false, true] {
        let expected = [Decision::Kept, Decision::Kept, duplicate("key", 0), duplicate("key", 0)];
        assert_eq!(decide(options(3), checkpoints), expected);
        let expected = [Decision::Kept, Decision::KeyTaken, Decision::Known, Decision::KeyTaken];
        assert_eq!(decide(unique(3), checkpoints), expected);
    }
}

#[test]
fn a_known_document_may_be_nearer_to_another_one() {
    let (a, b) = ("one two three four five", "six seven eight nine ten");
    let apart = fingerprint(a).distance(fingerprint(b));
    // Near to both, and nearer to `a`.
    let mixed = "one two three four ten";
    let [to_a, to_b] = [a, b].map(|text| fingerprint(mixed).distance(fingerprint(text)));
    assert!(to_a < to_b && to_b < apart, "{to_a} {to_b} {apart}");
    let mut dedup = Deduplicator::temporary(unique(to_b)).unwrap();
    assert_eq!(dedup.decide("a", a).unwrap(), Decision::Kept);
    assert_eq!(dedup.decide("b", b).unwrap(), Decision::Kept);
    assert_eq!(dedup.decide("b", mixed).unwrap(), Decision::Known);
    assert_eq!(dedup.decide("c", mixed).unwrap(), duplicate("a", to_a));
}

#[test]
fn short_documents_and_dissimilar_ones_are_no_duplicates() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("texts.np");
    let schema = RECIPE.parse::<Recipe>().unwrap().schema();
    Database::<u64>::create(&path, &schema.k(64).keys(KeyStorage::KeysAndTexts)).unwrap();
    let mut options = options(64);
    options.similarity = Some(Similarity::Jaccard(0.9));
    options.min_words = 2;
    let durable = Deduplicator::open(&path, options.clone()).unwrap();
    for mut dedup in [Deduplicator::temporary(options).unwrap(), durable] {
        assert_eq!(dedup.decide("a", "one").unwrap(), Decision::TooShort);
        assert_eq!(dedup.decide("b", "one two three four").unwrap(), Decision::Kept);
        assert_eq!(dedup.decide("c", "four three two one").unwrap(), Decision::Kept);
        let copy = Decision::Duplicate { of: "b".into(), distance: 0, similarity: 1.0, is_exact: true };
        assert_eq!(dedup.decide("d", "One, two, three, four").unwrap(), copy, "texts decide");
    }
}

/// Why a database is refused.
fn refused(path: &Path, options: DedupOptions) -> DatabaseProblem {
    match Deduplicator::open(path, options) {
        Err(Error::Database(problem)) => problem,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn regression_databases_without_keys_texts_or_the_recipe_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    Database::<u64>::create(at("plain.np"), &Schema::new()).unwrap();
    assert!(
        matches!(refused(&at("plain.np"), options(3)), DatabaseProblem::NoKeys { path } if path == at("plain.np"))
    );

    for keys in [KeyStorage::Keys, KeyStorage::KeysAndTexts] {
        let path = at(&format!("{keys:?} alone.np"));
        Database::<u64>::create(&path, &Schema::new().keys(keys)).unwrap();
        assert!(matches!(refused(&path, options(3)), DatabaseProblem::NoRecipe { path: of } if of == path));
        let read = Deduplicator::read_only(&path, options(3)).map(drop);
        assert!(matches!(read, Err(Error::Database(DatabaseProblem::NoRecipe { .. }))), "{read:?}");
        let recipe = recipe_of(&path);
        assert!(matches!(recipe, Err(Error::Database(DatabaseProblem::NoRecipe { .. }))), "{recipe:?}");
    }

    drop(Deduplicator::open(at("keys.np"), options(5)).unwrap());
    let mut comparing = options(3);
    comparing.similarity = Some(Similarity::Edit(0.9));
    assert!(matches!(refused(&at("keys.np"), comparing), DatabaseProblem::NoTexts { .. }));
    let mut other = DedupOptions::new("cjk".parse().unwrap());
    let dedup = Deduplicator::open(at("keys.np"), other.clone()).unwrap();
    assert_eq!((dedup.k(), dedup.recipe().to_string()), (5, RECIPE.parse::<Recipe>().unwrap().to_string()));
    drop(dedup);
    other.require_recipe = true;
    let problem = refused(&at("keys.np"), other);
    assert!(
        matches!(&problem, DatabaseProblem::OtherRecipe { found, expected, .. } if *found != *expected),
        "{problem}"
    );
    Database::<u64>::create(at("new.np"), &Schema::new().keys(KeyStorage::Keys).recipe("tokens=future"))
        .unwrap();
    assert!(
        matches!(refused(&at("new.np"), options(3)), DatabaseProblem::UnknownRecipe { error, .. } if error.part() == "tokens")
    );

    let missing = Deduplicator::read_only(at("missing.np"), options(3));
    assert!(matches!(missing, Err(Error::Engine(nearprint::Error::NotADatabase { .. }))));
    let mut dedup = Deduplicator::temporary(options(3)).unwrap();
    let long = dedup.decide(&"k".repeat(70_000), "text");
    assert!(matches!(&long, Err(Error::Input { why, .. }) if why.contains("70000 bytes")), "{long:?}");
}

/// A prefix of the checkpoint made it a database of hashes, which any writer could clear.
#[test]
fn regression_a_database_of_hashes_stays_one_without_its_checkpoint() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let mut dedup = Deduplicator::open(&path, options(3)).unwrap();
    assert_eq!(dedup.decide("a", "one two three four").unwrap(), Decision::Kept);
    dedup.finish().unwrap();
    let mut writer = Database::<u64>::open(&path).unwrap().writer().unwrap();
    assert_eq!(writer.checkpoint(), None);
    writer.set_checkpoint(b"of another application").unwrap();
    writer.set_checkpoint(b"").unwrap();
    writer.close().unwrap();
    let mut comparing = options(3);
    comparing.similarity = Some(Similarity::Edit(0.9));
    assert!(matches!(refused(&path, comparing), DatabaseProblem::NoTexts { .. }));
    let mut dedup = Deduplicator::open(&path, options(3)).unwrap();
    assert_eq!(dedup.decide("b", "five six seven eight").unwrap(), Decision::Kept);
    dedup.finish().unwrap();
    let snapshot = Database::<u64>::open(&path).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.key_storage(), KeyStorage::KeysAndHashes);
    for row in snapshot.rows().unwrap().map(Result::unwrap) {
        assert_eq!(snapshot.keys_of(row).unwrap()[0].text.len(), 17, "hashes are stored as before");
    }
}

#[test]
fn a_job_that_was_cancelled_resumes() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let lines: Vec<String> = (0..30_000).map(|index| format!("{{\"text\":\"{}\"}}\n", index / 2)).collect();
    fs::write(at("in.jsonl"), lines.concat()).unwrap();
    let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), options(0));
    job.database = Some(at("seen.np"));
    let cancelled = job.clone().run(|counts, _| match counts.records {
        ..15_000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert!(matches!(cancelled, Err(Error::Engine(nearprint::Error::Interrupted))), "{cancelled:?}");

    let mut other = job.clone();
    other.output = at("other.jsonl");
    let refused = other.run(|_, _| ControlFlow::Continue(()));
    assert!(
        matches!(refused, Err(Error::Resume(ResumeProblem::OtherRun { records: 5_000.., .. }))),
        "{refused:?}"
    );

    let report = job.run(|_, _| ControlFlow::Continue(())).unwrap();
    // A checkpoint is at most 10,000 records old, and on a slow machine a second.
    assert!((5_000..20_000).contains(&report.resumed_after), "{}", report.resumed_after);
    assert_eq!(
        (report.counts.records, report.counts.kept, report.counts.duplicates),
        (30_000, 15_000, 15_000)
    );
    let expected: String = lines.iter().step_by(2).map(String::as_str).collect();
    assert!(fs::read_to_string(at("out.jsonl")).unwrap() == expected);
}

/// The files of a job with compressed outputs depend on its records alone, wherever it is interrupted.
#[test]
fn compressed_outputs_resume_with_the_same_bytes() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let object = |index: u32| match index % 1000 {
        7 => "no object\n".to_string(),
        _ => format!("{{\"n\":{},\"text\":\"number {}\"}}\n", index % 10, index / 2),
    };
    let lines: String = (0..23_456).map(object).collect();
    // The last record has no line feed.
    fs::write(at("in.jsonl"), lines.trim_end()).unwrap();
    let run = |folder: &str, compression: &str, change: &dyn Fn(&mut FileJob), until: u64| {
        let name = |name: &str| at(&format!("{folder}/{name}{compression}"));
        let mut job = FileJob::new(vec![at("in.jsonl")], name("out.jsonl"), options(0));
        (job.duplicates, job.rejects) = (Some(name("gone.tsv")), Some(name("bad.txt")));
        job.database = Some(at(&format!("{folder}/seen.np")));
        change(&mut job);
        job.run(|counts, _| match counts.records < until {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    };
    let by_rank = |job: &mut FileJob| job.keep = Some(Keep::Max("n".into()));
    let by_line = |job: &mut FileJob| job.trim = Some(crate::by_line(1));
    let changes: [&dyn Fn(&mut FileJob); 3] = [&|_| {}, &by_rank, &by_line];
    for (number, change) in changes.into_iter().enumerate() {
        let folder = |kind: &str| format!("{kind}{number}");
        for kind in ["plain", ".gz", ".zst", "cut.gz", "cut.zst"] {
            fs::create_dir(at(&folder(kind))).unwrap();
        }
        let plain = run(&folder("plain"), "", change, u64::MAX).unwrap();
        for compression in [&[".gz", ".zst"][..], &[".gz"], &[".zst"]][number] {
            let whole = run(&folder(compression), compression, change, u64::MAX).unwrap();
            assert_eq!(whole.counts, plain.counts);
            let cut = folder(&format!("cut{compression}"));
            for until in [1, 11_001] {
                let cancelled = run(&cut, compression, change, until);
                assert!(matches!(cancelled, Err(Error::Engine(nearprint::Error::Interrupted))));
            }
            let resumed = run(&cut, compression, change, u64::MAX).unwrap();
            assert!([10_000, 20_000].contains(&resumed.resumed_after), "{}", resumed.resumed_after);
            assert_eq!(resumed.counts, whole.counts);
            for name in ["out.jsonl", "gone.tsv", "bad.txt"] {
                let bytes = |folder: &str| fs::read(at(&format!("{folder}/{name}{compression}"))).unwrap();
                assert!(bytes(&cut) == bytes(&folder(compression)), "{name}{compression}");
                let content = match *compression {
                    ".gz" => unpacked(flate2::read::MultiGzDecoder::new(&*bytes(&cut))),
                    _ => unpacked(zstd::Decoder::new(&*bytes(&cut)).unwrap()),
                };
                assert!(content == fs::read(at(&format!("{}/{name}", folder("plain")))).unwrap(), "{name}");
            }
            assert!(run(&cut, compression, change, u64::MAX).unwrap().completed.is_some());
        }
    }
}

fn unpacked(mut decoder: impl std::io::Read) -> Vec<u8> {
    let mut content = Vec::new();
    decoder.read_to_end(&mut content).unwrap();
    content
}

/// Texts without the lines that occurred before, white space and case aside, and how many were removed.
/// Lines of fewer words stay.
fn without_repeated_lines(texts: &[String], min_words: usize) -> (Vec<String>, u64) {
    let (mut seen, mut removed) = (HashSet::new(), 0);
    let rest = |text: &String| {
        let is_new = |line: &&str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_lowercase).collect();
            words.len() < min_words.max(1) || seen.insert(words) || {
                removed += 1;
                false
            }
        };
        text.split('\n').filter(is_new).collect::<Vec<_>>().join("\n")
    };
    let rest = texts.iter().map(rest).collect();
    (rest, removed)
}

fn job_of_lines(input: &Path, output: &Path, length: usize) -> FileJob {
    let options = DedupOptions::new("exact".parse().unwrap());
    let mut job = FileJob::new(vec![input.to_path_buf()], output.to_path_buf(), options);
    job.trim = Some(crate::by_line(length));
    job
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn repeated_lines_are_those_of_a_set(
        texts in prop::collection::vec(prop::collection::vec("[abAB]( [abAB]){0,3}", 1..6), 1..80),
        min_words in 0usize..4,
        threads in 1usize..4,
    ) {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        let texts: Vec<String> = texts.iter().map(|lines| lines.join("\n")).collect();
        let object = |text: &String| serde_json::json!({ "n": 1, "text": text }).to_string() + "\n";
        let cell = |text: &String| format!("1,\"{text}\"\n");
        fs::write(at("in.jsonl"), texts.iter().map(object).collect::<String>()).unwrap();
        fs::write(at("in.csv"), format!("n,text\n{}", texts.iter().map(cell).collect::<String>())).unwrap();
        let (expected, removed) = without_repeated_lines(&texts, min_words);
        let left: Vec<&String> = expected.iter().filter(|text| !text.is_empty()).collect();
        for extension in ["jsonl", "csv"] {
            let (input, output) = (at(&format!("in.{extension}")), at(&format!("out.{extension}")));
            let mut job = job_of_lines(&input, &output, min_words);
            job.dedup.engine = Options::new().threads(threads);
            let counts = job.run(|_, _| ControlFlow::Continue(())).unwrap().counts;
            prop_assert_eq!(counts.units.removed, removed);
            prop_assert_eq!((counts.kept, counts.records), (left.len() as u64, texts.len() as u64));
            prop_assert_eq!(counts.duplicates, counts.records - counts.kept);
        }
        let objects: String = left.iter().map(|text| object(text)).collect();
        prop_assert_eq!(fs::read_to_string(at("out.jsonl")).unwrap(), objects);
        let mut cells = csv::Reader::from_path(at("out.csv")).unwrap();
        let found: Vec<String> = cells.records().map(|row| row.unwrap()[1].to_string()).collect();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), left);
    }
}

#[test]
fn a_job_of_lines_that_was_cancelled_resumes() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let text = |index: u32| format!("the menu of all pages\\npage {} of them\\nitem {index}", index / 2);
    let lines: Vec<String> = (0..30_000).map(|index| format!("{{\"text\":\"{}\"}}\n", text(index))).collect();
    fs::write(at("in.jsonl"), lines.concat()).unwrap();
    let run = |name: &str, until: u64| {
        let mut job = job_of_lines(&at("in.jsonl"), &at(&format!("{name}.jsonl")), 2);
        job.database = Some(at(&format!("{name}.np")));
        job.duplicates = Some(at(&format!("{name}.tsv")));
        job.run(|counts, _| match counts.records < until {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    };
    let whole = run("whole", u64::MAX).unwrap();
    assert_eq!(whole.counts.units.compared, 90_000);
    assert_eq!(whole.counts.units.removed, 29_999 + 15_000);
    assert_eq!((&*whole.largest[0].name, whole.largest[0].size), ("the menu of all pages", 30_000));
    assert!(matches!(run("cut", 15_000), Err(Error::Engine(nearprint::Error::Interrupted))));
    let resumed = run("cut", u64::MAX).unwrap();
    assert!((5_000..20_000).contains(&resumed.resumed_after), "{}", resumed.resumed_after);
    assert_eq!(resumed.counts, whole.counts);
    for extension in ["jsonl", "tsv"] {
        let read = |name: &str| fs::read_to_string(at(&format!("{name}.{extension}"))).unwrap();
        assert!(read("cut") == read("whole").replace("whole.", "cut."), "{extension}");
    }
    assert!(run("cut", u64::MAX).unwrap().completed.is_some());
}

#[test]
fn units_need_fields_and_exclude_options_of_whole_documents() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("in.jsonl"), "{\"text\":\"a\"}\n").unwrap();
    let job = job_of_lines(&at("in.jsonl"), &at("out.jsonl"), 1);
    let problem = |job: FileJob| job.run(|_, _| ControlFlow::Continue(())).unwrap_err();
    let mut lines = job.clone();
    lines.reader.format = Some(Format::Lines);
    assert!(matches!(problem(lines), Error::Output(OutputProblem::NoFields { format: "lines" })));
    let mut stored = job.clone();
    (stored.trim, stored.database, stored.group_size) = (None, Some(at("seen.np")), true);
    let problem_with_database = problem(stored);
    assert!(matches!(
        problem_with_database,
        Error::Output(OutputProblem::NotWithDatabase { option: "group_size" })
    ));
    let (mut longest, mut annotated, mut printed) = (job.clone(), job.clone(), job.clone());
    let mut counted = job;
    counted.group_size = true;
    longest.keep = Some(Keep::Longest);
    annotated.annotate = true;
    printed.added.fingerprint = Some("f".into());
    for (job, name) in
        [(longest, "keep"), (annotated, "annotate"), (counted, "group_size"), (printed, "add fingerprint")]
    {
        assert!(matches!(problem(job), Error::Setting { name: of, .. } if of == name), "{name}");
    }
    assert!(!at("out.jsonl").exists());
}

#[test]
fn regression_a_key_that_is_too_long_with_the_number_of_a_unit_is_bad() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let page =
        |key: usize| serde_json::json!({ "key": "k".repeat(key), "text": "one two" }).to_string() + "\n";
    fs::write(at("in.jsonl"), page(65_515) + &page(65_516)).unwrap();
    let mut job = job_of_lines(&at("in.jsonl"), &at("out.jsonl"), 1);
    job.reader.fields.key = Some("key".into());
    let failed = job.clone().run(|_, _| ControlFlow::Continue(())).unwrap_err();
    let why = "a key of 65516 bytes, where 65515 fit";
    assert!(
        matches!(&failed, Error::Record { place, why: found } if place.ends_with("in.jsonl:2") && found == why),
        "{failed}"
    );
    job.rejects = Some(at("rejects.jsonl"));
    let counts = job.run(|_, _| ControlFlow::Continue(())).unwrap().counts;
    assert_eq!((counts.kept, counts.bad), (1, 1));
    assert_eq!(fs::read_to_string(at("rejects.jsonl")).unwrap(), page(65_516));
}

/// What a failed call of a shared deduplicator has kept is as unknown as before; what others have kept stays.
#[test]
fn regression_a_failed_call_of_a_shared_deduplicator_forgets_its_own_documents() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("seen.np");
    let shared = SharedWriter::new(Deduplicator::open(&path, unique(3)).unwrap());
    let of_other = "a document of another thread";
    assert_eq!(shared.with(|dedup| dedup.decide("other", of_other)).unwrap(), Decision::Kept);
    let failed: Result<(), Error> = shared.commit_with(|dedup| {
        assert_eq!(dedup.decide("own", "the words of a call that fails")?, Decision::Kept);
        assert_eq!(dedup.decide("own", "unlike what was kept before")?, Decision::KeyTaken);
        Err(nearprint::Error::Interrupted.into())
    });
    assert!(failed.is_err());
    assert_eq!(shared.with(|dedup| dedup.decide("other", of_other)).unwrap(), Decision::Known);
    let decided = shared.commit_with(|dedup| dedup.decide("own", "unlike what was kept before"));
    assert_eq!(decided.unwrap(), Decision::Kept);
    drop(shared);
    assert_eq!(Database::<u64>::open(&path).unwrap().snapshot().unwrap().stats().rows, 2);
}

#[test]
fn options_of_a_job_are_set_and_checked_by_name() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::write(at("in.txt"), "one two three\nfour five six\n").unwrap();
    let run = |output: &str, options: &[(&str, &str)]| {
        let new = if output == "trimmed" { FileJob::trimming } else { FileJob::with_defaults };
        let mut job = new(vec![at("in.txt")], at(output), Options::new())?;
        job.set("input_format", &["lines".into()])?;
        for (name, value) in options {
            let value: Vec<OsString> = value.split_terminator(' ').map(OsString::from).collect();
            job.set(name, &value)?;
        }
        job.run(|_, _| ControlFlow::Continue(()))
    };
    for (options, name) in [
        (&[("nothing", "")][..], "nothing"),
        (&[("shards", "0")], "shards"),
        (&[("k", "-1")], "k"),
        (&[("k", "3"), ("similarity", "70%")], "k and similarity"),
        (&[("similarity", "cosine:0.7")], "similarity"),
        (&[("by", "line")], "by"),
    ] {
        let error = run("refused", options).unwrap_err();
        assert!(matches!(&error, Error::Setting { name: of, .. } if of == name), "{options:?}: {error}");
    }
    for (options, name) in [
        (&[("by", "word")][..], "by"),
        (&[("min_left", "2")], "min_left"),
        (&[("from", "1")], "from"),
        (&[("by", "passage"), ("length", "1")], "length"),
        (&[("by", "passage"), ("shingle", "2")], "shingle"),
        (&[("by", "passage"), ("from", "3")], "from"),
        (&[("similarity", "0.8"), ("from", "3")], "from"),
        (&[("keep", "longest")], "keep"),
        (&[("min_words", "2")], "min_words"),
    ] {
        let options = [&[("input_format", "jsonl")], options].concat();
        let error = run("trimmed", &options).unwrap_err();
        assert!(matches!(&error, Error::Setting { name: of, .. } if of == name), "{options:?}: {error}");
    }
    // The recipe of a database, also of one to compare with, is that of the job.
    let (seen, seen_width) = (at("seen.np"), [("width", "128"), ("recipe", "simhash")]);
    run("a", &[&[("database", seen.to_str().unwrap())][..], &seen_width].concat()).unwrap();
    let done = run("b", &[("against", seen.to_str().unwrap())]).unwrap();
    assert_eq!((done.counts.records, done.counts.kept, done.recipe.width()), (2, 0, Width::W128));
    let other = run("c", &[("against", seen.to_str().unwrap()), ("recipe", "minhash")]);
    assert!(matches!(other, Err(Error::Database(DatabaseProblem::OtherWidth { .. }))), "{other:?}");
}
