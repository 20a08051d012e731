//! Rows to insert.

use std::path::Path;

use crate::error::{Error, Result};
use crate::fingerprint::{Fingerprint, Row};
use crate::format::keys::{MAX_HASH_BYTES, MAX_KEY_BYTES, hash_key};
use crate::format::manifest::{BesideKeys, KeysKept};

/// A row to insert, as [`Writer::insert`](crate::Writer::insert),
/// [`Writer::upsert`](crate::Writer::upsert) and [`Builder::push`](crate::Builder::push) take it. They
/// also take a fingerprint alone, and a [`Row`].
///
/// ```
/// use nearprint::{Database, KeyStorage, NewRow, Row, Schema};
/// # let home = tempfile::tempdir()?;
/// let schema = Schema::new().keys(KeyStorage::KeysAndTexts);
/// let database = Database::<u64>::create(home.path().join("pages.np"), &schema)?;
/// let mut writer = database.writer()?;
/// writer.insert(0x1f3a)?; // an automatic id
/// writer.insert(Row { fingerprint: 0x1f3b, id: 7 })?;
/// let id = writer.insert(NewRow::keyed(0x1f3a, "https://a/"))?; // the id is a hash of the key
/// writer.insert(NewRow { id: Some(9), text: b"of b", ..NewRow::keyed(0x1f3a, "https://b/") })?;
/// assert_eq!(writer.snapshot()?.ids_of_key("https://a/")?, [id]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewRow<'a, F> {
    /// The fingerprint.
    pub fingerprint: F,
    /// The id. `None` stands for the 64-bit xxh3 of the key, or for an automatic id if there is no key.
    pub id: Option<u64>,
    /// The key, of at most [`MAX_KEY_BYTES`] bytes, if the database stores keys.
    pub key: Option<&'a str>,
    /// What is stored beside the key: a text of less than 4 GiB where the database stores texts, or
    /// a hash of at most [`MAX_HASH_BYTES`] bytes where it stores hashes. May be empty.
    pub text: &'a [u8],
}

impl<'a, F> NewRow<'a, F> {
    /// A row with a key, no text, and the hash of the key as its id.
    pub const fn keyed(fingerprint: F, key: &'a str) -> Self {
        Self { fingerprint, id: None, key: Some(key), text: b"" }
    }

    /// The id, unless it is an automatic one.
    pub(super) fn given_id(&self) -> Option<u64> {
        self.id.or_else(|| self.key.map(|key| hash_key(key.as_bytes())))
    }

    /// Refuses a key or a text that a database does not store.
    pub(super) fn check(&self, kept: Option<KeysKept>, path: &Path) -> Result<()> {
        let (text, path) = (self.text, || path.to_path_buf());
        let Some(key) = self.key else {
            return if text.is_empty() { Ok(()) } else { Err(Error::TextWithoutKey { path: path() }) };
        };
        match kept {
            None => Err(Error::KeysNotStored { path: path() }),
            Some(KeysKept { beside: BesideKeys::Nothing, .. }) if !text.is_empty() => {
                Err(Error::TextsNotStored { path: path() })
            }
            Some(KeysKept { beside: BesideKeys::Hashes, .. }) if text.len() > MAX_HASH_BYTES => {
                Err(Error::NotAHash { path: path(), len_bytes: text.len() })
            }
            Some(_) if key.len() > MAX_KEY_BYTES => {
                Err(Error::KeyTooLong { path: path(), len_bytes: key.len() })
            }
            Some(_) if u32::try_from(text.len()).is_err() => {
                Err(Error::TextTooLong { path: path(), len_bytes: text.len() })
            }
            Some(_) => Ok(()),
        }
    }
}

/// A row with an automatic id.
impl<F: Fingerprint> From<F> for NewRow<'_, F> {
    fn from(fingerprint: F) -> Self {
        Self { fingerprint, id: None, key: None, text: b"" }
    }
}

/// A row without a key.
impl<F: Fingerprint> From<Row<F>> for NewRow<'_, F> {
    fn from(Row { fingerprint, id }: Row<F>) -> Self {
        Self { id: Some(id), ..Self::from(fingerprint) }
    }
}
