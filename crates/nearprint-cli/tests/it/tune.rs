//! The command `tune`.

use std::fs;
use std::path::Path;

use crate::cli::{fails, nearprint, run, succeeds};
use testkit::labelled_pages::{Page, generate};
use testkit::{Need, short_or_full, skip};

/// Two pages that say nearly the same, two that are equal, and one of its own.
const PAGES: &str = r#"{"url":"a","site":"x","text":"the quick brown fox jumps over the lazy dog and runs away from it"}
{"url":"b","site":"x","text":"the quick brown fox jumps over the lazy dog and walks away from it"}
{"url":"c","site":"y","text":"all pairs within a few bits are found exactly and at once"}
{"url":"d","site":"y","text":"all pairs within a few bits are found exactly and at once"}
{"url":"e","site":"","text":"nothing else says this, and nobody else would want to say it"}
"#;

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("pages.jsonl"), PAGES).unwrap();
    fs::write(home.path().join("same.tsv"), "b\ta\nc\td\na\tb\n").unwrap();
    home
}

/// The columns up to `hits`.
fn rows(table: &str) -> Vec<Vec<f64>> {
    table.lines().map(|line| line.split('\t').take(7).map(|cell| cell.parse().unwrap()).collect()).collect()
}

/// The lines without the column of the processor time, which differs each time.
fn without_time(table: &str) -> Vec<Vec<&str>> {
    table
        .lines()
        .map(|line| line.split('\t').enumerate().filter(|(at, _)| *at != 13).map(|(_, cell)| cell).collect())
        .collect()
}

#[test]
fn pairs_and_groups_give_the_same_table() {
    let home = home();
    let at = home.path();
    let by_group = succeeds(at, "tune pages.jsonl --all --group-field site --recipe simhash", b"");
    let by_pairs = succeeds(
        at,
        "tune --all --key-field url --pairs same.tsv --threads 1 --recipe simhash",
        PAGES.as_bytes(),
    );
    assert_eq!(without_time(&by_group), without_time(&by_pairs));
    let rows = rows(&by_group);
    assert_eq!(rows.len(), 5 * 33);
    let expected = (1..=5).flat_map(|shingle| (0..=32).map(move |k| [f64::from(shingle), f64::from(k)]));
    assert!(rows.iter().map(|row| [row[0], row[1]]).eq(expected));
    // At k = 0 the equal ones are found, which is right, and one of two.
    assert!(rows.iter().filter(|row| row[1] == 0.0).all(|row| row[2..] == [1.0, 0.5, 0.6667, 1.0, 1.0]));
    for pair in rows.windows(2).filter(|pair| pair[0][0] == pair[1][0]) {
        assert!(pair[0][5] <= pair[1][5] && pair[0][6] <= pair[1][6], "more bits find more: {pair:?}");
    }
}

#[test]
fn one_line_is_recommended() {
    let home = home();
    let at = home.path();
    let line = "tune pages.jsonl --all --group-field site --try shingle=2,1 --goal recall:1 --recipe simhash";
    let outcome = nearprint(at, line, b"");
    assert!(outcome.err.contains("5 documents, 2 of their 10 pairs"), "{}", outcome.err);
    let best = rows(&outcome.out).into_iter().filter(|row| row[3] == 1.0 && row[2] == 1.0);
    let best = best.min_by_key(|row| (row[1] as u32, row[0] as u32)).unwrap();
    let words = format!(
        "recommended: --shingle {} -k {} --recipe simhash (precision 1.0000, recall 1.0000), 95 %: precision",
        best[0], best[1]
    );
    assert!(outcome.err.contains(&words), "{words}: {}", outcome.err);
    assert!(outcome.err.contains("us of CPU a document, 28 bytes a row"), "{}", outcome.err);

    let json = succeeds(at, &format!("{line} --format json --quiet"), b"");
    let rows: Vec<serde_json::Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let recommended: Vec<_> = rows.iter().filter(|row| row["recommended"] == true).collect();
    assert_eq!(recommended.len(), 1);
    assert_eq!(recommended[0]["k"], best[1] as u64);
    assert_eq!(recommended[0]["hits"], 2);
    assert_eq!(recommended[0]["precision_high"], 1.0);
    assert!(recommended[0]["precision_low"].as_f64().unwrap() < 0.5, "two pairs are not certain");
    assert_eq!(recommended[0]["texts"], serde_json::Value::Null);
    assert_eq!(recommended[0]["recipe"], format!("--shingle {} --recipe simhash", best[0]));

    let never =
        nearprint(at, "tune pages.jsonl --group-field site --try similarity=edit:1 --goal recall:1", b"");
    assert!(
        never.err.contains("nothing reaches the goal; nearest: --shingle 1 -k 0 --recipe simhash"),
        "{}",
        never.err
    );
}

