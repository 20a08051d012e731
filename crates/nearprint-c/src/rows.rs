//! Rows of the caller, column by column.

use std::ffi::c_char;
use std::ptr;

#[cfg(not(feature = "texts"))]
use nearprint::KeyStorage;
#[cfg(feature = "texts")]
use nearprint::MAX_KEY_BYTES;
use nearprint::any::NewRows;

use crate::call::Call;
use crate::error::{Failure, Outcome};
use crate::growing::Growing;

/// Rows to store, column by column: one value of each column for each row. Start from
/// nearprint_rows_init().
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_rows {
    /// The size of this structure in the header of the program: nearprint_rows_init() sets it.
    pub struct_size: usize,
    /// The number of rows.
    pub count: usize,
    /// Fingerprints: width / 64 words for each row, the least significant word first.
    pub fingerprints: *const u64,
    /// Ids. Null for ids that are assigned: the 64-bit xxh3 of the key, or, without keys, 1 + the
    /// largest ever stored, and 0 for the first.
    pub ids: *const u64,
    /// Keys, which are UTF-8, of at most 65,536 bytes. Null for rows without keys. None of them is null: rows
    /// without keys are stored by a call of their own.
    pub keys: *const *const c_char,
    /// Their lengths in bytes.
    pub key_lens: *const usize,
    /// What is stored beside each key: texts; bytes of the caller where the database keeps hashes; what
    /// another database has stored where it keeps features, and NEARPRINT_NOT_STORED for others. Null
    /// for nothing.
    pub texts: *const *const c_char,
    /// Their lengths in bytes.
    pub text_lens: *const usize,
}

// SAFETY: The size is the first field; the others are a number and pointers.
unsafe impl Growing for nearprint_rows {
    const NAME: &'static str = "nearprint_rows";
    const FIRST_SIZE: usize = size_of::<Self>();
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        count: 0,
        fingerprints: ptr::null(),
        ids: ptr::null(),
        keys: ptr::null(),
        key_lens: ptr::null(),
        texts: ptr::null(),
        text_lens: ptr::null(),
    };
}

/// The checked columns of rows.
pub(crate) struct CheckedRows<'c> {
    pub(crate) count: usize,
    fingerprints: &'c [u64],
    ids: Option<&'c [u64]>,
    keys: Option<Vec<&'c str>>,
    texts: Option<Vec<&'c [u8]>>,
}

impl<'c> CheckedRows<'c> {
    /// Checks rows with fingerprints of some words.
    pub(crate) fn new(call: &'c Call, rows: *const nearprint_rows, words: usize) -> Outcome<Self> {
        let Some(given) = call.growing(rows, "rows")? else {
            return Err(Failure::argument("rows", "a null pointer"));
        };
        let count = given.count;
        let fingerprints = call.words(given.fingerprints, words, count, "rows.fingerprints")?;
        let ids = call.optional_array(given.ids, count, "rows.ids")?;
        check_keys(call.optional_array(given.keys, count, "rows.keys")?.unwrap_or_default(), "rows.keys")?;
        let keys = strings(call, (given.keys, given.key_lens), count, ["rows.keys", "rows.key_lens"])?;
        let keys = keys.map(|keys| texts_of(keys, "rows.keys")).transpose()?;
        let texts = strings(call, (given.texts, given.text_lens), count, ["rows.texts", "rows.text_lens"])?;
        if texts.is_some() && keys.is_none() {
            return Err(Failure::argument("rows.keys", "a null pointer, although there are texts"));
        }
        Ok(Self { count, fingerprints, ids, keys, texts })
    }

    pub(crate) fn view(&self) -> NewRows<'_> {
        let (fingerprints, ids) = (self.fingerprints, self.ids);
        NewRows { fingerprints, ids, keys: self.keys.as_deref(), texts: self.texts.as_deref() }
    }
}

#[cfg(feature = "texts")]
pub(crate) use nearprint_text::dedup::{stored_text, with_texts_to_store};

