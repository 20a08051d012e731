//! Outputs that are folders.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use nearprint_text::dedup::{DedupOptions, Deduplicator, FileJob, FileReport, Keep, Shards};

use crate::by_line;
use nearprint_text::documents::{Item, Reader, ReaderOptions};
use nearprint_text::{Error, OutputProblem, Result, ResumeProblem};
use parquet::arrow::ArrowWriter;
use serde_json::Value;
use testkit::short_or_full;

/// Three documents of four are repeated in a later file, which have some of their own.
fn texts(file: usize, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("text number {}", if at % 4 == 3 { file * count + at } else { at })).collect()
}

/// The names of the inputs, and how they are written.
fn write_inputs(folder: &Path, kind: &str, files: usize, count: usize) {
    for file in 0..files {
        let name = folder.join(format!("date=2024-01-{file:02}/x.{kind}"));
        fs::create_dir_all(name.parent().unwrap()).unwrap();
        let texts = texts(file, count);
        let lines: String = match kind {
            "csv" => {
                format!("n,text\n{}", texts.iter().map(|text| format!("1,{text}\n")).collect::<String>())
            }
            _ => texts.iter().map(|text| format!("{{\"n\":1,\"text\":\"{text}\"}}\n")).collect(),
        };
        match kind {
            "parquet" => {
                let column: ArrayRef = Arc::new(StringArray::from(texts));
                let rows = RecordBatch::try_from_iter([("text", column)]).unwrap();
                let file = fs::File::create(name).unwrap();
                let mut writer = ArrowWriter::try_new(file, rows.schema(), None).unwrap();
                writer.write(&rows).unwrap();
                writer.close().unwrap();
            }
            "jsonl.zst" => fs::write(name, zstd::encode_all(lines.as_bytes(), 1).unwrap()).unwrap(),
            _ => fs::write(name, lines).unwrap(),
        }
    }
}

fn job(input: &Path, output: &Path, shards: Option<Shards>) -> FileJob {
    let mut options = DedupOptions::new("exact".parse().unwrap());
    options.min_words = 1;
    let mut job = FileJob::new(vec![input.to_path_buf()], output.to_path_buf(), options);
    job.shards = shards;
    job
}

fn run(job: &FileJob, until: u64) -> Result<FileReport> {
    job.clone().run(|counts, _| match counts.records < until {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    })
}

/// The texts of the documents in files.
fn texts_in(paths: &[PathBuf]) -> Vec<String> {
    let mut reader = Reader::open(paths, ReaderOptions::default()).unwrap();
    let mut texts = Vec::new();
    while let Some(item) = reader.next_item().unwrap() {
        let Item::Record(record) = item else { panic!("a bad record") };
        texts.push(record.text);
    }
    texts
}

/// The files below a folder, with their contents.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => drop(
                    found
                        .insert(entry.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&entry).unwrap()),
                ),
            }
        }
    }
    found
}

#[test]
fn each_input_has_an_output_of_its_name_that_resumes() {
    for (kind, keep) in
        [("jsonl", Keep::First), ("csv", Keep::Longest), ("jsonl.zst", Keep::First), ("parquet", Keep::First)]
    {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        write_inputs(&at("in"), kind, 12, 1000);
        let mut single = job(&at("in"), &at(&format!("single.{kind}")), None);
        single.keep = Some(keep.clone());
        let expected = run(&single, u64::MAX).unwrap();
        let of = |folder: &str, database: bool| {
            let mut job = job(&at("in"), &at(folder), Some(Shards::ByInput));
            job.keep = Some(keep.clone());
            job.database = database.then(|| at(&format!("{folder}.np")));
            job
        };
        for (folder, database) in [("plain", false), ("whole", true)] {
            assert_eq!(run(&of(folder, database), u64::MAX).unwrap().counts, expected.counts);
            let files = files(&at(folder));
            let names: Vec<PathBuf> = files.keys().map(|name| at(folder).join(name)).collect();
            let wanted = (0..12).map(|file| at(folder).join(format!("date=2024-01-{file:02}/x.{kind}")));
            assert!(names.iter().cloned().eq(wanted), "{names:?}");
            assert_eq!(texts_in(&names), texts_in(&[at(&format!("single.{kind}"))]), "{kind}");
            for (file, name) in names.iter().enumerate() {
                let own = texts(file, 1000);
                assert!(texts_in(std::slice::from_ref(name)).iter().all(|text| own.contains(text)));
            }
        }
        // A foreign file stays, and what is interrupted comes to the same files.
        fs::create_dir(at("cut")).unwrap();
        fs::write(at("cut/foreign.jsonl"), "mine").unwrap();
        for until in [1, 4000, 10_500, 11_999] {
            let cut = run(&of("cut", true), until);
            assert!(matches!(cut, Err(Error::Engine(nearprint::Error::Interrupted))), "{kind}");
        }
        let resumed = run(&of("cut", true), u64::MAX).unwrap();
        assert!(resumed.resumed_after > 0 || keep != Keep::First, "{kind}");
        assert_eq!(resumed.counts, expected.counts);
        let mut found = files(&at("cut"));
        assert_eq!(found.remove(Path::new("foreign.jsonl")).as_deref(), Some(&b"mine"[..]));
        assert!(found == files(&at("whole")), "{kind}");
        // A finished job is known, and that a file of it was changed.
        assert!(run(&of("cut", true), u64::MAX).unwrap().completed.is_some());
        fs::write(at(&format!("cut/date=2024-01-03/x.{kind}")), "changed").unwrap();
        let changed = run(&of("cut", true), u64::MAX);
        assert!(matches!(changed, Err(Error::Output(OutputProblem::ChangedAfterEnd { .. }))), "{kind}");
    }
}

