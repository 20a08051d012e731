//! Why a call fails.

use std::any::Any;

use nearprint::{Corruption, ParseFingerprintError};

use crate::status::{self, NEARPRINT_BUG, NEARPRINT_CORRUPT, NEARPRINT_INVALID_ARGUMENT, nearprint_status};

/// Why a call fails.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: nearprint_status,
    pub(crate) message: String,
    pub(super) damage: Option<Box<Corruption>>,
}

/// The result of what a function does. The reason is behind a pointer, so that success is cheap.
pub(crate) type Outcome<T = ()> = Result<T, Box<Failure>>;

impl Failure {
    pub(crate) fn new(status: nearprint_status, message: impl Into<String>) -> Box<Self> {
        Box::new(Self { status, message: message.into(), damage: None })
    }

    /// An argument that no call accepts.
    pub(crate) fn argument(name: &str, why: impl std::fmt::Display) -> Box<Self> {
        Self::new(NEARPRINT_INVALID_ARGUMENT, format!("{name}: {why}"))
    }

    /// A panic that was caught at the border.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Box<Self> {
        let known = payload.downcast_ref::<&str>().copied();
        let message = known.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
        let message = message.unwrap_or("no message");
        Self::new(NEARPRINT_BUG, format!("a bug of nearprint: {message}"))
    }
}

impl From<nearprint::Error> for Box<Failure> {
    fn from(error: nearprint::Error) -> Self {
        let (status, message) = (status::of(error.kind()), error.to_string());
        let damage = match error {
            nearprint::Error::Corrupt(damage) => Some(damage),
            _ => None,
        };
        debug_assert_eq!(damage.is_some(), status == NEARPRINT_CORRUPT);
        Box::new(Failure { status, message, damage })
    }
}

impl From<ParseFingerprintError> for Box<Failure> {
    fn from(error: ParseFingerprintError) -> Self {
        Failure::argument("text", error)
    }
}
