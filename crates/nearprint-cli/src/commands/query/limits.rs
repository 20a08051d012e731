//! How many rows of each query are printed, and their columns.

use nearprint::{Query, Width};

#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct LimitArgs {
    /// Only the N nearest rows of each query
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    /// At most N rows of each query, the nearest first
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Print the queries that nothing is near, and no rows: `query`, and `query_key` if queries have keys
    #[arg(short = 'v', long, conflicts_with_all = ["top", "limit"])]
    invert_match: bool,
}

/// The columns of matches, and whether they are there.
pub(super) fn match_columns(
    limits: LimitArgs,
    has_keys: bool,
    has_query_keys: bool,
    has_similarity: bool,
) -> [(&'static str, bool); 7] {
    let has_rows = !limits.is_inverted();
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
    pub(super) fn is_inverted(self) -> bool {
        self.invert_match
    }

    /// The most rows of a query. One shows that there is any.
    pub(super) fn most(self) -> usize {
        if self.invert_match {
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
