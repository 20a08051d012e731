//! Plans: how far each table looks, and the proof that nothing is missed.
//!
//! A plan gives every table a radius. It is valid for k when every way of spreading k bit errors
//! over the blocks leaves a table with at most its radius of errors in its prefix.

use super::{Layout, Table};
use crate::fingerprint::Fingerprint;

/// Steps that the validity proofs for overlapping prefixes may take, in the making of one plan, before they
/// count as failed: layouts are read from files, and some would keep the adversary busy for hours.
pub(crate) const MAX_PROOF_STEPS: u32 = 200_000;

/// The radius of each table; [`UNUSED`](Plan::UNUSED) for tables that the query leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    radii: Vec<i32>,
}

impl Plan {
    /// The radius of a table that is not probed.
    pub(crate) const UNUSED: i32 = -1;

    /// Checks the radii against the layout: `None` unless they are proved valid for k.
    pub(crate) fn prove(layout: &Layout, radii: Vec<i32>, k: u32) -> Option<Self> {
        Self::prove_within(layout, radii, k, &mut { MAX_PROOF_STEPS })
    }

    /// The same, taking the steps that it needs from those that are left.
    pub(crate) fn prove_within(
        layout: &Layout,
        radii: Vec<i32>,
        k: u32,
        steps_left: &mut u32,
    ) -> Option<Self> {
        is_valid(layout, &radii, k, steps_left).then_some(Self { radii })
    }

    pub(crate) fn radii(&self) -> &[i32] {
        &self.radii
    }

    /// The radius of a table, if it is in use.
    #[inline]
    pub(crate) fn radius(&self, table: usize) -> Option<u32> {
        u32::try_from(*self.radii.get(table)?).ok()
    }

    /// The tables in use with their radii.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        (0..self.radii.len()).filter_map(|table| Some((table, self.radius(table)?)))
    }

    /// Whether a match met in `table` is reported there: its prefix distance is within the radius,
    /// and no earlier table is responsible for it. `difference` is query XOR match in natural order.
    ///
    /// Exactly one table reports each match, so answers need no set to drop duplicates.
    #[inline]
    pub(crate) fn reports<'a, F: Fingerprint>(
        &self,
        tables: impl Fn(usize) -> &'a Table<F>,
        table: usize,
        difference: F,
    ) -> bool {
        let responsible = |i: usize| prefix_distance(tables(i), difference) <= self.radii[i];
        responsible(table) && !(0..table).any(responsible)
    }
    /// Whether it can be told from some bits of a match that a table before `table` reports it.
    /// `difference` is zero outside the `known` bits.
    #[inline]
    pub(crate) fn reported_before<'a, F: Fingerprint>(
        &self,
        tables: impl Fn(usize) -> &'a Table<F>,
        table: usize,
        difference: F,
        known: F,
    ) -> bool {
        (0..table).any(|i| {
            let prefix = tables(i);
            prefix.prefix_mask & !known == F::default()
                && prefix_distance(prefix, difference) <= self.radii[i]
        })
    }
}

#[inline]
fn prefix_distance<F: Fingerprint>(table: &Table<F>, difference: F) -> i32 {
    (difference & table.prefix_mask).count_ones().cast_signed()
}

/// Whether the radii are proved to miss nothing within k bits.
fn is_valid(layout: &Layout, radii: &[i32], k: u32, steps_left: &mut u32) -> bool {
    let used = || (0..radii.len()).filter(|&table| radii[table] >= 0);
    if layout.disjoint(used()) {
        // Errors beyond every radius would have to number more than k in total.
        return used().map(|table| i64::from(radii[table]) + 1).sum::<i64>() > i64::from(k);
    }
    let needs = radii.iter().map(|&radius| radius + 1).collect();
    !Adversary { layout, needs, steps_left }.escapes(k, 0)
}

