//! Repairing damaged databases: what is saved stood in the original, and what is lost is counted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Random, Shape, build, rows};
use nearprint::{Database, Error, FindingKind, Options, RepairReport, Row};

const PAGE: usize = 8192;

type Rows = BTreeSet<Row<u64>>;

fn quick() -> Options {
    Options::new().threads(1).memory_bytes(4 << 20)
}

fn all_rows(path: &Path) -> Rows {
    let snapshot = Database::<u64>::open_with(path, quick()).unwrap().snapshot().unwrap();
    crate::common::all_rows(&snapshot).into_iter().collect()
}

fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.file_name().unwrap() != "LOCK");
    files.sort();
    files
}

/// Repairs, checks that the old database did not change, that the new one is sound and that the counts agree,
/// and gives report and rows.
fn repair(path: &Path) -> (RepairReport, Rows) {
    let contents = || files(path).iter().map(|file| fs::read(file).ok()).collect::<Vec<_>>();
    let before = (files(path), contents());
    let home = tempfile::tempdir().unwrap();
    let dest = home.path().join("saved");
    let salvage = Database::<u64>::repair(path, &dest, quick()).unwrap();
    assert!(before == (files(path), contents()), "the damaged database has changed");
    assert_eq!(dest.exists(), salvage.made);
    if !salvage.made {
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        return (salvage, Rows::new());
    }
    assert_eq!(Database::<u64>::open(&dest).unwrap().verify().unwrap().damage, []);
    let found = all_rows(&dest);
    assert_eq!(found.len() as u64, salvage.rows);
    (salvage, found)
}

fn has(salvage: &RepairReport, kind: FindingKind, file: &str) -> bool {
    salvage.findings.iter().any(|finding| finding.kind == kind && finding.file == file)
}

/// Changes a file, does something, and puts the file back.
fn with_damage<T>(file: &Path, damage: impl FnOnce(&mut Vec<u8>), work: impl FnOnce() -> T) -> T {
    let sound = fs::read(file).unwrap();
    let mut damaged = sound.clone();
    damage(&mut damaged);
    fs::write(file, damaged).unwrap();
    let result = work();
    fs::write(file, sound).unwrap();
    result
}

fn without<T>(file: &Path, work: impl FnOnce() -> T) -> T {
    let sound = fs::read(file).unwrap();
    fs::remove_file(file).unwrap();
    let result = work();
    fs::write(file, sound).unwrap();
    result
}

/// Rows of which every third fingerprint has several ids.
fn several_ids(count: usize, seed: u64) -> Vec<Row<u64>> {
    let mut random = Random(seed);
    let mut found = rows(Shape::Uniform, count, seed);
    for at in (3..count).step_by(3) {
        found[at].fingerprint = found[at - random.below(3) as usize - 1].fingerprint;
    }
    found
}

fn layout(text: &str) -> Options {
    quick().layout(text.parse().unwrap())
}

#[test]
fn a_sound_database_comes_out_the_same() {
    let home = tempfile::tempdir().unwrap();
    for (name, rows) in [
        ("several", several_ids(5000, 1)),
        ("uniform", rows(Shape::Uniform, 5000, 2)),
        ("equal", rows(Shape::Equal, 5000, 3)),
        ("none", vec![]),
    ] {
        let path = home.path().join(name);
        build(&path, &rows, layout("rotations:3").k(5));
        let (salvage, found) = repair(&path);
        assert_eq!(found, rows.into_iter().collect::<Rows>(), "{name}");
        assert_eq!((salvage.lost_rows, salvage.lost_fingerprints, salvage.recovered), (0, 0, 0));
        assert!(salvage.made && salvage.is_complete() && salvage.findings.is_empty(), "{salvage:?}");
    }
}

