//! JPEGs: the luminance alone, and whether a file is whole, because decoders fill what a cut file does not have.

use std::ops::Range;

use image::GrayImage;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::tiff::Tiff;

/// The second bytes of markers (ITU-T T.81, table B.1) that stand alone: after a byte 0xff of the picture itself, and
/// those that restart the decoder.
const ALONE: [std::ops::RangeInclusive<u8>; 3] = [0x00..=0x01, 0xd0..=0xd8, 0xff..=0xff];
/// The end of a picture.
const END: u8 = 0xd9;
/// The beginning of the data of a picture.
const DATA: u8 = 0xda;
/// The segment that lists several pictures.
const SEVERAL: (u8, &[u8]) = (0xe2, b"MPF\0");
/// The entry of its directory that has 16 bytes for each picture: its kind, its length, its place from the beginning of
/// the directory's file, and two numbers of others.
const ENTRIES: u64 = 0xb002;

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

/// Whether a file has the marker of its end. More may follow.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    end_of(bytes).is_some()
}

/// The place behind the marker of the end: behind all segments, which are skipped by their lengths, and all data of the
/// picture, in which no marker occurs.
pub(crate) fn end_of(bytes: &[u8]) -> Option<usize> {
    markers(bytes).find(|(code, _)| *code == END).map(|(_, content)| content.start)
}

/// The markers of a file, each with the place of what its segment has.
fn markers(bytes: &[u8]) -> impl Iterator<Item = (u8, Range<usize>)> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let at = from + bytes.get(from..)?.iter().position(|&byte| byte == 0xff)?;
            let code = *bytes.get(at + 1)?;
            if code == END {
                from = bytes.len();
                return Some((code, at + 2..at + 2));
            }
            if ALONE.iter().any(|codes| codes.contains(&code)) {
                from = at + if code == 0xff { 1 } else { 2 };
                continue;
            }
            let len = usize::from(u16::from_be_bytes(*bytes.get(at + 2..)?.first_chunk()?));
            from = at + 2 + len;
            return Some((code, at + 4..from.max(at + 4)));
        }
    })
}

/// The further pictures that a file lists in the format for several pictures (CIPA DC-007): the kind of each, and where
/// it is.
pub(crate) fn further_pictures(bytes: &[u8]) -> Vec<(u64, Range<usize>)> {
    let list = markers(bytes)
        .take_while(|(code, _)| *code != DATA)
        .filter(|(code, _)| *code == SEVERAL.0)
        .find_map(|(_, at)| Some((at.start + 4, bytes.get(at)?.strip_prefix(SEVERAL.1)?)));
    let Some((base, list)) = list else { return Vec::new() };
    let tiff = Tiff::new(list);
    let entries = tiff.first().and_then(|first| tiff.entries(first).find(|entry| entry.tag == ENTRIES));
    let numbers: Vec<u64> = entries.map(|entry| tiff.numbers(entry).collect()).unwrap_or_default();
    let further = numbers.as_chunks::<4>().0.iter().skip(1).map(|&[kind, len, from, _]| {
        let [from, len] = [from, len].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        let from = base.saturating_add(from);
        (kind & 0xff_ffff, from..from.saturating_add(len))
    });
    further.collect()
}
