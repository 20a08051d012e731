//! Programs that write the text of files which nearprint does not read, such as PDF.
//!
//! A program runs without a shell, in a process group of its own, and gets the path of one file. Time and output are
//! bounded. What it leaves running is killed.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ignore::overrides::{Override, OverrideBuilder};

use super::folder::bad_pattern;
use super::kind::Encoding;
use super::system;
use crate::error::{Error, Result};

/// How long a program may take for a file.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The bytes that it may write.
const MAX_BYTES: usize = 256 << 20;
/// How long others may write after the program has ended.
const GRACE: Duration = Duration::from_secs(1);
/// What is kept of the messages of a program.
const MESSAGE_BYTES: usize = 200;
/// The longest pause between two looks at a program.
const MOST_PAUSE: Duration = Duration::from_millis(5);

/// A program that writes the text of files to its standard output.
///
/// It gets the path of one file as its only argument, with `./` before a relative one, and an empty standard input. It
/// runs for at most 60 seconds, and writes at most 256 MiB. A file for which it fails, or writes nothing, is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preprocessing {
    /// The program: a path, or a name that is looked up in `PATH`. Empty for none.
    pub program: PathBuf,
    /// The files that it gets, by globs as in `.gitignore`, of which one that begins with `!` excludes files. All files
    /// if there is none.
    pub globs: Vec<String>,
}

/// How the bytes of a file become a text.
///
/// ```
/// use nearprint_text::documents::Decoding;
///
/// let decoding = Decoding::of("latin1".parse().ok());
/// assert!(!decoding.is_preprocessed("a.pdf".as_ref()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Decoding {
    /// The encoding of all files, or what each of them tells.
    pub encoding: Option<Encoding>,
    preprocessor: Option<Arc<Preprocessor>>,
}

/// A program that was found.
#[derive(Debug)]
struct Preprocessor {
    program: PathBuf,
    globs: Override,
    timeout: Duration,
    max_bytes: usize,
}

/// The groups of the programs that run. `None` once no more may start.
static GROUPS: Mutex<Option<BTreeSet<u32>>> = Mutex::new(Some(BTreeSet::new()));

/// A program that runs.
struct Running(u32);

impl Running {
    /// Starts a program. Nothing starts between the end of all programs and that of the process.
    fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(groups) = &mut *groups else { return Err(io::Error::other("interrupted")) };
        let child = system::spawn_in_group(command)?;
        groups.insert(child.id());
        let running = Self(child.id());
        Ok((child, running))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(groups) = &mut *groups {
            groups.remove(&self.0);
        }
    }
}

/// Kills the programs that run before the process ends. None starts any more.
pub fn kill_preprocessors() {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner).take();
    groups.into_iter().flatten().for_each(system::kill_group);
}

impl Decoding {
    /// Without a program.
    #[must_use]
    pub fn of(encoding: Option<Encoding>) -> Self {
        Self { encoding, preprocessor: None }
    }

    /// With a program, if one is named.
    ///
    /// # Errors
    /// [`Error::InputSet`] for a malformed glob; [`Error::Engine`] if there is no such program.
    pub fn new(encoding: Option<Encoding>, with: &Preprocessing) -> Result<Self> {
        let preprocessor = match with.program.as_os_str().is_empty() {
            true => None,
            false => Some(Arc::new(Preprocessor::new(with)?)),
        };
        Ok(Self { encoding, preprocessor })
    }

    /// Whether the program reads a file.
    #[must_use]
    pub fn is_preprocessed(&self, path: &Path) -> bool {
        self.preprocessor.as_ref().is_some_and(|program| program.reads(path))
    }

    /// What the program writes of a file, if it reads it; or why it has failed.
    pub(super) fn preprocess(&self, path: &Path) -> Option<Result<std::result::Result<Vec<u8>, String>>> {
        let program = self.preprocessor.as_ref().filter(|program| program.reads(path))?;
        let written = program.run(path).map_err(Error::io("run", &program.program));
        let named = |why| format!("{}: {why}", program.program.display());
        Some(written.map(|written| written.map_err(named)))
    }
}

impl Preprocessor {
    fn new(Preprocessing { program, globs }: &Preprocessing) -> Result<Self> {
        let mut builder = OverrideBuilder::new("");
        globs.iter().try_for_each(|glob| builder.add(glob).map(drop)).map_err(bad_pattern)?;
        let globs = builder.build().map_err(bad_pattern)?;
        let program = system::program(program).map_err(Error::io("run", program))?;
        Ok(Self { program, globs, timeout: TIMEOUT, max_bytes: MAX_BYTES })
    }

