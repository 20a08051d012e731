//! Builds a corpus in bulk with bounded memory, then walks over its clusters.
//!
//! ```sh
//! cargo run --release --example build_corpus
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use nearprint::{Error, Options, Progress, Row, Schema, Stage};

const ROWS: u64 = 1_000_000;

/// Prints a line whenever a stage begins. A program with a user interface would draw a bar.
struct Lines(std::sync::Mutex<Option<Stage>>);

impl Progress for Lines {
    fn report(&self, stage: Stage, _done: u64, total: Option<u64>) -> ControlFlow<()> {
        let mut last = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.replace(stage) != Some(stage) {
            println!("{stage:?}: {}", total.map_or("…".into(), |total| total.to_string()));
        }
        ControlFlow::Continue(()) // `Break` would cancel the build and leave nothing behind.
    }
}

fn main() -> nearprint::Result<()> {
    let path = std::env::temp_dir().join(format!("nearprint-corpus-{}.np", std::process::id()));
    let options = Options::new().memory_bytes(64 << 20).progress(Arc::new(Lines(None.into())));
    let mut builder = options.build::<u64>(&path, &Schema::new())?;
    for number in 0..ROWS {
        builder.push(Row { fingerprint: simhash(number), id: number })?;
    }
    let snapshot = builder.finish()?.snapshot()?; // Nothing stood at the path until now.

    let stats = snapshot.stats();
    println!("{} rows, {} distinct fingerprints, {} bytes", stats.rows, stats.fingerprints, stats.bytes);
    let (mut clusters, mut largest) = (0, 0);
    for cluster in snapshot.clusters(3)? {
        clusters += 1;
        largest = largest.max(cluster?.len());
    }
    println!("{clusters} clusters within 3 bits, the largest of {largest} rows");
    drop(snapshot);
    std::fs::remove_dir_all(&path).map_err(|source| Error::Io { action: "remove", path, source })
}

/// Stands in for the fingerprint of a document: every tenth is 2 bits away from the one before.
fn simhash(number: u64) -> u64 {
    let (document, edits) = if number % 10 == 9 { (number - 1, 0b101) } else { (number, 0) };
    document.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ edits
}