#[test]
fn the_new_database_is_asked_for_the_same_and_never_reuses_an_id() {
    let home = tempfile::tempdir().unwrap();
    let (path, dest) = (home.path().join("db"), home.path().join("saved"));
    let database = Database::<u64>::create(&path, layout("rotations:3").k(7)).unwrap();
    let mut writer = database.writer().unwrap();
    for fingerprint in 0..10 {
        writer.insert(fingerprint, None).unwrap();
    }
    writer.delete(9).unwrap();
    writer.close().unwrap();
    Database::<u64>::repair(&path, &dest, quick()).unwrap();
    let saved = Database::<u64>::open(&dest).unwrap();
    assert_eq!(all_rows(&dest).len(), 9);
    let stats = saved.snapshot().unwrap().stats();
    assert_eq!(stats.k, 7);
    assert_eq!(stats.layout, "rotations:3");
    assert_eq!(saved.writer().unwrap().insert(77, None).unwrap(), 10);
    let id = |path: &Path| fs::read(path.join("MANIFEST")).unwrap()[32..48].to_vec();
    assert_ne!(id(&path), id(&dest));
}

/// One bit in every page of every file.
#[test]
fn a_flipped_bit_costs_at_most_a_page_of_rows() {
    let home = tempfile::tempdir().unwrap();
    for (name, rows) in [("several", several_ids(9000, 4)), ("uniform", rows(Shape::Uniform, 6000, 5))] {
        let path = home.path().join(name);
        build(&path, &rows, layout("rotations:2"));
        let all: Rows = rows.into_iter().collect();
        let mut random = Random(6);
        let mut recovered = 0;
        for file in files(&path) {
            let len = fs::metadata(&file).unwrap().len() as usize;
            let kind = file.file_name().unwrap().to_str().unwrap();
            for page in 0..len.div_ceil(PAGE) {
                // Early in the page, where there is always content, and anywhere.
                for at in [page * PAGE + 2, page * PAGE + random.below(PAGE as u64) as usize] {
                    let flip = |bytes: &mut Vec<u8>| bytes[at.min(len - 1)] ^= 4;
                    let (salvage, found) = with_damage(&file, flip, || repair(&path));
                    let what = format!("{name} {kind} byte {at}: {salvage:?}");
                    assert!(found.is_subset(&all), "{what}");
                    assert_eq!((all.len() - found.len()) as u64, salvage.lost_rows, "{what}");
                    assert_eq!(salvage.lost_fingerprints, 0, "{what}");
                    recovered += salvage.recovered;
                    // One page of `starts` tells where all these rows begin.
                    let of_starts = page > all.len().div_ceil(2048) && page < len / PAGE - 2;
                    let most = if of_starts { all.len() as u64 } else { 2048 };
                    let of_data = kind == "00000001.rows" && (1..len / PAGE - 2).contains(&page);
                    assert!(salvage.lost_rows <= if of_data { most } else { 0 }, "{what}");
                }
            }
        }
        assert!(recovered > 1000);
    }
}

#[test]
fn rows_of_an_unreadable_page_of_ids_are_lost_and_no_others() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let all: Rows = rows(Shape::Uniform, 6000, 7).into_iter().collect();
    build(&path, &all.iter().copied().collect::<Vec<_>>(), layout("rotations:2"));
    let file = path.join("00000001.rows");
    let (salvage, found) = with_damage(&file, |bytes| bytes[2 * PAGE + 5] ^= 1, || repair(&path));
    let expected: Rows =
        all.iter().enumerate().filter(|(at, _)| at / 2048 != 1).map(|(_, row)| *row).collect();
    assert_eq!(found, expected);
    assert_eq!((salvage.rows, salvage.lost_rows), (6000 - 2048, 2048));
    assert!(!salvage.is_complete());
    assert!(has(&salvage, FindingKind::Lost, "00000001.rows"));
}

