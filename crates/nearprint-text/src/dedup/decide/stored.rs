//! What is stored beside the key of a kept document: the one place that writes it and reads it.

use std::borrow::Cow;
use std::io::Read;

use crate::documents::Span;
use crate::error::{Error, Result};
use crate::recipe::{FeatureHashes, Features};
use nearprint::any::NewRows;
use nearprint::{KeyStorage, Limit};

/// Begins a hash.
const HASH: u8 = 0;
/// Begins a place in a file, and a hash. Only temporary databases have places.
const PLACE: u8 = 1;
/// Begins a hash, and a set of features.
const FEATURES: u8 = 2;
/// Bytes of a hash with its first byte.
const HASH_BYTES: usize = 17;
/// Bytes of a place with its first byte and its hash.
const PLACE_BYTES: usize = HASH_BYTES + 16;

/// The first bytes of a Zstandard frame. No text in UTF-8 begins so: the second byte continues a character.
const FRAME: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// The longest text that is stored or read, in bytes.
const MAX_TEXT_BYTES: u64 = 1 << 30;

/// Whose bytes are read. What a database keeps with its keys says what they are, and not their first byte: a
/// text may begin with any character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A database of the user.
    Database(KeyStorage),
    /// A temporary database of this process, which keeps values of all kinds.
    Temporary,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Kind {
    /// Nothing, or bytes that no document has.
    #[default]
    Nothing,
    Hash,
    Place,
    Features,
    Text,
}

impl Origin {
    fn kind(self, bytes: &[u8]) -> Kind {
        match (self, bytes.first()) {
            (_, None) => Kind::Nothing,
            (Self::Database(KeyStorage::KeysAndTexts), _) => Kind::Text,
            (Self::Database(KeyStorage::KeysAndHashes) | Self::Temporary, Some(&HASH))
                if bytes.len() == HASH_BYTES =>
            {
                Kind::Hash
            }
            (Self::Database(KeyStorage::KeysAndFeatures) | Self::Temporary, Some(&FEATURES))
                if bytes.len() >= HASH_BYTES =>
            {
                Kind::Features
            }
            (Self::Temporary, Some(&PLACE)) if bytes.len() == PLACE_BYTES => Kind::Place,
            (Self::Temporary, _) if bytes.starts_with(&FRAME) => Kind::Text,
            _ => Kind::Nothing,
        }
    }
}

/// What is stored beside the key of a kept document: nothing, the hash of its text, that hash and its
/// place in a file or its set of features, or its text.
///
/// A text is a Zstandard frame; a text that others than a deduplication have stored may also be plain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    bytes: Vec<u8>,
    kind: Kind,
}

impl Stored {
    /// Reads what is stored with a key.
    pub(crate) fn read(origin: Origin, bytes: Vec<u8>) -> Self {
        Self { kind: origin.kind(&bytes), bytes }
    }

    /// What a database that keeps this stores of a document.
    pub(crate) fn of(keeps: KeyStorage, text: &str, text_hash: u128, features: &Features) -> Result<Self> {
        match keeps {
            KeyStorage::None | KeyStorage::Keys => Ok(Self::default()),
            KeyStorage::KeysAndHashes => Ok(Self::hash(text_hash)),
            KeyStorage::KeysAndTexts => Ok(Self { bytes: compress(text.as_bytes())?, kind: Kind::Text }),
            KeyStorage::KeysAndFeatures => Ok(Self::with_features(text_hash, &features.to_bytes())),
        }
    }

    pub(crate) fn hash(text_hash: u128) -> Self {
        Self { bytes: [&[HASH][..], &text_hash.to_le_bytes()].concat(), kind: Kind::Hash }
    }

    pub(crate) fn place(Span { offset, len_bytes }: Span, text_hash: u128) -> Self {
        let place = [offset.to_le_bytes(), len_bytes.to_le_bytes()].concat();
        Self { bytes: [&[PLACE][..], &text_hash.to_le_bytes(), &place].concat(), kind: Kind::Place }
    }

    /// A set of features, and the hash of the text.
    fn with_features(text_hash: u128, features: &[u8]) -> Self {
        let bytes = [&[FEATURES][..], &text_hash.to_le_bytes(), features].concat();
        Self { bytes, kind: Kind::Features }
    }

