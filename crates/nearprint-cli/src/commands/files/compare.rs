//! Which texts are compared with each other, and how near they are.

use std::collections::HashMap;
use std::path::Path;

use super::read::{ScannedFiles, TextFile};
use nearprint::any::AnyFingerprint;
use nearprint::{BandLayout, Error, Near, Result, Width};
use nearprint_text::Recipe;
use nearprint_text::dedup::Similarity;
use nearprint_text::documents::{Decoding, FileContent, read_file, text_of_file};
use nearprint_text::recipe::{Candidates, Features};

/// What decides whether two files with near fingerprints are near.
#[derive(Clone)]
pub(crate) enum Decides {
    /// Their fingerprints alone.
    Fingerprints,
    /// The Jaccard similarity of their sets of features, of these pairs.
    Features(Candidates),
    /// This measure of their texts, of these pairs or of those within the distance.
    Texts(Similarity, Option<Candidates>),
}

/// What one text has to do with another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Nearness {
    /// Exact if features decide, otherwise estimated.
    pub(super) similarity: f64,
    pub(super) is_near: bool,
}

impl Nearness {
    /// Of two equal texts.
    pub(super) const SAME: Self = Self { similarity: 1.0, is_near: true };
}

/// Compares scanned texts. Sets of features and texts of files are read when they are needed: those of a whole
/// folder may not fit in memory.
pub(super) struct Comparer<'a> {
    scanned: &'a ScannedFiles,
    recipe: &'a Recipe,
    k: u32,
    decides: &'a Decides,
    /// What the last text that was compared with others consists of.
    last: Option<(usize, Compared)>,
}

/// What is compared of a text.
enum Compared {
    Set(Features),
    Text(String),
}

impl Clone for Comparer<'_> {
    fn clone(&self) -> Self {
        Self { last: None, ..*self }
    }
}

impl<'a> Comparer<'a> {
    /// Texts are near only if their fingerprints are within `k` bits.
    pub(super) fn new(
        scanned: &'a ScannedFiles,
        recipe: &'a Recipe,
        (k, decides): (u32, &'a Decides),
    ) -> Self {
        Self { scanned, recipe, k, decides, last: None }
    }

    pub(super) fn scanned(&self) -> &'a ScannedFiles {
        self.scanned
    }

    pub(super) fn texts(&self) -> &'a [TextFile] {
        &self.scanned.texts
    }

    pub(super) fn width(&self) -> Width {
        self.recipe.width()
    }

    /// Which fingerprints are near.
    pub(super) fn near_fingerprints(&self) -> Near {
        self.recipe.near(self.k)
    }

    /// Whether similarities are exact.
    pub(super) fn is_by_similarity(&self) -> bool {
        matches!(self.decides, Decides::Features(_))
    }

    pub(super) fn distance(&self, a: usize, b: usize) -> u32 {
        self.recipe.distance(self.texts()[a].fingerprint, self.texts()[b].fingerprint)
    }

    /// No fingerprints yet, among which those that may be near another one are found.
    pub(super) fn earlier(&self) -> Earlier {
        Earlier::new(self.recipe.bands())
    }

    /// The similarity of a text with an earlier one, if they are near.
    pub(super) fn near(&mut self, earlier: usize, text: usize) -> Result<Option<f64>> {
        let [old, new] = [earlier, text].map(|at| self.texts()[at].fingerprint);
        // Most pairs with an equal band are not worth a look at their features.
        if let Decides::Features(candidates) | Decides::Texts(_, Some(candidates)) = self.decides
            && !candidates.contain_words(old.words(), new.words())
        {
            return Ok(None);
        }
        let nearness = self.compare(earlier, text)?;
        Ok(nearness.is_near.then_some(nearness.similarity))
    }

    /// How near a text is to an earlier one.
    pub(super) fn compare(&mut self, earlier: usize, text: usize) -> Result<Nearness> {
        let [old, new] = [earlier, text].map(|at| &self.texts()[at]);
        if old.identity() == new.identity() {
            return Ok(Nearness::SAME);
        }
        let distance = self.distance(earlier, text);
        let estimated =
            Nearness { similarity: self.recipe.similarity(distance), is_near: distance <= self.k };
        match self.decides {
            Decides::Features(candidates) if old.has_features && new.has_features => {
                let (similarity, least) = (self.similarity(earlier, text)?, candidates.least());
                let is_near = similarity >= least && (least < 1.0 || self.have_same_markup(earlier, text)?);
                Ok(Nearness { similarity, is_near })
            }
            // Without features, only texts with the same tokens are near.
            Decides::Features(_) => {
                let is_near = old.has_features == new.has_features && old.fingerprint == new.fingerprint;
                Ok(Nearness { similarity: if is_near { 1.0 } else { 0.0 }, is_near })
            }
            Decides::Texts(similarity, candidates) if candidates.is_some() || estimated.is_near => {
                let is_near = self.texts_are_near(*similarity, earlier, text)?;
                Ok(Nearness { is_near, ..estimated })
            }
            Decides::Fingerprints | Decides::Texts(..) => Ok(estimated),
        }
    }

    /// The similarity of the sets of features of two texts.
    fn similarity(&mut self, earlier: usize, text: usize) -> Result<f64> {
        let own = match self.last.take() {
            Some((last, Compared::Set(set))) if last == text => set,
            _ => self.set(text)?,
        };
        let similarity = own.similarity(&self.set(earlier)?).unwrap_or_default();
        self.last = Some((text, Compared::Set(own)));
        Ok(similarity)
    }

    /// Whether two texts are no pages, or have the same words in the same order, those of markup included.
    fn have_same_markup(&self, earlier: usize, text: usize) -> Result<bool> {
        let mut fingerprinter = self.recipe.any_fingerprinter();
        let mut markup = |at: usize| -> Result<(bool, u128)> {
            let text = read(&self.texts()[at].path, &self.scanned.decoding)?;
            let found = fingerprinter.fingerprint(&text);
            Ok((found.has_markup, found.text_hash))
        };
        let ((a_has_markup, a), (b_has_markup, b)) = (markup(earlier)?, markup(text)?);
        Ok(a == b || !a_has_markup && !b_has_markup)
    }

    fn set(&self, text: usize) -> Result<Features> {
        self.scanned.features.get(text)
    }

    /// Whether two texts are near, read from their files.
    fn texts_are_near(&mut self, similarity: Similarity, earlier: usize, text: usize) -> Result<bool> {
        let own = match self.last.take() {
            Some((last, Compared::Text(own))) if last == text => own,
            _ => self.text(text)?,
        };
        let other = self.text(earlier)?;
        let is_either = matches!(similarity, Similarity::Contained(_));
        let is_near =
            similarity.texts_are_near(&own, &other) || is_either && similarity.texts_are_near(&other, &own);
        self.last = Some((text, Compared::Text(own)));
        Ok(is_near)
    }

    /// A text as the recipe reads it.
    fn text(&self, text: usize) -> Result<String> {
        let text = read(&self.texts()[text].path, &self.scanned.decoding)?;
        Ok(self.recipe.as_read(&text).into_owned())
    }
}

