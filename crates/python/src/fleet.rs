//! Records of a fleet's hosts: files in, columns out.

use std::path::PathBuf;
use std::sync::Mutex;

use fullpipe_ingest::fleet::address::Privacy;
use fullpipe_ingest::fleet::{Column, Columns, Parse, Values, counters, histogram, nginx, ss};
use fullpipe_ingest::input::Input;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::of_file;

/// Reads the files of one host, one after the other.
#[pyclass(module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct FleetReader {
    parser: Box<dyn Parse>,
    /// Accessed only by `get_mut`; the mutex makes it `Sync`, as Python requires.
    source: Option<Mutex<Input>>,
    position: u64,
}

type Key = Option<[u8; 16]>;

/// Tables by name, with their columns.
type Tables<'py> = Vec<(&'static str, Bound<'py, PyDict>)>;

fn privacy(key: Key) -> Privacy {
    key.map_or(Privacy::Open, Privacy::Keyed)
}

fn reader(parser: impl Parse + 'static) -> FleetReader {
    FleetReader {
        parser: Box::new(parser),
        source: None,
        position: 0,
    }
}

fn refused(error: nginx::FormatError) -> PyErr {
    PyValueError::new_err((error.problem, error.fix))
}

#[pymethods]
impl FleetReader {
    /// Creates a reader of `ss` output: connections, and each sample if requested.
    #[staticmethod]
    fn ss(host: String, samples: bool, key: Key) -> FleetReader {
        reader(ss::Reader::new(ss::Options {
            host,
            samples,
            privacy: privacy(key),
        }))
    }

    /// Creates a reader of `ss` output as a series: each sample as it is printed.
    #[staticmethod]
    fn series() -> FleetReader {
        reader(ss::Series::default())
    }

    /// Creates a reader of nginx logs in a format, with further variables to keep.
    #[staticmethod]
    fn nginx(format: &str, keep: Vec<String>, key: Key) -> PyResult<FleetReader> {
        let format = nginx::Format::parse(format).map_err(refused)?;
        Ok(reader(nginx::Reader::new(nginx::Options {
            format,
            keep,
            privacy: privacy(key),
        })))
    }

    /// Creates a reader of /proc/net/snmp and similar files; `silent` omits the text of bad lines.
    #[staticmethod]
    fn counters(silent: bool) -> FleetReader {
        reader(counters::Reader::new(silent))
    }

    /// Creates a reader of bpftrace histograms.
    #[staticmethod]
    fn histograms(silent: bool) -> FleetReader {
        reader(histogram::Reader::new(silent))
    }

    /// Opens the next file.
    fn begin(&mut self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let opened = py.detach(|| {
            Ok((
                Input::open(&path)?,
                fullpipe_ingest::fleet::fallback(&path)?,
            ))
        });
        let (source, time) = opened.map_err(|error| of_file(&error, &path))?;
        self.source = Some(Mutex::new(source));
        self.position = 0;
        self.parser.begin_file(time);
        Ok(())
    }

    /// Reads on until `rows` rows are complete or `bytes` bytes of text are read; false at the end
    /// of the file.
    fn read(&mut self, py: Python<'_>, rows: usize, bytes: usize) -> PyResult<bool> {
        let Some(Ok(source)) = self.source.as_mut().map(Mutex::get_mut) else {
            return Err(PyRuntimeError::new_err("no file is open"));
        };
        let parser = &mut self.parser;
        let more = py.detach(|| {
            let more = fullpipe_ingest::fleet::read(source, parser.as_mut(), rows, bytes);
            if !matches!(more, Ok(true)) {
                parser.end_file();
            }
            more
        });
        self.position = source.position();
        if !matches!(more, Ok(true)) {
            self.source = None;
        }
        more.map_err(|error| PyOSError::new_err(error.to_string()))
    }

    /// Bytes read of the last opened file, before decompression.
    #[getter]
    fn position(&self) -> u64 {
        self.position
    }

    /// Number of complete rows.
    #[getter]
    fn rows(&self) -> usize {
        self.parser.rows()
    }

