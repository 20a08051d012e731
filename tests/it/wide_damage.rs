//! Damaged databases of 128- and 256-bit fingerprints: a named error, the exact answer, or what repair can save.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Random, Shape, all_rows, build, rows};
use nearprint::{Corruption, Database, Error, Fingerprint, Options, RepairReport, Row, U256};

const PAGE: usize = 8192;

fn options(layout: &str) -> Options {
    Options::new().threads(1).memory_bytes(4 << 20).layout(layout.parse().unwrap())
}

fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap() != "LOCK");
    files.sort();
    files
}

/// Rows of which every third fingerprint has several ids.
fn several_ids<F: Fingerprint>(count: usize, seed: u64) -> Vec<Row<F>> {
    let mut found = rows(Shape::Skewed, count, seed);
    for at in (3..count).step_by(3) {
        found[at].fingerprint = found[at - 2].fingerprint;
    }
    found
}

/// Everything that can be asked: all rows, queries through each table, pairs, clusters.
fn answers<F: Fingerprint>(path: &Path, rows: &[Row<F>]) -> Result<Vec<String>, Error> {
    let snapshot = Database::<F>::open_with(path, Options::new().threads(1))?.snapshot()?;
    let mut answers = Vec::new();
    for row in rows.iter().step_by(60) {
        for place in [0, F::BITS / 2, F::BITS - 1] {
            answers.push(format!("{:?}", snapshot.query(row.fingerprint ^ F::ones(place, 1), 1)?));
        }
    }
    snapshot.visit_rows(|row| {
        answers.push(format!("{row:?}"));
        Ok::<(), Error>(())
    })?;
    snapshot.visit_pairs(9, |block| {
        answers.push(format!("{block:?}"));
        Ok::<(), Error>(())
    })?;
    snapshot.visit_clusters(9, |cluster| {
        answers.push(format!("{cluster:?}"));
        Ok::<(), Error>(())
    })?;
    Ok(answers)
}

/// What `verify` says: the damage it lists, or the damage that keeps the database from opening.
fn verdict<F: Fingerprint>(path: &Path) -> Vec<Corruption> {
    match Database::<F>::open(path).and_then(|database| database.verify()) {
        Ok(report) => report.damage,
        Err(Error::Corrupt(damage)) => vec![*damage],
        Err(other) => panic!("{other}"),
    }
}

/// Overwrites some bytes of a page and makes all checksums right again.
fn mislead(bytes: &mut [u8], page: usize, at: usize, value: u8) {
    let pages = bytes.len() / PAGE;
    let (start, crcs) = (page * PAGE, (pages - 2) * PAGE);
    bytes[start + at..(start + at + 8).min(start + PAGE)].fill(value);
    let crc = crc32fast::hash(&bytes[start..start + PAGE]);
    bytes[crcs + (page - 1) * 4..][..4].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32fast::hash(&bytes[crcs..crcs + PAGE - 4]);
    bytes[crcs + PAGE - 4..crcs + PAGE].copy_from_slice(&crc.to_le_bytes());
}

/// Pages whose checksums hold, but whose content was made to mislead: an error or some answer, and `verify` says so.
fn hostile_pages_never_panic<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = several_ids::<F>(700, 5);
    build(&path, &rows, options("rotations:2"));
    for name in ["00000001-t0.seg", "00000001-t1.seg", "00000001.rows"] {
        let file = path.join(name);
        let sound = fs::read(&file).unwrap();
        for page in 1..sound.len() / PAGE - 2 {
            for (step, value) in [0u8, 1, 0x7f, 0xff].into_iter().enumerate() {
                for at in (step * 3..PAGE).step_by(1021) {
                    let mut hostile = sound.clone();
                    mislead(&mut hostile, page, at, value);
                    fs::write(&file, &hostile).unwrap();
                    let _ = answers(&path, &rows);
                    let noticed = hostile == sound || !verdict::<F>(&path).is_empty();
                    assert!(noticed, "{name} page {page} byte {at}");
                    let dest = home.path().join("saved");
                    let _ = Database::<F>::repair(&path, &dest, options("auto")).unwrap();
                    let _ = fs::remove_dir_all(dest);
                }
            }
        }
        fs::write(&file, &sound).unwrap();
    }
}

#[test]
fn hostile_pages_with_good_checksums_never_panic() {
    hostile_pages_never_panic::<u128>();
    hostile_pages_never_panic::<U256>();
}

