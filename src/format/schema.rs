//! What a database is: the settings that its manifest stores.

use super::expiry::Lifetime;
use super::manifest::{BesideKeys, KeysKept, MAX_RECIPE_BYTES};
use crate::error::{Error, Result};
use crate::fingerprint::Distance;
use crate::layout::LayoutChoice;
use std::fmt;
use std::time::Duration;

/// The settings that are fixed when a database is created, and stored in it. The width comes from the type.
///
/// Settings of a handle, such as threads and memory, are in [`Options`](crate::Options).
///
/// ```
/// use nearprint::{KeyStorage, LayoutChoice, Schema};
/// let schema = Schema::new().k(6).layout(LayoutChoice::Rotations { tables: 3 }).keys(KeyStorage::Keys);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    pub(crate) k: u32,
    pub(crate) layout: LayoutChoice,
    pub(crate) keys: KeyStorage,
    pub(crate) recipe: Option<String>,
    pub(crate) lifetime: Option<Lifetime>,
    pub(crate) remember: Remember,
}

/// Whether a database stores a text key beside each row, such as a URL or a path, and what with
/// each key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyStorage {
    /// No keys: rows have ids only.
    #[default]
    None,
    /// Keys.
    Keys,
    /// Keys, and with each key a hash of the document's text: up to
    /// [`MAX_HASH_BYTES`](crate::MAX_HASH_BYTES) bytes, by which exact copies are recognized.
    KeysAndHashes,
    /// Keys, and with each key the text of the document or any other bytes.
    KeysAndTexts,
    /// Keys, and with each key the set of features of the text, by which its exact similarity with
    /// another text is known; in bytes of the caller.
    KeysAndFeatures,
}

/// What a database remembers of documents that are left out as near-duplicates of its documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Remember {
    /// Nothing.
    #[default]
    Nothing,
    /// The hash of the key, the id of the kept document, the similarity and the job: 30 bytes.
    Hashes,
    /// The key, too.
    Keys,
}

impl KeyStorage {
    pub(crate) fn of(kept: Option<KeysKept>) -> Self {
        match kept {
            None => Self::None,
            Some(KeysKept { beside: BesideKeys::Nothing, .. }) => Self::Keys,
            Some(KeysKept { beside: BesideKeys::Hashes, .. }) => Self::KeysAndHashes,
            Some(KeysKept { beside: BesideKeys::Texts, .. }) => Self::KeysAndTexts,
            Some(KeysKept { beside: BesideKeys::Features, .. }) => Self::KeysAndFeatures,
        }
    }

    /// Keys of an empty database.
    pub(crate) fn kept(self) -> Option<KeysKept> {
        let beside = match self {
            Self::None => return None,
            Self::Keys => BesideKeys::Nothing,
            Self::KeysAndHashes => BesideKeys::Hashes,
            Self::KeysAndTexts => BesideKeys::Texts,
            Self::KeysAndFeatures => BesideKeys::Features,
        };
        Some(KeysKept { beside, next_sequence: 0 })
    }

    /// Whether rows have keys.
    #[must_use]
    pub const fn has_keys(self) -> bool {
        !matches!(self, Self::None)
    }

    /// Whether keys have texts. False where they have hashes or features of texts.
    #[must_use]
    pub const fn has_texts(self) -> bool {
        matches!(self, Self::KeysAndTexts)
    }

    /// Whether keys have texts, or features or hashes of texts.
    #[must_use]
    pub const fn has_values(self) -> bool {
        matches!(self, Self::KeysAndHashes | Self::KeysAndTexts | Self::KeysAndFeatures)
    }
}

/// `none`, `keys`, `keys and hashes`, `keys and texts` or `keys and features`.
impl fmt::Display for KeyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Keys => "keys",
            Self::KeysAndHashes => "keys and hashes",
            Self::KeysAndTexts => "keys and texts",
            Self::KeysAndFeatures => "keys and features",
        })
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::new()
    }
}

impl Schema {
    /// k = 3, an automatic layout, no keys, no recipe; rows do not expire.
    #[must_use]
    pub fn new() -> Self {
        Self {
            k: 3,
            layout: LayoutChoice::Auto,
            keys: KeyStorage::None,
            recipe: None,
            lifetime: None,
            remember: Remember::Nothing,
        }
    }

    /// The distance, in bits, that the layout is tuned for. Queries may use any other.
    #[must_use]
    pub fn k(mut self, k: u32) -> Self {
        self.k = k;
        self
    }

    /// How the bits are split into tables.
    #[must_use]
    pub fn layout(mut self, layout: LayoutChoice) -> Self {
        self.layout = layout;
        self
    }

    /// Whether rows have keys, and what is stored beside keys.
    #[must_use]
    pub fn keys(mut self, keys: KeyStorage) -> Self {
        self.keys = keys;
        self
    }

    /// Whether rows have keys, and what is stored beside keys.
    #[must_use]
    pub fn key_storage(&self) -> KeyStorage {
        self.keys
    }

    /// The recipe that makes the fingerprints, in the caller's words; 1 to 4,096 bytes. The
    /// database stores it for [`Snapshot::recipe`](crate::Snapshot::recipe), and does nothing else
    /// with it.
    #[must_use]
    pub fn recipe(mut self, recipe: impl Into<String>) -> Self {
        self.recipe = Some(recipe.into());
        self
    }

    /// What the database remembers of [documents that are left out](crate::Writer::remember_left_out).
    #[must_use]
    pub fn remember(mut self, remember: Remember) -> Self {
        self.remember = remember;
        self
    }

    /// Rows expire after this time, to the millisecond. No snapshot that is taken later has them, and a
    /// writer drops them.
    ///
    /// Time is cut into periods. All rows that are inserted in one expire together, a lifetime after the
    /// period *began*: a row lives at least the lifetime less a period. Their runs are never merged with the
    /// runs of other periods, so expired runs are dropped as they are, at no cost. A query searches the runs
    /// of all periods: 1 to 1,024 of them fit a lifetime. `None` stands for a tenth of the lifetime.
    ///
    /// # Errors
    /// [`Error::Lifetime`] for another number of periods.
    pub fn expire_after(self, lifetime: Duration, period: Option<Duration>) -> Result<Self> {
        Ok(Self { lifetime: Some(Lifetime::new(lifetime, period)?), ..self })
    }

    /// Refuses what no database of this width can be.
    pub(crate) fn check(&self, width: u32) -> Result<()> {
        if self.layout.bands().is_some() {
            // Bands that do not fit leave nothing to compare.
            self.layout.layout(width, 0, 0)?;
        }
        Distance::checked(self.k, self.layout.compared_bits(width))?;
        self.recipe.as_deref().map_or(Ok(()), check_recipe)?;
        self.layout.layout(width, self.k, 0).map(drop)
    }
}

/// Refuses recipes that are empty or too long.
pub(crate) fn check_recipe(recipe: &str) -> Result<()> {
    match recipe.len() {
        1..=MAX_RECIPE_BYTES => Ok(()),
        len_bytes => Err(Error::InvalidRecipe { len_bytes }),
    }
}
