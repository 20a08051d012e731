//! Small tools that know nothing of databases: number conversions, threads, sorting.

pub(crate) mod cast;
pub(crate) mod parallel;
pub(crate) mod sabotage;
pub(crate) mod sort;
pub(crate) mod visitor;
