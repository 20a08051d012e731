//! Groups of near-duplicate files.

use std::cmp::Reverse;
use std::io::Read;
use std::path::Path;

use super::files::TextFile;
use crate::terminal::progress::Bars;
use nearprint::internal as parallel;
use nearprint::{Error, Result};
use nearprint::{Fingerprint, Near, Options, Row};
use nearprint_text::dedup::Confirm;
use nearprint_text::documents::open_regular;

/// Near-duplicate files: connected by steps of at most k bits.
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
    /// Whether it has the content of the first one.
    pub(super) is_exact: bool,
    /// Whether it could go: it is near the first one, and another file. What is near other members
    /// only may differ from the first one in everything.
    pub(super) is_spare: bool,
    /// The index of the text.
    pub(super) text: usize,
}

/// Finds the groups of texts that are sorted by path. The groups are sorted by the bytes that could
/// go, the most first, then by their first path. With `confirm`, two files are connected only if that
/// measure of their texts agrees.
pub(super) fn find<F: Fingerprint>(
    texts: &[TextFile<F>],
    near: Near,
    confirm: Option<Confirm>,
    options: &Options,
    bars: &Bars,
) -> Result<Vec<FileGroup>> {
    let mut rows: Vec<Row<F>> =
        (0..).zip(texts).map(|(id, text)| Row { fingerprint: text.fingerprint, id }).collect();
    rows.sort_unstable();
    let mut clusters = Vec::new();
    nearprint::list::visit_row_clusters(rows, near, options, |cluster| {
        clusters.push(cluster.to_vec());
        Ok::<(), Error>(())
    })?;
    if let Some(confirm) = confirm {
        clusters = confirmed(&clusters, texts, near, confirm, options, bars)?;
    }
    let mut groups: Vec<FileGroup> = clusters.iter().map(|cluster| group(near, cluster, texts)).collect();
    groups.sort_unstable_by_key(|group| (Reverse(group.spare_bytes), group.members[0].text));
    Ok(groups)
}

/// The index of the text of a row, which is its id.
fn index_of<F>(row: &Row<F>) -> usize {
    usize::try_from(row.id).unwrap_or(usize::MAX)
}

/// The group of a cluster.
fn group<F: Fingerprint>(near: Near, cluster: &[Row<F>], texts: &[TextFile<F>]) -> FileGroup {
    let kept = cluster.iter().map(index_of).min().unwrap_or_default();
    let (first, content) = (texts[kept].fingerprint, texts[kept].content);
    // Not all members are near the first one.
    let distance = |fingerprint: F| match near.bands {
        Some(bands) => bands.sketch_distance(fingerprint, first),
        None => fingerprint.distance(first),
    };
    let member = |row: &Row<F>| {
        let text = index_of(row);
        let (distance, is_exact) = (distance(row.fingerprint), texts[text].content == content);
        GroupMember { distance, is_exact, is_spare: text != kept && distance <= near.k, text }
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

/// Reads the files of each cluster again, and splits the cluster where the texts differ.
fn confirmed<F: Fingerprint>(
    clusters: &[Vec<Row<F>>],
    texts: &[TextFile<F>],
    near: Near,
    confirm: Confirm,
    options: &Options,
    bars: &Bars,
) -> Result<Vec<Vec<Row<F>>>> {
    let (mut all, mut done) = (Vec::new(), 0);
    let work = |at: usize, _: &mut (), sink: parallel::Sink<'_, _>| {
        let cluster = &clusters[at];
        let read = |row: &Row<F>| read(&texts[index_of(row)].path);
        let read = cluster.iter().map(read).collect::<Result<Vec<_>>>()?;
        let is_near = |a: usize, b: usize| {
            near.distance(cluster[a].fingerprint, cluster[b].fingerprint).is_some()
                && confirm.confirms(&read[a], &read[b])
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

fn read(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let read = open_regular(path).and_then(|mut file| file.read_to_end(&mut bytes));
    read.map_err(Error::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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
