//! The schema of a new database: options of `create` and `build`.

use std::time::Duration;

use super::{GlobalArgs, values};
use crate::input::fingerprints::Description;
use crate::terminal::failure::Failure;
use nearprint::internal::parse_duration;
use nearprint::{KeyStorage, LayoutChoice, Schema, Width};
use nearprint_text::recipe::{DEFAULT_SIMILARITY, Recipe};

/// Notes that all bits of fingerprints of 256 bits are compared, unless an option (`says`) confirms
/// it: MinHash has this width as well.
pub(crate) fn note_open_kind(global: GlobalArgs, width: Width, says: bool) {
    if width == Width::W256 && !says {
        global.note(format_args!(
            "note: all bits are compared, and fingerprints within 3 bits are near; -k confirms that. For MinHash \
             fingerprints, give --recipe minhash, or input of `fingerprint --header`"
        ));
    }
}

/// What a database stores with each row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Stored {
    Keys,
    Hashes,
    Features,
    Texts,
}

#[derive(Clone, Debug, PartialEq, clap::Args)]
#[command(next_help_heading = "Database options")]
pub(crate) struct SchemaArgs {
    /// Distance in bits for which the layout is tuned [default: 3; for bands the distance of a similarity of 0.7].
    /// Queries may use any distance
    #[arg(short, value_name = "K", value_parser = values::distance, allow_negative_numbers = true)]
    k: Option<u32>,
    /// Width of a fingerprint in bits [default: the width of the recipe, else of the input of `build`, else 64]
    #[arg(long, value_name = "BITS", value_parser = values::width())]
    width: Option<Width>,
    /// How the bits are split into sorted tables [default: auto; with a recipe of MinHash its bands]. small, auto and
    /// fast depend on the number of rows; `explain --rows` shows the bytes and the time of each. rotations:T has T
    /// tables. blocks:M,S has M blocks, S of which are the prefix of each table. bands:BxN is for MinHash: B bands of N
    /// bits, and a sketch
    #[arg(long, value_name = "LAYOUT", value_parser = values::layout)]
    layout: Option<LayoutChoice>,
    /// What is stored with each row [default: keys if `build` reads lines with some, else nothing]. Keys of files of CSV,
    /// JSON lines and Parquet are stored only if this is given. keys are texts that are printed with the row. The other
    /// kinds also store keys. hashes of texts identify copies. features are sets that give exact similarities. texts are
    /// compressed
    #[arg(long, value_name = "WHAT")]
    store: Option<Stored>,
    /// Rows expire after this time, such as 30d, 12h, 90m or 45s. Queries no longer find them, and their files are
    /// deleted without a merge
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    expire_after: Option<Duration>,
    /// Rows that are added within this time expire together: day, hour, week, or a time such as 6h [default: a tenth of
    /// --expire-after]. Queries take longer with more of these parts
    #[arg(long, value_name = "TIME", value_parser = parse_duration, requires = "expire_after")]
    partition: Option<Duration>,
    /// How documents become fingerprints: the name of a recipe or its parts, and for images pdq, dhash or phash. The
    /// database then refuses any other recipe
    #[arg(long, value_name = "RECIPE")]
    recipe: Option<String>,
}

impl SchemaArgs {
    /// These options with what an input says about its rows, where no option sets it. `None` if that changes
    /// nothing.
    pub(crate) fn with_input(&self, input: &Description) -> Result<Option<Self>, Failure> {
        let mut schema = self.clone();
        if self.recipe.is_none() && self.width.is_none_or(|width| input.width == Some(width)) {
            schema.recipe.clone_from(&input.header.recipe);
            schema.width = input.width;
            schema.k = self.k.or(input.header.k);
        }
        input.check_recipe(schema.recipe.as_deref())?;
        schema.store = self.store.or(input.has_keys.then_some(Stored::Keys));
        Ok((schema != *self).then_some(schema))
    }

    /// The recipe of the fingerprints, if it is known.
    pub(crate) fn recipe_line(&self) -> Option<&str> {
        self.recipe.as_deref()
    }

    /// The width of the fingerprints. `--width` must not contradict the recipe.
    pub(crate) fn width(&self) -> Result<Width, Failure> {
        let of_recipe = match self.picture_recipe() {
            Some(recipe) => Some(recipe.width()),
            None => self.recipe()?.map(|recipe| recipe.width()),
        };
        match (self.width, of_recipe) {
            (Some(width), Some(of_recipe)) if width != of_recipe => Err(Failure::Usage(format!(
                "--width {width}: the recipe makes fingerprints of {of_recipe} bits; give width={width} in the recipe instead"
            ))),
            (width, of_recipe) => Ok(width.or(of_recipe).unwrap_or_default()),
        }
    }

    /// Notes that all bits are compared, if nothing else says so.
    pub(crate) fn note_open_kind(&self, global: GlobalArgs) -> Result<(), Failure> {
        let says = self.recipe.is_some() || self.layout.is_some() || self.k.is_some();
        note_open_kind(global, self.width()?, says);
        Ok(())
    }

    /// The recipe, if it is one for pictures.
    fn picture_recipe(&self) -> Option<nearprint_image::Recipe> {
        self.recipe.as_deref()?.parse().ok()
    }

    /// The recipe, if it is one for texts.
    fn recipe(&self) -> Result<Option<Recipe>, Failure> {
        if self.picture_recipe().is_some() {
            return Ok(None);
        }
        Ok(self.recipe.as_deref().map(str::parse).transpose()?)
    }

    pub(crate) fn schema(&self) -> Result<Schema, Failure> {
        let keys = match self.store {
            Some(Stored::Texts) => KeyStorage::KeysAndTexts,
            Some(Stored::Hashes) => KeyStorage::KeysAndHashes,
            Some(Stored::Features) => KeyStorage::KeysAndFeatures,
            Some(Stored::Keys) => KeyStorage::Keys,
            None => KeyStorage::None,
        };
        let (recipe, width) = (self.recipe()?, self.width()?);
        let schema = recipe.as_ref().map_or_else(Schema::new, Recipe::schema).keys(keys);
        let of_recipe = recipe.as_ref().and_then(Recipe::bands);
        let layout = self.layout.or(of_recipe.map(LayoutChoice::Bands)).unwrap_or_default();
        if recipe.is_some() && layout.bands() != of_recipe {
            return Err(Failure::Usage(match of_recipe {
                Some(bands) => format!("--layout {layout}: the recipe needs bands:{bands}"),
                None => format!("--layout {layout}: the recipe makes no bands"),
            }));
        }
        if keys == KeyStorage::KeysAndFeatures && layout.bands().is_none() {
            let why = "--store features: features are compared with MinHash, as by --recipe minhash";
            return Err(Failure::Usage(why.into()));
        }
        let default = layout.bands().map(|bands| bands.distance_of(width, DEFAULT_SIMILARITY));
        let pictures = self.picture_recipe();
        let default = default.or(pictures.map(nearprint_image::Recipe::default_k));
        let k = self.k.or(default).unwrap_or(values::DEFAULT_K);
        let schema = schema.layout(layout).k(k);
        let schema = pictures.map(|recipe| schema.clone().recipe(recipe.name())).unwrap_or(schema);
        match self.expire_after {
            Some(lifetime) => Ok(schema.expire_after(lifetime, self.partition)?),
            None => Ok(schema),
        }
    }
}
