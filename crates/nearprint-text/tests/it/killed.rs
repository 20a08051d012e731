//! A job that was killed while its files got their names: all is written, and some have their names.
//!
//! A folder in the place of an output stands for the kill: the file before it is renamed, and it and
//! the file behind it are not.

use std::fs;
use std::ops::ControlFlow;
use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use nearprint_text::dedup::{DedupOptions, FileJob, FileReport};
use nearprint_text::documents::escape;
use nearprint_text::{Error, OutputProblem, ResumeProblem};

/// What each run of the job writes.
const FILES: [(&str, &str); 3] = [
    ("out", "{\"text\": \"one two\"}\n"),
    (
        "dup",
        "key\tduplicate_of\tdistance\tsimilarity\tgroup\tcopy\n\
         in.jsonl:2\tin.jsonl:1\t0\t1.0000\tin.jsonl:1\ttrue\n",
    ),
    ("bad", "no\n"),
];

struct Home(tempfile::TempDir);

impl Home {
    /// The job was killed after the first of its three files had its name.
    fn after_a_kill() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let twice = FILES[0].1.repeat(2) + FILES[2].1;
        fs::write(home.at("in.jsonl"), twice).unwrap();
        let blocked = home.run(|_| {}, || fs::create_dir_all(home.at("dup")).unwrap());
        assert!(matches!(blocked, Err(Error::Engine(nearprint::Error::Io { .. }))), "{blocked:?}");
        fs::remove_dir(home.at("dup")).unwrap();
        assert_eq!(home.names(), ["bad.partial", "dup.partial", "in.jsonl", "out", "seen.np"]);
        home
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        let home = escape(&format!("{}{MAIN_SEPARATOR}", self.0.path().display())).into_owned();
        fs::read_to_string(self.at(name)).unwrap().replace(&home, "")
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        // Wine keeps a stream as a file of its own.
        names.retain(|name| !name.ends_with(".partial:nearprint.partial"));
        names.sort();
        names
    }

    fn run(&self, set: impl FnOnce(&mut FileJob), meanwhile: impl Fn()) -> Result<FileReport, Error> {
        let options = DedupOptions::new("simhash shingle=1".parse().unwrap());
        let mut job = FileJob::new(vec![self.at("in.jsonl")], self.at("out"), options);
        (job.duplicates, job.rejects) = (Some(self.at("dup")), Some(self.at("bad")));
        job.database = Some(self.at("seen.np"));
        set(&mut job);
        job.run(|_, _| {
            meanwhile();
            ControlFlow::Continue(())
        })
    }

    fn run_again(&self) -> Result<FileReport, Error> {
        self.run(|_| {}, || {})
    }

    #[track_caller]
    fn is_complete(&self, report: Result<FileReport, Error>) {
        let report = report.unwrap();
        assert!(report.completed.is_some(), "{report:?}");
        assert_eq!((report.counts.records, report.counts.kept, report.counts.bad), (3, 1, 1));
        assert_eq!(self.names(), ["bad", "dup", "in.jsonl", "out", "seen.np"]);
        assert_eq!(fs::read_dir(self.0.path()).unwrap().count(), 5, "no marker is left");
        FILES.iter().for_each(|(name, content)| assert_eq!(self.read(name), *content));
    }
}

/// Whether a job says that a complete output was changed.
fn names_a_changed_output(result: &Result<FileReport, Error>, changed: &Path) -> bool {
    matches!(result, Err(Error::Output(OutputProblem::ChangedAfterEnd { path })) if path == changed)
}

#[test]
fn regression_a_job_killed_between_its_renames_is_completed_by_the_next_run() {
    let home = Home::after_a_kill();
    home.is_complete(home.run_again());
    home.is_complete(home.run_again());
    let jobs = nearprint::Database::<u64>::open(home.at("seen.np")).unwrap().snapshot().unwrap();
    let history = String::from_utf8(jobs.history().unwrap().to_vec()).unwrap();
    assert_eq!(history.lines().count(), 1, "{history}");
}

