//! Prints groups of files, for terminals and for programs.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use indicatif::DecimalBytes;

use crate::commands::files::{FileGroup, Found, GroupKind, GroupMember, ScannedFiles};
use crate::terminal::results::{escape, json, percent, share};

/// The format of printed groups.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// A line for each file: the number of its group, what becomes of it, its similarity, bytes and path.
    Lines,
    /// A line with the bytes that could go and the number of files, an aligned line of similarity or distance, size and
    /// path for each file, and an empty line. Exact copies are one line, and large groups are cut.
    Terminal {
        colours: bool,
    },
    Json,
}

/// The largest number of lines for the files of one group on a terminal.
const SHOWN: usize = 12;

impl Style {
    /// The style that fits standard output.
    pub(super) fn of_stdout(json: bool) -> Self {
        match (json, io::stdout().is_terminal()) {
            (true, _) => Self::Json,
            (false, false) => Self::Lines,
            (false, true) => Self::Terminal { colours: std::env::var_os("NO_COLOR").is_none() },
        }
    }
}

/// Prints one group after another.
pub(super) struct GroupPrinter<'a> {
    style: Style,
    /// Whether no file is left out.
    all: bool,
    /// The folder that paths are relative to.
    root: Option<&'a Path>,
    /// Whether the last group was one line.
    was_line: bool,
    /// How many groups are printed so far.
    num_groups: usize,
}

impl<'a> GroupPrinter<'a> {
    pub(super) fn new(style: Style, all: bool, root: Option<&'a Path>) -> Self {
        Self { style, all, root, was_line: false, num_groups: 0 }
    }

    /// Prints the names of the columns of files. Objects have names of their own.
    pub(super) fn write_header(&self, out: &mut dyn Write, is_by_similarity: bool) -> io::Result<()> {
        let near = if is_by_similarity { "similarity" } else { "distance" };
        match self.style {
            Style::Lines => writeln!(out, "group\toutcome\tsimilarity\tbytes\tpath"),
            Style::Terminal { .. } => writeln!(out, "{near:>10} {:>8}  path", "size"),
            Style::Json => Ok(()),
        }
    }

    pub(super) fn write(
        &mut self,
        out: &mut dyn Write,
        group: &FileGroup,
        files: &ScannedFiles,
    ) -> io::Result<()> {
        self.num_groups += 1;
        match self.style {
            Style::Lines => self.write_lines(out, group, files),
            Style::Terminal { colours } => {
                let is_line = group.is_exact && !self.all;
                if self.was_line && !is_line {
                    writeln!(out)?;
                }
                self.was_line = is_line;
                let marks = if colours { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
                self.write_for_people(out, group, files, (is_line, marks))
            }
            Style::Json => write_json(out, group, files),
        }
    }

    /// The path of a member, below the folder that was given.
    fn path<'f>(&self, group: &FileGroup, member: &GroupMember, files: &'f ScannedFiles) -> Cow<'f, str> {
        let path = files.file(group.kind, member.file).path();
        self.root.and_then(|root| path.strip_prefix(root).ok()).unwrap_or(path).to_string_lossy()
    }

    /// Of a member that stays, for whatever reason, the outcome is `kept`. The first one has no similarity.
    fn write_lines(&self, out: &mut dyn Write, group: &FileGroup, files: &ScannedFiles) -> io::Result<()> {
        for (member, place) in group.members.iter().zip(0..) {
            let outcome = match (member.is_spare, member.is_exact) {
                (false, _) => "kept",
                (true, true) => "copy",
                (true, false) => "near",
            };
            let similarity = if place == 0 { String::new() } else { share(member.similarity) };
            let file = files.file(group.kind, member.file);
            let (bytes, path) = (file.len_bytes(), file.path().to_string_lossy());
            writeln!(out, "{}\t{outcome}\t{similarity}\t{bytes}\t{}", self.num_groups, escape(&path))?;
        }
        Ok(())
    }

    fn write_for_people(
        &self,
        out: &mut dyn Write,
        group: &FileGroup,
        files: &ScannedFiles,
        (is_line, (bold, end)): (bool, (&str, &str)),
    ) -> io::Result<()> {
        let FileGroup { kind, spare_bytes, members, .. } = group;
        let (count, spare) = (members.len(), DecimalBytes(*spare_bytes).to_string());
        if is_line {
            let first = self.path(group, &members[0], files);
            let first = printable(&first);
            return writeln!(out, "{bold}{spare:>9} to save{end}  {count} copies of {first}");
        }
        writeln!(out, "{bold}{spare:>9} to save{end}  {count} {}", noun(group))?;
        let shown = if self.all || count <= SHOWN { count } else { SHOWN - 1 };
        for member in &members[..shown] {
            let file = files.file(*kind, member.file);
            let distance = if member.is_exact { "=".into() } else { near(group, member) };
            let size = DecimalBytes(file.len_bytes()).to_string();
            let size_in_pixels = match file.pixels() {
                Some((width, height)) => format!("{:>11}  ", format!("{width}x{height}")),
                None => String::new(),
            };
            let path = self.path(group, member, files);
            writeln!(out, "{distance:>9} {size:>9}  {size_in_pixels}{}", printable(&path))?;
        }
        if count > shown {
            writeln!(out, "                     … and {} more", count - shown)?;
        }
        writeln!(out)
    }
}

