//! Databases of 128- and 256-bit fingerprints against brute force.

use std::collections::BTreeSet;

use crate::common::{Random, SHAPES, Shape, all_rows, build, clusters, matches, pairs, rows};
use nearprint::{
    Database, Error, Fingerprint, LayoutChoice, Options, Pair, Row, U256, find_all, find_clusters,
};

fn layouts() -> Vec<LayoutChoice> {
    let all =
        ["rotations:1", "rotations:3", "rotations:5", "rotations:16", "rotations:64", "blocks:6,2", "auto"];
    all.map(|text| text.parse().unwrap()).to_vec()
}

fn queries<F: Fingerprint>(rows: &[Row<F>], random: &mut Random) -> Vec<F> {
    let mut queries = vec![F::default(), !F::default(), random.value(), random.value()];
    for _ in 0..12 {
        let stored = rows[random.below(rows.len() as u64) as usize].fingerprint;
        queries.push(random.near(stored, u64::from(F::BITS / 7)));
    }
    queries
}

fn queries_equal_brute_force<F: Fingerprint>(ks: &[u32]) {
    for layout in layouts() {
        for shape in SHAPES {
            let home = tempfile::tempdir().unwrap();
            let rows = rows::<F>(shape, 3000, 11);
            let snapshot = build(&home.path().join("db"), &rows, Options::new().layout(layout));
            let queries = queries(&rows, &mut Random(5));
            for &k in ks {
                for &query in &queries {
                    let found = snapshot.query(query, k).unwrap();
                    assert_eq!(found, matches(&rows, query, k), "{layout} {shape:?} {k}");
                }
            }
            let ids = (0..rows.len() as u64).step_by(371);
            for id in ids {
                let expected: Vec<F> =
                    rows.iter().filter(|row| row.id == id).map(|row| row.fingerprint).collect();
                assert_eq!(snapshot.fingerprints_of(id).unwrap(), expected);
            }
        }
    }
}

#[test]
fn queries_of_128_bits_equal_brute_force_for_every_layout_and_k() {
    queries_equal_brute_force::<u128>(&[0, 1, 3, 5, 8, 10, 13, 40, 127, 128, 1000]);
}

#[test]
fn queries_of_256_bits_equal_brute_force_for_every_layout_and_k() {
    queries_equal_brute_force::<U256>(&[0, 2, 7, 15, 31, 40, 90, 255, 256]);
}

/// Large enough that tables are probed, with the radii that the planner gives them.
fn large_runs_answer_exactly<F: Fingerprint>(k: u32, layouts: &[&str]) {
    for shape in [Shape::Uniform, Shape::Skewed] {
        let rows = rows::<F>(shape, 150_000, 3);
        for layout in layouts {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("db");
            let options = Options::new().k(k).layout(layout.parse().unwrap());
            let snapshot = build(&path, &rows, options.clone());
            let explained = snapshot.explain(k);
            assert!(explained.runs.iter().all(|run| !run.scan), "{explained}");
            let queries = queries(&rows, &mut Random(9));
            for k in [0, k / 2, k, k + 5] {
                for &query in &queries {
                    assert_eq!(snapshot.query(query, k).unwrap(), matches(&rows, query, k), "{layout} {k}");
                }
            }
            let mut random = Random(4);
            let batch: Vec<F> =
                (0..5000).map(|at| random.near(rows[at * 29].fingerprint, u64::from(k) + 2)).collect();
            for threads in [1, 3] {
                let options = options.clone().threads(threads);
                let snapshot = Database::<F>::open_with(&path, options).unwrap().snapshot().unwrap();
                let (mut next, mut found) = (0, 0);
                snapshot
                    .query_batch(&batch, k, |index, matches| {
                        assert_eq!(index, next);
                        if index % 20 == 0 {
                            assert_eq!(matches, snapshot.query(batch[index], k)?);
                        }
                        next += 1;
                        found += matches.len();
                        Ok::<(), nearprint::Error>(())
                    })
                    .unwrap();
                assert_eq!(next, batch.len());
                assert!(found >= batch.len() / 2, "{found} matches");
            }
        }
    }
}

