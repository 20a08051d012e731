//! The report of a scan.

use std::io;
use std::path::{Path, PathBuf};

use indicatif::DecimalBytes;
use nearprint_text::recipe::Recipe;

use super::files::{GroupKind, ScannedFiles};
use super::groups::{FileGroup, GroupMember};
use crate::args::{GroupWriter, write_groups};
use crate::pictures::PictureReader;
use crate::report::{Histogram, Report, ReportGroup, ReportMember, read_text};

/// What was found.
pub(super) struct ScanReport<'a> {
    pub(super) paths: &'a [PathBuf],
    /// The folder that shown paths are relative to.
    pub(super) root: Option<&'a Path>,
    pub(super) recipe: &'a Recipe,
    /// When files are near, in words.
    pub(super) near: &'a str,
    /// When pictures are near, in words.
    pub(super) near_pictures: &'a str,
    pub(super) scanned: &'a ScannedFiles,
    pub(super) groups: &'a [FileGroup],
    /// Makes small pictures.
    pub(super) pictures: &'a PictureReader,
}

impl ScanReport<'_> {
    /// The part of the page before its groups.
    pub(super) fn head(&self) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let paths: Vec<String> = self.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let num_exact = self.groups.iter().filter(|group| group.is_exact).count();
        let members = || self.groups.iter().flat_map(|group| &group.members[1..]);
        let num_spare = members().filter(|member| member.is_spare).count();
        let num_copies = members().filter(|member| member.is_exact).count();
        let spare_bytes = self.groups.iter().map(|group| group.spare_bytes).sum();
        let ScannedFiles { texts, pictures, len_bytes, .. } = self.scanned;
        let mut facts = vec![
            fact("Scanned", paths.join(", ")),
            fact("Files", format!("{}, {}", texts.len() + pictures.len(), DecimalBytes(*len_bytes))),
            fact(
                "Could go",
                format!("{num_spare} files, {}; {num_copies} are exact copies", DecimalBytes(spare_bytes)),
            ),
            fact("Groups", format!("{}, {} of them of exact copies", self.groups.len(), num_exact)),
            fact("Near", self.near.to_string()),
            fact("Recipe", self.recipe.to_string()),
        ];
        if !pictures.is_empty() {
            facts.push(fact("Pictures", pictures.len().to_string()));
            facts.push(fact("Near pictures", self.near_pictures.to_string()));
        }
        let sizes = Histogram::of_sizes(self.groups.iter().map(|group| group.members.len()));
        let similarities = members().map(|member| member.similarity);
        let histograms = vec![sizes, Histogram::of_similarities(similarities)];
        // A name that is not UTF-8 cannot be marked, nor can anything below such a folder.
        let root = self.root.map_or(Some(""), Path::to_str).map(Into::into);
        Report { title: "nearprint scan".into(), facts, histograms, root, ..Report::default() }
    }

    /// Writes the groups. Texts and pictures are read again, on all threads, as long as the page has room for them; a
    /// file that cannot be read any more is shown without.
    pub(super) fn write_groups(&self, out: &mut GroupWriter, threads: usize) -> io::Result<()> {
        write_groups(out, threads, self.groups.len(), |at, has_room| self.group(&self.groups[at], has_room))
    }

    fn group(&self, group: &FileGroup, has_room: bool) -> ReportGroup {
        let is_of_texts = group.kind == GroupKind::Texts;
        let has_room = has_room && !(is_of_texts && group.is_exact);
        let member = |(place, member): (usize, &GroupMember)| match group.kind {
            GroupKind::Texts => self.text(member, has_room && (place == 0 || !member.is_exact)),
            GroupKind::Others => self.member(GroupKind::Others, member),
            GroupKind::Pictures => {
                let shown = self.pictures.shown(&self.scanned.pictures[member.file], place, has_room);
                ReportMember { picture: shown.picture, ..self.member(GroupKind::Pictures, member) }
            }
        };
        let mut members = group.members.iter().enumerate().map(member);
        let kept = members.next().unwrap_or_default();
        let kept = ReportMember { distance: None, similarity: None, ..kept };
        ReportGroup { kept, others: members.collect(), num_unlisted: 0 }
    }

    fn text(&self, member: &GroupMember, with_text: bool) -> ReportMember {
        let path = &self.scanned.texts[member.file].path;
        let text = if with_text { read_text(path).ok() } else { None };
        ReportMember { text, ..self.member(GroupKind::Texts, member) }
    }

    fn member(&self, kind: GroupKind, member: &GroupMember) -> ReportMember {
        let file = self.scanned.file(kind, member.file);
        let path = file.path();
        let name = self.root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        ReportMember {
            name: name.to_string_lossy().into_owned(),
            bytes: Some(file.len_bytes()),
            stamp: path.to_str().and_then(|_| file.stamp()),
            distance: Some(member.distance),
            similarity: Some(member.similarity),
            is_exact: member.is_exact,
            ..ReportMember::default()
        }
    }
}
