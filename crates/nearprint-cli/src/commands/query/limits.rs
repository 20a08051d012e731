//! How many rows of each query are printed, and their columns.

use clap::builder::{RangedU64ValueParser, TypedValueParser};

use crate::args::GlobalArgs;
use nearprint::{Query, Width};

#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct LimitArgs {
    /// Only the N nearest rows of each query
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    top: Option<usize>,
    /// At most N rows of each query, the nearest first
    #[arg(long, value_name = "N", value_parser = at_least_one())]
    limit: Option<usize>,
    /// Print the queries that have no near row, instead of rows: `query`, and `query_key` if queries have keys
    #[arg(short = 'v', long, conflicts_with_all = ["top", "limit"])]
    unmatched: bool,
}

/// A limit of 0 would answer every query with nothing.
fn at_least_one() -> impl TypedValueParser<Value = usize> {
    RangedU64ValueParser::<usize>::new().range(1..)
}

/// The columns of matches, and whether they are there.
pub(super) fn match_columns(
    limits: LimitArgs,
    has_keys: bool,
    has_query_keys: bool,
    has_similarity: bool,
) -> [(&'static str, bool); 7] {
    let has_rows = !limits.prints_unmatched();
    [
        ("query", true),
        ("distance", has_rows),
        ("fingerprint", has_rows),
        ("id", has_rows),
        ("key", has_rows && has_keys),
        ("query_key", has_query_keys),
        ("similarity", has_rows && has_similarity),
    ]
}

impl LimitArgs {
    /// Whether rows are printed however far they are.
    pub(super) fn is_top(self) -> bool {
        self.top.is_some()
    }

    /// Whether the queries without a row are printed.
    pub(super) fn prints_unmatched(self) -> bool {
        self.unmatched
    }

    /// The most rows of a query. One shows that there is any.
    pub(super) fn most(self) -> usize {
        if self.unmatched {
            return 1;
        }
        self.limit.unwrap_or(usize::MAX).min(self.top.unwrap_or(usize::MAX))
    }

    /// What is looked up in a database with a default distance; `k` is the distance that an option sets.
    pub(super) fn query(self, k: Option<u32>, default_k: u32, width: Width) -> Query {
        match self.is_top() {
            true => Query::nearest(self.most()).max_k(k.unwrap_or(width.bits())),
            false => Query::within(k.unwrap_or(default_k)).limit(self.most()),
        }
    }
}

/// How many queries were answered, and with how many rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answered {
    pub(super) queries: u64,
    pub(super) rows: u64,
}

impl Answered {
    /// Counts a query.
    pub(super) fn push(&mut self, rows: usize) {
        self.queries += 1;
        self.rows += rows as u64;
    }

    /// Says how many rows were found, unless the queries without a row are printed.
    pub(super) fn note(self, limits: LimitArgs, global: GlobalArgs) {
        let Self { queries, rows } = self;
        if queries == 0 || limits.prints_unmatched() {
            return;
        }
        let queries = plural_of(queries, ["query", "queries"]);
        match rows {
            0 => global.note(format_args!("{queries}: no near row")),
            rows => global.note(format_args!("{queries}: {}", plural_of(rows, ["row", "rows"]))),
        }
    }
}

/// A number and its noun.
fn plural_of(number: u64, [one, many]: [&str; 2]) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
