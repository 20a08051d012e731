//! Copies the readable content of a damaged database into a new one.
//!
//! Nothing is guessed. A row is kept only if checksums or other files prove its fingerprint and its
//! id; all others count as lost. The steps, from the bottom up: [`pages`] reads files page by page
//! and finds the sound pages. [`table`] reads the entries of a segment. [`gaps`] fills gaps of
//! table 0 from the other tables, and [`wide`] does the same if tables hold only numbers of
//! fingerprints. [`postings`] assigns rows to entries, [`run`] combines rows and fingerprints, and
//! [`keys`] adds the keys. [`log`] reads the operations that are in no run yet. [`source`]
//! reconstructs a lost manifest.

#![warn(clippy::indexing_slicing)]

mod fingerprints;
mod gaps;
mod keys;
mod log;
mod pages;
mod postings;
mod report;
mod run;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod wide;

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

pub use report::{Finding, FindingKind, RepairReport};
pub(crate) use source::width;

use crate::database::bulk::Builder;
use crate::database::left_out;
use crate::database::snapshot::verify_all;
use crate::error::{Corruption, Error, Result};
use crate::fingerprint::Fingerprint;
use crate::format::keys::KeyRecord;
use crate::format::manifest::Manifest;
use crate::format::schema::{KeyStorage, Schema};
use crate::format::wal::Operation;
use crate::layout::LayoutChoice;
use crate::log::manifest;
use crate::memtable::changes::ChangeSet;
use crate::options::Options;
use crate::run::{Verification, verify_identities};
use crate::storage::{Folder, Storage, names, refuse_inside};
use log::DamagedLog;
use run::{DamagedRun, DeletedIds, Recovered};
use source::DamagedDatabase;

/// Implements [`Options::repair_with`].
pub(crate) fn repair<F: Fingerprint>(
    path: &Path,
    dest: &Path,
    (fallback, options): (&Schema, &Options),
    without_id: &mut dyn FnMut(F) -> Result<()>,
) -> Result<RepairReport> {
    fallback.check(F::BITS)?;
    let storage = Folder::of_database(path)?;
    let mut report = RepairReport::default();
    let DamagedDatabase { mut manifest, logs } = DamagedDatabase::find::<F>(&storage, fallback, &mut report)?;
    refuse_inside(dest, path)?;
    let schema = possible::<F>(manifest.schema(), &mut report);
    let mut builder = Builder::<F>::begin(dest, &schema, options.clone())?;
    builder.copy_permissions(&storage)?;

    let changes = read_logs::<F>(&storage, &manifest, &logs, &mut report)?;
    let (now, mut deleted) = (storage.now(), DeletedIds::default());
    // What has expired is left out, as by every reader. Without a manifest no log has an expiry.
    let mut leave_out = |file: &str, rows: u64| {
        if rows > 0 {
            report.add(FindingKind::Expired, file, format!("{rows} rows by the clock, which are left out"));
        }
    };
    for record in manifest.runs.iter().filter(|record| record.is_expired(now)) {
        leave_out(&names::rows(record.run), record.rows);
    }
    if let Some(log) = manifest.live_wal.filter(|_| manifest.is_log_expired(now)) {
        leave_out(&names::wal(log.number), changes.rows().len() as u64);
    } else {
        for row in changes.rows() {
            builder.push(row)?;
        }
        changes.keys().iter().try_for_each(|key| builder.push_record(key))?;
        deleted.add(changes.deleted(true));
    }
    // Newest first: the tombstones of a run apply to the older ones.
    for record in manifest.runs.iter().rev().filter(|record| !record.is_expired(now)) {
        let run = DamagedRun { storage: &storage, manifest: &manifest, record };
        recover_rows(run, &deleted, &mut report, &mut |recovered| match recovered {
            Recovered::Row(row) => builder.push(row).map(drop),
            Recovered::WithoutId(fingerprint) => without_id(fingerprint),
        })?;
        run.recover_keys::<F>(&deleted, &mut report, &mut |key| builder.push_record(key))?;
        deleted.add(run.deleted(&mut report)?);
    }
    report_other_damage::<F>(&storage, &manifest, builder.options(), &mut report)?;
    changes.note_in(&mut manifest);
    let ingested = recover_identities(&storage, &manifest, &mut report);
    repair_left_out(path, builder.folder(), options, &mut report)?;
    finish(builder, &manifest, ingested, report)
}

/// Passes on the rows of a run as [`DamagedRun::recover_rows`], which reports no loss if the keys have all rows.
fn recover_rows<F: Fingerprint>(
    run: DamagedRun<'_>,
    deleted: &DeletedIds,
    report: &mut RepairReport,
    keep: &mut dyn FnMut(Recovered<F>) -> Result<()>,
) -> Result<()> {
    let (mut found, mut known) = (RepairReport::default(), None);
    let mut have_all = || match known {
        Some(known) => Ok(known),
        None => run.keys_have_all_rows::<F>().inspect(|&have_all| known = Some(have_all)),
    };
    run.recover_rows::<F>(deleted, &mut found, &mut |recovered| match recovered {
        Recovered::WithoutId(_) if have_all()? => Ok(()),
        recovered => keep(recovered),
    })?;
    if found.lost_rows > 0 && have_all()? {
        let what = format!("{} rows, from the keys", found.lost_rows);
        found.findings.retain(|finding| finding.kind != FindingKind::Lost);
        found.add(FindingKind::Recovered, &names::rows(run.record.run), what);
        (found.lost_rows, found.without_id, found.lost_fingerprints) = (0, 0, 0);
    }
    report.absorb(found);
    Ok(())
}

