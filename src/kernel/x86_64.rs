//! Filters for AVX2 (8 words per step) and AVX-512 with VPOPCNTDQ (16 words per step).
//!
//! The structs are witnesses: they exist only if the processor has the instructions.

use std::arch::x86_64::{
    __m256i, __m512i, _MM_HINT_T1, _mm_prefetch, _mm256_add_epi8, _mm256_and_si256, _mm256_castsi256_ps,
    _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_maskload_epi32,
    _mm256_movemask_ps, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setr_epi8,
    _mm256_setr_epi32, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_xor_si256, _mm512_add_epi32,
    _mm512_cmple_epu32_mask, _mm512_loadu_si512, _mm512_mask_cmple_epu32_mask, _mm512_mask_permutexvar_epi32,
    _mm512_maskz_loadu_epi32, _mm512_min_epu32, _mm512_permutex2var_epi32, _mm512_permutexvar_epi32,
    _mm512_popcnt_epi32, _mm512_set1_epi32, _mm512_setr_epi32, _mm512_xor_si512,
};

use super::scalar;
use crate::util::cast::to_u32;

/// Proof that the processor has AVX2 and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx2(());

/// Proof that the processor has AVX-512 F and VPOPCNTDQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Avx512(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt")).then_some(Self(()))
    }

    #[inline]
    pub(super) fn filter(self, words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
        // SAFETY: only `detect` makes this witness, so the processor has AVX2.
        unsafe { filter_avx2(words, query, radius, passed) }
    }

    #[inline]
    pub(super) fn filter_triples(
        self,
        triples: &[[u32; 3]],
        query: [u32; 3],
        radius: u32,
        passed: &mut Vec<u32>,
    ) {
        // SAFETY: only `detect` makes this witness, so the processor has POPCNT.
        unsafe { filter_triples_popcnt(triples, query, radius, passed) }
    }
}

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq"))
            .then_some(Self(()))
    }

    #[inline]
    pub(super) fn filter(self, words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
        // SAFETY: only `detect` makes this witness, so the processor has AVX-512 F and VPOPCNTDQ.
        unsafe { filter_avx512(words, query, radius, passed) }
    }

    #[inline]
    pub(super) fn filter_triples(
        self,
        triples: &[[u32; 3]],
        query: [u32; 3],
        radius: u32,
        passed: &mut Vec<u32>,
    ) {
        // SAFETY: only `detect` makes this witness, so the processor has AVX-512 F and VPOPCNTDQ.
        unsafe { filter_triples_avx512(triples, query, radius, passed) }
    }

    #[inline]
    pub(super) fn filter_pairs(self, words: &[u32], radius: u32, passed: &mut Vec<(u32, u32)>) {
        // SAFETY: only `detect` makes this witness, so the processor has AVX-512 F and VPOPCNTDQ.
        unsafe { filter_pairs_avx512(words, radius, passed) }
    }
}

/// Words in a cache line.
const LINE_WORDS: usize = 16;

/// Fetches the cache line at an address into the second level of the cache, which takes more
/// requests at a time than the first: see `buckets_requested_before` in `benches/limits.rs`.
#[inline]
pub(super) fn prefetch(address: *const i8) {
    // SAFETY: a prefetch is a hint. It never faults, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address) }
}

/// Appends `item(base + position)` for every one in `mask`. Few words are near, and a separate
/// function leaves the loops more registers.
#[cold]
#[inline(never)]
fn push_ones<T>(mut mask: u64, base: u32, passed: &mut Vec<T>, item: impl Fn(u32) -> T) {
    while mask != 0 {
        passed.push(item(base + mask.trailing_zeros()));
        mask &= mask - 1;
    }
}

#[target_feature(enable = "avx2")]
fn filter_avx2(words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
    let query_lanes = _mm256_set1_epi32(query.cast_signed());
    let radius_lanes = _mm256_set1_epi32(radius.min(32).cast_signed());
    let near = |lanes: __m256i| {
        let counts = popcount_avx2(_mm256_xor_si256(lanes, query_lanes));
        let far = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpgt_epi32(counts, radius_lanes)));
        !far.cast_unsigned() & 0xff
    };
    let (steps, rest) = words.as_chunks::<8>();
    let mut base = 0;
    for step in steps {
        // SAFETY: a chunk has the eight words, 32 bytes, that an unaligned load reads.
        let mask = near(unsafe { _mm256_loadu_si256(step.as_ptr().cast()) });
        if mask != 0 {
            push_ones(u64::from(mask), base, passed, |index| index);
        }
        base += 8;
    }
    if rest.is_empty() {
        return;
    }
    // Eight words or more: no load goes beyond them, as in `filter_avx512`.
    let mask = match words.last_chunk::<8>() {
        // SAFETY: the array has the eight words, 32 bytes, that an unaligned load reads.
        Some(last) => near(unsafe { _mm256_loadu_si256(last.as_ptr().cast()) }) >> (8 - rest.len()),
        None => {
            let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let present = _mm256_cmpgt_epi32(_mm256_set1_epi32(to_u32(rest.len()).cast_signed()), numbers);
            // SAFETY: the mask admits exactly the lanes that `rest` holds. The load reads no others.
            near(unsafe { _mm256_maskload_epi32(rest.as_ptr().cast(), present) }) & ((1 << rest.len()) - 1)
        }
    };
    if mask != 0 {
        push_ones(u64::from(mask), base, passed, |index| index);
    }
}

