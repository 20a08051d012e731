//! Texts without features, which are near only copies, and databases without a recipe, which take no
//! texts.

use std::fs;
use std::path::Path;

use crate::cli::{fails, groups, nearprint, succeeds};

const CHINESE: [&str; 2] = ["你 和 我 都 在 这 吧", "好 大 一 只 猫 啊"];
const SHORT: [&str; 3] = ["red car sale", "blue house rent", "two more words"];

fn write(at: &Path, name: &str, content: &str) {
    fs::write(at.join(name), content).unwrap();
}

fn lines(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{text}\n")).collect()
}

#[test]
fn regression_dedup_keeps_texts_without_features() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (recipe, texts) in [("chinese", &CHINESE[..]), ("simhash-py", &SHORT)] {
        let twice = [texts, texts].concat();
        write(at, "in.txt", &lines(&twice));
        for more in ["", "--keep longest", "--similarity jaccard:0.5", &format!("--db {recipe}.np")] {
            let line = format!("dedup in.txt --input-format lines -o out --recipe {recipe} {more}");
            let outcome = nearprint(at, &line, b"");
            assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
            assert_eq!(fs::read_to_string(at.join("out")).unwrap(), lines(texts), "{line}");
            let count = format!("{} records with words, but without a feature", twice.len());
            assert!(outcome.err.contains(&count), "{}", outcome.err);
            assert!(outcome.err.contains(&format!("({} copies, 0 near)", texts.len())));
        }
        write(at, "copy.txt", &lines(&twice));
        let again = format!("dedup copy.txt --input-format lines -o again --db {recipe}.np");
        succeeds(at, &again, b"");
        assert_eq!(fs::read_to_string(at.join("again")).unwrap(), "", "all are copies of stored ones");
        let aside = format!(
            "dedup in.txt --input-format lines -o out --recipe {recipe} --min-features 1 --rejects aside"
        );
        succeeds(at, &aside, b"");
        assert_eq!(fs::read_to_string(at.join("aside")).unwrap(), lines(&twice));
    }
}

#[test]
fn regression_commands_find_nothing_near_texts_without_features() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let names = ["d/a", "d/b", "d/c"];
    fs::create_dir(at.join("d")).unwrap();
    names.iter().zip(SHORT).for_each(|(name, text)| write(at, name, text));
    write(at, "d/copy", "red  car sale".replace("  ", " ").as_str());
    let recipe = "--recipe simhash-py";
    let outcome = nearprint(at, &format!("compare d/a d/b {recipe}"), b"");
    assert_eq!(outcome.code, 6, "{}", outcome.err);
    assert!(!outcome.err.contains("similarity") && outcome.err.contains("no feature of the recipe"));
    let outcome = nearprint(at, &format!("compare d/a d/copy {recipe}"), b"");
    assert_eq!((outcome.code, &*outcome.out), (0, "0\n"));

    let scan = format!("scan d {recipe} --min-words 0");
    let outcome = nearprint(at, &scan, b"");
    assert_eq!(groups(&outcome.out), ["kept d/a, copy d/copy"], "{}", outcome.err);
    assert!(outcome.err.contains("4 of the files have no feature"), "{}", outcome.err);
    let outcome = nearprint(at, &format!("{scan} --min-features 1"), b"");
    assert_eq!(groups(&outcome.out), ["kept d/a, copy d/copy"], "copies are shown whatever is compared");
    assert!(outcome.err.contains("4 of fewer than 1 token or 1 feature"), "{}", outcome.err);

    let matrix = succeeds(at, &format!("compare d/a d/b d/copy {recipe}"), b"");
    let cells: Vec<u32> =
        matrix.lines().nth(1).unwrap().split('\t').skip(1).map(|cell| cell.parse().unwrap()).collect();
    assert!(cells[0] == 0 && cells[1] > 8 && cells[2] == 0, "{matrix}");

    // Other tools have 0 here, too.
    let outcome = nearprint(at, &format!("fingerprint d/a d/b {recipe}"), b"");
    assert_eq!(outcome.out, "0\td/a\n0\td/b\n");
    assert!(outcome.err.contains("2 of the documents: without a feature"), "{}", outcome.err);
    let outcome = nearprint(at, &format!("fingerprint d/a d/b {recipe} --min-features 1"), b"");
    assert!(outcome.out.is_empty(), "{}", outcome.out);
    assert!(outcome.err.contains("2 documents of fewer than 1 feature were skipped"), "{}", outcome.err);
}

