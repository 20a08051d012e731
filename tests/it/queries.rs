//! Queries against brute force: every layout, every kind of data, every k, one at a time and in
//! batches.

use std::path::Path;

use nearprint::{Fingerprint, Match, Options, Query, Row, Schema};
use testkit::{
    Random, SHAPES, Shape, build, build_with, by_width, folder_in_memory, for_each_width, layout, low,
    matches, open_on, queries, rows, short_or_full, within,
};

for_each_width!(
    queries_equal_brute_force_for_every_layout_and_k,
    large_runs_answer_exactly_with_plans_of_their_own,
    batches_equal_single_queries_for_any_number_of_threads,
    large_batches_equal_single_queries_table_by_table_too,
    regression_queries_with_too_many_matches_for_one_batch_run_one_by_one,
    the_nearest_are_the_first_of_all_sorted_by_distance,
    nearest_in_batches_equals_nearest_one_by_one,
    regression_many_entries_with_equal_leading_bits_are_found,
    regression_rows_behind_a_heavy_fingerprint_are_found,
);

fn queries_equal_brute_force_for_every_layout_and_k<F: Fingerprint>() {
    let rotations = by_width::<F, &[u32]>(&[1, 2, 3, 4, 7, 16, 64], &[1, 3, 5, 16, 64], &[1, 3, 5, 16, 64]);
    let blocks = by_width::<F, &[&str]>(&["6,2", "6,3", "5,2", "8,3"], &["6,2"], &["6,2"]);
    let ks = by_width::<F, &[u32]>(
        &[0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 40, 63, 64, 1000],
        &[0, 1, 3, 5, 8, 10, 13, 40, 127, 128, 1000],
        &[0, 2, 7, 15, 31, 40, 90, 255, 256],
    );
    let rotations = rotations.iter().map(|tables| format!("rotations:{tables}"));
    let blocks = blocks.iter().map(|blocks| format!("blocks:{blocks}"));
    let automatic = ["auto", "fast", "small"].map(str::to_string);
    let names: Vec<String> = rotations.chain(blocks).chain(automatic).collect();
    for shape in SHAPES {
        let rows = rows::<F>(shape, 3000, 11);
        let answer = |query| (query, matches(&rows, query, F::BITS));
        let answers: Vec<_> = queries(&rows, &mut Random(5)).into_iter().map(answer).collect();
        for name in &names {
            let home = folder_in_memory();
            let snapshot = build(&home.path().join("db"), &rows, layout(name));
            for (query, everything) in &answers {
                for &k in ks {
                    let found = snapshot.query(*query, k).unwrap();
                    assert_eq!(found, within(everything, k), "{name} {shape:?} {k}");
                }
            }
            for id in (0..rows.len() as u64).step_by(371) {
                let of_id = rows.iter().filter(|row| row.id == id).map(|row| row.fingerprint);
                assert_eq!(snapshot.fingerprints_of(id).unwrap(), of_id.collect::<Vec<_>>());
            }
        }
    }
}

/// Large enough that tables are probed, with the radii that the planner gives them.
fn large_runs_answer_exactly_with_plans_of_their_own<F: Fingerprint>() {
    let cases = by_width::<F, &[(u32, &str)]>(
        &[
            (3, "rotations:2"),
            (3, "rotations:3"),
            (3, "rotations:4"),
            (3, "blocks:6,2"),
            (7, "fast"),
            (7, "small"),
        ],
        &[(3, "auto"), (3, "blocks:6,2"), (10, "auto"), (10, "rotations:5"), (10, "rotations:6")],
        &[(31, "auto"), (31, "rotations:11"), (40, "auto"), (40, "rotations:16")],
    );
    for shape in [Shape::Uniform, Shape::Skewed] {
        let rows = rows::<F>(shape, short_or_full(70_000, 150_000), 3);
        let answer = |query| (query, matches(&rows, query, 45));
        let answers: Vec<(F, Vec<Match<F>>)> =
            queries(&rows, &mut Random(9)).into_iter().map(answer).collect();
        for (index, &(k, name)) in cases.iter().enumerate() {
            // In short form, half of the cases meet each shape.
            if short_or_full(index % 2 != usize::from(matches!(shape, Shape::Skewed)), false) {
                continue;
            }
            let home = folder_in_memory();
            let path = home.path().join("db");
            let snapshot = build(&path, &rows, layout(name).k(k));
            let explained = snapshot.explain(k);
            assert!(explained.runs.iter().all(|run| !run.scan), "{explained}");
            let radii = explained.runs[0].tables.iter().filter_map(|table| table.radius);
            let sum =
                format!("(the radii + 1 add up to {} > {k})", radii.map(|radius| radius + 1).sum::<u32>());
            let is_rotations = explained.runs[0].layout.to_string().starts_with("rotations");
            assert_eq!(explained.to_string().contains(&sum), is_rotations, "{explained}");
            for k in [0, k / 2, k, k + 2, k + 5] {
                for (query, expected) in &answers {
                    let found = snapshot.query(*query, k).unwrap();
                    assert_eq!(found, within(expected, k), "{name} {shape:?} {k}");
                }
            }
            large_batches_find_near_rows(&path, &rows, k);
        }
    }
}

