//! `nearprint pairs` of two databases.

use crate::cli::{fails, nearprint, succeeds};

#[test]
fn pairs_between_two_databases_are_printed() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build one -k 1", b"7 1\n7 2\n1024 3\n");
    succeeds(at, "build other", b"6 9\n7 8\n15 7\n4096 6\n");
    assert_eq!(succeeds(at, "pairs one other", b""), "7\t7\t0\n7\t6\t1\n7\t15\t1\n");
    assert_eq!(succeeds(at, "pairs other one -k 1", b""), "7\t7\t0\n6\t7\t1\n15\t7\t1\n");
    assert_eq!(
        succeeds(at, "pairs one other -k 2 --format json", b"").lines().last(),
        Some(r#"{"a":"1024","b":"4096","distance":2}"#)
    );
    let ids = "1\t8\t0\n2\t8\t0\n1\t9\t1\n2\t9\t1\n1\t7\t1\n2\t7\t1\n";
    for threads in [1, 3] {
        assert_eq!(succeeds(at, &format!("pairs one other --ids --threads {threads}"), b""), ids);
    }
    fails(at, "pairs one none", b"", 1, &["none", "no database there"]);
    std::fs::write(at.join("list.txt"), "7\n").unwrap();
    fails(at, "pairs list.txt one", b"", 2, &["have to be databases"]);
    fails(at, "pairs one --width 64", b"", 2, &["--width"]);
    fails(at, "pairs one other -k 65", b"", 2, &["at most 64"]);
}

#[test]
fn keys_stand_beside_ids() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build plain", b"7 1\n");
    succeeds(at, "build keyed --store keys --input-format tsv", b"7\t2\ta\\tb\n7\t2\tc\n6\t3\n");
    let line = "pairs plain keyed --ids -k 1";
    assert_eq!(succeeds(at, line, b""), "1\t2\t0\t\ta\\tb\n1\t2\t0\t\tc\n1\t3\t1\t\t\n");
    let json = succeeds(at, "pairs keyed keyed --ids -k 0 --format json", b"");
    assert!(
        json.starts_with("{\"id_a\":\"3\",\"id_b\":\"3\",\"distance\":0,\"key_a\":null,\"key_b\":null}\n"),
        "{json}"
    );
    assert_eq!(json.lines().count(), 5, "{json}");
}

#[test]
fn different_recipes_are_told() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build one --recipe cjk", b"7\n");
    succeeds(at, "build other --recipe simhash", b"7\n");
    let outcome = nearprint(at, "pairs one other", b"");
    assert_eq!((outcome.code, &*outcome.out), (0, "7\t7\t0\n"));
    assert!(outcome.err.contains("different recipes"), "{}", outcome.err);
    assert_eq!(nearprint(at, "pairs one one", b"").err, "");
}
