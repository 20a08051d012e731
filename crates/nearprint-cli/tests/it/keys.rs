//! Keys in files of fingerprints, from outside: into databases and out again.

use std::fs;

use crate::cli::{fails, nearprint, run, succeeds};
use testkit::Random;

/// The ids that the keys "a" and "b" give: their xxh3-64, as other implementations have it.
const ID_OF_A: u64 = 0xe6c6_32b6_1e96_4e1f;

#[test]
fn regression_an_empty_key_is_a_key_in_all_formats() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = "fingerprint\tid\tkey\n1\t1\t\n2\t2\t\\e\n3\t3\tk\n4\t4\t\\\\e\n";
    fs::write(at.join("rows.tsv"), rows).unwrap();
    succeeds(at, "build first.np rows.tsv --store keys", b"");
    let expected = rows.split_once('\n').unwrap().1;
    assert_eq!(succeeds(at, "export first.np", b""), expected);
    let mut objects = succeeds(at, "export first.np --format json", b"");
    assert!(objects.contains("\"key\":null") && objects.contains("\"key\":\"\""), "{objects}");
    fs::write(at.join("json.jsonl"), &objects).unwrap();
    fs::write(at.join("tsv.tsv"), succeeds(at, "export first.np --header", b"")).unwrap();
    succeeds(at, "export first.np --format parquet -o parquet.parquet", b"");
    for name in ["json.jsonl", "tsv.tsv", "parquet.parquet"] {
        succeeds(at, &format!("build {name}.np {name} --store keys"), b"");
        assert_eq!(succeeds(at, &format!("export {name}.np"), b""), expected, "{name}");
        objects = succeeds(at, &format!("query {name}.np -f 2 -k 0 --format json"), b"");
        assert!(objects.contains("\"key\":\"\""), "{name}: {objects}");
    }
    fs::write(at.join("texts.jsonl"), "{\"id\": \"\", \"text\": \"one\"}\n").unwrap();
    let print = succeeds(at, "fingerprint texts.jsonl --key-field id", b"");
    assert!(print.ends_with("\t\\e\n"), "{print}");
    succeeds(at, "build prints.np --store keys", print.as_bytes());
    assert!(succeeds(at, "export prints.np", b"").ends_with("\t\\e\n"));
}

#[test]
fn every_format_with_names_gives_keys() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let expected = format!("7\t1\tx\ty \\\\ \\n\n8\t{ID_OF_A}\ta\n9\t3\t\n").replacen("x\ty", "x\\ty", 1);
    let inputs = [
        ("a.tsv", "7\t1\tx\\ty \\\\ \\n\n8\t\ta\n9\t3\n".to_string()),
        ("b.tsv", "key\tfingerprint\tid\nx\\ty \\\\ \\n\t7\t1\na\t8\t\n\t9\t3\n".into()),
        ("c.csv", "7,1,\"x\ty \\ \n\"\n8,,a\n9,3\n".into()),
        ("d.csv", "id,key,fingerprint\n1,\"x\ty \\ \n\",7\n,\"a\",8\n3,,9\n".into()),
        (
            "e.jsonl",
            "{\"fingerprint\":7,\"id\":1,\"key\":\"x\\ty \\\\ \\n\"}\n{\"fingerprint\":\"8\",\"key\":\"a\"}\n{\"id\":3,\"fingerprint\":9,\"key\":null}\n"
                .into(),
        ),
    ];
    for (name, content) in inputs {
        fs::write(at.join(name), content).unwrap();
        succeeds(at, &format!("build {name}.np {name} --store keys"), b"");
        assert_eq!(succeeds(at, &format!("export {name}.np"), b""), expected, "{name}");
        succeeds(at, &format!("create {name}.texts --store texts"), b"");
        succeeds(at, &format!("add {name}.texts {name}"), b"");
        assert_eq!(succeeds(at, &format!("export {name}.texts"), b""), expected, "{name}");
    }
    let named = b"{\"fingerprint\":7,\"id\":1,\"_id\":{\"$oid\":\"q\"}}\n{\"fingerprint\":8,\"id\":2,\"_id\":{\"$oid\":5}}\n";
    succeeds(at, "build named.np --store keys --input-format jsonl --key-field _id.$oid", named);
    assert_eq!(succeeds(at, "export named.np", b""), "7\t1\tq\n8\t2\t5\n");
    let columns = b"url,fingerprint\nu,5\n";
    succeeds(at, "build column.np --store keys --input-format csv --key-field url", columns);
    assert!(succeeds(at, "export column.np", b"").ends_with("\tu\n"));
    succeeds(at, "build text.np --store keys", b"7 1\n8\n");
    assert_eq!(succeeds(at, "export text.np", b""), "7\t1\t\n8\t2\t\n");
}

