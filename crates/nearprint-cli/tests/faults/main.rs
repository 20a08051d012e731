//! Real faults: processes killed at random moments, power cuts, full disks, failing system calls,
//! second writers, readers beside a writer, and foreign files that replace nearprint's own.
//!
//! Real files and real processes throughout. What a machine does not allow (no root, no strace, no
//! loop devices) is skipped and listed when the binary ends. `NEARPRINT_FULL=1` runs all rounds and
//! all failing calls; `NEARPRINT_FAULT_ROUNDS`, `NEARPRINT_SOAK_SECONDS` and
//! `NEARPRINT_CAMPAIGN_SECONDS` make the random tests longer still.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, unreachable_pub, reason = "not shipped")]

mod acts;
mod campaign;
mod disk_full;
mod folders;
mod history;
mod interrupts;
mod kill;
mod locks;
mod machine;
mod own_folders;
mod power;
mod processes;
mod snapshots;
mod soak;
mod syscalls;
mod worker;