#[test]
fn an_output_is_split_into_files() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    write_inputs(&at("in"), "jsonl.zst", 4, 6000);
    run(&job(&at("in"), &at("single.jsonl"), None), u64::MAX).unwrap();
    let expected = texts_in(&[at("single.jsonl")]);
    let of = |folder: &str| {
        let mut job = job(&at("in"), &at(folder), Some(Shards::Into(3)));
        job.database = Some(at(&format!("{folder}.np")));
        job
    };
    run(&of("whole"), u64::MAX).unwrap();
    for until in [11_000, 21_000] {
        assert!(run(&of("cut"), until).is_err());
    }
    assert_eq!(run(&of("cut"), u64::MAX).unwrap().resumed_after, 20_000);
    assert!(files(&at("cut")) == files(&at("whole")));
    for shard in 0..3 {
        let name = at(&format!("whole/part-{shard:05}-of-00003.jsonl.zst"));
        assert!(texts_in(&[name]).iter().eq(expected.iter().skip(shard).step_by(3)), "{shard}");
    }
    assert_eq!(files(&at("whole")).len(), 3);
    // Documents of units are split, too.
    let mut units = job(&at("in"), &at("units"), Some(Shards::Into(2)));
    units.dedup.min_words = 0;
    units.trim = Some(by_line(1));
    run(&units, u64::MAX).unwrap();
    let parts =
        [0, 1].map(|shard| texts_in(&[at(&format!("units/part-0000{shard}-of-00002.jsonl.zst"))]).len());
    assert_eq!(parts.iter().sum::<usize>(), expected.len());
}

#[test]
fn regression_parts_that_had_their_names_when_a_job_was_killed_are_its_own() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    write_inputs(&at("in"), "jsonl", 2, 100);
    let of = |folder: &str| {
        let mut job = job(&at("in"), &at(folder), Some(Shards::Into(3)));
        job.database = Some(at(&format!("{folder}.np")));
        job
    };
    run(&of("whole"), u64::MAX).unwrap();
    // A folder in the place of the second part stands for the kill: the first one has its name.
    let second = at("cut/part-00001-of-00003.jsonl");
    let blocked = of("cut").run(|_, _| {
        fs::create_dir_all(&second).unwrap();
        ControlFlow::Continue(())
    });
    assert!(matches!(blocked, Err(Error::Engine(nearprint::Error::Io { .. }))), "{blocked:?}");
    fs::remove_dir(&second).unwrap();
    assert!(at("cut/part-00000-of-00003.jsonl").is_file() && !second.exists());
    fs::write(&second, "mine").unwrap();
    assert!(run(&of("cut"), u64::MAX).is_err());
    assert_eq!(fs::read_to_string(&second).unwrap(), "mine");
    fs::remove_file(&second).unwrap();
    run(&of("cut"), u64::MAX).unwrap();
    assert!(files(&at("cut")) == files(&at("whole")));
    assert!(run(&of("cut"), u64::MAX).unwrap().completed.is_some());
}

