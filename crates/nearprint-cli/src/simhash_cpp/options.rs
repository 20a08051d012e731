//! The options of simhash-cpp's programs, parsed as getopt_long does.

use std::ffi::{OsStr, OsString};

use super::exit::{
    BAD_BLOCKS, EMPTY_INPUT, EMPTY_OUTPUT, Exit, MAX_BLOCKS, NO_DISTANCE, TOO_FEW_BLOCKS, UNKNOWN_OPTION,
};
use super::numbers::{self, Leading};

/// The long options. Those of simhash-cpp have their first letter as a short option.
const LONG_OPTIONS: [&str; 6] = ["input", "output", "blocks", "distance", "help", STRICT];
const STRICT: &str = "strict";

/// What to read, what to write, and how.
#[derive(Debug)]
pub(super) struct Settings {
    pub input: OsString,
    pub output: OsString,
    /// More than 64 only without `is_strict`: simhash-cpp opens its input first.
    pub blocks: u64,
    pub distance: u64,
    /// Numbers are digits alone, and a folder is no input.
    pub is_strict: bool,
}

impl Settings {
    /// Parses `-b4`, `-b 4`, `--blocks=4`, `--blocks 4`, and any unambiguous beginning of a long
    /// name. Other words are skipped. Returns `None` for `--help`.
    pub(super) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Option<Self>, Exit> {
        let mut settings =
            Self { input: "-".into(), output: "-".into(), blocks: 0, distance: 0, is_strict: false };
        let (mut blocks, mut distances) = (Vec::new(), Vec::new());
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                break;
            }
            let Some((name, inline)) = split_option(&argument)? else { continue };
            match name {
                "help" => return Ok(None),
                STRICT => settings.is_strict = true,
                _ => {
                    let missing = || (UNKNOWN_OPTION, format!("option {} needs a value", argument.display()));
                    let value = inline.or_else(|| arguments.next()).ok_or_else(missing)?;
                    match name {
                        "input" => settings.input = value,
                        "output" => settings.output = value,
                        "blocks" => blocks.push(value),
                        _ => distances.push(value),
                    }
                }
            }
        }
        let (blocks, distance) =
            (number(&blocks, settings.is_strict), number(&distances, settings.is_strict));
        settings.check(blocks, distance).map(Some)
    }

    fn check(self, blocks: u64, distance: u64) -> Result<Self, Exit> {
        let fail = |code, why: &str| Err((code, why.to_string()));
        match () {
            () if blocks == 0 => fail(BAD_BLOCKS, "blocks must be given and greater than 0"),
            () if blocks > MAX_BLOCKS && self.is_strict => fail(BAD_BLOCKS, "blocks may be at most 64"),
            () if distance == 0 => fail(NO_DISTANCE, "distance must be given and greater than 0"),
            () if self.input.is_empty() => fail(EMPTY_INPUT, "the name of the input is empty"),
            () if self.output.is_empty() => fail(EMPTY_OUTPUT, "the name of the output is empty"),
            () if blocks <= distance => {
                let why = format!("blocks, {blocks}, must be greater than distance, {distance}");
                Err((TOO_FEW_BLOCKS, why))
            }
            () => Ok(Self { blocks, distance, ..self }),
        }
    }
}

/// The number that simhash-cpp has after these values of an option, 0 for none.
fn number(values: &[OsString], is_strict: bool) -> u64 {
    values.iter().fold(0, |previous, value| {
        let value = value.as_encoded_bytes();
        let starts_with_digit = value.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
        match numbers::leading(value) {
            _ if is_strict && !starts_with_digit => 0,
            // Of nothing, `operator>>` stores nothing.
            Leading::Blank => previous,
            Leading::NoDigits => 0,
            Leading::TooLarge => u64::MAX,
            Leading::Number(value) => value,
        }
    })
}

