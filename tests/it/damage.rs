//! Damaged, foreign and missing files: a named error or the exact answer, never anything else.

use std::fs;
use std::path::{Path, PathBuf};

use crate::forge::forge;
use nearprint::{Corruption, Database, Error, Fingerprint, Options, Row, Schema};
use testkit::files::make_pipe;
use testkit::{
    Shape, all_rows, bit, build, files, folder_in_memory, for_each_width, insert_all, layout, open_on, rows,
    several_ids, short_or_full,
};

for_each_width!(
    flipped_bits_are_reported_and_never_change_an_answer,
    cut_extended_missing_and_swapped_files_are_named,
    zeroed_and_swapped_pages_are_named,
    hostile_pages_with_good_checksums_are_noticed_and_never_panic,
    merges_of_forged_tables_are_errors_or_sound,
);

const PAGE: usize = 8192;
/// How far bytes are apart that short forms change: in manifests, in other files, and in pages of forged files. Wine
/// takes long to open files.
const SHORT_STEPS: [usize; 3] = if cfg!(windows) { [7, 307, 8191] } else { [1, 31, 2047] };

fn small<F: Fingerprint>(home: &Path, name: &str, seed: u64) -> (PathBuf, Vec<Row<F>>) {
    let rows = rows(Shape::Equal, 700, seed);
    let path = home.join(name);
    build(&path, &rows, layout("rotations:2"));
    (path, rows)
}

/// Every kind of answer: queries through each table, all rows, pairs, clusters.
fn answers<F: Fingerprint>(path: &Path, rows: &[Row<F>]) -> Result<Vec<String>, Error> {
    let snapshot = Options::new().threads(1).open::<F>(path)?.snapshot()?;
    let k = F::BITS / 21;
    let mut answers = Vec::new();
    for row in rows.iter().step_by(60) {
        for place in [0, F::BITS / 2, F::BITS - 1] {
            answers.push(format!("{:?}", snapshot.query(row.fingerprint ^ bit(place), 1)?));
        }
    }
    answers.push(format!("{:?}", snapshot.rows()?.collect::<Result<Vec<_>, _>>()?));
    snapshot.visit_pairs(k, |block| {
        answers.push(format!("{block:?}"));
        Ok::<(), Error>(())
    })?;
    snapshot.visit_clusters(k, |cluster| {
        answers.push(format!("{cluster:?}"));
        Ok::<(), Error>(())
    })?;
    Ok(answers)
}

/// What `verify` reports: the damage it lists, or the damage that keeps a snapshot from being
/// taken.
fn verdict<F: Fingerprint>(path: &Path) -> Vec<Corruption> {
    let database = Options::new().threads(1).open::<F>(path);
    let verified = database.and_then(|database| database.snapshot()).and_then(|s| s.verify());
    match verified {
        Ok(report) => report.damage,
        Err(Error::Corrupt(damage)) => vec![*damage],
        Err(other) => panic!("{other}"),
    }
}

