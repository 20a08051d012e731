//! The native module of the Python package.
//!
//! Users call the Python code in `nearprint/`, which checks arguments, turns them into arrays of
//! 64-bit words, and turns the columns that come back into tables.

mod arguments;
mod arrow;
mod blocks;
mod build;
mod capsules;
mod columns;
mod command;
mod core;
mod dedup;
mod dicts;
mod errors;
mod file_job;
mod folders;
mod follower;
mod handle;
mod images;
mod kept;
mod lists;
mod numbers;
mod order;
mod pairs;
mod rows;
mod similar;
mod stream;
mod tables;
mod texts;
mod watch;
mod words;

/// The module.
#[pyo3::pymodule]
mod _nearprint {
    use numpy::PyArray1;
    use pyo3::prelude::{Bound, PyModule, PyResult};

    /// The package's version.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::arrow::{arrow_table, fingerprints_of_arrow, ids_of_arrow};
    #[pymodule_export]
    use crate::blocks::{block_keys, components, forest, join_between, join_blocks, split_blocks};
    #[pymodule_export]
    use crate::build::Builder;
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::core::Core;
    #[pymodule_export]
    use crate::dedup::Deduplicator;
    #[pymodule_export]
    use crate::file_job::run_files;
    #[pymodule_export]
    use crate::folders::{repair, width_of};
    #[pymodule_export]
    use crate::follower::Follower;
    #[pymodule_export]
    use crate::images::fingerprint_pictures;
    #[pymodule_export]
    use crate::kept::KeptFingerprints;
    #[pymodule_export]
    use crate::lists::{
        distances, fill_distance_matrix, find_all, find_clusters, pairs_of_short_list, simhash, sketches,
        tuples,
    };
    #[pymodule_export]
    use crate::numbers::{num_differing_bits, simhash_of_list, words_of_list};
    #[pymodule_export]
    use crate::order::{order_keys, order_kinds, order_of};
    #[pymodule_export]
    use crate::pairs::PairJudge;
    #[pymodule_export]
    use crate::rows::document_rows;
    #[pymodule_export]
    use crate::stream::Stream;
    #[pymodule_export]
    use crate::tables::{ArrowColumn, Batches, arrow_stream, ordered_of_arrow, strings_of_arrow};
    #[pymodule_export]
    use crate::texts::{
        default_k, estimates, fingerprint_arrow, fingerprint_list, html_text, recipe_line, sketch_of,
        unsigned_hash,
    };

    /// Loads the interface of NumPy. The first call would, which runs code of Python: a signal that waits for it there
    /// is a panic.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        drop(PyArray1::<u64>::zeros(module.py(), 0, false));
        Ok(())
    }
}
