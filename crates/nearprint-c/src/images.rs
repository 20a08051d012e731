//! Fingerprints of pictures, which need no handle.

use std::ffi::c_char;

use nearprint_image::{Limits, Picture, Recipe};

use crate::call::Call;
use crate::error::{Failure, Outcome, nearprint_error};
use crate::status::{NEARPRINT_RECIPE, nearprint_status};

/// Makes the fingerprint of a picture from the bytes of its file: JPEG, PNG, WebP, GIF (its first
/// frame), TIFF, BMP or HEIC. It is turned as EXIF data say; transparent pixels are white. A file that is
/// no such picture, is damaged, or has more than 120 million pixels is NEARPRINT_INVALID_ARGUMENT.
///
/// `recipe` is `pdq` (256 bits: pictures within 31 bits are the same one), `dhash` or `phash` (64
/// bits); NEARPRINT_RECIPE for another one. `fingerprint` receives 4 words, or 1. `quality`, if it is
/// not null, receives a number from 0 to 100: how much there is to see. Only PDQ measures it, and others give 100; its
/// authors recommend to ignore pictures of less than 50.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_picture_fingerprint(
    recipe: *const c_char,
    recipe_len: usize,
    bytes: *const u8,
    bytes_len: usize,
    fingerprint: *mut u64,
    quality: *mut u32,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let recipe = recipe_of(call.text(recipe, recipe_len, "recipe")?)?;
        let bytes = call.array(bytes, bytes_len, "bytes")?;
        nearprint_image::quiet_decoders();
        let picture = Picture::decode_luminance(bytes, &Limits::default());
        let picture = picture.map_err(|why| Failure::argument("bytes", why))?;
        give(call, recipe, &picture, (fingerprint, quality))
    })
}

/// Makes the fingerprint of a picture of red, green and blue samples of 8 bits, pixel by pixel and
/// row by row from the upper left: `3 * width * height` bytes, of any number of pixels. Otherwise as
/// nearprint_picture_fingerprint().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_picture_fingerprint_rgb(
    recipe: *const c_char,
    recipe_len: usize,
    width: usize,
    height: usize,
    samples: *const u8,
    fingerprint: *mut u64,
    quality: *mut u32,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let recipe = recipe_of(call.text(recipe, recipe_len, "recipe")?)?;
        let row = width.checked_mul(3).ok_or_else(|| Failure::argument("width", "too large"))?;
        let len = row.checked_mul(height).ok_or_else(|| Failure::argument("height", "too large"))?;
        let samples = call.array(samples, len, "samples")?;
        let picture = Picture::rgb(width, height, samples);
        let picture = picture.map_err(|why| Failure::argument("samples", why))?;
        give(call, recipe, &picture, (fingerprint, quality))
    })
}

fn recipe_of(name: &str) -> Outcome<Recipe> {
    name.parse().map_err(|why| Failure::new(NEARPRINT_RECIPE, format!("recipe: {why}")))
}

fn give(
    call: &Call,
    recipe: Recipe,
    picture: &Picture<'_>,
    (fingerprint, quality): (*mut u64, *mut u32),
) -> Outcome {
    let mut output = call.required(fingerprint, recipe.width().words(), "fingerprint")?;
    let (made, found) = recipe.fingerprint(picture);
    output.set_all(made.words().iter().copied());
    call.optional(quality).set(u32::from(found));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;
    use crate::status::{NEARPRINT_INVALID_ARGUMENT, NEARPRINT_OK, NEARPRINT_RECIPE};

    #[test]
    fn bytes_and_samples_have_the_fingerprint_of_the_picture() {
        let samples: Vec<u8> = (0..3 * 96 * 64_u32).map(|at| (at * at / 977 % 251) as u8).collect();
        let picture = Picture::rgb(96, 64, &samples[..]).unwrap();
        let jpeg = nearprint_image::thumbnail(&picture, 96).unwrap();
        let decoded = Picture::decode_luminance(&jpeg, &Limits::default()).unwrap();
        for recipe in Recipe::ALL {
            let name = recipe.name();
            let (mut words, mut quality) = ([9; 4], 0);
            // SAFETY: All pointers are to arrays of these lengths.
            let rgb = |words: *mut u64, quality, height| unsafe {
                let (name, len) = (name.as_ptr().cast(), name.len());
                let (samples, error) = (samples.as_ptr(), ptr::null_mut());
                nearprint_picture_fingerprint_rgb(name, len, 96, height, samples, words, quality, error)
            };
            assert_eq!(rgb(words.as_mut_ptr(), &raw mut quality, 64), NEARPRINT_OK);
            let (expected, of_picture) = recipe.fingerprint(&picture);
            let len = recipe.width().words();
            assert_eq!((&words[..len], quality), (expected.words(), u32::from(of_picture)), "{name}");
            assert_eq!(words[len..], [9; 4][len..], "no more words are written");
            assert_eq!(rgb(words.as_mut_ptr(), ptr::null_mut(), 64), NEARPRINT_OK);
            assert_eq!(rgb(ptr::null_mut(), ptr::null_mut(), 64), NEARPRINT_INVALID_ARGUMENT);
            assert_eq!(rgb(words.as_mut_ptr(), ptr::null_mut(), 0), NEARPRINT_INVALID_ARGUMENT);
            assert_eq!(rgb(words.as_mut_ptr(), ptr::null_mut(), usize::MAX), NEARPRINT_INVALID_ARGUMENT);
            // SAFETY: As above.
            let encoded = |name: &str, bytes: &[u8], words: *mut u64| unsafe {
                let (name, name_len) = (name.as_ptr().cast(), name.len());
                let (bytes, len) = (bytes.as_ptr(), bytes.len());
                let null = ptr::null_mut();
                nearprint_picture_fingerprint(name, name_len, bytes, len, words, ptr::null_mut(), null)
            };
            assert_eq!(encoded(name, &jpeg, words.as_mut_ptr()), NEARPRINT_OK);
            assert_eq!(words[..len], *recipe.fingerprint(&decoded).0.words());
            assert_eq!(encoded(name, b"no picture", words.as_mut_ptr()), NEARPRINT_INVALID_ARGUMENT);
            assert_eq!(encoded("minhash", &jpeg, words.as_mut_ptr()), NEARPRINT_RECIPE);
        }
    }
}
