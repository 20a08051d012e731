//! `simhash-find-all` and `simhash-find-clusters`: the command lines of simhash-cpp.
//!
//! Options, input, output and exit codes are those of simhash-cpp. The algorithm is that of
//! nearprint, and `--blocks` has no effect on it.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::process::ExitCode;

use crate::terminal::print_message;
use nearprint::{Error, Options, visit_all, visit_all_clusters};

/// Exit codes, in the order of the checks.
const UNKNOWN_OPTION: u8 = 1;
const NO_BLOCKS: u8 = 2;
const NO_DISTANCE: u8 = 3;
const EMPTY_INPUT: u8 = 4;
const EMPTY_OUTPUT: u8 = 5;
const TOO_FEW_BLOCKS: u8 = 6;
const UNREADABLE: u8 = 7;
const UNWRITABLE: u8 = 8;
const NOT_A_NUMBER: u8 = 9;

/// The most blocks that 64 bits can be split into.
const MAX_BLOCKS: u32 = 64;

#[derive(Clone, Copy, Debug)]
enum Task {
    Pairs,
    Clusters,
}

/// Runs `simhash-find-all`.
#[must_use]
pub fn find_all_main() -> ExitCode {
    main(Task::Pairs)
}

/// Runs `simhash-find-clusters`.
#[must_use]
pub fn find_clusters_main() -> ExitCode {
    main(Task::Clusters)
}

fn main(task: Task) -> ExitCode {
    let mut arguments = std::env::args_os();
    let program = match task {
        Task::Pairs => "simhash-find-all",
        Task::Clusters => "simhash-find-clusters",
    };
    arguments.next();
    match Settings::parse(arguments)
        .and_then(|settings| settings.map_or(Ok(()), |settings| settings.run(task)))
    {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, why)) => {
            print_message(format_args!("{program}: {why}"));
            if code <= TOO_FEW_BLOCKS {
                print_message(format_args!("{}", usage(program)));
            }
            ExitCode::from(code)
        }
    }
}

fn usage(program: &str) -> String {
    let finds = if program.ends_with("all") { "pairs" } else { "clusters" };
    format!(
        "usage: {program} --blocks BLOCKS --distance DISTANCE [--input INPUT] [--output OUTPUT]\n\
         \n\
         Reads 64-bit numbers, one decimal number a line, and writes the {finds} of distinct numbers\n\
         within DISTANCE bits, one JSON array a line.\n\
         \n\
         \x20 -b, --blocks BLOCKS      more than DISTANCE, at most {MAX_BLOCKS}; the result does not depend on it\n\
         \x20 -d, --distance DISTANCE  how many bits may differ, at least 1\n\
         \x20 -i, --input INPUT        a file, or - for standard input (the default)\n\
         \x20 -o, --output OUTPUT      a file, or - for standard output (the default)\n\
         \x20 -h, --help               print this"
    )
}

/// An exit code and its reason.
type Exit = (u8, String);

struct Settings {
    input: OsString,
    output: OsString,
    distance: u32,
}

/// The long options. Each short option is the first letter of a long one.
const LONG_OPTIONS: [&str; 5] = ["input", "output", "blocks", "distance", "help"];

