//! MinHash fingerprints: bands and a sketch.
//!
//! docs/minhash.md is the definition, with vectors.

use nearprint::any::AnyFingerprint;
use nearprint::internal::mix64;
use nearprint::{BandLayout, Fingerprint, U256, U320, Width};

/// The value of an empty bin. No feature has it.
const EMPTY: u64 = u64::MAX;

/// Attempts of empty bins to borrow that are looked up, not computed.
const LISTED: usize = 8;

/// Makes a fingerprint of a set of hashes by one permutation hashing (Li, Owen, Zhang 2012), with
/// optimal densification (Shrivastava 2017) and 1-bit minwise hashing (Li and Koenig 2010).
///
/// Sets with a Jaccard similarity of J agree in a band with a probability of about J^rows, and
/// differ in each bit of the sketch with (1 - J) / 2.
#[derive(Clone, Debug)]
pub(super) struct MinHash {
    bands: BandLayout,
    rows: usize,
    in_bands: Bins,
    in_sketch: Bins,
}

impl MinHash {
    pub(super) fn new(bands: BandLayout, rows: u32, width: u32) -> Self {
        let (values, sketch) = (bands.count() * rows, width - bands.count() * bands.bits());
        let (in_bands, in_sketch) = (Bins::new(0, values), Bins::new(values, sketch));
        Self { bands, rows: rows as usize, in_bands, in_sketch }
    }

    /// The fingerprint of a set of features, by their hashes; 0 if there are none.
    ///
    /// Bands have bins of their own, which are few: so a short text fills most of them, and its bands
    /// depend little on each other.
    pub(super) fn fingerprint(&mut self, hashes: &[u64], width: Width) -> AnyFingerprint {
        if hashes.is_empty() {
            return AnyFingerprint::new(width, &[]);
        }
        let Self { in_bands, in_sketch, .. } = self;
        in_bands.fill(hashes.iter().map(|hash| hash.rotate_left(32)));
        in_sketch.fill(hashes.iter().copied());
        match width {
            Width::W64 => self.assembled::<u64>().into(),
            Width::W128 => self.assembled::<u128>().into(),
            Width::W256 => self.assembled::<U256>().into(),
            Width::W320 => self.assembled::<U320>().into(),
        }
    }

    fn assembled<F: Fingerprint>(&self) -> F {
        let top = 64 - self.bands.bits();
        let band = |(band, values): (u64, &[u64])| {
            values.iter().fold(band, |hash, value| mix64(hash ^ value)) >> top
        };
        let bit = |(at, value): (u64, &u64)| mix64(value ^ mix64(at)) >> 63 == 1;
        let in_bands = (0..).zip(self.in_bands.values.chunks(self.rows));
        self.bands.assemble(in_bands.map(band), (0..).zip(&self.in_sketch.values).map(bit))
    }
}

/// Bins of features, each with the least value of its features.
#[derive(Clone, Debug)]
struct Bins {
    /// The number of the first one, among all bins.
    first: u32,
    /// `EMPTY` in an empty one.
    least: Vec<u64>,
    /// The same with borrowed values.
    values: Vec<u64>,
    /// Scratch space for the indexes of empty bins.
    empty: Vec<u32>,
    /// For each of the first attempts, the bin that each bin borrows from.
    sources: Vec<Vec<u16>>,
}

impl Bins {
    #[expect(clippy::cast_possible_truncation, reason = "there are a few hundred bins")]
    fn new(first: u32, count: u32) -> Self {
        let source = |bin, attempt| source(first + bin, attempt, count as usize) as u16;
        let sources = (1..=LISTED).map(|attempt| (0..count).map(|bin| source(bin, attempt)).collect());
        let none = vec![EMPTY; count as usize];
        Self {
            first,
            values: none.clone(),
            empty: vec![0; none.len()],
            sources: sources.collect(),
            least: none,
        }
    }

    /// Replaces the values by the values of some hashes, at least one.
    #[inline]
    fn fill(&mut self, hashes: impl Iterator<Item = u64>) {
        self.least.fill(EMPTY);
        for hash in hashes {
            let (bin, value) = split(hash, self.least.len());
            self.least[bin] = self.least[bin].min(value);
        }
        self.fill_empty();
    }

