//! Pairs and clusters, of databases and of lists, against brute force.

use std::collections::BTreeSet;

use nearprint::{Fingerprint, Pair, Row, Schema, list};
use testkit::{
    Random, SHAPES, Shape, build, by_width, clusters, collected, distinct, fingerprints, folder_in_memory,
    for_each_width, layout, leading, listed_pairs, low, open_on, pairs, rows, short_or_full,
};

for_each_width!(
    pairs_equal_brute_force_in_databases_and_lists,
    clusters_equal_brute_force_in_databases_and_lists,
    larger_joins_agree_with_each_other_and_do_not_depend_on_threads,
    pairs_of_longer_lists_equal_brute_force,
    one_dense_group_is_split_and_still_complete,
    row_pairs_are_all_pairs_of_rows,
    regression_pairs_across_groups_are_found_if_mostly_the_prefixes_vary,
);

/// Compares pairs in any order with pairs in ascending order.
fn check<F: Fingerprint>(mut found: Vec<Pair<F>>, expected: &[Pair<F>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: each pair once");
    found.sort_unstable();
    assert!(found == expected, "{what}");
}

fn pairs_equal_brute_force_in_databases_and_lists<F: Fingerprint>() {
    let layouts = by_width::<F, &[&str]>(
        &[
            "rotations:1",
            "rotations:2",
            "rotations:3",
            "rotations:4",
            "rotations:7",
            "rotations:16",
            "rotations:64",
            "blocks:6,2",
            "blocks:6,3",
            "blocks:5,2",
            "blocks:8,3",
        ],
        &["rotations:3", "rotations:16"],
        &["rotations:3", "rotations:16"],
    );
    let ks = by_width::<F, &[u32]>(
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 33, 64],
        &[0, 3, 8, 10, 17],
        &[0, 3, 15, 31, 40, 77],
    );
    for shape in SHAPES {
        let rows = rows::<F>(shape, 1300, 31);
        let values = fingerprints(&rows);
        let home = folder_in_memory();
        let opened = |name: &&str| (name.to_string(), build(&home.path().join(name), &rows, layout(name)));
        let snapshots: Vec<_> = layouts.iter().map(opened).collect();
        for &k in ks {
            let expected = pairs(&rows, k);
            check(list::find_all(&values, k).unwrap(), &expected, &format!("list {shape:?} {k}"));
            for (name, snapshot) in &snapshots {
                check(collected(snapshot.pairs(k)), &expected, &format!("{name} {shape:?} {k}"));
            }
            // This layout depends on k.
            let tuned = build(&home.path().join(format!("auto {k}")), &rows, Schema::new().k(k));
            check(collected(tuned.pairs(k)), &expected, &format!("auto {shape:?} {k}"));
        }
    }
}

fn clusters_equal_brute_force_in_databases_and_lists<F: Fingerprint>() {
    let ks = by_width::<F, &[u32]>(&[0, 1, 3, 6, 20], &[0, 3, 8, 10, 17], &[0, 3, 15, 31, 40, 77]);
    for shape in SHAPES {
        let rows = rows::<F>(shape, 1200, 51);
        let once: Vec<Row<F>> =
            distinct(&rows).into_iter().map(|fingerprint| Row { fingerprint, id: 0 }).collect();
        let home = folder_in_memory();
        for &k in ks {
            let expected = clusters(&rows, k);
            for name in ["auto", "rotations:3", "rotations:16"] {
                let path = home.path().join(format!("{name}-{k}"));
                let snapshot = build(&path, &rows, layout(name).k(k));
                assert_eq!(collected(snapshot.clusters(k)), expected, "{name} {shape:?} {k}");
            }
            let found = list::find_clusters(&fingerprints(&rows), k).unwrap();
            let expected = clusters(&once, k).iter().map(|cluster| fingerprints(cluster)).collect::<Vec<_>>();
            assert_eq!(found, expected, "list {shape:?} {k}");
        }
    }
}

