//! Damaged, foreign and missing files: a named error or the exact answer, never anything else.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Shape, build, rows};
use nearprint::{Corruption, Database, Error, Options, Row};

fn small(home: &Path, name: &str, seed: u64) -> (PathBuf, Vec<Row<u64>>) {
    let rows = rows(Shape::Equal, 700, seed);
    let path = home.join(name);
    build(&path, &rows, Options::new().layout("rotations:2".parse().unwrap()));
    (path, rows)
}

fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap() != "LOCK");
    files.sort();
    files
}

/// Everything that can be asked: all rows, queries through each table, pairs, clusters.
fn answers(path: &Path, rows: &[Row<u64>]) -> Result<Vec<String>, Error> {
    let snapshot = Database::<u64>::open_with(path, Options::new().threads(1))?.snapshot()?;
    let mut answers = Vec::new();
    for row in rows.iter().step_by(60) {
        answers.push(format!("{:?}", snapshot.query(row.fingerprint ^ 1, 1)?));
        answers.push(format!("{:?}", snapshot.query(row.fingerprint ^ 1 << 63, 1)?));
    }
    snapshot.visit_rows(|row| {
        answers.push(format!("{row:?}"));
        Ok::<(), Error>(())
    })?;
    snapshot.visit_pairs(3, |block| {
        answers.push(format!("{block:?}"));
        Ok::<(), Error>(())
    })?;
    snapshot.visit_clusters(3, |cluster| {
        answers.push(format!("{cluster:?}"));
        Ok::<(), Error>(())
    })?;
    Ok(answers)
}

/// What `verify` says: the damage it lists, or the damage that keeps the database from opening.
fn verdict(path: &Path) -> Vec<Corruption> {
    let verified =
        Database::<u64>::open(path).and_then(|database| database.snapshot()).and_then(|s| s.verify());
    match verified {
        Ok(report) => report.damage,
        Err(Error::Corrupt(damage)) => vec![*damage],
        Err(other) => panic!("{other}"),
    }
}

