//! Whether a file holds several pictures: frames of an animation, or pages. Read from the structure of its container,
//! without a decoder.

use std::ops::Range;

use image::ImageFormat;

use crate::decode::{Format, format};
use crate::heic;
use crate::jpeg;
use crate::tiff::{Entry, Tiff};

/// The bytes before the first chunk of a PNG, and of a WebP.
const PNG_START: usize = 8;
const WEBP_START: usize = 12;

/// What may stand behind a picture without being something of its own, beside padding. Cameras and editors write notes
/// there, such as the time zone; no picture, film or archive of use is as small.
const MAX_NOTE_BYTES: usize = 1 << 10;
/// Bytes with which programs fill files up: zeros, ones, spaces, ends of lines and of texts.
const PADDING: [u8; 7] = *b"\0\xff \t\r\n\x1a";
/// How much of a TIFF may belong to nothing: directories that editors have replaced.
const MAX_LOOSE_BYTES: u64 = 1 << 16;

/// Whether a file holds several frames or pages, by the structure of GIF, PNG, WebP, TIFF and HEIC.
///
/// [`Picture::decode`](crate::Picture::decode) and fingerprints are of the first one alone. A still picture beside an
/// animation of another one counts, too, and so does a TIFF with a small preview, with layers, or of a camera's own raw
/// format. Damaged files have as many frames as can be read. HEIC files count as one picture.
#[must_use]
pub fn has_several_frames(bytes: &[u8]) -> bool {
    let several = match format(bytes) {
        Ok(Format::Image(ImageFormat::Gif)) => gif(bytes).map(|found| found.is_none()),
        Ok(Format::Image(ImageFormat::Png)) => Some(png(bytes).0),
        Ok(Format::Image(ImageFormat::WebP)) => Some(webp(bytes)),
        Ok(Format::Image(ImageFormat::Tiff)) => tiff(bytes),
        Ok(Format::Heic) => heic::has_several(bytes),
        _ => Some(false),
    };
    several.unwrap_or(false)
}

/// Whether a file holds more than the one picture that is decoded: several frames or pages, the other pictures of a
/// JPEG that lists them, or anything else behind the picture, such as a film, a picture or an archive.
///
/// Thumbnails of the same picture, its gain map for bright displays, padding, and less than 1 KiB of notes do not count. Nor does what stands behind a
/// damaged picture.
#[must_use]
pub fn has_more_than_a_picture(bytes: &[u8]) -> bool {
    has_several_frames(bytes) || has_more_behind(bytes).unwrap_or(false)
}

fn has_more_behind(bytes: &[u8]) -> Option<bool> {
    let end = match format(bytes).ok()? {
        Format::Image(ImageFormat::Jpeg) => {
            let further = jpeg::further_pictures(bytes);
            let is_aid = |(kind, place): &(u64, Range<usize>)| {
                kind >> 16 == THUMBNAIL || bytes.get(place.clone()).is_some_and(is_gain_map)
            };
            if !further.iter().all(is_aid) {
                return Some(true);
            }
            further.iter().map(|(_, place)| place.end).fold(jpeg::end_of(bytes)?, usize::max)
        }
        Format::Image(ImageFormat::Gif) => gif(bytes)??,
        Format::Image(ImageFormat::Png) => png(bytes).1?,
        Format::Image(ImageFormat::WebP) => number(bytes, 4)?.checked_add(9)? & !1,
        Format::Image(ImageFormat::Bmp) => bmp(bytes)?,
        Format::Image(ImageFormat::Tiff) => {
            let parts = Tiff::new(bytes).parts_of_first()?;
            let known: u64 = parts.iter().map(|part| part.end - part.start).fold(0, u64::saturating_add);
            if (bytes.len() as u64).saturating_sub(known) > MAX_LOOSE_BYTES {
                return Some(true);
            }
            usize::try_from(parts.iter().map(|part| part.end).max()?).ok()?
        }
        Format::Image(_) => return None,
        Format::Heic => return Some(has_other_boxes(bytes)),
    };
    Some(is_more_than_a_note(bytes.get(end..)?))
}

/// The kind of a JPEG in another one that is the same picture, but smaller.
const THUMBNAIL: u64 = 1;

