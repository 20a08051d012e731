//! Why a program ends.

/// Exit codes, in the order of the checks. simhash-cpp has those up to 8.
pub(super) const UNKNOWN_OPTION: u8 = 1;
pub(super) const BAD_BLOCKS: u8 = 2;
pub(super) const NO_DISTANCE: u8 = 3;
pub(super) const EMPTY_INPUT: u8 = 4;
pub(super) const EMPTY_OUTPUT: u8 = 5;
pub(super) const TOO_FEW_BLOCKS: u8 = 6;
pub(super) const UNREADABLE: u8 = 7;
pub(super) const UNWRITABLE: u8 = 8;
pub(super) const NOT_A_NUMBER: u8 = 9;

/// The most blocks that 64 bits can be split into.
pub(super) const MAX_BLOCKS: u64 = 64;

/// An exit code and its reason.
pub(super) type Exit = (u8, String);
