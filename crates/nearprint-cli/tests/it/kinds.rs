//! What each kind of file is for the commands: read, refused with the right command, or left out and counted.

use std::fs;
use std::path::Path;

use crate::cli::{Outcome, fails, groups, nearprint, succeeds};
#[cfg(feature = "images")]
use crate::pictures::scene;

const QUESTION: &str =
    "A farmer has fifteen sheep and all but eight of them die in winter; how many are left in spring?";
const FRENCH: &str =
    "Le garçon était très fatigué après la fête, mais le café a été fermé à l'été, et la forêt brûlait";

fn write(at: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = at.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A text of words that a number makes.
fn words(of: &[&str], seed: usize, count: usize) -> String {
    (0..count).map(|at| format!("{} ", of[(seed + at * at * 7 + at * seed * 3) % of.len()])).collect()
}

fn latin(text: &str) -> Vec<u8> {
    text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()
}

/// Russian letters of Windows-1251.
fn cp1251(text: &str) -> Vec<u8> {
    let byte = |c: char| match u32::from(c) {
        code @ 0x410..=0x44f => u8::try_from(code - 0x350).unwrap(),
        code => u8::try_from(code).unwrap(),
    };
    text.chars().map(byte).collect()
}

fn utf_16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// A letter as programs write it: the text is compressed, everything around it is the same.
fn pdf(seed: usize) -> Vec<u8> {
    let objects: String =
        (0..30).map(|at| format!("{at} 0 obj <</Type /Font /Name /F{at}>> endobj\n")).collect();
    format!("%PDF-1.4\n{objects}stream\n{:x}\nendstream\n%%EOF\n", seed * 0x9e37_79b9).into_bytes()
}

const RUSSIAN: [&str; 12] = [
    "время",
    "человек",
    "дело",
    "жизнь",
    "день",
    "рука",
    "работа",
    "слово",
    "место",
    "вопрос",
    "лицо",
    "друг",
];

#[test]
fn regression_different_texts_in_an_old_encoding_are_not_near() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for seed in [1, 2] {
        let times = |line: usize| format!("{line}\n00:00:{line:02},000 --> 00:00:{line:02},900\n");
        let subtitles: String =
            (0..40).map(|line| times(line) + &words(&RUSSIAN, seed * 31 + line * 17, 9) + "\n\n").collect();
        write(at, &format!("films/{seed}.srt"), cp1251(&subtitles));
    }
    let scanned = nearprint(at, "scan films", b"");
    assert_eq!(scanned.out, "", "{}", scanned.err);
    assert!(scanned.err.contains("texts in other encodings than UTF-8: 2 windows-1251"), "{}", scanned.err);
    let given = nearprint(at, "scan films --encoding koi8-r", b"");
    assert!(given.err.contains("2 KOI8-R"), "{}", given.err);
    fails(at, "scan films --encoding nothing", b"", 2, &["not the name of an encoding"]);
    succeeds(at, "prune films --delete --undo-list undo.tsv", b"");
    assert_eq!(fs::read_dir(at.join("films")).unwrap().count(), 2);
}

#[test]
fn regression_records_of_standard_input_were_read_without_their_encoding() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let texts: String = (1..9).map(|seed| words(&RUSSIAN, seed * 31, 9) + "\n").collect();
    for (format, name) in [("csv", "a.csv"), ("lines", "a.list")] {
        let bytes = cp1251(&format!("text\n{texts}"));
        write(at, name, &bytes);
        let of_file = succeeds(at, &format!("fingerprint {name} --input-format {format}"), b"");
        let of_stream = succeeds(at, &format!("fingerprint - --input-format {format}"), &bytes);
        assert_eq!(of_stream.replace("\t-:", &format!("\t{name}:")), of_file, "{format}");
        succeeds(at, &format!("dedup - --input-format {format} -o kept-{name}"), &bytes);
        assert_eq!(fs::read(at.join(format!("kept-{name}"))).unwrap(), bytes, "{format}");
    }
}

