//! The fingerprints of texts that were read lately.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};

use crate::recipe::{AnyFingerprinter, Fingerprinted};
use nearprint::any::AnyFingerprint;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Texts that are remembered: a power of two.
const SLOTS: usize = 1 << 13;
/// Slots behind one lock.
const SHARD: usize = 1 << 7;
/// Shorter texts cost less than the look-up.
const SHORT_BYTES: usize = 64;

/// The hash of a text, and its fingerprint.
type Slot = Option<(u128, Fingerprinted<AnyFingerprint>)>;

/// The fingerprints of texts that were read lately, shared by all threads. A repeat is only
/// hashed.
///
/// The seed of the hash is random, so that no text can be made to take the place of another.
pub(crate) struct RecentTexts {
    shards: Vec<Mutex<Vec<Slot>>>,
    seed: u64,
}

impl RecentTexts {
    pub(crate) fn new() -> Self {
        let shards = (0..SLOTS / SHARD).map(|_| Mutex::new(Vec::new())).collect();
        Self { shards, seed: RandomState::new().hash_one(0) }
    }

    /// The fingerprint of a text.
    pub(crate) fn fingerprint(
        &self,
        text: &str,
        fingerprinter: &mut AnyFingerprinter,
    ) -> Fingerprinted<AnyFingerprint> {
        if text.len() < SHORT_BYTES {
            return fingerprinter.fingerprint(text);
        }
        let hash = xxh3_128_with_seed(text.as_bytes(), self.seed);
        let slot = hash as usize % SLOTS;
        let shard = || self.shards[slot / SHARD].lock().unwrap_or_else(PoisonError::into_inner);
        let known = shard().get(slot % SHARD).cloned().flatten();
        if let Some((_, fingerprinted)) = known.filter(|(known, _)| *known == hash) {
            return fingerprinted;
        }
        let fingerprinted = fingerprinter.fingerprint(text);
        let mut shard = shard();
        shard.resize(SHARD, None);
        shard[slot % SHARD] = Some((hash, fingerprinted.clone()));
        fingerprinted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    #[test]
    fn equal_texts_have_the_same_fingerprint_on_all_threads() {
        let recent = RecentTexts::new();
        let fingerprinter = "simhash".parse::<Recipe>().unwrap().any_fingerprinter();
        let text = |number: usize| {
            format!("{number} and more words than fit below the limit, many of them equal to others ")
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let (mut with, mut without) = (fingerprinter.clone(), fingerprinter.clone());
                    for number in 0..3000 {
                        let text = text(number * number % 500);
                        assert_eq!(recent.fingerprint(&text, &mut with), without.fingerprint(&text));
                    }
                });
            }
        });
        let slots = recent.shards.iter().flat_map(|shard| shard.lock().unwrap().clone());
        assert!(slots.flatten().count() > 90, "most of the 106 texts are remembered");
    }
}
