//! The portable filter.

/// Appends `base` + the index of every word within `radius` bits of `query`.
pub(super) fn filter(words: &[u32], base: u32, query: u32, radius: u32, passed: &mut Vec<u32>) {
    let near = |word: &u32| (word ^ query).count_ones() <= radius;
    passed.extend((base..).zip(words).filter(|(_, word)| near(word)).map(|(index, _)| index));
}

/// Appends the index of every triple within `radius` bits of `query`.
#[inline(always)]
pub(super) fn filter_triples(triples: &[[u32; 3]], query: [u32; 3], radius: u32, passed: &mut Vec<u32>) {
    let [a, b, c] = query;
    // Two of the three words are counted as one word of 64 bits, which in this order is one load.
    let pair = |x: u32, y: u32| u64::from(y) << 32 | u64::from(x);
    let query = pair(a, b);
    let near = |&[x, y, z]: &[u32; 3]| (pair(x, y) ^ query).count_ones() + (z ^ c).count_ones() <= radius;
    passed.extend((0u32..).zip(triples).filter(|(_, triple)| near(triple)).map(|(index, _)| index));
}