#[test]
fn large_runs_of_128_bits_are_probed_up_to_k_10() {
    large_runs_answer_exactly::<u128>(3, &["auto", "blocks:6,2"]);
    large_runs_answer_exactly::<u128>(10, &["auto", "rotations:5", "rotations:6"]);
}

#[test]
fn large_runs_of_256_bits_are_probed_up_to_k_40() {
    large_runs_answer_exactly::<U256>(31, &["auto", "rotations:11"]);
    large_runs_answer_exactly::<U256>(40, &["auto", "rotations:16"]);
}

#[test]
fn the_nearest_are_the_first_of_all_sorted_by_distance() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<U256>(Shape::Skewed, 3000, 21);
    let snapshot = build(&home.path().join("db"), &rows, Options::new());
    for query in queries(&rows, &mut Random(1)) {
        let everything = matches(&rows, query, 256);
        for count in [0, 1, 7, 300, 5000] {
            let expected = &everything[..count.min(everything.len())];
            assert_eq!(snapshot.nearest(query, count, 256).unwrap(), expected, "{count}");
        }
    }
}

fn joins_equal_brute_force<F: Fingerprint>(ks: &[u32], count: usize) {
    for shape in SHAPES {
        let rows = rows::<F>(shape, count, 31);
        let values: Vec<F> = rows.iter().map(|row| row.fingerprint).collect();
        let home = tempfile::tempdir().unwrap();
        for &k in ks {
            let expected = pairs(&rows, k);
            let check = |found: Vec<Pair<F>>, what: &str| {
                assert_eq!(found.len(), expected.len(), "{what} {shape:?} {k}: each pair once");
                assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{what} {shape:?} {k}");
            };
            let mut found = Vec::new();
            find_all(&values, k, 2, |block| {
                found.extend_from_slice(block);
                Ok::<(), nearprint::Error>(())
            })
            .unwrap();
            check(found, "list");
            for layout in ["auto", "rotations:3", "rotations:16"] {
                let path = home.path().join(format!("{layout}-{k}"));
                let options = Options::new().layout(layout.parse().unwrap()).k(k);
                let snapshot = build(&path, &rows, options);
                let mut found = Vec::new();
                snapshot
                    .visit_pairs(k, |block| {
                        found.extend_from_slice(block);
                        Ok::<(), nearprint::Error>(())
                    })
                    .unwrap();
                check(found, layout);
                let mut found = Vec::new();
                snapshot
                    .visit_clusters(k, |cluster| {
                        found.push(cluster.to_vec());
                        Ok::<(), nearprint::Error>(())
                    })
                    .unwrap();
                assert_eq!(found, clusters(&rows, k), "{layout} {shape:?} {k}");
            }
            let mut found = Vec::new();
            find_clusters(&values, k, 2, |cluster| {
                found.push(cluster.to_vec());
                Ok::<(), nearprint::Error>(())
            })
            .unwrap();
            let mut distinct: Vec<Row<F>> = rows.clone();
            distinct.sort_unstable();
            distinct.dedup_by_key(|row| row.fingerprint);
            let plain = |cluster: Vec<Row<F>>| cluster.iter().map(|row| row.fingerprint).collect::<Vec<_>>();
            let expected: Vec<Vec<F>> = clusters(&distinct, k).into_iter().map(plain).collect();
            assert_eq!(found, expected, "clusters of a list, {shape:?} {k}");
        }
    }
}

#[test]
fn pairs_and_clusters_of_128_bits_equal_brute_force() {
    joins_equal_brute_force::<u128>(&[0, 3, 8, 10, 17], 1200);
}

#[test]
fn pairs_and_clusters_of_256_bits_equal_brute_force() {
    joins_equal_brute_force::<U256>(&[0, 3, 15, 31, 40, 77], 1200);
}

