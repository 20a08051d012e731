//! Pairs and clusters of arrays in memory.

use std::ffi::c_char;

use nearprint::any::{self, AnyStream};
use nearprint::{BandLayout, Near, Options, Result, Width};

use crate::call::Call;
use crate::error::nearprint_error;
use crate::settings::{self, nearprint_options, width_of};
use crate::status::nearprint_status;
use crate::stream::nearprint_stream;

/// Finds all pairs of distinct values of an array within `k` bits, each once, the smaller value
/// first. A thread searches a copy of the array, a few thousand pairs ahead of the caller: memory does
/// not grow with the pairs. Whatever the thread finds wrong, such as bands that do not fit, is returned by
/// nearprint_stream_next().
///
/// `fingerprints` has width / 64 words for each of `count` values. `bands` is null, or bands as in a
/// layout, such as `6x16`: then one of them must be equal, `k` compares the rest, and 0 is near nothing. `options` may
/// be null. `stream` receives the handle.
///
/// Columns: fingerprints, other_fingerprints, distances.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_find_all(
    width: u32,
    fingerprints: *const u64,
    count: usize,
    k: u32,
    bands: *const c_char,
    bands_len: usize,
    options: *const nearprint_options,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    let list = List { width, fingerprints, count, k, bands: (bands, bands_len), options };
    // SAFETY: The contract of the header.
    unsafe { list.search(stream, error, any::find_all) }
}

/// Finds the clusters of an array: values that are connected by pairs within `k` bits, two or more.
/// Clusters are numbered from 0 by their smallest value. Otherwise as nearprint_find_all().
///
/// Columns: groups (the number of the cluster), fingerprints.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_find_clusters(
    width: u32,
    fingerprints: *const u64,
    count: usize,
    k: u32,
    bands: *const c_char,
    bands_len: usize,
    options: *const nearprint_options,
    stream: *mut *mut nearprint_stream,
    error: *mut nearprint_error,
) -> nearprint_status {
    let list = List { width, fingerprints, count, k, bands: (bands, bands_len), options };
    // SAFETY: The contract of the header.
    unsafe { list.search(stream, error, any::find_clusters) }
}

/// The rows that a thread hands over at once.
const BLOCK_ROWS: usize = 4096;

/// The pointers of a list, and what is near.
struct List {
    width: u32,
    fingerprints: *const u64,
    count: usize,
    k: u32,
    bands: (*const c_char, usize),
    options: *const nearprint_options,
}

impl List {
    /// Begins a search.
    ///
    /// # Safety
    /// As [`Call::of`].
    unsafe fn search(
        self,
        stream: *mut *mut nearprint_stream,
        error: *mut nearprint_error,
        search: impl FnOnce(Width, &[u64], Near, Options, usize) -> Result<AnyStream>,
    ) -> nearprint_status {
        // SAFETY: As this function demands.
        unsafe { Call::of(error) }.run(|call| {
            let stream = call.new_handle(stream, "stream")?;
            let width = width_of(self.width)?;
            let values = call.words(self.fingerprints, width.words(), self.count, "fingerprints")?;
            let bands = call.optional_text(self.bands.0, self.bands.1, "bands")?;
            let near = Near { k: self.k, bands: bands.map(str::parse::<BandLayout>).transpose()? };
            let options = settings::options(call, self.options)?;
            stream.give(search(width, values, near, options, BLOCK_ROWS)?.into());
            Ok(())
        })
    }
}
