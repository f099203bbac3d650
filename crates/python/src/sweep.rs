//! Sweeps of many runs: the plan, and the threads that run it.

use std::sync::Arc;
use std::time::Duration;

use fullpipe_batch::sweep::{Plan, Request};
use fullpipe_batch::{Around, Column, Panicked, Values};
use fullpipe_scenario::Template;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::controller::{AROUND, Given, guarded, is_raised, passed_on, raised, registry};
use crate::error::refused;
use crate::flows::Files;

/// The checked points of a sweep.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct SweepPlan {
    inner: Arc<Plan>,
    /// Whether it has algorithms in Python.
    classes: bool,
}

/// Threads that run parts of a plan.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct SweepRun {
    inner: fullpipe_batch::Running,
}

type Pairs = Vec<(String, String)>;

#[pymethods]
impl SweepPlan {
    /// Creates the points of a scenario's text, and checks each.
    #[staticmethod]
    #[pyo3(signature = (text, file, *, fixed, axes, given, together, sample, repeat, seed, points, whole=vec![], controllers=vec![]))]
    #[expect(clippy::too_many_arguments, reason = "each by its name")]
    fn make(
        py: Python<'_>,
        text: &str,
        file: &str,
        fixed: Pairs,
        axes: Vec<(String, Vec<String>)>,
        given: Pairs,
        together: Vec<String>,
        sample: Option<u64>,
        repeat: Option<u64>,
        seed: Option<u64>,
        points: Option<Vec<Pairs>>,
        whole: Vec<String>,
        controllers: Given,
    ) -> PyResult<SweepPlan> {
        let mut request = Request {
            fixed,
            axes,
            set: given,
            zip: together,
            sample,
            repeat,
            seed,
            points,
            whole: Vec::new(),
        };
        let classes = !controllers.is_empty();
        let registry = registry(py, controllers);
        let template = |text: &str| {
            Template::read(text, file).map(|template| template.with_library(Arc::new(Files)))
        };
        let plan = py.detach(|| {
            guarded(|| {
                let whole: Result<_, _> = whole.iter().map(|each| template(each)).collect();
                request.whole = whole?;
                Plan::of(template(text)?, &request, registry)
            })
        })?;
        plan.map(|plan| SweepPlan {
            inner: Arc::new(plan),
            classes,
        })
        .map_err(|error| refused(py, &error))
    }

    /// (key, values) of the varied keys; values of a range are already drawn.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.inner
            .axes()
            .iter()
            .map(|axis| (axis.key.clone(), axis.values.clone()))
            .collect()
    }

    /// Way in which the axes combine into points: `cartesian`, `zip`, `sample` or `callable`.
    #[getter]
    fn mode(&self) -> &'static str {
        self.inner.mode().word()
    }

    /// Returns, for each point, the index of its value on an axis; None if it does not set that
    /// key.
    fn places(&self, axis: usize) -> Vec<Option<u32>> {
        self.inner.places(axis).collect()
    }

    /// Number of points.
    #[getter]
    fn points(&self) -> usize {
        self.inner.points()
    }

    /// Number of runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.inner.runs()
    }

    /// Seed of each point's first run, and the number of consecutive seeds.
    #[getter]
    fn seeds(&self) -> (u64, u64) {
        let seeds = self.inner.seeds();
        (seeds.start, seeds.end - seeds.start)
    }

    /// (key, minimum, maximum) of the jitter added so that repetitions differ.
    #[getter]
    fn added_jitter(&self) -> Vec<(&'static str, String, String)> {
        let added = self.inner.added_jitter().iter();
        added
            .map(|(key, least, most)| (*key, least.to_string(), most.to_string()))
            .collect()
    }

    /// Memory in bytes of the run that needs the most, and the point of that run.
    #[getter]
    fn memory(&self) -> (u64, usize) {
        let (bytes, point) = self.inner.memory();
        (bytes.get(), point)
    }

    /// Checks that the simulator can run each point.
    fn simulated(&self, py: Python<'_>) -> PyResult<()> {
        self.inner.simulated().map_err(|error| refused(py, &error))
    }

    /// Returns the (key, value) pairs that a point sets, as `--set` takes them.
    fn settings(&self, point: usize) -> Vec<(&str, &str)> {
        self.inner.settings(point).collect()
    }

    /// Returns the scenarios of a range of points as TOML, with every default and the first seed.
    fn scenarios(&self, py: Python<'_>, first: usize, last: usize) -> Vec<String> {
        py.detach(|| {
            let text = |point| {
                fullpipe_setup::resolved(&self.inner.scenario(point as u64), self.inner.registry())
                    .to_toml()
            };
            (first..last.min(self.inner.points())).map(text).collect()
        })
    }

    /// Starts running ranges of run numbers on `threads` threads, in shards of about `shard_s`
    /// seconds.
    fn start(
        &self,
        py: Python<'_>,
        ranges: Vec<(u64, u64)>,
        threads: usize,
        shard_s: f64,
    ) -> PyResult<SweepRun> {
        self.simulated(py)?;
        let ranges: Vec<_> = ranges
            .into_iter()
            .map(|(first, end)| first..end.min(self.inner.runs()))
            .collect();
        let around = if self.classes {
            AROUND
        } else {
            Around::NOTHING
        };
        Ok(SweepRun {
            inner: self
                .inner
                .start(&ranges, threads, Duration::from_secs_f64(shard_s), around),
        })
    }
}

