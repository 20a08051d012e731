//! The header page of a file: which run the file belongs to, and the settings of its database.

use super::manifest::{decode_layout, decode_run_flags, decode_width, encode_layout, run_flags};
use super::paged::{seal, unseal};
use super::schema::KeyStorage;
use super::{Encoder, Flaw, Hex, Problem, VERSION};
use crate::layout::LayoutChoice;
use crate::util::time::Time;

/// The run that a file belongs to, and the settings of its database: all that can be known without
/// a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) database_id: [u8; 16],
    pub(crate) width: u32,
    pub(crate) k: u32,
    pub(crate) layout: LayoutChoice,
    pub(crate) keys: KeyStorage,
    pub(crate) run: u64,
    /// Random. Runs that two copies of a database write under the same number differ in it.
    pub(crate) salt: u64,
    /// When its rows expire. `None` where rows do not.
    pub(crate) expires: Option<Time>,
}

/// The content of a header page: the owner of a file, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) magic: [u8; 8],
    pub(crate) owner: Owner,
    /// Table number of a segment; 0 in other files.
    pub(crate) table: u32,
    /// Number of blocks of a segment's layout; 0 in other files.
    pub(crate) blocks: u32,
    /// The set of blocks in the prefix of a segment's table; 0 in other files.
    pub(crate) prefix: u64,
}

impl Header {
    /// The header of a file that is no segment.
    pub(crate) fn new(magic: [u8; 8], owner: Owner) -> Self {
        Self { magic, owner, table: 0, blocks: 0, prefix: 0 }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut page = Encoder::default();
        let Owner { database_id, width, k, layout, keys, run, salt, expires } = self.owner;
        page.put(&self.magic).u32(VERSION).u32(self.table).put(&database_id);
        page.u64(run).u32(width).u32(k);
        encode_layout(layout, &mut page);
        page.u32(self.blocks).u64(self.prefix).u64(salt).u32(run_flags(keys.kept(), expires.is_some()));
        if let Some(expires) = expires {
            page.u64(expires.0);
        }
        seal(page)
    }

    /// Decodes a header page of one kind of file. Checks only that it is sound, and that this
    /// program supports its version and settings.
    pub(crate) fn decode(magic: [u8; 8], page: &[u8]) -> Result<Self, Problem> {
        let mut fields = unseal("header", 0, page)?;
        Flaw::unless_equal("header", 0, Hex(magic), Hex(fields.array()?))?;
        let version = fields.u32()?;
        if version > VERSION {
            return Err(Problem::Newer(version));
        }
        Flaw::unless_equal("header", 8, VERSION, version)?;
        let (table, database_id, run) = (fields.u32()?, fields.array()?, fields.u64()?);
        let (width, k) = decode_width(&mut fields)?;
        let layout = decode_layout(&mut fields, width)?;
        let (blocks, prefix, salt) = (fields.u32()?, fields.u64()?, fields.u64()?);
        let (kept, expires) = decode_run_flags(&mut fields)?;
        let keys = KeyStorage::of(kept);
        let expires = expires.then(|| fields.u64().map(Time)).transpose()?;
        fields.rest_is_zero()?;
        let owner = Owner { database_id, width, k, layout, keys, run, salt, expires };
        Ok(Self { magic, owner, table, blocks, prefix })
    }

    /// Checks that a header page is sound and equal to `self`.
    pub(crate) fn check(&self, page: &[u8]) -> Result<(), Problem> {
        let found = Self::decode(self.magic, page)?;
        let (ours, other) = (&self.owner, &found.owner);
        let page = "header";
        Flaw::unless_same(page, 12, "table", self.table, found.table)?;
        Flaw::unless_same(page, 16, "database", Hex(ours.database_id), Hex(other.database_id))?;
        Flaw::unless_same(page, 32, "run", ours.run, other.run)?;
        Flaw::unless_same(page, 40, "width", ours.width, other.width)?;
        Flaw::unless_same(page, 44, "k", ours.k, other.k)?;
        Flaw::unless_same(page, 48, "layout", ours.layout, other.layout)?;
        Flaw::unless_same(page, 60, "number of blocks", self.blocks, found.blocks)?;
        Flaw::unless_same(page, 64, "prefix", self.prefix, found.prefix)?;
        Flaw::unless_same(page, 72, "salt", ours.salt, other.salt)?;
        Flaw::unless_same(page, 80, "keys:", ours.keys, other.keys)?;
        let shown = |owner: &Owner| owner.expires.map_or_else(|| "never".into(), |time| time.0.to_string());
        Ok(Flaw::unless_same(page, 84, "expiry", shown(ours), shown(other))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::paged::{PAGE_BYTES, PAGE_CRC_OFFSET};

    const OWNER: Owner = Owner {
        database_id: [7; 16],
        width: 64,
        k: 3,
        layout: LayoutChoice::Fast,
        keys: KeyStorage::Keys,
        run: 3,
        salt: 9,
        expires: Some(Time(77)),
    };
    const HEADER: Header =
        Header { magic: *b"\x89NPS\r\n\x1a\n", owner: OWNER, table: 1, blocks: 4, prefix: 3 };

    #[test]
    fn headers_are_accepted_only_in_their_own_file() {
        let page = HEADER.encode();
        assert_eq!(page.len(), PAGE_BYTES);
        assert_eq!(HEADER.check(&page), Ok(()));
        for other in [
            Header { magic: *b"\x89NPR\r\n\x1a\n", ..HEADER },
            Header { table: 0, ..HEADER },
            Header { blocks: 5, ..HEADER },
            Header { prefix: 1, ..HEADER },
            Header { owner: Owner { database_id: [8; 16], ..OWNER }, ..HEADER },
            Header { owner: Owner { run: 4, ..OWNER }, ..HEADER },
            Header { owner: Owner { width: 128, ..OWNER }, ..HEADER },
            Header { owner: Owner { k: 4, ..OWNER }, ..HEADER },
            Header { owner: Owner { layout: LayoutChoice::Small, ..OWNER }, ..HEADER },
            Header { owner: Owner { salt: 8, ..OWNER }, ..HEADER },
            Header { owner: Owner { keys: KeyStorage::None, ..OWNER }, ..HEADER },
            Header { owner: Owner { expires: Some(Time(78)), ..OWNER }, ..HEADER },
            Header { owner: Owner { expires: None, ..OWNER }, ..HEADER },
        ] {
            assert!(matches!(other.check(&page), Err(Problem::Flaw(_))), "{other:?}");
        }
        let mut newer = Encoder { bytes: page[..PAGE_CRC_OFFSET].to_vec() };
        newer.bytes[8] = 2;
        assert_eq!(HEADER.check(&seal(newer)), Err(Problem::Newer(2)));
        assert!(HEADER.check(&page[..100]).is_err());
    }

    #[test]
    fn every_flipped_bit_of_a_sealed_page_is_detected() {
        let page = HEADER.encode();
        for bit in 0..page.len() * 8 {
            let mut flipped = page.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(HEADER.check(&flipped).is_err(), "bit {bit}");
        }
    }
}