#[test]
fn regression_a_text_is_near_itself_in_another_encoding_and_no_copy() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write(at, "t/a.txt", FRENCH);
    write(at, "t/b.txt", latin(FRENCH));
    write(at, "t/c.txt", utf_16(FRENCH));
    let scanned = nearprint(at, "scan t", b"");
    assert_eq!(groups(&scanned.out).len(), 1, "{}{}", scanned.out, scanned.err);
    assert_eq!(scanned.out.matches("\tnear\t1.0000\t").count(), 2, "{}", scanned.out);
    assert!(scanned.err.contains("(0 copies, 2 near) in 1 group"), "{}", scanned.err);
    for other in ["b", "c"] {
        let compared = succeeds(at, &format!("compare t/a.txt t/{other}.txt --format json"), b"");
        assert!(compared.contains("\"distance\":0"), "{compared}");
        let given = format!("compare t/{other}.txt - --encoding latin1");
        succeeds(at, &given, &fs::read(at.join(format!("t/{other}.txt"))).unwrap());
        // A passage of it is found, too.
        let line = format!("decontaminate t/{other}.txt --against t/a.txt -o clean-{other}.txt");
        let cleaned = nearprint(at, &line, b"");
        assert!(cleaned.err.contains("1 record read: 0 kept, 1 left out"), "{}", cleaned.err);
    }
    let done = nearprint(at, "dedup t -o kept.txt --summary counts.json", b"");
    assert!(done.err.contains("3 records read: 1 kept, 2 duplicates"), "{}", done.err);
    succeeds(at, "dedup t/a.txt -o kept-2.txt --db seen.np", b"");
    assert!(succeeds(at, "query seen.np t/b.txt", b"").ends_with("\tt/a.txt\t1.0000\n"));
}

#[test]
fn regression_different_pdfs_are_not_near_and_copies_of_them_are_found() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    (0..5).for_each(|seed| write(at, &format!("d/{seed}.pdf"), pdf(seed)));
    write(at, "d/copy.pdf", pdf(0));
    let scanned = nearprint(at, "scan d --verbose", b"");
    assert_eq!(groups(&scanned.out), ["kept d/0.pdf, copy d/copy.pdf"]);
    assert!(
        scanned.err.contains("6 files read: 1 kept, 1 duplicate (1 copy, 0 near) in 1 group, 4 skipped"),
        "{}",
        scanned.err
    );
    assert!(
        scanned.err.contains("not compared: 6 pdf; 2 of these are in groups of copies\n"),
        "{}",
        scanned.err
    );
    fails(at, "dedup d -o kept.txt", b"", 5, &["nothing to compare", "6 pdf", "pdftotext FILE -"]);
    fails(at, "dedup d/1.pdf d/2.pdf -o kept.txt", b"", 5, &["2 pdf"]);
    fails(at, "fingerprint d/1.pdf", b"", 5, &["1 pdf"]);
    fails(at, "compare d/1.pdf d/2.pdf", b"", 5, &["d/1.pdf", "is pdf, and no text", "pdftotext"]);
    write(at, "note.txt", "one two three");
    fails(at, "decontaminate note.txt --against d/1.pdf -o x.txt", b"", 5, &["1 pdf"]);
    let both = nearprint(at, "dedup d note.txt -o kept.txt", b"");
    assert!(
        both.code == 0
            && both.err.contains("7 records read: 1 kept, 0 duplicates, 6 skipped")
            && both.err.contains("skipped: 6 pdf"),
        "{}",
        both.err
    );
    // Nothing to read is no error.
    write(at, "empty/1.txt", "");
    assert_eq!(nearprint(at, "dedup empty -o kept-2.txt", b"").code, 0);
}

