//! Databases that remember kept documents.

use std::path::Path;

use super::confirm::Confirm;
use super::options::{DedupOptions, stored_recipe};
use crate::error::{DatabaseProblem, Result};
use crate::recipe::Recipe;
use nearprint::{BandLayout, Database, Fingerprint, KeyStorage, Writer};

/// Begins the progress in a database that stores hashes of texts.
pub(super) const HASHES: &[u8] = b"\0hashes\0";

/// What a database stores beside the keys of kept documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    Nothing,
    /// Hashes of texts, to recognize exact copies.
    Hashes,
    Texts,
}

/// Opens a database for writing, or creates one. Returns the recipe of its fingerprints.
pub(super) fn open_database<F: Fingerprint>(
    path: &Path,
    options: &DedupOptions,
) -> Result<(Writer<F>, Recipe)> {
    let database = match Database::<F>::open_with(path, options.engine.clone()) {
        Err(nearprint::Error::NotADatabase { .. }) if !path.exists() => {
            let recipe = &options.recipe;
            let k = options.k.unwrap_or(recipe.default_k());
            let schema = recipe.schema().k(k).keys(KeyStorage::KeysAndTexts);
            let database = Database::create_with(path, schema, options.engine.clone())?;
            if options.confirm.is_none() {
                let mut writer = database.writer()?;
                writer.set_checkpoint(HASHES)?;
                writer.close()?;
            }
            database
        }
        other => other?,
    };
    let writer = database.writer()?;
    if !writer.key_storage().has_keys() {
        return Err(DatabaseProblem::NoKeys { path: path.to_path_buf() }.into());
    }
    let recipe = allowed_recipe(options, writer.recipe(), path)?;
    check_bands(writer.bands(), &recipe, path)?;
    Ok((writer, recipe))
}

/// The recipe of a database, if it has one that the options allow.
pub(super) fn allowed_recipe(options: &DedupOptions, known: Option<&str>, path: &Path) -> Result<Recipe> {
    let found = stored_recipe(known, path)?;
    if options.require_recipe && found != options.recipe {
        let (found, expected) = (Box::new(found), Box::new(options.recipe.clone()));
        return Err(DatabaseProblem::OtherRecipe { path: path.to_path_buf(), found, expected }.into());
    }
    Ok(found)
}

/// Refuses a database whose fingerprints are of another kind than those of a recipe.
pub(super) fn check_bands(bands: Option<BandLayout>, recipe: &Recipe, path: &Path) -> Result<()> {
    if bands == recipe.bands() {
        return Ok(());
    }
    let recipe = Box::new(recipe.clone());
    Err(DatabaseProblem::OtherBands { path: path.to_path_buf(), bands, recipe }.into())
}

/// What a database stores beside its keys.
pub(super) fn contents(storage: KeyStorage, progress: Option<&[u8]>) -> Contents {
    match storage.has_texts() {
        false => Contents::Nothing,
        true if progress.is_some_and(|progress| progress.starts_with(HASHES)) => Contents::Hashes,
        true => Contents::Texts,
    }
}

/// Confirmation needs a database with texts.
pub(super) fn check_texts(stores: Contents, confirm: Option<Confirm>, path: &Path) -> Result<()> {
    if confirm.is_some() && stores != Contents::Texts {
        return Err(DatabaseProblem::NoTexts { path: path.to_path_buf() }.into());
    }
    Ok(())
}
