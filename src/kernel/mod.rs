//! The innermost loop: finds the 32-bit words within a given distance of a query word.
//!
//! [`Kernel::detect`] checks once which instructions the processor has. A kernel value proves that
//! its instructions exist, so calling it is safe.

#[cfg(target_arch = "aarch64")]
mod aarch64;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86_64;

use std::sync::OnceLock;

/// An implementation of the filter that this processor can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    Scalar,
    #[cfg(target_arch = "x86_64")]
    Avx2(x86_64::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(x86_64::Avx512),
    #[cfg(target_arch = "aarch64")]
    Neon(aarch64::Neon),
}

static CHOSEN: OnceLock<Kernel> = OnceLock::new();

/// Makes the engine use the kernel with this name (`scalar`, `avx2`, `avx512` or `neon`). For
/// benchmarks, before the first query. Returns false if the processor lacks the instructions, or if
/// the engine already uses another kernel.
#[must_use]
pub fn use_kernel(name: &str) -> bool {
    Kernel::named(name).is_some_and(|kernel| *CHOSEN.get_or_init(|| kernel) == kernel)
}

impl Kernel {
    /// The fastest kernel of this processor, unless a benchmark has [chosen](use_kernel) another
    /// one. Unit tests use the kernel that the environment variable `NEARPRINT_KERNEL` names.
    pub(crate) fn detect() -> Self {
        *CHOSEN.get_or_init(|| {
            #[cfg(test)]
            if let Some(kernel) = std::env::var("NEARPRINT_KERNEL").ok().and_then(|name| Self::named(&name)) {
                return kernel;
            }
            Self::all().pop().unwrap_or(Self::Scalar)
        })
    }

    /// The kernel with a name, if it runs on this processor.
    fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|kernel| kernel.name() == name)
    }

    /// All kernels that run on this processor, the fastest last.
    pub(crate) fn all() -> Vec<Self> {
        let mut kernels = vec![Self::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            kernels.extend(x86_64::Avx2::detect().map(Self::Avx2));
            kernels.extend(x86_64::Avx512::detect().map(Self::Avx512));
        }
        #[cfg(target_arch = "aarch64")]
        kernels.extend(aarch64::Neon::detect().map(Self::Neon));
        kernels
    }

    /// The name for [`use_kernel`].
    fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "aarch64")]
            Self::Neon(_) => "neon",
        }
    }

    /// Appends to `passed` the index of every word that differs from `query` in at most `radius`
    /// bits, in ascending order. At most 2^32 words.
    #[inline]
    pub(crate) fn filter(self, words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
        match self {
            Self::Scalar => scalar::filter(words, 0, query, radius, passed),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(proof) => proof.filter(words, query, radius, passed),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => proof.filter(words, query, radius, passed),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(proof) => proof.filter(words, query, radius, passed),
        }
    }

    /// Appends to `passed` the index of every triple of words that differs from the query's triple
    /// in at most `radius` bits, in ascending order. At most 2^32 triples.
    #[inline]
    pub(crate) fn filter_triples(
        self,
        triples: &[[u32; 3]],
        query: [u32; 3],
        radius: u32,
        passed: &mut Vec<u32>,
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(proof) => proof.filter_triples(triples, query, radius, passed),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => proof.filter_triples(triples, query, radius, passed),
            _ => scalar::filter_triples(triples, query, radius, passed),
        }
    }

    /// Appends to `passed` the two indices of every pair of words that differ in at most `radius`
    /// bits, in ascending order. For short slices, where one call of [`filter`](Kernel::filter) per
    /// word would cost more than its work.
    #[inline]
    pub(crate) fn filter_pairs(self, words: &[u32], radius: u32, passed: &mut Vec<(u32, u32)>) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(proof) => proof.filter_pairs(words, radius, passed),
            _ => {
                let mut later = Vec::new();
                for (first, &word) in (0u32..).zip(words) {
                    later.clear();
                    self.filter(&words[first as usize + 1..], word, radius, &mut later);
                    passed.extend(later.iter().map(|&at| (first, first + 1 + at)));
                }
            }
        }
    }
}

