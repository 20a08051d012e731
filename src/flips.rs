//! Every bit of a small, cleanly closed database, flipped: `verify` says so, and queries give the exact
//! answer or an error.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::fingerprint::{Row, mix64};
use crate::format::manifest::Manifest;
use crate::manifest;
use crate::options::Options;
use crate::segment::verify_file;
use crate::snapshot::Snapshot;
use crate::storage::simulated::SimulatedDisk;
use crate::storage::{Storage, names};
use crate::writer::Writer;

/// Flips of which one is also tried on queries.
const FLIPS_PER_QUERY: usize = 61;

/// Two runs, the younger one with tombstones and a fingerprint that has several ids.
fn small() -> (SimulatedDisk, Vec<Row<u64>>) {
    let options = Options::new().layout("rotations:1".parse().unwrap()).background_merges(false).keys(true);
    let disk = SimulatedDisk::new();
    manifest::replace(&disk, &manifest::fresh(64, &options).unwrap()).unwrap();
    let mut writer = Writer::<u64>::open(Arc::new(disk.clone()), options).unwrap();
    for i in 0..40 {
        writer.insert(mix64(i), Some(i)).unwrap();
    }
    writer.flush().unwrap();
    writer.delete(3).unwrap();
    for i in 50..53 {
        writer.insert_keyed(mix64(1000), Some(i), &format!("key {i}"), b"a text").unwrap();
    }
    writer.close().unwrap();
    let mut rows: Vec<Row<u64>> =
        (0..40).filter(|&i| i != 3).map(|id| Row { fingerprint: mix64(id), id }).collect();
    rows.extend((50..53).map(|id| Row { fingerprint: mix64(1000), id }));
    rows.sort_unstable();
    (disk, rows)
}

fn rows(disk: &SimulatedDisk) -> Result<Vec<Row<u64>>> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let snapshot = Snapshot::open(&storage, &Options::new().threads(1), None)?;
    let mut rows = Vec::new();
    snapshot.rows(|row| {
        let keys: Vec<String> = snapshot.keys_of(row)?.into_iter().map(|key| key.key).collect();
        let expected = (row.id >= 50).then(|| format!("key {}", row.id));
        assert!(keys.into_iter().eq(expected), "{row:?}");
        rows.push(row);
        Ok(())
    })?;
    let mut queried = BTreeSet::new();
    for i in (0..40).chain([1000]) {
        let found = snapshot.query(mix64(i) ^ 6, 2)?;
        queried.extend(found.iter().map(|found| Row { fingerprint: found.fingerprint, id: found.id }));
    }
    assert!(rows.iter().copied().eq(queried), "two ways to the same rows");
    Ok(rows)
}

/// Flips bits of one file and checks that each is noticed.
fn flip_all(
    disk: &SimulatedDisk,
    expected: &[Row<u64>],
    name: &str,
    noticed: &dyn Fn(&SimulatedDisk) -> bool,
) {
    let own = disk.crash(&mut |_| true);
    let sound = own.file_bytes(name).unwrap();
    for bit in 0..sound.len() * 8 {
        let mut flipped = sound.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        own.set_file_bytes(name, flipped);
        assert!(noticed(&own), "bit {bit} of {name}");
        if bit % FLIPS_PER_QUERY == 0 {
            match rows(&own) {
                Ok(found) => assert_eq!(found, expected, "bit {bit} of {name}"),
                Err(error) => assert!(matches!(error, Error::Corrupt(_)), "bit {bit} of {name}: {error}"),
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_closed_database_is_noticed() {
    let (disk, expected) = small();
    assert_eq!(rows(&disk).unwrap(), expected);
    let manifest: Manifest = manifest::of::<u64>(&disk).unwrap();
    let young = manifest.runs.last().unwrap().clone();
    let run = young.run;
    let files = [names::segment(run, 0), names::rows(run), names::tombstones(run), names::keys(run)];
    let bits = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (index, name) in files.iter().enumerate() {
            let (disk, expected, manifest, young, bits) = (&disk, &expected, &manifest, &young, &bits);
            scope.spawn(move || {
                let check = |disk: &SimulatedDisk| {
                    !verify_file::<u64>(disk, manifest, young, index).unwrap().is_empty()
                };
                assert!(!check(disk), "sound before");
                flip_all(disk, expected, name, &check);
                bits.fetch_add(disk.file_bytes(name).unwrap().len() as u64 * 8, Ordering::Relaxed);
            });
        }
    });
    flip_all(&disk, &expected, names::MANIFEST, &|disk| {
        matches!(manifest::of::<u64>(disk), Err(Error::Corrupt(_)))
    });
    println!(
        "{} bits flipped",
        bits.into_inner() + disk.file_bytes(names::MANIFEST).unwrap().len() as u64 * 8
    );
}
