//! `pairs`, `clusters`, `cross` and `query --text` of databases that keep evidence.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::cli::{fails, nearprint, succeeds};

/// The words `from..to`.
fn text(from: u32, to: u32) -> String {
    (from..to).map(|word| format!("word{word} ")).collect()
}

/// Documents in a chain: only neighbours are similar. `d` is similar to none.
const RANGES: [(&str, u32, u32); 4] = [("a", 0, 200), ("b", 60, 260), ("c", 120, 320), ("d", 1000, 1200)];

/// The exact similarity of two of the documents, as it is printed.
fn similarity(a: &str, b: &str) -> String {
    format!("{:.4}", exact(a, b))
}

fn exact(a: &str, b: &str) -> f64 {
    let shingles = |key: &str| -> BTreeSet<u32> {
        let &(_, from, to) = RANGES.iter().find(|(name, ..)| *name == key).unwrap();
        (from..to - 2).collect()
    };
    let (a, b) = (shingles(a), shingles(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

/// Stores the documents, with a limit that keeps all of them.
fn store(at: &Path, options: &str) {
    let line =
        |(key, from, to): (&str, u32, u32)| format!("{{\"id\":\"{key}\",\"text\":\"{}\"}}\n", text(from, to));
    fs::write(at.join("in.jsonl"), RANGES.map(line).concat()).unwrap();
    // Its bands find all of them.
    let line = "dedup in.jsonl -o out.jsonl --db seen.np --key-field id --recipe hash=minhash:10x16,1";
    succeeds(at, &format!("{line} {options}"), b"");
}

/// Some columns of a table, of each line.
fn columns(table: &str, which: &[usize]) -> Vec<Vec<String>> {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        which.iter().map(|&at| cells[at].to_string()).collect()
    };
    table.lines().map(line).collect()
}

/// The pairs of a table with two keys, each pair and the table in order.
fn pairs(table: &str) -> Vec<Vec<String>> {
    let mut pairs = columns(table, &[3, 4, 5]);
    pairs.iter_mut().for_each(|pair| pair[..2].sort());
    pairs.sort();
    pairs
}

#[test]
fn pairs_and_clusters_have_exact_similarities() {
    for options in ["--similarity 0.9", "--similarity 0.9 --store texts"] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        store(at, options);
        let near = similarity("a", "b");
        let expected = [["a", "b", &near], ["b", "c", &near]];
        for threads in [1, 2] {
            let found =
                nearprint(at, &format!("pairs seen.np --ids --similarity 0.5 --threads {threads}"), b"");
            assert_eq!(pairs(&found.out), expected, "{}", found.out);
            assert_eq!(found.err, "near: similarity 0.5 or more, exact\n");
        }
        let limit = nearprint(at, "pairs seen.np --ids", b"");
        assert!(
            limit.out.is_empty() && limit.err.starts_with("near: similarity 0.9 or more, exact\nno two ")
        );
        let prints = succeeds(at, "pairs seen.np --similarity 0.5", b"");
        assert!(prints.lines().all(|line| line.split('\t').count() == 4), "{prints}");
        assert_eq!(columns(&prints, &[3]), [[&*near], [&near]]);
        let json = succeeds(at, "pairs seen.np --ids --similarity 0.5 --format json", b"");
        assert!(json.contains(&format!(",\"similarity\":{:.4}}}\n", exact("a", "b"))), "{json}");
        // With a distance, fingerprints are compared as before.
        let estimated = nearprint(at, "pairs seen.np --ids -k 96", b"");
        assert!(estimated.out.lines().all(|line| line.split('\t').count() == 5), "{}", estimated.out);
        assert_eq!(estimated.err, "");

        let line = "clusters seen.np --similarity 0.5 --report page.html";
        let clusters = columns(&succeeds(at, line, b""), &[0, 3, 4]);
        let keys: BTreeSet<&str> = clusters.iter().map(|row| &*row[1]).collect();
        assert!(clusters.iter().all(|row| row[0] == "0") && keys == ["a", "b", "c"].into());
        let first = clusters[0][1].clone();
        assert!(clusters.iter().all(|row| row[2] == similarity(&first, &row[1])), "{clusters:?}");
        let page = fs::read_to_string(at.join("page.html")).unwrap();
        assert!(page.contains("similarity 0.5 or more, exact"), "{page:.900}");
        assert_eq!(succeeds(at, "clusters seen.np", b""), "");
    }
}

#[test]
fn keys_are_looked_up_whatever_the_ids() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = b"0\t7\tone\n1\t8\ttwo\n255\t9\tthree\n";
    succeeds(at, "build own.np - --columns fingerprint,id,key --store keys", rows);
    let found = succeeds(at, "query own.np --key two", b"");
    assert_eq!(found, succeeds(at, "query own.np --id 8", b""));
    assert_eq!(columns(&found, &[3, 4]), [["8", "two"], ["7", "one"]]);
}

