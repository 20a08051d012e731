//! Fingerprints of 64, 128 and 256 bits side by side, and a plain scan of the widest.
//!
//! `NEARPRINT_BENCH_ROWS=10000000 cargo bench --bench wide` chooses the number of rows (1,000,000
//! by default), `NEARPRINT_KERNEL=scalar` the filter kernel; `-- U256` or `-- point_query` picks by
//! name. The data come from a fixed seed; 5% of the fingerprints are near another one, queries are
//! half near and half random. Queries are held against a scan first.

#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::PathBuf;
use std::sync::OnceLock;

use common::Random;
use divan::{Bencher, black_box, counter::ItemsCount};
use nearprint::{Fingerprint, Options, Schema, Snapshot, U256, list};

fn main() {
    common::choose_kernel();
    divan::main();
    let made = [u64::made(), u128::made(), U256::made()];
    made.into_iter().flatten().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
}

/// The data of one width, made once.
struct Corpus<F> {
    values: Vec<F>,
    queries: Vec<F>,
    folder: PathBuf,
}

/// A width with its data and the distances of its queries. The layout is tuned for the first one.
trait Width: Fingerprint {
    const KS: &'static [u32];
    fn cell() -> &'static OnceLock<Corpus<Self>>;

    fn corpus() -> &'static Corpus<Self> {
        Self::cell().get_or_init(make)
    }

    fn made() -> Option<&'static PathBuf> {
        Self::cell().get().map(|corpus| &corpus.folder)
    }
}

macro_rules! width {
    ($F:ty, $ks:expr) => {
        impl Width for $F {
            const KS: &'static [u32] = &$ks;

            fn cell() -> &'static OnceLock<Corpus<Self>> {
                static CORPUS: OnceLock<Corpus<$F>> = OnceLock::new();
                &CORPUS
            }
        }
    };
}

width!(u64, [3, 7]);
width!(u128, [3, 10]);
width!(U256, [31, 3, 40]);

const QUERIES: usize = 20_000;

fn make<F: Width>() -> Corpus<F> {
    let rows = std::env::var("NEARPRINT_BENCH_ROWS").map_or(1_000_000, |rows| rows.parse().unwrap());
    let k = u64::from(F::KS[0]);
    let mut random = Random(42);
    let mut values: Vec<F> = (0..rows).map(|_| random.value()).collect();
    for at in 0..rows / 20 {
        let other = values[random.below(rows as u64) as usize];
        values[at * 20] = random.near(other, k);
    }
    let query = |at: usize| match at % 2 {
        0 => {
            let stored = values[random.below(rows as u64) as usize];
            random.near(stored, k)
        }
        _ => random.value(),
    };
    let queries: Vec<F> = (0..QUERIES).map(query).collect();
    let folder = std::env::temp_dir().join(format!("nearprint-wide-{}-{}", F::BITS, std::process::id()));
    let snapshot = build(&folder.join("corpus.np"), &values, 2);
    for &query in &queries[..20] {
        let near = |value: &&F| value.distance(query) <= F::KS[0];
        assert_eq!(snapshot.query(query, F::KS[0]).unwrap().len(), values.iter().filter(near).count());
    }
    let stats = snapshot.stats();
    println!(
        "{} bits: {:.1} bytes a row, {}",
        F::BITS,
        stats.bytes as f64 / rows as f64,
        stats.runs[0].layout
    );
    Corpus { values, queries, folder }
}

fn build<F: Width>(path: &std::path::Path, values: &[F], threads: usize) -> Snapshot<F> {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let options = Options::new().memory_bytes(1 << 30).threads(threads);
    let mut builder = options.build::<F>(path, &Schema::new().k(F::KS[0])).unwrap();
    for &value in values {
        builder.push(value).unwrap();
    }
    builder.finish().unwrap().snapshot().unwrap()
}

fn open<F: Width>(threads: usize) -> Snapshot<F> {
    let path = F::corpus().folder.join("corpus.np");
    Options::new().threads(threads).open::<F>(path).unwrap().snapshot().unwrap()
}

#[divan::bench(types = [u64, u128, U256], sample_count = 3)]
fn build_durable<F: Width>(bencher: Bencher<'_, '_>) {
    let corpus = F::corpus();
    let path = corpus.folder.join("again.np");
    bencher.counter(ItemsCount::new(corpus.values.len())).bench_local(|| {
        drop(build(&path, &corpus.values, 2));
        std::fs::remove_dir_all(&path).unwrap();
    });
}

fn point_queries<F: Width>(bencher: Bencher<'_, '_>, nth: usize) {
    let snapshot = open::<F>(1);
    let queries = &F::corpus().queries[..if nth == 0 { QUERIES } else { QUERIES / 10 }];
    let found = |query: &F| snapshot.query(*query, F::KS[nth]).unwrap().len();
    let expected: usize = queries.iter().map(found).sum();
    bencher.counter(ItemsCount::new(queries.len())).bench_local(|| {
        assert_eq!(queries.iter().map(found).sum::<usize>(), expected);
    });
}

#[divan::bench(types = [u64, u128, U256], sample_count = 20)]
fn point_query<F: Width>(bencher: Bencher<'_, '_>) {
    point_queries::<F>(bencher, 0);
}

