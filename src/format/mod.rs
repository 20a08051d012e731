//! The bytes of the files: constants, and the conversion between structs and bytes. Pure: no code
//! here opens a file.
//!
//! FORMAT.md is the authority, and a test compares its tables with these constants. Decoders check
//! bytes completely: a decoded value has every property that its type promises.

#![warn(clippy::indexing_slicing)]

pub(crate) mod expiry;
pub(crate) mod filter;
pub(crate) mod header;
pub(crate) mod identities;
pub(crate) mod keys;
pub(crate) mod manifest;
pub(crate) mod paged;
pub(crate) mod postings;
pub(crate) mod schema;
pub(crate) mod segment;
pub(crate) mod tombstones;
pub(crate) mod wal;

use std::fmt::{self, Debug, Display};
use std::path::Path;

use crate::error::{Corruption, Error};

#[cfg(target_endian = "big")]
compile_error!("the file format is little-endian and read in place");
#[cfg(not(target_pointer_width = "64"))]
compile_error!("files are mapped whole, which needs 64-bit addresses");

/// The newest format version. It is also the only one.
pub(crate) const VERSION: u32 = 1;

/// Damage in a file that is not named yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) section: &'static str,
    pub(crate) offset: u64,
    pub(crate) expected: String,
    pub(crate) found: String,
}

/// The reason why bytes cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Problem {
    Flaw(Flaw),
    /// The checksum is correct and the version is newer than [`VERSION`].
    Newer(u32),
    /// The checksum is correct, and the file needs something that this program lacks.
    NewerFeature(String),
}

impl Problem {
    /// Converts to an error about a file.
    pub(crate) fn of(self, file: &Path) -> Error {
        match self {
            Self::Flaw(flaw) => flaw.of(file),
            Self::Newer(found) => Error::NewerVersion { path: file.to_path_buf(), found, supported: VERSION },
            Self::NewerFeature(feature) => Error::NewerFeature { path: file.to_path_buf(), feature },
        }
    }
}

impl From<Flaw> for Problem {
    fn from(flaw: Flaw) -> Self {
        Self::Flaw(flaw)
    }
}

impl Flaw {
    pub(crate) fn new(
        section: &'static str,
        offset: u64,
        expected: impl Display,
        found: impl Display,
    ) -> Self {
        Self { section, offset, expected: expected.to_string(), found: found.to_string() }
    }

    /// Returns a flaw unless `found` is `expected`.
    pub(crate) fn unless_equal<T: PartialEq + Debug>(
        section: &'static str,
        offset: u64,
        expected: T,
        found: T,
    ) -> Result<(), Self> {
        if expected == found {
            Ok(())
        } else {
            let shown = |value| format!("{value:?}").replace('"', "");
            Err(Self::new(section, offset, shown(expected), shown(found)))
        }
    }

    /// The same for a field with a name.
    pub(crate) fn unless_same<T: PartialEq + Display>(
        section: &'static str,
        offset: u64,
        name: &str,
        expected: T,
        found: T,
    ) -> Result<(), Self> {
        if expected == found {
            return Ok(());
        }
        Err(Self::new(section, offset, format_args!("{name} {expected}"), format_args!("{name} {found}")))
    }

    /// Converts to an error about a file.
    pub(crate) fn of(self, file: &Path) -> Error {
        let Self { section, offset, expected, found } = self;
        Corruption { file: file.to_path_buf(), section, offset, expected, found }.into()
    }
}

/// Bytes that messages show in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hex<const N: usize>(pub(crate) [u8; N]);

impl<const N: usize> Display for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<const N: usize> Debug for Hex<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

/// Returns a flaw unless the checksums are equal. Prints them in hexadecimal.
pub(crate) fn check_crc(section: &'static str, offset: u64, stored: u32, computed: u32) -> Result<(), Flaw> {
    if stored == computed {
        Ok(())
    } else {
        Err(Flaw::new(section, offset, format!("CRC-32 {stored:#010x}"), format!("{computed:#010x}")))
    }
}

/// Appends little-endian fields.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    pub(crate) bytes: Vec<u8>,
}

impl Encoder {
    pub(crate) fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub(crate) fn u32s(&mut self, values: &[u32]) -> &mut Self {
        self.put(bytemuck::cast_slice(values))
    }

    pub(crate) fn u64s(&mut self, values: &[u64]) -> &mut Self {
        self.put(bytemuck::cast_slice(values))
    }

    pub(crate) fn zeros_up_to(&mut self, len: usize) -> &mut Self {
        self.bytes.resize(len.max(self.bytes.len()), 0);
        self
    }
}

/// Reads little-endian fields in order, and tracks their offset for messages.
pub(crate) struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where the last field starts.
    last: usize,
    /// Offset of `bytes` in the file.
    base: u64,
    section: &'static str,
}

impl<'a> Decoder<'a> {
    pub(crate) fn new(section: &'static str, base: u64, bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, last: 0, base, section }
    }

    /// The offset of the next field in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Flaw> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..len)) {
            Some(taken) => {
                self.last = self.at;
                self.at += len;
                Ok(taken)
            }
            None => Err(self.missing(len)),
        }
    }

    #[cold]
    fn missing(&self, len: usize) -> Flaw {
        let found = self.bytes.len().saturating_sub(self.at);
        Flaw::new(self.section, self.offset(), format!("{len} more bytes"), found)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Flaw> {
        self.take(N).map(|bytes| bytes.first_chunk().copied().unwrap_or([0; N]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Flaw> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Flaw> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// All remaining bytes.
    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at = self.bytes.len();
        rest
    }

    /// Returns a flaw unless all bytes were taken.
    pub(crate) fn end(&self) -> Result<(), Flaw> {
        match self.bytes.len().saturating_sub(self.at) {
            0 => Ok(()),
            more => Err(Flaw::new(self.section, self.offset(), "its end", format!("{more} more bytes"))),
        }
    }

    /// Returns a flaw unless all remaining bytes are zero.
    pub(crate) fn rest_is_zero(&self) -> Result<(), Flaw> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        // No branch per byte: every file that is opened passes two pages through here.
        if rest.iter().fold(0, |bits, byte| bits | byte) == 0 {
            return Ok(());
        }
        let at = rest.iter().position(|&byte| byte != 0).unwrap_or_default();
        Err(Flaw::new(self.section, self.offset() + at as u64, "zero padding", "another byte"))
    }

    /// A flaw at the last field that was taken.
    pub(crate) fn flaw(&self, expected: impl Display, found: impl Display) -> Flaw {
        Flaw::new(self.section, self.base + self.last as u64, expected, found)
    }
}
