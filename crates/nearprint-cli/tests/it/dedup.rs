//! Deduplication of documents: against a greedy brute force, across runs, and across being killed.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cli::{duplicates as listed, fails, nearprint, run, succeeds};
use nearprint::{Database, Fingerprint, KeyStorage, Options, Schema, U256};
use nearprint_text::dedup::FileJob;
use nearprint_text::jaccard::ShingleSet;
use nearprint_text::recipe::Recipe;
use testkit::Random;

pub struct Document {
    key: String,
    text: String,
    value: i64,
    line: String,
}

/// Documents; many are others with a few words changed.
pub fn documents(count: usize, seed: u64) -> Vec<Document> {
    let mut random = Random(seed);
    let mut texts: Vec<Vec<u64>> = Vec::new();
    let mut all = Vec::new();
    for index in 0..count {
        let mut words: Vec<u64> = match random.below(5) {
            0..2 if !texts.is_empty() => texts[random.below(texts.len() as u64) as usize].clone(),
            _ => (0..40 + random.below(80)).map(|_| random.below(5000)).collect(),
        };
        for _ in 0..random.below(4) {
            let at = random.below(words.len() as u64) as usize;
            words[at] = random.below(5000);
        }
        let text: Vec<String> = words.iter().map(|word| format!("w{word}")).collect();
        texts.push(words);
        let (key, text, value) = (format!("doc {index}"), text.join(" "), random.below(7) as i64 - 3);
        // Some odd spellings of JSON, which have to come out as they went in.
        let line = match index % 3 {
            0 => format!(r#"{{"id":"{key}","text":"{text}","value":{value}}}"#),
            1 => format!(r#"{{ "value" : "{value}", "text":"{text}","n":[1, 2],  "id":"{key}" }} "#),
            _ => format!(r#"{{"text":"{text}","id":"\u0064oc {index}","value":{value}.0}}"#),
        };
        all.push(Document { key, text, value, line: line + "\n" });
    }
    all
}

fn prints<F: Fingerprint>(recipe: &Recipe, documents: &[Document]) -> Vec<F> {
    let mut fingerprinter = recipe.fingerprinter().unwrap();
    documents.iter().map(|document| fingerprinter.fingerprint(&document.text).value).collect()
}

/// What is kept, and the duplicates file, by comparing everything with everything in a given order.
pub fn greedy(documents: &[Document], recipe: &str, k: u32, order: &[usize]) -> (String, String) {
    let recipe: Recipe = recipe.parse().unwrap();
    match recipe.bands() {
        None => greedy_by::<u64>(documents, &recipe, k, order),
        Some(_) => greedy_by::<U256>(documents, &recipe, k, order),
    }
}

/// Whether a document is an exact copy of another one.
fn have_same_words(one: &Document, other: &Document) -> bool {
    let [one, other] = [one, other].map(|document| {
        let words = document.text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect::<Vec<_>>()
    });
    one == other
}

fn greedy_by<F: Fingerprint>(
    documents: &[Document],
    recipe: &Recipe,
    k: u32,
    order: &[usize],
) -> (String, String) {
    let prints = prints::<F>(recipe, documents);
    let near_distance = |a: F, b: F| match recipe.bands() {
        Some(bands) if !bands.shares_band(a, b) => None,
        Some(bands) => Some(bands.sketch_distance(a, b)),
        None => Some(a.distance(b)),
    };
    let mut kept: Vec<usize> = Vec::new();
    let mut fate = vec![None; documents.len()];
    for &index in order {
        let distance = |other: &usize| near_distance(prints[index], prints[*other]).filter(|d| *d <= k);
        let near = kept.iter().copied().filter(|other| distance(other).is_some());
        fate[index] = near.min_by_key(|other| (distance(other), *other));
        if fate[index].is_none() {
            kept.push(index);
        }
    }
    let (mut output, mut duplicates) = (String::new(), String::new());
    for (index, document) in documents.iter().enumerate() {
        match fate[index] {
            None => output.push_str(&document.line),
            Some(of) => {
                let distance = near_distance(prints[index], prints[of]).unwrap();
                let similarity = match recipe.bands() {
                    Some(bands) => bands.similarity(recipe.width(), distance),
                    None => (std::f64::consts::PI * f64::from(distance) / 64.0).cos(),
                };
                let exact = have_same_words(document, &documents[of]);
                let of = &documents[of].key;
                writeln!(duplicates, "{}\t{of}\t{distance}\t{similarity:.4}\t{of}\t{exact}", document.key)
                    .unwrap();
            }
        }
    }
    (output, duplicates)
}

/// The outputs if the exact similarity of three-word shingles decides about all documents that share a
/// band, the most similar kept one being the nearest.
fn greedy_exactly(documents: &[Document], least: f64) -> (String, String) {
    let recipe: Recipe = "minhash".parse().unwrap();
    let bands = recipe.bands().unwrap();
    let prints = prints::<U256>(&recipe, documents);
    let sets: Vec<ShingleSet> =
        documents.iter().map(|document| ShingleSet::of_text(&document.text)).collect();
    let (mut output, mut duplicates, mut kept) = (String::new(), String::new(), Vec::<usize>::new());
    for (index, document) in documents.iter().enumerate() {
        let candidates = kept.iter().filter(|&&other| bands.shares_band(prints[index], prints[other]));
        let similar = candidates.map(|&other| (sets[index].similarity(&sets[other]), other));
        let nearest = similar
            .filter(|(similarity, _)| *similarity >= least)
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((similarity, of)) = nearest else {
            output.push_str(&document.line);
            kept.push(index);
            continue;
        };
        let distance = bands.sketch_distance(prints[index], prints[of]);
        let exact = have_same_words(document, &documents[of]);
        let of = &documents[of].key;
        writeln!(duplicates, "{}\t{of}\t{distance}\t{similarity:.4}\t{of}\t{exact}", document.key).unwrap();
    }
    (output, duplicates)
}

pub fn lines(documents: &[Document]) -> String {
    documents.iter().map(|document| document.line.as_str()).collect()
}

pub fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn what_is_kept_is_what_a_greedy_brute_force_keeps() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let documents = documents(700, 5);
    fs::write(at.join("in.jsonl"), lines(&documents)).unwrap();
    let all: Vec<usize> = (0..documents.len()).collect();
    let mut by_length = all.clone();
    by_length.sort_by_key(|&index| (Reverse(documents[index].text.chars().count()), index));
    let mut by_value = all.clone();
    by_value.sort_by_key(|&index| (Reverse(documents[index].value), index));
    let mut by_least = all.clone();
    by_least.sort_by_key(|&index| (documents[index].value, index));
    let mut by_shortness = all.clone();
    by_shortness.sort_by_key(|&index| (documents[index].text.chars().count(), index));
    let backwards: Vec<usize> = all.iter().rev().copied().collect();
    let others = [("last", &backwards), ("shortest", &by_shortness), ("min:value", &by_least)];
    for (keep, order) in others {
        let (output, duplicates) = greedy(&documents, "minhash", 9, order);
        let line =
            format!("dedup in.jsonl -o out.jsonl --duplicates gone.tsv --key-field id -k 9 --keep {keep}");
        succeeds(at, &line, b"");
        assert_eq!((read(at, "out.jsonl"), listed(at, "gone.tsv")), (output, duplicates), "{keep}");
    }
    for (recipe, k) in
        [("simhash", 0), ("simhash", 3), ("simhash", 9), ("minhash", 0), ("minhash", 9), ("minhash", 30)]
    {
        for (keep, order) in [("first", &all), ("longest", &by_length), ("max:value", &by_value)] {
            let (output, duplicates) = greedy(&documents, recipe, k, order);
            let recipe = if recipe == "minhash" { "" } else { "--recipe simhash" };
            assert!(k == 0 || duplicates.lines().count() > 50, "near-duplicates are there");
            for (case, more) in ["--threads 1", "--threads 3", "--db"].into_iter().enumerate() {
                let more = if more == "--db" {
                    format!("--db {k}-{keep}{recipe}.np").replace("--recipe ", "")
                } else {
                    more.to_string()
                };
                let line = format!(
                    "dedup in.jsonl -o {case}.jsonl --duplicates {case}.tsv --key-field id -k {k} \
                     --keep {keep} {recipe} {more}"
                );
                succeeds(at, &line, b"");
                assert_eq!(read(at, &format!("{case}.jsonl")), output, "{line}");
                assert_eq!(listed(at, &format!("{case}.tsv")), duplicates, "{line}");
            }
            let line =
                format!("dedup - -o - --duplicates x.tsv --key-field id -k {k} --keep {keep} {recipe}");
            assert_eq!(succeeds(at, &line, lines(&documents).as_bytes()), output);
        }
    }
}

#[test]
fn a_database_remembers_across_runs() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let documents = documents(600, 6);
    let (monday, tuesday) = documents.split_at(300);
    fs::write(at.join("monday.jsonl"), lines(monday)).unwrap();
    fs::write(at.join("tuesday.jsonl"), lines(tuesday)).unwrap();
    let (output, duplicates) = greedy_exactly(&documents, 0.7);
    let run = |day: &str, more: &str| {
        let line = format!(
            "dedup {day}.jsonl -o {day}.out --duplicates {day}.tsv --key-field id --db seen.np {more}"
        );
        succeeds(at, &line, b"")
    };
    run("monday", "");
    let before = Database::<U256>::open(at.join("seen.np")).unwrap().snapshot().unwrap().stats().rows;
    run("tuesday", "--dry-run");
    assert!(!at.join("tuesday.out").exists(), "a dry run writes nothing");
    let rows = || Database::<U256>::open(at.join("seen.np")).unwrap().snapshot().unwrap().stats().rows;
    assert_eq!(rows(), before);
    run("tuesday", "");
    assert_eq!(read(at, "monday.out") + &read(at, "tuesday.out"), output);
    assert_eq!(listed(at, "monday.tsv") + &listed(at, "tuesday.tsv"), duplicates);
    let all = rows();
    // Seen before, every document is a duplicate of itself or of what was kept instead.
    for (day, copy, more) in [("monday", "moon", ""), ("tuesday", "mars", "--keep longest")] {
        fs::copy(at.join(format!("{day}.jsonl")), at.join(format!("{copy}.jsonl"))).unwrap();
        run(copy, more);
        assert_eq!(
            (read(at, &format!("{copy}.out")), listed(at, &format!("{copy}.tsv")).lines().count()),
            (String::new(), 300)
        );
    }
    assert_eq!(rows(), all);
    fails(at, "query seen.np -k 0 --id 0", b"", 2, &["no row has this id"]);
    let exported = succeeds(at, "export seen.np", b"");
    assert!(exported.lines().all(|line| line.split('\t').nth(2).is_some_and(|key| key.starts_with("doc "))));
}

#[test]
fn texts_decide_where_they_are_asked() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let documents = documents(400, 9);
    fs::write(at.join("in.jsonl"), lines(&documents)).unwrap();
    fs::copy(at.join("in.jsonl"), at.join("copy.jsonl")).unwrap();
    let run_of = |name: &str, more: &str| {
        let line = format!("dedup {name} -o out.jsonl --duplicates out.tsv --key-field id -k 12 {more}");
        succeeds(at, &line, b"");
        (read(at, "out.jsonl"), listed(at, "out.tsv"))
    };
    let run = |more: &str| run_of("in.jsonl", more);
    let (loose, strict, never) =
        (run("--similarity contained:0"), run("--similarity contained:0.9"), run("--similarity edit:1"));
    let keys = |(_, duplicates): &(String, String)| -> Vec<(String, String)> {
        let key = |line: &str, at: usize| line.split('\t').nth(at).unwrap().to_string();
        duplicates.lines().map(|line| (key(line, 0), key(line, 1))).collect()
    };
    let plain = run("");
    assert!(loose.0 == plain.0 && keys(&loose) == keys(&plain), "every text is near");
    let duplicates = |run: &(String, String)| run.1.lines().count();
    assert!(duplicates(&strict) < duplicates(&loose));
    assert!(duplicates(&never) < duplicates(&strict));
    let same = |line: &str| {
        let keys: Vec<&str> = line.split('\t').collect();
        let text = |key: &str| &documents.iter().find(|document| document.key == key).unwrap().text;
        text(keys[0]) == text(keys[1])
    };
    assert!(duplicates(&never) > 0 && never.1.lines().all(same));
    for keep in ["first", "longest"] {
        let without = run(&format!("--similarity contained:0.8 --keep {keep}"));
        succeeds(at, "create plain.np --store keys -k 12 --recipe minhash", b"");
        fails(
            at,
            "dedup in.jsonl -o x --db plain.np --similarity edit:0.9",
            b"",
            2,
            &["keeps no texts", "--store texts"],
        );
        assert_eq!(run(&format!("--similarity contained:0.8 --keep {keep} --db {keep}.np")), without);
        let line = format!("--similarity contained:0.8 --keep {keep} --db {keep}.np");
        let again = run_of("copy.jsonl", &line);
        assert_eq!(duplicates(&again), 400, "each is near itself or what was kept instead");
        fs::rename(at.join("copy.jsonl"), at.join("renamed.jsonl")).unwrap();
        assert_eq!(run_of("renamed.jsonl", &format!("{line} --threads 1")), again);
        fs::rename(at.join("renamed.jsonl"), at.join("copy.jsonl")).unwrap();
        let _ = fs::remove_dir_all(at.join("plain.np"));
    }
}

