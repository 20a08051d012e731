//! `nearprint prune --list`: files that were chosen in a report.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cli::{Outcome, fails, nearprint, slashes, succeeds};

const COLUMNS: &str = "path\tkept\tsimilarity\tstate\tkept_state\n";

/// A file, its copy, and one that is near them.
fn folder(at: &Path) {
    fs::create_dir_all(at.join("d/s")).unwrap();
    let text: String = (0..200).map(|word| format!("word{word} ")).collect();
    for (name, text) in [("a.txt", text.clone()), ("s/b.txt", text.clone()), ("c.txt", text + "more")] {
        fs::write(at.join("d").join(name), text).unwrap();
    }
}

/// What a page knows of files, by their names: the picture, the state, and whether the file stays.
fn files(page: &Path) -> BTreeMap<String, Value> {
    let page = fs::read_to_string(page).unwrap();
    let block = |class: &str| -> Value {
        let start = format!(r#"<script type="application/json" class="{class}">"#);
        serde_json::from_str(page.split(&start).nth(1).unwrap().split("</script").next().unwrap()).unwrap()
    };
    let text = |value: &Value| slashes(value.as_str().unwrap());
    let names = block("list")["names"].clone();
    let groups = block("members");
    let mut found = BTreeMap::new();
    for (group, name) in groups.as_array().unwrap().iter().zip(names.as_array().unwrap()) {
        found.insert(text(name), group[2].clone());
        for member in group[1].as_array().unwrap() {
            found.insert(text(&member[0]), member[5].clone());
        }
    }
    found
}

/// The states of files that a page has, by their names.
fn states(page: &Path) -> BTreeMap<String, String> {
    files(page).into_iter().map(|(name, file)| (name, file[1].as_str().unwrap().into())).collect()
}

/// Writes a list of files below `d`, each with the one that is kept.
fn choose(at: &Path, lines: &[(&str, &str)]) {
    fs::write(at.join("list.tsv"), list(at, "d", lines)).unwrap();
}

/// A list of files below a folder, each with the one that is kept, as a page of `scan` saves it.
pub fn list(at: &Path, folder: &str, lines: &[(&str, &str)]) -> String {
    succeeds(at, &format!("scan {folder} --report page.html"), b"");
    let states = states(&at.join("page.html"));
    let line = |(path, kept): &(&str, &str)| {
        format!("{folder}/{path}\t{folder}/{kept}\t\t{}\t{}\n", states[*path], states[*kept])
    };
    COLUMNS.to_string() + &lines.iter().map(line).collect::<String>()
}

fn prune(at: &Path, options: &str) -> Outcome {
    nearprint(at, &format!("prune --list list.tsv {options}"), b"")
}

#[test]
fn what_was_chosen_is_moved_and_comes_back() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    choose(at, &[("a.txt", "c.txt"), ("s/b.txt", "c.txt")]);
    let dry = prune(at, "--move-to gone --dry-run");
    assert!(dry.code == 0 && dry.err.contains("2 files, 0 of them copies"), "{}", dry.err);
    assert!(dry.out.lines().all(|line| line.contains("\t\tfalse\t")), "no similarity is known: {}", dry.out);
    let moved = prune(at, "--move-to gone");
    assert!(moved.code == 0 && moved.err.contains("2 files"), "{}", moved.err);
    assert!(
        !at.join("d/a.txt").exists() && at.join("gone/d/s/b.txt").exists() && at.join("d/c.txt").exists()
    );
    let undone = nearprint(at, "undo gone/nearprint-undo.tsv", b"");
    assert!(undone.err.contains("2 files restored") && at.join("d/s/b.txt").exists(), "{}", undone.err);

    // Links take the place of equal files only.
    choose(at, &[("c.txt", "a.txt"), ("s/b.txt", "a.txt")]);
    let linked = prune(at, "--hardlink");
    assert!(linked.err.contains("1 file, 1 of them copies"), "{}", linked.err);
}

/// A page of `dedup` has the states of files, too.
#[test]
fn pages_of_dedup_have_states() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    succeeds(at, "scan d --report scan.html", b"");
    succeeds(at, "dedup d -o kept.txt --duplicates gone.tsv --report dedup.html", b"");
    let whole: BTreeMap<_, _> =
        states(&at.join("scan.html")).into_iter().map(|(name, state)| (format!("d/{name}"), state)).collect();
    assert_eq!(states(&at.join("dedup.html")), whole);
    // Records are no files.
    fs::write(at.join("in.jsonl"), "{\"text\":\"one two three\"}\n".repeat(2)).unwrap();
    succeeds(at, "dedup in.jsonl -o out.jsonl --duplicates out.tsv --report records.html", b"");
    assert!(!fs::read_to_string(at.join("records.html")).unwrap().contains("data-root"));
}

