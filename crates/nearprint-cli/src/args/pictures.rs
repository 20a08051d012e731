//! Which pictures are near: options of every command that compares pictures.

use clap::ValueEnum;

use super::values;

/// How many of 256 bits of near pictures may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureNear {
    /// 15 bits: scaled and recompressed copies
    Strict,
    /// 31 bits, as the authors of PDQ recommend
    #[default]
    Default,
    /// 47 bits: stronger edits, and now and then a picture of the same kind
    Loose,
    /// Skip images
    None,
}

impl PictureNear {
    /// The distance, if pictures are compared.
    pub(crate) fn k(self) -> Option<u32> {
        match self {
            Self::Strict => Some(15),
            Self::Default => Some(31),
            Self::Loose => Some(47),
            Self::None => None,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "What counts as near")]
pub(crate) struct PictureArgs {
    /// Compare the bytes alone of images that show less detail than Q, from 0 to 100: a blank page has 0
    #[arg(long = "min-detail", value_name = "Q", default_value = "50", value_parser = values::quality)]
    pub(crate) quality: u8,
    /// Find turned and mirrored images, too. By 90, 180 and 270 degrees
    #[arg(long)]
    pub(crate) rotated: bool,
}