    fn reads(&self, path: &Path) -> bool {
        !self.globs.matched(path, false).is_ignore()
    }

    /// What the program writes, or why it has failed.
    fn run(&self, path: &Path) -> io::Result<std::result::Result<Vec<u8>, String>> {
        let mut command = Command::new(&self.program);
        command.arg(argument(path)).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (mut child, running) = Running::start(&mut command)?;
        let read = self.read(&mut child);
        // Whatever has gone wrong, and whatever it has started, nothing goes on.
        system::kill_group(child.id());
        drop(running);
        let status = child.wait()?;
        Ok(read?.and_then(|(bytes, message)| match (status.success(), bytes.trim_ascii().is_empty()) {
            (true, false) => Ok(bytes),
            (true, true) => Err("wrote no text".into()),
            (false, _) => Err(format!("{status}{message}")),
        }))
    }

    /// Reads what a running program writes, until it has ended.
    fn read(&self, child: &mut Child) -> io::Result<std::result::Result<(Vec<u8>, String), String>> {
        let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(io::Error::other("no pipes"));
        };
        system::without_waiting(&out)?;
        system::without_waiting(&err)?;
        let (mut bytes, mut message) = (Vec::new(), Vec::new());
        let (started, mut ended, mut pause) = (Instant::now(), None, Duration::from_micros(50));
        loop {
            let (len, is_whole) = read_some(&mut out, &mut bytes)?;
            let (of_message, _) = read_some(&mut err, &mut message)?;
            message.truncate(MESSAGE_BYTES);
            if bytes.len() > self.max_bytes {
                return Ok(Err(format!("wrote more than {} bytes", self.max_bytes)));
            }
            if ended.is_none() && system::has_ended(child)? {
                ended = Some(Instant::now());
            } else if ended.is_some_and(|at| is_whole || at.elapsed() > GRACE) {
                return Ok(Ok((bytes, first_line(&message))));
            }
            if ended.is_none() && started.elapsed() > self.timeout {
                return Ok(Err(format!("did not end within {} s", self.timeout.as_secs_f64())));
            }
            if len + of_message == 0 && ended.is_none() {
                std::thread::sleep(pause);
                pause = (pause * 2).min(MOST_PAUSE);
            }
        }
    }
}

/// Reads what is there. Returns the number of bytes, and whether that was the end.
fn read_some(from: &mut impl Read, to: &mut Vec<u8>) -> io::Result<(usize, bool)> {
    let mut buffer = [0; 1 << 16];
    match from.read(&mut buffer) {
        Ok(len) => {
            to.extend_from_slice(&buffer[..len]);
            Ok((len, len == 0))
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
            Ok((0, false))
        }
        Err(error) => Err(error),
    }
}

/// The path as an argument, which is no option.
fn argument(path: &Path) -> OsString {
    if path.is_absolute() { path.into() } else { Path::new(".").join(path).into() }
}

