//! Flows of packet captures, as columns.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::fullpipe_ingest::Input;
use ::fullpipe_ingest::capture::{Columns, Header, Heard, Options, Packet, Packets, Running, Tcp};
use fullpipe_units::Span;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::error::of_file;

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

/// The packets of a capture that is being read; none after its report.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct CapturePackets {
    inner: Mutex<Option<Packets>>,
}

/// Damage, packets without a time, packets of unknown links, the links, and packets that are not IP.
type PacketsReport = (Option<String>, u64, u64, Vec<String>, Vec<(String, u64)>);

#[pymethods]
impl CapturePackets {
    #[new]
    fn new(py: Python<'_>, file: PathBuf) -> PyResult<CapturePackets> {
        let name = file.display().to_string();
        let input = py
            .detach(|| Input::open(&file))
            .map_err(|error| of_file(&error, &file))?;
        let opened = py.detach(|| Packets::open(&name, input));
        Ok(CapturePackets {
            inner: Mutex::new(Some(opened.map_err(PyValueError::new_err)?)),
        })
    }

    /// Returns the next packets, at most `most`; none at the end.
    fn next<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let packets: Vec<Packet> = py.detach(|| {
            let mut inner = self.locked();
            inner.iter_mut().flatten().take(most).collect()
        });
        packets.iter().map(|packet| tuple(py, packet)).collect()
    }

    /// Bytes of the content read, decompressed.
    #[getter]
    fn position(&self) -> u64 {
        self.locked().as_ref().map_or(0, Packets::position)
    }

    /// Ends the reading, and returns the report.
    fn report(&self) -> PyResult<PacketsReport> {
        let packets = self.locked().take();
        let report = packets
            .ok_or_else(|| PyRuntimeError::new_err("the report was taken"))?
            .report();
        Ok((
            report.file.damage,
            report.untimed,
            report.file.unknown_links,
            report.file.links,
            report.not_ip,
        ))
    }
}

impl CapturePackets {
    fn locked(&self) -> std::sync::MutexGuard<'_, Option<Packets>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn tuple<'py>(py: Python<'py>, packet: &Packet) -> PyResult<Bound<'py, PyTuple>> {
    let end = |(address, port): (IpAddr, u16)| {
        let address = match address {
            IpAddr::V4(address) => PyBytes::new(py, &address.octets()),
            IpAddr::V6(address) => PyBytes::new(py, &address.octets()),
        };
        Ok::<_, PyErr>((address, port).into_pyobject(py)?.into_any())
    };
    let none = Tcp::default();
    let (tcp, head) = match &packet.header {
        Header::Tcp(tcp) => (Some(tcp), &[][..]),
        Header::Udp(head) => (None, &head[..]),
    };
    let header = tcp.unwrap_or(&none);
    let sacks = PyTuple::new(py, &header.sacks)?;
    PyTuple::new(
        py,
        [
            packet.at.into_pyobject(py)?.into_any(),
            end(packet.source)?,
            end(packet.target)?,
            packet.size.into_pyobject(py)?.into_any(),
            tcp.is_some().into_pyobject(py)?.to_owned().into_any(),
            header.sequence.into_pyobject(py)?.into_any(),
            header.ack.into_pyobject(py)?.into_any(),
            header.flags.into_pyobject(py)?.into_any(),
            header.window.into_pyobject(py)?.into_any(),
            header.scale.into_pyobject(py)?.into_any(),
            header
                .stamps
                .map(|stamps| stamps.0)
                .into_pyobject(py)?
                .into_any(),
            header
                .stamps
                .map(|stamps| stamps.1)
                .into_pyobject(py)?
                .into_any(),
            sacks.into_any(),
            PyBytes::new(py, head).into_any(),
        ],
    )
}
