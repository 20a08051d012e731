//! Options that several commands share.

mod base;
mod decoding;
mod documents;
mod fingerprints;
mod folder;
mod given;
mod global;
mod join;
mod near;
mod pictures;
mod recipe;
mod report;
mod results;
mod scanned;
mod schema;
mod summary;
pub(crate) mod values;
mod writer;

pub(crate) use base::{BaseArgs, InBase};
pub(crate) use decoding::DecodingArgs;
pub(crate) use documents::DocumentArgs;
pub(crate) use fingerprints::{Column, FingerprintArgs, FingerprintFormat};
pub(crate) use folder::{
    FolderArgs, check_read, note_encodings, note_skipped, note_skipped_paths, num_skipped, skipped_object,
};
pub(crate) use given::GivenArgs;
pub(crate) use global::GlobalArgs;
pub(crate) use join::JoinArgs;
pub(crate) use near::{DocumentNearArgs, NearArgs, exactly, limit, of_texts};
pub(crate) use pictures::{PictureArgs, PictureNear};
pub(crate) use recipe::{RecipeArgs, agree};
pub(crate) use report::{GroupWriter, ReportArgs, check_scanned, write_groups, write_page};
pub(crate) use results::{HeaderArgs, ResultArgs};
pub(crate) use schema::{SchemaArgs, note_open_kind};
pub(crate) use summary::{SummaryArgs, outcome_object};
pub(crate) use writer::WriterArgs;
