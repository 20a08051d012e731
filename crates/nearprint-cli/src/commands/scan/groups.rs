//! Groups of near-duplicate files.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::compare::{Comparer, Nearness};
use super::files::{Content, GroupKind, GroupedFile, ScannedFiles, TextFile};
use crate::pictures::{self, PictureFile, best_first};
use crate::terminal::progress::Bars;
use nearprint::any::find_row_clusters;
use nearprint::internal::file::num_names;
use nearprint::internal::{self as parallel, UnionFind};
use nearprint::{Error, Options, Result};
use nearprint_text::dedup::Keep;
use nearprint_text::documents::{InputFile, LeftOut, find_copies, open_regular};

/// The texts of clusters that are taken over at once.
const BLOCK_ROWS: usize = 4096;

/// Near-duplicate files.
pub(super) struct FileGroup {
    pub(super) kind: GroupKind,
    /// The bytes of the members that could go.
    pub(super) spare_bytes: u64,
    /// Whether all files have the same content.
    pub(super) is_exact: bool,
    /// Whether features decided, so that similarities are exact.
    pub(super) is_by_similarity: bool,
    /// The first one is the best file or picture, which a deduplication keeps. The others are sorted by distance, or by
    /// similarity if that is exact, then by path.
    pub(super) members: Vec<GroupMember>,
}

pub(super) struct GroupMember {
    /// The distance from the fingerprint of the first member.
    pub(super) distance: u32,
    /// The similarity with the first member: exact if features decide, otherwise estimated.
    pub(super) similarity: f64,
    /// Whether it has the content of the first one; of the first one, whether another one has it.
    pub(super) is_exact: bool,
    /// Whether it could go: it is near the first one, and another file. In a chain, what is near other
    /// members only may differ from the first one in everything.
    pub(super) is_spare: bool,
    /// The index of the text or picture.
    pub(super) file: usize,
}

/// How near files make groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Grouping {
    /// The best file first, a file belongs to the most similar one of the files that are first in a group and near it, or
    /// is the first in a new group. So a deduplication decides.
    Centres,
    /// A group is all files that are connected by steps between near ones.
    Chains,
}

/// Finds the groups of texts that are sorted by path.
pub(super) fn find(
    comparer: &Comparer<'_>,
    grouping: Grouping,
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
            cluster.sort_unstable_by_key(|&at| (texts[at].rank, at));
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

/// Sorts groups by the bytes that could go, the most first, then texts before pictures, by their first file.
pub(super) fn sort(groups: &mut [FileGroup]) {
    groups.sort_unstable_by_key(|group| (Reverse(group.spare_bytes), group.kind, group.members[0].file));
}

/// Finds the groups of pictures, whose first one is the best.
pub(super) fn find_pictures(
    files: &[PictureFile],
    k: u32,
    grouping: Grouping,
    options: &Options,
) -> Result<Vec<FileGroup>> {
    let order = best_first(files, |_| false);
    let chains = grouping == Grouping::Chains;
    let grouping = pictures::Grouping { k, chains, is_kept: &|_| false };
    let parts = pictures::group(files, &order, grouping, options)?;
    Ok(parts.iter().map(|part| picture_group(files, part, k)).collect())
}

/// Finds the groups of byte-identical copies among the files that are neither texts nor pictures that are compared.
pub(super) fn find_others(
    scanned: &ScannedFiles,
    threads: usize,
    bars: &Bars,
) -> nearprint_text::Result<Vec<FileGroup>> {
    let files = &scanned.others;
    // They have been counted when they were read.
    let groups = find_copies(files, &mut LeftOut::default(), threads, |work, done, total| {
        Ok(bars.show(work, done, Some(total))?)
    })?;
    Ok(groups.into_iter().map(|group| other_group(files, group)).collect())
}

/// The group of copies. The first one is the one to keep.
fn other_group(files: &[InputFile], mut group: Vec<usize>) -> FileGroup {
    let rank =
        |at: usize| files[at].stamp.and_then(|stamp| Keep::Best.rank_of_file(0, &stamp, &files[at].path));
    group.sort_by_key(|&at| (rank(at), at));
    group[1..].sort_unstable();
    let member = |(place, &file): (usize, &usize)| GroupMember {
        distance: 0,
        similarity: 1.0,
        is_exact: true,
        is_spare: place > 0,
        file,
    };
    FileGroup {
        kind: GroupKind::Others,
        spare_bytes: group[1..].iter().map(|&file| freed_bytes(&files[file])).sum(),
        is_exact: true,
        is_by_similarity: true,
        members: group.iter().enumerate().map(member).collect(),
    }
}

/// The bytes that are free once a file is removed: none while another name keeps them.
fn freed_bytes(file: &dyn GroupedFile) -> u64 {
    let is_kept = open_regular(file.path()).is_ok_and(|file| num_names(&file).is_ok_and(|names| names > 1));
    if is_kept { 0 } else { file.len_bytes() }
}

/// The group of several pictures with their distances from the first one.
fn picture_group(files: &[PictureFile], part: &[(usize, u32)], k: u32) -> FileGroup {
    let first = part[0].0;
    let member = |&(file, distance): &(usize, u32)| GroupMember {
        distance,
        similarity: 1.0 - f64::from(distance) / 256.0,
        is_exact: files[file].is_copy_of(&files[first]),
        is_spare: file != first && distance <= k,
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
        is_spare: text != first && nearness.is_near,
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

/// Groups around the first texts that are not near each other.
fn around_centres(cluster: &[usize], comparer: &mut Comparer<'_>) -> Result<Vec<Vec<(usize, Nearness)>>> {
    let mut groups: Vec<Vec<(usize, Nearness)>> = Vec::new();
    let mut centres = comparer.earlier();
    let mut of_content: HashMap<Content, (usize, Nearness)> = HashMap::new();
    for &text in cluster {
        let TextFile { content, fingerprint, .. } = comparer.texts()[text];
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
    let mut of_content: HashMap<Content, u32> = HashMap::new();
    for (place, &text) in (0..).zip(cluster) {
        let TextFile { content, fingerprint, .. } = comparer.texts()[text];
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