/// What stands in the head of a gain map: ISO 21496-1, and the names that Adobe and Apple have given it before.
const GAIN_MAPS: [&[u8]; 3] = [b"urn:iso:std:iso:ts:21496", b"hdrgm:", b"HDRGainMap"];
/// Where the head of a gain map ends at the latest.
const MAX_HEAD_BYTES: usize = 1 << 16;

/// Whether a JPEG in another one says how much brighter the other one is where: photos of many telephones have one.
fn is_gain_map(jpeg: &[u8]) -> bool {
    let head = &jpeg[..jpeg.len().min(MAX_HEAD_BYTES)];
    GAIN_MAPS.iter().any(|name| head.windows(name.len()).any(|found| found == *name))
}

/// Whether bytes behind a picture are more than padding and notes.
fn is_more_than_a_note(bytes: &[u8]) -> bool {
    let is_content = |byte: &u8| !PADDING.contains(byte);
    let first = bytes.iter().position(is_content);
    let last = bytes.iter().rposition(is_content);
    first.zip(last).is_some_and(|(first, last)| last - first >= MAX_NOTE_BYTES)
}

/// A number of four bytes, of which the first one is the lowest.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?)).ok()
}

/// The end of a BMP: what it declares, or what its header asks for, as some programs declare nothing.
fn bmp(bytes: &[u8]) -> Option<usize> {
    let (declared, data, header) = (number(bytes, 2)?, number(bytes, 10)?, number(bytes, 14)?);
    if header < 40 {
        return Some(declared);
    }
    let (width, height) = (number(bytes, 18)?, i32::from_le_bytes(*bytes.get(22..)?.first_chunk()?));
    let height = usize::try_from(height.unsigned_abs()).ok()?;
    let bits = number(bytes, 28)? & 0xffff;
    let row = width.checked_mul(bits)?.div_ceil(32).checked_mul(4)?;
    let len = row.checked_mul(height)?.max(number(bytes, 34)?);
    Some(declared.max(data.checked_add(len)?))
}

/// Boxes of a HEIC file: what it is, what is in it, the data of that, and free room.
const BOXES: [&[u8; 4]; 6] = [b"meta", b"mdat", b"idat", b"free", b"skip", b"wide"];

/// Whether a HEIC file has boxes of other kinds that are more than notes, or more than boxes.
fn has_other_boxes(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some((start, content)) = rest.split_first_chunk::<8>() {
        let [a, b, c, d, kind @ ..] = *start;
        let len = match u32::from_be_bytes([a, b, c, d]) {
            0 => rest.len() as u64,
            1 => content.first_chunk().map_or(0, |len| u64::from_be_bytes(*len)),
            len => len.into(),
        };
        let is_box = len >= 8 && kind.iter().all(u8::is_ascii_alphanumeric);
        let is_first = rest.len() == bytes.len();
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(rest.len());
        if !is_box || !is_first && !BOXES.contains(&&kind) && len > MAX_NOTE_BYTES {
            break;
        }
        rest = &rest[len..];
    }
    is_more_than_a_note(rest)
}

/// The last byte of a GIF.
const TRAILER: u8 = 0x3b;