#[test]
fn regression_texts_that_begin_with_a_tag_are_no_pages() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rest = "</script>\n<h1>Hello to all of you</h1>\n<p>This is the page</p>\n";
    write(at, "c/a.svelte", format!("<script>\nlet id = 1;\nfor (let i = 0; i < 9; i++) open(i);\n{rest}"));
    write(
        at,
        "c/b.svelte",
        format!("<script>\nlet total = 0;\nfunction pay(x) {{ return total + x * 1.19 }}\n{rest}"),
    );
    assert_eq!(succeeds(at, "scan c", b""), "");
    let component = "<script>\nlet id = 1;\nfor (let i = 0; i < 9; i++) open(i);\n</script>\n";
    ["1", "2"].iter().for_each(|name| write(at, &format!("e/{name}.vue"), component));
    assert_eq!(groups(&succeeds(at, "scan e", b"")), ["kept e/1.vue, copy e/2.vue"]);
    let page =
        |script: &str| format!("<!doctype html><script>{script}</script><p>one two three four five six");
    write(at, "p/1.txt", page("let a"));
    write(at, "p/2.txt", page("open()"));
    assert_eq!(succeeds(at, "scan p", b"").matches("\tnear\t1.0000\t").count(), 1);
}

#[test]
fn regression_files_beside_records_are_left_out() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write(at, "ev/test.csv", format!("id,text\n1,\"{QUESTION}\"\n"));
    write(at, "ev/README.md", "# Data card");
    write(at, "ev/_SUCCESS", "");
    write(at, "train.jsonl", format!("{{\"text\": \"Some words before. {QUESTION} And after.\"}}\n"));
    let cleaned = nearprint(at, "decontaminate train.jsonl --against ev -o clean.jsonl", b"");
    assert!(cleaned.err.contains("1 record read: 0 kept, 1 left out"), "{}", cleaned.err);
    assert!(cleaned.err.contains("2 files beside the records (ev"), "{}", cleaned.err);
    let done = nearprint(at, "dedup ev ev/test.csv -o out.csv --key-field id", b"");
    assert!(done.code == 0 && done.err.contains("1 record read: 1 kept"), "{}", done.err);
    write(at, "ev/more.jsonl", "{\"text\": \"one\"}\n");
    fails(at, "dedup ev -o out.jsonl", b"", 2, &["more.jsonl is JSON lines", "test.csv is CSV"]);
    succeeds(at, "dedup ev -o out.jsonl --ext jsonl", b"");
}

#[test]
fn regression_json_lines_are_known_under_any_name() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let lines = format!("{{\"text\": \"{QUESTION}\"}}\n").repeat(2);
    for name in ["items.jl", "items.jsonlines", "items.ldjson", "part-00000", "log.json.1", "items.txt"] {
        write(at, name, &lines);
        let done = nearprint(at, &format!("dedup {name} -o {name}.out"), b"");
        assert!(done.err.contains("2 records read: 1 kept"), "{name}: {}", done.err);
        assert_eq!(fs::read_to_string(at.join(format!("{name}.out"))).unwrap(), lines[..lines.len() / 2]);
    }
    write(at, "notes.txt", "no records");
    fails(at, "dedup notes.txt -o x.txt --text-field body", b"", 2, &["plain text has no fields", "body"]);
    #[cfg(target_os = "linux")]
    {
        let done = nearprint(at, "dedup /dev/stdin -o stdin.out", lines.as_bytes());
        assert!(done.err.contains("2 records read: 1 kept"), "{}", done.err);
    }
}

#[test]
fn regression_empty_shards_have_no_records() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (name, content) in
        [("jsonl", "{\"text\": \"one two\"}\n"), ("csv", "text\none two\n"), ("tsv", "text\none two\n")]
    {
        for end in ["", ".gz", ".zst"] {
            let folder = format!("{name}{end}");
            write(at, &format!("{folder}/a.{name}{end}"), "");
            write(at, &format!("{folder}/b.{name}"), content);
            let out = format!("{folder}.out.{name}");
            let done = nearprint(at, &format!("dedup {folder} -o {out}"), b"");
            assert!(done.code == 0 && done.err.contains("1 record read: 1 kept"), "{folder}: {}", done.err);
            assert_eq!(fs::read_to_string(at.join(out)).unwrap(), content, "{folder}");
        }
    }
    write(at, "none.parquet", "");
    let done = nearprint(at, "dedup none.parquet -o out.parquet", b"");
    assert!(done.code == 0 && done.err.contains("0 records read: 0 kept"), "{}", done.err);
}

