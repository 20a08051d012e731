//! Groups of near-duplicate files.

use std::cmp::Reverse;
use std::fs;
use std::path::Path;

use super::files::Text;
use nearprint::internal as parallel;
use nearprint::{Error, Result};
use nearprint::{Fingerprint, Options, Row, Stage};
use nearprint_text::dedup::Confirm;

/// Files that are connected by steps of few bits.
pub(super) struct Group {
    /// The first is the one with the least path; the others by (distance, path).
    pub(super) members: Vec<Member>,
}

pub(super) struct Member {
    /// From the fingerprint of the first member.
    pub(super) distance: u32,
    /// Index among the texts.
    pub(super) text: usize,
}

/// The groups of texts that stand by path, those of most members first, then by their first path. With a
/// measure, a step between two files counts only where their texts confirm it.
pub(super) fn of<F: Fingerprint>(
    texts: &[Text<F>],
    k: u32,
    confirm: Option<Confirm>,
    options: &Options,
) -> Result<Vec<Group>> {
    let mut rows: Vec<Row<F>> =
        (0..).zip(texts).map(|(id, text)| Row { fingerprint: text.fingerprint, id }).collect();
    rows.sort_unstable();
    let mut clusters = Vec::new();
    nearprint::visit_all_row_clusters(rows, k, options, |cluster| {
        clusters.push(cluster.to_vec());
        Ok::<(), Error>(())
    })?;
    if let Some(confirm) = confirm {
        clusters = confirmed(&clusters, texts, k, confirm, options)?;
    }
    let mut groups: Vec<Group> = clusters.iter().map(|cluster| group(cluster)).collect();
    groups.sort_unstable_by_key(|group| (Reverse(group.members.len()), group.members[0].text));
    Ok(groups)
}

/// Ids are indices of texts.
fn index_of<F>(row: &Row<F>) -> usize {
    usize::try_from(row.id).unwrap_or(usize::MAX)
}

fn group<F: Fingerprint>(cluster: &[Row<F>]) -> Group {
    let first = cluster.iter().min_by_key(|row| row.id).map(|row| row.fingerprint).unwrap_or_default();
    let member = |row: &Row<F>| Member { distance: row.fingerprint.distance(first), text: index_of(row) };
    let mut members: Vec<Member> = cluster.iter().map(member).collect();
    members.sort_unstable_by_key(|member| (member.distance, member.text));
    Group { members }
}

/// Reads the files of each cluster again, and splits it where texts differ.
fn confirmed<F: Fingerprint>(
    clusters: &[Vec<Row<F>>],
    texts: &[Text<F>],
    k: u32,
    confirm: Confirm,
    options: &Options,
) -> Result<Vec<Vec<Row<F>>>> {
    let (mut all, mut done) = (Vec::new(), 0);
    let work = |at: usize, _: &mut (), sink: parallel::Sink<'_, _>| {
        let cluster = &clusters[at];
        let read = |row: &Row<F>| read(&texts[index_of(row)].path);
        let read = cluster.iter().map(read).collect::<Result<Vec<_>>>()?;
        let is_near = |a: usize, b: usize| {
            cluster[a].fingerprint.distance(cluster[b].fingerprint) <= k
                && confirm.confirms(&read[a], &read[b])
        };
        let parts = split(cluster.len(), is_near).into_iter().filter(|part| part.len() > 1);
        // Whoever wants no more has been interrupted.
        let _ = sink(parts.map(|part| part.iter().map(|&at| cluster[at]).collect()).collect::<Vec<_>>());
        Ok(())
    };
    parallel::ordered(
        options.num_threads(),
        clusters.len(),
        || (),
        work,
        |parts| {
            all.extend(parts);
            done += 1;
            options.report(Stage::Confirming, done, Some(clusters.len() as u64))
        },
    )?;
    Ok(all)
}

fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(Error::io("read", path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The connected parts of so many things. Those that are known to be connected are not compared.
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
