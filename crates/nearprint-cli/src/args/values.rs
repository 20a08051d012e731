//! Parsers for the values of options.

use std::fs;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use nearprint::{LayoutChoice, Radix, Width};

/// The distance of joins and cost estimates without a database, unless `-k` sets it.
pub(crate) const DEFAULT_K: u32 = 3;

/// Parses a width in bits.
pub(crate) fn width() -> impl TypedValueParser<Value = Width> {
    PossibleValuesParser::new(["64", "128", "256", "320"]).try_map(|text| text.parse::<Width>())
}

/// Parses the base of numbers.
pub(crate) fn radix() -> impl TypedValueParser<Value = Radix> {
    let radix = |text: String| match &*text {
        "2" => Radix::Binary,
        "10" => Radix::Decimal,
        _ => Radix::Hexadecimal,
    };
    PossibleValuesParser::new(["2", "10", "16"]).map(radix)
}

/// A recipe whose stop words are listed.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecipeLine {
    pub(crate) line: String,
    /// The file that the stop words were read from.
    pub(crate) stop_words: Option<PathBuf>,
}

/// Reads stop words: what a recipe knows stays as it is; a language, or else a file, becomes a list of its words. The
/// file is returned, too.
fn stop_words(text: &str) -> Result<(String, Option<PathBuf>), String> {
    let listed = |words: Vec<&str>| format!("list:{}", words.join(","));
    if matches!(text, "none" | "english") || text.starts_with("list:") {
        return Ok((text.to_string(), None));
    }
    if let Some(words) = ::stop_words::lookup(text) {
        // No token has a space.
        let words = words.iter().copied().filter(|word| !word.contains(char::is_whitespace));
        return Ok((listed(words.collect()), None));
    }
    let known = ::stop_words::available_languages().join(", ");
    let words = fs::read_to_string(text)
        .map_err(|error| format!("no language that is known ({known}), and as a file: {error}"))?;
    Ok((listed(words.split_whitespace().collect()), Some(text.into())))
}

/// Parses a recipe, and reads its stop words.
pub(crate) fn recipe(line: &str) -> Result<RecipeLine, String> {
    let mut made = RecipeLine::default();
    let mut part = |part: &str| match part.strip_prefix("stop=") {
        Some(words) => stop_words(words).map(|(words, file)| {
            made.stop_words = file;
            format!("stop={words}")
        }),
        None => Ok(part.to_string()),
    };
    let parts = line.split_whitespace().map(&mut part).collect::<Result<Vec<_>, _>>()?;
    made.line = parts.join(" ");
    Ok(made)
}

/// Parses a layout.
pub(crate) fn layout(text: &str) -> Result<LayoutChoice, String> {
    text.parse::<LayoutChoice>().map_err(|error| error.to_string())
}

/// Parses the quality of a picture.
pub(crate) fn quality(text: &str) -> Result<u8, String> {
    let quality = text.parse().ok().filter(|quality| *quality <= 100);
    quality.ok_or_else(|| "expected a number from 0 to 100".into())
}

/// Parses a number of bytes with an optional unit: 512M, 6G, 1048576.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let wrong = || "expected a number of bytes, such as 512M or 6G".to_string();
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
    let (digits, shift) = match bare.char_indices().last() {
        Some((at, 'K')) => (&bare[..at], 10),
        Some((at, 'M')) => (&bare[..at], 20),
        Some((at, 'G')) => (&bare[..at], 30),
        Some((at, 'T')) => (&bare[..at], 40),
        _ => (bare, 0),
    };
    let number: usize = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// Parses a number of bytes in a second.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    size(text).map(|bytes| bytes as u64)
}

/// Parses a time in seconds: 30, 0.5.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "expected a number of seconds, such as 30 or 0.5".into())
}

/// Parses an id, or a range of ids with both ends included: 7, 10..19.
pub(crate) fn ids(text: &str) -> Result<RangeInclusive<u64>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    match first.parse().ok().zip(last.parse().ok()) {
        Some((first, last)) if first <= last => Ok(first..=last),
        _ => Err("expected an id, or two ids in order, such as 1000..1999".into()),
    }
}

/// Parses an inclusive range of leading bytes in hexadecimal, 00-3f, or a single byte, 3f.
pub(crate) fn leading_bytes(text: &str) -> Result<RangeInclusive<u8>, String> {
    let byte = |text: &str| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        u8::from_str_radix(text, 16).ok().filter(|_| digits)
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (byte(first), byte(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err("expected leading bytes in hexadecimal, such as 00-3f or 3f".into()),
    }
}

/// Parses a distance in bits that is possible at some width.
pub(crate) fn distance(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(k) if k <= Width::W320.bits() => Ok(k),
        _ => Err("expected a number of bits from 0 to the width of the fingerprints".into()),
    }
}

/// Parses a similarity: a share, or a percentage as results have it.
pub(crate) fn similarity(text: &str) -> Result<f64, String> {
    let parsed: Option<f64> = match text.strip_suffix('%') {
        Some(percents) => percents.parse().ok().map(|percents: f64| percents / 100.0),
        None => text.parse().ok(),
    };
    parsed
        .filter(|similarity| (0.0..=1.0).contains(similarity))
        .ok_or_else(|| "expected a similarity from 0 to 1, or from 0% to 100%".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_ranges_of_bytes() {
        assert_eq!(leading_bytes("00-3f"), Ok(0..=0x3f));
        assert_eq!(leading_bytes("Ff"), Ok(255..=255));
        assert_eq!(leading_bytes("40-40"), Ok(64..=64));
        for text in ["", "-", "3f-", "3f-00", "0-3f", "+1", "00-3f-40", "100", "0x", "gg"] {
            assert!(leading_bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn similarities_are_shares_or_percentages() {
        assert_eq!(
            ["0.7", "70%", "66.66%", "100%", "0"].map(|text| similarity(text).unwrap()),
            [0.7, 0.7, 0.6666, 1.0, 0.0]
        );
        for text in ["70", "1.1", "-1", "101%", "%", "70 %", "NaN", "nan%", "70%%", ""] {
            assert!(similarity(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("1", 1),
            ("2k", 2048),
            ("512M", 512 << 20),
            ("6G", 6 << 30),
            ("1MiB", 1 << 20),
            ("3GB", 3 << 30),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "x", "99999999999999T", "1é"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
