//! The layer without widths: the same answers as the typed one, as words and columns.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use nearprint::any::{self, AnyDatabase, AnySnapshot, Columns, NewRows, Shape};
use nearprint::internal::words;
use nearprint::list::{find_all, find_clusters};
use nearprint::{
    Database, Error, ErrorKind, Fingerprint, KeyStorage, Match, Near, Options, Progress, Query, Result, Row,
    Schema, Stage, Width,
};
use testkit::{Shape as Data, for_each_width, low, rows};

for_each_width!(
    answers_are_those_of_the_typed_database,
    streams_have_the_rows_of_the_typed_visitors,
    a_row_comes_with_each_of_its_keys,
    regression_pairs_of_rows_have_each_two_of_their_keys,
    lists_have_the_pairs_and_clusters_of_the_typed_functions,
    rows_of_lists_have_the_pairs_and_clusters_of_brute_force
);

fn words_of<F: Fingerprint>(fingerprints: impl IntoIterator<Item = F>) -> Vec<u64> {
    fingerprints.into_iter().flat_map(words).collect()
}

/// A database of two runs and unflushed rows, some of them deleted.
fn build<F: Fingerprint>(path: &Path, rows: &[Row<F>]) -> AnyDatabase {
    let database = Options::new().create_any(path, F::WIDTH, &Schema::new()).unwrap();
    let mut writer = database.writer().unwrap();
    for (part, rows) in rows.chunks(rows.len() / 3 + 1).enumerate() {
        let fingerprints = words_of(rows.iter().map(|row| row.fingerprint));
        let ids: Vec<u64> = rows.iter().map(|row| row.id).collect();
        let mut stored = Vec::new();
        let new = NewRows { fingerprints: &fingerprints, ids: Some(&ids), ..NewRows::default() };
        let note = &mut |id| -> Result<()> {
            stored.push(id);
            Ok(())
        };
        match part {
            0 => writer.upsert(&new, note).unwrap(),
            _ => writer.insert(&new, note).unwrap(),
        }
        assert_eq!(stored, ids);
        writer.delete(&ids[..5]).unwrap();
        if part < 2 { writer.flush() } else { writer.commit() }.unwrap();
    }
    database
}

fn matches_of<F: Fingerprint>(columns: &Columns) -> Vec<(u64, Match<F>)> {
    let row = |row: any::AnyRow<'_>| {
        let fingerprint = F::from_le_words(row.fingerprint);
        (row.group, Match { distance: row.distance, fingerprint, id: row.id })
    };
    columns.rows().map(row).collect()
}

