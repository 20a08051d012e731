//! Pairs of a list that is spread over many tasks or machines.

use std::collections::BTreeMap;

use super::clusters::SortedIndex;
use super::join::{Join, Pair, Wanted};
use super::lists::{ListGroups, Near, group_bits, plan_of};
use super::union_find::UnionFind;
use crate::error::{Error, Limit, Result};
use crate::fingerprint::{Distance, Fingerprint, mix64};
use crate::kernel::Kernel;
use crate::layout::plan::Plan;
use crate::layout::{Layout, Table};
use crate::options::Options;
use crate::progress::Stage;
use crate::util::cast::to_usize;
use crate::util::sort;
use crate::util::visitor::visiting;

/// Blocks of bits; near fingerprints have one in common.
///
/// A list can be spread over many independent tasks: each fingerprint goes
/// with each of its [keys](Self::keys) to the task of that key, and each task
/// [joins](Self::visit_pairs) what it receives. All tasks together report the pairs of
/// [`find_all`](crate::list::find_all), each once, however keys are assigned to tasks.
///
/// Within k bits, a fingerprint has k + 1 blocks, so that k errors miss one of them; with bands, it
/// has those bands.
///
/// ```
/// use nearprint::list::Blocks;
/// use nearprint::{Error, Options};
///
/// let list = [0b0000_u64, 0b0111, 0b1111, u64::MAX];
/// let blocks = Blocks::<u64>::new(3)?;
/// let mut tasks = vec![Vec::new(); 5];
/// for fingerprint in list {
///     for key in blocks.keys(fingerprint) {
///         tasks[(key % 5) as usize].push((key, fingerprint));
///     }
/// }
/// let mut pairs = Vec::new();
/// for rows in tasks {
///     blocks.visit_pairs(rows, &Options::new(), |some| {
///         pairs.extend_from_slice(some);
///         Ok::<(), Error>(())
///     })?;
/// }
/// pairs.sort();
/// assert_eq!(pairs.iter().map(|p| (p.a, p.b, p.distance)).collect::<Vec<_>>(), [(0, 7, 3), (7, 15, 1)]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Blocks<F> {
    k: u32,
    layout: Layout,
    tables: Vec<Table<F>>,
    plan: Plan,
}

/// The largest number of parts of a key.
const MAX_PARTS: u32 = 256;
/// Bits of a key for the content of the block. Above them are the parts, and the table.
const VALUE_BITS: u32 = 33;
const PART_BITS: u32 = 8;
const TABLE_SHIFT: u32 = VALUE_BITS + 3 * PART_BITS;

/// Fingerprints with their keys, and those that they are joined with, if these are others.
pub(crate) type Joined<F> = (Vec<(u64, F)>, Option<Vec<(u64, F)>>);

/// The information in a key besides the content of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    table: usize,
    /// 1 if the block is not split.
    parts: u64,
    /// The two parts of the block that meet here.
    meet: [u64; 2],
}

impl Head {
    fn of(key: u64) -> Self {
        let part = |number: u32| key >> (VALUE_BITS + number * PART_BITS) & ((1 << PART_BITS) - 1);
        Self { table: to_usize(key >> TABLE_SHIFT), parts: part(2) + 1, meet: [part(0), part(1)] }
    }

    fn key(self, value: u64) -> u64 {
        let Self { table, parts, meet: [a, b] } = self;
        let head = ((table as u64) << PART_BITS | (parts - 1)) << (2 * PART_BITS) | b << PART_BITS | a;
        head << VALUE_BITS | value
    }

    /// Whether a pair is reported where these parts meet.
    fn reports<F: Fingerprint>(self, pair: &Pair<F>) -> bool {
        let [a, b] = [pair.a, pair.b].map(|end| part_of(end, self.parts));
        [a.min(b), a.max(b)] == self.meet
    }
}

/// A hash of all bits of a fingerprint.
fn hash<F: Fingerprint>(fingerprint: F) -> u64 {
    (0..F::BITS / 64).fold(0, |hash, word| mix64(hash ^ fingerprint.le_word(word)))
}

/// The part of a block to which a fingerprint belongs.
fn part_of<F: Fingerprint>(fingerprint: F, parts: u64) -> u64 {
    hash(fingerprint) % parts
}

impl<F: Fingerprint> Blocks<F> {
    /// The blocks for what is near.
    ///
    /// # Errors
    /// [`Error::InvalidLayout`] for a k of 64 or more, or for bands that leave no useful sketch.
    pub fn new(near: impl Into<Near>) -> Result<Self> {
        F::blocks(near.into())
    }

    pub(crate) fn of(near: Near) -> Result<Self> {
        let Near { k, bands } = near;
        let k = Distance::saturating::<F>(k).bits();
        let layout = match bands {
            Some(bands) => Layout::bands(F::BITS, bands)?,
            None => Layout::rotations(F::BITS, k + 1)?,
        };
        let plan = plan_of(&layout, vec![0; layout.table_count()], k)?;
        Ok(Self { k, tables: layout.tables(), layout, plan })
    }

