//! Runs commands that are generic over the fingerprint type. The width is known only at run time.

use nearprint::{Fingerprint, Width, WidthVisitor};

use crate::args::GlobalArgs;
use crate::terminal::failure::Failure;

/// A command that is generic over the fingerprint type. `C` is what the command has prepared before
/// the width is known.
pub(crate) trait TypedCommand<C> {
    fn run_typed<F: Fingerprint>(self, context: C, global: GlobalArgs) -> Result<(), Failure>;
}

/// Runs a command with the fingerprint type of a width.
pub(crate) fn run_with_width<C>(
    width: Width,
    command: impl TypedCommand<C>,
    context: C,
    global: GlobalArgs,
) -> Result<(), Failure> {
    width.visit(CommandVisitor { command, context, global })
}

struct CommandVisitor<T, C> {
    command: T,
    context: C,
    global: GlobalArgs,
}

impl<C, T: TypedCommand<C>> WidthVisitor for CommandVisitor<T, C> {
    type Output = Result<(), Failure>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.command.run_typed::<F>(self.context, self.global)
    }
}
