//! `nearprint scan`, from outside.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::common::cli::{fails, nearprint, succeeds};
use crate::common::{Random, clusters};
use nearprint::{Fingerprint, Row};
use nearprint_text::recipe::Recipe;

fn words(seed: u64, count: usize) -> String {
    let mut random = Random(seed);
    (0..count).map(|_| format!("word{} ", random.below(5000))).collect()
}

fn write(at: &Path, name: &str, content: &[u8]) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Files; every third is another one with a few words changed, or none.
fn some_files(at: &Path) -> Vec<(String, String)> {
    let mut random = Random(7);
    let mut files: Vec<(String, String)> = Vec::new();
    for number in 0..240 {
        let name = format!("d/{}/{number:03}.txt", number % 7);
        let text = if number % 3 == 0 || files.is_empty() {
            words(number, 400)
        } else {
            let (_, other) = &files[random.below(files.len() as u64) as usize];
            let from = format!("word{} ", random.below(5000));
            other.replacen(&from, "changed ", 2)
        };
        write(at, &name, text.as_bytes());
        files.push((name, text));
    }
    files.sort_unstable();
    files
}

/// The groups in the order promised, by comparing all with all.
fn expected<F: Fingerprint>(files: &[(String, String)], recipe: &str, k: u32) -> String {
    let mut fingerprinter = recipe.parse::<Recipe>().unwrap().fingerprinter::<F>().unwrap();
    let prints: Vec<F> = files.iter().map(|(_, text)| fingerprinter.fingerprint(text).value).collect();
    let rows: Vec<Row<F>> = (0..).zip(&prints).map(|(id, &fingerprint)| Row { fingerprint, id }).collect();
    let mut groups: Vec<Vec<(u32, usize)>> = clusters(&rows, k)
        .iter()
        .map(|cluster| {
            let first = prints[cluster.iter().map(|row| row.id).min().unwrap() as usize];
            let member = |row: &Row<F>| (row.fingerprint.distance(first), row.id as usize);
            let mut members: Vec<_> = cluster.iter().map(member).collect();
            members.sort_unstable();
            members
        })
        .collect();
    let bytes = |file: usize| files[file].1.len();
    // Not what is connected through others only.
    let could_go = |(distance, file): &(u32, usize)| if *distance <= k { bytes(*file) } else { 0 };
    let spare = |members: &Vec<(u32, usize)>| members[1..].iter().map(could_go).sum::<usize>();
    groups.sort_by_key(|members| (usize::MAX - spare(members), members[0].1));
    let line = |(distance, file): &(u32, usize)| {
        format!("{distance}\t{}\t{}\n", files[*file].0.strip_prefix("d/").unwrap(), bytes(*file))
    };
    let lines = |members: &Vec<(u32, usize)>| members.iter().map(line).collect::<String>();
    let group = |members: &Vec<(u32, usize)>| {
        format!("{} files\t{}\n{}\n", members.len(), spare(members), lines(members))
    };
    groups.iter().map(group).collect()
}

#[test]
fn groups_are_exact_and_do_not_depend_on_threads() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let files = some_files(at);
    for k in [0, 3, 6] {
        let expected = expected::<u64>(&files, "simhash", k);
        assert!(expected.lines().count() > 20, "{expected}");
        for threads in [1, 2, 5] {
            assert_eq!(
                succeeds(at, &format!("scan d -k {k} --recipe simhash --all --threads {threads}"), b""),
                expected,
                "{k}"
            );
        }
    }
    let plain = succeeds(at, "scan d -k 3 --all --recipe simhash", b"");
    let json = succeeds(at, "scan d -k 3 --json --recipe simhash", b"");
    let mut again = String::new();
    for line in json.lines() {
        let group: serde_json::Value = serde_json::from_str(line).unwrap();
        let members = group["files"].as_array().unwrap();
        assert_eq!(group["count"], members.len());
        again += &format!("{} files\t{}\n", members.len(), group["spare_bytes"]);
        for member in members {
            let path = member["path"].as_str().unwrap().strip_prefix("d/").unwrap();
            again += &format!("{}\t{path}\t{}\n", member["distance"], member["bytes"]);
        }
        assert_eq!(group["exact"], members.iter().all(|member| member["exact"] == true));
        again += "\n";
    }
    assert_eq!(again, plain);
    let files_alone = succeeds(at, "scan d/0/000.txt d/1/001.txt d/0 -k 64 --recipe simhash", b"");
    let of_folder = fs::read_dir(at.join("d/0")).unwrap().count();
    assert!(files_alone.starts_with(&format!("{} files\t", of_folder + 1)), "each file once: {files_alone}");
    let largest = plain.split_inclusive("\n\n").take(3).collect::<String>();
    assert_eq!(succeeds(at, "scan d -k 3 --all --limit 3 --recipe simhash", b""), largest);
    let wide = expected::<u128>(&files, "width=128", 6);
    assert!(wide.lines().count() > 20, "{wide}");
    assert_eq!(succeeds(at, "scan d --all --width 128 -k 6", b""), wide);
}

