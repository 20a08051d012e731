//! Jobs that are to start over and are refused: they change nothing.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nearprint::Database;
use nearprint_text::Result;
use nearprint_text::dedup::{DedupOptions, Deduplicator, FileJob, FileReport, Keep, Shards};

use crate::by_line;

/// The records of each job: a checkpoint comes after 10,000.
const RECORDS: u64 = 11_000;

/// What a database and the files beside it hold.
#[derive(Debug, PartialEq)]
struct State {
    rows: u64,
    checkpoint: Option<Vec<u8>>,
    history: Option<Vec<u8>>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        let lines = |range: std::ops::Range<u64>| -> String {
            range.map(|at| format!("{{\"text\":\"text {at}\",\"n\":{at}}}\n")).collect()
        };
        fs::create_dir_all(home.at("in")).unwrap();
        fs::create_dir_all(home.at("out")).unwrap();
        fs::write(home.at("in/a.jsonl"), lines(0..RECORDS - 100)).unwrap();
        fs::write(home.at("in/b.jsonl"), lines(RECORDS - 200..RECORDS - 100)).unwrap();
        home
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn job(&self, form: Form) -> FileJob {
        let mut options = DedupOptions::new("exact width=128".parse().unwrap());
        options.min_words = usize::from(form != Form::Units);
        let output = self.at(if form == Form::Shards { "out/shards" } else { "out/kept.jsonl" });
        let mut job = FileJob::new(vec![self.at("in")], output, options);
        job.duplicates = Some(self.at("out/gone.tsv"));
        job.database = Some(self.at("seen.np"));
        match form {
            Form::Plain => {}
            Form::Units => job.trim = Some(by_line(1)),
            Form::Keep => job.keep = Some(Keep::Last),
            Form::Shards => job.shards = Some(Shards::Into(2)),
        }
        job
    }

    fn state(&self) -> State {
        let snapshot = Database::<u128>::open(self.at("seen.np")).unwrap().snapshot().unwrap();
        let mut files = BTreeMap::new();
        add_files(&self.at("out"), &mut files);
        State {
            rows: snapshot.rows().unwrap().map(std::result::Result::unwrap).count() as u64,
            checkpoint: snapshot.checkpoint().map(<[u8]>::to_vec),
            history: snapshot.history().map(<[u8]>::to_vec),
            files,
        }
    }
}

