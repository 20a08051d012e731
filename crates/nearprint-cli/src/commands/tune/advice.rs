//! The advice: a command of `dedup` to paste.

use std::path::{Path, PathBuf};

use super::args::Args;
use super::similarity_limit::ExactChoice;
use super::tried::{Choice, Tried};
use crate::terminal::quoted;

/// The options that read documents, which both commands have.
const READING: [&str; 10] = [
    "input_format",
    "delimiter",
    "text_field",
    "key_field",
    "exclude",
    "ext",
    "no_ignore",
    "encoding",
    "pre",
    "pre_glob",
];
/// What an output may end in, as its inputs do.
const RECORDS: [&str; 5] = [".jsonl", ".ndjson", ".csv", ".tsv", ".parquet"];

/// The command that decides by what was found best: an exact similarity or, without one, a distance of fingerprints.
pub(super) fn command(args: &Args, tried: &Tried, exact: Option<&ExactChoice>, best: Choice<'_>) -> String {
    let options = match exact {
        Some(exact) => exact.options().to_string(),
        None if args.known.is_given() => tried.options(best),
        None => format!("--similarity {}", args.similarity()),
    };
    let stdin = [PathBuf::from("-")];
    let inputs = if args.inputs.is_empty() { &stdin[..] } else { &args.inputs };
    let paths: String = inputs.iter().map(|path| format!(" {}", quoted(path))).collect();
    format!("nearprint dedup{paths} -o {}{} {options}", output(inputs), reading(args))
}

/// A name for what is kept, in the format of the inputs.
fn output(inputs: &[PathBuf]) -> String {
    let name = inputs[0].file_name().unwrap_or_default().to_string_lossy();
    if inputs[0].is_dir() {
        return "kept.txt".into();
    }
    let extension = RECORDS.iter().find(|extension| name.contains(*extension)).unwrap_or(&".jsonl");
    format!("unique{extension}")
}

/// The options that say how the documents are read, as they were given.
fn reading(args: &Args) -> String {
    let mut words = String::new();
    for (name, values) in args.given.of(READING.into_iter()) {
        let name = name.replace('_', "-");
        if name == "no-ignore" {
            words += " --no-ignore";
            continue;
        }
        for value in values {
            // A value that begins with a hyphen would be an option.
            words += &format!(" --{name}={}", quoted(Path::new(&value)));
        }
    }
    words
}
