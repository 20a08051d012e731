//! Queries by picture.

use std::path::{Path, PathBuf};

use super::limits::{LimitArgs, match_columns};
use crate::args::{GlobalArgs, NearArgs, ResultArgs};
use crate::pictures::{MAX_PICTURE_BYTES, PictureReader, each_picture};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::each_key;
use crate::typed::{TypedCommand, run_with_width};
use nearprint::{Error, Fingerprint, Match, Row, Snapshot, Width, width_of};
use nearprint_image::Recipe;

/// Looks up pictures.
pub(super) struct PictureLookUp {
    pub(super) near: NearArgs,
    pub(super) limits: LimitArgs,
    pub(super) results: ResultArgs,
    /// Whether rotations and reflections are looked up, too.
    pub(super) is_rotated: bool,
}

impl PictureLookUp {
    /// Prints what is near the pictures in any of the databases.
    pub(super) fn run(
        &self,
        folders: &[PathBuf],
        pictures: &[PathBuf],
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        let Some(first) = folders.first() else { return Ok(()) };
        let recipe = recipe_of(first, global)?;
        if self.is_rotated && recipe != Recipe::Pdq {
            return Err(Failure::Usage(format!(
                "--rotated: {recipe} has no rotations; pdq has, because one transform gives the bits of all eight"
            )));
        }
        for other in &folders[1..] {
            if recipe_of(other, global)? != recipe {
                let why = format!("{}: has other fingerprints than {}", other.display(), first.display());
                return Err(Failure::Usage(why));
            }
        }
        run_with_width(recipe.width(), self, (recipe, folders, pictures), global)
    }
}

/// How the pictures of a database became fingerprints.
fn recipe_of(folder: &Path, global: GlobalArgs) -> Result<Recipe, Failure> {
    let width = width_of(folder)?;
    let snapshot = global.options().open_any(folder)?.snapshot()?;
    let recipe = match (snapshot.recipe(), snapshot.bands(), width) {
        (None, None, Width::W256) => Some(Recipe::Pdq),
        (recipe, ..) => recipe.and_then(|recipe| recipe.parse().ok()),
    };
    recipe.filter(|recipe| recipe.width() == width).ok_or_else(|| {
        let folder = folder.display();
        Failure::Usage(format!(
            "{folder}: holds no fingerprints of pictures: its recipe is not pdq, dhash or phash"
        ))
    })
}

impl TypedCommand<(Recipe, &[PathBuf], &[PathBuf])> for &PictureLookUp {
    fn run_typed<F: Fingerprint>(
        self,
        (recipe, folders, pictures): (Recipe, &[PathBuf], &[PathBuf]),
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        let open = |path: &PathBuf| global.options().open::<F>(path)?.snapshot();
        let snapshots = folders.iter().map(open).collect::<Result<Vec<Snapshot<F>>, Error>>()?;
        let k = self.near.k(None, F::WIDTH)?;
        let reader = PictureReader::new(MAX_PICTURE_BYTES, self.is_rotated);
        let mut out = OutputStream::stdout();
        let has_keys = snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
        self.results.print_header(&mut out, &match_columns(self.limits, has_keys, false, false))?;
        let printed = each_picture(pictures, &reader, recipe, global, |path, prints| {
            let query = path.to_string_lossy();
            let found = self.find(&snapshots, &prints.words, k)?;
            if self.limits.is_inverted() {
                let format = self.results.format;
                if found.is_empty() {
                    out.write(|out| format.unmatched(out, &query, None))?;
                }
                return Ok(());
            }
            for found in found {
                let row = Row { fingerprint: found.fingerprint, id: found.id };
                each_key(&snapshots, row, |key| {
                    out.write(|out| self.results.format.picture_match(out, &query, &found, key))
                })?;
            }
            Ok(())
        });
        out.flush()?;
        printed
    }
}

impl PictureLookUp {
    /// The rows near any of some fingerprints, each once at its least distance, the nearest first.
    fn find<F: Fingerprint>(
        &self,
        snapshots: &[Snapshot<F>],
        prints: &[nearprint_image::Words],
        k: Option<u32>,
    ) -> Result<Vec<Match<F>>, Error> {
        let mut found: Vec<Match<F>> = Vec::new();
        for snapshot in snapshots {
            let query = self.limits.query(k, snapshot.default_k(), F::WIDTH);
            for words in prints {
                let words = &words[..F::WIDTH.words()];
                found.extend(snapshot.query(F::from_le_words(words), query)?);
            }
        }
        found.sort_unstable_by_key(|found| (found.fingerprint, found.id, found.distance));
        found.dedup_by_key(|found| (found.fingerprint, found.id));
        found.sort_unstable();
        found.truncate(self.limits.most());
        Ok(found)
    }
}
