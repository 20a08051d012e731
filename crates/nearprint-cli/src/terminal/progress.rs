//! Progress bars on standard error. They appear only on a terminal.

use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::interrupt;
use super::log::{self, ProgressLines};
use nearprint::{Error, Progress, Stage};

/// A progress callback that shows each stage as a bar, and cancels the work after a signal.
pub(crate) struct Bars {
    /// `None` if no bar is shown.
    current: Option<Mutex<CurrentBar>>,
    /// `None` if no lines are written.
    lines: Option<ProgressLines>,
}

struct CurrentBar {
    /// `None` before the first report.
    work: Option<Work>,
    bar: ProgressBar,
}

impl Bars {
    /// Shows bars if they are allowed and standard error is a terminal.
    pub(crate) fn new(allowed: bool) -> Arc<Self> {
        let is_shown = allowed && !log::is_json() && std::io::stderr().is_terminal();
        let current = CurrentBar { work: None, bar: ProgressBar::hidden() };
        let lines = ProgressLines::new(allowed);
        Arc::new(Self { current: is_shown.then(|| Mutex::new(current)), lines })
    }

    /// The same for a command that prints results while it works. It shows no bars if both go to a
    /// terminal, where they would mix.
    pub(crate) fn beside_results(allowed: bool) -> Arc<Self> {
        Self::new(allowed && (log::is_json() || !std::io::stdout().is_terminal()))
    }

    fn current(&self) -> Option<MutexGuard<'_, CurrentBar>> {
        Some(self.current.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Some(current) = self.current() {
            current.bar.finish_and_clear();
        }
    }

    /// Runs work that reports to these bars and cleans up when it is cancelled. Removes the bar
    /// afterwards.
    pub(crate) fn run_cancellable<T>(&self, work: impl FnOnce() -> T) -> T {
        interrupt::set_cancellable(true);
        let result = work();
        interrupt::set_cancellable(false);
        self.clear();
        result
    }
}

/// What is done, and what is counted.
type Work = (&'static str, &'static str);

impl Bars {
    /// Shows that `done` of `total` units of some work are done. Fails after a signal.
    pub(crate) fn show(&self, work: Work, done: u64, total: Option<u64>) -> Result<(), Error> {
        if let Some(mut current) = self.current() {
            if current.work != Some(work) {
                current.bar.finish_and_clear();
                *current = CurrentBar { work: Some(work), bar: bar(work, total) };
            }
            current.bar.set_position(done);
        }
        if let Some(lines) = &self.lines {
            lines.show(work, done, total);
        }
        if interrupt::check().is_break() { Err(Error::Interrupted) } else { Ok(()) }
    }
}

impl Progress for Bars {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        match self.show(work_of(stage), done, total) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

fn work_of(stage: Stage) -> Work {
    match stage {
        Stage::Reading => ("reading", "rows"),
        Stage::Merging => ("sorting", "rows"),
        Stage::Tables => ("writing tables", "fingerprints"),
        Stage::Joining => ("comparing", "fingerprints"),
        Stage::Verifying => ("verifying", "files"),
        Stage::Copying => ("copying", "bytes"),
        Stage::Answering => ("answering", "queries"),
        Stage::Waiting => ("waiting", "ms for another writer"),
        _ => ("working", "steps"),
    }
}

fn bar((verb, unit): Work, total: Option<u64>) -> ProgressBar {
    let counts = match total {
        Some(_) => "{wide_bar} {human_pos}/{human_len}",
        None => "{spinner} {human_pos}",
    };
    let template = format!("{verb:>14} {counts} {unit}, {{rate}}/s{{left}}");
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    match ProgressStyle::with_template(&template) {
        Ok(style) => bar.with_style(style.with_key("rate", write_rate).with_key("left", write_left)),
        Err(_) => bar,
    }
}

fn write_rate(state: &ProgressState, out: &mut dyn Write) {
    // A bar that cannot be drawn is not an error.
    let _ = match state.per_sec() {
        rate if rate >= 1e6 => write!(out, "{:.1} million", rate / 1e6),
        rate => write!(out, "{rate:.0}"),
    };
}

fn write_left(state: &ProgressState, out: &mut dyn Write) {
    if state.len().is_some() && state.pos() > 0 {
        let _ = write!(out, ", {:#}", HumanDuration(state.eta()));
    }
}
