//! The jobs that a database remembers: `jobs` and `delete --job`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::cli::{fails, nearprint, succeeds};
use crate::dedup::{documents, lines};

#[test]
fn a_job_is_listed_and_taken_back() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let all = documents(90, 7);
    for (day, part) in [("mon", &all[..30]), ("tue", &all[20..60]), ("wed", &all[50..])] {
        fs::write(at.join(format!("{day}.jsonl")), lines(part)).unwrap();
    }
    let run = |day: &str| {
        let line = format!("dedup {day}.jsonl -o {day}.out.jsonl --db seen.np --key-field id");
        let done = nearprint(at, &line, b"");
        assert_eq!(done.code, 0, "{line}: {}", done.err);
        fs::read_to_string(at.join(format!("{day}.out.jsonl"))).unwrap()
    };
    assert!(nearprint(at, "create none.np --recipe minhash --store keys", b"").code == 0);
    assert_eq!(succeeds(at, "jobs none.np", b""), "");
    let kept = ["mon", "tue", "wed"].map(run);
    let jobs = succeeds(at, "jobs seen.np", b"");
    let columns: Vec<Vec<&str>> = jobs.lines().map(|line| line.split('\t').collect()).collect();
    let column = |at: usize| columns.iter().map(|line| line[at]).collect::<Vec<_>>();
    assert_eq!(column(0), ["1", "2", "3"]);
    assert_eq!(column(2), ["30", "40", "40"]);
    assert_eq!(column(7), ["mon.out.jsonl", "tue.out.jsonl", "wed.out.jsonl"]);
    assert_eq!(column(3), kept.each_ref().map(|kept| kept.lines().count().to_string()));
    let json = succeeds(at, "jobs seen.np --json", b"");
    assert!(json.lines().count() == 3 && json.contains(r#""output":"tue.out.jsonl""#), "{json}");

    let rows = |at: &Path| succeeds(at, "export seen.np", b"");
    let before = rows(at);
    let dry = nearprint(at, "delete seen.np --job tue.out.jsonl --dry-run", b"");
    assert!(dry.code == 0 && dry.err.starts_with("dry run: up to "), "{}", dry.err);
    assert_eq!((rows(at), succeeds(at, "jobs seen.np", b"")), (before, jobs.clone()));
    let gone = nearprint(at, "delete seen.np --job 2 --summary counts.json", b"");
    let number = kept[1].lines().count();
    assert!(
        gone.err.starts_with(&format!("deleted {number} rows of job 2 (tue.out.jsonl, ")),
        "{}",
        gone.err
    );
    assert!(gone.err.contains("later jobs left out "), "{}", gone.err);
    let keys = |lines: &str, of: fn(&str) -> String| lines.lines().map(of).collect::<BTreeSet<String>>();
    let id = |line: &str| {
        serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].as_str().unwrap().to_string()
    };
    let stored = keys(&rows(at), |line| line.rsplit('\t').next().unwrap().to_string());
    assert_eq!(stored, &keys(&kept[0], id) | &keys(&kept[2], id));
    assert_eq!(succeeds(at, "jobs seen.np", b"").lines().count(), 2);
    // It can run again, and gets a number of its own.
    fs::remove_file(at.join("tue.out.jsonl")).unwrap();
    let again = run("tue");
    assert!(again.lines().count() <= number, "{again}");
    assert!(succeeds(at, "jobs seen.np", b"").lines().last().unwrap().starts_with("4\t"));
    for name in ["2", "none", ""] {
        let words = ["no such job", "the latest are 4 (tue.out.jsonl), "];
        fails(at, &format!("delete seen.np --job={name}"), b"", 2, &words);
    }
    fails(at, "delete seen.np --job 1 --id 7", b"", 2, &["cannot be used with"]);
    fails(at, "delete seen.np --dry-run", b"", 2, &["--job"]);
    fails(at, "delete seen.np ids --dry-run", b"", 2, &["cannot be used with"]);
}

