//! MinHash fingerprints: bands and a sketch.
//!
//! docs/minhash.md is the definition, with vectors.

use std::fmt;
use std::str::FromStr;

use nearprint::Fingerprint;
use nearprint::internal::mix64;
use xxhash_rust::xxh3;

use super::clean::{Clean, Cleaner};
use super::error::RecipeError;
use super::fingerprinter::Fingerprinted;
use super::parts::{MAX_SHINGLE, number};
use super::tokenize::{Tokenizer, Tokens};

/// The most rows of a band.
const MAX_ROWS: u32 = 16;
const CLEAN: Clean = Clean { html: false, nfc: true, lower: true };

/// How a fingerprint divides into bands and a sketch: `6x24` is 6 bands of 24 bits each. The other
/// bits of the fingerprint are the sketch, which stands behind the first band.
///
/// ```
/// use nearprint::U256;
/// use nearprint_text::recipe::BandLayout;
///
/// let bands: BandLayout = "6x24".parse()?;
/// assert_eq!((bands.count(), bands.bits(), bands.sketch_bits::<U256>()), (6, 24, 112));
/// # Ok::<(), nearprint_text::recipe::RecipeError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BandLayout {
    count: u32,
    bits: u32,
}

impl BandLayout {
    /// `count` bands, 1 to 32, of `bits` bits each, 8 to 32.
    ///
    /// # Errors
    /// [`RecipeError`] if one of them is outside its range.
    pub fn new(count: u32, bits: u32) -> Result<Self, RecipeError> {
        if (1..=32).contains(&count) && (8..=32).contains(&bits) {
            return Ok(Self { count, bits });
        }
        Err(RecipeError::new("bands", format!("{count}x{bits} is not 1 to 32 bands of 8 to 32 bits")))
    }

    /// The number of bands.
    #[must_use]
    pub fn count(self) -> u32 {
        self.count
    }

    /// The bits of each band.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.bits
    }

    /// The bits of the sketch; 0 if the bands take all bits of `F`, or more.
    #[must_use]
    pub fn sketch_bits<F: Fingerprint>(self) -> u32 {
        F::BITS.saturating_sub(self.count * self.bits)
    }

    /// The first bit of a band.
    fn start<F: Fingerprint>(self, band: u32) -> u32 {
        if band == 0 { 0 } else { band * self.bits + self.sketch_bits::<F>() }
    }

    /// A band of a fingerprint, from 0.
    ///
    /// # Panics
    /// If there are not as many bands.
    #[must_use]
    pub fn band<F: Fingerprint>(self, fingerprint: F, band: u32) -> u64 {
        assert!(band < self.count, "band {band} of {self}");
        fingerprint.bits(self.start::<F>(band), self.bits)
    }

    /// Whether at least one band of two fingerprints is equal.
    #[must_use]
    pub fn shares_band<F: Fingerprint>(self, a: F, b: F) -> bool {
        (0..self.count).any(|band| self.band(a, band) == self.band(b, band))
    }

    /// In how many bits the sketches of two fingerprints differ.
    #[must_use]
    pub fn sketch_distance<F: Fingerprint>(self, a: F, b: F) -> u32 {
        let sketch = F::ones(self.bits, self.sketch_bits::<F>());
        (a & sketch).distance(b & sketch)
    }

    /// The Jaccard similarity that the distance of two sketches suggests: 1 - 2 d / S for S bits,
    /// at least 0. Its standard error is 2 sqrt(S q (1 - q)) / S, with q = d / S.
    #[must_use]
    pub fn similarity<F: Fingerprint>(self, distance: u32) -> f64 {
        (1.0 - 2.0 * f64::from(distance) / f64::from(self.sketch_bits::<F>())).max(0.0)
    }

    /// The largest distance of sketches that suggests a similarity of at least `similarity`, 0 to 1.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to the bits of a sketch")]
    pub fn distance_of<F: Fingerprint>(self, similarity: f64) -> u32 {
        (f64::from(self.sketch_bits::<F>()) * (1.0 - similarity.clamp(0.0, 1.0)) / 2.0 + 1e-9) as u32
    }
}

impl fmt::Display for BandLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.count, self.bits)
    }
}