/// The long name of an option, and the value in the same word. `None` if the word is not an
/// option.
fn split_option(argument: &OsStr) -> Result<Option<(&'static str, Option<OsString>)>, Exit> {
    let text = argument.to_string_lossy();
    let unknown = || (UNKNOWN_OPTION, format!("unknown option {text}"));
    let Some(name) = text.strip_prefix('-').filter(|name| !name.is_empty()) else { return Ok(None) };
    let Some(long) = name.strip_prefix('-') else {
        let is_named = |known: &&&str| **known != STRICT && name.starts_with(&known[..1]);
        let known = LONG_OPTIONS.iter().find(is_named).ok_or_else(unknown)?;
        // A letter without a value may be followed by other letters: -hb4 is a call for help.
        return Ok(Some((*known, Some(behind(argument, 2)).filter(|value| !value.is_empty()))));
    };
    let (name, has_value) = long.split_once('=').map_or((long, false), |(name, _)| (name, true));
    let mut matching = LONG_OPTIONS.iter().filter(|known| known.starts_with(name));
    let (Some(known), None) = (matching.next(), matching.next()) else { return Err(unknown()) };
    let value = has_value.then(|| behind(argument, "--=".len() + name.len()));
    if value.is_some() && matches!(*known, "help" | STRICT) {
        return Err((UNKNOWN_OPTION, format!("option --{known} takes no value")));
    }
    Ok(Some((*known, value)))
}

/// What follows the first bytes, which are ASCII. File names are kept byte for byte on Unix.
#[cfg(unix)]
fn behind(argument: &OsStr, len_bytes: usize) -> OsString {
    use std::os::unix::ffi::OsStrExt;
    OsStr::from_bytes(argument.as_bytes().split_at(len_bytes).1).to_owned()
}

/// What follows the first bytes, which are ASCII.
#[cfg(not(unix))]
fn behind(argument: &OsStr, len_bytes: usize) -> OsString {
    argument.to_string_lossy().split_at(len_bytes).1.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<(u64, u64), u8> {
        let parsed = Settings::parse(arguments.iter().map(OsString::from));
        parsed.map(|settings| settings.map_or((0, 0), |it| (it.blocks, it.distance))).map_err(|exit| exit.0)
    }

    #[test]
    fn options_are_parsed_as_by_getopt_long() {
        for arguments in [
            &["-b", "4", "-d", "3"][..],
            &["-b4", "-d3"],
            &["--blocks=4", "--distance=3"],
            &["--bl", "4", "--dist", "3", "ignored"],
            &["-b", "4x", "-d", " 3"],
            &["-b", "+4", "-d", "3.9"],
            &["-b", "64", "-b4", "-b", " ", "-d3", "--", "-b", "9"],
            &["-b4", "--strict", "-d3"],
        ] {
            assert_eq!(parse(arguments), Ok((4, 3)), "{arguments:?}");
        }
    }

    #[test]
    fn exit_codes_are_those_of_the_program() {
        for (code, arguments) in [
            (1, &["--frobnicate"][..]),
            (1, &["-x"]),
            (1, &["-s"]),
            (1, &["-b"]),
            (1, &["--help=1"]),
            (1, &["--strict=1"]),
            (2, &["-d", "3"]),
            (2, &["-b", "0", "-d", "3"]),
            (2, &["-b", "many", "-d", "3"]),
            (2, &["--strict", "-b", "+4", "-d", "3"]),
            (2, &["--strict", "-b", "4", "-b", "", "-d", "3"]),
            (2, &["--strict", "-b", "65"]),
            (3, &["-b", "65"]),
            (3, &["-b", "4", "-d", "0"]),
            (3, &["--strict", "-b", "4", "-d", "-1"]),
            (4, &["-b", "4", "-d", "3", "-i", ""]),
            (5, &["-b", "4", "-d", "3", "--output="]),
            (6, &["-b", "3", "-d", "3"]),
            (6, &["-b", "65", "-d", "70"]),
            (6, &["-b", "4", "-d", "-1"]),
        ] {
            assert_eq!(parse(arguments), Err(code), "{arguments:?}");
        }
    }

    #[cfg(windows)]
    #[test]
    #[ignore = "names of Windows are no bytes"]
    fn names_of_files_keep_their_bytes() {}

    #[cfg(unix)]
    #[test]
    fn names_of_files_keep_their_bytes() {
        use std::os::unix::ffi::OsStrExt;
        for word in [&b"-i\xff"[..], b"--input=\xff"] {
            let words = ["-b4".into(), "-d3".into(), OsStr::from_bytes(word).to_owned()];
            let settings = Settings::parse(words.into_iter()).unwrap().unwrap();
            assert_eq!(settings.input.as_bytes(), b"\xff");
        }
    }
}
