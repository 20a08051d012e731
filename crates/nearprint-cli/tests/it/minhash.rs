//! MinHash fingerprints on the command line: texts, and databases of bands.

use std::fs;

use crate::cli::{duplicates, fails, nearprint, run, succeeds};
use nearprint::{Fingerprint, U256};
use nearprint_text::recipe::Recipe;

/// A text of the words `from..to`.
fn text(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("word{word} ")).collect()
}

/// Three texts: the second shares 194 of 202 shingles with the first, and the third none.
const NAMES: [&str; 3] = ["one.txt", "near.txt", "other.txt"];

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let texts = [text(0, 200), text(8, 208), text(1000, 1200)];
    NAMES.iter().zip(texts).for_each(|(name, text)| fs::write(home.path().join(name), text).unwrap());
    home
}

fn print(text: &str) -> U256 {
    let recipe: Recipe = "minhash".parse().unwrap();
    recipe.fingerprinter().unwrap().fingerprint(text).value
}

#[test]
fn texts_are_compared_by_their_sketches() {
    let home = home();
    let at = home.path();
    let bands = "minhash".parse::<Recipe>().unwrap().bands().unwrap();
    let distance = |other: &str| bands.sketch_distance(print(&text(0, 200)), print(other));
    let (near, far) = (distance(&text(8, 208)), distance(&text(1000, 1200)));
    let outcome = nearprint(at, "compare one.txt near.txt", b"");
    assert_eq!((outcome.code, outcome.out), (0, format!("{near}\n")));
    assert_eq!(outcome.err, "similarity 0.9223; near-duplicates: at least 0.7\n");
    assert_eq!(nearprint(at, "compare one.txt other.txt -k 96", b"").code, 6, "no band is equal");
    assert_eq!(nearprint(at, "compare one.txt near.txt --similarity 1", b"").code, 6);
    assert_eq!(nearprint(at, "compare one.txt near.txt --similarity 0.8", b"").code, 0);
    let table = succeeds(at, "compare one.txt near.txt other.txt", b"");
    assert!(table.contains(&format!("one.txt\t0\t{near}\t{far}\n")), "{table}");
    assert_eq!(
        succeeds(at, "scan one.txt near.txt other.txt", b""),
        "1\tkept\t\t1490\tone.txt\n1\tnear\t0.9223\t1506\tnear.txt\n"
    );
    // The fingerprints have 256 bits, and all of them count without a recipe.
    let printed: String = succeeds(at, "fingerprint one.txt near.txt --recipe minhash", b"");
    let [one, other] = printed.lines().map(|line| line.split('\t').next().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("{printed}")
    };
    assert_eq!(succeeds(at, &format!("compare {one} {other} --recipe minhash"), b""), format!("{near}\n"));
    let parsed = [one, other].map(|print| U256::parse(print).unwrap());
    let all = parsed[0].distance(parsed[1]);
    assert_eq!(nearprint(at, &format!("compare {one} {other}"), b"").out, format!("{all}\n"));
}

#[test]
fn a_database_of_bands_answers_like_its_recipe() {
    let home = home();
    let at = home.path();
    let prints = succeeds(at, "fingerprint one.txt near.txt other.txt --recipe minhash", b"");
    let line = "build db.np --recipe minhash --store keys --columns fingerprint,key --input-format tsv";
    succeeds(at, line, prints.as_bytes());
    let stats = succeeds(at, "stats db.np", b"");
    for expected in ["layout\tbands:10x16\n", "k\t12\n", "width\t256\n"] {
        assert!(stats.contains(expected), "{expected:?} is not in {stats}");
    }
    let [one, near, _] = prints.lines().collect::<Vec<_>>()[..] else { panic!("{prints}") };
    let [one, near] = [one, near].map(|line| line.split_once('\t').unwrap().0);
    let found = succeeds(at, &format!("query db.np -f {one}"), b"");
    let keys: Vec<&str> = found.lines().map(|line| line.rsplit('\t').next().unwrap()).collect();
    assert_eq!(keys, ["one.txt", "near.txt"]);
    assert_eq!(succeeds(at, &format!("query db.np -f {one} --top 5"), b""), found);
    assert_eq!(succeeds(at, &format!("query db.np -f {one} --similarity 1"), b"").lines().count(), 1);
    let (smaller, larger) = if one < near { (one, near) } else { (near, one) };
    let pairs = succeeds(at, "pairs db.np", b"");
    assert!(pairs.starts_with(&format!("{smaller}\t{larger}\t")) && pairs.lines().count() == 1, "{pairs}");
    assert_eq!(succeeds(at, "clusters db.np", b"").lines().count(), 2);
    assert!(succeeds(at, "explain db.np", b"").contains("one of the 10 bands is equal"));
    succeeds(at, "verify db.np", b"");
    fails(at, "query db.np -f 0x00 -k 97", b"", 2, &["96"]);

    succeeds(at, "create plain.np --width 256", b"");
    for line in ["pairs db.np plain.np", "query db.np plain.np -f 0x00"] {
        fails(at, line, b"", 2, &["bands:10x16", "auto"]);
    }
    fails(at, "pairs plain.np --similarity 0.5", b"", 2, &["--similarity", "-k"]);
}