impl FromStr for BandLayout {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let parsed = text.split_once('x').and_then(|(count, bits)| {
            let number = |text| number(text, 1000).ok().and_then(|number| u32::try_from(number).ok());
            Some((number(count)?, number(bits)?))
        });
        let (count, bits) = parsed.ok_or_else(|| {
            RecipeError::new("bands", format!("expected BANDSxBITS, such as 6x24, not {text:?}"))
        })?;
        Self::new(count, bits)
    }
}

/// What a [`MinHasher`] makes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MinHashOptions {
    /// The bands. By default `6x24`.
    pub bands: BandLayout,
    /// MinHash values per band, 1 to 16. By default 2. More values make bands of less similar texts
    /// differ more often.
    pub rows: u32,
    /// Neighbouring tokens in a shingle, 1 to 1000. By default 3.
    pub shingle: usize,
    /// Whether each letter and digit is a token, instead of each word. By default `false`.
    pub characters: bool,
}

impl Default for MinHashOptions {
    fn default() -> Self {
        Self { bands: BandLayout { count: 6, bits: 24 }, rows: 2, shingle: 3, characters: false }
    }
}

/// Makes MinHash fingerprints of texts.
///
/// Texts whose sets of shingles have a Jaccard similarity of J agree in a band with a probability
/// of about J^rows, and differ in each bit of the sketch with (1 - J) / 2. Two fingerprints are near
/// if at least one band is equal, and the sketches differ in a few bits only: see [`BandLayout`].
///
/// It reuses its buffers from text to text, and needs no memory besides. Each thread needs its own;
/// cloning is cheap.
///
/// ```
/// use nearprint::U256;
/// use nearprint_text::recipe::{MinHashOptions, MinHasher};
///
/// let options = MinHashOptions::default();
/// let mut hasher = MinHasher::<U256>::new(options)?;
/// let text = |end: &str| format!("MinHash values of two sets agree as often as the sets do, {end}.");
/// let one = hasher.fingerprint(&text("in a random order")).value;
/// let other = hasher.fingerprint(&text("in any random order")).value;
/// assert!(options.bands.shares_band(one, other));
/// let distance = options.bands.sketch_distance(one, other);
/// assert!(options.bands.similarity::<U256>(distance) > 0.5);
/// # Ok::<(), nearprint_text::recipe::RecipeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MinHasher<F> {
    options: MinHashOptions,
    cleaner: Cleaner,
    tokens: Tokens,
    /// The least value of each bin, `EMPTY` in an empty one.
    bins: Vec<u64>,
    /// The same with borrowed values.
    values: Vec<u64>,
    width: std::marker::PhantomData<F>,
}

/// The value of an empty bin. No feature has it.
const EMPTY: u64 = u64::MAX;