/// Groups of versions with known similarities: 0.9 with the base's first version, 0.65 and 0.31 with the others.
#[test]
fn labels_choose_the_limit_of_exact_decisions() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), versions()).unwrap();
    // The first three of each base are near-duplicates, the fourth is not. 31 of 47 pairs of words are the least that
    // they share.
    let pairs = (0..30).flat_map(|base| {
        [("0", "2"), ("0", "8"), ("2", "8")].map(|(a, b)| format!("{base}-{a}\t{base}-{b}\n"))
    });
    fs::write(at.join("same.tsv"), pairs.collect::<String>()).unwrap();
    let line = "tune in.jsonl --key-field key --pairs same.tsv --try shingle=2,3 --summary s.json";
    let outcome = nearprint(at, line, b"");
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let words = "recommended: precision 1.0000, recall 1.0000; chosen by one half of the documents, in the other: \
                 1.0000, 1.0000";
    assert!(outcome.err.contains(words), "{words}: {}", outcome.err);
    let command = "nearprint dedup in.jsonl -o unique.jsonl --key-field=key --shingle 2 --similarity 0.65 --recipe \
                   minhash\n";
    assert_eq!(outcome.out, command);
    assert!(!outcome.err.contains("labels may be incomplete"), "{}", outcome.err);
    assert!(outcome.err.contains("with --store hashes: --shingle"), "{}", outcome.err);
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(at.join("s.json")).unwrap()).unwrap();
    assert_eq!(
        (&summary["exact"]["similarity"], &summary["exact"]["untuned_recall"]),
        (&0.65.into(), &1.0.into())
    );
    // Bands find 0.9988 of the pairs at the limit.
    let dedup = command.trim_start_matches("nearprint ").trim();
    assert_eq!(nearprint(at, dedup, b"").code, 0);
    let kept = fs::read_to_string(at.join("unique.jsonl")).unwrap().lines().count();
    assert!((60..=61).contains(&kept), "{kept}, where the base and its fourth version differ");

    // Without the labels of one group.
    let others: String = fs::read_to_string(at.join("same.tsv"))
        .unwrap()
        .lines()
        .skip(3)
        .fold(String::new(), |all, line| all + line + "\n");
    fs::write(at.join("same.tsv"), others).unwrap();
    let outcome = nearprint(at, line, b"");
    let words = "labels may be incomplete: 1 pairs without one have a similarity of 0.9 or more, such as the documents \
                 at in.jsonl:1 and in.jsonl:2";
    assert!(outcome.err.contains(words), "{words}: {}", outcome.err);
    // Recipes and similarities of texts, which decide otherwise, have no such limit.
    for options in ["--recipe simhash", "--try similarity=none"] {
        let outcome = nearprint(at, &format!("{line} {options}"), b"");
        assert!(!outcome.err.contains("chosen by one half"), "{}", outcome.err);
        assert!(outcome.out.contains(" -k "), "{}", outcome.out);
    }
}

#[test]
fn regression_a_definition_is_not_recommended() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), versions()).unwrap();
    let outcome = nearprint(at, "tune in.jsonl --all --try shingle=3", b"");
    let compares_texts = |line: &str| line.split('\t').nth(12) == Some("0.7");
    assert!(outcome.out.lines().any(compares_texts), "it is in the table");
    assert!(!outcome.err.contains(" --similarity 0.7 ("), "{}", outcome.err);
    // Of 38 shingles, two versions share all but 2, and the third one all but 8 with each of them.
    let words = "0.7 is the default limit, not a result; pairs at other limits: 90 at 0.5, 90 at 0.6, 30 at 0.7, \
                 30 at 0.8, 30 at 0.9; ";
    assert!(outcome.err.contains(words), "{}", outcome.err);
    assert!(
        outcome.err.starts_with("nearprint dedup in.jsonl -o unique.jsonl --similarity 0.7\n"),
        "{}",
        outcome.err
    );
}

