//! Answers from runs to queries that follow: many together cost less than one by one.

use std::collections::HashMap;
use std::ops::Range;

use super::Writer;
use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint};
use crate::progress::NO_PROGRESS;
use crate::query::Match;
use crate::query::batch::{self, Workers};
use crate::query::search::SWEEP_FROM;

/// The most matches that are held: 3 MiB.
const MOST_MATCHES: usize = 1 << 16;

/// The matches of some fingerprints in the runs of a writer, within one distance.
#[derive(Debug)]
pub(super) struct Ahead<F> {
    k: Distance,
    /// The matches of each fingerprint among all.
    places: HashMap<F, Range<usize>>,
    matches: Vec<Match<F>>,
}

impl<F: Fingerprint> Ahead<F> {
    /// The matches of a fingerprint, if it was looked up within this distance.
    pub(super) fn get(&self, fingerprint: F, k: Distance) -> Option<&[Match<F>]> {
        let place = self.places.get(&fingerprint).filter(|_| k == self.k)?;
        Some(&self.matches[place.clone()])
    }
}

impl<F: Fingerprint> Writer<F> {
    /// Looks fingerprints up together, on all threads of the options, for calls of [`query`](Writer::query) with
    /// the same `k` that follow. Their answers stay the same, and cost less from some thousand fingerprints on.
    ///
    /// What is found is held until the next call, or until the runs of the database change. Memory: some 3 MiB.
    /// Returns false if there was more, in which case the last fingerprints are looked up when they are asked for.
    ///
    /// # Errors
    /// As [`query`](Writer::query).
    pub fn look_ahead(&mut self, fingerprints: &[F], k: u32) -> Result<bool> {
        self.ahead = None;
        if self.view.searchables().is_empty() {
            return Ok(true);
        }
        let k = Distance::saturating::<F>(k);
        let threads = self.options.threads.min(fingerprints.len() / SWEEP_FROM).max(1);
        let workers = Workers { kernel: self.kernel, threads, progress: NO_PROGRESS };
        let (mut places, mut matches, mut is_complete) = (HashMap::new(), Vec::new(), true);
        let done = batch::query(&self.view, workers, fingerprints, (k, usize::MAX), |index, found| {
            is_complete = matches.len() + found.len() <= MOST_MATCHES;
            if !is_complete {
                return Err(Error::Interrupted);
            }
            places.insert(fingerprints[index], matches.len()..matches.len() + found.len());
            matches.extend_from_slice(found);
            Ok(())
        });
        if is_complete {
            done?;
        }
        self.ahead = Some(Ahead { k, places, matches });
        Ok(is_complete)
    }
}