    /// The bytes to store.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The hash of the text, unless nothing or the text itself is stored.
    pub(crate) fn text_hash(&self) -> Option<u128> {
        let bytes = match self.kind {
            Kind::Hash | Kind::Place | Kind::Features => self.bytes.get(1..)?,
            Kind::Nothing | Kind::Text => return None,
        };
        bytes.first_chunk().map(|bytes| u128::from_le_bytes(*bytes))
    }

    /// The place in a file: of the document in the output, or of its set of features.
    pub(crate) fn span(&self) -> Option<Span> {
        let numbers = self.bytes.get(HASH_BYTES..).filter(|_| self.kind == Kind::Place)?;
        match numbers.as_chunks::<8>() {
            ([offset, len_bytes], []) => {
                Some(Span { offset: u64::from_le_bytes(*offset), len_bytes: u64::from_le_bytes(*len_bytes) })
            }
            _ => None,
        }
    }

    /// The set of features.
    pub(crate) fn features(&self) -> Option<&[u8]> {
        self.bytes.get(HASH_BYTES..).filter(|_| self.kind == Kind::Features)
    }

    /// Whether nothing is stored.
    pub(crate) fn is_nothing(&self) -> bool {
        self.kind == Kind::Nothing
    }

    pub(crate) fn is_text(&self) -> bool {
        self.kind == Kind::Text
    }

    /// The text, decompressed. `key` is the key beside it, for messages.
    pub(crate) fn decompress(&self, key: &str) -> Result<String> {
        if !self.is_text() {
            return Err(unreadable(key, "there is none"));
        }
        let text = decompress(key, &self.bytes)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Passes on rows of the caller with their texts in the form in which a database that keeps this stores
/// them: where it keeps texts, each is a Zstandard frame; otherwise they are as they were. An empty text and a
/// frame stay as they are, too.
///
/// # Errors
/// Those of `store`; [`nearprint::Error::Limit`] for a text of more than 1 GiB; and
/// [`nearprint::Error::NotFeatures`] where the database keeps features and a text is no value that
/// [`DocumentRows`](crate::stored::DocumentRows) makes.
pub fn with_texts_to_store<T>(
    keeps: KeyStorage,
    rows: &NewRows<'_>,
    store: impl FnOnce(&NewRows<'_>) -> nearprint::Result<T>,
) -> nearprint::Result<T> {
    let Some(texts) = rows.texts else { return store(rows) };
    if keeps == KeyStorage::KeysAndFeatures {
        check_features(rows.keys.unwrap_or_default(), texts)?;
    }
    if keeps != KeyStorage::KeysAndTexts {
        return store(rows);
    }
    let stored = texts.iter().map(|text| text_to_store(text)).collect::<nearprint::Result<Vec<_>>>()?;
    let stored: Vec<&[u8]> = stored.iter().map(|text| &text[..]).collect();
    let NewRows { fingerprints, ids, keys, .. } = *rows;
    store(&NewRows { fingerprints, ids, keys, texts: Some(&stored) })
}

/// Checks that what is to be stored beside keys are features. Others would be damage to whoever compares them.
fn check_features(keys: &[&str], values: &[&[u8]]) -> nearprint::Result<()> {
    let mut hashes = FeatureHashes::default();
    let mut is_set = |value: &[u8]| {
        let stored = Stored::read(Origin::Database(KeyStorage::KeysAndFeatures), value.to_vec());
        let features = stored.features().map(Features::from_bytes);
        features.is_some_and(|features| features.decode_into(&mut hashes).is_some())
    };
    match values.iter().position(|value| !value.is_empty() && !is_set(value)) {
        Some(at) => {
            Err(nearprint::Error::NotFeatures { key: keys.get(at).copied().unwrap_or_default().into() })
        }
        None => Ok(()),
    }
}

fn text_to_store(text: &[u8]) -> nearprint::Result<Cow<'_, [u8]>> {
    let is_frame = || text.starts_with(&FRAME) && decompress("", text).is_ok();
    match text.is_empty() || is_frame() {
        true => Ok(Cow::Borrowed(text)),
        false => compress(text).map(Cow::Owned),
    }
}

/// The text of the caller that [`with_texts_to_store`] has made these bytes of. Bytes that are no frame are the text
/// itself. `key` is the key beside it, for messages.
///
/// # Errors
/// [`Error::Input`] for a frame that is damaged, or of a text of more than 1 GiB.
pub fn stored_text<'a>(keeps: KeyStorage, key: &str, stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    if keeps == KeyStorage::KeysAndTexts { decompress(key, stored) } else { Ok(Cow::Borrowed(stored)) }
}

fn compress(text: &[u8]) -> nearprint::Result<Vec<u8>> {
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(nearprint::Error::Limit(Limit::Text));
    }
    zstd::bulk::compress(text, 0).map_err(nearprint::Error::io("compress", "a text"))
}

