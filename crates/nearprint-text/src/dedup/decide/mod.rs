//! What becomes of a document: whether it is kept, and what it is a near-duplicate of.
//!
//! Here live the measures, the kept documents and what is stored of them. Uses recipes, the engine and temporary files;
//! knows neither jobs nor files of documents.

mod candidates;
mod collection;
mod database;
mod decision;
mod deduplicator;
mod kept_fingerprints;
mod kept_keys;
mod kept_passages;
mod measure;
mod options;
mod pair_judge;
mod similarity;
mod stored;

pub(crate) use candidates::{
    AnyMatch, Candidate, Document, KeptDocuments, KnownDocuments, Outlines, Verdict,
};
pub(crate) use collection::{TOGETHER, nearest_of, too_long};
pub(crate) use database::{check_bands, is_there};
pub(crate) use decision::{Compared, Original};
pub use decision::{Decided, Decision};
pub use deduplicator::Deduplicator;
pub use kept_fingerprints::KeptFingerprints;
pub use measure::DocumentsNear;
pub(crate) use measure::{Judge, Measure};
pub(crate) use options::stored_recipe;
pub use options::{DedupOptions, Evidence, recipe_in, recipe_of};
pub use pair_judge::{PairDocument, PairJudge};
pub use similarity::{ParseSimilarityError, Similarity};
pub(crate) use stored::{Origin, Stored, damaged};
pub use stored::{stored_text, with_texts_to_store};
