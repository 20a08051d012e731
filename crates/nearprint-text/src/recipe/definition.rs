//! How a text becomes a fingerprint, as a value with a stable text form.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::candidates::Candidates;
use super::clean::{Clean, Cleaner, Html};
use super::error::RecipeError;
use super::html::html_text;
use super::marker::Marker;
use super::named::NAMED;
use super::parts::{
    HashFunction, JOINS, SHORT, TOKENIZERS, WIDTHS, Weights, choice, millionths, name_of, parse_clean,
    parse_hash, parse_shingle, parse_weights,
};
use super::shingle::{Join, Short, Window};
use super::stop_words::StopWords;
use super::tokenize::Tokenizer;
use nearprint::any::AnyFingerprint;
use nearprint::{BandLayout, KeyStorage, LayoutChoice, Near, Schema, Width};

/// The distance of near-duplicates by a simhash, in bits.
const DEFAULT_K: u32 = 3;
/// The Jaccard similarity of near-duplicates by MinHash: The Stack, FineWeb, RefinedWeb and NeMo have
/// limits of 0.7 to 0.8.
pub const DEFAULT_SIMILARITY: f64 = 0.7;

/// The parts, in the order of the line and of their application.
const PARTS: [&str; 10] =
    ["clean", "tokens", "stop", "shingle", "join", "short", "weights", "hash", "width", "near"];

/// How a text becomes a fingerprint.
///
/// [`Display`](fmt::Display) prints a recipe as one line, and `parse` reads it. A line denotes the
/// same fingerprints in all versions. Recipes that compute the same have the same line and are
/// equal: a part without effect is set to a fixed value.
///
/// | part | values |
/// |---|---|
/// | `clean` | `none`, or some of `cut:TEXT` (the text before the first TEXT, see below), `html` (the visible text), or `detect-html` (the visible text of a text that begins with `<!doctype html` or `<html`), `nfc` or `nfkc` (Unicode normalization; `nfkc` also makes compatible characters equal), `harakat` (removes the vowel marks of Arabic), `tatweel` (removes U+0640), `lower`, separated by commas |
/// | `tokens` | `non-alpha` (runs of ASCII letters), `words` (`\w+`; each character of scripts without spaces between words, and of Hangul), `word` (`\w+` as in Python, without marks), `whitespace`, `space` (split at each single space), `char` (each letter and digit), `jieba` (Chinese words) |
/// | `stop` | `none`, or `english`: NLTK's list of lower-case stop words; or `list:` and words with commas between them, up to 3,800 bytes. They are dropped before shingling |
/// | `shingle` | the number of neighbouring tokens in a feature, 1 to 1000; `A,B` for A tokens from a word on, and B from a single character on; `A,B-C` for all numbers from B to C from a single character on; or `all`: the whole text is one feature, so only texts with the same tokens have near fingerprints |
/// | `join` | `space`, `nothing`, or `cyclic`: a rolling hash over the hashes of the tokens, from the first token on |
/// | `short` | a text with fewer tokens than any shingle is `one` feature, has `none`, or its `tokens` are the features |
/// | `weights` | `frequency`: a feature counts as often as it occurs; `one`: once; `tfidf:K`: the K words of highest TF-IDF, weighted by it (with `jieba` and its table) |
/// | `hash` | `xxh3`, `md5-be64` (the first 8 bytes), `md5:B` (the lowest B bits, 1 to 128), `jenkins` (lookup3), `minhash:BxN,R` (no simhash, but B bands of N bits with R MinHash values each, and a sketch) |
/// | `width` | the bits of a fingerprint: 64, 128, 256 or 320, as far as the hash supports them |
/// | `near` | with `minhash`, the Jaccard similarity from which texts are near-duplicates: 0 to 1 with up to six digits after the point. Not printed if it is 0.7. Without a `hash`, it chooses the bands |
///
/// `clean=cut:TEXT` ends each text at the first TEXT. A text that begins with it is empty, and one without it is whole.
/// TEXT is looked for in the text as it is read; in HTML, then also in the visible text, as
/// [`html_text`](super::html_text) writes it. Bytes are compared, before Unicode normalization and lower case. In the
/// line, a space of TEXT is `%20`, a comma `%2C`, a percent sign `%25`: `%` and two hexadecimal digits stand for a byte of
/// UTF-8. All white space has to be written so. A printed line also has `=`, `'` and control characters in this form.
///
/// A text without features has the fingerprint 0; [`Fingerprinted`](super::Fingerprinted) says what it
/// can be compared with.
///
/// `parse` accepts a [name](Recipe::names), [parts](Recipe::of_parts), or a name and parts that
/// override it:
///
/// ```
/// use nearprint_text::recipe::Recipe;
///
/// let recipe: Recipe = "notebook hash=md5:8".parse()?;
/// assert_eq!(
///     recipe.to_string(),
///     "clean=lower tokens=word stop=english shingle=1 join=space short=one weights=frequency \
///      hash=md5:8 width=64"
/// );
/// let mut fingerprinter = recipe.fingerprinter::<u64>()?;
/// let text = "Tropical fish include fish found in tropical environments around the world, including \
///             both freshwater and salt water species.";
/// assert_eq!(fingerprinter.fingerprint(text).value, 165);
/// # Ok::<(), nearprint_text::recipe::RecipeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recipe {
    /// Ends texts before they are cleaned, and those without their HTML: a part of `clean`.
    pub(super) marker: Option<Marker>,
    pub(super) clean: Clean,
    pub(super) tokens: Tokenizer,
    pub(super) stop: StopWords,
    pub(super) window: Window,
    pub(super) weights: Weights,
    pub(super) hash: HashFunction,
    width: Width,
    /// The least similarity of near-duplicates, in millionths.
    near: u32,
}

