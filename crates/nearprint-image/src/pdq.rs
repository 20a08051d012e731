//! PDQ, a perceptual hash of 256 bits.
//!
//! After "The TMK+PDQF Video-Hashing Algorithm and the PDQ Image-Hashing Algorithm" (Facebook, 2019;
//! `hashing/hashing.pdf` of <https://github.com/facebook/ThreatExchange>): luminance; two passes of a box filter in
//! each direction; a grid of 64 x 64 samples; the cosine transform with 16 x 16 frequencies, without the constant
//! ones; a bit for each coefficient that is above the median.

use std::f64::consts::PI;
use std::sync::LazyLock;

use nearprint::U256;

use crate::picture::{Picture, Plane};
use crate::sample::{boxed, sampled};

/// Rows and columns of samples.
const GRID: usize = 64;
/// Rows and columns of coefficients.
const SIDE: usize = 16;

/// A PDQ fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdq {
    /// Fingerprints of the same picture differ in at most 31 bits, as the authors recommend. Bit `16 * i + j` is
    /// the coefficient of the vertical frequency `i + 1` and the horizontal one `j + 1`; printed as a number, it is
    /// the published form.
    pub hash: U256,
    /// From 0 to 100: how much there is to see. The authors recommend to ignore fingerprints of less than 50.
    pub quality: u8,
}

/// A rotation or reflection of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Turn {
    /// As it is.
    None,
    /// A quarter to the left.
    Left,
    /// Upside down by a rotation.
    Half,
    /// A quarter to the right.
    Right,
    /// Top and bottom exchanged.
    Flipped,
    /// Left and right exchanged.
    Mirrored,
    /// Mirrored along the diagonal from the upper left: rows become columns.
    Transposed,
    /// Mirrored along the other diagonal.
    Transversed,
}

impl Turn {
    /// All of them, in the order of [`pdq_turned`].
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::Left,
        Self::Half,
        Self::Right,
        Self::Flipped,
        Self::Mirrored,
        Self::Transposed,
        Self::Transversed,
    ];

    /// The turned picture.
    fn of(self, picture: &Picture<'_>) -> Picture<'static> {
        let [is_transposed, flips, mirrors] = self.steps();
        let (width, height) = (picture.width(), picture.height());
        let (new_width, new_height) = if is_transposed { (height, width) } else { (width, height) };
        picture.rearranged(new_width, new_height, |x, y| {
            let x = if mirrors { new_width - 1 - x } else { x };
            let y = if flips { new_height - 1 - y } else { y };
            if is_transposed { (y, x) } else { (x, y) }
        })
    }

    /// Whether rows become columns, and whether then the vertical and the horizontal axis are reversed.
    const fn steps(self) -> [bool; 3] {
        match self {
            Self::None => [false, false, false],
            Self::Left => [true, true, false],
            Self::Half => [false, true, true],
            Self::Right => [true, false, true],
            Self::Flipped => [false, true, false],
            Self::Mirrored => [false, false, true],
            Self::Transposed => [true, false, false],
            Self::Transversed => [true, true, true],
        }
    }
}

/// The PDQ fingerprint of a picture. The cost is linear in its pixels: some 1.5 ns each.
#[must_use]
pub fn pdq(picture: &Picture<'_>) -> Pdq {
    let grid = grid(picture);
    Pdq { hash: turned(&transformed(&grid), Turn::None), quality: quality(&grid) }
}

/// The PDQ fingerprints of all rotations and reflections of a picture, in the order of [`Turn::ALL`], at the cost of
/// one. Windows and centres of the grid are not quite symmetric, so that they differ in a few bits from the
/// turned picture.
///
/// In small pictures a window has two or three pixels, and that would be 40 bits or more. Pictures with a side of less
/// than 400 pixels are turned themselves, at the cost of eight: their fingerprints are those of the turned pictures.
#[must_use]
pub fn pdq_turned(picture: &Picture<'_>) -> ([U256; 8], u8) {
    let grid = grid(picture);
    let (coefficients, quality) = (transformed(&grid), quality(&grid));
    let is_small = picture.width().min(picture.height()) < SMALL_SIDE;
    let hash = |turn: Turn| match turn != Turn::None && is_small {
        true => pdq(&turn.of(picture)).hash,
        false => turned(&coefficients, turn),
    };
    (Turn::ALL.map(hash), quality)
}

