//! Many runs: a plan of them, and the threads that run it.

use std::sync::Arc;
use std::time::Duration;

use fullpipe_batch::sweep::{Plan, Request};
use fullpipe_batch::{Column, Panicked, Values};
use fullpipe_scenario::Template;
use numpy::IntoPyArray;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::controller::{Given, guarded, is_raised, raised, registry};
use crate::error::refused;
use crate::flows::Files;

/// The points of a sweep, all checked.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct SweepPlan {
    inner: Arc<Plan>,
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
    /// Makes the points of a scenario's text, and checks each.
    #[staticmethod]
    #[pyo3(signature = (text, file, *, fixed, axes, given, together, sample, repeat, seed, points, controllers=vec![]))]
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
        controllers: Given,
    ) -> PyResult<SweepPlan> {
        let request = Request {
            fixed,
            axes,
            set: given,
            zip: together,
            sample,
            repeat,
            seed,
            points,
        };
        let registry = registry(py, controllers);
        let template =
            || Template::read(text, file).map(|template| template.with_library(Arc::new(Files)));
        let plan = py.detach(|| guarded(|| Plan::of(template()?, &request, registry)))?;
        plan.map(|plan| SweepPlan {
            inner: Arc::new(plan),
        })
        .map_err(|error| refused(py, &error))
    }

    /// (key, its values) of what is varied; those of a range have been drawn.
    #[getter]
    fn axes(&self) -> Vec<(String, Vec<String>)> {
        self.inner
            .axes()
            .iter()
            .map(|axis| (axis.key.clone(), axis.values.clone()))
            .collect()
    }

    /// `cartesian`, `zip`, `sample` or `callable`.
    #[getter]
    fn mode(&self) -> &'static str {
        self.inner.mode().word()
    }

    /// Of each point the number of its value on an axis, or None where it does not set that key.
    fn places(&self, axis: usize) -> Vec<Option<u32>> {
        self.inner.places(axis).collect()
    }

    /// How many points there are.
    #[getter]
    fn points(&self) -> usize {
        self.inner.points()
    }

    /// How many runs there are.
    #[getter]
    fn runs(&self) -> u64 {
        self.inner.runs()
    }

    /// The seed of the first run of each point, and how many seeds follow each other.
    #[getter]
    fn seeds(&self) -> (u64, u64) {
        let seeds = self.inner.seeds();
        (seeds.start, seeds.end - seeds.start)
    }

    /// (key, least, most) of what was added so that repetitions differ.
    #[getter]
    fn added_jitter(&self) -> Vec<(&'static str, String, String)> {
        let added = self.inner.added_jitter().iter();
        added
            .map(|(key, least, most)| (*key, least.to_string(), most.to_string()))
            .collect()
    }

    /// The most memory that one run needs, in bytes, and the point that it is a run of.
    #[getter]
    fn memory(&self) -> (u64, usize) {
        let (bytes, point) = self.inner.memory();
        (bytes.get(), point)
    }

    /// (key, value) of what a point sets, as `--set` takes it.
    fn settings(&self, point: usize) -> Vec<(&str, &str)> {
        self.inner.settings(point).collect()
    }

    /// The scenario of each of some points, every default written out, with the first seed, as
    /// TOML.
    fn scenarios(&self, py: Python<'_>, first: usize, last: usize) -> Vec<String> {
        py.detach(|| {
            let text = |point| {
                fullpipe_setup::resolved(&self.inner.scenario(point as u64), self.inner.registry())
                    .to_toml()
            };
            (first..last.min(self.inner.points())).map(text).collect()
        })
    }

    /// Begins to run ranges of run numbers on so many threads, in shards of about so many seconds.
    fn start(&self, ranges: Vec<(u64, u64)>, threads: usize, shard_s: f64) -> SweepRun {
        let ranges: Vec<_> = ranges
            .into_iter()
            .map(|(first, end)| first..end.min(self.inner.runs()))
            .collect();
        SweepRun {
            inner: self
                .inner
                .start(&ranges, threads, Duration::from_secs_f64(shard_s)),
        }
    }
}

impl SweepRun {
    pub(crate) fn of(inner: fullpipe_batch::Running) -> SweepRun {
        SweepRun { inner }
    }
}

#[pymethods]
impl SweepRun {
    /// Waits for the next shard with the GIL released, for some seconds at most.
    ///
    /// Gives (number of its first run, that behind its last, columns), None when it took longer,
    /// and False when all is done.
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

    /// How many runs are done.
    #[getter]
    fn runs(&self) -> u64 {
        self.inner.runs()
    }

    /// How many data packets they have moved.
    #[getter]
    fn packets(&self) -> u64 {
        self.inner.packets()
    }

    /// Ends all runs, within some ten milliseconds.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.inner.stop());
    }
}

/// What a user's algorithm raised, with the run that it was; or that we have panicked.
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
    // Without it the error is the same, and only says less.
    drop(
        error
            .value(py)
            .call_method1("add_note", (format!("in {run}"),)),
    );
    error
}

impl Drop for SweepRun {
    /// Waits for the threads without the GIL, which an algorithm in Python needs to come to an end.
    fn drop(&mut self) {
        Python::attach(|py| py.detach(|| self.inner.stop()));
    }
}

/// Rows of runs, named and typed as those of a sweep's shards: the point and the
/// metrics of each.
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

/// (number, unit) of a value as `--set` takes it, or None for a word.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> Option<(f64, &'static str)> {
    fullpipe_batch::quantity(text).map(|quantity| (quantity.value, quantity.unit))
}

/// `{column: array}`; a column of words is the pair `(codes, labels)`.
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
