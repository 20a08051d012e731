//! Pictures by rule, known fingerprints, and files that are damaged or hostile.

#![cfg(feature = "decode")]

use std::io::Cursor;

use image::{DynamicImage, GrayImage, ImageFormat, RgbImage, RgbaImage};
use nearprint::Fingerprint;
use proptest::prelude::*;

use super::*;

/// Waves in three colours, in whole numbers so that every program draws the same.
fn waves(width: usize, height: usize, seed: usize) -> Vec<u8> {
    let triangle = |at: usize, period: usize| {
        let phase = at % period;
        phase.min(period - phase) * 510 / period
    };
    let sample = |at: usize| {
        let (x, y, channel) = (at / 3 % width, at / 3 / width, at % 3);
        let one = triangle(x * (3 + seed) + y * (1 + channel), width + height / 2);
        let other = triangle(y * (5 + seed % 3) + x + 40 * channel, height + 7 * seed);
        u8::try_from((2 * one + other) / 3).unwrap()
    };
    (0..3 * width * height).map(sample).collect()
}

fn picture(width: usize, height: usize, seed: usize) -> Picture<'static> {
    Picture::rgb(width, height, waves(width, height, seed)).unwrap()
}

/// The picture, turned pixel by pixel.
fn turned(picture: &Picture<'_>, turn: Turn) -> Picture<'static> {
    let (width, height) = (picture.width(), picture.height());
    let (new_width, new_height) = match turn {
        Turn::None | Turn::Half | Turn::Flipped | Turn::Mirrored => (width, height),
        _ => (height, width),
    };
    let pixel = |at: usize| {
        let (x, y) = (at % new_width, at / new_width);
        let (x, y) = match turn {
            Turn::None => (x, y),
            Turn::Left => (width - 1 - y, x),
            Turn::Half => (width - 1 - x, height - 1 - y),
            Turn::Right => (y, height - 1 - x),
            Turn::Flipped => (x, height - 1 - y),
            Turn::Mirrored => (width - 1 - x, y),
            Turn::Transposed => (y, x),
            Turn::Transversed => (width - 1 - y, height - 1 - x),
        };
        let start = picture.channels() * (y * width + x);
        picture.samples()[start..start + picture.channels()].to_vec()
    };
    Picture::rgb(new_width, new_height, (0..width * height).flat_map(pixel).collect::<Vec<u8>>()).unwrap()
}

fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn image(width: usize, height: usize, seed: usize) -> DynamicImage {
    let size = |side: usize| u32::try_from(side).unwrap();
    RgbImage::from_raw(size(width), size(height), waves(width, height, seed)).unwrap().into()
}

const FORMATS: [ImageFormat; 6] = [
    ImageFormat::Jpeg,
    ImageFormat::Png,
    ImageFormat::WebP,
    ImageFormat::Gif,
    ImageFormat::Tiff,
    ImageFormat::Bmp,
];

fn decode(bytes: &[u8]) -> Result<Picture<'static>> {
    Picture::decode(bytes, &Limits::default())
}

#[test]
fn turned_fingerprints_are_those_of_turned_pictures() {
    for (width, height, seed) in [(640, 480, 1), (333, 500, 4), (200, 200, 9), (64, 64, 2), (192, 144, 7)] {
        let original = picture(width, height, seed);
        let (hashes, quality) = pdq_turned(&original);
        assert_eq!(Pdq { hash: hashes[0], quality }, pdq(&original));
        assert!(quality >= 80, "{quality}");
        for (hash, turn) in hashes.into_iter().zip(Turn::ALL) {
            let distance = pdq(&turned(&original, turn)).hash.distance(hash);
            // Small pictures are turned themselves.
            let most = if width.min(height) < 400 { 0 } else { 31 };
            assert!(distance <= most, "{width} x {height}, {turn:?}: {distance}");
            let others = hashes.iter().filter(|&&other| other.distance(hash) <= 31).count();
            assert_eq!(others, 1, "{width} x {height}, {turn:?} is like another one");
        }
    }
}