#[test]
fn texts_are_compared() {
    let home = home();
    let line = "tune pages.jsonl --all --group-field site --try shingle=1 --recipe simhash --try similarity=";
    let last = |measure: &str| rows(&succeeds(home.path(), &format!("{line}{measure}"), b"")).pop().unwrap();
    assert_eq!(last("jaccard:1")[5..], [1.0, 1.0]);
    assert_eq!(last("jaccard:0.4")[5..], [2.0, 2.0]);
}

#[test]
fn curves_are_drawn() {
    let home = home();
    succeeds(home.path(), "tune pages.jsonl --group-field site --try shingle=1,3 --report curves.html", b"");
    let svg = svg_of(home.path(), "curves.html");
    assert!(svg.contains("shingle 3") && !svg.contains("shingle 2"), "{svg}");
    for words in ["MinHash", "Simhash", "simhash, shingle 1", "best: k = ", "best fingerprints: --shingle"] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    let line = "tune pages.jsonl --group-field site --recipe notebook --try shingle=1,2 --try similarity=edit:0.7 --report one.html";
    succeeds(home.path(), line, b"");
    let svg = svg_of(home.path(), "one.html");
    assert!(!svg.contains("MinHash"), "a panel without curves: {svg}");
    for words in ["notebook, shingle 1, edit:0.7", "notebook, shingle 2, edit:0.7"] {
        assert!(svg.contains(words), "{words}: {svg}");
    }
    fails(home.path(), "tune pages.jsonl --group-field site --report none/x.html", b"", 1, &["none/x.html"]);
    let outcome = nearprint(home.path(), "tune pages.jsonl --group-field site --report .", b"");
    assert_eq!((outcome.code, &*outcome.out), (1, ""), "a folder is refused before all work");
}

#[test]
fn recipes_say_which_shingles_there_can_be() {
    let home = home();
    let at = home.path();
    let line = "tune pages.jsonl --all --group-field site --recipe chinese";
    assert_eq!(succeeds(at, line, b"").lines().count(), 33);
    fails(at, &format!("{line} --try shingle=2"), b"", 2, &["shingle=1"]);
    fails(at, "tune pages.jsonl --group-field site --recipe width=512", b"", 2, &["256"]);
    assert_eq!(
        succeeds(at, "tune pages.jsonl --all --group-field site --recipe width=128 --try shingle=3", b"")
            .lines()
            .count(),
        65
    );
}

#[test]
fn bad_labels_are_named() {
    let home = home();
    let at: &Path = home.path();
    let write = |name: &str, content: &str| fs::write(at.join(name), content).unwrap();
    for (pairs, words) in [
        ("a\tb\nc\tx\n", &["labels.tsv:2", "\"x\""][..]),
        ("a\tb\n\nc d\n", &["labels.tsv:3", "no tab"]),
        ("a\ta\n", &["labels.tsv:1", "twice"]),
        ("\n", &["labels.tsv", "nothing to learn from"]),
    ] {
        write("labels.tsv", pairs);
        fails(at, "tune pages.jsonl --key-field url --pairs labels.tsv", b"", 5, words);
    }
    fs::write(at.join("labels.tsv"), b"a\tb\n\xff\tb\n").unwrap();
    let line = "tune pages.jsonl --key-field url --pairs labels.tsv";
    fails(at, line, b"", 5, &["labels.tsv:2", "UTF-8"]);
    write("twice.jsonl", &format!("{PAGES}{PAGES}"));
    let line = "tune twice.jsonl --key-field url --pairs same.tsv";
    fails(at, line, b"", 5, &["twice.jsonl:6", "\"a\"", "twice.jsonl:1"]);
    fails(at, "tune pages.jsonl --group-field url", b"", 5, &["\"url\"", "no two documents"]);
    fails(at, "tune pages.jsonl --group-field nonesuch", b"", 5, &["nonesuch", "no two documents"]);
    fails(at, "tune pages.jsonl --key-field url --pairs nonesuch", b"", 1, &["nonesuch"]);
    fails(at, "tune pages.jsonl --group-field site --pairs same.tsv", b"", 2, &["--pairs", "--group-field"]);
    fails(at, "tune pages.jsonl --group-field site --key-field url", b"", 2, &["--key-field"]);
    fails(at, "tune pages.jsonl --group-field site --goal best", b"", 2, &["balance"]);
}

