//! Tools that are independent of databases: number conversions, threads, sorting, random ids.

pub(crate) mod cast;
pub(crate) mod channel;
pub mod file;
pub(crate) mod parallel;
pub(crate) mod process;
pub(crate) mod random;
pub(crate) mod sabotage;
pub(crate) mod search;
pub(crate) mod sort;
pub(crate) mod time;
pub(crate) mod visitor;
