//! Deduplication of files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use nearprint::{Options, Progress, Stage};
use nearprint_cli::DedupReport;
use nearprint_text::Result;
use nearprint_text::dedup::{
    self, Confirm, DedupOptions, Evidence, FileJob, FileReport, Keep, Shards, Unit, UnitCounts, UtcTime,
};
use nearprint_text::documents::{Encoding, Format};
use nearprint_text::recipe::Recipe;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::engine_options;
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
    keep: Option<String>,
    shards: Option<u32>,
    unit: Option<String>,
    min_words: Option<usize>,
    min_repeats: u64,
    min_left: f64,
    keep_hollow: bool,
    against: Vec<PathBuf>,
    within: bool,
    exclude: Vec<String>,
    ext: Vec<String>,
    no_ignore: bool,
    null: bool,
    text_field: String,
    missing: String,
    key_field: Option<String>,
    input_format: Option<String>,
    encoding: Option<String>,
    cut_after: Option<String>,
    min_tokens: Option<usize>,
    min_features: usize,
    evidence: Option<String>,
    add_fingerprint: Option<String>,
    keep_fields: Vec<String>,
    old_id: Option<String>,
    cleaned: Option<String>,
    report: Option<PathBuf>,
    annotate: bool,
    cluster_size: bool,
    duplicates_header: bool,
    dry_run: bool,
    restart: bool,
    again: bool,
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
        self.check_passages()?;
        let mut dedup = near_options(self.recipe()?, self.k, self.similarity, self.confirm.as_deref())?;
        let unit = self.unit()?;
        let parsed = |keep: &String| keep.parse::<Keep>().map_err(|why| format!("keep = {keep:?}: {why}"));
        let keep = self.keep.as_ref().map(parsed).transpose()?;
        let format = |name: &String| {
            let known = FORMATS.iter().find(|(known, _)| known == name);
            known.map(|(_, format)| *format).ok_or_else(|| format!("input_format = {name:?}: there is none"))
        };
        dedup.require_recipe = self.recipe.is_some();
        dedup.evidence = evidence_of(self.evidence.as_deref())?;
        dedup.min_tokens = self.min_tokens.unwrap_or(unit.map_or(0, |_| Unit::DEFAULT_MIN_TOKENS));
        dedup.min_features = self.min_features;
        dedup.engine = options;
        let mut job = FileJob::new(self.inputs, self.output, dedup);
        job.reader.fields.text = self.text_field;
        job.reader.fields.missing =
            self.missing.parse().map_err(|why| format!("missing = {:?}: {why}", self.missing))?;
        job.reader.fields.key = self.key_field;
        job.reader.format = self.input_format.as_ref().map(format).transpose()?;
        let encoding =
            |name: &String| name.parse::<Encoding>().map_err(|why| format!("encoding = {name:?}: {why}"));
        job.reader.encoding = self.encoding.as_ref().map(encoding).transpose()?;
        job.reader.cut_after = self.cut_after;
        job.reader.folder.exclude = self.exclude;
        job.reader.folder.extensions = self.ext;
        job.reader.folder.no_ignore = self.no_ignore;
        job.nul_ended = self.null;
        job.keep = keep;
        job.shards = Shards::of(&job.output, self.shards);
        job.units = unit;
        job.unit_rules.min_words = self.min_words.unwrap_or(job.unit_rules.min_words);
        job.unit_rules.min_repeats = self.min_repeats;
        job.unit_rules.min_left = self.min_left;
        job.unit_rules.keeps_hollow = self.keep_hollow;
        job.database = self.database;
        job.within = self.within || self.against.is_empty();
        job.against = self.against;
        job.duplicates = self.duplicates;
        job.duplicates_header = self.duplicates_header;
        job.rejects = self.rejects;
        job.annotate = self.annotate;
        job.cluster_size = self.cluster_size;
        job.add_fingerprint = self.add_fingerprint;
        job.keep_fields = self.keep_fields;
        job.old_id = self.old_id;
        job.cleaned = self.cleaned;
        job.dry_run = self.dry_run;
        job.restart = self.restart;
        job.again = self.again;
        Ok(job)
    }

    /// The given recipe, or the recipe of the database, if it exists, or the default. Units are
    /// compared exactly by default, passages always.
    fn recipe(&self) -> std::result::Result<Recipe, String> {
        if self.unit.as_deref() == Some("passage") {
            return "exact width=128".parse().map_err(|why| format!("recipe: {why}"));
        }
        if let (None, Some(path)) = (&self.recipe, &self.database)
            && path.exists()
        {
            return dedup::recipe_of(path).map_err(|error| error.to_string());
        }
        let is_exact = self.unit.is_some() && self.k.is_none() && self.similarity.is_none();
        let default = if is_exact { "exact" } else { "minhash" };
        self.recipe.as_deref().unwrap_or(default).parse().map_err(|why| format!("recipe: {why}"))
    }

    fn unit(&self) -> std::result::Result<Option<Unit>, String> {
        match self.unit.as_deref() {
            None => Ok(None),
            Some("paragraph") => Ok(Some(Unit::Paragraph)),
            Some("line") => Ok(Some(Unit::Line)),
            Some("passage") => Ok(Some(Unit::Passage)),
            Some(other) => Err(format!("unit = {other:?}: 'paragraph', 'line' or 'passage' is wanted")),
        }
    }

    /// Refuses what passages do not have, and what only they have.
    fn check_passages(&self) -> std::result::Result<(), String> {
        let refused = [
            (self.recipe.is_some(), "recipe"),
            (self.k.is_some(), "k"),
            (self.similarity.is_some(), "similarity"),
            (self.confirm.is_some(), "confirm"),
            (self.min_tokens.is_some(), "min_tokens"),
        ];
        match (self.unit.as_deref(), refused.into_iter().find(|(is_given, _)| *is_given)) {
            (Some("passage"), Some((_, name))) => Err(format!(
                "{name}: is not for unit='passage': passages have equal words, min_words of them"
            )),
            (Some("passage"), None) => Ok(()),
            _ if self.min_words.is_some() => Err("min_words: is for unit='passage'".into()),
            _ => Ok(()),
        }
    }
}