/// A frame, decompressed within the limit; other bytes as they are.
fn decompress<'a>(key: &str, stored: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    if !stored.starts_with(&FRAME) {
        return Ok(Cow::Borrowed(stored));
    }
    let failed = |error: std::io::Error| unreadable(key, error);
    let mut text = Vec::new();
    let frame = zstd::stream::read::Decoder::with_buffer(stored).map_err(failed)?;
    frame.take(MAX_TEXT_BYTES + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_TEXT_BYTES {
        return Err(unreadable(key, "it is longer than 1 GiB"));
    }
    Ok(Cow::Owned(text))
}

fn unreadable(key: &str, why: impl ToString) -> Error {
    Error::input(format!("the text of {key:?} in the database"), why.to_string())
}

/// A set of features that cannot be read.
pub(crate) fn damaged(key: &str) -> Error {
    Error::input(format!("the features of {key:?} in the database"), "they are damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: Origin = Origin::Database(KeyStorage::KeysAndTexts);

    #[test]
    fn what_is_stored_is_read_again() {
        let span = Span { offset: 3, len_bytes: u64::MAX };
        let text = Stored::of(KeyStorage::KeysAndTexts, "one", 0, &Features::default()).unwrap();
        let (hash, place, features) =
            (Stored::hash(7), Stored::place(span, 8), Stored::with_features(9, &[1, 2]));
        for stored in [&hash, &place, &features, &text] {
            assert_eq!(Stored::read(Origin::Temporary, stored.bytes().to_vec()), *stored);
        }
        assert_eq!((hash.text_hash(), hash.span(), hash.is_text()), (Some(7), None, false));
        assert_eq!((place.text_hash(), place.span(), place.is_text()), (Some(8), Some(span), false));
        assert_eq!((features.text_hash(), features.span(), features.is_text()), (Some(9), None, false));
        assert_eq!((text.text_hash(), text.span(), text.is_text()), (None, None, true));
        assert_eq!((features.features(), hash.features()), (Some(&[1, 2][..]), None));
        assert_eq!(text.decompress("key").unwrap(), "one");
        assert_eq!(Stored::read(TEXTS, b"plain".to_vec()).decompress("key").unwrap(), "plain");
        assert!(Stored::read(TEXTS, [&FRAME[..], b"no frame"].concat()).decompress("key").is_err());
        for damaged in [&[][..], &[HASH], &[PLACE, 1], &[PLACE; 30], &[FEATURES; 16], b"plain"] {
            let stored = Stored::read(Origin::Temporary, damaged.to_vec());
            assert!(stored.span().is_none() && stored.text_hash().is_none() && !stored.is_text());
            assert!(stored.decompress("key").is_err());
        }
    }

    /// A frame, and a plain text that begins as a place does.
    #[test]
    fn texts_of_a_golden_database_are_read() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/v1/texts");
        let snapshot = nearprint::AnyDatabase::open(path).unwrap().snapshot().unwrap();
        for (id, text) in [(42, "one"), (43, "\u{1} plain")] {
            let keys = snapshot.keys_of(&[7], id).unwrap();
            let found = stored_text(snapshot.key_storage(), &keys[0].key, &keys[0].text).unwrap();
            assert_eq!(found, text.as_bytes());
        }
    }

    /// Their first character made them hashes, places or sets of features.
    #[test]
    fn regression_a_text_may_begin_with_any_character() {
        for first in ['\0', '\u{1}', '\u{2}', '\u{3}', '('] {
            let text = format!("{first}{}", "x".repeat(32));
            let stored = text_to_store(text.as_bytes()).unwrap().into_owned();
            assert!(stored.starts_with(&FRAME));
            assert_eq!(text_to_store(&stored).unwrap(), stored, "it is one already");
            assert_eq!(stored_text(KeyStorage::KeysAndTexts, "key", &stored).unwrap(), text.as_bytes());
            for bytes in [stored, text.clone().into_bytes()] {
                let read = Stored::read(TEXTS, bytes);
                assert!(read.is_text() && read.span().is_none() && read.text_hash().is_none());
                assert_eq!(read.decompress("key").unwrap(), text);
            }
        }
    }

    /// They were stored as they were, and could not be read.
    #[test]
    fn regression_bytes_that_begin_as_a_frame_does_are_stored() {
        let frame = text_to_store(b"one two three").unwrap().into_owned();
        for bytes in [[&FRAME[..], b"no frame"].concat(), FRAME.to_vec(), frame[..frame.len() - 1].to_vec()] {
            let stored = text_to_store(&bytes).unwrap();
            assert_eq!(stored_text(KeyStorage::KeysAndTexts, "key", &stored).unwrap(), bytes);
        }
    }

    /// Whatever bytes a value begins with, its kind is one that its database keeps, and nothing panics.
    #[test]
    fn values_of_any_bytes_are_read() {
        use KeyStorage::{Keys, KeysAndFeatures, KeysAndHashes, KeysAndTexts};
        let origins = [Keys, KeysAndHashes, KeysAndTexts, KeysAndFeatures].map(Origin::Database);
        for first in 0..=u8::MAX {
            for len in [0, 1, HASH_BYTES - 1, HASH_BYTES, HASH_BYTES + 1, PLACE_BYTES, PLACE_BYTES + 1] {
                let mut bytes = vec![0xff; len];
                bytes.iter_mut().take(1).for_each(|byte| *byte = first);
                for origin in origins {
                    let stored = Stored::read(origin, bytes.clone());
                    assert_eq!(stored.is_text(), origin == TEXTS && len > 0, "{origin:?} {bytes:?}");
                    assert_eq!(stored.span(), None);
                    let has_hash = [Origin::Database(KeysAndHashes), Origin::Database(KeysAndFeatures)];
                    assert!(stored.text_hash().is_none() || has_hash.contains(&origin));
                    assert!(stored.features().is_none() || origin == Origin::Database(KeysAndFeatures));
                    let _ = stored.decompress("key");
                }
                let temporary = Stored::read(Origin::Temporary, bytes);
                assert!(!temporary.is_text() && temporary.decompress("key").is_err());
                assert_eq!(temporary.span().is_some(), first == PLACE && len == PLACE_BYTES);
            }
        }
    }

    /// A text that begins as features do was stored as such: whatever was near it then ended with an error.
    #[test]
    fn regression_a_text_is_not_stored_as_features() {
        let set = [0x03, 0x03, 0x00, 0xc0, 0x01, 0x00, 0x50, 0x73, 0xb7, 0x01];
        let features = Stored::with_features(9, &set).into_bytes();
        let store = |value: &[u8]| {
            let (keys, texts) = (["a", "b"], [&features[..], value]);
            let rows = NewRows { fingerprints: &[7, 7], ids: None, keys: Some(&keys), texts: Some(&texts) };
            with_texts_to_store(KeyStorage::KeysAndFeatures, &rows, |rows| {
                assert_eq!(rows.texts, Some(&texts[..]));
                Ok(())
            })
        };
        assert!(store(b"").is_ok() && store(&features).is_ok());
        for first in 0..=u8::MAX {
            let text = [&[first][..], b"a text of many ordinary words"].concat();
            let refused = store(&text);
            assert!(
                matches!(&refused, Err(nearprint::Error::NotFeatures { key }) if key == "b"),
                "{refused:?}"
            );
        }
        for end in 1..features.len() {
            assert!(store(&features[..end]).is_err() || end == HASH_BYTES, "{end}");
        }
    }

    /// Places made reads of as many bytes as they say. A database of the user has none.
    #[test]
    fn regression_only_temporary_databases_have_places() {
        let place = Stored::place(Span { offset: 0, len_bytes: 1 << 40 }, 8).into_bytes();
        for keeps in [KeyStorage::KeysAndTexts, KeyStorage::KeysAndHashes, KeyStorage::KeysAndFeatures] {
            assert_eq!(Stored::read(Origin::Database(keeps), place.clone()).span(), None);
        }
    }
}