/// Rows over several pages of `starts`: with one of them gone, with its ranks, and with everything that tells
/// where to go on.
#[test]
fn rows_that_cannot_be_attributed_are_lost_and_the_others_are_right() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = several_ids(200_000, 8);
    build(&path, &rows, layout("rotations:1"));
    let all: Rows = rows.into_iter().collect();
    let file = path.join("00000001.rows");
    let ids = all.len().div_ceil(2048);
    let starts = 1 + ids;
    let pages = fs::metadata(&file).unwrap().len() as usize / PAGE;
    let (samples, ranks) = (starts + 4..pages - 3, pages - 3);
    let bad = |pages: Vec<usize>| {
        with_damage(
            &file,
            |bytes| pages.iter().for_each(|page| bytes[page * PAGE + 9] ^= 2),
            || {
                let (salvage, found) = repair(&path);
                assert!(found.is_subset(&all), "{pages:?}");
                assert_eq!((all.len() - found.len()) as u64, salvage.lost_rows, "{pages:?}");
                salvage.lost_rows
            },
        )
    };
    let per_page = 65_536;
    assert_eq!(bad(vec![starts]), per_page);
    assert_eq!(bad(vec![starts + 1, starts + 2]), 2 * per_page);
    assert_eq!(bad(vec![starts, starts + 2]), 2 * per_page);
    assert_eq!(bad(vec![starts, starts + 2, ranks]), 2 * per_page, "samples tell");
    assert_eq!(bad(samples.clone().collect()), 0, "the bits themselves tell");
    assert_eq!(bad(vec![ranks]), 0);
    let mut blind: Vec<usize> = samples.collect();
    blind.push(ranks);
    assert_eq!(bad([&blind[..], &[starts + 1]].concat()), per_page, "counted from both ends");
    assert_eq!(bad([&blind[..], &[starts, starts + 2]].concat()), 3 * per_page, "nothing tells the middle");
}

/// Where every row of the unreadable bits starts an entry, or none does, the ranks say so.
#[test]
fn ranks_tell_what_unreadable_starts_were() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let mut all = Rows::new();
    all.extend((0..70_000).map(|id| Row { fingerprint: 5, id }));
    all.extend((0..130_000).map(|id| Row { fingerprint: id << 40, id: id * 3 }));
    build(&path, &all.iter().copied().collect::<Vec<_>>(), layout("rotations:2"));
    let file = path.join("00000001.rows");
    let starts = 1 + all.len().div_ceil(2048);
    for page in 0..4 {
        let flip = |bytes: &mut Vec<u8>| bytes[(starts + page) * PAGE + 9] ^= 2;
        let (salvage, found) = with_damage(&file, flip, || repair(&path));
        assert!(found.is_subset(&all));
        assert_eq!((all.len() - found.len()) as u64, salvage.lost_rows);
        assert!(salvage.lost_rows <= 2 * 4096, "page {page}: {salvage:?}");
    }
}

#[test]
fn missing_and_cut_files_cost_what_only_they_had() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = several_ids(7000, 9);
    build(&path, &rows, layout("rotations:3"));
    let all: Rows = rows.into_iter().collect();
    let fingerprints = all.iter().map(|row| row.fingerprint).collect::<BTreeSet<_>>().len() as u64;
    let file = |name: &str| path.join(name);
    for cut in [None, Some(0), Some(1), Some(3 * PAGE)] {
        let damaged = |name: &str| match cut {
            None => without(&file(name), || repair(&path)),
            Some(len) => with_damage(&file(name), |bytes| bytes.truncate(len), || repair(&path)),
        };
        let (salvage, found) = damaged("00000001-t0.seg");
        assert_eq!((found, salvage.lost_rows), (all.clone(), 0));
        assert_eq!(salvage.recovered, fingerprints);
        let (salvage, found) = damaged("00000001-t2.seg");
        assert_eq!((found, salvage.lost_rows, salvage.recovered), (all.clone(), 0, 0));
        let (salvage, _) = damaged("00000001.rows");
        assert!(!salvage.made, "{salvage:?}");
        assert_eq!(salvage.lost_rows, all.len() as u64);
    }
    let (salvage, found) = without(&file("00000001-t0.seg"), || {
        without(&file("00000001-t1.seg"), || without(&file("00000001-t2.seg"), || repair(&path)))
    });
    assert!(!salvage.made && found.is_empty());
    assert_eq!((salvage.lost_rows, salvage.lost_fingerprints), (all.len() as u64, fingerprints));
    let longer = |bytes: &mut Vec<u8>| bytes.extend([7; 100]);
    let (salvage, found) = with_damage(&file("00000001.rows"), longer, || repair(&path));
    assert_eq!((found, salvage.lost_rows), (all.clone(), 0));
    let shorter = |bytes: &mut Vec<u8>| bytes.truncate(bytes.len() - PAGE);
    for name in ["00000001.rows", "00000001-t0.seg"] {
        let (salvage, found) = with_damage(&file(name), shorter, || repair(&path));
        assert_eq!((found, salvage.lost_rows), (all.clone(), 0), "{name} without its footer");
    }
}

