//! Fingerprints of texts.

use std::ffi::c_char;

use nearprint::any::AnyFingerprint;
use nearprint::{KeyStorage, LayoutChoice};
use nearprint_text::Recipe;
use nearprint_text::jaccard::ShingleSet;
use nearprint_text::recipe::AnyFingerprinter;
use nearprint_text::stored::DocumentRows;

use crate::call::Call;
use crate::error::{Outcome, nearprint_error};
use crate::growing::Growing;
use crate::handle::{self, Guarded, Handle};
use crate::settings::{self, nearprint_schema};
use crate::status::nearprint_status;

/// Makes fingerprints of texts by a recipe. Each thread needs one of its own.
pub struct nearprint_fingerprinter {
    pub(crate) inner: Guarded<Maker>,
    pub(crate) recipe: Recipe,
    /// The recipe and its layout as a schema has them, each with a null byte at its end.
    line: String,
    layout: String,
}

impl Handle for nearprint_fingerprinter {
    const NAME: &'static str = "nearprint_fingerprinter";
}

/// Makes a fingerprinter. A recipe is a name, such as `minhash`, `simhash` or `seomoz-cpp`, parts, or
/// a name and parts, such as `simhash shingle=2 width=128`. Those of texts take the visible text of what is a
/// whole HTML page, unless `clean` is given without `detect-html`. `fingerprinter` receives the handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_new(
    recipe: *const c_char,
    recipe_len: usize,
    fingerprinter: *mut *mut nearprint_fingerprinter,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let fingerprinter = call.new_handle(fingerprinter, "fingerprinter")?;
        let recipe: Recipe = call.text(recipe, recipe_len, "recipe")?.parse()?;
        let inner = Guarded::new(Maker::new(&recipe));
        let (line, bands) = (format!("{recipe}\0"), recipe.bands());
        let layout = bands.map_or("auto\0".to_string(), |bands| format!("{}\0", LayoutChoice::Bands(bands)));
        fingerprinter.give(nearprint_fingerprinter { inner, recipe, line, layout });
        Ok(())
    })
}

/// The width of the fingerprints in bits. Returns 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_width(fingerprinter: *const nearprint_fingerprinter) -> u32 {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(std::ptr::null_mut()) };
    call.handle(fingerprinter, "fingerprinter").map_or(0, |fingerprinter| fingerprinter.recipe.width().bits())
}

/// The recipe as a database should store it in its schema: equal recipes have equal texts.
///
/// At most `capacity` bytes are written to `buffer`, without a null byte. `len` receives the whole
/// length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_recipe(
    fingerprinter: *const nearprint_fingerprinter,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let line = &call.handle(fingerprinter, "fingerprinter")?.line;
        call.write_text(line.trim_end_matches('\0'), (buffer, capacity), len)
    })
}

/// The layout that a database of such fingerprints needs in its schema: `bands:BxN` for MinHash,
/// `auto` otherwise. The buffer is as in nearprint_fingerprinter_recipe().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_layout(
    fingerprinter: *const nearprint_fingerprinter,
    buffer: *mut c_char,
    capacity: usize,
    len: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let layout = &call.handle(fingerprinter, "fingerprinter")?.layout;
        call.write_text(layout.trim_end_matches('\0'), (buffer, capacity), len)
    })
}

/// The distance within which texts count as near-duplicates by default. Returns 0 for null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_default_k(
    fingerprinter: *const nearprint_fingerprinter,
) -> u32 {
    // SAFETY: The contract of the header.
    let call = unsafe { Call::of(std::ptr::null_mut()) };
    call.handle(fingerprinter, "fingerprinter").map_or(0, |fingerprinter| fingerprinter.recipe.default_k())
}

