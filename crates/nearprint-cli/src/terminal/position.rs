//! A progress bar for documents that are read.

use indicatif::{ProgressBar, ProgressStyle};

use crate::args::GlobalArgs;
use nearprint_text::documents::Position;

/// A progress bar for the position in the inputs. It appears only on a terminal.
pub(crate) struct PositionBar(Option<ProgressBar>);

impl PositionBar {
    /// Shows a bar if the options allow it.
    pub(crate) fn new(global: GlobalArgs) -> Self {
        let shown =
            !global.quiet && !global.no_progress && std::io::IsTerminal::is_terminal(&std::io::stderr());
        Self(shown.then(ProgressBar::new_spinner))
    }

    /// Moves the bar.
    pub(crate) fn show(&mut self, position: Position) {
        let Some(bar) = &self.0 else { return };
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
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
