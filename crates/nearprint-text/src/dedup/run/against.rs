//! Collections that a job compares with and does not change.

use std::path::{Path, PathBuf};

use super::fingerprinting::{Prepared, preparing_documents};
use crate::dedup::decide::{Deduplicator, Document, Measure};
use crate::dedup::job::{DocumentCounts, FileJob, History, Report, report_progress};
use crate::documents::{Format, InputFile, Reader, each, is_database};
use crate::error::{DatabaseProblem, Error, Result};

/// The databases and documents of [`FileJob::against`].
pub(crate) struct Against {
    pub(crate) collections: Vec<Deduplicator>,
    /// The databases among them, and the files of the others. No output may overwrite them.
    pub(crate) databases: Vec<PathBuf>,
    pub(crate) files: Vec<InputFile>,
}

impl Against {
    /// Opens the databases, and reads all documents of the others. `measure` is of the job.
    pub(crate) fn open(job: &FileJob, measure: &Measure, report: Report<'_>) -> Result<Self> {
        let mut against = Self { collections: Vec::new(), databases: Vec::new(), files: Vec::new() };
        let mut options = job.dedup.clone();
        options.keep_bands_of(measure.recipe.clone());
        options.require_recipe = true;
        options.expire_after = None;
        for path in &job.against {
            if path.is_dir() && is_database(path)? {
                let collection = Deduplicator::read_only_by(path, options.clone())?;
                check_fingerprints(&collection, measure, path)?;
                History::decode(collection.history(), path, None)?;
                against.collections.push(collection);
                against.databases.push(path.clone());
            } else {
                let mut collection = Deduplicator::temporary_by(options.clone())?;
                against.files.extend(read_all(&mut collection, job, path, report)?);
                against.collections.push(collection);
            }
        }
        Ok(against)
    }
}

/// Refuses a database whose bands are chosen for another similarity than those of the job.
fn check_fingerprints(collection: &Deduplicator, measure: &Measure, path: &Path) -> Result<()> {
    if collection.recipe().makes_fingerprints_of(&measure.recipe) {
        return Ok(());
    }
    let (found, expected) = (Box::new(collection.recipe().clone()), Box::new(measure.recipe.clone()));
    Err(DatabaseProblem::OtherRecipe { path: path.to_path_buf(), found, expected }.into())
}

/// Remembers all documents of a file or folder, and returns its files.
fn read_all(
    collection: &mut Deduplicator,
    job: &FileJob,
    path: &Path,
    report: Report<'_>,
) -> Result<Vec<InputFile>> {
    let mut options = job.reader.clone();
    options.format = None;
    options.fields.value = None;
    options.rejects_files = false;
    options.folder.read_elsewhere.clear();
    let mut reader = Reader::open(&[path.to_path_buf()], options)?;
    let files = reader.inputs().to_vec();
    if reader.format() != Format::Text {
        collection.set_no_files();
    }
    let (fingerprinter, engine) = (collection.fingerprinter(), &job.dedup.engine);
    each(
        &mut reader,
        engine.get_threads(),
        || fingerprinter.clone(),
        preparing_documents(job.dedup.similarity, true),
        |block, at| {
            for Prepared { record, .. } in block {
                let (record, made) = match record {
                    Ok(made) => made,
                    Err(bad) if bad.is_dropped => continue,
                    Err(bad) => return Err(Error::input(bad.place.to_string(), bad.reason)),
                };
                let document = Document::new(&record.key, &record.text, &made);
                let stored = collection.stored(document)?;
                collection.remember(document, &stored)?;
            }
            report_progress(report, &DocumentCounts::default(), at)
        },
    )?;
    reader.left_out().check_compared(reader.position().records)?;
    Ok(files)
}
