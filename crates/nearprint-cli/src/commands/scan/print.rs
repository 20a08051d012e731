//! Prints groups of files, for terminals and for programs.

use std::io::{self, IsTerminal, Write};

use super::files::TextFile;
use super::groups::{FileGroup, GroupMember};
use crate::terminal::results::{escape, json};

/// The format of printed groups.
#[derive(Clone, Copy)]
pub(super) enum Style {
    /// A line with the number of files, a line `distance<tab>path` for each, and an empty line.
    Plain,
    /// The same with aligned columns. Large groups are cut.
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
            (false, false) => Self::Plain,
            (false, true) => Self::Terminal { colours: std::env::var_os("NO_COLOR").is_none() },
        }
    }

    pub(super) fn write_group<F>(
        self,
        out: &mut dyn Write,
        group: &FileGroup,
        texts: &[TextFile<F>],
    ) -> io::Result<()> {
        let path = |member: &GroupMember| texts[member.text].path.to_string_lossy();
        let members = &group.members;
        match self {
            Self::Plain => {
                writeln!(out, "{} files", members.len())?;
                for member in members {
                    writeln!(out, "{}\t{}", member.distance, escape(&path(member)))?;
                }
                writeln!(out)
            }
            Self::Terminal { colours } => {
                let (bold, end) = if colours { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
                writeln!(out, "{bold}{} files{end}", members.len())?;
                let shown = if members.len() > SHOWN { SHOWN - 1 } else { SHOWN };
                for member in members.iter().take(shown) {
                    writeln!(out, "{:>4}  {}", member.distance, printable(&path(member)))?;
                }
                if members.len() > shown {
                    writeln!(out, "   …  and {} more", members.len() - shown)?;
                }
                writeln!(out)
            }
            Self::Json => {
                write!(out, r#"{{"count":{},"files":["#, members.len())?;
                for (index, member) in members.iter().enumerate() {
                    let (comma, path) = (if index == 0 { "" } else { "," }, json(&path(member)));
                    write!(out, r#"{comma}{{"distance":{},"path":{path}}}"#, member.distance)?;
                }
                writeln!(out, "]}}")
            }
        }
    }
}

/// A path without control characters, which a terminal would interpret.
fn printable(path: &str) -> String {
    path.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(style: Style, members: usize) -> String {
        let texts: Vec<TextFile<u64>> =
            (0..members).map(|n| TextFile { path: format!("{n}\t\x1b\"x").into(), fingerprint: 0 }).collect();
        let member = |text| GroupMember { distance: u32::from(text > 0), text };
        let mut out = Vec::new();
        style
            .write_group(&mut out, &FileGroup { members: (0..members).map(member).collect() }, &texts)
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_reader_gets_a_style_of_its_own() {
        assert_eq!(printed(Style::Plain, 2), "2 files\n0\t0\\t\\x1b\"x\n1\t1\\t\\x1b\"x\n\n");
        let json = r#"{"count":2,"files":[{"distance":0,"path":"0\t\u001b\"x"},{"distance":1,"path":"1\t\u001b\"x"}]}"#;
        assert_eq!(printed(Style::Json, 2), format!("{json}\n"));
        let shown = printed(Style::Terminal { colours: true }, 2);
        assert_eq!(
            shown,
            "\x1b[1m2 files\x1b[0m\n   0  0\u{fffd}\u{fffd}\"x\n   1  1\u{fffd}\u{fffd}\"x\n\n"
        );
        let colourless = Style::Terminal { colours: false };
        assert_eq!(printed(colourless, SHOWN).lines().count(), 1 + SHOWN + 1);
        let long = printed(colourless, SHOWN + 1);
        assert_eq!(long.lines().count(), 1 + SHOWN + 1);
        assert!(long.contains("\n   …  and 2 more\n") && long.starts_with("13 files\n"), "{long}");
    }
}
