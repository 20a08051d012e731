//! The texts of records, by their keys.

use std::path::{Path, PathBuf};

use crate::args::DecodingArgs;
use crate::commands::snapshots::ids_of_key;
use crate::terminal::failure::Failure;
use crate::terminal::quoted;
use nearprint::any::AnySnapshot;
use nearprint::{AnyDatabase, LeftOutRows, Options};
use nearprint_text::dedup::stored_text;
use nearprint_text::documents::{Item, Kind, Reader, ReaderOptions, look_at};
use nearprint_text::{DatabaseProblem, Recipe};

/// Where records are looked for.
pub(super) struct Records<'a> {
    /// A file of records, or a database that keeps texts.
    pub(super) input: &'a Path,
    pub(super) text_field: &'a str,
    pub(super) key_field: Option<&'a str>,
    pub(super) decoding: &'a DecodingArgs,
}

impl Records<'_> {
    /// The texts of some keys, in this order, and the recipe of the database.
    pub(super) fn find(&self, keys: &[&str]) -> Result<(Vec<String>, Option<Recipe>), Failure> {
        let is_database = look_at(self.input)?.is_some_and(|found| found.kind == Kind::Database);
        let (found, recipe) = if is_database { self.stored(keys)? } else { (self.read(keys)?, None) };
        let mut texts = Vec::new();
        for (key, text) in keys.iter().zip(found) {
            if text.is_none() && is_database {
                self.refuse_left_out(key)?;
            }
            texts.push(text.ok_or_else(|| {
                let hint = match self.key_field {
                    None if !is_database => {
                        "; --key-field names the field of keys, without it they are INPUT:N"
                    }
                    _ => "",
                };
                Failure::Usage(format!("{}: no record with the key {key:?}{hint}", self.input.display()))
            })?);
        }
        Ok((texts, recipe))
    }

    /// Fails if the database remembers that the document of a key was left out, so that it has no text of it.
    fn refuse_left_out(&self, key: &str) -> Result<(), Failure> {
        let remembered = LeftOutRows::open(self.input, &Options::new())?;
        if remembered.map(|rows| rows.find(key)).transpose()?.flatten().is_none() {
            return Ok(());
        }
        let database = quoted(self.input);
        Err(Failure::OtherCommand {
            why: format!("{}: the text of {key:?} is not stored, as it was left out", self.input.display()),
            hint: format!(
                "compare it with its input: nearprint compare INPUT {database} --key {} --key KEPT",
                quoted(Path::new(key))
            ),
        })
    }

    fn read(&self, keys: &[&str]) -> Result<Vec<Option<String>>, Failure> {
        let mut options = ReaderOptions::default();
        options.fields.text = self.text_field.into();
        options.fields.key = self.key_field.map(str::to_string);
        options.encoding = self.decoding.encoding;
        options.pre = self.decoding.preprocessing();
        let mut reader = Reader::open(&[self.input.to_path_buf()], options)?;
        let mut texts = vec![None; keys.len()];
        while texts.iter().any(Option::is_none)
            && let Some(item) = reader.next_item()?
        {
            let record = match item {
                Item::Record(record) => record,
                Item::Bad(bad) => {
                    return Err(Failure::Input { place: bad.place.to_string(), why: bad.reason });
                }
            };
            for (key, text) in keys.iter().zip(&mut texts) {
                if record.key == **key {
                    text.get_or_insert_with(|| record.text.clone());
                }
            }
        }
        Ok(texts)
    }

    fn stored(&self, keys: &[&str]) -> Result<(Vec<Option<String>>, Option<Recipe>), Failure> {
        let snapshot = AnyDatabase::open(self.input)?.snapshot()?;
        if !snapshot.key_storage().has_texts() {
            let path = PathBuf::from(self.input);
            return Err(Failure::OtherCommand {
                why: DatabaseProblem::NoTexts { path }.to_string(),
                hint: "`nearprint compare --key KEY --key KEY FILE…` reads the texts from the files of records; \
                       `nearprint create --store texts` makes a database that stores them"
                    .into(),
            });
        }
        let texts = keys.iter().map(|key| text_of(&snapshot, key)).collect::<Result<Vec<_>, _>>()?;
        Ok((texts, snapshot.recipe().and_then(|recipe| recipe.parse().ok())))
    }
}

/// The text that a database stores with a key.
fn text_of(snapshot: &AnySnapshot, key: &str) -> Result<Option<String>, Failure> {
    for id in ids_of_key(snapshot, key)? {
        for fingerprint in snapshot.fingerprints_of(id)?.chunks_exact(snapshot.width().words()) {
            let keys = snapshot.keys_of(fingerprint, id)?;
            if let Some(found) = keys.iter().find(|found| found.key == key) {
                let text = stored_text(snapshot.key_storage(), key, &found.text)?;
                return Ok(Some(String::from_utf8_lossy(&text).into_owned()));
            }
        }
    }
    Ok(None)
}
