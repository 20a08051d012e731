//! Pictures among the files that commands read: fingerprints of files, and groups of near ones.

mod collection;
mod decoder;
mod each;
mod file;
mod groups;
mod memory_gate;
mod shown;

pub(crate) use collection::{KnownPictures, PictureMemory};
pub(crate) use decoder::{HAS_DECODERS, quiet_decoders};
pub(crate) use each::{NOT_TURNED, check_rotated, each_picture};
pub(crate) use file::{Candidate, PictureFile, PictureReader, is_any_picture, is_picture};
pub(crate) use groups::{Grouping, best_first, group};

use crate::terminal::plural;

/// When pictures are near, in words, with what is true of files that have more than a picture if there are any.
pub(crate) fn with_several(near: String, files: &[PictureFile]) -> String {
    match num_several(files) {
        0 => near,
        count => {
            let pictures = plural(count, "image");
            format!(
                "{near}; {pictures} of several frames or pages, or with more behind them: \
                 only byte-identical copies are found"
            )
        }
    }
}

/// The number of files that have more than a picture.
pub(crate) fn num_several(files: &[PictureFile]) -> u64 {
    files.iter().filter(|file| file.has_several).count() as u64
}

/// The largest file of a picture where no option says it.
pub(crate) const MAX_PICTURE_BYTES: u64 = 256 << 20;
