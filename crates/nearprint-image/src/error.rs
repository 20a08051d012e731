//! The error type of the crate.

use std::fmt;

/// The result of a fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are in no format of pictures that is known here.
    NotAPicture,
    /// The format is known, and there is no decoder for it here.
    Unsupported {
        /// The name of the format, such as "AVIF".
        format: &'static str,
    },
    /// The picture has more pixels, or needs more memory, than its [`Limits`](crate::Limits) allow.
    TooLarge {
        /// Its width and height, as its header declares them.
        width: u32,
        /// See `width`.
        height: u32,
    },
    /// The bytes are damaged, or their decoder failed.
    Damaged {
        /// What the decoder said.
        why: String,
    },
    /// The number of samples is not what width, height and channels make, or there is no pixel.
    Samples {
        /// The number of samples that there should be.
        expected: usize,
        /// The number of samples that there are.
        found: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPicture => f.write_str("not an image of a known format"),
            Self::Unsupported { format } => write!(f, "{format} images are not read"),
            Self::TooLarge { width, height } => {
                write!(f, "an image of {width} x {height} pixels is larger than the limit")
            }
            Self::Damaged { why } => write!(f, "a damaged image: {why}"),
            Self::Samples { expected, found } => {
                if *expected == 0 {
                    return f.write_str("no pixel");
                }
                write!(f, "{found} samples instead of {expected}")
            }
        }
    }
}

impl std::error::Error for Error {}
