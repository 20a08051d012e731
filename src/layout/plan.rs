//! Plans: the radius at which each table is probed, and the proof that no match is missed.
//!
//! A plan assigns a radius to every table. It is valid for k if, for every distribution of k bit
//! errors over the blocks, the prefix of some table has no more errors than its radius.

use super::scheme::Layout;
use super::table::Table;
use crate::fingerprint::Fingerprint;

/// Steps that the validity proofs for overlapping prefixes of one plan may take together before
/// they count as failed. Layouts come from files, and some proofs would take hours.
pub(crate) const MAX_PROOF_STEPS: u32 = 200_000;

/// The radius of each table; [`UNUSED`](Plan::UNUSED) for tables that queries do not probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    radii: Vec<i32>,
}

impl Plan {
    /// The radius of a table that is not probed.
    pub(crate) const UNUSED: i32 = -1;

    /// Proves that the radii are valid for k. `None` without a proof.
    pub(crate) fn prove(layout: &Layout, radii: Vec<i32>, k: u32) -> Option<Self> {
        Self::prove_within(layout, radii, k, &mut { MAX_PROOF_STEPS })
    }

    /// The same with a budget of proof steps, which it reduces.
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

    /// The radius of a table, if the plan uses it.
    #[inline]
    pub(crate) fn radius(&self, table: usize) -> Option<u32> {
        u32::try_from(*self.radii.get(table)?).ok()
    }

    /// The tables that the plan uses, with their radii.
    pub(crate) fn used(&self) -> impl Iterator<Item = (usize, u32)> + '_ {
        (0..self.radii.len()).filter_map(|table| Some((table, self.radius(table)?)))
    }

    /// Whether `table` reports a match that it contains: the prefix distance is within its radius,
    /// and not within the radius of any earlier table. `difference` is query XOR match in natural
    /// order.
    ///
    /// Exactly one table reports each match, so queries need no set to drop duplicates.
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

    /// Whether `table` or an earlier one reports a match. The others are [reported](Self::reports) by
    /// later tables.
    #[inline]
    pub(crate) fn reports_by_then<'a, F: Fingerprint>(
        &self,
        tables: impl Fn(usize) -> &'a Table<F>,
        table: usize,
        difference: F,
    ) -> bool {
        (0..=table).any(|i| prefix_distance(tables(i), difference) <= self.radii[i])
    }

    /// Whether some known bits of a match prove that a table before `table` reports it.
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

/// Whether there is a proof that the radii find every match within k bits.
fn is_valid(layout: &Layout, radii: &[i32], k: u32, steps_left: &mut u32) -> bool {
    if layout.is_bands() {
        // Near fingerprints have an equal band, whatever k.
        return radii.len() == layout.table_count() && radii.iter().all(|&radius| radius == 0);
    }
    let used = || (0..radii.len()).filter(|&table| radii[table] >= 0);
    if layout.disjoint(used()) {
        // To exceed every radius, an error pattern needs at least the sum of (radius + 1) errors.
        return used().map(|table| i64::from(radii[table]) + 1).sum::<i64>() > i64::from(k);
    }
    let needs = radii.iter().map(|&radius| radius + 1).collect();
    !Adversary { layout, needs, steps_left }.escapes(k, 0)
}

/// Searches for a placement of errors such that every table has more errors in its prefix than its
/// radius. Ignores the limited number of bits in a block, which only makes the adversary stronger.
struct Adversary<'a> {
    layout: &'a Layout,
    /// Errors that the prefix of each table still needs.
    needs: Vec<i32>,
    steps_left: &'a mut u32,
}

impl Adversary<'_> {
    /// Whether `errors` more errors suffice. `excluded` are the blocks that earlier branches have
    /// covered. Without steps left, the adversary counts as successful.
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

    /// Checks every distribution of k errors over the blocks.
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
