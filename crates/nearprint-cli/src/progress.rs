//! Progress bars on standard error, for people only.

use std::fmt::Write;
use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};

use super::{Global, interrupt};
use nearprint::{Progress, Stage};

/// Shows each stage as a bar, and passes interrupts on.
pub(super) struct Bars {
    current: Option<Mutex<(Option<Stage>, ProgressBar)>>,
}

impl Bars {
    /// For a command that prints nothing while it works.
    pub(super) fn new(global: Global) -> Arc<Self> {
        Self::shown(!global.quiet && !global.no_progress && std::io::stderr().is_terminal())
    }

    /// For a command whose results would get between the bars if they went to the same terminal.
    pub(super) fn beside_results(global: Global) -> Arc<Self> {
        if std::io::stdout().is_terminal() { Self::shown(false) } else { Self::new(global) }
    }

    fn shown(shown: bool) -> Arc<Self> {
        Arc::new(Self { current: shown.then(|| Mutex::new((None, ProgressBar::hidden()))) })
    }

    /// Removes the bar.
    pub(super) fn clear(&self) {
        if let Some(current) = &self.current {
            current.lock().unwrap_or_else(std::sync::PoisonError::into_inner).1.finish_and_clear();
        }
    }
}

impl Progress for Bars {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> ControlFlow<()> {
        if let Some(current) = &self.current {
            let mut current = current.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            if current.0 != Some(stage) {
                current.1.finish_and_clear();
                *current = (Some(stage), bar(stage, total));
            }
            current.1.set_position(done);
        }
        interrupt::check()
    }
}

fn bar(stage: Stage, total: Option<u64>) -> ProgressBar {
    let (verb, unit) = match stage {
        Stage::Reading => ("reading", "rows"),
        Stage::Merging => ("sorting", "rows"),
        Stage::Tables => ("writing tables", "fingerprints"),
        Stage::Joining => ("comparing", "fingerprints"),
        Stage::Verifying => ("verifying", "files"),
        Stage::Copying => ("copying", "bytes"),
        Stage::Fingerprinting => ("reading", "files"),
        Stage::Confirming => ("comparing", "groups"),
        Stage::Answering => ("answering", "queries"),
        _ => ("working", "steps"),
    };
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
    // There is nobody to tell that a bar was not drawn.
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
