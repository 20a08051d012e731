//! Encodings of texts: which one the bytes are in, and the text that they are.
//!
//! No byte is replaced. A byte that an encoding does not have becomes the character that Windows-1252 has for it, so
//! that different bytes stay different texts.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, EncoderResult, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The first bytes by which a kind is recognized.
pub(in super::super) const HEAD_BYTES: usize = 8192;
/// The bytes behind the first one beyond ASCII by which an encoding is guessed.
const GUESSED_BYTES: usize = 1 << 16;
/// The first bytes, in which a document declares its encoding.
const DECLARED_BYTES: usize = 1024;
/// The least number of bytes beyond ASCII for each one that the encoding does not have.
const LEAST_GOOD: usize = 4;
/// The least number of bytes for each control character.
const LEAST_PRINTED: usize = 64;

/// An encoding of text.
///
/// ```
/// use nearprint_text::documents::Encoding;
///
/// let encoding: Encoding = "cp1251".parse()?;
/// assert_eq!(encoding.to_string(), "windows-1251");
/// # Ok::<(), &'static str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding(Inner);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inner {
    Web(&'static encoding_rs::Encoding),
    Utf32Le,
    Utf32Be,
}

/// The first bytes of a text that tell its encoding.
const MARKS: [(&[u8], Encoding); 5] = [
    (b"\xef\xbb\xbf", Encoding::UTF_8),
    (b"\xff\xfe\0\0", Encoding(Inner::Utf32Le)),
    (b"\0\0\xfe\xff", Encoding(Inner::Utf32Be)),
    (b"\xff\xfe", Encoding(Inner::Web(UTF_16LE))),
    (b"\xfe\xff", Encoding(Inner::Web(UTF_16BE))),
];

impl Encoding {
    /// UTF-8, the only encoding that is read without a conversion.
    pub const UTF_8: Self = Self(Inner::Web(UTF_8));

