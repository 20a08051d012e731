//! Fields one after the other, and what can be wrong with them.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use crate::util::cast::to_usize;

/// The files of a database by name.
pub(crate) type Bytes = BTreeMap<String, Vec<u8>>;

/// Why a file does not conform to FORMAT.md.
#[derive(Debug)]
pub(crate) enum Fault {
    Damage(String),
    /// It needs a newer program.
    Newer(String),
    /// A number over the data differs from what the data gives: it should be `value` at `places`.
    Number {
        value: u64,
        places: Vec<Place>,
    },
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damage(what) | Self::Newer(what) => f.write_str(what),
            Self::Number { value, places } => write!(f, "expected {value} at {places:?}"),
        }
    }
}

/// A stored number of 8 bytes.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) offset: usize,
    pub(crate) value: u64,
}

pub(crate) type Found<T> = Result<T, Fault>;

pub(super) fn find<'a>(files: &'a Bytes, name: &str) -> Found<&'a [u8]> {
    files.get(name).map(Vec::as_slice).ok_or_else(|| Fault::Damage(format!("{name} is missing")))
}

pub(super) fn ensure(holds: bool, what: impl Display) -> Found<()> {
    if holds { Ok(()) } else { Err(Fault::Damage(what.to_string())) }
}

/// Checks that a number has its value at all places.
pub(super) fn ensure_number(value: u64, places: &[&Place]) -> Found<()> {
    match places.iter().all(|place| place.value == value) {
        true => Ok(()),
        false => Err(Fault::Number { value, places: places.iter().map(|&place| place.clone()).collect() }),
    }
}

/// Checks a version of a file whose checksum is right.
pub(super) fn ensure_version(version: u32, file: &str) -> Found<()> {
    match version {
        1 => Ok(()),
        0 => Err(Fault::Damage(format!("{file} has version 0"))),
        _ => Err(Fault::Newer(format!("{file} has version {version}"))),
    }
}

/// The bytes of a file, from front to back.
pub(super) struct Fields<'a> {
    file: &'a str,
    bytes: &'a [u8],
    /// Where the next field begins in the file.
    pub(super) at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(file: &'a str, bytes: &'a [u8], at: usize) -> Self {
        Self { file, bytes, at }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn take(&mut self, len: u64) -> Found<&'a [u8]> {
        let short = || Fault::Damage(format!("{} ends within a field at {}", self.file, self.at));
        ensure(len <= self.bytes.len() as u64, "").map_err(|_| short())?;
        let (taken, rest) = self.bytes.split_at(to_usize(len));
        (self.bytes, self.at) = (rest, self.at + taken.len());
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Found<[u8; N]> {
        Ok(self.take(N as u64)?.try_into().unwrap_or([0; N]))
    }

    pub(super) fn u32(&mut self) -> Found<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Found<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A number and where it stands.
    pub(super) fn place(&mut self) -> Found<Place> {
        let (file, offset) = (self.file.to_string(), self.at);
        Ok(Place { file, offset, value: self.u64()? })
    }

    pub(super) fn expect(&mut self, bytes: &[u8], what: &str) -> Found<()> {
        let at = self.at;
        let found = self.take(bytes.len() as u64)?;
        ensure(found == bytes, format!("{} has another {what} at {at}", self.file))
    }

    /// All that is left.
    pub(super) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Checks that all that is left is zero.
    pub(super) fn zeros(&mut self) -> Found<()> {
        let rest = self.rest();
        ensure(rest.iter().all(|&byte| byte == 0), format!("{} has padding that is not zero", self.file))
    }

    pub(super) fn end(&self) -> Found<()> {
        ensure(self.bytes.is_empty(), format!("{} has bytes without a meaning at {}", self.file, self.at))
    }
}

/// Words of 4 bytes.
pub(super) fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

/// Words of 8 bytes.
pub(super) fn long_words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