/// Prints paths: each as it is with a zero byte, or escaped on a line.
pub(super) fn paths(out: &mut dyn Write, paths: &[&Path], are_null_ended: bool) -> io::Result<()> {
    paths.iter().try_for_each(|path| match are_null_ended {
        true => out.write_all(path.as_os_str().as_encoded_bytes()).and_then(|()| out.write_all(b"\0")),
        false => writeln!(out, "{}", escape(&path.to_string_lossy())),
    })
}

/// The files of groups that could go.
pub(super) fn spare<'a>(found: &'a Found, groups: &'a [FileGroup]) -> Vec<&'a Path> {
    let spare = |group: &'a FileGroup| {
        let spare = group.members.iter().filter(|member| member.is_spare);
        spare.map(move |member| found.file(group, member).path())
    };
    groups.iter().flat_map(spare).collect()
}

/// The files of no group.
pub(super) fn ungrouped(found: &Found) -> Vec<&Path> {
    let members = |group: &FileGroup| {
        let kind = group.kind;
        group.members.iter().map(move |member| (kind, member.file)).collect::<Vec<_>>()
    };
    let grouped: HashSet<(GroupKind, usize)> = found.groups.iter().flat_map(members).collect();
    let inputs = |kind| found.scanned.inputs(kind).map(move |file| (kind, file));
    let all = [GroupKind::Texts, GroupKind::Pictures, GroupKind::Others].into_iter().flat_map(inputs);
    let ungrouped = all.filter(|place| !grouped.contains(place));
    ungrouped.map(|(kind, file)| found.scanned.file(kind, file).path()).collect()
}

/// What the members of a group are.
fn noun(group: &FileGroup) -> &'static str {
    if group.kind == GroupKind::Pictures { "images" } else { "files" }
}

/// How near a member is to the file that is shown first.
fn near(group: &FileGroup, member: &GroupMember) -> String {
    match group.is_by_similarity || group.kind == GroupKind::Pictures {
        true => percent::<1>(member.similarity),
        false => member.distance.to_string(),
    }
}

