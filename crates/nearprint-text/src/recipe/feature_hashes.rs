//! The hashes of a set of features, as they are compared.

use std::borrow::Cow;

/// The bits of the hashes of small sets.
pub(super) const LEAST_BITS: u32 = 24;

/// The bits of the hashes of the largest sets.
const MOST_BITS: u32 = 62;

/// The most hashes of so many bits in a set: 512 of 24 bits, and twice as many with every two bits more. So of two
/// such sets that have nothing in common, 1 / 64 of a feature is in both by chance, on average.
const fn most_of(bits: u32) -> usize {
    1 << (bits / 2 - 3)
}

/// The bits of the hashes of a set with so many.
pub(super) fn bits_of(count: usize) -> u32 {
    let mut bits = LEAST_BITS;
    while bits < MOST_BITS && count > most_of(bits) {
        bits += 2;
    }
    bits
}

/// A set of features, by the highest bits of their hashes: the fewest bits with which there are not too many
/// hashes of so many bits. FORMAT.md specifies them.
#[derive(Clone, Debug)]
pub(crate) struct FeatureHashes {
    bits: u32,
    /// Ascending, without repetition. The lower bits are 0.
    hashes: Vec<u64>,
}

impl Default for FeatureHashes {
    fn default() -> Self {
        Self { bits: LEAST_BITS, hashes: Vec::new() }
    }
}

impl FeatureHashes {
    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    pub(super) fn as_slice(&self) -> &[u64] {
        &self.hashes
    }

    /// Replaces the content by the set of some hashes, in any order, with repetitions.
    pub(super) fn replace(&mut self, hashes: impl Iterator<Item = u64>) {
        self.hashes.clear();
        self.hashes.extend(hashes);
        sort(&mut self.hashes);
        self.hashes.dedup();
        self.bits = LEAST_BITS;
        while self.bits < MOST_BITS && has_more(&self.hashes, self.bits, most_of(self.bits)) {
            self.bits += 2;
        }
        let mask = mask(self.bits);
        self.hashes.iter_mut().for_each(|hash| *hash &= mask);
        self.hashes.dedup();
    }

    /// Replaces the content by hashes of so many bits, which are read. `None` if they are damaged.
    pub(super) fn read(
        &mut self,
        count: usize,
        read: impl FnOnce(u32, &mut Vec<u64>) -> Option<()>,
    ) -> Option<()> {
        self.hashes.clear();
        self.bits = bits_of(count);
        read(self.bits, &mut self.hashes)
    }

    /// The Jaccard similarity, 0 of two empty sets, if it is at least `least`. The bits that both have decide.
    pub(crate) fn similarity(&self, other: &Self, least: f64) -> Option<f64> {
        let bits = self.bits.min(other.bits);
        jaccard(&self.narrowed(bits), &other.narrowed(bits), least)
    }

    /// The hashes by their highest bits, at most as many as there are.
    fn narrowed(&self, bits: u32) -> Cow<'_, [u64]> {
        if bits == self.bits {
            return Cow::Borrowed(&self.hashes);
        }
        let mut narrowed: Vec<u64> = self.hashes.iter().map(|hash| hash & mask(bits)).collect();
        narrowed.dedup();
        Cow::Owned(narrowed)
    }
}

/// The highest bits.
fn mask(bits: u32) -> u64 {
    u64::MAX << (64 - bits)
}

/// Whether ascending hashes have more different values of their highest bits than `most`.
fn has_more(ascending: &[u64], bits: u32, most: usize) -> bool {
    let differ = |pair: &&[u64]| (pair[0] ^ pair[1]) & mask(bits) != 0;
    ascending.len() > most && ascending.windows(2).filter(differ).take(most).count() == most
}

/// Numbers that are distributed before they are sorted, at most.
const MOST_DISTRIBUTED: usize = 4096;

/// The highest bits by which they are distributed.
const DISTRIBUTED_BITS: u32 = 9;

