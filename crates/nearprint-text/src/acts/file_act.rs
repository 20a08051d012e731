//! An act on one file, and its line in an undo list.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use super::attributes::Attributes;
use super::judged::{Judged, hash_of};
use super::places::escaped;
use crate::documents::{path_bytes, path_of_bytes, unescape_bytes};

/// An act on one file, as an undo list has it. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileAct {
    pub(super) kind: ActKind,
    pub(super) path: PathBuf,
    /// Where it is moved to; otherwise the file that is kept.
    pub(super) other: PathBuf,
    pub(super) attributes: Attributes,
    /// XXH3 of its bytes.
    pub(super) hash: u128,
}

/// What is done to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ActKind {
    /// It is moved to another folder.
    Move,
    /// It becomes a further name of the kept file, which has the same bytes.
    Hardlink,
    /// It becomes a copy that shares the blocks of the kept file, which has the same bytes.
    Reflink,
    /// It is deleted, and the kept file has the same bytes.
    DeleteCopy,
    /// It is deleted, and nothing can bring it back.
    Delete,
}

const KINDS: [(ActKind, &str); 5] = [
    (ActKind::Move, "move"),
    (ActKind::Hardlink, "hardlink"),
    (ActKind::Reflink, "reflink"),
    (ActKind::DeleteCopy, "delete-copy"),
    (ActKind::Delete, "delete"),
];

impl ActKind {
    /// Whether the act is for a byte-identical copy of the kept file.
    #[must_use]
    pub fn is_of_copy(self) -> bool {
        matches!(self, Self::Hardlink | Self::Reflink | Self::DeleteCopy)
    }

    /// Its word in undo lists.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

impl FileAct {
    /// The act on a file that is open.
    pub(super) fn of(kind: ActKind, path: &Path, other: &Path, file: &Judged) -> io::Result<Self> {
        let attributes = Attributes::of(file.file())?;
        let hash = hash_of(file.file())?;
        Ok(Self { kind, path: path.to_path_buf(), other: other.to_path_buf(), attributes, hash })
    }

    /// What is done.
    #[must_use]
    pub fn kind(&self) -> ActKind {
        self.kind
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is moved to; otherwise the file that is kept.
    #[must_use]
    pub fn other(&self) -> &Path {
        &self.other
    }

    /// Its line in an undo list, without a line end: act, path, other path, mode in octal digits, seconds and
    /// nanoseconds of the last change, XXH3 of the bytes in hexadecimal digits, owner and group, extended attributes.
    #[must_use]
    pub fn line(&self) -> String {
        let [path, other] = [&self.path, &self.other].map(|path| escaped(path));
        let Attributes { mode, owner: (user, group), modified: (seconds, nanoseconds), .. } = self.attributes;
        let (kind, hash, extended) = (self.kind.name(), self.hash, self.extended_cell());
        format!(
            "{kind}\t{path}\t{other}\t{mode:o}\t{seconds}\t{nanoseconds}\t{hash:032x}\t{user}:{group}\t{extended}"
        )
    }

    /// The extended attributes: names and values in hexadecimal digits.
    fn extended_cell(&self) -> String {
        let pairs =
            self.attributes.extended.iter().map(|(name, value)| format!("{}={}", hex(name), hex(value)));
        let cell = pairs.collect::<Vec<_>>().join(",");
        if cell.is_empty() { "-".into() } else { cell }
    }

    /// Reads what [`line`](Self::line) has made. `None` for anything else.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind, path, other, mode, seconds, nanoseconds, hash, owner, extended] = *cells else {
            return None;
        };
        let (user, group) = owner.split_once(':')?;
        let attributes = Attributes {
            mode: u32::from_str_radix(mode, 8).ok().filter(|mode| *mode <= 0o7777)?,
            owner: (user.parse().ok()?, group.parse().ok()?),
            modified: (seconds.parse().ok()?, nanoseconds.parse().ok().filter(|part| *part < 1_000_000_000)?),
            extended: extended_of(extended)?,
        };
        attributes.time()?;
        let kind = KINDS.iter().find(|(_, name)| *name == kind)?.0;
        let [path, other] = [path, other].map(|cell| path_of_bytes(&unescape_bytes(cell)).to_path_buf());
        let is_path = |path: &Path| path.is_absolute() && !path_bytes(path).contains(&0);
        let hash = Some(hash).filter(|digits| digits.len() == 32)?;
        let hash = u128::from_str_radix(hash, 16).ok()?;
        (is_path(&path) && is_path(&other)).then_some(Self { kind, path, other, attributes, hash })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

fn of_hex(digits: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let is_hex = digits.len().is_multiple_of(2) && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    digits.as_bytes().chunks(2).map(byte).collect::<Option<_>>().filter(|_| is_hex)
}

fn extended_of(cell: &str) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    if cell == "-" {
        return Some(Vec::new());
    }
    let pair =
        |pair: &str| pair.split_once('=').and_then(|(name, value)| Some((of_hex(name)?, of_hex(value)?)));
    cell.split(',').map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn act(kind: ActKind, path: &str) -> FileAct {
        let attributes = Attributes {
            mode: 0o640,
            owner: (1000, 100),
            modified: (-7, 999_999_999),
            extended: vec![(b"user.a".to_vec(), vec![0, 255]), (b"user.b".to_vec(), vec![])],
        };
        FileAct { kind, path: path.into(), other: "/other".into(), attributes, hash: 7 }
    }