fn large_batches_find_near_rows<F: Fingerprint>(path: &Path, rows: &[Row<F>], k: u32) {
    let mut random = Random(4);
    let near = |row: &Row<F>| random.near(row.fingerprint, u64::from(k) + 2);
    let batch: Vec<F> = rows.iter().step_by(30).map(near).collect();
    for threads in [1, 3] {
        let snapshot = open_on::<F>(path, threads);
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

fn batches_equal_single_queries_for_any_number_of_threads<F: Fingerprint>() {
    let home = folder_in_memory();
    let rows = rows::<F>(Shape::Skewed, 5000, 2);
    let path = home.path().join("db");
    build(&path, &rows, Schema::new());
    let mut random = Random(8);
    let queries: Vec<F> =
        (0..3000).map(|_| random.near(rows[random.0 as usize % 5000].fingerprint, 5)).collect();
    for threads in [1, 2, 7] {
        let snapshot = open_on::<F>(&path, threads);
        for (k, count) in [(0, 3000), (3, 3000), (by_width::<F, _>(30, 60, 120), 40)] {
            let mut next = 0;
            snapshot
                .query_batch(&queries[..count], k, |index, found| {
                    assert_eq!(index, next);
                    assert_eq!(found, snapshot.query(queries[index], k)?);
                    next += 1;
                    Ok::<(), nearprint::Error>(())
                })
                .unwrap();
            assert_eq!(next, count);
        }
    }
}

fn large_batches_equal_single_queries_table_by_table_too<F: Fingerprint>() {
    let large = [("rotations:3", Shape::Uniform, 60_000), ("rotations:4", Shape::Skewed, 120_000)];
    let small = [("blocks:6,2", Shape::Extremes, 3_000), ("rotations:16", Shape::Uniform, 60_000)];
    // 12,000 queries with 150 matches each are more than are held at once.
    let crowded = [("rotations:4", Shape::Equal, 3_000)];
    for (name, shape, count) in large.into_iter().chain(small).chain(crowded) {
        let home = folder_in_memory();
        let path = home.path().join("db");
        let rows = rows::<F>(shape, count, 6);
        build(&path, &rows, layout(name));
        let mut random = Random(count as u64);
        let queries: Vec<F> = (0..12_000)
            .map(|at| match at % 2 {
                0 => random.near(rows[random.0 as usize % count].fingerprint, 5),
                _ if at % 3 == 0 => rows[at % count].fingerprint,
                _ => random.value(),
            })
            .collect();
        for (threads, k) in [(1, 3), (2, 3), (1, 0), (2, 5)] {
            let snapshot = open_on::<F>(&path, threads);
            let (mut next, mut found) = (0, 0);
            snapshot
                .query_batch(&queries, k, |index, matches| {
                    assert_eq!(index, next);
                    if index % short_or_full(7, 1) == 0 {
                        assert_eq!(matches, snapshot.query(queries[index], k)?, "{name} {shape:?} {k}");
                    }
                    // Other tests compare single queries with brute force; a sample is enough here.
                    if index % 1000 == 0 {
                        assert_eq!(matches, testkit::matches(&rows, queries[index], k));
                    }
                    next += 1;
                    found += matches.len();
                    Ok::<(), nearprint::Error>(())
                })
                .unwrap();
            assert_eq!(next, queries.len());
            assert!(found > 0, "{name} {shape:?}");
        }
    }
}

fn regression_queries_with_too_many_matches_for_one_batch_run_one_by_one<F: Fingerprint>() {
    let home = folder_in_memory();
    let fingerprint = low::<F>(77);
    let rows: Vec<Row<F>> = (0..40_000).map(|id| Row { fingerprint, id }).collect();
    let snapshot = build(&home.path().join("db"), &rows, Schema::new());
    let mut next = 0;
    snapshot
        .query_batch(&[fingerprint; 40], 3, |index, found| {
            assert_eq!(index, next);
            assert!(found.iter().map(|found| found.id).eq(0..40_000));
            next += 1;
            Ok::<(), nearprint::Error>(())
        })
        .unwrap();
    assert_eq!(next, 40);
}

fn the_nearest_are_the_first_of_all_sorted_by_distance<F: Fingerprint>() {
    let home = folder_in_memory();
    for shape in SHAPES {
        let rows = rows::<F>(shape, 2000, 21);
        let snapshot = build(&home.path().join(format!("{shape:?}")), &rows, Schema::new());
        for query in queries(&rows, &mut Random(1)) {
            let everything = matches(&rows, query, F::BITS);
            for count in [0, 1, 2, 10, 500, 2500] {
                let expected = &everything[..count.min(everything.len())];
                assert_eq!(
                    snapshot.query(query, Query::nearest(count)).unwrap(),
                    expected,
                    "{shape:?} {count}"
                );
            }
            let close: Vec<_> =
                everything.iter().copied().filter(|found| found.distance <= 5).take(3).collect();
            assert_eq!(snapshot.query(query, Query::nearest(3).max_k(5)).unwrap(), close);
        }
    }
}

fn nearest_in_batches_equals_nearest_one_by_one<F: Fingerprint>() {
    let rows = rows::<F>(Shape::Skewed, 3000, 16);
    let home = folder_in_memory();
    let options = Options::new().threads(3);
    let snapshot = build_with(&home.path().join("db"), &rows, Schema::new(), options);
    let queries = queries(&rows, &mut Random(4));
    let mut next = 0;
    let visit = |index: usize, found: &[Match<F>]| {
        assert_eq!((index, found), (next, &snapshot.query(queries[index], Query::nearest(4).max_k(20))?[..]));
        next += 1;
        Ok::<(), nearprint::Error>(())
    };
    snapshot.query_batch(&queries, Query::nearest(4).max_k(20), visit).unwrap();
    assert_eq!(next, queries.len());
}

/// Fingerprints that share the directory's bits and the `hi` word were searched one by one.
fn regression_many_entries_with_equal_leading_bits_are_found<F: Fingerprint>() {
    let shared = testkit::leading::<F>(0xdead_beef_cafe << 16);
    let rows: Vec<Row<F>> = (0..1u64 << 16).map(|id| Row { fingerprint: shared | low(id), id }).collect();
    let home = folder_in_memory();
    let snapshot = build(&home.path().join("db"), &rows, layout("rotations:4"));
    for row in rows.iter().step_by(4999) {
        assert_eq!(snapshot.query(row.fingerprint, 2).unwrap(), matches(&rows, row.fingerprint, 2));
    }
}

/// Finding the rows of a fingerprint walked over the rows of a heavy one before it.
fn regression_rows_behind_a_heavy_fingerprint_are_found<F: Fingerprint>() {
    let near = |distance: u64| low::<F>(0x0123_4567_89ab_0000 + distance);
    let mut rows: Vec<Row<F>> = (0..100_000).map(|id| Row { fingerprint: near(300), id }).collect();
    rows.extend((0..1500).map(|i| Row { fingerprint: near(i), id: 1_000_000 + i }));
    rows.extend((0..9000).map(|i| Row { fingerprint: near(1000), id: 2_000_000 + i }));
    let home = folder_in_memory();
    let snapshot = build(&home.path().join("db"), &rows, Schema::new());
    for i in (0..1500).step_by(7).chain([299, 300, 301, 999, 1000, 1001, 1499]) {
        assert_eq!(snapshot.query(near(i), 0).unwrap(), matches(&rows, near(i), 0), "{i}");
    }
    assert_eq!(snapshot.verify().unwrap().damage, []);
}

#[test]
fn regression_explaining_a_k_beyond_the_width_takes_little_memory() {
    let home = folder_in_memory();
    let rows = rows::<u64>(Shape::Uniform, 50, 1);
    let snapshot = build(&home.path().join("db"), &rows, layout("fast"));
    let (beyond, all) = (snapshot.explain(u32::MAX), snapshot.explain(64));
    assert_eq!((beyond.choices.len(), &beyond.choices), (3, &all.choices));
}
