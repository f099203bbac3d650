//! A checked scenario, ready to run, for Python.

use std::path::PathBuf;
use std::sync::Arc;

use fullpipe_units::ParamValue;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::controller::{Given, registry};
use crate::error::refused;
use crate::flows::Files;

type Program = (
    (usize, String),
    (String, String),
    [Option<String>; 4],
    Vec<(String, Py<PyAny>)>,
    Option<u64>,
    f64,
);
type Measured = (Option<usize>, String, f64, &'static str);
type Expectation = (String, Option<f64>, &'static str, Vec<Measured>);

/// A checked scenario.
#[pyclass(frozen, module = "fullpipe._core")]
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) inner: fullpipe_scenario::Scenario,
    pub(crate) registry: fullpipe_cc::Registry,
    source: String,
    file: String,
    /// The current folder when it was read.
    folder: PathBuf,
    settings: Vec<(String, String)>,
    controllers: Vec<(String, Py<PyAny>)>,
}

#[pymethods]
impl Scenario {
    /// Reads and checks a scenario.
    #[staticmethod]
    #[pyo3(signature = (text, file, overrides, seed=None, controllers=vec![]))]
    fn parse(
        py: Python<'_>,
        text: String,
        file: String,
        overrides: Vec<(String, String)>,
        seed: Option<u64>,
        controllers: Given,
    ) -> PyResult<Scenario> {
        let classes = controllers
            .iter()
            .map(|(name, class, _)| (name.clone(), class.clone_ref(py)))
            .collect();
        let registry = registry(py, controllers);
        let template = fullpipe_scenario::Template::read(&text, &file)
            .map(|template| template.with_library(Arc::new(Files)));
        match template
            .and_then(|template| fullpipe_scenario::Scenario::of(template, &overrides, seed))
        {
            Ok(inner) => Ok(Scenario {
                inner,
                registry,
                source: text,
                file,
                folder: std::env::current_dir().unwrap_or_default(),
                settings: overrides,
                controllers: classes,
            }),
            Err(error) => Err(refused(py, &error)),
        }
    }

    /// The text from which it was read.
    #[getter]
    fn source(&self) -> &str {
        &self.source
    }

    /// Name of the file in error messages.
    #[getter]
    fn file(&self) -> &str {
        &self.file
    }

    /// The current folder when it was read, to which the name of its file is relative.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }

    /// The (key, value) pairs that override the text's.
    #[getter]
    fn settings(&self) -> Vec<(String, String)> {
        self.settings.clone()
    }

    /// (name, class) of each algorithm in Python.
    #[getter]
    fn controllers(&self, py: Python<'_>) -> Vec<(String, Py<PyAny>)> {
        self.controllers
            .iter()
            .map(|(name, class)| (name.clone(), class.clone_ref(py)))
            .collect()
    }

    /// The first comment line; None without a comment.
    #[getter]
    fn title(&self) -> Option<&str> {
        self.inner.title()
    }

    /// Name of the path's profile and the (key, value as TOML) pairs that it provides; None without
    /// one.
    #[getter]
    fn profile(&self) -> Option<(&str, Vec<(String, String)>)> {
        self.inner
            .profile
            .as_ref()
            .map(|profile| (profile.name, profile.values.clone()))
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// Duration of the run, in seconds of virtual time.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.inner.duration.as_secs_f64()
    }

    /// Rate of the bottleneck in bit/s, at the start if it changes.
    #[getter]
    fn rate_bps(&self) -> u64 {
        self.inner.path.link.rate.as_bps()
    }

    /// Two-way propagation delay of the path, in seconds.
    #[getter]
    fn rtt_s(&self) -> f64 {
        self.inner.path.rtt.as_secs_f64()
    }

    /// (name, rate in bit/s at the start) of every link, the bottleneck first.
    #[getter]
    fn links(&self) -> Vec<(&str, u64)> {
        self.inner
            .links()
            .map(|link| (link.name.as_str(), link.rate.as_bps()))
            .collect()
    }

    /// Links whose rate follows a pattern; their rate in `links` is the mean.
    #[getter]
    fn varying_links(&self) -> Vec<&str> {
        self.inner
            .links()
            .filter(|link| link.rate_pattern.is_some())
            .map(|link| link.name.as_str())
            .collect()
    }

