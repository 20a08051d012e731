//! What a recipe costs.

use std::time::Duration;

use nearprint::{Explanation, Width};

use crate::error::Result;
use crate::recipe::Recipe;

/// The rows of the database that a [`Cost`] is for.
pub const COST_ROWS: u64 = 10_000_000;

/// Bytes of an id that is a number in order.
const ID_BYTES: f64 = 4.0;

/// What the fingerprints of a recipe cost in a database of [`COST_ROWS`] different ones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// Bytes of a row on disk, with a number as its id and without a key.
    pub row_bytes: f64,
    /// Time of one query with cached files on one core, by the engine's model. See
    /// [`RunExplanation::nanoseconds`](nearprint::RunExplanation::nanoseconds).
    pub query: Duration,
}

impl Cost {
    /// The cost of a recipe with a k, in a database whose layout is chosen for both.
    ///
    /// # Errors
    /// Those of [`Explanation::imagine`], for a k that the recipe cannot have.
    pub fn of(recipe: &Recipe, k: u32) -> Result<Self> {
        Self::with_rows(recipe, k, COST_ROWS)
    }

    fn with_rows(recipe: &Recipe, k: u32, rows: u64) -> Result<Self> {
        let width = recipe.width();
        let run = Explanation::imagine(width, rows, k, &recipe.schema().k(k))?.runs.swap_remove(0);
        // A postings file has the ids and, of wide fingerprints, their values: see FORMAT.md.
        let value_bytes = if width == Width::W64 { 0.0 } else { f64::from(width.bits() / 8) };
        let row_bytes = run.table_bytes + ID_BYTES + value_bytes;
        Ok(Self { row_bytes, query: Duration::from_secs_f64(run.nanoseconds / 1e9) })
    }
}

/// The processor time that the calling thread has used.
#[cfg(unix)]
pub fn thread_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The time since the first call: std does not have the processor time of a thread.
#[cfg(windows)]
pub fn thread_cpu_time() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearprint::{Database, Fingerprint, KeyStorage, Row, U256, internal::mix64};

    /// Bytes of a row in a database on disk.
    fn stored<F: Fingerprint>(recipe: &Recipe, rows: u64) -> f64 {
        let home = tempfile::tempdir().unwrap();
        let schema = recipe.schema().keys(KeyStorage::None);
        let mut builder = Database::<F>::build(home.path().join("rows.np"), &schema).unwrap();
        for id in 0..rows {
            let words = [1, 2, 3, 4].map(|word| mix64(id * 4 + word));
            builder.push(Row { fingerprint: F::from_le_words(&words), id }).unwrap();
        }
        let stats = builder.finish().unwrap().snapshot().unwrap().stats();
        stats.bytes as f64 / rows as f64
    }

    #[test]
    fn rows_take_as_many_bytes_as_computed() {
        const ROWS: u64 = 300_000;
        let check = |recipe: &str, stored: fn(&Recipe, u64) -> f64| {
            let recipe: Recipe = recipe.parse().unwrap();
            let computed = Cost::with_rows(&recipe, recipe.default_k(), ROWS).unwrap().row_bytes;
            let ratio = computed / stored(&recipe, ROWS);
            assert!((0.97..1.03).contains(&ratio), "{recipe}: {computed}, {ratio}");
        };
        check("simhash", stored::<u64>);
        check("simhash width=128", stored::<u128>);
        check("minhash", stored::<U256>);
        check("minhash hash=minhash:8x16,3", stored::<U256>);
    }

    #[test]
    fn larger_k_take_longer() {
        let query = |recipe: &str, k| Cost::of(&recipe.parse().unwrap(), k).unwrap().query;
        assert!(query("simhash", 16) > query("simhash", 3) * 10);
        assert!(query("minhash", 80) < query("simhash", 16), "bands take as many look-ups for any k");
    }

    #[test]
    fn processor_time_passes_while_a_thread_works() {
        let before = thread_cpu_time();
        let work = (0..1_000_000u64).fold(0, |sum, at| sum ^ mix64(at));
        assert!(thread_cpu_time() > before, "{work}");
    }
}
