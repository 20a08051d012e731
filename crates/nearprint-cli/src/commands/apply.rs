//! `nearprint apply`

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use nearprint::Error;
use nearprint_text::dedup::{DuplicateFile, DuplicateFiles};
use nearprint_text::documents::FileStamp;

use super::action::ActionArgs;
use crate::args::{GlobalArgs, SummaryArgs};
use crate::report::{CHOICE_COLUMNS, state_of};
use crate::terminal::failure::Failure;
use crate::terminal::results::unescape;

/// Act on the files that were chosen in a report
///
/// In a page of `scan --report` or `dedup --report`, files can be marked, and a list of them saved. This command moves,
/// links or deletes what the list names, as `dedup` does with what it finds: nothing is overwritten, whatever has
/// changed since the report is left as it is and named, and `nearprint undo` restores the rest. Run it in the folder in
/// which the report was made: relative paths start there.
///
/// The list has a line of names, then one line a file: `path kept similarity state kept_state`, with tabs between
/// them. Lines may be removed. A state is the size, time and number of a file.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint scan articles --report near.html
  nearprint apply ~/Downloads/nearprint-chosen.tsv --move-to gone --dry-run
  nearprint apply ~/Downloads/nearprint-chosen.tsv --move-to gone")]
pub(super) struct Args {
    /// The list that a report has saved
    #[arg(value_name = "LIST")]
    list: PathBuf,
    #[command(flatten)]
    action: ActionArgs,
    /// Print what would be done: the act, the file, where it goes or what is kept, the similarity, and whether both
    /// are byte-identical
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    summary: SummaryArgs,
}

/// A line of a list.
struct Chosen {
    path: PathBuf,
    kept: PathBuf,
    similarity: f64,
    states: [String; 2],
}

impl Args {
    pub(super) fn run(self, global: GlobalArgs) -> Result<(), Failure> {
        let Some(plan) = self.action.plan(&[], true)? else {
            let why = "nothing to do: give --move-to DIR, --hardlink, --reflink or --delete";
            return Err(Failure::Usage(why.into()));
        };
        self.summary.check(&[&self.list], &[])?;
        let (mut files, mut changed) = (DuplicateFiles::default(), 0);
        for Chosen { path, kept, similarity, states } in read(&self.list)? {
            let found = [(&path, &states[0]), (&kept, &states[1])].map(|(path, state)| stamp_of(path, state));
            match found {
                [Ok(stamp), Ok(kept_stamp)] => {
                    files.stamps.insert(path.clone(), stamp);
                    files.stamps.insert(kept.clone(), kept_stamp);
                    // Whether it is one is decided by the bytes of both.
                    files.duplicates.push(DuplicateFile { path, kept, similarity, is_copy: true });
                }
                [Err(why), _] | [_, Err(why)] => {
                    changed += 1;
                    global.note(format_args!("warning: left as it is: {}: {why}", path.display()));
                }
            }
        }
        let counts = plan.run(&files, &[], self.dry_run, global)?.with_failed(changed);
        self.summary.write(|| counts.object())?;
        if self.dry_run { Ok(()) } else { counts.check() }
    }
}

/// Reads a list. A file that goes cannot be one that is kept.
fn read(list: &Path) -> Result<Vec<Chosen>, Failure> {
    let text = fs::read_to_string(list).map_err(Error::io("read", list))?;
    let bad =
        |number: usize, why: String| Failure::Input { place: format!("{}:{number}", list.display()), why };
    let mut lines = text.lines().zip(1..);
    if lines.next().is_none_or(|(names, _)| names != CHOICE_COLUMNS.join("\t")) {
        return Err(bad(1, format!("expected a line of names: {}", CHOICE_COLUMNS.join(" "))));
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
            number => number.parse().map_err(|_| format!("the similarity {number:?} is no number"))?,
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