/// Candidates were those of the estimated similarity, which misses pairs.
#[test]
fn regression_a_similarity_of_texts_has_the_candidates_of_its_limit() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), lines(&documents(600, 9))).unwrap();
    let kept = |more: &str| {
        succeeds(at, &format!("dedup in.jsonl -o out.jsonl --key-field id {more}"), b"");
        read(at, "out.jsonl")
    };
    let expected = kept("--similarity 0.5");
    assert_eq!(kept("--similarity jaccard:50%"), expected);
    // A text of the same length is contained as much as it is similar: S of both are 2 S / (1 + S) of one.
    let contained = kept("--similarity contained:0.6667").lines().count();
    assert!(contained.abs_diff(expected.lines().count()) <= 12, "{contained}");
}

#[test]
fn odd_documents_are_counted_and_bad_ones_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let mut input = b"{\"id\":1,\"text\":\"one two three four five\"}\n{\"id\":2}\n".to_vec();
    input.extend(b"{\"id\":3,\"text\":\"\"}\n{\"id\":4,\"text\":\"...\"}\nnot json\n");
    input.extend(b"{\"id\":5,\"text\":\"caf\xff and more words\"}\n");
    fs::write(at.join("in.jsonl"), &input).unwrap();
    let line = "dedup in.jsonl -o out.jsonl --key-field id";
    fails(at, line, b"", 5, &["in.jsonl:2: ", "text", "--rejects"]);
    let of_simhash = format!("{line} --recipe simhash --rejects bad.jsonl --duplicates d.tsv");
    succeeds(at, &of_simhash, b"");
    assert_eq!(listed(at, "d.tsv"), "", "nothing is near texts without a token");
    let outcome = nearprint(at, &format!("{line} --rejects bad.jsonl --duplicates d.tsv"), b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert_eq!(read(at, "bad.jsonl"), "{\"id\":2}\nnot json\n");
    assert_eq!(listed(at, "d.tsv"), "");
    for words in [
        "6 records read: 4 kept, 0 duplicates",
        ", 2 rejected",
        "2 records without words",
        "1 record not valid UTF-8",
    ] {
        assert!(outcome.err.contains(words), "{words:?} in {}", outcome.err);
    }
    assert!(fs::read(at.join("out.jsonl")).unwrap().ends_with(b"caf\xff and more words\"}\n"));
    let outcome = nearprint(at, &format!("{line} --rejects bad.jsonl --min-words 3"), b"");
    assert!(outcome.err.contains("skipped: 2 of too few words"), "{}", outcome.err);
    assert_eq!(
        read(at, "bad.jsonl"),
        "{\"id\":2}\n{\"id\":3,\"text\":\"\"}\n{\"id\":4,\"text\":\"...\"}\nnot json\n"
    );

    fails(at, "dedup in.jsonl -o out --missing mask", b"", 2, &["not error, keep or skip"]);
    fails(at, "dedup in.jsonl -o in.jsonl", b"", 2, &["in.jsonl", "is also an input"]);
    fails(at, "dedup in.jsonl -o out --keep best", b"", 2, &["longest"]);
    fails(at, "dedup in.jsonl -o out --similarity jaccard", b"", 2, &["contained:S"]);
    fails(at, "dedup missing.jsonl -o out", b"", 1, &["missing.jsonl"]);
    succeeds(at, "create plain.np", b"");
    fails(at, "dedup in.jsonl -o out --db plain.np", b"", 2, &["plain.np", "--store keys"]);
    succeeds(at, "create cjk.np --store keys --recipe cjk", b"");
    fails(
        at,
        "dedup in.jsonl -o out --db cjk.np --recipe simhash",
        b"",
        2,
        &["another recipe", "tokens=char"],
    );
    succeeds(at, "dedup in.jsonl -o out --db cjk.np --rejects bad", b"");
    fails(at, "create x.np --recipe nonsense", b"", 2, &["nonsense"]);
}

