//! Flows of packet captures, as columns.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use ::fullpipe_ingest::capture::{Columns, Heard, Options, Running};
use fullpipe_units::Span;
use numpy::IntoPyArray;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Captures that are being read.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct CaptureRun {
    inner: Mutex<Running>,
}

/// Starts reading captures, one after the other.
#[pyfunction]
#[pyo3(signature = (files, *, idle_s, pause_s, udp, addresses))]
pub(crate) fn capture(
    files: Vec<PathBuf>,
    idle_s: f64,
    pause_s: f64,
    udp: bool,
    addresses: bool,
) -> CaptureRun {
    let options = Options {
        idle: Span::from_secs_f64(idle_s),
        pause: Span::from_secs_f64(pause_s),
        udp,
        addresses,
    };
    CaptureRun {
        inner: Mutex::new(Running::start(files, options)),
    }
}

#[pymethods]
impl CaptureRun {
    /// Waits for flows with the GIL released. Returns their columns, None after a timeout, or the
    /// report as JSON at the end.
    fn next<'py>(&self, py: Python<'py>, patience_s: f64) -> PyResult<Bound<'py, PyAny>> {
        let patience = Duration::from_secs_f64(patience_s);
        let heard = py.detach(|| {
            self.inner
                .lock()
                .ok()
                .map(|mut running| running.next(patience))
        });
        match heard.ok_or_else(|| PyRuntimeError::new_err("reading the captures panicked"))? {
            Heard::Flows(columns) => Ok(given(py, *columns)?.into_any()),
            Heard::Nothing => Ok(py.None().into_bound(py)),
            Heard::Done(report) => {
                let report = serde_json::to_string(&report).expect("a report is plain data");
                Ok(report.into_pyobject(py)?.into_any())
            }
        }
    }

    /// Bytes of the files read, packets read, finished flows, and open flows.
    #[getter]
    fn progress(&self) -> PyResult<(u64, u64, u64, u64)> {
        let running = self
            .inner
            .lock()
            .map_err(|_| PyRuntimeError::new_err("reading the captures panicked"))?;
        let progress = running.progress();
        Ok((
            progress.bytes,
            progress.packets,
            progress.flows,
            progress.open,
        ))
    }

    /// Stops reading soon.
    fn stop(&self) {
        if let Ok(running) = self.inner.lock() {
            running.stop();
        }
    }
}

fn given(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    macro_rules! numbers {
        ($($name:ident),*) => { $(dict.set_item(stringify!($name), columns.$name.into_pyarray(py))?;)* };
    }
    numbers!(
        start,
        bytes,
        direction,
        chunks,
        chunk_at,
        chunk_lasted,
        chunk_bytes,
        protocol,
        client_port,
        server_port
    );
    numbers!(
        begin,
        end,
        syn,
        first,
        last,
        up_packets,
        up_payload_bytes,
        up_sequence_bytes
    );
    numbers!(down_packets, down_payload_bytes, down_sequence_bytes);
    if let Some(addresses) = columns.addresses {
        for (end, name) in ["client", "server"].into_iter().enumerate() {
            let texts: Vec<String> = addresses.iter().map(|pair| pair[end].to_string()).collect();
            dict.set_item(name, texts)?;
        }
    }
    Ok(dict)
}
