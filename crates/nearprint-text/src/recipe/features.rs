//! Sets of features, small enough to be stored with every document.

use std::borrow::Cow;
use std::sync::Arc;

use super::feature_hashes::{FeatureHashes, LEAST_BITS, bits_of};

/// 2^24 times the natural logarithm of 2. With hashes of b bits, 2^(b - 24) times as much, divided by the number
/// of hashes, is the gap between two of them that half of all gaps stay below.
const TYPICAL_GAP: u64 = 11_629_080;

/// The set of features of a text: hashes of its shingles.
///
/// Two sets give the exact Jaccard similarity of two texts. A hash has 24 bits in a set of up to 512, and two more
/// with every doubling, so that sets of any length are about as rarely changed by hashes that are equal by chance:
/// docs/minhash.md has the probabilities. The default is the empty set. Cloning is cheap.
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

/// The highest bytes of a hash, the highest first.
type ShortHash = [u8; LEAST_BITS as usize / 8];

#[inline]
fn short(hash: u64) -> ShortHash {
    let [first, second, third, ..] = hash.to_be_bytes();
    [first, second, third]
}

#[inline]
fn unlisted(listed: &[u8]) -> u64 {
    listed.iter().rev().fold(0, |hash, byte| hash >> 8 | u64::from(*byte) << 56)
}

/// The bytes of a hash in a temporary file, in a list of so many.
fn listed_bytes(count: usize) -> usize {
    bits_of(count).div_ceil(8) as usize
}

#[derive(Clone, Debug)]
enum Form {
    /// As many as fit into a set of hashes of the fewest bits, in the order of the text, and as often as there.
    /// Few sets are ever compared or stored, and only these have to be sorted.
    Short(Arc<[ShortHash]>),
    /// More, whole.
    Long(Arc<[u64]>),
    /// Ascending, as differences in Rice codes.
    Coded(Arc<[u8]>),
    /// To be compared.
    Decoded(Arc<FeatureHashes>),
}

impl Features {
    /// The set of some features, by their hashes of 64 bits.
    pub(super) fn of_hashes(hashes: &[u64]) -> Self {
        Self(match bits_of(hashes.len()) {
            LEAST_BITS => Form::Short(hashes.iter().map(|&hash| short(hash)).collect()),
            _ => Form::Long(hashes.into()),
        })
    }

    /// The set that [`to_bytes`](Self::to_bytes) returned. Other bytes give a set without a
    /// [similarity](Self::similarity) to any.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        if bytes.is_empty() { Self::default() } else { Self(Form::Coded(bytes.into())) }
    }

    /// The same, for a set that is compared more than once: it is decoded here. `None` if the bytes are damaged.
    /// Takes 8 bytes a feature.
    #[must_use]
    pub fn decoded(bytes: &[u8]) -> Option<Self> {
        let mut hashes = FeatureHashes::default();
        decode(bytes, &mut hashes)?;
        Some(Self(Form::Decoded(hashes.into())))
    }

    /// The bytes to store; none for the empty set: ascending hashes, as differences in Rice codes (Rice and
    /// Plaunt, "Adaptive Variable-Length Coding", IEEE Transactions on Communications, 1971). FORMAT.md
    /// specifies them. A page of 300 shingles takes 650 bytes, a paragraph of 64 shingles 160.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.0 {
            Form::Coded(bytes) => bytes.to_vec(),
            _ => self.hashes().map(|hashes| coded(&hashes)).unwrap_or_default(),
        }
    }

    /// The same for a temporary file: more bytes, and less work.
    pub(crate) fn to_listed_bytes(&self) -> Cow<'_, [u8]> {
        match &self.0 {
            Form::Short(hashes) => hashes.as_flattened().into(),
            Form::Long(hashes) => listed(hashes).into(),
            _ => self.hashes().map(|hashes| listed(hashes.as_slice())).unwrap_or_default().into(),
        }
    }

    /// The set that [`to_listed_bytes`](Self::to_listed_bytes) returned. A list of longer hashes has more bytes, so
    /// that the number of bytes says how long they are.
    pub(crate) fn from_listed_bytes(bytes: &[u8]) -> Self {
        let fits = |of_hash: &usize| listed_bytes(bytes.len() / of_hash) == *of_hash;
        Self(match (3..8).find(fits).unwrap_or(8) {
            3 => Form::Short(bytes.as_chunks().0.into()),
            of_hash => Form::Long(bytes.chunks_exact(of_hash).map(unlisted).collect()),
        })
    }

    /// Whether it has no feature.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Form::Short(hashes) => hashes.is_empty(),
            Form::Decoded(hashes) => hashes.is_empty(),
            Form::Long(_) | Form::Coded(_) => false,
        }
    }

    /// Replaces the content of `hashes` by the set. `None` if it is damaged.
    pub(crate) fn decode_into(&self, hashes: &mut FeatureHashes) -> Option<()> {
        match &self.0 {
            Form::Short(listed) => hashes.replace(listed.iter().map(|hash| unlisted(hash))),
            Form::Long(listed) => hashes.replace(listed.iter().copied()),
            Form::Coded(bytes) => decode(bytes, hashes)?,
            Form::Decoded(decoded) => hashes.clone_from(decoded),
        }
        Some(())
    }

    /// The set, to compare or to store it. `None` if it is damaged.
    fn hashes(&self) -> Option<Cow<'_, FeatureHashes>> {
        if let Form::Decoded(hashes) = &self.0 {
            return Some(Cow::Borrowed(hashes));
        }
        let mut hashes = FeatureHashes::default();
        self.decode_into(&mut hashes)?;
        Some(Cow::Owned(hashes))
    }

    /// The Jaccard similarity, from 0 to 1: the size of the intersection divided by the size of the union.
    /// For two empty sets 0, because texts without features have nothing in common. `None` if one of the
    /// two is damaged.
    #[must_use]
    pub fn similarity(&self, other: &Self) -> Option<f64> {
        Some(self.hashes()?.similarity(&*other.hashes()?, 0.0).unwrap_or_default())
    }
}

