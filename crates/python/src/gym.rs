//! Environments for reinforcement learning, and trained policies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullpipe_gym::{AGENT, Batch, Column, Failed, INFO, Options, Reward, Spec};
use fullpipe_policy::{Feature, Form, Loaded, Quantity, Refused, Rule, Spaces};
use fullpipe_scenario::Template;
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::controller::{Given, guarded, registry};
use crate::error::{refused, refused_option};
use crate::flows::Files;

/// Environments with one declaration.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct GymBatch {
    inner: Batch,
}

/// (quantity, form, scale, (least, most) action, (least, most) rate or window) of actions.
type RuleGiven = (String, String, f64, (f64, f64), (f64, f64));

/// (observations, rewards, terminated, truncated, info, seeds).
type Outcomes<'py> = (
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray1<bool>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray1<u64>>,
);

/// (name, unit, least, most, meaning) of a feature.
type FeatureAbout = (&'static str, &'static str, f64, f64, &'static str);

#[pymethods]
impl GymBatch {
    /// Checks a declaration and creates its environments.
    #[staticmethod]
    #[pyo3(signature = (text, file, *, prior, features, history, columns, action, interval, warm_up, reward, max_steps, start, count, threads, restarts, controllers=vec![]))]
    #[expect(clippy::too_many_arguments, reason = "each by its name")]
    fn make(
        py: Python<'_>,
        text: &str,
        file: &str,
        prior: Vec<(String, String)>,
        features: Vec<String>,
        history: usize,
        columns: Vec<String>,
        action: RuleGiven,
        interval: f64,
        warm_up: f64,
        reward: Option<(f64, f64, f64)>,
        max_steps: Option<u64>,
        start: Option<String>,
        count: usize,
        threads: usize,
        restarts: bool,
        controllers: Given,
    ) -> PyResult<GymBatch> {
        let option = |refused| refused_of_option(py, refused);
        let spaces = Spaces {
            features: fullpipe_policy::features(&features).map_err(option)?,
            history,
            rule: rule(action).map_err(option)?,
            interval,
            warm_up,
        };
        fullpipe_policy::check_spaces(&spaces).map_err(option)?;
        let options = Options {
            prior,
            spaces,
            columns,
            reward: match reward {
                None => Reward::Power,
                Some((throughput, latency, loss)) => Reward::Linear {
                    throughput,
                    latency,
                    loss,
                },
            },
            max_steps,
            start,
        };
        let registry = registry(py, controllers);
        let template =
            || Template::read(text, file).map(|template| template.with_library(Arc::new(Files)));
        let spec = py.detach(|| guarded(|| Spec::new(template()?, options, registry)))?;
        let spec = spec.map_err(|error| refused(py, &error))?;
        Ok(GymBatch {
            inner: Batch::new(Arc::new(spec), count, threads, restarts),
        })
    }

    /// Names of the agents' flows.
    #[getter]
    fn agents(&self) -> Vec<String> {
        self.inner.spec().agents().to_vec()
    }

    /// Number of values in an agent's observation.
    #[getter]
    fn observed(&self) -> usize {
        self.inner.spec().observed()
    }

    /// Returns the (key, value) pairs that a seed draws, as `--set` takes them.
    fn settings(&self, seed: u64) -> Vec<(String, String)> {
        self.inner.spec().settings(seed)
    }

    /// Begins episodes, without the GIL: (environment, seed), or None for the environment's next
    /// seed.
    fn reset(&self, py: Python<'_>, chosen: Vec<(usize, Option<u64>)>) -> PyResult<()> {
        if let Some((wrong, _)) = chosen
            .iter()
            .find(|(place, _)| *place >= self.inner.count())
        {
            return Err(PyValueError::new_err(format!("no environment {wrong}")));
        }
        failed(py, py.detach(|| guarded(|| self.inner.reset(&chosen)))?)
    }

    /// Makes a step in all environments, without the GIL; one action per agent.
    fn step(&self, py: Python<'_>, actions: PyReadonlyArray1<'_, f32>) -> PyResult<()> {
        let wanted = self.inner.count() * self.inner.spec().agents().len();
        if actions.len() != wanted {
            let problem = format!("{} actions for {wanted} agents", actions.len());
            return Err(PyValueError::new_err(problem));
        }
        let actions = actions.to_vec()?;
        failed(py, py.detach(|| guarded(|| self.inner.step(&actions)))?)
    }

    /// Returns the results of the last reset or step, each as one new array: observations, rewards
    /// and terminated with a row or value per agent, truncated with one per environment, numbers
    /// about the intervals with a row per agent, and seeds of the episodes.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Outcomes<'py>> {
        let spec = self.inner.spec();
        let (count, agents) = (self.inner.count(), spec.agents().len());
        let (rows, width) = (count * agents, spec.observed());
        let mut observations = Vec::with_capacity(rows * width);
        let (mut rewards, mut info) = (
            Vec::with_capacity(rows),
            Vec::with_capacity(rows * INFO.len()),
        );
        let (mut terminated, mut truncated) = (Vec::with_capacity(rows), Vec::with_capacity(count));
        let mut seeds = Vec::with_capacity(count);
        self.inner.read(|_, outcome| {
            observations.extend_from_slice(&outcome.observations);
            rewards.extend_from_slice(&outcome.rewards);
            terminated.extend_from_slice(&outcome.terminated);
            truncated.push(outcome.truncated);
            info.extend(outcome.info.iter().flatten());
            seeds.push(outcome.seed);
        });
        Ok((
            observations.into_pyarray(py).reshape([rows, width])?,
            rewards.into_pyarray(py),
            terminated.into_pyarray(py),
            truncated.into_pyarray(py),
            info.into_pyarray(py).reshape([rows, INFO.len()])?,
            seeds.into_pyarray(py),
        ))
    }
}