    #[test]
    #[cfg_attr(windows, ignore = "has absolute paths of unix")]
    fn lines_are_read_as_they_were_written() {
        for (kind, _) in KINDS {
            for path in ["/plain", "/line\nfeed\tand\\", "/\\x41", "/é"] {
                let act = act(kind, path);
                assert_eq!(FileAct::parse(&act.line()), Some(act));
            }
        }
    }

    #[test]
    #[cfg_attr(windows, ignore = "has absolute paths of unix")]
    fn undo_lists_are_known_by_their_first_line() {
        use std::io::Write;
        let is_list = |content: &str| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content.as_bytes()).unwrap();
            crate::documents::is_undo_list(&file).unwrap()
        };
        for (kind, _) in KINDS {
            let line = act(kind, "/line\nfeed\tand\\").line();
            assert!(is_list(&line) && is_list(&format!("{line}\nand more")));
            assert!(!is_list(&format!("\n{line}")) && !is_list(&line[..line.len() / 2]));
        }
        for other in
            ["", "\t\t\t\t\t\t\t\t", "move\t/a\t/b\t644\t1\t2\tname\t0:0\t-", "text\tkey\n", "move\n"]
        {
            assert!(!is_list(other), "{other}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_no_utf_8_are_read_as_they_were_written() {
        use std::os::unix::ffi::OsStrExt;
        for name in [&b"/\xff\xfe\\x80.txt"[..], b"/\\xff\xff", b"/a\x80\x1b\x7f"] {
            let mut act = act(ActKind::Move, "/");
            act.path = std::ffi::OsStr::from_bytes(name).into();
            assert!(!act.line().contains('\u{fffd}'));
            assert_eq!(FileAct::parse(&act.line()), Some(act));
        }
    }

    #[cfg(windows)]
    #[test]
    #[ignore = "names of Windows are no bytes"]
    fn names_that_are_no_utf_8_are_read_as_they_were_written() {}

    #[test]
    #[cfg_attr(windows, ignore = "has absolute paths of unix")]
    fn regression_huge_numbers_are_no_line_of_an_undo_list() {
        let line = act(ActKind::Move, "/a").line();
        assert!(FileAct::parse(&line).is_some());
        for (from, to) in [
            ("\t-7\t", "\t18446744073709551615\t"),
            ("\t999999999\t", "\t4294967295\t"),
            ("\t999999999\t", "\t1000000000\t"),
            ("\t640\t", "\t77777\t"),
            ("\t1000:100\t", "\t99999999999:1\t"),
            ("00000007\t", "00000007a\t"),
            ("move\t", "remove\t"),
            ("\t/a\t", "\ta\t"),
            ("\t/a\t", "\t/a\\x00\t"),
            ("=00ff", "=00f"),
            ("=00ff", "=+0ff"),
        ] {
            let changed = line.replace(from, to);
            assert_ne!(changed, line, "{from}");
            assert_eq!(FileAct::parse(&changed), None, "{changed}");
        }
    }
}