/// The schema of a database of documents by this recipe, with all that it needs: the width, the recipe, its layout, its
/// default distance, and keys. Beside the keys are features for MinHash, by which similarities are exact, and otherwise
/// hashes of texts. For fingerprints alone, set `keys` to NEARPRINT_NO_KEYS.
///
/// `schema` is initialized before, and its other fields are set to their defaults. Its strings live as long as the
/// fingerprinter, and end with a null byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_schema(
    fingerprinter: *const nearprint_fingerprinter,
    schema: *mut nearprint_schema,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let nearprint_fingerprinter { recipe, line, layout, .. } =
            call.handle(fingerprinter, "fingerprinter")?;
        call.growing_output(schema, "schema")?.set(nearprint_schema {
            width: recipe.width().bits(),
            k: recipe.default_k(),
            keys: settings::keys_of(recipe.schema().key_storage()),
            layout: layout.as_ptr().cast(),
            layout_len: layout.len() - 1,
            recipe: line.as_ptr().cast(),
            recipe_len: line.len() - 1,
            ..nearprint_schema::DEFAULT
        });
        Ok(())
    })
}

/// Makes the fingerprint of a text, which must be UTF-8. `fingerprint` receives width / 64 words; 0
/// for a text without features, see nearprint_fingerprinter_count_features().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_fingerprint(
    fingerprinter: *mut nearprint_fingerprinter,
    text: *const c_char,
    text_len: usize,
    fingerprint: *mut u64,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let fingerprinter = call.handle(fingerprinter, "fingerprinter")?;
        let text = call.text(text, text_len, "text")?;
        let mut words = call.required(fingerprint, fingerprinter.recipe.width().words(), "fingerprint")?;
        fingerprinter.inner.with("fingerprinter", |inner| {
            let made = inner.fingerprinter.fingerprint(text).value;
            words.set_all(made.words().iter().copied());
            Ok(())
        })
    })
}

/// Counts the features of a text, which must be UTF-8: what the recipe compares, shingles or keywords,
/// each as often as it occurs. `count` receives their number.
///
/// All texts without features have the fingerprint 0. In a database of bands, 0 is near nothing; in
/// others such texts would be near each other, so a program should not store or look up their
/// fingerprints. nearprint_writer_insert_document() stores them with a fingerprint that is made of the key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_count_features(
    fingerprinter: *mut nearprint_fingerprinter,
    text: *const c_char,
    text_len: usize,
    count: *mut usize,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let fingerprinter = call.handle(fingerprinter, "fingerprinter")?;
        let text = call.text(text, text_len, "text")?;
        let mut count = call.output(count, "count")?;
        fingerprinter.inner.with("fingerprinter", |inner| {
            count.set(inner.fingerprinter.fingerprint(text).num_features);
            Ok(())
        })
    })
}

/// Frees the handle. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_fingerprinter_free(fingerprinter: *mut nearprint_fingerprinter) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(fingerprinter) }
}

/// What a fingerprinter makes.
pub(crate) struct Maker {
    pub(crate) fingerprinter: AnyFingerprinter,
    /// With features, which cost more.
    featuring: Option<AnyFingerprinter>,
    documents: Option<(KeyStorage, DocumentRows)>,
}

impl Maker {
    fn new(recipe: &Recipe) -> Self {
        Self { fingerprinter: recipe.any_fingerprinter(), featuring: None, documents: None }
    }

    /// The exact similarity of two texts. Features of other recipes than MinHash are not kept: the words decide, as in
    /// a deduplicator.
    pub(crate) fn similarity(&mut self, a: &str, b: &str) -> f64 {
        if self.fingerprinter.recipe().bands().is_none() {
            return ShingleSet::of_text(a).similarity(&ShingleSet::of_text(b));
        }
        let featuring = self.featuring.get_or_insert_with(|| self.fingerprinter.clone().with_features());
        let a = featuring.fingerprint(a).features;
        a.similarity(&featuring.fingerprint(b).features).unwrap_or_default()
    }

    /// The fingerprint of a document, and what a database stores beside its key.
    pub(crate) fn document(
        &mut self,
        keeps: KeyStorage,
        key: &str,
        text: &str,
    ) -> Outcome<(AnyFingerprint, Vec<u8>)> {
        let known = self.documents.take().filter(|(of, _)| *of == keeps);
        let rows =
            known.map_or_else(|| DocumentRows::new(self.fingerprinter.recipe(), keeps), |(_, rows)| rows);
        let (_, rows) = self.documents.insert((keeps, rows));
        Ok(rows.row(key, text)?)
    }
}
