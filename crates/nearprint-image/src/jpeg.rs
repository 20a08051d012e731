//! Whether a JPEG is whole: decoders fill what a cut file does not have.

/// The second bytes of markers (ITU-T T.81, table B.1) that stand alone: after a byte 0xff of the picture itself, and
/// those that restart the decoder.
const ALONE: [std::ops::RangeInclusive<u8>; 3] = [0x00..=0x01, 0xd0..=0xd8, 0xff..=0xff];
/// The end of a picture.
const END: u8 = 0xd9;

/// Whether a file has the marker of its end: behind all segments, which are skipped by their lengths, and all data of
/// the picture, in which no marker occurs. More may follow.
pub(crate) fn is_whole(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|&byte| byte == 0xff) {
        let Some(&code) = rest.get(at + 1) else { return false };
        let len = match code {
            END => return true,
            _ if ALONE.iter().any(|codes| codes.contains(&code)) => usize::from(code != 0xff),
            _ => match rest.get(at + 2..at + 4) {
                Some(&[high, low]) => 1 + usize::from(u16::from_be_bytes([high, low])),
                _ => return false,
            },
        };
        rest = rest.get(at + 1 + len..).unwrap_or_default();
    }
    false
}