#[test]
fn every_format_is_decoded() {
    let expected = pdq(&picture(300, 200, 3));
    for format in FORMATS {
        let bytes = encoded(&image(300, 200, 3), format);
        let found = decode(&bytes).unwrap();
        assert_eq!((found.width(), found.height()), (300, 200), "{format:?}");
        let distance = pdq(&found).hash.distance(expected.hash);
        let is_lossy = matches!(format, ImageFormat::Jpeg | ImageFormat::Gif);
        // Colours of unrelated pictures differ in half of the bits; these waves lose much.
        assert!(distance <= if is_lossy { 48 } else { 0 }, "{format:?}: {distance}");
        assert!(format_of(&bytes[..32]).is_some());
        assert_eq!(decoded_bytes(&bytes, &Limits::default()).unwrap() % (300 * 200), 0);
    }
}

#[test]
fn grey_and_transparent_pictures_are_what_they_show() {
    let grey = GrayImage::from_fn(90, 70, |x, y| image::Luma([u8::try_from(x + y).unwrap()]));
    let found = decode(&encoded(&grey.into(), ImageFormat::Png)).unwrap();
    assert_eq!((found.channels(), found.samples()[90 * 70 - 1]), (1, 158));
    let clear = RgbaImage::from_fn(2, 1, |x, _| image::Rgba([10, 20, 30, if x == 0 { 0 } else { 255 }]));
    let found = decode(&encoded(&clear.into(), ImageFormat::Png)).unwrap();
    assert_eq!(found.samples(), [255, 255, 255, 10, 20, 30]);
    let deep = image(50, 40, 5).into_rgb16();
    let found = decode(&encoded(&deep.into(), ImageFormat::Png)).unwrap();
    assert_eq!(found, picture(50, 40, 5));
}

/// A JPEG with the orientation of EXIF data.
fn oriented(jpeg: &[u8], orientation: u8) -> Vec<u8> {
    let mut exif = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0".to_vec();
    exif.extend([orientation, 0, 0, 0, 0, 0, 0]);
    let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
    [&jpeg[..2], &[0xff, 0xe1], &length, &exif, &jpeg[2..]].concat()
}

#[test]
fn luminance_alone_has_the_fingerprints_of_the_picture() {
    for (width, height, seed) in [(640, 480, 1), (333, 500, 4), (65, 200, 9)] {
        let colours = encoded(&image(width, height, seed), ImageFormat::Jpeg);
        let grey = encoded(&DynamicImage::from(image(width, height, seed).to_luma8()), ImageFormat::Jpeg);
        let png = encoded(&image(width, height, seed), ImageFormat::Png);
        let luminance = |bytes: &[u8]| Picture::decode_luminance(bytes, &Limits::default()).unwrap();
        let (whole, alone) = (decode(&colours).unwrap(), luminance(&colours));
        assert_eq!((whole.channels(), alone.channels()), (3, 1));
        assert_eq!((whole.width(), whole.height()), (alone.width(), alone.height()));
        let (a, b) = (pdq(&whole), pdq(&alone));
        assert!(a.hash.distance(b.hash) <= 10 && a.quality.abs_diff(b.quality) <= 1, "{a:?} {b:?}");
        assert!(dhash(&whole).distance(dhash(&alone)) <= 2);
        assert!(phash(&whole).distance(phash(&alone)) <= 2);
        for other in [grey, png] {
            assert_eq!(luminance(&other), decode(&other).unwrap());
        }
        let turned = luminance(&oriented(&colours, 6));
        assert_eq!((turned.width(), turned.height()), (height, width));
        let cut = Picture::decode_luminance(&colours[..colours.len() * 3 / 4], &Limits::default());
        assert!(matches!(cut, Err(Error::Damaged { .. })), "{cut:?}");
    }
}

#[test]
fn the_orientation_of_exif_is_applied() {
    let stored = picture(320, 200, 7);
    let jpeg = encoded(&image(320, 200, 7), ImageFormat::Jpeg);
    let turns = [
        Turn::None,
        Turn::Mirrored,
        Turn::Half,
        Turn::Flipped,
        Turn::Transposed,
        Turn::Right,
        Turn::Transversed,
        Turn::Left,
    ];
    for (orientation, turn) in (1..).zip(turns) {
        let (found, expected) = (decode(&oriented(&jpeg, orientation)).unwrap(), turned(&stored, turn));
        assert_eq!((found.width(), found.height()), (expected.width(), expected.height()), "{orientation}");
        let distance = pdq(&found).hash.distance(pdq(&expected).hash);
        assert!(distance <= 10, "{orientation}: {distance}");
    }
    // Values that do not exist.
    for orientation in [0, 9, 255] {
        assert_eq!(decode(&oriented(&jpeg, orientation)).unwrap().width(), 320);
    }
}

