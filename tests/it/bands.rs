//! Databases of bands: every answer against brute force over a model.

use std::collections::BTreeSet;
use std::path::Path;

use nearprint::{
    BandDistances, BandLayout, Database, Error, Fingerprint, LayoutChoice, Match, Near, Options, Pair, Query,
    Row, Schema, Snapshot, list,
};
use testkit::{
    Random, all_rows, build_with, by_width, collected, files, folder_in_memory, for_each_width, open_on,
    short_or_full,
};

for_each_width!(
    every_answer_equals_brute_force,
    a_band_that_thousands_share_is_joined_exactly,
    every_answer_is_exact_while_rows_come_and_go,
    a_writer_finds_what_equal_bands_admit,
    regression_bands_that_are_not_the_databases_lose_no_row,
    zero_is_near_nothing,
    databases_of_other_bands_are_not_crossed_and_not_ingested,
    flipped_bits_are_noticed,
    sweeps_that_pass_over_runs_find_every_row,
);

/// Many queries are asked table by table, and runs tell which bands they have once enough were asked.
fn sweeps_that_pass_over_runs_find_every_row<F: Fingerprint>() {
    const ROWS: usize = 3000;
    for bands in layouts::<F>() {
        let rows = some_rows::<F>(bands, ROWS as u64, 17);
        let home = folder_in_memory();
        let database = Database::<F>::create(home.path().join("db"), &schema::<F>(bands)).unwrap();
        let mut writer = database.writer().unwrap();
        for some in rows.chunks(ROWS / 3) {
            for &row in some {
                writer.insert(row).unwrap();
            }
            writer.flush().unwrap();
        }
        writer.close().unwrap();
        let snapshot = database.snapshot().unwrap();
        // Near rows, and others.
        let others = some_rows::<F>(bands, 3 * ROWS as u64, 23);
        let queries: Vec<F> = rows.iter().chain(&others).map(|row| row.fingerprint).collect();
        let k = bands.sketch_bits(F::WIDTH) / 4;
        for round in 0..2 {
            let mut found = 0;
            snapshot
                .query_batch(&queries, k, |index, answer| {
                    if index % short_or_full(7, 1) == 0 {
                        let expected = matches(bands, &rows, queries[index], k);
                        assert_eq!(answer, expected, "{bands}, round {round}, query {index}");
                        found += answer.len();
                    }
                    Ok::<(), Error>(())
                })
                .unwrap();
            assert!(found > 100, "{bands}: {found}");
        }
    }
}