/// What decides, by its name.
pub(crate) fn evidence_of(name: Option<&str>) -> std::result::Result<Option<Evidence>, String> {
    match name {
        None => Ok(None),
        Some("features") => Ok(Some(Evidence::Features)),
        Some("texts") => Ok(Some(Evidence::Texts)),
        Some("none") => Ok(Some(Evidence::None)),
        Some(other) => Err(format!("evidence = {other:?}: 'features', 'texts' or 'none' is wanted")),
    }
}

/// When documents are near-duplicates.
pub(crate) fn near_options(
    recipe: Recipe,
    k: Option<u32>,
    similarity: Option<f64>,
    confirm: Option<&str>,
) -> std::result::Result<DedupOptions, String> {
    match (k, similarity, recipe.bands()) {
        (None, Some(_), None) => {
            return Err("similarity: needs MinHash fingerprints; others have k".into());
        }
        (Some(_), Some(_), _) => return Err("k and similarity: only one of them can be given".into()),
        _ => {}
    }
    let mut options = DedupOptions::new(recipe);
    (options.k, options.similarity) = (k, similarity);
    options.confirm = confirm.map(str::parse::<Confirm>).transpose().map_err(|why| why.to_string())?;
    Ok(options)
}

/// Runs a job. Returns what became of the documents.
#[pyfunction]
pub(crate) fn dedup_files<'py>(
    py: Python<'py>,
    description: Description,
    listener: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let ticker = Arc::new(Ticker::default());
    let options = engine_options(description.threads, description.memory).progress(ticker.clone());
    let page = description.report.clone();
    let job = description.job(options).map_err(|why| input_error(py, &why))?;
    let page = match page {
        Some(path) => {
            let page = DedupReport::of(&job, &path).or_raise(py)?;
            let why = "report: shows the file of duplicates, which is not written";
            Some(page.ok_or_else(|| input_error(py, why))?)
        }
        None => None,
    };
    let done: Result<FileReport> = watch(py, &ticker, listener.as_ref(), || {
        let done = job.run(|_, at| ticker.report(Stage::Reading, at.bytes, at.total_bytes));
        Ok(done.and_then(|done| {
            page.map_or(Ok(()), |page| page.write(&done, &|| ticker.check()))?;
            Ok(done)
        }))
    })?;
    let done = done.or_raise(py)?;
    done.left_out.check_compared(done.counts.records + done.counts.bad).or_raise(py)?;
    dict_of(py, done)
}

/// The outcome of a job.
fn dict_of(py: Python<'_>, report: FileReport) -> PyResult<Bound<'_, PyDict>> {
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
        ("featureless", counts.featureless),
        ("invalid_utf8", counts.invalid_utf8),
        ("resumed_after", report.resumed_after),
    ] {
        dict.set_item(name, count)?;
    }
    let left_out: BTreeMap<&str, u64> =
        report.left_out.files().into_iter().map(|(count, name)| (name, count)).collect();
    dict.set_item("left_out", left_out)?;
    dict.set_item("encodings", report.left_out.encodings)?;
    dict.set_item("copies", report.counts_copies.then_some(counts.copies))?;
    dict.set_item("by_similarity", counts.by_similarity.to_vec())?;
    let UnitCounts { compared, removed, text_bytes, removed_bytes, within, hollow, by_left, .. } =
        counts.units;
    let units = [compared, removed, text_bytes, removed_bytes, within, hollow];
    dict.set_item("units", (units, by_left))?;
    dict.set_item("completed", report.completed.map(UtcTime::seconds))?;
    let groups: Vec<(String, u64)> =
        report.largest.into_iter().map(|group| (group.name, group.size)).collect();
    dict.set_item("largest", groups)?;
    Ok(dict)
}
