//! Labelled pages, as the example `labelled_pages` of nearprint-text describes them.

mod model;
mod pages;
mod prose;

use std::io;
use std::ops::RangeInclusive;

use model::Random;
pub use pages::Page;

/// Published results use this seed.
const SEED: u64 = 4;

/// The pages with so many paragraphs in each article.
pub fn generate(paragraphs: &RangeInclusive<usize>) -> io::Result<Vec<Page>> {
    Ok(pages::all(&prose::topics()?, paragraphs, &mut Random::new(SEED)))
}