    /// The name of the encoding, as the WHATWG has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self.0 {
            Inner::Web(encoding) => encoding.name(),
            Inner::Utf32Le => "UTF-32LE",
            Inner::Utf32Be => "UTF-32BE",
        }
    }

    /// The encoding that a label of HTML, XML or a user denotes.
    fn of_label(label: &[u8]) -> Option<Self> {
        let is = |name: &str| label.trim_ascii().eq_ignore_ascii_case(name.as_bytes());
        if is("utf-32") || is("utf-32le") {
            return Some(Self(Inner::Utf32Le));
        }
        if is("utf-32be") {
            return Some(Self(Inner::Utf32Be));
        }
        encoding_rs::Encoding::for_label_no_replacement(label).map(|found| Self(Inner::Web(found)))
    }

    /// The bytes of the shortest characters.
    pub(in super::super) fn unit_bytes(self) -> usize {
        match self.0 {
            Inner::Web(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => 2,
            Inner::Web(_) => 1,
            Inner::Utf32Le | Inner::Utf32Be => 4,
        }
    }

    /// The encoding that a byte order mark tells, and the length of the mark.
    pub(in super::super) fn of_mark(bytes: &[u8]) -> Option<(Self, usize)> {
        MARKS.iter().find(|(mark, _)| bytes.starts_with(mark)).map(|&(mark, found)| (found, mark.len()))
    }

    /// Whether more bytes than these, the first of a stream, are needed to see whether they are a mark.
    pub(in super::super) fn may_be_mark(bytes: &[u8]) -> bool {
        MARKS.iter().any(|(mark, _)| mark.len() > bytes.len() && mark.starts_with(bytes))
    }

    /// Whether bytes of ASCII are nothing else, also between others: line feeds, commas and quotation marks.
    pub(in super::super) fn is_ascii_compatible(self) -> bool {
        matches!(self.0, Inner::Web(encoding) if encoding.is_ascii_compatible())
    }

    /// Whether this byte of ASCII is nothing else, where bytes of ASCII are so between others: in Shift_JIS, `|` is
    /// also the second byte of characters.
    pub(in super::super) fn is_alone(self, byte: u8) -> bool {
        const FIRST_OF_PAIRS: u8 = 0x40;
        byte < FIRST_OF_PAIRS || matches!(self.0, Inner::Web(encoding) if encoding.is_single_byte())
    }

    /// A decoder of a stream without a mark. `None` for UTF-32.
    pub(in super::super) fn decoder(self) -> Option<encoding_rs::Decoder> {
        match self.0 {
            Inner::Web(encoding) => Some(encoding.new_decoder_without_bom_handling()),
            Inner::Utf32Le | Inner::Utf32Be => None,
        }
    }

    /// The text of a part of a record.
    pub(in super::super) fn text_of(self, bytes: &[u8]) -> Cow<'_, str> {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => text.into(),
            _ => self.decode(bytes).0.into(),
        }
    }

    /// A text of the same length with the same characters of ASCII at the same places. The bytes of other characters are
    /// an `x` each, but for valid UTF-8.
    pub(in super::super) fn ascii_of(self, bytes: &[u8]) -> Cow<'_, str> {
        match std::str::from_utf8(bytes) {
            Ok(text) if self == Self::UTF_8 || text.is_ascii() => return text.into(),
            _ => {}
        }
        let mut ascii = self.decoder().map(AsciiBytes);
        let mut char_of = |byte| ascii.as_mut().map_or('x', |ascii| char::from(ascii.of(byte)));
        bytes.iter().map(|&byte| char_of(byte)).collect()
    }

    /// What finds the bytes of ASCII in a stream. `None` if those below 0x80 are no part of another character.
    pub(in super::super) fn ascii_bytes(self) -> Option<AsciiBytes> {
        self.decoder().filter(|_| !self.is_alone(b'\\')).map(AsciiBytes)
    }

    /// The bytes of a text that has come from this encoding, also of bytes that it does not have.
    pub(in super::super) fn bytes_of(self, text: &str) -> Vec<u8> {
        self.encode(text, |c, out| {
            out.extend_from_slice(&WINDOWS_1252.encode(c.encode_utf8(&mut [0; 4])).0);
        })
    }

    /// The bytes of any text. `None` if it has a character that the encoding does not have.
    pub(in super::super) fn exact_bytes_of(self, text: &str) -> Option<Vec<u8>> {
        let mut has_all = true;
        let bytes = self.encode(text, |_, _| has_all = false);
        has_all.then_some(bytes)
    }

    /// Encodes a text. `other` takes the characters that the encoding does not have.
    fn encode(self, text: &str, mut other: impl FnMut(char, &mut Vec<u8>)) -> Vec<u8> {
        let Inner::Web(encoding) = self.0 else { return text.as_bytes().to_vec() };
        let (mut encoder, mut out, mut rest) = (encoding.new_encoder(), Vec::new(), text);
        loop {
            let most = encoder.max_buffer_length_from_utf8_without_replacement(rest.len());
            out.reserve(most.unwrap_or(rest.len()));
            let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut out, true);
            rest = &rest[read..];
            match result {
                EncoderResult::InputEmpty => return out,
                EncoderResult::OutputFull => {}
                EncoderResult::Unmappable(c) => other(c, &mut out),
            }
        }
    }

    /// Decodes bytes without a mark. Also returns the number of bytes that the encoding does not have.
    fn decode(self, bytes: &[u8]) -> (String, usize) {
        match self.0 {
            Inner::Web(encoding) => decode_web(encoding, bytes),
            Inner::Utf32Le => decode_utf_32(bytes, u32::from_le_bytes),
            Inner::Utf32Be => decode_utf_32(bytes, u32::from_be_bytes),
        }
    }
}

/// Finds the bytes of ASCII in a stream.
pub(in super::super) struct AsciiBytes(encoding_rs::Decoder);

impl AsciiBytes {
    /// The next byte; an `x` if it is a part of another character.
    pub(in super::super) fn of(&mut self, byte: u8) -> u8 {
        let mut made = [0; 16];
        loop {
            // What ends a character that is cut is not read yet.
            let (_, read, written) = self.0.decode_to_utf8_without_replacement(&[byte], &mut made, false);
            if read > 0 {
                let is_ascii = byte.is_ascii() && made[..written].last() == Some(&byte);
                return if is_ascii { byte } else { b'x' };
            }
        }
    }
}

