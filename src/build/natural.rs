//! Table 0 of a run, and its postings.

use super::rows::{RowCounts, RowSource};
use super::target::Target;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::format::manifest::FileRecord;
use crate::format::postings::PostingsInfo;
use crate::layout::Layout;
use crate::layout::cost::directory_bits;
use crate::options::Options;
use crate::progress::Stage;
use crate::run::{Postings, PostingsWriter, Segment, SegmentWriter, Values};
use crate::storage::Access;

/// The written table 0 and postings of a run.
pub(super) struct NaturalTable<F> {
    pub(super) layout: Layout,
    pub(super) counts: RowCounts,
    pub(super) segment: Segment<F>,
    pub(super) segment_file: FileRecord,
    pub(super) postings_file: FileRecord,
    pub(super) row_sum: u64,
}

impl<F: Fingerprint> NaturalTable<F> {
    /// Writes the rows of `source`, which `counts` describes.
    pub(super) fn write(
        target: Target<'_>,
        layout: Layout,
        source: &(impl RowSource<F> + ?Sized),
        counts: RowCounts,
    ) -> Result<Self> {
        let storage = &**target.storage;
        let RowCounts { entries, rows, smallest_id, largest_id } = counts;
        let table = layout.table::<F>(0);
        let bits = directory_bits(table.prefix_bits, entries);
        let spec = Segment::<F>::file_spec(target.owner, &layout, 0);
        let postings_spec = Postings::file_spec(target.owner);
        let info = PostingsInfo { entries, rows, row_sum: 0, smallest_id, largest_id };
        let mut segment = SegmentWriter::create(storage, &spec, table.clone(), entries, bits)?;
        let mut postings = PostingsWriter::create(storage, &postings_spec, info)?;
        write_rows(target.options, source, counts, &mut segment, &mut postings)?;
        let (postings_file, row_sum) = postings.finish()?;
        let (segment_file, _) = segment.finish()?;
        let values = Values::written::<F>(storage, &postings_spec, postings_file)?;
        let segment = Segment::map(storage, &spec, table, segment_file, Access::Sequential, values)?;
        Ok(Self { layout, counts, segment, segment_file, postings_file, row_sum })
    }
}

/// Streams rows into table 0 and the postings.
fn write_rows<F: Fingerprint>(
    options: &Options,
    source: &(impl RowSource<F> + ?Sized),
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
