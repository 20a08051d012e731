//! Databases hold fingerprints of one width, which is a type inside the program and a number outside.

use super::failure::Failure;
use nearprint::{Error, Fingerprint};

/// The widths there are, in bits.
pub(super) const WIDTHS: [&str; 3] = ["64", "128", "256"];

/// The width where nothing is said.
pub(super) const DEFAULT_WIDTH: u32 = 64;

/// Does something with the type `$F` of the fingerprints of so many bits, which are a database's, a recipe's or one of
/// [`WIDTHS`]: of no other width there are any.
macro_rules! with_width {
    ($width:expr, $F:ident => $result:expr) => {
        match $width {
            64 => {
                type $F = u64;
                $result
            }
            128 => {
                type $F = u128;
                $result
            }
            _ => {
                type $F = nearprint::U256;
                $result
            }
        }
    };
}
pub(super) use with_width;

/// Refuses a distance that fingerprints of a width cannot have.
pub(super) fn check_distance<F: Fingerprint>(k: u32) -> Result<u32, Failure> {
    if k <= F::BITS {
        return Ok(k);
    }
    let bits = F::BITS;
    Err(Error::Option(format!("k = {k}: fingerprints of {bits} bits differ by at most {bits}")).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nearprint::U256;

    #[test]
    fn each_width_has_its_type() {
        for width in WIDTHS {
            let width: u32 = width.parse().unwrap();
            assert_eq!(with_width!(width, F => F::BITS), width);
        }
    }

    #[test]
    fn distances_end_at_the_width() {
        assert_eq!(check_distance::<u64>(64).unwrap(), 64);
        assert!(
            matches!(check_distance::<u64>(65), Err(Failure::Engine(Error::Option(why))) if why.contains("64 bits"))
        );
        assert_eq!(check_distance::<u128>(128).unwrap(), 128);
        assert!(check_distance::<u128>(129).is_err());
        assert_eq!(check_distance::<U256>(256).unwrap(), 256);
    }
}
