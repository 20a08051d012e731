//! Answers from runs to queries that follow: many together cost less than one by one.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint};
use crate::format::manifest::Manifest;
use crate::layout::BandDistances;
use crate::query::Match;
use crate::query::batch::{self, Workers};
use crate::query::nearness::Nearness;
use crate::query::view::View;

/// The most matches that are held: 12 MiB.
const MOST_MATCHES: usize = 1 << 18;

/// The rows near some fingerprints in the oldest runs of a view.
#[derive(Debug)]
pub(super) struct Ahead<F> {
    k: Distance,
    by_bands: Option<BandDistances>,
    /// How many runs were searched.
    runs: usize,
    /// The matches of each fingerprint among all.
    places: HashMap<F, Range<usize>>,
    matches: Vec<Match<F>>,
    /// Whether the matches of all fingerprints fit.
    pub(super) is_complete: bool,
}

impl<F: Fingerprint> Ahead<F> {
    /// Looks fingerprints up, in order, until there are too many matches.
    pub(super) fn of(
        view: &View<F>,
        workers: Workers<'_>,
        fingerprints: &[F],
        near: Nearness<'_>,
    ) -> Result<Self> {
        let (mut places, mut matches, mut is_complete) = (HashMap::new(), Vec::new(), true);
        let done = batch::query(view, workers, fingerprints, (near.k, usize::MAX), |index, found| {
            let (fingerprint, start) = (fingerprints[index], matches.len());
            matches.extend(found.iter().filter(|row| near.admits(row.fingerprint, fingerprint)));
            is_complete = matches.len() <= MOST_MATCHES;
            if !is_complete {
                return Err(Error::Interrupted);
            }
            places.insert(fingerprint, start..matches.len());
            Ok(())
        });
        if is_complete {
            done?;
        }
        let (runs, by_bands) = (view.searchables().len(), near.by_bands.cloned());
        Ok(Self { k: near.k, by_bands, runs, places, matches, is_complete })
    }

    /// The rows near a fingerprint, and in how many of the oldest runs they are, if it was looked up and what is
    /// near is the same.
    pub(super) fn get(&self, fingerprint: F, near: Nearness<'_>) -> Option<(&[Match<F>], usize)> {
        let is_same = near.k == self.k && near.by_bands == self.by_bands.as_ref();
        let place = self.places.get(&fingerprint).filter(|_| is_same)?;
        Some((&self.matches[place.clone()], self.runs))
    }

    /// What holds after a change of the manifest: a flush adds a run, which was not searched, and a merge replaces
    /// some by one with the same rows. Nothing, where a new run deletes rows, or where rows expire.
    pub(super) fn after(mut self, old: &Manifest, new: &Manifest) -> Option<Self> {
        if new.expiry.is_some() {
            return None;
        }
        let (old, new) = (&old.runs, &new.runs);
        let before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let behind =
            old[before..].iter().rev().zip(new[before..].iter().rev()).take_while(|(a, b)| a == b).count();
        let (replaced, added) = (before..old.len() - behind, &new[before..new.len() - behind]);
        if replaced.is_empty() && added.iter().any(|run| run.tombstones > 0) {
            return None;
        }
        if !replaced.is_empty() && replaced.end <= self.runs {
            self.runs = self.runs - replaced.len() + added.len();
        } else {
            self.runs = self.runs.min(before);
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::manifest::RunRecord;
    use crate::format::manifest::sample::sample;

    fn manifest(runs: &[u64]) -> Manifest {
        let mut manifest = Manifest { expiry: None, ..sample() };
        let run = manifest.runs[0].clone();
        manifest.runs =
            runs.iter().map(|&number| RunRecord { run: number, tombstones: 0, ..run.clone() }).collect();
        manifest
    }

    fn searched(runs: usize) -> Ahead<u64> {
        let (places, matches) = (HashMap::new(), Vec::new());
        let k = Distance::saturating::<u64>(3);
        Ahead { k, by_bands: None, runs, places, matches, is_complete: true }
    }

    #[test]
    fn runs_count_as_searched_while_their_rows_were() {
        let changes: [(usize, &[u64], &[u64], usize); 7] = [
            (3, &[1, 2, 3], &[1, 2, 3], 3),
            // A flush, then merges of what was searched, of what was not, and of both.
            (3, &[1, 2, 3], &[1, 2, 3, 4], 3),
            (3, &[1, 2, 3, 4], &[1, 5, 4], 2),
            (2, &[1, 2, 3, 4], &[1, 2, 5], 2),
            (2, &[1, 2, 3, 4], &[1, 5, 4], 1),
            (2, &[1, 2, 3], &[4], 0),
            // No row was left.
            (2, &[1, 2, 3], &[1, 3], 1),
        ];
        for (before, old, new, after) in changes {
            let left = searched(before).after(&manifest(old), &manifest(new));
            assert_eq!(left.map(|left| left.runs), Some(after), "{before} of {old:?}, then {new:?}");
        }
    }

    #[test]
    fn nothing_holds_once_rows_are_deleted_or_expire() {
        let old = manifest(&[1, 2]);
        let mut new = manifest(&[1, 2, 3]);
        new.runs[2].tombstones = 1;
        assert!(searched(2).after(&old, &new).is_none());
        // Deletions that were searched with their run.
        assert_eq!(searched(3).after(&new, &new).map(|left| left.runs), Some(3));
        let new = Manifest { expiry: sample().expiry, ..manifest(&[2]) };
        assert!(new.expiry.is_some() && searched(2).after(&old, &new).is_none());
    }
}
