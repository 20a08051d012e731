//! Rows of inputs, and where they go.

use std::borrow::Cow;

use crate::args::{GlobalArgs, agree};
use crate::row_header::RowHeader;
use crate::terminal::failure::Failure;
use nearprint::any::{AnyFingerprint, NewRows};
use nearprint::{Error, MAX_KEY_BYTES, Width};

/// What an input says about its rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Description {
    /// The width of the fingerprints, if their digits or the header have it.
    pub(crate) width: Option<Width>,
    /// The distance and the recipe of the header of `fingerprint --header` or `export --header`.
    pub(crate) header: RowHeader,
    /// Whether the rows have keys, and no option named their column.
    pub(crate) has_keys: bool,
}

impl Description {
    /// Fails if the input has fingerprints of another recipe.
    pub(crate) fn check_recipe(&self, stored: Option<&str>) -> Result<(), Failure> {
        match self.header.recipe.as_deref().zip(stored).filter(|(own, stored)| !agree(own, stored)) {
            Some((own, stored)) => Err(Failure::Usage(format!(
                "the input has fingerprints of another recipe than the database: {own}, not {stored}"
            ))),
            None => Ok(()),
        }
    }
}

/// Receives the rows of an input.
pub(crate) trait RowSink {
    /// The next row. `None` if the input has no id, or no key, for it.
    fn row(&mut self, fingerprint: AnyFingerprint, id: Option<u64>, key: Option<&str>)
    -> Result<(), Failure>;

    /// The next rows, which have neither ids nor keys: the words of their fingerprints. One call for thousands costs
    /// less than one for each.
    fn fingerprints(&mut self, width: Width, words: &[u64]) -> Result<(), Failure> {
        let mut fingerprints = words.chunks_exact(width.words());
        fingerprints.try_for_each(|words| self.row(AnyFingerprint::new(width, words), None, None))
    }

    /// What an input says about its rows, before the first of them.
    fn described(&mut self, _: &Description) -> Result<(), Failure> {
        Ok(())
    }

    /// What happens to keys.
    fn key_policy(&self) -> KeyPolicy {
        KeyPolicy::Ignore
    }

    /// The next row comes without its key, because the database stores none.
    fn drops_key(&mut self) {}

    /// The reader is about to wait for input. A sink that collects rows processes them now.
    fn idle(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Passes a row to a database of any width.
pub(crate) fn store(
    fingerprint: AnyFingerprint,
    id: Option<u64>,
    key: Option<&str>,
    store: impl FnOnce(&NewRows<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let fingerprints = fingerprint.words();
    store(&NewRows { fingerprints, ids: Some(id.as_slice()), keys: Some(key.as_slice()), texts: None })
}

/// Tells once that keys are not stored.
#[derive(Debug, Default)]
pub(crate) struct DroppedKeys(bool);

impl DroppedKeys {
    pub(crate) fn warn(&mut self, global: GlobalArgs) {
        if !std::mem::replace(&mut self.0, true) {
            global.note(format_args!(
                "warning: the keys of the input are not stored; make the database with --store keys to keep them"
            ));
        }
    }
}

/// What happens to the keys of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPolicy {
    /// The sink receives them.
    Keep,
    /// They are skipped.
    Ignore,
    /// The database cannot store them. A column that a header or JSON names as the key is skipped,
    /// since it may be meant for another program, and [the sink is told](RowSink::drops_key). A key column without a name is an error.
    Refuse,
}

impl KeyPolicy {
    /// The policy of a database that stores keys or does not.
    pub(crate) fn keep_if(stores_keys: bool) -> Self {
        if stores_keys { Self::Keep } else { Self::Refuse }
    }
}

impl<T: FnMut(AnyFingerprint, Option<u64>) -> Result<(), Failure>> RowSink for T {
    fn row(&mut self, fingerprint: AnyFingerprint, id: Option<u64>, _: Option<&str>) -> Result<(), Failure> {
        self(fingerprint, id)
    }
}

/// A row of an input.
pub(super) struct InputRow<'a> {
    pub(super) fingerprint: AnyFingerprint,
    pub(super) id: Option<u64>,
    pub(super) key: Option<Cow<'a, str>>,
    /// Whether the input names its columns or fields.
    pub(super) has_names: bool,
}

impl InputRow<'_> {
    /// Passes the row to a sink, with its key if the sink keeps keys.
    pub(super) fn send_to(self, sink: &mut dyn RowSink) -> Result<(), LineError> {
        let key = match (sink.key_policy(), self.key.as_deref()) {
            (KeyPolicy::Keep, Some(key)) if key.len() > MAX_KEY_BYTES => {
                return Err(format!("a key of more than {MAX_KEY_BYTES} bytes").into());
            }
            (KeyPolicy::Keep, key) => key,
            (KeyPolicy::Refuse, Some(_)) if !self.has_names => {
                let why = "a column of keys, but the database stores no keys; make it with --store keys";
                return Err(why.to_string().into());
            }
            (KeyPolicy::Refuse, Some(_)) => {
                sink.drops_key();
                None
            }
            _ => None,
        };
        Ok(sink.row(self.fingerprint, self.id, key)?)
    }
}

/// The default name of the column or field of keys.
pub(super) const DEFAULT_KEY_FIELD: &str = "key";

/// Why a line cannot be processed.
pub(super) enum LineError {
    /// The line is malformed.
    Malformed(String),
    /// The sink failed.
    Sink(Failure),
}

impl From<String> for LineError {
    fn from(why: String) -> Self {
        Self::Malformed(why)
    }
}

impl From<Failure> for LineError {
    fn from(failure: Failure) -> Self {
        Self::Sink(failure)
    }
}

/// Parses an id: decimal digits, up to 2^64 - 1.
pub(super) fn parse_id(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits).ok_or_else(|| not_an_id(text))
}

pub(super) fn not_an_id(text: &str) -> String {
    format!("{text:?} is not an id, which is a number from 0 to 2^64 - 1")
}
