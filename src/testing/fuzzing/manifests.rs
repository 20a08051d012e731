//! The manifest: decoding, encoding, and a database that consists only of a manifest.

use std::sync::Arc;

use super::input::Input;
use super::options::options;
use crate::format::manifest::Manifest;
use crate::storage::{Storage, names};
use crate::testing::simulated::SimulatedDisk;
use crate::{Result, Row, Snapshot, Writer};

/// Offset of the length of the file.
const LEN_AT: usize = 16;

/// Decodes bytes as a manifest. A decoded manifest must encode to the same bytes. Opening and
/// writing a database with it must work or return an error. For some inputs the length and the
/// checksum are corrected first.
pub(super) fn manifest(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let mode = input.byte();
    let mut file = input.rest().to_vec();
    if mode & 1 == 1 {
        reseal(&mut file);
    }
    if let Ok(manifest) = Manifest::decode(&file) {
        assert!(manifest.encode() == file, "a decoded manifest encodes to the same bytes");
        if mode & 2 == 2 {
            let _ = write_to(file);
        }
    }
}

/// Corrects the length and the checksum.
pub(super) fn reseal(file: &mut [u8]) {
    let len = file.len() as u64;
    if let Some(place) = file.get_mut(LEN_AT..LEN_AT + 8) {
        place.copy_from_slice(&len.to_le_bytes());
    }
    if let Some((body, crc)) = file.split_last_chunk_mut::<4>() {
        *crc = crc32fast::hash(body).to_le_bytes();
    }
}

fn write_to(file: Vec<u8>) -> Result<()> {
    let disk = SimulatedDisk::new();
    disk.set_file_bytes(names::MANIFEST, file);
    let storage: Arc<dyn Storage> = Arc::new(disk);
    let before = Snapshot::<u64>::open(&storage, &options(), None)?;
    let _ = (before.stats(), before.explain(3), before.verify()?);
    let mut writer = Writer::<u64>::open(storage, options())?;
    let id = writer.insert(7)?;
    writer.insert(Row { fingerprint: 8, id: id ^ 1 })?;
    writer.commit()?;
    writer.delete(id ^ 1)?;
    writer.flush()?;
    let after = writer.snapshot()?;
    assert_eq!(after.query(7, 0)?.len(), 1, "the inserted row is found");
    writer.close()
}

/// Golden manifests, and one with all records.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/v1"));
    let golden = ["empty", "one-row", "repeated", "wide-ids"]
        .map(|name| std::fs::read(folder.join(name).join(names::MANIFEST)).expect("a golden database"));
    let full = crate::format::manifest::sample::sample().encode();
    golden.into_iter().chain([full]).map(|file| [&[3], &file[..]].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length was written into the masks of features, so nothing was decoded.
    #[test]
    fn regression_resealed_manifests_are_decoded() {
        for seed in seeds() {
            let mut file = seed[1..].to_vec();
            file[LEN_AT] ^= 1;
            reseal(&mut file);
            assert_eq!(file, seed[1..]);
            Manifest::decode(&file).unwrap();
        }
    }
}
