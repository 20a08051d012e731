//! Calls that read: snapshots, streams, lists and texts.

use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use super::arguments::{ROWS, Rows, Space, length, output, pointer, text};
use super::world::{World, call};
use crate::fingerprinter::{
    nearprint_fingerprinter, nearprint_fingerprinter_count_features, nearprint_fingerprinter_fingerprint,
    nearprint_fingerprinter_layout, nearprint_fingerprinter_new, nearprint_fingerprinter_recipe,
    nearprint_fingerprinter_schema,
};
use crate::lists::{nearprint_find_all, nearprint_find_clusters};
use crate::query::{
    nearprint_snapshot_fingerprints_of, nearprint_snapshot_ids_of_key, nearprint_snapshot_nearest,
    nearprint_snapshot_nearest_batch, nearprint_snapshot_query, nearprint_snapshot_query_batch,
    nearprint_snapshot_visit_keyed_matches, nearprint_snapshot_visit_keys, nearprint_snapshot_visit_matches,
};
use crate::snapshot::{
    nearprint_snapshot, nearprint_snapshot_backup, nearprint_snapshot_distance_of,
    nearprint_snapshot_explain, nearprint_snapshot_layout, nearprint_snapshot_recipe,
    nearprint_snapshot_refresh, nearprint_snapshot_similarity_of,
};
use crate::status::{NEARPRINT_OK, NEARPRINT_STOPPED};
use crate::stream::{
    nearprint_snapshot_clusters, nearprint_snapshot_cross, nearprint_snapshot_cross_rows,
    nearprint_snapshot_pairs, nearprint_snapshot_row_pairs, nearprint_snapshot_rows, nearprint_stream_next,
};
use crate::text::{nearprint_format, nearprint_parse};
use crate::views::{nearprint_snapshot_matches, nearprint_snapshot_with_keys};
use nearprint::testing::fuzzing::input::Input;

const RECIPES: [&[u8]; 4] = [b"minhash", b"simhash", b"seomoz-cpp short=none", b"unknown"];
const TEXTS: [&[u8]; 4] = [b"18446744073709551615", b"0x1f", b"the quick brown fox", b""];

/// The context of a callback: how many calls go on, whether one did not, and the snapshot that it
/// uses meanwhile.
struct Visits {
    left: u32,
    stopped: bool,
    snapshot: *const nearprint_snapshot,
}

impl Visits {
    /// What the callback returns.
    fn next(context: *mut c_void) -> i32 {
        // SAFETY: The context is the `Visits` of the call, which nothing else uses meanwhile.
        let visits = unsafe { &mut *context.cast::<Self>() };
        let (mut newer, error) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: The snapshot is alive, since it calls back; any number of calls may use it.
        let status = unsafe { nearprint_snapshot_refresh(visits.snapshot, &raw mut newer, error) };
        if status == NEARPRINT_OK {
            // SAFETY: It was made above.
            unsafe { crate::snapshot::nearprint_snapshot_free(newer) };
        }
        assert!(!visits.stopped, "no call follows one that stops");
        visits.stopped = visits.left == 0;
        visits.left = visits.left.saturating_sub(1);
        if visits.stopped { -5 } else { 0 }
    }
}

unsafe extern "C-unwind" fn visit_matches(
    context: *mut c_void,
    query: usize,
    count: usize,
    fingerprints: *const u64,
    ids: *const u64,
    distances: *const u32,
) -> i32 {
    assert!(
        query < ROWS && (count == 0 || !fingerprints.is_null() && !ids.is_null() && !distances.is_null())
    );
    Visits::next(context)
}

unsafe extern "C-unwind" fn visit_keyed_match(
    context: *mut c_void,
    query: usize,
    fingerprint: *const u64,
    _: u64,
    _: u32,
    key: *const c_char,
    key_len: usize,
) -> i32 {
    assert!(query < ROWS && !fingerprint.is_null() && (key_len == 0 || !key.is_null()));
    Visits::next(context)
}

