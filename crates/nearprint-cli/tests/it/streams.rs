//! Standard streams that are closed, open for reading only, or without a reader.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::cli::{Outcome, fails, nearprint, run, succeeds};

/// Runs a command line of the shell, in which `$np` is the program.
fn shell(at: &Path, line: &str) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).env("np", env!("CARGO_BIN_EXE_nearprint")).current_dir(at);
    command.stdin(Stdio::null()).output().unwrap()
}

/// The exit code, and standard error.
fn outcome(at: &Path, line: &str) -> (Option<i32>, String) {
    let output = shell(at, line);
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    fs::write(at.join("prints.txt"), "1\n2\n3\n").unwrap();
    fs::write(at.join("a.txt"), "one two three four five\n").unwrap();
    fs::write(at.join("b.txt"), "nothing of that is in here at all\n").unwrap();
    fs::write(at.join("in.jsonl"), "{\"text\":\"one two three four five\"}\n").unwrap();
    succeeds(at, "build a.np prints.txt", b"");
    home
}

/// Commands that print results.
const PRINTING: [&str; 18] = [
    "export a.np",
    "query a.np -f 1",
    "pairs a.np",
    "clusters a.np",
    "pairs a.np a.np",
    "stats a.np",
    "explain a.np",
    "fingerprint a.txt",
    "compare a.txt a.txt",
    "compare a.txt b.txt",
    "compare a.txt b.txt prints.txt",
    "scan a.txt a.txt --min-words 1",
    "dedup in.jsonl -o -",
    "decontaminate in.jsonl --against b.txt -o -",
    "completions bash",
    "man",
    "help query",
    "--version",
];

#[test]
#[cfg_attr(windows, ignore = "runs lines of a shell")]
fn regression_a_standard_output_that_cannot_be_written_is_an_error() {
    let home = home();
    let at = home.path();
    fs::write(at.join("read-only"), "").unwrap();
    fs::copy(at.join("a.txt"), at.join("c.txt")).unwrap();
    for command in PRINTING {
        let command = command.replace("a.txt a.txt", "a.txt c.txt");
        for redirected in [">&-", "1<read-only"] {
            let (code, err) = outcome(at, &format!("$np {command} {redirected}"));
            assert_eq!(code, Some(1), "{command} {redirected}: {err}");
            assert!(err.contains("cannot write standard output"), "{command} {redirected}: {err}");
        }
        assert!(matches!(outcome(at, &format!("$np {command} >/dev/null")).0, Some(0 | 6)), "{command}");
        assert!(matches!(outcome(at, &format!("$np {command} 1<>/dev/null")).0, Some(0 | 6)), "{command}");
    }
    assert_eq!(shell(at, "printf '1\\n' | $np add a.np --acknowledge >&-").status.code(), Some(1));
    #[cfg(feature = "parquet")]
    assert_eq!(outcome(at, "$np export a.np --format parquet >&-").0, Some(1));
    // Those that print nothing there need none.
    for command in ["build b.np prints.txt", "add b.np prints.txt", "dedup in.jsonl -o out.jsonl"] {
        let (code, err) = outcome(at, &format!("$np -q {command} >&-"));
        assert_eq!(code, Some(0), "{command}: {err}");
    }
    assert!(at.join("out.jsonl").exists());
}

#[test]
fn regression_a_comparison_into_a_dead_pipe_has_its_exit_code() {
    let home = home();
    let dead = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_nearprint"));
        command.args(arguments).current_dir(home.path()).stdin(Stdio::null()).stdout(writer);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(dead(&["-q", "compare", "a.txt", "b.txt"]).0, Some(6));
    assert_eq!(dead(&["compare", "a.txt", "b.txt"]).0, Some(6));
    assert_eq!(dead(&["compare", "a.txt", "a.txt"]).0, Some(0));
    for quiet in [&["export", "a.np"][..], &["--version"], &["help"]] {
        assert_eq!(dead(quiet), (Some(0), String::new()), "{quiet:?}");
    }
}

#[test]
fn regression_a_report_does_not_become_a_file_named_by_a_dash() {
    let home = home();
    let at = home.path();
    for line in ["scan a.txt --report -", "compare a.txt b.txt --report -", "dedup in.jsonl -o x --report -"]
    {
        fails(at, line, b"", 2, &["'-' for '--report <FILE.html>'", "cannot open standard output"]);
    }
    assert!(!at.join("-").exists() && !at.join("x").exists());
}

