//! The command lines, from outside: outputs, messages, exit codes.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::{fails, nearprint, succeeds, text};
use nearprint::Row;
use testkit::{Need, Shape, clusters, ended_by_hangup, matches, pairs, rows, short_or_full, skip};

#[test]
fn a_database_is_built_and_queried() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows: Vec<Row<u64>> = rows(Shape::Equal, 800, 7);
    fs::write(at.join("rows.txt"), text(&rows)).unwrap();
    assert_eq!(succeeds(at, "build db rows.txt --layout rotations:4", b""), "");

    let query = rows[3].fingerprint ^ 2;
    let expected: String = matches(&rows, query, 4)
        .iter()
        .map(|found| format!("{query}\t{}\t{}\t{}\n", found.distance, found.fingerprint, found.id))
        .collect();
    assert_eq!(succeeds(at, &format!("query db -f {query} -k 4"), b""), expected);
    let asked = succeeds(at, &format!("query db -f {query:#x} -k 4 --threads 3"), b"");
    let in_sixteen: String = matches(&rows, query, 4)
        .iter()
        .map(|found| {
            format!("{query:#018x}\t{}\t{:#018x}\t{}\n", found.distance, found.fingerprint, found.id)
        })
        .collect();
    assert_eq!(asked, in_sixteen);
    assert_eq!(succeeds(at, "query db -k 4", format!("{query}\n").as_bytes()), expected);
    assert_eq!(succeeds(at, "query db - -k 4", format!("{query},9\r\n").as_bytes()), expected);
    let first_two: String = expected.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert_eq!(succeeds(at, &format!("query db -f {query} -k 4 --limit 2"), b""), first_two);
    assert_eq!(succeeds(at, &format!("query db -f {query} --top 2"), b""), first_two);

    let found: BTreeSet<String> = succeeds(at, "pairs db -k 3", b"").lines().map(str::to_string).collect();
    let expected: BTreeSet<String> =
        pairs(&rows, 3).iter().map(|pair| format!("{}\t{}\t{}", pair.a, pair.b, pair.distance)).collect();
    assert_eq!(found, expected);
    let listed: BTreeSet<String> =
        succeeds(at, "pairs rows.txt -k 3", b"").lines().map(str::to_string).collect();
    assert_eq!(listed, expected);

    let grouped: String = clusters(&rows, 3)
        .iter()
        .enumerate()
        .flat_map(|(number, cluster)| {
            cluster.iter().map(move |row| format!("{number}\t{}\t{}\n", row.fingerprint, row.id))
        })
        .collect();
    assert_eq!(succeeds(at, "clusters db", b""), grouped);
    assert_eq!(succeeds(at, "clusters rows.txt -k 3", b""), grouped);

    let mut sorted = rows.clone();
    sorted.sort_unstable();
    assert_eq!(succeeds(at, "export db", b""), text(&sorted));
    succeeds(at, "export db -o out.jsonl --format jsonl", b"");
    succeeds(at, "build again out.jsonl", b"");
    assert_eq!(succeeds(at, "export again", b""), text(&sorted));
    succeeds(at, "export db -o out.u64 --format u64", b"");
    let raw = fs::read(at.join("out.u64")).unwrap();
    assert!(
        raw.chunks(8)
            .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
            .eq(sorted.iter().map(|row| row.fingerprint))
    );
    assert_eq!(succeeds(at, "export db --id 5", b"").lines().count(), 1);
    assert!(succeeds(at, "verify db", b"").starts_with("sound: 6 files, "));
    assert!(succeeds(at, "stats db", b"").contains("rows\t800\n"));
    assert!(succeeds(at, "stats db --format json", b"").contains("\"rows\":800"));
    let explained = succeeds(at, "explain db -k 3", b"");
    assert!(
        explained.contains("a query at k = 3") && explained.contains("MB more while it works"),
        "{explained}"
    );
    assert!(succeeds(at, "explain --rows 1000000 -k 3", b"").contains("4 > 3"));
    assert!(succeeds(at, "explain --rows 50000000 -k 3 --layout rotations:3", b"").contains("rotations:3"));
}