#[test]
fn regression_documents_without_a_group_have_none() {
    let home = home();
    let at = home.path();
    let lines = ["", r#","g":null"#, r#","g":"""#, r#","g":"x""#, r#","g":"x""#];
    let lines: String = lines.map(|group| format!("{{\"text\":\"one two three\"{group}}}\n")).concat();
    let outcome = nearprint(at, "tune --group-field g", lines.as_bytes());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    assert!(outcome.err.contains("5 documents, 1 of their 10 pairs"), "{}", outcome.err);
    fails(at, "tune --group-field g", b"{\"text\":\"a\",\"g\":[]}\n", 5, &["\"g\"", "array"]);
}

#[test]
fn simhashes_know_versions_of_a_page() {
    let pages = match generate(&(12..=30)) {
        Ok(pages) => pages.into_iter(),
        Err(why) => {
            return skip(Need::Sources, "simhashes_know_versions_of_a_page", &why.to_string());
        }
    };
    let home = tempfile::tempdir().unwrap();
    // In short form, the first sites.
    let pages = pages.take(short_or_full(500, usize::MAX));
    let lines = pages.map(|Page { key, group, text }| {
        serde_json::json!({ "key": key, "group": group, "text": text }).to_string() + "\n"
    });
    fs::write(home.path().join("pages.jsonl"), lines.collect::<String>()).unwrap();
    let at_12 = |options: &str| {
        let line =
            format!("tune pages.jsonl --all --group-field group --try shingle=3 --recipe simhash {options}");
        let row = rows(&succeeds(home.path(), &line, b"")).swap_remove(12);
        row[2].min(row[3])
    };
    assert!(at_12("") >= 0.85, "without looking at texts");
    assert!(at_12("--try similarity=jaccard:0.6") >= 0.9, "confirmed");
}

/// Texts of 40 words: a base and versions with other words at the end, whose similarities are known.
fn versions() -> String {
    let mut lines = String::new();
    for base in 0..30 {
        for changed in [0, 2, 8, 20] {
            let words: String = (0..40)
                .map(|at| match at < 40 - changed {
                    true => format!("b{base}w{at} "),
                    false => format!("b{base}c{changed}w{at} "),
                })
                .collect();
            lines += &format!("{{\"key\":\"{base}-{changed}\",\"text\":\"{words}\"}}\n");
        }
    }
    lines
}

#[test]
fn without_labels_the_exact_similarity_decides() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), versions()).unwrap();
    // Of 38 shingles each, versions share 36, 30 or 18: similarities of 0.9, 0.65 and 0.31.
    for (similarity, positives) in [("0.31", 180), ("0.5", 90), ("0.8", 30)] {
        let line = format!("tune in.jsonl --all --recipe simhash --try shingle=3 --similarity {similarity}");
        let outcome = nearprint(at, &line, b"");
        let words = format!(
            "120 documents, {positives} of their 7140 pairs with a similarity of {similarity} or more"
        );
        assert!(outcome.err.contains(&words), "{words}: {}", outcome.err);
        let confirmed = succeeds(at, &format!("{line} --try similarity=jaccard:{similarity}"), b"");
        let last = rows(&confirmed).pop().unwrap();
        assert_eq!(last[2..], [1.0, 1.0, 1.0, f64::from(positives), f64::from(positives)]);
    }
    let outcome = nearprint(at, "tune in.jsonl --all --recipe minhash --try shingle=3 --sample 30", b"");
    assert!(outcome.err.contains("120 documents, 30 of them compared with all others"), "{}", outcome.err);
    assert!(outcome.err.contains(" of 3135 pairs with a similarity of 0.7 or more"), "{}", outcome.err);
    let again =
        nearprint(at, "tune in.jsonl --all --recipe minhash --try shingle=3 --sample 30 --threads 1", b"");
    assert_eq!(without_time(&outcome.out), without_time(&again.out), "the same sample each time");
    fails(
        at,
        "tune",
        b"{\"text\":\"one two three\"}\n{\"text\":\"four\"}\n",
        5,
        &["similarity of 0.7", "learn"],
    );
}

