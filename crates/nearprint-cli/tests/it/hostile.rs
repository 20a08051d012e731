//! What a hostile or unlucky user may do: regression tests of the security review.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli::{Outcome, duplicates, fails, nearprint, run, succeeds};
use testkit::files::{can_link, mode, set_mode, symlink};
#[cfg(unix)]
use testkit::{Need, skip};

fn read(at: &Path, name: &str) -> String {
    fs::read_to_string(at.join(name)).unwrap()
}

fn pages(range: std::ops::Range<u32>) -> String {
    let page = |n| {
        let words: Vec<String> = (0..8).map(|word| format!("w{}", (n / 2) * 31 + word)).collect();
        format!("{{\"id\":\"p{n}\",\"text\":\"{}\"}}\n", words.join(" "))
    };
    range.map(page).collect()
}

const DEDUP: &str = "dedup in.jsonl -o out.jsonl --db seen.np --key-field id --duplicates dups.tsv";

#[test]
fn regression_a_finished_dedup_given_again_leaves_its_outputs_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..200)).unwrap();
    succeeds(at, DEDUP, b"");
    let kept = read(at, "out.jsonl");
    let files = || (read(at, "out.jsonl"), duplicates(at, "dups.tsv"));
    let before = files();
    assert_eq!((kept.lines().count(), before.1.lines().count()), (100, 100));

    for _ in 0..2 {
        let again = nearprint(at, DEDUP, b"");
        assert_eq!((again.code, again.out.as_str()), (0, ""), "{}", again.err);
        assert!(
            again.err.contains("already complete since 2")
                && again.err.contains(" UTC: 200 records read: 100 kept"),
            "{}",
            again.err
        );
        assert_eq!(files(), before);
    }
    // An output that was changed is not overwritten, and the way out is named.
    fs::write(at.join("out.jsonl"), "edited\n").unwrap();
    fails(at, DEDUP, b"", 2, &["out.jsonl: was changed or removed", "--restart"]);
    assert_eq!(read(at, "out.jsonl"), "edited\n");
    fs::remove_file(at.join("out.jsonl")).unwrap();
    fails(at, DEDUP, b"", 2, &["--restart"]);
    // It forgets the rows of the job.
    succeeds(at, &format!("{DEDUP} --restart"), b"");
    assert_eq!(files(), before);

    // Other content of the same length is another job.
    fs::write(at.join("in.jsonl"), pages(400..600)).unwrap();
    let other = nearprint(at, DEDUP, b"");
    assert!(other.err.contains("200 records read: 100 kept"), "{}", other.err);
    assert!(!other.err.contains("already complete"), "{}", other.err);
    assert_ne!(read(at, "out.jsonl"), kept);
}

#[test]
fn regression_a_finished_dedup_by_rank_of_standard_input_leaves_its_output_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = "dedup - -o out.jsonl --db seen.np --key-field id --keep longest";
    succeeds(at, line, pages(0..50).as_bytes());
    let before = read(at, "out.jsonl");
    let again = nearprint(at, line, pages(0..50).as_bytes());
    assert!(again.err.contains("already complete"), "{}", again.err);
    assert_eq!(read(at, "out.jsonl"), before);
    // The documents of the next day.
    let next = nearprint(at, line, pages(50..120).as_bytes());
    assert_eq!(next.code, 0);
    assert!(next.err.contains("70 records read: 35 kept"), "{}", next.err);
}

