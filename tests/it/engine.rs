//! The engine against brute force: every layout, every kind of data, every k.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{Random, SHAPES, Shape, build, clusters, matches, pairs, rows};
use nearprint::{
    Database, Error, LayoutChoice, Options, Pair, Progress, Row, Snapshot, Stage, find_all, find_clusters,
    visit_all, visit_all_clusters,
};

fn layouts() -> Vec<LayoutChoice> {
    let rotations = (1..=4).chain([7, 16, 64]).map(|tables| format!("rotations:{tables}"));
    let blocks = ["blocks:6,2", "blocks:6,3", "blocks:5,2", "blocks:8,3"].map(String::from);
    let all = rotations.chain(blocks).chain(["auto".into()]);
    all.map(|text| text.parse().unwrap()).collect()
}

fn queries(rows: &[Row<u64>], random: &mut Random) -> Vec<u64> {
    let mut queries = vec![0, u64::MAX, random.next(), random.next()];
    for _ in 0..12 {
        let stored = rows[random.below(rows.len() as u64) as usize].fingerprint;
        queries.push(random.near(stored, 9));
    }
    queries
}

#[test]
fn queries_equal_brute_force_for_every_layout_and_k() {
    for layout in layouts() {
        for shape in SHAPES {
            let home = tempfile::tempdir().unwrap();
            let rows = rows(shape, 3000, 11);
            let snapshot = build(&home.path().join("db"), &rows, Options::new().layout(layout));
            let queries = queries(&rows, &mut Random(5));
            for k in (0..=8).chain([12, 20, 40, 63, 64, 1000]) {
                for &query in &queries {
                    assert_eq!(
                        snapshot.query(query, k).unwrap(),
                        matches(&rows, query, k),
                        "{layout} {shape:?} {k}"
                    );
                }
            }
        }
    }
}

#[test]
fn large_skewed_runs_answer_exactly_with_plans_of_their_own() {
    for layout in ["rotations:2", "rotations:3", "rotations:4", "blocks:6,2"] {
        let home = tempfile::tempdir().unwrap();
        let rows = rows(Shape::Skewed, 120_000, 3);
        let snapshot = build(&home.path().join("db"), &rows, Options::new().layout(layout.parse().unwrap()));
        let queries = queries(&rows, &mut Random(9));
        for k in [0, 3, 5] {
            for &query in &queries {
                assert_eq!(snapshot.query(query, k).unwrap(), matches(&rows, query, k), "{layout} {k}");
            }
        }
    }
}

#[test]
fn batches_equal_single_queries_for_any_number_of_threads() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows(Shape::Skewed, 5000, 2);
    let path = home.path().join("db");
    build(&path, &rows, Options::new());
    let mut random = Random(8);
    let queries: Vec<u64> =
        (0..3000).map(|_| random.near(rows[random.0 as usize % 5000].fingerprint, 5)).collect();
    for threads in [1, 2, 7] {
        let options = Options::new().threads(threads);
        let snapshot = Database::<u64>::open_with(&path, options).unwrap().snapshot().unwrap();
        for k in [0, 3, 30] {
            let mut next = 0;
            let result: nearprint::Result<()> =
                snapshot.query_batch(&queries[..if k == 30 { 40 } else { 3000 }], k, |index, found| {
                    assert_eq!(index, next);
                    assert_eq!(found, snapshot.query(queries[index], k)?);
                    next += 1;
                    Ok(())
                });
            result.unwrap();
            assert_eq!(next, if k == 30 { 40 } else { 3000 });
        }
    }
}

