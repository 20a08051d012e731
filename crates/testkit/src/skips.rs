//! Tests that cannot run on this machine: each is reported, and all of them again when the binary
//! ends.
//!
//! With `NEARPRINT_REQUIRE_ALL=1` a skipped test fails, unless `NEARPRINT_MAY_SKIP` names what it
//! needs.

use std::fmt;
use std::io::Write;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// What a test may need beyond a Rust toolchain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The folder of real data that `NEARPRINT_DATA` names.
    Data,
    /// Root, and mounts: tmpfs, and ext4 on a loop device.
    Mounts,
    /// Root, to give a file to another user.
    Root,
    /// `strace`, with the right to trace.
    Strace,
    /// `python3` with numpy.
    Numpy,
    /// The sources of dependencies, where cargo stores them.
    Sources,
    /// A system that makes links to files.
    Links,
    /// A console that passes Ctrl-Break on.
    CtrlBreak,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Data => "data",
            Self::Mounts => "mounts",
            Self::Root => "root",
            Self::Strace => "strace",
            Self::Numpy => "numpy",
            Self::Sources => "sources",
            Self::Links => "links",
            Self::CtrlBreak => "ctrl-break",
        })
    }
}

/// Collects lines until the test binary ends, then prints them as one line.
///
/// A process of its own, because libtest offers no hook at its end. The binary holds the other end
/// of the pipe and never closes it, so the shell sees the end of its input when the binary exits,
/// however that happens.
const SUMMARY: &str = r#"
count=0
while IFS= read -r line; do
    count=$((count + 1))
    all="$all${all:+; }$line"
done
echo "$count tests skipped: $all" >&2
"#;

static SUMMARIZER: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Reports a test that does nothing on this machine, and why.
///
/// Writes to standard error directly: the harness shows no output of passing tests. nextest has that, too: with
/// `NEARPRINT_SKIPPED`, the line is added to the file of that name.
///
/// # Panics
/// With `NEARPRINT_REQUIRE_ALL=1`, unless `NEARPRINT_MAY_SKIP` contains the need.
pub fn skip(need: Need, test: &str, reason: &str) {
    let is_allowed = setting("NEARPRINT_MAY_SKIP").split([',', ' ']).any(|name| name == need.to_string());
    let is_required = setting("NEARPRINT_REQUIRE_ALL") == "1" && !is_allowed;
    assert!(!is_required, "{test} needs {need}: {reason}; NEARPRINT_REQUIRE_ALL=1 allows no skips");
    let line = format!("{test} needs {need} ({})", reason.trim().replace('\n', " "));
    let _ = writeln!(std::io::stderr(), "skipped: {line}");
    if let Some(list) = std::env::var_os("NEARPRINT_SKIPPED") {
        let list = std::fs::File::options().append(true).create(true).open(list);
        return list.and_then(|mut list| list.write_all(format!("skipped: {line}\n").as_bytes())).unwrap();
    }
    if cfg!(windows) {
        // It has no shell that could collect lines.
        return;
    }
    let mut summarizer = SUMMARIZER.lock().unwrap_or_else(PoisonError::into_inner);
    let lines = summarizer.get_or_insert_with(start_summarizer);
    writeln!(lines, "{line}").unwrap();
}

fn start_summarizer() -> ChildStdin {
    let shell = Command::new("sh").args(["-c", SUMMARY]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
    shell.unwrap().stdin.take().unwrap()
}

fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