impl SweepRun {
    pub(crate) fn of(inner: fullpipe_batch::Running) -> SweepRun {
        SweepRun { inner }
    }
}

#[pymethods]
impl SweepRun {
    /// Waits for the next shard with the GIL released, for at most `patience_s` seconds.
    ///
    /// Returns (number of its first run, one past the number of its last run, columns), None after
    /// a timeout, or False when all runs are done.
    #[pyo3(name = "next")]
    fn next_shard<'py>(&self, py: Python<'py>, patience_s: f64) -> PyResult<Bound<'py, PyAny>> {
        let next = py.detach(|| self.inner.next(Duration::from_secs_f64(patience_s)));
        match next.map_err(|panicked| told(py, panicked))? {
            (Some(shard), _) => {
                let columns = columns(py, shard.columns)?;
                (shard.runs.start, shard.runs.end, columns)
                    .into_pyobject(py)
                    .map(Bound::into_any)
            }
            (None, false) => Ok(py.None().into_bound(py)),
            (None, true) => Ok(false.into_pyobject(py)?.to_owned().into_any()),
        }
    }

    /// Number of completed runs.
    #[getter]
    fn runs(&self) -> u64 {
        self.inner.runs()
    }

    /// Number of data packets that the runs have moved.
    #[getter]
    fn packets(&self) -> u64 {
        self.inner.packets()
    }

    /// Stops all runs, usually within ten milliseconds. Returns False if an algorithm did not return within `patience_s`
    /// seconds; its thread is left to itself unless this is called again.
    fn stop(&self, py: Python<'_>, patience_s: f64) -> bool {
        py.detach(|| self.inner.stop(Duration::from_secs_f64(patience_s)))
    }
}

/// Converts a panic in a run: returns the exception of a user's algorithm with a note about the
/// run, or a RuntimeError if fullpipe panicked.
fn told(py: Python<'_>, panicked: Panicked) -> PyErr {
    let Panicked {
        point,
        seed,
        payload,
    } = panicked;
    let run = format!("the run of point {point} with seed {seed}");
    if !is_raised(payload.as_ref()) {
        return PyRuntimeError::new_err(format!("{run} panicked"));
    }
    let error = raised(payload);
    // If the note can't be added, the error is raised without it.
    drop(
        error
            .value(py)
            .call_method1("add_note", (format!("in {run}"),)),
    );
    passed_on(error)
}

impl Drop for SweepRun {
    /// Waits for the threads without the GIL, which an algorithm in Python needs to finish.
    fn drop(&mut self) {
        Python::attach(|py| py.detach(|| self.inner.end()));
    }
}

/// Returns rows of runs, with the names and types of a sweep's shards, from the point and the
/// metrics of each run.
#[pyfunction]
pub(crate) fn rows<'py>(
    py: Python<'py>,
    runs: Vec<(usize, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let refused = |what: String| PyValueError::new_err(format!("not the metrics of a run: {what}"));
    let mut parsed = Vec::with_capacity(runs.len());
    for (point, metrics) in runs {
        parsed.push((
            point,
            serde_json::from_str(&metrics).map_err(|error| refused(error.to_string()))?,
        ));
    }
    columns(
        py,
        fullpipe_batch::rows(parsed).map_err(|_| refused("a name is missing".to_owned()))?,
    )
}

/// Returns (number, unit) of a value as `--set` takes it; None for a word.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<(f64, &'static str)> {
    fullpipe_batch::quantity(text).map(|quantity| (quantity.value, quantity.unit))
}

/// Returns the name in `known` that stands for a word of other programs, like `rate` for `bandwidth`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value)] // PyO3 makes a vector
pub(crate) fn synonym(word: &str, known: Vec<String>) -> Option<String> {
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    fullpipe_units::synonym(word, &known).map(str::to_owned)
}

/// Returns `{column: array}`; a column of words is the pair `(codes, labels)`.
pub(crate) fn columns(py: Python<'_>, columns: Vec<Column>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for Column { name, values } in columns {
        match values {
            Values::Counts(values) => dict.set_item(name, values.into_pyarray(py))?,
            Values::Measures(values) => dict.set_item(name, values.into_pyarray(py))?,
            Values::Words { codes, labels } => {
                dict.set_item(name, (codes.into_pyarray(py), labels))?
            }
        }
    }
    Ok(dict)
}