#[test]
fn regression_an_output_changed_after_a_kill_between_renames_does_not_stop_the_others() {
    let home = Home::after_a_kill();
    fs::write(home.at("out"), "of somebody else\n").unwrap();
    for _ in 0..2 {
        let changed = home.run_again();
        assert!(names_a_changed_output(&changed, &home.at("out")), "{changed:?}");
        assert_eq!(home.names(), ["bad", "dup", "in.jsonl", "out", "seen.np"]);
        FILES[1..].iter().for_each(|(name, content)| assert_eq!(home.read(name), *content));
        assert_eq!(fs::read_to_string(home.at("out")).unwrap(), "of somebody else\n");
    }
    fs::write(home.at("out"), FILES[0].1).unwrap();
    home.is_complete(home.run_again());
}

#[test]
fn regression_an_output_removed_after_a_kill_between_renames_is_missed() {
    let home = Home::after_a_kill();
    fs::remove_file(home.at("out")).unwrap();
    let removed = home.run_again();
    assert!(names_a_changed_output(&removed, &home.at("out")), "{removed:?}");
    let report = home.run(|job| job.restart = true, || {}).unwrap();
    assert_eq!((report.completed, report.counts.kept), (None, 1));
    FILES.iter().for_each(|(name, content)| assert_eq!(home.read(name), *content));
}

#[test]
fn regression_a_foreign_file_in_the_place_of_a_written_part_stays() {
    let home = Home::after_a_kill();
    fs::rename(home.at("dup.partial"), home.at("kept aside")).unwrap();
    for content in ["of somebody else\n", "short\n", &"long ".repeat(99)] {
        fs::write(home.at("dup.partial"), content).unwrap();
        let refused = home.run_again();
        assert!(matches!(refused, Err(Error::Resume(ResumeProblem::Output(_)))), "{refused:?}");
        assert_eq!(fs::read_to_string(home.at("dup.partial")).unwrap(), content);
    }
    fs::rename(home.at("kept aside"), home.at("dup.partial")).unwrap();
    home.is_complete(home.run_again());
}

#[test]
fn regression_other_records_replaced_the_output_of_a_job_killed_between_its_renames() {
    let home = Home::after_a_kill();
    let other = fs::read_to_string(home.at("in.jsonl")).unwrap().replace("two", "six");
    fs::write(home.at("in.jsonl"), &other).unwrap();
    let refused = home.run_again();
    assert!(
        matches!(refused, Err(Error::Resume(ResumeProblem::Completed { records: 3, .. }))),
        "{refused:?}"
    );
    assert_eq!(home.names(), ["bad", "dup", "in.jsonl", "out", "seen.np"]);
    FILES.iter().for_each(|(name, content)| assert_eq!(home.read(name), *content));
    // Whoever repeats the job has been told.
    let report = home.run_again().unwrap();
    assert_eq!((report.completed, report.counts.kept), (None, 1));
    assert_eq!(home.read("out"), other.lines().next().unwrap().to_string() + "\n");
}

#[test]
fn regression_a_dry_run_took_the_documents_of_a_job_killed_between_its_renames_for_duplicates() {
    let home = Home::after_a_kill();
    let before = home.names();
    for restart in [false, true] {
        let report = home.run(|job| (job.dry_run, job.restart) = (true, restart), || {}).unwrap();
        assert_eq!(report.completed.is_some(), !restart);
        assert_eq!((report.counts.records, report.counts.kept, report.counts.duplicates), (3, 1, 1));
        assert_eq!(home.names(), before);
    }
    home.is_complete(home.run_again());
}

#[test]
fn a_job_killed_between_its_renames_starts_over_on_request() {
    let home = Home::after_a_kill();
    let report = home.run(|job| job.restart = true, || {}).unwrap();
    assert_eq!((report.completed, report.counts.kept, report.counts.duplicates), (None, 1, 1));
    home.is_complete(home.run_again());
}
