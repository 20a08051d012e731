//! The options that are given, for what is set by name.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The options that are given on the command line. It declares none.
///
/// It has to be the first field of its struct: later ones take their values away.
#[derive(Clone, Debug)]
pub(crate) struct GivenArgs(ArgMatches);

impl GivenArgs {
    /// The options of these names, each with its values as they stand on the command line.
    pub(crate) fn of<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> impl Iterator<Item = (&'a str, Vec<OsString>)> {
        let given = names.filter(|name| self.0.value_source(name) == Some(ValueSource::CommandLine));
        given.map(|name| (name, self.0.get_raw(name).into_iter().flatten().map(OsString::from).collect()))
    }

    /// Whether anything but these is given.
    pub(crate) fn has_other_than(&self, names: &[&str]) -> bool {
        let is_given = |name: &str| self.0.value_source(name) == Some(ValueSource::CommandLine);
        self.0.ids().any(|id| is_given(id.as_str()) && !names.contains(&id.as_str()))
    }
}

impl FromArgMatches for GivenArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for GivenArgs {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
