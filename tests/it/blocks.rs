//! Lists that are spread over tasks: all tasks together find what one list has.

use std::collections::BTreeSet;

use nearprint::{BandLayout, Error, Fingerprint, Near, Options, Pair, Row, list};
use testkit::{Random, short_or_full};

/// Values near each other, some equal, and a dense group that shares a block.
fn list<F: Fingerprint>(random: &mut Random, len: usize) -> Vec<F> {
    let mut values: Vec<F> = Vec::new();
    let hub = random.value::<F>();
    for _ in 0..len {
        let base = match random.below(4) {
            0 if !values.is_empty() => values[random.below(values.len() as u64) as usize],
            1 => hub,
            _ => random.value(),
        };
        values.push(random.near(base, 4));
    }
    values.push(F::default());
    values.push(F::ones(0, F::BITS));
    values
}

fn into<F: Fingerprint>(all: &mut Vec<Pair<F>>, some: &[Pair<F>]) -> Result<(), Error> {
    all.extend_from_slice(some);
    Ok(())
}

/// The rows of each of some tasks; keys that more than `most` fingerprints have are split.
fn tasks<F: Fingerprint>(
    blocks: &list::Blocks<F>,
    list: &[F],
    num: u64,
    most: Option<usize>,
) -> Vec<Vec<(u64, F)>> {
    let mut rows: Vec<(u64, F)> =
        list.iter().flat_map(|&value| blocks.keys(value).map(move |key| (key, value))).collect();
    rows.sort_unstable();
    let mut tasks = vec![Vec::new(); num as usize];
    for same in rows.chunk_by(|a, b| a.0 == b.0) {
        let parts = most.map_or(1, |most| same.len().div_ceil(most)) as u32;
        for &(key, value) in same {
            match parts {
                1 => tasks[(key % num) as usize].push((key, value)),
                _ => blocks
                    .split(key, value, parts)
                    .for_each(|key| tasks[(key % num) as usize].push((key, value))),
            }
        }
    }
    tasks
}

fn check<F: Fingerprint>(near: Near, list: &[F]) {
    let blocks = list::Blocks::<F>::new(near).unwrap();
    let mut expected = list::find_all(list, near).unwrap();
    expected.sort();
    let clusters = list::find_clusters(list, near).unwrap();
    for (num, most) in [(1, None), (4, None), (16, Some(20)), (3, Some(7))] {
        let (mut pairs, mut forest): (Vec<Pair<F>>, Vec<Pair<F>>) = (Vec::new(), Vec::new());
        for rows in tasks(&blocks, list, num, most) {
            let options = Options::new().threads(1 + num as usize % 2);
            blocks.visit_pairs(rows.clone(), &options, |some| into(&mut pairs, some)).unwrap();
            blocks.visit_forest(rows, &options, |some| into(&mut forest, some)).unwrap();
        }
        pairs.sort();
        assert_eq!(pairs, expected, "{near:?}, {num} tasks, at most {most:?}");
        assert!(forest.iter().all(|pair| expected.binary_search(pair).is_ok()), "{near:?}");
        assert_eq!(components(&forest), clusters, "{near:?}, {num} tasks, at most {most:?}");
        check_labels(&forest, &clusters);
    }
    check_forest(&expected, &clusters);
    check_between(near, list);
}

fn check_labels<F: Fingerprint>(forest: &[Pair<F>], clusters: &[Vec<F>]) {
    let ends: Vec<(F, F)> = forest.iter().map(|pair| (pair.b, pair.a)).collect();
    let mut labels: Vec<(F, F)> =
        clusters.iter().flat_map(|cluster| cluster.iter().map(|&member| (member, cluster[0]))).collect();
    labels.sort();
    assert_eq!(nearprint::list::components(&ends).unwrap(), labels);
}

/// A spanning forest has the clusters of all pairs, with one pair less than members in each.
fn check_forest<F: Fingerprint>(pairs: &[Pair<F>], clusters: &[Vec<F>]) {
    let ends: Vec<(F, F)> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    let chosen = list::spanning_forest(&ends).unwrap();
    let forest: Vec<Pair<F>> = chosen.iter().map(|&index| pairs[index]).collect();
    assert!(chosen.is_sorted() && forest.len() == clusters.iter().map(|cluster| cluster.len() - 1).sum());
    assert_eq!(components(&forest), clusters);
}

