//! Which two documents are near-duplicates, for those that compare pairs of a list that is spread over machines.

use std::fmt;

use super::measure::{Judge, Measure};
use super::options::DedupOptions;
use super::stored::damaged;
use crate::error::Result;
use crate::recipe::{AnyFingerprinter, Comparable, Features, Recipe};
use nearprint::any::AnyFingerprint;
use xxhash_rust::xxh3::xxh3_128;

/// The bytes before a set of features, where only copies are near: whether there is markup, and the hash of the text.
const COPY_BYTES: usize = 17;

/// Decides about pairs as a temporary [`Deduplicator`](super::Deduplicator) does, which compares each document with
/// those that it has kept. Each thread needs its own; cloning is cheap.
///
/// ```
/// use nearprint_text::dedup::{DedupOptions, PairJudge};
///
/// let mut judge = PairJudge::new(DedupOptions::new("minhash".parse()?))?;
/// let [a, b] = ["one two three four five six", "one two three four five six seven"]
///     .map(|text| judge.document(text).expect("it has words"));
/// assert!(judge.are_candidates(a.fingerprint.words(), b.fingerprint.words()));
/// assert_eq!(judge.similarity(&b.evidence, &a.evidence, 0)?, Some(0.8));
/// # Ok::<(), nearprint_text::Error>(())
/// ```
#[derive(Clone)]
pub struct PairJudge {
    measure: Measure,
    fingerprinter: AnyFingerprinter,
}

impl fmt::Debug for PairJudge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PairJudge").field("near", &self.measure.near()).finish_non_exhaustive()
    }
}

/// What decides about pairs of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairDocument {
    /// The fingerprint under which a deduplication stores it.
    pub fingerprint: AnyFingerprint,
    /// What decides beside fingerprints; empty if fingerprints alone decide.
    pub evidence: Vec<u8>,
}

impl PairDocument {
    /// A hash of both. Documents with equal hashes are duplicates, and are near the same others.
    #[must_use]
    pub fn digest(&self) -> u128 {
        let words = self.fingerprint.words().iter().flat_map(|word| word.to_le_bytes());
        xxh3_128(&words.chain(self.evidence.iter().copied()).collect::<Vec<u8>>())
    }
}

impl PairJudge {
    /// Decides by some options, without a database.
    ///
    /// # Errors
    /// As [`Deduplicator::temporary`](super::Deduplicator::temporary).
    pub fn new(mut options: DedupOptions) -> Result<Self> {
        options.choose_recipe(Recipe::DEFAULT, None)?;
        let measure = Measure::new(&options, options.new_recipe(), None)?;
        let fingerprinter = measure.recipe.any_fingerprinter();
        let fingerprinter =
            if measure.makes_features { fingerprinter.with_features() } else { fingerprinter };
        Ok(Self { measure, fingerprinter })
    }

    /// The recipe of the fingerprints.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.measure.recipe
    }

    /// The largest distance of the fingerprints of near-duplicates, in bits.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.measure.k
    }

    /// Whether evidence decides, and not fingerprints alone.
    #[must_use]
    pub fn compares_evidence(&self) -> bool {
        self.measure.judge != Judge::Distance
    }

    /// Whether the nearer of two kept documents is the more similar one, and not the one with the nearer
    /// fingerprint.
    #[must_use]
    pub fn prefers_similar(&self) -> bool {
        self.measure.compares_features()
    }

    /// What decides about pairs of a text. `None` for a text without tokens, which is near no other.
    pub fn document(&mut self, text: &str) -> Option<PairDocument> {
        let made = self.fingerprinter.fingerprint(text);
        let evidence = match (self.measure.judge, made.comparable()) {
            (_, Comparable::Nothing) => return None,
            (Judge::Distance, _) | (Judge::Features(_), Comparable::Tokens) => Vec::new(),
            (Judge::Texts(_), _) => self.measure.recipe.as_read(text).as_bytes().to_vec(),
            (Judge::Features(least), Comparable::Features) if least >= 1.0 => {
                let copies = [&[u8::from(made.has_markup)][..], &made.text_hash.to_le_bytes()];
                [&copies.concat()[..], &made.features.to_bytes()].concat()
            }
            (Judge::Features(_), Comparable::Features) => made.features.to_bytes(),
        };
        Some(PairDocument { fingerprint: made.stored(""), evidence })
    }

    /// Whether two documents within the distance are compared, by the words of their fingerprints.
    #[must_use]
    pub fn are_candidates(&self, a: &[u64], b: &[u64]) -> bool {
        self.measure.candidates.as_ref().is_none_or(|candidates| candidates.contain_words(a, b))
    }

    /// The similarity of a new document and a kept one, from 0 to 1, if they are near-duplicates, by their evidence and
    /// the distance of their fingerprints.
    ///
    /// # Errors
    /// [`Error::Input`](crate::Error::Input) for evidence that is damaged.
    pub fn similarity(&self, new: &[u8], kept: &[u8], distance: u32) -> Result<Option<f64>> {
        match self.measure.judge {
            Judge::Distance => Ok(Some(self.measure.recipe.similarity(distance))),
            Judge::Texts(similarity) => {
                let [new, kept] = [new, kept].map(String::from_utf8_lossy);
                Ok(similarity.of_texts(&new, &kept))
            }
            // A text without features has copies alone, whose evidence and fingerprint are equal.
            Judge::Features(_) if new.is_empty() || kept.is_empty() => {
                Ok((new == kept && distance == 0).then_some(1.0))
            }
            Judge::Features(least) if least >= 1.0 => same_or_copies(new, kept),
            Judge::Features(least) => of_features(new, kept, least),
        }
    }
}