impl Default for Features {
    fn default() -> Self {
        Self(Form::Short(Arc::default()))
    }
}

/// Whether both are the same set.
impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for Features {}

/// Hashes for a temporary file.
fn listed(hashes: &[u64]) -> Vec<u8> {
    let of_hash = listed_bytes(hashes.len());
    hashes.iter().flat_map(|hash| hash.to_be_bytes().into_iter().take(of_hash)).collect()
}

/// A set as FORMAT.md specifies it.
#[expect(clippy::cast_possible_truncation, reason = "takes the low bits")]
fn coded(set: &FeatureHashes) -> Vec<u8> {
    if set.is_empty() {
        return Vec::new();
    }
    let mut bytes = Vec::with_capacity(4 + set.len() * 9 / 4);
    let mut count = set.len();
    while count >= 0x80 {
        bytes.push(count as u8 | 0x80);
        count >>= 7;
    }
    bytes.push(count as u8);
    let low_bits = low_bits(set.len(), set.bits());
    let mut bits = BitWriter { bytes, buffer: 0, filled: 0 };
    let mut next = 0;
    for hash in set.as_slice() {
        let hash = hash >> (64 - set.bits());
        let gap = hash - next;
        next = hash + 1;
        let mut zeros = gap >> low_bits;
        while zeros > MOST_ZEROS {
            bits.push(0, MOST_ZEROS as u32);
            zeros -= MOST_ZEROS;
        }
        let low = gap & ((1 << low_bits) - 1);
        bits.push((low << 1 | 1) << zeros, zeros as u32 + 1 + low_bits);
    }
    bits.finish()
}

/// The number of low bits of a gap that are stored as they are, in a set of so many hashes of so many bits.
fn low_bits(count: usize, bits: u32) -> u32 {
    ((TYPICAL_GAP << (bits - LEAST_BITS)) / count.max(1) as u64).max(1).ilog2()
}

/// The zeros that are written at once: with them, a hash takes at most 32 bits in a set of up to 2^16, and 43 in any.
const MOST_ZEROS: u64 = 8;

/// Writes bits, the least significant of each byte first.
struct BitWriter {
    bytes: Vec<u8>,
    buffer: u64,
    filled: u32,
}

