//! How lists are written that stand beside an output, such as the list of duplicates.

use std::path::Path;

use super::csv::push_cell;
use super::escape::escape;
use super::output_name::Written;
use crate::error::Result;

/// The format of a list of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// Columns are separated by tabs, and [escaped](escape)
    Tsv,
    /// As RFC 4180 has it
    Csv,
}

impl ListFormat {
    /// The format of a list of this name: CSV if the name says so.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        if Written::named(path) == Some(Written::Csv) { Self::Csv } else { Self::Tsv }
    }

    /// Checks that a name denotes no other format.
    ///
    /// # Errors
    /// As [`Written::check`].
    pub fn check(path: &Path) -> Result<()> {
        match Self::of(path) {
            Self::Csv => Ok(()),
            Self::Tsv => Written::Tsv.check(path),
        }
    }

    /// A line.
    #[must_use]
    pub fn line(self, columns: &[&str]) -> Vec<u8> {
        let mut line = Vec::new();
        for (place, column) in columns.iter().enumerate() {
            match self {
                Self::Tsv => {
                    line.extend((place > 0).then_some(b'\t'));
                    line.extend(escape(column).bytes());
                }
                Self::Csv => {
                    line.extend((place > 0).then_some(b','));
                    push_cell(column, b',', &mut line);
                }
            }
        }
        line.push(b'\n');
        line
    }
}
