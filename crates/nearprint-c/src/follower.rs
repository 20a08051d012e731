//! A second folder that follows a database.

use std::ffi::c_char;

use nearprint::any::AnyFollower;

use crate::call::Call;
use crate::database::nearprint_database;
use crate::error::nearprint_error;
use crate::handle::{self, Guarded, Handle};
use crate::status::nearprint_status;

/// A folder that follows a database. It locks the folder, not the database, until it is freed.
pub struct nearprint_follower {
    inner: Guarded<AnyFollower>,
}

impl Handle for nearprint_follower {
    const NAME: &'static str = "nearprint_follower";
}

/// Makes a folder that follows a database and brings it up to date, or goes on with one. The path must
/// not exist, be an empty folder, or follow this database already. `follower` receives the handle.
///
/// Readers open the folder as any database; a writer refuses it, until somebody removes its file
/// FOLLOWER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_follower_open(
    database: *const nearprint_database,
    path: *const c_char,
    path_len: usize,
    follower: *mut *mut nearprint_follower,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let follower = call.new_handle(follower, "follower")?;
        let database = call.handle(database, "database")?;
        let inner = database.inner.follow(call.path(path, path_len)?)?;
        follower.give(nearprint_follower { inner: Guarded::new(inner) });
        Ok(())
    })
}

/// Copies what was committed since. After any failure and any crash, the folder is a state that the
/// database had.
///
/// `bytes` receives the number of copied bytes, `changed` 1 if the folder has changed, else 0; both may
/// be null. NEARPRINT_CORRUPT for damage in the database: the folder keeps what it has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_follower_update(
    follower: *mut nearprint_follower,
    bytes: *mut u64,
    changed: *mut i32,
    error: *mut nearprint_error,
) -> nearprint_status {
    // SAFETY: The contract of the header.
    unsafe { Call::of(error) }.run(|call| {
        let follower = call.handle(follower, "follower")?;
        let (mut bytes, mut changed) = (call.optional(bytes), call.optional(changed));
        let update = follower.inner.with("follower", |follower| Ok(follower.update()?))?;
        bytes.set(update.bytes);
        changed.set(update.changed.into());
        Ok(())
    })
}

/// Releases the lock of the folder and frees the handle. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nearprint_follower_free(follower: *mut nearprint_follower) {
    // SAFETY: The contract of the header.
    unsafe { handle::free(follower) }
}
