//! The documents of `tune`, with a fingerprint for each recipe.

use super::Args;
use crate::input::documents::{Rejects, open_with_keys};
use crate::terminal::failure::Failure;
use nearprint::Fingerprint;
use nearprint_text::documents::{self, BadRecord, Item};
use nearprint_text::recipe::Fingerprinter;

/// The parts of all documents that the measurement needs.
pub(super) struct Corpus<F> {
    fingerprinters: Vec<Fingerprinter<F>>,
    threads: usize,
    /// For each fingerprinter, the fingerprints of all documents.
    pub(super) fingerprints: Vec<Vec<F>>,
    pub(super) keys: Vec<DocumentKey>,
    keeps_texts: bool,
    /// Empty unless `keeps_texts`.
    pub(super) texts: Vec<String>,
    pub(super) num_replaced: u64,
    pub(super) num_empty: u64,
}

/// The key of a document, or with `--group-field` its group.
pub(super) struct DocumentKey {
    pub(super) text: String,
    /// The input and the line of the document.
    pub(super) place: String,
}

/// A document with a fingerprint of each fingerprinter.
struct FingerprintedDocument<F> {
    fingerprints: Vec<F>,
    key: DocumentKey,
    text: String,
    is_replaced: bool,
    is_empty: bool,
}

impl<F: Fingerprint> Corpus<F> {
    pub(super) fn new(fingerprinters: Vec<Fingerprinter<F>>, threads: usize, keeps_texts: bool) -> Self {
        let fingerprints = vec![Vec::new(); fingerprinters.len()];
        let (keys, texts) = (Vec::new(), Vec::new());
        Self {
            fingerprinters,
            threads,
            fingerprints,
            keys,
            keeps_texts,
            texts,
            num_replaced: 0,
            num_empty: 0,
        }
    }

    /// Reads the inputs.
    pub(super) fn read(&mut self, args: &Args) -> Result<(), Failure> {
        let Args { inputs, known, plot, .. } = args;
        let mut documents = args.documents.clone();
        if let Some(field) = &known.group_field {
            // Groups need no keys, so the group is read in place of the key.
            documents.key_field = Some(field.clone());
        }
        let mut reader = open_with_keys(&documents, inputs, known.group_field.is_some())?;
        let files = [("--plot", plot), ("--pairs", &known.pairs)];
        let others: Vec<_> =
            files.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?))).collect();
        let mut rejects = Rejects::create(&documents, &reader, &others)?;
        let (threads, fingerprinters) = (self.threads, self.fingerprinters.clone());
        documents::each(
            &mut reader,
            threads,
            || fingerprinters.clone(),
            |item, fingerprinters| fingerprint(fingerprinters, item),
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
        Ok(rejects.finish()?)
    }

    fn push(&mut self, document: FingerprintedDocument<F>) {
        let each = self.fingerprints.iter_mut().zip(document.fingerprints);
        each.for_each(|(all, fingerprint)| all.push(fingerprint));
        self.keys.push(document.key);
        if self.keeps_texts {
            self.texts.push(document.text);
        }
        self.num_replaced += u64::from(document.is_replaced);
        self.num_empty += u64::from(document.is_empty);
    }
}

/// Computes all fingerprints of a document.
fn fingerprint<F: Fingerprint>(
    fingerprinters: &mut [Fingerprinter<F>],
    item: Item,
) -> Result<FingerprintedDocument<F>, BadRecord> {
    let record = match item {
        Item::Record(record) => record,
        Item::Bad(bad) => return Err(bad),
    };
    let mut is_empty = false;
    let fingerprints = fingerprinters.iter_mut().map(|fingerprinter| {
        let fingerprinted = fingerprinter.fingerprint(&record.text);
        is_empty |= fingerprinted.num_tokens == 0;
        fingerprinted.value
    });
    let fingerprints = fingerprints.collect();
    let key = DocumentKey { text: record.key, place: record.place.to_string() };
    let (text, is_replaced) = (record.text, record.invalid_utf8);
    Ok(FingerprintedDocument { fingerprints, key, text, is_replaced, is_empty })
}
