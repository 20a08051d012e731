//! dHash and pHash, perceptual hashes of 64 bits, with the definitions of the Python package `imagehash`.
//!
//! Both scale the luminance down by Lanczos's filter and round it to whole numbers. The first bit is the most
//! significant one. Sums are made in another order and precision than there, so a bit may differ.

use std::f64::consts::PI;

use crate::picture::{Picture, Plane};
use crate::sample::{lanczos, sampled};

/// Rows and columns of bits.
const SIDE: usize = 8;
/// Rows and columns of samples that pHash transforms.
const GRID: usize = 32;

/// The difference hash: whether each sample of 8 rows of 9 is darker than the next one in its row (Neal Krawetz,
/// "Kind of Like That", 2013).
#[must_use]
pub fn dhash(picture: &Picture<'_>) -> u64 {
    let grid = rounded(picture, SIDE, SIDE + 1);
    let bits = grid.chunks(SIDE + 1).flat_map(|row| row.windows(2).map(|pair| pair[0] < pair[1]));
    bits.fold(0, |hash, bit| hash << 1 | u64::from(bit))
}

/// The hash of frequencies: whether each of the 8 x 8 lowest coefficients of the cosine transform of 32 x 32 samples,
/// the constant one among them, is above their median (Neal Krawetz, "Looks Like It", 2011).
#[must_use]
pub fn phash(picture: &Picture<'_>) -> u64 {
    let grid = rounded(picture, GRID, GRID);
    let cosine =
        |frequency: usize, at: usize| (PI / GRID as f64 * frequency as f64 * (at as f64 + 0.5)).cos();
    let cosines: [[f64; GRID]; SIDE] = std::array::from_fn(|f| std::array::from_fn(|at| cosine(f, at)));
    let sum = |row: &[f32], across: usize| -> f64 {
        row.iter().zip(&cosines[across]).map(|(&sample, cosine)| f64::from(sample) * cosine).sum()
    };
    let coefficient = |at: usize| -> f64 {
        let rows = grid.chunks(GRID).zip(&cosines[at / SIDE]);
        rows.map(|(row, cosine)| sum(row, at % SIDE) * cosine).sum()
    };
    let values: [f64; SIDE * SIDE] = std::array::from_fn(coefficient);
    let mut sorted = values;
    sorted.sort_unstable_by(f64::total_cmp);
    let median = f64::midpoint(sorted[SIDE * SIDE / 2 - 1], sorted[SIDE * SIDE / 2]);
    values.iter().fold(0, |hash, &value| hash << 1 | u64::from(value > median))
}

fn rounded(picture: &Picture<'_>, rows: usize, columns: usize) -> Vec<f32> {
    let grid = sampled(
        picture,
        Plane::Luminance,
        &lanczos(picture.height(), rows),
        &lanczos(picture.width(), columns),
    );
    grid.iter().map(|sample| sample.round().clamp(0.0, 255.0)).collect()
}
