//! What a fleet's hosts say: files in, columns out.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fullpipe_ingest::fleet::address::Privacy;
use fullpipe_ingest::fleet::{Column, Columns, Parse, Values, counters, histogram, nginx, ss};
use fullpipe_ingest::input::Input;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Reads the files of one host, one after the other.
#[pyclass(module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct FleetReader {
    parser: Box<dyn Parse>,
    /// Never locked, but reached by `get_mut`: what Python holds has to be `Sync`.
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

/// With the file's name, which errors of the system do not have.
fn of_file(error: &io::Error, path: &Path) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let said = error.to_string();
            let said = said
                .split(" (os error")
                .next()
                .unwrap_or_default()
                .to_owned();
            PyOSError::new_err((number, said, path.to_path_buf()))
        }
        None => PyOSError::new_err(format!("{}: {error}", path.display())),
    }
}

fn refused(error: nginx::FormatError) -> PyErr {
    PyValueError::new_err((error.problem, error.fix))
}

#[pymethods]
impl FleetReader {
    /// Of `ss`: connections, and each sample if asked for.
    #[staticmethod]
    fn ss(host: String, samples: bool, key: Key) -> FleetReader {
        reader(ss::Reader::new(ss::Options {
            host,
            samples,
            privacy: privacy(key),
        }))
    }

    /// Of nginx's logs in a format, with further variables to keep.
    #[staticmethod]
    fn nginx(format: &str, keep: Vec<String>, key: Key) -> PyResult<FleetReader> {
        let format = nginx::Format::parse(format).map_err(refused)?;
        Ok(reader(nginx::Reader::new(nginx::Options {
            format,
            keep,
            privacy: privacy(key),
        })))
    }

    /// Of /proc/net/snmp and the like; bad lines are not quoted when `silent`.
    #[staticmethod]
    fn counters(silent: bool) -> FleetReader {
        reader(counters::Reader::new(silent))
    }

    /// Of bpftrace's histograms.
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

    /// Reads on until so many rows can be taken or so many bytes of text are read; false when the
    /// file has ended.
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

    /// How many bytes of the last file that was opened, as it lies there, have been read.
    #[getter]
    fn position(&self) -> u64 {
        self.position
    }

    /// How many rows can be taken.
    #[getter]
    fn rows(&self) -> usize {
        self.parser.rows()
    }

    /// Takes the rows that are complete: (table, {column: array}).
    fn take<'py>(&mut self, py: Python<'py>) -> PyResult<Tables<'py>> {
        let parser = &mut self.parser;
        tables(py, py.detach(|| parser.take()))
    }

    /// Rows of what may go on in a further file.
    fn open<'py>(&self, py: Python<'py>) -> PyResult<Tables<'py>> {
        let parser = &self.parser;
        tables(py, py.detach(|| parser.open()))
    }

    /// Takes the bad lines since the last call: (number, what is wrong, its beginning).
    fn take_bad(&mut self) -> Vec<(u64, String, String)> {
        self.parser
            .take_bad()
            .into_iter()
            .map(|bad| (bad.line, bad.why, bad.text))
            .collect()
    }

    /// How many of what have been read.
    #[getter]
    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.parser.counts()
    }

    /// What is needed to go on with a further file.
    fn state(&self, py: Python<'_>) -> String {
        let parser = &self.parser;
        py.detach(|| parser.state())
    }

    /// Goes on from a state; false when that is of another version.
    fn resume(&mut self, py: Python<'_>, state: &str) -> bool {
        let parser = &mut self.parser;
        py.detach(|| parser.resume(state))
    }
}

/// When a file begins, in microseconds since 1970, by what is in it, its name, or when it was
/// written.
#[pyfunction]
pub(crate) fn fleet_begin(py: Python<'_>, path: PathBuf) -> PyResult<i64> {
    py.detach(|| fullpipe_ingest::fleet::begin_of(&path))
        .map_err(|error| of_file(&error, &path))
}

/// The variables of a log's format.
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

/// A live host's connections.
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
    /// Of connections in some states (else all that may carry data), with ports in ranges, and
    /// addresses in networks.
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

    /// The connections that there are now: (lines of ss, how many, whether the table changed
    /// meanwhile).
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