/// The recipe `notebook` with 64 bits and without lower case, written out.
const NOTEBOOK_OF_64_BITS: &str = "clean=none tokens=word stop=english shingle=1 join=space short=one \
                                   weights=frequency hash=md5:64 width=64";

#[test]
fn databases_keep_all_parts_of_their_recipe() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.txt"), "Fish\nfish\nFish\n").unwrap();
    for (name, recipe) in [("line.np", NOTEBOOK_OF_64_BITS), ("name.np", "notebook")] {
        let schema = Schema::new().recipe(recipe).keys(KeyStorage::Keys);
        Database::<u64>::create(at.join(name), &schema).unwrap();
        let line = format!("dedup in.txt --input-format lines -o out --db {name}");
        fails(at, &format!("{line} --recipe notebook"), b"", 2, &[name, "64 bits", "makes 128"]);
    }
    succeeds(at, "dedup in.txt --input-format lines -o out --db line.np", b"");
    assert_eq!(read(at, "out"), "Fish\nfish\n", "the case counts");
    let mut fingerprinter = NOTEBOOK_OF_64_BITS.parse::<Recipe>().unwrap().fingerprinter::<u64>().unwrap();
    let mut expected = ["Fish", "fish"].map(|text| fingerprinter.fingerprint(text).value);
    expected.sort_unstable();
    let found = succeeds(at, "export line.np", b"");
    let found: Vec<u64> = found.lines().map(|row| row.split('\t').next().unwrap().parse().unwrap()).collect();
    assert_eq!(found, expected);
    // Nothing but a program of its own stores a name.
    let line = "dedup in.txt --input-format lines -o out --db name.np";
    fails(at, line, b"", 2, &["name.np", "64 bits", "makes 128"]);
}

