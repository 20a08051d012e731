//! Fingerprints of pictures for [`nearprint`]: edited copies of a picture have fingerprints that differ in few
//! bits.
//!
//! - [`Picture`] is decoded from the bytes of a file within [`Limits`], its colours or what fingerprints need, or
//!   made of grey or RGB samples.
//! - [`pdq`] makes PDQ fingerprints of 256 bits with a quality, and [`pdq_turned`] all eight rotations and
//!   reflections from one transform.
//! - [`dhash`] and [`phash`] make fingerprints of 64 bits.
//! - [`Recipe`] names the three, as databases and command lines do.
//! - [`thumbnail`] makes a small JPEG for a page.
//!
//! Decoders and [`thumbnail`] need the feature `decode`, which is on by default.
//!
//! ```
//! use nearprint::Fingerprint;
//! use nearprint_image::{Picture, pdq};
//!
//! // With detail: of a smooth picture, most bits are rounding errors.
//! let samples: Vec<u8> = (0..128 * 128).map(|at: u32| (at * at / 4093) as u8).collect();
//! let halves: Vec<u8> = samples.iter().map(|sample| sample / 2).collect();
//! let (one, darker) = (pdq(&Picture::grey(128, 128, &samples)?), pdq(&Picture::grey(128, 128, &halves)?));
//! assert!(one.hash.distance(darker.hash) <= 31);
//! # Ok::<(), nearprint_image::Error>(())
//! ```

#![warn(missing_debug_implementations)]

#[cfg(feature = "decode")]
mod decode;
mod error;
#[cfg(feature = "decode")]
mod frames;
#[cfg(all(feature = "decode", any(test, feature = "fuzzing")))]
#[doc(hidden)]
pub mod fuzzing;
#[cfg(feature = "decode")]
mod heic;
#[cfg(feature = "decode")]
mod jpeg;
#[cfg(feature = "decode")]
mod limits;
#[cfg(feature = "decode")]
mod panics;
mod pdq;
mod picture;
mod recipe;
mod sample;
mod small;
#[cfg(test)]
mod tests;
#[cfg(feature = "decode")]
mod thumbnail;
#[cfg(feature = "decode")]
mod tiff;

#[cfg(feature = "decode")]
pub use decode::{decoded_bytes, format_of, unsupported_format_of};
pub use error::{Error, Result};
#[cfg(feature = "decode")]
pub use frames::{has_more_than_a_picture, has_several_frames};
#[cfg(feature = "decode")]
pub use limits::Limits;
#[cfg(feature = "decode")]
pub use panics::quiet_decoders;
pub use pdq::{Pdq, Turn, pdq, pdq_turned};
pub use picture::Picture;
pub use recipe::{Recipe, UnknownRecipe};
pub use small::{dhash, phash};
#[cfg(feature = "decode")]
pub use thumbnail::thumbnail;

/// Compiles the code of the README.
#[cfg(all(doctest, feature = "decode"))]
#[doc = include_str!("../README.md")]
struct Readme;
