//! Recovers the rows of one run.

use super::fingerprints::RunFingerprints;
use super::gaps::TableFingerprints;
use super::pages::{self, Pages};
use super::postings::{DamagedPostings, OpenedPostings, Posting};
use super::report::{FindingKind, RepairReport};
use super::wide::WideFingerprints;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Payload, Row, Stored};
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::Footer;
use crate::format::postings::{PostingsInfo, row_hash};
use crate::format::tombstones::{DELETED, TombstonesInfo};
use crate::run::Tombstones;
use crate::storage::{Storage, names};

/// Ids that newer runs and the log delete.
#[derive(Debug, Default)]
pub(super) struct DeletedIds {
    /// Ascending.
    ids: Vec<u64>,
}

impl DeletedIds {
    pub(super) fn add(&mut self, ids: Vec<u64>) {
        if ids.is_empty() {
            return;
        }
        self.ids.extend(ids);
        self.ids.sort_unstable();
        self.ids.dedup();
    }

    pub(super) fn contains(&self, id: u64) -> bool {
        self.ids.binary_search(&id).is_ok()
    }
}

/// One run of a damaged database.
#[derive(Clone, Copy)]
pub(super) struct DamagedRun<'a> {
    pub(super) storage: &'a dyn Storage,
    pub(super) manifest: &'a Manifest,
    pub(super) record: &'a RunRecord,
}

/// What is readable of a row.
#[derive(Clone, Copy)]
pub(super) enum Recovered<F> {
    Row(Row<F>),
    /// A fingerprint whose id is lost. Its row may have been deleted.
    WithoutId(F),
}

/// What a pass over the rows of a run finds.
struct RowTotals {
    /// Rows with an unknown fingerprint or id.
    lost: u64,
    /// Those of them with a known fingerprint.
    without_id: u64,
    /// The sum over all rows. `None` if a row is lost.
    sum: Option<u64>,
}

