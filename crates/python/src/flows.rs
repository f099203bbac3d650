//! Files of flows for the workloads of scenarios: Python reads them with polars and passes columns.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use fullpipe_scenario::Library;
use fullpipe_units::{Bytes, Span, Time};
use fullpipe_workload::{Chunk, Flows};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

/// The library of flow files for scenarios that are read from Python.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Files;

/// A file that was read, with its state at that time.
struct Known {
    path: PathBuf,
    length: u64,
    changed: Option<SystemTime>,
    flows: Arc<Flows>,
}

/// The most recently read files, cached because each run requests its own.
static KNOWN: Mutex<Vec<Known>> = Mutex::new(Vec::new());
const MOST: usize = 4;

/// Starts and bytes of the flows; the index of each flow's first chunk; offsets and bytes of the
/// chunks.
type Columns<'py> = (
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray1<'py, u64>,
);

impl Library for Files {
    fn flows(&self, path: &Path) -> Result<Arc<Flows>, (String, String)> {
        let file = fs::metadata(path)
            .map_err(|error| (error.to_string(), "give a file that can be read".to_owned()))?;
        let (length, changed) = (file.len(), file.modified().ok());
        let same = |known: &&Known| {
            known.path == path && known.length == length && known.changed == changed
        };
        if let Some(known) = KNOWN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .find(same)
        {
            return Ok(known.flows.clone());
        }
        // Without the lock: Python may wait for a thread that waits for the lock.
        let flows = Arc::new(Python::attach(|py| read(py, path))?);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == MOST {
            known.remove(0);
        }
        known.push(Known {
            path: path.to_owned(),
            length,
            changed,
            flows: flows.clone(),
        });
        Ok(flows)
    }
}

fn read(py: Python<'_>, path: &Path) -> Result<Flows, (String, String)> {
    let refused = |error: PyErr| {
        let text = error.value(py).to_string();
        let (problem, fix) = text
            .split_once("\n  fix: ")
            .unwrap_or((&text, "give a file of flows"));
        (problem.to_owned(), fix.to_owned())
    };
    let columns = || {
        py.import("fullpipe.wings")?
            .getattr("flows")?
            .call1((path,))?
            .extract::<Columns<'_>>()
    };
    let (starts, bytes, firsts, offsets, sizes) = columns().map_err(refused)?;
    let starts = starts
        .as_array()
        .iter()
        .map(|ns| Time::from_nanos(*ns))
        .collect();
    let bytes = bytes
        .as_array()
        .iter()
        .map(|bytes| Bytes::new(*bytes))
        .collect();
    let firsts = firsts.as_array().to_vec();
    let chunk = |(offset, bytes): (&u64, &u64)| Chunk {
        offset: Span::from_nanos(*offset),
        bytes: Bytes::new(*bytes),
    };
    let chunks = offsets
        .as_array()
        .iter()
        .zip(sizes.as_array())
        .map(chunk)
        .collect();
    Flows::with_chunks(starts, bytes, firsts, chunks).map_err(|error| {
        (
            error.to_string(),
            "give flows in the format of fullpipe workload extract".to_owned(),
        )
    })
}
