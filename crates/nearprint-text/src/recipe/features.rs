//! Sets of features, small enough to be stored with every document.

use std::borrow::Cow;
use std::sync::Arc;

/// The bits of the hash of a feature.
const HASH_BITS: u32 = 24;
/// 2^24 times the natural logarithm of 2: divided by the number of hashes, the gap between two of them
/// that half of all gaps stay below.
const TYPICAL_GAP: u32 = 11_629_080;

/// The set of features of a text: the hashes of 24 bits of its shingles.
///
/// Two sets give the exact Jaccard similarity of two texts. Hashes that are equal by chance change it by
/// 0.00002 for pages of 300 shingles. The default is the empty set. Cloning is cheap.
///
/// ```
/// # use nearprint_text::Recipe;
/// let recipe: Recipe = "minhash shingle=1".parse()?;
/// let mut fingerprinter = recipe.fingerprinter::<nearprint::U256>()?.with_features();
/// let [a, b] = ["one two three", "TWO three, four"].map(|text| fingerprinter.fingerprint(text).features);
/// assert_eq!(a.similarity(&b), Some(0.5));
/// # Ok::<(), nearprint_text::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Features(Form);

/// The bytes of a hash, the lowest first.
type ListedHash = [u8; HASH_BITS as usize / 8];

#[inline]
fn listed(hash: u32) -> ListedHash {
    let [low, middle, high, _] = hash.to_le_bytes();
    [low, middle, high]
}

#[inline]
fn unlisted([low, middle, high]: ListedHash) -> u32 {
    u32::from_le_bytes([low, middle, high, 0])
}

#[derive(Clone, Debug)]
enum Form {
    /// In the order of the text, and as often as there. Few sets are ever compared or stored, and only
    /// these have to be sorted.
    Listed(Arc<[ListedHash]>),
    /// Ascending, as differences in Rice codes.
    Coded(Arc<[u8]>),
}

impl Features {
    /// The set of some features, by their hashes of 64 bits.
    pub(super) fn of_hashes(hashes: &[u64]) -> Self {
        Self(Form::Listed(hashes.iter().map(|hash| listed((hash >> (64 - HASH_BITS)) as u32)).collect()))
    }

    /// The set that [`to_bytes`](Self::to_bytes) returned. Other bytes give a set without a
    /// [similarity](Self::similarity) to any.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.is_empty() { Self::default() } else { Self(Form::Coded(bytes.into())) }
    }

    /// The bytes to store; none for the empty set: ascending hashes, as differences in Rice codes (Rice and
    /// Plaunt, "Adaptive Variable-Length Coding", IEEE Transactions on Communications, 1971). FORMAT.md
    /// specifies them. A page of 300 shingles takes 650 bytes, a paragraph of 64 shingles 160.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.0 {
            Form::Listed(_) => {
                let mut hashes = Vec::new();
                self.ascending(&mut hashes).map(|()| coded(&hashes)).unwrap_or_default()
            }
            Form::Coded(bytes) => bytes.to_vec(),
        }
    }

    /// The same for a temporary file: more bytes, and less work.
    pub(crate) fn to_listed_bytes(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Form::Listed(hashes) => hashes.as_flattened().into(),
            Form::Coded(_) => {
                let mut hashes = Vec::new();
                let bytes =
                    self.ascending(&mut hashes).map(|()| hashes.into_iter().flat_map(listed).collect());
                Cow::Owned(bytes.unwrap_or_default())
            }
        }
    }

    /// The set that [`to_listed_bytes`](Self::to_listed_bytes) returned.
    pub(crate) fn from_listed_bytes(bytes: &[u8]) -> Self {
        Self(Form::Listed(bytes.as_chunks().0.into()))
    }

    /// Whether it has no feature.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Form::Listed(hashes) if hashes.is_empty())
    }

    /// Replaces the content of `hashes` by the set, ascending. `None` if it is damaged.
    pub(crate) fn ascending(&self, hashes: &mut Vec<u32>) -> Option<()> {
        match &self.0 {
            Form::Listed(listed) => {
                hashes.clear();
                hashes.extend(listed.iter().copied().map(unlisted));
                sort(hashes);
                hashes.dedup();
                Some(())
            }
            Form::Coded(bytes) => decode(bytes, hashes),
        }
    }

    /// The Jaccard similarity, from 0 to 1: the size of the intersection divided by the size of the union.
    /// For two empty sets 0, because texts without features have nothing in common. `None` if one of the
    /// two is damaged.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> Option<f64> {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.ascending(&mut own)?;
        other.ascending(&mut others)?;
        Some(jaccard(&own, &others, 0.0).unwrap_or_default())
    }
}

