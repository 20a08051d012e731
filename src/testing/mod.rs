//! Tests that need internals: power cuts and failing calls on a simulated disk, flipped bits, the
//! format document, databases of later programs, and the bodies of the fuzz targets.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod expiry;
#[cfg(test)]
pub(crate) mod files;
#[cfg(test)]
mod flips;
#[cfg(test)]
mod follow;
pub mod fuzzing;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod growth;
pub(crate) mod simulated;

/// A choice between the short and the long form of a test. `NEARPRINT_FULL=1` selects the long one.
#[cfg(test)]
fn short_or_full<T>(short: T, full: T) -> T {
    let is_full = std::env::var_os("NEARPRINT_FULL").is_some_and(|value| value == "1");
    if is_full { full } else { short }
}