    /// Each empty bin borrows the value of another one: of the first in a sequence of its own that is
    /// not empty. All empty bins take a step of theirs at a time.
    fn fill_empty(&mut self) {
        let Self { first, least, values, empty, sources } = self;
        values.copy_from_slice(least);
        let mut left = 0;
        for (bin, &value) in (0u32..).zip(&*least) {
            empty[left] = bin;
            left += usize::from(value == EMPTY);
        }
        for sources in &*sources {
            left = borrow(least, values, &mut empty[..left], |bin| sources[bin as usize].into());
        }
        let mut attempt = LISTED;
        while left > 0 {
            attempt += 1;
            let source = |bin| source(*first + bin, attempt, least.len());
            left = borrow(least, values, &mut empty[..left], source);
        }
    }
}

/// The bin that an empty one borrows from at an attempt, counted from 1.
fn source(bin: u32, attempt: usize, bins: usize) -> usize {
    split(mix64(u64::from(bin) << 32 | attempt as u64), bins).0
}

/// Lets empty bins borrow, and moves those to the front that are still empty. Returns their number.
///
/// Whether one still is, is random, and decides nothing that the processor would have to predict.
#[inline]
fn borrow(bins: &[u64], values: &mut [u64], empty: &mut [u32], source: impl Fn(u32) -> usize) -> usize {
    let mut left = 0;
    for at in 0..empty.len() {
        let bin = empty[at];
        let borrowed = bins[source(bin)];
        values[bin as usize] = borrowed;
        empty[left] = bin;
        left += usize::from(borrowed == EMPTY);
    }
    left
}