#[test]
fn regression_a_finished_dedup_of_a_stream_leaves_its_output_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = "dedup - -o out.jsonl --db seen.np --key-field id";
    let header = |rows: &str| format!("id,text\n{rows}");
    let csv = "dedup - --input-format csv -o out.csv --db csv.np --key-field id";
    succeeds(at, line, pages(0..1000).as_bytes());
    succeeds(at, csv, header("1,one two three\n2,ONE two three\n").as_bytes());
    let before = (read(at, "out.jsonl"), read(at, "out.csv"));
    assert_eq!(before.0.lines().count(), 500);
    for _ in 0..2 {
        let again = nearprint(at, line, pages(0..1000).as_bytes());
        assert!(
            again.err.contains("already complete since 2")
                && again.err.contains(" UTC: 1000 records read: 500 kept"),
            "{}",
            again.err
        );
        let again = nearprint(at, csv, header("1,one two three\n2,ONE two three\n").as_bytes());
        assert!(
            again.err.contains("already complete since 2")
                && again.err.contains(" UTC: 2 records read: 1 kept"),
            "{}",
            again.err
        );
    }
    assert_eq!((read(at, "out.jsonl"), read(at, "out.csv")), before);

    // Streams that begin alike: one ends early, one goes on, one differs in a record. What was read
    // to compare them is not lost.
    for (documents, kept) in
        [(pages(0..400), 0), (pages(0..1200), 100), (pages(0..700) + &pages(2000..2100), 50)]
    {
        let _ = fs::remove_dir_all(at.join("seen.np"));
        succeeds(at, line, pages(0..1000).as_bytes());
        let next = nearprint(at, line, documents.as_bytes());
        let records = documents.lines().count();
        assert!(next.err.contains(&format!("{records} records read: {kept} kept")), "{}", next.err);
        assert_eq!(read(at, "out.jsonl").lines().count(), kept);
    }
}

#[test]
fn regression_a_stream_that_begins_otherwise_is_not_held_back() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let line = "dedup - -o out.jsonl --db seen.np --key-field id";
    succeeds(at, line, pages(0..100).as_bytes());
    let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
    let mut child = command
        .current_dir(at)
        .args(line.split(' '))
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(pages(1000..20_000).as_bytes()).unwrap();
    stdin.flush().unwrap();
    let started = Instant::now();
    while succeeds(at, "export seen.np", b"").lines().count() == 50 {
        assert!(started.elapsed() < Duration::from_secs(60), "nothing is committed while the stream lasts");
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn regression_dedup_by_texts_creates_a_database_with_texts() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    let first = nearprint(at, "dedup in.jsonl -o out.jsonl --db new.np --similarity contained:0.9", b"");
    assert_eq!(first.code, 0, "{}", first.err);
    fs::copy(at.join("in.jsonl"), at.join("copy.jsonl")).unwrap();
    let next = nearprint(at, "dedup copy.jsonl -o next.jsonl --db new.np --similarity contained:0.9", b"");
    assert!(next.err.contains("20 records read: 0 kept"), "{}", next.err);
}

#[test]
fn regression_rows_with_too_many_or_too_few_cells_are_errors() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    for (more, input, why) in [
        ("--input-format csv", "fingerprint,id\n7,1\n8\n", "standard input:3: 1 cells"),
        ("--input-format csv", "fingerprint,id\n7,1,9\n", "standard input:2: 3 cells"),
        ("--input-format csv", "7,1\n8,2,\"k\",5\n", "standard input:2: 4 cells"),
        ("--input-format tsv", "7\t1\tk\tmore\n", "standard input:1: 4 cells"),
        ("--input-format tsv --columns fingerprint,id", "7\t1\n8\t2\t3\n", "standard input:2: 3 cells"),
        ("--input-format tsv --columns fingerprint,id", "7\n", "standard input:1: 1 cells"),
        ("--input-format csv", "id,fingerprint,id\n1,7,2\n", "two columns named \"id\""),
        ("--input-format csv", "fingerprint,fingerprint\n1,7\n", "two columns named \"fingerprint\""),
    ] {
        fails(at, &format!("build x.np {more} --store keys"), input.as_bytes(), 5, &[why]);
        assert!(!at.join("x.np").exists());
    }
    // Without a header, ids and keys may be missing; other columns may not be needed.
    succeeds(at, "build c.np --store keys --input-format tsv", b"7\t1\tk\n8\n9\t3\n");
    succeeds(at, "build a.np --input-format tsv --columns fingerprint,id", b"7\t1\tmore\n8\t2\tmore\n");
    succeeds(at, "build b.np --input-format csv", b"id,more,fingerprint,more\n1,x,7,y\n2,,8,\n");
    assert_eq!(succeeds(at, "export a.np", b""), "7\t1\n8\t2\n");
    assert_eq!(succeeds(at, "export b.np", b""), "7\t1\n8\t2\n");
}

