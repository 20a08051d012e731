//! Calls about texts, documents and pictures.

use std::ffi::c_char;
use std::ptr;

use super::arguments::{Documents, ROWS, Rows, Space, length, output, pointer, text};
use super::build::KEYS;
use super::world::{World, call};
use crate::deduplicator::{
    nearprint_deduplicator_close, nearprint_deduplicator_commit, nearprint_deduplicator_decide,
    nearprint_deduplicator_open,
};
use crate::documents::{
    nearprint_snapshot_find_text, nearprint_snapshot_similar_clusters, nearprint_snapshot_similar_cross,
    nearprint_snapshot_similar_pairs,
};
use crate::fingerprinter::{nearprint_fingerprinter_default_k, nearprint_fingerprinter_width};
use crate::images::{nearprint_picture_fingerprint, nearprint_picture_fingerprint_rgb};
use crate::similarity::{
    nearprint_builder_push_document, nearprint_fingerprinter_distance, nearprint_fingerprinter_estimate,
    nearprint_fingerprinter_similarity, nearprint_writer_insert_document,
};
use crate::status::NEARPRINT_OK;
use nearprint::testing::fuzzing::input::{Input, random};

/// Recipes of deduplications; without one it is that of the database, or `minhash`.
const RECIPES: [Option<&[u8]>; 4] = [None, Some(b"minhash"), Some(b"simhash"), Some(b"unknown")];
const SIMILARITIES: [f64; 6] = [0.7, 0.0, 1.0, f64::NAN, -1.0, 2.0];
const TEXTS: [&[u8]; 4] =
    [b"the quick brown fox jumps over the lazy dog", b"the quick brown fox jumps over it", b"one", b""];
const PICTURES: [&[u8]; 4] = [b"pdq", b"dhash", b"phash", b"unknown"];
/// Pixels of a side of a picture.
const SIDE: usize = 8;

impl World {
    /// Deduplicators, documents and pictures.
    pub(super) fn document(&mut self, input: &mut Input<'_>) {
        match input.below(10) {
            0 => self.open_deduplicator(input),
            1 => self.decide(input),
            2 => {
                let deduplicator = self.deduplicators.pick(input);
                call!(self, nearprint_deduplicator_commit(deduplicator));
            }
            3 => {
                let deduplicator = self.deduplicators.pick(input);
                call!(self, nearprint_deduplicator_close(deduplicator));
            }
            4 => self.deduplicators.free(input),
            5 => self.find_text(input),
            6 => self.similar(input),
            7 => self.store_document(input),
            8 => self.compare_texts(input),
            _ => self.picture(input),
        }
    }

    fn open_deduplicator(&mut self, input: &mut Input<'_>) {
        let (path, options) = (self.path(input), self.options(input));
        let (at, len) = (pointer(input, path.as_ptr().cast::<c_char>()), length(input, path.len()));
        let (recipe, recipe_len) = match input.pick(&RECIPES) {
            Some(recipe) => text(input, recipe),
            None => (ptr::null(), 0),
        };
        let (similarity, options) = (input.pick(&SIMILARITIES), &raw const options);
        let mut made = ptr::null_mut();
        let made_at = &raw mut made;
        let status = call!(
            self,
            nearprint_deduplicator_open(at, len, recipe, recipe_len, similarity, options, made_at)
        );
        self.deduplicators.add(made, status);
    }

    fn decide(&mut self, input: &mut Input<'_>) {
        let deduplicator = self.deduplicators.pick(input);
        let documents = Documents::new(&KEYS, &TEXTS);
        let given = documents.structure(input);
        let given_at = pointer(input, &raw const given);
        let (mut kept, mut stream) = ([7; ROWS], ptr::null_mut());
        let kept_at = pointer(input, kept.as_mut_ptr()).cast_mut();
        let wants_stream = input.flag();
        let stream_at = if wants_stream { &raw mut stream } else { ptr::null_mut() };
        let status = call!(self, nearprint_deduplicator_decide(deduplicator, given_at, kept_at, stream_at));
        assert!(kept[KEYS.len()..].iter().all(|&kept| kept == 7), "more decisions than documents");
        if wants_stream {
            self.streams.add(stream, status);
        }
    }

