//! Widths as values: from a number that is known at run time to a type.

use std::fmt;
use std::str::FromStr;

use super::distance::Distance;
use super::{Fingerprint, U256, U320};
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
    /// 256 bits: [`U256`].
    W256,
    /// 320 bits: [`U320`].
    W320,
}

/// Code that is generic over the fingerprint, for a width that is known only at run time.
pub trait WidthVisitor {
    /// What it returns.
    type Output;
    /// Runs with the type of the width.
    fn visit<F: Fingerprint>(self) -> Self::Output;
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

    /// Runs generic code with the type of this width.
    pub fn visit<V: WidthVisitor>(self, visitor: V) -> V::Output {
        match self {
            Self::W64 => visitor.visit::<u64>(),
            Self::W128 => visitor.visit::<u128>(),
            Self::W256 => visitor.visit::<U256>(),
            Self::W320 => visitor.visit::<U320>(),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Bits;
    impl WidthVisitor for Bits {
        type Output = u32;
        fn visit<F: Fingerprint>(self) -> u32 {
            assert_eq!(F::WIDTH.bits(), F::BITS);
            F::BITS
        }
    }

    #[test]
    fn each_width_has_its_type_and_its_largest_distance() {
        for width in Width::ALL {
            assert_eq!(width.visit(Bits), width.bits());
            assert_eq!(width.to_string().parse::<Width>().unwrap(), width);
            assert_eq!(width.check_distance(width.bits()).unwrap(), width.bits());
            let beyond = width.check_distance(width.bits() + 1);
            assert!(
                matches!(beyond, Err(Error::Distance { k, width: bits }) if (k, bits) == (bits + 1, width.bits()))
            );
        }
        for unknown in ["63", "", "x", "-64", "4294967360"] {
            assert!(matches!(unknown.parse::<Width>(), Err(Error::UnknownWidth { .. })), "{unknown}");
        }
    }
}
