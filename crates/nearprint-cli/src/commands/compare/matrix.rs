//! The distances between several texts or pictures, as a table.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::json;

use crate::args::{DecodingArgs, GlobalArgs, RecipeArgs};
use crate::input::documents::{UnusualDocuments, for_each_text};
use crate::pictures::{MAX_PICTURE_BYTES, PictureReader, each_picture, is_picture};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::{escape, json_of};
use nearprint::any::AnyFingerprint;
use nearprint_text::recipe::Recipe;

/// Files that are compared with each other.
pub(super) struct Matrix<'a> {
    pub(super) inputs: &'a [PathBuf],
    pub(super) format: TableFormat,
    pub(super) decoding: &'a DecodingArgs,
    pub(super) recipe: &'a RecipeArgs,
}

/// Formats of distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum TableFormat {
    /// The distance; of three files and more, a table with tabs between columns, whose first row and first column name
    /// the files
    Tsv,
    /// A table with commas, also of two files
    Csv,
    /// An object; of three files and more, the list `files`, and `distances`, a list for each of them
    Json,
}

impl Matrix<'_> {
    /// Prints the distances.
    pub(super) fn print(&self, global: GlobalArgs) -> Result<(), Failure> {
        if self.inputs.iter().all(|input| is_picture(input))
            && let Some(recipe) = self.recipe.of_images(self.decoding, self.inputs)?
        {
            let mut table = DistanceTable { recipe: None, files: Vec::new(), values: Vec::new() };
            let reader = PictureReader::new(MAX_PICTURE_BYTES, false);
            each_picture(self.inputs, &reader, recipe, global, |path, prints| {
                table.files.push(path.to_string_lossy().into_owned());
                table.values.extend(prints.values.first());
                Ok(())
            })?;
            return self.print_table(&table);
        }
        let recipe = self.recipe.recipe()?;
        let mut fingerprinter = recipe.any_fingerprinter();
        let mut table = DistanceTable { recipe: Some(&recipe), files: Vec::new(), values: Vec::new() };
        let mut unusual = UnusualDocuments::default();
        for_each_text(self.inputs, self.decoding, global, &mut |record| {
            let found = fingerprinter.fingerprint(&record.text);
            unusual.push(found.comparable());
            table.files.push(record.key.clone());
            table.values.push(found.stored(&record.key));
        })?;
        self.print_table(&table)?;
        unusual.warn(global);
        Ok(())
    }

    fn print_table(&self, table: &DistanceTable<'_>) -> Result<(), Failure> {
        let mut out = OutputStream::stdout();
        out.write(|out| match self.format {
            TableFormat::Tsv => table.tsv(out),
            TableFormat::Csv => table.csv(out),
            TableFormat::Json => table.json(out),
        })?;
        Ok(out.flush()?)
    }
}

struct DistanceTable<'a> {
    /// That of texts; all bits of pictures are compared.
    recipe: Option<&'a Recipe>,
    files: Vec<String>,
    /// The fingerprint of each file, as a deduplication stores it.
    values: Vec<AnyFingerprint>,
}

impl DistanceTable<'_> {
    /// Each file with its distances to all files.
    fn rows(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = u32>)> {
        let distances = move |value: AnyFingerprint| {
            self.values.iter().map(move |&other| match self.recipe {
                Some(recipe) => recipe.distance(value, other),
                None => value.distance(other),
            })
        };
        self.files.iter().map(String::as_str).zip(self.values.iter().map(move |value| distances(*value)))
    }

    fn tsv(&self, out: &mut dyn Write) -> io::Result<()> {
        self.files.iter().try_for_each(|file| write!(out, "\t{}", escape(file)))?;
        for (file, mut distances) in self.rows() {
            write!(out, "\n{}", escape(file))?;
            distances.try_for_each(|distance| write!(out, "\t{distance}"))?;
        }
        writeln!(out)
    }

    fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut writer = csv::Writer::from_writer(out);
        writer.write_record([""].into_iter().chain(self.files.iter().map(String::as_str)))?;
        for (file, distances) in self.rows() {
            let cells = distances.map(|distance| distance.to_string());
            writer.write_record([file.to_string()].into_iter().chain(cells))?;
        }
        writer.flush()
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let rows: Vec<Vec<u32>> = self.rows().map(|(_, distances)| distances.collect()).collect();
        writeln!(out, r#"{{"files":{},"distances":{}}}"#, json_of(&json!(self.files)), json!(rows))
    }
}
