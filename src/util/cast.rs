//! Conversions between number types that cannot lose anything here, each said once.

/// A number as an index: addresses have 64 bits, which `format` checks at compile time.
#[inline]
pub(crate) const fn to_usize(value: u64) -> usize {
    #[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits")]
    let index = value as usize;
    index
}

/// An index below 2^32, such as an entry of a run, a cell or a query of a group, as 32 bits.
#[inline]
pub(crate) fn to_u32(value: usize) -> u32 {
    debug_assert!(u32::try_from(value).is_ok(), "{value} was said to fit 32 bits");
    #[expect(clippy::cast_possible_truncation, reason = "checked above, and by whoever calls")]
    let low = value as u32;
    low
}