#[test]
fn csv_and_its_header_stand_as_they_did() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let csv = "id,\"text\",more\r\n1,\"a quoted, text\nof two lines and more\",x\r\n2,\"a quoted, text\nof two lines and more\",y\r\n3,something else altogether,\"\"\"z\"\"\"\r\n";
    fs::write(at.join("in.csv"), csv).unwrap();
    succeeds(at, "dedup in.csv -o out.csv --key-field id --duplicates d.tsv --db seen.np", b"");
    let without_second = csv.replace("2,\"a quoted, text\nof two lines and more\",y\r\n", "");
    assert_eq!(read(at, "out.csv"), without_second);
    assert_eq!(listed(at, "d.tsv"), "2\t1\t0\t1.0000\t1\ttrue\n");
    fails(at, "dedup in.csv -o x --add fingerprint=more", b"", 2, &["a column \"more\" already"]);
}

#[test]
fn a_collection_exported_from_mongodb_goes_through_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let export = r#"{"_id":{"$oid":"507f191e810c19729de860ea"},"content":"the first article about fish --- footer 1","n":{"$numberLong":"1"}}
{"_id":{"$oid":"507f191e810c19729de860eb"},"content":"the first article about fish --- footer 2"}
{"_id":{"$oid":"507f191e810c19729de860ec"},"content":"quite another article, about birds and trees"}
"#;
    let line = "dedup - -o - --text-field content --key-field _id.$oid -k 2 --duplicates d.tsv \
                --add fingerprint=simhash --recipe simhash␣clean=cut:---,nfc,lower";
    let out = succeeds(at, line, export.as_bytes());
    assert_eq!(
        listed(at, "d.tsv"),
        "507f191e810c19729de860eb\t507f191e810c19729de860ea\t0\t1.0000\t507f191e810c19729de860ea\ttrue\n"
    );
    let kept: Vec<&str> = out.lines().collect();
    assert_eq!(kept.len(), 2);
    let recipe: Recipe = "simhash".parse().unwrap();
    let print = recipe.fingerprinter::<u64>().unwrap().fingerprint("the first article about fish ").value;
    let first = export.lines().next().unwrap().strip_suffix('}').unwrap();
    assert_eq!(kept[0], format!("{first},\"simhash\":\"{print}\"}}"));
}

#[test]
fn markup_may_divide_the_marker() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page =
        |id: u32, ending: &str| format!("{{\"id\":{id},\"text\":\"<p>some news today</p>{ending}\"}}\n");
    let endings = ["", "收录：one", "收<b>录：</b>two", "&#25910;录：three", "收 录：four"];
    let pages: Vec<String> = (0..).zip(endings).map(|(id, ending)| page(id, ending)).collect();
    fs::write(at.join("in.jsonl"), pages.concat()).unwrap();
    for (clean, kept) in [("html,lower", vec![0, 4]), ("lower", vec![0, 2, 3, 4])] {
        let line = "dedup in.jsonl -o - --key-field id -k 0 --recipe simhash␣clean=cut:收录：,";
        let out = succeeds(at, &format!("{line}{clean}"), b"");
        assert_eq!(out, kept.iter().map(|id| pages[*id].as_str()).collect::<String>(), "{clean}");
        let out = succeeds(at, &format!("{line}{clean} --add text=c --fields id"), b"");
        assert_eq!(out.contains("two"), clean == "lower", "{out}");
    }
    let line = "fingerprint in.jsonl --key-field id --recipe clean=cut:收录：,html,lower";
    let prints = succeeds(at, line, b"");
    let prints: Vec<&str> = prints.lines().map(|row| row.split('\t').next().unwrap()).collect();
    assert!(prints[1..4].iter().all(|print| *print == prints[0]) && prints[4] != prints[0], "{prints:?}");
}

/// A later command of the same database cuts alike, without being told.
#[test]
fn a_database_remembers_where_texts_end() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let body = "an article of enough words to have some shingles of three";
    let page =
        |id: u32, text: &str| format!("{}\n", serde_json::json!({ "id": id.to_string(), "text": text }));
    // The marker has a space, a comma, a percent sign and a line feed.
    let (marker, encoded) = ("100% by, \nEditor", "100%25%20by%2C%20%0AEditor");
    let ending = |footer: u32| format!("{body} {marker} {footer} ").repeat(2);
    fs::write(at.join("mon.jsonl"), page(1, &ending(1))).unwrap();
    fs::write(
        at.join("tue.jsonl"),
        page(2, &ending(2)) + &page(3, body) + &page(4, marker) + &page(5, &ending(1).to_uppercase()),
    )
    .unwrap();
    let recipe = format!("--recipe clean=cut:{encoded},detect-html,nfc,lower");
    succeeds(at, &format!("dedup mon.jsonl -o a.jsonl --key-field id --db seen.np {recipe}"), b"");
    let stats = succeeds(at, "stats seen.np --format json", b"");
    assert!(stats.contains(&format!("clean=cut:{encoded},detect-html,nfc,lower tokens=words")), "{stats}");
    let out = succeeds(at, "dedup tue.jsonl -o - --key-field id --db seen.np --duplicates gone.tsv", b"");
    let ids: Vec<&str> = out.lines().map(|line| &line[..8]).collect();
    assert_eq!(ids, ["{\"id\":\"4", "{\"id\":\"5"], "letter case counts: {out}");
    assert!(listed(at, "gone.tsv").lines().all(|line| line.contains("\t1\t0\t1.0000\t1\t")));
    assert_eq!(succeeds(at, "query seen.np tue.jsonl --key-field id --unmatched", b""), "4\n");
    // The same text, written in another way.
    let other = recipe.replace("Editor", "%45%64itor").replace("%0A", "%0a");
    succeeds(at, &format!("dedup mon.jsonl -o a.jsonl --key-field id --db seen.np {other}"), b"");
    fails(
        at,
        &format!("dedup tue.jsonl -o x --key-field id --db seen.np {}", recipe.replace("Editor", "editor")),
        b"",
        2,
        &["seen.np", "recipe"],
    );
}

