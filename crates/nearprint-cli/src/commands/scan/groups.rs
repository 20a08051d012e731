//! Groups of near-duplicate files.

use std::cmp::Reverse;
use std::io::Read;
use std::path::Path;

use super::files::TextFile;
use crate::terminal::progress::Bars;
use nearprint::internal as parallel;
use nearprint::{Error, Result};
use nearprint::{Fingerprint, Near, Options, Row};
use nearprint_text::Recipe;
use nearprint_text::dedup::Confirm;
use nearprint_text::documents::{open_regular, text_of_file};

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

/// Near-duplicate files: connected by steps between near ones.
pub(super) struct FileGroup {
    /// The bytes of the members that could go.
    pub(super) spare_bytes: u64,
    /// Whether all files have the same content.
    pub(super) is_exact: bool,
    /// The first one has the smallest path. The others are sorted by (distance, path).
    pub(super) members: Vec<GroupMember>,
}

pub(super) struct GroupMember {
    /// The distance from the fingerprint of the first member.
    pub(super) distance: u32,
    /// The similarity with the first member: exact if features decide, otherwise estimated.
    pub(super) similarity: f64,
    /// Whether it has the content of the first one.
    pub(super) is_exact: bool,
    /// Whether it could go: it is near the first one, and another file. What is near other members
    /// only may differ from the first one in everything.
    pub(super) is_spare: bool,
    /// The index of the text.
    pub(super) text: usize,
}

/// Finds the groups of texts that are sorted by path. The groups are sorted by the bytes that could
/// go, the most first, then by their first path.
pub(super) fn find<F: Fingerprint>(
    texts: &[TextFile<F>],
    recipe: &Recipe,
    k: u32,
    decides: Decides,
    options: &Options,
    bars: &Bars,
) -> Result<Vec<FileGroup>> {
    let near = recipe.near(k);
    let mut rows: Vec<Row<F>> =
        (0..).zip(texts).map(|(id, text)| Row { fingerprint: text.fingerprint, id }).collect();
    rows.sort_unstable();
    let mut clusters = Vec::new();
    nearprint::list::visit_row_clusters(rows, near, options, |cluster| {
        clusters.push(cluster.to_vec());
        Ok::<(), Error>(())
    })?;
    clusters = match decides {
        Decides::Fingerprints => clusters,
        Decides::Features(least) => {
            split_all(&clusters, near, options, bars, |cluster| exactly_near(cluster, texts, least))?
        }
        Decides::Texts(confirm) => {
            split_all(&clusters, near, options, bars, |cluster| confirmed(cluster, texts, confirm))?
        }
    };
    let group = |cluster: &Vec<Row<F>>| group(recipe, k, decides, cluster, texts);
    let mut groups: Vec<FileGroup> = clusters.iter().map(group).collect();
    groups.sort_unstable_by_key(|group| (Reverse(group.spare_bytes), group.members[0].text));
    Ok(groups)
}

/// The index of the text of a row, which is its id.
fn index_of<F>(row: &Row<F>) -> usize {
    usize::try_from(row.id).unwrap_or(usize::MAX)
}

/// The group of a cluster.
fn group<F: Fingerprint>(
    recipe: &Recipe,
    k: u32,
    decides: Decides,
    cluster: &[Row<F>],
    texts: &[TextFile<F>],
) -> FileGroup {
    let kept = cluster.iter().map(index_of).min().unwrap_or_default();
    let first = &texts[kept];
    // Not all members are near the first one.
    let member = |row: &Row<F>| {
        let at = index_of(row);
        let text = &texts[at];
        let distance = recipe.distance(text.fingerprint, first.fingerprint);
        let (similarity, is_near) = match decides {
            Decides::Features(least) if text.fingerprint != first.fingerprint => {
                let similarity = text.features.similarity(&first.features).unwrap_or_default();
                (similarity, similarity >= least)
            }
            _ => (recipe.similarity(distance), distance <= k),
        };
        let (is_exact, is_spare) = (text.content == first.content, at != kept && is_near);
        GroupMember { distance, similarity, is_exact, is_spare, text: at }
    };
    let mut members: Vec<GroupMember> = cluster.iter().map(member).collect();
    members.sort_unstable_by_key(|member| (member.distance, member.text));
    let spare = members.iter().filter(|member| member.is_spare);
    FileGroup {
        spare_bytes: spare.map(|member| texts[member.text].content.len_bytes).sum(),
        is_exact: members.iter().all(|member| member.is_exact),
        members,
    }
}