/// The waves of seed 7 as libheif 1.23 and x265 4.3 have stored them: 160 x 120 pixels; `TURNED` is stored
/// turned to the left, `GREY` has luminance only, `DEEP` more than 8 bits, and `GRID` is a grid of six pictures of
/// 64 x 64. `CLEAR` has 64 x 48 pixels, and its left half is transparent.
const PLAIN: &[u8] = include_bytes!("heic/plain.heic");
const TURNED: &[u8] = include_bytes!("heic/turned.heic");
const GREY: &[u8] = include_bytes!("heic/grey.heic");
const DEEP: &[u8] = include_bytes!("heic/deep.heic");
const GRID: &[u8] = include_bytes!("heic/grid.heic");
const CLEAR: &[u8] = include_bytes!("heic/clear.heic");

#[test]
fn heic_is_decoded() {
    let expected = pdq(&picture(160, 120, 7));
    for bytes in [PLAIN, TURNED, GREY, DEEP, GRID] {
        let found = decode(bytes).unwrap();
        assert_eq!((found.width(), found.height()), (160, 120));
        let luminance = Picture::decode_luminance(bytes, &Limits::default()).unwrap();
        assert_eq!((luminance.width(), luminance.height(), luminance.channels()), (160, 120, 1));
        for found in [pdq(&found), pdq(&luminance)] {
            let distance = found.hash.distance(expected.hash);
            assert!(distance <= 31, "{distance}");
        }
        let coded = if bytes == GRID { 6 * 64 * 64 } else { 160 * 120 };
        assert_eq!(decoded_bytes(bytes, &Limits::default()), Ok(3 * coded));
    }
    let clear = decode(CLEAR).unwrap();
    assert_eq!((clear.width(), clear.height()), (64, 48));
    let row = &clear.samples()[..3 * 64];
    assert!(
        row[..3 * 30].iter().all(|&sample| sample > 250) && row[3 * 34..].iter().any(|&sample| sample < 200)
    );
}

#[test]
fn several_pictures_of_heic_are_counted_without_what_belongs_to_them() {
    for bytes in [PLAIN, GRID, CLEAR] {
        assert!(!has_several_frames(bytes));
    }
    let renamed = |bytes: &[u8], old: &[u8], new: &[u8]| {
        let at = bytes.windows(old.len()).position(|found| found == old).unwrap();
        [&bytes[..at], new, &bytes[at + old.len()..]].concat()
    };
    // The second picture is no longer the transparency of the first one, then a thumbnail of it.
    assert!(has_several_frames(&renamed(CLEAR, b"auxl", b"prem")));
    assert!(!has_several_frames(&renamed(CLEAR, b"auxl", b"thmb")));
    assert!(has_several_frames(&[PLAIN, &8_u32.to_be_bytes(), b"moov"].concat()), "a sequence");
}

#[test]
fn heic_is_refused_before_it_is_decoded() {
    let limits = |max_pixels| Limits { max_pixels, ..Limits::default() };
    assert_eq!(Picture::decode(PLAIN, &limits(19_199)), Err(Error::TooLarge { width: 160, height: 120 }));
    assert!(Picture::decode(PLAIN, &limits(19_200)).is_ok());
    assert!(Picture::decode(PLAIN, &Limits { max_bytes: 50_000, ..Limits::default() }).is_err());
    // Every bit of the parameters of the coded picture: some make it larger than what the container declares.
    let start = PLAIN.windows(2).position(|bytes| bytes == [0x42, 1]).unwrap();
    let mut num_larger = 0;
    for bit in 0..8 * 40 {
        let mut bytes = PLAIN.to_vec();
        bytes[start + bit / 8] ^= 1 << (bit % 8);
        let found = decoded_bytes(&bytes, &Limits::default());
        let is_larger =
            found == Err(Error::TooLarge { width: 160, height: 120 }) || found.is_ok_and(|len| len > 57_600);
        num_larger += usize::from(is_larger);
        assert!(!is_larger || Picture::decode(&bytes, &limits(19_200)).is_err(), "{bit}");
    }
    assert!(num_larger >= 5, "{num_larger}");
}