#[test]
fn id_pairs_of_databases_and_lists_are_the_same() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("rows.txt"), "8 1\n8 2\n9 7\n9 1\n8 2\n255 3\n").unwrap();
    succeeds(at, "build db rows.txt --layout rotations:4", b"");
    let expected = ["1\t1\t1", "1\t2\t0", "1\t7\t0", "1\t7\t1", "2\t1\t1", "2\t7\t1"];
    for line in ["pairs db --ids -k 1", "pairs rows.txt --ids -k 1"] {
        let out = succeeds(at, line, b"");
        let found: BTreeSet<&str> = out.lines().collect();
        assert_eq!(found, BTreeSet::from(expected), "{line}");
    }
    let json = succeeds(at, "pairs db --ids -k 1 --format json", b"");
    assert!(json.contains(r#"{"id_a":"1","id_b":"2","distance":0}"#), "{json}");
}

#[test]
fn every_input_format_gives_the_same_rows() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let largest = u64::MAX;
    let expected = format!("7\t0\n255\t20\n255\t21\n{largest}\t3\n");
    let inputs: [(&str, String); 9] = [
        ("a.txt", format!("7\n{largest},3\n0xff 20\n255\n")),
        ("b.txt", format!("\u{feff}7 0\r\n{largest}\t3\r\n255 , 20\r\n255\r\n\r\n\n")),
        ("c.csv", format!("7\n{largest},3\n0xff,20\n255,")),
        ("d.csv", format!("key,id,fingerprint\nx,0,7\n\"y,z\",3,{largest}\n,20,255\n,,255\n")),
        ("e.tsv", format!("7\t\n{largest}\t3\t\n255\t20\n255\n")),
        ("f.tsv", format!("fingerprint\tid\n7\t0\n{largest}\t3\n255\t20\n255\t21\n")),
        (
            "g.jsonl",
            format!(
                "{{\"fingerprint\":7}}\n{{\"fingerprint\":\"{largest}\",\"id\":3}}\n{{\"id\":\"20\",\"fingerprint\":\"0xff\"}}\n{{\"fingerprint\":255}}\n"
            ),
        ),
        ("h.other", format!("7\n{largest} 3\n255 20\n255 21\n")),
        ("-", format!("7\n{largest} 3\n255 20\n255\n")),
    ];
    for (name, content) in &inputs {
        if *name != "-" {
            fs::write(at.join(name), content).unwrap();
        }
        succeeds(at, &format!("build db{name}.np {name}"), content.as_bytes());
        assert_eq!(succeeds(at, &format!("export db{name}.np"), b""), expected, "{name}");
    }
    let raw: Vec<u8> = [5u64, 1, 5].iter().flat_map(|value| value.to_le_bytes()).collect();
    fs::write(at.join("i.u64"), &raw).unwrap();
    succeeds(at, "build i.np i.u64 --first-id 100", b"");
    assert_eq!(succeeds(at, "export i.np", b""), "1\t101\n5\t100\n5\t102\n");
    succeeds(at, "build j.np --input-format u64", &raw);
    succeeds(at, "build k.np i.u64 a.txt", b"");
    assert_eq!(succeeds(at, "export k.np", b"").lines().count(), 7);
    fs::write(at.join("l.jsonl"), "{\"h\":\"9\",\"n\":4}\n").unwrap();
    succeeds(at, "build l.np l.jsonl --fingerprint-field h --id-field n", b"");
    assert_eq!(succeeds(at, "export l.np", b""), "9\t4\n");
}

