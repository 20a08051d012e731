//! What commands read: files of fingerprints, and documents.

pub(crate) mod documents;
pub(crate) mod fingerprints;
pub(crate) mod refused;
