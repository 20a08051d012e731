//! Table 0 of a run, and its postings.

use super::rows::{RowCounts, RowSource};
use super::target::Target;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::FileRecord;
use crate::format::postings::PostingsInfo;
use crate::format::segment::SegmentInfo;
use crate::layout::Layout;
use crate::layout::cost::directory_bits;
use crate::options::Options;
use crate::progress::Stage;
use crate::run::{Postings, PostingsWriter, Segment, SegmentWriter, Values};
use crate::storage::Access;

/// The written table 0 and postings of a run.
pub(super) struct NaturalTable {
    pub(super) layout: Layout,
    pub(super) entries: u64,
    pub(super) fingerprint_sum: u64,
    pub(super) row_sum: u64,
    pub(super) segment_file: FileRecord,
    pub(super) postings_file: FileRecord,
}

/// The part of the memory that the filter of ids may take.
const FILTER_SHARE: usize = 16;

impl NaturalTable {
    /// Writes the rows of `source`, which `counts` describes.
    pub(super) fn write<F: Fingerprint>(
        target: Target<'_>,
        layout: Layout,
        source: &dyn RowSource<F>,
        counts: RowCounts,
    ) -> Result<Self> {
        let storage = &**target.storage;
        let RowCounts { entries, rows, smallest_id, largest_id } = counts;
        let table = layout.table::<F>(0);
        let bits = directory_bits(table.prefix_bits, entries);
        let spec = Segment::<F>::file_spec(target.owner, &layout, 0);
        let postings_spec = Postings::file_spec(target.owner);
        let info = PostingsInfo { entries, rows, row_sum: 0, smallest_id, largest_id, filter_blocks: 0 };
        let info = info.with_filter((target.options.memory_bytes / FILTER_SHARE) as u64);
        let mut segment = SegmentWriter::create(storage, &spec, table, entries, bits)?;
        let mut postings = PostingsWriter::create(storage, &postings_spec, info)?;
        write_rows(target.options, source, counts, &mut segment, &mut postings)?;
        let (postings_file, row_sum) = postings.finish()?;
        let (segment_file, SegmentInfo { fingerprint_sum, .. }) = segment.finish()?;
        Ok(Self { layout, entries, fingerprint_sum, row_sum, segment_file, postings_file })
    }

    /// Opens the table to read it from front to back.
    pub(super) fn open<F: Fingerprint>(&self, target: Target<'_>) -> Result<Segment<F>> {
        let (storage, spec) = (&**target.storage, Segment::<F>::file_spec(target.owner, &self.layout, 0));
        let values = Values::written::<F>(storage, &Postings::file_spec(target.owner), self.postings_file)?;
        Segment::map(storage, &spec, self.layout.table(0), self.segment_file, Access::Sequential, values)
    }
}

/// Streams rows into table 0 and the postings.
fn write_rows<F: Fingerprint>(
    options: &Options,
    source: &dyn RowSource<F>,
    counts: RowCounts,
    segment: &mut SegmentWriter<F>,
    postings: &mut PostingsWriter,
) -> Result<()> {
    let mut last = None;
    let mut hash = 0;
    let mut distinct = Vec::new();
    let mut done = 0;
    source.for_each_block(&mut |block| {
        distinct.clear();
        for &row in block {
            let first = last != Some(row.fingerprint);
            if first {
                hash = row.fingerprint.hash64();
                distinct.push(row.fingerprint);
                last = Some(row.fingerprint);
            }
            postings.push(first, hash, row.id)?;
        }
        segment.push(&distinct)?;
        postings.put_values(&distinct)?;
        done += block.len() as u64;
        options.report(Stage::Merging, (counts.rows + done) / 2, Some(counts.rows))
    })
}