    /// The keys of a fingerprint: one for each block, below 2^63. With bands, the fingerprint 0 is
    /// near nothing and has none.
    ///
    /// Fingerprints with an equal block have an equal key. Others may have an equal key by chance,
    /// which changes no result.
    pub fn keys(&self, fingerprint: F) -> impl Iterator<Item = u64> + '_ {
        let is_near = self.layout.metric().admits(fingerprint);
        (0..self.tables.len()).filter(move |_| is_near).map(move |table| {
            let head = Head { table, parts: 1, meet: [0, 0] };
            head.key(self.value(table, fingerprint))
        })
    }

    /// The keys that replace `key`, a [key](Self::keys) of too many fingerprints. The fingerprints
    /// of such a key fall into parts, and each two parts meet at a key of their own. A fingerprint
    /// has `parts` of these keys.
    ///
    /// Give the same number of parts for every fingerprint with the key. Numbers outside 1 to 256
    /// are clamped.
    pub fn split(&self, key: u64, fingerprint: F, parts: u32) -> impl Iterator<Item = u64> + use<F> {
        let parts = u64::from(parts.clamp(1, MAX_PARTS));
        let (own, table) = (part_of(fingerprint, parts), Head::of(key).table);
        (0..parts).map(move |other| {
            let head = Head { table, parts, meet: [own.min(other), own.max(other)] };
            head.key(key & ((1 << VALUE_BITS) - 1))
        })
    }

    /// The content of a block, or a hash of it.
    fn value(&self, table: usize, fingerprint: F) -> u64 {
        let bits = self.layout.prefix_bits(table);
        let permuted = self.tables[table].permute(fingerprint);
        match bits <= VALUE_BITS {
            true => permuted.bits(0, bits),
            false => hash(permuted & F::ones(0, bits)) >> (64 - VALUE_BITS),
        }
    }

    /// Visits the near pairs that are reported at the keys of a task.
    ///
    /// `rows` are fingerprints with their keys, in any order, all that have these keys; repetitions
    /// count once. `visit` receives pairs in blocks, on the calling thread; its error ends the search
    /// and is returned. The order depends only on the rows. Memory: the rows, and three times their
    /// fingerprints.
    ///
    /// # Errors
    /// [`Error::ForeignKey`] for a key of a table that these blocks do not have; errors of `visit`;
    /// [`Error::Interrupted`].
    pub fn visit_pairs<E: From<Error>>(
        &self,
        rows: Vec<(u64, F)>,
        options: &Options,
        visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        visiting(visit, |visit| F::join(self, (rows, None), Wanted::All, options, visit))
    }

    /// As [`visit_pairs`](Self::visit_pairs), but visits only some of the pairs in a group of more than 64
    /// fingerprints: fewer than fingerprints. The visited pairs of all tasks have the same connected components as
    /// all pairs, and some are visited by several tasks.
    ///
    /// # Errors
    /// As [`visit_pairs`](Self::visit_pairs).
    pub fn visit_forest<E: From<Error>>(
        &self,
        rows: Vec<(u64, F)>,
        options: &Options,
        visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        visiting(visit, |visit| F::join(self, (rows, None), Wanted::Forest, options, visit))
    }

    /// As [`visit_pairs`](Self::visit_pairs), but visits the near pairs of a fingerprint `a` of `ones`
    /// and `b` of `others`, which may be equal. With bands, the fingerprint 0 is near nothing.
    ///
    /// # Errors
    /// As [`visit_pairs`](Self::visit_pairs).
    pub fn visit_between<E: From<Error>>(
        &self,
        ones: Vec<(u64, F)>,
        others: Vec<(u64, F)>,
        options: &Options,
        visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        visiting(visit, |visit| F::join(self, (ones, Some(others)), Wanted::Between, options, visit))
    }

    /// The fingerprints of rows whose keys have the same head, by this head.
    fn by_head(&self, rows: Vec<(u64, F)>) -> Result<BTreeMap<u64, Vec<F>>> {
        let mut counts = vec![0; self.tables.len()];
        for &(key, _) in &rows {
            *counts.get_mut(Head::of(key).table).ok_or(Error::ForeignKey { key })? += 1;
        }
        // Nearly all keys are whole blocks, for which a map is slow.
        let mut whole: Vec<Vec<F>> = counts.into_iter().map(Vec::with_capacity).collect();
        let mut values = BTreeMap::<u64, Vec<F>>::new();
        for (key, fingerprint) in rows {
            let head = Head::of(key);
            match head.parts {
                1 => whole[head.table].push(fingerprint),
                _ => values.entry(key >> VALUE_BITS).or_default().push(fingerprint),
            }
        }
        let whole = whole.into_iter().enumerate().filter(|(_, values)| !values.is_empty());
        values.extend(whole.map(|(table, values)| {
            let head = Head { table, parts: 1, meet: [0, 0] };
            (head.key(0) >> VALUE_BITS, values)
        }));
        Ok(values)
    }

    pub(crate) fn join(
        &self,
        (rows, others): Joined<F>,
        wanted: Wanted,
        options: &Options,
        visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
    ) -> Result<()> {
        let count = rows.len() + others.as_ref().map_or(0, Vec::len);
        let progress = options.counter(Stage::Joining, count as u64);
        let groups = self.by_head(rows)?;
        let mut others = others.map(|others| self.by_head(others)).transpose()?;
        let join = Join {
            kernel: Kernel::detect(),
            threads: options.threads,
            k: self.k,
            wanted,
            metric: self.layout.metric(),
            plan: &self.plan,
            tables: &self.tables,
            progress: &progress,
        };
        let (mut kept, mut scratch) = (Vec::new(), Vec::new());
        groups.into_iter().try_for_each(|(key, mut values)| {
            let head = Head::of(key << VALUE_BITS);
            let table = &self.tables[head.table];
            let mut prepare = |values: &mut Vec<F>| {
                values.iter_mut().for_each(|value| *value = table.permute(*value));
                sort::sort(values, &mut scratch, options.threads);
                values.dedup();
            };
            let mut consume = |block: &[Pair<F>]| {
                if head.parts == 1 || wanted == Wanted::Forest {
                    return visit(block);
                }
                kept.clear();
                kept.extend(block.iter().copied().filter(|pair| head.reports(pair)));
                visit(&kept)
            };
            prepare(&mut values);
            let shared_bits = self.layout.prefix_bits(head.table);
            let Some(others) = &mut others else {
                let bits = group_bits(values.len(), shared_bits);
                return join.run(head.table, &ListGroups::new(&values, bits), bits, &mut consume);
            };
            let Some(mut others) = others.remove(&key) else { return Ok(()) };
            prepare(&mut others);
            let bits = group_bits(values.len().max(others.len()), shared_bits);
            let lists = [&values, &others].map(|list| ListGroups::new(list, bits));
            join.run_between(head.table, (&lists[0], &lists[1]), bits, &mut consume)
        })
    }
}