/// Saves what can be read of the documents that were left out.
fn repair_left_out(path: &Path, folder: &Path, options: &Options, report: &mut RepairReport) -> Result<()> {
    match left_out::open(path, options) {
        Ok(None) => return Ok(()),
        Ok(Some(_)) | Err(Error::Corrupt(_)) => {}
        Err(error) => return Err(error),
    }
    let [path, dest] = [path, folder].map(|folder| folder.join(names::LEFT_OUT));
    let options = options.clone().without_progress();
    let found = repair::<u128>(&path, &dest, (&left_out::schema(), &options), &mut |_| Ok(()))?;
    for mut finding in found.findings {
        finding.file = format!("{}/{}", names::LEFT_OUT, finding.file);
        report.findings.push(finding);
    }
    Ok(())
}

/// The identities of ingested runs. A damaged file of them is lost as a whole.
fn recover_identities(
    storage: &dyn Storage,
    manifest: &Manifest,
    report: &mut RepairReport,
) -> BTreeSet<[u8; 16]> {
    let mut found = BTreeSet::new();
    for record in &manifest.ingested {
        let sound = verify_identities(storage, manifest, record, &mut Verification::default());
        match sound {
            Ok(Some(identities)) if identities.all().map(|all| found.extend(all)).is_ok() => {}
            _ => {
                let what =
                    format!("{} ingested runs are forgotten: they can be ingested again", record.count);
                report.add(FindingKind::Lost, &names::identities(record.number), what);
            }
        }
    }
    found
}

/// Reports damage in files that the repair did not need, such as tables other than the first.
fn report_other_damage<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    options: &Options,
    report: &mut RepairReport,
) -> Result<()> {
    if report.findings.iter().any(|finding| finding.file == names::MANIFEST) {
        // The records of the files are lost, so there is nothing to compare them with.
        return Ok(());
    }
    let damage = match verify_all::<F>(storage, manifest, options) {
        Ok(verification) => verification.damage,
        Err(Error::Interrupted) => return Err(Error::Interrupted),
        // The medium fails. What was needed of it has been read, or reported.
        Err(_) => return Ok(()),
    };
    let known = report.findings.iter().filter(|finding| finding.kind != FindingKind::Expired);
    let mut reported: HashSet<String> = known.map(|finding| finding.file.clone()).collect();
    for Corruption { file, section, offset, expected, found } in damage {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if reported.insert(name.to_string()) {
            let what = format!("{section} at offset {offset}: expected {expected}, found {found}");
            report.add(FindingKind::Damaged, &name, what);
        }
    }
    Ok(())
}

/// Gives the new database its name, unless no row survived the damage.
fn finish<F: Fingerprint>(
    mut builder: Builder<F>,
    manifest: &Manifest,
    ingested: BTreeSet<[u8; 16]>,
    mut report: RepairReport,
) -> Result<RepairReport> {
    report.sort();
    if builder.is_empty() && report.findings.iter().any(|finding| finding.kind == FindingKind::Lost) {
        return Ok(report);
    }
    builder.take_over(manifest, ingested);
    let made = builder.finish()?;
    let runs = manifest::of::<F>(&Folder::of_database(made.path())?)?.runs;
    (report.made, report.rows) = (true, runs.iter().map(|run| run.rows).sum());
    Ok(report)
}

/// The operations of the logs, applied in the order of their numbers.
fn read_logs<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    logs: &[u64],
    report: &mut RepairReport,
) -> Result<ChangeSet<F>> {
    let (mut changes, keys) = (ChangeSet::new(), KeyStorage::of(manifest.keys));
    for &number in logs {
        let Some(log) = DamagedLog::read(storage, number, report)? else { continue };
        let mut without_text = 0;
        for operation in log.operations::<F>(manifest, report)? {
            match operation {
                Operation::InsertKeyed(_) if !keys.has_keys() => {}
                Operation::InsertKeyed(record) if keys == KeyStorage::Keys && !record.text.is_empty() => {
                    without_text += 1;
                    changes.apply(Operation::InsertKeyed(KeyRecord { text: b"", ..record }));
                }
                other => changes.apply(other),
            }
        }
        if without_text > 0 {
            let what = format!("what is stored with {without_text} keys: no file says what it is");
            report.add(FindingKind::Lost, &names::wal(number), what);
        }
    }
    Ok(changes)
}

/// Replaces an impossible layout, which only a forged manifest can contain.
fn possible<F: Fingerprint>(schema: Schema, report: &mut RepairReport) -> Schema {
    if schema.layout.layout(F::BITS, schema.k, 0).is_ok() {
        return schema;
    }
    let what = format!("layout {} cannot be for k = {}", schema.layout, schema.k);
    report.add(FindingKind::Note, names::MANIFEST, what);
    schema.layout(LayoutChoice::Auto)
}