/// Deletions deleted rows in spite of it; then they refused it.
#[test]
fn regression_a_dry_run_counts_what_a_deletion_deletes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let lines: String = (0..40).map(|row| format!("{}\t{}\tk{}\n", row % 9, row / 2, row % 30)).collect();
    fs::write(at.join("rows.tsv"), lines).unwrap();
    succeeds(at, "build a.np rows.tsv --store keys --columns fingerprint,id,key", b"");
    fs::write(at.join("keys"), "k1\nk29\nunknown\n").unwrap();
    let rows = |at: &Path, name: &str| succeeds(at, &format!("export {name}"), b"");
    let before = rows(at, "a.np");
    for (number, selected) in [
        "--key k3 --key k3",
        "--keys keys",
        "--key-prefix k1",
        "--key-prefix x",
        "--id 1",
        "--id 3..9 --id 5..12",
    ]
    .into_iter()
    .enumerate()
    {
        let dry = nearprint(at, &format!("delete a.np {selected} --dry-run"), b"");
        assert_eq!((dry.code, rows(at, "a.np")), (0, before.clone()), "{}", dry.err);
        let count = |said: &str| said.split(' ').find_map(|word| word.parse::<usize>().ok()).unwrap();
        let copy = format!("{number}.np");
        succeeds(at, &format!("backup a.np {copy}"), b"");
        let real = nearprint(at, &format!("delete {copy} {selected}"), b"");
        assert_eq!(count(&dry.err), count(&real.err), "{selected}: {}{}", dry.err, real.err);
        assert!(number == 3 || rows(at, &copy) != before, "{selected}");
    }
}

/// Two jobs may have one output: another day, in another folder.
#[test]
fn a_name_of_two_jobs_names_none() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for day in ["a", "b"] {
        fs::create_dir(at.join(day)).unwrap();
        fs::write(at.join(format!("{day}.txt")), format!("one text of day {day}")).unwrap();
        succeeds(at, &format!("dedup {day}.txt -o {day}/new.txt --db seen.np"), b"");
    }
    fails(at, "delete seen.np --job new.txt", b"", 2, &["several jobs wrote it: 1, 2"]);
    let gone = nearprint(at, "delete seen.np --job a/new.txt", b"");
    assert!(gone.code == 0 && gone.err.starts_with("deleted 1 row of job 1"), "{}", gone.err);
}

#[test]
fn what_is_kept_is_forgotten_after_its_lifetime() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("a.txt"), "one text of some words").unwrap();
    fs::write(at.join("b.txt"), "one text of some words").unwrap();
    succeeds(at, "dedup a.txt -o a.out --db seen.np --expire-after 30d", b"");
    let stats = succeeds(at, "stats seen.np", b"");
    assert!(stats.contains("expire_after\t2592000\n"), "{stats}");
    let again = nearprint(at, "dedup b.txt -o b.out --db seen.np --expire-after 30d", b"");
    assert!(again.code == 0 && again.err.contains("0 kept, 1 duplicate"), "{}", again.err);
    fails(
        at,
        "dedup b.txt -o c.out --db seen.np --expire-after 1d",
        b"",
        2,
        &["expire after 2592000s, not after 86400s"],
    );
    fails(at, "dedup b.txt -o c.out --expire-after 1d", b"", 2, &["--db"]);
    fails(at, "dedup b.txt -o c.out --db other.np --expire-after soon", b"", 2, &["--expire-after"]);
}

#[test]
fn regression_an_empty_folder_was_no_new_database() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), "{\"text\":\"one two three\"}\n").unwrap();
    fs::create_dir(at.join("seen.np")).unwrap();
    succeeds(at, "dedup in.jsonl -o dry.jsonl --db seen.np --dry-run", b"");
    succeeds(at, "dedup in.jsonl -o out.jsonl --db seen.np", b"");
    assert!(succeeds(at, "stats seen.np", b"").contains("rows\t1\n"));
}

#[test]
fn regression_groups_of_one_key_were_one_group() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let texts = ["one two three four five six", "red green blue white black pink"];
    let record = |text: &str| format!("{{\"id\":\"x\",\"text\":\"{text}\"}}\n");
    let records: String = texts.iter().chain(&texts).map(|text| record(text)).collect();
    fs::write(at.join("in.jsonl"), records).unwrap();
    for keep in ["", " --keep longest"] {
        let job = format!("dedup in.jsonl -o out{}.jsonl --key-field id{keep}", keep.len());
        let outcome = nearprint(at, &job, b"");
        assert!(outcome.err.contains("in 2 groups"), "{}", outcome.err);
    }
}