/// A spanning forest: some of the pairs, which connect everything that all pairs connect. Returns
/// their indexes, ascending. A pair is among them if earlier pairs do not connect its ends.
///
/// Time: a sort of the ends. Memory: three times the pairs.
///
/// # Errors
/// [`Error::Limit`] for more than 2^32 - 1 distinct ends.
///
/// ```
/// let pairs = [(1_u64, 2), (2, 4), (1, 4), (8, 9)];
/// assert_eq!(nearprint::list::spanning_forest(&pairs)?, [0, 1, 3]);
/// # Ok::<(), nearprint::Error>(())
/// ```
pub fn spanning_forest<F: Fingerprint>(pairs: &[(F, F)]) -> Result<Vec<usize>> {
    F::spanning_forest(pairs)
}

pub(crate) fn forest_of<F: Fingerprint>(pairs: &[(F, F)]) -> Result<Vec<usize>> {
    let ends = ends_of(pairs)?;
    let (sorted, mut sets) = (SortedIndex::new(&ends), UnionFind::new(ends.len()));
    let connects = |&(_, &(a, b)): &(usize, &(F, F))| unite(&mut sets, &sorted, a, b);
    Ok(pairs.iter().enumerate().filter(connects).map(|(index, _)| index).collect())
}

/// The connected components of some pairs: all ends in ascending order, each with the smallest end of
/// its component.
///
/// Time: a sort of the ends. Memory: three times the pairs.
///
/// # Errors
/// [`Error::Limit`] for more than 2^32 - 1 distinct ends.
///
/// ```
/// let labels = nearprint::list::components(&[(4_u64, 2), (1, 2), (8, 9)])?;
/// assert_eq!(labels, [(1, 1), (2, 1), (4, 1), (8, 8), (9, 8)]);
/// # Ok::<(), nearprint::Error>(())
/// ```
pub fn components<F: Fingerprint>(pairs: &[(F, F)]) -> Result<Vec<(F, F)>> {
    F::components(pairs)
}

pub(crate) fn components_of<F: Fingerprint>(pairs: &[(F, F)]) -> Result<Vec<(F, F)>> {
    let ends = ends_of(pairs)?;
    let (sorted, mut sets) = (SortedIndex::new(&ends), UnionFind::new(ends.len()));
    for &(a, b) in pairs {
        unite(&mut sets, &sorted, a, b);
    }
    // The root of a set is its smallest element.
    Ok((0..).zip(&ends).map(|(index, &end)| (end, ends[sets.root(index) as usize])).collect())
}

/// The distinct ends of pairs, in ascending order.
fn ends_of<F: Fingerprint>(pairs: &[(F, F)]) -> Result<Vec<F>> {
    let mut ends: Vec<F> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    ends.sort_unstable();
    ends.dedup();
    match u32::try_from(ends.len()) {
        Ok(_) => Ok(ends),
        Err(_) => Err(Error::Limit(Limit::Clustered)),
    }
}

/// Unites the sets of two ends. False if they are one set already.
fn unite<F: Fingerprint>(sets: &mut UnionFind, sorted: &SortedIndex<'_, F>, a: F, b: F) -> bool {
    match (sorted.index_of(a), sorted.index_of(b)) {
        (Some(a), Some(b)) => sets.unite(a, b),
        _ => false,
    }
}