#[test]
fn regression_an_evaluation_record_without_a_text_does_not_end_the_others() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write(at, "ev.jsonl", format!("{{\"text\": null}}\n{{\"text\": \"{QUESTION}\"}}\n"));
    write(at, "train.jsonl", format!("{{\"text\": \"{QUESTION}\"}}\n"));
    let cleaned = nearprint(at, "decontaminate train.jsonl --against ev.jsonl -o clean.jsonl", b"");
    assert_eq!(cleaned.code, 0, "{}", cleaned.err);
    assert!(cleaned.err.contains("warning: 1 evaluation record without a text"), "{}", cleaned.err);
    assert!(cleaned.err.contains("1 record read: 0 kept, 1 left out"), "{}", cleaned.err);
}

/// Everything passed as clean.
#[test]
fn regression_evaluation_records_without_any_text_are_an_error() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write(at, "ev.jsonl", format!("{{\"question\": \"{QUESTION}\"}}\n"));
    write(at, "train.jsonl", format!("{{\"text\": \"{QUESTION}\"}}\n"));
    let line = "decontaminate train.jsonl --against ev.jsonl -o clean.jsonl";
    fails(at, line, b"", 5, &["ev.jsonl", "\"text\"", "--against-field"]);
    assert!(!at.join("clean.jsonl").exists());
    let found = nearprint(at, &format!("{line} --against-field question"), b"");
    assert!(found.err.contains("1 record read: 0 kept, 1 left out"), "{}", found.err);
}

#[test]
fn regression_what_another_command_is_for_is_refused_with_it() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let lines = "{\"text\": \"one two\"}\n".repeat(2);
    ["one.jsonl", "two.jsonl"].iter().for_each(|name| write(at, name, &lines));
    fails(
        at,
        "scan one.jsonl",
        b"",
        2,
        &["one.jsonl is one file of JSON lines", "nearprint dedup one.jsonl -o OUT"],
    );
    assert_eq!(groups(&succeeds(at, "scan one.jsonl two.jsonl", b"")), ["kept one.jsonl, copy two.jsonl"]);
    fails(at, "compare one.jsonl two.jsonl", b"", 2, &["nearprint dedup one.jsonl two.jsonl -o OUT"]);
    succeeds(at, "create seen.np --recipe minhash --store keys", b"");
    for command in ["scan seen.np", "dedup seen.np -o out.txt"] {
        fails(at, command, b"", 2, &["seen.np is a database", "nearprint clusters seen.np"]);
    }
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";
    ["photos/1.png", "photos/2.png"].iter().for_each(|name| write(at, name, png));
    fails(at, "compare photos/1.png photos/2.png", b"", 5, &["no fingerprint was made"]);
    fails(at, "compare photos/1.png one.jsonl", b"", 5, &["is an image", "nearprint scan"]);
    fails(at, "dedup photos -o kept", b"", 5, &["2 images", "nearprint scan"]);
    fails(at, "fingerprint photos", b"", 5, &["2 of 2 files", "no fingerprint was made"]);
}

