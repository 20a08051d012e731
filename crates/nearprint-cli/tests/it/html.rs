//! Which documents are compared by what a reader sees: names, beginnings, recipes and commands.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::cli::{duplicates, groups, nearprint, succeeds};

const VISIBLE: &str = "one two three four five six";
const SCRIPTS: [&str; 2] =
    ["let id = 1; for (let i = 0; i < 9; i++) open(i)", "function pay(x) { return total + x * 1.19 }"];

fn page(begin: &str, script: &str) -> String {
    format!("{begin}<script>{script}</script><p>{VISIBLE}</p>")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        let file = fs::File::create(path).unwrap();
        let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

/// Whether two files of other scripts are near, for each command.
fn near(at: &Path, end: &str, options: &str) -> [bool; 4] {
    let compared = nearprint(at, &format!("compare d/a{end} d/b{end} {options}"), b"");
    let scanned = succeeds(at, &format!("scan d {options}"), b"");
    let pruned = succeeds(at, &format!("prune d --move-to gone -n {options}"), b"");
    let kept = nearprint(at, &format!("dedup d -o - {options}"), b"").out;
    [compared.code == 0, groups(&scanned).len() == 1, pruned.lines().count() == 1, kept.lines().count() == 1]
}

#[test]
fn regression_pages_are_known_by_name_beginning_and_recipe_for_each_command() {
    let names = [".html", ".HTM.gz", ".txt", "", ".svelte", ".php.gz", ".TSX"];
    for end in names {
        for begin in ["<!doctype html>", "<html>", "", "Words first. "] {
            let home = tempfile::tempdir().unwrap();
            let at = home.path();
            let files = ["a", "b"].map(|name| at.join(format!("d/{name}{end}")));
            files.iter().zip(SCRIPTS).for_each(|(path, script)| write(path, &page(begin, script)));
            let is_named = end.to_ascii_lowercase().contains("htm");
            let is_begun = begin.starts_with('<') && (end.is_empty() || end == ".txt");
            for (clean, is_page) in [
                ("", is_named || is_begun),
                ("--recipe clean=nfc,lower", false),
                ("--recipe clean=html,nfc,lower", true),
            ] {
                assert_eq!(near(at, end, clean), [is_page; 4], "{end} {begin} {clean}");
            }
            assert_eq!(near(at, end, "--similarity 1"), [false; 4], "{end} {begin}");
        }
    }
}

#[test]
fn regression_similarity_1_never_equates_pages_of_other_scripts() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (one, other, is_near) in [
        (page("<html>", SCRIPTS[0]), page("<html>\n", SCRIPTS[0]), true),
        (page("<html>", SCRIPTS[1]), page("<html>", SCRIPTS[0]), false),
        ("a b c d a b c d".into(), "a b c d a b c d a b c d".into(), true),
        ("Ein s\u{e4}tzchen".into(), "ein  sa\u{308}tzchen!".into(), true),
    ] {
        write(&at.join("d/a"), &one);
        write(&at.join("d/b"), &other);
        assert_eq!(near(at, "", "--similarity 1"), [is_near; 4], "{one} {other}");
        write(&at.join("in.jsonl"), &records(&[&one, &other]));
        for more in [
            "--similarity 1 --db features.np",
            "--similarity contained:1 --db texts.np",
            "--similarity 1 --keep longest",
        ] {
            let kept = nearprint(at, &format!("dedup in.jsonl -o - {more}"), b"").out;
            // Texts are compared by their visible words.
            let expected = if is_near || more.contains("contained") { 1 } else { 2 };
            assert_eq!(kept.lines().count(), expected, "{more}: {one} {other}");
        }
        ["features.np", "texts.np"].iter().for_each(|db| fs::remove_dir_all(at.join(db)).unwrap());
    }
}

fn records(texts: &[&str]) -> String {
    texts.iter().map(|text| format!("{}\n", serde_json::json!({ "text": text }))).collect()
}

#[test]
fn regression_identical_pages_are_copies_where_nothing_is_visible() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let [one, other] = SCRIPTS.map(|script| format!("<!doctype html><script>{script}</script>"));
    let texts = [("a.html", &one), ("b.html", &one), ("c.html", &other)];
    texts.iter().for_each(|(name, text)| write(&at.join("d").join(name), text));
    assert_eq!(groups(&succeeds(at, "scan d", b"")), ["kept d/a.html, copy d/b.html"]);
    for options in ["", "--copies", "--similarity 1"] {
        let pruned = succeeds(at, &format!("prune d {options} --move-to gone -n"), b"");
        assert_eq!(pruned.lines().count(), 1, "{options}: {pruned}");
    }
    let line = records(&texts.map(|(_, text)| &**text));
    fs::write(at.join("in.jsonl"), line).unwrap();
    for options in ["", "--similarity 1", "--keep longest", "--recipe exact", "--db seen.np"] {
        for input in ["d", "in.jsonl"] {
            let db =
                if options.contains("--db") { "--db ".to_string() + input + ".np" } else { options.into() };
            let done = nearprint(at, &format!("dedup {input} -o kept --duplicates gone {db}"), b"");
            assert!(done.err.contains("(1 copy, 0 near)"), "{input} {db}: {}", done.err);
            let gone = duplicates(at, "gone");
            assert_eq!(gone.lines().next().unwrap().split('\t').nth(5), Some("true"), "{input} {db}: {gone}");
        }
    }
    assert_eq!(nearprint(at, "compare d/a.html d/b.html", b"").code, 0);
    assert_eq!(nearprint(at, "compare d/a.html d/c.html", b"").code, 6);
}

#[test]
fn regression_exact_copies_of_pages_have_the_same_markup() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let pages = [page("<html>", SCRIPTS[0]), page("<html>", SCRIPTS[1]), page("<html>\n", SCRIPTS[0])];
    fs::write(at.join("in.jsonl"), records(&pages.each_ref().map(|page| &**page))).unwrap();
    for options in ["", "--keep longest", "--db seen.np"] {
        let done = nearprint(at, &format!("dedup in.jsonl -o kept {options}"), b"");
        assert!(done.err.contains("(1 copy, 1 near)"), "{options}: {}", done.err);
    }
}
