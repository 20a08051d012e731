//! What became of everything that was read: one vocabulary for all who read.

/// The numbers of records or files by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Written, or left where they are.
    pub kept: u64,
    /// Not kept because a near one was kept.
    pub duplicates: u64,
    /// Copies among the duplicates; the others are near. `None` if they were not counted.
    pub copies: Option<u64>,
    /// Kept ones that have duplicates. `None` if they were not counted.
    pub groups: Option<u64>,
    /// Not compared.
    pub skipped: u64,
    /// Bad records.
    pub rejected: u64,
}

impl Outcome {
    /// The sum of all.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.kept + self.duplicates + self.skipped + self.rejected
    }

    /// Near-duplicates that are not copies.
    #[must_use]
    pub fn near(&self) -> Option<u64> {
        self.copies.map(|copies| self.duplicates.saturating_sub(copies))
    }

    /// The first line of a summary. `noun` names one of what was read.
    #[must_use]
    pub fn verdict(&self, noun: &str) -> String {
        let mut line = format!(
            "{} read: {} kept, {}",
            plural(self.read(), noun),
            self.kept,
            plural(self.duplicates, "duplicate")
        );
        if self.duplicates > 0 {
            if let (Some(copies), Some(near)) = (self.copies, self.near()) {
                let copies = if copies == 1 { "1 copy".into() } else { format!("{copies} copies") };
                line += &format!(" ({copies}, {near} near)");
            }
            line += &self.groups.map(|groups| format!(" in {}", plural(groups, "group"))).unwrap_or_default();
        }
        for (count, what) in [(self.skipped, "skipped"), (self.rejected, "rejected")] {
            if count > 0 {
                line += &format!(", {count} {what}");
            }
        }
        line
    }
}

/// A number of things, whose name has a plural with an s.
fn plural(count: u64, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_say_what_there_is() {
        let mut outcome = Outcome { kept: 1, ..Outcome::default() };
        assert_eq!(outcome.verdict("file"), "1 file read: 1 kept, 0 duplicates");
        outcome = Outcome { duplicates: 1, skipped: 2, rejected: 3, ..outcome };
        assert_eq!(outcome.verdict("file"), "7 files read: 1 kept, 1 duplicate, 2 skipped, 3 rejected");
        outcome =
            Outcome { duplicates: 4, copies: Some(1), groups: Some(1), skipped: 0, rejected: 0, ..outcome };
        assert_eq!(
            outcome.verdict("record"),
            "5 records read: 1 kept, 4 duplicates (1 copy, 3 near) in 1 group"
        );
        assert_eq!((outcome.read(), outcome.near()), (5, Some(3)));
    }
}
