//! Checks a stream of fingerprints against everything seen before, and remembers what is new.
//!
//! Reads one fingerprint a line from standard input. Prints `new` or `near FINGERPRINT DISTANCE`.
//! What was printed before a crash is remembered after it, except the lines of the last second.
//!
//! ```sh
//! printf '0x1f3a\n0x1f3b\n0xffff0000\n' | cargo run --release --example check_stream -- seen.np
//! ```

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nearprint::{Database, Error, Fingerprint, Schema};

/// Distance of near-duplicates: for 64-bit simhashes of web pages, 3 (Manku, Jain and Das Sarma,
/// WWW 2007).
const K: u32 = 3;
/// A commit is one fdatasync; so often it costs nothing that could be noticed.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: check_stream DATABASE < FINGERPRINTS");
        return ExitCode::from(2);
    };
    match check(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("check_stream: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check(path: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let database = match Database::<u64>::open(path) {
        Err(Error::NotADatabase { .. }) => Database::create(path, &Schema::new().k(K))?,
        other => other?,
    };
    let mut writer = database.writer()?;
    let (mut committed, mut out) = (Instant::now(), io::stdout().lock());
    for (number, line) in (1..).zip(io::stdin().lock().lines()) {
        let fingerprint = u64::parse(line?.trim()).map_err(|why| format!("line {number}: {why}"))?;
        // Rows that are not yet committed are found, too.
        match writer.query(fingerprint, K)?.first() {
            Some(near) => writeln!(out, "near {} {}", near.fingerprint.display(), near.distance)?,
            None => {
                writer.insert(fingerprint)?;
                writeln!(out, "new")?;
            }
        }
        if committed.elapsed() >= COMMIT_INTERVAL {
            writer.commit()?;
            committed = Instant::now();
        }
    }
    writer.close()?; // Commits, and merges what is due.
    Ok(())
}