/// A PNG that declares so many pixels, and has none.
fn bomb(width: u32, height: u32) -> Vec<u8> {
    let mut header = b"IHDR".to_vec();
    header.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    header.extend([8, 2, 0, 0, 0]);
    let crc = header.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    [b"\x89PNG\r\n\x1a\n\0\0\0\x0d", &header[..], &(!crc).to_be_bytes(), b"\0\0\0\0IDAT\x35\xaf\x06\x1e"]
        .concat()
}

#[test]
fn bombs_are_refused_before_they_are_decoded() {
    let found = decode(&bomb(60_000, 60_000));
    assert_eq!(found, Err(Error::TooLarge { width: 60_000, height: 60_000 }));
    let limits = Limits { max_pixels: 599, ..Limits::default() };
    for format in FORMATS {
        let bytes = encoded(&image(30, 20, 3), format);
        let found = Picture::decode(&bytes, &limits);
        assert_eq!(found, Err(Error::TooLarge { width: 30, height: 20 }), "{format:?}");
        assert!(Picture::decode(&bytes, &Limits { max_pixels: 600, ..limits }).is_ok(), "{format:?}");
        let found = Picture::decode(&bytes, &Limits { max_bytes: 100, ..Limits::default() });
        assert!(found.is_err(), "{format:?}");
    }
    assert!(decode(&bomb(0, 7)).is_err());
}

#[test]
fn a_tiff_that_declares_more_than_its_file_has_is_refused() {
    let whole = encoded(&image(24, 16, 2), ImageFormat::Tiff);
    let directory = u32::from_le_bytes(whole[4..8].try_into().unwrap()) as usize;
    let mut num_entries = 0;
    for count in (directory + 6..whole.len() - 8).step_by(12) {
        let mut bytes = whole.clone();
        bytes[count..count + 4].copy_from_slice(&8_000_000_u32.to_le_bytes());
        let found = decode(&bytes);
        assert!(matches!(found, Err(Error::Damaged { why }) if why.contains("declares more")), "{count}");
        num_entries += 1;
    }
    assert_eq!(num_entries, usize::from(whole[directory]));
    // The other order of bytes: 5, then 6 values of 4 bytes in 26 bytes.
    for (count, is_possible) in [(5, true), (6, true), (7, false)] {
        let bytes = [b"MM\0*\0\0\0\x08\0\x01\x01\x11\0\x04\0\0\0", &[count][..], &[0; 8]].concat();
        assert_eq!(bytes.len(), 26);
        assert_eq!(tiff::is_possible(&bytes), is_possible, "{count}");
    }
}

#[test]
fn what_is_no_picture_has_no_fingerprint() {
    for bytes in [&b""[..], b"BM", b"BM is a text, and no bitmap", b"GIF", b"<svg/>", &[0; 64]] {
        assert_eq!(decode(bytes), Err(Error::NotAPicture), "{bytes:?}");
        assert_eq!(format_of(bytes), None);
    }
    let avif = b"\0\0\0\x18ftypavif\0\0\0\0";
    assert_eq!(decode(avif), Err(Error::Unsupported { format: "AVIF" }));
    assert_eq!([format_of(avif), format_of(PLAIN)], [Some("AVIF"), Some("HEIC")]);
    assert_eq!([unsupported_format_of(avif), unsupported_format_of(b"GIF89a")], [Some("AVIF"), None]);
    assert_eq!(Picture::grey(2, 2, vec![0; 3]), Err(Error::Samples { expected: 4, found: 3 }));
    assert_eq!(Picture::rgb(0, 2, vec![]), Err(Error::Samples { expected: 0, found: 0 }));
    assert!(Picture::rgb(usize::MAX, usize::MAX, vec![0]).is_err());
}

#[test]
fn truncated_files_are_errors_or_pictures() {
    let files = FORMATS.map(|format| (Some(format), encoded(&image(40, 30, 6), format)));
    for (format, bytes) in files.into_iter().chain([(None, PLAIN.to_vec())]) {
        let (mut num_errors, mut num_cut) = (0, 0);
        for len in (0..bytes.len()).step_by(bytes.len() / 97 + 1) {
            num_errors += usize::from(decode(&bytes[..len]).is_err());
            num_cut += 1;
        }
        // Of a JPEG, a decoder makes a picture in any case.
        let never = matches!(format, Some(ImageFormat::Jpeg) | None);
        assert!(num_errors > 0 && (!never || num_errors == num_cut), "{format:?}");
    }
}