#[test]
fn a_text_to_cut_at_is_checked() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), "{\"text\":\"one two three\"}\n").unwrap();
    for (clean, why) in [
        ("cut:", "needs a text"),
        ("cut:100%", "write % as %25"),
        ("cut:%ff", "UTF-8"),
        ("cut:a,b", "cut:TEXT"),
        ("cut:a,cut:b", "more than one cut"),
    ] {
        for command in ["dedup in.jsonl -o x", "fingerprint in.jsonl", "scan .", "tune in.jsonl"] {
            fails(at, &format!("{command} --recipe clean={clean}"), b"", 2, &[why]);
        }
    }
    let long = format!("dedup in.jsonl -o x --recipe clean=cut:{}", "a".repeat(4000));
    fails(at, &long, b"", 2, &["more than 4000 bytes"]);
    fails(at, "dedup in.jsonl -o x --cut-after --", b"", 2, &["--recipe clean=cut:TEXT"]);
}

#[test]
fn regression_outputs_neither_destroy_inputs_nor_each_other() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let input = "{\"text\":\"one two three four five\",\"g\":\"1\"}\n{bad\n";
    fs::write(at.join("in.jsonl"), input).unwrap();
    fs::write(at.join("pairs.tsv"), "a\tb\n").unwrap();
    for (line, words) in [
        ("dedup in.jsonl -o x --duplicates x", "--output and --duplicates are the same file"),
        ("dedup in.jsonl -o x --rejects ./x", "--output and --rejects are the same file"),
        ("dedup in.jsonl -o x --duplicates y --rejects y", "--duplicates and --rejects are the same file"),
        ("dedup in.jsonl -o - --duplicates -", "--output and --duplicates are the same file"),
        ("dedup in.jsonl -o x --duplicates in.jsonl", "is also an input"),
        ("fingerprint in.jsonl --rejects in.jsonl", "is also an input"),
        ("tune in.jsonl --group-field g --rejects in.jsonl", "is also an input"),
        ("tune in.jsonl --group-field g --report in.jsonl", "is also an input"),
        ("tune in.jsonl --pairs pairs.tsv --rejects pairs.tsv", "--rejects and --pairs are the same file"),
    ] {
        fails(at, line, b"", 2, &[words]);
    }
    if testkit::files::can_link() {
        testkit::files::symlink("x", at.join("link")).unwrap();
        fs::write(at.join("x"), "").unwrap();
        fails(at, "dedup in.jsonl -o x --duplicates link --rejects y", b"", 2, &["are the same file"]);
    }
    assert_eq!(read(at, "in.jsonl"), input);
    assert_eq!(read(at, "pairs.tsv"), "a\tb\n");
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    succeeds(at, &format!("dedup in.jsonl -o x --duplicates {null} --rejects {null}"), b"");
}

#[test]
fn regression_a_key_that_no_database_takes_is_a_bad_record() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let long = format!("{{\"id\":\"{}\",\"text\":\"a\"}}\n", "k".repeat(65_537));
    fs::write(at.join("in.jsonl"), format!("{{\"id\":1,\"text\":\"b\"}}\n{long}")).unwrap();
    for keep in ["first", "longest"] {
        let line = format!("dedup in.jsonl -o out.jsonl --key-field id --keep {keep}");
        fails(at, &line, b"", 5, &["in.jsonl:2: a key of 65537 bytes"]);
        succeeds(at, &format!("{line} --rejects bad.jsonl"), b"");
        assert_eq!((read(at, "out.jsonl").lines().count(), read(at, "bad.jsonl")), (1, long.clone()));
    }
}

#[test]
fn a_changed_text_of_one_key_and_fingerprint_is_another_document() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (there, back) = ("one two three four five six seven", "seven six five four three two one");
    let input = [("A", there), ("A", back), ("B", back)];
    let input = input.map(|(key, text)| format!("{{\"id\":\"{key}\",\"text\":\"{text}\"}}\n")).concat();
    fs::write(at.join("in.jsonl"), &input).unwrap();
    let create = ["create", "seen.np", "--store", "texts", "--recipe", "minhash shingle=1"];
    assert_eq!(run(env!("CARGO_BIN_EXE_nearprint"), at, &create, b"").code, 0);
    fs::copy(at.join("in.jsonl"), at.join("copy.jsonl")).unwrap();
    for (name, more, kept) in
        [("in", "", 3), ("in", "--keep longest", 2), ("in", "--db seen.np", 3), ("copy", "--db seen.np", 0)]
    {
        let line = format!(
            "dedup {name}.jsonl -o out.jsonl --key-field id --shingle 1 --similarity contained:0.9 {more}"
        );
        succeeds(at, &line, b"");
        assert_eq!(read(at, "out.jsonl").lines().count(), kept, "{more}");
    }
}

