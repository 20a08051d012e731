//! Groups of near-duplicate files.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::compare::{Comparer, Nearness};
use super::read::{GroupKind, GroupedFile, ScannedFiles, TextFile};
use crate::pictures::{self, PictureFile, best_first};
use crate::terminal::progress::Bars;
use nearprint::any::find_row_clusters;
use nearprint::internal::file::num_names;
use nearprint::internal::{self as parallel, UnionFind};
use nearprint::{Error, Options, Result};
use nearprint_text::dedup::Keep;
use nearprint_text::documents::{LeftOut, find_copies, open_regular};

/// The texts of clusters that are taken over at once.
const BLOCK_ROWS: usize = 4096;

/// Near-duplicate files.
pub(crate) struct FileGroup {
    pub(crate) kind: GroupKind,
    /// The bytes of the members that could go.
    pub(crate) spare_bytes: u64,
    /// Whether all files have the same content.
    pub(crate) is_exact: bool,
    /// Whether features decided, so that similarities are exact.
    pub(crate) is_by_similarity: bool,
    /// The first one is kept. The others are sorted by distance, or by similarity if that is exact, then by path.
    pub(crate) members: Vec<GroupMember>,
}

pub(crate) struct GroupMember {
    /// The distance from the fingerprint of the first member.
    pub(crate) distance: u32,
    /// The similarity with the first member: exact if features decide, otherwise estimated.
    pub(crate) similarity: f64,
    /// Whether it has the content of the first one; of the first one, whether another one has it.
    pub(crate) is_exact: bool,
    /// Whether it could go: it is near the first one, another file, and no reference. In a chain, what is near other
    /// members only may differ from the first one in everything.
    pub(crate) is_spare: bool,
    /// The index of the text or picture.
    pub(crate) file: usize,
}

/// How near files make groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grouping {
    /// The file to keep first, a file belongs to the most similar one of the files that are first in a group and near
    /// it, or is the first in a new group. So a deduplication decides. A file that stays is always the first in one.
    Centres,
    /// A group is all files that are connected by steps between near ones.
    Chains,
}

/// Finds the groups of texts that are sorted by path.
pub(super) fn find(
    comparer: &Comparer<'_>,
    (grouping, keep): (Grouping, &Keep),
    options: &Options,
    bars: &Bars,
) -> Result<Vec<FileGroup>> {
    let texts = comparer.texts();
    let width = comparer.width();
    let words: Vec<u64> = texts.iter().flat_map(|text| text.fingerprint.words()).copied().collect();
    let ids: Vec<u64> = (0..texts.len() as u64).collect();
    let mut clusters = Vec::new();
    let near = comparer.near_fingerprints();
    find_row_clusters(width, (&words, &ids), near, options.clone(), BLOCK_ROWS)?.visit(|block| {
        let mut members = block.ids.iter().map(|&id| usize::try_from(id).unwrap_or(usize::MAX));
        for cluster in block.groups.chunk_by(|a, b| a == b) {
            let mut cluster: Vec<usize> = members.by_ref().take(cluster.len()).collect();
            cluster.sort_unstable_by_key(|&at| {
                let TextFile { num_words, stamp, path, .. } = &texts[at];
                let rank = keep.rank_of_file(*num_words, stamp, path);
                (!comparer.scanned().stays(GroupKind::Texts, at), rank, in_order(keep, at))
            });
            clusters.push(cluster);
        }
        Ok::<(), Error>(())
    })?;
    let (mut groups, mut done) = (Vec::new(), 0);
    let work = |at: usize, comparer: &mut Comparer<'_>, sink: parallel::Sink<'_, _>| {
        // The sink fails only after an interrupt, which `ordered` reports.
        let _ = sink(text_groups(&clusters[at], grouping, comparer)?);
        Ok(())
    };
    parallel::ordered(
        options.get_threads(),
        clusters.len(),
        || comparer.clone(),
        work,
        |parts| {
            groups.extend(parts);
            done += 1;
            bars.show(("comparing", "groups"), done, Some(clusters.len() as u64))
        },
    )?;
    Ok(groups)
}

/// The place of a file among those of one rank.
fn in_order(keep: &Keep, at: usize) -> usize {
    if *keep == Keep::Last { usize::MAX - at } else { at }
}

/// Sorts groups by the bytes that could go, the most first, then texts before pictures, by their first file.
pub(super) fn sort(groups: &mut [FileGroup]) {
    groups.sort_unstable_by_key(|group| (Reverse(group.spare_bytes), group.kind, group.members[0].file));
}

