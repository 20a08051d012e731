//! The sets of features of texts, in a file: those of a whole folder may not fit in memory.

use std::fs::File;
use std::io::{ErrorKind, Write};

use nearprint::internal::file::read_exact_at;
use nearprint::{Error, Result};
use nearprint_text::recipe::Features;

/// The name of the file of features in messages.
const FILE: &str = "a temporary file";

/// The bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;

/// The sets of features of texts, by their numbers, in an unnamed file. It takes some 2 bytes a feature.
#[derive(Default)]
pub(super) struct FeatureFile {
    /// Made when the first bytes are written: without sets, none is needed.
    file: Option<File>,
    /// What is not written yet.
    rest: Vec<u8>,
    /// Where each set ends.
    ends: Vec<u64>,
}

impl FeatureFile {
    pub(super) fn push(&mut self, features: &[u8]) -> Result<()> {
        self.rest.extend_from_slice(features);
        self.ends.push(self.ends.last().copied().unwrap_or_default() + features.len() as u64);
        if self.rest.len() >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the last sets, so that all can be read.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile().map_err(Error::io("create", FILE))?);
        }
        if let Some(file) = &mut self.file {
            file.write_all(&self.rest).map_err(Error::io("write", FILE))?;
        }
        self.rest.clear();
        Ok(())
    }

    /// The set of a text.
    pub(super) fn get(&self, text: usize) -> Result<Features> {
        let start = text.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut bytes = vec![0; usize::try_from(self.ends[text] - start).unwrap_or(usize::MAX)];
        if let Some(file) = &self.file {
            read_exact_at(file, &mut bytes, start).map_err(Error::io("read", FILE))?;
        }
        let damaged = || Error::io("read", FILE)(ErrorKind::InvalidData.into());
        Features::decoded(&bytes).ok_or_else(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearprint_text::Recipe;

    #[test]
    fn regression_a_scan_by_fingerprints_needed_a_temporary_file() {
        let mut file = FeatureFile::default();
        file.push(&[]).unwrap();
        file.flush().unwrap();
        assert!(file.file.is_none());
        assert!(file.get(0).unwrap().is_empty());
    }

    #[test]
    fn sets_are_read_as_they_were_written() {
        let mut file = FeatureFile::default();
        let recipe: Recipe = "minhash".parse().unwrap();
        let mut fingerprinter = recipe.fingerprinter::<nearprint::U256>().unwrap().with_features();
        let sets: Vec<Features> =
            ["one two three four", "", "five"].map(|text| fingerprinter.fingerprint(text).features).into();
        sets.iter().for_each(|set| file.push(&set.to_bytes()).unwrap());
        file.flush().unwrap();
        for at in [2, 0, 1] {
            assert_eq!(file.get(at).unwrap(), sets[at]);
        }
    }
}
