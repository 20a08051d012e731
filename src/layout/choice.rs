//! The layout that a user chooses for a database.

use std::fmt;
use std::str::FromStr;

use super::automatic;
use super::bands::BandLayout;
use super::scheme::Layout;
use crate::error::{Error, Result};
use crate::util::cast::to_u32;

/// The layout that a database is created with, or that a run has.
///
/// Its text form is `auto`, `fast`, `small`, `rotations:T`, `blocks:M,S` or `bands:BxN`. The first three
/// choose a layout for each run by its size and k; [`Explanation`](crate::Explanation) has their costs. A run
/// has one of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutChoice {
    /// `rotations:T`, with the T for each run chosen by its size: the least product of tables and the time of a query.
    #[default]
    Auto,
    /// The layout with the cheapest queries: rotations, or a covering family of at most 16 tables,
    /// each of 6 to 8 bytes a fingerprint of 64 bits. More tables than [`Auto`](LayoutChoice::Auto)
    /// has pay for databases that are larger than the processor's caches.
    Fast,
    /// `rotations:T` with the fewest tables whose queries cost at most eight times as much as with the cheapest T: for
    /// databases that answer a batch now and then.
    Small,
    /// T disjoint blocks; each is the prefix of one table. Serves every k.
    Rotations {
        /// Number of blocks and tables, 1 to 64.
        tables: u32,
    },
    /// M blocks, and prefixes of S blocks. The smallest known family of prefixes such that k errors
    /// always leave one prefix untouched.
    Blocks {
        /// Number of blocks, 1 to 64.
        blocks: u32,
        /// Blocks in each prefix, 1 to `blocks - k`.
        prefix: u32,
    },
    /// Fingerprints of bands and a sketch, such as [MinHash](https://en.wikipedia.org/wiki/MinHash)
    /// makes. Here, near means that one band is equal and the sketches differ in at most k bits:
    /// see [`BandLayout`], whose [`distance_of`](BandLayout::distance_of) gives a k for the
    /// [schema](crate::Schema::k). All other layouts are about the distance of whole fingerprints.
    Bands(BandLayout),
}

impl fmt::Display for LayoutChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fast => f.write_str("fast"),
            Self::Small => f.write_str("small"),
            Self::Rotations { tables } => write!(f, "rotations:{tables}"),
            Self::Blocks { blocks, prefix } => write!(f, "blocks:{blocks},{prefix}"),
            Self::Bands(bands) => write!(f, "bands:{bands}"),
        }
    }
}

/// The layout of a run.
impl From<&Layout> for LayoutChoice {
    fn from(layout: &Layout) -> Self {
        let (tables, blocks) = (layout.table_count(), layout.block_count());
        match (layout.band_layout(), layout.prefixes()[0].count_ones()) {
            (Some(bands), _) => Self::Bands(bands),
            (None, 1) if tables == blocks => Self::Rotations { tables: to_u32(tables) },
            (None, prefix) => Self::Blocks { blocks: to_u32(blocks), prefix },
        }
    }
}

impl FromStr for LayoutChoice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |digits: &str| digits.parse::<u32>().ok();
        let parsed = match text.split_once(':') {
            None => match text {
                "auto" => Some(Self::Auto),
                "fast" => Some(Self::Fast),
                "small" => Some(Self::Small),
                _ => None,
            },
            Some(("rotations", tables)) => number(tables).map(|tables| Self::Rotations { tables }),
            Some(("blocks", rest)) => rest.split_once(',').and_then(|(blocks, prefix)| {
                Some(Self::Blocks { blocks: number(blocks)?, prefix: number(prefix)? })
            }),
            Some(("bands", bands)) => Some(Self::Bands(bands.parse()?)),
            _ => None,
        };
        parsed.ok_or_else(|| Error::InvalidLayout {
            layout: format!("layout {text:?}"),
            reason: format!("expected {}, with T, M, S, B, N numbers", Self::FORMS),
        })
    }
}

impl LayoutChoice {
    /// The text forms of all choices, for messages. A run has a layout of one of the last three forms.
    const FORMS: &str = "auto, fast, small, rotations:T, blocks:M,S or bands:BxN";

