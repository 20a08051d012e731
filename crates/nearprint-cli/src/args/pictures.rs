//! Which pictures are near: options of every command that compares pictures.

use clap::ValueEnum;

use super::values;

/// How many of 256 bits of near pictures may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureNear {
    /// 15 bits: finds scaled and recompressed copies
    Strict,
    /// 31 bits, as the authors of PDQ recommend
    #[default]
    Default,
    /// 47 bits: finds stronger edits, and sometimes another image of the same kind
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
    /// Compare only the bytes of images that show less detail than Q, from 0 to 100; a blank page has 0
    #[arg(long = "min-detail", value_name = "Q", default_value = "50", value_parser = values::quality)]
    pub(crate) quality: u8,
    /// Also find images that are mirrored, or turned by 90, 180 or 270 degrees
    #[arg(long)]
    pub(crate) rotated: bool,
}
