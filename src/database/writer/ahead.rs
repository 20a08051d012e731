//! Answers from runs to queries that follow: many together cost less than one by one.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::fingerprint::{Distance, Fingerprint};
use crate::query::Match;
use crate::query::batch::{self, Workers};
use crate::query::view::View;

/// The most matches that are held: 3 MiB.
const MOST_MATCHES: usize = 1 << 16;

/// The matches of some fingerprints in the runs of a view, within one distance.
#[derive(Debug)]
pub(super) struct Ahead<F> {
    k: Distance,
    /// The matches of each fingerprint among all.
    places: HashMap<F, Range<usize>>,
    matches: Vec<Match<F>>,
    /// Whether the matches of all fingerprints fit.
    pub(super) is_complete: bool,
}

impl<F: Fingerprint> Ahead<F> {
    /// Looks fingerprints up, in order, until there are too many matches.
    pub(super) fn of(view: &View<F>, workers: Workers<'_>, fingerprints: &[F], k: Distance) -> Result<Self> {
        let (mut places, mut matches, mut is_complete) = (HashMap::new(), Vec::new(), true);
        let done = batch::query(view, workers, fingerprints, (k, usize::MAX), |index, found| {
            let place = matches.len()..matches.len() + found.len();
            is_complete = place.end <= MOST_MATCHES;
            if !is_complete {
                return Err(Error::Interrupted);
            }
            places.insert(fingerprints[index], place);
            matches.extend_from_slice(found);
            Ok(())
        });
        if is_complete {
            done?;
        }
        Ok(Self { k, places, matches, is_complete })
    }

    /// The matches of a fingerprint, if it was looked up within this distance.
    pub(super) fn get(&self, fingerprint: F, k: Distance) -> Option<&[Match<F>]> {
        let place = self.places.get(&fingerprint).filter(|_| k == self.k)?;
        Some(&self.matches[place.clone()])
    }
}
