//! Decodes the bytes of files.

use std::io::Cursor;

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader};

use crate::error::{Error, Result};
use crate::heic;
use crate::jpeg;
use crate::limits::{Limits, Samples};
use crate::panics::guarded;
use crate::picture::Picture;
use crate::tiff;

/// Marks of files that [`heic`] decodes, behind the length of their first box: the usual one, pictures of more than 8
/// bits, and the container of any codec.
const HEIC: [&[u8]; 3] = [b"ftypheic", b"ftypheix", b"ftypmif1"];

/// Formats that are known and have no decoder here: the place of their mark, the mark, and their name.
const UNSUPPORTED: [(usize, &[u8], &str); 8] = [
    (4, b"ftyphevc", "HEIF"),
    (4, b"ftypmsf1", "HEIF"),
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypavis", "AVIF"),
    (4, b"ftypcrx ", "CR3"),
    (0, b"\xff\x0a", "JPEG XL"),
    (4, b"JXL \r\n\x87\n", "JPEG XL"),
    (0, b"8BPS", "Photoshop"),
];

/// The name of the format of a picture by the first bytes of its file; 32 are enough. `None` if it is no picture
/// that is known here. [`Picture::decode`] refuses some of the formats: AVIF and others.
#[must_use]
pub fn format_of(start: &[u8]) -> Option<&'static str> {
    match format(start) {
        Ok(Format::Heic) => Some("HEIC"),
        Ok(Format::Image(ImageFormat::Jpeg)) => Some("JPEG"),
        Ok(Format::Image(ImageFormat::Png)) => Some("PNG"),
        Ok(Format::Image(ImageFormat::WebP)) => Some("WebP"),
        Ok(Format::Image(ImageFormat::Gif)) => Some("GIF"),
        Ok(Format::Image(ImageFormat::Tiff)) => Some("TIFF"),
        Ok(Format::Image(_)) => Some("BMP"),
        Err(Error::Unsupported { format }) => Some(format),
        Err(_) => None,
    }
}

/// The name of the format of a picture that [`Picture::decode`] refuses, by the first bytes of its file; 32 are
/// enough. `None` for formats that it decodes, and for what is no picture.
#[must_use]
pub fn unsupported_format_of(start: &[u8]) -> Option<&'static str> {
    let has = |&(at, mark, _): &(usize, &[u8], _)| start.get(at..).is_some_and(|rest| rest.starts_with(mark));
    UNSUPPORTED.iter().find(|entry| has(entry)).map(|&(_, _, format)| format)
}

/// Which decoder reads a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Heic,
    Image(ImageFormat),
}

pub(crate) fn format(start: &[u8]) -> Result<Format> {
    if let Some(format) = unsupported_format_of(start) {
        return Err(Error::Unsupported { format });
    }
    if start.get(4..).is_some_and(|rest| HEIC.iter().any(|mark| rest.starts_with(mark))) {
        return Ok(Format::Heic);
    }
    match image::guess_format(start) {
        // Two letters; then sizes, and four reserved bytes, the upper two of them zero.
        Ok(ImageFormat::Bmp) if start.get(6..10) != Some(&[0; 4]) => Err(Error::NotAPicture),
        Ok(format) if format.reading_enabled() => Ok(Format::Image(format)),
        _ => Err(Error::NotAPicture),
    }
}

impl Picture<'static> {
    /// Decodes JPEG, PNG, WebP, the first frame of GIF, TIFF, BMP and HEIC, turned as EXIF data say. Transparent pixels
    /// are shown on white. Samples of more than 8 bits are rounded; colour profiles are ignored.
    ///
    /// # Errors
    /// [`Error::NotAPicture`], [`Error::Unsupported`], [`Error::TooLarge`] and [`Error::Damaged`]. A decoder that
    /// panics is [`Error::Damaged`], too; see [`quiet_decoders`](crate::quiet_decoders). So is a JPEG that ends before
    /// its end, which decoders fill up with grey.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let format = format(bytes)?;
        guarded(|| decode(bytes, format, limits, Samples::All))
    }

    /// Decodes what fingerprints need. A JPEG or HEIC file that stores luminance apart from colours becomes a grey
    /// picture, a JPEG in some three quarters of the time; others are as [`decode`](Self::decode) makes them.
    /// Luminance is not rounded to colours first, so that a fingerprint may differ in a few bits from the one
    /// of the picture in colours.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    pub fn decode_luminance(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let format = format(bytes)?;
        guarded(|| decode(bytes, format, limits, Samples::Luminance))
    }
}