#[test]
fn regression_an_input_of_another_command_is_refused_with_its_command() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write(at, "docs/a.txt", "one two three four five six");
    write(at, "docs/b.txt", "one two three four five six");
    write(at, "rec.jsonl", "{\"id\": 1, \"text\": \"one two\"}\n".repeat(2));
    write(at, "rec.csv", "id,text\n1,one two\n");
    succeeds(at, "create seen.np --recipe minhash --store keys", b"");
    for (line, why, hint) in [
        ("query docs", "docs is a folder of files, not a database", "`nearprint scan docs`"),
        ("stats docs", "docs is a folder of files", "fingerprint docs --header | nearprint build"),
        ("pairs docs", "docs is a folder of files", "`nearprint scan docs`"),
        ("clusters docs", "docs is a folder of files", "`nearprint scan docs`"),
        ("stats rec.jsonl", "rec.jsonl is a file of JSON lines, not a database", "nearprint dedup rec.jsonl"),
        ("query seen.np some", "no file \"some\"", "nearprint query seen.np -t 'some'"),
        ("query seen.np 17", "no file \"17\"", "nearprint query seen.np -f 17"),
        ("build new.np docs", "docs is a folder", "nearprint fingerprint docs --header | nearprint build"),
        ("docs", "no command \"docs\", but there is a folder of that name", "nearprint scan docs"),
        ("rec.jsonl", "no command \"rec.jsonl\", but there is a file", "nearprint dedup rec.jsonl -o OUT"),
        ("seen.np", "but there is a database of that name", "nearprint stats seen.np"),
        ("dupes docs", "no command \"dupes\"", "nearprint scan"),
        ("find docs", "no command \"find\"", "nearprint scan"),
        ("dedupe rec.jsonl", "no command \"dedupe\"", "nearprint dedup"),
        ("clean rec.jsonl", "no command \"clean\"", "nearprint trim INPUT -o OUT"),
        ("info seen.np", "no command \"info\"", "nearprint stats"),
        ("search seen.np", "no command \"search\"", "nearprint query"),
        ("index docs", "no command \"index\"", "nearprint build"),
    ] {
        let Outcome { code, err, .. } = nearprint(at, line, b"");
        let lines: Vec<&str> = err.lines().collect();
        assert!(code == 2 && lines.len() == 2, "{line}: {code} {err}");
        assert!(lines[0].starts_with("nearprint: ") && lines[0].contains(why), "{line}: {err}");
        assert!(lines[1].starts_with("hint: ") && lines[1].contains(hint), "{line}: {err}");
    }
    for line in ["build new.np rec.jsonl", "build new.np rec.csv", "build new.np docs/a.txt"] {
        fails(at, line, b"", 5, &["hint: `nearprint fingerprint INPUT --header | nearprint build DB -`"]);
    }
    // A guess differs in two letters at most.
    assert!(nearprint(at, "quer seen.np", b"").err.contains("'query'"));
    assert!(!nearprint(at, "expansion seen.np", b"").err.contains("similar"));
}

#[cfg(feature = "images")]
#[test]
fn regression_pictures_are_compared_by_what_they_show() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("pics")).unwrap();
    let first = scene(1, 320, 240);
    first.save(at.join("pics/a.png")).unwrap();
    first.thumbnail(160, 120).save(at.join("pics/b.png")).unwrap();
    scene(7, 320, 240).save(at.join("pics/c.png")).unwrap();
    let same = nearprint(at, "compare pics/a.png pics/b.png", b"");
    assert!(same.code == 0 && same.err.contains("at most 31 of 256 bits"), "{}", same.err);
    let other = nearprint(at, "compare pics/a.png pics/c.png --format json", b"");
    assert!(other.code == 6 && other.out.contains("\"bits\":256,\"k\":31,"), "{}", other.out);
    let found: serde_json::Value = serde_json::from_str(&other.out).unwrap();
    let number = |name: &str| found[name].as_f64().unwrap();
    assert!((1.0 - number("distance") / 256.0 - number("similarity")).abs() < 1e-9, "{}", other.out);
    let table = succeeds(at, "compare pics/a.png pics/b.png pics/c.png", b"");
    assert!(table.lines().nth(1).unwrap().starts_with("pics/a.png\t0\t"), "{table}");
    assert_eq!(table.lines().nth(1).unwrap().split('\t').nth(2), Some(same.out.trim()), "{table}");
    let prints = succeeds(at, "fingerprint pics", b"");
    assert_eq!(prints.lines().count(), 3, "{prints}");
    assert_eq!(prints, succeeds(at, "fingerprint pics/a.png pics/b.png pics/c.png", b""));
}