fn answers_are_those_of_the_typed_database<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<F>(Data::Equal, 3000, 5);
    let database = build(&home.path().join("db"), &rows);
    let (snapshot, typed) = (database.snapshot().unwrap(), Database::<F>::open(database.path()).unwrap());
    let typed = typed.snapshot().unwrap();
    assert_eq!((snapshot.width(), snapshot.stats()), (F::WIDTH, typed.stats()));
    assert_eq!(snapshot.count_rows().unwrap(), typed.rows().unwrap().count() as u64);
    let queries: Vec<F> = rows.iter().step_by(300).map(|row| row.fingerprint ^ low(5)).collect();
    let mut writer = database.writer().unwrap();
    for (k, limit) in [(3, usize::MAX), (9, 4), (2, 1)] {
        let (wanted, closest) = (Query::within(k).limit(limit), Query::nearest(4).max_k(k));
        let (mut all, mut nearest) = (Vec::new(), Vec::new());
        for (number, &query) in (0..).zip(&queries) {
            let expected = typed.query(query, wanted).unwrap();
            let mut found = Columns::new(F::WIDTH, Shape::MATCHES);
            snapshot.query(&words_of([query]), wanted, &mut found).unwrap();
            assert!(matches_of(&found).into_iter().map(|(_, found)| found).eq(expected.iter().copied()));
            all.extend(expected.iter().map(|&found| (number, found)));
            let expected = typed.query(query, closest).unwrap();
            found.clear();
            snapshot.query(&words_of([query]), closest, &mut found).unwrap();
            assert!(matches_of(&found).into_iter().map(|(_, found)| found).eq(expected.iter().copied()));
            nearest.extend(expected.into_iter().map(|found| (number, found)));
            found.clear();
            writer.query(&words_of([query]), k, &mut found).unwrap();
            assert_eq!(
                found.ids,
                typed.query(query, k).unwrap().iter().map(|row| row.id).collect::<Vec<_>>()
            );
        }
        assert!(!all.is_empty());
        let (mut batch, mut numbers) = (Vec::new(), 0..queries.len());
        let collect = |query: usize, found: &Columns| -> Result<()> {
            assert_eq!(numbers.next(), Some(query));
            batch.extend(matches_of::<F>(found));
            Ok(())
        };
        snapshot.query_batch(&words_of(queries.iter().copied()), wanted, collect).unwrap();
        assert_eq!(batch, all);
        batch.clear();
        let collect = |_: usize, found: &Columns| -> Result<()> {
            batch.extend(matches_of::<F>(found));
            Ok(())
        };
        snapshot.query_batch(&words_of(queries.iter().copied()), closest, collect).unwrap();
        assert_eq!(batch, nearest);
    }
    let stop = |_: usize, _: &Columns| Err(Error::ForeignKey { key: 7 });
    let stopped = snapshot.query_batch(&words_of(queries), Query::within(3).limit(1), stop);
    assert!(matches!(stopped, Err(Error::ForeignKey { key: 7 })));
    let id = rows[20].id;
    assert_eq!(snapshot.fingerprints_of(id).unwrap(), words_of(typed.fingerprints_of(id).unwrap()));
}

/// All blocks of a stream in one.
fn collected(stream: Result<any::AnyStream>, block_rows: Option<usize>) -> Columns {
    let mut stream = stream.unwrap();
    let mut all = Columns::new(stream.width(), stream.shape());
    let mut last = block_rows;
    loop {
        let block = match stream.next_within(Duration::from_millis(1)) {
            Poll::Pending => continue,
            Poll::Ready(None) => return all,
            Poll::Ready(Some(block)) => block.unwrap(),
        };
        assert!(last.is_none() || last == block_rows, "only the last block has fewer rows");
        last = last.map(|_| block.len());
        all.append(&block);
    }
}

