//! Databases with forged files: their content is invalid, and their checksums are correct.

use std::sync::{Arc, OnceLock};

use super::files::{Files, NewRun, put};
use super::input::Input;
use super::manifests::reseal;
use super::oracle::{Rows, compare, rows_in_order};
use super::{log, options::options};
use crate::fingerprint::mix64;
use crate::format::wal::{HEADER_BYTES, Operation};
use crate::storage::{Storage, names};
use crate::testing::simulated::SimulatedDisk;
use crate::{Query, Result, Row, Schema, Snapshot, Writer};

/// The most changes to a database.
const MOST_EDITS: usize = 8;

/// Rows in a few groups of similar fingerprints, with `per_value` rows per fingerprint.
fn some_rows(count: u64, per_value: u64, seed: u64) -> Vec<Row<u64>> {
    let value = |i: u64| mix64(i / 8 + seed) ^ (mix64(i) & mix64(i + 1) & mix64(i + 2) & mix64(i + 3));
    (0..count).map(|i| Row { fingerprint: value(i / per_value), id: i * 7 % 1000 + seed }).collect()
}

fn run(layout: &'static str, rows: Vec<Row<u64>>, deleted: &[u64]) -> NewRun {
    NewRun { layout: layout.into(), rows, deleted: deleted.to_vec() }
}

/// The databases to change, built once.
struct Bases {
    /// Of one run each.
    single: Vec<Files>,
    /// Of several runs.
    several: Vec<Files>,
}

fn bases() -> &'static Bases {
    static BASES: OnceLock<Bases> = OnceLock::new();
    BASES.get_or_init(|| make_bases().expect("sound databases are made without an error"))
}

fn make_bases() -> Result<Bases> {
    let schema = Schema::new().k(1);
    let one = |layout, rows: Vec<Row<u64>>| Files::build(&schema, &[run(layout, rows, &[])], &[]);
    let wide = some_rows(60, 2, 4).into_iter().map(|row| Row { id: row.id << 54, ..row }).collect();
    let single = vec![
        one("rotations:1", some_rows(40, 1, 0))?,
        one("rotations:2", some_rows(700, 1, 1))?,
        one("rotations:4", some_rows(150, 2, 2))?,
        one("blocks:3,2", wide)?,
        // Few fingerprints of very many rows, which need ranks.
        one("rotations:1", (0..9000).map(|i| Row { fingerprint: i / 4000, id: i }).collect())?,
        // Long chains of samples.
        one("rotations:1", some_rows(1400, 1, 3).into_iter().chain(some_rows(90, 90, 9)).collect())?,
    ];
    let logged = |id| Operation::Insert { row: Row { fingerprint: id, id }, automatic: id > 4 };
    let three = |layouts: [&'static str; 3]| {
        [
            run(layouts[0], some_rows(120, 1, 0), &[]),
            run(layouts[1], some_rows(60, 2, 1), &[3, 5, 14, 700]),
            run(layouts[2], some_rows(30, 1, 0), &[0, 7, 21, 40]),
        ]
    };
    let dels_only = [run("rotations:2", some_rows(30, 3, 0), &[]), run("rotations:2", vec![], &[7, 14])];
    let several = vec![
        Files::build(&schema, &three(["rotations:2"; 3]), &[])?,
        Files::build(&schema, &three(["rotations:1", "rotations:2", "rotations:1"]), &[])?,
        Files::build(&schema, &three(["blocks:3,2"; 3]), &[])?,
        Files::build(&schema, &dels_only, &[logged(1), Operation::Delete(14), logged(9)])?,
    ];
    Ok(Bases { single, several })
}

/// Changes bytes in the files of one run. Opening and querying may return errors or any answer. If
/// verification finds no damage, answers must be exact.
pub(super) fn segment_open_query(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let base = input.pick(&[0, 0, 1, 2, 3, 4, 5]);
    let (mode, questions) = (input.byte(), input.array::<24>());
    let mut files = bases().single[base].clone();
    let names = files.of_runs(None);
    files.edit(&names, &mut input, MOST_EDITS);
    files.repair(mode);
    let storage: Arc<dyn Storage> = Arc::new(files.disk());
    if let Ok(snapshot) = Snapshot::<u64>::open(&storage, &options(), None) {
        let _ = query_all(&snapshot, &mut Input::new(&questions));
        compare_if_sound(&snapshot, &mut Input::new(&questions));
    }
}

