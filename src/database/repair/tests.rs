//! Repairs of databases with very many runs, of runs that have a name, and of runs with keys.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::fingerprint::mix64;
use crate::format::schema::{KeyStorage, Schema};
use crate::log::manifest;
use crate::options::Options;
use crate::storage::{Folder, names};
use crate::{Builder, Database, FindingKind, NewRow};

/// A database whose manifest names runs that are not there.
fn with_missing_runs(path: &Path, count: u64) {
    let mut builder = Database::<u64>::build(path, &Schema::new()).unwrap();
    builder.push(7).unwrap();
    builder.finish().unwrap();
    let folder = Folder::open(path).unwrap();
    let mut manifest = manifest::of::<u64>(&folder).unwrap();
    let record = manifest.runs[0].clone();
    let missing = |run| {
        let mut record = record.clone();
        record.run = run;
        record
    };
    manifest.runs.extend((2..2 + count).map(missing));
    manifest.next_run = 2 + count;
    manifest::replace(&folder, &manifest).unwrap();
}

/// The CPU time of this thread so far.
#[cfg(unix)]
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

/// The time of this process so far.
#[cfg(windows)]
fn cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

/// The CPU time of a repair.
fn repair(count: u64) -> Duration {
    let home = tempfile::tempdir().unwrap();
    let (path, dest) = (home.path().join("db"), home.path().join("saved"));
    with_missing_runs(&path, count);
    let before = cpu_time();
    let report = Options::new().repair::<u64>(&path, &dest, &Schema::new()).unwrap();
    let took = cpu_time() - before;
    assert_eq!((report.rows, report.lost_rows), (1, count));
    assert!(fs::exists(&dest).unwrap());
    took
}

/// The time per missing run does not grow with their number.
#[test]
#[cfg_attr(windows, ignore = "compares CPU times, which std does not give there")]
fn regression_many_missing_runs_are_reported_in_linear_time() {
    let least = |count| (0..3).map(|_| repair(count)).min().unwrap();
    let (few, many) = (least(1000), least(8000));
    assert!(many < few * 24, "{few:?} for 1,000 runs, {many:?} for 8,000");
}

/// A repaired run was another one, and a database ingested its task twice.
#[test]
fn regression_a_repaired_run_is_the_same_run() {
    for (name, has_ids, is_damaged) in [
        (Some("task-7"), true, false),
        (Some("task-7"), true, true),
        (Some("task-7"), false, true),
        (None, false, false),
        (None, true, false),
        (None, true, true),
    ] {
        let home = tempfile::tempdir().unwrap();
        let (path, dest) = (home.path().join("run"), home.path().join("saved"));
        let mut builder = Database::<u64>::build(&path, &Schema::new()).unwrap().runs_only();
        builder = name.into_iter().fold(builder, Builder::identity);
        for id in 0..5000 {
            builder.push(NewRow { id: has_ids.then_some(id), ..NewRow::from(mix64(id)) }).unwrap();
        }
        builder.finish().unwrap();
        let run = |path: &Path| {
            let manifest = manifest::of::<u64>(&Folder::open(path).unwrap()).unwrap();
            (manifest.runs_only, manifest.runs[0].identity)
        };
        let before = run(&path);
        if is_damaged {
            let file = path.join(names::rows(1));
            let mut bytes = fs::read(&file).unwrap();
            bytes[2 * 8192 + 5] ^= 1;
            fs::write(&file, bytes).unwrap();
        }
        let report = Options::new().repair::<u64>(&path, &dest, &Schema::new()).unwrap();
        assert_eq!(report.lost_rows > 0, is_damaged);
        // What names a run after its rows names other rows otherwise.
        let is_same = name.is_some() || !is_damaged;
        assert_eq!(run(&dest) == before, is_same, "{name:?}, {has_ids}, {is_damaged}");
        assert!(run(&dest).0);
    }
}

/// Rows that came back with their keys were reported as lost, and their fingerprints handed out to be added again.
/// The rows of a log were passed over without a word, as no run said that rows have keys.
#[test]
fn regression_rows_with_keys_of_a_log_alone_come_back() {
    for storage in [KeyStorage::Keys, KeyStorage::KeysAndTexts] {
        let home = tempfile::tempdir().unwrap();
        let (path, dest) = (home.path().join("db"), home.path().join("saved"));
        let options = Options::new().keep_log(1 << 16);
        let mut writer =
            options.create::<u64>(&path, &Schema::new().keys(storage)).unwrap().writer().unwrap();
        for number in 1..=3 {
            let key = format!("k{number}");
            let new = NewRow::keyed(number, &key);
            writer
                .insert(if storage == KeyStorage::Keys { new } else { NewRow { text: b"one", ..new } })
                .unwrap();
        }
        writer.close().unwrap();
        let rows = |path: &Path| Database::<u64>::open(path).unwrap().snapshot().unwrap().all_rows();
        let before = rows(&path);
        fs::remove_file(path.join(names::MANIFEST)).unwrap();
        let report = options.repair_with::<u64>(&path, &dest, &Schema::new(), &mut |_| Ok(())).unwrap();
        assert_eq!((report.made, rows(&dest)), (true, before), "{report:?}");
        let keys = Database::<u64>::open(&dest).unwrap().snapshot().unwrap().keys_of(rows(&dest)[0]).unwrap();
        assert_eq!(keys.len(), 1);
        let is_lost = report.findings.iter().any(|finding| finding.kind == FindingKind::Lost);
        assert_eq!(is_lost, storage == KeyStorage::KeysAndTexts, "{report:?}");
    }
}

#[test]
fn regression_rows_that_the_keys_have_are_not_lost() {
    let keyed = |number: u64| format!("k{number}");
    for (all_have_keys, file) in
        [(true, names::rows(1)), (true, names::segment(1, 0)), (false, names::rows(1))]
    {
        let home = tempfile::tempdir().unwrap();
        let (path, dest) = (home.path().join("db"), home.path().join("saved"));
        let schema = Schema::new().keys(KeyStorage::Keys);
        let mut builder = Database::<u64>::build(&path, &schema).unwrap();
        for number in 0..5000 {
            let key = keyed(number);
            let key = (all_have_keys || number % 2 == 0).then_some(&key[..]);
            builder.push(NewRow { id: Some(number % 3000), key, ..NewRow::from(mix64(number)) }).unwrap();
        }
        builder.finish().unwrap();
        let rows = |path: &Path| Database::<u64>::open(path).unwrap().snapshot().unwrap().all_rows();
        let before = rows(&path);
        let mut bytes = fs::read(path.join(&file)).unwrap();
        bytes[2 * 8192 + 5] ^= 1;
        fs::write(path.join(&file), bytes).unwrap();
        let mut without_id = 0;
        let count = &mut |_| {
            without_id += 1;
            Ok(())
        };
        let report = Options::new().repair_with::<u64>(&path, &dest, &schema, count).unwrap();
        assert_eq!(report.is_complete(), all_have_keys, "{report:?}");
        assert_eq!((report.lost_rows == 0, without_id), (all_have_keys, report.without_id), "{report:?}");
        assert_eq!(rows(&dest) == before, all_have_keys);
        let is_recovered = |kind| kind == FindingKind::Recovered;
        assert!(!all_have_keys || report.findings.iter().any(|finding| is_recovered(finding.kind)));
    }
}
