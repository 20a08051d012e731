//! The form for Windows. Files have the permissions that their folder hands down: a file that is moved on one volume
//! keeps what it has, and a copy has its time alone.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

pub(super) fn mode_of(_: &Metadata) -> u32 {
    0
}

pub(super) fn modified(found: &Metadata) -> io::Result<(i64, u32)> {
    let since = found.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Ok((i64::try_from(since.as_secs()).unwrap_or(0), since.subsec_nanos()))
}

pub(super) fn extended_of(_: &File) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
    Ok(Vec::new())
}

pub(super) fn has_capabilities(_: &File) -> bool {
    false
}

pub(super) fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

pub(super) fn set_extended(_: &File, _: &[u8], _: &[u8]) -> bool {
    false
}

pub(super) fn owner_of(_: &File) -> io::Result<(u32, u32)> {
    Ok((0, 0))
}

pub(super) fn set_owner(_: &File, _: (u32, u32)) -> bool {
    true
}

pub(super) fn own_user() -> u32 {
    0
}

/// A copy would take as much room as before.
pub(in super::super) fn share_blocks(_: &File, _: &Path, _: &Path) -> io::Result<File> {
    Err(io::Error::new(ErrorKind::Unsupported, "files of Windows share no blocks"))
}
