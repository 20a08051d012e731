//! What the memory of this machine gives: the figures that the engine's are compared with.
//!
//! One thread, over a buffer of `NEARPRINT_BENCH_MB` (1,024 by default), far more than the caches
//! hold.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    missing_docs,
    unreachable_pub,
    reason = "not shipped"
)]

use std::sync::OnceLock;

use divan::{Bencher, black_box, counter::BytesCount, counter::ItemsCount};
use testkit::Random;

fn main() {
    divan::main();
}

const LOADS: usize = 1_000_000;
/// Words of a line of the cache.
const LINE: usize = 8;

fn buffer() -> &'static [u64] {
    static BUFFER: OnceLock<Vec<u64>> = OnceLock::new();
    BUFFER.get_or_init(|| {
        let megabytes = std::env::var("NEARPRINT_BENCH_MB").map_or(1024, |text| text.parse().unwrap());
        let mut random = Random(1);
        (0..megabytes << 17).map(|_| random.next()).collect()
    })
}

/// Each load says where the next one goes: how long a round of a query takes at least.
#[divan::bench(sample_count = 10)]
fn loads_one_after_the_other(bencher: Bencher<'_, '_>) {
    let buffer = buffer();
    let lines = buffer.len() / LINE;
    bencher.counter(ItemsCount::new(LOADS)).bench_local(|| {
        (0..LOADS as u64).fold(0, |at, turn| {
            buffer[(at ^ turn).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % lines * LINE]
        })
    });
}

/// Loads that do not wait for each other: how long a line takes at least.
#[divan::bench(sample_count = 10)]
fn loads_side_by_side(bencher: Bencher<'_, '_>) {
    let buffer = buffer();
    let lines = buffer.len() / LINE;
    bencher.counter(ItemsCount::new(LOADS)).bench_local(|| {
        let mut random = Random(black_box(7));
        (0..LOADS).fold(0, |sum: u64, _| sum.wrapping_add(buffer[random.next() as usize % lines * LINE]))
    });
}

/// Everything in order.
#[divan::bench(sample_count = 10)]
fn in_order(bencher: Bencher<'_, '_>) {
    let buffer = buffer();
    bencher
        .counter(BytesCount::new(buffer.len() * 8))
        .bench_local(|| buffer.iter().fold(0, |sum: u64, &word| sum ^ word));
}

/// Buckets of a query, of so many words each, all requested before the first one is read: into the
/// first level of the cache or into the second.
#[cfg(target_arch = "x86_64")]
#[divan::bench(args = [(4, 384, 1), (4, 384, 2), (68, 80, 1), (68, 80, 2)], sample_count = 10)]
fn buckets_requested_before(bencher: Bencher<'_, '_>, (buckets, words, level): (usize, usize, u32)) {
    use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

    let buffer = buffer();
    let request = |line: &[u64]| {
        let address = line.as_ptr().cast();
        // SAFETY: a prefetch is a hint. It never faults, whatever the address.
        unsafe {
            if level == 1 {
                _mm_prefetch::<_MM_HINT_T0>(address)
            } else {
                _mm_prefetch::<_MM_HINT_T1>(address)
            }
        }
    };
    let queries = LOADS / (buckets * words);
    let mut random = Random(7);
    bencher.counter(BytesCount::new(queries * buckets * words * 8)).bench_local(|| {
        (0..queries).fold(0, |sum: u64, _| {
            let starts = (0..buckets).map(|_| random.next() as usize % (buffer.len() - words));
            let buckets: Vec<&[u64]> = starts.map(|start| &buffer[start..start + words]).collect();
            buckets.iter().for_each(|bucket| bucket.chunks(LINE).for_each(request));
            buckets.iter().flat_map(|bucket| bucket.iter()).fold(sum, |sum, &word| sum ^ word)
        })
    });
}