unsafe extern "C-unwind" fn visit_key(
    context: *mut c_void,
    key: *const c_char,
    key_len: usize,
    text: *const c_char,
    text_len: usize,
) -> i32 {
    assert!((key_len == 0 || !key.is_null()) && (text_len == 0 || !text.is_null()));
    Visits::next(context)
}

impl World {
    /// Snapshots and streams.
    pub(super) fn read(&mut self, input: &mut Input<'_>) {
        match input.below(16) {
            0..=2 => self.query(input),
            3 => self.visit(input),
            4..=8 => self.stream(input),
            9 => self.describe(input),
            10 => self.keys(input),
            11 => {
                let mut newer = ptr::null_mut();
                let snapshot = self.snapshots.pick(input);
                let status = match input.flag() {
                    true => call!(self, nearprint_snapshot_with_keys(snapshot, &raw mut newer)),
                    false => call!(self, nearprint_snapshot_refresh(snapshot, &raw mut newer)),
                };
                self.snapshots.add(newer, status);
            }
            12 | 13 => self.next(input),
            14 => self.snapshots.free(input),
            _ => self.streams.free(input),
        }
    }

    /// Lists in memory and texts.
    pub(super) fn list(&mut self, input: &mut Input<'_>) {
        match input.below(8) {
            0..=2 => self.find(input),
            3 => {
                let recipe = input.pick(&RECIPES);
                let (recipe, len) = text(input, recipe);
                let mut made = ptr::null_mut();
                let status = call!(self, nearprint_fingerprinter_new(recipe, len, &raw mut made));
                self.fingerprinters.add(made, status);
            }
            4 => self.fingerprint(input),
            5 => self.fingerprinters.free(input),
            6 => self.streams.free(input),
            _ => self.convert(input),
        }
    }

    fn query(&mut self, input: &mut Input<'_>) {
        let (snapshot, rows, k) = (self.snapshots.pick(input), Rows::new(input), input.k());
        let mut space = Space::new();
        let columns = space.columns(input);
        let columns_at = pointer(input, &raw const columns);
        let (fingerprint, mut count) = (rows.words(input), 0);
        let count_at = output(input, &mut count);
        let status = match input.below(3) {
            0 => {
                let (queries, limit) = (input.below(ROWS + 1), input.pick(&[usize::MAX, 0, 1, 2]));
                let queries = length(input, queries);
                let batch = match input.flag() {
                    false => nearprint_snapshot_query_batch,
                    true => nearprint_snapshot_nearest_batch,
                };
                call!(self, batch(snapshot, fingerprint, queries, k, limit, columns_at, count_at))
            }
            1 => call!(self, nearprint_snapshot_nearest(snapshot, fingerprint, k, columns_at, count_at)),
            _ => call!(self, nearprint_snapshot_query(snapshot, fingerprint, k, columns_at, count_at)),
        };
        let written = if status == NEARPRINT_OK { count.min(columns.capacity) } else { 0 };
        space.check(written, 4);
    }

    fn visit(&mut self, input: &mut Input<'_>) {
        let (snapshot, rows, k) = (self.snapshots.pick(input), Rows::new(input), input.k());
        let (fingerprints, count) = (rows.words(input), input.below(ROWS));
        let mut visits = Visits { left: u32::from(input.byte() % 16), stopped: false, snapshot };
        let context = (&raw mut visits).cast();
        self.watch.stopped.store(false, Ordering::Relaxed);
        let status = if input.flag() {
            let id = u64::from(input.byte() % 16);
            call!(self, nearprint_snapshot_visit_keys(snapshot, fingerprints, id, Some(visit_key), context))
        } else {
            let is_missing = input.below(8) == 7;
            let limit = input.pick(&[usize::MAX, 0, 1]);
            match input.flag() {
                false => {
                    let visit = if is_missing { None } else { Some(visit_matches as _) };
                    let ask = nearprint_snapshot_visit_matches;
                    call!(self, ask(snapshot, fingerprints, count, k, limit, visit, context))
                }
                true => {
                    let visit = if is_missing { None } else { Some(visit_keyed_match as _) };
                    let ask = nearprint_snapshot_visit_keyed_matches;
                    call!(self, ask(snapshot, fingerprints, count, k, limit, visit, context))
                }
            }
        };
        // Batches have progress, too.
        let stopped = visits.stopped || self.watch.stopped.load(Ordering::Relaxed);
        assert_eq!(status == NEARPRINT_STOPPED, stopped, "what stops is a callback");
    }