/// Flips one bit of every byte that is not zero, every bit of the manifest, and some of the zeros; looks
/// at each with `verify` and at some with queries.
#[test]
fn flipped_bits_are_reported_and_never_change_an_answer() {
    let home = tempfile::tempdir().unwrap();
    let (path, rows) = small(home.path(), "db", 1);
    let expected = answers(&path, &rows).unwrap();
    let mut tried = 0u32;
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        for at in 0..sound.len() {
            let padding = sound[at] == 0 && at % 97 != 0;
            for bit in 0..8 {
                if padding || (tried % 8 != bit && sound.len() > 1000) {
                    tried += u32::from(!padding);
                    continue;
                }
                tried += 1;
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << bit;
                fs::write(&file, &damaged).unwrap();
                let damage = verdict(&path);
                assert!(!damage.is_empty(), "{} byte {at} bit {bit}", file.display());
                assert!(damage.iter().any(|damage| damage.file == file), "{damage:?}");
                let page = at as u64 / 8192 * 8192;
                let near =
                    |damage: &Corruption| (page..page + 8192).contains(&damage.offset) || sound.len() < 1000;
                assert!(damage.iter().any(near), "{} byte {at}: {damage:?}", file.display());
                if tried % 16 == bit {
                    match answers(&path, &rows) {
                        Ok(found) => assert_eq!(found, expected, "{} byte {at} bit {bit}", file.display()),
                        Err(Error::Corrupt(damage)) => assert_eq!(damage.file, file),
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        }
        fs::write(&file, &sound).unwrap();
    }
    assert!(tried > 5000, "only {tried} bits");
    assert_eq!(answers(&path, &rows).unwrap(), expected);
}

fn expect_corrupt(path: &Path, file: &Path, what: &str) {
    match Database::<u64>::open(path).and_then(|database| database.snapshot()) {
        Err(Error::Corrupt(damage)) => assert_eq!(damage.file, file, "{what}: {damage}"),
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn cut_extended_missing_and_swapped_files_are_named() {
    let home = tempfile::tempdir().unwrap();
    let (path, _) = small(home.path(), "db", 1);
    let (other, _) = small(home.path(), "other", 2);
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        let name = file.file_name().unwrap();
        for len in [0, 1, 100, 8192, sound.len() / 2, sound.len() - 8192.min(sound.len()), sound.len() - 1] {
            fs::write(&file, &sound[..len.min(sound.len() - 1)]).unwrap();
            expect_corrupt(&path, &file, &format!("cut to {len}"));
        }
        let mut longer = sound.clone();
        longer.extend_from_slice(&[0; 8192]);
        fs::write(&file, &longer).unwrap();
        expect_corrupt(&path, &file, "extended");
        if name != "MANIFEST" {
            fs::remove_file(&file).unwrap();
            expect_corrupt(&path, &file, "missing");
            fs::copy(other.join(name), &file).unwrap();
            expect_corrupt(&path, &file, "of another database");
        }
        fs::write(&file, &sound).unwrap();
    }
    let (first, second) = (path.join("00000001-t0.seg"), path.join("00000001-t1.seg"));
    let sound = fs::read(&first).unwrap();
    fs::copy(&second, &first).unwrap();
    expect_corrupt(&path, &first, "another table");
    fs::write(&first, sound).unwrap();
    fs::remove_file(path.join("MANIFEST")).unwrap();
    assert!(matches!(Database::<u64>::open(&path), Err(Error::NotADatabase { .. })));
}

#[test]
fn zeroed_and_swapped_pages_are_named() {
    let home = tempfile::tempdir().unwrap();
    let (path, rows) = small(home.path(), "db", 3);
    let expected = answers(&path, &rows).unwrap();
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        let pages = sound.len() / 8192;
        for page in 0..pages {
            let mut zeroed = sound.clone();
            zeroed[page * 8192..(page + 1) * 8192].fill(0);
            let mut swapped = sound.clone();
            let (a, b) = (page * 8192, (page + 1) % pages * 8192);
            (0..8192).for_each(|i| swapped.swap(a + i, b + i));
            for damaged in [zeroed, swapped] {
                fs::write(&file, &damaged).unwrap();
                let damage = verdict(&path);
                assert!(damaged == sound || damage.iter().any(|damage| damage.file == file), "page {page}");
                match answers(&path, &rows) {
                    Ok(found) => assert_eq!(found, expected),
                    Err(error) => assert!(error.corruption().is_some(), "{error}"),
                }
            }
        }
        fs::write(&file, &sound).unwrap();
    }
}

fn with_crc(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn newer_versions_and_other_widths_have_errors_of_their_own() {
    let home = tempfile::tempdir().unwrap();
    let (path, _) = small(home.path(), "db", 4);
    let manifest = path.join("MANIFEST");
    let sound = fs::read(&manifest).unwrap();
    let mut newer = sound.clone();
    newer[8] = 9;
    fs::write(&manifest, with_crc(newer)).unwrap();
    assert!(matches!(Database::<u64>::open(&path), Err(Error::NewerVersion { found: 9, supported: 1, .. })));
    let mut wide = sound.clone();
    wide[56] = 128;
    fs::write(&manifest, with_crc(wide)).unwrap();
    assert!(matches!(
        Database::<u64>::open(&path),
        Err(Error::Width { database: 128, requested: 64, .. } | Error::Corrupt(_))
    ));
}

/// Pages whose checksums hold, but whose content was made to mislead: every query must end with an
/// error or some answer, without a panic or a hang.
#[test]
fn hostile_pages_with_good_checksums_never_panic() {
    let home = tempfile::tempdir().unwrap();
    let (path, rows) = small(home.path(), "db", 5);
    for name in ["00000001-t0.seg", "00000001-t1.seg", "00000001.rows"] {
        let file = path.join(name);
        let sound = fs::read(&file).unwrap();
        let pages = sound.len() / 8192;
        for page in 1..pages - 2 {
            for (step, value) in [0u8, 1, 0x7f, 0x80, 0xff].into_iter().enumerate() {
                for at in (step * 3..8192).step_by(411) {
                    let mut hostile = sound.clone();
                    let start = page * 8192;
                    hostile[start + at..(start + at + 8).min(start + 8192)].fill(value);
                    let crc = crc32fast::hash(&hostile[start..start + 8192]);
                    let crcs = (pages - 2) * 8192;
                    hostile[crcs + (page - 1) * 4..][..4].copy_from_slice(&crc.to_le_bytes());
                    let crc = crc32fast::hash(&hostile[crcs..crcs + 8188]);
                    hostile[crcs + 8188..crcs + 8192].copy_from_slice(&crc.to_le_bytes());
                    fs::write(&file, &hostile).unwrap();
                    let _ = answers(&path, &rows);
                    assert!(hostile == sound || !verdict(&path).is_empty(), "{name} page {page} byte {at}");
                }
            }
        }
        fs::write(&file, &sound).unwrap();
    }
}

#[test]
fn what_is_no_database_is_told_from_what_is_a_damaged_one() {
    let home = tempfile::tempdir().unwrap();
    let missing = home.path().join("missing");
    let file = home.path().join("file");
    fs::write(&file, "text").unwrap();
    for path in [missing.as_path(), home.path(), &file] {
        assert!(matches!(Database::<u64>::open(path), Err(Error::NotADatabase { .. })), "{}", path.display());
    }
    for content in [&b""[..], b"text", &[0; 4096], &[0xff; 3 << 20]] {
        fs::write(home.path().join("MANIFEST"), content).unwrap();
        assert!(
            matches!(Database::<u64>::open(home.path()), Err(Error::Corrupt(_))),
            "{} bytes",
            content.len()
        );
    }
}

/// Opening a named pipe waited for a writer for ever; a folder was an I/O error.
#[test]
fn regression_files_that_are_no_regular_files_are_damage() {
    let home = tempfile::tempdir().unwrap();
    let (path, _) = small(home.path(), "db", 6);
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        expect_corrupt(&path, &file, "a folder");
        fs::remove_dir(&file).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&file).status().unwrap().success());
        expect_corrupt(&path, &file, "a named pipe");
        fs::remove_file(&file).unwrap();
        fs::write(&file, &sound).unwrap();
    }
}

