//! `nearprint completions`

use clap_complete::Shell;

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;

/// Print a shell script that completes commands and options
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint completions bash > ~/.local/share/bash-completion/completions/nearprint
  nearprint completions zsh > ~/.zfunc/_nearprint
  nearprint completions fish > ~/.config/fish/completions/nearprint.fish")]
pub(super) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Args {
    /// Prints the script for `program`.
    pub(super) fn run(&self, mut program: clap::Command) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, "nearprint", &mut script);
        let mut out = OutputStream::stdout();
        out.write(|out| out.write_all(&script))?;
        Ok(out.flush()?)
    }
}
