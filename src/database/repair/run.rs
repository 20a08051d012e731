//! Saves the rows of one run.

use super::Totals;
use super::findings::{Findings, Kind};
use super::gaps::Fingerprints;
use super::pages::{self, Opened, Pages};
use super::postings::{Opening, Posting, Postings};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Row};
use crate::format::manifest::{Manifest, RunRecord};
use crate::format::paged::Footer;
use crate::format::postings::{PostingsInfo, row_hash};
use crate::format::tombstones::{DELETED, TombstonesInfo};
use crate::run::Tombstones;
use crate::storage::{Storage, names};

/// Ids that newer runs and the log delete.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    /// Ascending.
    ids: Vec<u64>,
}

impl Deleted {
    pub(super) fn add(&mut self, ids: Vec<u64>) {
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

impl DamagedRun<'_> {
    /// Hands out every row that can be read, of those that are not deleted, and counts the others.
    pub(super) fn save<F: Fingerprint>(
        self,
        deleted: &Deleted,
        totals: &mut Totals,
        findings: &mut Findings,
        keep: &mut dyn FnMut(Row<F>) -> Result<()>,
    ) -> Result<()> {
        let Self { storage, manifest, record } = self;
        if record.rows == 0 {
            return Ok(());
        }
        let rows_name = names::rows(record.run);
        let opening = Postings::open(storage, manifest, record, findings)?;
        let mut fingerprints = Fingerprints::<F>::of(storage, manifest, record, findings)?;
        totals.lost_fingerprints += fingerprints.lost();
        totals.recovered += fingerprints.recovered();
        let postings = match opening {
            Opening::Done(postings) => Some(postings),
            Opening::WithoutFooter(_) => self.guess(&mut fingerprints, findings)?,
            Opening::Gone => None,
        };
        let Some(mut postings) = postings else {
            totals.lost_rows = totals.lost_rows.saturating_add(record.rows);
            findings.lost(&rows_name, record.rows, "rows");
            return Ok(());
        };
        let (mut lost, mut sum) = (0, Some(0u64));
        fingerprints.rewind();
        postings.for_each(&mut |Posting { entry, id }| {
            let fingerprint = entry.and_then(|entry| fingerprints.at(entry));
            let hash = fingerprint.zip(id).map(|(fingerprint, id)| row_hash(fingerprint.hash64(), id));
            sum = sum.zip(hash).map(|(sum, hash)| sum.wrapping_add(hash));
            match (fingerprint, id) {
                (_, Some(id)) if deleted.contains(id) => {}
                (Some(fingerprint), Some(id)) => keep(Row { fingerprint, id })?,
                _ => lost += 1,
            }
            Ok(())
        })?;
        postings.tell_unreadable(findings);
        findings.lost(&rows_name, lost, "rows");
        totals.lost_rows = totals.lost_rows.saturating_add(lost);
        if sum.is_some_and(|sum| sum != record.row_sum) {
            findings.add(Kind::Note, &rows_name, "the sum over all rows is not the one it should be");
        }
        Ok(())
    }

    /// Makes up for the footer of a postings file. It alone tells what stored ids are relative to; but where
    /// everything else is sound, the sum over all rows proves a guess.
    fn guess<F: Fingerprint>(
        self,
        fingerprints: &mut Fingerprints<F>,
        findings: &mut Findings,
    ) -> Result<Option<Postings>> {
        let Self { record, .. } = self;
        // The second keeps the lengths of sections, which a manifest may make up, within the file.
        if fingerprints.lost() > 0 || record.rows > record.postings_file.len_bytes / 4 {
            return Ok(None);
        }
        for footer in Postings::footers(record, &self.bases()?) {
            let Some(mut postings) = self.postings_with(footer)? else { continue };
            fingerprints.rewind();
            if postings.row_sum(fingerprints)? == Some(record.row_sum) {
                let what = "what the footer said; the sum over all rows proves it";
                findings.add(Kind::Recovered, &names::rows(record.run), what);
                return Ok(Some(postings));
            }
        }
        Ok(None)
    }

    /// What stored ids are likely to be relative to: 0, what makes the largest id the largest of the
    /// database, or the id behind the largest of another run.
    fn bases(self) -> Result<Vec<u64>> {
        let Self { storage, manifest, record } = self;
        let mut bases = vec![0, 1];
        for other in &manifest.runs {
            let info = pages::footer_of(storage, &names::rows(other.run), other.postings_file)?
                .and_then(|footer| PostingsInfo::from_footer(&footer, 0, manifest.width).ok());
            bases.extend(info.and_then(|info| info.largest_id.checked_add(1)));
        }
        let near = Postings::footers(record, &[0]).into_iter().next();
        if let Some(mut postings) = near.map(|footer| self.postings_with(footer)).transpose()?.flatten() {
            let largest = postings.largest_stored();
            bases.extend(manifest.largest_id.zip(largest).and_then(|(all, here)| all.checked_sub(here)));
        }
        bases.sort_unstable();
        bases.dedup();
        Ok(bases)
    }

    /// The postings, if the footer said this.
    fn postings_with(self, footer: Footer) -> Result<Option<Postings>> {
        let Self { storage, manifest, record } = self;
        // Everything about the file has been told when it was opened first.
        let mut told = Findings::default();
        Ok(match Postings::open(storage, manifest, record, &mut told)? {
            Opening::WithoutFooter(pages) => {
                pages.arrange([footer], |_| true).and_then(|pages| Postings::of(pages, record, &mut told))
            }
            _ => None,
        })
    }

    /// The ids that the run deletes from older ones, as far as they can be read.
    pub(super) fn deleted(self, findings: &mut Findings) -> Result<Vec<u64>> {
        let Self { storage, manifest, record } = self;
        let Some(file) = record.tombstones_file else { return Ok(Vec::new()) };
        let spec = Tombstones::file_spec(manifest.database_id, record.run, manifest.width);
        // What a manifest says may be anything; what it can mean, the file's length bounds.
        let count = record.tombstones.min(file.len_bytes / 8);
        let pages = match Pages::open(storage, &spec, file, findings)? {
            Opened::Whole(pages) => Some(pages),
            Opened::WithoutFooter(pages) => {
                pages.arrange([Footer::plan(&TombstonesInfo::section_lens(count))], |_| true)
            }
            Opened::Gone => None,
        };
        let mut ids = Vec::new();
        if let Some(mut pages) = pages {
            ids = (0..count).filter_map(|index| pages.number(DELETED, index, 8)).collect();
            pages.tell_unreadable(findings);
        }
        let unknown = record.tombstones.saturating_sub(ids.len() as u64);
        if unknown > 0 {
            let what = format!("{unknown} deleted ids cannot be read: their rows may have come back");
            findings.add(Kind::Note, &spec.name, what);
        }
        Ok(ids)
    }
}