/// The first line of messages, after a colon.
fn first_line(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line: String = line.chars().filter(|c| !c.is_control()).collect();
    if line.is_empty() { line } else { format!(": {line}") }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    /// A shell script as a program, with little time.
    fn script(home: &Path, text: &str) -> Preprocessor {
        let program = home.join("program");
        // A file that this process has open for writing cannot run, nor while a child of another test has it.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 700 \"$0\"";
        let written = Command::new("sh").args(["-c", write]).arg(&program).arg(text).status().unwrap();
        assert!(written.success());
        let made = Preprocessor::new(&Preprocessing { program, globs: Vec::new() }).unwrap();
        Preprocessor { timeout: Duration::from_millis(700), max_bytes: 100_000, ..made }
    }

    fn run(home: &Path, text: &str) -> std::result::Result<String, String> {
        let written = script(home, text).run(Path::new("-rf")).unwrap();
        written.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_program_gets_one_path_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(run(home.path(), "echo $# \"$1\"; cat").unwrap(), "1 ./-rf\n");
        let names = [&b"a\nb"[..], b"$(touch x)", b"`touch x`", b"'; touch x", b"\xff\xfe", b"--help", b" "];
        let echo = script(home.path(), "printf %s \"$1\"");
        for name in names {
            let path = Path::new(std::ffi::OsStr::from_bytes(name));
            assert_eq!(echo.run(path).unwrap().unwrap(), [b"./", name].concat());
        }
        assert_eq!(echo.run(Path::new("/a/-b")).unwrap().unwrap(), b"/a/-b");
        assert!(!home.path().join("x").exists() && !Path::new("x").exists());
    }

    #[test]
    fn what_does_not_end_is_killed_with_what_it_has_started() {
        let home = tempfile::tempdir().unwrap();
        let started = Instant::now();
        let pid = home.path().join("pid");
        let hang = format!("sleep 1000 & echo $! > {}; sleep 1000", pid.display());
        assert_eq!(run(home.path(), &hang).unwrap_err(), "did not end within 0.7 s");
        let sleeper: i32 = fs::read_to_string(&pid).unwrap().trim().parse().unwrap();
        let is_gone = || {
            let Some(sleeper) = rustix::process::Pid::from_raw(sleeper) else { return true };
            // A zombie whose parent is gone is waited for by the first process.
            rustix::process::test_kill_process(sleeper).is_err()
                || fs::read_to_string(format!("/proc/{}/stat", sleeper.as_raw_nonzero()))
                    .is_ok_and(|stat| stat.contains(") Z "))
        };
        assert!((0..200).any(|_| is_gone() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }));
        assert!(
            run(home.path(), "while :; do echo yes; done").unwrap_err().contains("more than 100000 bytes")
        );
        assert!(run(home.path(), "while :; do echo no >&2; done").unwrap_err().contains("did not end"));
        assert!(run(home.path(), "trap '' INT TERM HUP; while :; do sleep 0.1; done").is_err());
        assert!(started.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn others_that_hold_the_pipe_open_are_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let started = Instant::now();
        assert_eq!(run(home.path(), "echo text; sleep 1000 &").unwrap(), "text\n");
        assert_eq!(run(home.path(), "(sleep 0.1; echo late) & echo text").unwrap(), "text\nlate\n");
        assert!(started.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn failures_have_a_reason() {
        let home = tempfile::tempdir().unwrap();
        for (text, why) in [
            ("echo half; echo 'bad \x1b[2J page' >&2; exit 3", "exit status: 3: bad [2J page"),
            ("echo half; kill -9 $$", "signal: 9"),
            ("echo half; kill -SEGV $$", "signal: 11"),
            ("printf ' \\n\\t'", "wrote no text"),
            ("exit 0", "wrote no text"),
        ] {
            let found = run(home.path(), text).unwrap_err();
            assert!(found.starts_with(why), "{text}: {found}");
        }
    }

    #[test]
    fn signals_are_not_blocked() {
        let home = tempfile::tempdir().unwrap();
        // A program that goes on after SIGPIPE would write for ever.
        assert_eq!(run(home.path(), "while :; do echo y; done | head -1").unwrap(), "y\n");
    }

    #[test]
    fn what_is_no_program_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let at = |name: &str| home.path().join(name);
        fs::write(at("plain"), "text").unwrap();
        for program in [at("none"), at("plain"), at(""), "no-such-program-here".into()] {
            let with = Preprocessing { program: program.clone(), globs: Vec::new() };
            assert!(Decoding::new(None, &with).is_err(), "{program:?}");
        }
        let with = Preprocessing { program: "cat".into(), globs: vec!["a{b".into()] };
        assert!(matches!(Decoding::new(None, &with), Err(Error::InputSet(_))));
    }

    #[test]
    fn globs_choose_files() {
        let reads = |globs: &[&str], path: &str| {
            let globs = globs.iter().map(ToString::to_string).collect();
            let with = Preprocessing { program: "cat".into(), globs };
            Decoding::new(None, &with).unwrap().is_preprocessed(Path::new(path))
        };
        assert!(reads(&[], "a.txt") && reads(&["*.pdf"], "d/a.pdf") && !reads(&["*.pdf"], "a.txt"));
        assert!(reads(&["*.{pdf,docx}"], "a.docx") && reads(&["!*.txt"], "a.pdf"));
        assert!(!reads(&["!*.txt"], "a.txt") && !reads(&["*.pdf", "!x.pdf"], "d/x.pdf"));
        assert!(!Decoding::default().is_preprocessed(Path::new("a.pdf")));
    }
}
