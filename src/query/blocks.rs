//! Pairs of a list that is spread over many tasks or machines.

use std::collections::BTreeMap;

use super::clusters::Sorted;
use super::join::{Join, Pair, Wanted};
use super::lists::{ListGroups, Near, group_bits, plan_of};
use super::union_find::UnionFind;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint, mix64};
use crate::kernel::Kernel;
use crate::layout::plan::Plan;
use crate::layout::{Layout, Table};
use crate::options::Options;
use crate::progress::Stage;
use crate::util::cast::to_usize;
use crate::util::sort;
use crate::util::visitor::CallerError;

/// Blocks of bits, of which near fingerprints have one in common.
///
/// A list can be spread over many tasks, which need not know of each other: each fingerprint goes
/// with each of its [keys](Self::keys) to the task of that key, and each task
/// [joins](Self::visit_pairs) what it receives. All tasks together report the pairs of
/// [`find_all`](crate::find_all), each once, however keys are assigned to tasks.
///
/// Within k bits, a fingerprint has k + 1 blocks, so that k errors miss one of them; with bands, it
/// has those bands.
///
/// ```
/// use nearprint::{Blocks, Error, Options};
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
#[derive(Debug)]
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

/// What a key says besides the content of its block.
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
        let Near { k, bands } = near.into();
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

    /// The keys that take the place of `key`, a [key](Self::keys) of this fingerprint that too many
    /// have: the fingerprints of such a key fall into parts, each of two of which meet at a key of
    /// their own. A fingerprint has `parts` of these keys, and at each key there are two parts.
    ///
    /// Every fingerprint with the key has to be given the same number of parts. The number is at least
    /// 1 and at most 256; other numbers are taken as the nearest one of these.
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
    /// [`Error::ForeignKey`] for a key of a table that these blocks do not have; those of `visit`;
    /// [`Error::Interrupted`].
    pub fn visit_pairs<E: From<Error>>(
        &self,
        rows: Vec<(u64, F)>,
        options: &Options,
        visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.join(rows, Wanted::All, options, visit)
    }

    /// As [`visit_pairs`](Self::visit_pairs), but visits only some of the pairs: those of all tasks have
    /// the same connected components as all pairs. Where many fingerprints are near each other, they
    /// are few.
    ///
    /// # Errors
    /// As [`visit_pairs`](Self::visit_pairs).
    pub fn visit_forest<E: From<Error>>(
        &self,
        rows: Vec<(u64, F)>,
        options: &Options,
        visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.join(rows, Wanted::Forest, options, visit)
    }

    /// The fingerprints of rows whose keys have the same head, by this head.
    fn by_head(&self, rows: Vec<(u64, F)>) -> Result<BTreeMap<u64, Vec<F>>> {
        let mut values = BTreeMap::<u64, Vec<F>>::new();
        for (key, fingerprint) in rows {
            if Head::of(key).table >= self.tables.len() {
                return Err(Error::ForeignKey { key });
            }
            values.entry(key >> VALUE_BITS).or_default().push(fingerprint);
        }
        Ok(values)
    }

    fn join<E: From<Error>>(
        &self,
        rows: Vec<(u64, F)>,
        wanted: Wanted,
        options: &Options,
        mut visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
    ) -> Result<(), E> {
        let progress = options.counter(Stage::Joining, rows.len() as u64);
        let groups = self.by_head(rows)?;
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
        let (mut caller, mut kept, mut scratch) = (CallerError::new(), Vec::new(), Vec::new());
        let done = groups.into_iter().try_for_each(|(head, mut values)| {
            let head = Head::of(head << VALUE_BITS);
            let table = &self.tables[head.table];
            values.iter_mut().for_each(|value| *value = table.permute(*value));
            sort::sort(&mut values, &mut scratch, options.threads);
            values.dedup();
            let bits = group_bits(values.len(), self.layout.prefix_bits(head.table));
            join.run(head.table, &ListGroups::new(&values, bits), bits, &mut |block| {
                if head.parts == 1 || wanted == Wanted::Forest {
                    return caller.keep(visit(block));
                }
                kept.clear();
                kept.extend(block.iter().copied().filter(|pair| head.reports(pair)));
                caller.keep(visit(&kept))
            })
        });
        caller.or(done)
    }
}

/// Those of some pairs that connect all that the pairs connect: a spanning forest. Returns their
/// indexes, which ascend. A pair is among them if those before it do not connect its ends.
///
/// Time: a sort of the ends. Memory: three times the pairs.
///
/// # Errors
/// [`Error::Limit`] for more than 2^32 - 1 distinct ends.
///
/// ```
/// let pairs = [(1_u64, 2), (2, 4), (1, 4), (8, 9)];
/// assert_eq!(nearprint::spanning_forest(&pairs)?, [0, 1, 3]);
/// # Ok::<(), nearprint::Error>(())
/// ```
pub fn spanning_forest<F: Fingerprint>(pairs: &[(F, F)]) -> Result<Vec<usize>> {
    let mut ends: Vec<F> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    ends.sort_unstable();
    ends.dedup();
    if u32::try_from(ends.len()).is_err() {
        return Err(Error::Limit("pairs of at most 2^32 - 1 distinct values"));
    }
    let sorted = Sorted::new(&ends);
    let mut sets = UnionFind::new(ends.len());
    let connects = |&(_, &(a, b)): &(usize, &(F, F))| match (sorted.index_of(a), sorted.index_of(b)) {
        (Some(a), Some(b)) => sets.unite(a, b),
        _ => false,
    };
    Ok(pairs.iter().enumerate().filter(connects).map(|(index, _)| index).collect())
}