/// Sorts hashes. Few of them have the same highest bits, so that they are almost sorted once
/// they are distributed by these.
fn sort(hashes: &mut Vec<u64>) {
    if hashes.len() > MOST_DISTRIBUTED {
        return hashes.sort_unstable();
    }
    const BUCKETS: usize = 1 << DISTRIBUTED_BITS;
    let bucket = |hash: u64| (hash >> (64 - DISTRIBUTED_BITS)) as usize % BUCKETS;
    let mut places = [0u16; BUCKETS];
    hashes.iter().for_each(|&hash| places[bucket(hash)] += 1);
    let mut start = 0;
    for place in &mut places {
        start += std::mem::replace(place, start);
    }
    let mut sorted = vec![0; hashes.len()];
    for &hash in &*hashes {
        let place = &mut places[bucket(hash)];
        sorted[usize::from(*place)] = hash;
        *place += 1;
    }
    for at in 1..sorted.len() {
        let (hash, mut to) = (sorted[at], at);
        while to > 0 && sorted[to - 1] > hash {
            sorted[to] = sorted[to - 1];
            to -= 1;
        }
        sorted[to] = hash;
    }
    *hashes = sorted;
}

/// The Jaccard similarity of two sets of ascending numbers, 0 for two empty ones, if it is at least `least`.
fn jaccard(a: &[u64], b: &[u64], least: f64) -> Option<f64> {
    // The similarity if one were a part of the other, rounded as the result is.
    let (fewer, more) = (a.len().min(b.len()), a.len().max(b.len()));
    if (fewer as f64 / more.max(1) as f64) < least {
        return None;
    }
    let all = a.len() + b.len();
    let too_many = too_many_alone(all, least);
    let (mut at_a, mut at_b, mut shared) = (0, 0, 0usize);
    while at_a < a.len() && at_b < b.len() {
        let steps = STEPS.min(a.len() - at_a).min(b.len() - at_b);
        for _ in 0..steps {
            let (left, right) = (a[at_a], b[at_b]);
            shared += usize::from(left == right);
            at_a += usize::from(left <= right);
            at_b += usize::from(right <= left);
        }
        if at_a + at_b - 2 * shared >= too_many {
            return None;
        }
    }
    let similarity = shared as f64 / (all - shared).max(1) as f64;
    (similarity >= least).then_some(similarity)
}

/// As many numbers in one of two sets alone, of `all` numbers together, that the similarity is less than
/// `least` for sure.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most a sum of two lengths")]
fn too_many_alone(all: usize, least: f64) -> usize {
    (all as f64 * (1.0 - least) / (1.0 + least)) as usize + 2
}

/// The bits of an outline.
const OUTLINE_BITS: usize = 2048;

/// A set in 256 bytes: for each of 2,048 values of bits of hashes, whether it occurs an odd number of times
/// (Mitzenmacher, Pagh and Pham, "Efficient Estimation for High Similarities using Odd Sketches", WWW
/// 2014). Two outlines differ in at most as many bits as there are hashes in one set alone.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    hash_bits: u32,
    count: usize,
    bits: [u64; OUTLINE_BITS / 64],
}

impl Outline {
    pub(crate) fn of(set: &FeatureHashes) -> Self {
        let mut bits = [0; OUTLINE_BITS / 64];
        for hash in &set.hashes {
            let bit = hash >> (64 - LEAST_BITS) & (OUTLINE_BITS as u64 - 1);
            bits[(bit / 64) as usize] ^= 1 << (bit % 64);
        }
        Self { hash_bits: set.bits, count: set.len(), bits }
    }

    /// Whether the similarity of two sets is less than `least` for sure. Of sets that are compared by fewer bits than
    /// one of them has, nothing is sure.
    pub(crate) fn excludes(&self, other: &Self, least: f64) -> bool {
        let differ: u32 = self.bits.iter().zip(&other.bits).map(|(a, b)| (a ^ b).count_ones()).sum();
        self.hash_bits == other.hash_bits
            && differ as usize >= too_many_alone(self.count + other.count, least)
    }
}