/// Finds the groups of pictures.
pub(super) fn find_pictures(
    scanned: &ScannedFiles,
    k: u32,
    (grouping, keep): (Grouping, &Keep),
    options: &Options,
) -> Result<Vec<FileGroup>> {
    let stays = |at: usize| scanned.stays(GroupKind::Pictures, at);
    let order = in_order_of_pictures(&scanned.pictures, keep, stays);
    let chains = grouping == Grouping::Chains;
    let grouping = pictures::Grouping { k, chains, is_kept: &stays };
    let parts = pictures::group(&scanned.pictures, &order, grouping, options)?;
    Ok(parts.iter().map(|part| picture_group(scanned, part, k)).collect())
}

/// The pictures in the order in which they are kept, those that stay first.
fn in_order_of_pictures(files: &[PictureFile], keep: &Keep, stays: impl Fn(usize) -> bool) -> Vec<usize> {
    if *keep == Keep::Best {
        return best_first(files, stays);
    }
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_cached_key(|&at| {
        let PictureFile { stamp, path, .. } = &files[at];
        (!stays(at), keep.rank_of_file(0, stamp, path), in_order(keep, at))
    });
    order
}

/// Finds the groups of byte-identical copies among the files that are neither texts nor pictures that are compared.
pub(super) fn find_others(
    scanned: &ScannedFiles,
    left_out: &mut LeftOut,
    keep: &Keep,
    (threads, bars): (usize, &Bars),
) -> nearprint_text::Result<Vec<FileGroup>> {
    let groups = find_copies(&scanned.others, left_out, threads, |work, done, total| {
        Ok(bars.show(work, done, Some(total))?)
    })?;
    Ok(groups.into_iter().filter_map(|group| other_group(scanned, group, keep)).collect())
}

/// The group of copies, of which the first one is kept. `None` if all stay.
fn other_group(scanned: &ScannedFiles, group: Vec<usize>, keep: &Keep) -> Option<FileGroup> {
    let files = &scanned.others;
    let rank = |at: usize| {
        let rank = files[at].stamp.and_then(|stamp| keep.rank_of_file(0, &stamp, &files[at].path));
        (!scanned.stays(GroupKind::Others, at), rank, in_order(keep, at))
    };
    let kept = group.iter().copied().min_by_key(|&at| rank(at))?;
    let may_go = |at: &usize| *at != kept && !scanned.stays(GroupKind::Others, *at);
    let spare: Vec<usize> = group.into_iter().filter(may_go).collect();
    let member = |file: usize| GroupMember {
        distance: 0,
        similarity: 1.0,
        is_exact: true,
        is_spare: file != kept,
        file,
    };
    (!spare.is_empty()).then(|| FileGroup {
        kind: GroupKind::Others,
        spare_bytes: spare.iter().map(|&file| freed_bytes(&files[file])).sum(),
        is_exact: true,
        is_by_similarity: true,
        members: std::iter::once(kept).chain(spare).map(member).collect(),
    })
}

/// The bytes that are free once a file is removed: none while another name keeps them.
fn freed_bytes(file: &dyn GroupedFile) -> u64 {
    let is_kept = open_regular(file.path()).is_ok_and(|file| num_names(&file).is_ok_and(|names| names > 1));
    if is_kept { 0 } else { file.len_bytes() }
}

/// The group of several pictures with their distances from the first one.
fn picture_group(scanned: &ScannedFiles, part: &[(usize, u32)], k: u32) -> FileGroup {
    let (files, first) = (&scanned.pictures, part[0].0);
    let member = |&(file, distance): &(usize, u32)| GroupMember {
        distance,
        similarity: 1.0 - f64::from(distance) / 256.0,
        is_exact: files[file].is_copy_of(&files[first]),
        is_spare: file != first && distance <= k && !scanned.stays(GroupKind::Pictures, file),
        file,
    };
    let mut members: Vec<GroupMember> = part.iter().map(member).collect();
    members[1..].sort_unstable_by_key(|member| (member.distance, member.file));
    let is_exact = members.iter().all(|member| member.is_exact);
    members[0].is_exact = members[1..].iter().any(|member| member.is_exact);
    let spare = members.iter().filter(|member| member.is_spare);
    FileGroup {
        kind: GroupKind::Pictures,
        spare_bytes: spare.map(|member| freed_bytes(&files[member.file])).sum(),
        is_exact,
        is_by_similarity: false,
        members,
    }
}

/// Makes groups of a cluster of texts with near fingerprints, the best text first.
fn text_groups(cluster: &[usize], grouping: Grouping, comparer: &mut Comparer<'_>) -> Result<Vec<FileGroup>> {
    let parts = match grouping {
        Grouping::Centres => around_centres(cluster, comparer)?,
        Grouping::Chains => chains(cluster, comparer)?,
    };
    Ok(parts.into_iter().filter(|part| part.len() > 1).map(|part| text_group(part, comparer)).collect())
}