#[test]
fn layouts_follow_from_recipes_and_must_not_contradict_them() {
    let home = home();
    let at = home.path();
    let recipe = "minhash hash=minhash:4x16,2 width=128";
    let program = env!("CARGO_BIN_EXE_nearprint");
    assert_eq!(run(program, at, &["create", "a.np", "--recipe", recipe], b"").code, 0);
    let stats = succeeds(at, "stats a.np", b"");
    assert!(stats.contains("layout\tbands:4x16\n") && stats.contains("width\t128\n"), "{stats}");
    succeeds(at, "create b.np --layout bands:6x24 --width 256 -k 20", b"");
    fails(at, "create c.np --layout bands:9x20 --width 256", b"", 2, &["76 of 256 bits", "needs 96"]);
    fails(at, "create c.np --layout rotations:4 --recipe minhash", b"", 2, &["needs bands:10x16"]);
    fails(at, "create c.np --layout bands:2x16 --recipe simhash", b"", 2, &["makes no bands"]);
    fails(at, "create c.np --recipe simhash --store features", b"", 2, &["compared with MinHash"]);
    let explained = succeeds(at, "explain --rows 1000 --recipe minhash --similarity 0.8", b"");
    for line in [
        "bands:7x16",
        "in at most 30 of 144 bits (24 where one band is equal)",
        "  0.8         0.9991\n",
        "0.999 from 0.8 on\n",
    ] {
        assert!(explained.contains(line), "{line}: {explained}");
    }
    assert!(!succeeds(at, "explain --rows 1000 --recipe minhash -k 5", b"").contains("similarity"));
    let explained = succeeds(at, "explain --rows 10000000 --width 256 --layout bands:10x16", b"");
    assert!(explained.contains("bands:10x16") && explained.contains("k = 12"), "{explained}");
}

#[test]
fn deduplication_remembers_bands() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = |key: &str, text: &str| format!("{{\"id\":\"{key}\",\"text\":\"{text}\"}}\n");
    let first = line("one", &text(0, 200)) + &line("other", &text(1000, 1200));
    fs::write(at.join("first.jsonl"), first).unwrap();
    fs::write(at.join("near.jsonl"), line("near", &text(8, 208))).unwrap();
    succeeds(at, "dedup first.jsonl -o out --db seen.np --key-field id", b"");
    let outcome =
        nearprint(at, "dedup near.jsonl -o out2 --db seen.np --duplicates dup.tsv --key-field id", b"");
    assert!(outcome.err.contains("1 record read: 0 kept, 1 duplicate"), "{}", outcome.err);
    assert!(duplicates(at, "dup.tsv").starts_with("near\tone\t"));
    let strict =
        nearprint(at, "dedup near.jsonl -o out3 --db seen.np --similarity 1 --restart --dry-run", b"");
    assert!(strict.err.contains("1 record read: 1 kept"), "{}", strict.err);
    fails(at, "dedup near.jsonl -o x --db seen.np --recipe simhash", b"", 2, &["256 bits"]);
    fails(at, "dedup near.jsonl -o x --db seen.np --rows 3", b"", 2, &["--rows"]);
    // Without a recipe, nothing says how fingerprints are made, whatever the bands.
    succeeds(at, "create old.np --store keys", b"");
    succeeds(at, "create bands.np --store keys --width 256 --layout bands:6x24", b"");
    for line in ["dedup first.jsonl -o out4 --db old.np", "dedup first.jsonl -o out5 --db bands.np"] {
        fails(at, line, b"", 2, &["has no recipe", "--recipe minhash --store keys"]);
    }
    let given = "dedup first.jsonl -o out6 --db bands.np --recipe minhash␣hash=minhash:6x24,2";
    fails(at, given, b"", 2, &["has no recipe"]);
}