#[divan::bench(types = [u64, u128, U256], sample_count = 20)]
fn point_query_of_other_k<F: Width>(bencher: Bencher<'_, '_>) {
    point_queries::<F>(bencher, 1);
}

#[divan::bench(sample_count = 20)]
fn point_query_within_40(bencher: Bencher<'_, '_>) {
    point_queries::<U256>(bencher, 2);
}

#[divan::bench(types = [u64, u128, U256], args = [1, 2], sample_count = 10)]
fn batch<F: Width>(bencher: Bencher<'_, '_>, threads: usize) {
    let (snapshot, queries) = (open::<F>(threads), &F::corpus().queries);
    let ask = || {
        let mut found = 0;
        let count = |_, matches: &[nearprint::Match<F>]| {
            found += matches.len();
            Ok::<(), nearprint::Error>(())
        };
        snapshot.query_batch(queries, F::KS[0], count).unwrap();
        found
    };
    let expected = ask();
    bencher.counter(ItemsCount::new(queries.len())).bench_local(|| assert_eq!(ask(), expected));
}

#[divan::bench(types = [u64, u128, U256], args = [1, 2], sample_count = 3)]
fn pairs_of_a_database<F: Width>(bencher: Bencher<'_, '_>, threads: usize) {
    let snapshot = open::<F>(threads);
    bencher.bench_local(|| {
        let mut found = 0;
        snapshot
            .visit_pairs(F::KS[0], |block| {
                found += block.len();
                Ok::<(), nearprint::Error>(())
            })
            .unwrap();
        assert!(found > 0);
        found
    });
}

#[divan::bench(types = [u64, u128, U256], args = [1, 2], sample_count = 3)]
fn pairs_of_a_list<F: Width>(bencher: Bencher<'_, '_>, threads: usize) {
    let values = &F::corpus().values;
    let options = Options::new().threads(threads);
    bencher.bench_local(|| {
        let mut found = 0;
        list::visit_pairs(values.clone(), F::KS[0], &options, |block| {
            found += block.len();
            Ok::<(), nearprint::Error>(())
        })
        .unwrap();
        assert!(found > 0);
        found
    });
}

/// What there is to win: every value compared with every query, one after the other.
#[divan::bench(sample_count = 20)]
fn scan_of_256_bits(bencher: Bencher<'_, '_>) {
    let corpus = U256::corpus();
    let words: Vec<[u64; 4]> = corpus.values.iter().map(|value| value.to_words()).collect();
    for query in &corpus.queries[..10] {
        let near = |value: &&U256| value.distance(*query) <= U256::KS[0];
        let expected = corpus.values.iter().filter(near).count();
        assert_eq!(count_near(&words, query.to_words(), U256::KS[0]), expected);
    }
    let mut queries = corpus.queries.iter().cycle().map(|query| query.to_words());
    bencher.bench_local(|| black_box(count_near(&words, queries.next().unwrap(), U256::KS[0])));
}

fn count_near(words: &[[u64; 4]], query: [u64; 4], k: u32) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vpopcntdq") {
        // SAFETY: the processor has both extensions.
        return unsafe { count_near_avx512(words, query, k) };
    }
    words.iter().filter(|value| distance(value, query) <= k).count()
}

#[inline(always)]
fn distance(value: &[u64; 4], query: [u64; 4]) -> u32 {
    value.iter().zip(query).map(|(word, query)| (word ^ query).count_ones()).sum()
}

/// Two values a step: eight words are counted at once, and their counts added up in halves.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vpopcntdq")]
fn count_near_avx512(words: &[[u64; 4]], query: [u64; 4], k: u32) -> usize {
    use std::arch::x86_64::{
        _mm512_add_epi64, _mm512_cmple_epu64_mask, _mm512_loadu_si512, _mm512_popcnt_epi64,
        _mm512_set1_epi64, _mm512_set4_epi64, _mm512_shuffle_i64x2, _mm512_unpackhi_epi64,
        _mm512_unpacklo_epi64, _mm512_xor_si512,
    };
    let [a, b, c, d] = query.map(u64::cast_signed);
    let query_lanes = _mm512_set4_epi64(d, c, b, a);
    let limit = _mm512_set1_epi64(i64::from(k));
    let (rounds, rest) = words.as_chunks::<8>();
    let mut found = 0;
    for round in rounds {
        let (pairs, _) = round.as_chunks::<2>();
        let counts = |pair: usize| {
            // SAFETY: a pair has the 64 bytes that an unaligned load reads.
            let lanes = unsafe { _mm512_loadu_si512(pairs[pair].as_ptr().cast()) };
            _mm512_popcnt_epi64(_mm512_xor_si512(lanes, query_lanes))
        };
        // Halves of each value's words, then halves of those: eight sums.
        let halves = |x, y| _mm512_add_epi64(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
        let (left, right) = (halves(counts(0), counts(1)), halves(counts(2), counts(3)));
        let sums = _mm512_add_epi64(
            _mm512_shuffle_i64x2::<0b10_00_10_00>(left, right),
            _mm512_shuffle_i64x2::<0b11_01_11_01>(left, right),
        );
        found += _mm512_cmple_epu64_mask(sums, limit).count_ones() as usize;
    }
    found + rest.iter().filter(|value| distance(value, query) <= k).count()
}