/// The memory in bytes that [`Picture::decode`] needs for a picture beside its file: of what its header declares.
///
/// # Errors
/// Those of [`Picture::decode`].
pub fn decoded_bytes(bytes: &[u8], limits: &Limits) -> Result<u64> {
    let format = format(bytes)?;
    guarded(|| match format {
        Format::Heic => Ok(heic::opened(bytes, limits)?.total_bytes()),
        Format::Image(format) => Ok(opened(bytes, format, limits)?.total_bytes()),
    })
}

/// A decoder of a picture that is within its limits.
fn opened<'b>(bytes: &'b [u8], format: ImageFormat, limits: &Limits) -> Result<impl ImageDecoder + use<'b>> {
    let damaged = |error: ImageError| Error::Damaged { why: error.to_string() };
    if format == ImageFormat::Tiff && !tiff::is_possible(bytes) {
        return Err(Error::Damaged { why: "an entry declares more than the file has".into() });
    }
    let mut allowed = image::Limits::no_limits();
    allowed.max_alloc = Some(limits.max_bytes);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    reader.limits(allowed.clone());
    let mut decoder = reader.into_decoder().map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    let too_large = Error::TooLarge { width, height };
    if u64::from(width) * u64::from(height) > limits.max_pixels || decoder.total_bytes() > limits.max_bytes {
        return Err(too_large);
    }
    match decoder.set_limits(allowed) {
        Err(ImageError::Limits(_)) => Err(too_large),
        set => set.map(|()| decoder).map_err(damaged),
    }
}

fn decode(bytes: &[u8], format: Format, limits: &Limits, wanted: Samples) -> Result<Picture<'static>> {
    let image = match format {
        Format::Heic => without_transparency(heic::opened(bytes, limits)?.decode(bytes, limits, wanted)?),
        Format::Image(format) => upright(bytes, format, limits, wanted)?,
    };
    let (width, height) = (image.width() as usize, image.height() as usize);
    match image {
        DynamicImage::ImageLuma8(grey) => Picture::grey(width, height, grey.into_raw()),
        other => Picture::rgb(width, height, other.into_rgb8().into_raw()),
    }
}

/// A picture of a format of `image`, in grey or RGB of 8 bits.
fn upright(bytes: &[u8], format: ImageFormat, limits: &Limits, wanted: Samples) -> Result<DynamicImage> {
    let mut decoder = opened(bytes, format, limits)?;
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let (width, height) = decoder.dimensions();
    let is_jpeg = format == ImageFormat::Jpeg;
    let luminance = || guarded(|| Ok(jpeg::luminance(bytes))).ok().flatten();
    let decoded = match (is_jpeg && wanted == Samples::Luminance).then(luminance).flatten() {
        Some(grey) => DynamicImage::ImageLuma8(grey),
        None => DynamicImage::from_decoder(decoder).map_err(|error| match error {
            ImageError::Limits(_) => Error::TooLarge { width, height },
            error => Error::Damaged { why: error.to_string() },
        })?,
    };
    if is_jpeg && !jpeg::is_whole(bytes) {
        return Err(Error::Damaged { why: "the file ends before the image does".into() });
    }
    let mut image = without_transparency(decoded);
    image.apply_orientation(orientation);
    Ok(image)
}

/// The picture on white, in grey or RGB of 8 bits.
fn without_transparency(image: DynamicImage) -> DynamicImage {
    match image {
        DynamicImage::ImageLuma8(_) | DynamicImage::ImageRgb8(_) => image,
        DynamicImage::ImageLuma16(_) => DynamicImage::ImageLuma8(image.into_luma8()),
        image if !image.color().has_alpha() => DynamicImage::ImageRgb8(image.into_rgb8()),
        image => {
            let (width, height) = (image.width(), image.height());
            let mut samples = image.into_rgba8().into_raw();
            // Each pixel is moved to its place in what is left.
            for at in 0..samples.len() / 4 {
                let alpha = u16::from(samples[4 * at + 3]);
                for channel in 0..3 {
                    let over = u16::from(samples[4 * at + channel]) * alpha + 255 * (255 - alpha);
                    samples[3 * at + channel] = u8::try_from((over + 127) / 255).unwrap_or(255);
                }
            }
            samples.truncate(samples.len() / 4 * 3);
            let rgb = image::RgbImage::from_raw(width, height, samples);
            DynamicImage::ImageRgb8(rgb.unwrap_or_default())
        }
    }
}