/// The pairs between two parts of a list, which have some values in common.
fn check_between<F: Fingerprint>(near: Near, list: &[F]) {
    let blocks = list::Blocks::<F>::new(near).unwrap();
    let ones: BTreeSet<F> = list.iter().step_by(2).copied().collect();
    let others: BTreeSet<F> = list.iter().skip(1).step_by(2).chain(list.first()).copied().collect();
    let is_admitted = |value: &F| near.bands.is_none() || *value != F::default();
    let mut expected: Vec<Pair<F>> = Vec::new();
    for &a in ones.iter().filter(|value| is_admitted(value)) {
        for &b in others.iter().filter(|value| is_admitted(value)) {
            expected.extend(near.distance(a, b).map(|distance| Pair { a, b, distance }));
        }
    }
    expected.sort();
    for (num, most) in [(1, None), (4, None), (3, Some(7))] {
        let mut pairs = Vec::new();
        for rows in tasks(&blocks, list, num, most) {
            let side =
                |side: &BTreeSet<F>| rows.iter().copied().filter(|row| side.contains(&row.1)).collect();
            let options = Options::new().threads(1 + num as usize % 2);
            let visit = |some: &[Pair<F>]| into(&mut pairs, some);
            blocks.visit_between(side(&ones), side(&others), &options, visit).unwrap();
        }
        pairs.sort();
        assert_eq!(pairs, expected, "{near:?}, {num} tasks, at most {most:?}");
    }
}

fn components<F: Fingerprint>(pairs: &[Pair<F>]) -> Vec<Vec<F>> {
    let mut sets: Vec<BTreeSet<F>> = Vec::new();
    for pair in pairs {
        let (mut joined, others): (Vec<_>, Vec<_>) =
            sets.into_iter().partition(|set| set.contains(&pair.a) || set.contains(&pair.b));
        let mut set = BTreeSet::from([pair.a, pair.b]);
        joined.iter_mut().for_each(|more| set.append(more));
        sets = others;
        sets.push(set);
    }
    let mut sets: Vec<Vec<F>> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
    sets.sort();
    sets
}

#[test]
fn tasks_find_the_pairs_and_clusters_of_one_list() {
    let mut random = Random(18);
    for k in 0..=8 {
        check::<u64>(k.into(), &list(&mut random, 300));
    }
    for k in [0, 3, 8, 20] {
        check::<u128>(k.into(), &list(&mut random, 200));
        check::<nearprint::U256>(k.into(), &list(&mut random, 200));
    }
    for (k, bands) in [(5, "2x8"), (20, "4x8")] {
        let bands: Option<BandLayout> = Some(bands.parse().unwrap());
        check::<u64>(Near { k, bands }, &list(&mut random, 300));
    }
    for (k, bands) in [(36, "6x16"), (80, "4x24")] {
        let bands: Option<BandLayout> = Some(bands.parse().unwrap());
        check::<nearprint::U256>(Near { k, bands }, &list(&mut random, 300));
    }
    check::<u64>(3.into(), &[]);
    check::<u64>(3.into(), &[7; 100]);
}

/// A path of near values, and a ball in which all are near.
#[test]
fn long_paths_and_dense_balls_are_joined() {
    let path: Vec<u64> = (0..64)
        .scan(0, |value, bit| {
            *value |= 1u64 << bit;
            Some(*value)
        })
        .collect();
    check(1.into(), &path);
    let ball: Vec<u64> = (0..64).flat_map(|a| (0..64).map(move |b| 1u64 << a | 1 << b)).collect();
    check(4.into(), &ball[..400]);
}

#[test]
fn keys_are_below_two_to_the_63rd_and_never_change() {
    let blocks = list::Blocks::<u64>::new(3).unwrap();
    let keys: Vec<u64> = blocks.keys(0xfedc_ba98_7654_3210).collect();
    assert_eq!(keys, [0xfedc, 1 << 57 | 0xba98, 2 << 57 | 0x7654, 3 << 57 | 0x3210]);
    let split: Vec<u64> = blocks.split(keys[1], 0xfedc_ba98_7654_3210, 3).collect();
    assert!(split.len() == 3 && split.iter().all(|key| key >> 57 == 1 && key & 0xffff == 0xba98));
    let whole: Vec<u64> =
        list::Blocks::<nearprint::U256>::new(0).unwrap().keys(nearprint::U256::default()).collect();
    assert!(whole.len() == 1 && whole[0] < 1 << 33);
    let most = list::Blocks::<u64>::new(63).unwrap();
    assert!(most.keys(u64::MAX).count() == 64 && most.keys(u64::MAX).all(|key| key < 1 << 63));
    assert!(matches!(list::Blocks::<u128>::new(64), Err(Error::InvalidLayout { .. })));

    let foreign = blocks.visit_pairs(vec![(4 << 57, 1)], &Options::new(), |_| Ok::<(), Error>(()));
    assert!(matches!(foreign, Err(Error::ForeignKey { key }) if key == 4 << 57));
    assert_eq!(blocks.split(keys[0], 1, 0).count(), 1);
    assert_eq!(blocks.split(keys[0], 1, 1000).count(), 256);
}