/// The id of a stored document finds what its text finds.
#[test]
fn documents_are_looked_up_by_their_ids() {
    for options in ["--similarity 0.9", "--similarity 0.9 --store texts", "--similarity 0.9 --store hashes"] {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        store(at, options);
        let exported = succeeds(at, "export seen.np", b"");
        let row = exported.lines().find(|line| line.ends_with("\tb")).unwrap();
        let (print, id) = row.rsplit_once('\t').unwrap().0.split_once('\t').unwrap();
        let found = nearprint(at, &format!("query seen.np --id {id} --similarity 0.5"), b"");
        assert!(found.out.lines().all(|line| line.starts_with(print)), "{}", found.out);
        assert_eq!(succeeds(at, "query seen.np --key b --similarity 0.5", b""), found.out);
        fails(at, "query seen.np --key none", b"", 2, &["no row has this key"]);
        if options.ends_with("hashes") {
            assert!(found.out.lines().all(|line| line.split('\t').count() == 5), "{}", found.out);
            continue;
        }
        let near = similarity("a", "b");
        let mut rows = columns(&found.out, &[4, 5]);
        assert_eq!(rows[0], ["b", "1.0000"], "the most similar one first");
        rows.sort();
        assert_eq!(rows, [["a", &*near], ["b", "1.0000"], ["c", &near]]);
        assert_eq!(found.err, "1 query: 3 rows\nnear: similarity 0.5 or more, exact\n");
        let limited = succeeds(at, &format!("query seen.np --id {id} --top 2"), b"");
        assert_eq!(columns(&limited, &[4]).len(), 2);
        let bits = succeeds(at, &format!("query seen.np --id {id} -k 0"), b"");
        assert_eq!(bits.lines().map(|line| line.split('\t').count()).collect::<Vec<_>>(), [5]);
        fails(at, "query seen.np --id 12345", b"", 2, &["--id 12345: no row has this id"]);
    }
}

#[test]
fn cross_compares_documents_of_one_recipe_exactly() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    store(at, "--similarity 0.9");
    fs::write(at.join("new.jsonl"), format!("{{\"id\":\"new\",\"text\":\"{}\"}}\n", text(0, 200))).unwrap();
    let line = "dedup new.jsonl -o new --db new.np --key-field id --recipe hash=minhash:10x16,1";
    succeeds(at, line, b"");
    let found = succeeds(at, "pairs new.np seen.np --ids --similarity 0.5", b"");
    assert_eq!(columns(&found, &[3, 4, 5]), [["new", "a", "1.0000"], ["new", "b", &similarity("a", "b")]]);
    let prints = succeeds(at, "pairs new.np seen.np", b"");
    assert_eq!(columns(&prints, &[2, 3]), [["0", "1.0000"]]);
    // Where one of the databases keeps no evidence, fingerprints are compared.
    succeeds(at, &format!("{} --store hashes", line.replace("new.np", "plain.np")), b"");
    let estimated = succeeds(at, "pairs plain.np seen.np --ids", b"");
    assert_eq!(columns(&estimated, &[3, 4]), [["new", "a"]]);
    succeeds(at, "create other.np --recipe cjk", b"");
    fails(at, "pairs other.np seen.np", b"", 2, &["seen.np", "holds fingerprints of 256 bits"]);
}

#[test]
fn regression_recipes_with_other_limits_make_the_same_fingerprints() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for limit in ["0.7", "0.9"] {
        let line = format!("{{\"text\":\"{}\"}}\n", text(0, 200));
        let options = "--store hashes --recipe hash=minhash:8x16,2";
        let command = format!("dedup - -o out --db {limit}.np --similarity {limit} {options}");
        succeeds(at, &command, line.as_bytes());
    }
    let outcome = nearprint(at, "pairs 0.7.np 0.9.np", b"");
    assert_eq!((outcome.out.lines().count(), &*outcome.err), (1, ""));
}

