//! Scales a picture down to a small grid.
//!
//! A filter is linear, and the same for all rows and for all columns. So each sample of the grid is a sum of
//! pixels with weights that are a product of a weight of the row and a weight of the column. The picture is read
//! once, row by row; besides it, a few rows are in memory.

use std::f64::consts::PI;

use crate::picture::{Picture, Plane};

/// The weights of consecutive pixels of one axis in one sample.
#[derive(Debug)]
pub(crate) struct Weights {
    /// The first of the pixels.
    start: usize,
    weights: Vec<f32>,
}

impl Weights {
    fn end(&self) -> usize {
        self.start + self.weights.len()
    }
}

/// The grid, row by row: as many rows and columns as there are weights for.
pub(crate) fn sampled(
    picture: &Picture<'_>,
    plane: Plane,
    rows: &[Weights],
    columns: &[Weights],
) -> Vec<f32> {
    let width = picture.width();
    let mut pixels = vec![0.0_f32; width];
    let mut sums = vec![Vec::new(); rows.len()];
    let mut grid = vec![0.0; rows.len() * columns.len()];
    let first = rows.iter().map(|row| row.start).min().unwrap_or(0);
    let end = rows.iter().map(Weights::end).max().unwrap_or(0);
    for at in first..end {
        picture.row(plane, at, &mut pixels);
        for ((row, sum), out) in rows.iter().zip(&mut sums).zip(grid.chunks_mut(columns.len())) {
            if !(row.start..row.end()).contains(&at) {
                continue;
            }
            if sum.is_empty() {
                sum.resize(width, 0.0_f32);
            }
            let weight = row.weights[at - row.start];
            sum.iter_mut().zip(&pixels).for_each(|(sum, pixel)| *sum += weight * pixel);
            if at + 1 == row.end() {
                out.iter_mut().zip(columns).for_each(|(out, column)| *out = dot(column, sum));
                *sum = Vec::new();
            }
        }
    }
    grid
}

fn dot(weights: &Weights, values: &[f32]) -> f32 {
    weights.weights.iter().zip(&values[weights.start..]).map(|(weight, value)| weight * value).sum()
}

/// The weights of `count` samples of an axis of `len` pixels, which two box filters have smoothed.
///
/// A box filter replaces each pixel by the mean of a window around it, cut at the ends of the axis. The window is
/// the 128th part of the axis, rounded up. Samples are at the centres of `count` equal parts.
pub(crate) fn boxed(len: usize, count: usize) -> Vec<Weights> {
    let size = len.div_ceil(2 * count);
    let after = (size + 2) / 2;
    let before = size - after;
    let window = |at: usize| (at.saturating_sub(before), (at + after).min(len));
    let sample = |number: usize| {
        let centre = (2 * number + 1) * len / (2 * count);
        let (first, end) = window(centre);
        let (start, last) = (window(first).0, window(end - 1).1);
        // Differences of consecutive weights, so that the work is that of one window.
        let mut steps = vec![0.0_f64; last - start + 1];
        for middle in first..end {
            let (from, to) = window(middle);
            let share = 1.0 / ((end - first) * (to - from)) as f64;
            steps[from - start] += share;
            steps[to - start] -= share;
        }
        let summed = steps[..last - start].iter().scan(0.0, |sum, step| {
            *sum += step;
            Some(*sum)
        });
        #[expect(clippy::cast_possible_truncation, reason = "precision of samples")]
        let weights = summed.map(|weight| weight as f32).collect();
        Weights { start, weights }
    };
    (0..count).map(sample).collect()
}

/// The weights of `count` samples of an axis of at least as many pixels, which are means of equal parts of it.
#[cfg_attr(not(feature = "decode"), expect(dead_code, reason = "for small copies"))]
pub(crate) fn means(len: usize, count: usize) -> Vec<Weights> {
    let part = |number: usize| {
        let (start, end) = (number * len / count, (number + 1) * len / count);
        Weights { start, weights: vec![1.0 / (end - start) as f32; end - start] }
    };
    (0..count).map(part).collect()
}

/// The weights of `count` samples of an axis of `len` pixels by Lanczos's filter with three lobes, which is as wide
/// as a sample where the axis is scaled down, and as a pixel otherwise.
pub(crate) fn lanczos(len: usize, count: usize) -> Vec<Weights> {
    const LOBES: f64 = 3.0;
    let scale = len as f64 / count as f64;
    let unit = scale.max(1.0);
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) };
    let sample = |number: usize| {
        let centre = (number as f64 + 0.5) * scale;
        #[expect(clippy::cast_possible_truncation, reason = "within the axis")]
        #[expect(clippy::cast_sign_loss, reason = "not negative")]
        let index = |at: f64| at.round().clamp(0.0, len as f64) as usize;
        let (start, end) = (index(centre - LOBES * unit), index(centre + LOBES * unit));
        let weight = |at: usize| {
            let x = (at as f64 + 0.5 - centre) / unit;
            if x.abs() < LOBES { sinc(x) * sinc(x / LOBES) } else { 0.0 }
        };
        let weights: Vec<f64> = (start..end).map(weight).collect();
        let sum: f64 = weights.iter().sum();
        #[expect(clippy::cast_possible_truncation, reason = "precision of samples")]
        Weights { start, weights: weights.iter().map(|weight| (weight / sum) as f32).collect() }
    };
    (0..count).map(sample).collect()
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "not shipped")]
mod tests {
    use super::*;

    #[test]
    fn weights_are_means() {
        // The last one takes minutes if the work grows with the square.
        for len in [1, 2, 63, 64, 65, 128, 129, 500, 4000, 1 << 22] {
            for weights in [boxed(len, 64), lanczos(len, 32), lanczos(len, 9)] {
                for Weights { start, weights } in weights {
                    assert!(start + weights.len() <= len && !weights.is_empty(), "{len}");
                    let sum: f64 = weights.iter().copied().map(f64::from).sum();
                    assert!((sum - 1.0).abs() < 1e-4, "{len}: {sum}");
                }
            }
        }
    }

    /// The filter pixel by pixel, as the paper describes it.
    #[test]
    fn two_box_filters_are_their_weights() {
        for len in [5_usize, 64, 200, 777] {
            let mut line: Vec<f64> = (0..len).map(|at| (at * at % 251) as f64).collect();
            let original: Vec<f32> = line.iter().map(|&value| value as f32).collect();
            let size = len.div_ceil(128);
            let half = (size + 2) / 2;
            for _ in 0..2 {
                line = (0..line.len())
                    .map(|at| {
                        let window = &line[at.saturating_sub(size - half)..(at + half).min(line.len())];
                        window.iter().sum::<f64>() / window.len() as f64
                    })
                    .collect();
            }
            for (number, weights) in boxed(len, 64).iter().enumerate() {
                let expected = line[((number as f64 + 0.5) * len as f64 / 64.0) as usize];
                let found = f64::from(dot(weights, &original));
                assert!((found - expected).abs() < 1e-2, "{len} {number}: {found} {expected}");
            }
        }
    }
}
