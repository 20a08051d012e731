//! A query through nearprint's C interface beside the same query in Rust, in one process:
//! `c_interface [ROWS]`. Rounds of both take turns. Prints nanoseconds a query, and the difference
//! of each pair of rounds.

use std::error::Error;
use std::hint::black_box;
use std::ptr;
use std::time::Instant;

use nearprint::{Options, Schema, Snapshot};
use nearprint_c::columns::nearprint_columns;
use nearprint_c::database::{nearprint_database_free, nearprint_database_open};
use nearprint_c::error::{nearprint_error, nearprint_error_free, nearprint_error_new};
use nearprint_c::query::nearprint_snapshot_query;
use nearprint_c::snapshot::{nearprint_snapshot, nearprint_snapshot_free, nearprint_snapshot_take};
use nearprint_c::status::{NEARPRINT_OK, nearprint_status};
use peers::{Random, near};

const K: u32 = 3;
const QUERIES: usize = 100_000;
const ROUNDS: usize = 15;
/// Matches that a query has room for.
const ROOM: usize = 16;

fn main() -> Result<(), Box<dyn Error>> {
    let rows: usize = std::env::args().nth(1).map_or(Ok(1_000_000), |rows| rows.parse())?;
    let mut random = Random(42);
    let values: Vec<u64> = random.by_ref().take(rows).collect();
    // Half are two bits from a stored value, and half are random.
    let queries: Vec<u64> = (0..QUERIES / 2)
        .flat_map(|_| [near(&values, &mut random), random.next().unwrap_or_default()])
        .collect();
    let home = tempfile::tempdir()?;
    let path = home.path().join("db");
    let mut builder = Options::new().build::<u64>(&path, &Schema::new())?;
    for &value in &values {
        builder.push(value)?;
    }
    let snapshot = builder.finish()?.snapshot()?;
    let through_c = CSnapshot::open(path.to_str().ok_or("a path of UTF-8")?)?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (rust, found) = in_rust(&snapshot, &queries)?;
        let (c, found_by_c) = through_c.query_all(&queries)?;
        assert_eq!(found, found_by_c);
        rounds.push((c - rust, rust, c));
    }
    rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, middle, most) = (rounds[0], rounds[ROUNDS / 2], rounds[ROUNDS - 1]);
    println!("| in Rust | through C | difference: median, least, most |\n|---|---|---|");
    println!(
        "| {:.0} ns | {:.0} ns | {:.0}, {:.0}, {:.0} ns |",
        middle.1, middle.2, middle.0, least.0, most.0
    );
    Ok(())
}

/// The type of `nearprint_snapshot_query`.
type QueryOfC = unsafe extern "C" fn(
    *const nearprint_snapshot,
    *const u64,
    u32,
    *const nearprint_columns,
    *mut usize,
    *mut nearprint_error,
) -> nearprint_status;

/// Nanoseconds a query, and matches.
fn in_rust(snapshot: &Snapshot<u64>, queries: &[u64]) -> Result<(f64, usize), nearprint::Error> {
    let (start, mut found) = (Instant::now(), 0);
    for &query in queries {
        found += black_box(snapshot.query(query, K)?).len();
    }
    Ok((start.elapsed().as_secs_f64() * 1e9 / queries.len() as f64, found))
}

/// A snapshot behind the C interface.
struct CSnapshot {
    snapshot: *mut nearprint_snapshot,
    error: *mut nearprint_error,
}

impl CSnapshot {
    fn open(path: &str) -> Result<Self, String> {
        let (mut database, mut snapshot, error) = (ptr::null_mut(), ptr::null_mut(), nearprint_error_new());
        // SAFETY: the path has this length, the handles come from the interface, and each is freed once.
        let status = unsafe {
            let mut status =
                nearprint_database_open(path.as_ptr().cast(), path.len(), ptr::null(), &mut database, error);
            if status == NEARPRINT_OK {
                status = nearprint_snapshot_take(database, &mut snapshot, error);
            }
            nearprint_database_free(database);
            status
        };
        expect_ok(status).map(|()| Self { snapshot, error })
    }

    /// Nanoseconds a query, and matches.
    fn query_all(&self, queries: &[u64]) -> Result<(f64, usize), String> {
        let (mut fingerprints, mut ids, mut distances) = ([0; ROOM], [0; ROOM], [0; ROOM]);
        let columns = nearprint_columns {
            struct_size: size_of::<nearprint_columns>(),
            capacity: ROOM,
            groups: ptr::null_mut(),
            fingerprints: fingerprints.as_mut_ptr(),
            ids: ids.as_mut_ptr(),
            distances: distances.as_mut_ptr(),
            other_fingerprints: ptr::null_mut(),
            other_ids: ptr::null_mut(),
            similarities: ptr::null_mut(),
            keys: ptr::null_mut(),
            key_lens: ptr::null_mut(),
            other_keys: ptr::null_mut(),
            other_key_lens: ptr::null_mut(),
        };
        // As a program of another language calls it: not inlined.
        let query_of_c: QueryOfC = black_box(nearprint_snapshot_query);
        let (start, mut found) = (Instant::now(), 0);
        for query in queries {
            let mut count = 0;
            // SAFETY: the handles are alive, the query has one word, and the columns have room for
            // as many rows as they say.
            expect_ok(unsafe { query_of_c(self.snapshot, query, K, &columns, &mut count, self.error) })?;
            found += black_box(count);
        }
        Ok((start.elapsed().as_secs_f64() * 1e9 / queries.len() as f64, found))
    }
}

impl Drop for CSnapshot {
    fn drop(&mut self) {
        // SAFETY: both handles come from the interface, and are freed once.
        unsafe {
            nearprint_snapshot_free(self.snapshot);
            nearprint_error_free(self.error);
        }
    }
}

fn expect_ok(status: nearprint_status) -> Result<(), String> {
    if status == NEARPRINT_OK { Ok(()) } else { Err(format!("status {status}")) }
}