/// One damaged end kept `verify` from looking at the other files; a long list was cut without a word.
#[test]
fn regression_verify_lists_the_damage_of_all_files() {
    let home = tempfile::tempdir().unwrap();
    let rows = rows::<u64>(Shape::Uniform, 400_000, 7);
    let path = home.path().join("db");
    build(&path, &rows, Options::new().layout("rotations:2".parse().unwrap()));
    let flip = |name: &str, at: &dyn Fn(usize) -> Vec<usize>| {
        let file = path.join(name);
        let mut bytes = fs::read(&file).unwrap();
        at(bytes.len()).into_iter().for_each(|at| bytes[at] ^= 1);
        fs::write(&file, bytes).unwrap();
    };
    flip("00000001-t0.seg", &|_| vec![100]);
    flip("00000001-t1.seg", &|len| (2..len / 8192 - 3).map(|page| page * 8192 + 5).collect());
    flip("00000001.rows", &|_| vec![8192 + 7]);
    let report = Database::<u64>::open(&path).unwrap().verify().unwrap();
    let of =
        |name: &str| report.damage.iter().filter(|damage| damage.file.ends_with(name)).collect::<Vec<_>>();
    assert_eq!(of("00000001-t0.seg")[0].section, "header");
    assert_eq!(of("00000001.rows").len(), 1);
    let listed = of("00000001-t1.seg");
    assert_eq!(listed.len(), 101);
    assert!(listed[100].found.contains("more"), "{}", listed[100]);
}

/// Bits of `lo` above those that an entry needs were not looked at by anything.
#[test]
fn regression_verify_looks_at_all_bits_of_lo() {
    let home = tempfile::tempdir().unwrap();
    let (path, _) = small(home.path(), "db", 8);
    let file = path.join("00000001-t0.seg");
    let mut bytes = fs::read(&file).unwrap();
    let footer = bytes.len() - 8192;
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (data_pages, lo, lo_len) = (number(footer + 8), number(footer + 88 + 32), number(footer + 88 + 40));
    let directory_bits = number(footer + 16 + 3 * 8);
    let width = lo_len / number(footer + 16);
    assert!(width * 8 > 32 - directory_bits, "there are bits to spare");
    bytes[lo + width - 1] |= 0x80;
    let page = lo / 8192;
    let crc = crc32fast::hash(&bytes[page * 8192..(page + 1) * 8192]);
    let crcs = (1 + data_pages) * 8192;
    bytes[crcs + (page - 1) * 4..][..4].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32fast::hash(&bytes[crcs..crcs + 8188]);
    bytes[crcs + 8188..crcs + 8192].copy_from_slice(&crc.to_le_bytes());
    fs::write(&file, bytes).unwrap();
    let damage = verdict(&path);
    assert!(damage.iter().any(|damage| damage.section == "lo"), "{damage:?}");
}
