//! What a text goes through to become a fingerprint, as a value that can be written down.

use std::fmt;
use std::str::FromStr;

use super::Fingerprinter;
use super::clean::Clean;
use super::shingle::{Join, Window};
use super::tokenize::Tokenizer;
use nearprint::{Fingerprint, Width};

/// The recipes that have names, and what these stand for. The first is the default.
const NAMED: [(&str, &str); 6] = [
    (
        "default",
        "clean=nfc,lower tokens=unicode stop=none shingle=3 join=space short=one weights=frequency hash=xxh3 width=64",
    ),
    (
        "simhash-py",
        "clean=none tokens=space stop=none shingle=4 join=space short=none weights=frequency hash=md5-be64 width=64",
    ),
    (
        "seomoz-cpp",
        "clean=none tokens=non-alpha stop=none shingle=3 join=cyclic short=one weights=frequency hash=jenkins width=64",
    ),
    (
        "notebook",
        "clean=none tokens=word stop=english shingle=1 join=space short=one weights=frequency hash=md5:64 width=64",
    ),
    (
        "chinese",
        "clean=html,nfc,lower tokens=jieba stop=none shingle=1 join=space short=one weights=tfidf:30 hash=xxh3 width=64",
    ),
    (
        "cjk",
        "clean=nfc,lower tokens=char stop=none shingle=2 join=nothing short=one weights=frequency hash=xxh3 width=64",
    ),
];

/// The parts, in the order in which they are written and applied.
const PARTS: [&str; 9] = ["clean", "tokens", "stop", "shingle", "join", "short", "weights", "hash", "width"];

/// Tokens that one feature may have.
const MAX_SHINGLE: usize = 1000;
/// Keywords that one text may have.
const MAX_KEYWORDS: usize = 1_000_000;

/// How a text becomes a fingerprint.
///
/// Written as one line, which is read again by `parse` and means the same forever. Two recipes are equal
/// iff these lines are; where a part makes no difference it is set to one value, so that recipes which
/// compute the same have the same line, whatever name they came by.
///
/// | part | values |
/// |---|---|
/// | `clean` | `none`, or some of `html` (the text that readers see), `nfc` (Unicode normalisation), `lower`, with commas between |
/// | `tokens` | `non-alpha` (runs of ASCII letters), `word` (Python's `\w+`), `unicode` (words by UAX #29), `whitespace`, `space` (split at each single space), `char` (each letter and digit), `jieba` (Chinese words) |
/// | `stop` | `none`, or `english`: NLTK's list of lower-case stop words, dropped before shingling |
/// | `shingle` | how many neighbouring tokens make a feature, 1 to 1000 |
/// | `join` | `space`, `nothing`, or `cyclic`: a rolling hash over the hashes of the tokens, from the first token on |
/// | `short` | a text with fewer tokens than a shingle is `one` feature, or has `none` |
/// | `weights` | `frequency`: a feature counts as often as it stands there; `one`: once; `tfidf:K`: the K words of highest TF-IDF, weighed by it (with `jieba`, and its table) |
/// | `hash` | `xxh3`, `md5-be64` (the first 8 bytes), `md5:B` (the lowest B bits, 8 to 64 or 128), `jenkins` (lookup3) |
/// | `width` | bits of the fingerprint: 64, 128 or 256; what the hash can give |
///
/// A text without tokens has the fingerprint 0.
///
/// `parse` takes a name (see [`names`](Recipe::names)), parts (on top of the default recipe), or a name and
/// parts that override it:
///
/// ```
/// use nearprint_text::recipe::Recipe;
///
/// let recipe: Recipe = "notebook clean=lower hash=md5:8".parse()?;
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
    pub(super) clean: Clean,
    pub(super) tokens: Tokenizer,
    pub(super) stop: StopWords,
    pub(super) window: Window,
    pub(super) weights: Weights,
    pub(super) hash: Hash,
    width: u32,
}

/// Which tokens are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum StopWords {
    None,
    English,
}

/// What features count for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Weights {
    One,
    Frequency,
    TfIdf { top: usize },
}

/// How features are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Hash {
    Xxh3,
    Md5Be64,
    Md5 { bits: u32 },
    Jenkins,
}

impl Hash {
    /// The widths of fingerprints that it can make.
    fn widths(self) -> &'static [u32] {
        match self {
            Self::Xxh3 => &[64, 128, 256],
            Self::Md5 { bits: 128 } => &[128],
            Self::Md5Be64 | Self::Md5 { .. } | Self::Jenkins => &[64],
        }
    }
}

