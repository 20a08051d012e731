//! The command line: global options, and one file per command.

mod add;
mod backup;
mod build;
mod clusters;
mod compact;
mod compare;
mod completions;
mod create;
mod decontaminate;
mod dedup;
mod delete;
mod explain;
mod export;
mod files;
mod fingerprint;
mod help;
mod ingest;
mod jobs;
mod man;
mod pairs;
mod prune;
mod query;
mod repair;
mod scan;
mod snapshots;
mod stats;
mod trim;
mod tune;
mod undo;
mod verify;

use std::ffi::OsString;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;
use crate::terminal::log;
pub use dedup::DedupReport;
use help::with_help;

/// Find near-duplicate files, records and images, and search databases of fingerprints
#[derive(Debug, Parser)]
#[command(name = "nearprint", version, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(create::Args),
    Build(build::Args),
    Add(add::Args),
    Delete(delete::Args),
    Query(query::Args),
    Pairs(pairs::Args),
    Clusters(clusters::Args),
    Export(export::Args),
    Explain(explain::Args),
    Stats(stats::Args),
    Jobs(jobs::Args),
    Verify(verify::Args),
    Compact(compact::Args),
    Ingest(ingest::Args),
    Backup(backup::Args),
    Repair(repair::Args),
    Fingerprint(fingerprint::Args),
    Compare(compare::Args),
    Dedup(Box<dedup::Args>),
    Trim(Box<trim::Args>),
    Decontaminate(decontaminate::Args),
    Tune(Box<tune::Args>),
    Scan(Box<scan::Args>),
    Prune(Box<prune::Args>),
    Undo(undo::Args),
    Completions(completions::Args),
    Man(man::Args),
    /// Show what exit codes mean
    #[command(hide = true)]
    ExitCodes,
}

impl Cli {
    /// Parses arguments, the first of them the name of the program.
    pub(crate) fn of(arguments: &[OsString]) -> Result<Self, clap::Error> {
        Self::from_arg_matches(&with_help(Self::command()).try_get_matches_from(arguments)?)
    }

    pub(crate) fn run(self) -> Result<(), Failure> {
        let global = self.global;
        log::set_format(global.log);
        match self.command {
            Command::Create(args) => args.run(global),
            Command::Build(args) => args.run(global),
            Command::Add(args) => args.run(global),
            Command::Delete(args) => args.run(global),
            Command::Query(args) => args.run(global),
            Command::Pairs(args) => args.run(global),
            Command::Clusters(args) => args.run(global),
            Command::Export(args) => args.run(global),
            Command::Explain(args) => args.run(),
            Command::Stats(args) => args.run(global),
            Command::Jobs(args) => args.run(global),
            Command::Verify(args) => args.run(global),
            Command::Compact(args) => args.run(global),
            Command::Ingest(args) => args.run(global),
            Command::Backup(args) => args.run(global),
            Command::Repair(args) => args.run(global),
            Command::Fingerprint(args) => args.run(global),
            Command::Compare(args) => args.run(global),
            Command::Dedup(args) => args.run(global),
            Command::Trim(args) => args.run(global),
            Command::Decontaminate(args) => args.run(global),
            Command::Tune(args) => args.run(global),
            Command::Scan(args) => args.run(global),
            Command::Prune(args) => args.run(global),
            Command::Undo(args) => args.run(global),
            Command::Completions(args) => args.run(Self::command()),
            Command::Man(args) => args.run(Self::command()),
            Command::ExitCodes => help::print_exit_codes(),
        }
    }
}
