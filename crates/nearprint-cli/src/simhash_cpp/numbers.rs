//! Numbers as C and C++ parse them: `strtoull` of base 10, and `operator>>` of an unsigned number.

/// The number at the start of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leading {
    /// Nothing but white space.
    Blank,
    /// Something else than digits behind white space and a sign.
    NoDigits,
    /// 2^64 or more, whatever the sign.
    TooLarge,
    /// The number, its negative modulo 2^64 behind a minus sign.
    Number(u64),
}

/// Parses white space, a sign and digits. What follows them is ignored.
pub(super) fn leading(text: &[u8]) -> Leading {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == b'\x0b';
    let text = text.iter().position(|byte| !is_space(byte)).map_or(&[][..], |start| text.split_at(start).1);
    let (is_negative, digits) = match text {
        [] => return Leading::Blank,
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    match unsigned(digits) {
        Leading::Number(value) if is_negative => Leading::Number(value.wrapping_neg()),
        other => other,
    }
}

/// Parses digits between white space, and nothing else.
pub(super) fn digits_alone(text: &[u8]) -> Leading {
    match text.trim_ascii() {
        [] => Leading::Blank,
        text if text.iter().all(u8::is_ascii_digit) => unsigned(text),
        _ => Leading::NoDigits,
    }
}

fn unsigned(text: &[u8]) -> Leading {
    let mut value = Leading::NoDigits;
    for digit in text.iter().take_while(|byte| byte.is_ascii_digit()).map(|byte| u64::from(byte - b'0')) {
        let so_far = if let Leading::Number(so_far) = value { so_far } else { 0 };
        match so_far.checked_mul(10).and_then(|tenfold| tenfold.checked_add(digit)) {
            Some(next) => value = Leading::Number(next),
            None => return Leading::TooLarge,
        }
    }
    value
}
