//! Databases that remember kept documents.

use std::path::Path;

use super::measure::key_storage;
use super::options::{DedupOptions, stored_recipe};
use crate::error::{DatabaseProblem, Result};
use crate::recipe::Recipe;
use nearprint::any::{AnyDatabase, AnyWriter};
use nearprint::{BandLayout, Schema};

/// Whether there is something at a path that is to be a database. An empty folder becomes one.
pub(crate) fn is_there(path: &Path) -> bool {
    let is_empty = || std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    path.exists() && !is_empty()
}

/// Opens a database for writing, or creates one. Returns the recipe of its fingerprints.
pub(crate) fn open_database(path: &Path, options: &DedupOptions) -> Result<(AnyWriter, Recipe)> {
    let database = options.engine.open_or_create_any(path, options.recipe.width(), &new_schema(options)?)?;
    if options.expire_after.is_some() {
        options.check_lifetime(&database.snapshot()?.stats(), path)?;
    }
    let writer = database.writer()?;
    if !writer.key_storage().has_keys() {
        return Err(DatabaseProblem::NoKeys { path: path.to_path_buf() }.into());
    }
    if options.remember.is_some_and(|wanted| wanted != writer.remembers()) {
        return Err(
            DatabaseProblem::RemembersOther { path: path.to_path_buf(), found: writer.remembers() }.into()
        );
    }
    let recipe = allowed_recipe(options, writer.recipe(), path)?;
    check_bands(writer.bands(), &recipe, path)?;
    Ok((writer, recipe))
}

/// Makes a database.
pub(crate) fn create_database(path: &Path, options: &DedupOptions) -> Result<()> {
    options.engine.create_any(path, options.recipe.width(), &new_schema(options)?)?;
    Ok(())
}

/// What a new database is.
fn new_schema(options: &DedupOptions) -> Result<Schema> {
    let recipe = options.new_recipe();
    let k = options.k.unwrap_or(recipe.default_k());
    let schema = recipe.schema().k(k).keys(key_storage(options, &recipe));
    let schema = schema.remember(options.remember.unwrap_or_default());
    Ok(match options.expire_after {
        Some(lifetime) => schema.expire_after(lifetime, None)?,
        None => schema,
    })
}

/// The recipe of a database, if it has one that the options allow.
pub(crate) fn allowed_recipe(options: &DedupOptions, known: Option<&str>, path: &Path) -> Result<Recipe> {
    let found = stored_recipe(known, path)?;
    if options.require_recipe && !options.recipe.is_same_but_for_similarity(&found) {
        let (found, expected) = (Box::new(found), Box::new(options.recipe.clone()));
        return Err(DatabaseProblem::OtherRecipe { path: path.to_path_buf(), found, expected }.into());
    }
    Ok(found)
}

/// Refuses a database whose fingerprints have another width than those of the recipe.
pub(super) fn check_width(database: &AnyDatabase, options: &DedupOptions, path: &Path) -> Result<()> {
    let (found, requested) = (database.width(), options.recipe.width());
    if found == requested {
        return Ok(());
    }
    let path = path.to_path_buf();
    Err(nearprint::Error::Width { path, database: found.bits(), requested: requested.bits() }.into())
}

/// Refuses a database whose fingerprints are of another kind than the recipe makes.
pub(crate) fn check_bands(bands: Option<BandLayout>, recipe: &Recipe, path: &Path) -> Result<()> {
    if bands == recipe.bands() {
        return Ok(());
    }
    let recipe = Box::new(recipe.clone());
    Err(DatabaseProblem::OtherBands { path: path.to_path_buf(), bands, recipe }.into())
}
