//! What commands do to the files that they write: a file has its name only when it is complete, and
//! nothing else is removed, emptied or renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{duplicates, fails, nearprint, succeeds};
use nearprint_text::documents::LineFile;
use testkit::files::{can_link, mode, set_mode, symlink};
use testkit::{Need, skip};

fn read(at: &Path, name: &str) -> String {
    fs::read_to_string(at.join(name)).unwrap()
}

fn names(at: &Path) -> Vec<String> {
    let entries = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

/// Two near-duplicates for each even number, and their lines.
fn pages(range: std::ops::Range<u32>) -> String {
    let page = |n: u32| {
        let words: Vec<String> = (0..12).map(|word| format!("w{}", (n / 2) * 31 + word)).collect();
        format!("{{\"id\":\"p{n}\",\"text\":\"{}\",\"size\":{n}}}\n", words.join(" "))
    };
    range.map(page).collect()
}

fn rows(at: &Path, database: &str) -> Vec<String> {
    let mut rows: Vec<String> =
        succeeds(at, &format!("export {database}"), b"").lines().map(Into::into).collect();
    rows.sort();
    rows
}

#[test]
fn regression_a_field_that_does_not_exist_leaves_the_old_output() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    succeeds(at, "dedup in.jsonl -o out.jsonl --duplicates gone.tsv", b"");
    let files = || (read(at, "out.jsonl"), duplicates(at, "gone.tsv"));
    let before = files();
    assert_eq!((before.0.lines().count(), before.1.lines().count()), (10, 10));
    for wrong in ["--text-field typo", "--key-field typo", "--text-field typo --keep max:typo"] {
        for database in ["", "--db seen.np"] {
            fails(
                at,
                &format!("dedup in.jsonl -o out.jsonl --duplicates gone.tsv {wrong} {database}"),
                b"",
                5,
                &["typo"],
            );
            assert_eq!(files(), before, "{wrong} {database}");
        }
    }
    assert_eq!(names(at), ["gone.tsv", "in.jsonl", "out.jsonl"]);
    // The same of other commands that write files.
    fs::write(at.join("evals.jsonl"), "{\"text\":\"one\"}\n").unwrap();
    fails(
        at,
        "decontaminate in.jsonl --against evals.jsonl -o out.jsonl --found gone.tsv --text-field typo",
        b"",
        5,
        &[],
    );
    assert_eq!(files(), before);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no such names")]
fn regression_the_name_of_a_file_with_a_line_feed_leaves_no_part_of_a_list() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("folder")).unwrap();
    for name in ["a", "b\nc", "d"] {
        fs::write(at.join("folder").join(name), format!("text of {name:?} and some more words")).unwrap();
    }
    fs::write(at.join("kept.txt"), "yesterday\n").unwrap();
    let outcome = nearprint(at, "dedup folder -o kept.txt", b"");
    if outcome.code != 0 {
        assert_eq!(read(at, "kept.txt"), "yesterday\n", "{}", outcome.err);
    }
    assert_eq!(names(at), ["folder", "kept.txt"]);
}

#[test]
fn regression_an_earlier_job_given_again_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let monday = "dedup mon.jsonl -o mon.out --db seen.np --key-field id";
    let tuesday = "dedup tue.jsonl -o tue.out --db seen.np --key-field id";
    fs::write(at.join("mon.jsonl"), pages(0..40)).unwrap();
    fs::write(at.join("tue.jsonl"), pages(30..60)).unwrap();
    succeeds(at, monday, b"");
    succeeds(at, tuesday, b"");
    let (files, stored) = ((read(at, "mon.out"), read(at, "tue.out")), rows(at, "seen.np"));
    assert_eq!((files.0.lines().count(), files.1.lines().count(), stored.len()), (20, 10, 30));

    for (line, numbers) in [(monday, "40 records read: 20 kept"), (tuesday, "30 records read: 10 kept")] {
        let again = nearprint(at, line, b"");
        assert_eq!(again.code, 0, "{}", again.err);
        assert!(again.err.contains("already complete since 2"), "{}", again.err);
        assert!(again.err.contains(numbers), "{}", again.err);
    }
    // One more output, or other options, make no other job of the same inputs.
    for more in ["--duplicates gone.tsv", "--annotate", "--similarity 0.9"] {
        let again = nearprint(at, &format!("{monday} {more}"), b"");
        let (code, said) =
            if more.starts_with("--dup") { (2, "already run on 2") } else { (0, "already complete since 2") };
        assert!(again.code == code && again.err.contains(said), "{}", again.err);
    }
    assert_eq!(((read(at, "mon.out"), read(at, "tue.out")), rows(at, "seen.np")), (files.clone(), stored));
    assert!(!at.join("gone.tsv").exists());

    let again = nearprint(at, &format!("{monday} --restart"), b"");
    assert!(again.code == 0 && again.err.contains("40 records read: 20 kept"), "{}", again.err);
    assert_eq!((read(at, "mon.out"), read(at, "tue.out")), files);
    // Another output would be empty: it is refused, and the earlier one is named.
    let other = monday.replace("mon.out", "other.out");
    fails(at, &other, b"", 2, &["into mon.out: its 40 documents were decided then", "--restart"]);
    assert!(!at.join("other.out").exists());
    fails(at, &monday.replace("mon.out", "-"), b"", 2, &["into mon.out"]);
    // Days without a record are no such thing.
    for day in ["1", "2"] {
        succeeds(at, &format!("dedup - -o day{day}.out --db seen.np --input-format jsonl"), b"");
    }
}

