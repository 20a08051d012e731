//! Groups of near pictures.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use nearprint::any::find_row_clusters;
use nearprint::internal::UnionFind;
use nearprint::{Error, Options, Result, Width};
use nearprint_text::dedup::Keep;

use super::file::PictureFile;

/// The pictures that are connected at once.
const BLOCK_ROWS: usize = 4096;

/// How pictures make groups.
#[derive(Clone, Copy)]
pub(crate) struct Grouping<'a> {
    /// The largest distance of near pictures.
    pub(crate) k: u32,
    /// Whether a group is all pictures that are connected by steps between near ones.
    pub(crate) chains: bool,
    /// Whether the picture with an index is kept, and so is first in a group.
    pub(crate) is_kept: &'a dyn Fn(usize) -> bool,
}

/// The indexes of pictures, the best first: those that are kept, then those with the most pixels, the oldest, and the
/// one with the shortest path. Bytes are no measure: a copy of another format has more, and shows no more.
pub(crate) fn best_first(files: &[PictureFile], is_kept: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_cached_key(|&at| {
        let file = &files[at];
        let rank = Keep::Best.rank_of_file(0, &file.stamp, &file.path);
        (!is_kept(at), Reverse(file.num_pixels()), rank, file.path.clone())
    });
    order
}

/// Groups of two pictures or more, as indexes with the distance from the first one.
///
/// In the given order, a picture belongs to the nearest of the pictures that are first in a group and near it, or is
/// the first in a new group.
pub(crate) fn group(
    files: &[PictureFile],
    order: &[usize],
    grouping: Grouping<'_>,
    options: &Options,
) -> Result<Vec<Vec<(usize, u32)>>> {
    let mut groups = Vec::new();
    for part in connected(files, order, grouping.k, options)? {
        let part: Vec<usize> = part.into_iter().map(|place| order[place]).collect();
        if grouping.chains {
            let first = &files[part[0]];
            groups.push(part.iter().map(|&at| (at, first.distance(&files[at]))).collect());
        } else {
            groups.extend(around_centres(files, &part, grouping));
        }
    }
    Ok(groups)
}

/// The parts of two pictures or more that are connected by near ones, as places in the order.
fn connected(files: &[PictureFile], order: &[usize], k: u32, options: &Options) -> Result<Vec<Vec<usize>>> {
    let stills = (0..).zip(order).filter(|&(_, &at)| !files[at].has_several);
    let prints =
        stills.flat_map(|(id, &at)| files[at].prints.iter().map(move |print| (id, print.to_words())));
    let (ids, words): (Vec<u64>, Vec<[u64; 4]>) = prints.unzip();
    let mut sets = UnionFind::new(order.len());
    let rows = (words.as_flattened(), &*ids);
    find_row_clusters(Width::W256, rows, k.into(), options.clone(), BLOCK_ROWS)?.visit(|block| {
        let place = |at: usize| u32::try_from(block.ids[at]).unwrap_or(u32::MAX);
        for at in 1..block.len() {
            if block.groups[at] == block.groups[at - 1] {
                sets.unite(place(at - 1), place(at));
            }
        }
        Ok::<(), Error>(())
    })?;
    let mut copies: HashMap<(u64, u128), u32> = HashMap::new();
    for (place, file) in (0..).zip(order.iter().map(|&at| &files[at])).filter(|(_, file)| file.has_several) {
        let first = *copies.entry((file.stamp.size_bytes, file.hash)).or_insert(place);
        sets.unite(first, place);
    }
    let mut parts: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for place in 0..order.len() {
        let root = sets.root(u32::try_from(place).unwrap_or(u32::MAX));
        parts.entry(root).or_default().push(place);
    }
    Ok(parts.into_values().filter(|part| part.len() > 1).collect())
}

fn around_centres(files: &[PictureFile], part: &[usize], grouping: Grouping<'_>) -> Vec<Vec<(usize, u32)>> {
    let mut groups: Vec<Vec<(usize, u32)>> = Vec::new();
    for &at in part {
        let distances = groups.iter().map(|group| files[group[0].0].distance(&files[at]));
        match (0..).zip(distances).min_by_key(|&(_, distance)| distance) {
            Some((place, distance)) if distance <= grouping.k && !(grouping.is_kept)(at) => {
                let group: &mut Vec<_> = &mut groups[place];
                group.push((at, distance));
            }
            _ => groups.push(vec![(at, 0)]),
        }
    }
    groups.retain(|group| group.len() > 1);
    groups
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use nearprint::U256;
    use proptest::prelude::*;

    use super::*;
    use nearprint_text::documents::FileStamp;

    fn file(number: usize, prints: Vec<u64>) -> PictureFile {
        let stamp = FileStamp { size_bytes: 0, modified: ((number * 7 % 5) as i64, 0), id: (0, 0) };
        PictureFile {
            path: format!("{number}").into(),
            stamp,
            hash: number as u128,
            width: 1 + number % 3,
            height: 1,
            quality: 100,
            has_several: number % 13 == 5,
            prints: prints.into_iter().map(|word| U256::from_words([word, 0, 0, 0])).collect(),
        }
    }

    proptest! {
        /// Brute force: each picture against all before it, and sets that grow until nothing is near them.
        #[test]
        fn groups_are_those_of_brute_force(prints in prop::collection::vec(prop::collection::vec(0..512_u64, 1..4), 0..40), k in 0..4_u32) {
            let files: Vec<PictureFile> = prints.into_iter().enumerate().map(|(n, p)| file(n, p)).collect();
            let is_kept = |at: usize| at % 11 == 3;
            let order = best_first(&files, is_kept);
            for pair in order.windows(2) {
                let key = |at: usize| (!is_kept(at), Reverse(files[at].num_pixels()), files[at].stamp.modified);
                prop_assert!(key(pair[0]) <= key(pair[1]));
            }
            let mut expected: Vec<Vec<(usize, u32)>> = Vec::new();
            for &at in &order {
                let near = expected.iter_mut().map(|group| (files[group[0].0].distance(&files[at]), group));
                match near.min_by_key(|(distance, _)| *distance) {
                    Some((distance, group)) if distance <= k && !is_kept(at) => group.push((at, distance)),
                    _ => expected.push(vec![(at, 0)]),
                }
            }
            expected.retain(|group| group.len() > 1);
            let grouping = Grouping { k, chains: false, is_kept: &is_kept };
            let found = group(&files, &order, grouping, &Options::new()).unwrap();
            let sorted = |groups: Vec<Vec<(usize, u32)>>| groups.into_iter().collect::<BTreeSet<_>>();
            prop_assert_eq!(sorted(found), sorted(expected));

            let chains = Grouping { chains: true, ..grouping };
            let chains = group(&files, &order, chains, &Options::new()).unwrap();
            let of = |at: usize| chains.iter().position(|group| group.iter().any(|&(member, _)| member == at));
            for a in 0..files.len() {
                for b in 0..a {
                    if files[a].distance(&files[b]) <= k {
                        prop_assert!(of(a).is_some() && of(a) == of(b));
                    }
                }
            }
        }
    }
}
