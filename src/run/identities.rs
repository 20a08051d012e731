//! The identities of ingested runs.

use super::copy::{Report, copy_file};
use super::page_file::{FileSpec, PageFile};
use super::page_writer::PageFileWriter;
use crate::error::Result;
use crate::format::header::Header;
use crate::format::identities::{IDENTITY_BYTES, MAGIC, SECTIONS, attributes, check_footer, section_lens};
use crate::format::manifest::{IdentitiesRecord, Manifest};
use crate::storage::{Access, Storage, names};
use crate::util::cast::to_usize;

/// An open identities file.
#[derive(Debug)]
pub(crate) struct Identities {
    pub(crate) file: PageFile,
}

impl Identities {
    fn file_spec(manifest: &Manifest, number: u64) -> FileSpec {
        let header = Header::new(MAGIC, manifest.owner(number, 0, None));
        FileSpec { name: names::identities(number), header, section_names: &SECTIONS }
    }

    /// Maps an identities file and checks it against its record.
    pub(crate) fn open(
        storage: &dyn Storage,
        manifest: &Manifest,
        record: &IdentitiesRecord,
    ) -> Result<Self> {
        let spec = Self::file_spec(manifest, record.number);
        let file = PageFile::open(storage, &spec, Access::Random, record.file)?;
        check_footer(&file.footer, file.footer_offset(), record.count)
            .map_err(|flaw| flaw.of(file.path()))?;
        Ok(Self { file })
    }

    /// Maps all identities files of a database.
    pub(crate) fn open_all(storage: &dyn Storage, manifest: &Manifest) -> Result<Vec<Self>> {
        manifest.ingested.iter().map(|record| Self::open(storage, manifest, record)).collect()
    }

    /// Writes the file as one of a database in another folder, and syncs it.
    pub(crate) fn copy(
        &self,
        to: &dyn Storage,
        manifest: &Manifest,
        record: &IdentitiesRecord,
        report: Report<'_>,
    ) -> Result<()> {
        copy_file(&self.file, to, &Self::file_spec(manifest, record.number), record.file, report)
    }

    /// All identities, ascending. Reads the whole file.
    pub(crate) fn all(&self) -> Result<&[[u8; IDENTITY_BYTES]]> {
        let section = self.file.section(0);
        let start = to_usize(section.offset);
        let (all, _) = self.file.bytes(start..start + to_usize(section.len_bytes))?.as_chunks();
        match all.iter().zip(all.iter().skip(1)).all(|(left, right)| left < right) {
            true => Ok(all),
            false => Err(self.file.flaw(section.offset, "ascending identities", "others")),
        }
    }
}

/// Writes a file of ascending identities, and syncs it.
pub(crate) fn write_identities(
    storage: &dyn Storage,
    manifest: &Manifest,
    number: u64,
    ascending: &[[u8; IDENTITY_BYTES]],
) -> Result<IdentitiesRecord> {
    let count = ascending.len() as u64;
    let spec = Identities::file_spec(manifest, number);
    let mut file = PageFileWriter::create(storage, &spec, &section_lens(count))?;
    file.put(0, ascending.as_flattened())?;
    Ok(IdentitiesRecord { number, count, file: file.finish(attributes(count))? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::manifest::sample::sample;
    use crate::format::paged::{CRCS_PER_PAGE, PAGE_BYTES};
    use crate::storage::Memory;

    /// Checksum pages of files above 16 MiB have two levels.
    #[test]
    fn all_pages_of_a_large_file_are_checked() {
        let manifest = sample();
        let (pages, name) = (CRCS_PER_PAGE + 3, names::identities(0));
        let identities = (0..(pages * PAGE_BYTES / IDENTITY_BYTES) as u128).map(u128::to_be_bytes);
        let written = Memory::default();
        let record =
            write_identities(&written, &manifest, 0, &identities.collect::<Vec<_>>()).expect("a file");
        let content = written.map(&name, Access::Random).expect("a map").get(..).expect("bytes").to_vec();
        assert_eq!(
            content.len(),
            (1 + pages + 3 + 1) * PAGE_BYTES,
            "two pages of checksums, a root, a footer"
        );
        let read = |damaged: Option<usize>| {
            let (storage, mut bytes) = (Memory::default(), content.clone());
            if let Some(page) = damaged {
                bytes[page * PAGE_BYTES + 77] ^= 4;
            }
            storage.create(&name).and_then(|mut file| file.write_all_at(&bytes, 0)).expect("a copy");
            let file = Identities::open(&storage, &manifest, &record).expect("header and footer");
            let source = storage.open(&name).expect("the copy");
            (file.all().map(<[_]>::len), file.file.read_crcs(&*source))
        };
        let (all, crcs) = read(None);
        assert_eq!(all.expect("sound"), pages * PAGE_BYTES / IDENTITY_BYTES);
        let data = content[PAGE_BYTES..][..pages * PAGE_BYTES].chunks(PAGE_BYTES);
        assert_eq!(crcs.expect("sound"), data.map(crc32fast::hash).collect::<Vec<_>>());
        for page in [1, CRCS_PER_PAGE, CRCS_PER_PAGE + 1, pages, pages + 1, pages + 2, pages + 3] {
            let (all, crcs) = read(Some(page));
            let message = all.expect_err("damage").to_string();
            assert!(message.contains(&format!("offset {}", page * PAGE_BYTES)), "{page}: {message}");
            assert_eq!(crcs.is_err(), page > pages, "{page}");
        }
    }
}
