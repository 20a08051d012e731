//! What the user sees: results on standard output, messages and progress bars on standard error,
//! exit codes. Ctrl-C belongs here as well.

pub(crate) mod events;
pub(crate) mod failure;
pub(crate) mod interrupt;
pub(crate) mod log;
pub(crate) mod output;
pub(crate) mod position;
pub(crate) mod progress;
pub(crate) mod results;
pub(crate) mod stdout;

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use nearprint::internal::take_occupants;
use nearprint_text::acts::escaped;
use nearprint_text::documents::escape;

/// The names of the standard streams in messages.
pub(crate) const STDIN: &str = "standard input";
pub(crate) const STDOUT: &str = "standard output";

/// A number of things, whose name has a plural with an s.
pub(crate) fn plural(count: u64, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

/// Writes a line to standard error. A failure to write it does not change the outcome of the
/// command.
///
/// Names of files and contents of inputs in it cannot control the terminal, nor make further lines:
/// their control characters and line feeds are escaped.
pub(crate) fn print_message(text: std::fmt::Arguments<'_>) {
    if log::is_json() {
        return log::write(&serde_json::json!({ "message": text.to_string() }));
    }
    print_lines(&without_controls(&text.to_string()).replace('\n', "\\n"));
}

/// The same for a text of several lines, whose control characters are escaped already.
pub(crate) fn print_lines(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Warns of what was found in temporary folders, which stayed because of it.
pub(crate) fn warn_of_occupants() {
    for path in take_occupants() {
        let path = path.display();
        print_message(format_args!(
            "nearprint: {path}: not made by nearprint, so its folder was left as it is"
        ));
    }
}

/// Escapes control characters but tabs and line feeds.
pub(crate) fn without_controls(text: &str) -> Cow<'_, str> {
    let controls = |c: char| c.is_control() && c != '\t' && c != '\n';
    if !text.contains(controls) {
        return Cow::Borrowed(text);
    }
    let escape =
        |c: char| if controls(c) { escape(c.encode_utf8(&mut [0; 4])).into() } else { String::from(c) };
    Cow::Owned(text.chars().map(escape).collect())
}

/// A path as a shell reads it.
pub(crate) fn quoted(path: &Path) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%=\\".contains(c);
    match path.to_str() {
        Some(text)
            if !text.is_empty() && text.chars().all(is_plain) && (cfg!(windows) || !text.contains('\\')) =>
        {
            text.into()
        }
        Some(text) if cfg!(windows) => format!("\"{text}\""),
        Some(text) if !text.contains(char::is_control) => format!("'{}'", text.replace('\'', "'\\''")),
        _ => format!("$'{}'", escaped(path).replace('\'', "\\'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regression_messages_do_not_control_the_terminal() {
        assert_eq!(without_controls("a\tb\nc\\"), "a\tb\nc\\");
        assert_eq!(without_controls("\x1b[2J\r\u{9b}é"), r"\x1b[2J\r\x9bé");
    }
}
