//! Values of options that need reading.

use crate::{Fingerprint, LayoutChoice};

/// A fingerprint in decimal, or in hexadecimal behind 0x.
pub(super) fn fingerprint(text: &str) -> Result<u64, String> {
    u64::parse(text).map_err(|error| error.to_string())
}

/// A layout.
pub(super) fn layout(text: &str) -> Result<LayoutChoice, String> {
    text.parse::<LayoutChoice>().map_err(|error| error.to_string())
}

/// A number of bytes with an optional unit: 512M, 6G, 1048576.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let wrong = || "expected a number of bytes, such as 512M or 6G".to_string();
    let upper = text.to_ascii_uppercase();
    let bare = upper.strip_suffix("IB").or(upper.strip_suffix('B')).unwrap_or(&upper);
    let (digits, shift) = match bare.char_indices().last() {
        Some((at, 'K')) => (&bare[..at], 10),
        Some((at, 'M')) => (&bare[..at], 20),
        Some((at, 'G')) => (&bare[..at], 30),
        Some((at, 'T')) => (&bare[..at], 40),
        _ => (bare, 0),
    };
    let number: usize = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// A distance in bits.
pub(super) fn distance(text: &str) -> Result<u32, String> {
    match text.parse::<u32>() {
        Ok(k) if k <= 64 => Ok(k),
        _ => Err("expected a number of bits from 0 to 64".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (text, bytes) in [
            ("1", 1),
            ("2k", 2048),
            ("512M", 512 << 20),
            ("6G", 6 << 30),
            ("1MiB", 1 << 20),
            ("3GB", 3 << 30),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "M", "-1", "1.5G", "x", "99999999999999T", "1é"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