/// Where two tables have lost the same fingerprints, the gap around them is lost, and nothing else.
#[test]
fn what_no_table_has_is_lost_without_a_guess() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let rows = several_ids(20_000, 10);
    build(&path, &rows, layout("rotations:2"));
    let all: Rows = rows.into_iter().collect();
    let (natural, other) = (path.join("00000001-t0.seg"), path.join("00000001-t1.seg"));
    let (mut kept, mut gone) = (0, 0);
    for page in 2..10 {
        let flip = |bytes: &mut Vec<u8>| bytes[page * PAGE + 50] ^= 0x10;
        let flip_other = |bytes: &mut Vec<u8>| bytes[(11 - page) * PAGE + 60] ^= 0x20;
        let (salvage, found) =
            with_damage(&natural, flip, || with_damage(&other, flip_other, || repair(&path)));
        assert!(found.is_subset(&all));
        assert_eq!((all.len() - found.len()) as u64, salvage.lost_rows);
        assert!(salvage.lost_fingerprints > 0 && salvage.lost_fingerprints <= 4096, "{salvage:?}");
        kept += salvage.recovered;
        gone += salvage.lost_fingerprints;
    }
    assert!(kept > 0 && gone > 0);
}

/// Several runs, tombstones and a log that a crash has left. Gives the rows that stand, and all that ever did.
fn with_a_writer(path: &Path) -> (Rows, Rows) {
    // So far apart every query is a scan, and no merge makes it cheaper.
    let options = layout("rotations:2").k(20).memtable_rows(100_000);
    Database::<u64>::create(path, options.clone()).unwrap();
    let database = Database::<u64>::open_with(path, options.background_merges(false)).unwrap();
    let mut writer = database.writer().unwrap();
    let (mut standing, mut ever) = (Rows::new(), Rows::new());
    let mut random = Random(11);
    for (round, count) in [12_000u64, 3000, 700].into_iter().enumerate() {
        for id in round as u64 * 9000..round as u64 * 9000 + count {
            if round > 0 && id % 3 == 0 {
                let gone = random.below(12_000);
                writer.delete(gone).unwrap();
                standing.retain(|row| row.id != gone);
            }
            let row = Row { fingerprint: random.next(), id };
            writer.insert(row.fingerprint, Some(id)).unwrap();
            standing.insert(row);
            ever.insert(row);
        }
        writer.flush().unwrap();
    }
    for commit in 0..5 {
        for id in 50_000 + commit * 10..50_000 + commit * 10 + 10 {
            let row = Row { fingerprint: random.next(), id };
            writer.insert(row.fingerprint, Some(id)).unwrap();
            standing.insert(row);
            ever.insert(row);
        }
        writer.delete(commit).unwrap();
        standing.retain(|row| row.id != commit);
        writer.commit().unwrap();
    }
    (standing, ever)
}

#[test]
fn several_runs_tombstones_and_a_log_survive_flipped_bits() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let (standing, ever) = with_a_writer(&path);
    assert_eq!(all_rows(&path), standing);
    let (salvage, found) = repair(&path);
    assert_eq!(found, standing);
    assert!(salvage.findings.is_empty(), "{salvage:?}");
    let kinds: Vec<String> =
        files(&path).iter().map(|file| file.file_name().unwrap().to_str().unwrap().into()).collect();
    assert_eq!(kinds.iter().filter(|name| name.ends_with(".dels")).count(), 2, "{kinds:?}");
    for (file, name) in files(&path).into_iter().zip(kinds) {
        let len = fs::metadata(&file).unwrap().len() as usize;
        for page in 0..len.div_ceil(PAGE) {
            let at = page * PAGE + 6;
            let (salvage, found) = with_damage(&file, |bytes| bytes[at] ^= 8, || repair(&path));
            let what = format!("{name} page {page}: {salvage:?}");
            assert!(found.is_subset(&ever), "{what}");
            match name.rsplit('.').next().unwrap() {
                "rows" => {
                    assert!(found.is_subset(&standing), "{what}");
                    assert!((standing.len() - found.len()) as u64 <= salvage.lost_rows, "{what}");
                }
                "dels" => {
                    assert!(found.is_superset(&standing), "{what}");
                    assert_eq!(found != standing, has(&salvage, FindingKind::Note, &name), "{what}");
                }
                "seg" => assert_eq!(found, standing, "{what}"),
                "log" => assert_eq!(found, standing, "{what}"),
                _ => assert!(found.is_superset(&standing), "{what}"),
            }
        }
    }
}