#[test]
fn bad_input_is_named_and_leaves_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let cases: [(&str, &[u8], &[&str]); 19] = [
        ("a.txt", b"1\n2\nthree\n4\n", &["a.txt:3", "\"three\""]),
        ("b.txt", b"1 x\n", &["b.txt:1", "not an id"]),
        ("c.txt", b"18446744073709551616\n", &["c.txt:1", "does not fit in 64 bits"]),
        ("d.txt", b"1\n\n2\n", &["d.txt:2", "empty line"]),
        ("e.txt", b"1\n\xff\xfe\n", &["e.txt:2", "UTF-8"]),
        ("f.txt", b"1\n0x\n", &["f.txt:2"]),
        ("g.u64", b"12345678abc", &["g.u64:8", "3 bytes"]),
        ("h.csv", b"fingerprint,id\n1,2\nx,3\n", &["h.csv:3", "\"x,3\""]),
        ("i.csv", b"hash,id\n1,2\n", &["i.csv:1", "no column named \"fingerprint\""]),
        ("j.csv", b"1,2\n3,-4\n", &["j.csv:2", "not an id"]),
        ("k.tsv", b"1\t2\n3\tx\n", &["k.tsv:2"]),
        ("l.jsonl", b"{\"fingerprint\":1}\n{oops}\n", &["l.jsonl:2", "not JSON"]),
        ("m.jsonl", b"{\"id\":1}\n", &["m.jsonl:1", "no field \"fingerprint\""]),
        ("n.jsonl", b"{\"fingerprint\":1.5}\n", &["n.jsonl:1"]),
        ("o.jsonl", b"{\"fingerprint\":-1}\n", &["o.jsonl:1"]),
        ("p.jsonl", b"{\"fingerprint\":1,\"id\":-1}\n", &["p.jsonl:1", "not an id"]),
        ("q.txt", b"-5\n", &["q.txt:1"]),
        ("r.tsv", b"1\t2\n3\t4\tkey\n", &["r.tsv:2", "--store keys"]),
        ("s.csv", b"1,2,\n3,,key\n", &["s.csv:2", "--store keys"]),
    ];
    for (name, content, words) in cases {
        fs::write(at.join(name), content).unwrap();
        fails(at, &format!("build db {name}"), b"", 5, words);
        assert!(!at.join("db").exists() && !at.join("db.building").exists(), "{name}");
    }
    fails(at, "build db", b"1\nx\n", 5, &["standard input:2"]);
    fails(at, "build db missing.txt", b"", 1, &["missing.txt"]);
    assert!(!at.join("db").exists() && !at.join("db.building").exists());
    let long = "9".repeat(5000);
    let outcome = nearprint(at, "build db", long.as_bytes());
    assert!(outcome.code == 5 && outcome.err.len() < 400, "{}", outcome.err);
}

#[test]
fn databases_are_never_overwritten_and_missing_ones_are_told() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db -k 5", b"");
    fails(at, "create db", b"", 1, &["already exists", "hint:"]);
    fails(at, "build db", b"1\n", 1, &["already exists"]);
    assert_eq!(succeeds(at, "query db -f 1 -k 64", b""), "");
    assert_eq!(succeeds(at, "pairs db", b""), "");
    assert!(succeeds(at, "verify db", b"").starts_with("sound: 1 files"));
    for line in [
        "query none -f 1",
        "pairs none",
        "clusters none",
        "export none",
        "stats none",
        "verify none",
        "explain none",
    ] {
        fails(at, line, b"", 1, &["none", "no database there"]);
    }
    fs::create_dir(at.join("folder")).unwrap();
    fails(at, "stats folder", b"", 1, &["no database there"]);
    succeeds(at, "build empty", b"");
    assert_eq!(succeeds(at, "query empty -f 0 --top 3", b""), "");
}

