//! Repeated passages, compared with a quadratic brute force.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use nearprint::Options;
use nearprint_text::dedup::{DedupOptions, FileJob, FileReport, TrimRules, Unit};
use nearprint_text::{DatabaseProblem, Error, Result};
use proptest::prelude::*;

/// The places of the words of a text, and the words in lower case.
fn words_of(text: &str) -> Vec<(usize, usize, String)> {
    let mut words: Vec<(usize, usize, String)> = Vec::new();
    let mut is_inside = false;
    for (at, c) in text.char_indices() {
        match (c.is_alphanumeric(), is_inside) {
            (true, false) => words.push((at, at + c.len_utf8(), c.to_lowercase().collect())),
            (true, true) => {
                let (_, end, word) = words.last_mut().unwrap();
                *end += c.len_utf8();
                word.extend(c.to_lowercase());
            }
            _ => {}
        }
        is_inside = c.is_alphanumeric();
    }
    words
}

/// What stays of texts, and how many passages are removed: of each run of `min` words that earlier texts keep, or that
/// the text has kept before it begins.
fn without_passages(texts: &[String], min: usize) -> (Vec<String>, u64) {
    let mut kept: Vec<Vec<String>> = Vec::new();
    let (mut rests, mut num_removed) = (Vec::new(), 0);
    for text in texts {
        let places = words_of(text);
        let words: Vec<&str> = places.iter().map(|(.., word)| &**word).collect();
        let firsts = 0..(words.len() + 1).saturating_sub(min);
        let mut removed = vec![false; words.len()];
        for first in firsts.clone() {
            if kept.iter().any(|other| other.iter().eq(&words[first..first + min])) {
                removed[first..first + min].fill(true);
            }
        }
        for first in firsts.clone() {
            let is_before = |other: usize| {
                other + min <= first
                    && words[other..other + min] == words[first..first + min]
                    && !removed[other..other + min].contains(&true)
            };
            if firsts.clone().any(is_before) {
                removed[first..first + min].fill(true);
            }
        }
        for first in firsts {
            if !removed[first..first + min].contains(&true) {
                kept.push(words[first..first + min].iter().map(ToString::to_string).collect());
            }
        }
        let (mut rest, mut end) = (String::new(), 0);
        for word in (0..words.len()).filter(|&word| removed[word]) {
            num_removed += u64::from(word == 0 || !removed[word - 1]);
            rest.push_str(&text[end..places[word].0.max(end)]);
            end = places.get(word + 1).map_or(places[word].1, |next| next.0);
        }
        rest.push_str(&text[end..]);
        rests.push(rest);
    }
    (rests, num_removed)
}

fn job(folder: &Path, name: &str, min: usize) -> FileJob {
    let options = DedupOptions::new("exact".parse().unwrap());
    let at = |end: &str| folder.join(format!("{name}.{end}"));
    let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), options);
    job.trim = Some(TrimRules::new(Unit::Passage));
    rules(&mut job).length = Some(min);
    job.reader.fields.key = Some("key".into());
    job.duplicates = Some(at("gone.tsv"));
    job
}

fn rules(job: &mut FileJob) -> &mut TrimRules {
    job.trim.as_mut().unwrap()
}

fn run(job: &FileJob, until: u64) -> Result<FileReport> {
    job.clone().run(|counts, _| match counts.records < until {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    })
}

fn lines(texts: &[String]) -> String {
    let line = |(key, text): (usize, &String)| {
        serde_json::json!({ "key": format!("d{key}"), "text": text }).to_string() + "\n"
    };
    texts.iter().enumerate().map(line).collect()
}

