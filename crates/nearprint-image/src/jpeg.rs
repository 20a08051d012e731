//! JPEGs: the luminance alone, and whether a file is whole, because decoders fill what a cut file does not have.

use image::GrayImage;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The second bytes of markers (ITU-T T.81, table B.1) that stand alone: after a byte 0xff of the picture itself, and
/// those that restart the decoder.
const ALONE: [std::ops::RangeInclusive<u8>; 3] = [0x00..=0x01, 0xd0..=0xd8, 0xff..=0xff];
/// The end of a picture.
const END: u8 = 0xd9;

/// The luminance of a JPEG that stores it apart from colours, by the decoder and with the settings of the crate
/// `image`, which has no way to ask for it. `None` for other JPEGs, and if the decoder fails.
pub(crate) fn luminance(bytes: &[u8]) -> Option<GrayImage> {
    let any_size = DecoderOptions::default().set_max_width(usize::MAX).set_max_height(usize::MAX);
    let options = any_size.set_strict_mode(false).jpeg_set_out_colorspace(ColorSpace::Luma);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().ok()?;
    if decoder.input_colorspace() != Some(ColorSpace::YCbCr) {
        return None;
    }
    let info = decoder.info()?;
    GrayImage::from_raw(info.width.into(), info.height.into(), decoder.decode().ok()?)
}

/// Whether a file has the marker of its end: behind all segments, which are skipped by their lengths, and all data of
/// the picture, in which no marker occurs. More may follow.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte == 0xff) {
        let Some(&code) = rest.get(at + 1) else { return false };
        let len = match code {
            END => return true,
            _ if ALONE.iter().any(|codes| codes.contains(&code)) => usize::from(code != 0xff),
            _ => match rest.get(at + 2..at + 4) {
                Some(&[high, low]) => 1 + usize::from(u16::from_be_bytes([high, low])),
                _ => return false,
            },
        };
        rest = rest.get(at + 1 + len..).unwrap_or_default();
    }
    false
}