/// A file that an earlier run had kept had the state of what has its name now, and `prune --list` deleted the only copy.
#[test]
fn regression_a_page_marks_nothing_that_is_near_what_only_an_earlier_run_has_read() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let text: String = (0..200).map(|word| format!("word{word} ")).collect();
    for folder in ["x", "y"] {
        fs::create_dir(at.join(folder)).unwrap();
        fs::write(at.join(folder).join("a.txt"), &text).unwrap();
    }
    for (first, second) in [
        ("x -o 1.txt --db seen.np", "x y -o 2.txt --db seen.np --report page.html"),
        ("x -o 1.txt --db old.np", "x y -o 2.txt --against old.np --report page.html"),
        ("x -o 1.txt --db new.np", "x y -o 2.txt --db new.np --keep first --report page.html"),
    ] {
        fs::write(at.join("x/a.txt"), &text).unwrap();
        succeeds(at, &format!("dedup {first}"), b"");
        fs::write(at.join("x/a.txt"), "something else was written here today").unwrap();
        succeeds(at, &format!("dedup {second}"), b"");
        let shown = files(&at.join("page.html"));
        assert!(shown["x/a.txt"][1].is_null() && shown["y/a.txt"][1].is_null(), "{second}: {shown:?}");
    }
    // What is read to be compared with is there.
    fs::write(at.join("x/a.txt"), &text).unwrap();
    for keep in ["first", "longest"] {
        succeeds(at, &format!("dedup y -o 3.txt --against x --keep {keep} --report page.html"), b"");
        let shown = files(&at.join("page.html"));
        assert!(shown["x/a.txt"][1].is_string() && shown["y/a.txt"][1].is_string(), "{keep}: {shown:?}");
    }
    // A record is no file, whatever its key.
    if cfg!(unix) {
        fs::write(at.join("refs.jsonl"), format!("{{\"text\":\"{text}\"}}\n")).unwrap();
        fs::write(at.join("refs.jsonl:1"), "something else was written here today").unwrap();
        succeeds(at, "dedup refs.jsonl:1 y -o 4.txt --against refs.jsonl --report page.html", b"");
        let shown = files(&at.join("page.html"));
        assert!(shown["refs.jsonl:1"][1].is_null() && shown["y/a.txt"][1].is_null(), "{shown:?}");
    }
}

/// The page marked the unique file whose name is shown like that of a near one, which is no UTF-8, and `prune --list`
/// deleted it. The list of duplicates compared the bytes of one with those of the other.
#[cfg(target_os = "linux")]
#[test]
fn regression_a_name_that_is_no_utf8_does_not_stand_for_another_file() {
    use std::os::unix::ffi::OsStrExt;
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("x")).unwrap();
    let text: String = (0..200).map(|word| format!("word{word} ")).collect();
    let unclear = Path::new(std::ffi::OsStr::from_bytes(b"c\xff.txt"));
    for (name, text) in [
        (Path::new("a.txt"), &text),
        (unclear, &text),
        (Path::new("c\u{fffd}.txt"), &"a unique text of some words".to_string()),
        (Path::new("d.txt"), &(text.clone() + "more")),
    ] {
        fs::write(at.join("x").join(name), text).unwrap();
    }
    let dedup = "dedup x -o kept.txt --keep first --duplicates gone.tsv --report page.html";
    succeeds(at, dedup, b"");
    let shown = files(&at.join("page.html"));
    assert!(shown["x/c\u{fffd}.txt"][1].is_null() && shown["x/d.txt"][1].is_string(), "{shown:?}");
    let copies = |name: &str| {
        let gone = fs::read_to_string(at.join("gone.tsv")).unwrap();
        let line = gone.lines().find(|line| line.starts_with(name)).unwrap().to_string();
        line.split('\t').nth(5).unwrap().to_string()
    };
    assert_eq!([copies("x/c"), copies("x/d")], ["true", "false"]);
    // What is kept is one of two.
    fs::remove_file(at.join("x/a.txt")).unwrap();
    fs::write(at.join("x/d.txt"), &text).unwrap();
    succeeds(at, dedup, b"");
    let shown = files(&at.join("page.html"));
    assert!(shown["x/c\u{fffd}.txt"][1].is_null() && shown["x/d.txt"][1].is_null(), "{shown:?}");
    assert_eq!(copies("x/d"), "");
    fs::remove_file(at.join("x/c\u{fffd}.txt")).unwrap();
    succeeds(at, dedup, b"");
    assert_eq!(copies("x/d"), "true");
}

