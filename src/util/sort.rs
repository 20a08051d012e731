//! Parallel sorting of many fingerprints.
//!
//! One round of distribution by leading bits produces pieces that fit into a core's cache. All
//! threads then sort these pieces by comparison. A second round of distribution is no faster than
//! the standard library's sort. Values that share their leading bits stay in one piece, which one
//! thread sorts.

use crate::fingerprint::Fingerprint;
use crate::util::cast::to_usize;
use crate::util::parallel;

/// Values in a piece: 256 KiB of 64-bit fingerprints.
const CACHED: usize = 1 << 15;
/// The most leading bits to distribute by. More pieces would scatter the writes too widely.
pub(crate) const MAX_BITS: u32 = 12;

/// Sorts values on `threads` threads. `scratch` grows to the same length and can be reused.
pub(crate) fn sort<F: Fingerprint>(values: &mut [F], scratch: &mut Vec<F>, threads: usize) {
    let bits = (values.len() / CACHED).max(1).ilog2().min(MAX_BITS);
    if bits == 0 {
        return values.sort_unstable();
    }
    in_pieces(values, scratch, bits, threads, |from, to| {
        to.copy_from_slice(from);
        to.sort_unstable();
    });
}

/// Orders values by their `bits` leading bits on `threads` threads. Stable. `scratch` as in
/// [`sort`].
pub(crate) fn group<F: Fingerprint>(values: &mut [F], scratch: &mut Vec<F>, bits: u32, threads: usize) {
    let first = (values.len() / CACHED).max(1).ilog2().min(MAX_BITS).min(bits);
    in_pieces(values, scratch, first, threads, |from, to| {
        if first == bits {
            to.copy_from_slice(from);
        } else {
            distribute(from, to, first, bits - first);
        }
    });
}

/// Distributes values by their leading bits into `scratch`, then calls `arrange` to copy each piece
/// back in its final order.
fn in_pieces<F: Fingerprint>(
    values: &mut [F],
    scratch: &mut Vec<F>,
    bits: u32,
    threads: usize,
    arrange: impl Fn(&[F], &mut [F]) + Sync,
) {
    scratch.resize(values.len(), F::default());
    let ends = distribute(values, scratch, 0, bits);
    let (mut from, mut to, mut pieces, mut start) = (&scratch[..], values, Vec::new(), 0);
    for end in ends {
        let ((piece_from, rest_from), (piece_to, rest_to)) =
            (from.split_at(end - start), to.split_at_mut(end - start));
        pieces.push((piece_from, piece_to));
        (from, to, start) = (rest_from, rest_to, end);
    }
    parallel::for_each(threads, pieces.into_iter(), |(from, to)| arrange(from, to));
}

/// Distributes values by their bits `start..start + bits`. Stable. `to` has as many values as
/// `from`. Returns the end of each piece.
pub(crate) fn distribute<F: Fingerprint>(from: &[F], to: &mut [F], start: u32, bits: u32) -> Vec<usize> {
    let piece = |value: F| to_usize(value.bits(start, bits));
    let mut ends = vec![0; 1 << bits];
    from.iter().for_each(|&value| ends[piece(value)] += 1);
    let mut start = 0;
    for end in &mut ends {
        (*end, start) = (start, start + *end);
    }
    // While values are moved, each entry advances from the start of its piece to the end.
    for &value in from {
        let at = &mut ends[piece(value)];
        to[*at] = value;
        *at += 1;
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{Bits, mix64};

    fn check<F: Fingerprint>(values: &[F]) {
        let mut expected = values.to_vec();
        expected.sort_unstable();
        let mut scratch = Vec::new();
        for threads in [1, 2, 5] {
            let mut sorted = values.to_vec();
            sort(&mut sorted, &mut scratch, threads);
            assert!(sorted == expected, "{} values on {threads} threads", values.len());
        }
    }

    #[test]
    fn many_are_sorted_whatever_their_bits() {
        for len in [0, 1, 2 * CACHED as u64 - 1, 2 * CACHED as u64, 600_000] {
            let random = |at| mix64(at + len);
            check(&(0..len).map(random).collect::<Vec<u64>>());
            // All equal, all in few pieces, only the most significant bits, and descending.
            check(&vec![7u64; to_usize(len)]);
            check(&(0..len).map(|at| random(at) >> 40).collect::<Vec<u64>>());
            check(&(0..len).map(|at| random(at) & 0xc000_0000_0000_00ff).collect::<Vec<u64>>());
            check(&(0..len).rev().collect::<Vec<u64>>());
            for bits in [0, 3, 9, 16, 20] {
                let values: Vec<u64> = (0..len).map(random).collect();
                let mut expected = values.clone();
                expected.sort_by_key(|value| value.bits(0, bits));
                let mut grouped = values;
                group(&mut grouped, &mut Vec::new(), bits, 2);
                assert!(grouped == expected, "{len} values by {bits} bits");
            }
            check(
                &(0..len)
                    .map(|at| u128::from(random(at)) << 64 | u128::from(random(at + 9)))
                    .collect::<Vec<_>>(),
            );
        }
    }
}