#[test]
fn values_of_all_kinds_choose_what_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let kept = |values: &[&str], keep: &str| {
        let line = |(number, value): (usize, &&str)| {
            let field = if value.is_empty() { String::new() } else { format!(", \"v\": {value}") };
            format!("{{\"id\": {number}, \"text\": \"one text of several words\"{field}}}\n")
        };
        fs::write(at.join("v.jsonl"), values.iter().enumerate().map(line).collect::<String>()).unwrap();
        let out = succeeds(at, &format!("dedup v.jsonl -o - --key-field id --keep {keep}"), b"");
        serde_json::from_str::<serde_json::Value>(&out).unwrap()["id"].as_u64().unwrap()
    };
    assert_eq!(kept(&["9007199254740992", "9007199254740993", "\"9007199254740991\""], "max:v"), 1);
    assert_eq!(kept(&["3", "", "null", "4"], "min:v"), 1, "a missing value is the smallest");
    assert_eq!(kept(&["", "-5", "null"], "max:v"), 1);
    assert_eq!(kept(&["\"2024-05-01T00:30+01:00\"", "\"2024-04-30\"", "\"2024-05-01\""], "newest:v"), 2);
    assert_eq!(kept(&["\"2024-05-01T00:30+01:00\"", "\"2024-05-01\""], "oldest:v"), 0);
    let strings = ["\"a beginning of all: y\"", "\"a beginning of all: z\"", "\"a beginning of all: x\""];
    assert_eq!(kept(&strings, "max:v"), 1);
    assert_eq!(kept(&strings, "min:v"), 2);
    for (values, keep, why) in [
        ("[1]", "max:v", "v.jsonl:2: field \"v\" is an array"),
        ("\"2024-02-30\"", "newest:v", "v.jsonl:2: field \"v\" is \"2024-02-30\", which cannot be ordered"),
        ("\"2024-02-20\"", "max:typo", "field \"typo\": no document has a value in it"),
    ] {
        let lines = format!("{{\"text\":\"a b\",\"v\":\"2024\"}}\n{{\"text\":\"a b\",\"v\":{values}}}\n");
        fs::write(at.join("v.jsonl"), lines).unwrap();
        fails(at, &format!("dedup v.jsonl -o new.jsonl --keep {keep}"), b"", 5, &[why]);
        assert!(!at.join("new.jsonl").exists() && !at.join("new.jsonl.partial").exists());
    }
    fails(at, "dedup v.jsonl -o - --keep newest", b"", 2, &["newest:FIELD"]);
    fails(at, "dedup v.jsonl -o - --keep oldest", b"", 2, &["oldest:FIELD"]);
}

#[test]
fn inputs_are_compared_against_collections_that_stay_as_they_are() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let all = documents(400, 9);
    let (ours, theirs) = all.split_at(200);
    fs::write(at.join("a.jsonl"), lines(ours)).unwrap();
    fs::create_dir(at.join("b")).unwrap();
    fs::write(at.join("b/1.jsonl"), lines(&theirs[..100])).unwrap();
    fs::write(at.join("b/2.jsonl"), lines(&theirs[100..])).unwrap();
    fs::write(at.join("b.jsonl"), lines(theirs)).unwrap();
    let sets: Vec<ShingleSet> = all.iter().map(|document| ShingleSet::of_text(&document.text)).collect();
    let similarity = |a: usize, b: usize| sets[a].similarity(&sets[b]);
    let (mut kept, mut met) = (String::new(), String::new());
    for (a, document) in ours.iter().enumerate() {
        let near = (200..400).filter(|&b| similarity(a, b) >= 0.7);
        let best = near.reduce(|best, b| if similarity(a, b) > similarity(a, best) { b } else { best });
        match best {
            None => kept += &document.line,
            Some(b) => writeln!(met, "{}\t{}\t{:.4}", document.key, all[b].key, similarity(a, b)).unwrap(),
        }
    }
    assert!(met.lines().count() > 20 && kept.lines().count() > 20, "{met}");
    succeeds(at, "create b.np --recipe minhash --store keys", b"");
    succeeds(at, "create empty.np --recipe minhash --store keys", b"");
    let before = fs::read_dir(at.join("empty.np")).unwrap().count();
    for against in ["b", "b.jsonl", "b/1.jsonl --against b/2.jsonl", "empty.np --against b.jsonl"] {
        let line = format!(
            "dedup a.jsonl -o out.jsonl --duplicates met.tsv --key-field id --only-against --against {against}"
        );
        succeeds(at, &line, b"");
        let columns = |line: &str| {
            let cells: Vec<&str> = line.split('\t').collect();
            format!("{}\t{}\t{}\n", cells[0], cells[1], cells[3])
        };
        assert_eq!(listed(at, "met.tsv").lines().map(columns).collect::<String>(), met, "{against}");
        assert_eq!(read(at, "out.jsonl"), kept, "{against}");
    }
    assert_eq!(fs::read_dir(at.join("empty.np")).unwrap().count(), before);
    // A database holds what was kept of B, and is not changed.
    succeeds(at, "dedup b.jsonl -o b1.jsonl --key-field id --db seen.np", b"");
    let rows = succeeds(at, "export seen.np", b"");
    succeeds(at, "dedup a.jsonl -o of_database.jsonl --key-field id --only-against --against seen.np", b"");
    succeeds(at, "dedup a.jsonl -o of_file.jsonl --key-field id --only-against --against b1.jsonl", b"");
    assert_eq!(read(at, "of_database.jsonl"), read(at, "of_file.jsonl"));
    assert_eq!(succeeds(at, "export seen.np", b""), rows);
    // The inputs are compared with each other, too, also beside another database.
    succeeds(at, "dedup b1.jsonl a.jsonl -o both.jsonl --key-field id", b"");
    succeeds(at, "dedup a.jsonl -o within.jsonl --key-field id --against b1.jsonl", b"");
    assert_eq!(read(at, "b1.jsonl") + &read(at, "within.jsonl"), read(at, "both.jsonl"));
    succeeds(at, "dedup a.jsonl -o new.jsonl --key-field id --against seen.np --db own.np", b"");
    assert_eq!(read(at, "new.jsonl"), read(at, "within.jsonl"));
    for (line, code, why) in [
        ("dedup a.jsonl -o b.jsonl --against b.jsonl", 2, "is also an input"),
        ("dedup a.jsonl -o o --against nowhere", 1, "nowhere"),
        ("dedup a.jsonl -o o --against seen.np --recipe simhash", 2, "recipe"),
        ("dedup a.jsonl -o o --only-against", 2, "--against"),
        ("dedup a.jsonl -o o --db own.np --against b1.jsonl --only-against", 2, "--db"),
    ] {
        fails(at, line, b"", code, &[why]);
    }
}

