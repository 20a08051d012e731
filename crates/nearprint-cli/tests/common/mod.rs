//! What the test binaries share: the data and brute force of the engine's tests, and ways to run
//! programs.

pub mod cli;
#[path = "../../../../tests/common/mod.rs"]
mod data;

#[allow(unused_imports, reason = "each test binary uses its own part")]
pub use data::*;
