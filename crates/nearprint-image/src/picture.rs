//! Decoded pictures.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// A picture: rows of grey or RGB samples of 8 bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture<'a> {
    width: usize,
    height: usize,
    /// Samples per pixel: 1 or 3.
    channels: usize,
    samples: Cow<'a, [u8]>,
}

impl<'a> Picture<'a> {
    /// A picture of grey samples, row by row: `width * height` bytes.
    ///
    /// # Errors
    /// [`Error::Samples`] for another number of samples, or for none.
    pub fn grey(width: usize, height: usize, samples: impl Into<Cow<'a, [u8]>>) -> Result<Self> {
        Self::new(width, height, 1, samples.into())
    }

    /// A picture of red, green and blue samples, pixel by pixel and row by row: `3 * width * height` bytes.
    ///
    /// # Errors
    /// [`Error::Samples`] for another number of samples, or for none.
    pub fn rgb(width: usize, height: usize, samples: impl Into<Cow<'a, [u8]>>) -> Result<Self> {
        Self::new(width, height, 3, samples.into())
    }

    fn new(width: usize, height: usize, channels: usize, samples: Cow<'a, [u8]>) -> Result<Self> {
        let expected = width.saturating_mul(height).saturating_mul(channels);
        match samples.len() {
            found if found == expected && found > 0 => Ok(Self { width, height, channels, samples }),
            found => Err(Error::Samples { expected, found }),
        }
    }

    /// A picture with the pixels of this one in other places. `from` has the place here of each place there: a column
    /// and a row.
    pub(crate) fn rearranged(
        &self,
        width: usize,
        height: usize,
        from: impl Fn(usize, usize) -> (usize, usize),
    ) -> Picture<'static> {
        let mut samples = Vec::with_capacity(self.samples.len());
        for y in 0..height {
            for x in 0..width {
                let (column, row) = from(x, y);
                let start = self.channels * (row * self.width + column);
                samples.extend_from_slice(&self.samples[start..start + self.channels]);
            }
        }
        Picture { width, height, channels: self.channels, samples: samples.into() }
    }

    /// The width in pixels.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// The height in pixels.
    #[must_use]
    pub fn height(&self) -> usize {
        self.height
    }

    /// The number of samples of a pixel: 1 for grey, 3 for RGB.
    #[must_use]
    pub fn channels(&self) -> usize {
        self.channels
    }

    /// All samples, row by row.
    #[must_use]
    pub fn samples(&self) -> &[u8] {
        &self.samples
    }

    /// The values of the pixels of a row, from 0 to 255.
    pub(crate) fn row(&self, plane: Plane, row: usize, into: &mut [f32]) {
        let len = self.width * self.channels;
        let samples = &self.samples[row * len..][..len];
        match plane {
            _ if self.channels == 1 => {
                into.iter_mut().zip(samples).for_each(|(to, &grey)| *to = f32::from(grey))
            }
            Plane::Luminance => into.iter_mut().zip(samples.as_chunks::<3>().0).for_each(|(to, rgb)| {
                let [red, green, blue] = rgb.map(f32::from);
                *to = 0.299 * red + 0.587 * green + 0.114 * blue;
            }),
            Plane::Channel(channel) => {
                let of_channel = samples.iter().skip(channel).step_by(3);
                into.iter_mut().zip(of_channel).for_each(|(to, &sample)| *to = f32::from(sample));
            }
        }
    }
}

/// What is taken of each pixel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Plane {
    /// `0.299 R + 0.587 G + 0.114 B`, the weights of Recommendation ITU-R BT.601.
    Luminance,
    /// One of its samples.
    #[cfg_attr(not(feature = "decode"), expect(dead_code, reason = "for small copies"))]
    Channel(usize),
}
