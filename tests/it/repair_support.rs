//! What the tests of repair share.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::common::{Random, by_width, files, folder_in_memory, layout, open_on};
use nearprint::{Database, FindingKind, Fingerprint, Options, RepairReport, Row, Schema};

pub const PAGE: usize = 8192;

pub type Rows<F> = BTreeSet<Row<F>>;

pub fn quick() -> Options {
    Options::new().threads(1).memory_bytes(4 << 20)
}

/// A layout whose tables together have all bits of a fingerprint: tables of wide ones hold 104 bits
/// each.
pub fn complete_layout<F: Fingerprint>() -> &'static str {
    by_width::<F, _>("rotations:2", "rotations:4", "rotations:4")
}

pub fn all_rows<F: Fingerprint>(path: &Path) -> Rows<F> {
    crate::common::all_rows(&open_on(path, 1)).into_iter().collect()
}

/// Repairs, checks that the old database did not change, that the new one is sound and that the
/// counts agree. Returns the report and the rows.
pub fn repair<F: Fingerprint>(path: &Path) -> (RepairReport, Rows<F>) {
    let contents = || files(path).iter().map(|file| fs::read(file).ok()).collect::<Vec<_>>();
    let before = (files(path), contents());
    let home = folder_in_memory();
    let dest = home.path().join("saved");
    let report = quick().repair::<F>(path, &dest, &Schema::new()).unwrap();
    assert!(before == (files(path), contents()), "the damaged database has changed");
    assert_eq!(dest.exists(), report.made);
    if !report.made {
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
        return (report, Rows::new());
    }
    assert_eq!(Database::<F>::open(&dest).unwrap().verify().unwrap().damage, []);
    let found = all_rows(&dest);
    assert_eq!(found.len() as u64, report.rows);
    (report, found)
}

pub fn has(report: &RepairReport, kind: FindingKind, file: &str) -> bool {
    report.findings.iter().any(|finding| finding.kind == kind && finding.file == file)
}

/// Changes a file, does something, and puts the file back.
pub fn with_damage<T>(file: &Path, damage: impl FnOnce(&mut Vec<u8>), work: impl FnOnce() -> T) -> T {
    let sound = fs::read(file).unwrap();
    let mut damaged = sound.clone();
    damage(&mut damaged);
    fs::write(file, damaged).unwrap();
    let result = work();
    fs::write(file, sound).unwrap();
    result
}

/// Removes a file, does something, and puts the file back.
pub fn without<T>(file: &Path, work: impl FnOnce() -> T) -> T {
    let sound = fs::read(file).unwrap();
    fs::remove_file(file).unwrap();
    let result = work();
    fs::write(file, sound).unwrap();
    result
}

/// Several runs, tombstones and a log that a crash has left. Returns the live rows, and all that
/// ever were.
pub fn with_a_writer<F: Fingerprint>(path: &Path) -> (Rows<F>, Rows<F>) {
    // At such a k every query is a scan, and no merge makes it cheaper.
    let schema = layout(complete_layout::<F>()).k(F::BITS / 3);
    let options = quick().memtable_rows(100_000).background_merges(false);
    let database = options.create::<F>(path, &schema).unwrap();
    let mut writer = database.writer().unwrap();
    let (mut live, mut ever) = (Rows::new(), Rows::new());
    let mut random = Random(11);
    for (round, count) in [12_000u64, 3000, 700].into_iter().enumerate() {
        for id in round as u64 * 9000..round as u64 * 9000 + count {
            if round > 0 && id % 3 == 0 {
                let gone = random.below(12_000);
                writer.delete(gone).unwrap();
                live.retain(|row| row.id != gone);
            }
            let row = Row { fingerprint: random.value(), id };
            writer.insert(Row { fingerprint: row.fingerprint, id }).unwrap();
            live.insert(row);
            ever.insert(row);
        }
        writer.flush().unwrap();
    }
    for commit in 0..5 {
        for id in 50_000 + commit * 10..50_000 + commit * 10 + 10 {
            let row = Row { fingerprint: random.value(), id };
            writer.insert(Row { fingerprint: row.fingerprint, id }).unwrap();
            live.insert(row);
            ever.insert(row);
        }
        writer.delete(commit).unwrap();
        live.retain(|row| row.id != commit);
        writer.commit().unwrap();
    }
    (live, ever)
}
