//! A permutation of blocks, as rotations under masks.
//!
//! A rotation of the whole value and a mask move a block from one place to another. Blocks that
//! move by the same amount share one rotation, so a rotated layout needs exactly one.

use super::block::Block;
use crate::fingerprint::Fingerprint;

/// The leading bits that [`Permutation::leading`] moves: what buckets and `hi` words are made of.
const LEADING: u32 = 128;

#[derive(Clone, Debug)]
pub(super) struct Permutation<F> {
    moves: Vec<Move<F>>,
    /// What the leading bits are made of, in order. Empty where moving all bits is as fast.
    leading: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Move<F> {
    rotation: u32,
    /// The bits that this rotation moves into place, in permuted order.
    destination: F,
}

impl<F: Fingerprint> Permutation<F> {
    /// The permutation that writes the blocks one after the other in the given order.
    pub(super) fn new(order: &[Block]) -> Self {
        let mut moves: Vec<Move<F>> = Vec::new();
        let mut at = 0;
        for block in order {
            let rotation = (block.start + F::BITS - at) % F::BITS;
            let mask = F::ones(at, block.len);
            match moves.iter_mut().find(|known| known.rotation == rotation) {
                Some(known) => known.destination = known.destination | mask,
                None => moves.push(Move { rotation, destination: mask }),
            }
            at += block.len;
        }
        let leading = if F::BITS > LEADING && moves.len() > 1 { leading(order) } else { Vec::new() };
        Self { moves, leading }
    }

    #[inline]
    pub(super) fn apply(&self, natural: F) -> F {
        self.moves
            .iter()
            .fold(F::default(), |out, step| out | (natural.rotate_left(step.rotation) & step.destination))
    }

    /// [`apply`](Self::apply) for the leading bits; the others are undefined.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "takes the halves")]
    pub(super) fn leading(&self, natural: F) -> F {
        if self.leading.is_empty() {
            return self.apply(natural);
        }
        let piece =
            |bits: u128, piece: &Block| bits << piece.len | u128::from(natural.bits(piece.start, piece.len));
        let bits = self.leading.iter().fold(0, piece);
        F::from_bits((bits >> 64) as u64, 0, 64) | F::from_bits(bits as u64, 64, 64)
    }

    #[inline]
    pub(super) fn undo(&self, permuted: F) -> F {
        self.moves.iter().fold(F::default(), |out, step| {
            out | (permuted & step.destination).rotate_left(F::BITS - step.rotation)
        })
    }
}

/// The blocks of the leading bits, in pieces of up to 64 bits.
fn leading(order: &[Block]) -> Vec<Block> {
    let (mut pieces, mut left) = (Vec::new(), LEADING);
    for block in order {
        let end = block.start + block.len.min(left);
        left -= end - block.start;
        let starts = (block.start..end).step_by(64);
        pieces.extend(starts.map(|start| Block { start, len: (end - start).min(64) }));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::{U256, U320, mix64};
    use crate::layout::{BandLayout, Layout};

    fn leading_bits_are_those_of_the_permutation<F: Fingerprint>(layout: &Layout) {
        for table in layout.tables::<F>() {
            for seed in 0..50 {
                let words: Vec<u64> = (0..8).map(|word| mix64(seed * 8 + word)).collect();
                let value = F::from_le_words(&words);
                let all = F::ones(0, LEADING.min(F::BITS));
                assert_eq!(table.leading(value) & all, table.permute(value) & all, "{layout:?}");
            }
        }
    }

    #[test]
    fn leading_bits_are_moved_alone() {
        let bands = |bands: &str| bands.parse::<BandLayout>().unwrap();
        for of in ["10x16", "5x8", "1x32", "4x24"] {
            leading_bits_are_those_of_the_permutation::<U256>(&Layout::bands(256, bands(of)).unwrap());
        }
        for of in ["10x22", "7x32", "3x8"] {
            leading_bits_are_those_of_the_permutation::<U320>(&Layout::bands(320, bands(of)).unwrap());
        }
        leading_bits_are_those_of_the_permutation::<U256>(&Layout::rotations(256, 5).unwrap());
        leading_bits_are_those_of_the_permutation::<U256>(&Layout::covering(256, 7, 2, 5).unwrap());
        leading_bits_are_those_of_the_permutation::<u128>(&Layout::bands(128, bands("4x16")).unwrap());
        leading_bits_are_those_of_the_permutation::<u64>(&Layout::covering(64, 7, 2, 3).unwrap());
    }
}