/// A library that lacks Zstandard stores a text as it is. Every reader accepts it.
#[cfg(not(feature = "texts"))]
pub(crate) fn with_texts_to_store<T>(
    _: KeyStorage,
    rows: &NewRows<'_>,
    store: impl FnOnce(&NewRows<'_>) -> nearprint::Result<T>,
) -> nearprint::Result<T> {
    store(rows)
}

/// A library that lacks Zstandard gives back what is stored.
#[cfg(not(feature = "texts"))]
pub(crate) fn stored_text<'a>(
    _: KeyStorage,
    _: &str,
    stored: &'a [u8],
) -> nearprint::Result<std::borrow::Cow<'a, [u8]>> {
    Ok(stored.into())
}

/// The keys and the texts of documents.
#[cfg(feature = "texts")]
pub(crate) fn documents(call: &Call, documents: *const nearprint_rows) -> Outcome<Vec<(&str, &str)>> {
    let Some(given) = call.growing(documents, "documents")? else {
        return Err(Failure::argument("documents", "a null pointer"));
    };
    if !(given.fingerprints.is_null() && given.ids.is_null()) {
        return Err(Failure::argument(
            "documents",
            "with fingerprints or ids, which are made from texts and keys",
        ));
    }
    let (keys, texts) = ((given.keys, given.key_lens), (given.texts, given.text_lens));
    let keys = key_array(call, keys, given.count, ["documents.keys", "documents.key_lens"])?;
    let texts = text_array(call, texts, given.count, ["documents.texts", "documents.text_lens"])?;
    if let Some(number) = keys.iter().position(|key| key.len() > MAX_KEY_BYTES) {
        let why = format_args!("number {number} has more than {MAX_KEY_BYTES} bytes");
        return Err(Failure::argument("documents.keys", why));
    }
    Ok(keys.into_iter().zip(texts).collect())
}

/// An array of keys. A null pointer is none: a stream gives it for a row without a key.
pub(crate) fn key_array<'c>(
    call: &'c Call,
    (keys, lens): (*const *const c_char, *const usize),
    count: usize,
    names: [&str; 2],
) -> Outcome<Vec<&'c str>> {
    let found = text_array(call, (keys, lens), count, names)?;
    check_keys(call.array(keys, count, names[0])?, names[0])?;
    Ok(found)
}

fn check_keys(keys: &[*const c_char], name: &str) -> Outcome {
    match keys.iter().position(|key| key.is_null()) {
        Some(index) => Err(Failure::argument(name, format_args!("number {index} is a null pointer"))),
        None => Ok(()),
    }
}

/// An array of texts, which must be UTF-8. A null pointer is an empty one only with the length 0.
pub(crate) fn text_array<'c>(
    call: &'c Call,
    (texts, lens): (*const *const c_char, *const usize),
    count: usize,
    [name, lens_name]: [&str; 2],
) -> Outcome<Vec<&'c str>> {
    let texts = call.array(texts, count, name)?;
    let each = texts.iter().zip(call.array(lens, count, lens_name)?).enumerate();
    let found = each.map(|(index, (&at, &len))| match call.string(at, len, name) {
        Err(_) if at.is_null() => {
            Err(Failure::argument(name, format_args!("number {index} is a null pointer")))
        }
        found => found,
    });
    texts_of(found.collect::<Outcome<_>>()?, name)
}

/// An array of strings that may be missing.
fn strings<'c>(
    call: &'c Call,
    (strings, lens): (*const *const c_char, *const usize),
    count: usize,
    [name, lens_name]: [&str; 2],
) -> Outcome<Option<Vec<&'c [u8]>>> {
    let Some(strings) = call.optional_array(strings, count, name)? else { return Ok(None) };
    let lens = call.array(lens, count, lens_name)?;
    let each = strings.iter().zip(lens).map(|(&at, &len)| call.optional_string(at, len, name));
    each.map(|string| Ok(string?.unwrap_or_default())).collect::<Outcome<_>>().map(Some)
}

fn texts_of<'c>(strings: Vec<&'c [u8]>, name: &str) -> Outcome<Vec<&'c str>> {
    let text = |(index, bytes): (usize, &'c [u8])| {
        std::str::from_utf8(bytes).map_err(|error| {
            let byte = error.valid_up_to();
            Failure::argument(name, format_args!("number {index} is not UTF-8 from byte {byte}"))
        })
    };
    strings.into_iter().enumerate().map(text).collect()
}
