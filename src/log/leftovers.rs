//! What a crash leaves in the folder of a database, told from files of others that have such names.

use std::io;

use crate::format::manifest::Manifest;
use crate::format::{identities, keys, manifest, postings, segment, tombstones, wal};
use crate::storage::{Storage, names};
use crate::util::cast::to_usize;

/// The bytes at the start of a log or a manifest that a disk keeps or loses as a whole.
const SECTOR_BYTES: usize = 512;
/// The bytes of the header of a file of pages that are zeros behind its fields.
const HEAD_BYTES: usize = 4096;

/// Whether the database with a manifest has made a file that has one of our names.
///
/// Such a file begins with its magic, the id of the database, and the number in its name. A crash may cut it off, or
/// leave zeros in the place of its head. A piece of a sort has only its name.
pub(super) fn is_own(storage: &dyn Storage, manifest: &Manifest, name: &str) -> io::Result<bool> {
    let Some(fields) = fields(manifest, name) else { return Ok(names::is_spill(name)) };
    let most = if names::is_wal(name) || name == names::MANIFEST_NEW { SECTOR_BYTES } else { HEAD_BYTES };
    let file = storage.open(name)?;
    let mut head = vec![0; most.min(to_usize(file.len_bytes()?))];
    file.read_exact_at(&mut head, 0)?;
    let agrees = |(at, expected): &(usize, Vec<u8>)| {
        let found = head.get(*at..).unwrap_or_default();
        found.iter().zip(expected).all(|(found, expected)| found == expected)
    };
    Ok(head.iter().all(|&byte| byte == 0) || fields.iter().all(agrees))
}

/// What stands at which offsets of a file with this name. `None` for one without a head.
fn fields(manifest: &Manifest, name: &str) -> Option<Vec<(usize, Vec<u8>)>> {
    let id = manifest.database_id.to_vec();
    if name == names::MANIFEST_NEW {
        return Some(vec![(0, manifest::MAGIC.to_vec()), (manifest::ID_OFFSET, id)]);
    }
    let magic = match name.rsplit_once('.')?.1 {
        "seg" => segment::MAGIC,
        "rows" => postings::MAGIC,
        "dels" => tombstones::MAGIC,
        "keys" => keys::MAGIC,
        "ings" => identities::MAGIC,
        "log" => wal::MAGIC,
        _ => return None,
    };
    let number = names::number(name)?.to_le_bytes().to_vec();
    // The heads of logs and of files of pages agree so far.
    Some(vec![(0, magic.to_vec()), (16, id), (32, number)])
}
