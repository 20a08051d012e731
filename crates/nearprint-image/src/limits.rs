//! What a decoder is asked for.

/// What a picture may have. What its header declares is checked before anything is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest number of pixels.
    pub max_pixels: u64,
    /// The most memory for the decoded samples, and for what the decoder allocates, in bytes.
    pub max_bytes: u64,
}

/// 120 million pixels, 512 MiB.
impl Default for Limits {
    fn default() -> Self {
        Self { max_pixels: 120_000_000, max_bytes: 512 << 20 }
    }
}

/// What is decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Samples {
    All,
    Luminance,
}
