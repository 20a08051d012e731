//! Widths as C passes them.

use nearprint::Width;

use crate::error::Outcome;

/// The number of words of a fingerprint.
pub(crate) fn words_of(width: Width) -> usize {
    width.bits() as usize / 64
}

/// A width in bits; 0 is the default.
pub(crate) fn width_of(bits: u32) -> Outcome<Width> {
    Ok(if bits == 0 { Width::default() } else { Width::try_from(bits)? })
}