    fn find_text(&mut self, input: &mut Input<'_>) {
        let (snapshot, content) = (self.snapshots.pick(input), input.pick(&TEXTS));
        let (text, text_len) = text(input, content);
        let similarity = input.pick(&SIMILARITIES);
        let mut space = Space::new();
        let columns = space.columns(input);
        let columns_at = pointer(input, &raw const columns);
        let mut count = 0;
        let count_at = output(input, &mut count);
        let status = call!(
            self,
            nearprint_snapshot_find_text(snapshot, text, text_len, similarity, columns_at, count_at)
        );
        let is_found = status == NEARPRINT_OK;
        assert!(!is_found || columns.keys.is_null(), "keys that live no longer than the call");
        space.check(if is_found { count.min(columns.capacity) } else { 0 }, 4);
    }

    fn similar(&mut self, input: &mut Input<'_>) {
        let (snapshot, similarity) = (self.snapshots.pick(input), input.pick(&SIMILARITIES));
        let mut stream = ptr::null_mut();
        let at = &raw mut stream;
        let status = match input.below(3) {
            0 => call!(self, nearprint_snapshot_similar_pairs(snapshot, similarity, at)),
            1 => call!(self, nearprint_snapshot_similar_clusters(snapshot, similarity, at)),
            _ => {
                let other = self.snapshots.pick(input);
                call!(self, nearprint_snapshot_similar_cross(snapshot, other, similarity, at))
            }
        };
        self.streams.add(stream, status);
    }

    fn store_document(&mut self, input: &mut Input<'_>) {
        let (maker, key, content) = (self.fingerprinters.pick(input), input.pick(&KEYS), input.pick(&TEXTS));
        let ((key, key_len), (text, text_len)) = (text(input, key), text(input, content));
        let mut id = 0;
        let id_at = output(input, &mut id);
        if input.flag() {
            let builder = self.builders.pick(input);
            call!(self, nearprint_builder_push_document(builder, maker, key, key_len, text, text_len, id_at));
        } else {
            let writer = self.writers.pick(input);
            call!(self, nearprint_writer_insert_document(writer, maker, key, key_len, text, text_len, id_at));
        }
    }

    fn compare_texts(&mut self, input: &mut Input<'_>) {
        let maker = self.fingerprinters.pick(input);
        // SAFETY: The handle is alive, null, or, with debug assertions, freed, which they refuse.
        let (width, k) =
            unsafe { (nearprint_fingerprinter_width(maker), nearprint_fingerprinter_default_k(maker)) };
        assert!([0, 64, 128, 256, 320].contains(&width) && k <= width, "width {width}, k {k}");
        let (mut distance, mut similarity) = (0, 0.0);
        let (distance_at, similarity_at) = (output(input, &mut distance), output(input, &mut similarity));
        match input.below(3) {
            0 => {
                let rows = Rows::new(input);
                let (one, other) = (rows.words(input), rows.words(input));
                call!(self, nearprint_fingerprinter_distance(maker, one, other, distance_at))
            }
            1 => {
                let distance = input.k();
                call!(self, nearprint_fingerprinter_estimate(maker, distance, similarity_at))
            }
            _ => {
                let (one, other) = (input.pick(&TEXTS), input.pick(&TEXTS));
                let ((one, one_len), (other, other_len)) = (text(input, one), text(input, other));
                let function = nearprint_fingerprinter_similarity;
                call!(self, function(maker, one, one_len, other, other_len, similarity_at))
            }
        };
    }

    fn picture(&mut self, input: &mut Input<'_>) {
        let recipe = input.pick(&PICTURES);
        let (recipe, recipe_len) = text(input, recipe);
        let (mut words, mut quality) = ([0; 4], 0);
        let words_at = pointer(input, words.as_mut_ptr()).cast_mut();
        let quality_at = output(input, &mut quality);
        let base = usize::from(input.byte());
        let samples: [u8; SIDE * SIDE * 3] =
            std::array::from_fn(|at| random((base + at) as u64).to_le_bytes()[0]);
        let samples_at = pointer(input, samples.as_ptr());
        if input.flag() {
            let len = length(input, samples.len());
            let function = nearprint_picture_fingerprint;
            call!(self, function(recipe, recipe_len, samples_at, len, words_at, quality_at));
        } else {
            let (width, height) = (length(input, SIDE), length(input, SIDE));
            let function = nearprint_picture_fingerprint_rgb;
            call!(self, function(recipe, recipe_len, width, height, samples_at, words_at, quality_at));
        }
    }
}
