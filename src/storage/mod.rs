//! Access to files: one small trait between the engine and the operating system.
//!
//! The engine writes each file once, front to back within each section, and never changes it
//! afterwards. It also appends to one log, and replaces `MANIFEST` by rename. The [`Storage`] trait
//! has only these operations, so that a simulated disk can replace the real one in tests. This room
//! is independent of the formats of files.

mod bytes;
mod chosen_name;
mod folder;
mod guarded;
mod interface;
mod local;
mod lock;
mod memory;
pub(crate) mod names;
mod own_folder;
mod pace;
pub(crate) mod reserve;
mod staging;
#[cfg(test)]
mod tests;
mod work_folder;

pub(crate) use bytes::{Access, Bytes};
pub(crate) use folder::Folder;
pub(crate) use guarded::Guarded;
pub(crate) use interface::{Lock, ReadFile, Storage, WriteFile, read_growing, read_pieces, read_small};
pub(crate) use lock::{LockState, take_lock, wait_for_lock};
pub(crate) use memory::Memory;
pub use own_folder::{remove_own_folders, take_occupants};
pub(crate) use staging::{Staging, refuse_inside};
pub use work_folder::WorkFolder;
