//! One peer on one set of data: `peers NAME VALUES QUERIES SECONDS BITS K`, where both files hold raw
//! little-endian fingerprints of 64 or 256 bits, and asking ends after so many seconds. Prints one JSON
//! object; `libraries.py` makes the table of them.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::time::{Duration, Instant};

use bk_tree::{BKTree, Metric};
use gaoya::simhash::SimHashIndex;
use mih_rs::Index;
use nearprint::{Error as DatabaseError, Fingerprint, Options, Schema, Snapshot, U256, list};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, values, queries, seconds, bits, k] = &arguments[..] else {
        return Err("usage: peers NAME VALUES QUERIES SECONDS BITS K".into());
    };
    let limit = Duration::from_secs_f64(seconds.parse()?);
    let mut report = Report { k: k.parse()?, limit, fields: Vec::new() };
    match &bits[..] {
        "64" => narrow(name, read(values)?, &read(queries)?, &mut report)?,
        "256" => any_width::<U256>(name, &read(values)?, &read(queries)?, &mut report)?,
        _ => return Err("fingerprints of 64 or 256 bits are measured".into()),
    }
    println!("{{{}}}", report.fields.join(", "));
    Ok(())
}

fn narrow(name: &str, values: Vec<u64>, queries: &[u64], report: &mut Report) -> Outcome {
    match name {
        "mih-rs" => return mih(values, queries, report),
        "gaoya" => gaoya(&values, queries, 4, report),
        "gaoya-default" => gaoya(&values, queries, 5, report),
        "bk-tree" => bk_tree(&values, queries, report),
        _ => any_width(name, &values, queries, report)?,
    }
    Ok(())
}

fn any_width<F: Fingerprint>(name: &str, values: &[F], queries: &[F], report: &mut Report) -> Outcome {
    match name {
        "scan" => scan(values, queries, report),
        "nearprint" => nearprint(values, queries, report)?,
        "nearprint-batch" => nearprint_batch(values, queries, report)?,
        _ => return Err(format!("no peer of this width is called {name}").into()),
    }
    Ok(())
}

fn read<F: Fingerprint>(path: &str) -> Result<Vec<F>, Box<dyn Error>> {
    let bytes = std::fs::read(path)?;
    let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    Ok(words.chunks_exact(F::WIDTH.words()).map(F::from_le_words).collect())
}

/// What was measured, as fields of a JSON object.
struct Report {
    k: u32,
    limit: Duration,
    fields: Vec<String>,
}

impl Report {
    fn add(&mut self, name: &str, value: impl std::fmt::Display) {
        self.fields.push(format!("\"{name}\": {value}"));
    }

    fn timed<T>(&mut self, name: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(name, start.elapsed().as_secs_f64());
        result
    }

    /// Asks one query after the other, as long as there is time.
    fn ask<F: Fingerprint>(&mut self, queries: &[F], mut count: impl FnMut(F) -> usize) {
        for &query in queries.iter().take(1000) {
            black_box(count(query));
        }
        let mut counts = Vec::new();
        let start = Instant::now();
        for &query in queries {
            counts.push(count(query));
            if counts.len() % 64 == 0 && start.elapsed() > self.limit {
                break;
            }
        }
        self.add("seconds", start.elapsed().as_secs_f64());
        self.add("counts", format!("{counts:?}"));
    }

    /// All pairs by asking for every value; nothing where it takes too long.
    fn pairs_by_asking(&mut self, values: &[u64], mut count: impl FnMut(u64) -> usize) {
        let start = Instant::now();
        for (at, &value) in values.iter().enumerate() {
            black_box(count(value));
            if at % 64 == 0 && start.elapsed() > self.limit {
                return;
            }
        }
        self.add("pairs", start.elapsed().as_secs_f64());
    }
}

/// Compares with everything; the compiler makes of it what the processor has.
fn scan<F: Fingerprint>(values: &[F], queries: &[F], report: &mut Report) {
    report.add("build", 0);
    let k = report.k;
    report.ask(queries, |query| values.iter().filter(|value| value.distance(query) <= k).count());
}

