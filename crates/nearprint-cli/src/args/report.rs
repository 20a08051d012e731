//! The option for a report.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use clap::builder::{PathBufValueParser, TypedValueParser};

use super::scanned::refuse_scanned;
use crate::report::{DEFAULT_TEXT_BYTES, Report, ReportGroup, ReportWriter};
use nearprint::Error;
use nearprint::internal as parallel;
use nearprint_text::Result;
use nearprint_text::documents::{OutputFile, check_outputs};

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Write a web page with the groups and the words that differ. The page needs no network, and says what was
    /// compared
    #[arg(long = "report", value_name = "FILE.html", value_parser = page())]
    path: Option<PathBuf>,
}

/// Parses the path of a page, which a browser opens: standard output is none.
fn page() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path.as_os_str() == "-" {
        true => Err("a page has to be a file; a browser cannot open standard output"),
        false => Ok(path),
    })
}

/// Fails if a report would take the place of a file in a scanned folder, unless that is a report.
pub(crate) fn check_scanned(path: &Path, folders: &[PathBuf]) -> Result<()> {
    const MARK: &[u8] = b"<meta name=\"generator\" content=\"nearprint\">";
    let is_report = |start: &[u8]| start.windows(MARK.len()).any(|bytes| bytes == MARK);
    refuse_scanned(("report", Some(path)), folders, is_report)
}

/// Writes the groups of a report.
pub(crate) type GroupWriter = ReportWriter<BufWriter<File>>;

impl ReportArgs {
    /// Where the report goes, if one is wanted.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Fails if the report is an input or lies in a database, or if its folder does not exist.
    pub(crate) fn check(&self, inputs: &[&Path], databases: &[&Path]) -> Result<()> {
        check_outputs(self.path().map(|path| ("--report", path)), inputs, databases)
    }

    /// See [`check_scanned`].
    pub(crate) fn check_scanned(&self, folders: &[PathBuf]) -> Result<()> {
        self.path().map_or(Ok(()), |path| check_scanned(path, folders))
    }

    /// Writes the report, if one is wanted: what `report` returns, and the groups that `write` adds.
    /// The file takes its name when it is complete.
    pub(crate) fn write(
        &self,
        report: impl FnOnce() -> Report,
        write: impl FnOnce(&mut GroupWriter) -> io::Result<()>,
    ) -> Result<()> {
        self.path.as_ref().map_or(Ok(()), |path| write_page(path, &report(), write))
    }
}

/// Writes groups, which are made on all threads. They need texts and pictures as long as the page has room for them.
pub(crate) fn write_groups(
    out: &mut GroupWriter,
    threads: usize,
    num_groups: usize,
    group: impl Fn(usize, bool) -> ReportGroup + Sync,
) -> io::Result<()> {
    let has_room = AtomicBool::new(out.has_room_for_texts());
    let work = |at: usize, _: &mut (), sink: parallel::Sink<'_, _>| {
        // The sink fails only after an error of `group`, which `ordered` reports.
        let _ = sink(group(at, has_room.load(Ordering::Relaxed)));
        Ok(())
    };
    parallel::ordered(
        threads,
        num_groups,
        || (),
        work,
        |group| {
            out.group(&group)?;
            has_room.store(out.has_room_for_texts(), Ordering::Relaxed);
            Ok(())
        },
    )
}

/// Writes a report to a path: its head, and the groups that `write` adds. The file takes its name
/// when it is complete.
pub(crate) fn write_page(
    path: &Path,
    report: &Report,
    write: impl FnOnce(&mut GroupWriter) -> io::Result<()>,
) -> Result<()> {
    let file = OutputFile::create(path)?;
    let write_file = || {
        let mut writer =
            ReportWriter::create(BufWriter::new(file.file().try_clone()?), report, DEFAULT_TEXT_BYTES)?;
        write(&mut writer)?;
        writer.finish().map(drop)
    };
    write_file().map_err(Error::io("write", path))?;
    file.complete()
}
