//! `nearprint scan`, from outside.

use std::fs::{self, File, FileTimes};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::cli::slashed::{nearprint, succeeds};
use crate::cli::{duplicates, fails, groups, slashes};
use nearprint::{Fingerprint, Row};
use nearprint_text::recipe::Recipe;
use testkit::files::{can_link, make_pipe, set_mode, symlink};
use testkit::{Random, clusters};

/// A list of paths that a command has written.
fn read(at: &Path, name: &str) -> String {
    slashes(&fs::read_to_string(at.join(name)).unwrap())
}

fn words(seed: u64, count: usize) -> String {
    let mut random = Random(seed);
    (0..count).map(|_| format!("word{} ", random.below(5000))).collect()
}

fn write(at: &Path, name: &str, content: &[u8]) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    // Of files of one age and length, the one with the shortest path is the best, then the first.
    let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    File::options().append(true).open(path).unwrap().set_times(time).unwrap();
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
    let recipe: Recipe = recipe.parse().unwrap();
    let mut fingerprinter = recipe.fingerprinter::<F>().unwrap();
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
    let mut lines = String::new();
    for (members, number) in groups.iter().zip(1..) {
        for &(distance, file) in members {
            let is_first = file == members[0].1;
            let outcome = match files[file].1 == files[members[0].1].1 {
                _ if is_first || distance > k => "kept",
                true => "copy",
                false => "near",
            };
            let similarity = recipe.similarity(distance);
            let similarity = if is_first { String::new() } else { format!("{similarity:.4}") };
            lines += &format!("{number}\t{outcome}\t{similarity}\t{}\t{}\n", bytes(file), files[file].0);
        }
    }
    lines
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
                succeeds(
                    at,
                    &format!("scan d -k {k} --chains --recipe simhash --all --threads {threads}"),
                    b""
                ),
                expected,
                "{k}"
            );
        }
    }
    let plain = succeeds(at, "scan d -k 3 --all --chains --recipe simhash", b"");
    let json = succeeds(at, "scan d -k 3 --json --chains --recipe simhash", b"");
    let mut again = Vec::new();
    for (line, number) in json.lines().zip(1..) {
        let group: serde_json::Value = serde_json::from_str(line).unwrap();
        let members = group["files"].as_array().unwrap();
        assert_eq!(group["count"], members.len());
        for member in members {
            again.push(format!("{number}\t{}\t{}", member["bytes"], member["path"].as_str().unwrap()));
        }
        assert_eq!(group["copy"], members.iter().all(|member| member["copy"] == true));
    }
    let of_json = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        [cells[0], cells[3], cells[4]].join("\t")
    };
    assert_eq!(again, plain.lines().map(of_json).collect::<Vec<_>>());
    let header = "group\toutcome\tsimilarity\tbytes\tpath\n";
    let headed = "scan d -k 3 --chains --recipe simhash --header";
    assert_eq!(succeeds(at, headed, b""), format!("{header}{plain}"));
    assert_eq!(succeeds(at, &headed.replace("--header", "--no-header"), b""), plain);
    let files_alone = succeeds(at, "scan d/0/000.txt d/1/001.txt d/0 -k 64 --recipe simhash", b"");
    let of_folder = fs::read_dir(at.join("d/0")).unwrap().count();
    assert_eq!(files_alone.lines().count(), of_folder + 1, "each file once: {files_alone}");
    let is_large = |line: &&str| line.split('\t').next().unwrap().parse::<u32>().unwrap() <= 3;
    let largest = plain.split_inclusive('\n').filter(is_large).collect::<String>();
    assert_eq!(succeeds(at, "scan d -k 3 --all --chains --limit 3 --recipe simhash", b""), largest);
    let wide = expected::<u128>(&files, "width=128", 6);
    assert!(wide.lines().count() > 20, "{wide}");
    assert_eq!(succeeds(at, "scan d --all --chains --recipe width=128 -k 6", b""), wide);
}

