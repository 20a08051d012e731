//! How files become texts: options of every command that reads texts.

use std::path::{Path, PathBuf};

use nearprint_text::documents::{Decoding, Encoding, Preprocessing};

use crate::terminal::failure::Failure;

#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Input options")]
pub(crate) struct DecodingArgs {
    /// Encoding of all texts, such as windows-1251 or shift_jis [default: by a byte order mark, valid UTF-8, what HTML
    /// and XML declare, or else a guess]
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<Encoding>,
    /// Compare what COMMAND prints for a file, such as a script that calls pdftotext, instead of the file. COMMAND gets
    /// one path. It may take 60 seconds and print 256 MiB. A file for which it fails is skipped
    #[arg(long, value_name = "COMMAND")]
    pre: Option<PathBuf>,
    /// Run the command of --pre only for files that match GLOB, such as '*.pdf'; may be repeated
    #[arg(long, value_name = "GLOB", requires = "pre")]
    pre_glob: Vec<String>,
}

impl DecodingArgs {
    /// The command, which no output may replace.
    pub(crate) fn program(&self) -> Option<&Path> {
        self.pre.as_deref()
    }

    /// The command and the files that it gets.
    pub(crate) fn preprocessing(&self) -> Preprocessing {
        Preprocessing { program: self.pre.clone().unwrap_or_default(), globs: self.pre_glob.clone() }
    }

    /// Whether a command makes the texts of some of these files.
    pub(crate) fn preprocesses_any(&self, files: &[impl AsRef<Path>]) -> Result<bool, Failure> {
        if self.pre.is_none() {
            return Ok(false);
        }
        let decoding = self.decoding()?;
        Ok(files.iter().any(|input| decoding.is_preprocessed(input.as_ref())))
    }

    /// How files become texts. Fails if there is no such command.
    pub(crate) fn decoding(&self) -> Result<Decoding, Failure> {
        Ok(Decoding::new(self.encoding, &self.preprocessing())?)
    }
}
