//! Groups of near-duplicate files.

use std::cmp::Reverse;

use super::files::Text;
use crate::error::Result;
use crate::{Fingerprint, Row};

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

/// The groups of texts that stand by path, those of most members first, then by their first path.
pub(super) fn of<F: Fingerprint>(texts: &[Text<F>], k: u32, threads: usize) -> Result<Vec<Group>> {
    let mut rows: Vec<Row<F>> =
        (0..).zip(texts).map(|(id, text)| Row { fingerprint: text.fingerprint, id }).collect();
    rows.sort_unstable();
    let mut groups = Vec::new();
    crate::query::cluster_rows(&rows, k, threads, &mut |cluster| {
        groups.push(group(cluster));
        Ok(())
    })?;
    groups.sort_unstable_by_key(|group| (Reverse(group.members.len()), group.members[0].text));
    Ok(groups)
}

fn group<F: Fingerprint>(cluster: &[Row<F>]) -> Group {
    let first = cluster.iter().min_by_key(|row| row.id).map(|row| row.fingerprint).unwrap_or_default();
    let member = |row: &Row<F>| Member {
        distance: row.fingerprint.distance(first),
        text: crate::cast::to_usize(row.id),
    };
    let mut members: Vec<Member> = cluster.iter().map(member).collect();
    members.sort_unstable_by_key(|member| (member.distance, member.text));
    Group { members }
}
