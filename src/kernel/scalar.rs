//! The portable filter.

pub(super) fn filter(words: &[u32], query: u32, radius: u32, passed: &mut Vec<u32>) {
    let near = |word: &u32| (word ^ query).count_ones() <= radius;
    passed.extend((0u32..).zip(words).filter(|(_, word)| near(word)).map(|(index, _)| index));
}

pub(super) fn filter_planes(planes: [&[u32]; 3], query: [u32; 3], radius: u32, passed: &mut Vec<u32>) {
    let [first, second, third] = planes;
    let words = first.iter().zip(second).zip(third);
    let near = |((a, b), c): ((&u32, &u32), &u32)| {
        (a ^ query[0]).count_ones() + (b ^ query[1]).count_ones() + (c ^ query[2]).count_ones() <= radius
    };
    passed.extend((0u32..).zip(words).filter(|&(_, words)| near(words)).map(|(index, _)| index));
}
