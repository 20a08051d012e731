//! Groups of near-duplicate files.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use super::files::{Content, FileReader, GroupKind, GroupedFile, ScannedFiles, TextFile};
use crate::pictures::{self, PictureFile, best_first};
use crate::terminal::progress::Bars;
use nearprint::internal as parallel;
use nearprint::internal::file::num_names;
use nearprint::{Error, Result};
use nearprint::{Fingerprint, Options, Row};
use nearprint_text::Recipe;
use nearprint_text::dedup::{Confirm, Keep};
use nearprint_text::documents::{
    FileContent, InputFile, LeftOut, find_copies, open_regular, read_file, text_of_file,
};
use nearprint_text::recipe::Features;

/// What decides whether two files with near fingerprints are near.
#[derive(Clone, Copy)]
pub(super) enum Decides {
    /// Their fingerprints alone.
    Fingerprints,
    /// The Jaccard similarity of their sets of features, which is at least this.
    Features(f64),
    /// This measure of their texts.
    Texts(Confirm),
}

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
pub(super) fn find<F: Fingerprint>(
    texts: &[TextFile<F>],
    recipe: &Recipe,
    k: u32,
    (decides, grouping): (Decides, Grouping),
    reader: &FileReader<F>,
    options: &Options,
    bars: &Bars,
) -> Result<Vec<FileGroup>> {
    let mut rows: Vec<Row<F>> =
        (0..).zip(texts).map(|(id, text)| Row { fingerprint: text.fingerprint, id }).collect();
    rows.sort_unstable();
    let mut clusters = Vec::new();
    nearprint::list::visit_row_clusters(rows, recipe.near(k), options, |cluster| {
        let mut cluster: Vec<usize> =
            cluster.iter().map(|row| usize::try_from(row.id).unwrap_or(usize::MAX)).collect();
        cluster.sort_unstable_by_key(|&at| (texts[at].rank, at));
        clusters.push(cluster);
        Ok::<(), Error>(())
    })?;
    let grouper = Grouper { texts, recipe, k, decides, grouping };
    let (mut groups, mut done) = (Vec::new(), 0);
    let work = |at: usize, reader: &mut FileReader<F>, sink: parallel::Sink<'_, _>| {
        // The sink fails only after an interrupt, which `ordered` reports.
        let _ = sink(grouper.groups(&clusters[at], reader)?);
        Ok(())
    };
    parallel::ordered(
        options.get_threads(),
        clusters.len(),
        || reader.clone(),
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
pub(super) fn find_others<F>(
    scanned: &ScannedFiles<F>,
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

/// The similarity of two texts, and whether they are near.
type Compare<'a> = Box<dyn Fn(usize, usize) -> (f64, bool) + 'a>;

/// Makes groups of clusters of texts with near fingerprints.
struct Grouper<'a, F> {
    texts: &'a [TextFile<F>],
    recipe: &'a Recipe,
    k: u32,
    decides: Decides,
    grouping: Grouping,
}

impl<F: Fingerprint> Grouper<'_, F> {
    /// The groups of a cluster of texts, the best text first.
    fn groups(&self, cluster: &[usize], reader: &mut FileReader<F>) -> Result<Vec<FileGroup>> {
        let compare = self.compare(cluster, reader)?;
        let near = |a: usize, b: usize| {
            let (similarity, is_near) = compare(cluster[a], cluster[b]);
            is_near.then_some(similarity)
        };
        let places: Vec<usize> = (0..cluster.len()).collect();
        let parts = match self.grouping {
            Grouping::Centres => around_centres(&places, near),
            Grouping::Chains => chains(&places, near),
        };
        let parts = parts.iter().filter(|part| part.len() > 1);
        let texts = |part: &Vec<usize>| part.iter().map(|&place| cluster[place]).collect::<Vec<_>>();
        Ok(parts.map(|part| self.group(&texts(part), &compare)).collect())
    }

    fn compare(&self, cluster: &[usize], reader: &mut FileReader<F>) -> Result<Compare<'_>> {
        let estimated = |a: usize, b: usize| {
            let distance = self.distance(a, b);
            (self.recipe.similarity(distance), distance <= self.k)
        };
        match self.decides {
            Decides::Fingerprints => Ok(Box::new(estimated)),
            Decides::Features(least) => {
                let features = self.features(cluster, reader);
                Ok(Box::new(move |a, b| {
                    let [one, other] = [a, b].map(|at| self.texts[at].content);
                    if one == other {
                        return (1.0, true);
                    }
                    match features[&one].similarity(&features[&other]) {
                        Some(similarity) => (similarity, similarity >= least),
                        // Without features, only texts with the same tokens are near.
                        None => estimated(a, b),
                    }
                }))
            }
            Decides::Texts(confirm) => {
                let read = |&at: &usize| Ok((at, read(&self.texts[at].path)?));
                let read = cluster.iter().map(read).collect::<Result<HashMap<usize, String>>>()?;
                Ok(Box::new(move |a, b| {
                    let confirms = |a: usize, b: usize| confirm.confirms(&read[&a], &read[&b]);
                    let (similarity, is_near) = estimated(a, b);
                    let is_either = matches!(confirm, Confirm::Contained(_));
                    (similarity, is_near && (confirms(a, b) || is_either && confirms(b, a)))
                }))
            }
        }
    }

    /// The features of all contents of a cluster, if there are several. They are made once more from the files, since
    /// those of all files would take more memory than all else.
    fn features(&self, cluster: &[usize], reader: &mut FileReader<F>) -> HashMap<Content, Features> {
        let mut features = HashMap::new();
        let first = self.texts[cluster[0]].content;
        if cluster.iter().any(|&at| self.texts[at].content != first) {
            for text in cluster.iter().map(|&at| &self.texts[at]) {
                features.entry(text.content).or_insert_with(|| reader.features(text));
            }
        }
        features
    }

    fn distance(&self, a: usize, b: usize) -> u32 {
        self.recipe.distance(self.texts[a].fingerprint, self.texts[b].fingerprint)
    }

    /// The group of several texts. The first one is the best.
    fn group(&self, part: &[usize], compare: &Compare<'_>) -> FileGroup {
        let first = part[0];
        let member = |&text: &usize| {
            let (similarity, is_near) = if text == first { (1.0, true) } else { compare(text, first) };
            let is_exact = self.texts[text].content == self.texts[first].content;
            let distance = self.distance(text, first);
            GroupMember { distance, similarity, is_exact, is_spare: text != first && is_near, file: text }
        };
        let mut members: Vec<GroupMember> = part.iter().map(member).collect();
        let is_by_similarity = matches!(self.decides, Decides::Features(_));
        members[1..].sort_unstable_by(|a, b| match is_by_similarity {
            true => b.similarity.total_cmp(&a.similarity).then(a.file.cmp(&b.file)),
            false => (a.distance, a.file).cmp(&(b.distance, b.file)),
        });
        let is_exact = members.iter().all(|member| member.is_exact);
        members[0].is_exact = members[1..].iter().any(|member| member.is_exact);
        let spare = members.iter().filter(|member| member.is_spare);
        FileGroup {
            kind: GroupKind::Texts,
            spare_bytes: spare.map(|member| freed_bytes(&self.texts[member.file])).sum(),
            is_exact,
            is_by_similarity,
            members,
        }
    }
}