#[test]
fn chains_connect_texts_through_others() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let window = |first: usize| (first..first + 100).map(|at| format!("w{at} ")).collect::<String>();
    // Similarities of .81 between neighbours, .66 between the ends; d is a copy of c, and e stands alone.
    for (name, first) in [("a", 0), ("b", 10), ("c", 20), ("d", 20), ("e", 60)] {
        write(at, &format!("t/{name}"), window(first).as_bytes());
    }
    let groups = |more: &str| {
        let json = succeeds(at, &format!("scan t --json {more}"), b"");
        let file = |file: &serde_json::Value| {
            format!("{} {:.2}", file["path"].as_str().unwrap(), file["similarity"].as_f64().unwrap())
        };
        let group = |line: &str| {
            let group: serde_json::Value = serde_json::from_str(line).unwrap();
            let files: Vec<String> = group["files"].as_array().unwrap().iter().map(file).collect();
            format!("{}: {}", group["spare_bytes"], files.join(", "))
        };
        json.lines().map(group).collect::<Vec<_>>()
    };
    let len = window(20).len();
    assert_eq!(
        groups(""),
        [format!("{len}: t/c 1.00, t/d 1.00"), format!("{}: t/a 1.00, t/b 0.81", window(10).len())]
    );
    let chained = format!("{}: t/a 1.00, t/b 0.81, t/c 0.66, t/d 0.66", window(10).len());
    assert_eq!(groups("--chains"), [chained]);
    let compared = succeeds(at, "scan t --json --similarity contained:0.8 --chains -k 64", b"");
    assert!(compared.starts_with("{\"count\":4,") && compared.lines().count() == 1, "{compared}");
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
    write(at, "bin/2", &[text.as_bytes(), &[0, 1]].concat());
    write(at, "none/1", b"");
    write(at, "none/2", b"");
    write(at, "short/1", b"few words");
    write(at, "short/2", b"few words");
    write(at, "large", words(2, 20_000).as_bytes());
    let links = can_link();
    if links {
        symlink(at.join("a/one"), at.join("a/link")).unwrap();
        symlink(at.join("a"), at.join("b/loop")).unwrap();
    }
    let outcome = nearprint(at, "scan . --max-size 100K --min-words 30 --summary counts.json", b"");
    assert_eq!(outcome.code, 0);
    let (len, latin) = (text.len(), text.len() + 4);
    let expected = format!(
        "1\tkept\t\t{latin}\t./b/latin\n1\tnear\t0.9967\t{len}\t./a/.hidden\n\
         1\tnear\t0.9967\t{len}\t./a/one\n1\tnear\t0.9967\t{len}\t./b/c/two\n"
    );
    assert!(outcome.out.starts_with(&expected), "the file with one word more is the first: {}", outcome.out);
    let counted = "not compared: 2 binary, 2 empty, 1 too large, 2 of fewer than 30 tokens; 2 of these are in groups of copies\n";
    let not_counted = if links { "not counted: 2 links (./a/link, ./b/loop)\n" } else { "" };
    assert!(outcome.err.ends_with(&format!("{counted}{not_counted}")), "{}", outcome.err);
    let verdict = "11 files read: 2 kept, 4 duplicates (1 copy, 3 near) in 2 groups, 5 skipped; ";
    assert!(outcome.err.starts_with(verdict), "{}", outcome.err);
    let counts: serde_json::Value =
        serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
    for (name, count) in [
        ("read", 11),
        ("compared_texts", 4),
        ("groups", 2),
        ("kept", 2),
        ("duplicates", 4),
        ("copies", 1),
        ("near", 3),
        ("skipped", 5),
        ("too_short", 2),
    ] {
        assert_eq!(counts[name], count, "{name}: {counts}");
    }
    assert_eq!(
        (&counts["skipped_files"]["binary"], &counts["rule"]),
        (&2.into(), &"similarity 0.7 or more, exact".into())
    );
    let named = nearprint(at, "scan . --max-size 100K --min-words 30 --verbose", b"").err;
    for line in [
        "skipped, binary: ./bin/1",
        "skipped, empty: ./none/2",
        "skipped, too large: ./large",
        "skipped, of fewer than 30 tokens: ./short/1",
    ] {
        assert!(named.contains(&format!("{line}\n")), "{line}: {named}");
    }
    fails(at, "scan short/1 --summary short/1", b"", 2, &["--summary short/1", "also an input"]);
    // As `dedup` has it, which acts on what is shown.
    let short = succeeds(at, "scan short", b"");
    assert_eq!(short, "1\tkept\t\t9\tshort/1\n1\tcopy\t1.0000\t9\tshort/2\n");
    assert_eq!(nearprint(at, "-q scan short", b"").err, "");
    // Links that are named are followed.
    assert!(!links || groups(&succeeds(at, "scan b/loop a/link", b"")).len() == 1);
}

