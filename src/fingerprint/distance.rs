//! The distance within which an operation searches.

use super::Fingerprint;
use crate::error::{Error, Result};

/// A number of differing bits that does not exceed a width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Distance(u32);

impl Distance {
    /// The distance of a search: every value beyond the width finds everything, as the width does.
    pub(crate) fn saturating<F: Fingerprint>(k: u32) -> Self {
        Self(k.min(F::BITS))
    }

    /// A distance that is a setting, and must make sense.
    ///
    /// # Errors
    /// [`Error::Distance`] beyond the width.
    pub(crate) fn checked(k: u32, width: u32) -> Result<Self> {
        if k <= width { Ok(Self(k)) } else { Err(Error::Distance { k, width }) }
    }

    #[inline]
    pub(crate) const fn bits(self) -> u32 {
        self.0
    }
}