/// Prefetches `slice[index]` into the second level of the cache. An index out of bounds is harmless.
#[inline]
pub(crate) fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    x86_64::prefetch(slice.as_ptr().wrapping_add(index).cast());
    #[cfg(target_arch = "aarch64")]
    aarch64::prefetch(slice.as_ptr().wrapping_add(index).cast());
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = (slice, index);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::mix64;
    use crate::util::cast::{to_u32, to_usize};

    /// Starts and lengths of slices: short ones at every place in a cache line, long ones at some.
    fn ranges() -> impl Iterator<Item = (usize, usize)> {
        let short = (0..40).flat_map(|len| (0..16).map(move |start| (start, len)));
        short.chain((40..=257).map(|len| (len % 16, len)))
    }

    /// `benches/aarch64.sh` counts the instructions between the two marks.
    #[cfg(target_arch = "aarch64")]
    #[test]
    fn a_filter_between_two_marks() {
        /// An instruction that does nothing, and that nothing else has.
        fn mark() {
            // SAFETY: a processor ignores hints that it does not know.
            unsafe { std::arch::asm!("hint #85", options(nostack, preserves_flags)) }
        }
        let words: Vec<u32> = (0..8000).map(|i| to_u32(to_usize(mix64(i) >> 32))).collect();
        let mut passed = Vec::with_capacity(words.len());
        mark();
        Kernel::detect().filter(std::hint::black_box(&words), 0x0f0f_1234, 9, &mut passed);
        mark();
        let near = |word: &&u32| (*word ^ 0x0f0f_1234).count_ones() <= 9;
        assert_eq!(passed.len(), words.iter().filter(near).count());
        assert!(passed.len() > 50);
    }

    #[test]
    fn every_kernel_filters_triples_like_the_definition() {
        let query = [0x0f0f_1234, 0xffff_0000, 0x1357_9bdf];
        let low = |i| to_u32(to_usize(mix64(i) >> 32));
        let near =
            |i: u64, nth: u64| query[to_usize(nth)] ^ (low(i + 777 * nth) & low(i + 1000) & 0x8101_1011);
        let triples: Vec<[u32; 3]> = (0..300).map(|i| [near(i, 0), near(i, 1), near(i, 2)]).collect();
        for kernel in Kernel::all() {
            for (start, len) in ranges() {
                let part = &triples[start..start + len];
                for radius in [0, 1, 3, 6, 31, 96, 200] {
                    let distance = |words: &[u32; 3]| -> u32 {
                        words.iter().zip(query).map(|(word, query)| (word ^ query).count_ones()).sum()
                    };
                    let expected: Vec<u32> =
                        (0..to_u32(len)).filter(|&at| distance(&part[at as usize]) <= radius).collect();
                    let mut passed = vec![7];
                    kernel.filter_triples(part, query, radius, &mut passed);
                    assert_eq!(passed[0], 7, "{kernel:?} appends");
                    assert_eq!(passed[1..], expected, "{kernel:?}, {len} from {start} within {radius}");
                }
            }
        }
    }

    #[test]
    fn every_kernel_equals_the_definition_at_every_length_and_alignment() {
        let query = 0x0f0f_1234;
        let low = |i| to_u32(to_usize(mix64(i) >> 32));
        let words: Vec<u32> = (0..300u64).map(|i| query ^ (low(i) & low(i + 1000) & 0x8101_1011)).collect();
        for kernel in Kernel::all() {
            for (start, len) in ranges() {
                let part = &words[start..start + len];
                for radius in [0, 1, 2, 5, 31, 32, 64] {
                    let mut pairs = vec![(7, 7)];
                    kernel.filter_pairs(&part[..len.min(70)], radius, &mut pairs);
                    let few = 0..to_u32(len.min(70));
                    let near = |a: u32, b: u32| (part[a as usize] ^ part[b as usize]).count_ones() <= radius;
                    let all = few.clone().flat_map(|a| (a + 1..few.end).map(move |b| (a, b)));
                    let expected: Vec<_> = all.filter(|&(a, b)| near(a, b)).collect();
                    assert_eq!(
                        pairs[1..],
                        expected,
                        "{kernel:?}, pairs of {len} from {start} within {radius}"
                    );
                    let expected: Vec<u32> = (0..to_u32(len))
                        .filter(|&i| (part[i as usize] ^ query).count_ones() <= radius)
                        .collect();
                    let mut passed = vec![7];
                    kernel.filter(part, query, radius, &mut passed);
                    assert_eq!(passed[0], 7, "{kernel:?} appends");
                    assert_eq!(passed[1..], expected, "{kernel:?}, {len} from {start} within {radius}");
                }
            }
        }
    }
}