#[test]
fn what_cannot_be_read_is_told_and_not_the_end() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fails(at, "scan nowhere", b"", 1, &["cannot open", "nowhere"]);
    fails(at, "scan -", b"", 2, &["nearprint dedup -"]);
    fails(at, "scan . --recipe width=512", b"", 2, &["256"]);
    fails(at, "scan . --max-size x", b"", 2, &["512M"]);
    let text = words(1, 300);
    for name in ["a", "b"] {
        write(at, name, text.as_bytes());
    }
    if cfg!(target_os = "linux") {
        // Reading this fails for everybody.
        let outcome = nearprint(at, "scan a b /proc/self/mem", b"");
        assert_eq!((outcome.code, groups(&outcome.out)), (0, vec!["kept a, copy b".to_string()]));
        assert!(outcome.err.contains("warning: cannot read /proc/self/mem"), "{}", outcome.err);
        assert!(
            outcome.err.contains("3 files read: 1 kept, 1 duplicate (1 copy, 0 near)"),
            "{}",
            outcome.err
        );
        assert!(outcome.err.ends_with("skipped: 1 unreadable\n"), "{}", outcome.err);
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no mode bits")]
fn what_nobody_may_read_is_told_and_not_the_end() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text = words(1, 300);
    for name in ["a", "b", "closed/c", "d"] {
        write(at, name, text.as_bytes());
    }
    let close = |name: &str| set_mode(&at.join(name), 0);
    close("closed");
    close("d");
    if fs::read(at.join("d")).is_ok() {
        // The superuser reads everything.
        return;
    }
    let outcome = nearprint(at, "scan .", b"");
    set_mode(&at.join("closed"), 0o700);
    assert_eq!((outcome.code, groups(&outcome.out)), (0, vec!["kept ./a, copy ./b".to_string()]));
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
    assert_eq!(groups(&all).len(), 1);
    assert_eq!(all.lines().count(), 3);
    let near = succeeds(at, "scan . -k 64 --similarity contained:0.9", b"");
    assert_eq!(near, all);
    let equal = succeeds(at, "scan . -k 64 --similarity edit:1", b"");
    assert_eq!(groups(&equal), ["kept ./a.txt, copy ./c.txt"]);
    fails(at, "scan . --similarity cosine:1", b"", 2, &["contained:S"]);
}

/// Pairs below the limit of the recipe were none of the candidates.
#[test]
fn regression_a_measure_of_texts_has_the_candidates_of_its_limit() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for number in 0..60 {
        let text = words(number, 60);
        // 46 of 70 runs of three words are in both.
        let kept = text.split_inclusive(' ').take(48).collect::<String>();
        write(at, &format!("d/{number}a.txt"), text.as_bytes());
        write(at, &format!("d/{number}b.txt"), (kept + &words(1000 + number, 12)).as_bytes());
    }
    let expected = succeeds(at, "scan d --similarity 0.6 --paths", b"");
    assert_eq!(expected.lines().count(), 60);
    for options in ["--similarity jaccard:0.6", "--similarity contained:0.6"] {
        assert_eq!(succeeds(at, &format!("scan d {options} --paths"), b""), expected, "{options}");
    }
}

/// Only fingerprints and features were of the texts as the recipe reads them.
#[test]
fn regression_measures_of_texts_read_them_as_the_recipe_does() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (name, seed) in [("a", 2), ("b", 3)] {
        let text = format!("{}END {}", words(1, 60), words(seed, 200));
        write(at, &format!("d/{name}"), text.as_bytes());
    }
    for similarity in ["0.9", "contained:0.9", "edit:0.9"] {
        let scan = format!("scan d --similarity {similarity} --paths");
        assert_eq!(succeeds(at, &scan, b""), "", "{similarity}");
        let recipe = "--recipe clean=cut:END,detect-html,nfc,lower";
        assert_eq!(succeeds(at, &format!("{scan} {recipe}"), b""), "d/b\n", "{similarity}");
    }
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
    let copies = |line: &str, count: usize, first: &str| {
        let out = succeeds(at, line, b"");
        assert!(out.starts_with(&format!("1\tkept\t\t{}\t{first}\n", text.len())), "{line}: {out}");
        assert_eq!(out.matches("1\tcopy\t1.0000\t").count(), count - 1, "{line}: {out}");
        assert_eq!(out.lines().count(), count, "{line}: {out}");
    };
    let outcome = nearprint(at, "scan .", b"");
    copies("scan .", 2, "./a/kept");
    assert!(outcome.err.contains("skipped: 4 on the list of ignored names"), "{}", outcome.err);
    copies("scan . --no-ignore", 8, "./a/kept");
    copies("scan . --no-ignore --exclude kept --exclude *.lock", 4, "./a/out/1");
    // What is named is read.
    copies("scan a/LICENSE b/license-mit", 2, "a/LICENSE");
    copies("scan . --no-ignore --exclude /b --exclude Cargo.*", 4, "./a/kept");
    copies("scan . --no-ignore --ext lock", 2, "./a/Cargo.lock");
    fails(at, "scan . --exclude a{", b"", 2, &["a pattern of names"]);
}

