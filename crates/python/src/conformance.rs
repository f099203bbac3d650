//! The test cases of the BBR draft, run one at a time, so that Python may interrupt between two.

use fullpipe_conformance::{Played, Subject, demanded, digits};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

use crate::controller::{Given, guarded, registry};
use crate::error::refused;

#[derive(IntoPyObject)]
pub(crate) struct Case {
    case: &'static str,
    title: &'static str,
    note: &'static str,
    verdict: &'static str,
    scenes: Vec<Scene>,
}

#[derive(IntoPyObject)]
struct Scene {
    name: String,
    scenario: String,
    conditions: Vec<Condition>,
}

#[derive(IntoPyObject)]
struct Condition {
    condition: &'static str,
    unit: &'static str,
    measured: Option<f64>,
    least: Option<f64>,
    most: Option<f64>,
    shown: String,
    demanded: String,
    verdict: &'static str,
    because: &'static str,
    why: String,
}

/// Returns the numbers of the cases, in the order of the draft's appendix.
#[pyfunction]
pub(crate) fn conformance_cases() -> Vec<&'static str> {
    fullpipe_conformance::CASES
        .iter()
        .map(|case| case.section)
        .collect()
}

/// Runs one case with the GIL released.
#[pyfunction]
#[pyo3(signature = (case, cc, params, seed, controllers=vec![]))]
pub(crate) fn conformance_case(
    py: Python<'_>,
    case: &str,
    cc: &str,
    params: Vec<(String, String)>,
    seed: u64,
    controllers: Given,
) -> PyResult<Case> {
    let registry = registry(py, controllers);
    let case =
        fullpipe_conformance::case(case).ok_or_else(|| PyKeyError::new_err(case.to_owned()))?;
    let run = || {
        let params: Vec<(&str, &str)> = params
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        case.run(&Subject::new(&registry, cc, &params)?.with_seed(seed))
    };
    let outcome = py.detach(|| guarded(run))?;
    let outcome = outcome.map_err(|error| refused(py, &error))?;
    Ok(Case {
        case: case.section,
        title: case.title,
        note: case.note,
        verdict: outcome.verdict().word(),
        scenes: outcome
            .scenes
            .iter()
            .map(|played| Scene::of(case, played))
            .collect(),
    })
}

impl Scene {
    fn of(case: &fullpipe_conformance::Case, played: &Played) -> Scene {
        let conditions = played.judged.iter().map(|judged| {
            let &fullpipe_conformance::Condition {
                what,
                unit,
                within: (least, most),
                because,
                ..
            } = judged.condition;
            Condition {
                condition: what,
                unit,
                measured: judged.measured,
                least: least.is_finite().then_some(least),
                most: most.is_finite().then_some(most),
                shown: judged.measured.map_or_else(|| "–".to_owned(), digits),
                demanded: demanded((least, most)),
                verdict: judged.verdict.word(),
                because,
                why: judged.why.clone(),
            }
        });
        Scene {
            name: case.file_name(played.scene),
            scenario: played.scenario.clone(),
            conditions: conditions.collect(),
        }
    }
}
