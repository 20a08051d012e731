//! The bits of a fingerprint: what the engine works with and users do not need.
//!
//! Bits are counted from the most significant one: bit 0 is the leading bit, which is the order in
//! which tables sort.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitXor, Not};

/// Operations on bits. Seals [`Fingerprint`](super::Fingerprint): the file format defines its
/// widths.
pub trait Bits:
    Copy + Default + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self> + Not<Output = Self>
{
    /// The number of one bits.
    fn count_ones(self) -> u32;

    /// Rotates towards the most significant bit by `bits` (taken modulo the width).
    #[must_use]
    fn rotate_left(self, bits: u32) -> Self;

    /// The `len` bits that start at bit `start`, as a number.
    ///
    /// `start + len` must not exceed the width, and `len` not 64; checked in debug builds.
    fn bits(self, start: u32, len: u32) -> u64;

    /// The value whose bits `start..start + len` are the low `len` bits of `value` and whose other
    /// bits are zero. The same bounds as [`bits`](Bits::bits).
    fn from_bits(value: u64, start: u32, len: u32) -> Self;

    /// A well-mixed 64-bit hash, added up by the format's order-independent sums.
    fn hash64(self) -> u64;

    /// Writes the text form: decimal for 64 bits, `0x` and all hexadecimal digits for wider values.
    ///
    /// # Errors
    /// Those of the formatter.
    fn print(self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Appends the little-endian bytes.
    fn write_le(self, out: &mut Vec<u8>);

    /// Reads as many little-endian bytes as the value has; fewer give zero.
    fn read_le(bytes: &[u8]) -> Self;

    /// The value with ones at bits `start..start + len` and zeros elsewhere.
    #[must_use]
    fn ones(start: u32, len: u32) -> Self {
        let mut mask = Self::default();
        let mut done = 0;
        while done < len {
            let step = (len - done).min(64);
            mask = mask | Self::from_bits(u64::MAX, start + done, step);
            done += step;
        }
        mask
    }
}

/// The 64-bit finalizer of MurmurHash3 (Austin Appleby, public domain): every input bit changes
/// every output bit with a chance of about one half.
#[inline]
pub fn mix64(value: u64) -> u64 {
    let mut x = value;
    x ^= x >> 33;
    x = x.wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^= x >> 33;
    x = x.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
