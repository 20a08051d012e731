//! The fuzz target of pictures.

use std::io::Cursor;

use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, ImageFormat, RgbImage};
use nearprint::testing::fuzzing::replay::Target;

use crate::{
    Limits, Picture, Recipe, decoded_bytes, format_of, has_more_than_a_picture, quiet_decoders, thumbnail,
};

/// Bytes that are decoded as a picture.
pub const TARGET: Target = Target { name: "pictures", call: pictures, inputs: 400, seeds };

const LIMITS: Limits = Limits { max_pixels: 1 << 18, max_bytes: 8 << 20 };
const FORMATS: [ImageFormat; 6] = [
    ImageFormat::Jpeg,
    ImageFormat::Png,
    ImageFormat::WebP,
    ImageFormat::Gif,
    ImageFormat::Tiff,
    ImageFormat::Bmp,
];

/// A picture is within its limits, needs no more memory than its header said, and has fingerprints that agree with each
/// other. Other bytes are an error.
fn pictures(bytes: &[u8]) {
    quiet_decoders();
    let has_more = has_more_than_a_picture(bytes);
    assert!(!has_more || format_of(bytes).is_some());
    let needed = decoded_bytes(bytes, &LIMITS);
    let Ok(picture) = Picture::decode(bytes, &LIMITS) else { return };
    assert!(format_of(bytes).is_some());
    assert!(needed.is_ok_and(|needed| needed <= LIMITS.max_bytes));
    let pixels = picture.width() as u64 * picture.height() as u64;
    assert!(pixels > 0 && pixels <= LIMITS.max_pixels);
    let luminance = Picture::decode_luminance(bytes, &LIMITS).expect("as above, without colours");
    assert_eq!((luminance.width(), luminance.height()), (picture.width(), picture.height()));
    for recipe in Recipe::ALL {
        let (words, quality) = recipe.fingerprint(&picture);
        assert!(quality <= 100);
        if let Some((turned, same)) = recipe.turned(&picture) {
            assert_eq!((turned[0], same), (words, quality), "{recipe}");
        }
    }
    let small = thumbnail(&picture, 16).expect("a small picture");
    let small = Picture::decode(&small, &LIMITS).expect("a JPEG of this crate");
    assert!(small.width().max(small.height()) <= 16);
}

fn seeds() -> Vec<Vec<u8>> {
    let waves = RgbImage::from_fn(24, 16, |x, y| {
        let sample = |period: u32| u8::try_from((x * y + 9 * x) % period * 250 / period).unwrap_or_default();
        image::Rgb([sample(7), sample(31), sample(101)])
    });
    let rgb = DynamicImage::from(waves);
    let pictures = [DynamicImage::from(rgb.to_luma8()), DynamicImage::from(rgb.to_rgba8()), rgb];
    // Not every format has all kinds.
    let encoded = |format, picture: &DynamicImage| {
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).ok().map(|()| bytes.into_inner())
    };
    let of = |format| pictures.iter().filter_map(move |picture| encoded(format, picture));
    let heic = [
        &include_bytes!("heic/plain.heic")[..],
        include_bytes!("heic/clear.heic"),
        include_bytes!("heic/grid.heic"),
    ]
    .map(<[u8]>::to_vec);
    let mut animated = Vec::new();
    let mut frames = GifEncoder::new(&mut animated);
    let are_encoded =
        pictures.iter().all(|picture| frames.encode_frame(Frame::new(picture.to_rgba8())).is_ok());
    drop(frames);
    let animated = are_encoded.then_some(animated);
    FORMATS.into_iter().flat_map(of).chain(heic).chain(animated).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_passes() {
        TARGET.replay();
    }
}
