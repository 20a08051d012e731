//! Widths as values.

use std::fmt;
use std::str::FromStr;

use super::distance::Distance;
use crate::error::{Error, Result};

/// The width of fingerprints.
///
/// ```
/// use nearprint::{Fingerprint, Width, WidthVisitor};
///
/// struct LenBytes;
/// impl WidthVisitor for LenBytes {
///     type Output = usize;
///     fn visit<F: Fingerprint>(self) -> usize {
///         F::LEN_BYTES
///     }
/// }
///
/// let width: Width = "128".parse()?;
/// assert_eq!((width.bits(), width.visit(LenBytes)), (128, 16));
/// # Ok::<(), nearprint::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// 64 bits: `u64`.
    #[default]
    W64,
    /// 128 bits: `u128`.
    W128,
    /// 256 bits: [`U256`](crate::U256).
    W256,
    /// 320 bits: [`U320`](crate::U320).
    W320,
}

impl Width {
    /// All widths, ascending.
    pub const ALL: [Self; 4] = [Self::W64, Self::W128, Self::W256, Self::W320];

    /// The width in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::W64 => 64,
            Self::W128 => 128,
            Self::W256 => 256,
            Self::W320 => 320,
        }
    }

    /// The number of 64-bit words of a fingerprint.
    #[must_use]
    pub const fn words(self) -> usize {
        self.bits() as usize / 64
    }

    /// Returns `k` if fingerprints of this width can differ by that many bits.
    ///
    /// Searches accept any k. This is for settings and options, where a larger one is a mistake.
    ///
    /// # Errors
    /// [`Error::Distance`].
    pub fn check_distance(self, k: u32) -> Result<u32> {
        Distance::checked(k, self.bits()).map(Distance::bits)
    }
}

impl TryFrom<u32> for Width {
    type Error = Error;

    fn try_from(bits: u32) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|width| width.bits() == bits)
            .ok_or_else(|| Error::UnknownWidth { width: bits.to_string() })
    }
}

impl FromStr for Width {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let width = text.parse().ok().and_then(|bits: u32| Self::try_from(bits).ok());
        width.ok_or_else(|| Error::UnknownWidth { width: text.to_string() })
    }
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bits().fmt(f)
    }
}
