//! Commands that are generic over the width, which is known only at run time.

use nearprint::{Fingerprint, Width, WidthVisitor};

use super::Global;
use super::failure::Failure;

/// A command that is generic over the fingerprint; `C` is what it has worked out before.
pub(super) trait ForWidth<C> {
    fn run_wide<F: Fingerprint>(self, context: C, global: Global) -> Result<(), Failure>;
}

/// Runs a command with the type of a width.
pub(super) fn run_for<C>(
    width: Width,
    command: impl ForWidth<C>,
    context: C,
    global: Global,
) -> Result<(), Failure> {
    width.visit(Bound { command, context, global })
}

struct Bound<A, C> {
    command: A,
    context: C,
    global: Global,
}

impl<C, A: ForWidth<C>> WidthVisitor for Bound<A, C> {
    type Output = Result<(), Failure>;

    fn visit<F: Fingerprint>(self) -> Self::Output {
        self.command.run_wide::<F>(self.context, self.global)
    }
}
