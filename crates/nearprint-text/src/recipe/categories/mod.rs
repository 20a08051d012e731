//! The categories of characters in Unicode 16.0.
//!
//! The crate has a table of its own: databases store the recipes that read texts by it, and the tables of libraries
//! grow.

mod table;

use table::RANGES;

/// What a character is to recipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Category {
    /// Unicode 16 does not have it.
    Unassigned,
    Letter,
    Mark,
    Number,
    /// Any other one.
    Other,
    /// Punctuation that connects words, such as `_`.
    Connector,
}

impl Category {
    pub(super) fn of(c: char) -> Self {
        let after = RANGES.partition_point(|range| range >> 3 <= u32::from(c));
        match RANGES[after - 1] & 7 {
            0 => Self::Unassigned,
            1 => Self::Letter,
            2 => Self::Mark,
            3 => Self::Number,
            5 => Self::Connector,
            _ => Self::Other,
        }
    }
}

/// Whether Unicode 16 has a character.
pub(super) fn is_assigned(c: char) -> bool {
    Category::of(c) != Category::Unassigned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_the_categories_of_unicode_16() {
        for (c, category) in [
            ('\0', Category::Other),
            ('a', Category::Letter),
            ('_', Category::Connector),
            ('²', Category::Number),
            ('\u{301}', Category::Mark),
            ('\u{295}', Category::Letter),
            ('\u{1c89}', Category::Letter),
            ('\u{c5c}', Category::Unassigned),
            ('\u{e000}', Category::Other),
            (char::MAX, Category::Unassigned),
        ] {
            assert_eq!(Category::of(c), category, "{c:?}");
        }
    }
}
