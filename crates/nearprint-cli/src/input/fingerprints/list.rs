//! Lists of fingerprints that are held in memory.

use std::path::PathBuf;

use super::{Description, Inputs};
use crate::args::FingerprintArgs;
use crate::terminal::failure::Failure;
use nearprint::any::AnyFingerprint;
use nearprint::{Error, Limit, Width};
use nearprint_text::recipe::Recipe;

/// A list. Its beginning, which says what it is, has been read.
pub(crate) struct List<'a> {
    args: &'a FingerprintArgs,
    inputs: Inputs<'a>,
    described: Description,
    width: Width,
}

impl<'a> List<'a> {
    /// Opens a list. Without `width`, its header or its first fingerprint has it; other lists have 64 bits.
    pub(crate) fn open(
        args: &'a FingerprintArgs,
        inputs: &'a [PathBuf],
        width: Option<Width>,
    ) -> Result<Self, Failure> {
        let inputs = Inputs::open(args, inputs)?;
        let described = inputs.description();
        let recipe = described.header.recipe.as_deref().and_then(|recipe| recipe.parse::<Recipe>().ok());
        if recipe.is_some_and(|recipe| recipe.bands().is_some()) {
            return Err(Failure::Usage(
                "the fingerprints of the file are compared by bands, which needs a database; `nearprint build` makes one"
                    .into(),
            ));
        }
        let width = width.or(described.width).unwrap_or_default();
        Ok(Self { args, inputs, described, width })
    }

    pub(crate) fn width(&self) -> Width {
        self.width
    }

    /// The distance that the header has.
    pub(crate) fn k(&self) -> Option<u32> {
        self.described.header.k
    }

    /// Reads the words of the fingerprints. Ids and keys are skipped.
    pub(crate) fn fingerprints(self) -> Result<Vec<u64>, Failure> {
        let mut words = Vec::new();
        self.inputs.read((self.args, self.width), &mut |fingerprint: AnyFingerprint, _: Option<u64>| {
            words.extend_from_slice(fingerprint.words());
            Ok(())
        })?;
        Ok(words)
    }

    /// Reads the rows: the words of fingerprints, and ids. A row without an id gets the one after the largest id so
    /// far.
    pub(crate) fn rows(self) -> Result<(Vec<u64>, Vec<u64>), Failure> {
        let (mut words, mut ids) = (Vec::new(), Vec::new());
        let mut next = Some(0u64);
        self.inputs.read((self.args, self.width), &mut |fingerprint: AnyFingerprint, id: Option<u64>| {
            let id = id.or(next).ok_or(Error::Limit(Limit::AutomaticIds))?;
            next = next.and_then(|next| if id >= next { id.checked_add(1) } else { Some(next) });
            words.extend_from_slice(fingerprint.words());
            ids.push(id);
            Ok(())
        })?;
        Ok((words, ids))
    }
}
