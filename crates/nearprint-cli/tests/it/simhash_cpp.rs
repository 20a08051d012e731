//! The programs of simhash-cpp: the same lines, messages and exit codes as the originals.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::cli::{Outcome, run};

/// Options, input, exit code and output lines of both programs of simhash-cpp 1eb4a0a, as built by
/// its Makefile with g++ 12 on x86-64 Linux. They agree wherever a cluster is a pair. `_` in the
/// options stands for a space within a word, and `@` for an empty word.
const AS_THE_ORIGINAL: [(&str, &str, u8, &str); 72] = [
    // Lines: white space, a sign and digits count, and what follows them does not.
    ("-b4 -d3", "15\n8\n8\n", 0, "[8, 15]"),
    ("-b4 -d3", "1x\n2", 0, "[1, 2]"),
    ("-b4 -d3", "+1\n3", 0, "[1, 3]"),
    ("-b4 -d3", "-1\n18446744073709551614", 0, "[18446744073709551614, 18446744073709551615]"),
    ("-b4 -d3", "-18446744073709551615\n3", 0, "[1, 3]"),
    ("-b4 -d3", "-0\n1", 0, "[0, 1]"),
    ("-b4 -d3", "0x3\n1", 0, "[0, 1]"),
    ("-b4 -d3", "0b11\n0", 0, ""),
    ("-b4 -d3", "1.5\n3", 0, "[1, 3]"),
    ("-b4 -d3", "1e3\n3", 0, "[1, 3]"),
    ("-b4 -d3", "1,000\n3", 0, "[1, 3]"),
    ("-b4 -d3", "1_0\n3", 0, "[1, 3]"),
    ("-b4 -d3", "1;2", 0, ""),
    ("-b4 -d3", "007\n3", 0, "[3, 7]"),
    ("-b4 -d3", "1 2\n3 4", 0, "[1, 3]"),
    ("-b4 -d3", "1\r\n3\r\n", 0, "[1, 3]"),
    ("-b4 -d3", "1\0\n3", 0, "[1, 3]"),
    ("-b4 -d3", " \t\x0b\x0c\r1\n  +7  \n", 0, "[1, 7]"),
    ("-b4 -d3", "1\n1\n1", 0, ""),
    ("-b4 -d3", "1", 0, ""),
    ("-b4 -d3", "", 0, ""),
    // Numbers in options.
    ("-b +4 -d +3", "1\n3\n", 0, "[1, 3]"),
    ("-b _4 -d \t3", "1\n3\n", 0, "[1, 3]"),
    ("-b 4x -d 3.9", "1\n3\n", 0, "[1, 3]"),
    ("-b 4,000 -d 3", "1\n3\n", 0, "[1, 3]"),
    ("-b 64 -d 63", "1\n3\n", 0, "[1, 3]"),
    ("-b -18446744073709551612 -d -18446744073709551613", "1\n3\n", 0, "[1, 3]"),
    ("-b 5 -b 4 -d 3", "1\n3\n", 0, "[1, 3]"),
    ("-b 4 -b @ -b _ -d 3", "1\n3\n", 0, "[1, 3]"),
    ("-b 4 -b x -d 3", "", 2, ""),
    ("-b @ -d 3", "", 2, ""),
    ("-b 0 -d 3", "", 2, ""),
    ("-b -0 -d 3", "", 2, ""),
    ("-b 0x4 -d 3", "", 2, ""),
    ("-b many -d 3", "", 2, ""),
    ("-b --4 -d 3", "", 2, ""),
    ("-b +_4 -d 3", "", 2, ""),
    ("-b \u{a0}4 -d 3", "", 2, ""),
    ("-b 4 -d @", "", 3, ""),
    ("-b 65 -d 0", "", 3, ""),
    ("-b 4", "", 3, ""),
    ("-b 3 -d 3", "", 6, ""),
    ("-b 4 -d -1", "", 6, ""),
    ("-b -1 -d -1", "", 6, ""),
    ("-b -2 -d -1", "", 6, ""),
    ("-b 65 -d 70", "", 6, ""),
    ("-b 4 -d 99999999999999999999", "", 6, ""),
    // Options.
    ("--blocks=4 --distance=3", "1\n3\n", 0, "[1, 3]"),
    ("--bl 4 --d 3", "1\n3\n", 0, "[1, 3]"),
    ("--blocks 4 ignored --distance 3 -", "1\n3\n", 0, "[1, 3]"),
    ("-b 4 -- -d 3", "", 3, ""),
    ("-b -d 3", "", 2, ""),
    ("-b -- -d 3", "", 2, ""),
    ("-b4h", "", 3, ""),
    ("@", "", 2, ""),
    ("--help=1", "", 1, ""),
    ("--help=", "", 1, ""),
    ("--h=1", "", 1, ""),
    ("--frobnicate", "", 1, ""),
    ("---blocks 4", "", 1, ""),
    ("--BLOCKS=4", "", 1, ""),
    ("--=4", "", 1, ""),
    ("-x --help", "", 1, ""),
    ("-?", "", 1, ""),
    ("-b4 -d3 -i", "", 1, ""),
    ("-b4 -d3 --output", "", 1, ""),
    // Files.
    ("-b4 -d3 -i folder", "", 0, ""),
    ("-b4 -d3 -i @", "", 4, ""),
    ("-b4 -d3 -o @", "", 5, ""),
    ("-b4 -d3 -i missing", "", 7, ""),
    ("-b65 -d3 -i missing", "", 7, ""),
    ("-b4 -d3 -o missing/out", "", 8, ""),
];