#[test]
fn regression_a_restart_removes_only_the_rows_of_its_job() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = "dedup in.jsonl -o out.jsonl --db seen.np --key-field id --recipe simhash";
    fs::write(at.join("in.jsonl"), pages(0..40)).unwrap();
    succeeds(at, line, b"");
    let of_job = rows(at, "seen.np");
    let others = "fingerprint,id,key\n77,1001,https://a/\n78,1002,https://b/\n";
    succeeds(at, "add seen.np - --input-format csv --acknowledge", others.as_bytes());
    assert_eq!(rows(at, "seen.np").len(), of_job.len() + 2);
    succeeds(at, &format!("{line} --restart"), b"");
    let mut expected = of_job.clone();
    expected.extend(["77\t1001\thttps://a/".to_string(), "78\t1002\thttps://b/".into()]);
    expected.sort();
    assert_eq!(rows(at, "seen.np"), expected);

    // The same of an interrupted job, between whose parts somebody else has stored rows.
    let cut = "dedup - -o cut.jsonl --db seen.np --key-field id --recipe simhash";
    interrupt_after_checkpoint(at, cut, &pages(100..25_000), "cut.jsonl");
    succeeds(at, "add seen.np - --input-format csv", b"fingerprint,id,key\n79,1003,https://c/\n");
    let outcome = nearprint(at, cut, pages(100..25_000).as_bytes());
    assert!(outcome.code == 0 && outcome.err.contains("an interrupted run processed"), "{}", outcome.err);
    succeeds(at, "add seen.np - --input-format csv", b"fingerprint,id,key\n80,1004,https://d/\n");
    // It is given again with the first of its documents alone: another job, which forgets nothing.
    let before = rows(at, "seen.np");
    succeeds(at, &format!("{cut} --restart"), b"");
    assert_eq!(rows(at, "seen.np"), before);
    succeeds(at, &format!("{cut} --restart"), pages(100..25_000).as_bytes());
    assert_eq!(rows(at, "seen.np"), before);
    let kept = rows(at, "seen.np");
    for id in ["1001", "1002", "1003", "1004"] {
        assert!(kept.iter().any(|row| row.contains(&format!("\t{id}\t"))), "{id}");
    }
}