fn streams_have_the_rows_of_the_typed_visitors<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<F>(Data::Equal, 2000, 6);
    let database = build(&home.path().join("db"), &rows);
    let other = build(&home.path().join("other"), &rows[..300]).snapshot().unwrap();
    let snapshot = database.snapshot().unwrap().with_block_rows(64);
    let open = |path: &Path| Database::<F>::open(path).unwrap().snapshot().unwrap();
    let (typed, typed_other) = (open(database.path()), open(&home.path().join("other")));

    let expected: Vec<Row<F>> = typed.rows().unwrap().map(Result::unwrap).collect();
    let found = collected(snapshot.rows(), Some(64));
    assert_eq!(found.fingerprints, words_of(expected.iter().map(|row| row.fingerprint)));
    assert!(found.ids.iter().copied().eq(expected.iter().map(|row| row.id)));

    let pair = |a: F, b: F, distance| (words_of([a]), words_of([b]), distance);
    let pairs = |found: &Columns| -> Vec<_> {
        let pair =
            |row: any::AnyRow<'_>| (row.fingerprint.to_vec(), row.other_fingerprint.to_vec(), row.distance);
        found.rows().map(pair).collect()
    };
    let expected: Vec<_> = typed.pairs(5).unwrap().map(Result::unwrap).collect();
    assert!(expected.len() > 64);
    let expected: Vec<_> = expected.iter().map(|found| pair(found.a, found.b, found.distance)).collect();
    assert_eq!(pairs(&collected(snapshot.pairs(5), Some(64))), expected);
    let expected: Vec<_> = typed.cross(&typed_other, 5).unwrap().map(Result::unwrap).collect();
    let expected: Vec<_> = expected.iter().map(|found| pair(found.a, found.b, found.distance)).collect();
    assert_eq!(pairs(&collected(snapshot.cross(&other, 5), Some(64))), expected);

    let row_pairs = [
        (collected(snapshot.row_pairs(1), Some(64)), typed.row_pairs(1).unwrap()),
        (
            collected(snapshot.cross_row_pairs(&other, 1), Some(64)),
            typed.cross_row_pairs(&typed_other, 1).unwrap(),
        ),
    ];
    for (found, expected) in row_pairs {
        let expected: Vec<_> = expected.map(Result::unwrap).collect();
        assert!(found.ids.iter().copied().eq(expected.iter().map(|pair| pair.a.id)));
        assert!(found.other_ids.iter().copied().eq(expected.iter().map(|pair| pair.b.id)));
        let expected =
            expected.iter().map(|found| pair(found.a.fingerprint, found.b.fingerprint, found.distance));
        assert_eq!(pairs(&found), expected.collect::<Vec<_>>());
    }

    let expected: Vec<Vec<Row<F>>> = typed.clusters(3).unwrap().map(Result::unwrap).collect();
    let expected =
        (0..).zip(expected).flat_map(|(cluster, rows)| rows.into_iter().map(move |row| (cluster, row)));
    let expected: Vec<(u64, Row<F>)> = expected.collect();
    let found = collected(snapshot.clusters(3), None);
    assert!(found.groups.iter().copied().eq(expected.iter().map(|(cluster, _)| *cluster)));
    assert_eq!(found.fingerprints, words_of(expected.iter().map(|(_, row)| row.fingerprint)));
    assert!(found.ids.iter().copied().eq(expected.iter().map(|(_, row)| row.id)));
}

fn a_row_comes_with_each_of_its_keys<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let schema = Schema::new().keys(KeyStorage::KeysAndTexts);
    let (path, options) = (home.path().join("db"), Options::new());
    let mut builder = options.build_any(path, F::WIDTH, &schema).unwrap().first_id(40);
    let fingerprints = words_of([low::<F>(7), low(7)]);
    let new = NewRows {
        fingerprints: &fingerprints,
        ids: Some(&[9, 9]),
        keys: Some(&["one", "two"]),
        texts: Some(&[b"text", b""]),
    };
    builder.push(&new, &mut |_| Ok(())).unwrap();
    let mut assigned = None;
    let fingerprints = words_of([low::<F>(6)]);
    let new = NewRows { fingerprints: &fingerprints, ..NewRows::default() };
    builder
        .push(&new, &mut |id| {
            assigned = Some(id);
            Ok(())
        })
        .unwrap();
    assert_eq!(assigned, Some(40));
    let snapshot = builder.finish().unwrap().snapshot().unwrap();

    let found = |snapshot: &AnySnapshot| {
        let mut found = Columns::new(F::WIDTH, snapshot.match_shape());
        snapshot.query(&words_of([low::<F>(7)]), 1, &mut found).unwrap();
        found
    };
    assert_eq!((found(&snapshot).ids, found(&snapshot).keys), (vec![9, 40], vec![]));
    let keyed = snapshot.clone().with_keys();
    let keys = |keys: &[Option<&str>]| keys.iter().map(|key| key.map(str::to_string)).collect::<Vec<_>>();
    assert_eq!(found(&keyed).ids, [9, 9, 40]);
    assert_eq!(found(&keyed).keys, keys(&[Some("one"), Some("two"), None]));
    assert_eq!(collected(keyed.rows(), None).keys, keys(&[None, Some("one"), Some("two")]));
    assert_eq!(found(&keyed.without_keys()).ids, [9, 40]);
    let texts = snapshot.keys_of(&words_of([low::<F>(7)]), 9).unwrap();
    assert_eq!(texts.iter().map(|key| &*key.text).collect::<Vec<_>>(), [&b"text"[..], b""]);
    assert_eq!(
        (snapshot.ids_of_key("two").unwrap(), snapshot.ids_of_key_scan("two").unwrap()),
        (vec![], vec![9])
    );
}

