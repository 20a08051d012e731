//! Fingerprints as text: how they are written and read.

use std::fmt;

use super::Fingerprint;

/// The base of a number in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Radix {
    /// 2.
    Binary,
    /// 10.
    Decimal,
    /// 16.
    Hexadecimal,
}

/// Prints a fingerprint the way every output of nearprint does.
///
/// ```
/// use nearprint::Printed;
/// assert_eq!(Printed(255u64).to_string(), "255");
/// assert_eq!(Printed(255u128).to_string(), "0x000000000000000000000000000000ff");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Printed<F>(pub F);

impl<F: Fingerprint> fmt::Display for Printed<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.print(f)
    }
}

/// Why a text is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseFingerprintError {
    /// Nothing there.
    Empty,
    /// A character that is not a digit of the number's base.
    Digit {
        /// The width in bits.
        bits: u32,
    },
    /// The number needs more bits than the width.
    TooWide {
        /// The width in bits.
        bits: u32,
    },
    /// A hexadecimal fingerprint that has lost digits, or has another width.
    Length {
        /// The digits that it has.
        digits: usize,
        /// The width in bits.
        bits: u32,
    },
    /// Not one binary digit for each bit of a wide fingerprint.
    Bits {
        /// The digits that it has.
        digits: usize,
        /// The width in bits.
        bits: u32,
    },
    /// A decimal number for a width that is only written in hexadecimal.
    Decimal {
        /// The width in bits.
        bits: u32,
    },
}

impl fmt::Display for ParseFingerprintError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "empty, where a fingerprint should stand"),
            Self::Digit { bits: 64 } => {
                write!(f, "not a fingerprint (decimal digits, 0x and hexadecimal digits, or 0b and bits)")
            }
            Self::Digit { bits } => write!(f, "not a fingerprint ({} hexadecimal digits)", bits / 4),
            Self::TooWide { bits } => write!(f, "does not fit in {bits} bits"),
            Self::Length { digits, bits } => {
                write!(f, "{digits} hexadecimal digits, where {bits} bits take {}", bits / 4)?;
                let is_short = digits % 2 == 1 && *digits < *bits as usize / 4;
                if is_short { f.write_str(", or behind 0x an even number") } else { Ok(()) }
            }
            Self::Bits { digits, bits } => {
                write!(f, "{digits} binary digits, where a fingerprint has {bits}")
            }
            Self::Decimal { bits } => {
                write!(f, "decimal fingerprints have up to 128 bits; {bits} bits are written in hexadecimal")
            }
        }
    }
}

impl std::error::Error for ParseFingerprintError {}

/// The digits of a fingerprint of `bits` bits, none of them anything else, and their base.
pub(super) fn digits_of(
    text: &str,
    bits: u32,
    radix: Option<Radix>,
) -> Result<(&str, u32), ParseFingerprintError> {
    if let Some(digits) = binary_digits(text, bits, radix) {
        return match digits.len() {
            0 => Err(ParseFingerprintError::Empty),
            _ if digits.bytes().any(|digit| !matches!(digit, b'0' | b'1')) => {
                Err(ParseFingerprintError::Digit { bits })
            }
            len if bits > 64 && len != bits as usize => {
                Err(ParseFingerprintError::Bits { digits: len, bits })
            }
            _ => Ok((digits, 2)),
        };
    }
    let behind = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let digits = behind.unwrap_or(text);
    let all = |radix: u32| digits.chars().all(|c| c.is_digit(radix));
    if digits.is_empty() {
        return Err(ParseFingerprintError::Empty);
    }
    let whole = bits as usize / 4;
    let decimal = match (radix, bits) {
        (Some(Radix::Decimal), _) => true,
        (None, 64) => behind.is_none(),
        (None, 128) => behind.is_none() && digits.len() != whole && all(10),
        _ => false,
    };
    if !all(if decimal { 10 } else { 16 }) || (decimal && behind.is_some()) {
        return Err(ParseFingerprintError::Digit { bits });
    }
    if decimal {
        return if bits <= 128 { Ok((digits, 10)) } else { Err(ParseFingerprintError::Decimal { bits }) };
    }
    // Wide fingerprints come out of hash functions with all their digits: a missing one is an
    // accident.
    let complete = if behind.is_some() { digits.len().is_multiple_of(2) } else { digits.len() == whole };
    if bits > 64 && digits.len() > whole && behind.is_some() {
        return Err(ParseFingerprintError::TooWide { bits });
    }
    if bits > 64 && !complete {
        return Err(ParseFingerprintError::Length { digits: digits.len(), bits });
    }
    Ok((digits, 16))
}

/// What is behind `0b`, or all of it where the base is given. In a wide fingerprint, `0b` can also be the first two
/// of all its hexadecimal digits.
fn binary_digits(text: &str, bits: u32, radix: Option<Radix>) -> Option<&str> {
    let behind = text.strip_prefix("0b").or_else(|| text.strip_prefix("0B"));
    match radix {
        Some(Radix::Binary) => Some(behind.unwrap_or(text)),
        Some(_) => None,
        None => behind.filter(|digits| {
            let are_bits = digits.bytes().all(|digit| matches!(digit, b'0' | b'1'));
            bits == 64 || (are_bits && digits.len() + 2 != bits as usize / 4)
        }),
    }
}
