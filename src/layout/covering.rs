//! Small families of prefixes such that k errors never touch all of them.
//!
//! A family of `prefix`-sets of `blocks` blocks serves k errors if every set of k blocks misses at
//! least one member. Equivalently, every set of `blocks - k` blocks contains a member: a Turán
//! system T(blocks, blocks - k, prefix). All combinations with `prefix = blocks - k` are the tables
//! of Manku, Jain and Das Sarma, "Detecting Near-Duplicates for Web Crawling" (WWW 2007). Shorter
//! prefixes need far fewer tables.

use std::collections::HashMap;
use std::fmt;
use std::sync::{LazyLock, Mutex, PoisonError};

use super::block::MAX_TABLES;
use crate::fingerprint::mix64;

/// Error patterns times prefixes that a search may examine: about a second of work.
const MAX_WORK: u64 = 20_000_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CoveringError {
    TooManyTables,
    TooManyCombinations,
}

impl fmt::Display for CoveringError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyTables => write!(f, "needs more than {MAX_TABLES} tables; try a smaller prefix"),
            Self::TooManyCombinations => {
                f.write_str("too many combinations to search; try fewer blocks or rotations:T")
            }
        }
    }
}

/// The families that this process has searched for, by (blocks, prefix, k).
type Families = HashMap<(u32, u32, u32), Result<Vec<u64>, CoveringError>>;

static FAMILIES: LazyLock<Mutex<Families>> = LazyLock::new(Mutex::default);

/// A family, as bit sets of blocks. Its first member is the blocks `0..prefix`. The same arguments
/// always produce the same family. Requires `1 <= prefix <= blocks - k` and `blocks <= 64`.
///
/// Searches once per process and arguments: every new run asks again.
pub(super) fn family(blocks: u32, prefix: u32, k: u32) -> Result<Vec<u64>, CoveringError> {
    let mut families = FAMILIES.lock().unwrap_or_else(PoisonError::into_inner);
    families.entry((blocks, prefix, k)).or_insert_with(|| search(blocks, prefix, k)).clone()
}

/// Finds the family of some arguments.
fn search(blocks: u32, prefix: u32, k: u32) -> Result<Vec<u64>, CoveringError> {
    if prefix * (k + 1) <= blocks {
        // k errors touch at most k of k + 1 disjoint prefixes. They could touch all of k prefixes.
        return Ok((0..=k).map(|table| low_bits(prefix) << (table * prefix)).collect());
    }
    if binomial(blocks, k).saturating_mul(binomial(blocks, prefix)) > MAX_WORK {
        return Err(CoveringError::TooManyCombinations);
    }
    let patterns = subsets(blocks, k);
    let candidates = subsets(blocks, prefix);
    let tries = (MAX_WORK / (16 * (patterns.len() * candidates.len()) as u64)).clamp(1, 200);
    let mut family = greedy(&patterns, &candidates, Vec::new(), 0);
    for seed in 1..tries {
        let kept =
            family.iter().copied().filter(|prefix| mix64(prefix ^ mix64(seed)).is_multiple_of(2)).collect();
        let rebuilt = greedy(&patterns, &candidates, kept, seed);
        if rebuilt.len() <= family.len() {
            family = rebuilt;
        }
    }
    if family.len() > MAX_TABLES {
        return Err(CoveringError::TooManyTables);
    }
    let mut family = relabel(family, blocks);
    family.sort_unstable();
    Ok(family)
}

fn low_bits(count: u32) -> u64 {
    if count == 64 { u64::MAX } else { (1 << count) - 1 }
}

fn binomial(n: u32, k: u32) -> u64 {
    (0..u64::from(k.min(n - k.min(n))))
        .fold(1u64, |product, i| product.saturating_mul(u64::from(n) - i) / (i + 1))
}

/// All sets of `size` out of `count` elements, ascending (Gosper's hack). The caller bounds their
/// number. `count < 64` follows from that bound, unless `size` is 0, 1, 63 or 64.
fn subsets(count: u32, size: u32) -> Vec<u64> {
    let last = low_bits(size) << (count - size).min(63);
    let mut sets = vec![low_bits(size)];
    let mut set = low_bits(size);
    while size > 0 && set != last {
        let lowest = set & set.wrapping_neg();
        let ripple = set + lowest;
        set = (((ripple ^ set) >> 2) / lowest) | ripple;
        sets.push(set);
    }
    sets
}

/// Repeatedly adds the prefix that serves the most unserved patterns to `family`. The seed breaks
/// ties.
fn greedy(patterns: &[u64], candidates: &[u64], mut family: Vec<u64>, seed: u64) -> Vec<u64> {
    let mut open = patterns.to_vec();
    open.retain(|&pattern| family.iter().all(|prefix| prefix & pattern != 0));
    while !open.is_empty() && family.len() <= MAX_TABLES {
        let serves = |prefix: u64| open.iter().filter(|&&pattern| pattern & prefix == 0).count();
        let Some(&best) =
            candidates.iter().max_by_key(|&&prefix| (serves(prefix), mix64(prefix ^ mix64(seed))))
        else {
            break;
        };
        open.retain(|&pattern| pattern & best != 0);
        family.push(best);
    }
    family
}

/// Renumbers blocks so that the first member is the first blocks. Then table 0 is the identity.
fn relabel(family: Vec<u64>, blocks: u32) -> Vec<u64> {
    let Some(&first) = family.first() else { return family };
    let inside = (0..blocks).filter(|b| first >> b & 1 == 1);
    let outside = (0..blocks).filter(|b| first >> b & 1 == 0);
    let names: Vec<u32> = inside.chain(outside).collect();
    family
        .iter()
        .map(|prefix| {
            (0..blocks)
                .filter(|&new| prefix >> names[new as usize] & 1 == 1)
                .fold(0, |set, new| set | 1 << new)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_serve_every_pattern_and_match_the_known_sizes() {
        for (blocks, prefix, k, known) in [
            (6, 2, 3, 6),
            (8, 3, 3, 8),
            (5, 2, 3, 10),
            (8, 4, 3, 14),
            (6, 3, 3, 20),
            (4, 1, 3, 4),
            (7, 2, 3, 5),
            (5, 4, 1, 5),
            (3, 3, 0, 1),
        ] {
            let family = search(blocks, prefix, k).unwrap();
            assert!(family.len() <= known, "{blocks},{prefix} for {k}: {} tables", family.len());
            assert_eq!(family[0], low_bits(prefix));
            assert!(family.iter().all(|set| set.count_ones() == prefix && set >> blocks == 0));
            for pattern in subsets(blocks, k) {
                assert!(family.iter().any(|set| set & pattern == 0), "{blocks},{prefix}: {pattern:b}");
            }
        }
    }

    #[test]
    fn subsets_are_complete_and_distinct() {
        for (count, size) in [(6, 3), (8, 0), (8, 8), (1, 1), (64, 1), (64, 63), (64, 64), (64, 0)] {
            let sets = subsets(count, size);
            assert_eq!(sets.len() as u64, binomial(count, size), "{count} {size}");
            assert!(sets.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(sets.iter().all(|set| set.count_ones() == size));
        }
    }

    #[test]
    fn searches_that_are_too_large_fail_at_once() {
        assert_eq!(search(64, 32, 16), Err(CoveringError::TooManyCombinations));
        assert_eq!(search(12, 6, 6), Err(CoveringError::TooManyTables));
    }
}
