//! The portable filter.

pub(super) fn filter(words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
    let near = |word: &u32| (word ^ query).count_ones() <= radius;
    passed.extend((0u32..).zip(words).filter(|(_, word)| near(word)).map(|(index, _)| index));
}
