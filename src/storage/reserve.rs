//! Space for deletions and merges on a full disk.
//!
//! A large database has a file `RESERVE`. Where the disk is full, a writer that makes room removes it, and so has
//! room itself: for a log, a manifest, and small merges. The next writer that makes a run or closes puts it back.

use std::io;

use super::interface::{Storage, WriteFile};
use super::names;
use crate::util::cast::to_usize;

/// Smaller databases have no reserve.
const LEAST_DATABASE_BYTES: u64 = 16 << 20;
/// The part of a database that its reserve takes, in bytes at least and at most.
const SHARE: u64 = 64;
const LEAST_BYTES: u64 = 1 << 20;
const MOST_BYTES: u64 = 64 << 20;
/// What shows that a file is a reserve.
const HEAD_BYTES: u64 = 4096;
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
    if !make(storage, wanted) && has > 0 {
        // As much as there was has room again.
        make(storage, has);
    }
}

/// Makes a reserve of this length, or none. Says whether there is one now.
fn make(storage: &dyn Storage, len_bytes: u64) -> bool {
    // One that cannot be created is somebody else's.
    let Ok(file) = storage.create(names::RESERVE) else { return false };
    let is_made = fill(file, len_bytes).is_ok();
    if !is_made {
        release(storage);
    }
    is_made
}

/// Removes the reserve. Says whether there was one: a file of this name that does not begin with zeros is somebody
/// else's, and stays.
pub(crate) fn release(storage: &dyn Storage) -> bool {
    let begins_with_zeros = || {
        let file = storage.open(names::RESERVE)?;
        let mut start = vec![0; to_usize(file.len_bytes()?.min(HEAD_BYTES))];
        file.read_exact_at(&mut start, 0)?;
        Ok::<bool, io::Error>(start.iter().all(|&byte| byte == 0))
    };
    begins_with_zeros().unwrap_or(false) && storage.remove(names::RESERVE).is_ok()
}

/// Writes the reserve. It is not made durable: after a crash, a part of it is as good.
fn fill(mut file: Box<dyn WriteFile>, len_bytes: u64) -> io::Result<()> {
    (0..len_bytes).step_by(PIECE.len()).try_for_each(|at| file.write_all_at(&PIECE, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Folder;
    use crate::testing::simulated::SimulatedDisk;

    #[test]
    fn regression_a_reserve_that_cannot_grow_stays() {
        let disk = SimulatedDisk::new();
        let len_bytes = || disk.file_bytes(names::RESERVE).map_or(0, |bytes| bytes.len() as u64);
        keep(&disk, LEAST_DATABASE_BYTES);
        let before = disk.calls();
        keep(&disk, LEAST_DATABASE_BYTES);
        assert_eq!((disk.calls() - before, len_bytes()), (2, LEAST_BYTES));
        // In the middle of the larger one.
        disk.fail_at(disk.calls() + 30, io::ErrorKind::StorageFull);
        keep(&disk, 4 * SHARE * LEAST_BYTES);
        assert_eq!(len_bytes(), LEAST_BYTES);
        keep(&disk, 4 * SHARE * LEAST_BYTES);
        assert_eq!(len_bytes(), 4 * LEAST_BYTES);
    }

    #[test]
    fn a_foreign_file_of_this_name_stays() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        keep(&folder, LEAST_DATABASE_BYTES);
        assert_eq!(folder.open(names::RESERVE).unwrap().len_bytes().unwrap(), LEAST_BYTES);
        assert!(release(&folder) && !release(&folder));
        folder.create(names::RESERVE).unwrap().write_all_at(b"mine", 0).unwrap();
        assert!(!release(&folder));
        keep(&folder, LEAST_DATABASE_BYTES);
        assert_eq!(folder.open(names::RESERVE).unwrap().len_bytes().unwrap(), 4);
    }
}
