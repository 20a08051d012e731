//! Saves what can be read of a damaged database into a new one.
//!
//! Nothing is guessed: a row is kept only where its fingerprint and its id are proved by checksums, or by
//! what other files say; everything else is counted as lost. The steps, from the ground up:
//! [`pages`] reads files page by page and knows which pages are sound; [`table`] walks over the entries
//! of a segment; [`gaps`] fills what table 0 has lost from the other tables; [`postings`] tells which
//! rows belong to which entry; [`run`] puts them together; [`keys`] adds the keys; [`log`] applies what is in no run yet;
//! [`found`] stands in for a manifest.

#![warn(clippy::indexing_slicing)]

mod findings;
mod found;
mod gaps;
mod keys;
mod log;
mod pages;
mod postings;
mod run;
mod table;
mod wide;

use std::path::Path;

pub use findings::{Finding, Kind};

use crate::build::KeySource;
use crate::database::bulk::Builder;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::manifest::Manifest;
use crate::format::schema::Schema;
use crate::format::wal::Operation;
use crate::layout::LayoutChoice;
use crate::log::manifest;
use crate::memtable::changes::ChangeSet;
use crate::options::Options;
use crate::storage::{Folder, Storage, names, refuse_inside};
use findings::Findings;
use found::Found;
use log::DamagedLog;
use run::{DamagedRun, Deleted};

/// What a [repair](crate::Database::repair) has saved, and what it has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether there is a new database. There is none where damage has left not a single row.
    pub made: bool,
    /// Rows of the new database.
    pub rows: u64,
    /// Rows of runs that could not be saved. Exact for a database of one run; where there are several, a
    /// lost row may have stood in another run too, or have been deleted. Lost commits of the log are not
    /// counted: nobody knows what was in them.
    pub lost_rows: u64,
    /// Distinct fingerprints of runs that are in no table any more.
    pub lost_fingerprints: u64,
    /// Distinct fingerprints of runs that were lost from table 0 and put back from other tables.
    pub recovered: u64,
    /// Everything met with that is not as it should be, by file.
    pub findings: Vec<Finding>,
}

impl RepairReport {
    /// Whether the new database has everything that the old one had, and nothing that was deleted.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.findings.iter().all(|finding| matches!(finding.kind, Kind::Damaged | Kind::Recovered))
    }
}

/// Counts over all runs.
#[derive(Debug, Default)]
struct Totals {
    lost_rows: u64,
    lost_fingerprints: u64,
    recovered: u64,
    largest_id: Option<u64>,
}

/// A database as far as it is known.
struct Source {
    manifest: Manifest,
    logs: Vec<u64>,
}

/// Does what [`Database::repair_with`](crate::Database::repair_with) says. `begun` is told where the new database
/// is prepared.
pub fn repair<F: Fingerprint>(
    path: &Path,
    dest: &Path,
    fallback: &Schema,
    options: Options,
    begun: &mut dyn FnMut(&Path),
) -> Result<RepairReport> {
    let storage = Folder::new(path);
    let mut findings = Findings::default();
    let Source { mut manifest, logs } = Source::find::<F>(&storage, fallback, &mut findings)?;
    refuse_inside(dest, path)?;
    let schema = fitting::<F>(manifest.schema(), &mut findings);
    let mut builder = Builder::<F>::begin(dest, &schema, options)?;
    begun(builder.staging_path());

    let changes = read_logs::<F>(&storage, &manifest, &logs, &mut findings)?;
    for row in changes.rows() {
        builder.push(row.fingerprint, Some(row.id))?;
    }
    changes.for_each(&mut |key| builder.push_record(&key))?;
    let mut deleted = Deleted::default();
    deleted.add(changes.deleted(true));
    let mut totals = Totals { largest_id: changes.largest_id(), ..Totals::default() };
    // Newest first: what a run deletes applies to the older ones.
    for record in manifest.runs.iter().rev() {
        let run = DamagedRun { storage: &storage, manifest: &manifest, record };
        run.save::<F>(&deleted, &mut totals, &mut findings, &mut |row| {
            builder.push(row.fingerprint, Some(row.id)).map(drop)
        })?;
        run.save_keys::<F>(&deleted, &mut findings, &mut |key| builder.push_record(key))?;
        deleted.add(run.deleted(&mut findings)?);
    }
    manifest.largest_id = manifest.largest_id.max(totals.largest_id);
    changes.note_in(&mut manifest);
    finish(builder, &manifest, totals, findings)
}