#[test]
fn an_export_is_read_back_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let parts = ["a", " ", "\t", "\n", "\r", "\\", "\"", ",", "é", "\\t", "\u{feff}"];
    let mut random = Random(1);
    let lines: String = (0..500)
        .map(|_| {
            let key: String = (0..random.below(7)).map(|_| parts[random.below(11) as usize]).collect();
            let (fingerprint, id) = (random.below(200), random.below(300));
            format!("{}\n", serde_json::json!({"fingerprint": fingerprint, "id": id, "key": key}))
        })
        .collect();
    succeeds(at, "build db --store keys --input-format jsonl", lines.as_bytes());
    let exported = succeeds(at, "export db", b"");
    assert!(exported.lines().count() > 450);
    succeeds(at, "build tsv --store keys --input-format tsv", exported.as_bytes());
    assert_eq!(succeeds(at, "export tsv", b""), exported);
    let objects = succeeds(at, "export db --format jsonl", b"");
    succeeds(at, "build jsonl --store keys --input-format jsonl", objects.as_bytes());
    assert_eq!(succeeds(at, "export jsonl", b""), exported);
    // Files with keys are lists of fingerprints, too.
    let from_list = succeeds(at, "pairs - --input-format tsv -k 1", exported.as_bytes());
    assert_eq!(from_list.lines().count(), succeeds(at, "pairs db -k 1", b"").lines().count());
    succeeds(at, "query db - --input-format tsv -k 0", exported.as_bytes());
}

#[test]
fn a_database_without_keys_takes_no_key_unasked() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "create plain", b"");
    // Columns and members that are named are for whoever wants them.
    succeeds(at, "add plain --input-format tsv", b"fingerprint\tkey\tid\n7\tx\t1\n");
    succeeds(at, "add plain --input-format jsonl", b"{\"fingerprint\":8,\"id\":2,\"key\":\"y\"}\n");
    assert_eq!(succeeds(at, "export plain", b""), "7\t1\n8\t2\n");
    fails(at, "add plain --input-format tsv", b"9\t3\n9\t4\tx\n", 5, &["standard input:2", "--store keys"]);
    fails(at, "build other --input-format csv", b"9,4,x\n", 5, &["standard input:1", "--store keys"]);
    let long = format!("fingerprint,key\n7,a\n7,{}\n", "k".repeat(65_537));
    fails(
        at,
        "build other --store keys --input-format csv",
        long.as_bytes(),
        5,
        &["standard input:3", "65536"],
    );
    for (input, words) in
        [("{\"fingerprint\":7,\"key\":[1]}\n", "no key"), ("{\"fingerprint\":7,\"key\":true}\n", "no key")]
    {
        let line = "build other --store keys --input-format jsonl";
        fails(at, line, input.as_bytes(), 5, &["standard input:1", words]);
    }
    let line = "build other --store keys --key-field url --input-format";
    fails(at, &format!("{line} jsonl"), b"{\"fingerprint\":7}\n", 5, &["no field \"url\""]);
    fails(at, &format!("{line} tsv"), b"fingerprint\n7\n", 5, &["no column named \"url\""]);
    assert!(!at.join("other").exists());
}