fn start(at: &Path, line: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_nearprint"))
        .args(line.split(' '))
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Starts a job, and kills it when its database has a checkpoint with rows and its output has bytes.
fn interrupt_after_checkpoint(at: &Path, line: &str, input: &str, output: &str) {
    // The lock is taken, and the log begun, before there is a checkpoint.
    let stats = || {
        let all = nearprint(at, "stats seen.np", b"").out;
        all.lines().find(|line| line.starts_with("rows\t")).map(str::to_string)
    };
    let before = stats();
    let mut child = start(at, line);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let started = Instant::now();
    let partial = at.join(format!("{output}.partial"));
    while stats() == before || partial.metadata().is_ok_and(|file| file.len() == 0) {
        assert!(started.elapsed() < Duration::from_secs(60), "no checkpoint came");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(partial.exists(), "the unfinished output stays");
}

#[test]
fn regression_a_run_resumes_only_the_output_that_it_has_written() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (line, input) = ("dedup - -o big.out --db seen.np --key-field id", pages(0..25_000));
    interrupt_after_checkpoint(at, line, &input, "big.out");
    let partial = at.join("big.out.partial");
    let written = fs::read(&partial).unwrap();
    for foreign in [vec![b'x'; 6 << 20], written[..10].to_vec(), {
        let mut changed = written.clone();
        changed[0] ^= 1;
        changed
    }] {
        fs::write(&partial, &foreign).unwrap();
        fails(at, line, input.as_bytes(), 1, &["big.out"]);
        assert_eq!(fs::read(&partial).unwrap(), foreign);
        assert!(!at.join("big.out").exists());
    }
    fs::write(&partial, &written).unwrap();
    succeeds(at, line, input.as_bytes());
    assert_eq!(read(at, "big.out").lines().count(), 12_500);
    assert!(!partial.exists());
}

#[test]
fn regression_two_outputs_are_not_one_file_through_a_link() {
    if !can_link() {
        return skip(
            Need::Links,
            "outputs::regression_two_outputs_are_not_one_file_through_a_link",
            "there are none",
        );
    }
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    fs::write(at.join("evals.jsonl"), "{\"text\":\"one\"}\n").unwrap();
    symlink("a.out", at.join("b.out")).unwrap();
    symlink("b.out", at.join("c.out")).unwrap();
    for other in ["b.out", "c.out", "./a.out"] {
        let refused = ["are the same file"];
        fails(at, &format!("dedup in.jsonl -o a.out --duplicates {other}"), b"", 2, &refused);
        fails(
            at,
            &format!("decontaminate in.jsonl --against evals.jsonl -o a.out --found {other}"),
            b"",
            2,
            &refused,
        );
    }
    // A link is followed, and stays.
    succeeds(at, "dedup in.jsonl -o c.out", b"");
    assert_eq!(read(at, "a.out").lines().count(), 10);
    assert!(at.join("c.out").is_symlink() && at.join("b.out").is_symlink());
}

#[test]
fn regression_a_foreign_file_with_the_name_of_an_unfinished_output_stays() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    succeeds(at, "build rows.np", b"1\n2\n");
    let commands = [
        "dedup in.jsonl -o out",
        "dedup in.jsonl -o out --db seen.np",
        "dedup in.jsonl -o other --duplicates out",
        "dedup in.jsonl -o other --duplicates more --report out",
        "export rows.np -o out",
        "scan in.jsonl in.jsonl --report out",
    ];
    let partial = at.join("out.partial");
    for content in ["", "a thesis"] {
        fs::write(&partial, content).unwrap();
        for line in commands {
            fails(at, line, b"", 1, &["out.partial", "move it away"]);
            assert_eq!(read(at, "out.partial"), content, "{line}");
        }
    }
    fs::remove_file(&partial).unwrap();
    if can_link() {
        symlink("in.jsonl", &partial).unwrap();
        fails(at, commands[0], b"", 1, &["move it away"]);
        assert!(partial.is_symlink());
        fs::remove_file(&partial).unwrap();
    }
    fs::create_dir(&partial).unwrap();
    fails(at, commands[0], b"", 1, &["move it away"]);
    assert!(partial.is_dir());
}

/// Any error of opening it was taken for a foreign file.
#[test]
#[cfg_attr(windows, ignore = "runs lines of a shell")]
fn regression_an_unfinished_output_that_cannot_be_opened_is_no_foreign_file() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..2)).unwrap();
    let mut refused = 0;
    for handles in 4..24 {
        let script =
            format!("ulimit -n {handles}; exec {} -q dedup in.jsonl -o out", env!("CARGO_BIN_EXE_nearprint"));
        let run = Command::new("sh").arg("-c").arg(script).current_dir(at).output().unwrap();
        let err = String::from_utf8(run.stderr).unwrap();
        assert!(run.status.success() || err.contains("Too many open files"), "{handles}: {err}");
        refused += u32::from(err.contains("out.partial: Too many open files"));
    }
    assert!(refused > 0);
}

