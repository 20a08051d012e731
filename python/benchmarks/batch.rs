//! `batch DATABASE QUERIES.u64 K TIMES`: runs a batch of queries several times, and prints the
//! seconds and the number of matches of each time.

use std::time::Instant;

use nearprint::Database;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [database, queries, k, times] = arguments.as_slice() else {
        return Err("expected DATABASE QUERIES.u64 K TIMES".into());
    };
    let queries = std::fs::read(queries)?;
    let queries: Vec<u64> = queries.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
    let (k, times): (u32, u32) = (k.parse()?, times.parse()?);
    let snapshot = Database::<u64>::open(database)?.snapshot()?;
    for _ in 0..times {
        let (started, mut matches) = (Instant::now(), 0);
        snapshot.query_batch(&queries, k, |_, found| {
            matches += found.len();
            Ok::<(), nearprint::Error>(())
        })?;
        println!("{} {matches}", started.elapsed().as_secs_f64());
    }
    Ok(())
}
