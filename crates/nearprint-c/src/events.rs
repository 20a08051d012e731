//! What writers do besides what they are called for.

use std::ffi::c_void;
use std::mem::offset_of;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearprint::Event;

use crate::growing::Growing;

/// What a writer has done.
pub type nearprint_event_kind = i32;

/// Something that this version of the interface has no name for.
pub const NEARPRINT_EVENT_OTHER: nearprint_event_kind = 0;
/// Unflushed rows have become a run.
pub const NEARPRINT_EVENT_FLUSH: nearprint_event_kind = 1;
/// Runs have become one.
pub const NEARPRINT_EVENT_MERGE: nearprint_event_kind = 2;
/// Runs were dropped whose rows have expired.
pub const NEARPRINT_EVENT_EXPIRY: nearprint_event_kind = 3;
/// A call has waited for a flush or a merge that was not finished.
pub const NEARPRINT_EVENT_STALL: nearprint_event_kind = 4;
/// The last commit lies more than five minutes in the future: the clock was ahead, or it is behind now.
pub const NEARPRINT_EVENT_CLOCK: nearprint_event_kind = 5;

/// What a writer has done besides what it was called for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nearprint_event {
    /// The size of this structure in the library, which may be larger than in the header of the program.
    pub struct_size: usize,
    /// What was done.
    pub kind: nearprint_event_kind,
    /// The number of runs that were made, merged or dropped; 0 of a stall and of a clock.
    pub runs: u64,
    /// The rows of the new run, or of those that were dropped; 0 of a stall and of a clock.
    pub rows: u64,
    /// The bytes of the new files; 0 of an expiry, of a stall and of a clock.
    pub bytes: u64,
    /// How long it took, in microseconds; 0 of an expiry and of a clock.
    pub microseconds: u64,
    /// Of a clock, when the last commit was, in seconds since 1970; else 0.
    pub last_commit: u64,
    /// Of a clock, its time in seconds since 1970; else 0.
    pub now: u64,
}

// SAFETY: The size is the first field; the others are numbers.
unsafe impl Growing for nearprint_event {
    const NAME: &'static str = "nearprint_event";
    const FIRST_SIZE: usize = offset_of!(Self, now) + size_of::<u64>();
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        kind: NEARPRINT_EVENT_OTHER,
        runs: 0,
        rows: 0,
        bytes: 0,
        microseconds: 0,
        last_commit: 0,
        now: 0,
    };
}

/// Receives what writers do besides what they are called for. The event lives until the function
/// returns.
///
/// Called on the thread that calls the writer, before that call returns. It must not throw, and must
/// not use that writer.
pub type nearprint_event_fn =
    Option<unsafe extern "C-unwind" fn(context: *mut c_void, event: *const nearprint_event)>;

impl From<&Event> for nearprint_event {
    fn from(event: &Event) -> Self {
        let of = |kind, runs: usize, rows, bytes, took: Duration| Self {
            kind,
            runs: runs as u64,
            rows,
            bytes,
            microseconds: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            ..Self::DEFAULT
        };
        match *event {
            Event::Flush { rows, bytes, took } => of(NEARPRINT_EVENT_FLUSH, 1, rows, bytes, took),
            Event::Merge { runs, rows, bytes, took } => of(NEARPRINT_EVENT_MERGE, runs, rows, bytes, took),
            Event::Expiry { runs, rows } => of(NEARPRINT_EVENT_EXPIRY, runs, rows, 0, Duration::ZERO),
            Event::Stall { took } => of(NEARPRINT_EVENT_STALL, 0, 0, 0, took),
            Event::Clock { last_commit, now } => Self {
                kind: NEARPRINT_EVENT_CLOCK,
                last_commit: seconds(last_commit),
                now: seconds(now),
                ..Self::DEFAULT
            },
            _ => Self::DEFAULT,
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The caller's function for events.
pub(crate) struct CallerListener {
    listen: unsafe extern "C-unwind" fn(*mut c_void, *const nearprint_event),
    context: *mut c_void,
}

// SAFETY: The header says that the function is called on any thread that calls a writer; the context
// is the caller's, and only passed to it.
unsafe impl Send for CallerListener {}
// SAFETY: As above.
unsafe impl Sync for CallerListener {}

impl CallerListener {
    /// The function, if there is one.
    pub(crate) fn new(on_event: nearprint_event_fn, context: *mut c_void) -> Option<Self> {
        Some(Self { listen: on_event?, context })
    }

    pub(crate) fn tell(&self, event: &Event) {
        let event = nearprint_event::from(event);
        // SAFETY: By the header, the function accepts its context and a structure that lives until it
        // returns.
        unsafe { (self.listen)(self.context, &raw const event) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(event: &Event) -> [u64; 5] {
        let it = nearprint_event::from(event);
        assert_eq!(it.struct_size, size_of::<nearprint_event>());
        [it.kind.cast_unsigned().into(), it.runs, it.rows, it.bytes, it.microseconds]
    }

    #[test]
    fn each_event_has_its_numbers() {
        let took = Duration::from_micros(5);
        assert_eq!(fields(&Event::Flush { rows: 3, bytes: 4, took }), [1, 1, 3, 4, 5]);
        assert_eq!(fields(&Event::Merge { runs: 2, rows: 3, bytes: 4, took }), [2, 2, 3, 4, 5]);
        assert_eq!(fields(&Event::Expiry { runs: 2, rows: 3 }), [3, 2, 3, 0, 0]);
        assert_eq!(fields(&Event::Stall { took: Duration::MAX }), [4, 0, 0, 0, u64::MAX]);
        let [last_commit, now] = [70, 7].map(|time| UNIX_EPOCH + Duration::from_secs(time));
        let clock = Event::Clock { last_commit, now };
        assert_eq!(fields(&clock), [5, 0, 0, 0, 0]);
        let it = nearprint_event::from(&clock);
        assert_eq!((it.last_commit, it.now), (70, 7));
    }
}
