//! What Python passes: settings and rows.

use std::ffi::OsString;
use std::time::Duration;

use nearprint::any::NewRows;
use nearprint::{Event, KeyStorage, LayoutChoice, MAX_KEY_BYTES, Options, Result, Schema};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBool, PyDict, PyList};

use crate::errors::input_error;
use crate::watch::listening;

/// What a new database is, and how its handle works. Not every function uses all of it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    k: u32,
    layout: String,
    recipe: Option<String>,
    /// What is stored with rows, as in `stats()["keys"]`.
    keys: String,
    /// How long rows live, in seconds.
    expire_after: Option<f64>,
    /// The period in which rows expire together, in seconds.
    partition: Option<f64>,
    threads: Option<usize>,
    memory: Option<usize>,
    memtable_rows: Option<usize>,
    background_merges: bool,
    merges: bool,
    /// In bytes a second; 0 for any.
    merge_rate: u64,
    /// In bytes.
    keep_log: u64,
    /// Called with a dictionary for each event.
    on_event: Option<Py<PyAny>>,
    /// In seconds.
    wait: f64,
    pub(crate) first_id: u64,
}

impl Settings {
    /// What a new database is.
    pub(crate) fn schema(&self) -> Result<Schema> {
        let layout = self.layout.parse::<LayoutChoice>()?;
        let schema = Schema::new().k(self.k).layout(layout).keys(storage_of(&self.keys));
        let schema = match &self.recipe {
            Some(recipe) => schema.recipe(recipe),
            None => schema,
        };
        match self.expire_after {
            Some(lifetime) => schema.expire_after(duration_of(lifetime), self.partition.map(duration_of)),
            None => Ok(schema),
        }
    }

    /// How the handle works. Its events come from what has this address.
    pub(crate) fn options(&self, address: usize) -> Options {
        let mut options = Options::new().background_merges(self.background_merges);
        options = options.lock_wait(duration_of(self.wait));
        options = options.merges(self.merges).merge_rate(self.merge_rate).keep_log(self.keep_log);
        if let Some(listener) = &self.on_event {
            let listener = Python::attach(|py| listener.clone_ref(py));
            options = options.on_event(move |event| {
                Python::attach(|py| listening(address, || tell(py, &listener, event)));
            });
        }
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if let Some(bytes) = self.memory {
            options = options.memory_bytes(bytes);
        }
        if let Some(rows) = self.memtable_rows {
            options = options.memtable_rows(rows);
        }
        options
    }
}

/// Calls a listener. Its exception is printed: the event has happened.
fn tell(py: Python<'_>, listener: &Py<PyAny>, event: &Event) {
    let (name, runs, size, took) = match *event {
        Event::Flush { rows, bytes, took } => ("flush", None, Some((rows, Some(bytes))), Some(took)),
        Event::Merge { runs, rows, bytes, took } => {
            ("merge", Some(runs), Some((rows, Some(bytes))), Some(took))
        }
        Event::Expiry { runs, rows } => ("expiry", Some(runs), Some((rows, None)), None),
        Event::Stall { took } => ("stall", None, None, Some(took)),
        Event::Clock { .. } => ("clock", None, None, None),
        _ => return,
    };
    let called = || {
        let fields = PyDict::new(py);
        fields.set_item("event", name)?;
        runs.map_or(Ok(()), |runs| fields.set_item("runs", runs))?;
        if let Some((rows, bytes)) = size {
            fields.set_item("rows", rows)?;
            bytes.map_or(Ok(()), |bytes| fields.set_item("bytes", bytes))?;
        }
        took.map_or(Ok(()), |took| fields.set_item("seconds", took.as_secs_f64()))?;
        if let Event::Clock { last_commit, now } = *event {
            fields.set_item("last_commit", last_commit)?;
            fields.set_item("now", now)?;
        }
        listener.call1(py, (fields,)).map(drop)
    };
    if let Err(error) = called() {
        error.write_unraisable(py, Some(listener.bind(py)));
    }
}

/// What is stored with rows, by its name in `stats()["keys"]`.
pub(crate) fn storage_of(name: &str) -> KeyStorage {
    let storages =
        [KeyStorage::Keys, KeyStorage::KeysAndHashes, KeyStorage::KeysAndTexts, KeyStorage::KeysAndFeatures];
    storages.into_iter().find(|storage| storage.to_string() == name).unwrap_or_default()
}

/// Rows in Python's memory.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Rows<'py> {
    words: PyReadonlyArray1<'py, u64>,
    ids: Option<PyReadonlyArray1<'py, u64>>,
    keys: Option<Vec<String>>,
    texts: Option<Vec<PyBackedBytes>>,
}

impl Rows<'_> {
    /// The rows for threads without the interpreter's lock.
    pub(crate) fn borrow(&self) -> PyResult<BorrowedRows<'_>> {
        Ok(BorrowedRows {
            words: self.words.as_slice()?,
            ids: self.ids.as_ref().map(PyReadonlyArray1::as_slice).transpose()?,
            keys: self.keys.as_ref().map(|keys| keys.iter().map(String::as_str).collect()),
            texts: self.texts.as_ref().map(|texts| texts.iter().map(|text| &text[..]).collect()),
        })
    }

    /// Refuses keys that are too long, before any row is inserted.
    pub(crate) fn check_keys(&self, py: Python<'_>) -> PyResult<()> {
        let is_too_long = |key: &String| key.len() > MAX_KEY_BYTES;
        match self.keys.iter().flatten().position(is_too_long) {
            Some(index) => {
                Err(input_error(py, &format!("keys: item {index}: longer than 65,536 bytes of UTF-8")))
            }
            None => Ok(()),
        }
    }
}

/// Borrowed rows.
pub(crate) struct BorrowedRows<'a> {
    words: &'a [u64],
    ids: Option<&'a [u64]>,
    keys: Option<Vec<&'a str>>,
    texts: Option<Vec<&'a [u8]>>,
}

impl BorrowedRows<'_> {
    pub(crate) fn num_words(&self) -> usize {
        self.words.len()
    }

    pub(crate) fn rows(&self) -> NewRows<'_> {
        let (keys, texts) = (self.keys.as_deref(), self.texts.as_deref());
        NewRows { fingerprints: self.words, ids: self.ids, keys, texts }
    }
}

/// Options by name, each with its values.
pub(crate) struct NamedOptions {
    pub(crate) values: Vec<(String, Vec<OsString>)>,
    /// Threads, memory and the time to wait for another writer, which are among the options.
    pub(crate) engine: Options,
}

/// A time in seconds, which is not negative.
fn duration_of(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Reads a dictionary. What is `None` or `False` is not given.
impl FromPyObject<'_, '_> for NamedOptions {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let (mut values, mut engine) = (Vec::new(), Options::new());
        for (name, value) in given.cast::<PyDict>()?.iter() {
            let name: String = name.extract()?;
            match &*name {
                _ if value.is_none() || value.extract().is_ok_and(|is_on: bool| !is_on) => {}
                "threads" => engine = engine.threads(value.extract()?),
                "memory" => engine = engine.memory_bytes(value.extract()?),
                "wait" => engine = engine.lock_wait(duration_of(value.extract()?)),
                _ => values.push((name, values_of(&value)?)),
            }
        }
        Ok(Self { values, engine })
    }
}

/// The values of an option: none for a switch.
fn values_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<OsString>> {
    if value.is_instance_of::<PyBool>() {
        return Ok(Vec::new());
    }
    if value.is_instance_of::<PyList>() {
        return value.extract();
    }
    Ok(vec![value.str()?.extract()?])
}
