//! Binary searches that begin at a likely place.

use std::ops::Range;

/// The first index of a range for which `is_before` is false, or its end. Indexes for which it is true come
/// first.
#[inline]
pub(crate) fn partition<E>(
    range: Range<usize>,
    is_before: impl Fn(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let Range { start: mut low, end: mut high } = range;
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle)? { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

/// The same for `0..len`. Looks around `likely`, at most `len`: first `near` indexes away, then twice as far,
/// and so on.
#[inline]
pub(crate) fn partition_near<E>(
    len: usize,
    (likely, near): (usize, usize),
    is_before: impl Fn(usize) -> Result<bool, E>,
) -> Result<usize, E> {
    let (mut low, mut high, mut step) = (likely, likely, near);
    while low > 0 && !is_before(low - 1)? {
        (high, low) = (low - 1, low.saturating_sub(step));
        step *= 2;
    }
    while high < len && is_before(high)? {
        (low, high) = (high + 1, (high + step).min(len));
        step *= 2;
    }
    partition(low..high, is_before)
}