#[test]
fn large_batches_equal_single_queries_table_by_table_too() {
    let large = [("rotations:3", Shape::Uniform, 60_000), ("rotations:4", Shape::Skewed, 120_000)];
    let small = [("blocks:6,2", Shape::Extremes, 3_000), ("rotations:16", Shape::Uniform, 60_000)];
    // 12,000 queries with 150 matches each are more than are held at once.
    let crowded = [("rotations:4", Shape::Equal, 3_000)];
    for (layout, shape, count) in large.into_iter().chain(small).chain(crowded) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("db");
        let rows = rows(shape, count, 6);
        build(&path, &rows, Options::new().layout(layout.parse().unwrap()));
        let mut random = Random(count as u64);
        let queries: Vec<u64> = (0..12_000)
            .map(|at| match at % 2 {
                0 => random.near(rows[random.0 as usize % count].fingerprint, 5),
                _ if at % 3 == 0 => rows[at % count].fingerprint,
                _ => random.next(),
            })
            .collect();
        for (threads, k) in [(1, 3), (2, 3), (1, 0), (2, 5)] {
            let options = Options::new().threads(threads);
            let snapshot = Database::<u64>::open_with(&path, options).unwrap().snapshot().unwrap();
            let (mut next, mut found) = (0, 0);
            snapshot
                .query_batch(&queries, k, |index, matches| {
                    assert_eq!(index, next);
                    // Single queries were held against brute force elsewhere; some are here, too.
                    assert_eq!(matches, snapshot.query(queries[index], k)?, "{layout} {shape:?} {k}");
                    if index % 1000 == 0 {
                        assert_eq!(matches, crate::common::matches(&rows, queries[index], k));
                    }
                    next += 1;
                    found += matches.len();
                    Ok::<(), nearprint::Error>(())
                })
                .unwrap();
            assert_eq!(next, queries.len());
            assert!(found > 0, "{layout} {shape:?}");
        }
    }
}

#[test]
fn regression_queries_with_too_many_matches_to_be_held_together_are_answered_one_by_one() {
    let home = tempfile::tempdir().unwrap();
    let rows: Vec<Row<u64>> = (0..40_000).map(|id| Row { fingerprint: 77, id }).collect();
    let snapshot = build(&home.path().join("db"), &rows, Options::new());
    let mut next = 0;
    snapshot
        .query_batch(&[77; 40], 3, |index, found| {
            assert_eq!(index, next);
            assert!(found.iter().map(|found| found.id).eq(0..40_000));
            next += 1;
            Ok::<(), nearprint::Error>(())
        })
        .unwrap();
    assert_eq!(next, 40);
}

#[test]
fn the_nearest_are_the_first_of_all_sorted_by_distance() {
    let home = tempfile::tempdir().unwrap();
    for shape in SHAPES {
        let rows = rows(shape, 4000, 21);
        let snapshot = build(&home.path().join(format!("{shape:?}")), &rows, Options::new());
        for query in queries(&rows, &mut Random(1)) {
            let everything = matches(&rows, query, 64);
            for count in [0, 1, 2, 10, 500, 5000] {
                let expected = &everything[..count.min(everything.len())];
                assert_eq!(snapshot.nearest(query, count, 64).unwrap(), expected, "{shape:?} {count}");
            }
            let close: Vec<_> =
                everything.iter().copied().filter(|found| found.distance <= 5).take(3).collect();
            assert_eq!(snapshot.nearest(query, 3, 5).unwrap(), close);
        }
    }
}

fn collected(
    join: impl FnOnce(&mut dyn FnMut(&[Pair<u64>]) -> nearprint::Result<()>) -> nearprint::Result<()>,
) -> Vec<Pair<u64>> {
    let mut found = Vec::new();
    join(&mut |block| {
        found.extend_from_slice(block);
        Ok(())
    })
    .unwrap();
    found
}

#[test]
fn pairs_equal_brute_force_in_databases_and_lists() {
    for shape in SHAPES {
        let rows = rows(shape, 1500, 31);
        let values: Vec<u64> = rows.iter().map(|row| row.fingerprint).collect();
        let homes: Vec<_> = layouts()
            .into_iter()
            .map(|layout| {
                let home = tempfile::tempdir().unwrap();
                let snapshot = build(&home.path().join("db"), &rows, Options::new().layout(layout));
                (home, layout, snapshot)
            })
            .collect();
        for k in (0..=8).chain([13, 33, 64]) {
            let expected = pairs(&rows, k);
            let check = |found: Vec<Pair<u64>>, what: String| {
                assert_eq!(found.len(), expected.len(), "{what}: each pair once");
                assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{what}");
            };
            check(collected(|visit| find_all(&values, k, 2, visit)), format!("list {shape:?} {k}"));
            for (_, layout, snapshot) in &homes {
                check(collected(|visit| snapshot.pairs(k, visit)), format!("{layout} {shape:?} {k}"));
            }
        }
    }
}