/// The documents with something left, and their numbers.
fn left(texts: &[String]) -> String {
    let lines = lines(texts);
    let pairs = texts.iter().zip(lines.split_inclusive('\n'));
    pairs.filter(|(text, _)| text.contains(char::is_alphanumeric)).map(|(_, line)| line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn repeated_passages_are_those_of_brute_force(
        texts in prop::collection::vec("([abÄä]([ ,\n–]{1,2}|🦀 )){1,24}[.]?", 1..16),
        min in 2usize..6,
        threads in 1usize..4,
        cut in 0usize..16,
    ) {
        let home = tempfile::tempdir().unwrap();
        let (expected, num_removed) = without_passages(&texts, min);
        fs::write(home.path().join("one.in.jsonl"), lines(&texts)).unwrap();
        let mut one = job(home.path(), "one", min);
        one.dedup.engine = Options::new().threads(threads);
        let counts = run(&one, u64::MAX).unwrap().counts;
        let read = |name: &str| fs::read_to_string(home.path().join(name)).unwrap();
        let gone = |name: &str| read(name).split_once('\n').unwrap().1.to_string();
        prop_assert_eq!(read("one.out.jsonl"), left(&expected));
        prop_assert_eq!(counts.units.removed, num_removed);
        // The same in two runs with one database.
        let all = lines(&texts);
        let cut = all.split_inclusive('\n').take(cut).map(str::len).sum::<usize>();
        for (name, part) in [("first", &all[..cut]), ("second", &all[cut..])] {
            fs::write(home.path().join(format!("{name}.in.jsonl")), part).unwrap();
            let mut job = job(home.path(), name, min);
            job.database = Some(home.path().join("seen.np"));
            run(&job, u64::MAX).unwrap();
        }
        prop_assert_eq!(read("first.out.jsonl") + &read("second.out.jsonl"), left(&expected));
        prop_assert_eq!(gone("first.gone.tsv") + &gone("second.gone.tsv"), gone("one.gone.tsv"));
    }
}

/// The first line of the file of what was removed.
const HEADER: &str = "key\tnumber\tfirst_seen_in\tfirst_number\n";

fn numbered(range: std::ops::Range<u32>) -> String {
    range.map(|number| format!("word{number} ")).collect()
}

#[test]
fn passages_are_listed_and_hollow_documents_go_whole() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let texts = [
        format!("A title, then {}and an end.", numbered(0..60)),
        format!("Another title: {}", numbered(0..55).to_uppercase()),
        format!("{}{}", numbered(10..60), "own ".repeat(10)),
        format!("{} or {}", numbered(100..150), numbered(100..150)),
        format!("Too short: {}", numbered(0..49)),
    ];
    fs::write(at.join("a.in.jsonl"), lines(&texts)).unwrap();
    let mut options = job(at, "a", 50);
    let counts = run(&options, u64::MAX).unwrap().counts;
    let gone = fs::read_to_string(at.join("a.gone.tsv")).unwrap();
    assert_eq!(gone, format!("{HEADER}d1\t3\td0\t\nd2\t1\td0\t\nd3\t52\td3\t\n"));
    assert_eq!((counts.kept, counts.units.removed, counts.units.within), (5, 3, 1));
    let out = fs::read_to_string(at.join("a.out.jsonl")).unwrap();
    for rest in ["\"Another title:  \"", "\"own own", " or  \"", "\"Too short: word0 "] {
        assert!(out.contains(rest), "{rest}: {out}");
    }
    rules(&mut options).min_left = 0.5;
    let counts = run(&options, u64::MAX).unwrap().counts;
    assert_eq!((counts.kept, counts.units.hollow), (3, 2));
    rules(&mut options).keeps_hollow = true;
    assert_eq!(run(&options, u64::MAX).unwrap().counts.kept, 5);
    rules(&mut options).from = 3;
    assert!(matches!(run(&options, u64::MAX), Err(Error::Setting { name, .. }) if name == "from"));
}

#[test]
fn regression_a_dry_run_gave_files_of_a_killed_job_their_names() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let text = numbered(0..9);
    fs::write(at("p.in.jsonl"), lines(&[text.clone(), format!("new {text}")])).unwrap();
    let mut job = job(home.path(), "p", 5);
    job.database = Some(at("seen.np"));
    // A folder in the place of the output stands for the kill.
    let blocked = job.clone().run(|_, _| {
        fs::create_dir_all(at("p.out.jsonl")).unwrap();
        ControlFlow::Continue(())
    });
    assert!(matches!(blocked, Err(Error::Engine(nearprint::Error::Io { .. }))), "{blocked:?}");
    fs::remove_dir(at("p.out.jsonl")).unwrap();
    let mut dry = job.clone();
    dry.dry_run = true;
    for other in [None, Some("mine")] {
        other.map_or(Ok(()), |content| fs::write(at("p.out.jsonl"), content)).unwrap();
        let report = run(&dry, u64::MAX).unwrap();
        assert!(report.completed.is_some() && report.counts.records == 2, "{report:?}");
        assert!(at("p.out.jsonl.partial").exists() && !at("p.gone.tsv").exists());
        assert_eq!(fs::read_to_string(at("p.out.jsonl")).ok().as_deref(), other);
    }
    fs::remove_file(at("p.out.jsonl")).unwrap();
    assert!(run(&job, u64::MAX).unwrap().completed.is_some());
    assert!(at("p.out.jsonl").exists() && at("p.gone.tsv").exists());
}

#[test]
fn a_job_of_passages_that_was_cancelled_resumes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let texts: Vec<String> =
        (0..15_000).map(|at| format!("new {at} {}", numbered(at / 2..at / 2 + 6))).collect();
    for name in ["whole", "cut"] {
        fs::write(at.join(format!("{name}.in.jsonl")), lines(&texts)).unwrap();
    }
    let with_database = |name: &str, min: usize| {
        let mut job = job(at, name, min);
        job.database = Some(at.join(format!("{name}.np")));
        job
    };
    let whole = run(&with_database("whole", 5), u64::MAX).unwrap();
    assert!(whole.counts.units.removed > 11_000, "{:?}", whole.counts);
    let cut = with_database("cut", 5);
    assert!(matches!(run(&cut, 12_000), Err(Error::Engine(nearprint::Error::Interrupted))));
    let mut dry = cut.clone();
    dry.dry_run = true;
    assert_eq!(run(&dry, u64::MAX).unwrap().counts, whole.counts);
    let mut restart = cut.clone();
    restart.restart = true;
    assert!(matches!(run(&restart, u64::MAX), Err(Error::Setting { name, .. }) if name == "restart"));
    let resumed = run(&cut, u64::MAX).unwrap();
    // A checkpoint is at most 10,000 records old, and on a slow machine a second.
    assert!(resumed.resumed_after >= 2_000);
    assert_eq!(resumed.counts, whole.counts);
    for end in ["out.jsonl", "gone.tsv"] {
        let read = |name: &str| fs::read_to_string(at.join(format!("{name}.{end}"))).unwrap();
        assert!(read("cut") == read("whole"), "{end}");
    }
    // Passages of another length are in a database of their own.
    fs::write(at.join("other.in.jsonl"), lines(&texts[..10])).unwrap();
    let mut other = with_database("other", 6);
    other.database = cut.database;
    let refused = run(&other, u64::MAX);
    assert!(matches!(refused, Err(Error::Database(DatabaseProblem::OtherRecipe { .. }))), "{refused:?}");
}