/// Why something is no recipe: the part, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecipeError {
    part: &'static str,
    why: String,
}

impl RecipeError {
    pub(super) fn new(part: &'static str, why: impl Into<String>) -> Self {
        Self { part, why: why.into() }
    }

    /// The part that is wrong: its name in the recipe's line, or `name` where no such recipe is known.
    #[must_use]
    pub fn part(&self) -> &str {
        self.part
    }
}

impl fmt::Display for RecipeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "recipe, {}: {}", self.part, self.why)
    }
}

impl std::error::Error for RecipeError {}

impl Recipe {
    /// The names that [`parse`](str::parse) knows, the default first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.into_iter().map(|(name, _)| name)
    }

    /// The recipe with some parts replaced, each a pair of its name and value. `hash` brings a width that
    /// it can make, unless `width` is among the parts.
    ///
    /// # Errors
    /// [`RecipeError`] when a part is unknown, given twice, has a value that it cannot have, or does not
    /// go with the others.
    pub fn with<'a>(&self, parts: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, RecipeError> {
        let mut values = [None; PARTS.len()];
        for (name, value) in parts {
            let at = PARTS.iter().position(|part| *part == name).ok_or_else(|| unknown(name))?;
            if values[at].replace(value).is_some() {
                return Err(RecipeError::new(PARTS[at], "given twice"));
            }
        }
        let mut recipe = self.clone();
        for (part, value) in PARTS.into_iter().zip(values) {
            if let Some(value) = value {
                recipe.set(part, value).map_err(|why| RecipeError::new(part, why))?;
            }
        }
        recipe.checked()
    }

    /// Something that makes fingerprints by this recipe. Each thread should have its own.
    ///
    /// # Errors
    /// [`RecipeError`] when the recipe's fingerprints are not as wide as `F`.
    pub fn fingerprinter<F: Fingerprint>(&self) -> Result<Fingerprinter<F>, RecipeError> {
        if self.width != F::BITS {
            let why = format!("{} bits, where fingerprints of {} are wanted", self.width, F::BITS);
            return Err(RecipeError::new("width", why));
        }
        Ok(Fingerprinter::new(self.clone()))
    }

    /// Width of the fingerprints.
    #[must_use]
    pub fn width(&self) -> Width {
        Width::try_from(self.width).unwrap_or_default()
    }

    fn set(&mut self, part: &str, value: &str) -> Result<(), String> {
        match part {
            "clean" => self.clean = parse_clean(value)?,
            "tokens" => self.tokens = choice(&TOKENIZERS, value)?,
            "stop" => self.stop = choice(&STOP_WORDS, value)?,
            "shingle" => self.window.len = number(value, MAX_SHINGLE)?,
            "join" => self.window.join = choice(&JOINS, value)?,
            "short" => self.window.short = choice(&SHORT, value)?,
            "weights" => self.weights = parse_weights(value)?,
            "hash" => {
                self.hash = parse_hash(value)?;
                if !self.hash.widths().contains(&self.width) {
                    self.width = self.hash.widths()[0];
                }
            }
            _ => self.width = choice(&WIDTHS, value)?,
        }
        Ok(())
    }

    /// Checks what parts ask of each other, and sets those that make no difference.
    fn checked(mut self) -> Result<Self, RecipeError> {
        let refuse = |part, why: String| Err(RecipeError::new(part, why));
        let width = self.width;
        if !self.hash.widths().contains(&width) {
            return refuse("width", format!("hash={} cannot make {width} bits", HashName(self.hash)));
        }
        let hash_bits = if let Hash::Md5 { bits } = self.hash { bits } else { width };
        if self.window.join == Join::Cyclic && hash_bits != 64 {
            return refuse("join", format!("cyclic needs hashes of 64 bits, not {hash_bits}"));
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
        if window.len == 1 && window.join == Join::Nothing {
            window.join = Join::Space;
        }
        window.short |= window.len == 1 || window.join == Join::Cyclic;
        Ok(self)
    }

    /// The recipe of a name.
    fn named(name: &str) -> Result<Self, RecipeError> {
        let Some((_, parts)) = NAMED.iter().find(|(known, _)| *known == name) else {
            let names: Vec<&str> = Self::names().collect();
            return Err(RecipeError::new("name", format!("{name:?} is none of {}", names.join(", "))));
        };
        Self::BLANK.with(pairs(parts)?)
    }

    /// What the named recipes are written over; each of them sets every part.
    const BLANK: Self = Self {
        clean: Clean { html: false, nfc: false, lower: false },
        tokens: Tokenizer::Unicode,
        stop: StopWords::None,
        window: Window { len: 1, join: Join::Space, short: true },
        weights: Weights::Frequency,
        hash: Hash::Xxh3,
        width: 64,
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
        let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let (name, parts) = if first.contains('=') { (NAMED[0].0, text) } else { (first, rest) };
        Self::named(name)?.with(pairs(parts)?)
    }
}