/// A policy that was read from a file.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct Policy {
    inner: Loaded,
}

#[pymethods]
impl Policy {
    /// The name by which scenarios call it.
    #[getter]
    fn name(&self) -> &str {
        self.inner.descriptor.name
    }

    /// The file.
    #[getter]
    fn file(&self) -> &Path {
        &self.inner.file
    }

    /// The text of the file when it was read.
    #[getter]
    fn text(&self) -> &str {
        &self.inner.text
    }

    /// Returns the action for an observation.
    fn action(&self, observation: PyReadonlyArray1<'_, f32>) -> PyResult<f64> {
        let wanted = self.inner.observed();
        if observation.len() != wanted {
            let problem = format!("{} values; the policy observes {wanted}", observation.len());
            return Err(PyValueError::new_err(problem));
        }
        Ok(self.inner.action(&observation.to_vec()?))
    }
}

/// Reads the policy in `file`: from now on, it is the algorithm `name` of this process.
#[pyfunction]
pub(crate) fn load_policy(py: Python<'_>, file: PathBuf, name: &str) -> PyResult<Policy> {
    fullpipe_policy::load(&file, name)
        .map(|inner| Policy { inner })
        .map_err(|error| {
            let Refused { key, problem, fix } = error;
            refused_option(py, &file.display().to_string(), &key, &problem, &fix)
        })
}

/// Returns the policies of this process, the latest of each name.
#[pyfunction]
pub(crate) fn policies() -> Vec<Policy> {
    let all = fullpipe_policy::loaded().into_iter();
    all.map(|inner| Policy { inner }).collect()
}

/// Returns (name, unit, least, most, meaning) of each feature of an interval.
#[pyfunction]
pub(crate) fn gym_features() -> Vec<FeatureAbout> {
    let all = Feature::ALL.iter();
    all.map(|each| {
        (
            each.name,
            each.unit,
            each.range.0,
            each.range.1,
            each.purpose,
        )
    })
    .collect()
}

/// Returns the names of the trace's columns that can be observed.
#[pyfunction]
pub(crate) fn gym_columns() -> Vec<String> {
    Column::names().collect()
}

/// Returns the names of the numbers about an interval.
#[pyfunction]
pub(crate) fn gym_info() -> Vec<&'static str> {
    INFO.to_vec()
}

/// Returns the name of the algorithm of a steered flow.
#[pyfunction]
pub(crate) fn gym_agent() -> &'static str {
    AGENT
}

fn rule((quantity, form, scale, actions, limits): RuleGiven) -> Result<Rule, Refused> {
    let rule = Rule {
        quantity: Quantity::named(&quantity)?,
        form: Form::named(&form)?,
        scale,
        actions,
        limits,
    };
    rule.check()?;
    Ok(rule)
}

fn failed(py: Python<'_>, result: Result<(), Failed>) -> PyResult<()> {
    result.map_err(|failed| refused(py, &failed.error))
}

fn refused_of_option(py: Python<'_>, Refused { key, problem, fix }: Refused) -> PyErr {
    refused_option(py, "", &key, &problem, &fix)
}