/// A folder of the name of a new database was made and stayed. A link was refused after the output was created.
#[test]
fn regression_a_database_that_cannot_be_made_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..2)).unwrap();
    for output in ["new.np/ --shards 2", "new.np/", "new.np/inner/ --shards 2"] {
        fails(at, &format!("dedup in.jsonl -o {output} --db new.np"), b"", 2, &["lies in the database"]);
        assert_eq!(names(at), ["in.jsonl"], "{output}");
    }
    succeeds(at, "dedup in.jsonl -o parts/ --shards 2 --db parts/seen.np", b"");
    if can_link() {
        symlink("nowhere", at.join("link.np")).unwrap();
        for options in ["-o out", "-o out --keep longest", "-o out --keep max:size --dry-run"] {
            fails(at, &format!("dedup in.jsonl {options} --db link.np"), b"", 1, &["already exists"]);
            assert_eq!(names(at), ["in.jsonl", "link.np", "parts"], "{options}");
        }
    }
}

#[test]
fn regression_the_unfinished_output_of_a_killed_command_is_replaced_by_the_next() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    let line = "dedup - -o out.jsonl";
    let mut child = start(at, line);
    let partial = at.join("out.jsonl.partial");
    // More than the pipe holds: once it is written, the command is reading, and has its output.
    child.stdin.as_mut().unwrap().write_all(pages(0..5000).as_bytes()).unwrap();
    assert!(partial.exists());
    // While it is written, no other command takes it.
    fails(at, "dedup in.jsonl -o out.jsonl", b"", 1, &["is being written"]);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(partial.exists());
    // Neither a copy of it nor the file under another name is taken for an unfinished output.
    fs::rename(&partial, at.join("mine.partial")).unwrap();
    fails(at, "dedup in.jsonl -o mine", b"", 1, &["move it away"]);
    fs::rename(at.join("mine.partial"), &partial).unwrap();
    succeeds(at, "dedup in.jsonl -o out.jsonl", b"");
    assert_eq!(read(at, "out.jsonl").lines().count(), 10);
    assert_eq!(names(at), ["in.jsonl", "out.jsonl"]);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no mode bits")]
fn an_output_takes_the_mode_of_the_file_that_it_replaces() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    fs::write(at.join("out.jsonl"), "old").unwrap();
    set_mode(&at.join("out.jsonl"), 0o640);
    succeeds(at, "dedup in.jsonl -o out.jsonl", b"");
    assert_eq!(mode(&at.join("out.jsonl")), 0o640);
}

#[test]
fn regression_long_names_of_outputs_have_room_for_the_suffix() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build rows.np", b"1\n2\n");
    for name in ["n".repeat(255), "n".repeat(248), "é".repeat(127)] {
        succeeds(at, &format!("export rows.np -o {name}"), b"");
        assert_eq!(read(at, &name).lines().count(), 2);
    }
    assert_eq!(names(at).len(), 4);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no full device")]
fn regression_documents_that_a_full_device_did_not_take_are_delivered_later() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let (line, input) = ("dedup in.jsonl -o - --db seen.np --key-field id", pages(0..30_000));
    fs::write(at.join("in.jsonl"), &input).unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
    command.args(line.split(' ')).current_dir(at).stderr(Stdio::piped());
    let outcome = command.stdout(full).output().unwrap();
    assert_eq!(outcome.status.code(), Some(1), "{}", String::from_utf8_lossy(&outcome.stderr));
    assert_eq!(rows(at, "seen.np").len(), 0, "nothing is stored that was not written");

    // A reader that ends after three lines.
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut some = [0; 3000];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let outcome = child.wait_with_output().unwrap();
    assert_eq!((outcome.status.code(), outcome.stderr.len()), (Some(7), 0));
    let (stored, rest) = (rows(at, "seen.np").len(), succeeds(at, line, b""));
    assert_eq!(rest.lines().count(), 15_000 - stored);
    assert_eq!(rows(at, "seen.np").len(), 15_000);
}

/// Parquet can be read only with its end. Where the reader left before, half of the documents were stored, and no run
/// delivered them.
#[test]
#[cfg(feature = "parquet")]
fn regression_documents_of_parquet_without_its_end_are_delivered_later() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..30_000)).unwrap();
    succeeds(at, "dedup in.jsonl -o in.parquet --key-field id", b"");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
    command.args(["dedup", "in.parquet", "-o", "-", "--db", "seen.np", "--key-field", "id"]);
    command.current_dir(at).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    child.stdout.take().unwrap().read_exact(&mut [0; 4]).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    assert_eq!(rows(at, "seen.np").len(), 0, "nothing is stored that cannot be read");
    let output = File::create(at.join("out.parquet")).unwrap();
    assert!(command.stdout(output).status().unwrap().success());
    assert_eq!(rows(at, "seen.np").len(), 15_000);
    succeeds(at, "dedup out.parquet -o out.jsonl --key-field id", b"");
    assert_eq!(read(at, "out.jsonl").lines().count(), 15_000);
}

