//! The caller's error object, and the strings in it.

use std::ffi::c_char;
use std::ptr;

use nearprint::Corruption;

use super::failure::Failure;
use crate::growing::Growing;
use crate::handle::Handle;

/// Why the last failed call failed. An object of the caller: a program needs one for each thread.
///
/// Every function that can fail takes one as its last parameter, which may be null. A failed call
/// replaces its content; a successful call leaves it as it is.
pub struct nearprint_error {
    pub(super) failure: Option<Failure>,
    pub(super) message: CText,
    pub(super) damage: Option<DamageTexts>,
}

impl Handle for nearprint_error {
    const NAME: &'static str = "nearprint_error";
}

impl nearprint_error {
    pub(super) fn new() -> Self {
        Self { failure: None, message: CText::new(""), damage: None }
    }

    pub(crate) fn set(&mut self, failure: Failure) {
        self.message = CText::new(&failure.message);
        self.damage = failure.damage.as_deref().map(DamageTexts::new);
        self.failure = Some(failure);
    }
}

/// Where a file is damaged. All strings end with a null byte that their length does not count.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_damage {
    /// The size of this structure in the header of the program: nearprint_damage_init() sets it.
    pub struct_size: usize,
    /// The file.
    pub file: *const c_char,
    /// Its length in bytes.
    pub file_len: usize,
    /// The section of the file, such as `header` or `ids`.
    pub section: *const c_char,
    /// Its length in bytes.
    pub section_len: usize,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// The expected content.
    pub expected: *const c_char,
    /// Its length in bytes.
    pub expected_len: usize,
    /// The content of the file.
    pub found: *const c_char,
    /// Its length in bytes.
    pub found_len: usize,
}

// SAFETY: The size is the first field; the others are numbers and pointers.
unsafe impl Growing for nearprint_damage {
    const NAME: &'static str = "nearprint_damage";
    const FIRST_SIZE: usize = size_of::<Self>();
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        file: ptr::null(),
        file_len: 0,
        section: ptr::null(),
        section_len: 0,
        offset: 0,
        expected: ptr::null(),
        expected_len: 0,
        found: ptr::null(),
        found_len: 0,
    };
}

/// A string with a null byte at the end.
pub(super) struct CText(Box<[u8]>);

impl CText {
    fn new(text: &str) -> Self {
        Self([text.as_bytes(), b"\0"].concat().into())
    }

    /// The start, and the length without the null byte.
    pub(super) fn parts(&self) -> (*const c_char, usize) {
        (self.0.as_ptr().cast(), self.0.len() - 1)
    }
}

/// The strings behind a [`nearprint_damage`].
pub(crate) struct DamageTexts {
    file: CText,
    section: CText,
    offset: u64,
    expected: CText,
    found: CText,
}

impl DamageTexts {
    pub(crate) fn new(damage: &Corruption) -> Self {
        Self {
            file: CText::new(&damage.file.to_string_lossy()),
            section: CText::new(damage.section),
            offset: damage.offset,
            expected: CText::new(&damage.expected),
            found: CText::new(&damage.found),
        }
    }

    pub(crate) fn view(&self) -> nearprint_damage {
        let ((file, file_len), (section, section_len)) = (self.file.parts(), self.section.parts());
        let ((expected, expected_len), (found, found_len)) = (self.expected.parts(), self.found.parts());
        let offset = self.offset;
        nearprint_damage {
            struct_size: size_of::<nearprint_damage>(),
            file,
            file_len,
            section,
            section_len,
            offset,
            expected,
            expected_len,
            found,
            found_len,
        }
    }
}