/// Fingerprints with numbers in the order in which they come, and which of them may be near another one: with
/// bands, those that have an equal one.
pub(super) struct Earlier {
    bands: Option<BandLayout>,
    /// The numbers of those with a value of a band.
    with: HashMap<(u32, u64), Vec<usize>>,
    count: usize,
}

impl Earlier {
    pub(super) fn new(bands: Option<BandLayout>) -> Self {
        Self { bands, with: HashMap::new(), count: 0 }
    }

    pub(super) fn push(&mut self, fingerprint: AnyFingerprint) {
        for (band, value) in self.values(fingerprint) {
            self.with.entry((band, value)).or_default().push(self.count);
        }
        self.count += 1;
    }

    /// The numbers of those that may be near, ascending.
    pub(super) fn candidates(&self, fingerprint: AnyFingerprint) -> Vec<usize> {
        if self.bands.is_none() {
            return (0..self.count).collect();
        }
        let with = self.values(fingerprint).filter_map(|value| self.with.get(&value));
        let mut found: Vec<usize> = with.flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The bands of a fingerprint.
    fn values(&self, fingerprint: AnyFingerprint) -> impl Iterator<Item = (u32, u64)> + use<> {
        let bands = self.bands.into_iter();
        bands.flat_map(move |bands| (0..bands.count()).map(move |band| (band, fingerprint.band(bands, band))))
    }
}

/// Reads a file again.
fn read(path: &Path, decoding: &Decoding) -> Result<String> {
    match read_file(path, usize::MAX, decoding) {
        Ok(FileContent::Text { bytes, .. }) => Ok(text_of_file(path, &bytes, decoding)
            .map(|decoded| decoded.text.into_owned())
            .unwrap_or_default()),
        Ok(_) => Ok(String::new()),
        Err(nearprint_text::Error::Engine(error)) => Err(error),
        Err(other) => Err(Error::io("read", path)(std::io::Error::other(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_that_may_be_near_have_an_equal_band() {
        let bands: BandLayout = "4x8".parse().unwrap();
        let print = |values: [u64; 4]| AnyFingerprint::from(bands.assemble::<u64>(values, []));
        let mut earlier = Earlier::new(Some(bands));
        earlier.push(print([1, 2, 3, 4]));
        earlier.push(print([2, 1, 4, 3]));
        earlier.push(print([1, 1, 1, 1]));
        assert_eq!(earlier.candidates(print([1, 1, 9, 9])), [0, 1, 2]);
        assert_eq!(earlier.candidates(print([9, 9, 9, 4])), [0]);
        assert!(earlier.candidates(print([9, 9, 9, 9])).is_empty());
        let mut all = Earlier::new(None);
        all.push(5_u64.into());
        assert_eq!(all.candidates(7_u64.into()), [0]);
    }
}
