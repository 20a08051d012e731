//! Fingerprints as Python hands them over: rows of 64-bit words, the least significant one first.

use std::borrow::Cow;

use nearprint::{Fingerprint, Radix, U256};

/// A fingerprint that is made of words.
pub(crate) trait Words: Fingerprint {
    /// Words of one fingerprint.
    const COUNT: usize = Self::BITS as usize / 64;

    /// From one row of words.
    fn from_row(row: &[u64]) -> Self;

    /// Appends the words of one row.
    fn append_to(self, out: &mut Vec<u64>);

    /// From all rows of an array, without a copy where the array is what is wanted already.
    fn list(words: &[u64]) -> Cow<'_, [Self]> {
        words.chunks_exact(Self::COUNT).map(Self::from_row).collect()
    }
}

impl Words for u64 {
    fn from_row(row: &[u64]) -> Self {
        row.first().copied().unwrap_or_default()
    }

    fn append_to(self, out: &mut Vec<u64>) {
        out.push(self);
    }

    fn list(words: &[u64]) -> Cow<'_, [Self]> {
        Cow::Borrowed(words)
    }
}

impl Words for u128 {
    fn from_row(row: &[u64]) -> Self {
        row.iter().rev().fold(0, |value, &word| (value << 64) | Self::from(word))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the two halves one by one")]
    fn append_to(self, out: &mut Vec<u64>) {
        out.extend([self as u64, (self >> 64) as u64]);
    }
}

impl Words for U256 {
    fn from_row(row: &[u64]) -> Self {
        let mut words = [0; 4];
        words.iter_mut().zip(row).for_each(|(word, &given)| *word = given);
        Self::from_words(words)
    }

    fn append_to(self, out: &mut Vec<u64>) {
        out.extend(self.to_words());
    }
}

/// Words of many fingerprints.
pub(crate) fn words_of<F: Words>(fingerprints: impl IntoIterator<Item = F>) -> Vec<u64> {
    let mut words = Vec::new();
    fingerprints.into_iter().for_each(|fingerprint| fingerprint.append_to(&mut words));
    words
}

/// Appends the words of a hexadecimal fingerprint: all digits, or an even number of them behind `0x`.
pub(crate) fn append_hex<F: Words>(text: &str, out: &mut Vec<u64>) -> Result<(), String> {
    let digits = F::BITS as usize / 4;
    let behind = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if behind.is_none() && text.len() != digits {
        return Err(format!(
            "{text:?} has {} digits: {} bits are written as {digits} hexadecimal digits, or behind 0x",
            text.chars().count(),
            F::BITS
        ));
    }
    let value = F::parse_radix(text, Some(Radix::Hexadecimal)).map_err(|why| format!("{text:?}: {why}"))?;
    value.append_to(out);
    Ok(())
}

/// Runs a block with `F` standing for the type of fingerprints of `width` bits.
macro_rules! with_width {
    ($width:expr, $fingerprint:ident => $body:expr, else $otherwise:expr) => {
        match $width {
            64 => {
                type $fingerprint = u64;
                $body
            }
            128 => {
                type $fingerprint = u128;
                $body
            }
            256 => {
                type $fingerprint = nearprint::U256;
                $body
            }
            _ => $otherwise,
        }
    };
}
pub(crate) use with_width;
