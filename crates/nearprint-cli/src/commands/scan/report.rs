//! The report of a scan.

use std::io;
use std::path::{Path, PathBuf};

use indicatif::DecimalBytes;
use nearprint_text::recipe::Recipe;

use super::files::{ScannedFiles, TextFile};
use super::groups::{FileGroup, GroupMember};
use crate::args::GroupWriter;
use crate::report::{Histogram, Report, ReportGroup, ReportMember, read_text};

/// What was found.
pub(super) struct ScanReport<'a, F> {
    pub(super) paths: &'a [PathBuf],
    /// The folder that shown paths are relative to.
    pub(super) root: Option<&'a Path>,
    pub(super) recipe: &'a Recipe,
    /// When files are near, in words.
    pub(super) near: &'a str,
    pub(super) scanned: &'a ScannedFiles<F>,
    pub(super) groups: &'a [FileGroup],
}

impl<F> ScanReport<'_, F> {
    /// The part of the page before its groups.
    pub(super) fn head(&self) -> Report {
        let fact = |name: &str, value: String| (name.to_string(), value);
        let paths: Vec<String> = self.paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let num_exact = self.groups.iter().filter(|group| group.is_exact).count();
        let members = || self.groups.iter().flat_map(|group| &group.members[1..]);
        let num_spare = members().filter(|member| member.is_spare).count();
        let num_copies = members().filter(|member| member.is_exact).count();
        let spare_bytes = self.groups.iter().map(|group| group.spare_bytes).sum();
        let ScannedFiles { texts, len_bytes, .. } = self.scanned;
        let facts = vec![
            fact("Scanned", paths.join(", ")),
            fact("Texts", format!("{}, {}", texts.len(), DecimalBytes(*len_bytes))),
            fact(
                "Could go",
                format!("{num_spare} files, {}; {num_copies} are exact copies", DecimalBytes(spare_bytes)),
            ),
            fact("Groups", format!("{}, {} of them of exact copies", self.groups.len(), num_exact)),
            fact("Near", self.near.to_string()),
            fact("Recipe", self.recipe.to_string()),
        ];
        let sizes = Histogram::of_sizes(self.groups.iter().map(|group| group.members.len()));
        let similarities = members().map(|member| member.similarity);
        let histograms = vec![sizes, Histogram::of_similarities(similarities)];
        Report { title: "nearprint scan".into(), facts, histograms, charts: Vec::new() }
    }

    /// Writes the groups. Texts are read again as long as the page has room for them; a file that
    /// cannot be read any more is shown without.
    pub(super) fn write_groups(&self, out: &mut GroupWriter) -> io::Result<()> {
        for group in self.groups {
            let with_texts = out.has_room_for_texts() && !group.is_exact;
            let (kept, others) = (&group.members[0], &group.members[1..]);
            let kept = ReportMember { distance: None, similarity: None, ..self.member(kept, with_texts) };
            let other = |member: &GroupMember| self.member(member, with_texts && !member.is_exact);
            let others = others.iter().map(other).collect();
            out.group(&ReportGroup { kept, others, num_unlisted: 0 })?;
        }
        Ok(())
    }

    fn member(&self, member: &GroupMember, with_text: bool) -> ReportMember {
        let TextFile { path, content, .. } = &self.scanned.texts[member.text];
        let name = self.root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path);
        ReportMember {
            name: name.to_string_lossy().into_owned(),
            bytes: Some(content.len_bytes),
            distance: Some(member.distance),
            similarity: Some(member.similarity),
            is_exact: member.is_exact,
            text: if with_text { read_text(path).ok() } else { None },
        }
    }
}