fn log_of(path: &Path) -> PathBuf {
    files(path).into_iter().find(|file| file.extension().is_some_and(|kind| kind == "log")).unwrap()
}

#[test]
fn a_log_is_read_on_behind_damage() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let (standing, ever) = with_a_writer(&path);
    let log = log_of(&path);
    let name = log.file_name().unwrap().to_str().unwrap().to_string();
    let in_log = |commit: u64| {
        move |row: &Row<u64>| (50_000..50_050).contains(&row.id) && (row.id - 50_000) / 10 == commit
    };
    let len = fs::metadata(&log).unwrap().len() as usize;
    let frame = (len - 64) / 5;
    for commit in 0..5 {
        for within in [0, 4, 9, 24, 60, frame - 1] {
            let at = 64 + commit * frame + within;
            let (salvage, found) = with_damage(&log, |bytes| bytes[at] ^= 1, || repair(&path));
            assert!(found.is_subset(&ever));
            let lost: Rows = standing.difference(&found).copied().collect();
            assert!(
                lost.iter().all(in_log(commit as u64)) && lost.len() == 10,
                "{commit} {within}: {salvage:?}"
            );
            let back: Vec<u64> = found.difference(&standing).map(|row| row.id).collect();
            assert!(back.iter().all(|&id| id == commit as u64), "{back:?}");
            // A bad last frame is what a crash leaves.
            assert_eq!(has(&salvage, FindingKind::Lost, &name), commit < 4, "{salvage:?}");
        }
    }
    for cut in 0..frame {
        let (salvage, found) = with_damage(&log, |bytes| bytes.truncate(len - cut), || repair(&path));
        assert!(salvage.is_complete(), "a torn tail is no loss");
        assert_eq!(standing.difference(&found).count(), if cut == 0 { 0 } else { 10 });
        if cut > 50 {
            break;
        }
    }
    let (salvage, _) = without(&log, || repair(&path));
    assert!(has(&salvage, FindingKind::Lost, &name));
    let broken = |bytes: &mut Vec<u8>| {
        bytes[3] ^= 1;
        bytes[64 + 2 * frame + 30] ^= 1;
    };
    let (salvage, found) = with_damage(&log, broken, || repair(&path));
    assert_eq!(standing.difference(&found).count(), 30, "{salvage:?}");
    assert!(has(&salvage, FindingKind::Lost, &name));
}

#[test]
fn without_a_manifest_the_files_tell() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    let (standing, ever) = with_a_writer(&path);
    let manifest = path.join("MANIFEST");
    for damage in [None, Some(0), Some(100)] {
        let (salvage, found) = match damage {
            None => without(&manifest, || repair(&path)),
            Some(len) => with_damage(&manifest, |bytes| bytes.truncate(len), || repair(&path)),
        };
        assert!(found.is_subset(&ever) && found.is_superset(&standing), "{damage:?}");
        assert!(found.len() > standing.len(), "deleted rows have come back");
        assert!(has(&salvage, FindingKind::Note, "MANIFEST"));
        assert_eq!(salvage.lost_rows, 0);
    }
    fs::remove_file(&manifest).unwrap();
    let natural = path.join("00000001-t0.seg");
    let (salvage, found) = with_damage(&natural, |bytes| bytes[3 * PAGE] ^= 1, || repair(&path));
    assert!(found.is_subset(&ever));
    assert!(salvage.lost_rows > 0 && salvage.recovered == 0, "only table 0 is used: {salvage:?}");
    // Files of another database do not count.
    let other = home.path().join("other");
    build(&other, &rows::<u64>(Shape::Uniform, 500, 12), quick());
    for name in ["00000001-t0.seg", "00000001.rows"] {
        fs::copy(other.join(name), path.join(name.replace("00000001", "00000077"))).unwrap();
    }
    let (salvage, found) = repair(&path);
    assert!(found.is_subset(&ever) && has(&salvage, FindingKind::Lost, "00000077-t0.seg"));
}

