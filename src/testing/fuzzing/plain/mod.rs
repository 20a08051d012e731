//! A reader of databases, written from FORMAT.md alone. It reads every byte of every file, and
//! answers by comparing everything with everything. It shares nothing with the engine: neither
//! constants, nor types, nor a look-up.

mod fields;
mod log;
mod manifest;
mod paged;
mod rows;
mod run;
mod value;

use std::time::{SystemTime, UNIX_EPOCH};

pub(super) use self::fields::{Bytes, Fault};
use self::fields::{Found, find};
pub(super) use self::paged::regions;
pub(super) use self::rows::Rows;
pub(super) use self::value::Value;

/// The content of a database.
#[derive(Clone, Debug)]
pub(super) struct Database {
    /// Bits of a fingerprint.
    pub(super) width: u32,
    /// Number of bands, and bits of each, where near means bands.
    pub(super) bands: Option<(u32, u32)>,
    pub(super) rows: Rows,
    pub(super) recipe: Option<Vec<u8>>,
    pub(super) checkpoint: Option<Vec<u8>>,
    pub(super) history: Option<Vec<u8>>,
    /// Where the manifest has the records of files: file name and offset.
    pub(super) records: Vec<(String, usize)>,
}

impl Database {
    /// Reads files that conform to FORMAT.md in everything that a reader checks.
    pub(super) fn read(files: &Bytes) -> Found<Self> {
        let manifest = manifest::Manifest::read(find(files, "MANIFEST")?)?;
        let mut rows = Rows::default();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let is_live =
            |expires: Option<u64>| expires.is_none_or(|expires| u128::from(expires) > since.as_millis());
        for run in manifest.runs.iter().filter(|run| is_live(run.expires)) {
            let content = run::read(files, &manifest, run)?;
            rows.add_run(content);
        }
        for identities in &manifest.identities {
            run::check_identities(files, &manifest, identities)?;
        }
        let of_log = manifest.logs.first().and_then(|log| log.expires);
        let (mut checkpoint, mut history) = (manifest.checkpoint.clone(), manifest.history.clone());
        let logs =
            manifest.logs.iter().map(|log| log::read(files, &manifest, log)).collect::<Found<Vec<_>>>()?;
        for operation in logs.into_iter().flatten() {
            match operation {
                log::Operation::Insert(row, key) if is_live(of_log) => rows.insert(row, key),
                log::Operation::Insert(..) => {}
                log::Operation::Delete(id) => rows.delete(id),
                log::Operation::Checkpoint(bytes) => {
                    checkpoint = Some(bytes).filter(|bytes| !bytes.is_empty())
                }
                log::Operation::History(bytes) => history = Some(bytes).filter(|bytes| !bytes.is_empty()),
            }
        }
        Ok(Self {
            width: manifest.width,
            bands: manifest.bands,
            rows,
            recipe: manifest.recipe.clone(),
            checkpoint,
            history,
            records: manifest.file_records(),
        })
    }

    /// The distance of two fingerprints, if they are near within `k`.
    pub(super) fn distance(&self, a: &Value, b: &Value, k: u32) -> Option<u32> {
        let distance = match self.bands {
            None => a.distance(b, 0, self.width),
            Some((bands, bits)) => {
                let sketch = self.width - bands * bits;
                // The first band is before the sketch.
                let starts = (0..bands).map(|band| if band == 0 { 0 } else { sketch + band * bits });
                let mut equal = starts.map(|start| a.bits(start, bits) == b.bits(start, bits));
                if a.is_zero() || b.is_zero() || !equal.any(|equal| equal) {
                    return None;
                }
                a.distance(b, bits, sketch)
            }
        };
        (distance <= k).then_some(distance)
    }
}