/// The dense groups of all lists above are small. Here they are split by the join as well.
#[test]
fn large_blocks_are_joined_in_parts() {
    let mut random = Random(3);
    let values: Vec<u64> =
        (0..6000).map(|_| 0xabcd << 48 | random.next() >> 16 & 0xffff_f000_0000 | random.below(4)).collect();
    let blocks = list::Blocks::<u64>::new(2).unwrap();
    let mut expected = Vec::new();
    list::visit_pairs(values.clone(), 2, &Options::new(), |some| into(&mut expected, some)).unwrap();
    expected.sort();
    assert!(expected.len() > 100);
    for most in [None, Some(2500)] {
        let mut pairs = Vec::new();
        for rows in tasks(&blocks, &values, 3, most) {
            blocks.visit_pairs(rows, &Options::new(), |some| into(&mut pairs, some)).unwrap();
        }
        pairs.sort();
        assert_eq!(pairs, expected);
    }
    check_between(2.into(), &values);
    let sketches: Vec<nearprint::U256> = values[..short_or_full(2500, 5000)]
        .iter()
        .map(|&value| nearprint::U256::from_le_words(&[value << 20 | 3, value >> 7, 1, 1 << 63]))
        .collect();
    check_between(Near { k: 4, bands: Some("6x16".parse().unwrap()) }, &sketches);
}

#[test]
fn each_visitor_of_a_list_has_an_iterator_with_the_same_items() {
    let values = list::<u64>(&mut Random(91), 3000);
    let (near, options) = (Near::from(3), Options::new().threads(2));
    let blocks = list::Blocks::<u64>::new(near).unwrap();
    let rows = tasks(&blocks, &values, 1, None).remove(0);
    let mut visited = Vec::new();
    let collected = |stream: nearprint::Result<nearprint::Stream<Pair<u64>>>| -> Vec<Pair<u64>> {
        stream.unwrap().collect::<Result<_, _>>().unwrap()
    };
    blocks.visit_pairs(rows.clone(), &options, |some| into(&mut visited, some)).unwrap();
    assert_eq!(collected(blocks.pairs(rows.clone(), &options)), visited);
    visited.clear();
    blocks.visit_forest(rows.clone(), &options, |some| into(&mut visited, some)).unwrap();
    assert_eq!(collected(blocks.forest(rows.clone(), &options)), visited);
    visited.clear();
    let ones = rows[..rows.len() / 2].to_vec();
    blocks.visit_between(ones.clone(), rows.clone(), &options, |some| into(&mut visited, some)).unwrap();
    assert_eq!(collected(blocks.between(ones, rows, &options)), visited);
    let stream = list::clusters(values.clone(), near, &options).unwrap();
    let clusters: Vec<Vec<u64>> = stream.collect::<Result<_, _>>().unwrap();
    assert_eq!(clusters, list::find_clusters(&values, near).unwrap());
    let ids = (0..).zip(&values).map(|(id, &fingerprint)| Row { fingerprint, id });
    let ids: Vec<Row<u64>> = ids.collect();
    let mut groups: Vec<Vec<Row<u64>>> = Vec::new();
    let visit = |rows: &[Row<u64>]| -> Result<(), Error> {
        groups.push(rows.to_vec());
        Ok(())
    };
    list::visit_row_clusters(ids.clone(), near, &options, visit).unwrap();
    let stream = list::row_clusters(ids, near, &options).unwrap();
    assert_eq!(stream.collect::<Result<Vec<_>, _>>().unwrap(), groups);
    assert!(clusters.len() > 1 && !groups.is_empty());
}
