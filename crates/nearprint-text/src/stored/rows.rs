//! Rows of documents for a database that keeps evidence.

use crate::dedup::Stored;
use crate::error::Result;
use crate::recipe::{AnyFingerprinter, Recipe};
use nearprint::KeyStorage;
use nearprint::any::AnyFingerprint;

/// Makes the rows under which a deduplication would store documents, whether others are near or not. Each thread
/// needs its own; cloning is cheap.
///
/// ```
/// use nearprint::{Database, KeyStorage, NewRow, U256};
/// use nearprint_text::recipe::Recipe;
/// use nearprint_text::stored::{DocumentRows, StoredDocuments};
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("pages.np");
/// let (recipe, keeps): (Recipe, _) = ("minhash".parse()?, KeyStorage::KeysAndFeatures);
/// let mut writer = Database::<U256>::create(&path, &recipe.schema().keys(keeps))?.writer()?;
/// let mut rows = DocumentRows::new(&recipe, keeps);
/// for (key, text) in [("a", "one two three four five"), ("b", "one two three four six")] {
///     let (fingerprint, evidence) = rows.row(key, text)?;
///     writer.insert(NewRow { text: &evidence, ..NewRow::keyed(fingerprint.typed(), key) })?;
/// }
/// writer.commit()?;
/// let documents = StoredDocuments::of(nearprint::AnyDatabase::open(&path)?.snapshot()?)?.unwrap();
/// let mut found = nearprint::any::Columns::new(recipe.width(), nearprint_text::stored::Finder::SHAPE);
/// documents.finder(0.9)?.find(0, "One, two, three, four, five!", 10, &mut found)?;
/// assert_eq!(found.similarities, [1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DocumentRows {
    fingerprinter: AnyFingerprinter,
    keeps: KeyStorage,
}

impl DocumentRows {
    /// Makes rows for a database that keeps this with its keys.
    #[must_use]
    pub fn new(recipe: &Recipe, keeps: KeyStorage) -> Self {
        let fingerprinter = recipe.any_fingerprinter();
        let makes_features = keeps == KeyStorage::KeysAndFeatures;
        let fingerprinter = if makes_features { fingerprinter.with_features() } else { fingerprinter };
        Self { fingerprinter, keeps }
    }

    /// The fingerprint of a document, and what is stored beside its key.
    ///
    /// # Errors
    /// [`Error::Engine`](crate::Error::Engine) if a text cannot be compressed.
    pub fn row(&mut self, key: &str, text: &str) -> Result<(AnyFingerprint, Vec<u8>)> {
        let made = self.fingerprinter.fingerprint(text);
        let stored = Stored::of(self.keeps, text, made.text_hash, &made.features)?;
        Ok((made.stored(key), stored.into_bytes()))
    }
}
