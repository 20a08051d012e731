//! The values of a recipe's parts, parsed and printed.

use std::fmt;

use super::clean::{Clean, Html};
use super::marker::Marker;
use super::shingle::{Join, Short, Window};
use super::tokenize::Tokenizer;
use nearprint::{BandLayout, Width};

/// The longest shingle in tokens.
const MAX_SHINGLE: usize = 1000;
/// The most keywords of a text.
const MAX_KEYWORDS: usize = 1_000_000;
/// The most MinHash values in a band.
const MAX_ROWS: usize = 16;
/// The bits of a band that is chosen: few documents have an equal one by chance.
const CHOSEN_BITS: u32 = 16;
/// The fewest bands that are chosen. With fewer, a database would find little at a lower similarity.
const FEWEST_CHOSEN: u32 = 5;
/// The most bands that are chosen: with more of them, 256 bits leave no useful sketch.
const MOST_CHOSEN: u32 = 10;
/// The share of pairs at the least similarity that may have no equal band: what as many bands of two values
/// as fit miss at 0.7.
const MOST_MISSED: f64 = 0.0012;

/// The weight of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Weights {
    One,
    Frequency,
    TfIdf { top: usize },
}

/// The hash function of features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum HashFunction {
    Xxh3,
    Md5Be64,
    Md5 {
        bits: u32,
    },
    Jenkins,
    /// MinHash values of `rows` permutations in each band.
    MinHash {
        bands: BandLayout,
        rows: u32,
    },
}

impl HashFunction {
    /// The supported widths of fingerprints, in bits. The first that has room for the bands is the default.
    pub(super) fn widths(self) -> &'static [Width] {
        match self {
            Self::Xxh3 => &[Width::W64, Width::W128, Width::W256],
            Self::Md5 { bits: 65.. } => &[Width::W128],
            Self::Md5Be64 | Self::Md5 { .. } | Self::Jenkins => &[Width::W64],
            Self::MinHash { .. } => &[Width::W256, Width::W320, Width::W128, Width::W64],
        }
    }

    /// The width of fingerprints, unless another one is given.
    pub(super) fn default_width(self) -> Width {
        let widths = self.widths();
        widths.iter().copied().find(|&width| self.makes(width)).unwrap_or(widths[0])
    }

    /// The fewest bands that find pairs of a similarity: of two values each, which hardly any unrelated texts share;
    /// where these find too few, of one.
    pub(super) fn for_similarity(similarity: f64) -> Self {
        let all = [2u32, 1]
            .into_iter()
            .flat_map(|rows| (FEWEST_CHOSEN..=MOST_CHOSEN).map(move |bands| (bands, rows)));
        let finds =
            |&(bands, rows): &(u32, u32)| share_with_equal_band(similarity, bands, rows) >= 1.0 - MOST_MISSED;
        let (count, rows) = all.clone().find(finds).unwrap_or((MOST_CHOSEN, 1));
        BandLayout::new(count, CHOSEN_BITS).map_or(Self::Xxh3, |bands| Self::MinHash { bands, rows })
    }

    /// Whether fingerprints of a width can be made.
    pub(super) fn makes(self, width: Width) -> bool {
        let fits = match self {
            Self::MinHash { bands, .. } => bands.check(width).is_ok(),
            _ => true,
        };
        fits && self.widths().contains(&width)
    }
}

/// The share of pairs of a similarity that have at least one equal band, with `rows` values in each.
fn share_with_equal_band(similarity: f64, bands: u32, rows: u32) -> f64 {
    1.0 - (1.0 - similarity.powi(rows.cast_signed())).powi(bands.cast_signed())
}

type Choices<T, const N: usize> = [(&'static str, T); N];

pub(super) const TOKENIZERS: Choices<Tokenizer, 7> = [
    ("non-alpha", Tokenizer::NonAlpha),
    ("word", Tokenizer::Word),
    ("words", Tokenizer::Words),
    ("whitespace", Tokenizer::Whitespace),
    ("space", Tokenizer::Space),
    ("char", Tokenizer::Char),
    ("jieba", Tokenizer::Jieba),
];
pub(super) const JOINS: Choices<Join, 3> =
    [("space", Join::Space), ("nothing", Join::Nothing), ("cyclic", Join::Cyclic)];
pub(super) const SHORT: Choices<Short, 3> =
    [("one", Short::One), ("none", Short::None), ("tokens", Short::Tokens)];
pub(super) const WIDTHS: Choices<Width, 4> =
    [("64", Width::W64), ("128", Width::W128), ("256", Width::W256), ("320", Width::W320)];

/// The value with a name.
pub(super) fn choice<T: Copy, const N: usize>(choices: &Choices<T, N>, name: &str) -> Result<T, String> {
    let found = choices.iter().find(|(known, _)| *known == name);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names = choices.map(|(name, _)| name).join(", ");
        format!("{name:?} is none of {names}")
    })
}

/// The name of a value; every value has one.
pub(super) fn name_of<T: Copy + PartialEq, const N: usize>(
    choices: &Choices<T, N>,
    value: T,
) -> &'static str {
    choices.iter().find(|(_, known)| *known == value).map_or("", |(name, _)| name)
}

/// Parses a number from 1 to `most`, without a sign.
pub(super) fn number(text: &str, most: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) && text.bytes().all(|b| b.is_ascii_digit()) => Ok(number),
        _ => Err(format!("expected a number from 1 to {most}, not {text:?}")),
    }
}