#[test]
fn groups_are_what_dedup_removes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let files = some_files(at);
    succeeds(at, "dedup d -o kept.txt --duplicates gone.tsv --similarity 0.96", b"");
    let gone = duplicates(at, "gone.tsv");
    let mut expected: Vec<(String, String)> = Vec::new();
    for line in gone.lines() {
        let mut cells = line.split('\t').map(String::from);
        expected.push((cells.next().unwrap(), cells.next().unwrap()));
    }
    expected.sort_unstable();
    assert!(expected.len() > 40 && expected.len() < files.len() / 3 * 2, "{}", expected.len());
    let mut found: Vec<(String, String)> = Vec::new();
    for line in succeeds(at, "scan d --json --similarity 0.96", b"").lines() {
        let group: serde_json::Value = serde_json::from_str(line).unwrap();
        let path = |member: &serde_json::Value| member["path"].as_str().unwrap().to_string();
        let members = group["files"].as_array().unwrap();
        found.extend(members[1..].iter().map(|member| (path(member), path(&members[0]))));
    }
    found.sort_unstable();
    assert_eq!(found, expected);
}

/// A folder as people have them, and what is in it beside files.
fn mixed_folder(at: &Path) -> Vec<&'static str> {
    let text = words(1, 300);
    let odd = if cfg!(windows) { "d/line feed.txt" } else { "d/line\nfeed.txt" };
    for name in ["d/a.md", "d/s/b.json", "d/c.csv", odd] {
        write(at, name, text.as_bytes());
    }
    let mut page = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut page, format!("<p>{text}").as_bytes()).unwrap();
    write(at, "d/e.html.gz", &page.finish().unwrap());
    write(at, "d/t.parquet", b"PAR1\0\0");
    write(at, "d/broken.gz", b"\x1f\x8b\x08\0");
    let mut others = Vec::new();
    if can_link() {
        symlink(at.join("d/a.md"), at.join("d/link")).unwrap();
        others.push("1 link (d/link)");
    }
    if cfg!(unix) {
        make_pipe(&at.join("d/pipe"));
        others.push("1 pipe, socket or device (d/pipe)");
    }
    others
}

