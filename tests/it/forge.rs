//! Files with other content, under checksums that are right.

use std::fs;
use std::path::{Path, PathBuf};

/// A file of a database and its manifest, as they were. Dropping it restores them.
pub struct Forged(Vec<(PathBuf, Vec<u8>)>);

impl Drop for Forged {
    fn drop(&mut self) {
        self.0.iter().for_each(|(path, sound)| fs::write(path, sound).unwrap());
    }
}

/// Changes a file of a run, and corrects all checksums up to the manifest's: only the content
/// shows that it was changed. For files of at most 2,047 data pages.
pub fn forge(folder: &Path, name: &str, change: impl FnOnce(&mut [u8])) -> Forged {
    const PAGE: usize = 8192;
    let (path, manifest_path) = (folder.join(name), folder.join("MANIFEST"));
    let (sound, sound_manifest) = (fs::read(&path).unwrap(), fs::read(&manifest_path).unwrap());
    let crc = |bytes: &[u8]| crc32fast::hash(bytes).to_le_bytes();
    let (mut bytes, mut manifest) = (sound.clone(), sound_manifest.clone());
    change(&mut bytes);
    let (footer, checksums) = (bytes.len() - PAGE, bytes.len() - 2 * PAGE);
    for page in 1..checksums / PAGE {
        let of_page = crc(&bytes[page * PAGE..][..PAGE]);
        bytes[checksums + (page - 1) * 4..][..4].copy_from_slice(&of_page);
    }
    let root = crc(&bytes[checksums..footer - 4]);
    bytes[footer - 4..footer].copy_from_slice(&root);
    bytes[footer + 16..footer + 20].copy_from_slice(&root);
    let end = bytes.len() - 4;
    let of_footer = crc(&bytes[footer..end]);
    bytes[end..].copy_from_slice(&of_footer);
    // The record of the file: its length, and the checksum of its footer.
    let record = [&(bytes.len() as u64).to_le_bytes()[..], &sound[end..]].concat();
    let at = manifest.windows(record.len()).position(|bytes| bytes == record).unwrap();
    manifest[at + 8..at + 12].copy_from_slice(&of_footer);
    let end = manifest.len() - 4;
    let of_manifest = crc(&manifest[..end]);
    manifest[end..].copy_from_slice(&of_manifest);
    fs::write(&path, bytes).unwrap();
    fs::write(&manifest_path, manifest).unwrap();
    Forged(vec![(path, sound), (manifest_path, sound_manifest)])
}