/// The steps of a comparison between two looks at whether it can end.
const STEPS: usize = 32;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nearprint::internal::mix64;
    use proptest::prelude::*;

    use super::*;

    impl FeatureHashes {
        pub(crate) fn of(hashes: impl IntoIterator<Item = u64>) -> Self {
            let mut set = Self::default();
            set.replace(hashes.into_iter());
            set
        }
    }

    /// As FORMAT.md has it, without a look at how many hashes there are.
    fn specified(hashes: &[u64]) -> (u32, Vec<u64>) {
        let distinct = |bits: u32| hashes.iter().map(|hash| hash & mask(bits)).collect::<BTreeSet<u64>>();
        let fit = |bits: &u32| *bits == 62 || distinct(*bits).len() <= 1 << (bits / 2 - 3);
        let bits = (24..=62).step_by(2).find(fit).unwrap();
        (bits, distinct(bits).into_iter().collect())
    }

    #[test]
    fn outlines_exclude_most_sets_that_have_little_in_common() {
        let outline = |numbers: std::ops::Range<u64>| Outline::of(&FeatureHashes::of(numbers.map(mix64)));
        // Similarities of a half, a quarter, and nothing.
        for (first, least, is_excluded) in
            [(100, 0.5, false), (180, 0.5, true), (300, 0.2, true), (180, 0.2, false)]
        {
            assert_eq!(outline(0..300).excludes(&outline(first..first + 300), least), is_excluded, "{first}");
        }
        assert!(!outline(0..512).excludes(&outline(600..1113), 0.9), "they have other bits");
    }

    /// Similarities of pairs of sets with so many hashes each, of which so many are in both; and that of their hashes
    /// of 64 bits.
    fn similarities(pairs: u64, count: u64, shared: u64) -> (Vec<f64>, f64) {
        let union = 2 * count - shared;
        let similarity = |pair| {
            let hash = |number: u64| mix64(mix64(pair) ^ number);
            let [a, b] = [0..count, union - count..union].map(|set| FeatureHashes::of(set.map(hash)));
            a.similarity(&b, 0.0).unwrap()
        };
        ((0..pairs).map(similarity).collect(), shared as f64 / union as f64)
    }

    #[test]
    fn similarities_are_exact_as_often_as_the_documentation_says() {
        let of_100 = |pairs: u64, is_so: &dyn Fn(f64) -> bool, found: &[f64]| {
            100.0 * found.iter().filter(|similarity| is_so(**similarity)).count() as f64 / pairs as f64
        };
        // At the limit of 0.7 itself: 7 of 10 hashes of the union are in both.
        for (pairs, count, shared, missed, below) in [
            (100_000, 17, 14, 0.01, 0.005),
            (10_000, 102, 84, 0.1, 0.05),
            (10_000, 510, 420, 0.8, 0.15),
            (10_000, 1020, 840, 0.8, 0.15),
            (20, 102_000, 84_000, 10.0, 10.0),
            (2, 1_020_000, 840_000, 50.0, 50.0),
        ] {
            let (found, exact) = similarities(pairs, count, shared);
            assert_eq!(exact, 0.7);
            let of_all = of_100(pairs, &|similarity| similarity < 0.7, &found);
            assert!(of_all <= missed, "{count}: {of_all}% are missed");
            // With one or two features less in both, a pair is below the limit.
            for (fewer, most) in [(1, below), (2, 0.02)] {
                let (found, _) = similarities(pairs, count, shared - fewer);
                let of_all = of_100(pairs, &|similarity| similarity >= 0.7, &found);
                assert!(of_all <= most, "{count}, {fewer} fewer: {of_all}% are found");
            }
        }
        // Sets that have little in common, or nothing.
        for (count, pairs) in [(100, 2000), (1000, 1000), (100_000, 20), (1_000_000, 1)] {
            for shared in [0, count / 5] {
                let (found, exact) = similarities(pairs, count, shared);
                let moved =
                    found.iter().map(|similarity| (similarity - exact).abs()).sum::<f64>() / pairs as f64;
                let features = moved * (2 * count - shared) as f64;
                assert!(features <= if pairs > 100 { 0.05 } else { 1.0 }, "{count} {shared}: {features}");
            }
        }
    }

    #[test]
    fn regression_long_texts_were_more_similar_than_they_are() {
        // 0.6995, as 0.7005 by hashes of 24 bits; and nothing in common, as 0.0597.
        for (count, shared) in [(100_000, 82_318), (2_000_000, 0)] {
            let exact = shared as f64 / (2 * count - shared) as f64;
            let union = 2 * count - shared;
            let [a, b] =
                [0..count, union - count..union].map(|numbers| FeatureHashes::of(numbers.map(mix64)));
            let similarity = a.similarity(&b, 0.0).unwrap();
            assert!((similarity - exact).abs() * union as f64 <= 2.0, "{similarity} {exact}");
        }
    }

    proptest! {
        #[test]
        fn the_size_of_a_set_decides_how_many_bits_its_hashes_have(
            seed in any::<u64>(), count in prop_oneof![0u64..40, 500u64..530, 1000u64..1060, 2030u64..2070], shift in 0u32..42,
        ) {
            // Shifted hashes are often equal by their highest bits.
            let hashes: Vec<u64> = (0..count).map(|number| mix64(seed ^ number) >> shift).collect();
            let set = FeatureHashes::of(hashes.iter().copied().chain(hashes.iter().rev().copied()));
            let (bits, distinct) = specified(&hashes);
            prop_assert_eq!((set.bits, &set.hashes), (bits, &distinct));
            prop_assert_eq!(bits_of(set.len()), bits, "a reader knows them by the number");
            let again = FeatureHashes::of(set.hashes.iter().copied());
            prop_assert_eq!((again.bits, again.hashes), (set.bits, set.hashes));
        }

        #[test]
        fn hashes_are_sorted(mut hashes in prop::collection::vec(any::<u64>(), 0..300)) {
            let mut expected = hashes.clone();
            expected.sort_unstable();
            sort(&mut hashes);
            prop_assert_eq!(hashes, expected);
        }

        #[test]
        fn similarities_are_those_of_sets(
            a in prop::collection::btree_set(0u64..200, 0..150), b in prop::collection::btree_set(0u64..200, 0..150),
            least in 0.0..1.0f64, more in prop_oneof![Just(0u64), 370u64..520],
        ) {
            let expected = a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64;
            let [left, right] = [&a, &b].map(|set| FeatureHashes::of(set.iter().map(|number| mix64(*number))));
            prop_assert_eq!(left.similarity(&right, least), (expected >= least).then_some(expected));
            prop_assert_eq!(left.similarity(&right, expected), Some(expected));
            prop_assert!(!Outline::of(&left).excludes(&Outline::of(&right), expected));
            // A set whose hashes have more bits, of which the highest decide.
            let larger: BTreeSet<u64> = a.iter().copied().chain(1000..1000 + more).map(mix64).collect();
            let wider = FeatureHashes::of(larger.iter().copied());
            let bits = wider.bits.min(right.bits);
            let cut = |set: &FeatureHashes| set.hashes.iter().map(|hash| hash & mask(bits)).collect::<BTreeSet<u64>>();
            let (cut, other) = (cut(&wider), cut(&right));
            let expected = cut.intersection(&other).count() as f64 / cut.union(&other).count().max(1) as f64;
            prop_assert_eq!(wider.similarity(&right, 0.0), Some(expected));
            prop_assert_eq!(right.similarity(&wider, expected), Some(expected));
            prop_assert!(!Outline::of(&wider).excludes(&Outline::of(&right), expected));
        }
    }
}