/// The group of several texts, with what the first one has to do with each. The first one is the best.
fn text_group(part: Vec<(usize, Nearness)>, comparer: &Comparer<'_>) -> FileGroup {
    let (texts, first) = (comparer.texts(), part[0].0);
    let member = |(text, nearness): (usize, Nearness)| GroupMember {
        distance: comparer.distance(text, first),
        similarity: nearness.similarity,
        is_exact: texts[text].content == texts[first].content,
        is_spare: text != first && nearness.is_near && !comparer.scanned().stays(GroupKind::Texts, text),
        file: text,
    };
    let mut members: Vec<GroupMember> = part.into_iter().map(member).collect();
    let is_by_similarity = comparer.is_by_similarity();
    members[1..].sort_unstable_by(|a, b| match is_by_similarity {
        true => b.similarity.total_cmp(&a.similarity).then(a.file.cmp(&b.file)),
        false => (a.distance, a.file).cmp(&(b.distance, b.file)),
    });
    let is_exact = members.iter().all(|member| member.is_exact);
    members[0].is_exact = members[1..].iter().any(|member| member.is_exact);
    let spare = members.iter().filter(|member| member.is_spare);
    FileGroup {
        kind: GroupKind::Texts,
        spare_bytes: spare.map(|member| freed_bytes(&texts[member.file])).sum(),
        is_exact,
        is_by_similarity,
        members,
    }
}

/// Groups around the first texts that are not near each other, and around all that stay.
fn around_centres(cluster: &[usize], comparer: &mut Comparer<'_>) -> Result<Vec<Vec<(usize, Nearness)>>> {
    let mut groups: Vec<Vec<(usize, Nearness)>> = Vec::new();
    let mut centres = comparer.earlier();
    let mut of_content: HashMap<_, (usize, Nearness)> = HashMap::new();
    for &text in cluster {
        let (fingerprint, content) = (comparer.texts()[text].fingerprint, comparer.texts()[text].identity());
        if comparer.scanned().stays(GroupKind::Texts, text) {
            of_content.entry(content).or_insert((groups.len(), Nearness::SAME));
            groups.push(vec![(text, Nearness::SAME)]);
            centres.push(fingerprint);
            continue;
        }
        // A copy of a member is as near as that one.
        if let Some(&(place, nearness)) = of_content.get(&content) {
            groups[place].push((text, nearness));
            continue;
        }
        let mut best: Option<(usize, f64)> = None;
        for place in centres.candidates(fingerprint) {
            if let Some(similarity) = comparer.near(groups[place][0].0, text)?
                && best.is_none_or(|(_, most)| similarity > most)
            {
                best = Some((place, similarity));
            }
        }
        let near = best.map(|(place, similarity)| (place, Nearness { similarity, is_near: true }));
        let (place, nearness) = near.unwrap_or_else(|| {
            groups.push(Vec::new());
            centres.push(fingerprint);
            (groups.len() - 1, Nearness::SAME)
        });
        groups[place].push((text, nearness));
        of_content.insert(content, (place, nearness));
    }
    Ok(groups)
}

/// Groups of what is connected by steps between near texts. Those that are connected already are not compared.
fn chains(cluster: &[usize], comparer: &mut Comparer<'_>) -> Result<Vec<Vec<(usize, Nearness)>>> {
    let mut sets = UnionFind::new(cluster.len());
    // Of the texts with one content, the first one is compared.
    let (mut earlier, mut firsts) = (comparer.earlier(), Vec::new());
    let mut of_content: HashMap<_, u32> = HashMap::new();
    for (place, &text) in (0..).zip(cluster) {
        let (fingerprint, content) = (comparer.texts()[text].fingerprint, comparer.texts()[text].identity());
        if let Some(&copied) = of_content.get(&content) {
            sets.unite(copied, place);
            continue;
        }
        for number in earlier.candidates(fingerprint) {
            let (other, other_text) = firsts[number];
            if sets.root(other) != sets.root(place) && comparer.near(other_text, text)?.is_some() {
                sets.unite(other, place);
            }
        }
        earlier.push(fingerprint);
        firsts.push((place, text));
        of_content.insert(content, place);
    }
    let mut connected: Vec<Vec<(usize, Nearness)>> = vec![Vec::new(); cluster.len()];
    for (place, &text) in (0..).zip(cluster) {
        let first = sets.root(place) as usize;
        let nearness = comparer.compare(cluster[first], text)?;
        connected[first].push((text, nearness));
    }
    Ok(connected)
}
