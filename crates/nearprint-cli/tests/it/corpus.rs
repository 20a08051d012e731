//! Files of all kinds, made by rule, through commands, against what the rule says of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::cli::{Outcome, groups, nearprint, succeeds};
use crate::pictures::scene;

const NUM_TEXTS: usize = 16;
const NUM_PICTURES: usize = 20;
const NUM_TABLES: usize = 10;
const NUM_DATABASES: usize = 10;

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

/// The kind of a file that is no text, and how it begins.
fn other(text: &str) -> (&'static str, &'static [u8]) {
    let number: usize = text.rsplit("end").next().unwrap().parse().unwrap();
    OTHERS[number % OTHERS.len()]
}

/// What a file or database is.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum What {
    Text(String),
    /// The number of a scene: pictures of one are near.
    Picture(u32),
    /// Its bytes: tables are copies or nothing.
    Table(Vec<u8>),
    Database,
    Other(&'static str),
}

/// The name of a file or database in the folder `c`, and what it is.
type Made = (String, What);

/// Two hundred files and databases. Names do not say more than the content, apart from those of HTML.
fn corpus(at: &Path) -> Vec<Made> {
    fs::create_dir(at.join("c")).unwrap();
    let mut made = Vec::new();
    for (kind, content, is_text) in KINDS {
        for (end, compress) in [("", false), (".gz", true)] {
            for number in 0..NUM_TEXTS {
                let name = match number % 3 {
                    0 => format!("c/{kind}{number}{end}"),
                    _ => format!("c/{number}.{kind}{end}"),
                };
                let text = text(number);
                let bytes = content(&text);
                fs::write(at.join(&name), if compress { gzip(&bytes) } else { bytes }).unwrap();
                made.push((name, if is_text { What::Text(text) } else { What::Other(other(&text).0) }));
            }
        }
    }
    for number in 0..NUM_PICTURES {
        let (scene_of, ending) = (u32::try_from(number / 2).unwrap(), ["png", "jpg"][number % 2]);
        let size = [(320, 240), (160, 120)][number % 2];
        let saved = at.join(format!("picture.{ending}"));
        scene(scene_of, size.0, size.1).save(&saved).unwrap();
        let name = match number % 5 {
            0 => format!("c/picture{number}"),
            _ => format!("c/picture{number}.{ending}"),
        };
        fs::rename(saved, at.join(&name)).unwrap();
        made.push((name, What::Picture(scene_of)));
    }
    for number in 0..NUM_TABLES {
        // The first two are equal.
        let record = serde_json::json!({ "text": text(number.saturating_sub(1)) });
        fs::write(at.join("record.jsonl"), record.to_string()).unwrap();
        succeeds(at, "dedup record.jsonl -o table.parquet --restart", b"");
        let name = format!("c/table{number}{}", ["", ".parquet"][number % 2]);
        fs::rename(at.join("table.parquet"), at.join(&name)).unwrap();
        made.push((name.clone(), What::Table(fs::read(at.join(name)).unwrap())));
    }
    for number in 0..NUM_DATABASES {
        let name = format!("c/base{number}{}", ["", ".np"][number % 2]);
        succeeds(at, &format!("build {name} -"), format!("{number}\n").as_bytes());
        made.push((name, What::Database));
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

impl What {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether `scan` has both in a group.
    fn is_near(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => is_near(a, b),
            (Self::Picture(_) | Self::Table(_), _) => self == other,
            _ => false,
        }
    }

    /// The exit code of `compare`.
    fn compared(&self, other: &Self) -> i32 {
        match (self, other) {
            (Self::Database, _) | (_, Self::Database) => 2,
            (Self::Text(_), Self::Text(_)) | (Self::Picture(_), Self::Picture(_)) => {
                if self.is_near(other) {
                    0
                } else {
                    6
                }
            }
            _ => 5,
        }
    }
}

/// The files that are left out by their kinds, as messages say it.
fn left_out_of(messages: &str) -> BTreeMap<String, usize> {
    let listed =
        |line| ["skipped: ", "not compared: "].into_iter().find_map(|start| str::strip_prefix(line, start));
    let line = messages.lines().find_map(listed).unwrap_or_default();
    let counts = line.split(';').next().unwrap().split(", ");
    let counts = counts.filter_map(|count| count.split_once(' '));
    counts.map(|(count, kind)| (kind.to_string(), count.parse().unwrap())).collect()
}

/// The files that have to be left out by their kinds, with pictures or without.
fn expected_left_out(files: &[Made], with_pictures: bool) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for (_, what) in files {
        let mut add = |kind: &str, count| *counts.entry(kind.to_string()).or_insert(0) += count;
        match what {
            What::Text(_) => {}
            What::Picture(_) if with_pictures => add("images", 1),
            What::Picture(_) => {}
            What::Table(_) => add("Parquet", 1),
            What::Database => add("nearprint databases", 1),
            What::Other(kind) => add(kind, 1),
        }
    }
    counts
}

