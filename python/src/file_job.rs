//! Deduplication of files.

use std::path::PathBuf;
use std::sync::Arc;

use nearprint::{Options, Progress, Stage};
use nearprint_text::Result;
use nearprint_text::dedup::{self, Confirm, DedupOptions, FileJob, FileReport, Keep};
use nearprint_text::documents::Format;
use nearprint_text::recipe::Recipe;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{OrRaise, input_error};
use crate::watch::{Ticker, watch};

/// The job, as Python describes it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Description {
    inputs: Vec<PathBuf>,
    output: PathBuf,
    database: Option<PathBuf>,
    duplicates: Option<PathBuf>,
    rejects: Option<PathBuf>,
    recipe: Option<String>,
    k: Option<u32>,
    similarity: Option<f64>,
    confirm: Option<String>,
    keep: String,
    text_field: String,
    key_field: Option<String>,
    input_format: Option<String>,
    cut_after: Option<String>,
    min_tokens: usize,
    add_fingerprint: Option<String>,
    annotate: bool,
    duplicates_header: bool,
    dry_run: bool,
    restart: bool,
    threads: Option<usize>,
    memory: Option<usize>,
}

/// The formats of documents, by name.
const FORMATS: [(&str, Format); 6] = [
    ("jsonl", Format::Jsonl),
    ("csv", Format::Csv),
    ("tsv", Format::Tsv),
    ("parquet", Format::Parquet),
    ("text", Format::Text),
    ("lines", Format::Lines),
];

impl Description {
    fn job(self, options: Options) -> std::result::Result<FileJob, String> {
        let is_given = self.recipe.is_some();
        let recipe: Recipe = match (&self.recipe, &self.database) {
            (None, Some(path)) if path.exists() => {
                dedup::recipe_of(path).map_err(|error| error.to_string())?
            }
            (recipe, _) => {
                recipe.as_deref().unwrap_or("minhash").parse().map_err(|why| format!("recipe: {why}"))?
            }
        };
        let k = match (self.k, self.similarity, recipe.bands()) {
            (k, None, _) => k,
            (None, Some(similarity), Some(bands)) => Some(bands.distance_of(recipe.width(), similarity)),
            (None, Some(_), None) => {
                return Err("similarity: needs MinHash fingerprints; others have k".into());
            }
            (Some(_), Some(_), _) => return Err("k and similarity: only one of them can be given".into()),
        };
        let format = |name: &String| {
            let known = FORMATS.iter().find(|(known, _)| known == name);
            known.map(|(_, format)| *format).ok_or_else(|| format!("input_format = {name:?}: there is none"))
        };
        let mut dedup = DedupOptions::new(recipe);
        dedup.require_recipe = is_given;
        dedup.k = k;
        dedup.confirm =
            self.confirm.map(|text| text.parse::<Confirm>()).transpose().map_err(|why| why.to_string())?;
        dedup.min_tokens = self.min_tokens;
        dedup.engine = options;
        let mut job = FileJob::new(self.inputs, self.output, dedup);
        job.reader.fields.text = self.text_field;
        job.reader.fields.key = self.key_field;
        job.reader.format = self.input_format.as_ref().map(format).transpose()?;
        job.reader.cut_after = self.cut_after;
        job.keep = match self.keep.split_once(':') {
            None if self.keep == "first" => Keep::First,
            None if self.keep == "longest" => Keep::Longest,
            Some(("max", field)) if !field.is_empty() => Keep::Max(field.to_owned()),
            _ => return Err(format!("keep = {:?}: 'first', 'longest' or 'max:FIELD' is wanted", self.keep)),
        };
        job.database = self.database;
        job.duplicates = self.duplicates;
        job.duplicates_header = self.duplicates_header;
        job.rejects = self.rejects;
        job.annotate = self.annotate;
        job.add_fingerprint = self.add_fingerprint;
        job.dry_run = self.dry_run;
        job.restart = self.restart;
        Ok(job)
    }
}

/// Runs a job. Returns what became of the documents.
#[pyfunction]
pub(crate) fn dedup_files<'py>(
    py: Python<'py>,
    description: Description,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let ticker = Arc::new(Ticker::default());
    let mut options = Options::new().progress(ticker.clone());
    if let Some(threads) = description.threads {
        options = options.threads(threads);
    }
    if let Some(bytes) = description.memory {
        options = options.memory_bytes(bytes);
    }
    let job = description.job(options).map_err(|why| input_error(py, &why))?;
    let done: Result<FileReport> = watch(py, &ticker, listener.as_ref(), || {
        Ok(job.run(|_, at| ticker.report(Stage::Reading, at.bytes, at.total_bytes)))
    })?;
    let report = done.or_raise(py)?;
    let counts = report.counts;
    let dict = PyDict::new(py);
    for (name, count) in [
        ("documents", counts.records),
        ("kept", counts.kept),
        ("duplicates", counts.duplicates),
        ("unconfirmed", counts.unconfirmed),
        ("bad", counts.bad),
        ("too_short", counts.aside),
        ("empty", counts.empty),
        ("invalid_utf8", counts.invalid_utf8),
        ("resumed_after", report.resumed_after),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item("copies", report.counts_copies.then_some(counts.copies))?;
    dict.set_item("by_similarity", counts.by_similarity.to_vec())?;
    dict.set_item("already_complete", report.already_complete)?;
    let groups: Vec<(String, u64)> =
        report.largest.into_iter().map(|group| (group.name, group.size)).collect();
    dict.set_item("largest", groups)?;
    Ok(dict)
}