#[test]
fn wrong_command_lines_exit_with_2() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create db", b"");
    for line in [
        "",
        "frobnicate",
        "query",
        "query db -f x",
        "query db -f 1 -k 65",
        "query db -f 1 -k -1",
        "query db --frob",
        "pairs",
        "pairs db --width 64",
        "explain",
        "explain db -n 5",
        "create other --width 63",
        "create other --layout rotations:0",
        "create other --layout blocks:6,5",
        "create other --layout spiral",
        "create other -k 65",
        "build other --memory 1",
        "build other --memory lots",
        "--threads 0 stats db",
    ] {
        let outcome = nearprint(at, line, b"");
        assert_eq!(outcome.code, 2, "{line}: {}", outcome.err);
        assert!(!outcome.err.is_empty(), "{line}");
        assert!(!at.join("other").exists(), "{line}");
    }
    for line in ["--help", "help query", "--version", "query --help"] {
        let outcome = nearprint(at, line, b"");
        assert!(outcome.code == 0 && !outcome.out.is_empty() && outcome.err.is_empty(), "{line}");
    }
}

#[test]
fn damage_exits_with_3_and_newer_versions_with_1() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db --layout rotations:2", b"1\n2\n3\n");
    let file = at.join("db/00000001-t1.seg");
    let mut bytes = fs::read(&file).unwrap();
    bytes[20_000] ^= 4;
    fs::write(&file, bytes).unwrap();
    fails(at, "verify db", b"", 3, &["00000001-t1.seg", "hi", "offset 16384", "CRC-32"]);
    fails(at, "query db -f 1 -k 3 -k 3", b"", 2, &[]);
    let manifest = at.join("db/MANIFEST");
    let sound = fs::read(&manifest).unwrap();
    fs::write(&manifest, &sound[..50]).unwrap();
    fails(at, "stats db", b"", 3, &["MANIFEST", "hint:"]);
    let mut newer = sound[..sound.len() - 4].to_vec();
    newer[8] = 2;
    newer.extend_from_slice(&crc32fast::hash(&newer).to_le_bytes());
    fs::write(&manifest, newer).unwrap();
    fails(at, "stats db", b"", 1, &["version 2"]);
}

#[test]
fn a_second_build_of_the_same_name_is_locked_out() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let mut first = Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(["build", "db"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let marker = at.join("db.building/NEARPRINT-FOLDER");
    while fs::read(&marker).map_or(true, |marker| marker.is_empty()) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    fails(at, "build db", b"1\n", 4, &["locked by another writer", &format!("process {}", first.id())]);
    first.stdin.take().unwrap().write_all(b"5\n").unwrap();
    assert!(first.wait().unwrap().success());
    assert_eq!(succeeds(at, "export db", b""), "5\t0\n");
}

#[test]
#[cfg_attr(windows, ignore = "sends signals; `windows` has a test of Ctrl-C and Ctrl-Break")]
fn interrupted_builds_leave_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (signal, code) in [("-INT", 130), ("-HUP", 129), ("-TERM", 143)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
        command.args(["build", "db"]).current_dir(at).stdin(Stdio::piped()).stderr(Stdio::null());
        let mut build = ended_by_hangup(&mut command).spawn().unwrap();
        // More than the pipe holds: once it is written, the build is reading.
        build.stdin.as_mut().unwrap().write_all(&b"1\n".repeat(100_000)).unwrap();
        assert!(at.join("db.building/NEARPRINT-FOLDER").exists());
        assert!(Command::new("kill").args([signal, &build.id().to_string()]).status().unwrap().success());
        // Kept open: the build waits for input and has to be ended anyway.
        let stdin = build.stdin.take();
        assert_eq!(build.wait().unwrap().code(), Some(code), "{signal}");
        assert!(!at.join("db").exists() && !at.join("db.building").exists(), "{signal}");
        drop(stdin);
    }
}

#[test]
fn a_closed_pipe_is_quiet() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let input: String = (0..200_000u64).map(|i| format!("{}\n", i * 3)).collect();
    succeeds(at, "build db", input.as_bytes());
    let mut export = Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(["export", "db"])
        .current_dir(at)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(export.stdout.take());
    let output = export.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn several_databases_are_queried_as_one() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build one", b"8 1\n9 2\n1000 3\n");
    succeeds(at, "build two", b"8 1\n9 5\n12 3\n");
    assert_eq!(
        succeeds(at, "query one two -f 8 -k 1", b""),
        "8\t0\t8\t1\n8\t1\t9\t2\n8\t1\t9\t5\n8\t1\t12\t3\n"
    );
    assert_eq!(succeeds(at, "query one two -f 8 --top 3", b"").lines().count(), 3);
    assert_eq!(succeeds(at, "query one two --id 3 -k 0", b""), "12\t0\t12\t3\n1000\t0\t1000\t3\n");
    let json = succeeds(at, "query one -f 8 -k 0 --format json", b"");
    assert_eq!(json, "{\"query\":\"8\",\"distance\":0,\"fingerprint\":\"8\",\"id\":\"1\"}\n");
}