/// Flips one bit of the bytes that are not zero, every bit of the manifest, and bits of some of the
/// zeros; checks each with `verify` and some with queries. Of the larger files every 7th byte, in short
/// form fewer: `testing/flips.rs` has all of them.
fn flipped_bits_are_reported_and_never_change_an_answer<F: Fingerprint>() {
    let home = folder_in_memory();
    let (path, rows) = small::<F>(home.path(), "db", 1);
    let expected = answers(&path, &rows).unwrap();
    let mut tried = 0u32;
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        let is_small = sound.len() < 1000;
        let step = if is_small { short_or_full(SHORT_STEPS[0], 1) } else { short_or_full(SHORT_STEPS[1], 7) };
        for at in (0..sound.len()).step_by(step) {
            let padding = sound[at] == 0 && at % 97 != 0;
            for bit in 0..8 {
                if padding || (tried % 8 != bit && !is_small) {
                    tried += u32::from(!padding);
                    continue;
                }
                tried += 1;
                let mut damaged = sound.clone();
                damaged[at] ^= 1 << bit;
                fs::write(&file, &damaged).unwrap();
                let damage = verdict::<F>(&path);
                assert!(!damage.is_empty(), "{} byte {at} bit {bit}", file.display());
                assert!(damage.iter().any(|damage| damage.file == file), "{damage:?}");
                let page = (at / PAGE * PAGE) as u64;
                let near =
                    |damage: &Corruption| (page..page + PAGE as u64).contains(&damage.offset) || is_small;
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
    assert!(tried > short_or_full(if cfg!(windows) { 200 } else { 2000 }, 5000), "only {tried} bits");
    assert_eq!(answers(&path, &rows).unwrap(), expected);
}

fn expect_corrupt<F: Fingerprint>(path: &Path, file: &Path, what: &str) {
    match Database::<F>::open(path).and_then(|database| database.snapshot()) {
        Err(Error::Corrupt(damage)) => assert_eq!(damage.file, file, "{what}: {damage}"),
        other => panic!("{what}: {other:?}"),
    }
}

fn cut_extended_missing_and_swapped_files_are_named<F: Fingerprint>() {
    let home = folder_in_memory();
    let (path, _) = small::<F>(home.path(), "db", 1);
    let (other, _) = small::<F>(home.path(), "other", 2);
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        let name = file.file_name().unwrap();
        for len in [0, 1, 100, PAGE, sound.len() / 2, sound.len() - PAGE.min(sound.len()), sound.len() - 1] {
            fs::write(&file, &sound[..len.min(sound.len() - 1)]).unwrap();
            expect_corrupt::<F>(&path, &file, &format!("cut to {len}"));
        }
        let mut longer = sound.clone();
        longer.extend_from_slice(&[0; PAGE]);
        fs::write(&file, &longer).unwrap();
        expect_corrupt::<F>(&path, &file, "extended");
        if name != "MANIFEST" {
            fs::remove_file(&file).unwrap();
            expect_corrupt::<F>(&path, &file, "missing");
            fs::copy(other.join(name), &file).unwrap();
            expect_corrupt::<F>(&path, &file, "of another database");
        }
        fs::write(&file, &sound).unwrap();
    }
    let (first, second) = (path.join("00000001-t0.seg"), path.join("00000001-t1.seg"));
    let sound = fs::read(&first).unwrap();
    fs::copy(&second, &first).unwrap();
    expect_corrupt::<F>(&path, &first, "another table");
    fs::write(&first, sound).unwrap();
    let manifest = path.join("MANIFEST");
    fs::remove_file(&manifest).unwrap();
    expect_corrupt::<F>(&path, &manifest, "missing");
    fs::write(path.join("NEARPRINT-FOLDER"), "").unwrap();
    assert!(matches!(Database::<F>::open(&path), Err(Error::NotADatabase { .. })), "being prepared");
}

fn zeroed_and_swapped_pages_are_named<F: Fingerprint>() {
    let home = folder_in_memory();
    let (path, rows) = small::<F>(home.path(), "db", 3);
    let expected = answers(&path, &rows).unwrap();
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        let pages = sound.len() / PAGE;
        for page in 0..pages {
            let mut zeroed = sound.clone();
            zeroed[page * PAGE..(page + 1) * PAGE].fill(0);
            let mut swapped = sound.clone();
            let (a, b) = (page * PAGE, (page + 1) % pages * PAGE);
            (0..PAGE).for_each(|i| swapped.swap(a + i, b + i));
            for damaged in [zeroed, swapped] {
                fs::write(&file, &damaged).unwrap();
                let damage = verdict::<F>(&path);
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

/// Pages with misleading content and sound checksums: an error or some answer, without a panic or a
/// hang. `verify` reports them, and repairs end.
fn hostile_pages_with_good_checksums_are_noticed_and_never_panic<F: Fingerprint>() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let rows = several_ids::<F>(Shape::Skewed, 700, 5);
    build(&path, &rows, layout("rotations:2"));
    let quick = || Options::new().threads(1).memory_bytes(4 << 20);
    let mut sound_answers = 0;
    for name in ["00000001-t0.seg", "00000001-t1.seg", "00000001.rows"] {
        let file = path.join(name);
        let sound = fs::read(&file).unwrap();
        for page in 1..sound.len() / PAGE - 2 {
            for (step, value) in [0u8, 1, 0x7f, 0x80, 0xff].into_iter().enumerate() {
                for at in (step * 3..PAGE).step_by(short_or_full(SHORT_STEPS[2], 411)) {
                    let start = page * PAGE;
                    let changed = start + at..(start + at + 8).min(start + PAGE);
                    let _restored = forge(&path, name, |bytes| bytes[changed].fill(value));
                    let hostile = fs::read(&file).unwrap();
                    sound_answers += u32::from(answers(&path, &rows).is_ok());
                    let is_noticed = hostile == sound || !verdict::<F>(&path).is_empty();
                    assert!(is_noticed, "{name} page {page} byte {at}");
                    let dest = home.path().join("saved");
                    let report = quick().repair::<F>(&path, &dest, &Schema::new()).unwrap();
                    assert_eq!(report.made, dest.exists());
                    if report.made {
                        let saved = open_on::<F>(&dest, 1);
                        assert_eq!(saved.verify().unwrap().damage, []);
                        assert_eq!(all_rows(&saved).len() as u64, report.rows);
                        drop(saved);
                        fs::remove_dir_all(dest).unwrap();
                    }
                }
            }
        }
    }
    assert!(sound_answers > 0, "padding misleads nobody");
}

fn with_crc(mut bytes: Vec<u8>) -> Vec<u8> {
    let body = bytes.len() - 4;
    let crc = crc32fast::hash(&bytes[..body]);
    bytes[body..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

#[test]
fn newer_versions_and_other_widths_have_errors_of_their_own() {
    let home = folder_in_memory();
    let (path, _) = small::<u64>(home.path(), "db", 4);
    let manifest = path.join("MANIFEST");
    let sound = fs::read(&manifest).unwrap();
    let mut newer = sound.clone();
    newer[8] = 9;
    fs::write(&manifest, with_crc(newer)).unwrap();
    assert!(matches!(Database::<u64>::open(&path), Err(Error::NewerVersion { found: 9, supported: 1, .. })));
    let mut wide = sound.clone();
    wide[64] = 128;
    fs::write(&manifest, with_crc(wide)).unwrap();
    assert!(matches!(
        Database::<u64>::open(&path),
        Err(Error::Width { database: 128, requested: 64, .. } | Error::Corrupt(_))
    ));
}

#[test]
fn what_is_no_database_is_told_from_what_is_a_damaged_one() {
    let home = folder_in_memory();
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
    let home = folder_in_memory();
    let (path, _) = small::<u64>(home.path(), "db", 6);
    for file in files(&path) {
        let sound = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        expect_corrupt::<u64>(&path, &file, "a folder");
        fs::remove_dir(&file).unwrap();
        // Windows has no named pipes among files.
        if cfg!(unix) {
            make_pipe(&file);
            expect_corrupt::<u64>(&path, &file, "a named pipe");
            fs::remove_file(&file).unwrap();
        }
        fs::write(&file, &sound).unwrap();
    }
}

/// One damaged end kept `verify` from looking at the other files; a long list was cut without a
/// word.
#[test]
fn regression_verify_lists_the_damage_of_all_files() {
    let home = folder_in_memory();
    let rows = rows::<u64>(Shape::Uniform, 400_000, 7);
    let path = home.path().join("db");
    build(&path, &rows, layout("rotations:2"));
    let flip = |name: &str, at: &dyn Fn(usize) -> Vec<usize>| {
        let file = path.join(name);
        let mut bytes = fs::read(&file).unwrap();
        at(bytes.len()).into_iter().for_each(|at| bytes[at] ^= 1);
        fs::write(&file, bytes).unwrap();
    };
    flip("00000001-t0.seg", &|_| vec![100]);
    flip("00000001-t1.seg", &|len| (2..len / PAGE - 3).map(|page| page * PAGE + 5).collect());
    flip("00000001.rows", &|_| vec![PAGE + 7]);
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
    let home = folder_in_memory();
    let (path, _) = small::<u64>(home.path(), "db", 8);
    let file = path.join("00000001-t0.seg");
    let bytes = fs::read(&file).unwrap();
    let footer = bytes.len() - PAGE;
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let (lo, lo_len) = (number(footer + 96 + 32), number(footer + 96 + 40));
    let directory_bits = number(footer + 24 + 3 * 8);
    let width = lo_len / number(footer + 24);
    assert!(width * 8 > 32 - directory_bits, "there are bits to spare");
    let _restored = forge(&path, "00000001-t0.seg", |bytes| bytes[lo + width - 1] |= 0x80);
    let damage = verdict::<u64>(&path);
    assert!(damage.iter().any(|damage| damage.section == "lo"), "{damage:?}");
}

/// Each bad page is in one part, whatever the number of parts, and all parts together read everything once.
#[test]
fn each_damaged_page_is_in_one_part() {
    let home = folder_in_memory();
    let (path, _) = small::<u64>(home.path(), "db", 1);
    let database = Database::<u64>::open(&path).unwrap();
    let parts = |parts: u64| -> Vec<_> {
        (1..=parts).map(|part| database.verify_part(part, parts).unwrap()).collect()
    };
    let mut pages = 0;
    for file in files(&path).into_iter().filter(|file| fs::metadata(file).unwrap().len() > 1000) {
        let sound = fs::read(&file).unwrap();
        // Without the header, the page of checksums and the footer.
        for page in 1..sound.len() / PAGE - 2 {
            let mut bad = sound.clone();
            bad[page * PAGE + 17] ^= 4;
            fs::write(&file, bad).unwrap();
            for count in [1, 3, 24] {
                let found: Vec<Corruption> = parts(count).into_iter().flat_map(|part| part.damage).collect();
                assert_eq!(found.len(), 1, "{count}: {found:?}");
                assert_eq!((&found[0].file, found[0].offset), (&file, (page * PAGE) as u64));
            }
            pages += 1;
        }
        fs::write(&file, sound).unwrap();
    }
    let manifest = parts(1)[0].bytes - pages * PAGE as u64;
    let read: u64 = parts(5).iter().map(|part| part.bytes - manifest).sum();
    assert_eq!(read, pages * PAGE as u64);
    assert!(pages > 8 && parts(7).iter().all(|part| part.damage.is_empty()));
    assert!(matches!(database.verify_part(0, 3), Err(Error::Limit(_))));
    assert!(matches!(database.verify_part(4, 3), Err(Error::Limit(_))));
    fs::remove_file(files(&path).iter().find(|file| file.ends_with("00000001.rows")).unwrap()).unwrap();
    assert!(parts(4).iter().all(|part| part.damage.len() == 1), "a missing file is noticed by each");
}

/// One bit of a table with good checksums: what is merged of it is sound, or nothing is.
fn merges_of_forged_tables_are_errors_or_sound<F: Fingerprint>() {
    let home = folder_in_memory();
    let at = |name: &str| home.path().join(name);
    let options = || Options::new().memtable_rows(500).merges(false).background_merges(false).threads(1);
    let database = options().create::<F>(at("db"), &layout("rotations:4")).unwrap();
    let mut writer = database.writer().unwrap();
    let rows = rows::<F>(Shape::Equal, 1400, 77);
    for part in rows.chunks(700) {
        insert_all(&mut writer, part).unwrap();
        writer.flush().unwrap();
    }
    drop(writer);
    let table = files(&at("db")).into_iter().find(|file| file.to_string_lossy().contains("-t2")).unwrap();
    let name = table.file_name().unwrap().to_str().unwrap();
    // All data pages, without the header, the checksums and the footer.
    let len = fs::metadata(&table).unwrap().len() as usize;
    let mut errors = 0;
    for place in (PAGE..len - 2 * PAGE).step_by(SHORT_STEPS[2] / 3) {
        fs::create_dir(at("copy")).unwrap();
        for file in files(&at("db")) {
            fs::copy(&file, at("copy").join(file.file_name().unwrap())).unwrap();
        }
        std::mem::forget(forge(&at("copy"), name, |bytes| bytes[place] ^= 1));
        let copy = options().open::<F>(at("copy")).unwrap();
        let merged = copy.writer().and_then(|mut writer| writer.compact());
        match merged {
            Err(error) => {
                assert!(matches!(error, Error::Corrupt(_)), "{place}: {error}");
                errors += 1;
            }
            Ok(()) => assert_eq!(copy.snapshot().unwrap().verify().unwrap().damage, [], "{place}"),
        }
        drop(copy);
        fs::remove_dir_all(at("copy")).unwrap();
    }
    // Tables of wide fingerprints are made again.
    assert_eq!(errors > 0, F::BITS == 64, "{errors} errors");
}