#[test]
fn scan_and_dedup_see_the_same_files() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let others = mixed_folder(at);
    let mut left_out = "skipped: 1 Parquet, 1 unreadable\n".to_string();
    if !others.is_empty() {
        left_out += &format!("not counted: {}\n", others.join(", "));
    }
    let scanned = nearprint(at, "scan d --json", b"");
    assert!(scanned.err.ends_with(&left_out) && scanned.err.contains("broken.gz"), "{}", scanned.err);
    assert!(scanned.out.contains(r#""count":5,"#), "{}", scanned.out);
    let on_disk = fs::metadata(at.join("d/e.html.gz")).unwrap().len();
    assert!(
        scanned.out.contains(&format!(r#"d/e.html.gz","bytes":{on_disk},"copy":false"#)),
        "{}",
        scanned.out
    );
    let deduplicated = nearprint(at, "dedup d -o kept.txt --duplicates gone.tsv", b"");
    assert_eq!(deduplicated.code, 0);
    assert!(
        deduplicated.err.contains(&left_out) && deduplicated.err.contains("broken.gz"),
        "{}",
        deduplicated.err
    );
    assert_eq!(read(at, "kept.txt"), "d/a.md\n");
    assert_eq!(duplicates(at, "gone.tsv").lines().count(), 4);
    for options in ["--ext json,csv", "--exclude *.md --exclude *.gz --exclude line*"] {
        // Files of records are documents only if something else is beside them, or if that is said.
        fails(at, &format!("dedup d -o few.txt {options}"), b"", 2, &["have to be of one kind"]);
        succeeds(at, &format!("dedup d -o few.txt --input-format text {options}"), b"");
        assert_eq!(read(at, "few.txt"), "d/c.csv\n", "{options}");
        assert_eq!(
            groups(&succeeds(at, &format!("scan d {options}"), b"")),
            ["kept d/c.csv, copy d/s/b.json"]
        );
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no such names")]
fn lists_hold_names_with_line_feeds_between_zero_bytes() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (seed, name) in [(1, "d/a"), (2, "d/line\nfeed"), (3, "d/z")] {
        write(at, name, words(seed, 300).as_bytes());
    }
    let lines = nearprint(at, "dedup d -o kept.txt", b"");
    assert_eq!(fs::read(at.join("kept.txt")).unwrap(), b"d/a\nd/z\n");
    assert!(
        lines.err.contains("lacks names with a line feed: d/line\\nfeed; -0 lists them"),
        "{}",
        lines.err
    );
    succeeds(at, "dedup d -o kept.nul -0 --db seen.np", b"");
    assert_eq!(fs::read(at.join("kept.nul")).unwrap(), b"d/a\0d/line\nfeed\0d/z\0");
    succeeds(
        at,
        "dedup d -0 -o compared.nul --min-words 1000 --rejects short.nul --similarity contained:0.5",
        b"",
    );
    assert_eq!(fs::read(at.join("short.nul")).unwrap(), b"d/a\0d/line\nfeed\0d/z\0");
    succeeds(at, "dedup d -o compared.txt --similarity contained:0.5", b"");
    assert_eq!(fs::read(at.join("compared.txt")).unwrap(), b"d/a\nd/z\n");
}

/// A report in a scanned folder is written again and again, but takes no file of the folder.
#[test]
fn regression_a_report_took_the_place_of_a_scanned_file() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("docs")).unwrap();
    for name in ["a.md", "b.md"] {
        fs::write(at.join("docs").join(name), "one two three four five six").unwrap();
    }
    fs::write(at.join("docs/notes.json"), "{\"mine\": 1}").unwrap();
    for command in ["scan docs", "dedup docs -o kept.txt --duplicates gone.tsv"] {
        for option in [
            "--report docs/a.md",
            "--report docs/notes.json",
            "--summary docs/b.md",
            "--summary docs/notes.json",
        ] {
            let name = option.split_once(' ').unwrap().1;
            fails(at, &format!("{command} {option}"), b"", 2, &[name, "choose another name"]);
        }
        for _ in 0..2 {
            succeeds(at, &format!("{command} --report docs/near.html --summary docs/counts.json"), b"");
        }
    }
    assert_eq!(fs::read(at.join("docs/a.md")).unwrap(), b"one two three four five six");
    assert_eq!(fs::read(at.join("docs/notes.json")).unwrap(), b"{\"mine\": 1}");
}

#[test]
fn paths_are_printed_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (odd, shown) = if cfg!(windows) { ("odd copy", "odd copy") } else { ("odd\ncopy", "odd\\ncopy") };
    for (name, seed) in [("d/a", 1), (&format!("d/{odd}"), 1), ("d/alone", 2), ("d/other\u{e9}", 3)] {
        write(at, name, words(seed, 100).as_bytes());
    }
    let printed = |options: &str| succeeds(at, &format!("scan d {options}"), b"").replace('\\', "/");
    let slash = |text: &str| text.replace('\\', "/");
    assert_eq!(printed("--paths -0"), format!("d/{odd}\0"));
    assert_eq!(printed("--paths"), slash(&format!("d/{shown}\n")));
    assert_eq!(groups(&printed("")), [slash(&format!("kept d/a, copy d/{shown}"))]);
    assert_eq!(printed("--unique"), "d/alone\nd/other\u{e9}\n");
    assert_eq!(printed("--unique -0"), "d/alone\0d/other\u{e9}\0");
    assert_eq!(printed("--paths -0 --limit 0"), "");
    write(at, &format!("d/{odd}"), words(9, 100).as_bytes());
    assert_eq!(printed("--unique"), slash(&format!("d/a\nd/alone\nd/{shown}\nd/other\u{e9}\n")));
    fails(at, "scan d --unique --json", b"", 2, &["--json"]);
    fails(at, "scan d -0", b"", 2, &["--paths or --unique"]);
}

/// `--unique` left out every file that is compared byte for byte, and with `--copies` it printed nothing.
#[test]
fn regression_unique_files_are_those_that_have_no_copy_too() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write(at, "d/alone.txt", words(1, 100).as_bytes());
    for (name, bytes) in
        [("d/one.bin", b"\0\x01\xff"), ("d/other.bin", b"\0\x01\xff"), ("d/z.bin", b"\0\x02\xff")]
    {
        write(at, name, bytes);
    }
    for options in ["", " --copies"] {
        let printed = succeeds(at, &format!("scan d --unique{options}"), b"").replace('\\', "/");
        assert_eq!(printed, "d/alone.txt\nd/z.bin\n", "{options}");
    }
}
