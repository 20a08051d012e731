//! A report on groups of near-duplicates: one HTML page that needs no other file and no network.
//!
//! [`ReportWriter`] writes the page group by group. The page holds the groups as JSON, in chunks of
//! three blocks: what the list of groups shows, the members, and the texts. Its script parses the
//! blocks of the list when the page opens, the others when they are needed.
//!
//! Pictures are shown by small JPEGs in `data:` URLs.
//!
//! Names and texts of documents are hostile. They are escaped in JSON, and the script writes them
//! only as text nodes. The page's policy forbids all other scripts and all requests.

mod histogram;
mod page;
mod pictures;
#[cfg(test)]
mod tests;
mod texts;
mod writer;

use nearprint_text::documents::FileStamp;

pub(crate) use texts::{MAX_CHARS as MAX_TEXT_CHARS, read_text};
pub(crate) use writer::{DEFAULT_TEXT_BYTES, ReportWriter};

/// The members of a group that are listed, with the kept one.
pub(crate) const MAX_MEMBERS: usize = 1000;

/// The names of the columns of a list of files that were marked in a page.
pub(crate) const CHOICE_COLUMNS: [&str; 5] = ["path", "kept", "similarity", "state", "kept_state"];

/// The state of a file in a page and in a list: its size, the time of its last change, and its number.
pub(crate) fn state_of(stamp: &FileStamp) -> String {
    let FileStamp { size_bytes, modified: (seconds, nanoseconds), id: (_, number) } = stamp;
    format!("{size_bytes} {seconds}.{nanoseconds:09} {number}")
}

/// The part of a page before its list of groups.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// The heading, such as "nearprint scan".
    pub(crate) title: String,
    /// Names and values: what was compared and how, and totals.
    pub(crate) facts: Vec<(String, String)>,
    /// Drawn in this order. Those without bins are left out.
    pub(crate) histograms: Vec<Histogram>,
    /// Further pictures, below the histograms.
    pub(crate) charts: Vec<Chart>,
    /// The folder of the members' names, if they are files; empty if names are whole paths.
    pub(crate) root: Option<String>,
}

/// Counts of things, such as of groups by their size.
#[derive(Clone, Debug)]
pub(crate) struct Histogram {
    /// The caption, such as "Groups by number of members".
    pub(crate) caption: String,
    /// Labels and counts, from left to right. A chart has room for about 12.
    pub(crate) bins: Vec<(String, u64)>,
}

/// A picture.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// What the picture shows.
    pub(crate) caption: String,
    /// An SVG element. It is written as it is, so no part of it may come from a document unescaped.
    pub(crate) svg: String,
}

/// What is known of a picture.
#[derive(Clone, Debug)]
pub(crate) struct ReportPicture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// When the file was changed.
    pub(crate) modified: String,
    /// A small JPEG. `None` if it is not to be shown, see [`ReportWriter::has_room_for_texts`].
    pub(crate) thumbnail: Option<Vec<u8>>,
}

/// Documents that are near-duplicates.
#[derive(Clone, Debug)]
pub(crate) struct ReportGroup {
    /// The document with which the others are compared.
    pub(crate) kept: ReportMember,
    /// The number of further members, about which nothing else is known.
    pub(crate) num_unlisted: usize,
    /// The other documents. The page lists at most [`MAX_MEMBERS`] members of a group.
    pub(crate) others: Vec<ReportMember>,
}

/// A document of a group.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReportMember {
    /// The path or key.
    pub(crate) name: String,
    /// The length of the document in bytes.
    pub(crate) bytes: Option<u64>,
    /// The distance from the kept document.
    pub(crate) distance: Option<u32>,
    /// The similarity with the kept document, from 0 to 1.
    pub(crate) similarity: Option<f64>,
    /// Whether the document is an exact copy of the kept one. It then needs no text.
    pub(crate) is_exact: bool,
    /// The text. `None` if it is not to be shown, see [`ReportWriter::has_room_for_texts`].
    pub(crate) text: Option<String>,
    /// The state of a file whose name is its path. `None` for records, for names that are not UTF-8, and for a member
    /// that cannot be marked.
    pub(crate) stamp: Option<FileStamp>,
    /// Whether it cannot be marked, although its state is known: others may go because of it.
    pub(crate) stays: bool,
    /// If it is a picture.
    pub(crate) picture: Option<ReportPicture>,
}
