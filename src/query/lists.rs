//! Pairs and clusters of a list in memory.

use super::clusters::{self, LOOKED_UP_TOGETHER, Member, SortedIndex, by_cluster};
use super::join::{Groups, Join, Pair, SPLIT_ABOVE, Wanted};
use super::union_find::UnionFind;
use crate::error::{Error, Limit, Result};
use crate::fingerprint::Row;
use crate::fingerprint::{Distance, Fingerprint};
use crate::kernel::Kernel;
use crate::layout::cost::ball;
use crate::layout::plan::Plan;
use crate::layout::{BandLayout, Layout, Table};
use crate::options::Options;
use crate::progress::Stage;
use crate::util::cast::to_usize;
use crate::util::sort;
use crate::util::visitor::visiting;

/// When two fingerprints of a list are near.
///
/// A number is the distance of whole fingerprints: `list::find_all(&values, 3)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near {
    /// The largest distance, in bits.
    pub k: u32,
    /// If there are bands: one of them must be equal, and the distance is the distance of the
    /// sketches.
    pub bands: Option<BandLayout>,
}

impl Near {
    /// The distance of two fingerprints that are near.
    ///
    /// ```
    /// let near = nearprint::Near::from(2);
    /// assert_eq!([0b0011_u64, 0b0111].map(|other| near.distance(0b0000, other)), [Some(2), None]);
    /// ```
    pub fn distance<F: Fingerprint>(self, a: F, b: F) -> Option<u32> {
        match self.bands {
            Some(bands) => bands.near(a, b, self.k),
            None => Some(a.distance(b)).filter(|&distance| distance <= self.k),
        }
    }
}

impl From<u32> for Near {
    fn from(k: u32) -> Self {
        Self { k, bands: None }
    }
}

/// Lists up to this length are compared all with all.
const SMALL_LIST: usize = 4096;

/// A sorted list, with an index of its groups.
pub(super) struct ListGroups<'a, F> {
    /// Permuted and distinct; the leading `group_bits` bits ascend.
    values: &'a [F],
    group_bits: u32,
    /// Start of each group, and the end of the last one.
    starts: Vec<usize>,
}

impl<'a, F: Fingerprint> ListGroups<'a, F> {
    pub(super) fn new(values: &'a [F], group_bits: u32) -> Self {
        let mut starts = vec![0; (1 << group_bits) + 1];
        for &value in values {
            starts[to_usize(value.bits(0, group_bits)) + 1] += 1;
        }
        for prefix in 1..starts.len() {
            starts[prefix] += starts[prefix - 1];
        }
        Self { values, group_bits, starts }
    }
}

impl<F: Fingerprint> Groups<F> for ListGroups<'_, F> {
    fn len(&self) -> u64 {
        self.values.len() as u64
    }

    fn read(&self, prefix: usize, bits: u32, out: &mut Vec<F>) -> Result<()> {
        debug_assert_eq!(bits, self.group_bits);
        out.extend_from_slice(&self.values[self.starts[prefix]..self.starts[prefix + 1]]);
        Ok(())
    }
}