#[test]
fn regression_large_windows_of_zstandard_are_not_called_damage() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(pages(0..10).as_bytes()).unwrap();
    fs::write(at.join("in.jsonl.zst"), encoder.finish().unwrap()).unwrap();
    let outcome = nearprint(at, "dedup in.jsonl.zst -o out.jsonl", b"");
    assert_eq!(outcome.code, 5);
    assert!(
        outcome.err.contains("in.jsonl.zst: its Zstandard window is larger than 128 MiB"),
        "{}",
        outcome.err
    );
}

#[test]
#[cfg_attr(windows, ignore = "limits the size of files by a shell")]
fn regression_an_export_is_complete_or_leaves_the_file_alone() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows: String = (0..20_000u64).map(|id| format!("{} {id}\n", id << 20)).collect();
    succeeds(at, "build db.np", rows.as_bytes());
    fs::write(at.join("old.tsv"), "an earlier export\n").unwrap();
    set_mode(&at.join("old.tsv"), 0o640);
    symlink("old.tsv", at.join("link.tsv")).unwrap();
    let names = || {
        let mut names: Vec<_> = at.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    for (output, format) in [("old.tsv", "tsv"), ("link.tsv", "tsv"), ("new", "npy"), ("new", "parquet")] {
        // A file that cannot grow further stands for a full disk.
        let line = format!("export db.np -o {output} --format {format}");
        let script = format!("ulimit -f 64; exec {} {line}", env!("CARGO_BIN_EXE_nearprint"));
        let failed = Command::new("bash").arg("-c").arg(script).current_dir(at).output().unwrap();
        assert_eq!(failed.status.code(), Some(1), "{failed:?}");
        assert_eq!(names(), before);
        assert_eq!(read(at, "old.tsv"), "an earlier export\n");
    }
    succeeds(at, "export db.np -o link.tsv", b"");
    assert_eq!(read(at, "old.tsv"), succeeds(at, "export db.np", b""));
    assert!(at.join("link.tsv").is_symlink());
    assert_eq!(mode(&at.join("old.tsv")), 0o640);
    succeeds(at, "export db.np -o /dev/null", b"");
}

/// The signal of such a limit ended the program.
#[test]
#[cfg_attr(windows, ignore = "limits the size of files by a shell")]
fn regression_a_limit_of_the_size_of_files_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows = |ids: std::ops::Range<u64>| ids.map(|id| format!("{} {id}\n", id << 20)).collect::<String>();
    fs::write(at.join("rows.txt"), rows(1000..50_000)).unwrap();
    succeeds(at, "build db.np", rows(0..1000).as_bytes());
    let before = succeeds(at, "export db.np", b"");
    for line in ["build new.np rows.txt", "add db.np rows.txt", "export db.np -o new.tsv --format tsv"] {
        let script = format!("ulimit -f 8; exec {} {line}", env!("CARGO_BIN_EXE_nearprint"));
        let failed = Command::new("bash").arg("-c").arg(script).current_dir(at).output().unwrap();
        assert_eq!(failed.status.code(), Some(1), "{line}: {failed:?}");
        let message = String::from_utf8(failed.stderr).unwrap();
        assert!(message.contains("File too large"), "{line}: {message}");
        assert!(!at.join("new.np").exists() && !at.join("new.tsv").exists(), "{line}");
        assert_eq!(succeeds(at, "export db.np", b""), before, "{line}");
    }
    succeeds(at, "add db.np rows.txt", b"");
    succeeds(at, "verify db.np", b"");
}