#[test]
fn what_is_no_database_and_what_stands_in_the_way_is_told() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    build(&path, &rows::<u64>(Shape::Uniform, 100, 13), quick());
    let empty = home.path().join("empty");
    fs::create_dir(&empty).unwrap();
    fs::write(home.path().join("file"), "text").unwrap();
    let repair = |path: &Path, dest: &Path| Database::<u64>::repair(path, dest, quick());
    for name in ["empty", "missing", "file"] {
        let result = repair(&home.path().join(name), &home.path().join("new"));
        assert!(matches!(result, Err(Error::NotADatabase { .. })), "{name}: {result:?}");
    }
    assert!(matches!(repair(&path, &path), Err(Error::AlreadyExists { .. })));
    assert!(matches!(repair(&path, &home.path().join("file")), Err(Error::AlreadyExists { .. })));
    assert!(matches!(repair(&path, &path.join("new")), Err(Error::Option(_))));
    let newer = |bytes: &mut Vec<u8>| {
        bytes[8] = 9;
        let body = bytes.len() - 4;
        let crc = crc32fast::hash(&bytes[..body]);
        bytes[body..].copy_from_slice(&crc.to_le_bytes());
    };
    let result = with_damage(&path.join("MANIFEST"), newer, || repair(&path, &home.path().join("new")));
    assert!(matches!(result, Err(Error::NewerVersion { found: 9, .. })));
    assert!(!home.path().join("new").exists());
}

/// Pages made to mislead, with checksums that hold: an end of some kind, without a panic or a hang.
#[test]
fn hostile_pages_with_good_checksums_never_panic() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("db");
    build(&path, &several_ids(3000, 14), layout("rotations:2"));
    let mut random = Random(15);
    for name in ["00000001-t0.seg", "00000001-t1.seg", "00000001.rows"] {
        let file = path.join(name);
        let pages = fs::metadata(&file).unwrap().len() as usize / PAGE;
        for page in 1..pages - 2 {
            for value in [0u8, 1, 0x80, 0xff] {
                let at = random.below(PAGE as u64 / 8) as usize * 4;
                let hostile = |bytes: &mut Vec<u8>| {
                    let start = page * PAGE;
                    bytes[start + at..(start + at + 16).min(start + PAGE)].fill(value);
                    let crc = crc32fast::hash(&bytes[start..start + PAGE]);
                    let crcs = (pages - 2) * PAGE;
                    bytes[crcs + (page - 1) * 4..][..4].copy_from_slice(&crc.to_le_bytes());
                    let crc = crc32fast::hash(&bytes[crcs..crcs + PAGE - 4]);
                    bytes[crcs + PAGE - 4..crcs + PAGE].copy_from_slice(&crc.to_le_bytes());
                    // And one that is plainly damaged, so that the counts are needed.
                    bytes[(page % (pages - 3) + 1) * PAGE + 3] ^= u8::from(value > 1);
                };
                with_damage(&file, hostile, || repair(&path));
            }
        }
    }
}

/// A manifest that speaks of more than there is.
#[test]
fn a_hostile_manifest_costs_no_time_and_no_memory() {
    let home = tempfile::tempdir().unwrap();
    let plain = home.path().join("plain");
    build(&plain, &several_ids(3000, 16), layout("rotations:2"));
    let written = home.path().join("written");
    with_a_writer(&written);
    for (path, step) in [(plain, 4), (written, 12)] {
        let len = fs::read(path.join("MANIFEST")).unwrap().len();
        for (at, value) in (24..len - 4).step_by(step).flat_map(|at| [(at, 0x10), (at, 0xff)]) {
            let hostile = |bytes: &mut Vec<u8>| {
                bytes[at + 2..at + 4].fill(value);
                let crc = crc32fast::hash(&bytes[..len - 4]);
                bytes[len - 4..].copy_from_slice(&crc.to_le_bytes());
            };
            let dest = home.path().join("saved");
            let work = || Database::<u64>::repair(&path, &dest, quick());
            let made = with_damage(&path.join("MANIFEST"), hostile, work).is_ok_and(|salvage| salvage.made);
            assert_eq!(dest.exists(), made, "byte {at}");
            if made {
                fs::remove_dir_all(&dest).unwrap();
            }
        }
    }
}
