//! What two databases have in common, against brute force.

use std::collections::BTreeSet;
use std::path::Path;

use crate::common::{Random, SHAPES, Shape, build, rows};
use nearprint::{Database, Error, Options, Pair, Row, Snapshot, num_differing_bits};

fn distinct(rows: &[Row<u64>]) -> Vec<u64> {
    rows.iter().map(|row| row.fingerprint).collect::<BTreeSet<_>>().into_iter().collect()
}

/// All pairs in the order promised, by comparing all with all.
fn expected(first: &[Row<u64>], second: &[Row<u64>], k: u32) -> Vec<Pair<u64>> {
    let (first, second) = (distinct(first), distinct(second));
    let first_asks = first.len() <= second.len();
    let mut found = Vec::new();
    for &a in &first {
        for &b in &second {
            let distance = num_differing_bits(a, b);
            if distance <= k {
                found.push(Pair { a, b, distance });
            }
        }
    }
    found.sort_by_key(|pair| {
        if first_asks { (pair.a, pair.distance, pair.b) } else { (pair.b, pair.distance, pair.a) }
    });
    found
}

fn expected_rows(first: &[Row<u64>], second: &[Row<u64>], k: u32) -> BTreeSet<(Row<u64>, Row<u64>, u32)> {
    let near = |a: &Row<u64>, b: &Row<u64>| num_differing_bits(a.fingerprint, b.fingerprint);
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b, near(a, b))));
    pairs.filter(|(_, _, distance)| *distance <= k).collect()
}

fn crossed(first: &Snapshot<u64>, second: &Snapshot<u64>, k: u32) -> Vec<Pair<u64>> {
    let mut found = Vec::new();
    first
        .cross(second, k, |block| {
            assert!(!block.is_empty());
            found.extend_from_slice(block);
            Ok::<(), Error>(())
        })
        .unwrap();
    found
}

fn crossed_rows(
    first: &Snapshot<u64>,
    second: &Snapshot<u64>,
    k: u32,
) -> BTreeSet<(Row<u64>, Row<u64>, u32)> {
    let mut found = BTreeSet::new();
    first
        .cross_rows(second, k, |a, b, distance| {
            assert!(found.insert((a, b, distance)), "{a:?} {b:?} twice");
            Ok::<(), Error>(())
        })
        .unwrap();
    found
}

/// Rows near those of another list, and others.
fn relatives(of: &[Row<u64>], count: usize, seed: u64) -> Vec<Row<u64>> {
    let mut random = Random(seed);
    let near = |random: &mut Random| {
        let other = of[random.below(of.len() as u64) as usize].fingerprint;
        random.near(other, 6)
    };
    (0..count as u64)
        .map(|id| {
            let fingerprint = if random.below(2) == 0 { near(&mut random) } else { random.next() };
            Row { fingerprint, id: id * 3 }
        })
        .collect()
}

#[test]
fn cross_is_exact_for_all_shapes_sizes_and_threads() {
    let home = tempfile::tempdir().unwrap();
    for shape in SHAPES {
        let first = rows(shape, 1500, 5);
        for (count, layout) in [(400, "rotations:3"), (2500, "blocks:6,2")] {
            let second = relatives(&first, count, 11);
            let at = |name: &str| home.path().join(format!("{shape:?} {count} {name}"));
            build(&at("first"), &first, Options::new());
            build(&at("second"), &second, Options::new().layout(layout.parse().unwrap()));
            for k in [0, 1, 3, 8, 20] {
                let (there, back) = (expected(&first, &second, k), expected(&second, &first, k));
                for threads in [1, 2, 5] {
                    let open = |name: &str| {
                        let options = Options::new().threads(threads);
                        Database::<u64>::open_with(at(name), options).unwrap().snapshot().unwrap()
                    };
                    let (first, second) = (open("first"), open("second"));
                    assert!(crossed(&first, &second, k) == there, "{shape:?} {count} {k}");
                    assert!(crossed(&second, &first, k) == back, "{shape:?} {count} {k} back");
                }
            }
        }
    }
}

#[test]
fn rows_are_crossed_with_all_their_ids() {
    let home = tempfile::tempdir().unwrap();
    let (first, second) = (rows(Shape::Equal, 300, 1), rows(Shape::Equal, 200, 1));
    let one = build(&home.path().join("one"), &first, Options::new());
    let other = build(&home.path().join("other"), &second, Options::new());
    for k in [0, 4] {
        assert_eq!(crossed_rows(&one, &other, k), expected_rows(&first, &second, k));
        assert_eq!(crossed_rows(&other, &one, k), expected_rows(&second, &first, k));
        assert_eq!(crossed_rows(&one, &one, k), expected_rows(&first, &first, k));
    }
}

/// Several runs, deleted rows, and rows in no run yet.
fn living(path: &Path, rows: &[Row<u64>], deleted: u64) -> Snapshot<u64> {
    let options = Options::new().memtable_rows(150).background_merges(false);
    Database::<u64>::create(path, options.clone()).unwrap();
    let mut writer = Database::<u64>::open_with(path, options).unwrap().writer().unwrap();
    for (count, row) in rows.iter().enumerate() {
        writer.insert(row.fingerprint, Some(row.id)).unwrap();
        if count % 40 == 0 {
            writer.commit().unwrap();
        }
    }
    (0..deleted).for_each(|id| writer.delete(id * 3).unwrap());
    writer.commit().unwrap();
    writer.snapshot().unwrap()
}

#[test]
fn what_is_deleted_is_not_met() {
    let home = tempfile::tempdir().unwrap();
    let first = rows(Shape::Skewed, 700, 3);
    let second = relatives(&first, 500, 4);
    let one = living(&home.path().join("one"), &first, 100);
    let other = living(&home.path().join("other"), &second, 90);
    let kept = |rows: &[Row<u64>], deleted: u64| -> Vec<Row<u64>> {
        rows.iter().filter(|row| row.id % 3 != 0 || row.id / 3 >= deleted).copied().collect()
    };
    let (first, second) = (kept(&first, 100), kept(&second, 90));
    for k in [0, 3, 10] {
        let found: BTreeSet<_> = crossed(&one, &other, k).into_iter().collect();
        assert_eq!(found, expected(&first, &second, k).into_iter().collect());
        assert_eq!(crossed_rows(&one, &other, k), expected_rows(&first, &second, k));
    }
}

#[test]
fn more_fingerprints_than_are_asked_for_at_once() {
    let home = tempfile::tempdir().unwrap();
    let first = rows(Shape::Uniform, 34_000, 8);
    let second: Vec<Row<u64>> = rows(Shape::Uniform, 40_000, 8);
    let one = build(&home.path().join("one"), &first, Options::new());
    let other = build(&home.path().join("other"), &second, Options::new());
    assert!(crossed(&one, &other, 2) == expected(&first, &second, 2));
}

#[test]
fn an_error_from_the_visitor_ends_it() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows(Shape::Uniform, 5000, 8);
    let one = build(&home.path().join("one"), &rows, Options::new());
    let mut blocks = 0;
    let ended = one.visit_cross(&one, 0, |_| {
        blocks += 1;
        Err(Error::Limit("enough"))
    });
    assert!(matches!(ended, Err(Error::Limit("enough"))));
    assert_eq!(blocks, 1);
    let empty = build(&home.path().join("empty"), &[], Options::new());
    assert_eq!(crossed(&one, &empty, 64), []);
    assert_eq!(crossed(&empty, &one, 64), []);
}