fn add_files(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(std::result::Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            add_files(&entry.path(), files);
        } else {
            let content = if kind.is_fifo() { b"fifo".to_vec() } else { fs::read(entry.path()).unwrap() };
            files.insert(entry.path(), content);
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Plain,
    Units,
    Keep,
    Shards,
}

fn run(job: &FileJob, until: u64) -> Result<FileReport> {
    job.clone().run(|counts, _| match counts.records < until {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    })
}

/// Why a job is refused: changes the job or the files, and returns what makes it possible again.
type Refusal = (&'static str, fn(&Home, &mut FileJob) -> Box<dyn Fn(&Home)>);

const REFUSALS: &[Refusal] = &[
    ("a foreign unfinished file", |home, job| {
        let partial = partial_of(home, job);
        let aside = home.at("aside");
        let was_there = fs::rename(&partial, &aside).is_ok();
        fs::write(&partial, "mine\n").unwrap();
        Box::new(move |_| {
            fs::remove_file(&partial).unwrap();
            if was_there {
                fs::rename(&aside, &partial).unwrap();
            }
        })
    }),
    ("a pipe as the unfinished duplicates", |home, job| {
        let partial = home.at("out/other.tsv.partial");
        job.duplicates = Some(home.at("out/other.tsv"));
        assert!(std::process::Command::new("mkfifo").arg(&partial).status().unwrap().success());
        Box::new(move |_| fs::remove_file(&partial).unwrap())
    }),
    ("duplicates that are a folder", |home, job| {
        fs::create_dir(home.at("out/folder")).unwrap();
        job.duplicates = Some(home.at("out/folder"));
        Box::new(|home| fs::remove_dir(home.at("out/folder")).unwrap())
    }),
    ("duplicates in no folder", |home, job| {
        job.duplicates = Some(home.at("out/missing/gone.tsv"));
        Box::new(|_| {})
    }),
    ("duplicates in a folder that cannot be written", |home, job| {
        fs::create_dir(home.at("locked")).unwrap();
        fs::set_permissions(home.at("locked"), fs::Permissions::from_mode(0o555)).unwrap();
        // Whoever may write everywhere gets another refusal.
        let name = if fs::write(home.at("locked/x"), "").is_ok() { "in/a.jsonl" } else { "locked/gone.tsv" };
        job.duplicates = Some(home.at(name));
        Box::new(|home| {
            fs::set_permissions(home.at("locked"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::remove_dir_all(home.at("locked")).unwrap();
        })
    }),
    ("duplicates that are an input", |home, job| {
        job.duplicates = Some(home.at("in/b.jsonl"));
        Box::new(|_| {})
    }),
    ("duplicates that are a file of the database", |home, job| {
        job.duplicates = Some(home.at("seen.np/gone.tsv"));
        Box::new(|_| {})
    }),
    ("a column that is added twice", |_, job| {
        (job.added.key, job.added.text) = (Some("x".into()), Some("x".into()));
        Box::new(|_| {})
    }),
    ("a collection that does not exist", |home, job| {
        job.against = vec![home.at("no such")];
        Box::new(|_| {})
    }),
    ("another recipe", |_, job| {
        job.dedup.recipe = "simhash width=128".parse().unwrap();
        job.dedup.require_recipe = true;
        Box::new(|_| {})
    }),
];

/// The unfinished file of the output.
fn partial_of(home: &Home, job: &FileJob) -> PathBuf {
    match job.shards {
        Some(_) => home.at("out/shards/part-00001-of-00002.jsonl.partial"),
        None => home.at("out/kept.jsonl.partial"),
    }
}

/// Refuses a job in every way, and checks that nothing changes.
fn refuse_in_every_way(home: &Home, form: Form) {
    for (why, set) in REFUSALS {
        let before = home.state();
        let mut job = home.job(form);
        job.restart = true;
        let undo = set(home, &mut job);
        let refused = run(&job, u64::MAX);
        undo(home);
        assert!(refused.is_err(), "{form:?}, {why}: {refused:?}");
        assert_eq!(home.state(), before, "{form:?}, {why}: {refused:?}");
    }
}

#[test]
fn regression_a_refused_restart_of_a_finished_job_forgets_nothing() {
    for form in [Form::Plain, Form::Units, Form::Keep, Form::Shards] {
        let home = Home::new();
        let job = home.job(form);
        let first = run(&job, u64::MAX).unwrap();
        assert!(home.state().rows >= RECORDS - 100, "{form:?}");
        refuse_in_every_way(&home, form);
        assert!(run(&job, u64::MAX).unwrap().completed.is_some(), "{form:?}");
        let mut again = job.clone();
        again.restart = true;
        if form == Form::Shards {
            // Files of a folder are never replaced.
            let before = home.state();
            run(&again, u64::MAX).unwrap_err();
            assert_eq!(home.state(), before);
        } else {
            assert_eq!(run(&again, u64::MAX).unwrap().counts, first.counts, "{form:?}");
        }
    }
}

#[test]
fn regression_a_refused_restart_of_an_interrupted_job_keeps_what_it_resumes_from() {
    for form in [Form::Plain, Form::Units, Form::Shards] {
        let whole = Home::new();
        let expected = run(&whole.job(form), u64::MAX).unwrap();
        let home = Home::new();
        let job = home.job(form);
        run(&job, 10_000).unwrap_err();
        let before = home.state();
        // On a slow machine, time makes a checkpoint before the number of records does.
        assert!(before.checkpoint.is_some() && before.rows > 0, "{form:?}");
        refuse_in_every_way(&home, form);
        let resumed = run(&job, u64::MAX).unwrap();
        assert!(resumed.resumed_after > 0, "{form:?}");
        assert_eq!(resumed.counts, expected.counts, "{form:?}");
    }
}

#[test]
fn a_restart_of_an_interrupted_job_begins_with_nothing() {
    for form in [Form::Plain, Form::Units, Form::Shards] {
        let home = Home::new();
        let mut job = home.job(form);
        run(&job, 10_000).unwrap_err();
        job.restart = true;
        let report = run(&job, u64::MAX).unwrap();
        assert_eq!((report.resumed_after, report.counts.kept), (0, RECORDS - 100), "{form:?}");
        assert_eq!(home.state().rows, RECORDS - 100, "{form:?}");
    }
}

/// The rows of finished jobs were forgotten by a commit for each.
#[test]
fn regression_a_restart_forgets_by_one_commit() {
    let home = Home::new();
    run(&home.job(Form::Plain), u64::MAX).unwrap();
    let mut job = home.job(Form::Plain);
    let before = home.state();
    assert!(before.history.is_some());
    job.restart = true;
    // Whoever cancels while the inputs are compared with those of the finished job changes nothing.
    run(&job, 0).unwrap_err();
    assert_eq!(home.state(), before);
    let begun = job.clone().run(|counts, _| match counts.kept {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    });
    begun.unwrap_err();
    let after = home.state();
    assert!(after.rows < 10_000 && after.history.is_none(), "{}", after.rows);
    assert_eq!(run(&job, u64::MAX).unwrap().counts.kept, RECORDS - 100);
}

/// The database is made after the outputs are checked, which then stood in it.
#[test]
fn regression_no_output_is_in_the_database_that_is_made() {
    for (output, database) in [("new.np", "new.np"), ("new", "new.partial"), ("new.np/kept.jsonl", "new.np")]
    {
        let home = Home::new();
        let mut job = home.job(Form::Plain);
        (job.output, job.database) = (home.at(output), Some(home.at(database)));
        fs::create_dir_all(job.output.parent().unwrap()).unwrap();
        let refused = run(&job, u64::MAX).unwrap_err().to_string();
        assert!(refused.contains("database"), "{output}: {refused}");
        assert!(Database::<u64>::open(home.at(database)).is_err() && !job.output.exists(), "{output}");
    }
}

/// A database that was left of it had its recipe, which the next job may not have.
#[test]
fn regression_a_refused_job_makes_no_database() {
    for form in [Form::Plain, Form::Units, Form::Keep] {
        for (why, set) in REFUSALS.iter().filter(|(why, _)| *why != "another recipe") {
            let home = Home::new();
            let mut job = home.job(form);
            let _undo = set(&home, &mut job);
            let refused = run(&job, u64::MAX);
            assert!(refused.is_err() && !home.at("seen.np").exists(), "{form:?}, {why}: {refused:?}");
        }
    }
    let home = Home::new();
    let mut job = home.job(Form::Units);
    job.trim.as_mut().unwrap().from = 3;
    job.dedup.recipe = "minhash".parse().unwrap();
    run(&job, u64::MAX).unwrap_err();
    assert!(!home.at("seen.np").exists());
    let mut options = DedupOptions::new("simhash".parse().unwrap());
    options.k = Some(65);
    Deduplicator::open(home.at("seen.np"), options).unwrap_err();
    assert!(!home.at("seen.np").exists());
}