#[test]
#[cfg_attr(windows, ignore = "opens devices by their names in /dev; `windows` has a test of NUL")]
fn an_output_that_is_no_regular_file_is_written_directly() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    succeeds(at, "dedup in.jsonl -o /dev/null --duplicates /dev/null", b"");
    assert_eq!(succeeds(at, "dedup in.jsonl -o /dev/stdout", b"").lines().count(), 10);
    // What a file that stands for standard output has already stays.
    fs::write(at.join("log"), "before\n").unwrap();
    let log = File::options().append(true).open(at.join("log")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
    command.args(["dedup", "in.jsonl", "-o", "/dev/stdout"]).current_dir(at);
    assert!(command.stdout(log).stderr(Stdio::null()).status().unwrap().success());
    assert_eq!(read(at, "log").lines().count(), 11);
}

#[test]
fn a_list_of_files_can_stand_in_the_folder_that_it_lists() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("folder")).unwrap();
    for number in 0..6 {
        let text: Vec<String> = (0..12).map(|word| format!("w{}", number / 2 * 31 + word)).collect();
        fs::write(at.join("folder").join(format!("{number}.txt")), text.join(" ")).unwrap();
    }
    succeeds(at, "dedup folder -o folder/3-kept.txt --keep longest --duplicates folder/2-gone.tsv", b"");
    assert_eq!(read(at, "folder/3-kept.txt").lines().count(), 3);
}

/// `export -o rows.u64` wrote TSV, which `build` read as raw numbers.
#[test]
fn regression_a_name_decides_the_format_of_exported_rows() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    succeeds(at, "build db", b"10000\n20000\n");
    let rows = succeeds(at, "export db", b"");
    for name in
        ["rows.u64", "rows.npy", "rows.tsv", "rows.csv", "rows.jsonl", "rows.txt", "rows", "rows.parquet"]
    {
        succeeds(at, &format!("export db -o {name}"), b"");
        succeeds(at, &format!("build copy-{name}.np {name}"), b"");
        assert_eq!(succeeds(at, &format!("export copy-{name}.np"), b"").lines().count(), 2, "{name}");
        let first = succeeds(at, &format!("export copy-{name}.np"), b"");
        assert!(first.starts_with("10000\t"), "{name}: {first}");
    }
    assert_eq!(fs::read_to_string(at.join("rows.tsv")).unwrap(), rows);
    assert_eq!(fs::read(at.join("rows.u64")).unwrap().len(), 16);
    for refused in [
        "bad.npy.gz",
        "bad.u64.zst",
        "bad.u128",
        "bad.u64 --format tsv",
        "bad.tsv --format u64",
        "bad.npy --format parquet",
    ] {
        let name = refused.split(' ').next().unwrap();
        fails(at, &format!("export db -o {refused}"), b"", 2, &["u128"][..usize::from(name == "bad.u128")]);
        assert!(!at.join(name).exists(), "{refused}");
    }
    fails(at, "export db -o bad.u64 --format tsv", b"", 2, &["bad.u64", "raw 64-bit numbers", "TSV", ".tsv"]);
}

