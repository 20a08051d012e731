//! Progress bars on standard error, for people only.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use indicatif::{ProgressBar, ProgressStyle};

use super::{Global, interrupt};
use crate::{Progress, Stage};

/// Shows each stage as a bar, and passes interrupts on.
pub(super) struct Bars {
    current: Option<Mutex<(Option<Stage>, ProgressBar)>>,
}

impl Bars {
    pub(super) fn new(global: Global) -> Arc<Self> {
        let shown = !global.quiet && !global.no_progress && std::io::stderr().is_terminal();
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
        Stage::Verifying => ("verifying", "files"),
    };
    let counts = match total {
        Some(_) => "{bar:30} {human_pos}/{human_len}",
        None => "{spinner} {human_pos}",
    };
    let style =
        ProgressStyle::with_template(&format!("{verb:>15} {counts} {unit} ({{per_sec}}, {{elapsed}})"));
    let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