/// The rule in the summary was that of the inputs among each other.
#[test]
fn regression_a_database_of_hashes_makes_the_summary_say_estimated() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let all = documents(60, 3);
    fs::write(at.join("a.jsonl"), lines(&all[..30])).unwrap();
    fs::write(at.join("b.jsonl"), lines(&all[30..])).unwrap();
    succeeds(at, "dedup b.jsonl -o kept.jsonl --key-field id --db hashes.np --store hashes", b"");
    succeeds(at, "dedup b.jsonl -o kept-2.jsonl --key-field id --db features.np", b"");
    for (options, rule) in [
        ("", "0.7 or more, exact"),
        ("--against features.np", "0.7 or more, exact"),
        ("--against hashes.np", "0.7 or more, estimated (-k "),
        ("--against hashes.np --only-against", "0.7 or more, estimated (-k "),
        ("--against features.np --against hashes.np", "0.7 or more, estimated (-k "),
        ("--db hashes.np", "0.7 or more, estimated (-k "),
    ] {
        let line =
            format!("dedup a.jsonl -o out.jsonl --key-field id --dry-run --summary counts.json {options}");
        let outcome = nearprint(at, &line, b"");
        let rule = format!("similarity {rule}");
        assert!(outcome.err.contains(&format!("near: {rule}")), "{options}: {}", outcome.err);
        assert!(read(at, "counts.json").contains(&format!("\"rule\":\"{rule}")), "{options}");
    }
}

#[test]
fn regression_the_texts_within_k_bits_were_all_texts_in_the_summary() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), lines(&documents(20, 3))).unwrap();
    for (options, rule) in [
        ("--recipe simhash -s 0.7", "similarity 0.7 or more, exact, of texts within 3 bits (-k 3)"),
        ("--recipe simhash -s 0.7 -k 16", "similarity 0.7 or more, exact, of texts within 16 bits (-k 16)"),
        ("-s edit:0.8", "0.8 or more of the characters equal, exact"),
    ] {
        let line = format!("dedup in.jsonl -o out.jsonl --key-field id {options}");
        let said = nearprint(at, &line, b"").err;
        assert!(said.lines().any(|line| line == format!("near: {rule}")), "{options}: {said}");
    }
}

#[test]
fn regression_documents_are_not_compared_with_pieces_of_texts() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("a.jsonl"), lines(&documents(20, 3))).unwrap();
    succeeds(
        at,
        "trim a.jsonl -o trimmed.jsonl --key-field id --db lines.np --by line --recipe minhash",
        b"",
    );
    let why = "lines.np: remembers lines, which are compared only with lines; give another database";
    fails(at, "dedup a.jsonl -o out.jsonl --against lines.np", b"", 2, &[why]);
    assert!(!at.join("out.jsonl").exists());
}

#[test]
fn the_summary_is_also_one_json_object() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = |id: &str, text: &str| format!("{{\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    let fox = "the quick brown fox jumps over the lazy dog and runs into the dark wood";
    let texts =
        [line("a", fox), line("b", fox), line("c", &format!("{fox} again")), line("d", "something else")];
    fs::write(at.join("in.jsonl"), texts.concat()).unwrap();
    succeeds(at, "dedup in.jsonl -o out.jsonl --key-field id --summary counts.json", b"");
    let counts: serde_json::Value =
        serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
    let number = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((number("read"), number("kept"), number("duplicates")), (4, 2, 2));
    assert_eq!((number("copies"), number("rejected")), (1, 0));
    assert_eq!(counts["largest_groups"], serde_json::json!([{ "size": 3, "name": "a" }]));
    assert_eq!(counts["rule"], "similarity 0.7 or more, exact");
    assert_eq!(
        (&counts["completed"], &counts["units"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    for path in ["in.jsonl", "again.jsonl"] {
        fails(at, &format!("dedup in.jsonl -o again.jsonl --summary {path}"), b"", 2, &[path]);
    }
    assert_eq!(fs::read(at.join("in.jsonl")).unwrap(), texts.concat().into_bytes());
    assert!(!at.join("again.jsonl").exists());
}

/// The names of the options in a help text, with `_` for `-`, and of those with one letter.
fn options_in(help: &str) -> BTreeSet<String> {
    let lines =
        help.lines().filter(|line| line.trim_start().starts_with('-') && !line.starts_with("        "));
    let words =
        lines.flat_map(|line| line.split([' ', ',', '[', '=']).take_while(|word| !word.starts_with('<')));
    let long = words.clone().filter_map(|word| word.strip_prefix("--")).map(|name| name.replace('-', "_"));
    long.chain(words.filter(|word| *word == "-k").map(|_| "k".to_string())).collect()
}

#[test]
fn an_option_of_a_job_is_in_the_type_the_command_python_and_the_documentation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let defaults = |new: fn(Vec<PathBuf>, PathBuf, Options) -> nearprint_text::Result<FileJob>| {
        new(Vec::new(), PathBuf::new(), Options::new()).unwrap()
    };
    for (command, job) in [("dedup", defaults(FileJob::with_defaults)), ("trim", defaults(FileJob::trimming))]
    {
        let of_jobs: BTreeSet<String> = job.names().map(str::to_string).collect();
        let help = succeeds(&root, &format!("{command} --help"), b"");
        let others = "output help report summary wait quiet verbose threads no_progress log";
        let others = others.split_whitespace().chain(Recipe::part_names()).map(str::to_string).collect();
        let in_help: BTreeSet<String> =
            options_in(&help).into_iter().map(|name| name.replace("db", "database")).collect();
        assert_eq!(&in_help - &others, of_jobs, "the command {command}");

        let source = read(&root.join("python/nearprint/_dedup_files.py"));
        let (_, source) = source.split_once(&format!("def {command}_files(")).unwrap();
        let (parameters, _) = source.split_once(") ->").unwrap();
        let parameters = parameters
            .lines()
            .filter_map(|line| Some(line.trim().split_once(':')?.0.trim_end_matches('_')))
            // Python has one name for the field of all that reads texts.
            .map(|name| match name {
                "text" | "key" => format!("{name}_field"),
                name => name.to_string(),
            });
        let others =
            ["inputs", "output", "report", "threads", "memory", "wait", "progress"].map(String::from);
        assert_eq!(
            &parameters.collect::<BTreeSet<_>>() - &BTreeSet::from(others),
            of_jobs,
            "Python {command}"
        );

        let pages: String = fs::read_dir(root.join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
            .map(|path| read(&path))
            .collect();
        for name in &of_jobs {
            let name = name.replace("database", "db").replace('_', "-");
            let dashes = if name.len() == 1 { "-" } else { "--" };
            assert!(pages.contains(&format!("{dashes}{name}")), "{name} is on no page of docs");
        }
    }
}

#[test]
fn regression_a_dry_run_has_the_counts_of_the_real_one() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let record = |key: usize, text: usize| {
        format!("{{\"id\":\"{key}\",\"text\":\"page {text} of the series with {text}\"}}\n")
    };
    fs::write(at.join("one.jsonl"), (0..20).map(|key| record(key, key)).collect::<String>()).unwrap();
    fs::write(at.join("two.jsonl"), (0..20).map(|key| record(100 + key, key + 10)).collect::<String>())
        .unwrap();
    let verdict = |line: &str| {
        let outcome = nearprint(at, line, b"");
        assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
        outcome.err.lines().next().unwrap().to_string()
    };
    for day in ["one", "two"] {
        verdict(&format!("dedup {day}.jsonl -o {day}.out.jsonl --db seen.np --key-field id"));
    }
    let two = "dedup two.jsonl -o two.out.jsonl --db seen.np --key-field id";
    let dry = verdict(&format!("{two} --restart --dry-run"));
    assert!(dry.starts_with("20 records read: 10 kept, 10 duplicates"), "{dry}");
    for line in [format!("{two} --dry-run"), "dedup two.jsonl --db seen.np --key-field id -n".into()] {
        let said = verdict(&line);
        let counts = "20 records read: 10 kept, 10 duplicates";
        assert!(said.starts_with("already complete since ") && said.contains(counts), "{line}: {said}");
    }
    let elsewhere = two.replace("two.out", "three.out");
    for line in [elsewhere.clone(), format!("{elsewhere} --dry-run")] {
        fails(at, &line, b"", 2, &["already run on", "into two.out.jsonl", "--restart"]);
    }
    assert_eq!(dry, verdict(&format!("{two} --restart")));
    // Other options do not run it again, and that is said.
    let other = nearprint(at, &format!("{two} --similarity 0.9"), b"");
    assert!(
        other.err.contains("already complete") && other.err.contains("had other options"),
        "{}",
        other.err
    );
    let same = nearprint(at, two, b"");
    assert!(!same.err.contains("other options"), "{}", same.err);
    // So is the end of what another job has written.
    fs::write(at.join("three.jsonl"), record(300, 300)).unwrap();
    let third = nearprint(at, "dedup three.jsonl -o two.out.jsonl --db seen.np --key-field id", b"");
    assert!(third.err.contains("two.out.jsonl replaces what job 2 of "), "{}", third.err);
    assert!(third.err.contains("those records stay stored"), "{}", third.err);
}

#[test]
fn regression_a_repeated_job_hid_that_its_rows_were_deleted() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let record = |key| format!("{{\"id\":\"{key}\",\"text\":\"page {key} of the series with {key}\"}}\n");
    fs::write(at.join("one.jsonl"), (0..20).map(record).collect::<String>()).unwrap();
    let job = "dedup one.jsonl -o out.jsonl --db seen.np --key-field id";
    succeeds(at, job, b"");
    let repeated = || {
        let outcome = nearprint(at, job, b"");
        assert!(outcome.code == 0 && outcome.err.contains("already complete"), "{}", outcome.err);
        outcome.err.contains("warning: rows may have been deleted since, or have expired; a restart")
    };
    assert!(!repeated());
    succeeds(at, "delete seen.np --key 3", b"");
    assert!(repeated());
    succeeds(at, &format!("{job} --restart"), b"");
    assert!(!repeated());
}

#[test]
fn regression_a_name_of_a_format_that_is_not_written_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), "{\"text\":\"one\"}\n").unwrap();
    fails(at, "dedup in.jsonl -o out.xlsx", b"", 2, &["out.xlsx", "a spreadsheet", "JSON lines"]);
    fails(at, "trim in.jsonl -o out.ods", b"", 2, &["out.ods", "a spreadsheet"]);
    for command in ["dedup", "trim"] {
        let help = succeeds(at, &format!("{command} -h"), b"");
        assert!(
            help.contains(&format!("Usage: nearprint {command} [OPTIONS] --output <OUT> <INPUT>...")),
            "{help}"
        );
    }
}