/// Layouts of a width.
fn layouts<F: Fingerprint>() -> Vec<BandLayout> {
    let names =
        by_width::<F, &[&str]>(&["1x8", "3x8", "2x16"], &["4x16", "3x32", "12x8"], &["6x20", "8x16", "5x32"]);
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn schema<F: Fingerprint>(bands: BandLayout) -> Schema {
    Schema::new().layout(LayoutChoice::Bands(bands)).k(bands.sketch_bits(F::WIDTH) / 4)
}

/// Texts that share bands with many others, and sketches with some; some fingerprints of 0.
fn some_rows<F: Fingerprint>(bands: BandLayout, count: u64, seed: u64) -> Vec<Row<F>> {
    let mut random = Random(seed);
    let sketch = bands.sketch_bits(F::WIDTH);
    let mut rows: Vec<Row<F>> = Vec::new();
    for id in 0..count {
        let near = rows.get(random.below(count) as usize).filter(|_| random.below(3) > 0);
        let fingerprint = match near {
            _ if random.below(60) == 0 => F::default(),
            Some(&Row { fingerprint: near, .. }) => {
                let flips: BTreeSet<u64> =
                    (0..random.below(u64::from(sketch))).map(|_| random.below(u64::from(sketch))).collect();
                let words = (0..bands.count()).map(|band| match random.below(3) {
                    0 => bands.band(near, band),
                    1 => random.below(40),
                    _ => random.next(),
                });
                let words: Vec<u64> = words.collect();
                let kept =
                    bands.assemble::<F>((0..bands.count()).map(|band| bands.band(near, band)), []) ^ near;
                let flips = (0..sketch).map(|at| flips.contains(&u64::from(at)));
                bands.assemble::<F>(words, []) | (kept ^ bands.assemble::<F>([], flips))
            }
            None => random.value(),
        };
        rows.push(Row { fingerprint, id: id % (count * 3 / 4) });
    }
    rows
}

fn matches<F: Fingerprint>(bands: BandLayout, rows: &[Row<F>], query: F, k: u32) -> Vec<Match<F>> {
    let near = |&Row { fingerprint, id }: &Row<F>| {
        bands.near(fingerprint, query, k).map(|distance| Match { distance, fingerprint, id })
    };
    rows.iter().filter_map(near).collect::<BTreeSet<_>>().into_iter().collect()
}

fn pairs<F: Fingerprint>(bands: BandLayout, rows: &[Row<F>], k: u32) -> Vec<Pair<F>> {
    let distinct: Vec<F> =
        rows.iter().map(|row| row.fingerprint).collect::<BTreeSet<_>>().into_iter().collect();
    let near = |(at, &a): (usize, &F)| {
        let others = distinct[at + 1..].to_vec();
        others.into_iter().filter_map(move |b| bands.near(a, b, k).map(|distance| Pair { a, b, distance }))
    };
    distinct.iter().enumerate().flat_map(near).collect()
}

fn clusters<F: Fingerprint>(bands: BandLayout, rows: &BTreeSet<Row<F>>, k: u32) -> Vec<Vec<Row<F>>> {
    let mut rest = rows.clone();
    let mut found = Vec::new();
    while let Some(first) = rest.pop_first() {
        let mut cluster = vec![first];
        let mut next = 0;
        while let Some(row) = cluster.get(next) {
            let near = |other: &&Row<F>| bands.near(row.fingerprint, other.fingerprint, k).is_some();
            let more: Vec<Row<F>> = rest.iter().filter(near).copied().collect();
            more.iter().for_each(|row| assert!(rest.remove(row)));
            cluster.extend(more);
            next += 1;
        }
        if cluster.len() > 1 {
            cluster.sort_unstable();
            found.push(cluster);
        }
    }
    found
}

/// The distances to compare at: none, a few, many, all.
fn distances<F: Fingerprint>(bands: BandLayout) -> [u32; 5] {
    let sketch = bands.sketch_bits(F::WIDTH);
    [0, 3, sketch / 4, sketch / 2, F::BITS]
}

/// Compares all answers of a snapshot with brute force.
fn check<F: Fingerprint>(
    snapshot: &Snapshot<F>,
    bands: BandLayout,
    model: &BTreeSet<Row<F>>,
    random: &mut Random,
) {
    let rows: Vec<Row<F>> = model.iter().copied().collect();
    assert_eq!(all_rows(snapshot), rows);
    assert_eq!(snapshot.bands(), Some(bands));
    let stored = |random: &mut Random| rows.get(random.below(rows.len().max(1) as u64) as usize).copied();
    let mut queries = vec![F::default(), !F::default(), random.value()];
    for _ in 0..12 {
        queries.push(stored(random).map_or(F::default(), |row| random.near(row.fingerprint, 3)));
    }
    for k in distances::<F>(bands) {
        let expected: Vec<Vec<Match<F>>> =
            queries.iter().map(|&query| matches(bands, &rows, query, k)).collect();
        for (&query, expected) in queries.iter().zip(&expected) {
            assert_eq!(snapshot.query(query, k).unwrap(), *expected, "{bands}, k = {k}");
            let first = &expected[..expected.len().min(4)];
            assert_eq!(snapshot.query(query, Query::within(k).limit(4)).unwrap(), first);
            assert_eq!(snapshot.query(query, Query::nearest(4).max_k(k)).unwrap(), first);
        }
        let mut batch = Vec::new();
        let collect = |_, found: &[Match<F>]| -> Result<(), Error> {
            batch.push(found.to_vec());
            Ok(())
        };
        // Long enough to be answered table by table.
        let many: Vec<F> = queries.iter().copied().cycle().take(5000).collect();
        snapshot.query_batch(&many, k, collect).unwrap();
        assert!(batch.iter().eq(expected.iter().cycle().take(5000)), "a batch, k = {k}");
        let mut found = collected(snapshot.pairs(k));
        found.sort_unstable();
        assert!(found == pairs(bands, &rows, k), "{bands}, pairs at k = {k}");
        assert!(collected(snapshot.clusters(k)) == clusters(bands, model, k), "{bands}, clusters at k = {k}");
    }
    let explanation = snapshot.explain(bands.sketch_bits(F::WIDTH) / 4);
    for run in &explanation.runs {
        assert!(!run.scan && run.tables.iter().all(|table| table.radius == Some(0)), "{explanation}");
        assert!(explanation.to_string().contains("near fingerprints agree in a band"), "{explanation}");
    }
}

fn every_answer_equals_brute_force<F: Fingerprint>() {
    for bands in layouts::<F>() {
        let home = folder_in_memory();
        let rows = some_rows::<F>(bands, short_or_full(700, 2500), 3);
        let model: BTreeSet<Row<F>> = rows.iter().copied().collect();
        let options = Options::new().threads(2).memory_bytes(1 << 20);
        let snapshot = build_with(&home.path().join("db"), &rows, schema::<F>(bands), options);
        check(&snapshot, bands, &model, &mut Random(4));
        let verification = snapshot.verify().unwrap();
        assert!(verification.damage.is_empty(), "{:?}", verification.damage);
        crossed(home.path(), bands, &snapshot, &rows);
        // The same bytes and the same answers on any number of threads.
        let one = open_on::<F>(&home.path().join("db"), 1);
        assert_eq!(collected(one.pairs(20)), collected(snapshot.pairs(20)));
        listed(bands, &rows);
    }
}

/// The same answers from a list.
fn listed<F: Fingerprint>(bands: BandLayout, rows: &[Row<F>]) {
    let values: Vec<F> = rows.iter().map(|row| row.fingerprint).collect();
    let model: BTreeSet<Row<F>> = rows.iter().copied().collect();
    for k in distances::<F>(bands) {
        let near = Near { k, bands: Some(bands) };
        let mut found = list::find_all(&values, near).unwrap();
        found.sort_unstable();
        assert!(found == pairs(bands, rows, k), "{bands}, k = {k}");
        let mut found = Vec::new();
        list::visit_row_clusters(rows.to_vec(), near, &Options::new(), |cluster| {
            found.push(cluster.to_vec());
            Ok::<(), Error>(())
        })
        .unwrap();
        assert!(found == clusters(bands, &model, k), "{bands}, k = {k}");
    }
}

/// Pairs between two databases of the same bands.
fn crossed<F: Fingerprint>(home: &Path, bands: BandLayout, snapshot: &Snapshot<F>, rows: &[Row<F>]) {
    let others: Vec<Row<F>> = rows.iter().step_by(3).map(|row| Row { id: row.id + 9000, ..*row }).collect();
    let other = build_with(&home.join("other"), &others, schema::<F>(bands), Options::new());
    let mut found = BTreeSet::new();
    snapshot
        .visit_cross_rows(&other, 9, |a, b, distance| {
            assert!(found.insert((a, b, distance)));
            Ok::<(), Error>(())
        })
        .unwrap();
    let near = |a: &Row<F>, b: &Row<F>| bands.near(a.fingerprint, b.fingerprint, 9).map(|d| (*a, *b, d));
    let expected: BTreeSet<_> =
        rows.iter().flat_map(|a| others.iter().filter_map(move |b| near(a, b))).collect();
    assert!(found == expected, "{bands}: {} of {}", found.len(), expected.len());
}

fn a_band_that_thousands_share_is_joined_exactly<F: Fingerprint>() {
    let bands = layouts::<F>()[1];
    let mut random = Random(11);
    let mut row = |id: u64| {
        let words: Vec<u64> =
            (0..bands.count()).map(|band| if band == 1 { 7 } else { random.next() }).collect();
        let near = |bit: u32| random.below(8) == 0 || bit.is_multiple_of(7);
        let sketch: Vec<bool> = (0..bands.sketch_bits(F::WIDTH)).map(near).collect();
        Row { fingerprint: bands.assemble::<F>(words, sketch), id }
    };
    let rows: Vec<Row<F>> = (0..3000).map(&mut row).collect();
    let home = folder_in_memory();
    let snapshot = build_with(&home.path().join("db"), &rows, schema::<F>(bands), Options::new());
    for k in [0, 1, 2, 3, 5, bands.sketch_bits(F::WIDTH) / 8] {
        let mut found = collected(snapshot.pairs(k));
        found.sort_unstable();
        assert!(found == pairs(bands, &rows, k), "k = {k}");
    }
}

fn every_answer_is_exact_while_rows_come_and_go<F: Fingerprint>() {
    for bands in layouts::<F>() {
        let home = folder_in_memory();
        let mut random = Random(8);
        let pool = some_rows::<F>(bands, 900, 5);
        let options = Options::new().memtable_rows(150).memory_bytes(1 << 20);
        let database = options.create::<F>(home.path().join("db"), &schema::<F>(bands)).unwrap();
        let mut writer = database.writer().unwrap();
        let mut model: BTreeSet<Row<F>> = BTreeSet::new();
        for step in 0..short_or_full(600, 4000) {
            let row = Row { id: random.below(500), ..pool[random.below(pool.len() as u64) as usize] };
            if random.below(5) == 0 {
                writer.delete(row.id).unwrap();
                model.retain(|other| other.id != row.id);
            } else {
                writer.insert(row).unwrap();
                model.insert(row);
            }
            if step % 37 == 0 {
                let all: Vec<Row<F>> = model.iter().copied().collect();
                for k in distances::<F>(bands) {
                    let query = random.near(row.fingerprint, 2);
                    assert_eq!(writer.query(query, k).unwrap(), matches(bands, &all, query, k));
                }
                writer.commit().unwrap();
            }
            if step % 400 == 399 {
                check(&writer.snapshot().unwrap(), bands, &model, &mut random);
            }
        }
        drop(writer);
        let mut writer = database.writer().unwrap();
        let committed = all_rows(&writer.snapshot().unwrap()).into_iter().collect();
        check(&database.snapshot().unwrap(), bands, &committed, &mut random);
        writer.compact().unwrap();
        check(&database.snapshot().unwrap(), bands, &committed, &mut random);
        writer.close().unwrap();
        let repaired = home.path().join("repaired");
        Options::new().repair::<F>(home.path().join("db"), &repaired, &Schema::new()).unwrap();
        check(&Database::<F>::open(&repaired).unwrap().snapshot().unwrap(), bands, &committed, &mut random);
    }
}

fn a_writer_finds_what_equal_bands_admit<F: Fingerprint>() {
    for bands in layouts::<F>() {
        let home = folder_in_memory();
        let mut random = Random(8);
        let pool = some_rows::<F>(bands, 900, 5);
        let options = Options::new().memtable_rows(250).threads(2).memory_bytes(1 << 20);
        let database = options.create::<F>(home.path().join("db"), &schema::<F>(bands)).unwrap();
        let mut writer = database.writer().unwrap();
        // One equal band of several is too few.
        let (least, sketch) = (bands.count().min(2), bands.sketch_bits(F::WIDTH));
        let distances =
            BandDistances::new(bands, |equal| (equal >= least).then_some(sketch * equal.min(6) / 12));
        let asked: Vec<F> = pool.iter().map(|row| random.near(row.fingerprint, 2)).collect();
        let (mut model, mut left_out, mut found) = (BTreeSet::new(), 0, 0);
        for (step, row) in pool.iter().enumerate() {
            writer.insert(*row).unwrap();
            model.insert(*row);
            if random.below(5) == 0 {
                let id = random.below(500);
                writer.delete(id).unwrap();
                model.retain(|other: &Row<F>| other.id != id);
            }
            if step % 200 == 50 {
                writer.flush().unwrap();
                assert!(writer.look_ahead_by_bands(&asked, &distances).unwrap());
            }
            if step % 400 == 150 {
                assert!(writer.look_ahead(&asked, distances.largest()).unwrap());
            }
            if step % 9 == 0 {
                let (query, all) = (asked[step], model.iter().copied().collect::<Vec<_>>());
                let within = matches(bands, &all, query, distances.largest());
                assert_eq!(writer.query(query, distances.largest()).unwrap(), within);
                let admitted = |row: &&Match<F>| distances.contain(row.fingerprint, query);
                let expected: Vec<Match<F>> = within.iter().filter(admitted).copied().collect();
                assert_eq!(writer.query_by_bands(query, &distances).unwrap(), expected, "{bands}, {step}");
                (left_out, found) = (left_out + within.len() - expected.len(), found + expected.len());
            }
        }
        assert!(found > 50 && (left_out > 4 || bands.count() == 1), "{bands}: {found}, {left_out}");
    }
}

fn regression_bands_that_are_not_the_databases_lose_no_row<F: Fingerprint>() {
    let [one, two, three] = layouts::<F>()[..] else { panic!() };
    let pool = some_rows::<F>(one, 900, 5);
    for schema in [Schema::new(), schema::<F>(one), schema::<F>(two)] {
        let home = folder_in_memory();
        let mut writer = Database::<F>::create(home.path().join("db"), &schema).unwrap().writer().unwrap();
        pool.iter().for_each(|row| _ = writer.insert(*row).unwrap());
        let mut found = 0;
        for (bands, k) in [one, two, three].into_iter().flat_map(|bands| [(bands, 2), (bands, F::BITS / 8)]) {
            let distances = BandDistances::new(bands, |equal| Some(k + equal));
            for query in pool.iter().step_by(9).map(|row| row.fingerprint) {
                let mut expected = writer.query(query, distances.largest()).unwrap();
                expected.retain(|row| distances.contain(row.fingerprint, query));
                assert_eq!(writer.query_by_bands(query, &distances).unwrap(), expected, "{bands}");
                found += expected.len();
            }
        }
        assert!(found > 200, "{found}");
    }
}

fn zero_is_near_nothing<F: Fingerprint>() {
    let bands = layouts::<F>()[0];
    let home = folder_in_memory();
    let rows: Vec<Row<F>> = (0..4).map(|id| Row { fingerprint: F::default(), id }).collect();
    let near = bands.assemble::<F>([], [true]);
    let rows = [rows, vec![Row { fingerprint: near, id: 4 }]].concat();
    let snapshot = build_with(&home.path().join("db"), &rows, schema::<F>(bands), Options::new());
    assert_eq!(all_rows(&snapshot), rows, "it is stored like any other");
    assert!(snapshot.query(F::default(), F::BITS).unwrap().is_empty());
    assert_eq!(snapshot.query(near, F::BITS).unwrap(), [Match { distance: 0, fingerprint: near, id: 4 }]);
    assert!(collected(snapshot.pairs(F::BITS)).is_empty());
    assert!(collected(snapshot.row_pairs(F::BITS)).is_empty());
    assert!(collected(snapshot.clusters(F::BITS)).is_empty());
    let mut crossed = 0;
    snapshot
        .visit_cross(&snapshot, F::BITS, |block| {
            crossed += block.len();
            Ok::<(), Error>(())
        })
        .unwrap();
    assert_eq!(crossed, 1);
}

fn databases_of_other_bands_are_not_crossed_and_not_ingested<F: Fingerprint>() {
    let home = folder_in_memory();
    let path = |name: &str| home.path().join(name);
    let [one, two, _] = layouts::<F>()[..] else { panic!() };
    let row = [Row { fingerprint: F::default(), id: 1 }];
    let first = build_with(&path("one"), &row, schema::<F>(one), Options::new());
    let other = build_with(&path("two"), &row, schema::<F>(two), Options::new());
    let plain = build_with(&path("plain"), &row, Schema::new(), Options::new());
    for (a, b) in [(&first, &other), (&first, &plain), (&plain, &other)] {
        let refused = a.visit_cross(b, 3, |_| Ok::<(), Error>(())).unwrap_err();
        assert!(matches!(refused, Error::Incomparable { .. }), "{refused}");
    }
    for (name, schema) in [("runs of others", schema::<F>(two)), ("runs without", Schema::new())] {
        Database::<F>::build(path(name), &schema).unwrap().runs_only().finish().unwrap();
        let mut writer = Database::<F>::open(path("one")).unwrap().writer().unwrap();
        assert!(matches!(writer.ingest(&[path(name)]), Err(Error::Mismatch { .. })), "{name}");
    }
    // Those for another distance are the same tables.
    let runs = Database::<F>::build(path("runs"), &schema::<F>(one).k(1)).unwrap().runs_only();
    runs.finish().unwrap();
    Database::<F>::open(path("one")).unwrap().writer().unwrap().ingest(&[path("runs")]).unwrap();
}

#[test]
fn impossible_bands_are_refused() {
    let home = folder_in_memory();
    let build = |bands: &str, k: u32| {
        let schema = Schema::new().layout(format!("bands:{bands}").parse()?).k(k);
        Database::<u128>::create(home.path().join(bands), &schema).map(drop)
    };
    assert!(build("4x16", 64).is_ok());
    assert!(matches!(build("4x16", 65), Err(Error::Distance { k: 65, width: 64 })));
    for bands in ["7x16", "0x8", "4x7", "33x8"] {
        assert!(matches!(build(bands, 3), Err(Error::InvalidLayout { .. })), "{bands}");
    }
}

/// Damage is found by `verify`, and changes no answer silently.
fn flipped_bits_are_noticed<F: Fingerprint>() {
    let bands = layouts::<F>()[1];
    let home = folder_in_memory();
    let path = home.path().join("db");
    let rows = some_rows::<F>(bands, 300, 21);
    let snapshot = build_with(&path, &rows, schema::<F>(bands), Options::new());
    let k = bands.sketch_bits(F::WIDTH) / 4;
    let expected = collected(snapshot.pairs(k));
    drop(snapshot);
    let mut random = Random(2);
    for file in files(&path) {
        let sound = std::fs::read(&file).unwrap();
        for _ in 0..short_or_full(40, 400) {
            let mut bytes = sound.clone();
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
            std::fs::write(&file, bytes).unwrap();
            let found = Database::<F>::open(&path).and_then(|database| {
                let report = database.verify()?;
                assert!(!report.damage.is_empty(), "{} at {at}", file.display());
                database.snapshot()?.pairs(k)?.collect::<Result<Vec<_>, Error>>()
            });
            assert!(found.is_err() || found.unwrap() == expected, "{} at {at}", file.display());
        }
        std::fs::write(&file, sound).unwrap();
    }
}

#[test]
fn regression_bands_that_do_not_fit_are_named() {
    let home = tempfile::tempdir().unwrap();
    let create = |layout: &str| {
        let schema = Schema::new().layout(layout.parse().unwrap());
        Database::<u64>::create(home.path().join("x.np"), &schema).unwrap_err().to_string()
    };
    for layout in ["bands:6x16", "bands:3x16"] {
        let why = create(layout);
        assert!(why.contains(layout) && why.contains("for the sketch"), "{why}");
    }
}
