//! Every bit of a small, cleanly closed database, flipped: `verify` reports it, and queries give
//! the exact answer or an error. In short form, every eleventh bit of runs and every bit of the
//! manifest.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::database::new_row::NewRow;
use crate::database::snapshot::Snapshot;
use crate::database::writer::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row, U256, mix64};
use crate::format::manifest::Manifest;
use crate::format::schema::{KeyStorage, Schema};
use crate::log::manifest;
use crate::options::Options;
use crate::run::verify_file;
use crate::storage::{Storage, names};
use crate::testing::short_or_full;
use crate::testing::simulated::SimulatedDisk;

/// One of so many flips is also tried on queries.
const FLIPS_PER_QUERY: u64 = 61;

/// A pseudo-random fingerprint for a number.
fn value<F: Fingerprint>(number: u64) -> F {
    let word =
        |value: F, word: u32| value | F::from_bits(mix64(number + u64::from(word) * 7919), word * 64, 64);
    (0..F::BITS / 64).fold(F::default(), word)
}

/// A database of two runs. The younger one has tombstones, and fingerprints with several ids.
fn small<F: Fingerprint>(layout: &str) -> (SimulatedDisk, Vec<Row<F>>) {
    let schema = Schema::new().layout(layout.parse().unwrap()).keys(KeyStorage::KeysAndTexts);
    let options = Options::new().background_merges(false);
    let disk = SimulatedDisk::new();
    manifest::replace(&disk, &manifest::fresh(F::BITS, &schema).unwrap()).unwrap();
    let mut writer = Writer::<F>::open(Arc::new(disk.clone()), options).unwrap();
    for i in 0..40 {
        writer.insert(Row { fingerprint: value(i), id: i }).unwrap();
    }
    writer.flush().unwrap();
    writer.delete(3).unwrap();
    for i in 50..53 {
        writer
            .insert(NewRow {
                id: Some(i),
                text: b"a text",
                ..NewRow::keyed(value(1000), &format!("key {i}"))
            })
            .unwrap();
    }
    for i in 40..44 {
        writer.insert(Row { fingerprint: value(i), id: i }).unwrap();
    }
    writer.close().unwrap();
    let mut rows: Vec<Row<F>> =
        (0..44).filter(|&i| i != 3).map(|id| Row { fingerprint: value(id), id }).collect();
    rows.extend((50..53).map(|id| Row { fingerprint: value(1000), id }));
    rows.sort_unstable();
    (disk, rows)
}

fn rows<F: Fingerprint>(disk: &SimulatedDisk) -> Result<Vec<Row<F>>> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let snapshot = Snapshot::open(&storage, &Options::new().threads(1), None)?;
    let mut rows = Vec::new();
    snapshot.visit_rows(|row| {
        let keys: Vec<String> = snapshot.keys_of(row)?.into_iter().map(|key| key.key).collect();
        let expected = (row.id >= 50).then(|| format!("key {}", row.id));
        assert!(keys.into_iter().eq(expected), "{row:?}");
        rows.push(row);
        Ok::<(), Error>(())
    })?;
    let mut queried = BTreeSet::new();
    for i in (0..44).chain([1000]) {
        let found = snapshot.query(value::<F>(i) ^ F::from_bits(6, F::BITS - 3, 3), 2)?;
        queried.extend(found.iter().map(|found| Row { fingerprint: found.fingerprint, id: found.id }));
    }
    assert!(rows.iter().copied().eq(queried), "scans and queries return the same rows");
    Ok(rows)
}

/// Flips every `step`th bit of one file and checks that each flip is noticed. Returns the number of
/// flips.
fn flip_all<F: Fingerprint>(
    disk: &SimulatedDisk,
    expected: &[Row<F>],
    name: &str,
    step: usize,
    noticed: &dyn Fn(&SimulatedDisk) -> bool,
) -> u64 {
    let own = disk.crash(&mut |_| true);
    let sound = own.file_bytes(name).unwrap();
    let mut flips = 0;
    for bit in (0..sound.len() * 8).step_by(step) {
        let mut flipped = sound.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        own.set_file_bytes(name, flipped);
        assert!(noticed(&own), "bit {bit} of {name}");
        flips += 1;
        if flips % FLIPS_PER_QUERY == 0 {
            match rows::<F>(&own) {
                Ok(found) => assert_eq!(found, expected, "bit {bit} of {name}"),
                Err(error) => assert!(matches!(error, Error::Corrupt(_)), "bit {bit} of {name}: {error}"),
            }
        }
    }
    flips
}

#[test]
fn every_flipped_bit_of_a_closed_database_is_detected() {
    every_flipped_bit_is_detected::<u64>("rotations:1");
}

#[test]
fn every_flipped_bit_of_a_wide_database_is_detected() {
    every_flipped_bit_is_detected::<U256>("rotations:2");
}

fn every_flipped_bit_is_detected<F: Fingerprint>(layout: &str) {
    let (disk, expected) = small::<F>(layout);
    assert_eq!(rows::<F>(&disk).unwrap(), expected);
    let manifest: Manifest = manifest::of::<F>(&disk).unwrap();
    let young = manifest.runs.last().unwrap().clone();
    let run = young.run;
    let tables = (0..young.segments.len()).map(|table| names::segment(run, table));
    let files: Vec<String> =
        tables.chain([names::rows(run), names::tombstones(run), names::keys(run)]).collect();
    let bits = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (index, name) in files.iter().enumerate() {
            let (disk, expected, manifest, young, bits) = (&disk, &expected, &manifest, &young, &bits);
            scope.spawn(move || {
                let check = |disk: &SimulatedDisk| {
                    !verify_file::<F>(disk, manifest, young, index).unwrap().is_empty()
                };
                assert!(!check(disk), "sound before");
                // Eleven has no factor in common with the bits of a byte, so each place in a byte
                // is met.
                let flips = flip_all(disk, expected, name, short_or_full(11, 1), &check);
                bits.fetch_add(flips, Ordering::Relaxed);
            });
        }
    });
    let in_manifest = flip_all(&disk, &expected, names::MANIFEST, 1, &|disk| {
        matches!(manifest::of::<F>(disk), Err(Error::Corrupt(_)))
    });
    println!("{} bits flipped", bits.into_inner() + in_manifest);
}
