//! Space for deletions and merges on a full disk.
//!
//! A large database has a file `RESERVE`. Where the disk is full, a writer that makes room removes it, and so has
//! room itself: for a log, a manifest, and small merges. The next writer that closes puts it back.

use std::io;

use super::interface::Storage;
use super::names;

/// Smaller databases have no reserve.
const LEAST_DATABASE_BYTES: u64 = 16 << 20;
/// The part of a database that its reserve takes, in bytes at least and at most.
const SHARE: u64 = 64;
const LEAST_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 64 << 20;
static PIECE: [u8; 1 << 16] = [0; 1 << 16];

/// Makes the reserve of a database of so many bytes, or a larger one in its place, if the disk has room.
pub(crate) fn keep(storage: &dyn Storage, database_bytes: u64) {
    if database_bytes < LEAST_DATABASE_BYTES {
        return;
    }
    let wanted = (database_bytes / SHARE).clamp(LEAST_BYTES, MOST_BYTES);
    let has = storage.open(names::RESERVE).and_then(|file| file.len_bytes()).unwrap_or(0);
    if has >= wanted / 2 {
        return;
    }
    release(storage);
    if fill(storage, wanted).is_err() {
        release(storage);
    }
}

/// Removes the reserve. Says whether there was one.
pub(crate) fn release(storage: &dyn Storage) -> bool {
    storage.remove(names::RESERVE).is_ok()
}

/// Writes the reserve. It is not made durable: after a crash, a part of it is as good.
fn fill(storage: &dyn Storage, len_bytes: u64) -> io::Result<()> {
    let mut file = storage.create(names::RESERVE)?;
    (0..len_bytes).step_by(PIECE.len()).try_for_each(|at| file.write_all_at(&PIECE, at))
}
