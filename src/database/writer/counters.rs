//! Numbers of runs, logs and frames.

use crate::format::manifest::Manifest;

/// The numbers of the next run, of the next log and of its first frame. Unlike the manifest they also
/// count what is not durable: a number is used once, whether or not a manifest names the file.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) next_run: u64,
    pub(super) next_wal: u64,
    pub(super) next_frame: u64,
}

impl Counters {
    pub(super) fn of(manifest: &Manifest) -> Self {
        let Manifest { next_run, next_wal, next_frame, .. } = *manifest;
        Self { next_run, next_wal, next_frame }
    }

    pub(super) fn take_run(&mut self) -> u64 {
        self.next_run += 1;
        self.next_run - 1
    }
}