type Choices<T, const N: usize> = [(&'static str, T); N];

const TOKENIZERS: Choices<Tokenizer, 7> = [
    ("non-alpha", Tokenizer::NonAlpha),
    ("word", Tokenizer::Word),
    ("unicode", Tokenizer::Unicode),
    ("whitespace", Tokenizer::Whitespace),
    ("space", Tokenizer::Space),
    ("char", Tokenizer::Char),
    ("jieba", Tokenizer::Jieba),
];
const STOP_WORDS: Choices<StopWords, 2> = [("none", StopWords::None), ("english", StopWords::English)];
const JOINS: Choices<Join, 3> =
    [("space", Join::Space), ("nothing", Join::Nothing), ("cyclic", Join::Cyclic)];
const SHORT: Choices<bool, 2> = [("one", true), ("none", false)];
const WIDTHS: Choices<u32, 3> = [("64", 64), ("128", 128), ("256", 256)];

/// The value of a name.
fn choice<T: Copy, const N: usize>(choices: &Choices<T, N>, name: &str) -> Result<T, String> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names = choices.map(|(name, _)| name).join(", ");
        format!("{name:?} is none of {names}")
    })
}

/// The name of a value; every value has one.
fn name_of<T: Copy + PartialEq, const N: usize>(choices: &Choices<T, N>, value: T) -> &'static str {
    choices.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

fn number(text: &str, most: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) && text.bytes().all(|b| b.is_ascii_digit()) => Ok(number),
        _ => Err(format!("expected a number from 1 to {most}, not {text:?}")),
    }
}

fn parse_clean(text: &str) -> Result<Clean, String> {
    let mut clean = Clean::default();
    if text == "none" {
        return Ok(clean);
    }
    for step in text.split(',') {
        match step {
            "html" => clean.html = true,
            "nfc" => clean.nfc = true,
            "lower" => clean.lower = true,
            _ => return Err(format!("{step:?} is none of html, nfc, lower (or none, alone)")),
        }
    }
    Ok(clean)
}

fn parse_weights(text: &str) -> Result<Weights, String> {
    match text.split_once(':') {
        Some(("tfidf", top)) => Ok(Weights::TfIdf { top: number(top, MAX_KEYWORDS)? }),
        _ if text == "one" => Ok(Weights::One),
        _ if text == "frequency" => Ok(Weights::Frequency),
        _ => Err(format!("{text:?} is none of one, frequency, tfidf:K")),
    }
}

fn parse_hash(text: &str) -> Result<Hash, String> {
    match text {
        "xxh3" => return Ok(Hash::Xxh3),
        "md5-be64" => return Ok(Hash::Md5Be64),
        "jenkins" => return Ok(Hash::Jenkins),
        _ => {}
    }
    let bits = text
        .strip_prefix("md5:")
        .ok_or_else(|| format!("{text:?} is none of xxh3, md5-be64, md5:B, jenkins"))?;
    match bits.parse() {
        Ok(bits @ (8..=64 | 128)) => Ok(Hash::Md5 { bits }),
        _ => Err(format!("md5 gives its lowest 8 to 64 bits, or 128, not {bits:?}")),
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { clean, tokens, stop, window, weights, hash, width } = self;
        write!(f, "clean={} tokens={}", CleanName(*clean), name_of(&TOKENIZERS, *tokens))?;
        write!(f, " stop={} shingle={}", name_of(&STOP_WORDS, *stop), window.len)?;
        write!(f, " join={} short={}", name_of(&JOINS, window.join), name_of(&SHORT, window.short))?;
        match weights {
            Weights::One => write!(f, " weights=one")?,
            Weights::Frequency => write!(f, " weights=frequency")?,
            Weights::TfIdf { top } => write!(f, " weights=tfidf:{top}")?,
        }
        write!(f, " hash={} width={width}", HashName(*hash))
    }
}

struct CleanName(Clean);

impl fmt::Display for CleanName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Clean { html, nfc, lower } = self.0;
        let steps = [(html, "html"), (nfc, "nfc"), (lower, "lower")];
        let taken: Vec<&str> = steps.into_iter().filter(|step| step.0).map(|step| step.1).collect();
        f.write_str(if taken.is_empty() { "none" } else { "" })?;
        f.write_str(&taken.join(","))
    }
}