#[test]
fn regression_a_repair_without_a_manifest_says_what_is_lost_and_takes_the_recipe() {
    let home = home();
    let at = home.path();
    let prints = succeeds(at, "fingerprint one.txt near.txt --recipe minhash", b"");
    let column: String =
        prints.lines().map(|line| line.split('\t').next().unwrap().to_string() + "\n").collect();
    succeeds(at, "build db.np --recipe minhash", column.as_bytes());
    fs::remove_file(at.join("db.np/MANIFEST")).unwrap();
    let repaired = |line: &str| {
        let outcome = nearprint(at, line, b"");
        assert_eq!(outcome.code, 9, "{}", outcome.err);
        outcome.out
    };
    let told = repaired("repair db.np plain.np");
    let lost =
        "note\tMANIFEST\tthe recipe is lost: the copy has layout bands:10x16, k = 12, no keys, no recipe";
    assert!(told.contains(lost), "{told}");
    let told = repaired("repair db.np same.np --recipe minhash");
    assert!(
        told.contains("layout bands:10x16, k = 12, no keys, recipe clean=detect-html,nfc,lower"),
        "{told}"
    );
    assert_eq!(succeeds(at, "pairs same.np", b"").lines().count(), 1);
    repaired("repair db.np bands.np --layout bands:6x16");
    assert_eq!(succeeds(at, "pairs bands.np", b"").lines().count(), 1);
    succeeds(at, "verify same.np", b"");
}

#[test]
fn regression_parts_of_recipes_apply_to_the_recipe_of_the_database() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), format!("{{\"text\":\"{}\"}}\n", text(0, 50))).unwrap();
    succeeds(at, "dedup in.jsonl -o out --db cyclic.np --recipe simhash␣join=cyclic", b"");
    let again = nearprint(at, "dedup in.jsonl -o out --db cyclic.np --recipe join=cyclic", b"");
    assert!(again.code == 0 && again.err.contains("already complete"), "{}", again.err);
    succeeds(at, "dedup in.jsonl -o out2 --db chinese.np --recipe chinese", b"");
    succeeds(at, "dedup in.jsonl -o out2 --db chinese.np --recipe weights=tfidf:30", b"");
    // Alone, such a part means a simhash.
    succeeds(at, "dedup in.jsonl -o out3 --db other.np --recipe join=cyclic", b"");
    assert!(succeeds(at, "stats other.np", b"").contains("width\t64\n"));
}

#[test]
fn regression_what_is_no_minhash_is_not_compared_or_made_as_one() {
    let home = home();
    let at = home.path();
    fs::write(at.join("empty.txt"), "").unwrap();
    fs::write(at.join("marks.txt"), "--\n").unwrap();
    for recipe in ["--recipe minhash", "--recipe hash=minhash:6x16,2"] {
        fails(at, &format!("fingerprint --features {recipe}"), b"0x25\t3\n", 2, &["--features", "simhashes"]);
    }
    let zero = format!("0x{:064}", 0);
    assert_eq!(nearprint(at, &format!("compare {zero} {zero} --recipe minhash"), b"").code, 6);
    assert_eq!(succeeds(at, &format!("compare {zero} {zero}"), b""), "0\n");
    fails(at, "compare 5 7 --recipe minhash", b"", 1, &["cannot open"]);
    let outcome = nearprint(at, "compare empty.txt marks.txt", b"");
    assert_eq!(outcome.code, 6);
    assert!(outcome.err.contains("not near: a text has no words"), "{}", outcome.err);
    let outcome = nearprint(at, "compare one.txt other.txt", b"");
    assert_eq!(outcome.err, "similarity 0.0000; not near: less than 0.7\n");
    let outcome = nearprint(at, "compare one.txt other.txt -k 17", b"");
    assert!(outcome.err.contains("not near, as no band is equal"), "{}", outcome.err);
    fails(at, "compare one.txt near.txt -k 129", b"", 2, &["-k 129", "96 bits"]);
}