#[test]
fn a_part_that_was_changed_after_it_had_its_name_does_not_block_a_resume() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    write_inputs(&at("in"), "jsonl", 2, 100);
    let mut job = job(&at("in"), &at("cut"), Some(Shards::Into(3)));
    job.database = Some(at("seen.np"));
    let [first, second] = [0, 1].map(|part| at(&format!("cut/part-0000{part}-of-00003.jsonl")));
    let blocked = job.clone().run(|_, _| {
        fs::create_dir_all(&second).unwrap();
        ControlFlow::Continue(())
    });
    assert!(blocked.is_err());
    fs::remove_dir(&second).unwrap();
    fs::write(&first, "changed").unwrap();
    run(&job, u64::MAX).unwrap();
    assert_eq!(fs::read_to_string(&first).unwrap(), "changed");
    assert!(second.is_file());
}

#[test]
fn regression_a_file_that_came_in_the_place_of_an_unfinished_one_was_replaced() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    write_inputs(&at("in"), "jsonl", 4, 4000);
    let mut job = job(&at("in"), &at("out"), Some(Shards::ByInput));
    job.database = Some(at("seen.np"));
    assert!(run(&job, 10_500).is_err());
    let partial = files(&at("out")).into_keys().find(|path| path.extension() == Some("partial".as_ref()));
    let target = at("out").join(partial.unwrap()).with_extension("");
    fs::write(&target, "mine").unwrap();
    let refused = run(&job, u64::MAX);
    assert!(matches!(refused, Err(Error::Resume(ResumeProblem::Output(_)))), "{refused:?}");
    assert_eq!(fs::read_to_string(&target).unwrap(), "mine");
    fs::remove_file(&target).unwrap();
    run(&job, u64::MAX).unwrap();
}

#[test]
fn nothing_in_a_folder_is_replaced() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    write_inputs(&at("in"), "jsonl", 2, 10);
    let problem = |inputs: &[PathBuf], output: &str, shards: Shards| {
        let mut job = job(&inputs[0], &at(output), Some(shards));
        job.inputs = inputs.to_vec();
        match run(&job, u64::MAX) {
            Err(Error::Output(problem)) => problem,
            other => panic!("{other:?}"),
        }
    };
    fs::create_dir_all(at("out/date=2024-01-01")).unwrap();
    fs::write(at("out/date=2024-01-01/x.jsonl"), "mine").unwrap();
    let exists = problem(&[at("in")], "out", Shards::ByInput);
    assert!(matches!(exists, OutputProblem::ShardExists { .. }), "{exists}");
    assert_eq!(files(&at("out")).len(), 1);
    let inside = problem(&[at("in")], "in/out", Shards::ByInput);
    assert!(matches!(inside, OutputProblem::IsInput { .. }) && !at("in/out").exists(), "{inside}");
    let (one, other) = (at("in/date=2024-01-00/x.jsonl"), at("in/date=2024-01-01/x.jsonl"));
    let same = problem(&[one.clone(), other], "new", Shards::ByInput);
    assert!(matches!(same, OutputProblem::ShardsOfOneName { .. }), "{same}");
    fs::write(at("note.txt"), "a text").unwrap();
    let list = problem(&[at("note.txt")], "new", Shards::Into(2));
    assert!(matches!(list, OutputProblem::ShardsOfFiles { .. }) && !at("new").exists(), "{list}");
    let own = problem(std::slice::from_ref(&one), "in/date=2024-01-00", Shards::ByInput);
    assert!(matches!(own, OutputProblem::ShardExists { .. } | OutputProblem::IsInput { .. }), "{own}");
}

