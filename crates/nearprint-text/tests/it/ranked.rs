//! Jobs that decide all documents before they write the first one, and that were interrupted.

use std::fs;
use std::ops::ControlFlow;
use std::time::{Duration, SystemTime};

use nearprint_text::dedup::{DedupOptions, FileJob, FileReport, Keep};
use nearprint_text::{Error, ResumeProblem};

fn options() -> DedupOptions {
    DedupOptions::new("exact".parse().unwrap())
}

/// Changes something between two runs of a job, the first of which was interrupted after a checkpoint, and returns what
/// the second one comes to.
fn resumed_after(job: &FileJob, change: impl FnOnce()) -> Result<FileReport, Error> {
    let cancelled = job.clone().run(|counts, _| match counts.records {
        ..10_000 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    assert!(matches!(cancelled, Err(Error::Engine(nearprint::Error::Interrupted))), "{cancelled:?}");
    change();
    job.clone().run(|_, _| ControlFlow::Continue(()))
}

#[test]
fn regression_both_copies_were_left_out_when_files_were_ranked_otherwise_after_an_interruption() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    fs::create_dir(at("in")).unwrap();
    let file = |number: u32| at("in").join(format!("{number:05}.txt"));
    for number in 0..10_500 {
        fs::write(file(number), (number % 10_499).to_string()).unwrap();
    }
    let change_at = |number: u32, seconds: u64| {
        let opened = fs::File::options().append(true).open(file(number)).unwrap();
        opened.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    change_at(0, 2_000_000);
    change_at(10_499, 1_000_000);
    let mut job = FileJob::new(vec![at("in")], at("kept.txt"), options());
    job.database = Some(at("seen.np"));
    let changed = resumed_after(&job, || change_at(10_499, 3_000_000));
    assert!(matches!(changed, Err(Error::Resume(ResumeProblem::OtherDecisions))), "{changed:?}");
    change_at(10_499, 1_000_000);
    let counts = job.clone().run(|_, _| ControlFlow::Continue(())).unwrap().counts;
    assert_eq!((counts.kept, counts.duplicates), (10_499, 1));
    let kept = fs::read_to_string(at("kept.txt")).unwrap();
    assert!(kept.contains("10499.txt") && !kept.contains("00000.txt"));
}

#[test]
fn regression_a_collection_that_changed_after_an_interruption_decided_the_rest_otherwise() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let line = |text: u32| format!("{{\"text\":\"{text}\"}}\n");
    fs::write(at("in.jsonl"), (0..10_500).map(|number| line(number % 10_499)).collect::<String>()).unwrap();
    fs::write(at("evals.jsonl"), line(0)).unwrap();
    let mut job = FileJob::new(vec![at("in.jsonl")], at("out.jsonl"), options());
    (job.database, job.against) = (Some(at("seen.np")), vec![at("evals.jsonl")]);
    job.keep = Some(Keep::Longest);
    // The first and the last record are in the collection. Without it, the last one duplicates the first, which is
    // not written.
    let changed = resumed_after(&job, || fs::write(at("evals.jsonl"), line(77_777)).unwrap());
    assert!(matches!(changed, Err(Error::Resume(ResumeProblem::OtherDecisions))), "{changed:?}");
    let mut restart = job.clone();
    restart.restart = true;
    assert_eq!(restart.run(|_, _| ControlFlow::Continue(())).unwrap().counts.kept, 10_499);
}
