//! Removed units: whose they are, and how often they were there.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use nearprint_text::dedup::{DedupOptions, DocumentCounts, FileJob, Unit};
use nearprint_text::documents::Missing;

const FOOTER: &str = "all rights reserved";

/// A job that removes units of three words or more.
fn job(folder: &Path) -> FileJob {
    let options = DedupOptions::new("exact".parse().unwrap());
    let at = |name: &str| folder.join(name);
    let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), options);
    job.trim = Some(crate::by_line(3));
    job
}

fn run(job: &FileJob) -> DocumentCounts {
    job.clone().run(|_, _| ControlFlow::Continue(())).unwrap().counts
}

/// Records without a text lost none of it, and were left out all the same.
#[test]
fn regression_a_record_without_a_text_has_not_lost_it() {
    let home = tempfile::tempdir().unwrap();
    let lines = "{\"text\":\"\"}\n{\"n\":1}\n{\"text\":\" \"}\n";
    fs::write(home.path().join("in.jsonl"), lines).unwrap();
    for by in [Unit::Line, Unit::Passage] {
        for keeps_hollow in [false, true] {
            let mut job = job(home.path());
            job.reader.fields.missing = Missing::Keep;
            let rules = job.trim.as_mut().unwrap();
            (rules.by, rules.min_left, rules.keeps_hollow) = (by, 1.0, keeps_hollow);
            let counts = run(&job);
            assert_eq!((counts.kept, counts.duplicates, counts.units.hollow), (3, 0, 0), "{by:?}");
            assert_eq!(fs::read_to_string(home.path().join("out.jsonl")).unwrap(), lines, "{by:?}");
        }
    }
}

/// Records of later files with the name of an earlier one were taken for its records.
#[test]
fn regression_units_are_counted_by_records_not_by_keys() {
    for (min_left, keeps_hollow) in [(0.0, false), (0.9, true)] {
        let home = tempfile::tempdir().unwrap();
        let mut job = job(home.path());
        job.database = Some(home.path().join("seen.np"));
        let rules = job.trim.as_mut().unwrap();
        (rules.from, rules.min_left, rules.keeps_hollow) = (3, min_left, keeps_hollow);
        let removed: Vec<(u64, u64)> = (0..5)
            .map(|day| {
                // The footer is there twice, and has another number each day.
                let body = format!("the news of day {day}\\n").repeat(1 + day % 2);
                let line = format!("{{\"text\":\"{FOOTER}\\n{body}{FOOTER}\"}}\n");
                fs::write(home.path().join("in.jsonl"), line).unwrap();
                let mut tried = job.clone();
                tried.dry_run = true;
                let tried = run(&tried).units;
                let done = run(&job).units;
                assert_eq!(done, tried, "{day}");
                (done.removed, done.hollow)
            })
            .collect();
        let often = if keeps_hollow { (0, 1) } else { (2, 0) };
        assert_eq!(removed, [(0, 0), (0, 0), often, often, often], "{min_left}");
    }
}

#[test]
fn regression_records_with_one_key_are_several() {
    let home = tempfile::tempdir().unwrap();
    let record = |day: u32| format!("{{\"key\":\"k\",\"text\":\"the news of day {day}\\n{FOOTER}\"}}\n");
    fs::write(home.path().join("in.jsonl"), (0..6).map(record).collect::<String>()).unwrap();
    let mut job = job(home.path());
    job.reader.fields.key = Some("key".into());
    job.duplicates = Some(home.path().join("removed.tsv"));
    let mut ways = Vec::new();
    for from in [2, 3, 6, 7] {
        job.trim.as_mut().unwrap().from = from;
        let units = run(&job).units;
        ways.push((units.removed, units.within));
        let removed = fs::read_to_string(job.duplicates.as_ref().unwrap()).unwrap();
        assert!(removed.lines().skip(1).all(|line| line == "k\t2\tk\t2"), "{removed}");
    }
    assert_eq!(ways, [(5, 0), (4, 0), (1, 0), (0, 0)]);
}
