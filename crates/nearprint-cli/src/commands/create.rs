//! `nearprint create`

use std::path::PathBuf;

use crate::Global;
use crate::failure::Failure;
use crate::values;
use nearprint::{AnyDatabase, KeyStorage, LayoutChoice, Schema, Width};
use nearprint_text::recipe::Recipe;

/// Make an empty database
///
/// Something that stands at DB already is never overwritten.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  nearprint create corpus.np -k 6")]
pub(crate) struct Args {
    /// The folder to make
    #[arg(value_name = "DB")]
    database: PathBuf,
    #[command(flatten)]
    settings: Settings,
}

/// What a database is made with, the same for `create` and `build`.
#[derive(Debug, clap::Args)]
pub(super) struct Settings {
    /// The distance in bits that will mostly be asked for; any other works too
    #[arg(short, value_name = "K", default_value = "3", value_parser = values::distance)]
    k: u32,
    /// Width of a fingerprint in bits [default: that of the recipe, else 64]
    #[arg(long, value_name = "BITS", value_parser = values::width())]
    width: Option<Width>,
    /// How the bits are split into sorted tables: auto, rotations:T (T tables) or blocks:M,S (M
    /// blocks, S of them leading each table, as few tables as -k needs)
    #[arg(long, value_name = "LAYOUT", default_value = "auto", value_parser = values::layout)]
    layout: LayoutChoice,
    /// Keep a text key beside each row, and print it with the row
    #[arg(long)]
    keys: bool,
    /// Keep keys and, compressed, the texts of documents; --confirm compares with them
    #[arg(long)]
    texts: bool,
    /// How documents become fingerprints: a recipe's name, or its parts; others are refused from then on
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
}

impl Settings {
    /// The width of the fingerprints. What a recipe says counts, and cannot be contradicted.
    pub(super) fn width(&self) -> Result<Width, Failure> {
        let of_recipe = self.recipe()?.map(|recipe| recipe.width());
        match (self.width, of_recipe) {
            (Some(width), Some(of_recipe)) if width != of_recipe => Err(Failure::Usage(format!(
                "--width {width}: the recipe makes fingerprints of {of_recipe} bits, unless it says width={width}"
            ))),
            (width, of_recipe) => Ok(width.or(of_recipe).unwrap_or_default()),
        }
    }

    fn recipe(&self) -> Result<Option<Recipe>, Failure> {
        Ok(self.recipe.as_deref().map(str::parse).transpose()?)
    }

    pub(super) fn schema(&self) -> Result<Schema, Failure> {
        let keys = match (self.keys, self.texts) {
            (_, true) => KeyStorage::KeysAndTexts,
            (true, false) => KeyStorage::Keys,
            (false, false) => KeyStorage::None,
        };
        let schema = Schema::new().k(self.k).layout(self.layout).keys(keys);
        Ok(match self.recipe()? {
            Some(recipe) => schema.recipe(recipe.to_string()),
            None => schema,
        })
    }
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let (width, schema) = (self.settings.width()?, self.settings.schema()?);
        AnyDatabase::create_with(&self.database, width, schema, global.options())?;
        global.note(format_args!("created {}", self.database.display()));
        Ok(())
    }
}