fn write_json(out: &mut dyn Write, group: &FileGroup, files: &ScannedFiles) -> io::Result<()> {
    let FileGroup { kind, spare_bytes, is_exact, is_by_similarity, members } = group;
    let count = members.len();
    write!(out, r#"{{"count":{count},"spare_bytes":{spare_bytes},"copy":{is_exact},"files":["#)?;
    for (index, member) in members.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let file = files.file(*kind, member.file);
        let path = json(&file.path().to_string_lossy());
        let (distance, exact, bytes) = (member.distance, member.is_exact, file.len_bytes());
        write!(out, r#"{comma}{{"distance":{distance},"path":{path},"bytes":{bytes},"copy":{exact}"#)?;
        if *is_by_similarity {
            write!(out, r#","similarity":{}"#, share(member.similarity))?;
        }
        match file.pixels() {
            Some((width, height)) => write!(out, r#","width":{width},"height":{height}}}"#)?,
            None => write!(out, "}}")?,
        }
    }
    writeln!(out, "]}}")
}

/// A path without control characters, which a terminal would interpret.
fn printable(path: &str) -> String {
    path.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::files::{Content, TextFile};
    use nearprint_text::documents::FileStamp;

    fn printed(style: Style, all: bool, groups: &[&[bool]]) -> String {
        printed_by(false, style, all, groups)
    }

    fn printed_by(similarity: bool, style: Style, all: bool, groups: &[&[bool]]) -> String {
        let content = |hash| Content { len_bytes: 1500, hash };
        let texts = (0..40)
            .map(|n| TextFile {
                path: format!("d/{n}\t\x1b\"x").into(),
                fingerprint: 0_u64.into(),
                content: content(0),
                stamp: FileStamp { size_bytes: 1500, modified: (0, 0), id: (0, 0) },
                num_words: 1,
                has_features: true,
            })
            .collect();
        let files = ScannedFiles::of_texts(texts);
        let mut printer = GroupPrinter::new(style, all, Some(Path::new("d")));
        let mut out = Vec::new();
        for are_exact in groups {
            let member = |(text, &is_exact): (usize, &bool)| GroupMember {
                distance: 4 * u32::from(!is_exact),
                similarity: if is_exact { 1.0 } else { 0.95 },
                is_exact,
                is_spare: text > 0,
                file: text,
            };
            let group = FileGroup {
                kind: GroupKind::Texts,
                spare_bytes: 1500 * (are_exact.len() as u64 - 1),
                is_exact: are_exact.iter().all(|&is_exact| is_exact),
                is_by_similarity: similarity,
                members: are_exact.iter().enumerate().map(member).collect(),
            };
            printer.write(&mut out, &group, &files).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    const NEAR: &[bool] = &[true, false];
    const EXACT: &[bool] = &[true, true, true];

    #[test]
    fn programs_get_columns_or_objects() {
        let file = |line: &str, number: usize| format!("{line}\t1500\td/{number}\\t\\x1b\"x\n");
        let near = file("1\tkept\t", 0) + &file("1\tnear\t0.9500", 1);
        assert_eq!(printed(Style::Lines, false, &[NEAR]), near);
        assert_eq!(printed_by(true, Style::Lines, true, &[NEAR]), near);
        let copies = ["2\tkept\t", "2\tcopy\t1.0000", "2\tcopy\t1.0000"].into_iter().zip(0..);
        let copies: String = copies.map(|(line, number)| file(line, number)).collect();
        assert_eq!(printed(Style::Lines, false, &[NEAR, EXACT]), near + &copies);
        assert_eq!([1.0, 0.99999, 0.57, 0.0].map(share), ["1.0000", "0.9999", "0.5700", "0.0000"]);
        let json = r#"{"count":2,"spare_bytes":1500,"copy":false,"files":[{"distance":0,"path":"d/0\t\u001b\"x","bytes":1500,"copy":true},{"distance":4,"path":"d/1\t\u001b\"x","bytes":1500,"copy":false}]}"#;
        assert_eq!(printed(Style::Json, false, &[NEAR]), format!("{json}\n"));
        assert!(
            printed_by(true, Style::Json, false, &[NEAR]).contains(r#""copy":false,"similarity":0.9500}"#)
        );
        assert!(printed(Style::Json, false, &[EXACT]).contains(r#""copy":true,"files":[{"#));
    }

    #[test]
    fn people_get_aligned_columns_and_the_beginning_of_large_groups() {
        assert_eq!(
            printed(Style::Terminal { colours: true }, false, &[EXACT, NEAR]),
            "\x1b[1m  3.00 kB to save\x1b[0m  3 copies of 0\u{fffd}\u{fffd}\"x\n\n\
             \x1b[1m  1.50 kB to save\x1b[0m  2 files\n\
             \x20       =   1.50 kB  0\u{fffd}\u{fffd}\"x\n        4   1.50 kB  1\u{fffd}\u{fffd}\"x\n\n"
        );
        let colourless = Style::Terminal { colours: false };
        let large = [false; SHOWN + 1];
        assert_eq!(printed(colourless, false, &[&large[..SHOWN]]).lines().count(), 1 + SHOWN + 1);
        let cut = printed(colourless, false, &[&large]);
        assert_eq!(cut.lines().count(), 1 + SHOWN + 1);
        assert!(cut.contains("\n                     … and 2 more\n"), "{cut}");
        assert_eq!(printed(colourless, true, &[&large]).lines().count(), 1 + SHOWN + 1 + 1);
    }
}