#[test]
fn the_advice_comes_first_and_trials_only_if_wanted() {
    let home = home();
    let at = home.path();
    let line = "tune pages.jsonl --group-field site --try shingle=1,2";
    let advice = succeeds(at, line, b"");
    assert!(advice.starts_with("nearprint dedup pages.jsonl -o unique.jsonl --shingle "), "{advice}");
    assert_eq!(advice.lines().count(), 1);
    assert_eq!(nearprint(at, advice.trim_start_matches("nearprint ").trim(), b"").code, 0, "{advice}");
    let all = nearprint(at, &format!("{line} --all"), b"");
    assert!(all.err.starts_with(&advice) && !all.out.contains("nearprint dedup"), "{}", all.err);
    assert!(rows(&all.out).len() > 100);
    let json: serde_json::Value =
        serde_json::from_str(&succeeds(at, &format!("{line} --json --summary s.json"), b"")).unwrap();
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(at.join("s.json")).unwrap()).unwrap();
    assert!(json["command"] == advice.trim() && json["pairs"] == summary["pairs"], "{json}");
    // Options that read the documents are part of it, as a shell reads them, and standard input is, too.
    let pages = PAGES.replace("\"text\"", "\"the body\"");
    let arguments = ["tune", "-", "--text-field", "the body", "--group-field", "site"];
    let given = run(env!("CARGO_BIN_EXE_nearprint"), at, &arguments, pages.as_bytes()).out;
    assert!(
        given.starts_with("nearprint dedup - -o unique.jsonl --text-field='the body' --shingle"),
        "{given}"
    );
}

#[test]
fn the_report_says_what_the_command_line_says() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), versions()).unwrap();
    let pairs = (0..29).map(|base| format!("{base}-0\t{base}-8\n"));
    fs::write(at.join("same.tsv"), pairs.collect::<String>()).unwrap();
    for (options, limit) in [
        ("--similarity 0.31", "--similarity 0.31"),
        ("--key-field key --pairs same.tsv", "--similarity 0."),
        ("--key-field key --pairs same.tsv --recipe simhash", "-k "),
    ] {
        let outcome =
            nearprint(at, &format!("tune in.jsonl --try shingle=2,4 {options} --report page.html"), b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        let page = fs::read_to_string(at.join("page.html")).unwrap().replace("&quot;", "\"");
        let warnings: Vec<&str> =
            outcome.err.lines().filter_map(|line| line.strip_prefix("warning: ")).collect();
        assert!(
            !warnings.is_empty() && warnings.iter().all(|why| page.contains(why)),
            "{warnings:?}: {page}"
        );
        assert!(page.contains(outcome.out.trim()), "{} {page}", outcome.out);
        assert!(svg_of(at, "page.html").contains(&format!("\n{limit}")), "{options}");
    }
}

/// Pairs stand for time and memory: each is compared, and held.
#[test]
fn regression_near_equal_documents_are_sampled() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = |document: usize| (0..20).map(|at| format!("w{} ", at + document % 2)).collect::<String>();
    let lines =
        |len: usize| (0..len).map(|at| format!("{{\"g\":\"{}\",\"text\":\"{}\"}}\n", at % 2, text(at)));
    let tuned = |len: usize, options: &str| {
        fs::write(at.join("in.jsonl"), lines(len).collect::<String>()).unwrap();
        let line = format!("tune in.jsonl --recipe minhash --try shingle=3 --summary s.json {options}");
        let outcome = nearprint(at, &line, b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        let counts: serde_json::Value =
            serde_json::from_slice(&fs::read(at.join("s.json")).unwrap()).unwrap();
        (counts, outcome.err)
    };
    for options in ["", "--group-field g"] {
        let pairs = [500, 1000, 2000].map(|len| tuned(len, options).0["pairs"].as_u64().unwrap());
        assert_eq!(pairs[0], 500 * 499 / 2);
        assert!(pairs[2] <= 2 * pairs[1] && pairs[2] < 500_000, "{pairs:?}");
        let (few, words) = tuned(800, options);
        assert!(words.contains("so few because many are near: --sample N"), "{words}");
        // What is asked for is done, and has the same advice.
        let (all, words) = tuned(800, &format!("{options} --sample 800"));
        assert!(all["pairs"] == 800 * 799 / 2 && !words.contains("so few"), "{words}");
        assert_eq!(few["options"], all["options"], "{options}");
        assert_eq!(few["exact"]["options"], all["exact"]["options"], "{options}");
    }
}

