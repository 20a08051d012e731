//! The base in which fingerprints are printed.

use std::fmt;

use super::values;
use crate::terminal::failure::Failure;
use nearprint::{Fingerprint, Printed, Radix};

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct BaseArgs {
    /// Base of printed fingerprints: 2 behind 0b and 16 behind 0x, with all digits; 10 for 64 bits [default: 10 for 64
    /// bits, else 16]
    #[arg(long, value_name = "BASE", value_parser = values::radix())]
    radix: Option<Radix>,
}

impl BaseArgs {
    /// Refuses what inputs would not be read from.
    pub(crate) fn check<F: Fingerprint>(self) -> Result<(), Failure> {
        if self.radix == Some(Radix::Decimal) && F::BITS > 64 {
            let width = F::BITS;
            return Err(Failure::Usage(format!("--radix 10: fingerprints of {width} bits have 2 or 16")));
        }
        Ok(())
    }

    pub(crate) fn printed<F: Fingerprint>(self, fingerprint: F) -> InBase<F> {
        InBase(fingerprint, self.radix)
    }
}

/// Prints a fingerprint in a base.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InBase<F>(F, Option<Radix>);

impl<F: Fingerprint> fmt::Display for InBase<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(fingerprint, radix) = *self;
        let mut words = (0..F::BITS / 64).rev().map(|index| fingerprint.le_word(index));
        match radix {
            None | Some(Radix::Decimal) => Printed(fingerprint).fmt(f),
            Some(Radix::Binary) => {
                f.write_str("0b")?;
                words.try_for_each(|word| write!(f, "{word:064b}"))
            }
            Some(Radix::Hexadecimal) => {
                f.write_str("0x")?;
                words.try_for_each(|word| write!(f, "{word:016x}"))
            }
        }
    }
}