/// Where the original aborts, an error: options, input, exit code and the message.
const ERRORS_FOR_ABORTS: [(&str, &str, u8, &str); 15] = [
    ("-b4 -d3", "x\n1", 9, "-:1: not a number: \"x\""),
    ("-b4 -d3", "1\n\n2", 9, "-:2: not a number: \"\""),
    ("-b4 -d3", "1\n \t\r\n2", 9, "-:2: not a number: \"\""),
    ("-b4 -d3", "1\n# 2", 9, "-:2: not a number: \"# 2\""),
    ("-b4 -d3", "--1", 9, "-:1: not a number: \"--1\""),
    ("-b4 -d3", "+-1", 9, "-:1: not a number: \"+-1\""),
    ("-b4 -d3", "- 1", 9, "-:1: not a number: \"- 1\""),
    ("-b4 -d3", "+", 9, "-:1: not a number: \"+\""),
    ("-b4 -d3", "\u{661}", 9, "-:1: not a number: \"\u{661}\""),
    ("-b4 -d3", "18446744073709551616", 9, "-:1: more than 64 bits: \"18446744073709551616\""),
    ("-b4 -d3", "-18446744073709551616", 9, "-:1: more than 64 bits: \"-18446744073709551616\""),
    ("-b 65 -d 3", "1\n3\n", 2, "blocks may be at most 64"),
    ("-b -1 -d 3", "1\n3\n", 2, "blocks may be at most 64"),
    ("-b -1 -d -2", "1\n3\n", 2, "blocks may be at most 64"),
    ("-b 99999999999999999999 -d 3", "1\n3\n", 2, "blocks may be at most 64"),
];

/// What only `--strict` rejects.
const STRICT: [(&str, &str, u8); 14] = [
    ("-b4 -d3", "1x\n", 9),
    ("-b4 -d3", "+1\n", 9),
    ("-b4 -d3", "-1\n", 9),
    ("-b4 -d3", "0x3\n", 9),
    ("-b4 -d3", "1.5\n", 9),
    ("-b4 -d3", "1 2\n", 9),
    ("-b4 -d3", "1\0\n", 9),
    ("-b +4 -d 3", "", 2),
    ("-b 4 -b @ -d 3", "", 2),
    ("-b 65 -d 70", "", 2),
    ("-b -1 -d -1", "", 2),
    ("-b 4 -d +3", "", 3),
    ("-b 4 -d -1", "", 3),
    ("-b4 -d3 -i folder", "", 7),
];

#[derive(Clone, Copy, PartialEq)]
enum Program {
    FindAll,
    FindClusters,
}

impl Program {
    const BOTH: [Self; 2] = [Self::FindAll, Self::FindClusters];

    fn run(self, folder: &Path, line: &str, input: &str) -> Outcome {
        let program = match self {
            Self::FindAll => env!("CARGO_BIN_EXE_simhash-find-all"),
            Self::FindClusters => env!("CARGO_BIN_EXE_simhash-find-clusters"),
        };
        let word = |word: &str| if word == "@" { String::new() } else { word.replace('_', " ") };
        let arguments: Vec<String> = line.split(' ').map(word).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(program, folder, &arguments, input.as_bytes())
    }

    /// What the original writes to standard error when all goes well.
    fn messages(self, input: &str, output: &str) -> String {
        let (found, written) = match self {
            Self::FindAll => ("matches", "matches"),
            Self::FindClusters => ("clusters", "results"),
        };
        let input = if input == "-" { "stdin." } else { input };
        let (written, output) = if output == "-" { ("results", "stdout.") } else { (written, output) };
        format!("Reading hashes from {input}\nComputing {found}...\nWriting {written} to {output}\n")
    }
}

