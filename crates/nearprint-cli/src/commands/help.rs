//! The help of the program as a whole, and of its exit codes.

use std::fmt::Write as _;

use clap::Command;

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;

/// The commands by the job that they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Files and images in folders", &["scan", "prune", "undo"]),
    ("Records: JSON lines, CSV, TSV, Parquet, or a text per file", &["dedup", "decontaminate", "tune"]),
    ("Texts and fingerprints", &["compare", "matrix", "fingerprint"]),
    (
        "Databases of fingerprints",
        &["build", "create", "add", "delete", "query", "pairs", "clusters", "export", "stats", "explain"],
    ),
    ("Looking after a database", &["backup", "verify", "repair", "compact", "ingest"]),
];

/// What is on the page behind the commands.
const REST: &str = "\
Options
  -j, --threads <N>  Use N threads; results are the same [default: all cores]
  -q, --quiet        Print results and errors only
  -V, --version      Print the version
  -h, --help         Print this page; `nearprint COMMAND -h` is short, `--help` has everything

Start here
  nearprint scan ~/Documents                                what is there twice?
  nearprint prune ~/Documents --move-to gone --dry-run      what would be moved?
  nearprint dedup pages.jsonl -o unique.jsonl               records, once
  nearprint dedup today.jsonl -o new.jsonl --db seen.np     records, day by day
  nearprint query seen.np --text page.txt                   search what is stored

Exit codes: nearprint help exit-codes   Also: completions, man
";

/// What the numbers mean with which the program ends.
const CODES: &str = "\
Exit codes

  0              Done
  1              Failed: a file, a disk, an act that was not done
  2              Usage: options that are wrong or cannot apply
  3              A database is damaged
  4              Another writer has the database
  5              Bad input: a record, a table, or nothing of a kind that is compared
  6              `compare`: the texts are not near
  7              `dedup -o - --db`: the reader has ended; the next run delivers the rest
  8              The database needs a newer program
  9              `repair`: rows or fingerprints are lost
  129, 130, 143  Ended by SIGHUP, Ctrl-C or SIGTERM
";

/// A program with its own help: the commands in groups.
pub(super) fn with_help(program: Command) -> Command {
    let text = page(&program);
    program.override_help(text).mut_subcommand("exit-codes", |command| command.override_help(CODES))
}

/// Prints the exit codes.
pub(super) fn print_exit_codes() -> Result<(), Failure> {
    let mut out = OutputStream::stdout();
    out.write(|out| out.write_all(CODES.as_bytes()))?;
    Ok(out.flush()?)
}

fn page(program: &Command) -> String {
    let about = program.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = format!("{about}\n\nUsage: nearprint <COMMAND> [OPTIONS] ...\n");
    for (title, names) in GROUPS {
        let _ = writeln!(page, "\n{title}");
        for command in names.iter().filter_map(|name| program.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(page, "  {:<13}  {about}", command.get_name());
        }
    }
    page + "\n" + REST
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::commands::Cli;

    #[test]
    fn each_command_is_in_one_group() {
        let named: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let listed: BTreeSet<&str> =
            named.iter().copied().chain(["completions", "man", "exit-codes"]).collect();
        assert_eq!(listed.len(), named.len() + 3);
        let program = Cli::command();
        assert_eq!(program.get_subcommands().map(Command::get_name).collect::<BTreeSet<_>>(), listed);
        let page = page(&program);
        assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
        assert!(page.lines().count() <= 60);
    }
}
