//! Databases of bands: fingerprints of 256 bits; 5% are near another one.
//!
//! `NEARPRINT_BENCH_ROWS=10000000 cargo bench --bench bands` chooses the number of rows (1,000,000 by
//! default), `NEARPRINT_KERNEL=scalar` the filter kernel; `-- 6x16` or `-- point_query` picks by
//! name. The data come from a fixed seed; queries are half near and half random, and are held against
//! a scan first.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use common::Random;
use divan::{Bencher, counter::ItemsCount};
use nearprint::{BandLayout, LayoutChoice, Options, Schema, Snapshot, U256, Width};

const LAYOUTS: [&str; 3] = ["6x16", "6x20", "6x24"];
/// Queries asked one at a time.
const QUERIES: usize = 20_000;
/// Queries of one batch.
const BATCH: usize = 1_000_000;

static MADE: Mutex<BTreeMap<&str, Arc<Corpus>>> = Mutex::new(BTreeMap::new());

fn main() {
    common::choose_kernel();
    divan::main();
    for corpus in MADE.lock().unwrap().values() {
        std::fs::remove_dir_all(&corpus.folder).unwrap();
    }
}

struct Corpus {
    queries: Vec<U256>,
    bands: BandLayout,
    folder: PathBuf,
    values: Vec<U256>,
}

impl Corpus {
    fn k(&self) -> u32 {
        self.bands.distance_of(Width::W256, 0.5)
    }

    fn open(&self, threads: usize) -> Snapshot<U256> {
        let options = Options::new().threads(threads);
        options.open(self.folder.join("corpus.np")).unwrap().snapshot().unwrap()
    }
}

/// Another value with at least one equal band, and up to a fifth of the sketch changed.
fn near(bands: BandLayout, value: U256, random: &mut Random) -> U256 {
    let same = random.below(u64::from(bands.count())) as u32;
    let words: Vec<u64> = (0..bands.count())
        .map(
            |band| if band == same || random.below(3) == 0 { bands.band(value, band) } else { random.next() },
        )
        .collect();
    let sketch = bands.sketch_bits(Width::W256);
    let mut changed = vec![false; sketch as usize];
    for _ in 0..random.below(u64::from(sketch / 5)) {
        changed[random.below(u64::from(sketch)) as usize] = true;
    }
    let old_bands = bands.assemble::<U256>((0..bands.count()).map(|band| bands.band(value, band)), []);
    bands.assemble::<U256>(words, []) | (value ^ old_bands ^ bands.assemble::<U256>([], changed))
}

fn corpus(layout: &'static str) -> Arc<Corpus> {
    let mut made = MADE.lock().unwrap();
    made.entry(layout).or_insert_with(|| Arc::new(make(layout.parse().unwrap()))).clone()
}

fn make(bands: BandLayout) -> Corpus {
    let rows = std::env::var("NEARPRINT_BENCH_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    let mut random = Random(42);
    let mut values: Vec<U256> = (0..rows).map(|_| random.value()).collect();
    for at in 0..rows / 20 {
        let other = values[random.below(rows as u64) as usize];
        values[at * 20] = near(bands, other, &mut random);
    }
    let query = |at: usize| match at % 2 {
        0 => {
            let stored = values[random.below(rows as u64) as usize];
            near(bands, stored, &mut random)
        }
        _ => random.value(),
    };
    let queries: Vec<U256> = (0..BATCH).map(query).collect();
    let folder = std::env::temp_dir().join(format!("nearprint-bands-{bands}-{}", std::process::id()));
    let corpus = Corpus { queries, bands, folder, values };
    let snapshot = build(&corpus, "corpus.np");
    for &query in &corpus.queries[..20] {
        let found = snapshot.query(query, corpus.k()).unwrap().len();
        let is_near = |value: &&U256| bands.near(**value, query, corpus.k()).is_some();
        assert_eq!(found, corpus.values.iter().filter(is_near).count());
    }
    println!("{bands}: {:.1} bytes a row", snapshot.stats().bytes as f64 / rows as f64);
    corpus
}

fn build(corpus: &Corpus, name: &str) -> Snapshot<U256> {
    std::fs::create_dir_all(&corpus.folder).unwrap();
    let path: &Path = &corpus.folder.join(name);
    let options = Options::new().memory_bytes(1 << 30).threads(2);
    let schema = Schema::new().layout(LayoutChoice::Bands(corpus.bands)).k(corpus.k());
    let mut builder = options.build::<U256>(path, &schema).unwrap();
    for &value in &corpus.values {
        builder.push(value).unwrap();
    }
    builder.finish().unwrap().snapshot().unwrap()
}

#[divan::bench(args = LAYOUTS, sample_count = 3)]
fn build_durable(bencher: Bencher<'_, '_>, layout: &'static str) {
    let corpus = corpus(layout);
    bencher.counter(ItemsCount::new(corpus.values.len())).bench_local(|| {
        drop(build(&corpus, "again.np"));
        std::fs::remove_dir_all(corpus.folder.join("again.np")).unwrap();
    });
}

#[divan::bench(args = LAYOUTS, sample_count = 20)]
fn point_query(bencher: Bencher<'_, '_>, layout: &'static str) {
    let corpus = corpus(layout);
    let (snapshot, queries) = (corpus.open(1), &corpus.queries[..QUERIES]);
    let found = |query: &U256| snapshot.query(*query, corpus.k()).unwrap().len();
    let expected: usize = queries.iter().map(found).sum();
    bencher.counter(ItemsCount::new(queries.len())).bench_local(|| {
        assert_eq!(queries.iter().map(found).sum::<usize>(), expected);
    });
}

fn batches(bencher: Bencher<'_, '_>, layout: &'static str, threads: usize) {
    let corpus = corpus(layout);
    let snapshot = corpus.open(threads);
    let ask = || {
        let mut found = 0;
        let count = |_, matches: &[nearprint::Match<U256>]| {
            found += matches.len();
            Ok::<(), nearprint::Error>(())
        };
        snapshot.query_batch(&corpus.queries, corpus.k(), count).unwrap();
        found
    };
    let expected = ask();
    bencher.counter(ItemsCount::new(corpus.queries.len())).bench_local(|| assert_eq!(ask(), expected));
}

#[divan::bench(args = LAYOUTS, sample_count = 5)]
fn batch_on_one_thread(bencher: Bencher<'_, '_>, layout: &'static str) {
    batches(bencher, layout, 1);
}

#[divan::bench(args = LAYOUTS, sample_count = 5)]
fn batch_on_two_threads(bencher: Bencher<'_, '_>, layout: &'static str) {
    batches(bencher, layout, 2);
}

#[divan::bench(args = LAYOUTS, sample_count = 3)]
fn pairs(bencher: Bencher<'_, '_>, layout: &'static str) {
    let corpus = corpus(layout);
    let snapshot = corpus.open(2);
    bencher.bench_local(|| {
        let mut found = 0;
        snapshot
            .visit_pairs(corpus.k(), |block| {
                found += block.len();
                Ok::<(), nearprint::Error>(())
            })
            .unwrap();
        assert!(found > 0);
        found
    });
}
