//! Queries by picture.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::limits::{Answered, LimitArgs, match_columns};
use crate::args::{GlobalArgs, NearArgs, ResultArgs};
use crate::pictures::{MAX_PICTURE_BYTES, NOT_TURNED, PictureReader, check_rotated, each_picture};
use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use crate::terminal::results::{each_key, escape, match_of};
use nearprint::any::{AnyFingerprint, AnySnapshot, Columns};
use nearprint::{Error, Match, Row, Width};
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
        (folders, snapshots): (&[PathBuf], &[AnySnapshot]),
        pictures: &[PathBuf],
        global: GlobalArgs,
    ) -> Result<(), Failure> {
        let recipe = self.recipe(folders, snapshots)?;
        let k = self.near.k(None, recipe.width())?;
        let reader = PictureReader::new(MAX_PICTURE_BYTES, self.is_rotated);
        let mut out = OutputStream::stdout();
        let has_keys = snapshots.iter().any(|snapshot| snapshot.key_storage().has_keys());
        self.results.print_header(&mut out, &match_columns(self.limits, has_keys, false, false))?;
        let (mut answered, mut is_any_far, mut gone) = (Answered::default(), false, None);
        let printed = each_picture(pictures, &reader, recipe, global, |path, prints| {
            let query = path.to_string_lossy();
            let found = self.find(snapshots, &prints.values, k)?;
            answered.push(found.len());
            is_any_far |= found.is_empty();
            if self.limits.prints_unmatched() {
                let format = self.results.format();
                if found.is_empty() {
                    out.write(|out| format.unmatched(out, &query, None))?;
                }
                return Ok(());
            }
            for found in found {
                let row = Row { fingerprint: found.fingerprint, id: found.id };
                each_key(snapshots, row, |key| {
                    if gone.is_none() {
                        gone = key.flatten().filter(|path| is_gone(path)).map(String::from);
                    }
                    out.write(|out| self.results.format().picture_match(out, &query, found, key))
                })?;
            }
            Ok(())
        });
        out.flush()?;
        answered.note(self.limits, global);
        if let Some(path) = gone {
            global.note(format_args!(
                "warning: {} is not there any more; `scan` with the same --db brings the database up to date",
                escape(&path)
            ));
        }
        if is_any_far && !self.is_rotated && recipe == Recipe::Pdq {
            global.note(format_args!("{NOT_TURNED}"));
        }
        printed
    }

    /// How the pictures of all databases became fingerprints.
    fn recipe(&self, folders: &[PathBuf], snapshots: &[AnySnapshot]) -> Result<Recipe, Failure> {
        let recipe = match (folders, snapshots) {
            ([folder, ..], [snapshot, ..]) => recipe_of(folder, snapshot)?,
            _ => Recipe::default(),
        };
        check_rotated(self.is_rotated, recipe)?;
        for (other, snapshot) in folders.iter().zip(snapshots).skip(1) {
            if recipe_of(other, snapshot)? != recipe {
                let first = folders[0].display();
                let why = format!("{}: has other fingerprints than {first}", other.display());
                return Err(Failure::Usage(why));
            }
        }
        Ok(recipe)
    }

    /// The rows near any of some fingerprints, each once at its least distance, the nearest first.
    fn find(
        &self,
        snapshots: &[AnySnapshot],
        prints: &[AnyFingerprint],
        k: Option<u32>,
    ) -> Result<Vec<Match<AnyFingerprint>>, Error> {
        let mut found: Vec<Match<AnyFingerprint>> = Vec::new();
        for snapshot in snapshots {
            let query = self.limits.query(k, snapshot.default_k(), snapshot.width());
            for print in prints {
                let mut rows = Columns::new(snapshot.width(), snapshot.match_shape());
                snapshot.query(print.words(), query, &mut rows)?;
                found.extend(rows.rows().map(|row| match_of(&row)));
            }
        }
        found.sort_unstable_by_key(|found| (found.fingerprint, found.id, found.distance));
        found.dedup_by_key(|found| (found.fingerprint, found.id));
        found.sort_unstable();
        found.truncate(self.limits.most());
        Ok(found)
    }
}

/// Whether a key is the path of a file that is not there. Other keys are names that users chose.
fn is_gone(key: &str) -> bool {
    let path = Path::new(key);
    path.is_absolute()
        && std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// How the pictures of a database became fingerprints.
fn recipe_of(folder: &Path, snapshot: &AnySnapshot) -> Result<Recipe, Failure> {
    let width = snapshot.width();
    let recipe = match (snapshot.recipe(), snapshot.bands(), width) {
        (None, None, Width::W256) => Some(Recipe::Pdq),
        (recipe, ..) => recipe.and_then(|recipe| recipe.parse().ok()),
    };
    recipe.filter(|recipe| recipe.width() == width).ok_or_else(|| {
        let folder = folder.display();
        Failure::Usage(format!(
            "{folder}: has no fingerprints of images; its recipe is not pdq, dhash or phash"
        ))
    })
}