/// The width of a database, told by its manifest, or by most of its files where that cannot be read.
pub(crate) fn width(storage: &dyn Storage) -> Result<u32> {
    match manifest::read(storage) {
        Ok(Some(manifest)) => Ok(manifest.width),
        Err(newer @ Error::NewerVersion { .. }) => Err(newer),
        _ => found::width(storage),
    }
}

/// Gives the new database its name, unless damage has left nothing to put into it.
fn finish<F: Fingerprint>(
    mut builder: Builder<F>,
    manifest: &Manifest,
    totals: Totals,
    findings: Findings,
) -> Result<RepairReport> {
    let mut salvage = RepairReport {
        made: false,
        rows: 0,
        lost_rows: totals.lost_rows,
        lost_fingerprints: totals.lost_fingerprints,
        recovered: totals.recovered,
        findings: findings.into_sorted(),
    };
    if builder.is_empty() && salvage.findings.iter().any(|finding| finding.kind == Kind::Lost) {
        return Ok(salvage);
    }
    builder.take_over(manifest);
    let made = builder.finish()?;
    let runs = manifest::of::<F>(&Folder::new(made.path()))?.runs;
    (salvage.made, salvage.rows) = (true, runs.iter().map(|run| run.rows).sum());
    Ok(salvage)
}

impl Source {
    /// Reads the manifest, or looks for files where there is none that can be read.
    fn find<F: Fingerprint>(
        storage: &dyn Storage,
        fallback: &Schema,
        findings: &mut Findings,
    ) -> Result<Self> {
        let why = match manifest::read(storage) {
            Ok(Some(manifest)) => {
                manifest.check_width(F::BITS, &storage.path(""))?;
                return Ok(Self { logs: manifest.live_wal.into_iter().collect(), manifest });
            }
            Ok(None) => "missing".to_string(),
            Err(Error::Corrupt(damage)) => {
                format!("corrupt {} at offset {}", damage.section, damage.offset)
            }
            Err(Error::Io { source, .. })
                if pages::is_medium(&source) || source.kind() == std::io::ErrorKind::NotADirectory =>
            {
                source.to_string()
            }
            Err(other) => return Err(other),
        };
        let Found { manifest, logs } = Found::look::<F>(storage, fallback, findings)?;
        findings.add(Kind::Damaged, names::MANIFEST, why);
        let what = "nothing tells which run is older: deleted rows may have come back";
        findings.add(Kind::Note, names::MANIFEST, what);
        Ok(Self { manifest, logs })
    }
}

/// What the logs come to, in the order of their numbers.
fn read_logs<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    logs: &[u64],
    findings: &mut Findings,
) -> Result<ChangeSet<F>> {
    let mut changes = ChangeSet::new();
    for &number in logs {
        let Some(log) = DamagedLog::read(storage, number, findings)? else { continue };
        for operation in log.operations::<F>(manifest, findings) {
            if manifest.keys.is_some() || !matches!(operation, Operation::InsertKeyed(_)) {
                changes.apply(operation, |_| ());
            }
        }
    }
    Ok(changes)
}

/// A manifest may ask for a layout that nobody can make, if somebody wrote it by hand.
fn fitting<F: Fingerprint>(schema: Schema, findings: &mut Findings) -> Schema {
    if schema.layout.layout(F::BITS, schema.k, 0).is_ok() {
        return schema;
    }
    let what = format!("layout {} cannot be for k = {}", schema.layout, schema.k);
    findings.add(Kind::Note, names::MANIFEST, what);
    schema.layout(LayoutChoice::Auto)
}
