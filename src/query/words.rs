//! What the filter compares of the fingerprints of a group, and the parts that split one.

use crate::fingerprint::Fingerprint;
use crate::kernel::Kernel;
use crate::layout::HI_BITS;
use crate::util::cast::{to_u32, to_usize};

/// Largest k for which a filter of one word is enough: 0.35% of random pairs pass it.
const ONE_WORD_UP_TO: u32 = 8;

/// The bits of a group's fingerprints that the filter kernel compares: one word for 64 bits or a
/// small k, else three.
#[derive(Debug)]
pub(super) enum Words {
    One(Vec<u32>),
    Three(Vec<[u32; 3]>),
}

impl Words {
    /// Words for distances up to `k` of so many bits.
    pub(super) fn new(k: u32, counted_bits: u32) -> Self {
        if counted_bits >= 3 * HI_BITS && k > ONE_WORD_UP_TO {
            Self::Three(Vec::new())
        } else {
            Self::One(Vec::new())
        }
    }

    /// Number of bits.
    pub(super) fn bits(&self) -> u32 {
        match self {
            Self::One(_) => HI_BITS,
            Self::Three(_) => 3 * HI_BITS,
        }
    }

    /// Takes the words from bit `start` on, or the last ones.
    pub(super) fn fill<F: Fingerprint>(&mut self, group: &[F], start: u32) {
        match self {
            Self::One(words) => {
                words.clear();
                words.extend(group.iter().map(|&value| word_at(value, start)));
            }
            Self::Three(triples) => {
                triples.clear();
                triples.extend(group.iter().map(|&value| triple_at(value, start)));
            }
        }
    }

    /// Collects the positions, counted from `from`, of the candidates within `radius` of a value.
    #[inline]
    pub(super) fn near<F: Fingerprint>(
        &self,
        kernel: Kernel,
        from: usize,
        (value, start): (F, u32),
        radius: u32,
        passed: &mut Vec<u32>,
    ) {
        passed.clear();
        match self {
            Self::One(words) => kernel.filter(&words[from..], word_at(value, start), radius, passed),
            Self::Three(triples) => {
                kernel.filter_triples(&triples[from..], triple_at(value, start), radius, passed);
            }
        }
    }
}

/// The 32 bits from bit `start` on, or the last 32.
#[inline]
fn word_at<F: Fingerprint>(value: F, start: u32) -> u32 {
    to_u32(to_usize(value.bits(start.min(F::BITS - HI_BITS), HI_BITS)))
}

/// The 96 bits from bit `start` on, or the last 96.
#[inline]
fn triple_at<F: Fingerprint>(value: F, start: u32) -> [u32; 3] {
    let start = start.min(F::BITS - 3 * HI_BITS);
    let word = |word| to_u32(to_usize(value.bits(start + HI_BITS * word, HI_BITS)));
    [word(0), word(1), word(2)]
}

/// The bits that are not the same in all values.
pub(super) fn varying<F: Fingerprint>(values: &[F]) -> F {
    let first = values.first().copied().unwrap_or_default();
    values.iter().fold(F::default(), |mask, &value| mask | (value ^ first))
}

/// Where the `len` neighbouring bits with the most variation start; `usual` if none are better.
/// Sequential numbers, for example, vary only in their last bits.
#[cold]
#[inline(never)]
pub(super) fn window_of<F: Fingerprint>(varying: F, usual: u32, len: u32) -> u32 {
    let count = |start: u32| (varying & F::ones(start, len)).count_ones();
    let usual = usual.min(F::BITS - len);
    if count(usual) >= (varying.count_ones()).min(len) {
        return usual;
    }
    (0..=F::BITS - len).max_by_key(|&start| (count(start), start == usual)).unwrap_or(usual)
}

/// Cuts the ones of a mask into `count` parts of neighbouring bits, as equal as possible.
pub(super) fn parts_of<F: Fingerprint>(mask: F, count: u32) -> Vec<F> {
    let total = mask.count_ones();
    let mut parts = vec![F::default(); count as usize];
    let set = (0..F::BITS).filter(|&bit| mask.bits(bit, 1) == 1);
    for (nth, bit) in (0u32..).zip(set) {
        let part = &mut parts[(nth * count / total) as usize];
        *part = *part | F::ones(bit, 1);
    }
    parts
}

/// Whether sorting by each part costs less than comparing all pairs: each part must distinguish far
/// more values than there are parts.
pub(super) fn worth_splitting<F: Fingerprint>(parts: &[F]) -> bool {
    parts.iter().all(|part| f64::from(part.count_ones()).exp2() >= 4.0 * parts.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_disjoint_and_cover_the_mask() {
        for (mask, count) in [(u64::MAX, 4), (0x00ff_00f0_0f00_ff01, 5), (0b111, 4), (0, 2)] {
            let parts = parts_of(mask, count);
            assert_eq!(parts.len(), count as usize);
            assert_eq!(parts.iter().fold(0, |all, part| all | part), mask);
            assert_eq!(parts.iter().map(|part| part.count_ones()).sum::<u32>(), mask.count_ones());
        }
    }
}