    /// (time in seconds, rate of the bottleneck from then on in bit/s) of every change of the path.
    #[getter]
    fn changes(&self) -> Vec<(f64, u64)> {
        let mut rate = self.inner.path.link.rate;
        let after = self.inner.path.changes.iter().map(|change| {
            rate = change.rate.unwrap_or(rate);
            (change.at.as_secs_f64(), rate.as_bps())
        });
        after.collect()
    }

    /// Returns (time in seconds, rate in bit/s at which the bottleneck can send from then on) for
    /// every change of the path. A rate that follows a pattern is the mean of each of `bins` equal
    /// parts of the run. A shaper's rate is included.
    fn rate_over_time(&self, bins: u64) -> Vec<(f64, u64)> {
        let rates = fullpipe_setup::rate_over_time(&self.inner, bins);
        rates
            .iter()
            .map(|(at, rate)| (at.as_secs_f64(), rate.as_bps()))
            .collect()
    }

    /// (name, cc) of every flow, in the order of the trace's flow numbers.
    #[getter]
    fn flows(&self) -> Vec<(&str, &str)> {
        self.inner
            .flows
            .iter()
            .map(|flow| (flow.name.as_str(), flow.cc.as_str()))
            .collect()
    }

    /// Every flow that is a program: its index, its name, the key that makes it one and that key's
    /// value, the recipe, the server's and the client's command lines, the pattern of files to keep,
    /// the recipe's parameters, the bytes to transfer, and the time that is left at its start, in
    /// seconds.
    #[getter]
    fn programs(&self, py: Python<'_>) -> PyResult<Vec<Program>> {
        let flows = self.inner.flows.iter().enumerate();
        let programs = flows.filter_map(|(index, flow)| {
            Some((index, flow, flow.program.as_ref()?, flow.program_key()?))
        });
        programs
            .map(|(index, flow, program, key)| {
                let params = flow.params.iter().map(|(name, value)| {
                    let value = match value {
                        ParamValue::Number(number) => number.into_py_any(py),
                        ParamValue::Flag(flag) => flag.into_py_any(py),
                        ParamValue::Word(word) => word.into_py_any(py),
                    };
                    value.map(|value| (name.clone(), value))
                });
                let lines = [
                    &program.recipe,
                    &program.server,
                    &program.client,
                    &program.qlog,
                ];
                let left = self.inner.duration - self.inner.start(flow);
                Ok((
                    (index, flow.name.clone()),
                    key,
                    lines.map(Clone::clone),
                    params.collect::<PyResult<Vec<_>>>()?,
                    flow.bytes.map(fullpipe_units::Bytes::get),
                    left.as_secs_f64(),
                ))
            })
            .collect()
    }

    /// (name, cc) of every workload, in the order of the trace's workload numbers.
    #[getter]
    fn workloads(&self) -> Vec<(&str, &str)> {
        self.inner
            .workloads
            .iter()
            .map(|workload| (workload.flow.name.as_str(), workload.flow.cc.as_str()))
            .collect()
    }

    /// Whether another seed can change the result of the run.
    #[getter]
    fn is_random(&self) -> bool {
        fullpipe_setup::is_random(&self.inner, &self.registry)
    }

    /// Returns the conditions that its runs must meet, each as `(text, quantile, comparison,
    /// [(flow, column, bound, unit)])`. A quantile of None means that every repetition must meet
    /// the condition, a flow of None that the value does not belong to a flow.
    fn expectations(&self, py: Python<'_>) -> PyResult<Vec<Expectation>> {
        let expectations = self
            .inner
            .expectations()
            .map_err(|error| refused(py, &error))?;
        Ok(expectations.into_iter().map(as_tuple).collect())
    }

    /// Returns the scenario as TOML, with every default, including those of the algorithms, and
    /// every flow written out.
    fn to_toml(&self) -> String {
        fullpipe_setup::resolved(&self.inner, &self.registry).to_toml()
    }

    /// Returns the scenario as TOML to change: without the parameters and receive windows that it
    /// does not give, since their defaults depend on the algorithm and the path.
    fn to_toml_to_change(&self) -> String {
        self.inner.to_toml()
    }

    fn __repr__(&self) -> String {
        let count = |number: usize, of: &str| {
            format!("{number} {of}{}", if number == 1 { "" } else { "s" })
        };
        let workloads = match self.inner.workloads.len() {
            0 => String::new(),
            number => format!(" and {}", count(number, "workload")),
        };
        format!(
            "<Scenario {}: {}{workloads}, {} s, seed {}>",
            self.file,
            count(self.inner.flows.len(), "flow"),
            self.duration_s(),
            self.inner.seed
        )
    }

