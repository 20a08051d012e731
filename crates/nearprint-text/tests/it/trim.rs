//! Removed units: whose they are, and how often they were there.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use nearprint_text::dedup::{DedupOptions, DocumentCounts, FileJob, Unit};
use nearprint_text::documents::Missing;

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