/// The keys of a file whose format is given were dropped without a word.
#[test]
fn regression_keys_that_are_not_stored_are_told_once() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let warning =
        "warning: the keys of the input are not stored; make the database with --store keys to keep them\n";
    for (name, rows) in [
        ("a.tsv", "fingerprint\tkey\n7\tx\n8\ty\n"),
        ("a.csv", "key,fingerprint\nx,7\ny,8\n"),
        ("a.jsonl", "{\"fingerprint\":7,\"key\":\"x\"}\n{\"fingerprint\":8,\"key\":\"y\"}\n"),
    ] {
        fs::write(at.join(name), rows).unwrap();
        for line in [format!("build {name}.np {name}"), format!("add {name}.np {name}")] {
            let told = nearprint(at, &line, b"");
            assert_eq!((told.code, told.err.matches("warning").count()), (0, 1), "{line}: {}", told.err);
            assert!(told.err.starts_with(warning), "{line}: {}", told.err);
            assert_eq!(nearprint(at, &format!("-q {}", line.replace(".np", ".quiet")), b"").err, "");
        }
        let stored = nearprint(at, &format!("build {name}.keys {name} --store keys"), b"");
        assert!(stored.code == 0 && !stored.err.contains("warning"), "{}", stored.err);
    }
    // An empty cell is no key.
    let without = nearprint(at, "build none.np --input-format tsv", b"fingerprint\tkey\n7\t\n");
    assert!(without.code == 0 && !without.err.contains("warning"), "{}", without.err);
}

#[test]
fn upsert_replaces_what_a_key_had() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db --store keys --input-format tsv", b"7\t\ta\n8\t5\tb\n");
    succeeds(at, "add db --upsert --input-format tsv", b"9\t\ta\n10\t5\tc\n11\t6\n");
    assert_eq!(succeeds(at, "export db", b""), format!("9\t{ID_OF_A}\ta\n10\t5\tc\n11\t6\t\n"));
    let again = nearprint(at, "add db --input-format tsv", b"9\t\ta\n");
    assert_eq!(again.code, 0, "{}", again.err);
    assert_eq!(succeeds(at, "export db", b"").lines().count(), 3);
    succeeds(at, "delete db --key a", b"");
    assert_eq!(succeeds(at, "export db", b""), "10\t5\tc\n11\t6\t\n");
}

#[test]
fn a_column_of_parquet_gives_keys() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build keyed --store keys --input-format tsv", b"7\t1\ta\n7\t1\t\xc3\xa9 b\n8\t2\n");
    succeeds(at, "export keyed -o keyed.parquet --format parquet", b"");
    succeeds(at, "build again keyed.parquet --store keys", b"");
    assert_eq!(succeeds(at, "export again", b""), succeeds(at, "export keyed", b""));
    // Any column of strings or numbers may hold keys.
    succeeds(at, "build plain", b"7 1\n8 2\n");
    succeeds(at, "export plain -o rows.parquet --format parquet", b"");
    succeeds(at, "build db rows.parquet --store keys --key-field id", b"");
    assert_eq!(succeeds(at, "export db", b""), "7\t1\t1\n8\t2\t2\n");
    fails(at, "build other rows.parquet --store keys --key-field url", b"", 5, &["no column named \"url\""]);
}

#[test]
fn regression_deleting_a_key_leaves_other_keys_and_rows_of_the_same_id() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = "1\t10\tk1\n2\t10\tk2\n3\t10\n4\t11\tk3\n4\t11\tk4\n5\t12\tk1\n";
    succeeds(at, "build db --store keys --input-format tsv", rows.as_bytes());
    let deleted = nearprint(at, "delete db --key k1", b"").err;
    assert!(deleted.contains("deleted 2 rows"), "{deleted}");
    assert_eq!(succeeds(at, "export db", b""), "2\t10\tk2\n3\t10\t\n4\t11\tk3\n4\t11\tk4\n");
    let deleted = nearprint(at, "delete db --key k3 --key none", b"").err;
    assert!(deleted.contains("deleted 0 rows"), "{deleted}");
    assert_eq!(succeeds(at, "export db", b""), "2\t10\tk2\n3\t10\t\n4\t11\tk4\n");
    succeeds(at, "delete db --key k4 --key k2", b"");
    assert_eq!(succeeds(at, "export db", b""), "3\t10\t\n");
    succeeds(at, "verify db", b"");
}