    /// Takes the complete rows: (table, {column: array}).
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Tables<'py>> {
        let parser = &mut self.parser;
        tables(py, py.detach(|| parser.take()))
    }

    /// Returns the rows that may continue in a further file.
    fn open<'py>(&self, py: Python<'py>) -> PyResult<Tables<'py>> {
        let parser = &self.parser;
        tables(py, py.detach(|| parser.open()))
    }

    /// Takes the bad lines since the last call: (line number, problem, beginning of the line).
    fn take_bad(&mut self) -> Vec<(u64, String, String)> {
        self.parser
            .take_bad()
            .into_iter()
            .map(|bad| (bad.line, bad.why, bad.text))
            .collect()
    }

    /// Number of items read, by kind.
    #[getter]
    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.parser.counts()
    }

    /// Returns the state needed to continue with a further file.
    fn state(&self, py: Python<'_>) -> String {
        let parser = &self.parser;
        py.detach(|| parser.state())
    }

    /// Continues from a state; false if the state is of another version.
    fn resume(&mut self, py: Python<'_>, state: &str) -> bool {
        let parser = &mut self.parser;
        py.detach(|| parser.resume(state))
    }
}

/// Returns the time at which a file begins, in microseconds since 1970, from its content, its name,
/// or its modification time.
#[pyfunction]
pub(crate) fn fleet_begin(py: Python<'_>, path: PathBuf) -> PyResult<i64> {
    py.detach(|| fullpipe_ingest::fleet::begin_of(&path))
        .map_err(|error| of_file(&error, &path))
}

/// Returns whether a text that begins so is a listing of `ss`.
#[pyfunction]
pub(crate) fn fleet_is_listing(head: &[u8]) -> bool {
    ss::is_listing(head)
}

/// Returns the variables of a log format.
#[pyfunction]
pub(crate) fn fleet_variables(format: &str) -> PyResult<Vec<String>> {
    let format = nginx::Format::parse(format).map_err(refused)?;
    Ok(format.variables().into_iter().map(str::to_owned).collect())
}

fn tables<'py>(py: Python<'py>, tables: Vec<(&'static str, Columns)>) -> PyResult<Tables<'py>> {
    let mut all = Vec::with_capacity(tables.len());
    for (name, table) in tables {
        let dict = PyDict::new(py);
        for Column { name, values } in table.columns {
            match values {
                Values::Numbers(values) => dict.set_item(name, values.into_pyarray(py))?,
                Values::Times(values) | Values::Keys(values) => {
                    dict.set_item(name, values.into_pyarray(py))?
                }
                Values::Labels(codes, labels) => {
                    dict.set_item(name, (codes.into_pyarray(py), labels))?
                }
                Values::Texts(texts) => dict.set_item(name, texts)?,
            }
        }
        all.push((name, dict));
    }
    Ok(all)
}

/// The connections of a live host.
#[cfg(target_os = "linux")]
#[pyclass(module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct FleetSampler {
    inner: fullpipe_ingest::fleet::sampler::Sampler,
}

#[cfg(target_os = "linux")]
type Net = (std::net::IpAddr, u8);

#[cfg(target_os = "linux")]
#[pymethods]
impl FleetSampler {
    /// Creates a sampler of connections in the given states (by default all that may carry data),
    /// with ports in ranges, and addresses in networks.
    #[new]
    #[pyo3(signature = (states, sport=None, dport=None, src=None, dst=None))]
    fn new(
        states: Vec<String>,
        sport: Option<(u16, u16)>,
        dport: Option<(u16, u16)>,
        src: Option<Net>,
        dst: Option<Net>,
    ) -> PyResult<FleetSampler> {
        use fullpipe_ingest::fleet::sampler::{Filter, STATES, Sampler};
        let names: Vec<&str> = states.iter().map(String::as_str).collect();
        let states = if names.is_empty() {
            Some(Filter::default().states)
        } else {
            Filter::states(&names)
        };
        let states = states.ok_or_else(|| PyValueError::new_err(STATES.join(", ")))?;
        Ok(FleetSampler {
            inner: Sampler::new(Filter {
                states,
                sport,
                dport,
                src,
                dst,
            })?,
        })
    }

    /// Lists the current connections: (lines as printed by ss, number of connections, whether the
    /// table changed meanwhile).
    fn list<'py>(
        &mut self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, pyo3::types::PyBytes>, u64, bool)> {
        let inner = &mut self.inner;
        let (text, listing) = py.detach(|| {
            let mut text = Vec::new();
            inner.list(&mut text).map(|listing| (text, listing))
        })?;
        Ok((
            pyo3::types::PyBytes::new(py, &text),
            listing.sockets,
            listing.interrupted,
        ))
    }
}