impl FromStr for Encoding {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        // Python writes latin-1 and koi8_r.
        let spellings = [name.to_string(), name.replace('_', "-"), name.replace(['-', '_'], "")];
        spellings
            .iter()
            .find_map(|name| Self::of_label(name.as_bytes()))
            .ok_or("not the name of an encoding, such as windows-1251 or shift_jis")
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn decode_web(encoding: &'static encoding_rs::Encoding, bytes: &[u8]) -> (String, usize) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 2 + 16);
    let (mut at, mut num_bad) = (0, 0);
    loop {
        let (result, read) = decoder.decode_to_string_without_replacement(&bytes[at..], &mut text, true);
        at += read;
        match result {
            DecoderResult::InputEmpty => return (text, num_bad),
            DecoderResult::OutputFull => text.reserve(bytes.len() - at + 64),
            DecoderResult::Malformed(len, behind) => {
                let end = at - usize::from(behind);
                let bad = &bytes[end - usize::from(len)..end];
                text.push_str(&WINDOWS_1252.decode_without_bom_handling(bad).0);
                num_bad += bad.len();
            }
        }
    }
}

fn decode_utf_32(bytes: &[u8], number: fn([u8; 4]) -> u32) -> (String, usize) {
    let (units, rest) = bytes.as_chunks::<4>();
    let mut num_bad = rest.len();
    let mut text = String::with_capacity(units.len());
    for unit in units {
        match char::from_u32(number(*unit)) {
            Some(c) => text.push(c),
            None => {
                num_bad += 4;
                text.push_str(&WINDOWS_1252.decode_without_bom_handling(unit).0);
            }
        }
    }
    text.push_str(&WINDOWS_1252.decode_without_bom_handling(rest).0);
    (text, num_bad)
}

/// A text, and how it was encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decoded<'a> {
    /// The text, without a byte order mark.
    pub text: Cow<'a, str>,
    /// Its encoding.
    pub encoding: Encoding,
    /// Bytes that are not of the encoding. Each has become the character that it is in Windows-1252.
    pub num_odd_bytes: usize,
}

impl Decoded<'_> {
    /// The name under which texts of this encoding are counted. `None` for UTF-8, which is no news.
    #[must_use]
    pub fn counted_as(&self) -> Option<&'static str> {
        match self.num_odd_bytes {
            0 => (self.encoding != Encoding::UTF_8).then(|| self.encoding.name()),
            _ if self.encoding == Encoding::UTF_8 => Some("UTF-8 with bytes of another encoding"),
            _ => Some(self.encoding.name()),
        }
    }
}

/// Decodes a text: in its `given` encoding, or in the one that its bytes tell, in this order: a byte order mark, valid
/// UTF-8, a declaration of HTML or XML, a guess. A mark decides before what is given. `None` if there is no encoding in
/// which the bytes are a text.
///
/// ```
/// use nearprint_text::documents::decode;
///
/// let found = decode(b"\xff\xfeo\0n\0e\0", None).unwrap();
/// assert_eq!((&*found.text, found.encoding.name()), ("one", "UTF-16LE"));
/// assert!(decode(&[0, 1, 2, 0xff], None).is_none());
/// ```
#[must_use]
pub fn decode(bytes: &[u8], given: Option<Encoding>) -> Option<Decoded<'_>> {
    let mark = Encoding::of_mark(bytes);
    let content = &bytes[mark.map_or(0, |(_, len)| len)..];
    let told = mark.map(|(encoding, _)| encoding).or(given);
    if let Some(encoding) = told.filter(|told| *told != Encoding::UTF_8) {
        return plausible(content, encoding);
    }
    if let Ok(text) = std::str::from_utf8(content) {
        let decoded = Decoded { text: text.into(), encoding: Encoding::UTF_8, num_odd_bytes: 0 };
        let is_binary = has_zero(content) || text.contains('\0') && !is_printed(text);
        return if is_binary { wide(content) } else { Some(decoded) };
    }
    let declared = || declared(content).and_then(|encoding| plausible(content, encoding));
    let untold = || declared().or_else(|| wide(content)).or_else(|| guessed(content));
    plausible(content, Encoding::UTF_8).or_else(|| given.is_none().then(untold).flatten())
}

/// Whether a zero is among the first bytes, and not only behind them, as a filler.
fn has_zero(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    memchr::memchr(0, head).is_some_and(|first| first == 0 || head[first..].iter().any(|byte| *byte != 0))
}

/// The text in an encoding, if nearly all bytes are of it and hardly any are control characters.
fn plausible(bytes: &[u8], encoding: Encoding) -> Option<Decoded<'_>> {
    let (text, num_odd_bytes) = encoding.decode(bytes);
    let num_beyond = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    let most = if encoding.unit_bytes() == 1 { num_beyond } else { bytes.len() };
    let is_text = num_odd_bytes * LEAST_GOOD <= most && !has_zero(text.as_bytes()) && is_printed(&text);
    is_text.then_some(Decoded { text: text.into(), encoding, num_odd_bytes })
}