impl<F: Fingerprint> MinHasher<F> {
    /// A hasher for fingerprints of the width of `F`.
    ///
    /// # Errors
    /// [`RecipeError`] if an option is outside its range, or if the bands leave less than 16 bits
    /// for the sketch.
    pub fn new(options: MinHashOptions) -> Result<Self, RecipeError> {
        let MinHashOptions { bands, rows, shingle, .. } = options;
        if !(1..=MAX_ROWS).contains(&rows) {
            return Err(RecipeError::new(
                "rows",
                format!("expected a number from 1 to {MAX_ROWS}, not {rows}"),
            ));
        }
        if !(1..=MAX_SHINGLE).contains(&shingle) {
            let why = format!("expected a number from 1 to {MAX_SHINGLE}, not {shingle}");
            return Err(RecipeError::new("shingle", why));
        }
        let sketch = bands.sketch_bits::<F>();
        if sketch < 16 {
            let why = format!("{bands} leaves {sketch} of {} bits for the sketch, which needs 16", F::BITS);
            return Err(RecipeError::new("bands", why));
        }
        let bins = vec![EMPTY; (bands.count * rows + sketch) as usize];
        Ok(Self {
            options,
            cleaner: Cleaner::default(),
            tokens: Tokens::default(),
            values: bins.clone(),
            bins,
            width: std::marker::PhantomData,
        })
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> MinHashOptions {
        self.options
    }

    /// The fingerprint of a text. That of a text without tokens is 0; such a text is near no other.
    pub fn fingerprint(&mut self, text: &str) -> Fingerprinted<F> {
        let MinHashOptions { shingle, characters, .. } = self.options;
        let (tokenizer, separator) =
            if characters { (Tokenizer::Char, "") } else { (Tokenizer::Unicode, " ") };
        self.tokens.clear(separator);
        self.tokens.cut(tokenizer, self.cleaner.clean(CLEAN, text));
        let num_tokens = self.tokens.len();
        if num_tokens == 0 {
            return Fingerprinted { value: F::default(), num_tokens };
        }
        // A text that is shorter than a shingle is the set of its tokens.
        let len = if num_tokens < shingle { 1 } else { shingle };
        self.bins.fill(EMPTY);
        for first in 0..=num_tokens - len {
            let (bin, value) = split(xxh3::xxh3_64(self.tokens.joined(first, len)), self.bins.len());
            self.bins[bin] = self.bins[bin].min(value);
        }
        self.fill_empty();
        Fingerprinted { value: self.assembled(), num_tokens }
    }

    /// Each empty bin borrows the value of another one.
    fn fill_empty(&mut self) {
        for bin in 0..self.bins.len() {
            let (mut source, mut attempt) = (bin, 0);
            while self.bins[source] == EMPTY {
                attempt += 1;
                (source, _) = split(mix64((bin as u64) << 32 | attempt), self.bins.len());
            }
            self.values[bin] = self.bins[source];
        }
    }

    fn assembled(&self) -> F {
        let MinHashOptions { bands, rows, .. } = self.options;
        let (in_bands, in_sketch) = self.values.split_at((bands.count * rows) as usize);
        let mut fingerprint = F::default();
        for (band, values) in (0..).zip(in_bands.chunks(rows as usize)) {
            let hash = values.iter().fold(u64::from(band), |hash, value| mix64(hash ^ value));
            fingerprint =
                fingerprint | F::from_bits(hash >> (64 - bands.bits), bands.start::<F>(band), bands.bits);
        }
        for (at, value) in (0..).zip(in_sketch) {
            let bit = mix64(value ^ mix64(u64::from(at))) >> 63;
            fingerprint = fingerprint | F::from_bits(bit, bands.bits + at, 1);
        }
        fingerprint
    }
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
    use super::*;
    use nearprint::{Printed, U256};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn hash<F: Fingerprint>(options: MinHashOptions, text: &str) -> F {
        MinHasher::new(options).unwrap().fingerprint(text).value
    }

    /// The definition of docs/minhash.md, step by step, for texts that are clean already.
    #[expect(clippy::cast_possible_truncation, reason = "small numbers, and low words")]
    fn defined<F: Fingerprint>(options: MinHashOptions, text: &str) -> F {
        let MinHashOptions { bands, rows, shingle, characters } = options;
        let (tokens, separator): (Vec<&str>, _) = match characters {
            true => (text.split("").filter(|c| !c.trim().is_empty()).collect(), ""),
            false => (text.split_whitespace().collect(), " "),
        };
        let len = if tokens.len() < shingle { 1 } else { shingle };
        let features: BTreeSet<String> = tokens.windows(len).map(|tokens| tokens.join(separator)).collect();
        let sketch = F::BITS - bands.count() * bands.bits();
        let bins = u128::from(bands.count() * rows + sketch);
        let least = |bin: u128| {
            let products =
                features.iter().map(|feature| u128::from(xxh3::xxh3_64(feature.as_bytes())) * bins);
            products
                .filter(|product| product >> 64 == bin)
                .map(|product| (product % (1 << 64)).min(u128::from(u64::MAX - 1)))
                .min()
        };
        let value = |bin: u128| {
            let others = (1..).map(|attempt| (u128::from(mix64((bin as u64) << 32 | attempt)) * bins) >> 64);
            std::iter::once(bin).chain(others).find_map(least).unwrap() as u64
        };
        let mut bits = String::new();
        let band = |band: u32| {
            let first = u128::from(band * rows);
            let values = (first..first + u128::from(rows)).map(value);
            let hash = values.fold(u64::from(band), |hash, value| mix64(hash ^ value));
            format!("{hash:064b}")[..bands.bits() as usize].to_string()
        };
        bits += &band(0);
        for at in 0..sketch {
            let value = value(u128::from(bands.count() * rows + at));
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
            let bands = BandLayout::new(count, bits).unwrap();
            let options = MinHashOptions { bands, rows, shingle, characters };
            prop_assert_eq!(hash::<U256>(options, &text), defined(options, &text));
            if bands.sketch_bits::<u128>() >= 16 {
                prop_assert_eq!(hash::<u128>(options, &text), defined(options, &text));
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
            let [options, text, fingerprint] = row.split("` | `").collect::<Vec<_>>()[..] else { continue };
            let mut words = options.split(' ');
            let mut next = || words.next().unwrap().split_once('=').unwrap().1.to_string();
            let (width, bands) = (next(), next().parse().unwrap());
            let rows = next().parse().unwrap();
            let (shingle, characters) = (next().parse().unwrap(), next() == "char");
            let options = MinHashOptions { bands, rows, shingle, characters };
            let text: String = serde_json::from_str(&format!("\"{text}\"")).unwrap();
            let found = match width.as_str() {
                "128" => Printed(hash::<u128>(options, &text)).to_string(),
                _ => Printed(hash::<U256>(options, &text)).to_string(),
            };
            assert_eq!(found, fingerprint, "{row}");
            seen += 1;
        }
        assert_eq!(seen, 10);
    }

    /// Sets of words with a known similarity.
    #[test]
    fn bands_and_sketches_agree_as_often_as_their_theory_says() {
        let options = MinHashOptions { shingle: 1, ..MinHashOptions::default() };
        let mut hasher = MinHasher::<U256>::new(options).unwrap();
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
                bands += (0..6).filter(|&at| options.bands.band(a, at) == options.bands.band(b, at)).count();
                bits += options.bands.sketch_distance(a, b);
            }
            let bands = bands as f64 / f64::from(6 * PAIRS);
            let bits = f64::from(bits) / f64::from(112 * PAIRS);
            assert!((bands - similarity * similarity).abs() < 0.04, "{similarity}: {bands}");
            assert!((bits - (1.0 - similarity) / 2.0).abs() < 0.01, "{similarity}: {bits}");
        }
    }

