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
mod ingest;
mod man;
mod matrix;
mod pairs;
mod prune;
mod query;
mod repair;
mod scan;
mod snapshots;
mod stats;
mod tune;
mod undo;
mod verify;

use clap::{CommandFactory, Parser, Subcommand};

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;
use crate::terminal::log;
pub use dedup::DedupReport;

/// Find and remove near-duplicate documents, and search fingerprints in a database on disk
///
/// Fingerprints are numbers of 64, 128 or 256 bits. Similar things have fingerprints that differ in
/// few bits: simhashes of texts, perceptual hashes of images. MinHash fingerprints, the default for
/// texts, estimate the share of shingles that two texts have in common. A database is a folder of
/// files that opens in milliseconds and is never loaded into memory.
#[derive(Debug, Parser)]
#[command(name = "nearprint", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  nearprint build corpus.np prints.txt      a database from lines of FINGERPRINT[<tab>ID]
  nearprint query corpus.np -f 0x1f3a -k 3  all rows within 3 bits of 0x1f3a
  nearprint clusters corpus.np -k 6         groups of near-duplicates
  nearprint scan ~/projects                 groups of near-duplicate files
  nearprint help query                      all options of one command

Exit codes: 0 done, 1 failed, 2 usage, 3 corrupt, 4 locked by another writer, 5 bad input,
6 `compare`: not near-duplicates, 7 `dedup -o - --db`: the reader has ended, and the next run delivers
the rest, 8 a newer program is needed, 9 `repair`: rows or fingerprints are lost, 129, 130 or 143 ended by
SIGHUP, Ctrl-C or SIGTERM.";

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
    Verify(verify::Args),
    Compact(compact::Args),
    Ingest(ingest::Args),
    Backup(backup::Args),
    Repair(repair::Args),
    Fingerprint(fingerprint::Args),
    Compare(compare::Args),
    Matrix(matrix::Args),
    Dedup(Box<dedup::Args>),
    Decontaminate(decontaminate::Args),
    Tune(Box<tune::Args>),
    Scan(Box<scan::Args>),
    Prune(Box<prune::Args>),
    Undo(undo::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Cli {
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
            Command::Verify(args) => args.run(global),
            Command::Compact(args) => args.run(global),
            Command::Ingest(args) => args.run(global),
            Command::Backup(args) => args.run(global),
            Command::Repair(args) => args.run(global),
            Command::Fingerprint(args) => args.run(global),
            Command::Compare(args) => args.run(global),
            Command::Matrix(args) => args.run(global),
            Command::Dedup(args) => args.run(global),
            Command::Decontaminate(args) => args.run(global),
            Command::Tune(args) => args.run(global),
            Command::Scan(args) => args.run(global),
            Command::Prune(args) => args.run(global),
            Command::Undo(args) => args.run(global),
            Command::Completions(args) => args.run(Self::command()),
            Command::Man(args) => args.run(Self::command()),
        }
    }
}