#[test]
fn the_recommended_options_are_those_of_dedup() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), versions()).unwrap();
    for options in [
        "",
        "--try similarity=none",
        "--try bands=8x16,3 --try similarity=contained:0.4",
        "--recipe cjk␣width=128",
    ] {
        let outcome = nearprint(at, &format!("tune in.jsonl --try shingle=2,3 {options}"), b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        let pasted = outcome.err.lines().find_map(|line| line.split_once("--store hashes: ")).unwrap().1;
        let (pasted, rest) = pasted.split_once(" (precision ").unwrap();
        for words in ["recall", "95 %", "us of CPU a document", "bytes a row"] {
            assert!(rest.contains(words), "{rest}");
        }
        // As a shell reads it.
        let quoted = pasted.split('\'').enumerate();
        let word =
            |(at, part): (usize, &str)| if at % 2 == 1 { part.replace(' ', "␣") } else { part.into() };
        let pasted: String = quoted.map(word).collect();
        let dedup = format!("dedup in.jsonl -o out.jsonl --key-field key {pasted}");
        assert_eq!(nearprint(at, &dedup, b"").code, 0, "{dedup}");
    }
}

#[test]
fn what_is_tried_can_be_chosen() {
    let home = home();
    let at = home.path();
    let recipes = |options: &str| {
        let table = succeeds(at, &format!("tune pages.jsonl --all --group-field site {options}"), b"");
        let mut recipes: Vec<String> = table
            .lines()
            .map(|line| {
                let cells: Vec<&str> = line.split('\t').collect();
                assert_eq!(cells.len(), 17);
                format!("{} {}", cells[16], cells[12])
            })
            .collect();
        recipes.dedup();
        recipes
    };
    // Features decide about the similarity of MinHash, at any k.
    assert_eq!(recipes("").len(), 2 * 5 + 5 * 6);
    assert_eq!(
        recipes("--try shingle=2 --try bands=6x16,2 --try bands=8x16,3"),
        [
            "--shingle 2 --recipe simhash -",
            "--shingle 2 --recipe simhash 0.7",
            "--shingle 2 --recipe 'minhash hash=minhash:6x16,2' -",
            "--shingle 2 --recipe 'minhash hash=minhash:8x16,3' -",
        ]
    );
    assert_eq!(
        recipes(
            "--try shingle=2 --recipe notebook --try similarity=edit:0.8 --try similarity=none --try similarity=jaccard:0.3 --try similarity=none"
        ),
        [
            "--shingle 2 --recipe notebook -",
            "--shingle 2 --recipe notebook edit:0.8",
            "--shingle 2 --recipe notebook 0.3",
        ]
    );
    assert_eq!(recipes("--recipe minhash --try shingle=3"), ["--shingle 3 --recipe minhash -"]);
    assert_eq!(
        recipes("--similarity 0.8 --try shingle=3 --try bands=4x16,2")[1],
        "--shingle 3 --recipe simhash 0.8"
    );

    let line = "tune pages.jsonl --group-field site";
    for (options, words) in [
        ("--try bands=6x16", "hash"),
        ("--try bands=60x16,2", "bands"),
        ("--try bands=6x16,2 --recipe simhash", "--try bands= needs a recipe of MinHash"),
        ("--try similarity=cosine:1", "contained:S"),
        ("--try similarity=none --try similarity=", "contained:S"),
        ("--try width=64", "shingle="),
        ("--try shingle=3-1", "shingle=1-5"),
        ("--similarity 0", "above 0"),
        ("--similarity 1.5", "above 0"),
        ("--similarity 0.5 --try similarity=none", "--similarity: has no effect"),
        ("--similarity 0.5 --recipe simhash", "--similarity: has no effect"),
        ("--sample 0", "--sample"),
        ("--try shingle=0", "shingle"),
    ] {
        fails(at, &format!("{line} {options}"), b"", 2, &[words]);
    }
}