#[test]
fn real_fingerprints_are_clustered_as_by_brute_force() {
    let Some(data) = std::env::var_os("NEARPRINT_DATA") else {
        let test = "real_fingerprints_are_clustered_as_by_brute_force";
        return skip(Need::Data, test, "NEARPRINT_DATA names no folder");
    };
    let packed = Path::new(&data).join("debian-fingerprints.txt.gz");
    let unpacked = Command::new("gzip").arg("-dc").arg(packed).output().unwrap().stdout;
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    // In short form, every fourth one: brute force takes a sixteenth.
    let lines: Vec<&str> =
        std::str::from_utf8(&unpacked).unwrap().lines().step_by(short_or_full(4, 1)).collect();
    succeeds(at, "build db", lines.join("\n").as_bytes());
    let rows: Vec<Row<u64>> = lines
        .iter()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(fingerprint, id)| Row { fingerprint: fingerprint.parse().unwrap(), id: id.parse().unwrap() })
        .collect();
    assert_eq!(rows.len(), short_or_full(15_977, 63_905));
    let all = pairs(&rows, 8);
    for k in [3, 8] {
        let expected: BTreeSet<String> = all
            .iter()
            .filter(|pair| pair.distance <= k)
            .map(|pair| format!("{}\t{}\t{}", pair.a, pair.b, pair.distance))
            .collect();
        let out = succeeds(at, &format!("pairs db -k {k}"), b"");
        assert_eq!(out.lines().count(), expected.len());
        assert_eq!(out.lines().map(str::to_string).collect::<BTreeSet<_>>(), expected);
        let queries: Vec<u64> = rows.iter().step_by(997).map(|row| row.fingerprint ^ 3).collect();
        let input: String = queries.iter().map(|query| format!("{query}\n")).collect();
        let expected: String = queries
            .iter()
            .flat_map(|&query| matches(&rows, query, k).into_iter().map(move |found| (query, found)))
            .map(|(query, found)| {
                format!("{query}\t{}\t{}\t{}\n", found.distance, found.fingerprint, found.id)
            })
            .collect();
        assert_eq!(succeeds(at, &format!("query db -k {k}"), input.as_bytes()), expected);
    }
}

/// A line count of a CSV with CRLF was taken before the line end; blank lines and an open quotation
/// mark passed unnoticed.
#[test]
fn regression_csv_lines_are_counted_and_checked() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let cases: [(&str, &[u8], &[&str]); 5] = [
        ("a.csv", b"fingerprint,id\r\n1,1\r\n2,2\r\n3,x\r\n", &["a.csv:4"]),
        ("b.csv", b"fingerprint,id\n1,5\n\n2\n", &["b.csv:3", "empty line"]),
        ("c.csv", b"fingerprint,id\n\"5\n", &["c.csv:2", "never closed"]),
        ("d.csv", b"key,fingerprint\n\"a\nb\",1\nc,x\n", &["d.csv:4"]),
        ("e.csv", b"5,18446744073709551615\n6\n", &["e.csv:2", "no automatic id"]),
    ];
    for (name, content, words) in cases {
        fs::write(at.join(name), content).unwrap();
        fails(at, &format!("build db {name}"), b"", 5, words);
    }
    fs::write(at.join("f.csv"), "key,fingerprint,id\n\"a\nb\",\"7\", 3\n").unwrap();
    succeeds(at, "build db f.csv", b"");
    assert_eq!(succeeds(at, "export db", b""), "7\t3\n");
}