/// Looks for a way to place errors so that every table has more than its radius in its prefix.
/// Ignores that a block holds only so many bits, which can only make the adversary stronger.
struct Adversary<'a> {
    layout: &'a Layout,
    /// Errors still missing in each table's prefix.
    needs: Vec<i32>,
    steps_left: &'a mut u32,
}

impl Adversary<'_> {
    /// `excluded` are blocks that earlier branches have dealt with. Out of steps, it is said to escape.
    fn escapes(&mut self, errors: u32, excluded: u64) -> bool {
        let Some(left) = self.steps_left.checked_sub(1) else { return true };
        *self.steps_left = left;
        let Some(hardest) =
            (0..self.needs.len()).filter(|&t| self.needs[t] > 0).max_by_key(|&t| self.needs[t])
        else {
            return true;
        };
        if self.needs[hardest] > errors.cast_signed() {
            return false;
        }
        let mut excluded = excluded;
        for block in 0..self.layout.block_count() {
            let bit = 1u64 << block;
            if self.layout.prefixes()[hardest] & bit == 0 || excluded & bit != 0 {
                continue;
            }
            self.place(bit, 1);
            let escaped = self.escapes(errors - 1, excluded);
            self.place(bit, -1);
            if escaped {
                return true;
            }
            excluded |= bit;
        }
        false
    }

    fn place(&mut self, block: u64, errors: i32) {
        for (need, prefix) in self.needs.iter_mut().zip(self.layout.prefixes()) {
            if prefix & block != 0 {
                *need -= errors;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All ways to spread exactly k errors over the blocks, by brute force.
    fn misses_nothing(layout: &Layout, radii: &[i32], k: u32) -> bool {
        fn spread(
            errors: &mut Vec<i32>,
            left: i32,
            blocks: usize,
            check: &mut dyn FnMut(&[i32]) -> bool,
        ) -> bool {
            if errors.len() == blocks {
                return left > 0 || check(errors);
            }
            (0..=left).all(|here| {
                errors.push(here);
                let fine = spread(errors, left - here, blocks, check);
                errors.pop();
                fine
            })
        }
        spread(&mut Vec::new(), k.cast_signed(), layout.block_count(), &mut |errors| {
            (0..radii.len()).any(|table| {
                let prefix: i32 = (0..errors.len())
                    .filter(|b| layout.prefixes()[table] >> b & 1 == 1)
                    .map(|b| errors[b])
                    .sum();
                prefix <= radii[table]
            })
        })
    }

    proptest! {
        #[test]
        fn validity_equals_brute_force(
            shape in prop::sample::select(vec![(1, 1), (2, 1), (3, 1), (4, 1), (4, 2), (5, 2), (6, 2), (5, 3)]),
            k in 0u32..=6, raw in prop::collection::vec(-1i32..=3, 20),
        ) {
            let (m, s) = shape;
            let layout = if s == 1 { Layout::rotations(64, m) } else { Layout::covering(64, m, s, (m - s).min(3)) }.unwrap();
            let radii = &raw[..layout.table_count()];
            let mut steps = MAX_PROOF_STEPS;
            prop_assert_eq!(is_valid(&layout, radii, k, &mut steps), misses_nothing(&layout, radii, k));
        }
    }

    #[test]
    fn the_plans_of_the_literature_are_valid() {
        let valid = |layout: &Layout, radii: &[i32], k| Plan::prove(layout, radii.to_vec(), k).is_some();
        let four = Layout::rotations(64, 4).unwrap();
        assert!(valid(&four, &[0, 0, 0, 0], 3));
        assert!(!valid(&four, &[0, 0, 0, -1], 3));
        assert!(!valid(&four, &[0, 0, 0, 0], 4));
        assert!(valid(&Layout::rotations(64, 3).unwrap(), &[1, 0, 0], 3));
        let manku = Layout::covering(64, 6, 3, 3).unwrap();
        assert!(valid(&manku, &vec![0; manku.table_count()], 3));
        assert!(!valid(&manku, &vec![0; manku.table_count()], 4));
    }
}
