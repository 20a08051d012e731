//! Rows of the temporary sorters.

use nearprint::internal::Sortable;

/// Numbers to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortRow<const N: usize>(pub(super) [u64; N]);

impl<const N: usize> Sortable for SortRow<N> {
    const LEN_BYTES: usize = 8 * N;

    fn write_le(self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    }

    fn read_le(bytes: &[u8]) -> Self {
        let mut numbers = bytes.as_chunks::<8>().0.iter().map(|number| u64::from_le_bytes(*number));
        Self(std::array::from_fn(|_| numbers.next().unwrap_or_default()))
    }
}
