//! The header of a log.

use crate::format::{Decoder, Encoder, Flaw, Hex, Problem, VERSION, check_crc};

pub(crate) const MAGIC: [u8; 8] = *b"\x89NPW\r\n\x1a\n";
/// Bytes before the first frame.
pub(crate) const HEADER_BYTES: usize = 64;
/// The longest log. A writer starts a new one before this one exceeds it.
pub(crate) const MAX_LOG_BYTES: u64 = 1 << 32;
/// Offset of the header's CRC.
const HEADER_CRC_OFFSET: usize = 60;

/// The header of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WalHeader {
    pub(crate) database_id: [u8; 16],
    pub(crate) width: u32,
    pub(crate) number: u64,
    /// Random: remains of other logs on the medium do not look like frames of this log.
    pub(crate) salt: u64,
    /// The number of the first frame.
    pub(crate) first_frame: u64,
}

/// A place between two frames of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogPlace {
    /// Where the next frame starts in the file.
    pub(crate) offset: u64,
    /// The number of the next frame.
    pub(crate) frame: u64,
}

impl WalHeader {
    /// The place of the first frame.
    pub(crate) fn start(&self) -> LogPlace {
        LogPlace { offset: HEADER_BYTES as u64, frame: self.first_frame }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.put(&MAGIC).u32(VERSION).u32(self.width).put(&self.database_id);
        out.u64(self.number).u64(self.salt).u64(self.first_frame);
        out.zeros_up_to(HEADER_CRC_OFFSET);
        let crc = crc32fast::hash(&out.bytes);
        out.u32(crc);
        out.bytes
    }

    /// Checks that a log begins with this header.
    pub(crate) fn check(&self, file: &[u8]) -> Result<(), Problem> {
        let found = Self::parse(file)?;
        Flaw::unless_same("header", 12, "width", self.width, found.width)?;
        Flaw::unless_same("header", 16, "database", Hex(self.database_id), Hex(found.database_id))?;
        Flaw::unless_same("header", 32, "log", self.number, found.number)?;
        Flaw::unless_same("header", 40, "salt", self.salt, found.salt)?;
        Ok(Flaw::unless_same("header", 48, "first frame", self.first_frame, found.first_frame)?)
    }

    /// Decodes the header of any log.
    pub(crate) fn parse(file: &[u8]) -> Result<Self, Problem> {
        let mut fields = Decoder::new("header", 0, file);
        let mut fields = Decoder::new("header", 0, fields.take(HEADER_BYTES)?);
        Flaw::unless_equal("header", 0, Hex(MAGIC), Hex(fields.array()?))?;
        let (body, stored) = file.split_at_checked(HEADER_CRC_OFFSET).unwrap_or_default();
        let stored = stored.first_chunk().map_or(0, |crc| u32::from_le_bytes(*crc));
        check_crc("header", HEADER_CRC_OFFSET as u64, stored, crc32fast::hash(body))?;
        let version = fields.u32()?;
        if version > VERSION {
            return Err(Problem::Newer(version));
        }
        Flaw::unless_equal("header", 8, VERSION, version)?;
        let (width, database_id) = (fields.u32()?, fields.array()?);
        let (number, salt, first_frame) = (fields.u64()?, fields.u64()?, fields.u64()?);
        Flaw::unless_equal("header", 56, 0, fields.u32()?)?;
        Ok(Self { database_id, width, number, salt, first_frame })
    }
}
