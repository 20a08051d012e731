//! Rows of the temporary sorters.

use std::cmp::Ordering;
use std::fmt::Debug;

use nearprint::internal::Sortable;

/// Numbers to sort by, which are those of no other row, and a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct SortRow<const N: usize, V> {
    pub(super) by: [u64; N],
    pub(super) value: V,
}

/// A value that takes a fixed number of bytes.
pub(super) trait Packed: Copy + Debug + Send + Sync {
    const LEN_BYTES: usize;

    fn write_le(self, out: &mut Vec<u8>);

    /// Reads what `write_le` has written.
    fn read_le(bytes: &[u8]) -> Self;
}

impl Packed for () {
    const LEN_BYTES: usize = 0;

    fn write_le(self, _: &mut Vec<u8>) {}

    fn read_le(_: &[u8]) -> Self {}
}

impl<const N: usize, V> Ord for SortRow<N, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.by.cmp(&other.by)
    }
}

impl<const N: usize, V> PartialOrd for SortRow<N, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const N: usize, V> Eq for SortRow<N, V> {}

impl<const N: usize, V> PartialEq for SortRow<N, V> {
    fn eq(&self, other: &Self) -> bool {
        self.by == other.by
    }
}

impl<const N: usize, V: Packed> Sortable for SortRow<N, V> {
    const LEN_BYTES: usize = 8 * N + V::LEN_BYTES;

    fn write_le(self, out: &mut Vec<u8>) {
        self.by.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        self.value.write_le(out);
    }

    fn read_le(bytes: &[u8]) -> Self {
        let (by, value) = bytes.split_at(8 * N);
        let mut numbers = by.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        Self { by: std::array::from_fn(|_| numbers.next().unwrap_or_default()), value: V::read_le(value) }
    }
}