/// Pairs of rows came without keys.
fn regression_pairs_of_rows_have_each_two_of_their_keys<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let schema = Schema::new().keys(KeyStorage::Keys);
    let mut builder = Options::new().build_any(home.path().join("db"), F::WIDTH, &schema).unwrap();
    for (fingerprint, id, key) in [(6, 40, None), (7, 9, Some("one")), (7, 9, Some("two"))] {
        let (words, ids) = (words_of([low::<F>(fingerprint)]), [id]);
        let keys = key.as_ref().map(std::slice::from_ref);
        let row = NewRows { fingerprints: &words, ids: Some(&ids), keys, texts: None };
        builder.push(&row, &mut |_| Ok(())).unwrap();
    }
    let plain = builder.finish().unwrap().snapshot().unwrap();
    let keyed = plain.clone().with_keys();
    let pairs_of = |pairs| {
        let found = collected(pairs, None);
        let rows = found.rows().map(|pair| (pair.id, pair.key, pair.other_id, pair.other_key));
        (format!("{:?}", rows.collect::<Vec<_>>()), found.keys.len(), found.other_keys.len())
    };
    let expected =
        |pairs: &[(u64, Option<&str>, u64, Option<&str>)], keys| (format!("{pairs:?}"), keys, keys);
    let (one, two) = (Some("one"), Some("two"));
    assert_eq!(pairs_of(plain.row_pairs(1)), expected(&[(40, None, 9, None)], 0));
    assert_eq!(pairs_of(keyed.row_pairs(1)), expected(&[(40, None, 9, one), (40, None, 9, two)], 2));
    let bare = (40, None, 40, None);
    let all = [bare, (9, one, 9, one), (9, one, 9, two), (9, two, 9, one), (9, two, 9, two)];
    assert_eq!(pairs_of(keyed.cross_row_pairs(&keyed, 0)), expected(&all, 5));
    let all = [bare, (9, one, 9, None), (9, two, 9, None)];
    assert_eq!(pairs_of(keyed.cross_row_pairs(&plain, 0)), expected(&all, 3));
    let all = [bare, (9, None, 9, one), (9, None, 9, two)];
    assert_eq!(pairs_of(plain.cross_row_pairs(&keyed, 0)), expected(&all, 3));
    assert_eq!(pairs_of(plain.cross_row_pairs(&plain, 0)), expected(&[bare, (9, None, 9, None)], 0));
}

fn lists_have_the_pairs_and_clusters_of_the_typed_functions<F: Fingerprint>() {
    let values: Vec<F> = rows::<F>(Data::Equal, 2000, 7).iter().map(|row| row.fingerprint).collect();
    let (list, near, options) = (words_of(values.iter().copied()), Near::from(4), Options::new());
    let expected = find_all(&values, near).unwrap();
    let found = collected(any::find_all(F::WIDTH, &list, near, options.clone(), 50), Some(50));
    assert_eq!(found.fingerprints, words_of(expected.iter().map(|pair| pair.a)));
    assert_eq!(found.other_fingerprints, words_of(expected.iter().map(|pair| pair.b)));
    let distances: Vec<u32> = expected.iter().map(|pair| pair.distance).collect();
    assert_eq!(found.distances, distances);
    assert_eq!(any::distances(F::WIDTH, &found.fingerprints, &found.other_fingerprints), distances);

    let expected = find_clusters(&values, near).unwrap();
    let found = collected(any::find_clusters(F::WIDTH, &list, near, options.clone(), 50), None);
    assert_eq!(found.fingerprints, words_of(expected.iter().flatten().copied()));
    let numbers =
        (0..).zip(&expected).flat_map(|(number, cluster)| std::iter::repeat_n(number, cluster.len()));
    assert!(found.groups.iter().copied().eq(numbers));

    let mut matrix = vec![0; 30 * 30];
    any::fill_distance_matrix(F::WIDTH, &list[..30 * F::WIDTH.words()], 2, &mut matrix, &|| Ok(())).unwrap();
    let all = values[..30].iter().flat_map(|a| values[..30].iter().map(move |b| a.distance(*b)));
    assert!(matrix.iter().copied().map(u32::from).eq(all));

    let keys = any::block_keys(F::WIDTH, &list, near, &[].into()).unwrap();
    let rows = (&keys.groups[..], &keys.fingerprints[..]);
    let joined = collected(any::join_blocks(F::WIDTH, rows, near, false, options, 50), Some(50));
    let sorted = |mut distances: Vec<u32>| {
        distances.sort_unstable();
        distances
    };
    assert_eq!(sorted(joined.distances), sorted(distances));
}

