//! Small copies of pictures for pages.

use image::ExtendedColorType;
use image::codecs::jpeg::JpegEncoder;

use crate::error::{Error, Result};
use crate::picture::{Picture, Plane};
use crate::sample::{means, sampled};

/// The quality of the JPEG.
const QUALITY: u8 = 70;

/// A JPEG of the picture, scaled down so that no side has more than `side` pixels. A smaller picture keeps its size.
///
/// # Errors
/// [`Error::Damaged`] if it cannot be encoded.
pub fn thumbnail(picture: &Picture<'_>, side: usize) -> Result<Vec<u8>> {
    let (width, height) = (picture.width(), picture.height());
    let longest = width.max(height);
    let scaled = |len: usize| if longest > side { (len * side / longest).max(1) } else { len };
    let (columns, rows) = (means(width, scaled(width)), means(height, scaled(height)));
    let channels = picture.channels();
    let mut samples = vec![0; rows.len() * columns.len() * channels];
    for channel in 0..channels {
        let grid = sampled(picture, Plane::Channel(channel), &rows, &columns);
        let of_channel = samples.iter_mut().skip(channel).step_by(channels);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        of_channel.zip(grid).for_each(|(to, sample)| *to = sample.round() as u8);
    }
    let color = if channels == 1 { ExtendedColorType::L8 } else { ExtendedColorType::Rgb8 };
    let size = |weights: usize| u32::try_from(weights).unwrap_or(u32::MAX);
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, QUALITY)
        .encode(&samples, size(columns.len()), size(rows.len()), color)
        .map_err(|error| Error::Damaged { why: error.to_string() })?;
    Ok(jpeg)
}
