//! What is stored beside the key of a kept document.

use crate::documents::Span;
use crate::error::{Error, Result};
use crate::recipe::Features;
use nearprint::KeyStorage;

/// Begins a hash.
const HASH: u8 = 0;
/// Begins a place in a file, and a hash.
const PLACE: u8 = 1;
/// Begins a hash, and a set of features.
const FEATURES: u8 = 2;

/// The first bytes of a Zstandard frame.
const FRAME: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// The bytes stored beside the key of a kept document: nothing, the hash of its text, that hash and its
/// place in a file or its set of features, or its text.
///
/// The first byte distinguishes them. A text is a Zstandard frame; a text that others than a
/// deduplication have stored may also be plain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored(pub(crate) Vec<u8>);

impl Stored {
    /// What a database that keeps this stores of a document.
    pub(crate) fn of(keeps: KeyStorage, text: &str, text_hash: u128, features: &Features) -> Result<Self> {
        match keeps {
            KeyStorage::None | KeyStorage::Keys => Ok(Self::default()),
            KeyStorage::KeysAndHashes => Ok(Self::hash(text_hash)),
            KeyStorage::KeysAndTexts => Self::text(text),
            KeyStorage::KeysAndFeatures => Ok(Self::with_features(text_hash, &features.to_bytes())),
        }
    }

    pub(super) fn hash(text_hash: u128) -> Self {
        Self([&[HASH][..], &text_hash.to_le_bytes()].concat())
    }

    pub(super) fn place(Span { offset, len_bytes }: Span, text_hash: u128) -> Self {
        let place = [offset.to_le_bytes(), len_bytes.to_le_bytes()].concat();
        Self([&[PLACE][..], &text_hash.to_le_bytes(), &place].concat())
    }

    /// A set of features, and the hash of the text.
    fn with_features(text_hash: u128, features: &[u8]) -> Self {
        Self([&[FEATURES][..], &text_hash.to_le_bytes(), features].concat())
    }

    /// Compresses a text.
    fn text(text: &str) -> Result<Self> {
        zstd::bulk::compress(text.as_bytes(), 0).map(Self).map_err(Error::io("compress", "a text"))
    }

    /// The hash of the text, unless nothing or the text itself is stored.
    pub(crate) fn text_hash(&self) -> Option<u128> {
        match self.0.split_first() {
            Some((&(HASH | PLACE | FEATURES), bytes)) => {
                bytes.first_chunk().map(|bytes| u128::from_le_bytes(*bytes))
            }
            _ => None,
        }
    }

    /// The place in a file: of the document in the output, or of its set of features.
    pub(super) fn span(&self) -> Option<Span> {
        let (_, numbers) = self.0.strip_prefix(&[PLACE])?.split_first_chunk::<16>()?;
        match numbers.as_chunks::<8>() {
            ([offset, len_bytes], []) => {
                Some(Span { offset: u64::from_le_bytes(*offset), len_bytes: u64::from_le_bytes(*len_bytes) })
            }
            _ => None,
        }
    }

    /// The set of features.
    pub(crate) fn features(&self) -> Option<&[u8]> {
        self.0.strip_prefix(&[FEATURES])?.get(16..)
    }

    pub(crate) fn is_text(&self) -> bool {
        self.0.first().is_some_and(|first| ![HASH, PLACE, FEATURES].contains(first))
    }

    /// The text, decompressed. `key` is the key beside it, for messages.
    pub(crate) fn decompress(&self, key: &str) -> Result<String> {
        if self.is_text() && !self.0.starts_with(&FRAME) {
            return Ok(String::from_utf8_lossy(&self.0).into_owned());
        }
        let failed = |error: std::io::Error| {
            Error::input(format!("the text of {key:?} in the database"), error.to_string())
        };
        let text = zstd::stream::decode_all(&*self.0).map_err(failed)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// A set of features that cannot be read.
pub(crate) fn damaged(key: &str) -> Error {
    Error::input(format!("the features of {key:?} in the database"), "they are damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_known_by_its_first_byte() {
        let span = Span { offset: 3, len_bytes: u64::MAX };
        let (hash, place, text) = (Stored::hash(7), Stored::place(span, 8), Stored::text("one").unwrap());
        assert_eq!((hash.text_hash(), hash.span(), hash.is_text()), (Some(7), None, false));
        assert_eq!((place.text_hash(), place.span(), place.is_text()), (Some(8), Some(span), false));
        assert_eq!((text.text_hash(), text.span(), text.is_text()), (None, None, true));
        assert_eq!(text.decompress("key").unwrap(), "one");
        assert_eq!(Stored(b"plain".to_vec()).decompress("key").unwrap(), "plain");
        assert!(Stored([&FRAME[..], b"no frame"].concat()).decompress("key").is_err());
        let features = Stored::with_features(9, &[1, 2]);
        assert_eq!((features.text_hash(), features.span(), features.is_text()), (Some(9), None, false));
        assert_eq!((features.features(), hash.features()), (Some(&[1, 2][..]), None));
        for damaged in [&[][..], &[HASH], &[PLACE, 1], &[PLACE; 30]] {
            let stored = Stored(damaged.to_vec());
            assert!(stored.span().is_none() && !stored.is_text());
            assert!(stored.decompress("key").is_err());
        }
    }
}