/// Repairs, checks that the new database is sound, and gives report and rows.
fn repair<F: Fingerprint>(path: &Path) -> (RepairReport, BTreeSet<Row<F>>) {
    let home = tempfile::tempdir().unwrap();
    let dest = home.path().join("saved");
    let salvage = Database::<F>::repair(path, &dest, options("auto")).unwrap();
    if !salvage.made {
        return (salvage, BTreeSet::new());
    }
    let saved = Database::<F>::open(&dest).unwrap();
    assert_eq!(saved.verify().unwrap().damage, []);
    let found: BTreeSet<Row<F>> = all_rows(&saved.snapshot().unwrap()).into_iter().collect();
    assert_eq!(found.len() as u64, salvage.rows);
    (salvage, found)
}

/// One bit in every page of every file: tables put whole fingerprints together again, so only ids can be lost.
fn a_flipped_bit_costs_ids_alone<F: Fingerprint>() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let all = several_ids::<F>(6000, 4);
    build(&path, &all, options("rotations:4"));
    let all: BTreeSet<Row<F>> = all.into_iter().collect();
    let entries = all.iter().map(|row| row.fingerprint).collect::<BTreeSet<_>>().len();
    let mut random = Random(6);
    let mut recovered = 0;
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        let pages = sound.len().div_ceil(PAGE);
        let values =
            pages.saturating_sub(2 + (entries * F::LEN_BYTES).div_ceil(PAGE))..pages.saturating_sub(2);
        for page in 0..pages {
            for at in [page * PAGE + 2, page * PAGE + random.below(PAGE as u64) as usize] {
                let mut damaged = sound.clone();
                damaged[at.min(sound.len() - 1)] ^= 4;
                fs::write(&file, damaged).unwrap();
                let (salvage, found) = repair::<F>(&path);
                let what = format!("{} byte {at}: {salvage:?}", file.display());
                assert!(found.is_subset(&all), "{what}");
                assert_eq!((all.len() - found.len()) as u64, salvage.lost_rows, "{what}");
                assert_eq!(salvage.lost_fingerprints, 0, "{what}");
                let of_ids = file.ends_with("00000001.rows") && (1..values.start).contains(&page);
                assert!(salvage.lost_rows == 0 || of_ids, "{what}");
                if file.ends_with("00000001.rows") && values.contains(&page) {
                    assert!(salvage.recovered > 0, "{what}");
                }
                recovered += salvage.recovered;
            }
        }
        fs::write(&file, sound).unwrap();
    }
    assert!(recovered > 1000, "{recovered}");
}

#[test]
fn a_flipped_bit_costs_no_fingerprint() {
    a_flipped_bit_costs_ids_alone::<u128>();
    a_flipped_bit_costs_ids_alone::<U256>();
}

#[test]
fn what_no_table_knows_is_lost_without_a_guess() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let all = rows::<U256>(Shape::Uniform, 3000, 9);
    // Two tables know 104 bits each, and nobody the others.
    build(&path, &all, options("rotations:2"));
    let file = path.join("00000001.rows");
    let mut bytes = fs::read(&file).unwrap();
    let last = bytes.len() / PAGE - 3;
    bytes[last * PAGE + 5] ^= 1;
    fs::write(&file, bytes).unwrap();
    let (salvage, found) = repair::<U256>(&path);
    let entries: BTreeSet<U256> = all.iter().map(|row| row.fingerprint).collect();
    let lost: BTreeSet<U256> = entries.iter().copied().skip(entries.len() / 256 * 256).collect();
    assert_eq!(salvage.lost_fingerprints, lost.len() as u64, "{salvage:?}");
    let kept: BTreeSet<Row<U256>> =
        all.iter().copied().filter(|row| !lost.contains(&row.fingerprint)).collect();
    assert_eq!(found, kept);
}

#[test]
fn without_a_manifest_the_files_tell_the_width() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let all = several_ids::<U256>(2000, 3);
    build(&path, &all, options("rotations:3"));
    fs::remove_file(path.join("MANIFEST")).unwrap();
    assert_eq!(nearprint::width_of_damaged(&path).unwrap(), 256);
    let (salvage, found) = repair::<U256>(&path);
    assert_eq!(found, all.into_iter().collect());
    assert_eq!(salvage.lost_rows, 0);
}