/// Runs some of all kinds of queries.
fn query_all(snapshot: &Snapshot<u64>, input: &mut Input<'_>) -> Result<()> {
    let kinds = input.u16();
    let (k, base) = (input.k(), input.u16());
    let query = mix64(u64::from(base >> 3)) ^ u64::from(base & 7);
    // An error of one query does not end the others.
    let first = rows_in_order(snapshot).ok().and_then(|rows| rows.get(usize::from(base) % 64).copied());
    let query = first.filter(|_| kinds & 1 == 1).map_or(query, |row| row.fingerprint);
    let _ = snapshot.query(query, k);
    let _ = snapshot.query(query, 3);
    if kinds & 2 == 2 {
        let _ = snapshot.query(query, Query::nearest(5).max_k(k));
        let _ = snapshot.query_batch::<crate::Error>(&[query, !query, 0], k, |_, _| Ok(()));
    }
    if kinds & 4 == 4 {
        // A bounded k: there may be too many pairs otherwise.
        let _ = snapshot.visit_pairs::<crate::Error>(k.min(7), |_| Ok(()));
        let _ = snapshot.visit_clusters::<crate::Error>(k.min(7), |_| Ok(()));
    }
    if kinds & 8 == 8 && snapshot.stats().rows < 1000 {
        let _ = snapshot.visit_row_pairs::<crate::Error>(k.min(3), |_, _, _| Ok(()));
    }
    if kinds & 16 == 16 {
        let _ = snapshot.fingerprints_of(u64::from(base));
        let _ = (snapshot.explain(k).to_string(), snapshot.stats());
    }
    Ok(())
}

/// If verification finds no damage, all rows must be readable and all answers exact.
fn compare_if_sound(snapshot: &Snapshot<u64>, input: &mut Input<'_>) {
    let report = snapshot.verify().expect("files in memory can be read");
    if report.damage.is_empty() {
        let rows: Rows = rows_in_order(snapshot).expect("sound rows").into_iter().collect();
        compare(snapshot, &rows, input).expect("sound answers");
    }
}

/// Changes any file of a database, including the manifest and the log. Then opens, queries,
/// verifies, writes and compacts the database.
pub(super) fn open_database(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let several = &bases().several;
    let mut files = several[input.below(several.len())].clone();
    let (mode, questions) = (input.byte(), input.array::<16>());
    let names: Vec<String> = files.by_name.keys().cloned().collect();
    if mode & 8 == 8 {
        files.edit(&names, &mut input, MOST_EDITS / 2);
    }
    if mode & 16 == 16 {
        let (from, to) = (input.below(names.len()), input.below(names.len()));
        let moved = files.by_name.remove(&names[from]).unwrap_or_default();
        if input.flag() {
            files.by_name.insert(names[to].clone(), moved);
        }
    }
    if mode & 4 == 0 {
        files.repair(mode);
        change_manifest_and_log(&mut files, &mut input, mode);
    }
    let disk = files.disk();
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    if let Ok(snapshot) = Snapshot::<u64>::open(&storage, &options(), None) {
        let _ = query_all(&snapshot, &mut Input::new(&questions));
        compare_if_sound(&snapshot, &mut Input::new(&questions));
    }
    let _ = write_and_compact(&disk);
}

/// Changes words of the manifest and frames of the log, and corrects their checksums.
fn change_manifest_and_log(files: &mut Files, input: &mut Input<'_>, mode: u8) {
    if let Some(file) = files.by_name.get_mut(&names::wal(1)).filter(|_| mode & 32 == 32) {
        let at = HEADER_BYTES + usize::from(input.byte());
        put(file, at, &input.edge().to_le_bytes());
        log::seal_frames(file);
    }
    if let Some(file) = files.by_name.get_mut(names::MANIFEST).filter(|_| mode & 64 == 64) {
        for _ in 0..1 + input.below(3) {
            let at = usize::from(input.u16()) % file.len().max(1) / 4 * 4;
            match input.byte() % 4 {
                0 => put(file, at, &input.edge().to_le_bytes()),
                1 => put(file, at, &input.edge().to_le_bytes()[..4]),
                2 => put(file, at, &u32::from(input.byte() % 66).to_le_bytes()),
                _ => put(file, at, &input.u64().to_le_bytes()),
            }
        }
        reseal(file);
    }
}