/// Whether hardly any character of a text is a control character.
fn is_printed(text: &str) -> bool {
    let num_controls = text.trim_end_matches('\0').chars().filter(|c| is_control(*c)).count();
    num_controls * LEAST_PRINTED <= text.len()
}

/// Whether a character stands in no text. Backspaces and escapes are in logs of terminals, and in ISO-2022-JP.
fn is_control(c: char) -> bool {
    c.is_control()
        && !c.is_ascii_whitespace()
        && !['\u{8}', '\u{b}', '\u{1a}', '\u{1b}', '\u{85}'].contains(&c)
}

/// The encoding that HTML or XML declares near its begin.
fn declared(bytes: &[u8]) -> Option<Encoding> {
    let head = &bytes[..bytes.len().min(DECLARED_BYTES)];
    let lower = head.to_ascii_lowercase();
    let is_markup = [&b"<!doctype"[..], b"<html", b"<?xml", b"<meta"]
        .iter()
        .any(|tag| memchr::memmem::find(&lower, tag).is_some());
    let names = [&b"charset="[..], b"encoding="].into_iter().filter(|_| is_markup);
    let label = |name: &[u8]| {
        let value = &lower[memchr::memmem::find(&lower, name)? + name.len()..];
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
        let end = value.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"-_:.".contains(byte));
        Encoding::of_label(&value[..end.unwrap_or(value.len())])
    };
    // A declaration that was read as bytes of ASCII is not of a wide encoding, and not of UTF-8 either.
    names.filter_map(label).find(|found| found.unit_bytes() == 1 && *found != Encoding::UTF_8)
}

/// UTF-16 without a mark, if every second byte of a quarter of the characters is zero and none is out of place.
fn wide(bytes: &[u8]) -> Option<Decoded<'_>> {
    let (units, rest) = bytes.as_chunks::<2>();
    let zeros = |at: usize| units.iter().filter(|unit| unit[at] == 0).count();
    let encoding = match (zeros(1), zeros(0)) {
        (high, 0) if high * 4 >= units.len() => UTF_16LE,
        (0, low) if low * 4 >= units.len() => UTF_16BE,
        _ => return None,
    };
    let (text, num_odd_bytes) = decode_web(encoding, bytes);
    let is_text = rest.is_empty() && num_odd_bytes == 0 && !text.is_empty() && !text.chars().any(is_control);
    is_text.then_some(Decoded { text: text.into(), encoding: Encoding(Inner::Web(encoding)), num_odd_bytes })
}

