//! The base in which fingerprints are printed.

use std::fmt;

use super::values;
use crate::terminal::failure::Failure;
use nearprint::any::AnyFingerprint;
use nearprint::{Radix, Width};

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct BaseArgs {
    /// Base of printed fingerprints [default: 10 for 64 bits, else 16]. Numbers of base 2 begin with 0b, those of base
    /// 16 with 0x; both have all digits. Base 10 is for 64 bits only
    #[arg(long, value_name = "BASE", value_parser = values::radix())]
    radix: Option<Radix>,
}

impl BaseArgs {
    /// Refuses what inputs would not be read from.
    pub(crate) fn check(self, width: Width) -> Result<(), Failure> {
        if self.radix == Some(Radix::Decimal) && width != Width::W64 {
            return Err(Failure::Usage(format!(
                "--radix 10: fingerprints of {width} bits are printed in base 2 or 16"
            )));
        }
        Ok(())
    }

    pub(crate) fn printed(self, fingerprint: AnyFingerprint) -> InBase {
        InBase(fingerprint, self.radix)
    }
}

/// Prints a fingerprint in a base.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InBase(pub(crate) AnyFingerprint, pub(crate) Option<Radix>);

impl fmt::Display for InBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(fingerprint, radix) = self;
        let mut words = fingerprint.words().iter().rev();
        match radix {
            None | Some(Radix::Decimal) => fingerprint.fmt(f),
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