#[test]
fn texts_are_looked_up() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    store(at, "--similarity 0.9");
    let near = similarity("a", "b");
    let by_file = nearprint(at, "query seen.np in.jsonl --key-field id --similarity 0.5 --limit 2", b"");
    let expected = [
        ["a", "a", "1.0000"],
        ["a", "b", &near],
        ["b", "b", "1.0000"],
        ["b", "a", &near],
        ["c", "c", "1.0000"],
        ["c", "b", &near],
        ["d", "d", "1.0000"],
    ];
    let mut found = columns(&by_file.out, &[0, 4, 5]);
    // `a` and `c` are equally similar to `b`.
    assert!(["a", "c"].contains(&&*found[3][1]));
    found[3][1] = "a".into();
    assert_eq!(found, expected);
    assert_eq!(by_file.err, "4 queries: 7 rows\nnear: similarity 0.5 or more, exact\n");
    let by_text = nearprint(at, &format!("query seen.np -t {}", text(0, 200).trim().replace(' ', "␣")), b"");
    assert_eq!(columns(&by_text.out, &[4, 5]), [["a", "1.0000"]]);
    let none = nearprint(at, "query seen.np -t nothing␣like␣it -t nor␣that", b"");
    assert_eq!((&*none.out, none.code), ("", 0));
    assert!(none.err.starts_with("2 queries: no near row\n"), "{}", none.err);
    let lines = format!("{}\n\n{}\n", text(0, 200), text(1000, 1150));
    let found = succeeds(at, "query seen.np -", lines.as_bytes());
    assert_eq!(columns(&found, &[0, 4, 5]), [["-:1", "a", "1.0000"]]);
    let found = succeeds(at, "query seen.np - --top 1 --format json", lines.as_bytes());
    let last = found.lines().last().unwrap();
    assert!(last.starts_with("{\"query\":\"-:3\",\"distance\":") && found.lines().count() == 2, "{found}");
    assert!(last.ends_with(",\"key\":\"d\",\"similarity\":0.7475}"), "{last}");
    let record = format!("{{\"text\":\"{}\"}}\n", text(0, 200));
    assert_eq!(columns(&succeeds(at, "query seen.np -", record.as_bytes()), &[4]), [["a"]]);
    // Without evidence, or with a distance, fingerprints estimate.
    let estimated = nearprint(at, "query seen.np in.jsonl -k 0", b"");
    assert_eq!(columns(&estimated.out, &[1, 4, 5]), ["a", "b", "c", "d"].map(|key| ["0", key, "1.0000"]));
    assert_eq!(estimated.err, "4 queries: 4 rows\n");
    // Several databases are one: the most similar of all come first.
    let line = "dedup in.jsonl -o other --db other.np --key-field id --recipe hash=minhash:10x16,1";
    succeeds(at, &format!("{line} --store hashes"), b"");
    let found = succeeds(at, "query other.np seen.np in.jsonl --key-field id --similarity 0.5", b"");
    let found = columns(&found, &[0, 4]);
    let of_a: Vec<&str> = found.iter().filter(|row| row[0] == "a").map(|row| &*row[1]).collect();
    assert_eq!(of_a, ["a", "b"], "a document of both is printed once");
    succeeds(at, "create narrow.np --recipe simhash --store keys", b"");
    fails(at, "query seen.np narrow.np in.jsonl", b"", 2, &["narrow.np", "64"]);

    fails(at, "query seen.np in.jsonl -f 7", b"", 2, &["in.jsonl", "other queries are fingerprints"]);
    fails(at, "query seen.np -t some␣text -f 7", b"", 2, &["--text", "cannot be used with"]);
    fails(at, "query seen.np in.jsonl -t some␣text", b"", 2, &["in.jsonl", "beside --text"]);
    // What `fingerprint` prints is no text.
    let stats = succeeds(at, "stats seen.np", b"");
    let recipe = stats.lines().find_map(|line| line.strip_prefix("recipe\t")).unwrap().replace(' ', "␣");
    let prints =
        succeeds(at, &format!("fingerprint in.jsonl --key-field id --recipe {recipe} --header"), b"");
    fs::write(at.join("prints"), &prints).unwrap();
    for more in ["prints", "prints in.jsonl"] {
        let outcome = nearprint(at, &format!("query seen.np {more}"), b"");
        let is_mixed = more.contains("in.jsonl");
        assert_eq!(outcome.code, if is_mixed { 2 } else { 0 }, "{more}: {}", outcome.err);
        assert_eq!(outcome.out.lines().count(), if is_mixed { 0 } else { 4 }, "{more}");
    }
    assert_eq!(succeeds(at, "query seen.np -", prints.as_bytes()).lines().count(), 4);
    fs::create_dir(at.join("texts")).unwrap();
    fs::write(at.join("texts/of_a.txt"), text(0, 200)).unwrap();
    assert_eq!(columns(&succeeds(at, "query seen.np texts", b""), &[4]), [["a"]]);
    fails(at, "query seen.np in.jsonl --text-field body", b"", 5, &["in.jsonl:1", "body"]);
    succeeds(at, "build plain.np", b"7\n");
    fails(at, "query plain.np -t some␣text", b"", 2, &["plain.np", "has no recipe"]);
}

