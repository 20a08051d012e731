//! Fingerprints as strings of bits.

/// A fingerprint, its most significant byte first: values are ordered as numbers are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Value(Vec<u8>);

impl Value {
    pub(crate) fn from_le_bytes(bytes: &[u8]) -> Self {
        Self(bytes.iter().rev().copied().collect())
    }

    pub(crate) fn le_bytes(&self) -> Vec<u8> {
        self.0.iter().rev().copied().collect()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.0.iter().all(|&byte| byte == 0)
    }

    fn bit(&self, at: u32) -> u64 {
        u64::from(self.0[at as usize / 8] >> (7 - at % 8) & 1)
    }

    /// Up to 64 bits from bit `start` on.
    pub(super) fn bits(&self, start: u32, len: u32) -> u64 {
        (start..start + len).fold(0, |bits, at| bits << 1 | self.bit(at))
    }

    /// In how many of `len` bits from bit `start` on two values differ.
    pub(super) fn distance(&self, other: &Self, start: u32, len: u32) -> u32 {
        if len as usize == self.0.len() * 8 {
            return self.0.iter().zip(&other.0).map(|(a, b)| (a ^ b).count_ones()).sum();
        }
        (start..start + len).map(|at| u32::from(self.bit(at) != other.bit(at))).sum()
    }

    /// The value with its bits in another order: bit i is bit `order[i]` of `self`.
    pub(super) fn permuted(&self, order: &[u32]) -> Self {
        let mut bytes = vec![0; self.0.len()];
        for (to, &from) in order.iter().enumerate() {
            bytes[to / 8] |= (self.0[from as usize / 8] >> (7 - from % 8) & 1) << (7 - to % 8);
        }
        Self(bytes)
    }

    /// The value whose permutation in this order is `self`.
    pub(super) fn restored(&self, order: &[u32]) -> Self {
        let mut inverse = vec![0; order.len()];
        (0..).zip(order).for_each(|(to, &from)| inverse[from as usize] = to);
        self.permuted(&inverse)
    }

    pub(super) fn hash(&self) -> u64 {
        let words = self.0.as_chunks().0.iter().map(|word| u64::from_be_bytes(*word));
        words.fold(None, |hash, word| Some(mix(word ^ hash.unwrap_or(0x9e37_79b9_7f4a_7c15)))).unwrap_or(0)
    }
}

/// The finalizer of MurmurHash3.
pub(super) fn mix(value: u64) -> u64 {
    let x = (value ^ value >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let x = (x ^ x >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ x >> 33
}

/// What a row adds to the row sum.
pub(super) fn row_hash(value: &Value, id: u64) -> u64 {
    mix(value.hash() ^ mix(id.wrapping_add(1)))
}