    fn stream(&mut self, input: &mut Input<'_>) {
        let (snapshot, k) = (self.snapshots.pick(input), input.k());
        let mut stream = ptr::null_mut();
        let at = &raw mut stream;
        let status = match input.below(7) {
            0 => call!(self, nearprint_snapshot_rows(snapshot, at)),
            1 => call!(self, nearprint_snapshot_pairs(snapshot, k, at)),
            2 => call!(self, nearprint_snapshot_row_pairs(snapshot, k, at)),
            3 => call!(self, nearprint_snapshot_clusters(snapshot, k, at)),
            6 => {
                let rows = Rows::new(input);
                let (queries, limit) = (rows.words(input), usize::from(input.byte()));
                call!(self, nearprint_snapshot_matches(snapshot, queries, ROWS, k, limit, at))
            }
            which => {
                let other = self.snapshots.pick(input);
                if which == 4 {
                    call!(self, nearprint_snapshot_cross(snapshot, other, k, at))
                } else {
                    call!(self, nearprint_snapshot_cross_rows(snapshot, other, k, at))
                }
            }
        };
        self.streams.add(stream, status);
    }

    fn next(&mut self, input: &mut Input<'_>) {
        let stream = self.streams.pick(input);
        let mut space = Space::new();
        let columns = space.columns(input);
        let columns_at = pointer(input, &raw const columns);
        let mut count = 0;
        let status = call!(self, nearprint_stream_next(stream, columns_at, &raw mut count));
        assert!(count <= columns.capacity && (status == NEARPRINT_OK || count == 0), "{count} rows");
        space.check(count, 4);
    }

    fn describe(&mut self, input: &mut Input<'_>) {
        let (snapshot, k) = (self.snapshots.pick(input), input.k());
        let (mut buffer, mut len) = ([7u8; 100], 0);
        let (at, capacity) = (buffer.as_mut_ptr().cast::<c_char>(), input.below(buffer.len() + 1));
        let at = pointer(input, at).cast_mut();
        let given = length(input, capacity);
        let len_at = output(input, &mut len);
        match input.below(6) {
            4 => {
                let mut similarity = 0.0;
                let similarity_at = output(input, &mut similarity);
                call!(self, nearprint_snapshot_similarity_of(snapshot, k, similarity_at))
            }
            5 => {
                let mut distance = 0;
                let distance_at = output(input, &mut distance);
                let similarity = input.pick(&[0.5, f64::NAN, -1.0, 2.0]);
                call!(self, nearprint_snapshot_distance_of(snapshot, similarity, distance_at))
            }
            0 => call!(self, nearprint_snapshot_layout(snapshot, at, given, len_at)),
            1 => call!(self, nearprint_snapshot_recipe(snapshot, at, given, len_at)),
            2 => call!(self, nearprint_snapshot_explain(snapshot, k, at, given, len_at)),
            _ => {
                let path = self.home.path().join("copy");
                let path = path.as_os_str().as_encoded_bytes();
                let path_len = length(input, path.len());
                call!(self, nearprint_snapshot_backup(snapshot, path.as_ptr().cast(), path_len))
            }
        };
        assert!(buffer[capacity..].iter().all(|&byte| byte == 7), "written beyond the capacity");
    }

