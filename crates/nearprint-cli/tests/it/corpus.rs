//! Files of texts, PDF and records, made by rule, through commands, against what the rule says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::cli::{Outcome, nearprint, succeeds};

const NUM_TEXTS: usize = 20;

/// A text: pairs of neighbours are near, others have no word in common.
fn text(number: usize) -> String {
    let words = (0..30).map(|at| format!("wörd{}x{at}", number / 2));
    words.chain([format!("end{number}")]).collect::<Vec<_>>().join(" ")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The kinds: the extension, the bytes of a text, and whether they are a text at all.
type MakeKind = (&'static str, fn(&str) -> Vec<u8>, bool);

const KINDS: [MakeKind; 5] = [
    ("txt", |text| text.into(), true),
    ("html", |text| format!("<!doctype html><p>{text}</p>").into(), true),
    (
        "u16",
        |text| [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect(),
        true,
    ),
    ("l1", |text| text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect(), true),
    ("other", |text| [other(text).1, text.as_bytes()].concat(), false),
];

/// Kinds that are no text, and how they begin.
const OTHERS: [(&str, &[u8]); 8] = [
    ("pdf", b"%PDF-1.4\n"),
    ("zip", b"PK\x03\x04\x14\0\0\0\x08\0"),
    ("sqlite", b"SQLite format 3\0"),
    ("rar", b"Rar!\x1a\x07\x01\0"),
    ("audio", b"ID3\x04\0\0\0\0\0\0"),
    ("font", b"\0\x01\0\0\0\x0f\0\x80"),
    ("program", b"\x7fELF\x02\x01\x01\0\0\0\0\0"),
    ("binary", b"\0\x01\x02 "),
];

/// The name of a file, and its text unless it is of no kind that is compared.
type Made = (String, Option<String>);

fn corpus(at: &Path) -> Vec<Made> {
    let mut made = Vec::new();
    for (kind, content, is_text) in KINDS {
        for (end, compress) in [("", false), (".gz", true)] {
            for number in 0..NUM_TEXTS {
                // Names do not say more than the content, apart from those of HTML.
                let name = if number % 3 == 0 {
                    format!("c/{kind}{number}{end}")
                } else {
                    format!("c/{number}.{kind}{end}")
                };
                let bytes = content(&text(number));
                fs::write(at.join(&name), if compress { gzip(&bytes) } else { bytes }).unwrap();
                made.push((name, is_text.then(|| text(number))));
            }
        }
    }
    made.sort();
    made
}

/// The exact Jaccard similarity of runs of three words.
fn jaccard(a: &str, b: &str) -> f64 {
    let shingles = |text: &str| -> BTreeSet<Vec<String>> {
        let words: Vec<String> = text.split(' ').map(str::to_string).collect();
        words.windows(3).map(<[String]>::to_vec).collect()
    };
    let (a, b) = (shingles(a), shingles(b));
    a.intersection(&b).count() as f64 / a.union(&b).count() as f64
}

fn is_near(a: &str, b: &str) -> bool {
    jaccard(a, b) >= 0.7
}

fn counted(at: &Path, line: &str) -> serde_json::Value {
    succeeds(at, &format!("{line} --summary counts.json"), b"");
    serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap()
}

/// The kind of a file that is no text, and how it begins.
fn other(text: &str) -> (&'static str, &'static [u8]) {
    let number: usize = text.rsplit("end").next().unwrap().parse().unwrap();
    OTHERS[number % OTHERS.len()]
}

/// The files that are left out by their kinds, as messages say it.
fn left_out_of(messages: &str) -> BTreeMap<String, usize> {
    let line = messages.lines().find_map(|line| line.strip_prefix("left out: ")).unwrap_or_default();
    let counts = line.split(';').next().unwrap().split(", ");
    let counts = counts.filter_map(|count| count.split_once(' '));
    counts.map(|(count, kind)| (kind.to_string(), count.parse().unwrap())).collect()
}

/// Whether a line of messages begins so.
fn has_line(messages: &str, start: &str) -> bool {
    messages.lines().any(|line| line.starts_with(start))
}

#[test]
fn two_hundred_files_are_what_their_rule_says() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("c")).unwrap();
    let files = corpus(at);
    assert_eq!(files.len(), 200);
    let texts: Vec<&str> = files.iter().filter_map(|(_, text)| text.as_deref()).collect();
    let mut kept: Vec<&str> = Vec::new();
    for text in &texts {
        if !kept.iter().any(|other| is_near(text, other)) {
            kept.push(text);
        }
    }
    // Each text is once plain and once compressed.
    let mut expected_left_out = BTreeMap::new();
    for number in 0..NUM_TEXTS {
        *expected_left_out.entry(other(&text(number)).0.to_string()).or_insert(0) += 2;
    }

    let prints = succeeds(at, "fingerprint c", b"");
    let keys: Vec<&str> = prints.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    let expected: Vec<&str> =
        files.iter().filter(|(_, text)| text.is_some()).map(|(name, _)| &**name).collect();
    assert_eq!(keys, expected);

    let done = nearprint(at, "dedup c -o kept.txt --db seen.np --duplicates gone.tsv", b"");
    assert!(has_line(&done.err, &format!("{} documents, {} kept", texts.len(), kept.len())), "{}", done.err);
    assert_eq!(left_out_of(&done.err), expected_left_out, "{}", done.err);

    // Texts are near each other in every encoding and compression, and copies of PDF are copies.
    let counts = counted(at, "scan c");
    assert_eq!(counts["compared_texts"], texts.len());
    let named: Vec<(&str, &str)> =
        files.iter().filter_map(|(name, text)| Some((&**name, text.as_deref()?))).collect();
    let group_of = |text: &str| -> BTreeSet<String> {
        named
            .iter()
            .filter(|(_, other)| is_near(text, other))
            .map(|(name, _)| name[2..].to_string())
            .collect()
    };
    let expected: BTreeSet<BTreeSet<String>> = kept.iter().map(|text| group_of(text)).collect();
    let scanned = succeeds(at, "scan c", b"");
    let group = |lines: &str| -> BTreeSet<String> {
        lines.lines().skip(1).map(|line| line.split('\t').nth(1).unwrap().to_string()).collect()
    };
    assert_eq!(scanned.trim_end().split("\n\n").map(group).collect::<BTreeSet<_>>(), expected);
    for reference in ["", "--reference other.txt"] {
        fs::write(at.join("other.txt"), "a note of other words").unwrap();
        let pruned = succeeds(at, &format!("prune c --move-to gone --dry-run {reference}"), b"");
        let cell = |line: &str, at: usize| line.split('\t').nth(at).unwrap()[2..].to_string();
        let mut acted = BTreeMap::<String, BTreeSet<String>>::new();
        for line in pruned.lines() {
            let kept = cell(line, 5);
            acted.entry(kept.clone()).or_insert_with(|| [kept].into()).insert(cell(line, 1));
        }
        assert_eq!(acted.into_values().collect::<BTreeSet<_>>(), expected, "{reference}");
    }

    let (probe, wanted) = (text(4), texts.iter().filter(|other| is_near(&text(4), other)).count());
    fs::write(at.join("probe.txt"), &probe).unwrap();
    succeeds(at, "dedup probe.txt -o probe.out --db probe.np", b"");
    let found = succeeds(at, "query probe.np --text c", b"");
    assert_eq!(found.lines().count(), wanted, "{found}");
    let (without, num_texts) = (texts.len() - wanted, texts.len());
    let rest: BTreeSet<&str> =
        named.iter().filter(|(_, other)| !is_near(&probe, other)).map(|(name, _)| *name).collect();
    for command in ["decontaminate", "dedup"] {
        let done = nearprint(at, &format!("{command} c --against probe.txt -o -"), b"");
        assert!(has_line(&done.err, &format!("{num_texts} documents, {without} ")), "{}", done.err);
        assert_eq!(done.out.lines().collect::<BTreeSet<_>>(), rest, "{command}");
        let done = nearprint(at, &format!("{command} probe.txt --against c -o -"), b"");
        assert!(has_line(&done.err, "1 documents, 0 "), "{command}: {}", done.err);
    }
    let tuned = nearprint(at, "tune c", b"");
    let compared = format!("; {num_texts} of {} files compared", files.len());
    assert!(tuned.code == 0 && tuned.err.contains(&compared), "{}", tuned.err);
    assert_eq!(left_out_of(&tuned.err), expected_left_out, "{}", tuned.err);

    // Every text against every second other one, whatever its kind.
    let near = |(a, b): (&Made, &Made)| {
        let Outcome { code, err, .. } = nearprint(at, &format!("compare {} {} --quiet", a.0, b.0), b"");
        let expected = match (&a.1, &b.1) {
            (Some(a), Some(b)) if is_near(a, b) => 0,
            (Some(_), Some(_)) => 6,
            _ => 5,
        };
        assert_eq!(code, expected, "{} {}: {err}", a.0, b.0);
    };
    files.iter().zip(files.iter().skip(1)).for_each(near);
    files.iter().zip(files.iter().skip(NUM_TEXTS)).for_each(near);
}

#[test]
fn records_of_each_format_are_what_their_rule_says() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let probe = text(4);
    fs::write(at.join("probe.txt"), &probe).unwrap();
    let texts: Vec<String> = (0..NUM_TEXTS).map(text).collect();
    let wanted = texts.iter().filter(|text| is_near(&probe, text)).count();
    let object = |text: &String| serde_json::json!({ "id": "x", "text": text }).to_string();
    let objects: Vec<String> = texts.iter().map(object).collect();
    let table = |delimiter: char| -> String {
        let rows = texts.iter().map(|text| format!("x{delimiter}{text}\n"));
        [format!("id{delimiter}text\n")].into_iter().chain(rows).collect()
    };
    for (name, content) in [
        ("a.jsonl", objects.join("\n")),
        ("part-00000", objects.join("\n")),
        ("a.json", format!("[{}]", objects.join(",\n"))),
        ("a.csv", table(',')),
        ("semicolon.csv", table(';')),
        ("a.tsv", table('\t')),
    ] {
        for (end, content) in [("", content.clone().into_bytes()), (".gz", gzip(content.as_bytes()))] {
            let name = format!("{name}{end}");
            fs::write(at.join(&name), content).unwrap();
            let prints = succeeds(at, &format!("fingerprint {name}"), b"");
            assert_eq!(prints.lines().count(), NUM_TEXTS, "{name}");
            let free = NUM_TEXTS - wanted;
            for (line, rest) in [
                ("dedup FILE -o out", NUM_TEXTS / 2),
                ("dedup FILE --against probe.txt -o out", free),
                ("decontaminate FILE --against probe.txt -o out", free),
            ] {
                let done = nearprint(at, &line.replace("FILE", &name), b"");
                assert!(
                    has_line(&done.err, &format!("{NUM_TEXTS} documents, {rest} ")),
                    "{line}, {name}: {}",
                    done.err
                );
            }
            for command in ["dedup", "decontaminate"] {
                let line = format!("{command} probe.txt --input-format text --against {name} -o out");
                let done = nearprint(at, &line, b"");
                assert!(has_line(&done.err, "1 documents, 0 "), "{line}: {}", done.err);
            }
            let tuned = nearprint(at, &format!("tune {name}"), b"");
            let pairs = format!("{NUM_TEXTS} documents, {} of their 190 pairs", NUM_TEXTS / 2);
            assert!(tuned.code == 0 && has_line(&tuned.err, &pairs), "{name}: {}", tuned.err);
        }
    }
}
