//! HEIC, in which phones store photographs: still pictures of HEVC in the container HEIF.

use heic_rs::boxes::BoxIter;
use heic_rs::context::Context;
use heic_rs::meta::iref::RefKind;
use heic_rs::props::hvcc::NAL_SPS;
use heic_rs::{DecodeOptions, PixelLayout};
use image::{DynamicImage, GrayImage, RgbImage, RgbaImage};

use crate::error::{Error, Result};
use crate::limits::{Limits, Samples};

/// What a file declares.
pub(crate) struct Heic {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// The pixels of all coded pictures that the one picture is made of, before anything is cropped.
    pub(crate) coded_pixels: u64,
    has_alpha: bool,
}

/// What a file declares, if it is within limits.
pub(crate) fn opened(bytes: &[u8], limits: &Limits) -> Result<Heic> {
    let info = heic_rs::probe(bytes).map_err(refused)?;
    let coded_pixels = coded_pixels(bytes).map_err(refused)?;
    let (width, height) = (info.width, info.height);
    let heic = Heic { width, height, coded_pixels, has_alpha: info.has_alpha };
    let is_possible = heic.total_bytes() <= limits.max_bytes && coded_pixels <= limits.max_pixels;
    match is_possible && u64::from(width) * u64::from(height) <= limits.max_pixels {
        true => Ok(heic),
        false => Err(Error::TooLarge { width, height }),
    }
}

impl Heic {
    /// The bytes of its samples in colours.
    pub(crate) fn total_bytes(&self) -> u64 {
        3 * self.coded_pixels.max(u64::from(self.width) * u64::from(self.height))
    }

    /// The picture, turned as the file says: its EXIF data repeat that. Luminance alone is as the file has it.
    pub(crate) fn decode(&self, bytes: &[u8], limits: &Limits, wanted: Samples) -> Result<DynamicImage> {
        let layout = match wanted {
            _ if self.has_alpha => PixelLayout::Rgba8,
            Samples::Luminance => PixelLayout::Gray8,
            Samples::All => PixelLayout::Rgb8,
        };
        let options = DecodeOptions::default().with_layout(layout).with_max_pixels(Some(limits.max_pixels));
        let image = heic_rs::decode(bytes, &options).map_err(refused)?;
        let (width, height, samples) = (image.width, image.height, image.data);
        let made = match layout {
            PixelLayout::Gray8 => GrayImage::from_raw(width, height, samples).map(DynamicImage::ImageLuma8),
            PixelLayout::Rgba8 => RgbaImage::from_raw(width, height, samples).map(DynamicImage::ImageRgba8),
            _ => RgbImage::from_raw(width, height, samples).map(DynamicImage::ImageRgb8),
        };
        made.ok_or_else(|| Error::Damaged { why: "fewer samples than pixels".into() })
    }
}

/// Items that are no pictures: EXIF data, XMP and others.
const NO_PICTURES: [&[u8; 4]; 3] = [b"Exif", b"mime", b"uri "];

/// Whether a file shows several pictures, or is a sequence. Tiles, thumbnails, transparency and depth belong to another
/// picture. `None` if it is damaged.
pub(crate) fn has_several(bytes: &[u8]) -> Option<bool> {
    let meta = Context::open(bytes).ok()?.meta;
    let belongs = |item: u32| {
        meta.refs.iter().any(|reference| match reference.kind {
            RefKind::Thmb | RefKind::Auxl => reference.from == item,
            RefKind::Dimg => reference.to.contains(&item),
            _ => false,
        })
    };
    let shown = meta
        .items
        .iter()
        .filter(|item| !item.hidden && !NO_PICTURES.contains(&&item.item_type) && !belongs(item.id));
    Some(shown.count() > 1 || BoxIter::new(bytes).find(b"moov").ok()?.is_some())
}

/// The error of a decoder. The container may hold other codecs, and HEVC has tools for which there is no decoder.
fn refused(error: heic_rs::Error) -> Error {
    match error {
        heic_rs::Error::Unsupported(_) | heic_rs::Error::MissingBox("hvcC") => {
            Error::Unsupported { format: "HEIF" }
        }
        error => Error::Damaged { why: error.to_string() },
    }
}

/// The pixels of all coded pictures that are decoded for the picture of a file and its transparency. The decoder
/// itself compares only what the container declares with its limit, and the coded picture may be another one.
fn coded_pixels(bytes: &[u8]) -> heic_rs::Result<u64> {
    let file = Context::open(bytes)?;
    let main = file.meta.primary;
    let mut pixels = 0_u64;
    for item in [Some(main), file.alpha_item(main)?].into_iter().flatten() {
        let parts = file.grid(item)?.map_or_else(|| vec![item], |(_, tiles)| tiles);
        for part in parts {
            let config = file.props(part)?.hvcc.ok_or(heic_rs::Error::MissingBox("hvcC"))?;
            let sets =
                config.arrays.iter().filter(|array| array.nal_type == NAL_SPS).flat_map(|array| &array.nals);
            let largest = sets.map(|set| sps_pixels(set).unwrap_or(u64::MAX)).max();
            pixels = pixels.saturating_add(largest.unwrap_or(0));
        }
    }
    Ok(pixels)
}

/// The pixels of the coded pictures of a sequence parameter set (ITU-T H.265, 7.3.2.2). `None` if it is cut.
fn sps_pixels(unit: &[u8]) -> Option<u64> {
    let mut bits = Bits { bytes: unescaped(unit.get(2..)?), at: 4 };
    let sub_layers = bits.number(3)?;
    // Temporal nesting, then the profile and level of all layers (7.3.3).
    bits.number(1 + 96)?;
    let mut further = 0;
    for _ in 0..sub_layers {
        further += 88 * bits.number(1)? + 8 * bits.number(1)?;
    }
    if sub_layers > 0 {
        further += 2 * (8 - sub_layers);
    }
    bits.at += usize::try_from(further).ok()?;
    let _id = bits.exponential()?;
    if bits.exponential()? == 3 {
        bits.number(1)?;
    }
    Some(bits.exponential()?.saturating_mul(bits.exponential()?))
}

/// The bytes of a unit without those that keep start codes out of it (7.4.2): a 3 after two zeros.
fn unescaped(unit: &[u8]) -> Vec<u8> {
    let is_inserted = |&at: &usize| unit[at] == 3 && at >= 2 && unit[at - 2..at] == [0, 0];
    (0..unit.len()).filter(|at| !is_inserted(at)).map(|at| unit[at]).collect()
}

/// Reads bits, the most significant one of each byte first.
struct Bits {
    bytes: Vec<u8>,
    at: usize,
}

impl Bits {
    fn number(&mut self, len: usize) -> Option<u64> {
        (0..len).try_fold(0, |number: u64, _| {
            let byte = self.bytes.get(self.at / 8)?;
            let bit = byte >> (7 - self.at % 8) & 1;
            self.at += 1;
            Some(number << 1 | u64::from(bit))
        })
    }

    /// A number as Exp-Golomb code (9.2).
    fn exponential(&mut self) -> Option<u64> {
        let mut zeros = 0;
        while self.number(1)? == 0 {
            zeros += 1;
        }
        (zeros <= 32).then_some(())?;
        Some((1 << zeros) - 1 + self.number(zeros)?)
    }
}
