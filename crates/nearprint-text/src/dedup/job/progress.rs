//! How far a job has come, as its database stores it.

use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, JobIdentity, Rows};
use super::history::FinishedJob;
use crate::error::{Result, ResumeProblem};

/// How far an unfinished job has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Progress {
    /// All is written and durable. Files may lack their names, and the history the job.
    Written(FinishedJob),
    /// Everything up to a record is durable.
    Reading(Checkpoint),
}

impl Progress {
    pub(crate) fn identity(&self) -> &JobIdentity {
        match self {
            Self::Written(job) => &job.identity,
            Self::Reading(checkpoint) => &checkpoint.identity,
        }
    }

    pub(crate) fn rows(&self) -> &Rows {
        match self {
            Self::Written(job) => &job.rows,
            Self::Reading(checkpoint) => &checkpoint.rows,
        }
    }

    pub(crate) fn records(&self) -> u64 {
        match self {
            Self::Written(job) => job.counts.records,
            Self::Reading(checkpoint) => checkpoint.counts.records,
        }
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|_| ResumeProblem::OtherProgram.into())
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        let decoded = serde_json::from_slice(bytes).ok().filter(Self::is_possible);
        decoded.ok_or_else(|| ResumeProblem::OtherProgram.into())
    }

    /// Whether a job can have come to this.
    fn is_possible(&self) -> bool {
        match self {
            Self::Written(job) => job.is_possible(),
            Self::Reading(checkpoint) => checkpoint.is_possible(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn checkpoints_keep_their_names() {
        let json = r#"{"job":"ab","inputs":"cd","rows":[{"start":7,"end":9}],"counts":{"records":1,"kept":2,"duplicates":3,"bad":4,"aside":5,"empty":6,"invalid_utf8":7,"copies":1,"unconfirmed":8,"by_similarity":[0,0,0,0,0,1,0,0,0,2],"units":{"compared":12,"removed":13,"text_bytes":14,"removed_bytes":15,"within":17,"hollow":18,"by_left":[1,2,3,4,5]},"featureless":16},"digest":8,"files":[{"bytes":9,"xxh3":[1,2]},null,null]}"#;
        let progress = Progress::decode(json.as_bytes()).unwrap();
        let Progress::Reading(checkpoint) = &progress else { panic!("{progress:?}") };
        assert_eq!((&checkpoint.rows.0[0], checkpoint.counts.invalid_utf8), (&(7..9), 7));
        assert_eq!(checkpoint.files[0].as_ref().unwrap().written().digest, (1 << 64) + 2);
        assert_eq!(checkpoint.counts.featureless, 16);
        assert_eq!(progress.encode().unwrap(), json.as_bytes());
        for other in [&b"\xff"[..], b"{}", b"{\"job\":{},\"counts\":{},\"place\":null}"] {
            let error = Progress::decode(other).unwrap_err();
            assert!(matches!(error, Error::Resume(ResumeProblem::OtherProgram)), "{error}");
        }
    }
}
