//! Lists of files that were chosen in a report.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use nearprint::Error;
use nearprint_text::dedup::{DuplicateFile, DuplicateFiles};
use nearprint_text::documents::FileStamp;

use crate::args::GlobalArgs;
use crate::report::{CHOICE_COLUMNS, state_of};
use crate::terminal::failure::Failure;
use crate::terminal::results::unescape;

/// A line of a list.
struct Chosen {
    path: PathBuf,
    kept: PathBuf,
    similarity: f64,
    states: [String; 2],
}

/// The files of a list that are as the report has seen them, and how many others there are, which are named.
pub(super) fn read(list: &Path, global: GlobalArgs) -> Result<(DuplicateFiles, usize), Failure> {
    let (mut files, mut changed) = (DuplicateFiles::default(), 0);
    for Chosen { path, kept, similarity, states } in read_lines(list)? {
        let found = [(&path, &states[0]), (&kept, &states[1])].map(|(path, state)| stamp_of(path, state));
        match found {
            [Ok(stamp), Ok(kept_stamp)] => {
                files.stamps.insert(path.clone(), stamp);
                files.stamps.insert(kept.clone(), kept_stamp);
                // The reader has chosen it, whatever it is: whether it is one is decided by the bytes of both.
                files.duplicates.push(DuplicateFile { path, kept, similarity, is_copy: false });
            }
            [Err(why), _] | [_, Err(why)] => {
                changed += 1;
                global.note(format_args!("warning: {} was left alone: {why}", path.display()));
            }
        }
    }
    Ok((files, changed))
}

/// Reads a list. A file that goes cannot be one that is kept.
fn read_lines(list: &Path) -> Result<Vec<Chosen>, Failure> {
    let text = fs::read_to_string(list).map_err(Error::io("read", list))?;
    let bad =
        |number: usize, why: String| Failure::Input { place: format!("{}:{number}", list.display()), why };
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(names, _)| names != CHOICE_COLUMNS.join("\t")) {
        let hint = match text.starts_with("<!") {
            true => "; this is a page, whose button saves the list of the files that are chosen in it",
            false => "",
        };
        return Err(bad(1, format!("expected a header: {}{hint}", CHOICE_COLUMNS.join(" "))));
    }
    let (mut chosen, mut going, mut kept_at) = (Vec::new(), HashMap::new(), HashMap::new());
    for (line, number) in lines {
        let one = Chosen::parse(line).map_err(|why| bad(number, why))?;
        if let Some(first) = going.insert(one.path.clone(), number) {
            return Err(bad(number, format!("line {first} has {}, too", one.path.display())));
        }
        kept_at.entry(one.kept.clone()).or_insert(number);
        chosen.push(one);
    }
    for Chosen { path, .. } in &chosen {
        if let Some(at) = kept_at.get(path) {
            return Err(bad(going[path], format!("{} is the file that line {at} keeps", path.display())));
        }
    }
    Ok(chosen)
}

impl Chosen {
    fn parse(line: &str) -> Result<Self, String> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [path, kept, similarity, state, kept_state] = *cells else {
            return Err(format!("{} columns, expected {}", cells.len(), CHOICE_COLUMNS.len()));
        };
        let similarity = match similarity {
            "" => f64::NAN,
            number => number.parse().map_err(|_| format!("the similarity {number:?} is not a number"))?,
        };
        let [path, kept] = [path, kept].map(|cell| PathBuf::from(&*unescape(cell)));
        Ok(Self { path, kept, similarity, states: [state, kept_state].map(Into::into) })
    }
}

/// The state of a file now, if it is the one that a report has seen.
fn stamp_of(path: &Path, state: &str) -> Result<FileStamp, String> {
    let stamp = FileStamp::of(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match state_of(&stamp) == state {
        true => Ok(stamp),
        false => Err(format!("{} has changed since the report", path.display())),
    }
}
