//! The inputs of a job, which may be read again from the beginning.

use crate::dedup::decide::is_there;
use crate::dedup::job::FileJob;
use crate::dedup::temporary::SpooledInput;
use crate::documents::{Reader, Recording, StdinSource};
use crate::error::Result;

/// The inputs of a job, which can be read again from the beginning.
pub(crate) struct JobInput {
    pub(crate) reader: Reader,
    /// The copy of a stream.
    recorded: Option<(SpooledInput, Recording)>,
}

impl JobInput {
    /// Opens the inputs. A stream is recorded if a database may know its records.
    pub(crate) fn open(job: &FileJob) -> Result<Self> {
        let mut options = job.reader.clone();
        let mut recorded = None;
        let is_stream = job.reads_stdin() && !job.reads_twice();
        if is_stream && job.database.as_ref().is_some_and(|path| is_there(path)) {
            let (spooled, recording) = SpooledInput::record()?;
            options.stdin = StdinSource::Recorded(recording.clone());
            recorded = Some((spooled, recording));
        }
        Ok(Self { reader: Reader::open(&job.inputs, options)?, recorded })
    }

    /// Opens the inputs again.
    pub(crate) fn rewind(&mut self, job: &FileJob) -> Result<()> {
        let mut options = job.reader.clone();
        if let Some((spooled, _)) = &self.recorded {
            options.stdin = StdinSource::Replayed(spooled.path());
        }
        self.reader = self.reader.again(options)?;
        Ok(())
    }

    pub(crate) fn stop_recording(&self) {
        if let Some((_, recording)) = &self.recorded {
            recording.stop();
        }
    }
}