impl Default for Features {
    fn default() -> Self {
        Self(Form::Listed(Arc::default()))
    }
}

/// Whether both are the same set.
impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for Features {}

/// Ascending hashes, each once, as FORMAT.md specifies them.
#[expect(clippy::cast_possible_truncation, reason = "there are at most 2^24 hashes")]
fn coded(hashes: &[u32]) -> Vec<u8> {
    if hashes.is_empty() {
        return Vec::new();
    }
    let mut bytes = Vec::with_capacity(4 + hashes.len() * 9 / 4);
    let mut count = hashes.len() as u32;
    while count >= 0x80 {
        bytes.push(count as u8 | 0x80);
        count >>= 7;
    }
    bytes.push(count as u8);
    let low_bits = low_bits(hashes.len() as u32);
    let mut bits = BitWriter { bytes, buffer: 0, filled: 0 };
    let mut next = 0;
    for &hash in hashes {
        let gap = hash - next;
        next = hash + 1;
        let mut zeros = gap >> low_bits;
        while zeros > MOST_ZEROS {
            bits.push(0, MOST_ZEROS);
            zeros -= MOST_ZEROS;
        }
        let low = u64::from(gap & ((1 << low_bits) - 1));
        bits.push((low << 1 | 1) << zeros, zeros + 1 + low_bits);
    }
    bits.finish()
}

/// The number of low bits of a gap that are stored as they are, in a set of so many hashes, at least 1.
fn low_bits(count: u32) -> u32 {
    (TYPICAL_GAP / count).max(1).ilog2()
}

/// Numbers that are distributed before they are sorted, at most.
const MOST_DISTRIBUTED: usize = 4096;

/// The highest bits by which they are distributed.
const DISTRIBUTED_BITS: u32 = 9;

/// Sorts hashes of 24 bits. Few of them have the same highest bits, so that they are almost sorted once
/// they are distributed by these.
fn sort(hashes: &mut Vec<u32>) {
    if hashes.len() > MOST_DISTRIBUTED {
        return hashes.sort_unstable();
    }
    const BUCKETS: usize = 1 << DISTRIBUTED_BITS;
    let bucket = |hash: u32| (hash >> (HASH_BITS - DISTRIBUTED_BITS)) as usize % BUCKETS;
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

/// The zeros that are written at once: with them, a hash takes at most 32 bits.
const MOST_ZEROS: u32 = 8;

/// Writes bits, the least significant of each byte first.
struct BitWriter {
    bytes: Vec<u8>,
    buffer: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends at most 32 bits.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "takes the low half")]
    fn push(&mut self, value: u64, bits: u32) {
        self.buffer |= value << self.filled;
        self.filled += bits;
        if self.filled >= 32 {
            self.bytes.extend_from_slice(&(self.buffer as u32).to_le_bytes());
            (self.buffer, self.filled) = (self.buffer >> 32, self.filled - 32);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let rest = self.filled.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.buffer.to_le_bytes()[..rest]);
        self.bytes
    }
}

/// The number of hashes, and the bytes after it.
fn split_count(bytes: &[u8]) -> Option<(u32, &[u8])> {
    if bytes.is_empty() {
        return Some((0, bytes));
    }
    let len = 1 + bytes.iter().take(4).position(|byte| byte & 0x80 == 0)?;
    let (count, rest) = bytes.split_at(len);
    let count = count.iter().rev().fold(0, |count, byte| count << 7 | u32::from(byte & 0x7f));
    (1..=1 << HASH_BITS).contains(&count).then_some((count, rest))
}

/// Replaces the content of `hashes` by the hashes of a stored set. `None` if it is damaged.
fn decode(bytes: &[u8], hashes: &mut Vec<u32>) -> Option<()> {
    hashes.clear();
    let (count, bytes) = split_count(bytes)?;
    // Each hash takes a bit at least.
    if u64::from(count) > 8 * bytes.len() as u64 {
        return None;
    }
    hashes.reserve(count as usize);
    let low_bits = low_bits(count.max(1));
    let mut bits = Bits { bytes, buffer: 0, filled: 0 };
    let mut next = 0u32;
    for _ in 0..count {
        let gap = bits.zeros()?.checked_mul(1 << low_bits)? + bits.take(low_bits)?;
        let hash = next.checked_add(gap).filter(|hash| hash >> HASH_BITS == 0)?;
        hashes.push(hash);
        next = hash + 1;
    }
    (bits.bytes.is_empty() && bits.filled < 8 && bits.buffer == 0).then_some(())
}