/// Whether two members of a cluster, given by their places in it, are near.
type IsNear<'a> = Box<dyn Fn(usize, usize) -> bool + 'a>;

/// Splits each cluster where members with near fingerprints are not near by what `compare` makes of the
/// cluster.
fn split_all<'a, F: Fingerprint>(
    clusters: &'a [Vec<Row<F>>],
    near: Near,
    options: &Options,
    bars: &Bars,
    compare: impl Fn(&'a [Row<F>]) -> Result<IsNear<'a>> + Sync,
) -> Result<Vec<Vec<Row<F>>>> {
    let (mut all, mut done) = (Vec::new(), 0);
    let work = |at: usize, _: &mut (), sink: parallel::Sink<'_, _>| {
        let cluster = &clusters[at];
        let compared = compare(cluster)?;
        let is_near = |a: usize, b: usize| {
            near.distance(cluster[a].fingerprint, cluster[b].fingerprint).is_some() && compared(a, b)
        };
        let parts = split(cluster.len(), is_near).into_iter().filter(|part| part.len() > 1);
        // The sink fails only after an interrupt, which `ordered` reports.
        let _ = sink(parts.map(|part| part.iter().map(|&at| cluster[at]).collect()).collect::<Vec<_>>());
        Ok(())
    };
    parallel::ordered(
        options.get_threads(),
        clusters.len(),
        || (),
        work,
        |parts| {
            all.extend(parts);
            done += 1;
            bars.show(("comparing", "groups"), done, Some(clusters.len() as u64))
        },
    )?;
    Ok(all)
}

/// Compares sets of features. Texts with equal fingerprints are near, also without features.
fn exactly_near<'a, F: Fingerprint>(
    cluster: &'a [Row<F>],
    texts: &'a [TextFile<F>],
    least: f64,
) -> Result<IsNear<'a>> {
    Ok(Box::new(move |a, b| {
        let similarity =
            || texts[index_of(&cluster[a])].features.similarity(&texts[index_of(&cluster[b])].features);
        cluster[a].fingerprint == cluster[b].fingerprint || similarity().is_some_and(|found| found >= least)
    }))
}

/// Reads the files again, and compares their texts.
fn confirmed<'a, F: Fingerprint>(
    cluster: &[Row<F>],
    texts: &[TextFile<F>],
    confirm: Confirm,
) -> Result<IsNear<'a>> {
    let read = |row: &Row<F>| read(&texts[index_of(row)].path);
    let read = cluster.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(Box::new(move |a, b| {
        let confirms = |a: usize, b: usize| confirm.confirms(&read[a], &read[b]);
        confirms(a, b) || matches!(confirm, Confirm::Contained(_)) && confirms(b, a)
    }))
}

fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(Error::io("read", path))?;
    Ok(text_of_file(path, String::from_utf8_lossy(&bytes)).into_owned())
}

/// The connected components of the items `0..len`. An item is compared with the members of a
/// component only until one of them is near.
fn split(len: usize, is_near: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for new in 0..len {
        let touches = |part: &mut Vec<usize>| part.iter().any(|&old| is_near(old, new));
        let mut joined: Vec<usize> = parts.extract_if(.., touches).flatten().collect();
        joined.push(new);
        parts.push(joined);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_connected_through_others() {
        let near = [(0, 2), (1, 3), (2, 4)];
        let is_near = |a: usize, b: usize| near.contains(&(a.min(b), a.max(b)));
        assert_eq!(split(6, is_near), [vec![1, 3], vec![0, 2, 4], vec![5]]);
        assert_eq!(split(3, |_, _| true), [[0, 1, 2]]);
        assert!(split(0, |_, _| true).is_empty());
        let bridged = |a: usize, b: usize| (a, b) == (0, 2) || (a, b) == (1, 2);
        assert_eq!(split(3, bridged), [[0, 1, 2]]);
    }
}
