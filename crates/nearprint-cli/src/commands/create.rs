//! `nearprint create`

use std::path::PathBuf;

use crate::Global;
use crate::failure::Failure;
use crate::values;
use crate::width::{DEFAULT_WIDTH, with_width};
use nearprint::{Database, LayoutChoice, Options};
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
    width: Option<u32>,
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
    pub(super) fn width(&self) -> Result<u32, Failure> {
        let of_recipe = self.recipe()?.map(|recipe| recipe.width());
        match (self.width, of_recipe) {
            (Some(width), Some(of_recipe)) if width != of_recipe => Err(Failure::Usage(format!(
                "--width {width}: the recipe makes fingerprints of {of_recipe} bits, unless it says width={width}"
            ))),
            (width, of_recipe) => Ok(width.or(of_recipe).unwrap_or(DEFAULT_WIDTH)),
        }
    }

    fn recipe(&self) -> Result<Option<Recipe>, Failure> {
        Ok(self.recipe.as_deref().map(str::parse).transpose()?)
    }

    /// Applies the settings to options.
    pub(super) fn apply(&self, options: Options) -> Result<Options, Failure> {
        let mut options = options.k(self.k).layout(self.layout);
        if self.keys || self.texts {
            options = options.keys(self.texts);
        }
        if let Some(recipe) = self.recipe()? {
            options = options.recipe(recipe.to_string());
        }
        Ok(options)
    }
}

impl Args {
    pub(crate) fn run(self, global: Global) -> Result<(), Failure> {
        let options = self.settings.apply(global.options())?;
        with_width!(self.settings.width()?, F => Database::<F>::create(&self.database, options).map(drop))?;
        global.note(format_args!("created {}", self.database.display()));
        Ok(())
    }
}