impl BitWriter {
    /// Appends at most 64 bits.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "takes the low half")]
    fn push(&mut self, mut value: u64, mut bits: u32) {
        if bits > 32 {
            self.push(value & u64::from(u32::MAX), 32);
            (value, bits) = (value >> 32, bits - 32);
        }
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
fn split_count(bytes: &[u8]) -> Option<(usize, &[u8])> {
    if bytes.is_empty() {
        return Some((0, bytes));
    }
    let len = 1 + bytes.iter().take(5).position(|byte| byte & 0x80 == 0)?;
    let (count, rest) = bytes.split_at(len);
    let count = count.iter().rev().fold(0, |count, byte| count << 7 | u64::from(byte & 0x7f));
    // Each hash takes a bit at least.
    (1..=8 * rest.len() as u64).contains(&count).then_some((usize::try_from(count).ok()?, rest))
}

/// Replaces the content of `hashes` by a stored set. `None` if it is damaged.
fn decode(bytes: &[u8], hashes: &mut FeatureHashes) -> Option<()> {
    let (count, bytes) = split_count(bytes)?;
    hashes.read(count, |hash_bits, hashes| {
        hashes.reserve(count);
        let low_bits = low_bits(count, hash_bits);
        let mut bits = Bits { bytes, buffer: 0, filled: 0 };
        let mut next = 0u64;
        for _ in 0..count {
            let high = u64::from(bits.zeros()?).checked_mul(1 << low_bits)?;
            let gap = high.checked_add(bits.take(low_bits)?)?;
            let hash = next.checked_add(gap).filter(|hash| hash >> hash_bits == 0)?;
            hashes.push(hash << (64 - hash_bits));
            next = hash + 1;
        }
        (bits.bytes.is_empty() && bits.filled < 8 && bits.buffer == 0).then_some(())
    })
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

    /// A number of so many bits, at most 38.
    #[inline]
    fn take(&mut self, bits: u32) -> Option<u64> {
        if self.filled < bits {
            self.fill();
        }
        self.filled = self.filled.checked_sub(bits)?;
        let value = self.buffer & ((1 << bits) - 1);
        self.buffer >>= bits;
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nearprint::internal::mix64;
    use proptest::prelude::*;

    use super::*;

    /// The set of hashes of 24 bits.
    fn of_short(hashes: &[u64]) -> Features {
        Features::of_hashes(&hashes.iter().map(|hash| hash << 40).collect::<Vec<_>>())
    }

    fn decoded(bytes: &[u8]) -> Option<FeatureHashes> {
        let mut hashes = FeatureHashes::default();
        decode(bytes, &mut hashes).map(|()| hashes)
    }

    /// The bits of FORMAT.md, one by one.
    #[expect(clippy::cast_possible_truncation, reason = "bytes")]
    fn specified(hashes: &[u64]) -> Vec<u8> {
        let distinct = |bits: u32| hashes.iter().map(|hash| hash >> (64 - bits)).collect::<BTreeSet<u64>>();
        let hash_bits = (12..=31).map(|half| 2 * half).find(|b| distinct(*b).len() <= 1 << (b / 2 - 3));
        let hash_bits = hash_bits.unwrap_or(62);
        let hashes = distinct(hash_bits);
        let (mut bytes, mut count, mut bits, mut next) = (Vec::new(), hashes.len(), Vec::new(), 0);
        while count >= 128 {
            bytes.push((count % 128 + 128) as u8);
            count /= 128;
        }
        bytes.push(count as u8);
        let fits = |low: &u32| (hashes.len() as u128) << low <= 11_629_080 << (hash_bits - 24);
        let low = (0..62).rev().find(fits).unwrap_or(0);
        for &hash in &hashes {
            let gap: u64 = hash - next;
            bits.extend(std::iter::repeat_n(0, (gap >> low) as usize));
            bits.push(1);
            bits.extend((0..low).map(|bit| gap >> bit & 1));
            next = hash + 1;
        }
        let byte = |bits: &[u64]| bits.iter().rev().fold(0, |byte, bit| byte << 1 | bit) as u8;
        bytes.extend(bits.chunks(8).map(byte));
        bytes
    }

    #[test]
    fn sets_take_few_bytes() {
        let of = |count: u64| {
            let hashes: Vec<u64> = (1..=count).map(mix64).collect();
            Features::of_hashes(&hashes).to_bytes().len()
        };
        assert_eq!([0, 1, 64, 302, 512, 1000, 3000].map(of), [0, 5, 157, 653, 1059, 2201, 7601]);
    }

    #[test]
    fn the_examples_of_the_format_are_right() {
        let format = concat!(env!("CARGO_MANIFEST_DIR"), "/../../FORMAT.md");
        let Ok(format) = std::fs::read_to_string(format) else { return };
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        let bytes = of_short(&[1, 5, 900_000]).to_bytes();
        assert!(format.contains(&format!("900,000 is `{}`", hex(&bytes))), "{bytes:?}");
        let multiples: Vec<u64> = (0..513).map(|at| at << 53).collect();
        let bytes = Features::of_hashes(&multiples).to_bytes();
        assert!(format.contains(&format!("begins with `{}`", hex(&bytes[..8]))), "{}", hex(&bytes[..8]));
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/v1/features");
        let snapshot = nearprint::Database::<u64>::open(golden).unwrap().snapshot().unwrap();
        let row = snapshot.rows().unwrap().nth(1).unwrap().unwrap();
        let stored = snapshot.keys_of(row).unwrap();
        assert_eq!(stored[0].text[17..], bytes);
    }

    #[test]
    fn hashes_that_fill_their_bits_fit() {
        for (count, first) in [(512, (1 << 24) - 512), (513, (1 << 26) - 513), (100_000, (1 << 40) - 100_000)]
        {
            let bits = bits_of(usize::try_from(count).unwrap());
            let hashes: Vec<u64> = (first..first + count).map(|hash| hash << (64 - bits)).collect();
            let set = Features::of_hashes(&hashes);
            let read = decoded(&set.to_bytes()).unwrap();
            // So dense, these are fewer hashes with fewer bits.
            assert!(read.bits() <= bits && read.as_slice().last() >= Some(&hashes[0]), "{count}");
            assert_eq!(Features::from_listed_bytes(&set.to_listed_bytes()), set);
        }
    }

    #[test]
    fn damaged_sets_are_similar_to_none() {
        let set = of_short(&[1, 5, 900_000]);
        for damaged in [&[0][..], &[3], &[1, 0, 0, 0, 0], &[0xff; 9], &[1, 0xff, 0xff, 0xff, 0xff]] {
            assert_eq!(Features::from_bytes(damaged).similarity(&set), None, "{damaged:?}");
            assert!(Features::decoded(damaged).is_none());
        }
        let longer = [set.to_bytes(), vec![0]].concat();
        assert!(decoded(&longer).is_none());
    }

    #[test]
    fn large_sets_are_stored_and_listed() {
        for count in [8192, 8193, 140_000] {
            let hashes: Vec<u64> = (0..count).map(mix64).collect();
            let set = Features::of_hashes(&hashes);
            assert!(set.to_bytes() == specified(&hashes), "{count}");
            assert!(Features::from_listed_bytes(&set.to_listed_bytes()) == set, "{count}");
            assert_eq!(Features::from_bytes(&set.to_bytes()).similarity(&set), Some(1.0));
        }
    }

    proptest! {
        #[test]
        fn sets_are_stored_as_specified(
            seed in any::<u64>(), dense in any::<u64>(), run in 0u64..300,
            count in prop_oneof![0u64..400, 500u64..530, 1000u64..1050],
        ) {
            let mixed = (0..count).map(|number| mix64(seed ^ number));
            let hashes: Vec<u64> = mixed.chain((0..run).map(|at| dense.wrapping_add(at << 38))).collect();
            let set = Features::of_hashes(&hashes);
            let bytes = set.to_bytes();
            if !hashes.is_empty() {
                prop_assert_eq!(&bytes, &specified(&hashes));
            }
            // The same bytes from all forms.
            let listed = Features::from_listed_bytes(&set.to_listed_bytes());
            prop_assert_eq!(listed.to_bytes(), &bytes[..]);
            let ready = Features::decoded(&bytes).unwrap();
            prop_assert_eq!(ready.to_bytes(), &bytes[..]);
            prop_assert_eq!(ready.is_empty(), hashes.is_empty());
            prop_assert_eq!(&Features::from_listed_bytes(&ready.to_listed_bytes()), &set);
            let similarity = set.similarity(&Features::from_bytes(&bytes));
            prop_assert_eq!(similarity, Some(if hashes.is_empty() { 0.0 } else { 1.0 }));
        }

        #[test]
        fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(hashes) = decoded(&bytes) {
                prop_assert!(hashes.as_slice().is_sorted_by(|a, b| a < b));
                prop_assert_eq!(split_count(&bytes).map(|(count, _)| count), Some(hashes.len()));
            }
        }
    }
}