/// A file of Parquet is the same, byte for byte, wherever it was interrupted; its rows are in a file of their own
/// until then.
#[test]
fn parquet_resumes_inside_of_a_file() {
    for (shards, keep) in [(None, Keep::First), (Some(Shards::Into(3)), Keep::First), (None, Keep::Longest)] {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        write_inputs(&at("in"), "parquet", 3, 12_000);
        let of = |name: &str| {
            let output = if shards.is_some() { name.to_string() } else { format!("{name}/x.parquet") };
            fs::create_dir_all(at(name)).unwrap();
            let mut job = job(&at("in"), &at(&output), shards);
            (job.keep, job.annotate) = (Some(keep.clone()), true);
            job.database = Some(at(&format!("{name}.np")));
            job
        };
        let expected = run(&of("whole"), u64::MAX).unwrap();
        for until in [1, 9_000, 10_500, 21_000, 35_999].into_iter().skip(short_or_full(2, 0)) {
            let cut = run(&of("cut"), until);
            assert!(matches!(cut, Err(Error::Engine(nearprint::Error::Interrupted))), "{shards:?}");
        }
        let waiting = files(&at("cut"));
        assert!(
            waiting.keys().any(|name| name.to_string_lossy().ends_with(".rows.zst.partial")),
            "{:?}",
            waiting.keys()
        );
        let resumed = run(&of("cut"), u64::MAX).unwrap();
        assert!(resumed.resumed_after >= 20_000 && resumed.counts == expected.counts);
        assert!(files(&at("cut")) == files(&at("whole")), "{shards:?}: {:?}", files(&at("cut")).keys());
        assert!(run(&of("cut"), u64::MAX).unwrap().completed.is_some());

        if shards.is_none() {
            // A folder in the place of the output stands for a kill before the file gets its name.
            let blocked = of("blocked").run(|counts, _| {
                if counts.records == expected.counts.records {
                    fs::create_dir_all(at("blocked/x.parquet")).unwrap();
                }
                ControlFlow::Continue(())
            });
            assert!(blocked.is_err());
            fs::remove_dir(at("blocked/x.parquet")).unwrap();
            assert!(run(&of("blocked"), u64::MAX).unwrap().completed.is_some());
            assert!(files(&at("blocked")) == files(&at("whole")), "{:?}", files(&at("blocked")).keys());
        }

        // What another program has put in the place of the rows stays.
        fs::create_dir_all(at("other")).unwrap();
        let name = if shards.is_some() { "part-00001-of-00003.parquet" } else { "x.parquet" };
        let foreign = at("other").join(format!("{name}.rows.zst.partial"));
        fs::write(&foreign, "mine").unwrap();
        let refused = run(&of("other"), u64::MAX);
        assert!(matches!(refused, Err(Error::Output(OutputProblem::PartialExists { .. }))), "{refused:?}");
        assert_eq!(fs::read(foreign).unwrap(), b"mine");
    }
}

/// The paths of the numbers of a JSON value, of at most two members of each list.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Number(_) => found.push(path.to_string()),
        Value::Array(members) => {
            let members = members.iter().take(2).enumerate();
            members.for_each(|(at, member)| numbers(member, &format!("{path}/{at}"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| numbers(member, &format!("{path}/{name}"), found));
        }
        _ => {}
    }
}

/// Numbers of a checkpoint were places in lists, and sums of them too large.
#[test]
fn regression_a_checkpoint_may_have_any_numbers() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    write_inputs(&at("in"), "jsonl", 70, 4);
    let mut job = job(&at("in"), &at("out"), Some(Shards::ByInput));
    job.database = Some(at("out.np"));
    // A checkpoint is made for so many files.
    assert!(run(&job, 280).is_err());
    let states = ["out", "out.np"].map(|name| {
        let mut found = files(&at(name));
        // A copy of a file that was begun later is no file of the job.
        found.retain(|file, _| name != "out" || *file < *Path::new("date=2024-01-64"));
        (at(name), found)
    });
    let restore = || {
        for (folder, files) in &states {
            fs::remove_dir_all(folder).unwrap();
            for (name, content) in files {
                fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
                fs::write(folder.join(name), content).unwrap();
            }
        }
    };
    let database = || Deduplicator::open(at("out.np"), job.dedup.clone()).unwrap();
    let stored: Value = serde_json::from_slice(database().unfinished().unwrap()).unwrap();
    let mut paths = Vec::new();
    numbers(&stored, "", &mut paths);
    assert!(paths.iter().any(|path| path == "/shards/ended/1/0"), "{stored}");
    for path in &paths {
        for number in [70, u64::MAX] {
            restore();
            let mut forged = stored.clone();
            *forged.pointer_mut(path).unwrap() = number.into();
            let mut database = database();
            database.checkpoint(forged.to_string().as_bytes()).unwrap();
            drop(database);
            let result = run(&job, u64::MAX);
            let is_place = ["/shards/begun", "/shards/ended/0/0", "/shards/ended/1/0"].contains(&&**path);
            if number == u64::MAX && (is_place || path.starts_with("/counts")) {
                let refused = matches!(result, Err(Error::Resume(ResumeProblem::OtherProgram)));
                assert!(refused, "{path}: {result:?}");
            }
        }
    }
}
