//! Every command that answers, on databases of each width, against brute force; rows that come and
//! go.

use std::collections::BTreeSet;
use std::fs;

use crate::cli::{database, digits_or_decimal, nearprint, succeeds, text};
use nearprint::{Fingerprint, Printed, Row};
use testkit::{Shape, clusters, for_each_width, low, matches, pairs, rows};

for_each_width!(every_answer_is_that_of_brute_force, rows_come_and_go);

fn set(lines: &str) -> BTreeSet<String> {
    lines.lines().map(str::to_string).collect()
}

fn every_answer_is_that_of_brute_force<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = database::<F>(at);
    let width = F::BITS;
    assert_eq!(succeeds(at, "export db", b""), text(&rows));
    assert!(succeeds(at, "stats db", b"").contains(&format!("\nwidth\t{width}\n")));
    assert!(succeeds(at, "verify db", b"").starts_with("sound: "));
    assert!(succeeds(at, "explain db -k 6", b"").contains("a query at k = 6"));

    let query = rows[5].fingerprint ^ low(5);
    let answer = |found: &[nearprint::Match<F>]| -> String {
        let line = |found: &nearprint::Match<F>| {
            format!("{}\t{}\t{}\t{}\n", Printed(query), found.distance, Printed(found.fingerprint), found.id)
        };
        found.iter().map(line).collect()
    };
    for k in [0, 2, 8, 31, width / 2] {
        let expected = answer(&matches(&rows, query, k));
        assert!(k < 2 || !expected.is_empty(), "near-duplicates are there");
        assert_eq!(succeeds(at, &format!("query db -f {} -k {k}", Printed(query)), b""), expected);
        assert_eq!(succeeds(at, &format!("query db -f {} -k {k}", digits_or_decimal(query)), b""), expected);
        let line = format!("{}\r\n", digits_or_decimal(query).to_uppercase());
        assert_eq!(succeeds(at, &format!("query db - -k {k}"), line.as_bytes()), expected);
    }
    let nearest = answer(&matches(&rows, query, width)[..9]);
    assert_eq!(succeeds(at, &format!("query db -f {} --top 9", Printed(query)), b""), nearest);
    let json = succeeds(at, &format!("query db -f {} -k 2 --format json --limit 1", Printed(query)), b"");
    assert!(json.starts_with(&format!("{{\"query\":\"{}\",\"distance\":", Printed(query))), "{json}");

    for k in [3, 20] {
        let line = |pair: &nearprint::Pair<F>| {
            format!("{}\t{}\t{}", Printed(pair.a), Printed(pair.b), pair.distance)
        };
        let expected: BTreeSet<String> = pairs(&rows, k).iter().map(line).collect();
        assert!(expected.len() > 10, "near-duplicates are there");
        assert_eq!(set(&succeeds(at, &format!("pairs db -k {k}"), b"")), expected);
        let listed = succeeds(at, &format!("pairs rows.txt --width {width} -k {k}"), b"");
        assert_eq!(set(&listed), expected);
        let of_rows = set(&succeeds(at, &format!("pairs db -k {k} --ids"), b""));
        let listed = succeeds(at, &format!("pairs rows.txt --width {width} -k {k} --ids"), b"");
        assert_eq!(set(&listed), of_rows);
        let grouped: String = (0..)
            .zip(clusters(&rows, k))
            .flat_map(|(number, cluster)| {
                let line = move |row: Row<F>| format!("{number}\t{}\t{}\n", Printed(row.fingerprint), row.id);
                cluster.into_iter().map(line).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(succeeds(at, &format!("clusters db -k {k}"), b""), grouped);
        let listed = succeeds(at, &format!("clusters rows.txt --width {width} -k {k}"), b"");
        assert_eq!(listed, grouped);
    }
}

fn rows_come_and_go<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let width = F::BITS;
    let rows: Vec<Row<F>> = rows(Shape::Uniform, 300, 9);
    let (first, more) = rows.split_at(200);
    succeeds(at, &format!("create db -k 8 --width {width}"), b"");
    let acknowledged = succeeds(at, "add db --batch 150 --acknowledge", text(first).as_bytes());
    assert_eq!(acknowledged, "ACK 150\nACK 200\n");
    succeeds(at, "delete db", b"0\n7\n199\n");
    let left: Vec<Row<F>> = first.iter().filter(|row| ![0, 7, 199].contains(&row.id)).copied().collect();
    let sorted = |mut rows: Vec<Row<F>>| {
        rows.sort_unstable();
        text(&rows)
    };
    assert_eq!(succeeds(at, "export db", b""), sorted(left.clone()));
    succeeds(at, &format!("build --runs-only shard --width {width} -k 8"), text(more).as_bytes());
    succeeds(at, "ingest db shard", b"");
    let all = [left, more.to_vec()].concat();
    succeeds(at, "compact db", b"");
    succeeds(at, "backup db copy", b"");
    succeeds(at, "repair copy saved", b"");
    for db in ["db", "copy", "saved"] {
        assert_eq!(succeeds(at, &format!("export {db}"), b""), sorted(all.clone()), "{db}");
        assert!(succeeds(at, &format!("verify {db}"), b"").starts_with("sound: "), "{db}");
    }
    // Without a manifest, the other files have the width.
    fs::remove_file(at.join("copy/MANIFEST")).unwrap();
    assert_eq!(nearprint(at, "repair copy found", b"").code, 9, "the settings are guessed");
    assert_eq!(succeeds(at, "export found", b""), sorted(all.clone()));

    let upserted = format!("{}\t150\n", digits_or_decimal(F::default()));
    succeeds(at, "add db --upsert", upserted.as_bytes());
    assert_eq!(succeeds(at, "export db --id 150", b""), format!("{}\t150\n", Printed(F::default())));

    let expected: BTreeSet<String> = more
        .iter()
        .flat_map(|b| first.iter().map(move |a| (a, b, a.fingerprint.distance(b.fingerprint))))
        .filter(|(_, _, distance)| *distance <= 8)
        .map(|(a, b, distance)| format!("{}\t{}\t{distance}", Printed(a.fingerprint), Printed(b.fingerprint)))
        .collect();
    assert!(expected.len() > 5, "near-duplicates are there");
    succeeds(at, &format!("build first --width {width}"), text(first).as_bytes());
    succeeds(at, &format!("build more --width {width}"), text(more).as_bytes());
    assert_eq!(set(&succeeds(at, "pairs first more -k 8", b"")), expected);
    let query = more[0].fingerprint;
    let both = succeeds(at, &format!("query first more -f {} -k 8", Printed(query)), b"");
    assert_eq!(both.lines().count(), matches(&rows, query, 8).len());
}