#[test]
fn larger_joins_agree_with_each_other_and_do_not_depend_on_threads() {
    for shape in [Shape::Uniform, Shape::Skewed, Shape::Extremes] {
        let rows = rows(shape, if matches!(shape, Shape::Extremes) { 5000 } else { 60_000 }, 41);
        let values: Vec<u64> = rows.iter().map(|row| row.fingerprint).collect();
        for k in [1, 3, 6] {
            let once = collected(|visit| find_all(&values, k, 1, visit));
            for threads in [2, 5] {
                assert_eq!(collected(|visit| find_all(&values, k, threads, visit)), once, "{shape:?} {k}");
            }
            let expected: BTreeSet<_> = once.into_iter().collect();
            for layout in ["rotations:4", "rotations:2", "blocks:6,2"] {
                let home = tempfile::tempdir().unwrap();
                let path = home.path().join("db");
                build(&path, &rows, Options::new().layout(layout.parse().unwrap()));
                let by_threads = [1, 3].map(|threads| {
                    let database =
                        Database::<u64>::open_with(&path, Options::new().threads(threads)).unwrap();
                    let snapshot = database.snapshot().unwrap();
                    collected(|visit| snapshot.pairs(k, visit))
                });
                assert_eq!(by_threads[0], by_threads[1]);
                assert_eq!(by_threads[0].len(), expected.len());
                assert_eq!(
                    by_threads[0].iter().copied().collect::<BTreeSet<_>>(),
                    expected,
                    "{layout} {shape:?} {k}"
                );
            }
        }
    }
}

#[test]
fn one_dense_group_is_split_and_still_complete() {
    // 12,000 values that differ in their last 20 bits only.
    let mut random = Random(77);
    let values: BTreeSet<u64> = (0..12_000).map(|_| 0xabcd_ef01_2340_0000 | random.below(1 << 20)).collect();
    let list: Vec<u64> = values.iter().copied().collect();
    let rows: Vec<Row<u64>> = list.iter().map(|&fingerprint| Row { fingerprint, id: 0 }).collect();
    let expected = pairs(&rows, 3);
    let found = collected(|visit| find_all(&list, 3, 2, visit));
    assert_eq!(found.len(), expected.len());
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected);
}

/// Keeps the last report, and ends the work from the first one on for which `ends` holds.
struct Listener {
    stage: Stage,
    last: Mutex<(u64, Option<u64>)>,
    ended: AtomicBool,
    ends: fn(u64) -> bool,
}

