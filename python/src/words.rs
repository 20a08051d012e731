//! Fingerprints as Python passes them: rows of 64-bit words, the least significant word first.

pub(crate) use nearprint::internal::{fingerprints, words, words_of};
use nearprint::{Fingerprint, ParseFingerprintError, Radix, Width, WidthVisitor};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;

/// Fingerprints that Python will receive.
pub(crate) struct Words {
    width: Width,
    words: Vec<u64>,
}

impl Words {
    /// No fingerprints.
    pub(crate) fn new(width: Width) -> Self {
        Self::from_words(width, Vec::new())
    }

    /// Fingerprints whose words are there already.
    pub(crate) fn from_words(width: Width, words: Vec<u64>) -> Self {
        Self { width, words }
    }

    /// Appends a fingerprint, which must have the width.
    pub(crate) fn push<F: Fingerprint>(&mut self, fingerprint: F) {
        self.words.extend(words(fingerprint));
    }

    /// The fingerprints so far. None are left.
    pub(crate) fn take(&mut self) -> Self {
        Self::from_words(self.width, std::mem::take(&mut self.words))
    }

    /// The words row by row.
    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
    }

    /// The number of words of one fingerprint.
    pub(crate) fn num_words(&self) -> usize {
        self.width.bits() as usize / 64
    }

    /// A NumPy array of shape (n,) for 64 bits, (n, 2) for 128, (n, 4) for 256.
    pub(crate) fn into_array(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let (columns, num_words) = (self.num_words(), self.words.len());
        let array = self.words.into_pyarray(py);
        if columns == 1 {
            return Ok(array.into_any());
        }
        Ok(array.reshape([num_words / columns, columns])?.into_any())
    }
}

/// Appends the words of a hexadecimal fingerprint: all digits, or an even number of them after
/// `0x`.
pub(crate) fn append_hex(width: Width, text: &str, words: &mut Vec<u64>) -> Result<(), String> {
    let digits = width.bits() / 4;
    let has_prefix = text.starts_with("0x") || text.starts_with("0X");
    if !has_prefix && text.len() != digits as usize {
        return Err(format!(
            "{text:?} has {} digits: {width} bits are written as {digits} hexadecimal digits, or behind 0x",
            text.chars().count(),
        ));
    }
    width.visit(AppendHex { text, words }).map_err(|why| format!("{text:?}: {why}"))
}

struct AppendHex<'a> {
    text: &'a str,
    words: &'a mut Vec<u64>,
}

impl WidthVisitor for AppendHex<'_> {
    type Output = Result<(), ParseFingerprintError>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.words.extend(words(F::parse_radix(self.text, Some(Radix::Hexadecimal))?));
        Ok(())
    }
}