struct HashName(Hash);

impl fmt::Display for HashName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Hash::Xxh3 => write!(f, "xxh3"),
            Hash::Md5Be64 => write!(f, "md5-be64"),
            Hash::Md5 { bits } => write!(f, "md5:{bits}"),
            Hash::Jenkins => write!(f, "jenkins"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn recipe(text: &str) -> Recipe {
        text.parse().unwrap()
    }

    #[test]
    fn names_stand_for_their_lines() {
        for (name, line) in NAMED {
            assert_eq!(recipe(name).to_string(), line);
            assert_eq!(recipe(line), recipe(name));
        }
        assert_eq!(recipe("shingle=3"), recipe("default"));
        assert_eq!(recipe("  cjk   shingle=3 "), recipe("cjk shingle=3"));
    }

    #[test]
    fn what_computes_the_same_is_equal() {
        for (a, b) in [
            ("shingle=1 short=none", "shingle=1 join=nothing"),
            ("seomoz-cpp short=none", "seomoz-cpp"),
            ("clean=lower,html", "clean=html,lower"),
            ("notebook hash=md5:128", "notebook width=128 hash=md5:128"),
        ] {
            assert_eq!(recipe(a), recipe(b), "{a}");
        }
        assert_ne!(recipe("shingle=2 short=none"), recipe("shingle=2"));
    }

    #[test]
    fn errors_name_the_part() {
        for (text, part, word) in [
            ("", "name", "default, simhash-py"),
            ("nonesuch", "name", "nonesuch"),
            ("default x", "part", "\"x\""),
            ("default color=red", "part", "color"),
            ("shingle=2 shingle=2", "shingle", "twice"),
            ("shingle=0", "shingle", "1 to 1000"),
            ("shingle=+2", "shingle", "1 to 1000"),
            ("clean=", "clean", "html, nfc, lower"),
            ("clean=lower,none", "clean", "alone"),
            ("tokens=words", "tokens", "non-alpha"),
            ("stop=german", "stop", "english"),
            ("join=", "join", "cyclic"),
            ("short=two", "short", "one, none"),
            ("weights=tfidf", "weights", "tfidf:K"),
            ("weights=tfidf:0", "weights", "1 to"),
            ("weights=tfidf:5", "weights", "jieba"),
            ("chinese shingle=2", "weights", "shingle=1"),
            ("chinese join=cyclic", "weights", "join=space"),
            ("hash=md5", "hash", "md5:B"),
            ("hash=md5:7", "hash", "8 to 64"),
            ("hash=md5:100", "hash", "8 to 64"),
            ("width=32", "width", "256"),
            ("hash=jenkins width=128", "width", "jenkins"),
            ("notebook width=128", "width", "md5:64"),
            ("seomoz-cpp hash=xxh3 width=128", "join", "cyclic"),
            ("seomoz-cpp hash=md5:8", "join", "64 bits"),
        ] {
            let error = text.parse::<Recipe>().unwrap_err();
            assert_eq!(error.part(), part, "{text}: {error}");
            assert!(error.to_string().contains(word), "{text}: {error}");
        }
        assert_eq!(recipe("width=128").fingerprinter::<u64>().unwrap_err().part(), "width");
    }

    proptest! {
        #[test]
        fn lines_are_read_as_they_were_written(
            clean in "none|html|nfc|lower|html,nfc|html,lower|nfc,lower|html,nfc,lower",
            tokens in "non-alpha|word|unicode|whitespace|space|char|jieba",
            stop in "none|english",
            shingle in 1..=MAX_SHINGLE,
            join in "space|nothing|cyclic",
            short in "one|none",
            weights in "one|frequency|tfidf:[1-9][0-9]?",
            hash in "xxh3|md5-be64|md5:(8|33|64|128)|jenkins",
            width in "64|128|256",
        ) {
            let line = format!("clean={clean} tokens={tokens} stop={stop} shingle={shingle} join={join} short={short} weights={weights} hash={hash} width={width}");
            if let Ok(recipe) = line.parse::<Recipe>() {
                prop_assert_eq!(recipe.to_string().parse::<Recipe>().unwrap(), recipe);
            }
        }

        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,40}|((clean|hash|width|weights|shingle|x)=[a-z0-9:=,]{0,9} ?){0,4}") {
            let _ = text.parse::<Recipe>().map_err(|error| error.to_string());
        }
    }
}
