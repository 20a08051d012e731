//! Options of commands that write to an existing database.

use std::time::Duration;

use super::{GlobalArgs, values};
use nearprint::Options;

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct WriterArgs {
    /// Wait at most SECONDS for another writer of the database to end, instead of failing at once
    #[arg(long, value_name = "SECONDS", default_value = "0", value_parser = values::seconds)]
    wait: Duration,
}

impl WriterArgs {
    /// The options of the engine that these options and the global ones set.
    pub(crate) fn options(self, global: GlobalArgs) -> Options {
        global.options().lock_wait(self.wait)
    }
}