impl Progress for Listener {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        assert_eq!(stage, self.stage);
        *self.last.lock().unwrap() = (done, total);
        self.ended.fetch_or((self.ends)(done), Ordering::Relaxed);
        if self.ended.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn listener(stage: Stage, ends: fn(u64) -> bool) -> Arc<Listener> {
    Arc::new(Listener { stage, last: Mutex::new((0, None)), ended: AtomicBool::new(false), ends })
}

fn joining(ends: fn(u64) -> bool) -> (Arc<Listener>, Options) {
    let listener = listener(Stage::Joining, ends);
    (listener.clone(), Options::new().threads(2).progress(listener))
}

#[test]
fn lists_tell_how_far_they_are_and_can_be_ended() {
    let values =
        rows::<u64>(Shape::Uniform, 100_000, 52).iter().map(|row| row.fingerprint).collect::<Vec<_>>();
    let (told, options) = joining(|_| false);
    let found = collected(|visit| visit_all(values.clone(), 3, &options, visit));
    assert_eq!(found, collected(|visit| find_all(&values, 3, 1, visit)));
    let (done, total) = *told.last.lock().unwrap();
    let total = total.unwrap();
    assert!(done <= total && done > total / 10 * 9, "{done} of {total}");

    let (_, options) = joining(|done| done > 0);
    let ended = visit_all(values.clone(), 3, &options, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
    let ended = visit_all_clusters(values, 3, &options, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
}

#[test]
fn regression_a_join_of_all_with_all_ends_before_its_first_group_is_done() {
    let values =
        rows::<u64>(Shape::Uniform, 20_000, 53).iter().map(|row| row.fingerprint).collect::<Vec<_>>();
    let (_, options) = joining(|done| done == 0);
    let ended = visit_all(values, 20, &options, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
}

#[test]
fn regression_questions_end_before_the_first_of_them_are_answered() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<u64>(Shape::Uniform, 20_000, 54);
    let snapshot = build(&home.path().join("db"), &rows, Options::new().threads(2));
    let queries: Vec<u64> = rows.iter().map(|row| row.fingerprint).collect();
    // By table, by groups, by scanning.
    let ask = |snapshot: &Snapshot<u64>, k| {
        snapshot.query_batch(&queries, k, |_, _| Ok::<(), nearprint::Error>(()))?;
        snapshot.query_batch(&queries[..1000], k, |_, _| Ok::<(), nearprint::Error>(()))?;
        snapshot.nearest_batch(&queries[..1000], 2, 3, |_, _| Ok::<(), nearprint::Error>(()))
    };
    for k in [3, 14] {
        let told = listener(Stage::Answering, |_| false);
        ask(&snapshot.with_progress(told.clone()), k).unwrap();
        assert_eq!(*told.last.lock().unwrap(), (1000, Some(1000)), "{k}");
        // Some queries for few bits take less than a millisecond.
        for question in
            ["many", "some", "nearest"].into_iter().filter(|&question| question != "some" || k > 3)
        {
            let ended = snapshot.with_progress(listener(Stage::Answering, |done| done == 0));
            let ended = match question {
                "many" => ended.query_batch(&queries, k, |_, _| Ok(())),
                "some" => ended.query_batch(&queries[..1000], k, |_, _| Ok(())),
                _ => ended.nearest_batch(&queries[..1000], 2, k, |_, _| Ok(())),
            };
            assert!(matches!(ended, Err(Error::Interrupted)), "{k} {question}: {ended:?}");
        }
    }
    let told = listener(Stage::Joining, |_| false);
    snapshot
        .with_progress(told.clone())
        .visit_cross(&snapshot, 2, |_| Ok::<(), nearprint::Error>(()))
        .unwrap();
    let (done, total) = *told.last.lock().unwrap();
    assert_eq!(Some(done), total);
    let ended =
        snapshot
            .with_progress(listener(Stage::Joining, |done| done == 0))
            .visit_cross(&snapshot, 2, |_| Ok(()));
    assert!(matches!(ended, Err(Error::Interrupted)), "{ended:?}");
}

#[test]
fn clusters_equal_brute_force_in_databases_and_lists() {
    for shape in SHAPES {
        let rows = rows(shape, 1200, 51);
        let home = tempfile::tempdir().unwrap();
        let snapshot = build(&home.path().join("db"), &rows, Options::new());
        for k in [0, 1, 3, 6, 20] {
            let expected = clusters(&rows, k);
            let mut found = Vec::new();
            snapshot
                .visit_clusters(k, |cluster| {
                    found.push(cluster.to_vec());
                    Ok::<(), nearprint::Error>(())
                })
                .unwrap();
            assert_eq!(found, expected, "{shape:?} {k}");

            let values: Vec<u64> = rows.iter().map(|row| row.fingerprint).collect();
            let once: BTreeSet<u64> = values.iter().copied().collect();
            let once: Vec<Row<u64>> =
                once.into_iter().map(|fingerprint| Row { fingerprint, id: 0 }).collect();
            let expected: Vec<Vec<u64>> = clusters(&once, k)
                .iter()
                .map(|cluster| cluster.iter().map(|row| row.fingerprint).collect())
                .collect();
            let mut found = Vec::new();
            find_clusters(&values, k, 2, |cluster| {
                found.push(cluster.to_vec());
                Ok::<(), nearprint::Error>(())
            })
            .unwrap();
            assert_eq!(found, expected, "list {shape:?} {k}");
        }
    }
}

#[test]
fn id_pairs_are_all_pairs_of_rows() {
    let rows = rows::<u64>(Shape::Equal, 300, 61);
    let home = tempfile::tempdir().unwrap();
    let snapshot = build(&home.path().join("db"), &rows, Options::new());
    let mut found = Vec::new();
    snapshot
        .visit_row_pairs(3, |a, b, distance| {
            found.push((a.id, b.id, distance));
            Ok::<(), nearprint::Error>(())
        })
        .unwrap();
    let mut expected = Vec::new();
    for a in &rows {
        for b in &rows {
            let distance = nearprint::num_differing_bits(a.fingerprint, b.fingerprint);
            if distance <= 3 && (a.fingerprint, a.id) < (b.fingerprint, b.id) {
                expected.push((a.id, b.id, distance));
            }
        }
    }
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn rows_come_back_sorted_and_once_whatever_the_memory_and_the_ids() {
    for (name, ids) in [("small", 0u64), ("offset", 1 << 40), ("wide", u64::MAX - 50)] {
        for memory in [1 << 20, 64 << 20] {
            let mut given = rows(Shape::Equal, 100_000, 71);
            given.iter_mut().for_each(|row| {
                row.id = if name == "wide" && row.id % 2 == 0 { row.id } else { ids + row.id % 51 }
            });
            let home = tempfile::tempdir().unwrap();
            let options = Options::new().memory_bytes(memory).threads(3);
            let snapshot = build(&home.path().join("db"), &given, options);
            let expected: BTreeSet<Row<u64>> = given.into_iter().collect();
            let mut found = Vec::new();
            snapshot
                .visit_rows(|row| {
                    found.push(row);
                    Ok::<(), nearprint::Error>(())
                })
                .unwrap();
            assert!(found.iter().eq(expected.iter()), "{name} {memory}");
            assert_eq!(snapshot.stats().rows, expected.len() as u64);
            assert_eq!(snapshot.verify().unwrap().damage, []);
        }
    }
}

#[test]
fn bounded_memory_gives_the_same_files() {
    let rows = rows::<u64>(Shape::Skewed, 200_000, 81);
    let home = tempfile::tempdir().unwrap();
    let files = |name: &str, memory: usize, threads: usize| {
        let path = home.path().join(name);
        build(&path, &rows, Options::new().memory_bytes(memory).threads(threads));
        let mut sizes: Vec<(String, u64)> = std::fs::read_dir(&path)
            .unwrap()
            .map(|entry| entry.unwrap())
            .filter(|entry| entry.file_name() != "LOCK")
            .map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len()))
            .collect();
        sizes.sort();
        sizes
    };
    let large = files("large", 1 << 28, 2);
    assert_eq!(files("small", 1 << 20, 1), large);
    assert_eq!(files("threads", 1 << 20, 5), large);
}

#[test]
fn automatic_ids_continue_behind_the_largest() {
    let home = tempfile::tempdir().unwrap();
    let mut builder = Database::<u64>::build(home.path().join("db"), Options::new().first_id(10)).unwrap();
    let given = [None, None, Some(5), Some(100), None, Some(50), None, Some(u64::MAX)];
    let ids: Vec<u64> = given.iter().map(|&id| builder.push(1, id).unwrap()).collect();
    assert_eq!(ids, [10, 11, 5, 100, 101, 50, 102, u64::MAX]);
    assert!(matches!(builder.push(1, None), Err(Error::Limit(_))));
    let found = builder.finish().unwrap().snapshot().unwrap().query(1, 0).unwrap();
    assert_eq!(found.iter().map(|row| row.id).collect::<Vec<_>>(), [5, 10, 11, 50, 100, 101, 102, u64::MAX]);
}

#[test]
fn an_empty_database_answers() {
    let home = tempfile::tempdir().unwrap();
    let snapshot =
        Database::<u64>::create(home.path().join("db"), Options::new()).unwrap().snapshot().unwrap();
    assert_eq!(snapshot.query(0, 64).unwrap(), []);
    assert_eq!(snapshot.nearest(0, 3, 64).unwrap(), []);
    assert_eq!(collected(|visit| snapshot.pairs(64, visit)), []);
    snapshot.visit_clusters::<Error>(64, |_| panic!("no cluster")).unwrap();
    assert_eq!(snapshot.verify().unwrap().damage, []);
    assert_eq!(snapshot.explain(3).to_string(), "The database is empty: every answer is empty.\n");
    assert_eq!(collected(|visit| find_all(&[], 64, 2, visit)), []);
}

/// Fingerprints that share the directory's bits and the `hi` word were searched one by one.
#[test]
fn regression_many_entries_with_one_hi_word_are_found() {
    let rows: Vec<Row<u64>> =
        (0..1u64 << 16).map(|i| Row { fingerprint: 0xdead_beef_cafe << 16 | i, id: i }).collect();
    let home = tempfile::tempdir().unwrap();
    let snapshot =
        build(&home.path().join("db"), &rows, Options::new().layout("rotations:4".parse().unwrap()));
    for row in rows.iter().step_by(4999) {
        assert_eq!(snapshot.query(row.fingerprint, 2).unwrap(), matches(&rows, row.fingerprint, 2));
    }
}

/// Finding the rows of a fingerprint walked over those of a heavy one before it.
#[test]
fn regression_rows_behind_a_heavy_fingerprint_are_found() {
    let heavy = 0x0123_4567_89ab_0000;
    let mut rows: Vec<Row<u64>> = (0..100_000).map(|id| Row { fingerprint: heavy + 300, id }).collect();
    rows.extend((0..1500).map(|i| Row { fingerprint: heavy + i, id: 1_000_000 + i }));
    rows.extend((0..9000).map(|i| Row { fingerprint: heavy + 1000, id: 2_000_000 + i }));
    let home = tempfile::tempdir().unwrap();
    let snapshot = build(&home.path().join("db"), &rows, Options::new());
    for i in (0..1500).step_by(7).chain([299, 300, 301, 999, 1000, 1001, 1499]) {
        assert_eq!(snapshot.query(heavy + i, 0).unwrap(), matches(&rows, heavy + i, 0), "{i}");
    }
    assert_eq!(snapshot.verify().unwrap().damage, []);
}

/// More spilled pieces than are merged at once.
#[test]
fn regression_spilled_pieces_are_merged_in_rounds() {
    let rows = rows::<u64>(Shape::Equal, 4_000_000, 15);
    let home = tempfile::tempdir().unwrap();
    let options = Options::new().memory_bytes(1 << 20).threads(4).layout("rotations:2".parse().unwrap());
    let snapshot = build(&home.path().join("db"), &rows, options);
    assert_eq!(snapshot.stats().rows, 4_000_000);
    assert_eq!(snapshot.verify().unwrap().damage, []);
}

#[test]
fn nearest_in_batches_equals_nearest_one_by_one() {
    let rows = rows(Shape::Skewed, 3000, 16);
    let home = tempfile::tempdir().unwrap();
    let snapshot = build(&home.path().join("db"), &rows, Options::new().threads(3));
    let queries = queries(&rows, &mut Random(4));
    let mut next = 0;
    let visit = |index: usize, found: &[nearprint::Match<u64>]| {
        assert_eq!((index, found), (next, &snapshot.nearest(queries[index], 4, 20)?[..]));
        next += 1;
        Ok::<(), nearprint::Error>(())
    };
    snapshot.nearest_batch(&queries, 4, 20, visit).unwrap();
    assert_eq!(next, queries.len());
}
