//! Recovers the keys of one run.

use super::pages::Pages;
use super::report::RepairReport;
use super::run::{DamagedRun, DeletedIds};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::keys::{ENDS, IDS, KeyRecord, KeysSize, RECORDS};
use crate::format::paged::{Footer, PAGE_BYTES};
use crate::format::postings::row_hash;
use crate::run::Keys;
use crate::storage::names;

impl DamagedRun<'_> {
    /// Passes every readable key of a row that is not deleted to `keep`, and counts the lost ones.
    /// A key record contains its row, so this also recovers rows.
    pub(super) fn recover_keys<F: Fingerprint>(
        self,
        deleted: &DeletedIds,
        report: &mut RepairReport,
        keep: &mut dyn FnMut(&KeyRecord<'_, F>) -> Result<()>,
    ) -> Result<()> {
        let Self { storage, manifest, record } = self;
        let Some(known) = record.keys else { return Ok(()) };
        let name = names::keys(record.run);
        let spec = Keys::file_spec(manifest.owner_of(record));
        // A damaged manifest may claim any number of keys. The length of the file bounds them.
        let count = known.count.min(known.file.len_bytes / 16);
        let opened = Pages::open(storage, &spec, known.file, report)?;
        let guess = std::iter::once_with(|| footer(count, known.file.len_bytes));
        let Some(mut pages) = opened.or_arrange(guess, |_| true) else {
            report.add_lost(&name, known.count, "keys");
            return Ok(());
        };
        let mut lost = known.count - count;
        for index in 0..count {
            let Some((id, bytes)) = read(&mut pages, index) else {
                lost += 1;
                continue;
            };
            match KeyRecord::<F>::decode(id, &bytes, 0) {
                Ok(record) if deleted.contains(record.row.id) => {}
                Ok(record) => keep(&record)?,
                Err(_) => lost += 1,
            }
        }
        pages.report_unreadable(report);
        report.add_lost(&name, lost, "keys");
        Ok(())
    }
}

impl DamagedRun<'_> {
    /// Whether the readable keys have all rows of the run: their number and the sum over them prove it.
    pub(super) fn keys_have_all_rows<F: Fingerprint>(self) -> Result<bool> {
        let (mut rows, mut sum, mut last) = (0, 0u64, None);
        // Keys that are damaged are reported when they are recovered.
        let mut unreported = RepairReport::default();
        self.recover_keys::<F>(&DeletedIds::default(), &mut unreported, &mut |KeyRecord { row, .. }| {
            if last.replace(*row) != Some(*row) {
                rows += 1;
                sum = sum.wrapping_add(row_hash(row.fingerprint.hash64(), row.id));
            }
            Ok(())
        })?;
        Ok((rows, sum) == (self.record.rows, self.record.row_sum))
    }
}

/// Id and bytes of a record.
fn read(pages: &mut Pages, index: u64) -> Option<(u64, Vec<u8>)> {
    let start = if index == 0 { 0 } else { pages.number(ENDS, index - 1, 8)? };
    let end = pages.number(ENDS, index, 8)?;
    let bytes = pages.bytes(RECORDS, start, end.checked_sub(start)?)?;
    Some((pages.number(IDS, index, 8)?, bytes))
}

/// The footer of a keys file of this length. The exact length of the last section is unknown: the
/// footer gives the largest possible one.
fn footer(count: u64, len_bytes: u64) -> Footer {
    let plan = |record_bytes| Footer::plan(&KeysSize { count, record_bytes }.section_lens());
    let mut footer = plan(0);
    let mut record_bytes = 0;
    while footer.file_len() < len_bytes {
        record_bytes += (len_bytes - footer.file_len()).div_ceil(2).next_multiple_of(PAGE_BYTES as u64);
        footer = plan(record_bytes);
    }
    footer
}