    /// The layout for a run of `entries` distinct fingerprints of `width` bits, which most queries
    /// search at distance `k`.
    pub(crate) fn layout(self, width: u32, k: u32, entries: u64) -> Result<Layout> {
        match self {
            Self::Auto => Ok(automatic::balanced(width, k, entries)),
            Self::Fast => Ok(automatic::fast(width, k, entries)),
            Self::Small => Ok(automatic::small(width, k, entries)),
            Self::Rotations { tables } => Layout::rotations(width, tables),
            Self::Blocks { blocks, prefix } => Layout::covering(width, blocks, prefix, k),
            Self::Bands(bands) => Layout::bands(width, bands),
        }
    }

    /// The layout for a run of a stored database. Where its blocks do not cover `k`, which only
    /// other writers allow, it is one table, which queries scan.
    pub(crate) fn of_run(self, width: u32, k: u32, entries: u64) -> Result<Layout> {
        match self {
            Self::Blocks { .. } => self.layout(width, k, entries).or_else(|_| Layout::rotations(width, 1)),
            _ => self.layout(width, k, entries),
        }
    }

    /// The bands, if it is a layout of bands.
    #[must_use]
    pub fn bands(self) -> Option<BandLayout> {
        match self {
            Self::Bands(bands) => Some(bands),
            _ => None,
        }
    }

    /// The largest distance that makes sense: the bits that are compared.
    pub(crate) fn compared_bits(self, width: u32) -> u32 {
        self.bands().map_or(width, |bands| bands.sketch_of(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_parse_what_they_print() {
        for text in ["auto", "fast", "small", "rotations:4", "blocks:6,2", "bands:6x24"] {
            assert_eq!(text.parse::<LayoutChoice>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "rotations",
            "rotations:",
            "rotations:x",
            "blocks:6",
            "blocks:6,2,1",
            "blocks:-6,2",
            "bands:6",
            "bands:6x99",
        ] {
            assert!(matches!(text.parse::<LayoutChoice>(), Err(Error::InvalidLayout { .. })), "{text}");
        }
    }

    #[test]
    fn regression_the_list_of_layouts_is_complete() {
        let bands = BandLayout::new(6, 24).unwrap();
        let rotations = LayoutChoice::Rotations { tables: 4 };
        let blocks = LayoutChoice::Blocks { blocks: 6, prefix: 2 };
        let all = [LayoutChoice::Auto, LayoutChoice::Fast, LayoutChoice::Small, rotations, blocks];
        let listed: Vec<&str> = LayoutChoice::FORMS.split([',', ' ']).collect();
        for choice in all.into_iter().chain([LayoutChoice::Bands(bands)]) {
            let text = choice.to_string();
            let name = text.split(':').next().unwrap();
            assert!(listed.iter().any(|form| form.split(':').next() == Some(name)), "{text}");
        }
        let message = "x".parse::<LayoutChoice>().unwrap_err().to_string();
        assert!(message.contains(LayoutChoice::FORMS), "{message}");
    }

    #[test]
    fn regression_messages_about_layouts_name_no_impossible_one() {
        let message = |text: &str, k| {
            let choice: LayoutChoice = text.parse().unwrap();
            choice.layout(64, k, 1000).unwrap_err().to_string()
        };
        assert!(message("blocks:1,1", 3).ends_with("M is at least 4"), "{}", message("blocks:1,1", 3));
        assert!(message("blocks:64,1", 64).ends_with("rotations:T serves any k"));
        assert!(message("blocks:6,4", 3).ends_with("S is at most 3"));
        for (blocks, prefix) in [(4, 1), (6, 3)] {
            assert!(LayoutChoice::Blocks { blocks, prefix }.layout(64, 3, 1000).is_ok());
        }
    }

    #[test]
    fn impossible_layouts_are_rejected() {
        let rejected =
            |choice: LayoutChoice, k| matches!(choice.layout(64, k, 1000), Err(Error::InvalidLayout { .. }));
        assert!(rejected(LayoutChoice::Rotations { tables: 0 }, 3));
        assert!(rejected(LayoutChoice::Rotations { tables: 65 }, 3));
        assert!(rejected(LayoutChoice::Blocks { blocks: 6, prefix: 4 }, 3));
        assert!(rejected(LayoutChoice::Blocks { blocks: 6, prefix: 0 }, 3));
        assert!(rejected(LayoutChoice::Blocks { blocks: 65, prefix: 2 }, 3));
        assert!(rejected(LayoutChoice::Blocks { blocks: 40, prefix: 20 }, 10));
    }
}
