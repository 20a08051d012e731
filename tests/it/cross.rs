//! What two databases have in common, against brute force.

use std::collections::BTreeSet;
use std::path::Path;

use nearprint::{Error, Fingerprint, Options, Pair, Row, Schema, Snapshot};
use testkit::{
    Random, SHAPES, Shape, build, by_width, collected, distinct, folder_in_memory, for_each_width, layout,
    open_on, rows, short_or_full,
};

for_each_width!(
    cross_is_exact_for_all_shapes_sizes_and_threads,
    rows_are_crossed_with_all_their_ids,
    deleted_rows_are_left_out,
    an_error_from_the_visitor_ends_it,
);

/// All pairs in the order promised, by comparing all with all.
fn expected<F: Fingerprint>(first: &[Row<F>], second: &[Row<F>], k: u32) -> Vec<Pair<F>> {
    let (first, second) = (distinct(first), distinct(second));
    let first_queries = first.len() <= second.len();
    let mut found = Vec::new();
    for &a in &first {
        for &b in &second {
            let distance = a.distance(b);
            if distance <= k {
                found.push(Pair { a, b, distance });
            }
        }
    }
    found.sort_by_key(|pair| {
        if first_queries { (pair.a, pair.distance, pair.b) } else { (pair.b, pair.distance, pair.a) }
    });
    found
}

fn expected_rows<F: Fingerprint>(
    first: &[Row<F>],
    second: &[Row<F>],
    k: u32,
) -> BTreeSet<(Row<F>, Row<F>, u32)> {
    let near = |a: &Row<F>, b: &Row<F>| a.fingerprint.distance(b.fingerprint);
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b, near(a, b))));
    pairs.filter(|(_, _, distance)| *distance <= k).collect()
}

fn crossed<F: Fingerprint>(first: &Snapshot<F>, second: &Snapshot<F>, k: u32) -> Vec<Pair<F>> {
    collected(first.cross(second, k))
}

fn crossed_rows<F: Fingerprint>(
    first: &Snapshot<F>,
    second: &Snapshot<F>,
    k: u32,
) -> BTreeSet<(Row<F>, Row<F>, u32)> {
    let mut found = BTreeSet::new();
    first
        .visit_cross_rows(second, k, |a, b, distance| {
            assert!(found.insert((a, b, distance)), "{a:?} {b:?} twice");
            Ok::<(), Error>(())
        })
        .unwrap();
    found
}

/// Rows near the rows of another list, and others.
fn relatives<F: Fingerprint>(of: &[Row<F>], count: usize, seed: u64) -> Vec<Row<F>> {
    let mut random = Random(seed);
    let near = |random: &mut Random| {
        let other = of[random.below(of.len() as u64) as usize].fingerprint;
        random.near(other, 6)
    };
    (0..count as u64)
        .map(|id| {
            let fingerprint = if random.below(2) == 0 { near(&mut random) } else { random.value() };
            Row { fingerprint, id: id * 3 }
        })
        .collect()
}

fn cross_is_exact_for_all_shapes_sizes_and_threads<F: Fingerprint>() {
    let home = folder_in_memory();
    for shape in SHAPES {
        let first = rows::<F>(shape, short_or_full(600, 1500), 5);
        for (count, name) in [(250, "rotations:3"), (short_or_full(900, 2500), "blocks:6,2")] {
            let second = relatives(&first, count, 11);
            let at = |name: &str| home.path().join(format!("{shape:?} {count} {name}"));
            build(&at("first"), &first, Schema::new());
            build(&at("second"), &second, layout(name));
            for k in [0, 1, 3, 8, by_width::<F, _>(20, 40, 80)] {
                let (there, back) = (expected(&first, &second, k), expected(&second, &first, k));
                for threads in [1, 2, 5] {
                    let (first, second) = (open_on(&at("first"), threads), open_on(&at("second"), threads));
                    assert!(crossed(&first, &second, k) == there, "{shape:?} {count} {k}");
                    assert!(crossed(&second, &first, k) == back, "{shape:?} {count} {k} back");
                }
            }
        }
    }
}

fn rows_are_crossed_with_all_their_ids<F: Fingerprint>() {
    let home = folder_in_memory();
    let (first, second) = (rows::<F>(Shape::Equal, 300, 1), rows::<F>(Shape::Equal, 200, 1));
    let one = build(&home.path().join("one"), &first, Schema::new());
    let other = build(&home.path().join("other"), &second, Schema::new());
    for k in [0, 4] {
        assert_eq!(crossed_rows(&one, &other, k), expected_rows(&first, &second, k));
        assert_eq!(crossed_rows(&other, &one, k), expected_rows(&second, &first, k));
        assert_eq!(crossed_rows(&one, &one, k), expected_rows(&first, &first, k));
    }
}

/// Several runs, deleted rows, and rows in no run yet.
fn living<F: Fingerprint>(path: &Path, rows: &[Row<F>], deleted: u64) -> Snapshot<F> {
    let options = Options::new().memtable_rows(150).background_merges(false);
    let mut writer = options.create::<F>(path, &Schema::new()).unwrap().writer().unwrap();
    for (count, row) in rows.iter().enumerate() {
        writer.insert(*row).unwrap();
        if count % 40 == 0 {
            writer.commit().unwrap();
        }
    }
    (0..deleted).for_each(|id| writer.delete(id * 3).unwrap());
    writer.commit().unwrap();
    writer.snapshot().unwrap()
}

fn deleted_rows_are_left_out<F: Fingerprint>() {
    let home = folder_in_memory();
    let first = rows::<F>(Shape::Skewed, 700, 3);
    let second = relatives(&first, 500, 4);
    let one = living(&home.path().join("one"), &first, 100);
    let other = living(&home.path().join("other"), &second, 90);
    let kept = |rows: &[Row<F>], deleted: u64| -> Vec<Row<F>> {
        rows.iter().filter(|row| row.id % 3 != 0 || row.id / 3 >= deleted).copied().collect()
    };
    let (first, second) = (kept(&first, 100), kept(&second, 90));
    for k in [0, 3, 10] {
        let found: BTreeSet<_> = crossed(&one, &other, k).into_iter().collect();
        assert_eq!(found, expected(&first, &second, k).into_iter().collect());
        assert_eq!(crossed_rows(&one, &other, k), expected_rows(&first, &second, k));
    }
}

/// More fingerprints than one block of queries holds; its size does not depend on the width.
#[test]
fn many_fingerprints_are_looked_up_in_several_blocks() {
    let home = folder_in_memory();
    let first = rows::<u64>(Shape::Uniform, 34_000, 8);
    let second: Vec<Row<u64>> = rows(Shape::Uniform, 40_000, 8);
    let one = build(&home.path().join("one"), &first, Schema::new());
    let other = build(&home.path().join("other"), &second, Schema::new());
    assert!(crossed(&one, &other, 2) == expected(&first, &second, 2));
}

fn an_error_from_the_visitor_ends_it<F: Fingerprint>() {
    let home = folder_in_memory();
    let rows = rows::<F>(Shape::Uniform, 5000, 8);
    let one = build(&home.path().join("one"), &rows, Schema::new());
    let mut blocks = 0;
    let ended = one.visit_cross(&one, 0, |_| {
        blocks += 1;
        Err(Error::ForeignKey { key: 7 })
    });
    assert!(matches!(ended, Err(Error::ForeignKey { key: 7 })));
    assert_eq!(blocks, 1);
    let empty = build(&home.path().join("empty"), &[], Schema::new());
    assert_eq!(crossed(&one, &empty, F::BITS), []);
    assert_eq!(crossed(&empty, &one, F::BITS), []);
}