/// Whether a line of messages begins so.
fn has_line(messages: &str, start: &str) -> bool {
    messages.lines().any(|line| line.starts_with(start))
}

/// The names and texts of those that are texts.
fn texts_of(files: &[Made]) -> Vec<(&str, &str)> {
    files.iter().filter_map(|(name, what)| Some((&**name, what.text()?))).collect()
}

#[test]
fn two_hundred_files_are_what_their_rule_says() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let files = corpus(at);
    assert_eq!(files.len(), 200);
    texts_are_deduplicated(at, &files);
    files_are_grouped(at, &files);
    texts_are_asked_for(at, &files);
    pictures_are_asked_for(at, &files);
    // Every file against its neighbour, and one of another kind.
    let compare = |(a, b): (&Made, &Made)| {
        let Outcome { code, err, .. } = nearprint(at, &format!("compare {} {} --quiet", a.0, b.0), b"");
        assert_eq!(code, a.1.compared(&b.1), "{} {}: {err}", a.0, b.0);
    };
    files.iter().zip(files.iter().skip(1)).for_each(compare);
    files.iter().zip(files.iter().skip(NUM_TEXTS)).for_each(compare);
}

fn texts_are_deduplicated(at: &Path, files: &[Made]) {
    let texts = texts_of(files);
    let mut kept: Vec<&str> = Vec::new();
    for (_, text) in &texts {
        if !kept.iter().any(|other| is_near(text, other)) {
            kept.push(text);
        }
    }
    let prints = succeeds(at, "fingerprint c", b"");
    let keys: Vec<&str> = prints.lines().map(|line| line.split('\t').nth(1).unwrap()).collect();
    assert_eq!(keys, texts.iter().map(|(name, _)| *name).collect::<Vec<_>>());

    let expected = expected_left_out(files, true);
    let skipped: usize = expected.values().sum();
    let done = nearprint(at, "dedup c -o kept.txt --db seen.np --duplicates gone.tsv", b"");
    assert!(
        has_line(&done.err, &format!("{} records read: {} kept", texts.len() + skipped, kept.len())),
        "{}",
        done.err
    );
    assert_eq!(left_out_of(&done.err), expected, "{}", done.err);

    let tuned = nearprint(at, "tune c", b"");
    let compared = format!("{} documents, ", texts.len());
    assert!(tuned.code == 0 && tuned.err.contains(&compared), "{}", tuned.err);
    assert_eq!(left_out_of(&tuned.err), expected, "{}", tuned.err);
}

/// Texts are near each other in every encoding and compression, pictures by what they show, and tables are copies.
fn files_are_grouped(at: &Path, files: &[Made]) {
    let group_of = |what: &What| -> BTreeSet<String> {
        let near = files.iter().filter(|(_, other)| what.is_near(other));
        near.map(|(name, _)| name[2..].to_string()).collect()
    };
    let expected = files.iter().map(|(_, what)| group_of(what)).filter(|group| group.len() > 1);
    let expected: BTreeSet<BTreeSet<String>> = expected.collect();
    assert_eq!(expected.len(), NUM_TEXTS / 2 + NUM_PICTURES / 2 + 1);

    let scanned = nearprint(at, "scan c --all --summary counts.json", b"");
    let counts: serde_json::Value =
        serde_json::from_slice(&fs::read(at.join("counts.json")).unwrap()).unwrap();
    assert_eq!(counts["compared_texts"], texts_of(files).len());
    assert_eq!(left_out_of(&scanned.err), expected_left_out(files, false), "{}", scanned.err);
    // An outcome, and the path below the folder.
    let name = |file: &str| file.split_once(" c/").unwrap().1.to_string();
    let group = |group: &String| group.split(", ").map(name).collect::<BTreeSet<_>>();
    assert_eq!(groups(&scanned.out).iter().map(group).collect::<BTreeSet<_>>(), expected);

    fs::write(at.join("other.txt"), "a note of other words").unwrap();
    for reference in ["", "--reference other.txt"] {
        let pruned = succeeds(at, &format!("prune c --move-to gone --dry-run {reference}"), b"");
        let cell = |line: &str, at: usize| line.split('\t').nth(at).unwrap()[2..].to_string();
        let mut acted = BTreeMap::<String, BTreeSet<String>>::new();
        for line in pruned.lines() {
            let kept = cell(line, 5);
            acted.entry(kept.clone()).or_insert_with(|| [kept].into()).insert(cell(line, 1));
        }
        assert_eq!(acted.into_values().collect::<BTreeSet<_>>(), expected, "{reference}");
    }
}

