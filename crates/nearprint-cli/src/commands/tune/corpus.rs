//! The documents of `tune`, with a fingerprint for each recipe.

use std::borrow::Cow;
use std::time::Duration;

use super::args::Args;
use super::candidates::Candidate;
use crate::args::{GlobalArgs, check_read};
use crate::input::documents::{Rejects, UnusualDocuments, open_with_keys};
use crate::terminal::failure::Failure;
use nearprint::any::AnyFingerprint;
use nearprint::internal::mix64;
use nearprint::{Near, Width};
use nearprint_text::dedup::Similarity;
use nearprint_text::documents::{self, BadRecord, Item};
use nearprint_text::internal::thread_cpu_time;
use nearprint_text::jaccard::ShingleSet;
use nearprint_text::recipe::{AnyFingerprinter, Comparable, Recipe};
use nearprint_text::tune::{Confirms, Point, Study};

/// The most documents whose texts are kept to measure the time of a comparison.
const TIMED_TEXTS: usize = 200;

/// The parts of texts that the measurement needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    pub(super) sets: bool,
    pub(super) texts: bool,
    /// A measure by edits, which does not accept every text.
    pub(super) edits: Option<Similarity>,
}

/// The parts of all documents that the measurement needs.
pub(super) struct Corpus {
    fingerprinters: Vec<AnyFingerprinter>,
    /// For recipes whose exact similarity is compared.
    featuring: Vec<AnyFingerprinter>,
    threads: usize,
    needs: Needs,
    /// For each recipe, the fingerprints of all documents.
    pub(super) prints: Vec<Prints>,
    /// For each recipe, the processor time of all fingerprints.
    cpu: Vec<Duration>,
    pub(super) keys: Vec<DocumentKey>,
    /// For each recipe whose exact similarity is compared, the sets of features of all documents.
    pub(super) features: Vec<Vec<ShingleSet>>,
    /// Empty unless needed.
    pub(super) sets: Vec<ShingleSet>,
    /// All if needed, otherwise the first ones.
    pub(super) texts: Vec<String>,
    pub(super) unusual: UnusualDocuments,
}

/// The key of a document, or with `--group-field` its group.
pub(super) struct DocumentKey {
    pub(super) text: String,
    /// The input and the line of the document.
    pub(super) place: String,
}

/// The fingerprints of all documents by one recipe.
pub(super) struct Prints {
    width: Width,
    words: Vec<u64>,
}

impl Prints {
    fn new(recipe: &Recipe) -> Self {
        Self { width: recipe.width(), words: Vec::new() }
    }

    /// Adds the fingerprint of a document with a number. One without tokens is near none: each of
    /// them has random bits of its own.
    fn push(&mut self, (print, comparable): &(AnyFingerprint, Comparable), number: usize) {
        let own = [0, 1, 2, 3].map(|word| mix64(4 * number as u64 + word));
        let words = if *comparable == Comparable::Nothing { &own } else { print.words() };
        self.words.extend_from_slice(&words[..self.width.words()]);
    }

    /// As [`Study::curves`].
    pub(super) fn curves(
        &self,
        study: &Study,
        near: Near,
        confirms: &[Confirms<'_>],
        threads: usize,
    ) -> Vec<Vec<Point>> {
        study.curves_of_words((self.width, &self.words), near, confirms, threads)
    }
}

/// A document with a fingerprint of each recipe.
struct FingerprintedDocument {
    prints: Vec<(AnyFingerprint, Comparable)>,
    cpu: Vec<Duration>,
    key: DocumentKey,
    features: Vec<ShingleSet>,
    set: Option<ShingleSet>,
    text: String,
    is_replaced: bool,
}

impl Corpus {
    /// `exact` are the recipes whose exact similarity is compared.
    pub(super) fn new(candidates: &[Candidate], exact: &[Candidate], threads: usize, needs: Needs) -> Self {
        let recipes = candidates.iter().map(|candidate| &candidate.recipe);
        let featuring = exact.iter().map(|candidate| candidate.recipe.any_fingerprinter());
        Self {
            prints: recipes.clone().map(Prints::new).collect(),
            cpu: vec![Duration::ZERO; candidates.len()],
            fingerprinters: recipes.map(Recipe::any_fingerprinter).collect(),
            featuring: featuring.collect(),
            features: vec![Vec::new(); exact.len()],
            threads,
            needs,
            keys: Vec::new(),
            sets: Vec::new(),
            texts: Vec::new(),
            unusual: UnusualDocuments::default(),
        }
    }

