//! Tests that need the inside: power cuts and failing calls on a simulated disk, flipped bits, the
//! format document, and what the fuzz targets call.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod flips;
pub mod fuzzing;
#[cfg(test)]
mod golden;
pub(crate) mod simulated;
