//! Pictures among the files that commands read: fingerprints of files, and groups of near ones.

mod collection;
mod decoder;
mod each;
mod file;
mod groups;
mod memory;
mod shown;

pub(crate) use collection::{KnownPictures, PictureStore};
pub(crate) use decoder::{HAS_DECODERS, quiet_decoders};
pub(crate) use each::each_picture;
pub(crate) use file::{Candidate, PictureFile, PictureReader, is_any_picture, is_picture};
pub(crate) use groups::{Grouping, best_first, group};

/// The largest file of a picture where no option says it.
pub(crate) const MAX_PICTURE_BYTES: u64 = 256 << 20;
