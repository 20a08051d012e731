//! A disk in memory that can lose power at any call, for tests of the remaining content.
//!
//! It guarantees no more than a file system. The content and length of a file are durable once the
//! file is synced, and its name once the folder is synced. Until then each folder operation, each
//! length and each sector is kept or lost independently, in any order.

mod disk;
mod medium;
#[cfg(test)]
mod tests;

pub(crate) use disk::SimulatedDisk;
pub(crate) use medium::Doubt;
