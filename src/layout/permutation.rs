//! A permutation of blocks, as rotations under masks.
//!
//! A rotation of the whole value and a mask move a block from one place to another. Blocks that
//! move by the same amount share one rotation, so a rotated layout needs exactly one.
//!
//! Rotations of wide values take long. Where only some bits are asked for, they come from the blocks that have them.

use super::block::Block;
use crate::fingerprint::Fingerprint;

#[derive(Clone, Debug)]
pub(super) struct Permutation<F> {
    moves: Vec<Move<F>>,
    /// The source of all bits, in permuted order.
    pieces: Vec<Block>,
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
        let mut pieces: Vec<Block> = Vec::new();
        let mut at = 0;
        for block in order {
            match pieces.last_mut() {
                Some(last) if last.start + last.len == block.start => last.len += block.len,
                _ => pieces.push(*block),
            }
            let rotation = (block.start + F::BITS - at) % F::BITS;
            let mask = F::ones(at, block.len);
            match moves.iter_mut().find(|known| known.rotation == rotation) {
                Some(known) => known.destination = known.destination | mask,
                None => moves.push(Move { rotation, destination: mask }),
            }
            at += block.len;
        }
        Self { moves, pieces }
    }

    #[inline]
    pub(super) fn apply(&self, natural: F) -> F {
        self.moves
            .iter()
            .fold(F::default(), |out, step| out | (natural.rotate_left(step.rotation) & step.destination))
    }

    /// The bits `start..start + len` of the permuted value; at most 64.
    #[inline]
    pub(super) fn bits(&self, natural: F, start: u32, len: u32) -> u64 {
        if F::BITS <= 64 {
            return self.apply(natural).bits(start, len);
        }
        let (mut bits, mut from, mut missing) = (0, start, len);
        for piece in &self.pieces {
            if from >= piece.len {
                from -= piece.len;
                continue;
            }
            let some = (piece.len - from).min(missing);
            let more = natural.bits(piece.start + from, some);
            bits = if missing == len { more } else { bits << some | more };
            (from, missing) = (0, missing - some);
            if missing == 0 {
                break;
            }
        }
        bits
    }

    #[inline]
    pub(super) fn undo(&self, permuted: F) -> F {
        self.moves.iter().fold(F::default(), |out, step| {
            out | (permuted & step.destination).rotate_left(F::BITS - step.rotation)
        })
    }
}