#[test]
fn regression_a_line_without_end_is_not_held_in_memory() {
    let home = tempfile::tempdir().unwrap();
    let endless = vec![b'1'; 20 << 20];
    fails(home.path(), "build db", &endless, 5, &["standard input:1", "more than 16 MiB"]);
}

/// Each query is answered before the next one is sent, in every format.
#[test]
fn regression_queries_are_answered_as_they_come() {
    use std::io::{BufRead, BufReader};
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db", b"5 1\n6 2\n");
    let raw = |value: u64| value.to_le_bytes().to_vec();
    let cases: [(&str, [Vec<u8>; 2]); 4] = [
        ("text", [b"5\n6".to_vec(), b"\n".to_vec()]),
        ("csv", [b"5\n".to_vec(), b"6\n".to_vec()]),
        ("jsonl", [b"{\"fingerprint\":5}\n".to_vec(), b"{\"fingerprint\":6}\n".to_vec()]),
        ("u64", [raw(5), raw(6)]),
    ];
    for (format, [first, second]) in cases {
        let mut child = Command::new(env!("CARGO_BIN_EXE_nearprint"))
            .args(["query", "db", "-k", "0", "--input-format", format])
            .current_dir(at)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
        stdin.write_all(&first).unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), "5\t0\t5\t1", "{format}");
        stdin.write_all(&second).unwrap();
        assert_eq!(answers.next().unwrap().unwrap(), "6\t0\t6\t2", "{format}");
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn regression_an_export_never_overwrites_its_database() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db", b"5\n");
    for output in ["db/MANIFEST", "db/00000001.rows", "./db/new", "db/../db/LOCK"] {
        fails(at, &format!("export db -o {output}"), b"", 2, &["lies in the database"]);
    }
    assert_eq!(succeeds(at, "export db", b""), "5\t0\n");
}

#[test]
fn regression_layouts_that_overflow_are_refused() {
    let home = tempfile::tempdir().unwrap();
    for layout in
        ["blocks:6,4294967295", "blocks:6,4294967293", "blocks:64,4294967294", "blocks:4294967295,2"]
    {
        for k in [0, 1, 3, 64] {
            fails(home.path(), &format!("create db --layout {layout} -k {k}"), b"", 2, &["blocks:"]);
        }
    }
    assert!(!home.path().join("db").exists());
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "only Linux has a full device")]
fn regression_messages_that_cannot_be_written_change_no_exit_code() {
    let home = tempfile::tempdir().unwrap();
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let code = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
        command.args(arguments).current_dir(home.path()).stdin(Stdio::null()).stderr(full());
        command.status().unwrap().code()
    };
    assert_eq!(code(&["query", "none", "-f", "5"]), Some(1));
    assert_eq!(code(&["build", "db"]), Some(0));
    let mut help = Command::new(env!("CARGO_BIN_EXE_simhash-find-all"));
    assert_eq!(help.arg("--help").stdout(full()).stderr(full()).status().unwrap().code(), Some(8));
}