/// Reads bits, the least significant of each byte first.
struct Bits<'a> {
    bytes: &'a [u8],
    buffer: u64,
    filled: u32,
}

impl Bits<'_> {
    /// Fills the buffer with as many whole bytes as fit.
    #[inline]
    fn fill(&mut self) {
        if let Some((word, _)) = self.bytes.split_first_chunk::<8>() {
            let taken = (63 - self.filled) / 8;
            let mask = (1 << (8 * taken)) - 1;
            self.buffer |= (u64::from_le_bytes(*word) & mask) << self.filled;
            self.filled += 8 * taken;
            self.bytes = &self.bytes[taken as usize..];
            return;
        }
        while self.filled <= 56
            && let Some((&byte, rest)) = self.bytes.split_first()
        {
            self.buffer |= u64::from(byte) << self.filled;
            (self.filled, self.bytes) = (self.filled + 8, rest);
        }
    }

    /// The number of zeros before the next one, which is taken too.
    #[inline]
    fn zeros(&mut self) -> Option<u32> {
        let mut all = 0u32;
        loop {
            self.fill();
            if self.buffer != 0 {
                let zeros = self.buffer.trailing_zeros();
                self.buffer = self.buffer >> zeros >> 1;
                self.filled -= zeros + 1;
                return all.checked_add(zeros);
            }
            if self.filled == 0 {
                return None;
            }
            all = all.checked_add(self.filled)?;
            self.filled = 0;
        }
    }

    /// A number of so many bits, at most 23.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "at most 23 bits are taken")]
    fn take(&mut self, bits: u32) -> Option<u32> {
        if self.filled < bits {
            self.fill();
        }
        self.filled = self.filled.checked_sub(bits)?;
        let value = self.buffer & ((1 << bits) - 1);
        self.buffer >>= bits;
        Some(value as u32)
    }
}

/// The Jaccard similarity of two sets of ascending numbers, 0 for two empty ones, if it is at least `least`.
pub(crate) fn jaccard(a: &[u32], b: &[u32], least: f64) -> Option<f64> {
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
const OUTLINE_BITS: u32 = 2048;

/// A set in 256 bytes: for each of 2,048 remainders of hashes, whether it occurs an odd number of times
/// (Mitzenmacher, Pagh and Pham, "Efficient Estimation for High Similarities using Odd Sketches", WWW
/// 2014). Two outlines differ in at most as many bits as there are numbers in one set alone.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    count: usize,
    bits: [u64; OUTLINE_BITS as usize / 64],
}

impl Outline {
    /// The outline of a set of numbers, each once.
    pub(crate) fn of(set: &[u32]) -> Self {
        let mut bits = [0; OUTLINE_BITS as usize / 64];
        for hash in set {
            let bit = hash % OUTLINE_BITS;
            bits[bit as usize / 64] ^= 1 << (bit % 64);
        }
        Self { count: set.len(), bits }
    }

    /// Whether the similarity of two sets is less than `least` for sure.
    pub(crate) fn excludes(&self, other: &Self, least: f64) -> bool {
        let differ: u32 = self.bits.iter().zip(&other.bits).map(|(a, b)| (a ^ b).count_ones()).sum();
        differ as usize >= too_many_alone(self.count + other.count, least)
    }
}