fn texts_are_asked_for(at: &Path, files: &[Made]) {
    let texts = texts_of(files);
    let probe = text(4);
    let (near, rest): (Vec<_>, Vec<_>) = texts.iter().partition(|(_, other)| is_near(&probe, other));
    fs::write(at.join("probe.txt"), &probe).unwrap();
    succeeds(at, "dedup probe.txt -o probe.out --db probe.np", b"");
    let found = succeeds(at, "query probe.np c", b"");
    assert_eq!(found.lines().count(), near.len(), "{found}");
    let rest: BTreeSet<&str> = rest.into_iter().map(|(name, _)| name).collect();
    for (command, only) in [("decontaminate", ""), ("dedup", " --only-against")] {
        let done = nearprint(at, &format!("{command} c --against probe.txt -o -{only}"), b"");
        let skipped: usize = expected_left_out(files, true).values().sum();
        let counts = format!("{} records read: {} kept", texts.len() + skipped, rest.len());
        assert!(has_line(&done.err, &counts), "{}", done.err);
        assert_eq!(done.out.lines().collect::<BTreeSet<_>>(), rest, "{command}");
        let done = nearprint(at, &format!("{command} probe.txt --against c -o -"), b"");
        assert!(has_line(&done.err, "1 record read: 0 kept"), "{command}: {}", done.err);
    }
}

/// Pictures alone have fingerprints, which a database finds by each of them.
fn pictures_are_asked_for(at: &Path, files: &[Made]) {
    let pictures = files.iter().filter(|(_, what)| matches!(what, What::Picture(_)));
    let names = pictures.map(|(name, _)| &**name).collect::<Vec<_>>().join(" ");
    let prints = succeeds(at, &format!("fingerprint {names} --recipe pdq"), b"");
    fs::write(at.join("prints.tsv"), prints).unwrap();
    succeeds(at, "build pictures.np prints.tsv --recipe pdq --store keys --columns fingerprint,key", b"");
    let found = succeeds(at, &format!("query pictures.np {names}"), b"");
    let what = |name: &str| &files.iter().find(|(other, _)| other == name).unwrap().1;
    assert_eq!(found.lines().count(), 2 * NUM_PICTURES, "{found}");
    for line in found.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(what(cells[0]), what(cells[4]), "{line}");
    }
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
                ("dedup FILE --against probe.txt --only-against -o out", free),
                ("decontaminate FILE --against probe.txt -o out", free),
            ] {
                let done = nearprint(at, &line.replace("FILE", &name), b"");
                assert!(
                    has_line(&done.err, &format!("{NUM_TEXTS} records read: {rest} kept")),
                    "{line}, {name}: {}",
                    done.err
                );
            }
            for command in ["dedup", "decontaminate"] {
                let line = format!("{command} probe.txt --input-format text --against {name} -o out");
                let done = nearprint(at, &line, b"");
                assert!(has_line(&done.err, "1 record read: 0 kept"), "{line}: {}", done.err);
            }
            let tuned = nearprint(at, &format!("tune {name}"), b"");
            let num_pairs = NUM_TEXTS * (NUM_TEXTS - 1) / 2;
            let pairs = format!("{NUM_TEXTS} documents, {} of their {num_pairs} pairs", NUM_TEXTS / 2);
            assert!(tuned.code == 0 && has_line(&tuned.err, &pairs), "{name}: {}", tuned.err);
        }
    }
}