#[test]
fn two_records_are_compared_by_their_keys() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let texts = ["one two three four five six seven", "one two three four five six eight", "x"];
    let line = |(key, text): (usize, &&str)| format!("{{\"id\": \"k{key}\", \"body\": \"{text}\"}}\n");
    write(at, "r.jsonl", texts.iter().enumerate().map(line).collect::<String>());
    write(at, "r.csv", format!("id,body\nk0,{}\nk1,{}\nk2,x\n", texts[0], texts[1]));
    succeeds(at, "create t.np --recipe minhash --store texts", b"");
    succeeds(at, "dedup r.jsonl --text-field body --key-field id --db t.np -o out.jsonl", b"");
    let fields = "--text-field body --key-field id";
    let words = "one two three four five six [-seven-]{+eight+}\n";
    for source in [format!("r.jsonl {fields}"), format!("r.csv {fields}"), "t.np".into()] {
        let compared = nearprint(at, &format!("compare --key k0 --key k1 {source} --words"), b"");
        assert!(compared.out.ends_with(words), "{source}: {}{}", compared.out, compared.err);
        assert_eq!(succeeds(at, &format!("compare --key k0 --key k0 {source}"), b""), "0\n");
        fails(at, &format!("compare --key k0 --key k9 {source}"), b"", 2, &["no record with the key \"k9\""]);
    }
    let numbered = nearprint(at, "compare --key r.csv:1 --key r.csv:2 r.csv --text-field body --words", b"");
    assert!(numbered.out.ends_with(words), "{}", numbered.err);
    fails(at, "compare --key k0 r.jsonl", b"", 2, &["give it twice"]);
    // The second key may be one of another input.
    fs::write(at.join("other.jsonl"), line((9, &texts[1]))).unwrap();
    for source in [format!("r.jsonl other.jsonl {fields}"), format!("t.np other.jsonl {fields}")] {
        let compared = nearprint(at, &format!("compare --key k0 --key k9 {source} --words"), b"");
        assert!(compared.out.ends_with(words), "{source}: {}{}", compared.out, compared.err);
        let missing = ["other.jsonl: no record with the key \"k1\""];
        fails(at, &format!("compare --key k0 --key k1 {source}"), b"", 2, &missing);
    }
    fails(at, "compare --key k0 --key k1 r.jsonl r.csv r.csv", b"", 2, &["one or two inputs"]);
    succeeds(at, "create keys.np --recipe minhash --store keys", b"");
    fails(at, "compare --key k0 --key k1 keys.np", b"", 2, &["keeps no texts"]);
}

#[test]
fn regression_queries_by_text_know_encodings_and_what_is_no_text() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let russian = words(&RUSSIAN, 3, 40);
    write(at, "t/a.txt", &russian);
    write(at, "b.txt", cp1251(&russian));
    succeeds(at, "dedup t -o kept.txt --db seen.np", b"");
    let found = succeeds(at, "query seen.np b.txt --encoding windows-1251", b"");
    assert!(found.ends_with("\t1.0000\n"), "{found}");
    assert_eq!(succeeds(at, "query seen.np b.txt --encoding koi8-r", b""), "");
    write(at, "d/1.pdf", pdf(1));
    fails(at, "query seen.np d", b"", 5, &["nothing to compare", "1 pdf", "pdftotext FILE -"]);
}

/// The text between two marks of docs/inputs.md.
fn documented(name: &str) -> String {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/inputs.md")).unwrap();
    let (_, rest) = page.split_once(&format!("<!-- {name} -->\n")).unwrap();
    rest.split_once(&format!("<!-- end of {name} -->")).unwrap().0.to_string()
}

#[test]
fn the_documentation_has_the_kinds_of_the_code() {
    use nearprint_text::internal as code;
    for (name, expected) in [
        ("kinds", code::table_of_kinds()),
        ("readers", code::table_of_readers()),
        ("beside", code::names_beside_records() + "\n"),
        ("compressions", code::names_of_compressions() + "\n"),
    ] {
        assert_eq!(documented(name), expected, "{name}: docs/inputs.md should have\n{expected}");
    }
}

/// What commands do with two different files of a kind.
struct Walk {
    extension: &'static str,
    contents: [Vec<u8>; 2],
    /// The documents that `dedup` reads of them in a folder; none if it refuses with exit code 5.
    documents: Option<u32>,
    /// The exit code of `compare`.
    compared: i32,
    /// How many of the files `scan` compares as texts.
    scanned: u32,
}

