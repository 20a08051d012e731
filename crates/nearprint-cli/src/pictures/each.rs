//! Fingerprints of many pictures.

use std::path::{Path, PathBuf};

use nearprint::internal as parallel;
use nearprint_image::Recipe;
use nearprint_text::Result;

use super::file::{PictureReader, Prints};
use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;

/// What to say where nothing is near an image that was not turned.
pub(crate) const NOT_TURNED: &str = "--rotated also finds images that are mirrored or turned";

/// Refuses `--rotated` where no fingerprints of rotated pictures can be made.
pub(crate) fn check_rotated(is_rotated: bool, recipe: Recipe) -> Result<(), Failure> {
    match is_rotated && recipe != Recipe::Pdq {
        true => Err(Failure::Usage(format!("--rotated: only pdq finds rotated images, not {recipe}"))),
        false => Ok(()),
    }
}

/// Calls `visit` with the fingerprints of each file that is a picture, in order; they are made on all threads. What
/// cannot be decoded is reported, and is an error in the end.
pub(crate) fn each_picture(
    files: &[PathBuf],
    reader: &PictureReader,
    recipe: Recipe,
    global: GlobalArgs,
    mut visit: impl FnMut(&Path, Prints) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let work = |at: usize, _: &mut (), sink: parallel::Sink<'_, Result<Option<Prints>>>| {
        // The sink fails only after an error of `visit`, which `ordered` reports.
        let _ = sink(reader.fingerprint(&files[at], recipe));
        Ok::<(), Failure>(())
    };
    let (mut rest, mut num_bad) = (files.iter(), 0);
    parallel::ordered(
        global.options().get_threads(),
        files.len(),
        || (),
        work,
        |found| {
            let Some(path) = rest.next() else { return Ok(()) };
            match found {
                Ok(Some(prints)) => return visit(path, prints),
                Ok(None) => global.note(format_args!(
                    "warning: {}: not an image of a format that can be read",
                    path.display()
                )),
                Err(error) => global.note(format_args!("warning: {error}")),
            }
            num_bad += 1;
            Ok(())
        },
    )?;
    match num_bad {
        0 => Ok(()),
        bad => Err(Failure::Input {
            place: format!("{bad} of {} files", files.len()),
            why: "no fingerprint was made".into(),
        }),
    }
}