/// Its values were not looked at, so that the field was taken for a misspelt one.
#[test]
fn regression_a_field_of_records_that_are_all_skipped_is_there() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), "{\"u\":1,\"text\":\"a\"}\n{\"u\":2,\"text\":\"b\"}\n").unwrap();
    fs::write(at.join("bad.jsonl"), "{\"u\":1}\n{\"u\":2,\"text\":3}\n").unwrap();
    for keep in ["max:u", "min:u", "newest:u"] {
        succeeds(at, &format!("dedup in.jsonl -o out --min-words 2 --keep {keep}"), b"");
        assert_eq!(fs::read(at.join("out")).unwrap(), b"");
        succeeds(at, &format!("dedup bad.jsonl -o out --rejects bad --keep {keep}"), b"");
        assert_eq!(fs::read(at.join("out")).unwrap(), b"");
    }
    for options in ["--min-words 2", "--min-words 0"] {
        let line = format!("dedup in.jsonl -o out --keep max:v {options}");
        fails(at, &line, b"", 5, &["no document has a value"]);
    }
}

/// They stood within the file, where they are characters.
#[test]
fn regression_rejects_of_several_inputs_have_no_mark_within() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for name in ["a", "b"] {
        fs::write(at.join(name).with_extension("jsonl"), "\u{feff}{\"text\":1}\n{\"text\":\"w\"}\n").unwrap();
        fs::write(at.join(name).with_extension("txt"), "\u{feff}w\nx\n").unwrap();
    }
    let records = "{\"text\":1}\n{\"text\":\"w\"}\n".repeat(2);
    let jobs = [
        ("dedup a.jsonl b.jsonl -o out --min-words 2", &*records),
        ("dedup a.jsonl b.jsonl -o out --min-words 2 --keep longest", &records),
        ("fingerprint a.jsonl b.jsonl --min-words 2", &records),
        ("dedup a.txt b.txt -o out --input-format lines --min-words 2", "w\nx\nw\nx\n"),
        ("fingerprint a.txt b.txt --input-format lines --min-words 2", "w\nx\nw\nx\n"),
    ];
    for (line, expected) in jobs {
        nearprint(at, &format!("{line} --rejects aside"), b"");
        let expected = format!("\u{feff}{expected}");
        assert_eq!(fs::read_to_string(at.join("aside")).unwrap(), expected, "{line}");
    }
}