/// The bin of a hash, and its value there: the high and the low word of its product with the number
/// of bins. The largest value counts as the one before.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "takes the low word; the high one is below the number")]
fn split(hash: u64, bins: usize) -> (usize, u64) {
    let product = u128::from(hash) * bins as u128;
    ((product >> 64) as usize, (product as u64).min(EMPTY - 1))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nearprint::Printed;
    use proptest::prelude::*;
    use xxhash_rust::xxh3::xxh3_64;

    use super::*;
    use crate::recipe::Recipe;

    fn hash<F: Fingerprint>(recipe: &str, text: &str) -> F {
        recipe.parse::<Recipe>().unwrap().fingerprinter().unwrap().fingerprint(text).value
    }

    /// The definition of docs/minhash.md, step by step, from the set of features.
    #[expect(clippy::cast_possible_truncation, reason = "small numbers, and low words")]
    fn defined<F: Fingerprint>(bands: BandLayout, rows: u32, features: &BTreeSet<String>) -> F {
        let sketch = F::BITS - bands.count() * bands.bits();
        let in_bands = bands.count() * rows;
        // A bin, counted from the first one of a sketch or of bands, which has the number `first`.
        let value = |first: u32, count: u32, bin: u32| {
            let count = u128::from(count);
            let hash = |feature: &String| {
                let hash = xxh3_64(feature.as_bytes());
                u128::from(if first == 0 { hash.rotate_left(32) } else { hash })
            };
            let least = |bin: u128| {
                let products = features.iter().map(|feature| hash(feature) * count);
                let in_bin = products.filter(|product| product >> 64 == bin);
                in_bin.map(|product| (product % (1 << 64)).min(u128::from(u64::MAX - 1))).min()
            };
            let number = u64::from(first + bin);
            let others = (1..).map(|attempt| (u128::from(mix64(number << 32 | attempt)) * count) >> 64);
            std::iter::once(u128::from(bin)).chain(others).find_map(least).unwrap() as u64
        };
        let mut bits = String::new();
        let band = |band: u32| {
            let values = (band * rows..(band + 1) * rows).map(|bin| value(0, in_bands, bin));
            let hash = values.fold(u64::from(band), |hash, value| mix64(hash ^ value));
            format!("{hash:064b}")[..bands.bits() as usize].to_string()
        };
        bits += &band(0);
        for at in 0..sketch {
            let value = value(in_bands, sketch, at);
            bits += if mix64(value ^ mix64(u64::from(at))) >> 63 == 1 { "1" } else { "0" };
        }
        (1..bands.count()).for_each(|number| bits += &band(number));
        let bit = |(at, digit): (usize, char)| F::from_bits(u64::from(digit == '1'), at as u32, 1);
        bits.chars().enumerate().map(bit).fold(F::default(), |all, bit| all | bit)
    }

    proptest! {
        #[test]
        fn fingerprints_are_as_defined(
            text in "([a-d]{1,2} ){1,40}", count in 1u32..=6, bits in 8u32..=24, rows in 1u32..=4,
            shingle in 1usize..=5, characters: bool,
        ) {
            let (tokens, separator): (Vec<&str>, _) = match characters {
                true => (text.split("").filter(|c| !c.trim().is_empty()).collect(), ""),
                false => (text.split_whitespace().collect(), " "),
            };
            let len = if tokens.len() < shingle { 1 } else { shingle };
            let features = tokens.windows(len).map(|tokens| tokens.join(separator)).collect();
            let how = if characters { "tokens=char join=nothing" } else { "tokens=words join=space" };
            let recipe = format!("minhash hash=minhash:{count}x{bits},{rows} shingle={shingle} {how}");
            let bands = BandLayout::new(count, bits).unwrap();
            prop_assert_eq!(hash::<U256>(&recipe, &text), defined(bands, rows, &features));
            if bands.check(nearprint::Width::W128).is_ok() {
                let narrow = format!("{recipe} width=128");
                prop_assert_eq!(hash::<u128>(&narrow, &text), defined(bands, rows, &features));
            }
        }
    }

    #[test]
    fn fingerprints_equal_the_vectors_in_the_documentation() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/minhash.md");
        let document = std::fs::read_to_string(document).unwrap();
        let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix("` |"));
        let mut seen = 0;
        for row in rows {
            let [recipe, text, fingerprint] = row.split("` | `").collect::<Vec<_>>()[..] else { continue };
            if !fingerprint.starts_with("0x") {
                continue;
            }
            let text: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            let found = match recipe.ends_with("width=128") {
                true => Printed(hash::<u128>(recipe, &text)).to_string(),
                false => Printed(hash::<U256>(recipe, &text)).to_string(),
            };
            assert_eq!(found, fingerprint, "{row}");
            seen += 1;
        }
        assert_eq!(seen, 14);
    }

    /// Sets of words with a known similarity.
    #[test]
    fn bands_and_sketches_agree_as_often_as_their_theory_says() {
        let recipe: Recipe = "minhash shingle=1".parse().unwrap();
        let (mut hasher, layout) = (recipe.fingerprinter::<U256>().unwrap(), recipe.bands().unwrap());
        let (count, sketch) = (layout.count(), layout.sketch_bits(recipe.width()));
        for (common, similarity) in [(180, 0.9), (100, 0.5), (30, 0.15)] {
            let (mut bands, mut bits) = (0, 0);
            const PAIRS: u32 = 400;
            for pair in 0..PAIRS {
                // Both have all common words, and half of the others each.
                let text = |side: u32| -> String {
                    let own = (0..100 - common / 2).map(|word| format!("own{pair}x{side}x{word} "));
                    (0..common).map(|word| format!("common{pair}x{word} ")).chain(own).collect()
                };
                let [a, b] = [0, 1].map(|side| hasher.fingerprint(&text(side)).value);
                bands += (0..count).filter(|&at| layout.band(a, at) == layout.band(b, at)).count();
                bits += layout.sketch_distance(a, b);
            }
            let bands = bands as f64 / f64::from(count * PAIRS);
            let bits = f64::from(bits) / f64::from(sketch * PAIRS);
            assert!((bands - similarity * similarity).abs() < 0.04, "{similarity}: {bands}");
            assert!((bits - (1.0 - similarity) / 2.0).abs() < 0.01, "{similarity}: {bits}");
        }
    }

    #[test]
    fn short_and_empty_texts_have_their_own_rule() {
        for text in ["", "!!!", " \n"] {
            assert_eq!(hash::<U256>("minhash", text), U256::default());
        }
        assert_eq!(hash::<U256>("minhash short=none", "two words"), U256::default());
        let [one, two, same] = ["one", "two", "ONE!"].map(|text| hash::<U256>("minhash", text));
        let bands = "minhash".parse::<Recipe>().unwrap().bands().unwrap();
        assert!(one == same && !bands.shares_band(one, two) && one != U256::default());
        // Of two tokens, one is common.
        let [a, b] = ["near duplicates", "exact duplicates"].map(|text| hash::<U256>("minhash", text));
        assert!((20..=60).contains(&bands.sketch_distance(a, b)));
    }
}