#[test]
fn regression_rows_of_texts_without_content_were_pairs_of_a_list() {
    let near = Near { k: 3, bands: Some("6x24".parse().unwrap()) };
    let (values, ids) = ([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 1, 2, 3, 4], [1, 2, 3, 4]);
    let pairs = any::find_row_pairs(nearprint::Width::W256, (&values, &ids), near, Options::new(), 50);
    let found = collected(pairs, None);
    let found: Vec<_> = found.rows().map(|pair| (pair.row().id, pair.other_row().id)).collect();
    assert_eq!(found, [(3, 4)]);
}

fn rows_of_lists_have_the_pairs_and_clusters_of_brute_force<F: Fingerprint>() {
    let mut given = rows::<F>(Data::Equal, 300, 8);
    given.extend_from_within(..50);
    let (list, near, options) =
        (words_of(given.iter().map(|row| row.fingerprint)), Near::from(4), Options::new());
    let ids: Vec<u64> = given.iter().map(|row| row.id).collect();
    given.sort_unstable();
    given.dedup();

    let stream = any::find_row_pairs(F::WIDTH, (&list, &ids), near, options.clone(), 50);
    let found = collected(stream, Some(50));
    let mut pairs: Vec<_> = found.rows().map(|pair| (pair.row(), pair.other_row(), pair.distance)).collect();
    assert!(pairs.windows(2).all(|two| (two[0].2 == 0) >= (two[1].2 == 0)), "equal fingerprints come first");
    pairs.sort_unstable();
    let mut expected = Vec::new();
    for (index, a) in given.iter().enumerate() {
        for b in &given[index + 1..] {
            let distance = a.fingerprint.distance(b.fingerprint);
            if distance <= 4 {
                let any = |row: &Row<F>| Row { fingerprint: row.fingerprint.into(), id: row.id };
                expected.push((any(a), any(b), distance));
            }
        }
    }
    expected.sort_unstable();
    assert!(!expected.is_empty() && pairs == expected);

    let mut clusters: Vec<Vec<Row<F>>> = Vec::new();
    nearprint::list::visit_row_clusters(given, near, &options, |cluster| {
        clusters.push(cluster.to_vec());
        Ok::<(), Error>(())
    })
    .unwrap();
    let found = collected(any::find_row_clusters(F::WIDTH, (&list, &ids), near, options, 50), None);
    let numbered = (0..).zip(&clusters).flat_map(|(number, rows)| rows.iter().map(move |row| (number, row)));
    let numbered = numbered.map(|(number, row)| (number, row.fingerprint.into(), row.id));
    assert!(found.rows().map(|row| (row.group, row.row().fingerprint, row.id)).eq(numbered));
}