/// Opens a writer, writes some rows and merges everything.
fn write_and_compact(disk: &SimulatedDisk) -> Result<()> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let mut writer = Writer::<u64>::open(storage.clone(), options())?;
    let row = Row { fingerprint: 0xf00d, id: 5 };
    writer.insert(row)?;
    let _ = writer.query(row.fingerprint, 3);
    writer.commit()?;
    writer.delete(14)?;
    writer.flush()?;
    writer.compact()?;
    assert!(
        writer.query(row.fingerprint, 0)?.iter().any(|found| found.id == row.id),
        "the inserted row is found"
    );
    writer.close()?;
    let after = Snapshot::<u64>::open(&storage, &options(), None)?;
    assert_eq!(after.verify()?.damage, [], "the merged run is sound");
    Ok(())
}

/// Changes one of several runs, then merges all. The result must be an error, or a sound database
/// with the rows of all runs.
pub(super) fn merge_hostile(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let base = input.below(3);
    let mut files = bases().several[base].clone();
    let (mode, hostile) = (input.byte(), 1 + input.below(3) as u64);
    let questions = input.array::<16>();
    let names = files.of_runs(Some(hostile));
    files.edit(&names, &mut input, MOST_EDITS);
    files.repair(mode);
    let _ = merge(&files.disk(), &questions);
}

fn merge(disk: &SimulatedDisk, questions: &[u8]) -> Result<()> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let before = Snapshot::<u64>::open(&storage, &options(), None)?;
    let rows = rows_in_order(&before);
    let mut writer = Writer::<u64>::open(storage.clone(), options())?;
    writer.compact()?;
    writer.close()?;
    let after = Snapshot::<u64>::open(&storage, &options(), None).expect("the merged database opens");
    assert_eq!(after.verify().expect("its files are readable").damage, [], "the merged database is sound");
    let rows: Rows = rows.expect("merged rows are readable").into_iter().collect();
    compare(&after, &rows, &mut Input::new(questions)).expect("a sound database answers");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::format::paged::PAGE_BYTES;

    /// Table 1 has two fingerprints near each other that are missing from table 0.
    #[test]
    fn regression_clusters_of_fingerprints_that_table_0_lacks_are_damage() {
        let near = [0x7f00_0000_dead_beef, 0x7f00_0100_dead_beef];
        let mut rows: Vec<Row<u64>> = (0..2000).map(|id| Row { fingerprint: mix64(id) >> 1, id }).collect();
        rows.extend(near.map(|fingerprint| Row { fingerprint, id: 1 }));
        let young = vec![Row { fingerprint: 5, id: 5 }];
        for others in [vec![], vec![run("rotations:2", young, &[])]] {
            let runs: Vec<NewRun> =
                std::iter::once(run("rotations:2", rows.clone(), &[])).chain(others).collect();
            let mut files = Files::build(&Schema::new().k(1), &runs, &[]).unwrap();
            let file = files.by_name.get_mut("00000001-t1.seg").unwrap();
            // The low byte of a `hi` word holds the first byte in natural order.
            let hi = 2 * PAGE_BYTES;
            (0..rows.len()).for_each(|entry| put(file, hi + entry * 4, &[0xff]));
            files.repair(0);
            let storage: Arc<dyn Storage> = Arc::new(files.disk());
            let snapshot = Snapshot::<u64>::open(&storage, &options(), None).unwrap();
            assert!(
                matches!(snapshot.visit_clusters(1, |_| Ok(())), Err(Error::Corrupt(_))),
                "{} runs",
                runs.len()
            );
        }
    }
}
