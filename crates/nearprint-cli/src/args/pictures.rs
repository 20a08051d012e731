//! Which pictures are near: options of every command that compares pictures.

use clap::ValueEnum;

use super::values;

/// How many of 256 bits may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PictureNear {
    /// 15 bits: scaled and recompressed copies
    Strict,
    /// 31 bits, as the authors of PDQ recommend
    #[default]
    Default,
    /// 47 bits: stronger edits, and now and then a picture of the same kind
    Loose,
}

impl PictureNear {
    /// The distance.
    pub(crate) fn k(self) -> u32 {
        match self {
            Self::Strict => 15,
            Self::Default => 31,
            Self::Loose => 47,
        }
    }
}

#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Picture options")]
pub(crate) struct PictureArgs {
    /// Leave out pictures of less than this quality, 0 to 100: there is too little to see in them
    #[arg(long, value_name = "Q", default_value = "50", value_parser = values::quality)]
    pub(crate) quality: u8,
    /// Compare with the rotations by 90, 180 and 270 degrees and the mirror images of pictures, too
    #[arg(long)]
    pub(crate) rotated: bool,
}
