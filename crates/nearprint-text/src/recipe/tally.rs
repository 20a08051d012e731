//! Counts the set bits of many hashes at each place.

/// The bits of a counter.
const PLANES: usize = 48;
/// Hashes that are added together.
const GROUP: usize = 8;

/// For each of `W * 64` bits, the number of added hashes that have it set.
///
/// The counters are stored as bit planes: plane *p* holds bit *p* of all counters. A few logical
/// operations add one hash to all counters, or eight hashes through a tree of carry-save adders
/// (Muła, Kurz, Lemire, "Faster Population Counts Using AVX2 Instructions", here without the final
/// sum).
pub(super) struct Tally<const W: usize> {
    planes: [[u64; W]; PLANES],
    waiting: [[u64; W]; GROUP],
    num_waiting: usize,
    num_added: u64,
}

impl<const W: usize> Tally<W> {
    pub(super) fn new() -> Self {
        Self { planes: [[0; W]; PLANES], waiting: [[0; W]; GROUP], num_waiting: 0, num_added: 0 }
    }

    #[inline]
    pub(super) fn add(&mut self, hash: [u64; W]) {
        self.waiting[self.num_waiting] = hash;
        self.num_waiting += 1;
        if self.num_waiting == GROUP {
            self.add_group();
        }
    }

    #[inline]
    fn add_group(&mut self) {
        let [h0, h1, h2, h3, h4, h5, h6, h7] = self.waiting;
        let [ones, twos, fours, ..] = self.planes;
        let (ones, two_a) = add_three(ones, h0, h1);
        let (ones, two_b) = add_three(ones, h2, h3);
        let (ones, two_c) = add_three(ones, h4, h5);
        let (ones, two_d) = add_three(ones, h6, h7);
        let (twos, four_a) = add_three(twos, two_a, two_b);
        let (twos, four_b) = add_three(twos, two_c, two_d);
        let (fours, eight) = add_three(fours, four_a, four_b);
        self.planes[0] = ones;
        self.planes[1] = twos;
        self.planes[2] = fours;
        self.carry(eight, 3);
        self.num_waiting = 0;
        self.num_added += GROUP as u64;
    }

    /// Adds 2^plane to the counters of the set bits.
    #[inline]
    fn carry(&mut self, mut carry: [u64; W], plane: usize) {
        for plane in &mut self.planes[plane..] {
            if carry == [0; W] {
                return;
            }
            for (bits, carry) in plane.iter_mut().zip(&mut carry) {
                (*bits, *carry) = (*bits ^ *carry, *bits & *carry);
            }
        }
    }

    /// The bits that are set in more than half of the hashes.
    pub(super) fn majority(mut self) -> [u64; W] {
        for at in 0..self.num_waiting {
            self.carry(self.waiting[at], 0);
        }
        let half = (self.num_added + self.num_waiting as u64) / 2;
        let (mut above, mut equal) = ([0; W], [u64::MAX; W]);
        for (power, plane) in self.planes.iter().enumerate().rev() {
            for word in 0..W {
                if half >> power & 1 == 1 {
                    equal[word] &= plane[word];
                } else {
                    above[word] |= equal[word] & plane[word];
                    equal[word] &= !plane[word];
                }
            }
        }
        above
    }
}

/// A full adder for each bit: sum and carry.
#[inline]
fn add_three<const W: usize>(a: [u64; W], b: [u64; W], c: [u64; W]) -> ([u64; W], [u64; W]) {
    let (mut sum, mut carry) = ([0; W], [0; W]);
    for at in 0..W {
        let either = a[at] ^ b[at];
        sum[at] = either ^ c[at];
        carry[at] = (a[at] & b[at]) | (either & c[at]);
    }
    (sum, carry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::compute;
    use crate::recipe::weight::{Weight, weighted};
    use nearprint::{Fingerprint, U256};
    use proptest::prelude::*;

    /// The same by adding up weights.
    fn sums<F: Fingerprint>(hashes: impl Iterator<Item = F>) -> F {
        weighted(hashes.map(|hash| (hash, Weight::ONE)))
    }

    proptest! {
        #[test]
        fn agrees_with_counting(kinds in prop::collection::vec(any::<[u64; 4]>(), 1..6), picks in prop::collection::vec(any::<usize>(), 0..200)) {
            let hashes: Vec<[u64; 4]> = picks.iter().map(|pick| kinds[pick % kinds.len()]).collect();
            let (mut narrow, mut wide) = (Tally::<1>::new(), Tally::<2>::new());
            for &[high, low, ..] in &hashes {
                narrow.add([low]);
                wide.add([high, low]);
            }
            let low = sums(hashes.iter().map(|hash| hash[1]));
            prop_assert_eq!(narrow.majority(), [low]);
            prop_assert_eq!(wide.majority(), [sums(hashes.iter().map(|hash| hash[0])), low]);
            let wide = || hashes.iter().map(|hash| u128::from_le_words(&hash[..2]));
            let widest = || hashes.iter().map(|&hash| U256::from_words(hash));
            prop_assert_eq!(compute(hashes.iter().map(|hash| hash[1])), low);
            prop_assert_eq!(compute(wide()), sums(wide()));
            prop_assert_eq!(compute(widest()), sums(widest()));
        }
    }
}