/// How many words to load in front of at most 16, so that a load of 16 does not go beyond the cache
/// line in which they end.
#[inline]
fn words_before(words: &[u32]) -> usize {
    let before = words.as_ptr().addr() / size_of::<u32>() % LINE_WORDS;
    if before + words.len() <= LINE_WORDS { before } else { 0 }
}

/// The number of one bits in each 32-bit lane: a byte shuffle looks up nibbles, then counts add up
/// (Muła, Kurz, Lemire, "Faster Population Counts Using AVX2 Instructions", 2018).
#[target_feature(enable = "avx2")]
fn popcount_avx2(lanes: __m256i) -> __m256i {
    let table = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
    );
    let nibble = _mm256_set1_epi8(0x0f);
    let low = _mm256_shuffle_epi8(table, _mm256_and_si256(lanes, nibble));
    let high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16::<4>(lanes), nibble));
    let bytes = _mm256_add_epi8(low, high);
    _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, _mm256_set1_epi8(1)), _mm256_set1_epi16(1))
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn filter_avx512(words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
    let query_lanes = _mm512_set1_epi32(query.cast_signed());
    let radius_lanes = _mm512_set1_epi32(radius.cast_signed());
    let near = |counts: __m512i| _mm512_cmple_epu32_mask(counts, radius_lanes);
    let counts = |step: &[u32; 16]| {
        // SAFETY: the array has the sixteen words, 64 bytes, that an unaligned load reads.
        let lanes = unsafe { _mm512_loadu_si512(step.as_ptr().cast()) };
        _mm512_popcnt_epi32(_mm512_xor_si512(lanes, query_lanes))
    };
    // Four steps per round: few words are near, and the minimum of the four counts in each lane
    // shows whether any is.
    let (rounds, rest) = words.as_chunks::<64>();
    let mut base = 0;
    for round in rounds {
        let (steps, _) = round.as_chunks::<LINE_WORDS>();
        let least =
            steps.iter().fold(_mm512_set1_epi32(-1), |least, step| _mm512_min_epu32(least, counts(step)));
        if near(least) != 0 {
            for (step, place) in steps.iter().zip([0, 16, 32, 48]) {
                push_ones(u64::from(near(counts(step))), base + place, passed, |index| index);
            }
        }
        base += 64;
    }
    let (steps, rest) = rest.as_chunks::<LINE_WORDS>();
    for step in steps {
        let mask = near(counts(step));
        if mask != 0 {
            push_ones(u64::from(mask), base, passed, |index| index);
        }
        base += 16;
    }
    if rest.is_empty() {
        return;
    }
    // No load goes beyond the line in which the words end: what follows them is not in the cache,
    // and a masked load fetches it even so.
    let mask = match words.last_chunk() {
        Some(last) => near(counts(last)) >> (LINE_WORDS - rest.len()),
        None => near_in_line(rest, words_before(rest), query_lanes, radius_lanes),
    };
    if mask != 0 {
        push_ones(u64::from(mask), base, passed, |index| index);
    }
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn filter_pairs_avx512(words: &[u32], radius: u32, passed: &mut Vec<(u32, u32)>) {
    let radius_lanes = _mm512_set1_epi32(radius.cast_signed());
    let mut first = 0;
    let mut later = words;
    while let [word, rest @ ..] = later {
        let word_lanes = _mm512_set1_epi32(word.cast_signed());
        let mut base = first + 1;
        for step in rest.chunks(16) {
            let mask = near_in_line(step, 0, word_lanes, radius_lanes);
            if mask != 0 {
                push_ones(u64::from(mask), base, passed, |second| (first, second));
            }
            base += 16;
        }
        (first, later) = (first + 1, rest);
    }
}

/// Which of at most 16 words are within the radius of the query, as a bit mask. `before` words
/// precede them in the 64 bytes that are loaded.
#[inline]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn near_in_line(words: &[u32], before: usize, query_lanes: __m512i, radius_lanes: __m512i) -> u16 {
    let present = sixteen(((1 << words.len()) - 1) << before);
    // SAFETY: the mask admits exactly the lanes that `words` holds. The load reads no others.
    let lanes = unsafe { _mm512_maskz_loadu_epi32(present, words.as_ptr().wrapping_sub(before).cast()) };
    let counts = _mm512_popcnt_epi32(_mm512_xor_si512(lanes, query_lanes));
    _mm512_mask_cmple_epu32_mask(present, counts, radius_lanes) >> before
}