fn build<F: Fingerprint>(
    values: &[F],
    home: &Path,
    report: &mut Report,
) -> Result<Snapshot<F>, Box<dyn Error>> {
    let k = report.k;
    let (path, one) = (home.join("peers.np"), Options::new().threads(1).memory_bytes(512 << 20));
    report.timed("build", || {
        let mut builder = one.build::<F>(&path, &Schema::new().k(k))?;
        values.iter().try_for_each(|&value| builder.push(value).map(drop))?;
        builder.finish()
    })?;
    let files = std::fs::read_dir(&path)?;
    report.add("disk", files.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum::<u64>());
    Ok(report.timed("reopen", || {
        let snapshot = one.open::<F>(&path)?.snapshot()?;
        snapshot.query(values[0], k).map(|_| snapshot)
    })?)
}

/// What a visitor returns that never fails.
fn done() -> Result<(), DatabaseError> {
    Ok(())
}

fn nearprint<F: Fingerprint>(values: &[F], queries: &[F], report: &mut Report) -> Outcome {
    let (home, k) = (tempfile::tempdir()?, report.k);
    let snapshot = build(values, home.path(), report)?;
    // As for every other peer, what is measured is the second time.
    snapshot.query_batch(queries, k, |_, _| done())?;
    report.ask(queries, |query| snapshot.query(query, k).map_or(0, |found| found.len()));
    if F::WIDTH != nearprint::Width::W64 {
        return Ok(());
    }
    report.timed("pairs", || snapshot.visit_pairs(k, |_| done()))?;
    let one = Options::new().threads(1);
    report.timed("pairs_in_memory", || list::visit_pairs(values.to_vec(), k, &one, |_| done()))?;
    Ok(())
}

fn nearprint_batch<F: Fingerprint>(values: &[F], queries: &[F], report: &mut Report) -> Outcome {
    let (home, k) = (tempfile::tempdir()?, report.k);
    let snapshot = build(values, home.path(), report)?;
    snapshot.query_batch(queries, k, |_, _| done())?;
    let mut counts = Vec::new();
    report.timed("seconds", || {
        snapshot.query_batch(queries, k, |_, found| {
            counts.push(found.len());
            done()
        })
    })?;
    report.add("counts", format!("{counts:?}"));
    Ok(())
}

fn mih(values: Vec<u64>, queries: &[u64], report: &mut Report) -> Outcome {
    let home = tempfile::tempdir()?;
    let path = home.path().join("mih");
    let index = report.timed("build", || Index::with_blocks(values.clone(), 3))?;
    index.serialize_into(BufWriter::new(File::create(&path)?))?;
    report.add("disk", path.metadata()?.len());
    drop(index);
    let index: Index<u64> = report
        .timed("reopen", || Index::deserialize_from(BufReader::with_capacity(1 << 20, File::open(&path)?)))?;
    let (mut searcher, k) = (index.range_searcher(), report.k as usize);
    report.ask(queries, |query| searcher.run(query, k).len());
    report.pairs_by_asking(&values, |value| searcher.run(value, k).len());
    Ok(())
}

fn gaoya(values: &[u64], queries: &[u64], blocks: usize, report: &mut Report) {
    let mut index: SimHashIndex<u64, u32> = SimHashIndex::new(blocks, report.k as usize);
    report.timed("build", || (0u32..).zip(values).for_each(|(id, &value)| index.insert(id, value)));
    report.ask(queries, |query| index.query(&query).len());
    report.pairs_by_asking(values, |value| index.query(&value).len());
}

struct Hamming;

impl Metric<u64> for Hamming {
    fn distance(&self, a: &u64, b: &u64) -> u32 {
        a.distance(*b)
    }

    fn threshold_distance(&self, a: &u64, b: &u64, threshold: u32) -> Option<u32> {
        Some(self.distance(a, b)).filter(|&distance| distance <= threshold)
    }
}

fn bk_tree(values: &[u64], queries: &[u64], report: &mut Report) {
    let mut tree = BKTree::new(Hamming);
    report.timed("build", || values.iter().for_each(|&value| tree.add(value)));
    let k = report.k;
    report.ask(queries, |query| tree.find(&query, k).count());
}
