//! A permutation of blocks, as rotations under masks.
//!
//! A rotation of the whole value and a mask move a block from one place to another. Blocks that
//! move by the same amount share one rotation, so a rotated layout needs exactly one.

use super::block::Block;
use crate::fingerprint::Fingerprint;

#[derive(Clone, Debug)]
pub(super) struct Permutation<F> {
    moves: Vec<Move<F>>,
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
        Self { moves }
    }

    #[inline]
    pub(super) fn apply(&self, natural: F) -> F {
        self.moves
            .iter()
            .fold(F::default(), |out, step| out | (natural.rotate_left(step.rotation) & step.destination))
    }

    #[inline]
    pub(super) fn undo(&self, permuted: F) -> F {
        self.moves.iter().fold(F::default(), |out, step| {
            out | (permuted & step.destination).rotate_left(F::BITS - step.rotation)
        })
    }
}