    fn keys(&mut self, input: &mut Input<'_>) {
        let (snapshot, mut array, mut count) = (self.snapshots.pick(input), [7u64; 5], 0);
        let at = pointer(input, array.as_mut_ptr()).cast_mut();
        let count_at = output(input, &mut count);
        if input.flag() {
            let (key, key_len) = text(input, b"one");
            let capacity = length(input, 4);
            let everywhere = input.pick(&[0, 1, -1]);
            call!(
                self,
                nearprint_snapshot_ids_of_key(snapshot, key, key_len, everywhere, at, capacity, count_at)
            );
        } else {
            let id = u64::from(input.byte() % 16);
            let capacity = length(input, 1);
            call!(self, nearprint_snapshot_fingerprints_of(snapshot, id, at, capacity, count_at));
        }
        assert_eq!(array[4], 7, "written beyond the capacity");
    }

    fn find(&mut self, input: &mut Input<'_>) {
        let (rows, k) = (Rows::new(input), input.k());
        let (fingerprints, count) = (rows.words(input), input.below(ROWS + 1));
        let (width, count) = (input.pick(&[64, 64, 128, 256, 320, 63]), length(input, count));
        let (bands, bands_len) = match input.below(4) {
            3 => text(input, b"6x16"),
            2 => text(input, b"0x0"),
            _ => (ptr::null(), 0),
        };
        let mut stream = ptr::null_mut();
        let (at, options) = (&raw mut stream, ptr::null());
        let status = if input.flag() {
            call!(self, nearprint_find_all(width, fingerprints, count, k, bands, bands_len, options, at))
        } else {
            call!(self, nearprint_find_clusters(width, fingerprints, count, k, bands, bands_len, options, at))
        };
        self.streams.add(stream, status);
        self.next(input);
    }

    fn fingerprint(&mut self, input: &mut Input<'_>) {
        let fingerprinter: *mut nearprint_fingerprinter = self.fingerprinters.pick(input);
        let (mut words, mut len, content) = ([0; 5], 0, input.pick(&TEXTS));
        let (text, text_len) = text(input, content);
        let words_at = pointer(input, words.as_mut_ptr()).cast_mut();
        call!(self, nearprint_fingerprinter_fingerprint(fingerprinter, text, text_len, words_at));
        let mut features = 0;
        let count_at = output(input, &mut features);
        call!(self, nearprint_fingerprinter_count_features(fingerprinter, text, text_len, count_at));
        let (mut buffer, len_at) = ([0u8; 40], output(input, &mut len));
        let (at, capacity) = (buffer.as_mut_ptr().cast(), length(input, 40));
        if input.flag() {
            call!(self, nearprint_fingerprinter_recipe(fingerprinter, at, capacity, len_at));
        } else {
            call!(self, nearprint_fingerprinter_layout(fingerprinter, at, capacity, len_at));
        }
        let mut schema = Self::schema(input);
        let schema_at = output(input, &mut schema);
        call!(self, nearprint_fingerprinter_schema(fingerprinter, schema_at));
    }

    /// Fingerprints to text and back.
    fn convert(&mut self, input: &mut Input<'_>) {
        let width = input.pick(&[64, 128, 256, 320, 100]);
        let (rows, content) = (Rows::new(input), input.pick(&TEXTS));
        let (mut buffer, mut len, mut words) = ([0u8; 82], 0, [0; 5]);
        let (at, fingerprint) = (buffer.as_mut_ptr().cast(), rows.words(input));
        let status = call!(self, nearprint_format(width, fingerprint, at, buffer.len(), &raw mut len));
        if status == NEARPRINT_OK {
            let status = call!(self, nearprint_parse(width, at, len, words.as_mut_ptr()));
            assert_eq!(status, NEARPRINT_OK, "what it writes can be read");
            assert!(rows.begin_with(&words[..width as usize / 64]), "what it writes is the fingerprint");
        }
        let (text, text_len) = text(input, content);
        call!(self, nearprint_parse(width, text, text_len, words.as_mut_ptr()));
    }
}