impl Settings {
    /// Parses the options as getopt_long does: `-b4`, `-b 4`, `--blocks=4`, `--blocks 4`, and any
    /// unambiguous beginning of a long name. Other words are skipped. Returns `None` after
    /// `--help`, which it prints.
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, Exit> {
        let mut settings = Self { input: "-".into(), output: "-".into(), distance: 0 };
        let mut blocks = 0;
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy();
            if text == "--" {
                break;
            }
            let Some((name, inline)) = split_option(&text)? else { continue };
            if name == 'h' {
                return print_usage().map(|()| None);
            }
            let missing = || (UNKNOWN_OPTION, format!("option {text} needs a value"));
            let value = inline.or_else(|| arguments.next()).ok_or_else(missing)?;
            match name {
                'i' => settings.input = value,
                'o' => settings.output = value,
                'b' => blocks = leading_number(&value),
                _ => settings.distance = leading_number(&value),
            }
        }
        settings.check(blocks).map(|()| Some(settings))
    }

    fn check(&self, blocks: u32) -> Result<(), Exit> {
        let fail = |code, why: &str| Err((code, why.to_string()));
        match () {
            () if blocks == 0 => fail(NO_BLOCKS, "blocks must be given and greater than 0"),
            () if blocks > MAX_BLOCKS => fail(NO_BLOCKS, "blocks may be at most 64"),
            () if self.distance == 0 => fail(NO_DISTANCE, "distance must be given and greater than 0"),
            () if self.input.is_empty() => fail(EMPTY_INPUT, "the name of the input is empty"),
            () if self.output.is_empty() => fail(EMPTY_OUTPUT, "the name of the output is empty"),
            () if blocks <= self.distance => fail(TOO_FEW_BLOCKS, "blocks must be greater than distance"),
            () => Ok(()),
        }
    }

    /// Reads the numbers and writes the pairs or clusters.
    fn run(&self, task: Task) -> Result<(), Exit> {
        let values = self.read()?;
        let unwritable =
            |error: io::Error| (UNWRITABLE, format!("cannot write {}: {error}", self.output.display()));
        let sink: Box<dyn Write> = if self.output == "-" {
            Box::new(io::stdout().lock())
        } else {
            Box::new(File::create(&self.output).map_err(unwritable)?)
        };
        let mut out = BufWriter::with_capacity(1 << 16, sink);
        let options = Options::new();
        let failed = |source| Error::Io { action: "write", path: self.output.clone().into(), source };
        let result = match task {
            Task::Pairs => visit_all(values, self.distance, &options, |block| {
                block.iter().try_for_each(|pair| writeln!(out, "[{}, {}]", pair.a, pair.b)).map_err(failed)
            }),
            Task::Clusters => visit_all_clusters(values, self.distance, &options, |cluster| {
                let numbers: Vec<String> = cluster.iter().map(u64::to_string).collect();
                writeln!(out, "[{}]", numbers.join(", ")).map_err(failed)
            }),
        };
        match result.and_then(|()| out.flush().map_err(failed)) {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err((UNWRITABLE, error.to_string())),
            Ok(()) => Ok(()),
        }
    }

    fn read(&self) -> Result<Vec<u64>, Exit> {
        let name = self.input.display();
        let unreadable = |error: io::Error| (UNREADABLE, format!("cannot read {name}: {error}"));
        let source: Box<dyn Read> = if self.input == "-" {
            Box::new(io::stdin())
        } else {
            Box::new(File::open(&self.input).map_err(unreadable)?)
        };
        let mut reader = BufReader::with_capacity(1 << 18, source);
        let mut values = Vec::new();
        let mut line = Vec::new();
        for number in 1u64.. {
            line.clear();
            if reader.read_until(b'\n', &mut line).map_err(unreadable)? == 0 {
                break;
            }
            let text = String::from_utf8_lossy(line.trim_ascii());
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let value = text.parse().ok().filter(|_| digits);
            values.push(
                value.ok_or_else(|| {
                    (NOT_A_NUMBER, format!("{name}:{number}: not a 64-bit number: {text:?}"))
                })?,
            );
        }
        Ok(values)
    }
}

/// The short name of an option, and the value in the same word. `None` if the word is not an
/// option.
fn split_option(text: &str) -> Result<Option<(char, Option<OsString>)>, Exit> {
    let unknown = || (UNKNOWN_OPTION, format!("unknown option {text}"));
    let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty()) else { return Ok(None) };
    let Some(long) = name.strip_prefix('-') else {
        let mut rest = name.chars();
        let name = rest.next().unwrap_or_default();
        if !LONG_OPTIONS.iter().any(|known| known.starts_with(name)) {
            return Err(unknown());
        }
        return Ok(Some((name, Some(rest.as_str()).filter(|value| !value.is_empty()).map(OsString::from))));
    };
    let (name, value) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
    let mut matching = LONG_OPTIONS.iter().filter(|known| known.starts_with(name));
    match (matching.next(), matching.next()) {
        (Some(found), None) => {
            Ok(Some((found.chars().next().unwrap_or_default(), value.map(OsString::from))))
        }
        _ => Err(unknown()),
    }
}

fn print_usage() -> Result<(), Exit> {
    let program = std::env::args().next().unwrap_or_default();
    let text = usage(program.rsplit('/').next().unwrap_or_default());
    writeln!(io::stdout(), "{text}").map_err(|error| (UNWRITABLE, error.to_string()))
}

/// The number at the start of a text, as atoi parses it. 0 if there are no digits.
fn leading_number(text: &OsString) -> u32 {
    let text = text.to_string_lossy();
    let text = text.trim_start();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..digits].parse().unwrap_or(if digits > 0 { u32::MAX } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(arguments: &[&str]) -> Option<u8> {
        Settings::parse(arguments.iter().map(OsString::from)).err().map(|exit| exit.0)
    }

    #[test]
    fn options_are_parsed_as_by_getopt_long() {
        for arguments in [
            &["-b", "4", "-d", "3"][..],
            &["-b4", "-d3"],
            &["--blocks=4", "--distance=3"],
            &["--bl", "4", "--dist", "3", "ignored"],
            &["-i", "-", "-o", "-", "-b", "64", "-d", "63"],
            &["-b", "4x", "-d", " 3"],
        ] {
            assert_eq!(exit(arguments), None, "{arguments:?}");
        }
    }

    #[test]
    fn exit_codes_are_those_of_the_program() {
        for (code, arguments) in [
            (1, &["--frobnicate"][..]),
            (1, &["-x"]),
            (1, &["-b"]),
            (2, &["-d", "3"]),
            (2, &["-b", "0", "-d", "3"]),
            (2, &["-b", "many", "-d", "3"]),
            (2, &["-b", "65", "-d", "3"]),
            (3, &["-b", "4"]),
            (3, &["-b", "4", "-d", "0"]),
            (4, &["-b", "4", "-d", "3", "-i", ""]),
            (5, &["-b", "4", "-d", "3", "--output="]),
            (6, &["-b", "3", "-d", "3"]),
        ] {
            assert_eq!(exit(arguments), Some(code), "{arguments:?}");
        }
    }
}
