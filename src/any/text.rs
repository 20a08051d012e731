//! Fingerprints as text.

use crate::fingerprint::{Fingerprint, ParseFingerprintError, Radix, Width, words};

/// The words of a fingerprint that is given as text, as [`Fingerprint::parse_radix`] reads it.
///
/// # Errors
/// As [`Fingerprint::parse_radix`].
pub fn parse(width: Width, text: &str, radix: Option<Radix>) -> Result<Vec<u64>, ParseFingerprintError> {
    with_width!(width, F => Ok(words(F::parse_radix(text, radix)?).collect()))
}

/// The text of a fingerprint, as [`Fingerprint::display`] writes it.
#[must_use]
pub fn format(width: Width, fingerprint: &[u64]) -> String {
    with_width!(width, F => F::from_le_words(fingerprint).display().to_string())
}