/// More than are compared all with all.
fn longer_lists_equal_brute_force<F: Fingerprint>(ks: &[u32]) {
    for shape in [Shape::Uniform, Shape::Extremes] {
        let rows = rows::<F>(shape, 6000, 77);
        let values: Vec<F> = rows.iter().map(|row| row.fingerprint).collect();
        for &k in ks {
            let expected = pairs(&rows, k);
            for threads in [1, 2] {
                let mut found = Vec::new();
                find_all(&values, k, threads, |block| {
                    found.extend_from_slice(block);
                    Ok::<(), nearprint::Error>(())
                })
                .unwrap();
                assert_eq!(found.len(), expected.len(), "{shape:?} {k}: each pair once");
                assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{shape:?} {k}");
            }
        }
    }
}

#[test]
fn pairs_of_longer_lists_equal_brute_force() {
    longer_lists_equal_brute_force::<u64>(&[5, 7, 8, 9, 12]);
    longer_lists_equal_brute_force::<u128>(&[3, 10, 17]);
    longer_lists_equal_brute_force::<U256>(&[3, 15, 31, 40]);
}

/// Inserts, deletes, flushes, merges, keys, a copy: what stands is what was done.
fn a_life<F: Fingerprint>(k: u32) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = rows::<F>(Shape::Skewed, 4000, 8);
    let options = Options::new().k(k).keys(false).memtable_rows(500);
    Database::<F>::create(&path, options.clone()).unwrap();
    let database = Database::<F>::open_with(&path, options).unwrap();
    let mut writer = database.writer().unwrap();
    let mut expected: BTreeSet<Row<F>> = BTreeSet::new();
    let mut random = Random(6);
    for (at, row) in rows.iter().enumerate() {
        let key = format!("image-{}.jpg", row.id);
        writer.insert_keyed(row.fingerprint, Some(row.id), &key, b"").unwrap();
        expected.insert(*row);
        if at % 7 == 0 {
            let id = random.below(row.id + 1);
            writer.delete(id).unwrap();
            expected.retain(|row| row.id != id);
        }
        if at % 300 == 0 {
            writer.commit().unwrap();
            let stored = rows[random.below(at as u64 + 1) as usize].fingerprint;
            let query = random.near(stored, u64::from(k));
            let standing: Vec<Row<F>> = expected.iter().copied().collect();
            assert_eq!(writer.query(query, k).unwrap(), matches(&standing, query, k));
            assert_eq!(database.snapshot().unwrap().query(query, k).unwrap(), matches(&standing, query, k));
        }
    }
    // Not closed: the next writer recovers what the log holds.
    writer.commit().unwrap();
    drop(writer);
    let standing: Vec<Row<F>> = expected.into_iter().collect();
    assert_eq!(all_rows(&database.snapshot().unwrap()), standing);
    let mut writer = database.writer().unwrap();
    assert_eq!(all_rows(&database.snapshot().unwrap()), standing);
    writer.compact().unwrap();
    writer.close().unwrap();
    let snapshot = database.snapshot().unwrap();
    assert_eq!(all_rows(&snapshot), standing);
    assert_eq!(snapshot.stats().runs.len(), 1);
    assert!(database.verify().unwrap().damage.is_empty());
    for row in standing.iter().step_by(97) {
        let keys: Vec<String> = snapshot.keys_of(*row).unwrap().into_iter().map(|key| key.key).collect();
        assert_eq!(keys, [format!("image-{}.jpg", row.id)]);
    }
    let copy = home.path().join("copy");
    snapshot.backup(&copy).unwrap();
    let copied = Database::<F>::open(&copy).unwrap();
    assert!(copied.verify().unwrap().damage.is_empty());
    assert_eq!(all_rows(&copied.snapshot().unwrap()), standing);
}

#[test]
fn wide_databases_live() {
    a_life::<u128>(10);
    a_life::<U256>(31);
}

#[test]
fn a_database_of_another_width_is_refused_by_name() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    Database::<U256>::create(&path, Options::new()).unwrap();
    assert_eq!(nearprint::width_of(&path).unwrap(), 256);
    assert_eq!(nearprint::width_of_damaged(&path).unwrap(), 256);
    for error in [Database::<u64>::open(&path).unwrap_err(), Database::<u128>::open(&path).unwrap_err()] {
        assert!(matches!(error, Error::Width { database: 256, .. }), "{error}");
    }
}