#[test]
fn similarities_stand_for_their_k() {
    let home = home();
    // Others than the bands of the similarity, so that they do not follow it.
    let line =
        "tune pages.jsonl --all --group-field site --recipe minhash --try bands=8x16,2 --try shingle=3";
    let table = succeeds(home.path(), line, b"");
    let similarity = |k: usize| table.lines().nth(k).unwrap().split('\t').nth(11).unwrap().to_string();
    assert_eq!([0, 28, 57, 58].map(similarity), ["1", "0.5", "0", "-"]);
    // dedup finds with it what it finds with the k.
    for (k, similarity) in [(29, similarity(29)), (50, similarity(50))] {
        let dedup = |near: &str| {
            nearprint(
                home.path(),
                &format!(
                    "dedup pages.jsonl -o - --key-field url --recipe hash=minhash:8x16,2 {near} --duplicates d"
                ),
                b"",
            );
            fs::read_to_string(home.path().join("d")).unwrap()
        };
        assert_eq!(dedup(&format!("-k {k}")), dedup(&format!("--similarity {similarity} --store hashes")));
    }
}

#[test]
fn borders_of_what_was_tried_are_warned_of() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), versions()).unwrap();
    let warnings = |options: &str| {
        let outcome = nearprint(at, &format!("tune in.jsonl {options}"), b"");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        let of_border = |line: &&str| line.contains("the border of what was tried");
        outcome.err.lines().filter(of_border).map(String::from).collect::<Vec<_>>()
    };
    // Recall grows with shorter shingles, and there is none shorter than 1.
    let shorter = warnings("--recipe simhash --try shingle=2,4 --goal recall:1");
    assert!(shorter.iter().any(|line| line.contains("--shingle 2 is the smallest")), "{shorter:?}");
    for quiet in [
        "--recipe simhash --try shingle=1,4 --goal recall:1",
        "--recipe simhash --try shingle=2 --goal recall:1",
    ] {
        assert!(!warnings(quiet).iter().any(|line| line.contains("--shingle")), "{quiet}");
    }
    let one_split = "--recipe minhash --try shingle=3 --similarity 0.3 --try bands=6x16,1";
    assert!(!warnings(one_split).iter().any(|line| line.contains("hash=")), "nothing else was tried");
    let bands = warnings(
        "--recipe minhash --try shingle=3 --similarity 0.3 --try bands=6x16,1 --try bands=4x16,4 --goal recall:1",
    );
    assert!(bands.iter().any(|line| line.contains("hash=minhash:6x16,1 finds pairs from")), "{bands:?}");
    // The advice is no fingerprint.
    assert_eq!(warnings(""), [""; 0]);
    // Of 300 documents with two texts, 22,350 pairs are equal: more than are confirmed beyond k = 0.
    let line = |at| format!("{{\"g\":\"all\",\"text\":\"one two three four {}\"}}\n", at % 2);
    fs::write(at.join("in.jsonl"), (0..300).map(line).collect::<String>()).unwrap();
    let line =
        "tune in.jsonl --all --group-field g --recipe simhash --try shingle=1 --try similarity=jaccard:0.1";
    let outcome = nearprint(at, line, b"");
    assert!(outcome.err.contains("tried: k = 0 is the largest"), "{}", outcome.err);
    assert!(outcome.err.contains("trials that compare texts end at k = 0 (all of them)"), "{}", outcome.err);
    assert_eq!(outcome.out.lines().count(), 1);
}

/// The picture of a report.
fn svg_of(at: &Path, report: &str) -> String {
    let html = fs::read_to_string(at.join(report)).unwrap();
    let (_, svg) = html.split_once("<svg").unwrap();
    svg.split_once("</svg>").unwrap().0.into()
}
