//! Similarities of texts, and documents whose evidence a database keeps.

use std::ffi::c_char;

use nearprint::KeyStorage;
use nearprint::any::NewRows;

use crate::builder::nearprint_builder;
use crate::call::Call;
use crate::error::{Failure, Outcome, nearprint_error};
use crate::fingerprinter::nearprint_fingerprinter;
use crate::status::{NEARPRINT_MISMATCH, nearprint_status};
use crate::writer::nearprint_writer;

/// The number of bits in which two fingerprints of the recipe differ; for MinHash, bits of their sketches.
/// Each has width / 64 words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_distance(
    fingerprinter: *mut nearprint_fingerprinter,
    one: *const u64,
    other: *const u64,
    distance: *mut u32,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let fingerprinter = call.handle(fingerprinter, "fingerprinter")?;
        let words = fingerprinter.recipe.width().words();
        let (one, other) = (call.words(one, words, 1, "one")?, call.words(other, words, 1, "other")?);
        let mut distance = call.output(distance, "distance")?;
        distance.set(fingerprinter.recipe.distance(one, other));
        Ok(())
    })
}

/// The similarity of two texts, 0 to 1, that a distance of their fingerprints suggests: an estimate of the
/// Jaccard similarity for MinHash, and of the cosine for simhash.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_estimate(
    fingerprinter: *const nearprint_fingerprinter,
    distance: u32,
    similarity: *mut f64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let recipe = &call.handle(fingerprinter, "fingerprinter")?.recipe;
        call.output(similarity, "similarity")?.set(recipe.similarity(distance));
        Ok(())
    })
}

/// The exact Jaccard similarity of two texts, 0 to 1: the features that both have, divided by those that
/// one of them has. Features are compared by hashes of 24 bits or more: of texts of 200 words, up to 1 in 400 pairs
/// shares a hash by chance. 0 for two texts without features. With another recipe than one of MinHash, these are the
/// features of `minhash`: runs of three words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_similarity(
    fingerprinter: *mut nearprint_fingerprinter,
    one: *const c_char,
    one_len: usize,
    other: *const c_char,
    other_len: usize,
    similarity: *mut f64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let fingerprinter = call.handle(fingerprinter, "fingerprinter")?;
        let (one, other) = (call.text(one, one_len, "one")?, call.text(other, other_len, "other")?);
        let mut similarity = call.output(similarity, "similarity")?;
        fingerprinter.inner.with("fingerprinter", |inner| {
            similarity.set(inner.similarity(one, other));
            Ok(())
        })
    })
}

/// Inserts a document: its fingerprint, its key, and what the database keeps with keys: its text, the hash
/// of it, or its features, by which similarities are exact. A text without features gets a fingerprint that is
/// made of its key, and is near nothing. Another document of the key stays beside it: to replace that, delete the key
/// first. `id` receives the id of the row, the 64-bit
/// xxh3 of the key, and may be null. NEARPRINT_MISMATCH unless the database has the recipe of the
/// fingerprinter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_writer_insert_document(
    writer: *mut nearprint_writer,
    fingerprinter: *mut nearprint_fingerprinter,
    key: *const c_char,
    key_len: usize,
    text: *const c_char,
    text_len: usize,
    id: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let writer = call.handle(writer, "writer")?;
        let document = Document::new(call, fingerprinter, (key, key_len), (text, text_len), writer.words)?;
        let mut id = call.optional(id);
        writer.inner.with("writer", |inner| {
            document.check_recipe(inner.recipe())?;
            document.store(inner.key_storage(), |row| Ok(inner.insert(row, &mut id.receive())?))
        })
    })
}

/// Adds a document to a builder, as nearprint_writer_insert_document() does. The schema of the builder has
/// the recipe and the layout of the fingerprinter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_builder_push_document(
    builder: *mut nearprint_builder,
    fingerprinter: *mut nearprint_fingerprinter,
    key: *const c_char,
    key_len: usize,
    text: *const c_char,
    text_len: usize,
    id: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let builder = call.handle(builder, "builder")?;
        let document = Document::new(call, fingerprinter, (key, key_len), (text, text_len), builder.words)?;
        let mut id = call.optional(id);
        builder.inner.with("builder", |inner| {
            document.store(inner.key_storage(), |row| Ok(inner.push(row, &mut id.receive())?))
        })
    })
}

/// A document of the caller.
struct Document<'c> {
    fingerprinter: &'c nearprint_fingerprinter,
    key: &'c str,
    text: &'c str,
}

impl<'c> Document<'c> {
    /// Checks a document for a database with fingerprints of some words.
    fn new(
        call: &'c Call,
        fingerprinter: *const nearprint_fingerprinter,
        (key, key_len): (*const c_char, usize),
        (text, text_len): (*const c_char, usize),
        words: usize,
    ) -> Outcome<Self> {
        let fingerprinter = call.handle(fingerprinter, "fingerprinter")?;
        if fingerprinter.recipe.width().words() != words {
            return Err(Failure::new(
                NEARPRINT_MISMATCH,
                "fingerprinter: makes fingerprints of another width",
            ));
        }
        Ok(Self {
            fingerprinter,
            key: call.key(key, key_len, "key")?,
            text: call.text(text, text_len, "text")?,
        })
    }

    /// Refuses a database of another recipe.
    fn check_recipe(&self, stored: Option<&str>) -> Outcome {
        let own = self.fingerprinter.recipe.to_string();
        match stored {
            Some(stored) if stored == own => Ok(()),
            stored => {
                let stored = stored.unwrap_or("none");
                let why = format!("fingerprinter: its recipe is {own}, and the database has {stored}");
                Err(Failure::new(NEARPRINT_MISMATCH, why))
            }
        }
    }

    fn store(&self, keeps: KeyStorage, store: impl FnOnce(&NewRows<'_>) -> Outcome) -> Outcome {
        let (fingerprint, evidence) = self
            .fingerprinter
            .inner
            .with("fingerprinter", |inner| inner.document(keeps, self.key, self.text))?;
        let (keys, texts) = (&[self.key], &[evidence.as_slice()]);
        store(&NewRows { fingerprints: fingerprint.words(), ids: None, keys: Some(keys), texts: Some(texts) })
    }
}