#[test]
fn rows_without_evidence_are_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    store(at, "");
    let print = succeeds(at, "fingerprint in.jsonl --key-field id --recipe hash=minhash:10x16,1", b"");
    let (print, _) = print.lines().last().unwrap().split_once('\t').unwrap();
    succeeds(at, "add seen.np", format!("{print}\t77\n").as_bytes());
    for command in ["pairs", "clusters"] {
        let outcome = nearprint(at, &format!("{command} seen.np"), b"");
        assert_eq!(outcome.out, "");
        assert!(outcome.err.contains("warning: 1 candidates were not compared"), "{}", outcome.err);
    }
    let found = nearprint(at, "query seen.np in.jsonl --key-field id", b"");
    assert_eq!(columns(&found.out, &[0, 4]), ["a", "b", "c", "d"].map(|key| [key, key]));
    assert!(found.err.contains("warning: 1 candidates were not compared"), "{}", found.err);
}

#[test]
fn bands_that_find_few_are_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = format!("{{\"id\":\"a\",\"text\":\"{}\"}}\n", text(0, 200));
    succeeds(at, "dedup - -o out --db seen.np --key-field id --similarity 0.9", line.as_bytes());
    let outcome = nearprint(at, "pairs seen.np --similarity 0.5", b"");
    let expected = "made for a similarity of 0.9; at 0.5 they find 76% of the pairs";
    assert!(outcome.err.contains(expected), "{}", outcome.err);
    let err = nearprint(at, "pairs seen.np", b"").err;
    assert!(err.starts_with("near: similarity 0.9 or more, exact\nno two rows are near: "), "{err}");
}

/// Two databases: by key, fingerprints alone were compared; by text, a document of both was printed twice.
#[test]
fn regression_several_databases_of_documents_answer_as_one() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    store(at, "--similarity 0.9");
    let line = |from, to| format!("{{\"id\":\"b\",\"text\":\"{}\"}}\n", text(from, to));
    fs::write(at.join("more.jsonl"), line(60, 260)).unwrap();
    let recipe = "--recipe hash=minhash:10x16,1 --similarity 0.9";
    succeeds(at, &format!("dedup more.jsonl -o more.out --db more.np --key-field id {recipe}"), b"");
    let one = succeeds(at, "query seen.np --key b --similarity 0.5", b"");
    assert_eq!(columns(&one, &[4]).len(), 3, "{one}");
    let keys_and_similarities = |found: &str| columns(found, &[4, 5]);
    let (near, words) = (similarity("a", "b"), text(60, 260));
    for databases in ["seen.np more.np", "more.np seen.np"] {
        let both = succeeds(at, &format!("query {databases} --key b --similarity 0.5"), b"");
        let mut found = keys_and_similarities(&both);
        found.sort();
        assert_eq!(found, [["a", &*near], ["b", "1.0000"], ["c", &near]], "{both}");
        fs::write(at.join("asked.txt"), &words).unwrap();
        let limited = succeeds(at, &format!("query {databases} asked.txt --similarity 0.5 --limit 1"), b"");
        assert_eq!(keys_and_similarities(&limited), [["b", "1.0000"]], "{limited}");
        let noted = nearprint(at, &format!("query {databases} asked.txt"), b"").err;
        assert_eq!(noted.matches("near: similarity").count(), 1, "{noted}");
    }
    let other = "--recipe hash=minhash:10x16,1␣shingle=2 --similarity 0.9";
    succeeds(at, &format!("dedup more.jsonl -o other.out --db other.np --key-field id {other}"), b"");
    fails(at, "query seen.np other.np --key b", b"", 2, &["another recipe"]);
}