#[test]
fn blocks_are_visited_with_and_without_a_thread() {
    let home = tempfile::tempdir().unwrap();
    let any = build(&home.path().join("db"), &rows::<u64>(Data::Equal, 900, 1)).snapshot().unwrap();
    let stream = || any.clone().with_block_rows(100).rows().unwrap();
    let all = collected(Ok(stream()), Some(100));
    for taken in 0..3 {
        let mut stream = stream();
        let mut found = Columns::new(Width::W64, stream.shape());
        stream.by_ref().take(taken).for_each(|block| found.append(&block.unwrap()));
        stream
            .visit(|block| {
                assert!(block.len() <= 100);
                found.append(block);
                Ok::<(), Error>(())
            })
            .unwrap();
        assert_eq!(found, all);
    }
    let mut visited = 0;
    let ended = stream().visit(|_| {
        visited += 1;
        if visited < 2 { Ok(()) } else { Err(Error::ForeignKey { key: 7 }) }
    });
    assert!(matches!(ended, Err(Error::ForeignKey { key: 7 })) && visited == 2);
}

/// Panics when pairs are compared.
struct Broken;

impl Progress for Broken {
    fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
        panic!("a broken callback");
    }
}

#[test]
fn regression_a_panic_of_the_thread_is_not_the_end_of_the_results() {
    let options = Options::new().threads(1).progress(Arc::new(Broken));
    let mut pairs = any::find_all(Width::W64, &[1, 2], 3.into(), options.clone(), 10).unwrap();
    let next = std::panic::AssertUnwindSafe(|| pairs.next());
    assert!(std::panic::catch_unwind(next).is_err());
    let mut pairs = nearprint::list::pairs(vec![1_u64, 2], 3, &options).unwrap();
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pairs.next())).is_err());
}

/// Cancels once it is set.
#[derive(Default)]
struct Cancelled(AtomicBool);

impl Progress for Cancelled {
    fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
        if self.0.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn work_can_be_cancelled_and_other_widths_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let narrow = build(&home.path().join("narrow"), &rows::<u64>(Data::Equal, 100, 1)).snapshot().unwrap();
    let wide = build(&home.path().join("wide"), &rows::<u128>(Data::Equal, 100, 1)).snapshot().unwrap();
    let refused = narrow.cross(&wide, 3).unwrap_err();
    assert!(matches!(refused, Error::Width { database: 128, requested: 64, .. }));
    assert_eq!((refused.kind(), refused.kind().is_argument()), (ErrorKind::Mismatch, true));
    let cancelled = Arc::new(Cancelled::default());
    let watched = narrow.with_progress(cancelled.clone());
    assert!(watched.pairs(3).unwrap().all(|block| block.is_ok()));
    cancelled.0.store(true, Ordering::Relaxed);
    let last = watched.pairs(3).unwrap().last();
    assert_eq!(last.and_then(Result::err).map(|error| error.kind()), Some(ErrorKind::Interrupted));
}

/// C freed what its progress pointed to once a stream was freed, and a thread still read it.
#[test]
fn regression_no_progress_is_reported_after_a_cancel() {
    #[derive(Debug, Default)]
    struct Slow {
        is_running: AtomicBool,
        is_over: AtomicBool,
        late: AtomicBool,
    }
    impl Progress for Slow {
        fn report(&self, _: Stage, _: u64, _: Option<u64>) -> ControlFlow<()> {
            self.is_running.store(true, Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(20));
            self.late.fetch_or(self.is_over.load(Ordering::Relaxed), Ordering::Relaxed);
            ControlFlow::Continue(())
        }
    }
    let values: Vec<u64> = (0..20_000_u64).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).collect();
    let progress = Arc::new(Slow::default());
    let options = Options::new().threads(2).progress(progress.clone());
    let mut found = any::find_all(Width::W64, &values, 10.into(), options.clone(), 1024).unwrap();
    assert!(found.next_within(Duration::from_secs(60)).is_ready());
    while !progress.is_running.load(Ordering::Relaxed) {
        std::thread::yield_now();
    }
    found.cancel();
    progress.is_over.store(true, Ordering::Relaxed);
    drop(found);
    while Arc::strong_count(&progress) > 2 {
        std::thread::yield_now();
    }
    assert!(!progress.late.load(Ordering::Relaxed), "a call ended after the cancel");
}
