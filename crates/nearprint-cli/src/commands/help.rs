//! The help of the program as a whole, and of its exit codes.

use std::fmt::Write as _;

use clap::{Arg, Command};

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;

/// The commands by the job that they are for.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Files and images in folders", &["scan", "prune", "undo"]),
    (
        "Records: JSON lines, CSV, TSV, Parquet, or a text per file",
        &["dedup", "trim", "decontaminate", "tune"],
    ),
    ("Texts and fingerprints", &["compare", "fingerprint"]),
    (
        "Databases of fingerprints",
        &[
            "build", "create", "add", "delete", "query", "pairs", "clusters", "export", "stats", "jobs",
            "explain",
        ],
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
  nearprint query seen.np page.txt                          search what is stored

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
  7              `dedup` or `trim` with `-o - --db`: the reader has ended (0 without --db); the next run
                 delivers the rest
  8              The database needs a newer program
  9              `repair`: rows or fingerprints are lost
  129, 130, 143  Ended by SIGHUP, Ctrl-C or SIGTERM
";

/// Options that `-h` leaves to `--help`.
const IN_LONG_HELP: &[&str] = &[
    "acknowledge",
    "add",
    "any_owner",
    "batch",
    "group_size",
    "columns",
    "context",
    "delimiter",
    "encoding",
    "every",
    "fingerprint_field",
    "id_field",
    "identity",
    "input_format",
    "fields",
    "keep_hollow",
    "keep_log",
    "layout",
    "log",
    "max_output",
    "memory",
    "merge_rate",
    "min_features",
    "missing",
    "nested",
    "no_header",
    "no_progress",
    "once",
    "only_against",
    "part",
    "partition",
    "pre",
    "pre_glob",
    "quality",
    "range",
    "recipe",
    "runs_only",
    "sample",
    "shards",
    "shingle",
    "summary",
    "trust",
    "verbose",
    "wait",
    "width",
];
/// The same of one command.
const IN_LONG_HELP_OF: &[(&str, &[&str])] = &[
    ("dedup", &["k", "null", "store", "exclude", "ext", "no_ignore"]),
    ("trim", &["k", "store", "exclude", "ext", "no_ignore"]),
    ("decontaminate", &["exclude", "ext", "no_ignore"]),
    ("fingerprint", &["exclude", "ext", "no_ignore"]),
    ("tune", &["exclude", "ext", "no_ignore", "json"]),
    ("scan", &["k", "header", "max_size"]),
    ("prune", &["k", "max_size", "picture_db", "header", "no_header", "json"]),
    ("repair", &["fingerprints"]),
];
/// The examples that `-h` has.
const SHORT_EXAMPLES: usize = 3;

/// A program with its own help: the commands in groups. `-h` of a command has its most frequent options, each with one
/// sentence, and `--help` everything.
pub(super) fn with_help(program: Command) -> Command {
    let text = page(&program);
    let program = program.mut_subcommands(with_short_help);
    let program = program.mut_args(|argument| {
        let is_hidden = IN_LONG_HELP.contains(&argument.get_id().as_str());
        with_short_text(argument).hide_short_help(is_hidden)
    });
    program.override_help(text).mut_subcommand("exit-codes", |command| command.override_help(CODES))
}

fn with_short_help(command: Command) -> Command {
    let name = command.get_name().to_string();
    let of_command =
        IN_LONG_HELP_OF.iter().find(|(command, _)| *command == name).map_or(&[][..], |(_, ids)| ids);
    let command = command.mut_args(|argument| {
        let id = argument.get_id().as_str();
        let is_hidden = IN_LONG_HELP.contains(&id) || of_command.contains(&id);
        with_short_text(argument).hide_short_help(is_hidden)
    });
    let Some(examples) = command.get_after_help().map(ToString::to_string) else { return command };
    let lines: Vec<&str> = examples.lines().collect();
    let short = lines[..lines.len().min(1 + SHORT_EXAMPLES)].join("\n");
    command.after_long_help(examples.clone()).after_help(format!("{short}\nMore in --help"))
}

/// An argument whose short help is the first sentence of its help.
fn with_short_text(argument: Arg) -> Arg {
    let Some(help) = argument.get_long_help().or(argument.get_help()).map(ToString::to_string) else {
        return argument;
    };
    let short = first_sentence(&help);
    argument.help(short.to_string()).long_help(help)
}

/// The text before the first full stop that ends a sentence, or semicolon, outside of brackets.
fn first_sentence(text: &str) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
        let is_end = matches!(c, '.' | ';') && text[at + 1..].starts_with([' ', '\n']);
        if depth == 0 && (is_end || text[at..].starts_with("\n\n")) {
            return &text[..at];
        }
    }
    text
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

    /// The lines of the option with the longest text.
    fn most_lines_of_option(help: &str) -> usize {
        let (mut most, mut lines) = (0, 0);
        for line in help.lines() {
            let text = line.trim_start();
            match line.len() - text.len() {
                2..=6 if text.starts_with(['-', '[', '<']) => lines = 1,
                7.. if lines > 0 => lines += 1,
                _ => lines = 0,
            }
            most = most.max(lines);
        }
        most
    }

    #[test]
    fn short_help_is_short_and_long_help_has_everything() {
        let mut program = with_help(Cli::command()).term_width(100);
        program.build();
        let mut too_long = Vec::new();
        for command in program.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let (name, short) = (command.get_name().to_string(), command.render_help().to_string());
            if short.lines().count() > 45 || most_lines_of_option(&short) > 2 {
                too_long.push(short);
            }
            let long = command.render_long_help().to_string();
            for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
                let option = argument.get_long().map(|name| format!("--{name}"));
                assert!(option.is_none_or(|option| long.contains(&option)), "{name}: {argument}");
            }
        }
        assert!(too_long.is_empty(), "{}", too_long.join("\n"));
        let dedup = program.find_subcommand("dedup").unwrap();
        let is_own = |argument: &&clap::Arg| {
            !argument.is_positional() && !argument.is_global_set() && argument.get_id() != "help"
        };
        assert!(dedup.get_arguments().filter(is_own).count() <= 40);
        // Each option that is left out is one of some command.
        let mut known = BTreeSet::new();
        program.get_subcommands().for_each(|command| {
            known.extend(command.get_arguments().map(|argument| argument.get_id().as_str().to_string()));
        });
        assert!(IN_LONG_HELP.iter().all(|id| known.contains(*id)), "{known:?}");
    }
}
