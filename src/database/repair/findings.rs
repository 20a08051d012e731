//! What a repair has met with.

use std::fmt;

/// What a [`Finding`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// Something cannot be read. What that costs is told by findings of the other kinds, if it costs
    /// anything.
    Damaged,
    /// Something was put together from other files.
    Recovered,
    /// Something is not in the new database.
    Lost,
    /// Something about the new database may be unexpected.
    Note,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Damaged => "damaged",
            Self::Recovered => "recovered",
            Self::Lost => "lost",
            Self::Note => "note",
        })
    }
}

/// One thing that a repair has met with.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about.
    pub kind: Kind,
    /// The name of the file in the damaged database.
    pub file: String,
    /// What is the matter, in words.
    pub what: String,
}

/// Findings in the making.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn add(&mut self, kind: Kind, file: &str, what: impl Into<String>) {
        self.0.push(Finding { kind, file: file.to_string(), what: what.into() });
    }

    /// Says that something is lost, where it is.
    pub(super) fn lost(&mut self, file: &str, count: u64, what: &str) {
        if count > 0 {
            self.add(Kind::Lost, file, format!("{count} {what}"));
        }
    }

    /// By file, each in the order of discovery.
    pub(super) fn into_sorted(mut self) -> Vec<Finding> {
        self.0.sort_by(|left, right| left.file.cmp(&right.file));
        self.0
    }
}