/// The layout for joining a list, the radii, and the number of bits that the fingerprints of a
/// group share. Either one table in natural order, whose groups are all compared with each other,
/// or the rotations with the lowest modelled cost.
fn list_layout<F: Fingerprint>(near: Near, len: usize) -> Result<(Layout, Vec<i32>, u32)> {
    let (size, k) = (len.max(1).ilog2(), near.k);
    if let Some(bands) = near.bands {
        let layout = Layout::bands(F::BITS, bands)?;
        let group_bits = group_bits(len, bands.bits());
        return Ok((layout, vec![0; bands.count() as usize], group_bits));
    }
    let all_with_all = || {
        let whole =
            Layout::from_parts(F::BITS, 1, vec![1]).unwrap_or_else(|| unreachable!("one block is a layout"));
        (whole, vec![i32::try_from(k).unwrap_or(i32::MAX)], size.saturating_sub(10).min(20))
    };
    if len <= SMALL_LIST {
        return Ok(all_with_all());
    }
    let rotations = |tables: u32| {
        let layout = Layout::rotations(F::BITS, tables).ok()?;
        let shortest = layout.prefix_bits(layout.table_count() - 1);
        // The radii + 1 must add up to k + 1.
        let radius = |table| (k + 1) / tables + u32::from(table < (k + 1) % tables) - 1;
        let radii: Vec<u32> = (0..tables).map(radius).collect();
        let group_bits = group_bits(len, shortest);
        let cost = radii.iter().map(|&radius| table_cost(len, group_bits, radius, k)).sum::<f64>();
        Some((cost, layout, radii, group_bits))
    };
    let best = (1..=(k + 1).min(64)).filter_map(rotations).min_by(|a, b| a.0.total_cmp(&b.0));
    Ok(match best {
        Some((cost, layout, radii, group_bits)) if cost < (len as f64).powi(2) / 2.0 * COMPARE_NS => {
            (layout, radii.iter().map(|&radius| radius.cast_signed()).collect(), group_bits)
        }
        _ => all_with_all(),
    })
}

/// Nanoseconds for moving a value into its group, and for sorting it again in a group that is
/// split.
const GROUP_NS: f64 = 25.0;
const SPLIT_NS: f64 = 60.0;
/// Nanoseconds for each other group, for each value that is compared with it, and for each
/// comparison.
const OTHER_GROUP_NS: f64 = 60.0;
const QUERY_NS: f64 = 6.0;
const COMPARE_NS: f64 = 0.25;

/// Modelled cost of joining one table of random values at a radius, in nanoseconds.
fn table_cost(len: usize, group_bits: u32, radius: u32, k: u32) -> f64 {
    let (len, groups) = (len as f64, f64::from(group_bits).exp2());
    let group = len / groups;
    let inside = match radius {
        0 if group > SPLIT_ABOVE as f64 => SPLIT_NS * f64::from(k + 1),
        _ => QUERY_NS + group / 2.0 * COMPARE_NS,
    };
    let others = (ball(group_bits, radius) - 1.0) / 2.0;
    let across = OTHER_GROUP_NS + group * (QUERY_NS + group * COMPARE_NS);
    len * (GROUP_NS + inside) + groups * others * across
}

/// All pairs of distinct values of a list that are near, on all cores.
///
/// Equal values count once. The order depends only on the set of values and on what is near.
/// Memory: three times the list, and the pairs; [`visit_pairs`] does not collect them. Time: for k =
/// 3 and random values about 75 ns a value for a million values on one core, more where many values
/// share long prefixes.
///
/// # Errors
/// [`Error::InvalidLayout`] for bands that leave no useful sketch.
///
/// ```
/// let mut pairs = nearprint::list::find_all(&[0b0000u64, 0b0111, 0b1111], 3)?;
/// pairs.sort();
/// assert_eq!(pairs.iter().map(|p| (p.a, p.b, p.distance)).collect::<Vec<_>>(), [(0, 7, 3), (7, 15, 1)]);
/// # Ok::<(), nearprint::Error>(())
/// ```
pub fn find_all<F: Fingerprint>(values: &[F], near: impl Into<Near>) -> Result<Vec<Pair<F>>> {
    let mut pairs = Vec::new();
    F::list_pairs(values.to_vec(), near.into(), &Options::new(), &mut |block| {
        pairs.extend_from_slice(block);
        Ok(())
    })?;
    Ok(pairs)
}

/// Visits all pairs of distinct values of a list that are near.
///
/// `visit` receives the pairs of [`find_all`] in blocks, on the calling thread. An error of `visit`
/// ends the search and is returned. Progress is counted in fingerprints, over all tables in use.
///
/// # Errors
/// Errors of `visit`; [`Error::Interrupted`].
pub fn visit_pairs<F: Fingerprint, E: From<Error>>(
    values: Vec<F>,
    near: impl Into<Near>,
    options: &Options,
    visit: impl FnMut(&[Pair<F>]) -> Result<(), E>,
) -> Result<(), E> {
    visiting(visit, |visit| F::list_pairs(values, near.into(), options, visit))
}

