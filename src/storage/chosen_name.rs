//! Names that nearprint chooses for folders: `nearprint-` and 16 characters.
//!
//! The first eight characters are a seed of 40 bits. The other eight are a hash of the seed and the
//! number of the parent folder in its file system. Nobody else comes upon such a name, and a copy of
//! a folder elsewhere does not count. So a folder that holds nothing shows by its name who made it.

use std::ffi::{OsStr, OsString};
use std::io;

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::folder::Folder;

const PREFIX: &str = "nearprint-";
/// The characters behind the prefix, one for each five bits.
const ALPHABET: [u8; 32] = *b"abcdefghijklmnopqrstuvwxyz234567";
/// The numbers of characters of the seed and of the hash.
const HALF: usize = 8;

/// The lowest 40 bits of a number.
fn characters(bits: u64) -> String {
    let character = |at| char::from(ALPHABET[(bits >> (5 * at) & 31) as usize]);
    (0..HALF).map(character).collect()
}

/// The name whose seed is `seed`, for a folder in `parent`.
fn with_seed(parent: &Folder, seed: &str) -> io::Result<OsString> {
    let proof = characters(xxh3_64_with_seed(seed.as_bytes(), parent.inode()?));
    Ok(format!("{PREFIX}{seed}{proof}").into())
}

/// The name for a random number.
pub(super) fn random(parent: &Folder, number: u64) -> io::Result<OsString> {
    with_seed(parent, &characters(number))
}

/// The name that a folder has until it is ready for its own name.
pub(super) fn before(parent: &Folder, name: &OsStr) -> io::Result<OsString> {
    random(parent, xxh3_64(name.as_encoded_bytes()))
}

/// Whether nearprint has chosen this name for a folder in `parent`.
pub(super) fn is_chosen(parent: &Folder, name: &OsStr) -> io::Result<bool> {
    match name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_at_checked(HALF)) {
        Some((seed, _)) => Ok(with_seed(parent, seed)? == name),
        None => Ok(false),
    }
}
