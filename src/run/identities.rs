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