pub(crate) fn pairs_of<F: Fingerprint>(
    mut values: Vec<F>,
    near: Near,
    options: &Options,
    visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
) -> Result<()> {
    sort::sort(&mut values, &mut Vec::new(), options.threads);
    values.dedup();
    join_sorted(&values, near, Wanted::All, options, visit)
}

/// Joins ascending distinct values.
pub(super) fn join_sorted<F: Fingerprint>(
    natural: &[F],
    near: Near,
    wanted: Wanted,
    options: &Options,
    visit: &mut dyn FnMut(&[Pair<F>]) -> Result<()>,
) -> Result<()> {
    let (k, threads) = (Distance::saturating::<F>(near.k).bits(), options.threads);
    let (layout, radii, group_bits) = list_layout::<F>(Near { k, ..near }, natural.len())?;
    let tables: Vec<Table<F>> = layout.tables();
    let plan = plan_of(&layout, radii, k)?;
    let progress = options.counter(Stage::Joining, (natural.len() * tables.len()) as u64);
    let join = Join {
        kernel: Kernel::detect(),
        threads,
        k,
        wanted,
        metric: layout.metric(),
        plan: &plan,
        tables: &tables,
        progress: &progress,
    };
    let (mut permuted, mut scratch) = (Vec::new(), Vec::new());
    for (index, table) in tables.iter().enumerate() {
        let values = if index == 0 {
            natural
        } else {
            permuted.clear();
            permuted.extend(natural.iter().map(|&value| table.permute(value)));
            sort::group(&mut permuted, &mut scratch, group_bits, threads);
            &permuted
        };
        join.run(index, &ListGroups::new(values, group_bits), group_bits, visit)?;
    }
    Ok(())
}

pub(super) fn plan_of(layout: &Layout, radii: Vec<i32>, k: u32) -> Result<Plan> {
    Plan::prove(layout, radii, k).ok_or_else(|| Error::InvalidLayout {
        layout: format!("k = {k}"),
        reason: "no plan of this layout is proved".into(),
    })
}

/// The bits by which a list of this length is grouped, of those that near fingerprints share.
pub(super) fn group_bits(len: usize, shared_bits: u32) -> u32 {
    shared_bits.min(len.max(1).ilog2().saturating_sub(2)).min(24)
}

/// The connected components of the near pairs of a list, without single values, on all cores.
///
/// Equal values count once. Values of a cluster ascend; clusters are ordered by their smallest
/// value. Memory: three times the list, 6 bytes a value, 24 bytes for each value in a cluster, and
/// the clusters; [`visit_clusters`] does not collect them.
///
/// # Errors
/// [`Error::Limit`] for more than 2^32 - 1 distinct values.
///
/// ```
/// assert_eq!(nearprint::list::find_clusters(&[0u64, 7, 15, 0xffff_0000], 3)?, [[0, 7, 15]]);
/// # Ok::<(), nearprint::Error>(())
/// ```
pub fn find_clusters<F: Fingerprint>(values: &[F], near: impl Into<Near>) -> Result<Vec<Vec<F>>> {
    let mut clusters = Vec::new();
    F::list_clusters(values.to_vec(), near.into(), &Options::new(), &mut |cluster| {
        clusters.push(cluster.to_vec());
        Ok(())
    })?;
    Ok(clusters)
}

/// Visits the clusters of [`find_clusters`], on the calling thread. An error of `visit` ends the
/// search and is returned.
///
/// # Errors
/// As [`find_clusters`]; errors of `visit`; [`Error::Interrupted`].
pub fn visit_clusters<F: Fingerprint, E: From<Error>>(
    values: Vec<F>,
    near: impl Into<Near>,
    options: &Options,
    visit: impl FnMut(&[F]) -> Result<(), E>,
) -> Result<(), E> {
    visiting(visit, |visit| F::list_clusters(values, near.into(), options, visit))
}