fn larger_joins_agree_with_each_other_and_do_not_depend_on_threads<F: Fingerprint>() {
    for shape in [Shape::Uniform, Shape::Skewed, Shape::Extremes] {
        let rows = rows::<F>(
            shape,
            short_or_full(3_000, if matches!(shape, Shape::Extremes) { 5_000 } else { 20_000 }),
            41,
        );
        let values = fingerprints(&rows);
        for k in [1, 3, 6] {
            let once = listed_pairs(&values, k, 1);
            for threads in [2, 5] {
                assert_eq!(listed_pairs(&values, k, threads), once, "{shape:?} {k}");
            }
            let mut expected = once;
            expected.sort_unstable();
            for name in ["rotations:4", "rotations:2", "blocks:6,2"] {
                let home = folder_in_memory();
                let path = home.path().join("db");
                build(&path, &rows, layout(name));
                let on = |threads| collected(open_on::<F>(&path, threads).pairs(k));
                let alone = on(1);
                assert_eq!(on(3), alone);
                check(alone, &expected, &format!("{name} {shape:?} {k}"));
            }
        }
    }
}

/// More than are compared all with all.
fn pairs_of_longer_lists_equal_brute_force<F: Fingerprint>() {
    let ks = by_width::<F, &[u32]>(&[5, 7, 8, 9, 12], &[3, 10, 17], &[3, 15, 31, 40]);
    for shape in [Shape::Uniform, Shape::Extremes] {
        let rows = rows::<F>(shape, 3000, 77);
        let values = fingerprints(&rows);
        let all = pairs(&rows, ks[ks.len() - 1]);
        for &k in ks {
            let expected: Vec<_> = all.iter().filter(|pair| pair.distance <= k).copied().collect();
            for threads in [1, 2] {
                check(listed_pairs(&values, k, threads), &expected, &format!("{shape:?} {k}"));
            }
        }
    }
}

fn one_dense_group_is_split_and_still_complete<F: Fingerprint>() {
    // 12,000 values that differ in their last 20 bits only.
    let mut random = Random(77);
    let shared = leading::<F>(0xabcd_ef01_2340_0000);
    let values: BTreeSet<F> = (0..12_000).map(|_| shared | low(random.below(1 << 20))).collect();
    let rows: Vec<Row<F>> = values.iter().map(|&fingerprint| Row { fingerprint, id: 0 }).collect();
    check(listed_pairs(&fingerprints(&rows), 3, 2), &pairs(&rows, 3), "list");
}

/// The filter compares the bits that vary. If those include bits of the groups' prefixes, the
/// differences between the prefixes count in the filter, not beside it.
fn regression_pairs_across_groups_are_found_if_mostly_the_prefixes_vary<F: Fingerprint>() {
    let mut random = Random(6);
    for varying in [12, 31, 40] {
        let mut values = BTreeSet::new();
        for _ in 0..1500 {
            let value = random.next() << (64 - varying);
            let errors = (0..3).fold(0, |mask, _| mask | 1 << (63 - random.below(varying)));
            values.extend([leading::<F>(value), leading::<F>(value ^ errors)]);
        }
        let rows: Vec<Row<F>> = values.into_iter().map(|fingerprint| Row { fingerprint, id: 0 }).collect();
        for k in [2, 3, 5] {
            let expected = pairs(&rows, k);
            let what = format!("{varying} bits, k = {k}");
            check(listed_pairs(&fingerprints(&rows), k, 2), &expected, &what);
            let home = folder_in_memory();
            let snapshot = build(&home.path().join("db"), &rows, layout("rotations:2"));
            check(collected(snapshot.pairs(k)), &expected, &what);
        }
    }
}

fn row_pairs_are_all_pairs_of_rows<F: Fingerprint>() {
    let rows = rows::<F>(Shape::Equal, 300, 61);
    let home = folder_in_memory();
    let snapshot = build(&home.path().join("db"), &rows, Schema::new());
    let found = collected(snapshot.row_pairs(3)).into_iter().map(|pair| (pair.a, pair.b, pair.distance));
    let mut expected = Vec::new();
    for &a in &rows {
        for &b in &rows {
            let distance = a.fingerprint.distance(b.fingerprint);
            if distance <= 3 && a < b {
                expected.push((a, b, distance));
            }
        }
    }
    let mut found: Vec<_> = found.collect();
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}