#[test]
fn regression_outputs_inside_a_database_are_refused() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("in.jsonl"), pages(0..20)).unwrap();
    succeeds(at, "create s.np --store keys --recipe simhash", b"");
    succeeds(at, "dedup in.jsonl -o out.jsonl --db s.np --key-field id", b"");
    succeeds(at, "build other.np", b"1 1\n");
    fs::hard_link(at.join("s.np/00000001.rows"), at.join("innocent")).unwrap();
    fs::copy(at.join("in.jsonl"), at.join("new.jsonl")).unwrap();
    let before = succeeds(at, "export s.np", b"");
    let mut outputs = vec!["s.np/MANIFEST", "s.np/new", "./s.np/../s.np/x", "other.np/MANIFEST", "innocent"];
    if can_link() {
        symlink("s.np", at.join("link")).unwrap();
        outputs.push("link/LOCK");
    }
    for output in outputs {
        for line in [
            format!("dedup new.jsonl -o {output} --db s.np --key-field id"),
            format!("dedup new.jsonl -o x --duplicates {output} --db s.np --key-field id"),
            format!("dedup new.jsonl -o x --rejects {output} --db s.np --key-field id"),
            format!("export s.np -o {output}"),
        ] {
            fails(at, &line, b"", 2, &["lies in the database"]);
        }
    }
    for line in ["fingerprint in.jsonl --rejects other.np/x", "dedup in.jsonl -o other.np/x"] {
        fails(at, line, b"", 2, &["lies in the database"]);
    }
    assert_eq!(succeeds(at, "export s.np", b""), before);
    succeeds(at, "verify s.np", b"");
    succeeds(at, "verify other.np", b"");
}

#[test]
fn regression_standard_streams_are_compared_with_inputs_and_outputs() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let input = pages(0..20);
    fs::write(at.join("p.jsonl"), &input).unwrap();
    let run = |line: &str, stdin: Stdio, stdout: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
        command.current_dir(at).args(line.split(' ')).stdin(stdin).stdout(stdout).output().unwrap()
    };
    let opened = || Stdio::from(File::open(at.join("p.jsonl")).unwrap());
    let refused = run("dedup - -o p.jsonl", opened(), Stdio::piped());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let appended = File::options().append(true).open(at.join("p.jsonl")).unwrap();
    let refused = run("dedup p.jsonl -o -", Stdio::null(), appended.into());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(read(at, "p.jsonl"), input);
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no names with control characters")]
fn regression_messages_and_columns_hold_no_control_characters() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let name = "\x1b[31mred\u{7f}\x0b.np";
    for arguments in [["stats", name], ["query", name], ["build", "new.np"]] {
        let mut arguments = arguments.to_vec();
        if arguments[0] == "build" {
            fs::write(at.join(name), "no fingerprint\n").unwrap();
            arguments.push(name);
        }
        let Outcome { code, err, .. } = run(env!("CARGO_BIN_EXE_nearprint"), at, &arguments, b"");
        assert_ne!(code, 0);
        assert!(err.contains(r"\x1b[31mred\x7f\x0b.np"), "{err:?}");
        assert!(!err.contains(|c: char| c.is_control() && c != '\n'), "{err:?}");
    }
    // What clap prints.
    let usage = run(env!("CARGO_BIN_EXE_nearprint"), at, &["stats", "a", "\x1b[31m"], b"");
    assert_eq!(usage.code, 2);
    assert!(!usage.err.contains('\x1b'), "{:?}", usage.err);

    let key = "\x1b[2J\x00\x0b\x0c\x7f";
    let json = format!("{{\"fingerprint\":7,\"id\":1,\"key\":{}}}\n", serde_json::Value::from(key));
    succeeds(at, "build keyed.np --store keys --input-format jsonl", json.as_bytes());
    let exported = succeeds(at, "export keyed.np", b"");
    assert_eq!(exported, "7\t1\t\\x1b[2J\\x00\\x0b\\x0c\\x7f\n");
    succeeds(at, "build again.np --store keys --input-format tsv", exported.as_bytes());
    assert_eq!(
        succeeds(at, "export again.np --format jsonl", b""),
        succeeds(at, "export keyed.np --format jsonl", b"")
    );
}

