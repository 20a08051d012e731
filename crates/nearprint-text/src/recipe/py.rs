//! The functions of simhash-py, with their original names.

use super::hash;
use super::tally::Tally;
use nearprint::any::AnyFingerprint;
use nearprint::{Fingerprint, Width};

/// The first 8 bytes of the MD5 digest, most significant byte first.
///
/// ```
/// assert_eq!(nearprint_text::recipe::unsigned_hash(b""), 0xd41d_8cd9_8f00_b204);
/// ```
#[must_use]
pub fn unsigned_hash(bytes: &[u8]) -> u64 {
    hash::md5_be64(bytes)[0]
}

/// The windows of `window` neighbouring tokens, in order; none of a shorter list. A window of 0
/// counts as 1.
///
/// ```
/// let windows: Vec<&[&str]> = nearprint_text::recipe::shingle(&["a", "b", "c"], 2).collect();
/// assert_eq!(windows, [["a", "b"], ["b", "c"]]);
/// ```
pub fn shingle<T>(tokens: &[T], window: usize) -> impl Iterator<Item = &[T]> {
    tokens.windows(window.max(1))
}

/// The simhash of hashes with equal weights: a bit is one iff more than half of the hashes have it
/// set.
///
/// ```
/// use nearprint_text::recipe::compute;
/// assert_eq!(compute([0xABCD_u64, 0xBCDE, 0xCDEF]), 0xADCF);
/// assert_eq!(compute::<u64>([]), 0);
/// ```
#[must_use]
pub fn compute<F: Fingerprint>(hashes: impl IntoIterator<Item = F>) -> F {
    compute_any(F::WIDTH, hashes.into_iter().map(AnyFingerprint::from)).typed()
}

pub(super) fn compute_any(width: Width, hashes: impl Iterator<Item = AnyFingerprint>) -> AnyFingerprint {
    match width {
        Width::W64 => majority::<1>(width, hashes),
        Width::W128 => majority::<2>(width, hashes),
        Width::W256 => majority::<4>(width, hashes),
        Width::W320 => majority::<5>(width, hashes),
    }
}

fn majority<const W: usize>(width: Width, hashes: impl Iterator<Item = AnyFingerprint>) -> AnyFingerprint {
    let mut tally = Tally::<W>::new();
    for hash in hashes {
        let mut words = [0; W];
        words.copy_from_slice(hash.words());
        tally.add(words);
    }
    AnyFingerprint::new(width, &tally.majority())
}
