//! Whether a file holds several pictures: frames of an animation, or pages. Read from the structure of its container,
//! without a decoder.

use std::collections::HashSet;

use image::ImageFormat;

use crate::decode::{Format, format};
use crate::heic;

/// The bytes before the first chunk of a PNG, and of a WebP.
const PNG_START: usize = 8;
const WEBP_START: usize = 12;

/// Whether a file holds several frames or pages, by the structure of GIF, PNG, WebP, TIFF and HEIC.
///
/// [`Picture::decode`](crate::Picture::decode) and fingerprints are of the first one alone. A still picture beside an
/// animation of another one counts, too, and so does a TIFF with a small preview. Damaged files have as many frames as
/// can be read. HEIC files count as one picture.
#[must_use]
pub fn has_several_frames(bytes: &[u8]) -> bool {
    let several = match format(bytes) {
        Ok(Format::Image(ImageFormat::Gif)) => gif(bytes),
        Ok(Format::Image(ImageFormat::Png)) => Some(png(bytes)),
        Ok(Format::Image(ImageFormat::WebP)) => Some(webp(bytes)),
        Ok(Format::Image(ImageFormat::Tiff)) => tiff(bytes),
        Ok(Format::Heic) => heic::has_several(bytes),
        _ => Some(false),
    };
    several.unwrap_or(false)
}

/// The last byte of a GIF.
const TRAILER: u8 = 0x3b;

/// GIF89a, sections 17 to 27. `None` if the file ends before the second image.
fn gif(bytes: &[u8]) -> Option<bool> {
    let table_len = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table_len(*bytes.get(10)?);
    let mut images = 0;
    loop {
        match *bytes.get(at)? {
            0x2c => {
                images += 1;
                if images == 2 {
                    return Some(true);
                }
                // The descriptor, a table of colours, and the size of codes.
                at = after_blocks(bytes, at + 11 + table_len(*bytes.get(at + 9)?))?;
            }
            // An extension and its label.
            0x21 => at = after_blocks(bytes, at + 2)?,
            TRAILER => return Some(false),
            // What cannot be understood may have more images behind it.
            _ => return Some(true),
        }
    }
}

/// The place behind the blocks of a GIF: each begins with its length, and the last one is empty.
fn after_blocks(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let len = usize::from(*bytes.get(at)?);
        at += 1 + len;
        if len == 0 {
            return Some(at);
        }
    }
}

/// PNG (third edition), section 11.3.6. The still picture is a frame if a frame control comes before its data.
fn png(bytes: &[u8]) -> bool {
    let (mut declared, mut controls, mut is_apart, mut has_data) = (None, 0_u64, false, false);
    let mut at = PNG_START;
    while let Some((len, kind, content)) = png_chunk(bytes, at) {
        match kind {
            b"acTL" => declared = content.first_chunk().map(|count| u64::from(u32::from_be_bytes(*count))),
            b"fcTL" => controls += 1,
            b"IDAT" if !has_data => (has_data, is_apart) = (true, controls == 0),
            b"IEND" => break,
            _ => {}
        }
        // The length, the kind and a checksum.
        at = at.saturating_add(len).saturating_add(12);
    }
    let Some(declared) = declared else { return false };
    declared.max(controls) + u64::from(is_apart) > 1
}

/// The length, the kind and the content of a chunk, as much as there is of it.
fn png_chunk(bytes: &[u8], at: usize) -> Option<(usize, &[u8], &[u8])> {
    let rest = bytes.get(at..)?;
    let len = usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?;
    let content = rest.get(8..)?;
    Some((len, rest.get(4..8)?, &content[..len.min(content.len())]))
}

/// The chunks of an animation in the container of WebP.
fn webp(bytes: &[u8]) -> bool {
    let (mut frames, mut at) = (0, WEBP_START);
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= 8) {
        frames += u32::from(rest.starts_with(b"ANMF"));
        let len = rest[4..].first_chunk().map_or(0, |len| u32::from_le_bytes(*len));
        let padded = usize::try_from(len).unwrap_or(usize::MAX).saturating_add(1) & !1;
        at = at.saturating_add(padded).saturating_add(8);
        if frames > 1 {
            return true;
        }
    }
    false
}