#[test]
fn a_jpeg_is_whole_if_its_end_is_there() {
    let whole = encoded(&image(90, 60, 6), ImageFormat::Jpeg);
    let damaged =
        |bytes: &[u8]| matches!(decode(bytes), Err(Error::Damaged { why }) if why.contains("ends before"));
    assert!(damaged(&whole[..whole.len() - 1]) && damaged(&whole[..whole.len() - 200]));
    // A whole picture inside of a segment is none of the file itself; what follows the end does not matter.
    let thumbnail = encoded(&image(9, 6, 1), ImageFormat::Jpeg);
    let len = u16::try_from(thumbnail.len() + 2).unwrap().to_be_bytes();
    let with_thumbnail = [&whole[..2], &[0xff, 0xff, 0xee], &len, &thumbnail, &whole[2..]].concat();
    assert_eq!(decode(&with_thumbnail), decode(&whole));
    assert!(damaged(&with_thumbnail[..with_thumbnail.len() - 2]));
    assert!(decode(&[&whole[..], &thumbnail[..20]].concat()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_bytes_do_no_harm(format in 0..7_usize, at in any::<prop::sample::Index>(), with in any::<[u8; 4]>()) {
        let format = FORMATS.get(format);
        let mut bytes = format.map_or_else(|| PLAIN.to_vec(), |&format| encoded(&image(24, 18, 8), format));
        let at = at.index(bytes.len() - 4);
        bytes[at..at + 4].copy_from_slice(&with);
        if let Ok(picture) = Picture::decode(&bytes, &Limits { max_pixels: 1 << 20, max_bytes: 8 << 20 }) {
            prop_assert!(pdq(&picture).quality <= 100);
        }
    }

    /// Pictures of all sizes, down to a pixel.
    #[test]
    fn every_size_has_fingerprints(width in 1..200_usize, height in 1..200_usize, seed in 0..9_usize) {
        let picture = picture(width, height, seed);
        let (hashes, quality) = pdq_turned(&picture);
        prop_assert_eq!(pdq(&picture).hash, hashes[0]);
        prop_assert!(quality <= 100);
        prop_assert_eq!([dhash(&picture), phash(&picture)], [dhash(&picture), phash(&picture)]);
        let small = decode(&thumbnail(&picture, 50).unwrap()).unwrap();
        prop_assert!(small.width().max(small.height()) <= 50);
    }
}

/// Fingerprints by `pdqhash` 0.2.8 and `imagehash` 4.3.2 of Python. PDQ's own programs differ from each other by up
/// to 10 bits, because some of them scale large pictures down first.
#[test]
fn fingerprints_are_those_of_other_programs() {
    let known = [
        (
            (640, 480, 1),
            "01e9bfec02e9fffc2aa900432de6854355660142ffe65562ffe2fd42d54a001f",
            0xb636_246d_4dc9_dbb2,
            0xfcfc_a9a1_03a3_33a1,
        ),
        (
            (333, 500, 4),
            "bf2effabff2ebfabff3e018475015580dd015580fd215500f521a07588758075",
            0x2a5a_55b5_ab5a_5495,
            0xd7d7_d7d7_ca80_c080,
        ),
        (
            (200, 200, 9),
            "abf42bfeaab42bfeaa942bfeaa142afe81540001aaab2a012aab2a017fff5555",
            0x017e_c03e_c01f_e00f,
            0xfdd5_7fc0_68c0_6ac0,
        ),
        (
            (64, 64, 2),
            "55c12ac045c10ac0aac3aacaffc4aac2abc0ffc7ffc0ffc0bfc0ea95aa95003f",
            0xa42d_694b_d296_a569,
            0xfefe_5454_0151_9175,
        ),
    ];
    for ((width, height, seed), hash, difference, frequency) in known {
        let picture = picture(width, height, seed);
        let expected = nearprint::U256::parse(&format!("0x{hash}")).unwrap();
        let found = pdq(&picture);
        assert!(found.quality >= 80);
        let distances = [
            found.hash.distance(expected),
            dhash(&picture).distance(difference),
            phash(&picture).distance(frequency),
        ];
        assert!(distances[0] <= 10 && distances[1] <= 2 && distances[2] <= 2, "{seed}: {distances:?}");
    }
}
