//! The names of fingerprints of pictures.

use std::fmt;
use std::str::FromStr;

use nearprint::Width;
use nearprint::any::AnyFingerprint;

use crate::pdq::{Turn, pdq, pdq_turned};
use crate::picture::Picture;
use crate::small::{dhash, phash};

/// How pictures become fingerprints. A database stores the name as its recipe.
///
/// ```
/// use nearprint_image::Recipe;
///
/// assert_eq!("pdq".parse(), Ok(Recipe::Pdq));
/// assert_eq!(Recipe::Pdq.to_string(), "pdq");
/// assert_eq!(Recipe::Pdq.default_k(), 31);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Recipe {
    /// [`pdq`]: 256 bits.
    #[default]
    Pdq,
    /// [`dhash`]: 64 bits.
    Dhash,
    /// [`phash`]: 64 bits.
    Phash,
}

impl Recipe {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Pdq, Self::Dhash, Self::Phash];

    /// The name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdq => "pdq",
            Self::Dhash => "dhash",
            Self::Phash => "phash",
        }
    }

    /// The width of a fingerprint.
    #[must_use]
    pub const fn width(self) -> Width {
        match self {
            Self::Pdq => Width::W256,
            Self::Dhash | Self::Phash => Width::W64,
        }
    }

    /// The distance within which pictures count as the same: 31 of 256 bits, as the authors of PDQ recommend, and 8
    /// of 64.
    #[must_use]
    pub const fn default_k(self) -> u32 {
        match self {
            Self::Pdq => 31,
            Self::Dhash | Self::Phash => 8,
        }
    }

    /// The fingerprint of a picture and its quality, from 0 to 100. Only PDQ measures it; the others have 100.
    #[must_use]
    pub fn fingerprint(self, picture: &Picture<'_>) -> (AnyFingerprint, u8) {
        match self {
            Self::Pdq => {
                let found = pdq(picture);
                (found.hash.into(), found.quality)
            }
            Self::Dhash => (dhash(picture).into(), 100),
            Self::Phash => (phash(picture).into(), 100),
        }
    }

    /// The fingerprints of all rotations and reflections of a picture, in the order of [`Turn::ALL`], and its
    /// quality. `None` if the recipe makes only one for each picture.
    #[must_use]
    pub fn turned(self, picture: &Picture<'_>) -> Option<([AnyFingerprint; Turn::ALL.len()], u8)> {
        let Self::Pdq = self else { return None };
        let (hashes, quality) = pdq_turned(picture);
        Some((hashes.map(AnyFingerprint::from), quality))
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Recipe {
    type Err = UnknownRecipe;

    fn from_str(text: &str) -> Result<Self, UnknownRecipe> {
        Self::ALL.into_iter().find(|recipe| recipe.name() == text).ok_or(UnknownRecipe)
    }
}

/// A name that is no recipe of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownRecipe;

impl fmt::Display for UnknownRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not pdq, dhash or phash")
    }
}

impl std::error::Error for UnknownRecipe {}