impl DamagedRun<'_> {
    /// Passes every readable row that is not deleted to `keep`, and the fingerprints of rows whose ids
    /// are lost. Counts what is lost.
    pub(super) fn recover_rows<F: Fingerprint>(
        self,
        deleted: &DeletedIds,
        report: &mut RepairReport,
        keep: &mut dyn FnMut(Recovered<F>) -> Result<()>,
    ) -> Result<()> {
        let Self { storage, manifest, record } = self;
        if record.rows == 0 {
            return Ok(());
        }
        let file = names::rows(record.run);
        let opened = DamagedPostings::open(storage, manifest, record, report)?;
        let mut fingerprints = self.fingerprints::<F>(report)?;
        report.lost_fingerprints += fingerprints.lost();
        report.recovered += fingerprints.recovered();
        let postings = match opened {
            OpenedPostings::Readable(postings) => Some(postings),
            OpenedPostings::WithoutFooter(_) => self.guess_postings(&mut *fingerprints, report)?,
            OpenedPostings::Missing => None,
        };
        let Some(mut postings) = postings else {
            report.lost_rows = report.lost_rows.saturating_add(record.rows);
            report.add_lost(&file, record.rows, "rows");
            return self.recover_fingerprints(&mut *fingerprints, report, keep);
        };
        let totals = visit_rows(&mut postings, &mut *fingerprints, deleted, keep)?;
        postings.report_unreadable(report);
        report.add_lost(&file, totals.lost, "rows");
        report.lost_rows = report.lost_rows.saturating_add(totals.lost);
        report.without_id += totals.without_id;
        if totals.sum.is_some_and(|sum| sum != record.row_sum) {
            report.add(FindingKind::Note, &file, "the sum over all rows is not the one it should be");
        }
        Ok(())
    }

    /// Passes every readable fingerprint to `keep` once. The ids of all rows are lost.
    fn recover_fingerprints<F: Fingerprint>(
        self,
        fingerprints: &mut dyn RunFingerprints<F>,
        report: &mut RepairReport,
        keep: &mut dyn FnMut(Recovered<F>) -> Result<()>,
    ) -> Result<()> {
        fingerprints.rewind();
        // A damaged manifest may claim any number of entries. The length of a table bounds them.
        let most = self.record.segments.first().map_or(0, |table| table.len_bytes);
        for fingerprint in (0..self.record.entries.min(most)).filter_map(|entry| fingerprints.at(entry)) {
            report.without_id += 1;
            keep(Recovered::WithoutId(fingerprint))?;
        }
        Ok(())
    }

    /// The fingerprints of the run, from the files that hold them.
    fn fingerprints<F: Fingerprint>(self, report: &mut RepairReport) -> Result<Box<dyn RunFingerprints<F>>> {
        let Self { storage, manifest, record } = self;
        Ok(match F::PAYLOAD {
            Payload::Whole => Box::new(TableFingerprints::of(storage, manifest, record, report)?),
            Payload::Numbered { .. } => Box::new(WideFingerprints::of(storage, manifest, record, report)?),
        })
    }

    /// Reconstructs the footer of a postings file. Only the footer holds the number that stored ids
    /// are relative to. If everything else is sound, the sum over all rows proves a guess.
    fn guess_postings<F: Fingerprint>(
        self,
        fingerprints: &mut dyn RunFingerprints<F>,
        report: &mut RepairReport,
    ) -> Result<Option<DamagedPostings>> {
        let Self { record, .. } = self;
        // A damaged manifest may claim any number of rows. The length of the file bounds them.
        if fingerprints.lost() > 0 || record.rows > record.postings_file.len_bytes / 4 {
            return Ok(None);
        }
        for footer in DamagedPostings::footers(record, &self.bases()?) {
            let Some(mut postings) = self.postings_with(footer)? else { continue };
            let totals = visit_rows(&mut postings, fingerprints, &DeletedIds::default(), &mut |_| Ok(()))?;
            if totals.sum == Some(record.row_sum) {
                let what = "what the footer said; the sum over all rows proves it";
                report.add(FindingKind::Recovered, &names::rows(record.run), what);
                return Ok(Some(postings));
            }
        }
        Ok(None)
    }

    /// Likely numbers that stored ids are relative to: 0, the id after the largest of another run,
    /// and the number that makes the largest id equal to the largest of the database.
    fn bases(self) -> Result<Vec<u64>> {
        let Self { storage, manifest, record } = self;
        let mut bases = vec![0, 1];
        for other in &manifest.runs {
            let info = pages::footer_of(storage, &names::rows(other.run), other.postings_file)?
                .and_then(|footer| PostingsInfo::from_footer(&footer, 0, manifest.width).ok());
            bases.extend(info.and_then(|info| info.largest_id.checked_add(1)));
        }
        let near = DamagedPostings::footers(record, &[0]).into_iter().next();
        if let Some(mut postings) = near.map(|footer| self.postings_with(footer)).transpose()?.flatten() {
            let largest = postings.largest_stored();
            bases.extend(manifest.largest_id.zip(largest).and_then(|(all, here)| all.checked_sub(here)));
        }
        bases.sort_unstable();
        bases.dedup();
        Ok(bases)
    }

    /// The postings, if this was their footer.
    fn postings_with(self, footer: Footer) -> Result<Option<DamagedPostings>> {
        let Self { storage, manifest, record } = self;
        // The first opening has reported the damage of this file.
        let mut repeated = RepairReport::default();
        Ok(match DamagedPostings::open(storage, manifest, record, &mut repeated)? {
            OpenedPostings::WithoutFooter(pages) => pages
                .arrange([footer], |_| true)
                .and_then(|pages| DamagedPostings::of(pages, record, &mut repeated)),
            _ => None,
        })
    }

    /// The readable ids that the run deletes from older runs.
    pub(super) fn deleted(self, report: &mut RepairReport) -> Result<Vec<u64>> {
        let Self { storage, manifest, record } = self;
        let Some(file) = record.tombstones_file else { return Ok(Vec::new()) };
        let spec = Tombstones::file_spec(manifest.owner_of(record));
        // A damaged manifest may claim any number of ids. The length of the file bounds them.
        let count = record.tombstones.min(file.len_bytes / 8);
        let opened = Pages::open(storage, &spec, file, report)?;
        let footer = Footer::plan(&TombstonesInfo::section_lens(count));
        let mut ids = Vec::new();
        if let Some(mut pages) = opened.or_arrange([footer], |_| true) {
            ids = (0..count).filter_map(|index| pages.number(DELETED, index, 8)).collect();
            pages.report_unreadable(report);
        }
        let unknown = record.tombstones.saturating_sub(ids.len() as u64);
        if unknown > 0 {
            let what = format!("{unknown} deleted ids cannot be read: their rows may have come back");
            report.add(FindingKind::Note, &spec.name, what);
        }
        Ok(ids)
    }
}

/// Passes every readable row that is not deleted to `keep`, and the fingerprints of rows whose ids are
/// lost.
fn visit_rows<F: Fingerprint>(
    postings: &mut DamagedPostings,
    fingerprints: &mut dyn RunFingerprints<F>,
    deleted: &DeletedIds,
    keep: &mut dyn FnMut(Recovered<F>) -> Result<()>,
) -> Result<RowTotals> {
    let mut totals = RowTotals { lost: 0, without_id: 0, sum: Some(0u64) };
    fingerprints.rewind();
    postings.for_each(&mut |Posting { entry, id }| {
        let fingerprint = entry.and_then(|entry| fingerprints.at(entry));
        let hash = fingerprint.zip(id).map(|(fingerprint, id)| row_hash(fingerprint.hash64(), id));
        totals.sum = totals.sum.zip(hash).map(|(sum, hash)| sum.wrapping_add(hash));
        match (fingerprint, id) {
            (_, Some(id)) if deleted.contains(id) => {}
            (Some(fingerprint), Some(id)) => keep(Recovered::Row(Row { fingerprint, id }))?,
            (fingerprint, _) => {
                totals.lost += 1;
                if let Some(fingerprint) = fingerprint {
                    totals.without_id += 1;
                    keep(Recovered::WithoutId(fingerprint))?;
                }
            }
        }
        Ok(())
    })?;
    Ok(totals)
}
