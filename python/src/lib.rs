//! The Python package's native module. What users see is the Python code in `nearprint/`: it checks and
//! turns arguments into arrays of 64-bit words, and what comes back into tables.

mod arrow;
mod columns;
mod core;
mod dedup;
mod dicts;
mod engine;
mod errors;
mod lists;
mod stream;
mod texts;
mod watch;
mod words;

/// The module.
#[pyo3::pymodule]
mod _nearprint {
    /// The package's version.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::arrow::{arrow_table, fingerprints_of_arrow, ids_of_arrow};
    #[pymodule_export]
    use crate::core::{Core, repair, width_of_path};
    #[pymodule_export]
    use crate::dedup::Deduplicator;
    #[pymodule_export]
    use crate::lists::{
        distances, fill_distance_matrix, find_all, find_clusters, simhash, tuples, words_of_list,
    };
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::texts::{fingerprint_arrow, fingerprint_list, html_text, recipe_line, unsigned_hash};
}
