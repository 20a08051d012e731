//! Space for deletions and merges on a full disk.
//!
//! A large database has a file `RESERVE`. Where the disk is full, a writer that makes room removes it, and so has
//! room itself: for a manifest, a new log with what the old one held, the deletion of all rows, and small merges. The
//! next writer that makes a run or closes puts it back.

use std::io;

use super::interface::{Storage, WriteFile};
use super::names;
use crate::format::manifest::{Manifest, RunRecord};
use crate::util::cast::to_usize;

/// Smaller databases have no reserve.
const LEAST_DATABASE_BYTES: u64 = 16 << 20;
/// The part of a database that is kept for a new log and a manifest, in bytes at least and at most.
const SHARE: u64 = 64;
const LEAST_BYTES: u64 = 2 << 20;
const MOST_BYTES: u64 = 64 << 20;
/// The rows that a commit deletes at least. The distances between fewer ids of one batch are larger.
const COMMIT_ROWS: u64 = 50_000;
/// What shows that a file is a reserve.
const HEAD_BYTES: u64 = 4096;
static PIECE: [u8; 1 << 16] = [0; 1 << 16];

/// How many bytes a writer may need to delete all rows of a database, in commits of many rows.
pub(crate) fn wanted(manifest: &Manifest) -> u64 {
    let database_bytes = manifest.runs.iter().map(RunRecord::len_bytes).sum::<u64>();
    if database_bytes < LEAST_DATABASE_BYTES {
        return 0;
    }
    let rows = manifest.runs.iter().map(|run| run.rows).sum();
    (database_bytes / SHARE).clamp(LEAST_BYTES, MOST_BYTES)
        + deletions(rows, manifest.largest_id.unwrap_or(0))
}

/// The most that so many ids take in sorted batches of a log. Seven bits of a distance take a byte, and equal
/// distances take the most.
fn deletions(rows: u64, largest_id: u64) -> u64 {
    let mean_distance = largest_id / rows.clamp(1, COMMIT_ROWS);
    let bits = u64::from(mean_distance.max(1).ilog2()) + 1;
    rows.saturating_mul(7 + bits) / 7
}

/// Makes a reserve of so many bytes or more, or a larger one in place of a smaller one, if the disk has room. Removes
/// one that is not wanted any more.
pub(crate) fn keep(storage: &dyn Storage, wanted: u64) {
    if wanted == 0 {
        release(storage);
        return;
    }
    let has = len_bytes(storage);
    if has >= wanted {
        return;
    }
    release(storage);
    // A database that grows does not need another one at once.
    if !make(storage, wanted + wanted / 4) && has > 0 {
        // As much as there was has room again.
        make(storage, has);
    }
}

/// The length of the reserve; 0 without one.
pub(crate) fn len_bytes(storage: &dyn Storage) -> u64 {
    storage.open(names::RESERVE).and_then(|file| file.len_bytes()).unwrap_or(0)
}

/// Makes a reserve of this length, or none. Says whether there is one now.
pub(crate) fn make(storage: &dyn Storage, len_bytes: u64) -> bool {
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
    use crate::format::manifest::sample::sample;
    use crate::format::wal::{Content, Operation};
    use crate::storage::Folder;
    use crate::testing::simulated::SimulatedDisk;

    #[test]
    fn regression_a_reserve_that_cannot_grow_stays() {
        let disk = SimulatedDisk::new();
        let len_bytes = || disk.file_bytes(names::RESERVE).map_or(0, |bytes| bytes.len() as u64);
        keep(&disk, LEAST_BYTES);
        let before = disk.calls();
        let made = LEAST_BYTES + LEAST_BYTES / 4;
        keep(&disk, made);
        assert_eq!((disk.calls() - before, len_bytes()), (2, made));
        // In the middle of the larger one.
        disk.fail_at(disk.calls() + 60, io::ErrorKind::StorageFull);
        keep(&disk, 4 * LEAST_BYTES);
        assert_eq!(len_bytes(), made);
        keep(&disk, 4 * LEAST_BYTES);
        assert_eq!(len_bytes(), 5 * LEAST_BYTES);
    }

    /// Rows of any ids, deleted at once, take no more than what is kept for them.
    #[test]
    fn what_is_kept_holds_the_deletion_of_all_rows() {
        let ids: [Vec<u64>; 5] = [
            (0..100_000).collect(),
            (0..100_000).map(crate::fingerprint::mix64).collect(),
            (0..100_000).map(|id| id * 127).collect(),
            (0..100_000).map(|id| id * 128).collect(),
            (0..50_000).chain((0..50_000).map(|id| u64::MAX - id)).collect(),
        ];
        for ids in ids {
            let largest = ids.iter().copied().max().unwrap_or(0);
            let mut content = Content::default();
            ids.iter().for_each(|&id| content.push(Operation::<u64>::Delete(id)));
            let packed = content.packed::<u64>().unwrap().unwrap();
            let (len, most) = (packed.frame_len_bytes(), deletions(ids.len() as u64, largest));
            assert!(len <= most + 64 && 10 * len > most, "{len} bytes, {most} for ids up to {largest}");
        }
    }

    #[test]
    fn what_is_kept_follows_from_the_size_of_a_database() {
        let database = |len_bytes, rows| {
            let mut manifest = sample();
            manifest.runs.truncate(1);
            manifest.runs[0].rows = rows;
            manifest.runs[0].postings_file.len_bytes += len_bytes - manifest.runs[0].len_bytes();
            manifest.largest_id = Some((1 << 40) - 1);
            wanted(&manifest)
        };
        // Below 2^40 ids are 21,990,232 apart in a batch of 50,000, which are 25 bits.
        for (len_bytes, rows, expected) in [
            (LEAST_DATABASE_BYTES - 1, 1_000_000, 0),
            (LEAST_DATABASE_BYTES, 1_000_000, LEAST_BYTES + 4_571_428),
            (1 << 30, 1_000_000, (16 << 20) + 4_571_428),
            (1 << 34, 7, MOST_BYTES + 45),
        ] {
            assert_eq!(database(len_bytes, rows), expected, "{len_bytes} bytes, {rows} rows");
        }
    }

    #[test]
    fn a_foreign_file_of_this_name_stays() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        keep(&folder, LEAST_BYTES);
        assert!(folder.open(names::RESERVE).unwrap().len_bytes().unwrap() >= LEAST_BYTES);
        assert!(release(&folder) && !release(&folder));
        folder.create(names::RESERVE).unwrap().write_all_at(b"mine", 0).unwrap();
        assert!(!release(&folder));
        keep(&folder, LEAST_BYTES);
        assert_eq!(folder.open(names::RESERVE).unwrap().len_bytes().unwrap(), 4);
    }
}