/// A number from 0 to 1 with up to six digits after the point, in millionths.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to a million")]
pub(super) fn millionths(text: &str) -> Result<u32, String> {
    let is_plain = text.len() <= "0.123456".len() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match text.parse::<f64>() {
        Ok(number) if is_plain && number <= 1.0 => Ok((number * 1e6).round() as u32),
        _ => {
            Err(format!("expected a number from 0 to 1 with up to six digits after the point, not {text:?}"))
        }
    }
}

pub(super) fn parse_clean(text: &str) -> Result<(Option<Marker>, Clean), String> {
    let (mut marker, mut clean) = (None, Clean::default());
    if text == "none" {
        return Ok((marker, clean));
    }
    for step in text.split(',') {
        if let Some(encoded) = step.strip_prefix("cut:") {
            if marker.replace(Marker::parse(encoded)?).is_some() {
                return Err(format!("{text:?} has more than one cut; a comma in its text is %2C"));
            }
            continue;
        }
        match step {
            "html" | "detect-html" if clean.html != Html::None => {
                return Err(format!("{text:?} has more than one of html and detect-html"));
            }
            "html" => clean.html = Html::All,
            "detect-html" => clean.html = Html::Detected,
            "nfc" | "nfkc" if clean.nfc || clean.nfkc => {
                return Err(format!("{text:?} has more than one of nfc and nfkc"));
            }
            "nfc" => clean.nfc = true,
            "nfkc" => clean.nfkc = true,
            "harakat" => clean.harakat = true,
            "tatweel" => clean.tatweel = true,
            "lower" => clean.lower = true,
            _ => {
                let known = "cut:TEXT, html, detect-html, nfc, nfkc, harakat, tatweel, lower";
                return Err(format!("{step:?} is none of {known} (or none, alone)"));
            }
        }
    }
    Ok((marker, clean))
}

/// Parses the lengths of shingles: of those that begin with a word, and the least and the greatest
/// of those that begin with a single character.
pub(super) fn parse_shingle(text: &str) -> Result<(usize, (usize, usize)), String> {
    if text == "all" {
        return Ok((Window::WHOLE_TEXT, (Window::WHOLE_TEXT, Window::WHOLE_TEXT)));
    }
    let (words, characters) = text.split_once(',').unwrap_or((text, text));
    let (shortest, longest) = characters.split_once('-').unwrap_or((characters, characters));
    let (shortest, longest) = (number(shortest, MAX_SHINGLE)?, number(longest, MAX_SHINGLE)?);
    if shortest > longest {
        return Err(format!("{characters:?}: the shorter length comes first"));
    }
    Ok((number(words, MAX_SHINGLE)?, (shortest, longest)))
}

pub(super) fn parse_weights(text: &str) -> Result<Weights, String> {
    match text.split_once(':') {
        Some(("tfidf", top)) => Ok(Weights::TfIdf { top: number(top, MAX_KEYWORDS)? }),
        _ if text == "one" => Ok(Weights::One),
        _ if text == "frequency" => Ok(Weights::Frequency),
        _ => Err(format!("{text:?} is none of one, frequency, tfidf:K")),
    }
}

pub(super) fn parse_hash(text: &str) -> Result<HashFunction, String> {
    match text {
        "xxh3" => return Ok(HashFunction::Xxh3),
        "md5-be64" => return Ok(HashFunction::Md5Be64),
        "jenkins" => return Ok(HashFunction::Jenkins),
        _ => {}
    }
    if let Some(minhash) = text.strip_prefix("minhash:") {
        return parse_minhash(minhash);
    }
    let bits = text
        .strip_prefix("md5:")
        .ok_or_else(|| format!("{text:?} is none of xxh3, md5-be64, md5:B, jenkins, minhash:BxN,R"))?;
    match bits.parse() {
        Ok(bits @ 1..=128) => Ok(HashFunction::Md5 { bits }),
        _ => Err(format!("md5 gives its lowest 1 to 128 bits, not {bits:?}")),
    }
}

fn parse_minhash(text: &str) -> Result<HashFunction, String> {
    let (bands, rows) = text
        .split_once(',')
        .ok_or_else(|| format!("minhash needs bands and rows, such as minhash:6x16,2, not {text:?}"))?;
    let bands = bands.parse().map_err(|error: nearprint::Error| error.to_string())?;
    let rows = u32::try_from(number(rows, MAX_ROWS)?).unwrap_or(u32::MAX);
    Ok(HashFunction::MinHash { bands, rows })
}

impl fmt::Display for Clean {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { html, nfc, nfkc, harakat, tatweel, lower } = *self;
        let steps = [
            (html == Html::All, "html"),
            (html == Html::Detected, "detect-html"),
            (nfc, "nfc"),
            (nfkc, "nfkc"),
            (harakat, "harakat"),
            (tatweel, "tatweel"),
            (lower, "lower"),
        ];
        let taken: Vec<&str> = steps.into_iter().filter(|step| step.0).map(|step| step.1).collect();
        f.write_str(if taken.is_empty() { "none" } else { "" })?;
        f.write_str(&taken.join(","))
    }
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One => write!(f, "one"),
            Self::Frequency => write!(f, "frequency"),
            Self::TfIdf { top } => write!(f, "tfidf:{top}"),
        }
    }
}

impl fmt::Display for HashFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xxh3 => write!(f, "xxh3"),
            Self::Md5Be64 => write!(f, "md5-be64"),
            Self::Md5 { bits } => write!(f, "md5:{bits}"),
            Self::Jenkins => write!(f, "jenkins"),
            Self::MinHash { bands, rows } => write!(f, "minhash:{bands},{rows}"),
        }
    }
}
