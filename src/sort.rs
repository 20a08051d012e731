//! Sorting many fingerprints.
//!
//! Two rounds of distribution by leading bits, the second one in the cache, leave pieces of about a dozen
//! values, which are sorted by comparing. Where values share their leading bits, as skewed data do, the
//! pieces are larger, and comparing does the work: no input is slower than that by more than the two rounds.

use std::sync::{Mutex, PoisonError};

use crate::cast::to_usize;
use crate::fingerprint::Fingerprint;

/// Fewer values are sorted by comparing.
const FEW: usize = 1 << 12;
/// Values of a piece after the first round: it stays in a core's cache.
const CACHED: usize = 1 << 15;
/// Values of a piece after the second round.
const TINY: usize = 8;
/// Bits of each round, at most: more pieces than that are written to too far apart.
const MOST_BITS: u32 = 12;
/// Work that each thread takes at a time, as a share of what it has to do.
const SHARE: usize = 8;

/// Sorts values on so many threads. `scratch` is made as long as they are, and may be used again.
pub(crate) fn sort<F: Fingerprint>(values: &mut [F], scratch: &mut Vec<F>, threads: usize) {
    if values.len() < FEW {
        return values.sort_unstable();
    }
    let first = bits_for(values.len() / CACHED);
    scratch.resize(values.len(), F::default());
    let ends = distribute(values, scratch, 0, first);

    // Pieces of the first round, neighbours together, until there is a share of work.
    let share = values.len() / (threads * SHARE).max(1);
    let mut jobs = Vec::new();
    let (mut from, mut to, mut taken, mut begun) = (&scratch[..], values, 0, 0);
    for (index, &end) in ends.iter().enumerate() {
        if end - taken >= share.max(1) || index + 1 == ends.len() {
            let (job_from, rest_from) = from.split_at(end - taken);
            let (job_to, rest_to) = to.split_at_mut(end - taken);
            jobs.push((job_from, job_to, taken, &ends[begun..=index]));
            (from, to, taken, begun) = (rest_from, rest_to, end, index + 1);
        }
    }
    let jobs = Mutex::new(jobs.into_iter());
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((from, to, offset, ends)) = next() {
            let mut start = 0;
            for &end in ends {
                let end = end - offset;
                sort_piece(&from[start..end], &mut to[start..end], first);
                start = end;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

/// Sorts values that share their leading bits from one place into another.
fn sort_piece<F: Fingerprint>(from: &[F], to: &mut [F], known: u32) {
    let bits = bits_for(from.len() / TINY).min(F::BITS - known);
    if bits == 0 {
        to.copy_from_slice(from);
        return to.sort_unstable();
    }
    let mut start = 0;
    for end in distribute(from, to, known, bits) {
        if end - start > 1 {
            to[start..end].sort_unstable();
        }
        start = end;
    }
}

/// Moves values to where the `bits` bits behind the `known` leading ones say. Returns where each of these pieces ends.
fn distribute<F: Fingerprint>(from: &[F], to: &mut [F], known: u32, bits: u32) -> Vec<usize> {
    let piece = |value: F| if bits == 0 { 0 } else { to_usize(value.bits(known, bits)) };
    let mut ends = vec![0; 1 << bits];
    from.iter().for_each(|&value| ends[piece(value)] += 1);
    let mut start = 0;
    for end in &mut ends {
        (*end, start) = (start, start + *end);
    }
    // Each entry runs from where its piece begins to where it ends.
    for &value in from {
        let at = &mut ends[piece(value)];
        to[*at] = value;
        *at += 1;
    }
    ends
}

/// The bits that tell about so many pieces apart.
fn bits_for(pieces: usize) -> u32 {
    pieces.max(1).ilog2().min(MOST_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fingerprint::mix64;

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
        for len in [0, 1, FEW as u64 - 1, FEW as u64, 100_000, 600_000] {
            let random = |at| mix64(at + len);
            check(&(0..len).map(random).collect::<Vec<u64>>());
            // All equal, all in few pieces, the most significant bits alone, and descending.
            check(&vec![7u64; to_usize(len)]);
            check(&(0..len).map(|at| random(at) >> 40).collect::<Vec<u64>>());
            check(&(0..len).map(|at| random(at) & 0xc000_0000_0000_00ff).collect::<Vec<u64>>());
            check(&(0..len).rev().collect::<Vec<u64>>());
            check(
                &(0..len)
                    .map(|at| u128::from(random(at)) << 64 | u128::from(random(at + 9)))
                    .collect::<Vec<_>>(),
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(50))]
        #[test]
        fn any_mixture_is_sorted(seed: u64, len in 0u64..9000, mask: u64, shift in 0u32..64) {
            check(&(0..len).map(|at| (mix64(seed ^ at) & mask) >> shift).collect::<Vec<u64>>());
        }
    }
}
