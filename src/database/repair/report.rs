//! The result of a repair.

use std::fmt;

/// What a [`Finding`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FindingKind {
    /// A part of a file is unreadable. Findings of the other kinds report the consequences, if
    /// there are any.
    Damaged,
    /// Lost data was reconstructed from other files.
    Recovered,
    /// Rows are left out because they have expired by the clock, as no reader finds them.
    Expired,
    /// Data is missing from the new database.
    Lost,
    /// The new database may differ from the old one in an unexpected way.
    Note,
}

impl fmt::Display for FindingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Damaged => "damaged",
            Self::Recovered => "recovered",
            Self::Expired => "expired",
            Self::Lost => "lost",
            Self::Note => "note",
        })
    }
}

/// One observation of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// The name of the file in the damaged database.
    pub file: String,
    /// A description.
    pub what: String,
}

/// The result of a [repair](crate::Options::repair).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairReport {
    /// Whether there is a new database. There is none if no row survived the damage.
    pub made: bool,
    /// Rows of the new database.
    pub rows: u64,
    /// Rows of runs that are lost. Exact for a database of one run. With several runs, a lost row
    /// may also be in another run, or may have been deleted. Rows of lost commits in the log are
    /// unknown and not counted.
    pub lost_rows: u64,
    /// Fingerprints of lost rows of which only the ids are lost. If all ids of a run are lost, each
    /// fingerprint counts once. [`repair_with`](crate::Options::repair_with) passes them on.
    pub without_id: u64,
    /// Distinct fingerprints of runs that no table contains any more.
    pub lost_fingerprints: u64,
    /// Distinct fingerprints of runs that were missing from table 0 and recovered from other
    /// tables.
    pub recovered: u64,
    /// All observations, by file.
    pub findings: Vec<Finding>,
}

impl RepairReport {
    /// Whether the new database has all rows of the old one that have not expired, and none that was deleted.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let is_loss = |kind| matches!(kind, FindingKind::Lost | FindingKind::Note);
        !self.findings.iter().any(|finding| is_loss(finding.kind))
    }

    pub(super) fn add(&mut self, kind: FindingKind, file: &str, what: impl Into<String>) {
        self.findings.push(Finding { kind, file: file.to_string(), what: what.into() });
    }

    /// Adds a finding about `count` lost things, unless `count` is 0.
    pub(super) fn add_lost(&mut self, file: &str, count: u64, what: &str) {
        if count > 0 {
            self.add(FindingKind::Lost, file, format!("{count} {what}"));
        }
    }

    /// Takes over what was found of a run.
    pub(super) fn absorb(&mut self, found: Self) {
        self.lost_rows = self.lost_rows.saturating_add(found.lost_rows);
        self.without_id += found.without_id;
        self.lost_fingerprints += found.lost_fingerprints;
        self.recovered += found.recovered;
        self.findings.extend(found.findings);
    }

    /// Sorts the findings by file. Those of one file stay in the order of discovery.
    pub(super) fn sort(&mut self) {
        self.findings.sort_by(|left, right| left.file.cmp(&right.file));
    }
}
