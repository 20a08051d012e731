//! What becomes of a document: whether it is kept, and what it is a near-duplicate of.
//!
//! Here live the measures, the kept documents and what is stored of them. Uses recipes, the engine and temporary files;
//! knows neither jobs nor files of documents.

mod any_deduplicator;
mod candidates;
mod confirm;
mod database;
mod deduplicator;
mod kept_fingerprints;
mod kept_keys;
mod measure;
mod options;
mod stored;

pub use any_deduplicator::{AnyDeduplicator, Decided};
pub(crate) use candidates::{Candidate, Document, KeptDocuments, KnownDocuments, Outlines, Verdict};
pub use confirm::{Confirm, ParseConfirmError};
pub(crate) use database::check_bands;
pub use deduplicator::{Decision, Deduplicator};
pub(crate) use deduplicator::{TOGETHER, too_long};
pub use kept_fingerprints::KeptFingerprints;
pub use measure::DocumentsNear;
pub(crate) use measure::{Judge, Measure};
pub(crate) use options::stored_recipe;
pub use options::{DedupOptions, Evidence, recipe_in, recipe_of};
pub(crate) use stored::{Origin, Stored, damaged};
pub use stored::{stored_text, with_texts_to_store};
