//! The fingerprints of a damaged run, by entry.

use super::report::{FindingKind, RepairReport};
use crate::format::manifest::RunRecord;

/// Fingerprints by entry, read in ascending order of entries.
pub(super) trait RunFingerprints<F> {
    /// The fingerprint of an entry, `None` if it is lost. Callers may skip entries, but must not go
    /// back without [`rewind`](RunFingerprints::rewind).
    fn at(&mut self, entry: u64) -> Option<F>;

    /// Restarts at the first entry.
    fn rewind(&mut self);

    /// Number of entries that were reconstructed from other files.
    fn recovered(&self) -> u64;

    /// Number of entries that are in no file any more.
    fn lost(&self) -> u64;

    /// The sum over the hashes of the recovered fingerprints.
    fn recovered_sum(&self) -> u64;

    /// Treats all recovered fingerprints as lost.
    fn discard_recovered(&mut self);
}

/// Checks the recovered fingerprints of a run: if none is lost, their sum must be the sum of the
/// run. Then reports them.
///
/// `file` is the file with the gaps, `readable_sum` the sum over its readable fingerprints, and
/// `source` where the others come from.
pub(super) fn conclude<F>(
    fingerprints: &mut impl RunFingerprints<F>,
    readable_sum: u64,
    record: &RunRecord,
    (file, source): (&str, &str),
    report: &mut RepairReport,
) {
    let sum = readable_sum.wrapping_add(fingerprints.recovered_sum());
    if fingerprints.lost() == 0 && sum != record.fingerprint_sum {
        report.add(FindingKind::Note, file, "the sum over all fingerprints is not the one it should be");
        fingerprints.discard_recovered();
    }
    match fingerprints.recovered() {
        0 => {}
        count => report.add(FindingKind::Recovered, file, format!("{count} fingerprints from {source}")),
    }
    report.add_lost(file, fingerprints.lost(), "fingerprints, with their rows");
}