/// The text in the most likely encoding. Windows-1252 has a character for every byte.
fn guessed(bytes: &[u8]) -> Option<Decoded<'_>> {
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    let start = first.saturating_sub(GUESSED_BYTES / 16);
    let end = bytes.len().min(start + GUESSED_BYTES);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(&bytes[start..end], end == bytes.len());
    let likely = detector.guess(None, Utf8Detection::Deny);
    let found = plausible(bytes, Encoding(Inner::Web(likely)));
    found.or_else(|| plausible(bytes, Encoding(Inner::Web(WINDOWS_1252))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUSSIAN: &str =
        "\u{412}\u{440}\u{435}\u{43c}\u{44f} \u{2014} \u{434}\u{435}\u{43d}\u{44c}\u{433}\u{438}";

    fn found(bytes: &[u8]) -> Option<(String, &'static str)> {
        decode(bytes, None).map(|found| (found.text.into_owned(), found.encoding.name()))
    }

    fn encoded(text: &str, label: &str) -> Vec<u8> {
        let (bytes, _, has_bad) = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap().encode(text);
        assert!(!has_bad, "{label}");
        bytes.into_owned()
    }

    fn utf_16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes_of).collect()
    }

    #[test]
    fn a_mark_decides_before_everything() {
        let wide = utf_16("one \u{e9}", u16::to_le_bytes);
        let expected = Some(("one \u{e9}".to_string(), "UTF-16LE"));
        assert_eq!(found(&[b"\xff\xfe", &*wide].concat()), expected);
        let given = "windows-1251".parse().ok();
        let big = [b"\xfe\xff".to_vec(), utf_16("one \u{e9}", u16::to_be_bytes)].concat();
        assert_eq!(decode(&big, given).unwrap().encoding.name(), "UTF-16BE");
        assert_eq!(found(b"\xef\xbb\xbfone"), Some(("one".into(), "UTF-8")));
        assert_eq!(found(b"\xff\xfe\0\0o\0\0\0"), Some(("o".into(), "UTF-32LE")));
        assert_eq!(found(b"\0\0\xfe\xff\0\0\0o"), Some(("o".into(), "UTF-32BE")));
    }

    #[test]
    fn utf_16_without_a_mark_is_seen_by_its_zeros() {
        assert_eq!(found(&utf_16("one two", u16::to_le_bytes)), Some(("one two".into(), "UTF-16LE")));
        assert_eq!(found(&utf_16("one \u{e9}", u16::to_be_bytes)), Some(("one \u{e9}".into(), "UTF-16BE")));
        for binary in [&b"\0\x01\0\x02\0\x03"[..], b"a\0\0b", b"a\0b", b"\x7fELF\x02\x01\x01\0\0", &[0; 9]] {
            assert_eq!(found(binary), None, "{binary:?}");
        }
    }

    #[test]
    fn what_is_declared_decides_before_a_guess() {
        let page = |declaration: &str| [declaration.as_bytes(), b" \xe4\xf6\xfc"].concat();
        for (declaration, name) in [
            ("<html><meta charset=KOI8-R>", "KOI8-R"),
            ("<meta http-equiv=x content='text/html; charset=iso-8859-7'>", "ISO-8859-7"),
            ("<?xml version='1.0' encoding='windows-1251'?>", "windows-1251"),
        ] {
            assert_eq!(found(&page(declaration)).unwrap().1, name, "{declaration}");
        }
        assert_ne!(found(&page("charset=KOI8-R")).unwrap().1, "KOI8-R", "a text that is no markup");
        assert_ne!(found(&page("<meta charset=utf-16>")).unwrap().1, "UTF-16LE");
    }

    #[test]
    fn old_encodings_are_guessed_and_a_given_one_is_not() {
        let russian = format!("{RUSSIAN} ").repeat(40);
        for label in ["windows-1251", "koi8-u", "iso-8859-5", "ibm866"] {
            let text = russian.replace('\u{2014}', "-");
            assert_eq!(found(&encoded(&text, label)).unwrap().0, text, "{label}");
        }
        let bytes = encoded(RUSSIAN, "windows-1251");
        let koi = decode(&bytes, "koi8-r".parse().ok()).unwrap();
        assert!(koi.encoding.name() == "KOI8-R" && koi.text != RUSSIAN);
        assert!("no encoding".parse::<Encoding>().is_err() && "replacement".parse::<Encoding>().is_err());
        for (name, as_whatwg) in [("latin-1", "windows-1252"), ("koi8_r", "KOI8-R"), ("utf_16", "UTF-16LE")] {
            assert_eq!(name.parse::<Encoding>().map(Encoding::name), Ok(as_whatwg), "{name}");
        }
        assert!(decode(&bytes, "utf-8".parse().ok()).is_none());
    }

    #[test]
    fn no_byte_is_replaced() {
        let text = "caf\u{e9} ".repeat(20);
        let [one, other] = [b"\xe9", b"\xea"].map(|odd| [text.as_bytes(), odd].concat());
        let [one, other] = [&one, &other].map(|bytes| decode(bytes, None).unwrap());
        assert_eq!((one.num_odd_bytes, &*one.text), (1, &*format!("{text}\u{e9}")));
        assert_eq!(one.counted_as(), Some("UTF-8 with bytes of another encoding"));
        assert!(one.text != other.text && !other.text.contains('\u{fffd}'));
        for byte in 0x80..=0xff_u8 {
            let bytes = [b"plain words and ".repeat(9), vec![byte]].concat();
            assert!(!decode(&bytes, None).unwrap().text.contains('\u{fffd}'), "{byte:x}");
        }
    }

    #[test]
    fn a_filler_of_zeros_is_no_sign_of_binary_bytes() {
        assert_eq!(found(b"one two\0\0\0").unwrap().1, "UTF-8");
        assert_eq!(found(&[&[b'x'; HEAD_BYTES][..], b"\0y"].concat()).unwrap().1, "UTF-8");
    }
}
