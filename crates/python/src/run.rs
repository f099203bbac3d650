//! One run in virtual time, in slices between which Python may interrupt it; and results of other
//! runners.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fullpipe_sim::Simulation;
use fullpipe_trace::Trace;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::handover::{self, Received};
use fullpipe_units::{Span, Time};
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::controller::guarded;
use crate::error::{refused, refused_trace};
use crate::scenario_file::Scenario;
use crate::table;

/// Time between two checks of Python's signals.
const SLICE: Duration = Duration::from_millis(10);

/// Number of events between two looks at the clock: few, since a Python controller may be slow.
const EVENTS: u64 = 200;

/// A finished run: its metrics, and its trace if one was recorded.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct RunResult {
    metrics: String,
    trace_hash: Option<u64>,
    tables: Vec<(&'static str, Py<PyDict>, Py<PyDict>)>,
}

/// Runs a scenario with the GIL released; Ctrl-C raises KeyboardInterrupt within about ten
/// milliseconds.
#[pyfunction]
#[pyo3(signature = (scenario, trace, progress=None))]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<RunResult> {
    let (level, window) = traced(trace).map_err(|problem| refused_trace(py, trace, problem))?;
    let Scenario {
        inner: scenario,
        registry,
        ..
    } = scenario.get();
    let made = py.detach(|| guarded(|| Simulation::new(scenario, registry, level)))?;
    let mut simulation = made.map_err(|error| refused(py, &error))?;
    if let Some((from, to)) = window {
        simulation.log_packets(from, to);
    }
    let duration = scenario.duration.as_secs_f64();
    while !py.detach(|| guarded(|| advance(&mut simulation)))? {
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((
                simulation.now().as_secs_f64(),
                duration,
                simulation.events(),
            ))?;
        }
    }
    let finish = || {
        let run = simulation.finish();
        let hash = run.trace.as_ref().map(Trace::hash);
        (run, hash)
    };
    let (run, trace_hash) = py.detach(|| guarded(finish))?;
    RunResult::of(py, &run.summary, run.trace, trace_hash)
}

/// Advances a simulation for about ten milliseconds; returns true when it is over.
#[expect(
    clippy::disallowed_methods,
    reason = "the pauses do not change the run"
)]
fn advance(simulation: &mut Simulation) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < SLICE {
        if simulation.advance(EVENTS) {
            return true;
        }
    }
    false
}

/// Reads the results that a runner in another process wrote to a file. Its trace has a fingerprint
/// only if it is `repeatable`.
#[pyfunction]
pub(crate) fn handed_over(py: Python<'_>, path: PathBuf, repeatable: bool) -> PyResult<RunResult> {
    let read = || handover::read(&mut BufReader::new(File::open(path)?));
    let Received { summary, trace } = py.detach(read)?;
    let trace_hash = trace.as_ref().filter(|_| repeatable).map(Trace::hash);
    RunResult::made(py, summary, trace, trace_hash)
}

/// Refuses a scenario that the simulator would refuse; programs are left out.
#[pyfunction]
pub(crate) fn check_simulator(py: Python<'_>, scenario: &Bound<'_, Scenario>) -> PyResult<()> {
    let Scenario {
        inner, registry, ..
    } = scenario.get();
    fullpipe_sim::check(inner, registry).map_err(|error| refused(py, &error))
}

/// Returns an upper estimate of the memory that a run uses at once, in bytes.
#[pyfunction]
pub(crate) fn memory_needed(
    py: Python<'_>,
    scenario: &Bound<'_, Scenario>,
    trace: &str,
) -> PyResult<u64> {
    let (level, _) = traced(trace).map_err(|problem| refused_trace(py, trace, problem))?;
    Ok(fullpipe_sim::memory_needed(&scenario.get().inner, level).get())
}

#[pymethods]
impl RunResult {
    /// Returns the metrics as one JSON object.
    fn metrics_json(&self) -> &str {
        &self.metrics
    }

    /// A fingerprint of every value of the trace, 16 hexadecimal digits; None without a trace.
    #[getter]
    fn trace_hash(&self) -> Option<String> {
        self.trace_hash.map(|hash| format!("{hash:016x}"))
    }

    /// Names of the recorded tables.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.tables.iter().map(|(name, ..)| *name).collect()
    }

    /// Returns the columns of a table; a column of labels is the pair (codes, labels).
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyDict>> {
        self.find(name).map(|(_, columns, _)| columns.clone_ref(py))
    }

    /// Returns the unit of each column of a table.
    fn units(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyDict>> {
        self.find(name).map(|(.., units)| units.clone_ref(py))
    }
}

impl RunResult {
    /// Converts the result of a runner for Python.
    pub(crate) fn of(
        py: Python<'_>,
        summary: &fullpipe_trace::Summary,
        trace: Option<Trace>,
        trace_hash: Option<u64>,
    ) -> PyResult<RunResult> {
        let metrics = serde_json::to_string(summary)
            .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        RunResult::made(py, metrics, trace, trace_hash)
    }

    /// Converts a result whose metrics are already JSON.
    fn made(
        py: Python<'_>,
        metrics: String,
        trace: Option<Trace>,
        trace_hash: Option<u64>,
    ) -> PyResult<RunResult> {
        let mut tables = Vec::new();
        for table in trace.into_iter().flat_map(|trace| trace.tables) {
            let (name, units) = (table.name, table::units(py, &table)?.unbind());
            tables.push((name, table::columns(py, table)?.unbind(), units));
        }
        Ok(RunResult {
            metrics,
            trace_hash,
            tables,
        })
    }

    fn find(&self, name: &str) -> PyResult<&(&'static str, Py<PyDict>, Py<PyDict>)> {
        self.tables
            .iter()
            .find(|(known, ..)| *known == name)
            .ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }
}

/// The times from and until which packets are recorded.
type Window = (Time, Time);

/// Parses a trace: `off`, `ack`, or the interval between two rows, the latter two also followed by
/// `packets` and a window of time, which may be left out; otherwise returns the problem.
fn traced(text: &str) -> Result<(TraceLevel, Option<Window>), &'static str> {
    let Some((first, window)) = text.split_once("packets") else {
        return Ok((level(text)?, None));
    };
    let level = match first.trim() {
        "" => TraceLevel::Every(Span::from_millis(10)),
        "off" => return Err("packets need a trace"),
        first => level(first)?,
    };
    let window = match window.trim() {
        "" => (Time::ZERO, Time::MAX),
        window => {
            let (from, to) = window
                .split_once("..")
                .ok_or("the window of packets has no ..")?;
            let time = |text: &str| -> Result<Time, &'static str> {
                let span: Span = text
                    .trim()
                    .parse()
                    .map_err(|_| "the window of packets is not two times")?;
                Ok(Time::ZERO + span)
            };
            (time(from)?, time(to)?)
        }
    };
    if window.0 >= window.1 {
        return Err("the window of packets ends before it begins");
    }
    Ok((level, Some(window)))
}

/// Parses `off`, `ack`, or the interval between two rows; otherwise returns the problem.
fn level(text: &str) -> Result<TraceLevel, &'static str> {
    match text {
        "off" => Ok(TraceLevel::Off),
        "ack" => Ok(TraceLevel::Acks),
        interval => match interval.parse() {
            Ok(Span::ZERO) => Err("an interval must be greater than zero"),
            Ok(span) => Ok(TraceLevel::Every(span)),
            Err(_) => Err("neither a level nor an interval"),
        },
    }
}