#[test]
fn regression_numbers_are_keys_as_they_stand() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let keys = ["12345678901234567890123", "12345678901234567890124", "1.50e3", "-0", "{\"b\":1,\"a\":[2]}"];
    let lines: String = keys.iter().map(|key| format!("{{\"fingerprint\":5,\"key\":{key}}}\n")).collect();
    succeeds(at, "build db --store keys --input-format jsonl", lines.as_bytes());
    let exported = succeeds(at, "export db", b"");
    let mut found: Vec<&str> = exported.lines().map(|line| line.split('\t').nth(2).unwrap()).collect();
    let mut expected = keys.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
    fails(
        at,
        "build other --store keys --input-format jsonl",
        b"{\"fingerprint\":5,\"key\":[1]}\n",
        5,
        &["\"key\""],
    );
}

#[test]
fn rows_are_deleted_by_lists_and_prefixes_of_keys_and_by_ranges_of_ids() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows: String = (0..40).map(|n| format!("{n}\t{n}\tkey {}\\n{n}\n", n % 4)).collect();
    succeeds(at, "build db --store keys --input-format tsv", rows.as_bytes());
    let ids = || -> Vec<u64> {
        let exported = succeeds(at, "export db", b"");
        exported.lines().map(|line| line.split('\t').nth(1).unwrap().parse().unwrap()).collect()
    };
    let deleted = |line: &str, input: &[u8], what: &str| {
        let outcome = nearprint(at, line, input);
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        assert!(outcome.err.contains(&format!("deleted {what} from db")), "{}", outcome.err);
    };
    deleted("delete db --keys -", b"key 0\\n0\nkey 1\\n1\r\n\nkey 9\\n9\n", "2 rows");
    assert_eq!(ids(), (2..40).collect::<Vec<_>>());
    fs::write(at.join("list"), "key 2\n2\0key 3\n3").unwrap();
    deleted("delete db --keys list -0", b"", "2 rows");
    assert_eq!(ids(), (4..40).collect::<Vec<_>>());
    deleted("delete db --id 4..19", b"", "16 rows");
    deleted("delete db --id 0..19", b"", "0 rows");
    assert_eq!(ids(), (20..40).collect::<Vec<_>>());
    let outcome = nearprint(at, "delete db", b"20\n21\n");
    assert_eq!((outcome.code, &*outcome.err), (0, "deleted what db had under 2 ids\n"));
    assert!(nearprint(at, "delete db --key-prefix", b"").code == 2);
    for (line, why) in [
        ("delete db --id 5..4", "two ids in order"),
        ("delete db --id 5..", "two ids in order"),
        ("delete db list --keys list", "cannot be used"),
        ("delete db --key a --id 5..6", "cannot be used"),
        ("delete db -0", "--keys"),
    ] {
        fails(at, line, b"", 2, &[why]);
    }
    fails(at, "delete db --keys -", b"key\n\xff\n", 5, &["standard input:2", "not UTF-8"]);
    let outcome = run(env!("CARGO_BIN_EXE_nearprint"), at, &["delete", "db", "--key-prefix", "key 2"], b"");
    assert!(outcome.err.contains("deleted 5 rows"), "{}", outcome.err);
    assert!(ids().iter().all(|id| id % 4 != 2));
    succeeds(at, "create plain", b"");
    fails(at, "delete plain --key-prefix a", b"", 2, &["stores no keys"]);
}