#[test]
fn regression_a_repair_wrote_into_databases_and_hid_a_loss_behind_a_pipe() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows: Vec<Row<u64>> = rows(Shape::Uniform, 5000, 22);
    succeeds(at, "build db", text(&rows).as_bytes());
    succeeds(at, "build other", b"1\n");
    fails(at, "repair db new --fingerprints db/MANIFEST", b"", 2, &["db"]);
    fails(at, "repair db new --fingerprints other/00000001.rows", b"", 2, &["other"]);
    fails(at, "repair db new --fingerprints x --summary x", b"", 2, &["x"]);
    for database in ["db", "other"] {
        assert!(succeeds(at, &format!("verify {database}"), b"").starts_with("sound"));
    }
    assert!(!at.join("new").exists());

    let file = at.join("db/00000001.rows");
    let mut bytes = fs::read(&file).unwrap();
    bytes[8193] ^= 1;
    fs::write(&file, bytes).unwrap();
    // The exit code is not that of a pipe that nobody reads.
    let mut unread = Command::new(env!("CARGO_BIN_EXE_nearprint"));
    unread.current_dir(at).args(["-q", "repair", "db", "new"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut unread = unread.spawn().unwrap();
    drop(unread.stdout.take());
    assert_eq!(unread.wait().unwrap().code(), Some(9));
    assert!(at.join("new").exists());
}

#[test]
fn repair_saves_what_can_be_read_and_says_what_is_lost() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows: Vec<Row<u64>> = rows(Shape::Uniform, 5000, 21);
    succeeds(at, "build db --layout rotations:2", text(&rows).as_bytes());
    let expected = succeeds(at, "export db", b"");
    let totals = |rows: u64, lost: u64, recovered: u64| {
        let named = [
            ("rows", rows),
            ("lost_rows", lost),
            ("without_id", lost),
            ("lost_fingerprints", 0),
            ("recovered", recovered),
        ];
        named.map(|(name, number)| format!("total\t{name}\t{number}\n")).concat()
    };
    assert_eq!(succeeds(at, "repair db same", b""), totals(5000, 0, 0));
    assert_eq!(succeeds(at, "export same", b""), expected);
    fails(at, "repair db same", b"", 1, &["already exists"]);
    fails(at, "repair none new", b"", 1, &["no database"]);
    fails(at, "repair db db/new", b"", 2, &["lies in"]);
    fails(at, "repair db", b"", 2, &["DEST"]);

    let flip = |name: &str, page: usize| {
        let file = at.join("db").join(name);
        let mut bytes = fs::read(&file).unwrap();
        bytes[page * 8192 + 1] ^= 1;
        fs::write(&file, bytes).unwrap();
    };
    flip("00000001-t0.seg", 2);
    let outcome = nearprint(at, "-q repair db whole", b"");
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    assert!(outcome.out.contains("recovered\t00000001-t0.seg\t2048 fingerprints"), "{}", outcome.out);
    assert!(outcome.out.ends_with(&totals(5000, 0, 2048)), "{}", outcome.out);
    assert_eq!(succeeds(at, "export whole", b""), expected);
    assert!(succeeds(at, "verify whole", b"").starts_with("sound"));

    flip("00000001.rows", 1);
    let outcome = nearprint(at, "-q repair db part --fingerprints part.txt", b"");
    assert_eq!(outcome.code, 9);
    let saved: BTreeSet<String> =
        fs::read_to_string(at.join("part.txt")).unwrap().lines().map(Into::into).collect();
    let first: BTreeSet<String> =
        expected.lines().take(2048).map(|line| line.split('\t').next().unwrap().to_string()).collect();
    assert_eq!(saved, first, "the fingerprints of the damaged page of ids");
    assert!(outcome.err.contains("not everything could be recovered"), "{}", outcome.err);
    assert!(outcome.out.contains("lost\t00000001.rows\t2048 rows\n"), "{}", outcome.out);
    assert!(outcome.out.ends_with(&totals(5000 - 2048, 2048, 2048)), "{}", outcome.out);
    assert!(outcome.out.lines().all(|line| line.split('\t').count() == 3), "{}", outcome.out);

    fs::remove_file(at.join("db/00000001.rows")).unwrap();
    let outcome = nearprint(at, "repair db nothing --fingerprints all.txt", b"");
    assert_eq!(outcome.code, 1);
    succeeds(at, "build again all.txt", b"");
    let column = |table: &str| -> BTreeSet<String> {
        table.lines().map(|line| line.split('\t').next().unwrap().to_string()).collect()
    };
    assert_eq!(column(&succeeds(at, "export again", b"")), column(&expected), "of all rows");
    assert!(outcome.out.contains("total\tlost_rows\t5000"), "{}", outcome.out);
    assert!(outcome.err.contains("no row could be recovered"), "{}", outcome.err);
    assert!(!at.join("nothing").exists() && !at.join("nothing.building").exists());
}