fn grid(picture: &Picture<'_>) -> Vec<f32> {
    sampled(picture, Plane::Luminance, &boxed(picture.height(), GRID), &boxed(picture.width(), GRID))
}

/// The sum of the differences of neighbouring samples, each in whole percents of the range.
fn quality(grid: &[f32]) -> u8 {
    #[expect(clippy::cast_possible_truncation, reason = "whole percents")]
    let percents = |a: f32, b: f32| ((a - b) * 100.0 / 255.0).abs() as u32;
    let vertical = grid.iter().zip(&grid[GRID..]).map(|(&a, &b)| percents(a, b));
    let rows = grid.chunks(GRID);
    let horizontal = rows.flat_map(|row| row.windows(2).map(|pair| percents(pair[0], pair[1])));
    let sum: u32 = vertical.chain(horizontal).sum();
    u8::try_from((sum / 90).min(100)).unwrap_or(100)
}

/// Pictures with a smaller side are turned pixel by pixel.
const SMALL_SIDE: usize = 400;

/// The rows of the cosine transform for the frequencies 1 to 16.
static COSINES: LazyLock<[[f64; GRID]; SIDE]> = LazyLock::new(|| {
    std::array::from_fn(|frequency| {
        let angle = |at: usize| PI / (2 * GRID) as f64 * ((frequency + 1) * (2 * at + 1)) as f64;
        std::array::from_fn(|at| (2.0 / GRID as f64).sqrt() * angle(at).cos())
    })
});

/// Coefficients by vertical and horizontal frequency.
type Coefficients = [[f32; SIDE]; SIDE];

fn transformed(grid: &[f32]) -> Coefficients {
    let mut horizontal = [[0.0; GRID]; SIDE];
    for (frequency, cosines) in COSINES.iter().enumerate() {
        for (row, out) in grid.chunks(GRID).zip(&mut horizontal[frequency]) {
            *out = row.iter().zip(cosines).map(|(&sample, cosine)| f64::from(sample) * cosine).sum();
        }
    }
    let coefficient = |vertical: usize, across: usize| {
        let sum: f64 = COSINES[vertical].iter().zip(&horizontal[across]).map(|(a, b)| a * b).sum();
        #[expect(clippy::cast_possible_truncation, reason = "precision of samples")]
        let sum = sum as f32;
        sum
    };
    std::array::from_fn(|vertical| std::array::from_fn(|across| coefficient(vertical, across)))
}

/// The fingerprint of the turned picture. To reverse an axis changes the sign of its odd frequencies, which have
/// even indexes.
fn turned(coefficients: &Coefficients, turn: Turn) -> U256 {
    let [is_transposed, flips, mirrors] = turn.steps();
    let value = |at: usize| {
        let (row, column) = (at / SIDE, at % SIDE);
        let value = if is_transposed { coefficients[column][row] } else { coefficients[row][column] };
        let is_negative = (flips && row % 2 == 0) != (mirrors && column % 2 == 0);
        if is_negative { -value } else { value }
    };
    let values: [f32; SIDE * SIDE] = std::array::from_fn(value);
    bits_above_median(&values)
}

/// A bit for each value above the lower one of the two in the middle.
fn bits_above_median(values: &[f32; SIDE * SIDE]) -> U256 {
    let mut sorted = *values;
    sorted.sort_unstable_by(f32::total_cmp);
    let median = sorted[SIDE * SIDE / 2 - 1];
    let word = |values: &[f32]| {
        values.iter().rev().fold(0, |word: u64, &value| word << 1 | u64::from(value > median))
    };
    let mut words = [0; 4];
    words.iter_mut().zip(values.chunks(64)).for_each(|(to, values)| *to = word(values));
    U256::from_words(words)
}
