//! Runs the programs and checks what they print.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use nearprint::{Fingerprint, Printed, Row};
use testkit::{Shape, rows};

/// The exit code and the outputs of a program.
pub struct Outcome {
    pub code: i32,
    pub out: String,
    pub err: String,
}

pub fn run(program: &str, folder: &Path, arguments: &[&str], input: &[u8]) -> Outcome {
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs `nearprint` with a command line split at spaces, of which ␣ stands for one inside of a word.
pub fn nearprint(folder: &Path, line: &str, input: &[u8]) -> Outcome {
    let words: Vec<String> = line.split(' ').map(|word| word.replace('␣', " ")).collect();
    let arguments: Vec<&str> = words.iter().map(|word| &**word).filter(|word| !word.is_empty()).collect();
    run(env!("CARGO_BIN_EXE_nearprint"), folder, &arguments, input)
}

pub fn succeeds(folder: &Path, line: &str, input: &[u8]) -> String {
    let outcome = nearprint(folder, line, input);
    assert_eq!(outcome.code, 0, "{line}: {}", outcome.err);
    outcome.out
}

/// The lines of a file of duplicates behind its header.
pub fn duplicates(folder: &Path, name: &str) -> String {
    let file = fs::read_to_string(folder.join(name)).unwrap();
    let (header, lines) = file.split_once('\n').unwrap();
    assert!(header.starts_with("key\tduplicate_of\tdistance\tsimilarity\tgroup\tcopy"), "{header}");
    lines.to_string()
}

/// The groups that `scan` has printed to a pipe, each with the outcomes and paths of its files: "kept a, copy b".
pub fn groups(scanned: &str) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for line in scanned.lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [group, outcome, _, _, path] = cells[..] else { panic!("{scanned}") };
        let file = format!("{outcome} {path}");
        match groups.get_mut(group.parse::<usize>().unwrap() - 1) {
            Some(group) => *group += &format!(", {file}"),
            None => groups.push(file),
        }
    }
    groups
}

/// Checks the exit code, and that the message contains all of the words.
pub fn fails(folder: &Path, line: &str, input: &[u8], code: i32, words: &[&str]) {
    let outcome = nearprint(folder, line, input);
    assert_eq!(outcome.code, code, "{line}: {}{}", outcome.out, outcome.err);
    for word in words {
        assert!(outcome.err.contains(word), "{line}: {word:?} is not in {:?}", outcome.err);
    }
}

/// A text in which paths have slashes, whatever the system. Where paths are escaped, backslashes are
/// doubled.
pub fn slashes(text: &str) -> String {
    if cfg!(windows) { text.replace(r"\\", "/").replace('\\', "/") } else { text.to_string() }
}

/// Commands whose outputs have slashes in paths, whatever the system.
pub mod slashed {
    use super::{Outcome, Path, slashes};

    pub fn nearprint(folder: &Path, line: &str, input: &[u8]) -> Outcome {
        let Outcome { code, out, err } = super::nearprint(folder, line, input);
        Outcome { code, out: slashes(&out), err: slashes(&err) }
    }

    pub fn succeeds(folder: &Path, line: &str, input: &[u8]) -> String {
        slashes(&super::succeeds(folder, line, input))
    }
}

pub fn text<F: Fingerprint>(rows: &[Row<F>]) -> String {
    rows.iter().map(|row| format!("{}\t{}\n", Printed(row.fingerprint), row.id)).collect()
}

/// All hexadecimal digits of a fingerprint, as hash functions print them.
pub fn digits<F: Fingerprint>(fingerprint: F) -> String {
    (0..F::BITS / 64).rev().map(|index| format!("{:016x}", fingerprint.le_word(index))).collect()
}

/// What inputs accept without `0x`: decimal for 64 bits, all hexadecimal digits for wider
/// fingerprints.
pub fn digits_or_decimal<F: Fingerprint>(fingerprint: F) -> String {
    if F::BITS == 64 { Printed(fingerprint).to_string() } else { digits(fingerprint) }
}

/// A database of rows near each other, as `db`, and its rows in order.
pub fn database<F: Fingerprint>(at: &Path) -> Vec<Row<F>> {
    let mut rows: Vec<Row<F>> = rows(Shape::Skewed, 700, u64::from(F::BITS));
    fs::write(at.join("rows.txt"), text(&rows)).unwrap();
    assert_eq!(succeeds(at, &format!("build db rows.txt --width {}", F::BITS), b""), "");
    rows.sort_unstable();
    rows
}
