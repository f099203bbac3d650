//! A population of paths, each with a download under several algorithms.

use std::sync::Arc;
use std::time::Duration;

use ::fullpipe_batch::population::{PRESETS, Population, PopulationRun};
use fullpipe_cc::Registry;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::refused;
use crate::sweep::{SweepRun, columns};

/// A number of paths of a population, under each arm.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct PopulationPlan {
    inner: Arc<PopulationRun>,
    paths: u64,
}

#[pymethods]
impl PopulationPlan {
    /// Reads a population; `changes` has keys of the scenario with the distribution that replaces
    /// theirs.
    #[staticmethod]
    #[pyo3(signature = (text, file, *, arms, paths, seed, changes))]
    fn make(
        py: Python<'_>,
        text: &str,
        file: &str,
        arms: Vec<String>,
        paths: u64,
        seed: u64,
        changes: Vec<(String, String)>,
    ) -> PyResult<PopulationPlan> {
        let population = Population::read(text, file, &changes);
        let fleet = population.and_then(|population| {
            PopulationRun::new(population, &arms, seed, Registry::default())
        });
        fleet
            .map(|fleet| PopulationPlan {
                inner: Arc::new(fleet),
                paths,
            })
            .map_err(|error| refused(py, &error))
    }

    /// Title of the population, in one line.
    #[getter]
    fn title(&self) -> &str {
        self.inner.population().title()
    }

    /// Number of paths; a run is one path under all arms.
    #[getter]
    fn runs(&self) -> u64 {
        self.paths
    }

    /// Returns the scenario of a path under an arm, both given by number, as TOML with every
    /// default.
    fn scenario(&self, py: Python<'_>, path: u64, arm: usize) -> PyResult<String> {
        let scenario = self
            .inner
            .scenario(path, arm)
            .map_err(|error| refused(py, &error))?;
        Ok(scenario.to_toml())
    }

    /// Returns one row per path: the drawn values.
    fn paths<'py>(&self, py: Python<'py>, first: u64, last: u64) -> PyResult<Bound<'py, PyDict>> {
        columns(
            py,
            py.detach(|| self.inner.paths(first..last.min(self.paths))),
        )
    }

    /// Starts running ranges of path numbers on `threads` threads, in shards of about `shard_s`
    /// seconds.
    fn start(&self, ranges: Vec<(u64, u64)>, threads: usize, shard_s: f64) -> SweepRun {
        let ranges: Vec<_> = ranges
            .into_iter()
            .map(|(first, end)| first..end.min(self.paths))
            .collect();
        SweepRun::of(fullpipe_batch::start(
            &self.inner,
            &ranges,
            threads,
            Duration::from_secs_f64(shard_s),
            fullpipe_batch::Around::NOTHING,
        ))
    }
}

/// Returns (name, text) of the populations included in the program.
#[pyfunction]
pub(crate) fn populations() -> Vec<(&'static str, &'static str)> {
    PRESETS.to_vec()
}
