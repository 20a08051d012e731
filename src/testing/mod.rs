//! Tests that need internals: power cuts and failing calls on a simulated disk, flipped bits, the format
//! document, and the bodies of the fuzz targets.

#[cfg(test)]
mod crash;
#[cfg(test)]
mod flips;
pub mod fuzzing;
#[cfg(test)]
mod golden;
pub(crate) mod simulated;