fn walks() -> Vec<Walk> {
    let walk = |extension, contents: [&[u8]; 2], documents, compared, scanned| Walk {
        extension,
        contents: contents.map(<[u8]>::to_vec),
        documents,
        compared,
        scanned,
    };
    let text =
        |number: usize| words(&["one", "two", "three", "four", "five", "six", "seven"], number * 5, 40);
    let [a, b] = [1, 2].map(text);
    let [json_a, json_b] =
        [&a, &b].map(|text| format!("{{\"text\": \"{text}\"}}\n{{\"text\": \"x {text}\"}}\n"));
    let array = |json: &str| format!("[{}]", json.trim().replace('\n', ","));
    let [csv_a, csv_b] = [&a, &b].map(|text| format!("id,text\n1,{text}\n2,x {text}\n"));
    let [html_a, html_b] = [&a, &b].map(|text| format!("<!doctype html><p>{text}"));
    let [tsv_a, tsv_b] = [&csv_a, &csv_b].map(|table| table.replace(',', "\t"));
    let (pdf_a, pdf_b) = (pdf(1), pdf(2));
    let zip = |number: u8| [&b"PK\x03\x04\x14\0\0\0\0\0"[..], &[number, 0, 1, 2, 3]].concat();
    vec![
        walk("jsonl", [json_a.as_bytes(), json_b.as_bytes()], Some(4), 2, 2),
        walk("json", [array(&json_a).as_bytes(), array(&json_b).as_bytes()], Some(4), 6, 2),
        walk("csv", [csv_a.as_bytes(), csv_b.as_bytes()], Some(4), 6, 2),
        walk("tsv", [tsv_a.as_bytes(), tsv_b.as_bytes()], Some(4), 6, 2),
        walk("txt", [a.as_bytes(), b.as_bytes()], Some(2), 6, 2),
        walk("utf16", [&utf_16(&a), &utf_16(&b)], Some(2), 6, 2),
        walk("html", [html_a.as_bytes(), html_b.as_bytes()], Some(2), 6, 2),
        walk("pdf", [&pdf_a, &pdf_b], None, 5, 0),
        walk("zip", [&zip(1), &zip(2)], None, 5, 0),
        walk("bin", [b"\0\x01", b"\0\x02"], None, 5, 0),
        walk("rtf", [b"{\\rtf1 one}", b"{\\rtf1 two}"], None, 5, 0),
        walk("empty", [b"", b""], Some(0), 6, 0),
    ]
}

#[test]
fn each_kind_is_read_refused_or_counted_by_each_command() {
    for Walk { extension, contents, documents, compared, scanned } in walks() {
        let home = tempfile::tempdir().unwrap();
        let at = home.path();
        let [a, b] = ["a", "b"].map(|name| format!("d/{name}.{extension}"));
        [&a, &b].iter().zip(&contents).for_each(|(name, content)| write(at, name, content));
        let done = nearprint(at, "dedup d -o out", b"");
        match documents {
            Some(count) => {
                assert!(
                    done.code == 0 && done.err.starts_with(&format!("{} records read: ", count.max(2))),
                    "{extension}: {}",
                    done.err
                );
            }
            None => assert!(
                done.code == 5 && done.err.contains("nothing to compare"),
                "{extension}: {}",
                done.err
            ),
        }
        let both = nearprint(at, &format!("compare {a} {b}"), b"");
        assert_eq!(both.code, compared, "{extension}: {}", both.err);
        let table = nearprint(at, &format!("compare {a} {b} {a}"), b"");
        assert_eq!(table.code, if compared == 6 { 0 } else { compared }, "{extension}: {}", table.err);
        let prints = nearprint(at, "fingerprint d", b"");
        let num_prints = prints.out.lines().count();
        assert_eq!(num_prints, documents.unwrap_or_default() as usize, "{extension}: {}", prints.err);
        write(at, "note.txt", "a note of other words");
        succeeds(at, "create seen.np --recipe minhash --store keys", b"");
        for line in [
            "fingerprint d",
            "query seen.np d",
            "decontaminate d --against note.txt -o clean",
            "decontaminate note.txt --input-format text --against d -o clean",
            "dedup d --against note.txt -o clean",
            "dedup note.txt --input-format text --against d -o clean",
        ] {
            let done = nearprint(at, line, b"");
            assert_eq!(
                done.code,
                if documents.is_some() { 0 } else { 5 },
                "{line}, {extension}: {}",
                done.err
            );
        }
        // Each two records of a file are near, and no files are.
        let tuned = nearprint(at, "tune d", b"");
        assert_eq!(tuned.code, if documents == Some(4) { 0 } else { 5 }, "{extension}: {}", tuned.err);
        for line in
            ["prune d --reference note.txt", "prune note.txt --reference d", "prune d", "prune d --copies"]
        {
            let pruned = succeeds(at, &format!("{line} --move-to gone --dry-run"), b"");
            assert_eq!(pruned, "", "{line}, {extension}");
        }
        let counts = nearprint(at, "scan d --summary counts.json", b"");
        let counted: serde_json::Value =
            serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
        assert_eq!(
            (counts.code, &counted["compared_texts"]),
            (0, &scanned.into()),
            "{extension}: {}",
            counts.err
        );
        // Copies are found whatever they are.
        fs::copy(at.join(&a), at.join("d/copy")).unwrap();
        let copies = succeeds(at, "scan d", b"");
        assert_eq!(groups(&copies).len() == 1, extension != "empty", "{extension}: {copies}");
        for options in ["", "--copies"] {
            let pruned = succeeds(at, &format!("prune d {options} --move-to gone --dry-run"), b"");
            assert_eq!(pruned.lines().count(), usize::from(extension != "empty"), "{extension}: {pruned}");
        }
    }
}

