//! Lists of what has a hash.

/// Values by their hashes, in memory: 24 bytes for a value of 16.
#[derive(Debug, Default)]
pub(crate) struct Postings<T> {
    /// Ascending.
    postings: Vec<(u64, T)>,
    /// For each value of the leading bits of a hash, where its postings begin; then their end.
    starts: Vec<usize>,
    /// The bits of a hash that are not leading.
    shift: u32,
}

impl<T: Ord> Postings<T> {
    pub(crate) fn new(mut postings: Vec<(u64, T)>) -> Self {
        postings.sort_unstable();
        let bits = postings.len().max(2).ilog2();
        let mut starts = vec![0; (1 << bits) + 1];
        for (hash, _) in &postings {
            starts[prefix(*hash, 64 - bits) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self { postings, starts, shift: 64 - bits }
    }

    /// The values with a hash, ascending.
    pub(crate) fn with_hash(&self, hash: u64) -> &[(u64, T)] {
        let prefix = prefix(hash, self.shift);
        let bucket = &self.postings[self.starts[prefix]..self.starts[prefix + 1]];
        let start = bucket.partition_point(|posting| posting.0 < hash);
        let len = bucket[start..].partition_point(|posting| posting.0 == hash);
        &bucket[start..start + len]
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the index of an element of memory")]
fn prefix(hash: u64, shift: u32) -> usize {
    (hash >> shift) as usize
}