/// A folder with another folder in it.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("folder")).unwrap();
    home
}

#[test]
#[cfg_attr(windows, ignore = "the original opens a folder as an empty file, which Windows refuses")]
fn lines_options_and_exit_codes_are_those_of_the_original() {
    let home = home();
    for program in Program::BOTH {
        for (line, input, code, out) in AS_THE_ORIGINAL {
            let outcome = program.run(home.path(), line, input);
            let found: Vec<&str> = outcome.out.lines().collect();
            let expected: Vec<&str> = out.lines().collect();
            assert_eq!((outcome.code, found), (code.into(), expected), "{line} {input:?}: {}", outcome.err);
            if code == 0 {
                let source = if line.ends_with("folder") { "folder" } else { "-" };
                assert_eq!(outcome.err, program.messages(source, "-"), "{line} {input:?}");
            }
        }
    }
}

#[test]
fn what_aborts_the_original_is_an_error() {
    let home = home();
    for program in Program::BOTH {
        for (line, input, code, message) in ERRORS_FOR_ABORTS {
            let outcome = program.run(home.path(), &format!("{line} -o out"), input);
            assert_eq!((outcome.code, outcome.out.as_str()), (code.into(), ""), "{line} {input:?}");
            assert!(outcome.err.ends_with(&format!(": {message}\n")), "{line} {input:?}: {}", outcome.err);
            assert!(!home.path().join("out").exists(), "nothing is written: {line} {input:?}");
        }
    }
}

#[test]
#[cfg_attr(windows, ignore = "the original opens a folder as an empty file, which Windows refuses")]
fn strict_accepts_digits_alone_and_no_folder() {
    let home = home();
    for program in Program::BOTH {
        for (line, input, code) in STRICT {
            let outcome = program.run(home.path(), &format!("--strict {line}"), input);
            assert_eq!((outcome.code, outcome.out.as_str()), (code.into(), ""), "{line} {input:?}");
            assert_ne!(program.run(home.path(), line, input).code, i32::from(code), "{line} {input:?}");
        }
        let outcome = program.run(home.path(), "-b 4x -d _3 --strict", " 1\r\n3\n");
        assert_eq!((outcome.code, outcome.out.as_str()), (0, "[1, 3]\n"));
    }
}

#[test]
fn pairs_and_clusters_are_those_of_the_original() {
    let home = home();
    let at = home.path();
    let numbers = "15\n8\n8\n1099511627776\n0\n18446744073709551615\n18446744073709551614\n70368744177664";
    fs::write(at.join("in"), numbers).unwrap();
    // simhash-cpp writes these lines, and the numbers of a cluster, in the order of a hash table.
    for (program, expected) in [
        (
            Program::FindAll,
            &[
                "[0, 8]",
                "[0, 1099511627776]",
                "[0, 70368744177664]",
                "[8, 15]",
                "[8, 1099511627776]",
                "[8, 70368744177664]",
                "[1099511627776, 70368744177664]",
                "[18446744073709551614, 18446744073709551615]",
            ][..],
        ),
        (
            Program::FindClusters,
            &["[0, 8, 15, 1099511627776, 70368744177664]", "[18446744073709551614, 18446744073709551615]"],
        ),
    ] {
        for blocks in [4, 5, 20, 64] {
            let outcome = program.run(at, &format!("--input in --output out -d 3 -b {blocks}"), "");
            assert_eq!((outcome.code, outcome.out.as_str()), (0, ""));
            assert_eq!(outcome.err, program.messages("in", "out"));
            let found = fs::read_to_string(at.join("out")).unwrap();
            let found: BTreeSet<&str> = found.lines().collect();
            assert_eq!(found, expected.iter().copied().collect());
        }
    }
}

#[test]
fn the_help_names_the_options_of_the_original() {
    let home = home();
    for program in Program::BOTH {
        for line in ["--help", "--he", "-h", "-hb4", "-b 0 --help -x"] {
            let outcome = program.run(home.path(), line, "");
            assert_eq!((outcome.code, outcome.err.as_str()), (0, ""), "{line}");
            let usage = " --blocks BLOCKS --distance DISTANCE --input INPUT --output OUTPUT\n\n";
            assert!(outcome.out.starts_with("usage: ") && outcome.out.contains(usage), "{}", outcome.out);
        }
    }
}