/// TIFF 6.0, section 2: directories are a list. `None` if the file ends before the end of the first one.
fn tiff(bytes: &[u8]) -> Option<bool> {
    let is_little = bytes.starts_with(b"II");
    let number = |at: usize, len: usize| {
        let digits = bytes.get(at..at.checked_add(len)?)?;
        let joined = |number: usize, &digit: &u8| number << 8 | usize::from(digit);
        Some(if is_little { digits.iter().rev().fold(0, joined) } else { digits.iter().fold(0, joined) })
    };
    let mut known = HashSet::new();
    let mut at = number(4, 4)?;
    while at != 0 {
        known.insert(at);
        if known.len() == 2 {
            return Some(true);
        }
        let entries = number(at, 2)?;
        let next = number(at.checked_add(2 + 12 * entries)?, 4)?;
        // A list that leads back to itself has one page.
        at = if known.contains(&next) { 0 } else { next };
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use image::codecs::gif::GifEncoder;
    use image::{DynamicImage, Frame, RgbaImage};

    use super::*;

    fn picture(shade: u8) -> RgbaImage {
        RgbaImage::from_fn(8, 6, |x, y| {
            image::Rgba([shade, x.to_le_bytes()[0] * 9, y.to_le_bytes()[0] * 7, 255])
        })
    }

    fn gif_of(shades: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = GifEncoder::new(&mut bytes);
        shades.iter().for_each(|&shade| encoder.encode_frame(Frame::new(picture(shade))).unwrap());
        drop(encoder);
        bytes
    }

    fn encoded(format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::from(picture(3)).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn chunk(kind: &[u8; 4], content: &[u8]) -> Vec<u8> {
        let len = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&len[..], kind, content, &[0; 4]].concat()
    }

    fn apng(frames: u32, chunks: &[&[u8; 4]]) -> Vec<u8> {
        let mut bytes = [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &[0; 13])].concat();
        bytes.extend(chunk(b"acTL", &[frames.to_be_bytes(), [0; 4]].concat()));
        chunks.iter().for_each(|kind| bytes.extend(chunk(kind, b"content")));
        bytes.extend(chunk(b"IEND", b""));
        bytes
    }

    /// A TIFF of some empty directories; the last one leads to `last`.
    fn tiff_of(pages: u32, last: u32, is_little: bool) -> Vec<u8> {
        let number = |value: u32| if is_little { value.to_le_bytes() } else { value.to_be_bytes() };
        let mut bytes = if is_little { b"II*\0".to_vec() } else { b"MM\0*".to_vec() };
        bytes.extend(number(8));
        for page in 1..=pages {
            bytes.extend([0; 2]);
            bytes.extend(number(if page == pages { last } else { 8 + 6 * page }));
        }
        bytes
    }

    #[test]
    fn several_frames_or_pages_are_recognized() {
        let mut odd = gif_of(&[1]);
        assert!(!has_several_frames(&odd));
        assert_eq!(odd.pop(), Some(TRAILER));
        odd.extend([0, TRAILER]);
        assert!(has_several_frames(&odd), "something stands before the end");
        assert!(!has_several_frames(&gif_of(&[1])));
        assert!(has_several_frames(&gif_of(&[1, 2])));
        let stills =
            [ImageFormat::Png, ImageFormat::WebP, ImageFormat::Tiff, ImageFormat::Bmp, ImageFormat::Gif];
        stills.into_iter().for_each(|format| assert!(!has_several_frames(&encoded(format)), "{format:?}"));
        assert!(has_several_frames(&apng(2, &[b"fcTL", b"IDAT", b"fcTL", b"fdAT"])));
        assert!(has_several_frames(&apng(1, &[b"IDAT", b"fcTL", b"fdAT"])), "and a picture apart");
        assert!(!has_several_frames(&apng(1, &[b"fcTL", b"IDAT"])));
        assert!(has_several_frames(&apng(1, &[b"fcTL", b"IDAT", b"fcTL", b"fdAT"])), "more than declared");
        let frame = |frames: usize| {
            let chunk = [&b"ANMF"[..], &3_u32.to_le_bytes(), &[0; 4]].concat();
            [&b"RIFF\0\0\0\0WEBPANIM\0\0\0\0"[..], &chunk.repeat(frames)].concat()
        };
        assert!(has_several_frames(&frame(2)) && !has_several_frames(&frame(1)));
        for is_little in [true, false] {
            assert!(has_several_frames(&tiff_of(2, 0, is_little)));
            assert!(!has_several_frames(&tiff_of(1, 0, is_little)));
            assert!(!has_several_frames(&tiff_of(1, 8, is_little)), "leads back to itself");
        }
    }

    #[test]
    fn no_beginning_of_a_file_panics() {
        let files = [
            gif_of(&[1, 2]),
            apng(2, &[b"fcTL", b"IDAT", b"fcTL", b"fdAT"]),
            tiff_of(3, 0, true),
            encoded(ImageFormat::WebP),
        ];
        for bytes in files {
            for len in 0..bytes.len() {
                let mut cut = bytes[..len].to_vec();
                let _ = has_several_frames(&cut);
                // Lengths and offsets that lead out of the file.
                if let Some(last) = cut.last_mut() {
                    *last = 0xff;
                }
                cut.extend([0xff; 16]);
                let _ = has_several_frames(&cut);
            }
        }
    }
}
