//! Options of every command.

use std::sync::Arc;

use crate::terminal::events::write_event;
use crate::terminal::failure::Failure;
use crate::terminal::log::LogFormat;
use crate::terminal::output::OutputStream;
use crate::terminal::print_message;
use crate::terminal::progress::Bars;
use nearprint::Options;

#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalArgs {
    /// Print only results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Name each skipped file and say why it was skipped
    #[arg(long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Use N threads [default: all cores]; results do not depend on it
    #[arg(short = 'j', long, value_name = "N", global = true, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Show no progress
    #[arg(long, global = true)]
    pub(crate) no_progress: bool,
    /// Write messages and progress to standard error as text, or as one JSON object on each line
    #[arg(long, value_name = "FORMAT", default_value = "text", global = true)]
    pub(crate) log: LogFormat,
}

impl GlobalArgs {
    /// The options of the engine that these options set.
    pub(crate) fn options(self) -> Options {
        let options = match self.threads {
            Some(threads) => Options::new().threads(threads as usize),
            None => Options::new(),
        };
        if self.quiet { options } else { options.on_event(write_event) }
    }

    /// Progress bars for a command that prints nothing while it works.
    pub(crate) fn bars(self) -> Arc<Bars> {
        Bars::new(self.allows_bars())
    }

    /// Runs a command that prints results and reports progress at the same time. `print` receives
    /// standard output, and the options to open databases with.
    pub(crate) fn print_results(
        self,
        print: impl FnOnce(&mut OutputStream, Options) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut out = OutputStream::stdout();
        let bars = Bars::beside_results(self.allows_bars());
        let printed = print(&mut out, self.options().progress(bars.clone()));
        bars.clear();
        printed?;
        Ok(out.flush()?)
    }

    fn allows_bars(self) -> bool {
        !self.quiet && !self.no_progress
    }

    /// Prints a message that is neither a result nor an error, unless `--quiet` is given.
    pub(crate) fn note(self, text: std::fmt::Arguments<'_>) {
        if !self.quiet {
            print_message(text);
        }
    }
}