    /// Returns the text of the scenario, for notebooks.
    #[pyo3(name = "_repr_html_")]
    fn html(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        in_notebook(slf, "scenario_html")
    }

    /// Returns a picture of the path over time, for notebooks.
    #[pyo3(name = "_repr_png_")]
    fn png(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        in_notebook(slf, "scenario_png")
    }
}

/// Returns the names of algorithms in a scenario's text and in settings as `--set` takes them, where
/// commas separate several. A text that can't be read has none: its error shows when it is checked.
#[pyfunction]
#[pyo3(signature = (text, settings=vec![]))]
pub(crate) fn algorithm_names(text: &str, settings: Vec<(String, String)>) -> Vec<String> {
    let template = fullpipe_scenario::Template::read(text, "").ok();
    let written = template.iter().flat_map(|template| template.algorithms());
    let set = settings.iter().filter(|(key, _)| key.ends_with(".cc"));
    let set = set.flat_map(|(_, values)| values.split(','));
    let bare = |name: &str| {
        let name = name.trim_matches([' ', '"', '\'']);
        fullpipe_scenario::with_params(name).0.to_owned()
    };
    let mut names: Vec<String> = Vec::new();
    for name in written.chain(set).map(bare) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the name of an algorithm without the parameters behind it, and these, empty without any.
#[pyfunction]
pub(crate) fn with_params(text: &str) -> (&str, &str) {
    let (name, params) = fullpipe_scenario::with_params(text);
    (name, params.unwrap_or_default())
}

/// Returns (key, value as TOML, cc, whether it is a program) of every flow and workload of a scenario:
/// the key names its algorithm, or makes it a program.
#[pyfunction]
pub(crate) fn algorithm_keys(
    scenario: &Bound<'_, Scenario>,
) -> Vec<(String, String, String, bool)> {
    let scenario = &scenario.get().inner;
    let arriving = scenario.workloads.iter().map(|workload| &workload.flow);
    let flows = scenario.flows.iter().chain(arriving);
    let of = |flow: &fullpipe_scenario::Flow| {
        let usual = || (flow.key("cc"), format!("{:?}", flow.cc));
        let (key, value) = flow.program_key().unwrap_or_else(usual);
        (key, value, flow.cc.clone(), flow.program.is_some())
    };
    flows.map(of).collect()
}

/// Returns the error about a key of a scenario, with its place in the file.
#[pyfunction]
pub(crate) fn scenario_error(
    scenario: &Bound<'_, Scenario>,
    key: &str,
    value: &str,
    problem: &str,
    fix: &str,
) -> Py<PyAny> {
    let (py, inner) = (scenario.py(), &scenario.get().inner);
    let error = inner.error(key, value, problem, fix);
    refused(py, &error).into_value(py).into_any()
}

/// Judges the repetitions of a scenario by its conditions, and returns the verdicts as JSON. `values`
/// returns (seed, value) of each repetition, for the flow and the column of a metric.
#[pyfunction]
pub(crate) fn judged(
    scenario: &Bound<'_, Scenario>,
    values: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let conditions = scenario.get().inner.expectations();
    let conditions = conditions.map_err(|error| refused(scenario.py(), &error))?;
    let mut verdicts = vec![];
    for condition in &conditions {
        for of in &condition.measured {
            let values = values.call1((of.flow, &of.column))?;
            verdicts.push(condition.judge(of, &values.extract::<Vec<_>>()?));
        }
    }
    Ok(serde_json::to_string(&verdicts).expect("a verdict is plain data"))
}

fn in_notebook(scenario: &Bound<'_, Scenario>, form: &str) -> PyResult<Py<PyAny>> {
    let module = scenario.py().import("fullpipe.runs.view.scenario")?;
    Ok(module.call_method1(form, (scenario,))?.unbind())
}

fn as_tuple(expectation: fullpipe_scenario::Expectation) -> Expectation {
    let measured = expectation
        .measured
        .into_iter()
        .map(|of| (of.flow, of.column, of.bound, of.unit))
        .collect();
    let symbol = expectation.comparison.symbol();
    (expectation.text, expectation.quantile, symbol, measured)
}
