//! Conversions between number types that are lossless here.

/// Converts a number to an index. `format` checks at compile time that addresses have 64 bits.
#[inline]
pub(crate) const fn to_usize(value: u64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits")]
    let index = value as usize;
    index
}

/// The lower 32 bits of a word.
#[inline]
pub(crate) fn low_half(word: u64) -> u32 {
    to_u32(to_usize(word & u64::from(u32::MAX)))
}

/// Converts an index below 2^32 to 32 bits, for example the number of an entry, a bucket or a
/// query.
#[inline]
pub(crate) fn to_u32(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok(), "{value} exceeds 32 bits");
    #[expect(clippy::cast_possible_truncation, reason = "checked above, and guaranteed by every caller")]
    let low = value as u32;
    low
}