/// The similarity of two sets of features, if it is at least this.
fn of_features(new: &[u8], kept: &[u8], least: f64) -> Result<Option<f64>> {
    let [new, kept] = [new, kept].map(Features::from_bytes);
    let similarity = new.similarity(&kept).ok_or_else(|| damaged("a pair"))?;
    Ok(Some(similarity).filter(|similarity| *similarity >= least))
}

/// From similarity 1 on, only copies are near a page with markup: equal sets may be of pages with other scripts.
fn same_or_copies(new: &[u8], kept: &[u8]) -> Result<Option<f64>> {
    let [Some((of_new, new)), Some((of_kept, kept))] =
        [new, kept].map(|evidence| evidence.split_at_checked(COPY_BYTES))
    else {
        return Err(damaged("a pair"));
    };
    match of_new[0] {
        0 => of_features(new, kept, 1.0),
        _ => Ok((of_new == of_kept).then_some(1.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedup::{Decision, Deduplicator};

    /// Texts that are near each other in all ways, with and without features, tokens and markup.
    const TEXTS: &[&str] = &[
        "one two three four five six seven eight nine ten",
        "One two three four five six seven eight nine ten!",
        "zero one two three four five six seven eight nine ten",
        "one two three four five six seven eight nine ten one two three",
        "one two three four five six seven eight nine",
        "three four five six",
        "two words",
        "Two words",
        "two, words",
        "",
        "...",
        "<p>one two three four five six seven eight nine ten</p><script>a b</script>",
        "<p>one two three four five six seven eight nine ten</p><script>a c</script>",
        "quite another text, of no word that any other one has",
    ];

    fn options(recipe: &str, set: &[(&str, &str)]) -> DedupOptions {
        let mut options = DedupOptions::new(recipe.parse().unwrap());
        set.iter().for_each(|(name, value)| options.set(name, &[(*value).into()]).unwrap());
        options
    }

    /// The loop over all kept documents, with this judge.
    fn decided(options: DedupOptions) -> Vec<Option<(usize, f64)>> {
        let mut judge = PairJudge::new(options).unwrap();
        let (mut kept, mut all) = (Vec::<(usize, PairDocument)>::new(), Vec::new());
        for (at, text) in TEXTS.iter().enumerate() {
            let Some(new) = judge.document(text) else {
                all.push(None);
                continue;
            };
            let mut best = None::<(f64, usize, f64)>;
            for (of, old) in &kept {
                let [a, b] = [new.fingerprint, old.fingerprint];
                let distance = match judge.recipe().bands() {
                    Some(bands) if a.shares_band(b, bands) => a.sketch_distance(b, bands),
                    Some(_) => continue,
                    None => a.distance(b),
                };
                if distance > judge.k() || !judge.are_candidates(a.words(), b.words()) {
                    continue;
                }
                let Some(similarity) = judge.similarity(&new.evidence, &old.evidence, distance).unwrap()
                else {
                    continue;
                };
                let nearness = if judge.prefers_similar() { -similarity } else { f64::from(distance) };
                if best.is_none_or(|(least, ..)| nearness < least) {
                    best = Some((nearness, *of, similarity));
                }
            }
            all.push(best.map(|(_, of, similarity)| (of, similarity)));
            if best.is_none() {
                kept.push((at, new));
            }
        }
        all
    }

    #[test]
    fn pairs_are_decided_as_a_deduplication_decides() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("minhash", &[]),
            ("minhash", &[("similarity", "0.5")]),
            ("minhash", &[("similarity", "1")]),
            ("minhash clean=html,lower", &[("similarity", "1")]),
            ("minhash", &[("k", "30")]),
            ("minhash", &[("similarity", "contained:0.9")]),
            ("minhash", &[("similarity", "edit:0.7")]),
            ("minhash short=none shingle=4", &[("similarity", "0.6")]),
            ("simhash", &[]),
            ("simhash", &[("k", "12"), ("similarity", "edit:0.7")]),
            ("simhash", &[("similarity", "0.6")]),
        ];
        for (recipe, set) in cases {
            let mut decider = Deduplicator::temporary(options(recipe, set)).unwrap();
            let expected: Vec<_> = (0..)
                .zip(TEXTS)
                .map(|(at, text)| match decider.decide(&at.to_string(), text).unwrap() {
                    Decision::Duplicate { of, similarity, .. } => Some((of.parse().unwrap(), similarity)),
                    _ => None,
                })
                .collect();
            assert!(expected.iter().flatten().count() >= 2, "{recipe} {set:?}: {expected:?}");
            assert_eq!(decided(options(recipe, set)), expected, "{recipe} {set:?}");
        }
    }

    #[test]
    fn documents_with_equal_digests_are_the_same() {
        let mut judge = PairJudge::new(options("minhash", &[])).unwrap();
        let mut digest = |text| judge.document(text).unwrap().digest();
        assert_eq!(digest(TEXTS[0]), digest(TEXTS[1]));
        assert_ne!(digest(TEXTS[0]), digest(TEXTS[2]));
        assert_eq!(judge.document(""), None);
    }

    #[test]
    fn damaged_evidence_is_an_error() {
        for (least, evidence) in [("0.7", &[3][..]), ("1", &[0; 5]), ("1", &[0; 18])] {
            let judge = PairJudge::new(options("minhash", &[("similarity", least)])).unwrap();
            assert!(judge.similarity(evidence, evidence, 0).is_err(), "{evidence:?}");
        }
    }
}
