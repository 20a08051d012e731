//! The commands, one file each.

mod add;
mod backup;
mod build;
mod clusters;
mod compact;
mod compare;
mod completions;
mod create;
mod cross;
mod dedup;
mod delete;
mod explain;
mod export;
mod fingerprint;
mod ingest;
mod man;
mod matrix;
mod pairs;
mod query;
mod repair;
mod scan;
mod stats;
mod tune;
mod verify;

use clap::Subcommand;

use crate::Global;
use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Create(create::Args),
    Build(build::Args),
    Add(add::Args),
    Delete(delete::Args),
    Query(query::Args),
    Pairs(pairs::Args),
    Clusters(clusters::Args),
    Cross(cross::Args),
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
    Dedup(dedup::Args),
    Tune(tune::Args),
    Scan(scan::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        match self {
            Self::Create(args) => args.run(global),
            Self::Build(args) => args.run(global),
            Self::Add(args) => args.run(global),
            Self::Delete(args) => args.run(global),
            Self::Query(args) => args.run(global),
            Self::Pairs(args) => args.run(global),
            Self::Clusters(args) => args.run(global),
            Self::Cross(args) => args.run(global),
            Self::Export(args) => args.run(global),
            Self::Explain(args) => args.run(),
            Self::Stats(args) => args.run(),
            Self::Verify(args) => args.run(global),
            Self::Compact(args) => args.run(global),
            Self::Ingest(args) => args.run(global),
            Self::Backup(args) => args.run(global),
            Self::Repair(args) => args.run(global),
            Self::Fingerprint(args) => args.run(global),
            Self::Compare(args) => args.run(global),
            Self::Matrix(args) => args.run(global),
            Self::Dedup(args) => args.run(global),
            Self::Tune(args) => args.run(global),
            Self::Scan(args) => args.run(global),
            Self::Completions(args) => args.run(),
            Self::Man(args) => args.run(),
        }
    }
}
