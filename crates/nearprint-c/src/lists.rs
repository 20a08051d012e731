//! Pairs and clusters of arrays in memory.

use nearprint::internal::fingerprints;
use nearprint::{BandLayout, Error, Fingerprint, Near, Options, Result, Row, WidthVisitor, list};
use std::ffi::c_char;

use crate::call::Call;
use crate::columns::{Entry, Shape};
use crate::error::{Outcome, nearprint_error};
use crate::settings::{self, nearprint_options};
use crate::status::nearprint_status;
use crate::stream::nearprint_stream;
use crate::width::{width_of, words_of};

/// Finds all pairs of distinct values of an array within `k` bits, each once, the smaller value
/// first. A thread searches a copy of the array, a few thousand pairs ahead of the caller: memory does
/// not grow with the pairs.
///
/// `fingerprints` has width / 64 words for each of `count` values. `bands` is null, or bands as in a
/// layout, such as `6x16`: then one of them must be equal, and `k` compares the rest. `options` may
/// be null. `stream` receives the handle.
///
/// Columns: fingerprints, other_fingerprints, distances.
///
/// Threads: any.
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
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let stream = call.new_handle(stream, "stream")?;
        let width = width_of(width)?;
        let words = call.words(fingerprints, words_of(width), count, "fingerprints")?;
        let near = near(call, k, (bands, bands_len))?;
        let options = settings::options(call, options)?;
        stream.give(width.visit(FindAll { words, near, options })?);
        Ok(())
    })
}

/// Finds the clusters of an array: values that are connected by pairs within `k` bits, two or more.
/// Clusters are numbered from 0 by their smallest value. The work is done when the function returns,
/// and the clusters, at most `count` values, are in memory. Otherwise as nearprint_find_all().
///
/// Columns: groups (the number of the cluster), fingerprints.
///
/// Threads: any.
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
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(error) };
    call.run(|call| {
        let stream = call.new_handle(stream, "stream")?;
        let width = width_of(width)?;
        let words = call.words(fingerprints, words_of(width), count, "fingerprints")?;
        let near = near(call, k, (bands, bands_len))?;
        let options = settings::options(call, options)?;
        stream.give(width.visit(FindClusters { words, near, options })?);
        Ok(())
    })
}

fn near(call: &Call, k: u32, (bands, bands_len): (*const c_char, usize)) -> Outcome<Near> {
    let bands = call.optional_text(bands, bands_len, "bands")?;
    Ok(Near { k, bands: bands.map(str::parse::<BandLayout>).transpose()? })
}

struct FindAll<'a> {
    words: &'a [u64],
    near: Near,
    options: Options,
}

impl WidthVisitor for FindAll<'_> {
    type Output = Result<nearprint_stream>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        let values = fingerprints::<F>(self.words).collect();
        list::pairs(values, self.near, &self.options).map(nearprint_stream::pairs)
    }
}

struct FindClusters<'a> {
    words: &'a [u64],
    near: Near,
    options: Options,
}

impl WidthVisitor for FindClusters<'_> {
    type Output = Result<nearprint_stream>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        let (mut members, mut cluster) = (Vec::new(), 0);
        list::visit_clusters(fingerprints::<F>(self.words).collect(), self.near, &self.options, |values| {
            members.extend(values.iter().map(|&value| (cluster, value)));
            cluster += 1;
            Ok::<(), Error>(())
        })?;
        let entry = |(cluster, fingerprint)| Ok(Entry::of_row(cluster, Row { fingerprint, id: 0 }));
        Ok(nearprint_stream::new(Shape::LIST_CLUSTERS, members.into_iter().map(entry)))
    }
}