    #[test]
    fn short_and_empty_texts_have_their_own_rule() {
        let options = MinHashOptions::default();
        let mut hasher = MinHasher::<U256>::new(options).unwrap();
        for text in ["", "!!!", " \n"] {
            assert_eq!(hasher.fingerprint(text), Fingerprinted { value: U256::default(), num_tokens: 0 });
        }
        let [one, two, same] = ["one", "two", "ONE!"].map(|text| hasher.fingerprint(text).value);
        assert!(one == same && !options.bands.shares_band(one, two) && one != U256::default());
        // Of two tokens, one is common.
        let [a, b] = ["near duplicates", "exact duplicates"].map(|text| hasher.fingerprint(text).value);
        let distance = options.bands.sketch_distance(a, b);
        assert!((18..=56).contains(&distance), "{distance}");
    }

    #[test]
    fn options_outside_their_range_are_named() {
        let part = |options| MinHasher::<u128>::new(options).unwrap_err().part().to_string();
        let options = MinHashOptions { bands: "4x24".parse().unwrap(), ..MinHashOptions::default() };
        assert_eq!(part(MinHashOptions { rows: 0, ..options }), "rows");
        assert_eq!(part(MinHashOptions { shingle: 1001, ..options }), "shingle");
        assert_eq!(part(MinHashOptions::default()), "bands");
        for text in ["", "6", "6x", "x24", "0x24", "33x8", "6x7", "6x33", "+6x24", "6x24x1"] {
            assert_eq!(text.parse::<BandLayout>().unwrap_err().part(), "bands", "{text}");
        }
    }

    #[test]
    fn similarities_become_distances_and_back() {
        let bands: BandLayout = "6x24".parse().unwrap();
        assert_eq!(bands.to_string(), "6x24");
        assert_eq!([0.0, 0.5, 0.9, 1.0].map(|s| bands.distance_of::<U256>(s)), [56, 28, 5, 0]);
        assert_eq!([0, 28, 56, 112].map(|d| bands.similarity::<U256>(d)), [1.0, 0.5, 0.0, 0.0]);
    }
}