#[test]
fn regression_names_of_other_formats_are_refused_before_anything_is_written() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    fs::write(at.join("d/a.txt"), "one two three four five\n").unwrap();
    fs::write(at.join("in.jsonl"), "{\"text\":\"one two three four five\"}\n").unwrap();
    fs::write(at.join("in.csv"), "text\none two three four five\n").unwrap();
    fs::write(at.join("odd.csv"), "text\tn\none two three four five\t1\n").unwrap();
    fs::write(at.join("twice.csv"), "text,n,n\none two three four five,1,2\n").unwrap();
    let before = names(at);
    for refused in [
        "dedup in.jsonl -o out.npy --db seen.np",
        "dedup in.csv -o out.u64",
        "dedup d -o out.parquet",
        "dedup d -o out.npy",
        "dedup d -o out.jsonl",
        "dedup in.jsonl -o out.jsonl --duplicates out2.parquet",
        "dedup in.jsonl -o out.jsonl --duplicates out2.npy",
        "dedup in.jsonl -o out.jsonl --rejects out2.u64",
        "decontaminate in.jsonl --against d/a.txt -o out.npy",
        "decontaminate in.jsonl --against d/a.txt -o out.jsonl --found out2.jsonl",
    ] {
        fails(at, refused, b"", 2, &["out", "the name denotes", "give it a name that ends in"]);
        assert_eq!(names(at), before, "{refused}");
    }
    // What another format cannot have is refused as early.
    for (refused, why) in [
        ("dedup in.csv -o out.jsonl --fields none --db seen.np", "there is no column \"none\""),
        ("dedup twice.csv -o out.jsonl --db seen.np", "two columns have the name \"n\""),
    ] {
        fails(at, refused, b"", 2, &[why]);
        assert_eq!(names(at), before, "{refused}");
    }
    for fine in [
        "dedup in.jsonl -o out.json",
        "dedup in.jsonl -o out.jsonl.gz",
        "dedup in.jsonl -o out.log --duplicates out.txt --rejects bad.csv",
        "dedup in.csv -o out.CSV",
        "dedup odd.csv --input-format tsv -o odd-out.csv",
        "dedup in.jsonl -o out.parquet",
        "dedup d -o list.txt",
        "dedup d -o list.tsv --duplicates list2.tsv.gz",
        "dedup d -o list",
    ] {
        succeeds(at, fine, b"");
    }
}

