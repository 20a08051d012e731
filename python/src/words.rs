//! Fingerprints as Python passes them: rows of 64-bit words, the least significant word first.

use nearprint::any::AnyFingerprint;
use nearprint::{Radix, Width};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;

/// Fingerprints that Python will receive.
pub(crate) struct Words {
    width: Width,
    words: Vec<u64>,
}

impl Words {
    /// Fingerprints whose words are there already.
    pub(crate) fn from_words(width: Width, words: Vec<u64>) -> Self {
        Self { width, words }
    }

    /// The words row by row.
    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// The number of words of one fingerprint.
    pub(crate) fn num_words(&self) -> usize {
        self.width.words()
    }

    /// A NumPy array of shape (n,) for 64 bits, (n, 2) for 128, (n, 4) for 256, (n, 5) for 320.
    pub(crate) fn into_array(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let (columns, num_words) = (self.num_words(), self.words.len());
        let array = self.words.into_pyarray(py);
        if columns == 1 {
            return Ok(array.into_any());
        }
        Ok(array.reshape([num_words / columns, columns])?.into_any())
    }
}

/// Appends the words of a hexadecimal fingerprint: all digits, or `0x` and at most as many; or of a binary one, `0b`
/// and its digits, of wide ones all. What has as many characters as hexadecimal digits is hexadecimal.
pub(crate) fn append_hex(width: Width, text: &str, words: &mut Vec<u64>) -> Result<(), String> {
    let num_digits = width.bits() as usize / 4;
    let bits = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B"));
    // All digits of a hexadecimal one may begin alike.
    let bits = bits.filter(|_| text.len() != num_digits);
    if bits.is_some_and(|bits| width == Width::W64 || bits.len() == width.bits() as usize) {
        let parsed = AnyFingerprint::parse(width, text, Some(Radix::Binary));
        words.extend_from_slice(parsed.map_err(|why| format!("{text:?}: {why}"))?.words());
        return Ok(());
    }
    let after_prefix = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    if after_prefix.is_none() && text.len() != num_digits {
        return Err(format!(
            "{text:?} has {} digits: {width} bits are written as {num_digits} hexadecimal digits, or behind 0x",
            text.chars().count(),
        ));
    }
    let parsed = match after_prefix.filter(|digits| (1..=num_digits).contains(&digits.len())) {
        Some(digits) => {
            AnyFingerprint::parse(width, &format!("{digits:0>num_digits$}"), Some(Radix::Hexadecimal))
        }
        None => AnyFingerprint::parse(width, text, Some(Radix::Hexadecimal)),
    };
    words.extend_from_slice(parsed.map_err(|why| format!("{text:?}: {why}"))?.words());
    Ok(())
}
