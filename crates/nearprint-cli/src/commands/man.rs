//! `nearprint man`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Arg;
use clap_mangen::{Man, generate_to};

use crate::terminal::failure::Failure;
use crate::terminal::output::OutputStream;
use nearprint::Error;
use nearprint::internal::file::refuse_device;
use nearprint_text::documents::check_outputs;

/// Print the manual page, or write the pages of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  nearprint man | man -l -
  nearprint man --dir ~/.local/share/man/man1")]
pub(super) struct Args {
    /// Write a page for the program and one for each command to DIR; created if missing
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Args {
    /// Prints the pages of `program`.
    pub(super) fn run(&self, program: clap::Command) -> Result<(), Failure> {
        let mut program = program.disable_help_subcommand(true);
        program.build();
        let program = with_synopsis(program);
        if let Some(folder) = &self.dir {
            // Before anything is made: a folder in a database is refused, and so is a device.
            refuse_device(folder)?;
            let present = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new(""));
            check_outputs([("--dir", &*present.join("nearprint.1"))], &[], &[])?;
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
            return Ok(generate_to(program, folder).map_err(Error::io("write manual pages to", folder))?);
        }
        let mut out = OutputStream::stdout();
        out.write(|mut out| Man::new(program).render(&mut out))?;
        Ok(out.flush()?)
    }
}

/// A command whose synopsis has the names of the values of its options; so have the commands below it.
fn with_synopsis(command: clap::Command) -> clap::Command {
    let mut words = vec![command.get_bin_name().unwrap_or(command.get_name()).to_string()];
    let shown = || command.get_arguments().filter(|argument| !argument.is_hide_set());
    words.extend(shown().filter(|argument| !argument.is_positional()).map(option));
    words.extend(shown().filter(|argument| argument.is_positional()).map(|argument| {
        let dots =
            if argument.get_num_args().is_some_and(|count| count.max_values() > 1) { "..." } else { "" };
        bracketed(argument, format!("{}{dots}", values(argument).trim_start()))
    }));
    words.extend(command.has_subcommands().then(|| "COMMAND".to_string()));
    command.override_usage(words.join(" ")).mut_subcommands(with_synopsis)
}

fn option(argument: &Arg) -> String {
    let names = [argument.get_short().map(String::from), argument.get_long().map(|name| format!("-{name}"))];
    let names: Vec<String> = names.into_iter().flatten().map(|name| format!("-{name}")).collect();
    bracketed(argument, names.join("|") + &values(argument))
}

fn bracketed(argument: &Arg, text: String) -> String {
    if argument.is_required_set() { text } else { format!("[{text}]") }
}

/// The names of the values of an argument, each behind a space.
fn values(argument: &Arg) -> String {
    let names = argument.get_value_names().filter(|_| argument.get_action().takes_values());
    names.unwrap_or_default().iter().map(|name| format!(" {name}")).collect()
}
