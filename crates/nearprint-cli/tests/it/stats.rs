//! `stats` in its three formats, and beside a writer.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::time::{Duration, UNIX_EPOCH};

use crate::cli::{fails, nearprint, run, succeeds};
use nearprint::{Database, Row};
use serde_json::{Value, json};

#[test]
fn stats_tell_live_rows_from_dead_ones_and_name_the_writer() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let json = |options: &str| -> Value {
        serde_json::from_str(&succeeds(at, &format!("stats db --format json{options}"), b"")).unwrap()
    };
    succeeds(at, "build db", b"1\n2\n3\n4\n");
    let built = json("");
    assert_eq!((&built["rows"], &built["live_rows"], &built["dead_rows"]), (&json!(4), &json!(4), &json!(0)));
    assert_eq!((&built["log_bytes"], &built["log_frames"]), (&json!(0), &json!(0)));
    assert_eq!((&built["locked"], &built["writer"]), (&json!(false), &Value::Null));
    assert_eq!((&built["format_version"], &built["tombstones"]), (&json!(1), &json!(0)));
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    assert!(now - built["last_commit"].as_u64().unwrap() < 600, "{built}");

    let mut writer = Database::<u64>::open(at.join("db")).unwrap().writer().unwrap();
    writer.delete(0).unwrap();
    writer.commit().unwrap();
    writer.insert(Row { fingerprint: 9, id: 9 }).unwrap();
    writer.commit().unwrap();
    let written = json("");
    assert_eq!((&written["live_rows"], &written["dead_rows"]), (&Value::Null, &Value::Null));
    assert_eq!((&written["log_frames"], &written["tombstones"]), (&json!(2), &json!(1)));
    let log = std::fs::metadata(at.join("db/wal-00000001.log")).unwrap().len();
    assert_eq!(written["log_bytes"], json!(log));
    assert_eq!(written["locked"], json!(true));
    assert_eq!(written["writer"]["pid"], json!(std::process::id()));
    assert!(written["writer"]["host"].is_string() && written["writer"]["since"].is_string(), "{written}");
    let counted = json(" --count");
    assert_eq!(
        (&counted["rows"], &counted["live_rows"], &counted["dead_rows"]),
        (&json!(5), &json!(4), &json!(1))
    );
    let lines = succeeds(at, "stats db", b"");
    assert!(lines.contains(&format!("\nwriter\tprocess {} on host ", std::process::id())), "{lines}");
    assert!(lines.contains("\nlive_rows\tunknown\n"), "{lines}");
    for line in ["stats db", "compare 0x1f3a 0x1f3b", "fingerprint README"] {
        std::fs::write(at.join("README"), "one two three four").unwrap();
        let both =
            ["--json", "--format json"].map(|option| nearprint(at, &format!("{line} {option}"), b"").out);
        assert!(both[0] == both[1] && both[0].starts_with('{'), "{line}: {both:?}");
    }
    writer.close().unwrap();
    assert_eq!(json("")["locked"], json!(false));
    for line in succeeds(at, "stats db", b"").lines() {
        assert!(!line.split('\t').next().unwrap().contains(' '), "{line}");
    }
}

/// How often somebody looks at a lock. Wine takes long to open files.
const LOOKS: u32 = if cfg!(windows) { 100 } else { 2000 };

/// Looking at the lock takes it for a moment. No writer may be refused because of that.
#[test]
fn stats_do_not_disturb_writers() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let database = Database::<u64>::create(&path, &nearprint::Schema::new()).unwrap();
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| (0..LOOKS).for_each(|_| drop(database.activity().unwrap())));
        let mut written = 0;
        while !looking.is_finished() {
            database.writer().unwrap().close().unwrap();
            written += 1;
        }
        assert!(written > 0);
    });
}

/// Every line of a JSON log is an object, and work is reported from its beginning to its end.
#[test]
fn a_json_log_has_progress_and_messages() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let log = |line: &str, input: &[u8], code: i32| -> Vec<Value> {
        let outcome = nearprint(at, &format!("--log json {line}"), input);
        assert_eq!(outcome.code, code, "{}", outcome.err);
        outcome.err.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let rows: String = (0..20_000u64).map(|n| format!("{n}\n")).collect();
    let built = log("build db", rows.as_bytes(), 0);
    let works: BTreeSet<&str> = built.iter().filter_map(|line| line["work"].as_str()).collect();
    assert!(works.contains("sorting"), "{works:?}");
    for line in built.iter().filter(|line| line["work"].is_string()) {
        assert!(line["done"].is_u64() && line["unit"].is_string() && line["seconds"].is_f64(), "{line}");
    }
    assert!(built.last().unwrap()["message"].as_str().unwrap().starts_with("built db: 20000 rows"));
    let added = log("add db", b"20000\n", 0);
    let flush = added.iter().find(|line| line["event"] == "flush").unwrap();
    assert!(flush["rows"] == 1 && flush["bytes"].is_u64() && flush["seconds"].is_f64(), "{flush}");
    assert!(log("--quiet add db", b"20001\n", 0).is_empty());
    let in_the_future = || {
        let manifest = File::options().append(true).open(home.path().join("db/MANIFEST")).unwrap();
        manifest.set_modified(UNIX_EPOCH + Duration::from_secs(4_107_542_400)).unwrap();
    };
    in_the_future();
    let added = log("add db", b"20002\n", 0);
    let clock = added.iter().find(|line| line["event"] == "clock").unwrap();
    assert!(clock["last_commit"] == "2100-03-01 00:00 UTC" && clock["now"].is_string(), "{clock}");
    in_the_future();
    assert!(log("--quiet add db", b"20003\n", 0).is_empty());
    let verified = log("verify db", b"", 0);
    let last = verified.last().unwrap();
    assert_eq!((&last["work"], &last["done"]), (&json!("verifying"), &last["total"]));
    assert!(log("--no-progress verify db", b"", 0).is_empty());
    let refused = log("stats nowhere", b"", 1);
    assert!(refused[0]["message"].as_str().unwrap().contains("no database there"), "{refused:?}");
    let documents = log("dedup - -o out", b"{\"text\":\"a b c\"}\n", 0);
    assert!(documents.iter().any(|line| line["work"] == "reading"), "{documents:?}");
}

