//! The decoders of pictures, or what takes their place without the feature `images`: no file is a picture.

#[cfg(feature = "images")]
pub(super) use nearprint_image::{
    Limits, decoded_bytes, format_of, has_more_than_a_picture, has_several_frames, thumbnail,
    unsupported_format_of,
};

#[cfg(feature = "images")]
use nearprint_image::{Picture, Result};

/// Whether this program has decoders.
pub(crate) const HAS_DECODERS: bool = cfg!(feature = "images");

/// Makes panics of decoders, which are reported as damaged pictures, print nothing else.
pub(crate) fn quiet_decoders() {
    #[cfg(feature = "images")]
    nearprint_image::quiet_decoders();
}

#[cfg(feature = "images")]
pub(super) fn decode(bytes: &[u8], limits: &Limits) -> Result<Picture<'static>> {
    Picture::decode(bytes, limits)
}

#[cfg(feature = "images")]
pub(super) fn decode_luminance(bytes: &[u8], limits: &Limits) -> Result<Picture<'static>> {
    Picture::decode_luminance(bytes, limits)
}

#[cfg(not(feature = "images"))]
pub(super) use none::{
    Limits, decode, decode as decode_luminance, decoded_bytes, format_of, format_of as unsupported_format_of,
    has_several_frames, has_several_frames as has_more_than_a_picture, thumbnail,
};

#[cfg(not(feature = "images"))]
mod none {
    use nearprint_image::{Error, Picture, Result};

    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Limits {}

    pub(crate) fn format_of(_: &[u8]) -> Option<&'static str> {
        None
    }

    pub(crate) fn has_several_frames(_: &[u8]) -> bool {
        false
    }

    pub(crate) fn decoded_bytes(_: &[u8], _: &Limits) -> Result<u64> {
        Err(Error::NotAPicture)
    }

    pub(crate) fn decode(_: &[u8], _: &Limits) -> Result<Picture<'static>> {
        Err(Error::NotAPicture)
    }

    pub(crate) fn thumbnail(_: &Picture<'_>, _: usize) -> Result<Vec<u8>> {
        Err(Error::NotAPicture)
    }
}