#[test]
fn regression_negative_distances_get_the_message_about_distances() {
    let home = tempfile::tempdir().unwrap();
    succeeds(home.path(), "build one.np", b"1 1\n");
    for line in ["query one.np -f 1 -k -1", "pairs one.np -k -1", "dedup x -o y -k -1", "scan . -k -1"] {
        let outcome = nearprint(home.path(), line, b"");
        assert_eq!(outcome.code, 2, "{line}");
        assert!(!outcome.err.contains("tip:"), "{line}: {}", outcome.err);
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no full device")]
fn regression_help_fails_on_a_full_device() {
    let home = tempfile::tempdir().unwrap();
    for line in ["--version", "--help", "help", "help dedup", "man"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
        let output = command.current_dir(home.path()).args(line.split(' ')).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("standard output"), "{line}: {message}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "limits memory by a shell")]
fn regression_limits_of_queries_bound_their_work() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let rows: String = (0..5000).map(|id| format!("7 {id}\n")).collect();
    succeeds(at, "build one.np", rows.as_bytes());
    succeeds(at, "build two.np", b"7 9000\n6 1\n");
    assert_eq!(succeeds(at, "query one.np -f 7 --limit 2", b""), "7\t0\t7\t0\n7\t0\t7\t1\n");
    assert_eq!(succeeds(at, "query one.np -f 7 --top 5 --limit 1", b""), "7\t0\t7\t0\n");
    assert_eq!(succeeds(at, "query one.np two.np -f 7 --limit 2", b""), "7\t0\t7\t0\n7\t0\t7\t1\n");
    assert_eq!(succeeds(at, "query two.np one.np -f 6 --limit 1", b""), "6\t0\t6\t1\n");

    // All matches of all queries would take 960 MB.
    let rows: String = (0..400_000).map(|id| format!("7 {id}\n")).collect();
    succeeds(at, "build many.np", rows.as_bytes());
    fs::write(at.join("queries.txt"), "7\n".repeat(100)).unwrap();
    let query = "query many.np queries.txt --limit 2 --threads 1";
    let script = format!("ulimit -v 400000; exec {} {query}", env!("CARGO_BIN_EXE_nearprint"));
    let bounded = Command::new("bash").arg("-c").arg(script).current_dir(at).output().unwrap();
    assert!(bounded.status.success(), "{}", String::from_utf8_lossy(&bounded.stderr));
    assert_eq!(bounded.stdout, "7\t0\t7\t0\n7\t0\t7\t1\n".repeat(100).as_bytes());
}

#[test]
#[cfg(windows)]
#[ignore = "limits the number of processes of another user"]
fn regression_work_goes_on_where_no_thread_can_be_started() {}

#[test]
#[cfg(unix)]
fn regression_work_goes_on_where_no_thread_can_be_started() {
    use std::os::unix::process::CommandExt;
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    set_mode(at, 0o777);
    fs::copy(env!("CARGO_BIN_EXE_nearprint"), at.join("nearprint")).unwrap();
    let rows: String = (0..8000u64).map(|id| format!("{} {id}\n", (id / 2) << 20)).collect();
    fs::write(at.join("rows.txt"), rows).unwrap();
    fs::write(at.join("in.jsonl"), pages(0..500)).unwrap();
    for line in [
        "build db.np rows.txt",
        "pairs db.np > pairs",
        "clusters db.np > clusters",
        "pairs rows.txt > listed",
        "query db.np rows.txt --limit 1 > found",
        "add db.np rows.txt",
        "verify db.np",
        "compact db.np",
        "dedup in.jsonl -o out.jsonl --key-field id --db seen.np",
        "dedup in.jsonl -o longest.jsonl --key-field id --keep longest",
        "scan . > scanned",
    ] {
        let script = format!("export TMPDIR=$PWD; ulimit -u 1; exec ./nearprint {line}");
        let nobody = 65534;
        let mut command = Command::new("bash");
        match command.arg("-c").arg(script).current_dir(at).uid(nobody).gid(nobody).output() {
            Ok(done) => {
                assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
            }
            Err(error) => {
                let test = "regression_work_goes_on_where_no_thread_can_be_started";
                return skip(Need::Root, test, &error.to_string());
            }
        }
    }
    let lines = |name: &str| read(at, name).lines().count();
    assert_eq!((lines("pairs"), lines("listed")), (lines("pairs"), lines("pairs")));
    assert!(lines("pairs") > 0 && lines("clusters") > 0);
    assert_eq!((lines("found"), lines("out.jsonl"), lines("longest.jsonl")), (8000, 250, 250));
}