#[test]
fn regression_tune_counts_no_pair_of_texts_without_features() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let page = "one longer text of nine words that has features";
    let texts = [&SHORT[..], &["", "", "", page, page]].concat();
    let line = |text: &&str| format!("{{\"group\":\"{text}\",\"text\":\"{text}\"}}\n");
    write(at, "in.jsonl", &texts.iter().map(line).collect::<String>());
    let tuned =
        succeeds(at, "tune in.jsonl --all --group-field group --recipe simhash-py --try shingle=4", b"");
    for row in tuned.lines().filter(|row| !row.starts_with('s')).take(4) {
        let cells: Vec<&str> = row.split('\t').collect();
        assert_eq!((cells[5], cells[6]), ("1", "1"), "the two pages are the only pair: {row}");
    }
    assert!(tuned.lines().count() > 30, "{tuned}");
}

#[test]
fn regression_a_database_without_a_recipe_takes_no_texts() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let words: Vec<String> = (0..40).map(|word| format!("word{word}")).collect();
    let changed = format!("{} {}", words[..39].join(" "), "other");
    let text = format!("{{\"text\":\"{}\"}}\n{{\"text\":\"{changed}\"}}\n", words.join(" "));
    write(at, "in.jsonl", &text);
    succeeds(at, "create seen.np --store texts", b"");
    let prints = succeeds(at, "fingerprint in.jsonl --recipe minhash", b"");
    let columns = prints.lines().map(|line| line.replace('\t', ",") + "\n").collect::<String>();
    let built = nearprint(
        at,
        "build built.np --width 256 --store keys --input-format csv --columns fingerprint,key",
        columns.as_bytes(),
    );
    assert_eq!(built.code, 0, "{}", built.err);
    assert!(built.err.contains("all bits are compared"), "{}", built.err);
    let of_recipe =
        "build right.np --recipe minhash --store keys --input-format csv --columns fingerprint,key";
    let built = nearprint(at, of_recipe, columns.as_bytes());
    assert!(built.code == 0 && !built.err.contains("bits are compared"), "{}", built.err);
    let explicit = "build hamming.np --width 256 -k 31 --layout rotations:4 --store keys --input-format csv \
                    --columns fingerprint,key";
    let built = nearprint(at, explicit, columns.as_bytes());
    assert!(built.code == 0 && !built.err.contains("bits are compared"), "{}", built.err);

    for line in ["create open.np --width 256", "pairs built.tsv --width 256"] {
        write(at, "built.tsv", &prints.lines().map(|line| format!("{}\n", &line[..66])).collect::<String>());
        let outcome = nearprint(at, line, b"");
        assert!(
            outcome.code == 0 && outcome.err.contains("all bits are compared"),
            "{line}: {}",
            outcome.err
        );
        let outcome = nearprint(at, &format!("{line} -k 31"), b"");
        assert!(!outcome.err.contains("all bits are compared"), "{line}: {}", outcome.err);
    }

    let command = "nearprint create NEW.np --recipe minhash --store keys";
    for name in ["seen.np", "built.np"] {
        for (job, more) in [
            ("dedup", ""),
            ("dedup", "--similarity contained:0.5"),
            ("trim", "--by line"),
            ("dedup", "--dry-run"),
            ("dedup", "--keep longest"),
        ] {
            let line = format!("{job} in.jsonl -o out.jsonl --db {name} {more}");
            fails(at, &line, b"", 2, &[name, "has no recipe", command, "--store texts"]);
        }
        let recipe = if name == "seen.np" { "simhash" } else { "minhash" };
        let line = format!("dedup in.jsonl -o out.jsonl --db {name} --recipe {recipe}");
        fails(at, &line, b"", 2, &["has no recipe"]);
        assert!(!at.join("out.jsonl").exists());
        assert!(!succeeds(at, &format!("stats {name}"), b"").contains("clean="), "nothing was stored");
    }
    fails(
        at,
        "dedup in.jsonl -o out.jsonl --db right.np --similarity contained:0.5",
        b"",
        2,
        &["--store texts"],
    );
    succeeds(at, &command["nearprint ".len()..], b"");
    succeeds(at, "create texts.np --recipe minhash --store texts", b"");
    for (db, more) in [("NEW.np", ""), ("texts.np", "--similarity contained:0.5"), ("made.np", "")] {
        let outcome = nearprint(at, &format!("dedup in.jsonl -o out.jsonl --db {db} {more}"), b"");
        assert!(outcome.err.contains("2 records read: 1 kept, 1 duplicate"), "{db}: {}", outcome.err);
    }
    let settings = |db: &str| {
        let stats = succeeds(at, &format!("stats {db}"), b"");
        let names = ["width", "layout", "k\t", "kind", "recipe"];
        let is_setting = |line: &&str| names.iter().any(|name| line.starts_with(name));
        stats.lines().filter(is_setting).map(String::from).collect::<Vec<_>>()
    };
    assert!(settings("made.np").len() >= 3, "{:?}", settings("made.np"));
    assert_eq!(settings("NEW.np"), settings("made.np"));
    assert_eq!(settings("texts.np"), settings("made.np"));
}
