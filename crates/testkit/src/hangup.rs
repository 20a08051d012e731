//! Programs that a hangup ends, whatever this process does about it.

use std::process::Command;

/// Lets a hangup end a program. Under `nohup`, a process ignores it, and so do its children.
#[cfg(unix)]
pub fn ended_by_hangup(command: &mut Command) -> &mut Command {
    use std::os::unix::process::CommandExt;

    let reset = || {
        // SAFETY: The default is no function. `signal` may be called between a fork and the program.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_DFL) };
        Ok(())
    };
    // SAFETY: It does nothing else, and allocates nothing.
    unsafe { command.pre_exec(reset) }
}

/// There are no signals to ignore.
#[cfg(windows)]
pub fn ended_by_hangup(command: &mut Command) -> &mut Command {
    command
}