/// Reads a file again.
fn read(path: &Path) -> Result<String> {
    match read_file(path, usize::MAX) {
        Ok(FileContent::Text { bytes, .. }) => Ok(text_of_file(path, &bytes).0),
        Ok(_) => Ok(String::new()),
        Err(nearprint_text::Error::Engine(error)) => Err(error),
        Err(other) => Err(Error::io("read", path)(std::io::Error::other(other))),
    }
}

/// Groups around the first items that are not near each other. `near` is the similarity of near items.
fn around_centres(items: &[usize], near: impl Fn(usize, usize) -> Option<f64>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &new in items {
        let mut best: Option<(f64, usize)> = None;
        for (place, group) in groups.iter().enumerate() {
            if let Some(similarity) = near(group[0], new)
                && best.is_none_or(|(most, _)| similarity > most)
            {
                best = Some((similarity, place));
            }
        }
        match best {
            Some((_, place)) => groups[place].push(new),
            None => groups.push(vec![new]),
        }
    }
    groups
}

/// The connected components of sorted items. An item is compared with the members of a component only
/// until one of them is near.
fn chains(items: &[usize], near: impl Fn(usize, usize) -> Option<f64>) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for &new in items {
        let touches = |part: &mut Vec<usize>| part.iter().any(|&old| near(old, new).is_some());
        let mut joined: Vec<usize> = parts.extract_if(.., touches).flatten().collect();
        joined.push(new);
        joined.sort_unstable();
        parts.push(joined);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The similarity of near items, in tenths.
    fn near_in(near: &[(usize, usize, u32)]) -> impl Fn(usize, usize) -> Option<f64> {
        move |a, b| {
            let found = near.iter().find(|(one, other, _)| (*one, *other) == (a.min(b), a.max(b)));
            found.map(|(.., tenths)| f64::from(*tenths))
        }
    }

    #[test]
    fn chains_are_connected_through_others() {
        let near = [(0, 2, 9), (1, 3, 9), (2, 4, 9)];
        assert_eq!(chains(&[0, 1, 2, 3, 4, 5], near_in(&near)), [vec![1, 3], vec![0, 2, 4], vec![5]]);
        assert_eq!(chains(&[0, 1, 2], near_in(&[(0, 2, 9), (1, 2, 9)])), [[0, 1, 2]]);
        assert!(chains(&[], near_in(&[])).is_empty());
    }

    #[test]
    fn members_are_near_the_most_similar_centre() {
        let near = [(0, 2, 8), (1, 2, 9), (2, 3, 9), (0, 4, 8), (1, 4, 8)];
        let expected = [vec![0, 4], vec![1, 2], vec![3]];
        assert_eq!(around_centres(&[0, 1, 2, 3, 4], near_in(&near)), expected);
    }
}