/// While `rm -rf` removes a database, it is neither one nor a folder of files to compare.
#[test]
fn regression_what_is_left_of_a_database_is_no_folder_of_files() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("half.np")).unwrap();
    fs::write(at.join("half.np/LOCK"), b"").unwrap();
    let (half, missing) = (nearprint(at, "stats half.np", b""), nearprint(at, "stats missing.np", b""));
    assert!(half.code == missing.code && half.err.contains("no database there"), "{}", half.err);
}

#[test]
fn regression_names_of_columns_are_read_in_the_encoding_of_their_file() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = |first: usize| -> String {
        let rows = (first..first + 20)
            .map(|row| format!("k{row};{row};Überblick über Fall {row} von {}\n", row * 7));
        rows.collect()
    };
    let table = |first| format!("Schlüssel;Preis;Überblick\n{}", rows(first));
    let latin = |text: String| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect::<Vec<u8>>();
    write(at, "old.csv", latin(table(0)));
    write(at, "new.csv", table(10));
    let fields = "--key-field Schlüssel --text-field Überblick";
    for more in ["", "--encoding windows-1252", "--delimiter semicolon"] {
        let done = nearprint(at, &format!("dedup old.csv -o out.csv {fields} {more}"), b"");
        assert!(done.err.contains("20 records read: 20 kept"), "{more}: {}", done.err);
    }
    let both = nearprint(at, &format!("dedup old.csv new.csv -o both.jsonl {fields}"), b"");
    assert!(both.err.contains("40 records read: 30 kept, 10 duplicates"), "{}", both.err);
    let written = fs::read_to_string(at.join("both.jsonl")).unwrap();
    assert_eq!(written.matches("\"Schlüssel\":").count(), 30, "{written}");
    fails(
        at,
        "dedup old.csv -o x.csv --text-field Text --delimiter semicolon",
        b"",
        5,
        &["\"Schlüssel\", \"Preis\", \"Überblick\""],
    );
}

#[test]
fn patterns_that_exclude_nothing_are_named() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    write(at, "tree/keep/a.txt", "one two three");
    write(at, "tree/b.txt", "four five six");
    let scanned = nearprint(at, "scan tree --exclude tree/keep --exclude b.*", b"").err;
    assert!(scanned.contains("nothing is excluded by \"tree/keep\""), "{scanned}");
    assert!(!scanned.contains("\"b.*\"") && scanned.contains("1 excluded"), "{scanned}");
    assert!(!nearprint(at, "scan tree --exclude keep", b"").err.contains("nothing is excluded"));
}
