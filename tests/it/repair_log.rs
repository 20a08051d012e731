//! Repair of logs and of databases without a manifest.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::repair_support::{PAGE, Rows, has, repair, with_a_writer, with_damage, without};
use nearprint::{Database, FindingKind, Fingerprint, Options, Row, Schema, Width, width_of_damaged};
use testkit::{Shape, build, files, folder_in_memory, for_each_width, rows, short_or_full};

for_each_width!(a_log_is_read_on_behind_damage, without_a_manifest_the_other_files_are_enough,);

fn log_of(path: &Path) -> PathBuf {
    files(path).into_iter().find(|file| file.extension().is_some_and(|kind| kind == "log")).unwrap()
}

fn a_log_is_read_on_behind_damage<F: Fingerprint>() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let (live, ever) = with_a_writer::<F>(&path);
    let log = log_of(&path);
    let name = log.file_name().unwrap().to_str().unwrap().to_string();
    let in_log = |commit: u64| {
        move |row: &Row<F>| (50_000..50_050).contains(&row.id) && (row.id - 50_000) / 10 == commit
    };
    let len = fs::metadata(&log).unwrap().len() as usize;
    let frame = (len - 64) / 5;
    for commit in 0..5 {
        for within in [0, 4, 9, 24, 60, frame - 1] {
            let at = 64 + commit * frame + within;
            let (report, found) = with_damage(&log, |bytes| bytes[at] ^= 1, || repair::<F>(&path));
            assert!(found.is_subset(&ever));
            let lost: Rows<F> = live.difference(&found).copied().collect();
            assert!(
                lost.iter().all(in_log(commit as u64)) && lost.len() == 10,
                "{commit} {within}: {report:?}"
            );
            let back: Vec<u64> = found.difference(&live).map(|row| row.id).collect();
            assert!(back.iter().all(|&id| id == commit as u64), "{back:?}");
            // A bad last frame is what a crash leaves.
            assert_eq!(has(&report, FindingKind::Lost, &name), commit < 4, "{report:?}");
        }
    }
    for cut in (0..frame.min(50)).step_by(short_or_full(7, 1)) {
        let (report, found) = with_damage(&log, |bytes| bytes.truncate(len - cut), || repair::<F>(&path));
        assert!(report.is_complete(), "a torn tail is no loss");
        assert_eq!(live.difference(&found).count(), if cut == 0 { 0 } else { 10 });
    }
    let (report, _) = without(&log, || repair::<F>(&path));
    assert!(has(&report, FindingKind::Lost, &name));
    let broken = |bytes: &mut Vec<u8>| {
        bytes[3] ^= 1;
        bytes[64 + 2 * frame + 30] ^= 1;
    };
    // The manifest has the salt of the log, so that the commits behind the damage are found.
    let (report, found) = with_damage(&log, broken, || repair::<F>(&path));
    assert_eq!(live.difference(&found).count(), 10, "{report:?}");
    assert!(has(&report, FindingKind::Lost, &name));
}

fn without_a_manifest_the_other_files_are_enough<F: Fingerprint>() {
    let home = folder_in_memory();
    let path = home.path().join("db");
    let (live, ever) = with_a_writer::<F>(&path);
    let manifest = path.join("MANIFEST");
    for damage in [None, Some(0), Some(100)] {
        let (report, found) = match damage {
            None => without(&manifest, || repair::<F>(&path)),
            Some(len) => with_damage(&manifest, |bytes| bytes.truncate(len), || repair::<F>(&path)),
        };
        assert!(found.is_subset(&ever) && found.is_superset(&live), "{damage:?}");
        assert!(found.len() > live.len(), "deleted rows have come back");
        assert!(has(&report, FindingKind::Note, "MANIFEST"));
        assert_eq!(report.lost_rows, 0);
    }
    fs::remove_file(&manifest).unwrap();
    assert_eq!(width_of_damaged(&path).unwrap(), F::WIDTH);
    let natural = path.join("00000001-t0.seg");
    let (report, found) = with_damage(&natural, |bytes| bytes[3 * PAGE] ^= 1, || repair::<F>(&path));
    assert!(found.is_subset(&ever));
    // The headers say how the other tables are permuted. The postings have whole wide fingerprints.
    assert_eq!((report.recovered > 0, report.lost_rows), (F::WIDTH == Width::W64, 0), "{report:?}");
    // Files of another database do not count.
    let other = home.path().join("other");
    build(&other, &rows::<F>(Shape::Uniform, 500, 12), Schema::new());
    for name in ["00000001-t0.seg", "00000001.rows"] {
        fs::copy(other.join(name), path.join(name.replace("00000001", "00000077"))).unwrap();
    }
    let (report, found) = repair::<F>(&path);
    assert!(found.is_subset(&ever) && has(&report, FindingKind::Lost, "00000077-t0.seg"));
}

#[test]
fn regression_a_repair_shortened_the_lives_of_rows_in_the_log() {
    let home = folder_in_memory();
    let (path, dest) = (home.path().join("db"), home.path().join("saved"));
    let period = Duration::from_millis(20);
    let schema = Schema::new().expire_after(1000 * period, Some(period)).unwrap();
    let database = Options::new().create::<u64>(&path, &schema).unwrap();
    let mut writer = database.writer().unwrap();
    writer.insert(1).unwrap();
    writer.flush().unwrap();
    sleep(2 * period);
    writer.insert(2).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let expires = |path: &Path| {
        let runs = Database::<u64>::open(path).unwrap().snapshot().unwrap().stats().runs;
        runs.iter().map(|run| run.expires.unwrap()).max().unwrap()
    };
    let of_run = expires(&path);
    Options::new().repair::<u64>(&path, &dest, &Schema::new()).unwrap();
    assert!(expires(&dest) > of_run, "the row of the log expires later than those of the run");
}