/// A line of the text format: a name, labels and a number.
fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let (series, number) = line.rsplit_once(' ').unwrap();
    let (name, labels) = series.strip_suffix('}').unwrap().split_once('{').unwrap();
    let mut found = BTreeMap::new();
    let mut rest = labels;
    while !rest.is_empty() {
        let (label, value) = rest.split_once("=\"").unwrap();
        let mut text = String::new();
        let mut characters = value.chars();
        loop {
            match characters.next().unwrap() {
                '"' => break,
                '\\' => text.push(match characters.next().unwrap() {
                    'n' => '\n',
                    same @ ('"' | '\\') => same,
                    other => panic!("\\{other}"),
                }),
                other => text.push(other),
            }
        }
        assert!(found.insert(label.to_string(), text).is_none(), "{line}");
        rest = characters.as_str();
        rest = if rest.is_empty() { rest } else { rest.strip_prefix(',').unwrap() };
    }
    for name in found.keys().map(String::as_str).chain([name]) {
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
    }
    (name.to_string(), found, number.parse().unwrap())
}

#[test]
fn prometheus_can_read_stats() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    // Windows has no names with such characters.
    let name = if cfg!(windows) { "a'b.np" } else { "a\"b\\c\n.np" };
    let nearprint = |arguments: &[&str]| {
        let outcome = run(env!("CARGO_BIN_EXE_nearprint"), at, arguments, b"1\n2\n3\n");
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        outcome.out
    };
    nearprint(&["build", name]);
    let text = nearprint(&["stats", name, "--format", "prometheus"]);
    let (mut described, mut seen, mut values) = (None, BTreeSet::new(), BTreeMap::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let metric = help.split_once(' ').unwrap().0;
            assert_eq!(lines.next().unwrap(), format!("# TYPE {metric} gauge"));
            assert!(seen.insert(metric.to_string()), "{metric} comes twice");
            described = Some(metric.to_string());
            continue;
        }
        let (metric, mut labels, value) = sample(line);
        assert_eq!(Some(&metric), described.as_ref(), "a sample behind its description");
        assert_eq!(labels.remove("database").as_deref(), Some(name));
        assert!(values.insert((metric, labels), value).is_none(), "{line} comes twice");
    }
    let value = |metric: &str| values[&(format!("nearprint_{metric}"), BTreeMap::new())];
    assert_eq!((value("rows"), value("live_rows"), value("dead_rows")), (3.0, 3.0, 0.0));
    assert_eq!((value("runs"), value("locked")), (1.0, 0.0));
    assert!(value("last_commit_timestamp_seconds") > 1e9);
    let sections: f64 = values
        .iter()
        .filter(|((metric, _), _)| metric == "nearprint_section_bytes")
        .map(|(_, value)| value)
        .sum();
    assert_eq!(sections, value("bytes"));
    let info = values.keys().find(|(metric, _)| metric == "nearprint_info").unwrap();
    assert_eq!((info.1["width"].as_str(), info.1["k"].as_str()), ("64", "3"));
}

#[test]
fn a_part_of_a_database_is_verified() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db", b"1\n2\n3\n");
    let rows = at.join("db/00000001.rows");
    let mut bytes = std::fs::read(&rows).unwrap();
    bytes[8192] ^= 1;
    std::fs::write(&rows, bytes).unwrap();
    let codes: Vec<i32> =
        (1..=8).map(|part| nearprint(at, &format!("verify db --part {part}/8"), b"").code).collect();
    assert_eq!(codes.iter().filter(|&&code| code == 3).count(), 1, "{codes:?}");
    assert_eq!(codes.iter().filter(|&&code| code == 0).count(), 7, "{codes:?}");
    for part in ["0/8", "9/8", "3", "a/b", "1/0"] {
        fails(at, &format!("verify db --part {part}"), b"", 2, &["--part"]);
    }
}