/// The most bytes of a line with a marker: a database stores 4,096 of a recipe, and a similarity may be added to it.
const MAX_LINE_BYTES: usize = 4000;

/// The millionths of [`DEFAULT_SIMILARITY`].
const DEFAULT_NEAR: u32 = 700_000;

impl Recipe {
    /// The name of the default recipe.
    pub const DEFAULT: &'static str = NAMED[0].0;

    /// The names of recipes, the default first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.into_iter().map(|(name, _)| name)
    }

    /// The names of the parts of a recipe.
    pub fn part_names() -> impl Iterator<Item = &'static str> {
        PARTS.into_iter()
    }

    /// The recipe of some parts, each a pair of name and value. The other parts are taken from
    /// `minhash`, or from `simhash` if one of the parts is for that alone: `weights`, another `hash` than `minhash`, a
    /// `width` of 64 or 128, `join=cyclic`.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, RecipeError> {
        let parts: Vec<(&str, &str)> = parts.into_iter().collect();
        let makes_minhash = |&(part, value): &(&str, &str)| part == "hash" && value.starts_with("minhash:");
        let is_of_simhash = |&(part, value): &(&str, &str)| {
            matches!((part, value), ("weights" | "hash", _) | ("width", "64" | "128") | ("join", "cyclic"))
        };
        let is_simhash = parts.iter().any(is_of_simhash) && !parts.iter().any(makes_minhash);
        Self::named(if is_simhash { "simhash" } else { Self::DEFAULT })?.with(parts)
    }

    /// The parts of a line that begins with none of the names: of what they replace parts is for others to say. `None`
    /// if it begins with a name.
    ///
    /// # Errors
    /// [`RecipeError`] for a word that is no pair of the name of a part and a value.
    pub fn parts_alone(line: &str) -> Result<Option<Vec<(&str, &str)>>, RecipeError> {
        let has_name = line.split_whitespace().next().is_none_or(|first| !first.contains('='));
        if has_name {
            return Ok(None);
        }
        let parts = pairs(line)?;
        match parts.iter().find(|(name, _)| !PARTS.contains(name)) {
            Some((name, _)) => Err(unknown(name)),
            None => Ok(Some(parts)),
        }
    }

    /// The recipe with some parts replaced, each a pair of name and value. A `hash` that does not
    /// support the width changes it, unless `width` is among the parts.
    ///
    /// # Errors
    /// [`RecipeError`] if a part is unknown or repeated, has an invalid value, or conflicts with
    /// another one.
    pub fn with<'a>(&self, parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, RecipeError> {
        let mut values = [None; PARTS.len()];
        for (name, value) in parts {
            let at = PARTS.iter().position(|part| *part == name).ok_or_else(|| unknown(name))?;
            if values[at].replace(value).is_some() {
                return Err(RecipeError::new(PARTS[at], "given twice"));
            }
        }
        let mut recipe = self.clone();
        let follows = self.bands_follow_similarity() && values[PARTS.len() - 3].is_none();
        for (part, value) in PARTS.into_iter().zip(values) {
            if let Some(value) = value {
                recipe.set(part, value).map_err(|why| RecipeError::new(part, why))?;
            }
        }
        if recipe.bands().is_none() && values[PARTS.len() - 1].is_none() {
            recipe.near = DEFAULT_NEAR;
        }
        let chosen = HashFunction::for_similarity(recipe.near_similarity());
        if follows && (values[PARTS.len() - 2].is_none() || recipe.width == chosen.default_width()) {
            recipe.follow_similarity();
        }
        recipe.checked()
    }

    /// Whether its least similarity chooses these bands.
    fn bands_follow_similarity(&self) -> bool {
        self.hash == HashFunction::for_similarity(self.near_similarity())
            && self.width == self.hash.default_width()
    }

    /// Lets its least similarity choose the bands, and these the width.
    fn follow_similarity(&mut self) {
        self.hash = HashFunction::for_similarity(self.near_similarity());
        self.width = self.hash.default_width();
    }

    /// The width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        self.width
    }

    /// The bands of the fingerprints, if it makes MinHash values. A database of such fingerprints
    /// needs a layout of these bands.
    #[must_use]
    pub fn bands(&self) -> Option<BandLayout> {
        match self.hash {
            HashFunction::MinHash { bands, .. } => Some(bands),
            _ => None,
        }
    }

    /// The least Jaccard similarity of near-duplicates, for MinHash.
    #[must_use]
    pub fn near_similarity(&self) -> f64 {
        f64::from(self.near) / 1e6
    }

    /// The recipe with another [least similarity](Self::near_similarity), from 0 to 1. Six digits after the
    /// point count. Its bands change too, if `near` has chosen them.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to a million")]
    pub fn with_similarity(&self, similarity: f64) -> Self {
        let near = (similarity.clamp(0.0, 1.0) * 1e6).round() as u32;
        let mut recipe = Self { near, ..self.clone() };
        if self.bands_follow_similarity() {
            recipe.follow_similarity();
        }
        recipe
    }

    /// Whether both recipes make the same fingerprints.
    #[must_use]
    pub fn makes_fingerprints_of(&self, other: &Self) -> bool {
        Self { near: other.near, ..self.clone() } == *other
    }

    /// Whether both recipes are the same, but for their least similarity and the bands that follow it.
    #[must_use]
    pub fn is_same_but_for_similarity(&self, other: &Self) -> bool {
        let similarity = other.near_similarity();
        self.with_similarity(similarity) == *other || self.makes_fingerprints_of(other)
    }

    /// The pairs that an exact search for pairs with a Jaccard similarity of `least` or more compares, for MinHash.
    #[must_use]
    pub fn candidates(&self, least: f64) -> Option<Candidates> {
        Candidates::new(self.hash, self.width, least)
    }

    /// The largest distance of near-duplicates, unless another one is given: 3 bits; for MinHash the
    /// distance of sketches that stands for the [least similarity](Self::near_similarity); 0 if a text is
    /// one feature.
    #[must_use]
    pub fn default_k(&self) -> u32 {
        if self.window.len == Window::WHOLE_TEXT {
            return 0;
        }
        self.bands().map_or(DEFAULT_K, |bands| bands.distance_of(self.width(), self.near_similarity()))
    }

    /// When fingerprints of this recipe are near within `k` bits.
    #[must_use]
    pub fn near(&self, k: u32) -> Near {
        Near { k, bands: self.bands() }
    }

    /// The distance of two fingerprints of this recipe, near or not. For MinHash this is the distance
    /// of their sketches.
    #[must_use]
    pub fn distance(&self, a: impl Into<AnyFingerprint>, b: impl Into<AnyFingerprint>) -> u32 {
        let (a, b) = (a.into(), b.into());
        self.bands().map_or_else(|| a.distance(b), |bands| a.sketch_distance(b, bands))
    }

    /// The similarity that a distance of two fingerprints of this recipe suggests, from 0 to 1: for
    /// MinHash the Jaccard similarity, see [`BandLayout::similarity`]; for simhash the cosine of the angle
    /// between the weighted features, cos(pi d / W) at a distance of d of W bits (Charikar,
    /// "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002); if a text is one feature,
    /// 1 for equal fingerprints and 0 for others.
    #[must_use]
    pub fn similarity(&self, distance: u32) -> f64 {
        if let Some(bands) = self.bands() {
            return bands.similarity(self.width(), distance);
        }
        if self.window.len == Window::WHOLE_TEXT {
            return if distance == 0 { 1.0 } else { 0.0 };
        }
        (std::f64::consts::PI * f64::from(distance) / f64::from(self.compared_bits())).cos().max(0.0)
    }

    /// How many bits of two fingerprints are compared, which is the largest distance: the width; for
    /// MinHash the bits of the sketch; for `md5:B` B.
    #[must_use]
    pub fn compared_bits(&self) -> u32 {
        match self.hash {
            HashFunction::Md5 { bits } => bits,
            HashFunction::MinHash { bands, .. } => bands.sketch_bits(self.width),
            _ => self.width.bits(),
        }
    }

    /// Refuses another width than that of this recipe.
    pub(crate) fn check_width(&self, width: Width) -> Result<(), RecipeError> {
        if self.width() == width {
            return Ok(());
        }
        let why = format!("{} bits, but fingerprints of {width} bits are wanted", self.width());
        Err(RecipeError::new("width", why))
    }

    /// Returns `k` if it is a distance of fingerprints of this recipe.
    ///
    /// # Errors
    /// [`Distance`](nearprint::Error::Distance) if it exceeds the [compared bits](Self::compared_bits).
    pub fn check_distance(&self, k: u32) -> Result<u32, nearprint::Error> {
        let most = self.compared_bits();
        if k <= most { Ok(k) } else { Err(nearprint::Error::Distance { k, width: most }) }
    }

    /// The part of a text that [measures of texts](crate::dedup::Similarity::of_texts) compare by this recipe: up to
    /// the text of `cut`, without HTML if the recipe takes all texts for HTML, and after the steps `nfkc`, `harakat` and
    /// `tatweel`. These measures find pages and ignore letter case by themselves.
    #[must_use]
    pub fn as_read<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let marker = self.marker.as_ref();
        let text = marker.map_or(text, |marker| marker.cut(text));
        let is_html = self.clean.html == Html::All || marker.is_some() && self.clean.html.has(text);
        let text: Cow<'a, str> = if is_html { html_text(text).into() } else { text.into() };
        let text = match (marker, text) {
            (Some(marker), Cow::Owned(visible)) => marker.cut(&visible).to_string().into(),
            (_, text) => text,
        };
        let steps = Clean { html: Html::None, nfc: false, lower: false, ..self.clean };
        if steps == Clean::default() {
            return text;
        }
        Cleaner::default().clean(steps, &text).to_string().into()
    }

    /// The settings of a database of its documents, as [`Deduplicator::open`](crate::dedup::Deduplicator::open) makes
    /// it: the recipe, its default distance, for MinHash the layout of its bands, and keys. Beside the keys are sets of
    /// features for MinHash, by which similarities are exact, and otherwise hashes of texts. For fingerprints alone,
    /// set [`KeyStorage::None`].
    #[must_use]
    pub fn schema(&self) -> Schema {
        let (layout, keys) = match self.bands() {
            Some(bands) => (LayoutChoice::Bands(bands), KeyStorage::KeysAndFeatures),
            None => (LayoutChoice::Auto, KeyStorage::KeysAndHashes),
        };
        Schema::new().k(self.default_k()).layout(layout).keys(keys).recipe(self.to_string())
    }

    fn set(&mut self, part: &str, value: &str) -> Result<(), String> {
        match part {
            "clean" => (self.marker, self.clean) = parse_clean(value)?,
            "tokens" => self.tokens = choice(&TOKENIZERS, value)?,
            "stop" => self.stop = StopWords::parse(value)?,
            "shingle" => {
                let window = &mut self.window;
                (window.len, (window.single_shortest, window.single_len)) = parse_shingle(value)?;
            }
            "join" => self.window.join = choice(&JOINS, value)?,
            "short" => self.window.short = choice(&SHORT, value)?,
            "weights" => self.weights = parse_weights(value)?,
            "hash" => {
                let is_default = self.width == self.hash.default_width();
                self.hash = parse_hash(value)?;
                if is_default || !self.hash.makes(self.width) {
                    self.width = self.hash.default_width();
                }
            }
            "width" => self.width = choice(&WIDTHS, value)?,
            _ => self.near = millionths(value)?,
        }
        Ok(())
    }

    /// Checks conflicts between parts, and sets parts without effect to fixed values.
    fn checked(mut self) -> Result<Self, RecipeError> {
        let refuse = |part, why: String| Err(RecipeError::new(part, why));
        if self.marker.is_some() && self.to_string().len() > MAX_LINE_BYTES {
            return refuse(
                "clean",
                format!("the recipe takes more than {MAX_LINE_BYTES} bytes with this cut"),
            );
        }
        if self.tokens == Tokenizer::Jieba && !cfg!(feature = "chinese") {
            return refuse("tokens", "needs the feature `chinese` of nearprint-text, which is off".into());
        }
        let width = self.width;
        if !self.hash.widths().contains(&width) {
            return refuse("width", format!("hash={} cannot make {width} bits", self.hash));
        }
        let hash_bits = if let HashFunction::Md5 { bits } = self.hash { bits } else { width.bits() };
        if self.window.join == Join::Cyclic && hash_bits != 64 {
            return refuse("join", format!("cyclic needs hashes of 64 bits, not {hash_bits}"));
        }
        if let HashFunction::MinHash { bands, .. } = self.hash {
            bands.check(self.width()).map_err(|error| RecipeError::new("hash", error.to_string()))?;
            if self.window.join == Join::Cyclic {
                return refuse("join", "minhash needs space or nothing".into());
            }
            if let Weights::TfIdf { top } = self.weights {
                return refuse("weights", format!("minhash counts every feature once, not by tfidf:{top}"));
            }
            self.weights = Weights::One;
        } else if self.near != DEFAULT_NEAR {
            return refuse("near", "needs hash=minhash; others have a distance k".into());
        }
        if let Weights::TfIdf { top } = self.weights {
            if self.tokens != Tokenizer::Jieba {
                return refuse("weights", format!("tfidf:{top} needs tokens=jieba, whose table it uses"));
            }
            if self.window.len != 1 || self.window.join == Join::Cyclic {
                return refuse("weights", format!("tfidf:{top} weighs words: it needs shingle=1 join=space"));
            }
        }
        let window = &mut self.window;
        if self.tokens != Tokenizer::Words || window.join == Join::Cyclic {
            (window.single_len, window.single_shortest) = (window.len, window.len);
        }
        let longest = window.len.max(window.single_len);
        if longest == 1 && window.join == Join::Nothing {
            window.join = Join::Space;
        }
        if window.len == Window::WHOLE_TEXT && window.join == Join::Cyclic {
            return refuse("join", "shingle=all needs space or nothing".into());
        }
        if longest == 1 || longest == Window::WHOLE_TEXT || window.join == Join::Cyclic {
            window.short = Short::One;
        }
        Ok(self)
    }

    /// The recipe with a name.
    fn named(name: &str) -> Result<Self, RecipeError> {
        let Some((_, parts)) = NAMED.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = Self::names().collect();
            return Err(RecipeError::new("name", format!("{name:?} is none of {}", names.join(", "))));
        };
        Self::BLANK.with(pairs(parts)?)
    }

    /// The base of the named recipes. Each of them sets every part.
    const BLANK: Self = Self {
        marker: None,
        clean: Clean {
            html: Html::None,
            nfc: false,
            nfkc: false,
            harakat: false,
            tatweel: false,
            lower: false,
        },
        tokens: Tokenizer::Words,
        stop: StopWords::None,
        window: Window { len: 1, single_len: 1, single_shortest: 1, join: Join::Space, short: Short::One },
        weights: Weights::Frequency,
        hash: HashFunction::Xxh3,
        width: Width::W64,
        near: DEFAULT_NEAR,
    };
}

