//! A scenario as Python sees it: opaque, checked, ready to run.

use pyo3::prelude::*;

use crate::error::refused;

/// A checked scenario.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct Scenario(pub(crate) scenario::Scenario);

#[pymethods]
impl Scenario {
    /// Reads and checks a scenario.
    #[staticmethod]
    #[pyo3(signature = (text, file, overrides, seed=None))]
    fn parse(
        py: Python<'_>,
        text: &str,
        file: &str,
        overrides: Vec<(String, String)>,
        seed: Option<u64>,
    ) -> PyResult<Scenario> {
        scenario::Scenario::parse_with(text, file, &overrides, seed)
            .map(Scenario)
            .map_err(|error| refused(py, &error))
    }

    /// The seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// How long the run lasts at most, in seconds of virtual time.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.0.duration.as_secs_f64()
    }

    /// Whether another seed could give another result.
    #[getter]
    fn is_random(&self) -> bool {
        self.0.is_random()
    }

    /// The whole scenario, every default filled in, as TOML.
    fn to_toml(&self) -> String {
        self.0.to_toml()
    }
}