/// GIF89a, sections 17 to 27: its end, or `Some(None)` if it has several images. `None` if the file ends before that.
fn gif(bytes: &[u8]) -> Option<Option<usize>> {
    let table_len = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table_len(*bytes.get(10)?);
    let mut images = 0;
    loop {
        match *bytes.get(at)? {
            0x2c => {
                images += 1;
                if images == 2 {
                    return Some(None);
                }
                // The descriptor, a table of colours, and the size of codes.
                at = after_blocks(bytes, at + 11 + table_len(*bytes.get(at + 9)?))?;
            }
            // An extension and its label.
            0x21 => at = after_blocks(bytes, at + 2)?,
            TRAILER => return Some(Some(at + 1)),
            // What cannot be understood may have more images behind it.
            _ => return Some(None),
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

/// PNG (third edition), section 11.3.6: whether it has several frames, and its end. The still picture is a frame if a
/// frame control comes before its data.
fn png(bytes: &[u8]) -> (bool, Option<usize>) {
    let (mut declared, mut controls, mut is_apart, mut has_data) = (None, 0_u64, false, false);
    let (mut at, mut end) = (PNG_START, None);
    while let Some((len, kind, content)) = png_chunk(bytes, at) {
        match kind {
            b"acTL" => declared = content.first_chunk().map(|count| u64::from(u32::from_be_bytes(*count))),
            b"fcTL" => controls += 1,
            b"IDAT" if !has_data => (has_data, is_apart) = (true, controls == 0),
            _ => {}
        }
        // The length, the kind and a checksum.
        at = at.saturating_add(len).saturating_add(12);
        if kind == b"IEND" {
            end = Some(at);
            break;
        }
    }
    let frames = declared.map_or(0, |declared| declared.max(controls) + u64::from(is_apart));
    (frames > 1, end)
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

/// Entries of a directory that lead to other pictures: further directories, what a raw picture is, layers.
const SEVERAL: [u64; 3] = [330, 50706, 37724];
/// Entries that say that a picture is the smaller form of another one, and how: a bit, and a number.
const SMALLER: [(u64, u64, u64); 2] = [(254, 1, 1), (255, u64::MAX, 2)];

/// TIFF 6.0, section 2: directories are a list. `None` if the file ends before the end of the first one. Cameras store
/// a small picture in the first one, and the raw picture in another, to which an entry leads.
fn tiff(bytes: &[u8]) -> Option<bool> {
    let file = Tiff::new(bytes);
    let first = file.first().filter(|first| *first != 0)?;
    // A list that leads back to itself has one page.
    let next = file.next(first)?;
    let is_smaller = |entry: Entry| {
        let rules = SMALLER.iter().filter(|(tag, ..)| *tag == entry.tag);
        let mut values = file.values(entry);
        values.next().is_some_and(|value| rules.clone().any(|(_, mask, smaller)| value & mask == *smaller))
    };
    let leads_on = |entry: Entry| SEVERAL.contains(&entry.tag) || is_smaller(entry);
    Some(![0, first].contains(&next) || file.entries(first).any(leads_on))
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

    /// A TIFF of a small picture, with a further entry.
    fn tiff_with(tag: u16, value: u32) -> Vec<u8> {
        let mut bytes = encoded(ImageFormat::Tiff);
        let at = number(&bytes, 4).unwrap();
        let directory = bytes.split_off(at);
        let count = u16::from_le_bytes([directory[0], directory[1]]);
        let (entries, rest) = directory[2..].split_at(12 * usize::from(count));
        let mut entries: Vec<_> = entries.as_chunks::<12>().0.to_vec();
        let entry = [&tag.to_le_bytes()[..], &[4, 0, 1, 0, 0, 0], &value.to_le_bytes()].concat();
        entries.push(entry.try_into().unwrap());
        entries.sort_by_key(|entry| u16::from_le_bytes([entry[0], entry[1]]));
        bytes.extend(u16::try_from(entries.len()).unwrap().to_le_bytes());
        bytes.extend(entries.as_flattened());
        bytes.extend(rest);
        bytes
    }

    /// A raw photo was taken for the small picture in it, and went in favour of a JPEG.
    #[test]
    fn regression_raw_photos_and_layers_are_more_than_a_picture() {
        for (tag, value) in [(330, 8), (50706, 0x401), (37724, 0), (254, 1), (255, 2)] {
            assert!(has_several_frames(&tiff_with(tag, value)), "{tag}");
        }
        for (tag, value) in [(254, 0), (254, 2), (255, 1), (37, 1)] {
            assert!(!has_more_than_a_picture(&tiff_with(tag, value)), "{tag}");
        }
        // Raw data to which only the notes of a camera lead.
        let mut raw = encoded(ImageFormat::Tiff);
        let at = number(&raw, 4).unwrap();
        raw.splice(at..at, [7; 70_000]);
        raw[4..8].copy_from_slice(&u32::try_from(at + 70_000).unwrap().to_le_bytes());
        assert!(has_more_than_a_picture(&raw));
    }

    /// A JPEG that lists further pictures of some kinds, which stand behind it.
    fn jpeg_with(kinds: &[u32]) -> Vec<u8> {
        jpeg_with_each(kinds, &encoded(ImageFormat::Jpeg))
    }

    fn jpeg_with_each(kinds: &[u32], further: &[u8]) -> Vec<u8> {
        let still = encoded(ImageFormat::Jpeg);
        let number = |number: usize| u32::try_from(number).unwrap();
        let list_len = 16 * (kinds.len() + 1);
        // Places begin at `II`, 10 bytes behind the beginning of the file.
        let mut list = b"MPF\0II*\0\x08\0\0\0\x01\0\x02\xb0\x07\0".to_vec();
        list.extend([number(list_len), 26, 0].into_iter().flat_map(u32::to_le_bytes));
        let behind = still.len() + 4 + list.len() + list_len - 10;
        for (at, kind) in std::iter::once(&0x03_0000).chain(kinds).enumerate() {
            let from = if at == 0 { 0 } else { behind + (at - 1) * further.len() };
            let entry = [*kind, number(further.len()), number(from), 0];
            list.extend(entry.into_iter().flat_map(u32::to_le_bytes));
        }
        let len = u16::try_from(list.len() + 2).unwrap().to_be_bytes();
        let all = [&still[..2], &[0xff, 0xe2], &len, &list, &still[2..]].concat();
        [all, further.repeat(kinds.len())].concat()
    }

    /// Pictures of two lenses, films and archives behind a picture went with it.
    #[test]
    fn regression_what_stands_behind_a_picture_is_more_than_a_picture() {
        let noise: Vec<u8> = (0..2000_u32).map(|number| (number.pow(2) >> 3).to_le_bytes()[0] | 1).collect();
        let heic = include_bytes!("heic/plain.heic").to_vec();
        let formats = [ImageFormat::Jpeg, ImageFormat::Png, ImageFormat::WebP, ImageFormat::Tiff];
        let further = [encoded(ImageFormat::Bmp), gif_of(&[1]), heic];
        for still in formats.map(encoded).into_iter().chain(further) {
            let format = crate::format_of(&still);
            assert!(!has_more_than_a_picture(&still), "{format:?}");
            let more = |behind: &[u8]| has_more_than_a_picture(&[&still, behind].concat());
            for padding in [&[0; 5000][..], &[0xff; 5000], b"\r\n", &noise[..1000]] {
                assert!(!more(padding), "{format:?}: {} bytes {:?}", padding.len(), padding[0]);
            }
            assert!(more(&noise), "{format:?}");
            assert!(more(&[&[0; 3000], &noise[..]].concat()), "{format:?}: behind padding");
            assert!(more(&[&b"\0\0\x08\0mpvd"[..], &noise, &[1; 48]].concat()), "{format:?}: a film");
        }
        assert!(has_more_than_a_picture(&jpeg_with(&[0x02_0002])), "two lenses");
        assert!(has_more_than_a_picture(&jpeg_with(&[0x01_0001, 0])), "a thumbnail, and another one");
        let still = encoded(ImageFormat::Jpeg);
        for name in GAIN_MAPS {
            let len = u16::try_from(name.len() + 2).unwrap().to_be_bytes();
            let map = [&still[..2], &[0xff, 0xe1], &len, name, &still[2..]].concat();
            assert!(!has_more_than_a_picture(&jpeg_with_each(&[0x01_0001, 0], &map)), "a gain map");
        }
        assert!(!has_more_than_a_picture(&jpeg_with(&[0x01_0001, 0x01_0002])), "thumbnails");
        assert!(
            !has_several_frames(&jpeg_with(&[0x02_0002])),
            "its fingerprint is that of the first picture"
        );
    }

    #[test]
    fn no_beginning_of_a_file_panics() {
        let files = [
            gif_of(&[1, 2]),
            apng(2, &[b"fcTL", b"IDAT", b"fcTL", b"fdAT"]),
            tiff_of(3, 0, true),
            encoded(ImageFormat::WebP),
            encoded(ImageFormat::Bmp),
            encoded(ImageFormat::Tiff),
            jpeg_with(&[0x01_0001]),
        ];
        for bytes in files {
            for len in 0..bytes.len() {
                let mut cut = bytes[..len].to_vec();
                let _ = has_more_than_a_picture(&cut);
                // Lengths and offsets that lead out of the file.
                if let Some(last) = cut.last_mut() {
                    *last = 0xff;
                }
                cut.extend([0xff; 16]);
                let _ = has_more_than_a_picture(&cut);
            }
        }
    }
}
