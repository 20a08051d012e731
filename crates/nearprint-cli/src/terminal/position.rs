//! A progress bar for documents that are read.

use indicatif::{ProgressBar, ProgressStyle};

use super::log::{self, ProgressLines};

use crate::args::GlobalArgs;
use nearprint_text::documents::Position;

/// Progress in the inputs: a bar on a terminal, or lines of a JSON log.
pub(crate) struct PositionBar {
    bar: Option<ProgressBar>,
    lines: Option<ProgressLines>,
}

impl PositionBar {
    /// Shows a bar if the options allow it.
    pub(crate) fn new(global: GlobalArgs) -> Self {
        let allowed = !global.quiet && !global.no_progress;
        let shown = allowed && !log::is_json() && std::io::IsTerminal::is_terminal(&std::io::stderr());
        Self { bar: shown.then(ProgressBar::new_spinner), lines: ProgressLines::new(allowed) }
    }

    /// Moves the bar.
    pub(crate) fn show(&mut self, position: Position) {
        if let Some(lines) = &self.lines {
            lines.show(("reading", "bytes"), position.bytes, position.total_bytes);
        }
        let Some(bar) = &self.bar else { return };
        if bar.length().is_none()
            && let Some(total) = position.total_bytes
        {
            bar.set_length(total);
        }
        let template = match position.total_bytes {
            Some(_) => "{wide_bar} {msg} documents, {bytes_per_sec}, {eta} left",
            None => "{spinner} {msg} documents, {bytes_per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(position.records.to_string());
        bar.set_position(position.bytes);
    }

    /// Removes the bar.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