#[test]
fn regression_compressed_fingerprints_are_recognized_by_their_first_bytes() {
    let home = home();
    let at = home.path();
    let packed = zstd::encode_all(&b"1\n2\n"[..], 1).unwrap();
    fs::write(at.join("packed.txt"), &packed).unwrap();
    assert_eq!(succeeds(at, "query a.np packed.txt -k 0", b"").lines().count(), 2);
    assert_eq!(succeeds(at, "query a.np -k 0", &packed).lines().count(), 2);
    for (input, words) in [
        (&b"PK\x03\x04\x14"[..], ["compressed as zip", "hint: `unzip -p FILE | nearprint … -`"]),
        (b"\x04\x22\x4d\x18", ["compressed as LZ4", "hint: `lz4 -dc FILE | nearprint … -`"]),
    ] {
        fs::write(at.join("packed.jsonl"), input).unwrap();
        for line in ["query a.np -", "build c.np packed.jsonl", "dedup - -o o", "dedup packed.jsonl -o o"] {
            fails(at, line, input, 5, &words);
        }
    }
    // Raw numbers may begin with any bytes.
    fs::write(at.join("raw.u64"), [&b"PK\x03\x04\0\0\0\0"[..], b"\x1f\x8b\x08\0\0\0\0\0"].concat()).unwrap();
    succeeds(at, "build raw.np raw.u64", b"");
    fails(at, "dedup in.jsonl -o out.jsonl.bz2", b"", 2, &["bzip2 is not written"]);
    assert!(!at.join("out.jsonl.bz2").exists());
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no named pipes among files")]
fn regression_a_named_pipe_in_a_folder_does_not_block() {
    let home = home();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    for name in ["d/a.txt", "d/b.txt"] {
        fs::copy(at.join("a.txt"), at.join(name)).unwrap();
    }
    let pipe = Command::new("mkfifo").arg("d/pipe").arg("pipe").current_dir(at).status().unwrap();
    assert!(pipe.success());
    for line in ["scan d --min-words 1 --report r.html", "dedup d -o k --duplicates g --report r.html"] {
        succeeds(at, line, b"");
    }
    // A pipe that is named is read, once; what needs two passes says so.
    fails(at, "dedup pipe -o kept --keep longest", b"", 2, &["pipe: can be read only once"]);
    let line =
        "cat a.txt >pipe & $np -q dedup pipe b.txt -o kept --duplicates gone --report r.html && cat kept";
    let output = shell(at, line);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "pipe\nb.txt\n");
}

#[test]
fn regression_names_make_no_lines_of_messages() {
    let home = home();
    let at = home.path();
    let name = "a\nnearprint: all is well\u{85}.np";
    let program = env!("CARGO_BIN_EXE_nearprint");
    for arguments in [&["stats", name][..], &["stats", "a.np", name], &["stats", "a.np", "--format", name]] {
        let Outcome { code, err, .. } = run(program, at, arguments, b"");
        assert_ne!(code, 0);
        assert!(err.contains(r"a\nnearprint: all is well\x85.np"), "{err}");
        assert!(!err.contains("\nnearprint: all"), "{err}");
    }
}

#[test]
fn regression_a_bad_line_of_ids_is_quoted_once() {
    let home = home();
    let outcome = nearprint(home.path(), "delete a.np", b"1\nx7\n");
    assert_eq!((outcome.code, outcome.err.matches("x7").count()), (5, 1), "{}", outcome.err);
}

#[test]
fn regression_manual_pages_are_not_written_into_a_database() {
    let home = home();
    let at = home.path();
    for folder in ["a.np", "a.np/man1"] {
        fails(at, &format!("man --dir {folder}"), b"", 2, &["lies in the database"]);
    }
    assert!(!at.join("a.np/nearprint.1").exists());
    fs::create_dir(at.join("man1")).unwrap();
    succeeds(at, "man --dir man1", b"");
    assert!(at.join("man1/nearprint-query.1").exists());
}

#[test]
#[cfg_attr(windows, ignore = "runs lines of a shell")]
fn regression_without_file_handles_commands_say_so() {
    let home = home();
    let at = home.path();
    fs::create_dir(at.join("d")).unwrap();
    for number in 0..100 {
        fs::copy(at.join("a.txt"), at.join(format!("d/{number}.txt"))).unwrap();
    }
    let limited = |handles: u32, line: &str| outcome(at, &format!("ulimit -n {handles}; $np {line}"));
    let mut refused = 0;
    for handles in 4..14 {
        let (code, err) = limited(handles, "scan d --min-words 1");
        assert!(code == Some(0) && err.contains("100 files") || code == Some(1), "{handles}: {err}");
        let (code, err) = limited(handles, "-q dedup d -o out");
        assert!(
            code == Some(0) || code == Some(1) && err.contains("Too many open files"),
            "{handles}: {err}"
        );
        refused += u32::from(code == Some(1));
    }
    assert!(refused > 3);
}