/// "Mark all but the first" marked the ends of chains, and keys marked references: `prune --list` removed files that
/// `scan` keeps.
#[test]
fn regression_a_page_marks_only_what_may_go() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    for (name, first) in [("a.txt", 0), ("b.txt", 20), ("c.txt", 40)] {
        let text: String = (first..first + 200).map(|word| format!("word{word} ")).collect();
        fs::write(at.join("d").join(name), text).unwrap();
    }
    succeeds(at, "scan d --chains --report page.html", b"");
    let shown = files(&at.join("page.html"));
    assert!(shown["a.txt"][1].is_string() && shown["b.txt"][1].is_string(), "{shown:?}");
    assert!(shown["a.txt"][2].is_null(), "the first file may be marked: {shown:?}");
    assert!(shown.contains_key("c.txt") && shown["c.txt"][1].is_null(), "{shown:?}");
    succeeds(at, "scan d --chains --reference d/a.txt --report page.html", b"");
    let shown = files(&at.join("page.html"));
    assert!(shown["d/a.txt"][1].is_string() && shown["d/a.txt"][2] == true, "{shown:?}");
    succeeds(at, "scan d --chains --reference d/b.txt --reference d/a.txt --report page.html", b"");
    let shown = files(&at.join("page.html"));
    assert!(shown["d/a.txt"][2] == true && shown["d/b.txt"][1].is_null(), "{shown:?}");
}

#[test]
fn what_has_changed_since_the_report_stays() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    choose(at, &[("a.txt", "c.txt"), ("s/b.txt", "c.txt")]);
    fs::write(at.join("d/s/b.txt"), "another text").unwrap();
    let moved = prune(at, "--move-to gone");
    assert!(moved.err.contains("was left alone") && moved.err.contains("b.txt has changed"), "{}", moved.err);
    assert!(moved.err.contains("1 file, 0 of them"), "{}", moved.err);
    assert!(at.join("d/s/b.txt").exists() && !at.join("d/a.txt").exists());
    // The kept file, and one that is not there any more.
    fs::write(at.join("d/c.txt"), "another text").unwrap();
    let nothing = prune(at, "--delete");
    assert!(nothing.code == 1 && nothing.err.contains("0 files"), "{}", nothing.err);
    assert!(at.join("d/c.txt").exists() && !at.join("nearprint-undo.tsv").exists());
}

#[test]
fn lists_that_lose_a_file_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    folder(at);
    for (lines, expected) in [
        (&[("a.txt", "c.txt"), ("c.txt", "a.txt")][..], "list.tsv:2: d/a.txt is the file that line 3 keeps"),
        (&[("a.txt", "a.txt")], "list.tsv:2: d/a.txt is the file that line 2 keeps"),
        (&[("a.txt", "c.txt"), ("a.txt", "s/b.txt")], "list.tsv:3: line 2 has d/a.txt, too"),
    ] {
        choose(at, lines);
        fails(at, "prune --list list.tsv --delete", b"", 5, &[expected]);
    }
    fs::write(at.join("list.tsv"), COLUMNS.to_string() + "d/a.txt\td/c.txt\n").unwrap();
    fails(at, "prune --list list.tsv --delete", b"", 5, &["list.tsv:2: 2 columns, expected 5"]);
    fs::write(at.join("list.tsv"), COLUMNS.to_string() + "d/a.txt\td/c.txt\tmuch\t\t\n").unwrap();
    fails(
        at,
        "prune --list list.tsv --delete",
        b"",
        5,
        &["list.tsv:2: the similarity \"much\" is not a number"],
    );
    fs::write(at.join("list.tsv"), "d/a.txt\td/c.txt\n").unwrap();
    fails(at, "prune --list list.tsv --delete", b"", 5, &["list.tsv:1: expected a header: path kept"]);
    fails(at, "prune --list list.tsv", b"", 2, &["--move-to <DIR>|--hardlink|--reflink|--delete"]);
    fails(at, "prune --list none.tsv --delete", b"", 1, &["none.tsv"]);
    assert!(at.join("d/a.txt").exists() && at.join("d/c.txt").exists());
}

/// A kept picture that only a database remembers had a state without the identity of its file, and `prune --list` took
/// it for another one.
#[cfg(feature = "images")]
#[test]
fn regression_a_remembered_picture_is_the_one_of_the_report() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for folder in ["old", "new"] {
        fs::create_dir(at.join(folder)).unwrap();
        crate::pictures::scene(3, 320, 240).save(at.join(folder).join("a.png")).unwrap();
    }
    succeeds(at, "scan old --db p.np", b"");
    succeeds(at, "scan new --db p.np --report page.html", b"");
    let states = states(&at.join("page.html"));
    let of = |end: &str| states.iter().find(|(name, _)| name.ends_with(end)).unwrap();
    let ((new, new_state), (old, old_state)) = (of("new/a.png"), of("old/a.png"));
    let line = format!("{new}\t{old}\t1\t{new_state}\t{old_state}\n");
    fs::write(at.join("list.tsv"), COLUMNS.to_string() + &line).unwrap();
    let moved = prune(at, "--move-to gone");
    assert!(moved.err.contains("1 file, 1 of them copies"), "{}", moved.err);
    assert!(at.join("old/a.png").exists() && !at.join("new/a.png").exists());
}
