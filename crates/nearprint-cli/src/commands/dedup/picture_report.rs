//! The report of `dedup --images`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use indicatif::DecimalBytes;

use crate::args::{GroupWriter, write_groups};
use crate::pictures::{PictureFile, PictureReader};
use crate::report::{Histogram, Report, ReportGroup, ReportMember};

/// A picture that is near a kept one: their indexes and distance.
pub(super) struct Near {
    pub(super) picture: usize,
    pub(super) kept: usize,
    pub(super) distance: u32,
}

impl Near {
    /// The share of equal bits.
    pub(super) fn similarity(&self) -> f64 {
        1.0 - f64::from(self.distance) / 256.0
    }

    /// Whether both files have the same bytes.
    pub(super) fn is_copy(&self, pictures: &[PictureFile]) -> bool {
        pictures[self.picture].is_copy_of(&pictures[self.kept])
    }
}

/// What was found.
pub(super) struct PictureReport<'a> {
    pub(super) inputs: &'a [PathBuf],
    /// Those of the inputs come first.
    pub(super) pictures: &'a [PictureFile],
    pub(super) num_inputs: usize,
    pub(super) near: &'a [Near],
    /// When pictures are near, in words.
    pub(super) near_words: &'a str,
    /// Makes small pictures.
    pub(super) reader: &'a PictureReader,
}

impl PictureReport<'_> {
    /// The part of the page before its groups.
    pub(super) fn head(&self) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let paths: Vec<String> = self.inputs.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let copies = self.near.iter().filter(|near| near.is_copy(self.pictures)).count();
        let bytes = self.near.iter().map(|near| self.pictures[near.picture].stamp.size_bytes).sum();
        let groups = self.groups();
        let facts = vec![
            fact("Folders", paths.join(", ")),
            fact("Pictures", self.num_inputs.to_string()),
            fact(
                "Near a kept one",
                format!("{}, {}; {copies} are exact copies", self.near.len(), DecimalBytes(bytes)),
            ),
            fact("Groups", groups.len().to_string()),
            fact("Near", self.near_words.to_string()),
        ];
        let sizes = Histogram::of_sizes(groups.iter().map(|(_, others)| others.len() + 1));
        let similarities = Histogram::of_similarities(self.near.iter().map(Near::similarity));
        let histograms = vec![sizes, similarities];
        let root = Some(String::new());
        Report { title: "nearprint dedup --images".into(), facts, histograms, root, ..Report::default() }
    }

    /// Writes the groups, those with the most bytes beside the kept picture first.
    pub(super) fn write_groups(&self, out: &mut GroupWriter, threads: usize) -> io::Result<()> {
        let groups = self.groups();
        write_groups(out, threads, groups.len(), |at, has_room| {
            let (kept, others) = &groups[at];
            let member = |(place, near): (usize, &&Near)| ReportMember {
                distance: Some(near.distance),
                similarity: Some(near.similarity()),
                is_exact: near.is_copy(self.pictures),
                ..self.reader.shown(&self.pictures[near.picture], place + 1, has_room)
            };
            ReportGroup {
                kept: self.reader.shown(&self.pictures[*kept], 0, has_room),
                others: others.iter().enumerate().map(member).collect(),
                num_unlisted: 0,
            }
        })
    }

    /// The kept pictures with those that are near them.
    fn groups(&self) -> Vec<(usize, Vec<&Near>)> {
        let mut groups: BTreeMap<usize, Vec<&Near>> = BTreeMap::new();
        self.near.iter().for_each(|near| groups.entry(near.kept).or_default().push(near));
        let mut groups: Vec<(usize, Vec<&Near>)> = groups.into_iter().collect();
        let bytes = |near: &&Near| self.pictures[near.picture].stamp.size_bytes;
        groups.sort_by_key(|(_, others)| Reverse(others.iter().map(bytes).sum::<u64>()));
        groups.iter_mut().for_each(|(_, others)| others.sort_by_key(|near| near.distance));
        groups
    }
}