/// Counting two words at once and then one is faster than adding up byte counts.
#[target_feature(enable = "popcnt")]
fn filter_triples_popcnt(triples: &[[u32; 3]], query: [u32; 3], radius: u32, passed: &mut Vec<u32>) {
    scalar::filter_triples(triples, query, radius, passed);
}

#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn filter_triples_avx512(triples: &[[u32; 3]], query: [u32; 3], radius: u32, passed: &mut Vec<u32>) {
    let words = triples.as_flattened();
    // Sixteen triples fill three registers. The words of the query alternate in each register.
    let [a, b, c] = query;
    let (a, b, c) = (a.cast_signed(), b.cast_signed(), c.cast_signed());
    let (first, second, third) = (
        _mm512_setr_epi32(a, b, c, a, b, c, a, b, c, a, b, c, a, b, c, a),
        _mm512_setr_epi32(b, c, a, b, c, a, b, c, a, b, c, a, b, c, a, b),
        _mm512_setr_epi32(c, a, b, c, a, b, c, a, b, c, a, b, c, a, b, c),
    );
    let radius_lanes = _mm512_set1_epi32(radius.cast_signed());
    let numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut at = 0;
    while at < triples.len() {
        let count = (triples.len() - at).min(16);
        let load = |register: usize| {
            let from = (3 * at + LINE_WORDS * register).min(words.len());
            let (earlier, rest) = words.split_at(from);
            let some = &rest[..rest.len().min(LINE_WORDS)];
            // As in `filter_avx512`: no load goes beyond the line in which the words end.
            let before = if earlier.is_empty() { words_before(some) } else { LINE_WORDS - some.len() };
            let present = sixteen(((1 << some.len()) - 1) << before);
            // SAFETY: the mask admits exactly the lanes that `some` holds. The load reads no others.
            let lanes =
                unsafe { _mm512_maskz_loadu_epi32(present, some.as_ptr().wrapping_sub(before).cast()) };
            let moved = _mm512_add_epi32(numbers, _mm512_set1_epi32(to_u32(before).cast_signed()));
            _mm512_permutexvar_epi32(moved, lanes)
        };
        let x = _mm512_popcnt_epi32(_mm512_xor_si512(load(0), first));
        let y = _mm512_popcnt_epi32(_mm512_xor_si512(load(1), second));
        let z = _mm512_popcnt_epi32(_mm512_xor_si512(load(2), third));
        let counts = sum_triples(x, y, z);
        let near = _mm512_cmple_epu32_mask(counts, radius_lanes) & (u16::MAX >> (16 - count));
        if near != 0 {
            push_ones(u64::from(near), to_u32(at), passed, |index| index);
        }
        at += 16;
    }
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes the low sixteen bits")]
const fn sixteen(mask: u64) -> u16 {
    mask as u16
}

/// The 16 sums of three neighbours each of 48 numbers.
#[target_feature(enable = "avx512f")]
fn sum_triples(x: __m512i, y: __m512i, z: __m512i) -> __m512i {
    // The n-th first, second or third number is at index 3 n, 3 n + 1 or 3 n + 2 of the 48. The
    // first eleven (or ten) of them are in `x` and `y`, the others in `z`.
    let pick = |of_two: __m512i, of_last: __m512i, last: u16| {
        let two = _mm512_permutex2var_epi32(x, of_two, y);
        _mm512_mask_permutexvar_epi32(two, last, of_last, z)
    };
    let firsts = pick(
        _mm512_setr_epi32(0, 3, 6, 9, 12, 15, 18, 21, 24, 27, 30, 0, 0, 0, 0, 0),
        _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 7, 10, 13),
        0b1111_1000_0000_0000,
    );
    let seconds = pick(
        _mm512_setr_epi32(1, 4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 0, 0, 0, 0, 0),
        _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 5, 8, 11, 14),
        0b1111_1000_0000_0000,
    );
    let thirds = pick(
        _mm512_setr_epi32(2, 5, 8, 11, 14, 17, 20, 23, 26, 29, 0, 0, 0, 0, 0, 0),
        _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 6, 9, 12, 15),
        0b1111_1100_0000_0000,
    );
    _mm512_add_epi32(_mm512_add_epi32(firsts, seconds), thirds)
}