#[test]
fn duplicates_are_listed_as_csv_if_their_file_is_named_so() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let records =
        [("a,\"1\"", "one two three four"), ("b\tc", "one two three four"), ("d", "one, two three four")];
    let line = |(key, text): (&str, &str)| format!("{}\n", serde_json::json!({ "id": key, "text": text }));
    fs::write(at.join("in.jsonl"), records.map(line).concat()).unwrap();
    let dedup = "dedup in.jsonl -o out.jsonl --key-field id";
    succeeds(at, &format!("{dedup} --duplicates d.csv --report d.html"), b"");
    let csv = fs::read_to_string(at.join("d.csv")).unwrap();
    let kept = "\"a,\"\"1\"\"\"";
    assert_eq!(
        csv,
        format!(
            "key,duplicate_of,distance,similarity,group,copy\nb\tc,{kept},0,1.0000,{kept},true\n\
             d,{kept},0,1.0000,{kept},true\n"
        )
    );
    let page = fs::read_to_string(at.join("d.html")).unwrap();
    assert!(page.contains(r#"a,\"1\""#), "the page has no groups");
    succeeds(at, &format!("{dedup} --duplicates d.tsv --group-size"), b"");
    let tsv = fs::read_to_string(at.join("d.tsv")).unwrap();
    assert!(tsv.contains("\nb\\tc\ta,\"1\"\t0\t1.0000\ta,\"1\"\ttrue\t3\n"), "{tsv}");
    fs::write(
        at.join("pages.jsonl"),
        "{\"text\": \"one two three four five\\n\\none two three four five\"}\n",
    )
    .unwrap();
    succeeds(at, "trim pages.jsonl -o left.jsonl --removed r.csv", b"");
    let removed = fs::read_to_string(at.join("r.csv")).unwrap();
    assert_eq!(removed, "key,number,first_seen_in,first_number\npages.jsonl:1,2,pages.jsonl:1,1\n");
}

#[cfg(target_os = "linux")]
#[test]
fn regression_an_output_in_the_folder_of_shared_memory_was_appended_to() {
    let home = testkit::folder_in_memory();
    let at = home.path();
    fs::write(at.join("list.txt"), "1\n2\n3\n").unwrap();
    succeeds(at, "build a.np list.txt", b"");
    let out = at.join("out.tsv");
    let command = format!("export a.np -o {}", out.display());
    for _ in 0..2 {
        succeeds(at, &command, b"");
        assert_eq!(fs::read_to_string(&out).unwrap().lines().count(), 3);
    }
    // What a process has open is written to, also where it is a regular file.
    let link = at.join("link");
    symlink("/dev/stdout", &link).unwrap();
    for path in [Path::new("/dev/stdout"), Path::new("/proc/self/fd/1"), &link] {
        let printed = File::create(at.join("printed")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
        command.current_dir(at).args(["export", "a.np", "-o"]).arg(path).stdout(printed);
        assert!(command.status().unwrap().success(), "{}", path.display());
        assert_eq!(read(at, "printed").lines().count(), 3, "{}", path.display());
    }
}

/// The unfinished output of a killed run was emptied and removed by the run that was to read it.
#[test]
fn regression_the_unfinished_file_of_an_output_is_no_input() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (left, out) in [("out.jsonl", "out.jsonl"), ("out.parquet.rows.zst", "out.parquet")] {
        let mut killed = LineFile::create_resumable(&at.join(left)).unwrap();
        killed.append(pages(0..20).as_ref()).unwrap();
        killed.flush_and_sync().unwrap();
        drop(killed);
        let before = fs::read(at.join(format!("{left}.partial"))).unwrap();
        let line = format!("dedup {left}.partial --input-format jsonl -o {out}");
        fails(at, &line, b"", 2, &[out, &format!("{left}.partial: is also an input")]);
        assert_eq!(fs::read(at.join(format!("{left}.partial"))).unwrap(), before);
    }
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    let line = "dedup in.jsonl -o other.jsonl --duplicates other.jsonl.partial";
    fails(at, line, b"", 2, &["--output and --duplicates are the same file", "other.jsonl.partial"]);
}

/// Reports and counts replaced files of `--against` and each other, and outputs replaced the file of stop words and the
/// command of `--pre`.
#[test]
fn regression_outputs_replace_nothing_that_an_option_reads_and_no_other_output() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::create_dir(at.join("ag")).unwrap();
    fs::create_dir(at.join("d")).unwrap();
    for name in ["ag/ag.txt", "d/a.txt", "d/b.txt", "stop.txt", "pre.sh"] {
        fs::write(at.join(name), "one two three four five six").unwrap();
    }
    #[cfg(unix)]
    {
        fs::write(at.join("pre.sh"), "#!/bin/sh\ncat \"$1\"\n").unwrap();
        set_mode(&at.join("pre.sh"), 0o755);
    }
    for name in ["in.jsonl", "ref.jsonl"] {
        fs::write(at.join(name), pages(0..20)).unwrap();
    }
    let inputs = ["ag/ag.txt", "stop.txt", "pre.sh", "in.jsonl", "ref.jsonl"];
    let before = inputs.map(|name| read(at, name));
    for line in [
        "dedup in.jsonl -o o.jsonl --against ref.jsonl --summary ref.jsonl",
        "dedup in.jsonl -o o.jsonl --against ref.jsonl --report ref.jsonl",
        "dedup d -o o.txt --against ag --report ag/ag.txt",
        "dedup d -o o.txt --against ag --summary ag/ag.txt",
        "dedup in.jsonl -o o.jsonl --report same --summary same",
        "dedup in.jsonl -o stop.txt --recipe stop=stop.txt",
        "dedup in.jsonl -n --recipe stop=stop.txt --report stop.txt",
        "trim in.jsonl -o o.jsonl --recipe stop=stop.txt --removed stop.txt",
        "trim in.jsonl -o o.jsonl --recipe stop=stop.txt --summary stop.txt",
        "fingerprint in.jsonl --recipe stop=stop.txt --rejects stop.txt",
        "tune in.jsonl --recipe stop=stop.txt --report stop.txt",
        "compare d/a.txt d/b.txt --recipe stop=stop.txt --report stop.txt",
        "scan d --recipe stop=stop.txt --report stop.txt",
        "scan d --report same --summary same",
        "prune d --recipe stop=stop.txt --move-to gone --summary stop.txt",
    ] {
        fails(at, line, b"", 2, &["--"]);
        assert_eq!(inputs.map(|name| read(at, name)), before, "{line}");
        assert!(!at.join("same").exists() && !at.join("gone").exists(), "{line}");
    }
    fs::create_dir(at.join("parts")).unwrap();
    for line in [
        "dedup in.jsonl -o parts --summary parts/in.jsonl",
        "dedup in.jsonl -o parts --shards 2 --report parts/part-00001-of-00002.jsonl",
    ] {
        fails(at, line, b"", 2, &["--output", "are the same file"]);
        assert_eq!(names(&at.join("parts")), [""; 0], "{line}");
    }
    for line in [
        "dedup d -o o.txt --pre ./pre.sh --duplicates pre.sh",
        "scan d --pre ./pre.sh --report pre.sh",
        "decontaminate in.jsonl --against ref.jsonl -o o.jsonl --pre ./pre.sh --found pre.sh",
    ] {
        if cfg!(unix) {
            fails(at, line, b"", 2, &["pre.sh: is also an input"]);
            assert_eq!(inputs.map(|name| read(at, name)), before, "{line}");
        }
    }
}