fn unknown(part: &str) -> RecipeError {
    RecipeError::new("part", format!("{part:?} is none of {}", PARTS.join(", ")))
}

/// Splits `part=value part=value`.
fn pairs(text: &str) -> Result<Vec<(&str, &str)>, RecipeError> {
    text.split_whitespace().map(|pair| pair.split_once('=').ok_or_else(|| unknown(pair))).collect()
}

impl FromStr for Recipe {
    type Err = RecipeError;

    fn from_str(text: &str) -> Result<Self, RecipeError> {
        let text = text.trim();
        match Self::parts_alone(text)? {
            Some(parts) => Self::of_parts(parts),
            None => {
                let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                Self::named(name)?.with(pairs(rest)?)
            }
        }
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { marker, clean, tokens, stop, window, weights, hash, width, near } = self;
        match marker {
            Some(marker) if *clean == Clean::default() => write!(f, "clean=cut:{marker}")?,
            Some(marker) => write!(f, "clean=cut:{marker},{clean}")?,
            None => write!(f, "clean={clean}")?,
        }
        write!(f, " tokens={}", name_of(&TOKENIZERS, *tokens))?;
        write!(f, " stop={stop} shingle=")?;
        match (window.len, window.single_shortest, window.single_len) {
            (Window::WHOLE_TEXT, ..) => write!(f, "all")?,
            (len, shortest, single) if shortest < single => write!(f, "{len},{shortest}-{single}")?,
            (len, _, single) if single != len => write!(f, "{len},{single}")?,
            (len, ..) => write!(f, "{len}")?,
        }
        write!(f, " join={} short={}", name_of(&JOINS, window.join), name_of(&SHORT, window.short))?;
        write!(f, " weights={weights} hash={hash} width={width}")?;
        if *near == DEFAULT_NEAR { Ok(()) } else { write!(f, " near={}", self.near_similarity()) }
    }
}