    /// Reads the inputs.
    pub(super) fn read(&mut self, args: &Args, global: GlobalArgs) -> Result<(), Failure> {
        let Args { inputs, known, report, summary, .. } = args;
        let mut documents = args.documents.clone();
        if let Some(field) = &known.group_field {
            // Groups need no keys, so the group is read in place of the key.
            documents.key_field = Some(field.clone());
        }
        let mut reader = open_with_keys(&documents, inputs, known.group_field.is_some())?;
        let files =
            [("--report", report.path()), ("--summary", summary.path()), ("--pairs", known.pairs.as_deref())];
        let others: Vec<_> = files.into_iter().filter_map(|(name, path)| Some((name, path?))).collect();
        let mut rejects = Rejects::create(&documents, (&reader, args.recipe.stop_words_file()), &others)?;
        let (threads, needs) = (self.threads, self.needs);
        let fingerprinters = (self.fingerprinters.clone(), self.featuring.clone());
        documents::each(
            &mut reader,
            threads,
            || fingerprinters.clone(),
            |item, fingerprinters| fingerprint(fingerprinters, needs, item),
            |batch, _| {
                batch.into_iter().try_for_each(|document| match document {
                    Ok(document) => {
                        self.push(document);
                        Ok(())
                    }
                    Err(bad) => rejects.push_bad(&bad),
                })
            },
        )?;
        rejects.finish()?;
        check_read(global, &reader)
    }

    fn push(&mut self, document: FingerprintedDocument) {
        let number = self.keys.len();
        self.prints.iter_mut().zip(&document.prints).for_each(|(all, print)| all.push(print, number));
        self.cpu.iter_mut().zip(document.cpu).for_each(|(total, cpu)| *total += cpu);
        self.keys.push(document.key);
        self.features.iter_mut().zip(document.features).for_each(|(all, set)| all.push(set));
        self.sets.extend(document.set);
        if self.needs.texts || self.texts.len() < TIMED_TEXTS {
            self.texts.push(document.text);
        }
        self.unusual.num_replaced += u64::from(document.is_replaced);
        // Of several recipes, that which finds least.
        let comparables = document.prints.iter().map(|(_, comparable)| *comparable);
        let least = comparables.fold(Comparable::Features, |least, comparable| match (least, comparable) {
            (Comparable::Nothing, _) | (_, Comparable::Features) => least,
            _ => comparable,
        });
        self.unusual.push(least);
    }

    /// The mean processor time of a fingerprint of each recipe, in microseconds.
    pub(super) fn fingerprint_us(&self) -> Vec<f64> {
        let len = self.keys.len().max(1) as f64;
        self.cpu.iter().map(|cpu| cpu.as_secs_f64() * 1e6 / len).collect()
    }

    /// Whether a measure confirms two documents, by what is kept of them.
    pub(super) fn confirms(&self, confirm: Similarity, a: usize, b: usize) -> bool {
        match confirm {
            Similarity::Jaccard(least) => self.sets[a].similarity(&self.sets[b]) >= least,
            Similarity::Contained(least) => {
                let (a, b) = (&self.sets[a], &self.sets[b]);
                a.contained_in(b).max(b.contained_in(a)) >= least
            }
            Similarity::Edit(_) => confirm.texts_are_near(&self.texts[a], &self.texts[b]),
        }
    }

    /// The mean time of comparing two texts, in microseconds: of neighbouring documents, the first
    /// ones.
    pub(super) fn comparison_us(&self, confirm: Similarity) -> f64 {
        let texts = &self.texts[..self.texts.len().min(TIMED_TEXTS)];
        let pairs = texts.len().saturating_sub(1).max(1) as f64;
        let before = thread_cpu_time();
        let confirmed = texts.windows(2).filter(|pair| confirm.texts_are_near(&pair[0], &pair[1])).count();
        std::hint::black_box(confirmed);
        thread_cpu_time().saturating_sub(before).as_secs_f64() * 1e6 / pairs
    }
}

/// Computes all fingerprints of a document.
fn fingerprint(
    (fingerprinters, featuring): &mut (Vec<AnyFingerprinter>, Vec<AnyFingerprinter>),
    needs: Needs,
    item: Item,
) -> Result<FingerprintedDocument, BadRecord> {
    let record = match item {
        Item::Record(record) => record,
        Item::Bad(bad) => return Err(bad),
    };
    // All recipes read a text alike.
    let read =
        fingerprinters.first().map_or(Cow::Borrowed(&*record.text), |of| of.recipe().as_read(&record.text));
    if needs.edits.is_some_and(|confirm| !confirm.accepts(&read)) {
        let (place, raw, may_have_mark) =
            (record.place.clone(), record.raw().to_vec(), record.may_have_mark());
        let reason = Similarity::refusal();
        return Err(BadRecord { place, reason, raw, is_dropped: false, may_have_mark });
    }
    let (mut prints, mut cpu) = (Vec::new(), Vec::new());
    let mut before = thread_cpu_time();
    for fingerprinter in fingerprinters {
        let made = fingerprinter.fingerprint(&record.text);
        let print = (made.stored(""), made.comparable());
        let after = thread_cpu_time();
        cpu.push(after.saturating_sub(before));
        prints.push(print);
        before = after;
    }
    let features = featuring.iter_mut().map(|of| ShingleSet::of_recipe(&record.text, of)).collect();
    let set = needs.sets.then(|| ShingleSet::of_text(&read));
    let (text, is_replaced) = (read.into_owned(), record.invalid_utf8);
    let key = DocumentKey { text: record.key, place: record.place.to_string() };
    Ok(FingerprintedDocument { prints, cpu, key, features, set, text, is_replaced })
}
