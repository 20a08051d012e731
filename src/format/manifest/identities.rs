//! The record of the files with the identities of ingested runs.

use super::runs::{FileRecord, RunRecord};
use crate::format::{Decoder, Encoder, Flaw};

/// A file of identities. Writers merge small files, so that there are few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IdentitiesRecord {
    /// From the numbers of runs.
    pub(crate) number: u64,
    /// Number of identities.
    pub(crate) count: u64,
    pub(crate) file: FileRecord,
}

impl IdentitiesRecord {
    pub(super) fn encode(&self, body: &mut Encoder) {
        body.u64(self.number).u64(self.count);
        self.file.encode(body);
    }

    /// Decodes all records. Their numbers must be below `next_run`, and no run may have one of
    /// them.
    pub(super) fn decode_all(
        body: &mut Decoder<'_>,
        next_run: u64,
        runs: &[RunRecord],
    ) -> Result<Vec<Self>, Flaw> {
        let mut all: Vec<Self> = Vec::new();
        loop {
            let number = body.u64()?;
            let is_taken = all.iter().any(|known| known.number == number)
                || runs.iter().any(|run| run.run == number)
                || number >= next_run;
            if is_taken {
                return Err(body.flaw(format!("a number below {next_run} that no run has"), number));
            }
            let count = body.u64()?;
            if count == 0 {
                return Err(body.flaw("at least one identity", count));
            }
            all.push(Self { number, count, file: FileRecord::decode(body)? });
            if body.is_at_end() {
                return Ok(all);
            }
        }
    }
}