#[cfg(test)]
#[cfg(not(feature = "chinese"))]
mod tests_without_features {
    use super::*;

    #[test]
    fn regression_a_fragment_is_confirmed_as_the_recipe_reads_it() {
        let read =
            |recipe: &str, text: &str| recipe.parse::<Recipe>().unwrap().as_read(text).trim().to_string();
        assert_eq!(read("minhash clean=html,lower", "<p>one two"), "one two");
        assert_eq!(read("minhash clean=lower", "<p>one two"), "<p>one two");
        assert_eq!(read("minhash clean=nfkc,tatweel,lower", "Ｏne كتـــاب"), "One كتاب");
    }

    #[test]
    fn recipes_name_the_feature_that_they_need() {
        for line in ["simhash tokens=jieba", "chinese"] {
            let error = line.parse::<Recipe>().unwrap_err();
            assert!(error.part() == "tokens" && error.to_string().contains("`chinese`"), "{line}: {error}");
        }
    }
}

#[cfg(test)]
#[cfg(feature = "chinese")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recipe(text: &str) -> Recipe {
        text.parse().unwrap()
    }

    #[test]
    fn names_denote_their_lines() {
        for (name, line) in NAMED {
            assert_eq!(recipe(name).to_string(), line);
            assert_eq!(recipe(line), recipe(name));
        }
        assert_eq!(recipe("shingle=3,1-2"), recipe("minhash"));
        assert_eq!(recipe("  cjk   shingle=3 "), recipe("cjk shingle=3"));
    }

    #[test]
    fn recipes_that_compute_the_same_are_equal() {
        for (a, b) in [
            ("shingle=1 short=none", "shingle=1 join=nothing"),
            ("minhash weights=frequency", "minhash"),
            ("weights=frequency", "simhash"),
            ("width=128", "simhash width=128"),
            ("join=cyclic", "simhash join=cyclic"),
            ("width=128 hash=minhash:4x16,2", "minhash width=128 hash=minhash:4x16,2"),
            ("seomoz-cpp short=none", "seomoz-cpp"),
            ("clean=lower,html", "clean=html,lower"),
            ("clean=lower,cut:%61=,html", "clean=cut:a%3D,html,lower"),
            ("notebook hash=md5:128 clean=lower", "notebook"),
            ("notebook hash=md5:64", "notebook width=64 hash=md5:64"),
            ("stop=list:b,a,b", "stop=list:a,b"),
            ("exact short=none", "simhash shingle=all width=128 clean=nfc,lower"),
            ("minhash near=0.7", "minhash"),
            ("minhash near=0.8", "minhash near=0.8 hash=minhash:7x16,2"),
        ] {
            assert_eq!(recipe(a), recipe(b), "{a}");
        }
        assert_ne!(recipe("shingle=2 short=none"), recipe("shingle=2"));
    }

    #[test]
    fn errors_name_the_part() {
        for (text, part, word) in [
            ("", "name", "minhash, simhash, simhash-py"),
            ("hash=minhash:6x20", "hash", "minhash:6x16,2"),
            ("hash=minhash:6x20,17", "hash", "1 to 16"),
            ("hash=minhash:6x7,2", "hash", "8 to 32 bits"),
            ("hash=minhash:9x20,2 width=256", "hash", "which needs 96"),
            ("minhash width=64", "hash", "which needs 32"),
            ("minhash join=cyclic width=64 hash=minhash:2x16,1", "join", "minhash"),
            ("chinese hash=minhash:6x20,2", "weights", "tfidf:30"),
            ("nonesuch", "name", "nonesuch"),
            ("simhash x", "part", "\"x\""),
            ("simhash color=red", "part", "color"),
            ("shingle=2 shingle=2", "shingle", "twice"),
            ("shingle=0", "shingle", "1 to 1000"),
            ("simhash shingle=all join=cyclic", "join", "shingle=all"),
            ("shingle=3,", "shingle", "1 to 1000"),
            ("shingle=3,2-1", "shingle", "the shorter length comes first"),
            ("shingle=1-2", "shingle", "1 to 1000"),
            ("shingle=+2", "shingle", "1 to 1000"),
            ("clean=", "clean", "detect-html, nfc, nfkc, harakat, tatweel, lower"),
            ("clean=html,detect-html", "clean", "one of html and detect-html"),
            ("clean=nfc,nfkc", "clean", "one of nfc and nfkc"),
            ("clean=lower,none", "clean", "alone"),
            ("clean=cut:", "clean", "needs a text"),
            ("clean=cut:a,cut:b", "clean", "more than one cut"),
            ("clean=cut", "clean", "cut:TEXT"),
            ("tokens=unicode", "tokens", "non-alpha"),
            ("stop=german", "stop", "english"),
            ("join=", "join", "cyclic"),
            ("short=two", "short", "one, none, tokens"),
            ("weights=tfidf", "weights", "tfidf:K"),
            ("weights=tfidf:0", "weights", "1 to"),
            ("weights=tfidf:5", "weights", "jieba"),
            ("chinese shingle=2", "weights", "shingle=1"),
            ("chinese join=cyclic", "weights", "join=space"),
            ("hash=md5", "hash", "md5:B"),
            ("hash=md5:0", "hash", "1 to 128"),
            ("hash=md5:129", "hash", "1 to 128"),
            ("hash=md5:65 width=64", "width", "md5:65"),
            ("stop=list:", "stop", "single commas"),
            ("stop=list:a,,b", "stop", "single commas"),
            ("width=32", "width", "256"),
            ("hash=jenkins width=128", "width", "jenkins"),
            ("notebook width=64", "width", "md5:128"),
            ("notebook width=256", "width", "md5:128"),
            ("seomoz-cpp hash=xxh3 width=128", "join", "cyclic"),
            ("seomoz-cpp hash=md5:8", "join", "64 bits"),
        ] {
            let error = text.parse::<Recipe>().unwrap_err();
            assert_eq!(error.part(), part, "{text}: {error}");
            assert!(error.to_string().contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn bands_follow_the_similarity_unless_they_are_given() {
        for (near, hash) in [
            ("0", "10x16,1"),
            ("0.5", "10x16,1"),
            ("0.6", "8x16,1"),
            ("0.69", "6x16,1"),
            ("0.7", "10x16,2"),
            ("0.75", "9x16,2"),
            ("0.8", "7x16,2"),
            ("0.9", "5x16,2"),
            ("1", "5x16,2"),
        ] {
            let chosen = recipe(&format!("minhash near={near}"));
            assert!(chosen.to_string().contains(&format!(" hash=minhash:{hash} ")), "{near}: {chosen}");
            let similarity = near.parse().unwrap();
            assert_eq!(recipe("minhash").with_similarity(similarity), chosen);
            let (share, given) =
                (chosen.candidates(similarity).unwrap().share(similarity), "hash=minhash:8x16,2");
            assert!((0.5..=1.0).contains(&similarity) == (share > 0.998), "{near}: {share}");
            assert!(chosen.is_same_but_for_similarity(&recipe("minhash")));
            let own = recipe(&format!("minhash near={near} {given}"));
            assert!(own.to_string().contains(given) && !own.is_same_but_for_similarity(&recipe("minhash")));
            assert_eq!(own.with_similarity(0.7), recipe(&format!("minhash {given}")));
            assert!(own.is_same_but_for_similarity(&recipe(&format!("minhash near=0.3 {given}"))));
        }
        assert_eq!(
            recipe("minhash near=0.8 width=128 hash=minhash:4x16,2").bands().unwrap().to_string(),
            "4x16"
        );
    }

    #[test]
    fn only_equal_texts_have_equal_exact_fingerprints() {
        let mut fingerprinter = recipe("exact").fingerprinter::<u128>().unwrap();
        let mut of = |text: &str| fingerprinter.fingerprint(text).value;
        let long = "word ".repeat(3000);
        for (a, b) in [("One, two\n three!", "one two three"), ("", " -- "), (&*long, long.trim())] {
            assert_eq!(of(a), of(b), "{a:.20}");
        }
        let more = long.clone() + "more";
        for (a, b) in [("one two", "two one"), ("one two", "onetwo"), ("one one", "one"), (&long, &more)] {
            assert!((of(a) ^ of(b)).count_ones() > 30, "{a:.20}");
        }
        assert_eq!(of("one two three"), xxhash_rust::xxh3::xxh3_128(b"one two three"));
        assert_eq!(recipe("exact").default_k(), 0);
    }

    proptest! {
        #[test]
        fn lines_are_read_as_they_were_written(
            clean in "none|(cut:(a|:|=|é|%25|%2c|%0A){1,3},)?((detect-)?html,)?((nfk?c,)?(harakat,)?(tatweel,)?lower|nfk?c)|html|detect-html|cut:%2[cC]",
            tokens in "non-alpha|word|words|whitespace|space|char|jieba",
            stop in "none|english|list:[a-d=é]{1,3}(,[a-d]{1,3}){0,3}",
            shingle in "[1-9][0-9]{0,2}(,[1-9](-[1-9])?)?|1000|all",
            join in "space|nothing|cyclic",
            short in "one|none|tokens",
            weights in "one|frequency|tfidf:[1-9][0-9]?",
            hash in "xxh3|md5-be64|md5:(1|8|33|64|65|128)|jenkins|minhash:[1-9]x(8|20),[1-9]",
            width in "64|128|256",
        ) {
            let line = format!("clean={clean} tokens={tokens} stop={stop} shingle={shingle} join={join} short={short} weights={weights} hash={hash} width={width}");
            if let Ok(recipe) = line.parse::<Recipe>() {
                prop_assert_eq!(recipe.to_string().parse::<Recipe>().unwrap(), recipe);
            }
        }

        #[test]
        fn any_text_is_parsed_or_refused(text in "\\PC{0,40}|((clean|hash|width|weights|shingle|x)=[a-z0-9:=,]{0,9} ?){0,4}") {
            match text.parse::<Recipe>() {
                Ok(recipe) => prop_assert_eq!(recipe.to_string().parse::<Recipe>().unwrap(), recipe),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
