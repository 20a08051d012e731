//! nearprint and mih-rs in one process, five runs in turn: `paired [ROWS]...`. Prints the time of a
//! query on one thread, and the ratio of mih-rs's time to nearprint's in the same turn.
//!
//! Values are random. Queries are random, or two bits from a value, or alternate between both.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use mih_rs::Index;
use nearprint::{Error as DatabaseError, LayoutChoice, Options, Schema, Snapshot};
use peers::{Random, near, spread, timed};

const ROUNDS: usize = 5;
/// Blocks with which mih-rs is fastest at k = 3, of a million to fifty million values.
const MIH_BLOCKS: usize = 3;
const LAYOUTS: [(&str, LayoutChoice); 3] = [
    ("", LayoutChoice::Auto),
    (", `fast`", LayoutChoice::Fast),
    (", ten tables", LayoutChoice::Blocks { blocks: 5, prefix: 2 }),
];

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let rows: Vec<usize> = std::env::args().skip(1).map(|rows| rows.parse()).collect::<Result<_, _>>()?;
    println!("| rows | k | | nearprint | mih-rs | ratio: least, median, most |\n|---|---|---|---|---|---|");
    for rows in if rows.is_empty() { vec![1_000_000] } else { rows } {
        compare(rows)?;
    }
    Ok(())
}

/// How queries are made.
#[derive(Clone, Copy)]
enum How {
    OneByOne,
    /// In batches of so many.
    Batches(usize),
}

/// Queries of one kind.
struct Kind {
    name: &'static str,
    k: u32,
    queries: Vec<u64>,
    /// The first ones, which mih-rs answers.
    of_mih: usize,
}

fn compare(rows: usize) -> Outcome<()> {
    let mut random = Random(42);
    let values: Vec<u64> = random.by_ref().take(rows).collect();
    let absent: Vec<u64> = random.by_ref().take(100_000).collect();
    let present: Vec<u64> = (0..100_000).map(|_| near(&values, &mut random)).collect();
    let half: Vec<u64> = absent.iter().zip(&present).flat_map(|(&one, &other)| [one, other]).collect();
    let kind = |name, k, queries: &[u64], of_mih| Kind { name, k, queries: queries.to_vec(), of_mih };
    let kinds = [
        kind("half of each", 3, &half, 100_000),
        kind("no match", 3, &absent, 50_000),
        kind("a match", 3, &present, 50_000),
        kind("half of each", 7, &half[..20_000], 2_000),
    ];
    let home = tempfile::tempdir()?;
    let mut snapshots = Vec::new();
    for (name, layout) in LAYOUTS {
        snapshots.push((name, build(&home.path().join(layout.to_string()), layout, &values)?));
    }
    let mih = Index::with_blocks(values, MIH_BLOCKS)?;
    for kind in &kinds {
        let forms: &[How] = match (kind.name, kind.k) {
            ("half of each", 3) => &[How::OneByOne, How::Batches(10_000), How::Batches(200_000)],
            ("half of each", _) => &[How::OneByOne, How::Batches(10_000)],
            _ => &[How::OneByOne],
        };
        // The other layouts are made for k = 3.
        let snapshots = &snapshots[..if kind.k == 3 { snapshots.len() } else { 1 }];
        let mut rounds: Vec<Vec<(f64, f64)>> = vec![Vec::new(); snapshots.len() * forms.len()];
        // The first turn fills caches and is not counted.
        for round in 0..=ROUNDS {
            let theirs = ask_mih(&mih, kind);
            let mut rounds = rounds.iter_mut();
            for (_, snapshot) in snapshots {
                for &form in forms {
                    let ours = ask(snapshot, kind, form)?;
                    if ours.1 != theirs.1 {
                        return Err(format!("{} matches instead of {}", ours.1, theirs.1).into());
                    }
                    let times = rounds.next().ok_or("a row for each form")?;
                    if round > 0 {
                        times.push((ours.0, theirs.0));
                    }
                }
            }
        }
        let mut rounds = rounds.into_iter();
        for (layout, _) in snapshots {
            for form in forms {
                let times = rounds.next().ok_or("times of each form")?;
                let how = match form {
                    How::OneByOne => String::new(),
                    How::Batches(size) => format!(", batches of {size}"),
                };
                let middle = |of: fn(&(f64, f64)) -> f64| spread(times.iter().map(of).collect())[1] * 1e6;
                let ratios = spread(times.iter().map(|(ours, theirs)| theirs / ours).collect());
                println!(
                    "| {rows} | {} | {}{layout}{how} | {:.2} us | {:.2} us | {:.1}, {:.1}, {:.1} |",
                    kind.k,
                    kind.name,
                    middle(|times| times.0),
                    middle(|times| times.1),
                    ratios[0],
                    ratios[1],
                    ratios[2]
                );
            }
        }
    }
    Ok(())
}

fn build(path: &Path, layout: LayoutChoice, values: &[u64]) -> Outcome<Snapshot<u64>> {
    let options = Options::new().threads(1).memory_bytes(1 << 30);
    let mut builder = options.build::<u64>(path, &Schema::new().layout(layout))?;
    values.iter().try_for_each(|&value| builder.push(value).map(drop))?;
    Ok(builder.finish()?.snapshot()?)
}

/// Seconds a query, and the matches of those queries that mih-rs answers.
fn ask(snapshot: &Snapshot<u64>, kind: &Kind, how: How) -> Outcome<(f64, usize)> {
    let (k, mut matches) = (kind.k, 0);
    let (seconds, _) = match how {
        How::OneByOne => {
            let mut failed = None;
            let run = timed(|| {
                let mut all = 0;
                for (at, &query) in kind.queries.iter().enumerate() {
                    match snapshot.query(query, k) {
                        Ok(found) => all += found.len(),
                        Err(error) => failed = Some(error),
                    }
                    if at + 1 == kind.of_mih {
                        matches = all;
                    }
                }
                black_box(all)
            });
            failed.map_or(Ok(()), Err)?;
            run
        }
        How::Batches(size) => {
            let mut done = Ok(());
            let run = timed(|| {
                let mut answered = 0;
                done = kind.queries.chunks(size).try_for_each(|batch| {
                    snapshot.query_batch(batch, k, |_, found| {
                        if answered < kind.of_mih {
                            matches += found.len();
                        }
                        answered += 1;
                        Ok::<(), DatabaseError>(())
                    })
                });
                answered
            });
            done?;
            run
        }
    };
    Ok((seconds / kind.queries.len() as f64, matches))
}

/// Seconds a query, and matches.
fn ask_mih(index: &Index<u64>, kind: &Kind) -> (f64, usize) {
    let mut searcher = index.range_searcher();
    let queries = &kind.queries[..kind.of_mih];
    let (seconds, matches) =
        timed(|| queries.iter().map(|&query| black_box(searcher.run(query, kind.k as usize)).len()).sum());
    (seconds / queries.len() as f64, matches)
}
