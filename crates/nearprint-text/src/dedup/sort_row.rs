//! Rows of the temporary sorters.

use nearprint::Fingerprint;
use nearprint::internal::Sortable;

/// Numbers to sort by, and a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortRow<F, const N: usize>(pub(super) [u64; N], pub(super) F);

impl<F: Fingerprint, const N: usize> Sortable for SortRow<F, N> {
    const LEN_BYTES: usize = 8 * N + F::LEN_BYTES;

    fn write_le(self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
        self.1.write_le(out);
    }

    fn read_le(bytes: &[u8]) -> Self {
        let mut words = [0; N];
        words.iter_mut().zip(bytes.as_chunks::<8>().0).for_each(|(to, from)| *to = u64::from_le_bytes(*from));
        Self(words, F::read_le(bytes.get(8 * N..).unwrap_or_default()))
    }
}