#[test]
#[cfg_attr(windows, ignore = "runs lines of a shell")]
fn regression_without_memory_commands_say_so() {
    let home = home();
    let at = home.path();
    let limited = |kib: u32, line: &str| outcome(at, &format!("ulimit -v {kib}; $np {line}"));
    // Below, the program is not loaded, or the system cannot enlarge its stack.
    let loaded = (20_000..).step_by(500).find(|&kib| limited(kib, "--version").0 == Some(0)).unwrap();
    let least = loaded + 2000;
    let mut refused = 0;
    for line in [
        "query a.np -f 7",
        "add a.np prints.txt",
        "-q dedup in.jsonl -o out",
        "-q dedup in.jsonl -o out --db s.np",
        "-q dedup in.jsonl -o out --keep longest",
    ] {
        for kib in (least..).step_by(500) {
            let (code, err) = limited(kib, line);
            if code == Some(0) {
                break;
            }
            // A thread that starts when nothing is left at all is ended by the C library, which says so itself.
            let is_named = code == Some(1) || code == Some(134) && err.contains("Fatal glibc error");
            assert!(is_named && err.contains("memory"), "{line} in {kib} KiB: {code:?} {err}");
            refused += 1;
        }
    }
    assert!(refused > 5);
}

#[test]
fn outputs_have_a_limit() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let numbers: String = (0..5000u64).map(|n| format!("{n}\n")).collect();
    fs::write(at.join("dense.txt"), &numbers).unwrap();
    succeeds(at, "build dense.np dense.txt", b"");
    // Each number has some 80 neighbours within 2 bits.
    // Thirty groups of ten documents that differ in the last word.
    let words = |group: u32| (1..40).map(|n| format!("word{} ", n * (group + 1))).collect::<String>();
    let document = |n: u32| format!("{{\"id\":\"{n}\",\"text\":\"{}and {n}\"}}\n", words(n / 10));
    fs::write(at.join("in.jsonl"), (0..300).map(document).collect::<String>()).unwrap();
    succeeds(at, "dedup in.jsonl -o out --db documents.np --similarity 0.96", b"");
    for line in [
        "pairs dense.np -k 2 --header --max-output 1000",
        "pairs dense.txt -k 2 --header --max-output 1000",
        "pairs dense.txt -k 2 --ids --max-output 1000",
        "pairs documents.np --ids --similarity 0.9 --max-output 300",
        "clusters dense.np -k 1 --header --max-output 1000",
        "clusters dense.txt -k 1 --max-output 1000",
        "clusters documents.np --similarity 0.9 --max-output 70",
    ] {
        let outcome = nearprint(at, line, b"");
        assert_eq!((outcome.code, &*outcome.out), (1, ""), "{line}: {}", outcome.err);
        let most = line.rsplit(' ').next().unwrap();
        let why = format!("lines are expected, and --max-output is {most}");
        assert!(outcome.err.contains(&why), "{line}: {}", outcome.err);
    }
    let all = "clusters documents.np --similarity 0.9 --max-output 300";
    assert_eq!(succeeds(at, all, b"").lines().count(), 300);
    let all = succeeds(at, "pairs dense.np -k 1", b"").lines().count();
    let enough = format!("pairs dense.np -k 1 --max-output {all}");
    assert_eq!(succeeds(at, &enough, b"").lines().count(), all);
    for line in [
        format!("pairs dense.np -k 1 --max-output {}", all - 1),
        format!("pairs dense.np -k 1 --ids --max-output {}", all - 1),
        format!("pairs dense.txt -k 1 --max-output {}", all - 1),
        "clusters dense.np -k 1 --max-output 4999".to_string(),
    ] {
        let outcome = nearprint(at, &line, b"");
        assert_eq!(outcome.code, 1, "{line}: {}", outcome.err);
        assert!(outcome.err.contains("the limit of --max-output"), "{line}: {}", outcome.err);
        let printed: u64 = outcome.out.lines().count() as u64;
        let most: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!(printed <= most, "{line}: {printed}");
    }
}

#[test]
fn regression_equal_fingerprints_counted_as_pairs_that_are_not_printed() {
    let home = tempfile::tempdir().unwrap();
    let at = home.path();
    let list = format!("{}8\n9\n", "7\n".repeat(1000));
    fs::write(at.join("list.txt"), &list).unwrap();
    succeeds(at, "build rows.np list.txt", b"");
    for source in ["list.txt", "rows.np"] {
        let pairs = succeeds(at, &format!("pairs {source} -k 4 --max-output 100"), b"");
        assert_eq!(pairs.lines().count(), 3, "{source}");
        let refused = nearprint(at, &format!("pairs {source} -k 4 --ids --max-output 100"), b"");
        assert!(refused.code == 1 && refused.err.contains("lines are expected"), "{source}: {}", refused.err);
    }
}