#[test]
fn regression_a_quotation_mark_within_a_cell_dropped_the_rows_up_to_the_next_one() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let key = |row: usize| match row {
        10 | 900 => "5\" disk".to_string(),
        20 => "\"a \"\"quoted\"\"\nline\" behind".to_string(),
        30 => "x\"\ry".to_string(),
        row => format!("key {row}"),
    };
    let rows: String = (0..1000).map(|row| format!("{row},{}\n", key(row))).collect();
    fs::write(at.join("rows.csv"), format!("fingerprint,key\n{rows}")).unwrap();
    succeeds(at, "build rows.np rows.csv --store keys", b"");
    let stats = succeeds(at, "stats rows.np", b"");
    assert!(stats.contains("rows\t1000\n"), "{stats}");
    assert_eq!(
        succeeds(at, "query rows.np -f 20 -k 0 --format json", b"")
            .matches("quoted\\\"\\nline behind")
            .count(),
        1
    );
    fails(at, "build open.np --store keys --input-format csv", b"1,,\"open\n2,,x\n", 5, &["never closed"]);
}

#[test]
fn regression_a_key_was_also_the_key_of_other_rows_with_its_id() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build a.np --store keys --input-format csv", b"1,1,x\n");
    succeeds(at, "build b.np --store keys --input-format csv", b"0xffff00000000,1,y\n255,7,x\n");
    succeeds(at, "build both.np --store keys --input-format csv", b"1,1,x\n0xffff00000000,1,y\n");
    assert_eq!(succeeds(at, "query both.np --key x -k 0", b""), "1\t0\t1\t1\tx\n");
    assert_eq!(succeeds(at, "query a.np b.np --key x -k 0", b""), "1\t0\t1\t1\tx\n255\t0\t255\t7\tx\n");
    assert_eq!(succeeds(at, "query both.np --id 1 -k 0", b"").lines().count(), 2);
}

#[test]
fn regression_the_empty_key_in_a_list_of_keys_was_another_key() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build k.np --store keys --input-format tsv", b"fingerprint\tkey\n1\t\\e\n2\t\\\\e\n3\tx\n");
    let listed = succeeds(at, "export k.np", b"");
    assert_eq!(
        listed.lines().map(|line| line.split('\t').nth(2).unwrap()).collect::<Vec<_>>(),
        ["\\e", "\\\\e", "x"]
    );
    succeeds(at, "delete k.np --keys -", b"\\e\n");
    assert_eq!(succeeds(at, "export k.np", b"").lines().count(), 2);
    assert!(succeeds(at, "query k.np -f 2 -k 0", b"").ends_with("\t\\\\e\n"));
    succeeds(at, "delete k.np --keys -", b"\\\\e\n");
    assert!(succeeds(at, "export k.np", b"").ends_with("\tx\n"));
}

#[test]
fn regression_a_byte_order_mark_was_a_part_of_the_first_key() {
    let home = tempfile::tempdir().unwrap();
    succeeds(
        home.path(),
        "build db - --input-format tsv --store keys",
        b"fingerprint\tkey\n1\ta\n2\tb\n3\tc\n",
    );
    succeeds(home.path(), "delete db --keys -", "\u{feff}a\r\nb\r\n".as_bytes());
    let left = succeeds(home.path(), "export db", b"");
    assert!(left.starts_with("3\t") && left.lines().count() == 1, "{left}");
}

#[test]
fn regression_fingerprints_whose_lines_end_with_carriage_returns_were_no_rows() {
    let home = tempfile::tempdir().unwrap();
    for input in ["fingerprint,id\r1,1\r2,2\r", "\"fingerprint\",\"id\"\r\"1\",\"1\"\r"] {
        let why = ["standard input:1", "its lines end with CR"];
        fails(home.path(), "build db - --input-format csv", input.as_bytes(), 5, &why);
    }
    succeeds(home.path(), "build db - --input-format tsv --store keys", b"fingerprint\tkey\n1\ta\n2\tb\n");
    let why = ["standard input:1", "its lines end with CR"];
    fails(home.path(), "delete db --keys -", b"a\rb\r", 5, &why);
    succeeds(home.path(), "delete db --keys -", b"a\r");
}
