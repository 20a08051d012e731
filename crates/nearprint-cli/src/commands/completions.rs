//! `nearprint completions`

use clap::CommandFactory;
use clap_complete::Shell;

use crate::Cli;
use crate::failure::Failure;
use crate::output::Output;

/// Print what a shell needs to complete commands and options
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint completions bash > ~/.local/share/bash-completion/completions/nearprint
  nearprint completions zsh > ~/.zfunc/_nearprint
  nearprint completions fish > ~/.config/fish/completions/nearprint.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Args {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let mut command = Cli::command();
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "nearprint", &mut script);
        let mut out = Output::stdout();
        out.write(|out| out.write_all(&script))?;
        Ok(out.flush()?)
    }
}
