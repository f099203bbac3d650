//! The Python extension `fullpipe._core`: it converts values and contains no logic.
//!
//! `python/fullpipe/_core.pyi` declares its Python interface; CI compares that file with the built
//! module.

mod capture;
mod catalogue;
mod conformance;
#[cfg(target_os = "linux")]
mod contained;
mod controller;
mod error;
mod fleet;
mod flows;
mod gym;
mod levels;
#[cfg(target_os = "linux")]
mod link;
mod plugin;
mod population;
#[cfg(unix)]
mod remote;
mod run;
mod scenario_file;
#[cfg(target_os = "linux")]
mod signals;
mod sweep;
mod table;
#[cfg(target_os = "linux")]
mod testbed;
mod text;
#[cfg(target_os = "linux")]
mod uml;

/// The compiled core of fullpipe.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::capture::{CapturePackets, CaptureRun, capture};
    #[pymodule_export]
    use crate::catalogue::{
        algorithms, drift_limits, impairments, limits, metrics, nearest, profiles, queues,
        scenario_keys, schema, trace_columns, trend_p,
    };
    #[pymodule_export]
    use crate::conformance::{conformance_case, conformance_cases};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::contained::{Container, contain, contain_further, containment_refused};
    #[pymodule_export]
    use crate::controller::{
        Ack_, Config_, Conn_, Context_, Decision_, Lost_, Recovery_, Snapshot_, limit_calls,
    };
    #[pymodule_export]
    use crate::error::{MachineError, ScenarioError};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::fleet::FleetSampler;
    #[pymodule_export]
    use crate::fleet::{FleetReader, fleet_begin, fleet_is_listing, fleet_variables};
    #[pymodule_export]
    use crate::gym::{
        GymBatch, Policy, gym_agent, gym_columns, gym_features, gym_info, load_policy, policies,
    };
    #[pymodule_export]
    use crate::levels::levels;
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::link::{LinkRun, confinement_refused, link, namespaces_refused};
    #[pymodule_export]
    use crate::plugin::{Plugin, check_contract, load_plugin, plugins, repeats};
    #[pymodule_export]
    use crate::population::{PopulationPlan, populations};
    #[cfg(unix)]
    #[pymodule_export]
    use crate::remote::{connect, forget, refuse_to_serve, serve};
    #[pymodule_export]
    use crate::run::{RunResult, check_simulator, handed_over, memory_needed, run};
    #[pymodule_export]
    use crate::scenario_file::{
        Scenario, algorithm_keys, algorithm_names, judged, scenario_error, with_params,
    };
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::signals::{end_with, watch_signals};
    #[pymodule_export]
    use crate::sweep::{SweepPlan, SweepRun, quantity, rows, synonym};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::testbed::{agent, agent_plan, check_kernel, kernel_bpf, kernel_place};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::testbed::{measured, run_kernel};
    #[pymodule_export]
    use crate::text::{Content, TextReader, content_head};
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::uml::{check_simulated, simulate, simulated, uml_topology};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__sources__", env!("FULLPIPE_SOURCES"))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
