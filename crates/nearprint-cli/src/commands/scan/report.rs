//! The report of a scan.

use std::io;
use std::path::{Path, PathBuf};

use indicatif::DecimalBytes;

use crate::args::{GroupWriter, write_groups};
use crate::commands::files::{FileGroup, Found, GroupKind, GroupMember};
use crate::report::{Histogram, Report, ReportGroup, ReportMember, read_text};

/// The page of what was found.
pub(super) struct ScanReport<'a> {
    pub(super) paths: &'a [PathBuf],
    pub(super) found: &'a Found,
}

impl ScanReport<'_> {
    /// The part of the page before its groups.
    pub(super) fn head(&self) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let paths: Vec<String> = self.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let Found { scanned, groups, .. } = self.found;
        let members = || groups.iter().flat_map(|group| &group.members[1..]);
        let outcome = self.found.outcome();
        let spare_bytes = groups.iter().map(|group| group.spare_bytes).sum();
        let counts = &scanned.counts;
        let mut facts = vec![
            fact("Scanned", paths.join(", ")),
            fact("Outcome", format!("{}; {} to save", outcome.verdict("file"), DecimalBytes(spare_bytes))),
        ];
        if counts.texts > 0 || counts.pictures == 0 {
            facts.push(fact("Near", self.found.near.clone()));
            facts.push(fact("Recipe", self.found.recipe.to_string()));
        }
        if counts.pictures > 0 {
            facts.push(fact("Images", counts.pictures.to_string()));
            facts.push(fact("Near images", self.found.near_pictures.clone()));
        }
        let sizes = Histogram::of_sizes(groups.iter().map(|group| group.members.len()));
        let similarities = members().map(|member| member.similarity);
        let histograms = vec![sizes, Histogram::of_similarities(similarities)];
        // A name that is not UTF-8 cannot be marked, nor can anything below such a folder.
        let root = self.found.root.as_deref().map_or(Some(""), Path::to_str).map(Into::into);
        Report { title: "nearprint scan".into(), facts, histograms, root, ..Report::default() }
    }

    /// Writes the groups. Texts and pictures are read again, on all threads, as long as the page has room for them; a
    /// file that cannot be read any more is shown without.
    pub(super) fn write_groups(&self, out: &mut GroupWriter, threads: usize) -> io::Result<()> {
        let groups = &self.found.groups;
        write_groups(out, threads, groups.len(), |at, has_room| self.group(&groups[at], has_room))
    }

    fn group(&self, group: &FileGroup, has_room: bool) -> ReportGroup {
        let is_of_texts = group.kind == GroupKind::Texts;
        let has_room = has_room && !(is_of_texts && group.is_exact);
        let member = |(place, member): (usize, &GroupMember)| match group.kind {
            GroupKind::Texts => self.text(member, has_room && (place == 0 || !member.is_exact)),
            GroupKind::Others => self.member(GroupKind::Others, member),
            GroupKind::Pictures => {
                let shown =
                    self.found.pictures.shown(&self.found.scanned.pictures[member.file], place, has_room);
                ReportMember { picture: shown.picture, ..self.member(GroupKind::Pictures, member) }
            }
        };
        let mut members = group.members.iter().enumerate().map(member);
        let kept = members.next().unwrap_or_default();
        let stays =
            group.members.first().is_some_and(|first| self.found.scanned.stays(group.kind, first.file));
        let kept = ReportMember { distance: None, similarity: None, stays, ..kept };
        // The reader marks what `prune` could act on, or the first file.
        let marked = |(shown, member): (ReportMember, &GroupMember)| ReportMember {
            stamp: shown.stamp.filter(|_| member.is_spare),
            ..shown
        };
        ReportGroup { kept, others: members.zip(&group.members[1..]).map(marked).collect(), num_unlisted: 0 }
    }

    fn text(&self, member: &GroupMember, with_text: bool) -> ReportMember {
        let path = &self.found.scanned.texts[member.file].path;
        let text = if with_text { read_text(path, &self.found.scanned.decoding).ok() } else { None };
        ReportMember { text, ..self.member(GroupKind::Texts, member) }
    }

    fn member(&self, kind: GroupKind, member: &GroupMember) -> ReportMember {
        let file = self.found.scanned.file(kind, member.file);
        let path = file.path();
        let name = self.found.root.as_deref().and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
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