pub(crate) fn clusters_of<F: Fingerprint>(
    mut natural: Vec<F>,
    near: Near,
    options: &Options,
    visit: &mut dyn FnMut(&[F]) -> Result<()>,
) -> Result<()> {
    sort::sort(&mut natural, &mut Vec::new(), options.threads);
    natural.dedup();
    let members = members(&natural, near, options, Vec::new(), |index| natural[index])?;
    let mut cluster = Vec::new();
    for group in by_cluster(&members) {
        cluster.clear();
        cluster.extend(group.iter().map(|member| member.value));
        visit(&cluster)?;
    }
    Ok(())
}

/// Visits the clusters of a list of rows that have two rows or more; rows of equal fingerprints are
/// one cluster. Rows of a cluster are ordered by (fingerprint, id). An error of `visit` ends the
/// search and is returned.
///
/// # Errors
/// As [`visit_clusters`].
///
/// ```
/// use nearprint::{Error, Options, Row, list};
///
/// let row = |fingerprint: u64, id| Row { fingerprint, id };
/// let mut ids = Vec::new();
/// list::visit_row_clusters(vec![row(7, 1), row(9, 2), row(7, 3)], 0, &Options::new(), |cluster| {
///     ids.extend(cluster.iter().map(|row| row.id));
///     Ok::<(), Error>(())
/// })?;
/// assert_eq!(ids, [1, 3]);
/// # Ok::<(), Error>(())
/// ```
pub fn visit_row_clusters<F: Fingerprint, E: From<Error>>(
    rows: Vec<Row<F>>,
    near: impl Into<Near>,
    options: &Options,
    visit: impl FnMut(&[Row<F>]) -> Result<(), E>,
) -> Result<(), E> {
    visiting(visit, |visit| F::list_row_clusters(rows, near.into(), options, visit))
}

pub(crate) fn row_clusters_of<F: Fingerprint>(
    mut rows: Vec<Row<F>>,
    near: Near,
    options: &Options,
    visit: &mut dyn FnMut(&[Row<F>]) -> Result<()>,
) -> Result<()> {
    rows.sort_unstable();
    rows.dedup();
    let equal: Vec<&[Row<F>]> = rows.chunk_by(|a, b| a.fingerprint == b.fingerprint).collect();
    let natural: Vec<F> = equal.iter().map(|rows| rows[0].fingerprint).collect();
    let is_near_itself = |value: F| near.bands.is_none() || value != F::default();
    let several = equal.iter().map(|rows| rows.len() > 1 && is_near_itself(rows[0].fingerprint)).collect();
    let members = members(&natural, near, options, several, |index| equal[index])?;
    by_cluster(&members).try_for_each(|group| {
        let cluster: Vec<Row<F>> = group.iter().flat_map(|member| member.value).copied().collect();
        visit(&cluster)
    })
}

/// The members of the clusters of ascending distinct values. `alone` marks the values that are a
/// cluster on their own.
fn members<F: Fingerprint, T>(
    natural: &[F],
    near: Near,
    options: &Options,
    alone: Vec<bool>,
    value: impl Fn(usize) -> T,
) -> Result<Vec<Member<T>>> {
    if u32::try_from(natural.len()).is_err() {
        return Err(Error::Limit(Limit::Clustered));
    }
    let mut sets = UnionFind::new(natural.len());
    let sorted = SortedIndex::new(natural);
    let mut ends = Vec::new();
    join_sorted(natural, near, Wanted::Forest, options, &mut |block| {
        for some in block.chunks(LOOKED_UP_TOGETHER) {
            sorted.prefetch(some);
            ends.clear();
            ends.extend(some.iter().flat_map(|pair| [pair.a, pair.b]).filter_map(|end| sorted.index_of(end)));
            sets.unite_pairs(&ends);
        }
        Ok(())
    })?;
    clusters::members(sets, alone, |index| Ok(value(index)))
}