/// The steps of a comparison between two looks at whether it can end.
const STEPS: usize = 32;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    impl Features {
        fn listed(hashes: &[u32]) -> Self {
            Self(Form::Listed(hashes.iter().copied().map(super::listed).collect()))
        }
    }

    fn decoded(bytes: &[u8]) -> Option<Vec<u32>> {
        let mut hashes = Vec::new();
        decode(bytes, &mut hashes).map(|()| hashes)
    }

    /// The bits of FORMAT.md, one by one.
    #[expect(clippy::cast_possible_truncation, reason = "bytes")]
    fn specified(hashes: &BTreeSet<u32>) -> Vec<u8> {
        let (mut bytes, mut count, mut bits, mut next) = (Vec::new(), hashes.len(), Vec::new(), 0);
        while count >= 128 {
            bytes.push((count % 128 + 128) as u8);
            count /= 128;
        }
        bytes.push(count as u8);
        let low = (0..24).rev().find(|low| hashes.len() << low <= 11_629_080).unwrap_or(0);
        for &hash in hashes {
            let gap = hash - next;
            bits.extend(std::iter::repeat_n(0, (gap >> low) as usize));
            bits.push(1);
            bits.extend((0..low).map(|bit| gap >> bit & 1));
            next = hash + 1;
        }
        let byte = |bits: &[u32]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit) as u8;
        bytes.extend(bits.chunks(8).map(byte));
        bytes
    }

    #[test]
    fn sets_take_few_bytes() {
        let of = |count: u64| {
            let hashes: Vec<u64> = (1..=count).map(nearprint::internal::mix64).collect();
            Features::of_hashes(&hashes).to_bytes().len()
        };
        assert_eq!([0, 1, 64, 302, 3000].map(of), [0, 5, 157, 653, 5351]);
    }

    #[test]
    fn the_example_of_the_format_is_right() {
        let format = concat!(env!("CARGO_MANIFEST_DIR"), "/../../FORMAT.md");
        let Ok(format) = std::fs::read_to_string(format) else { return };
        let set = Features::listed(&[1, 5, 900_000]);
        let bytes: Vec<String> = set.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(format.contains(&format!("900,000 is `{}`", bytes.join(" "))), "{bytes:?}");
    }

    #[test]
    fn outlines_exclude_most_sets_that_have_little_in_common() {
        let hash = |number: u64| (nearprint::internal::mix64(number) >> 40) as u32;
        let outline = |numbers: std::ops::Range<u64>| Outline::of(&numbers.map(hash).collect::<Vec<_>>());
        // Similarities of a half, a quarter, and nothing.
        for (first, least, is_excluded) in
            [(100, 0.5, false), (180, 0.5, true), (300, 0.2, true), (180, 0.2, false)]
        {
            assert_eq!(outline(0..300).excludes(&outline(first..first + 300), least), is_excluded, "{first}");
        }
    }

    #[test]
    fn all_hashes_fit() {
        let hashes: Vec<u32> = (0..1 << HASH_BITS).collect();
        let all = Features::listed(&hashes);
        assert_eq!(decoded(&all.to_bytes()), Some(hashes));
        let last = Features::listed(&[(1 << HASH_BITS) - 1]);
        assert_eq!(last.similarity(&all), Some(1.0 / f64::from(1 << HASH_BITS)));
    }

    #[test]
    fn damaged_sets_are_similar_to_none() {
        let set = Features::listed(&[1, 5, 900_000]);
        for damaged in [&[0][..], &[3], &[1, 0, 0, 0, 0], &[0xff; 9], &[1, 0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(Features::from_bytes(damaged).similarity(&set), None, "{damaged:?}");
        }
        let longer = [set.to_bytes(), vec![0]].concat();
        assert_eq!(decoded(&longer), None);
    }

    proptest! {
        #[test]
        fn sets_are_stored_as_specified(
            hashes in prop::collection::btree_set(0u32..1 << HASH_BITS, 0..400), dense in 0u32..1 << HASH_BITS, run in 0u32..300,
        ) {
            let hashes: BTreeSet<u32> =
                hashes.into_iter().chain(dense..(dense + run).min(1 << HASH_BITS)).collect();
            let sorted: Vec<u32> = hashes.iter().copied().collect();
            let set = Features::listed(&sorted);
            if !hashes.is_empty() {
                prop_assert_eq!(set.to_bytes(), specified(&hashes));
            }
            prop_assert_eq!(&Features::from_listed_bytes(&set.to_listed_bytes()), &set);
            prop_assert_eq!(decoded(&set.to_bytes()), Some(sorted));
        }

        #[test]
        fn hashes_are_sorted(mut hashes in prop::collection::vec(0u32..1 << HASH_BITS, 0..300)) {
            let mut expected = hashes.clone();
            expected.sort_unstable();
            sort(&mut hashes);
            prop_assert_eq!(hashes, expected);
        }

        #[test]
        fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(hashes) = decoded(&bytes) {
                prop_assert!(hashes.is_sorted_by(|a, b| a < b));
                prop_assert_eq!(split_count(&bytes).map(|(count, _)| count as usize), Some(hashes.len()));
            }
        }

        #[test]
        fn similarities_are_those_of_sets(
            a in prop::collection::btree_set(0u32..200, 0..150), b in prop::collection::btree_set(0u32..200, 0..150),
            least in 0.0..1.0f64,
        ) {
            let [left, right] = [&a, &b].map(|set| Features::listed(&set.iter().copied().collect::<Vec<_>>()));
            let expected = a.intersection(&b).count() as f64 / a.union(&b).count().max(1) as f64;
            prop_assert_eq!(left.similarity(&right), Some(expected));
            let [a, b] = [a, b].map(|set| set.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(jaccard(&a, &b, least), (expected >= least).then_some(expected));
            prop_assert_eq!(jaccard(&a, &b, expected), Some(expected));
            let [of_a, of_b] = [&a, &b].map(|set| Outline::of(set));
            prop_assert!(!of_a.excludes(&of_b, expected));
        }
    }
}