#[test]
fn what_is_no_text_is_left_out_and_counted() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = words(1, 300);
    for name in ["a/one", "b/c/two", "a/.hidden", ".git/objects/x", "a/.svn/y"] {
        write(at, name, text.as_bytes());
    }
    write(at, "b/latin", &[text.as_bytes(), b"caf\xe9"].concat());
    write(at, "bin/1", b"\0binary");
    write(at, "bin/2", &[text.as_bytes(), &[0]].concat());
    write(at, "none/1", b"");
    write(at, "none/2", b"");
    write(at, "short/1", b"few words");
    write(at, "short/2", b"few words");
    write(at, "large", words(2, 20_000).as_bytes());
    symlink(at.join("a/one"), at.join("a/link")).unwrap();
    symlink(at.join("a"), at.join("b/loop")).unwrap();
    let outcome = nearprint(at, "scan . --max-size 100K", b"");
    assert_eq!(outcome.code, 0);
    let (len, latin) = (text.len(), text.len() + 4);
    let expected =
        format!("4 files\t{}\n0\ta/.hidden\t{len}\n0\ta/one\t{len}\n0\tb/c/two\t{len}\n", 2 * len + latin);
    assert!(outcome.out.starts_with(&expected), "{}", outcome.out);
    assert!(outcome.out.contains(&format!("\tb/latin\t{latin}\n")), "{}", outcome.out);
    let counted = "left out: 2 binary, 2 empty, 2 of fewer than 30 tokens, 1 too large\n";
    assert!(outcome.err.ends_with(counted), "{}", outcome.err);
    assert!(outcome.err.contains("11 files, 0.0 MB in "), "{}", outcome.err);
    assert!(
        outcome.err.contains(": 4 near-duplicates in 1 groups, 0 of them of exact copies; "),
        "{}",
        outcome.err
    );
    let short = succeeds(at, "scan short --min-tokens 1", b"");
    assert_eq!(short, "2 copies\t9\t1\n");
    assert_eq!(nearprint(at, "-q scan short", b"").err, "");
    // Links that are named are followed.
    assert!(succeeds(at, "scan b/loop a/link", b"").starts_with("2 copies\t"));
}

#[test]
fn what_cannot_be_read_is_told_and_not_the_end() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fails(at, "scan nowhere", b"", 1, &["cannot open", "nowhere"]);
    fails(at, "scan", b"", 2, &["<PATH>"]);
    fails(at, "scan . --width 512", b"", 2, &["256"]);
    fails(at, "scan . --max-size x", b"", 2, &["512M"]);
    let text = words(1, 300);
    for name in ["a", "b", "closed/c", "d"] {
        write(at, name, text.as_bytes());
    }
    if cfg!(target_os = "linux") {
        // Reading this fails for everybody.
        let outcome = nearprint(at, "scan a b /proc/self/mem", b"");
        assert_eq!((outcome.code, &*outcome.out), (0, &*format!("2 copies\t{}\ta\n", text.len())));
        assert!(outcome.err.contains("warning: cannot read /proc/self/mem"), "{}", outcome.err);
        assert!(outcome.err.contains("2 files, 0.0 MB"), "{}", outcome.err);
        assert!(outcome.err.ends_with("left out: 1 unreadable\n"), "{}", outcome.err);
    }
    let close = |name: &str| fs::set_permissions(at.join(name), fs::Permissions::from_mode(0o000)).unwrap();
    close("closed");
    close("d");
    if fs::read(at.join("d")).is_ok() {
        // The superuser reads everything.
        return;
    }
    let outcome = nearprint(at, "scan .", b"");
    fs::set_permissions(at.join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((outcome.code, &*outcome.out), (0, &*format!("2 copies\t{}\ta\n", text.len())));
    assert!(outcome.err.contains("warning: cannot read ./d"), "{}", outcome.err);
    assert!(outcome.err.contains("warning: cannot list ./closed"), "{}", outcome.err);
    assert!(outcome.err.contains("2 unreadable"), "{}", outcome.err);
}

#[test]
fn texts_decide_where_they_are_asked() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = words(1, 300);
    let nearly = text.replacen("word", "other", 1);
    for (name, content) in [("a.txt", &text), ("b.txt", &nearly), ("c.txt", &text)] {
        write(at, name, content.as_bytes());
    }
    let all = succeeds(at, "scan . -k 64", b"");
    assert!(all.starts_with("3 files\t"));
    let near = succeeds(at, "scan . -k 64 --confirm jaccard:0.9", b"");
    assert_eq!(near, all);
    let equal = succeeds(at, "scan . -k 64 --confirm edit:0", b"");
    assert_eq!(equal, format!("2 copies\t{}\ta.txt\n", text.len()));
    fails(at, "scan . --confirm cosine:1", b"", 2, &["jaccard:X"]);
}

#[test]
fn files_are_left_out_by_their_names_and_by_gitignore() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = words(1, 300);
    for name in [
        "a/LICENSE",
        "b/license-mit",
        "a/Cargo.lock",
        "b/Cargo.lock",
        "a/out/1",
        "a/out/2",
        "a/kept",
        "b/kept",
    ] {
        write(at, name, text.as_bytes());
    }
    write(at, "a/.git/HEAD", b"");
    write(at, "a/.gitignore", b"out/\n");
    let copies =
        |count: usize, first: &str| format!("{count} copies\t{}\t{first}\n", (count - 1) * text.len());
    let outcome = nearprint(at, "scan .", b"");
    assert_eq!(outcome.out, copies(2, "a/kept"));
    assert!(outcome.err.contains(", 4 on the list of --ignore (not with --no-ignore)\n"), "{}", outcome.err);
    assert_eq!(succeeds(at, "scan . --no-ignore", b""), copies(8, "a/Cargo.lock"));
    assert_eq!(succeeds(at, "scan . --ignore kept,*.LOCK", b""), copies(2, "a/LICENSE"));
    assert_eq!(
        succeeds(at, "scan a/LICENSE b/license-mit", b""),
        copies(2, "a/LICENSE"),
        "what is named is read"
    );
    fails(at, "scan . --ignore a{", b"", 2, &["--ignore"]);
    fails(at, "scan . --ignore x --no-ignore", b"", 2, &["--no-ignore"]);
}
