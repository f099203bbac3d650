//! Refuses scenarios that this runner does not support, by their key.

use fullpipe_cc::{Config, Descriptor, Registry};
use fullpipe_scenario::{EcnSetting, Error, Flow, PAYLOAD, ReceiveWindow, Scenario};
use fullpipe_units::{Bytes, Rate, Span};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::congestion_driver::PROVIDES;
use crate::endpoint_metrics::MTU;

/// The clock of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// Virtual time over the scenario's path.
    Virtual,
    /// The machine's clock, over its loopback or behind the scenario's path.
    Real,
}

impl Runner {
    /// Returns the runner's name for `--on`.
    pub fn name(self) -> &'static str {
        match self {
            Runner::Virtual => "quic-virtual",
            Runner::Real => "quic",
        }
    }
}

/// Checks whether this runner supports the scenario, without running it.
///
/// # Errors
/// When it does not.
pub fn check(scenario: &Scenario, runner: Runner) -> Result<(), Error> {
    if !scenario.path.loopback {
        fullpipe_emulator::check(scenario)?;
        if scenario.host.is_some() {
            let problem = match runner {
                Runner::Virtual => "in virtual time QUIC's endpoints use no CPU time",
                Runner::Real => "behind a path, the host is this machine itself",
            };
            let fix = "omit [host], or run over this machine's loopback: [path] kind = \"loopback\" and --on quic";
            return Err(scenario.error("host", "{ … }", problem, fix));
        }
    } else if runner == Runner::Virtual {
        let problem = "the machine's loopback has no virtual time";
        return Err(scenario.error(
            "path.kind",
            "\"loopback\"",
            problem,
            "run it with --on quic, or in the simulator",
        ));
    } else {
        check_loopback(scenario)?;
    }
    if let Some(workload) = scenario.workloads.first() {
        let problem = "QUIC's runners do not support workloads";
        return Err(scenario.error(
            &workload.key("cc"),
            "…",
            problem,
            "remove [[workload]], or use --on sim",
        ));
    }
    if runner == Runner::Real {
        check_cpus(scenario)?;
    }
    let registry = fullpipe_policy::registry();
    scenario
        .flows
        .iter()
        .try_for_each(|spec| check_flow(scenario, spec, &registry).map(drop))
}

/// Refuses CPUs that do not exist or that this process may not use.
fn check_cpus(scenario: &Scenario) -> Result<(), Error> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
    let there = |cpu: u32| allowed.is_set(cpu as usize).unwrap_or(false);
    let asked = [
        ("quic.server_cpu", scenario.quic.server_cpu),
        ("quic.client_cpu", scenario.quic.client_cpu),
    ];
    let Some((key, cpu)) = asked
        .into_iter()
        .find_map(|(key, cpu)| Some((key, cpu.filter(|cpu| !there(*cpu))?)))
    else {
        return Ok(());
    };
    let cpus: Vec<String> = (0..CpuSet::count() as u32)
        .filter(|cpu| there(*cpu))
        .map(|cpu| cpu.to_string())
        .collect();
    let fix = format!("give one of {}, or omit the key", cpus.join(", "));
    Err(scenario.error(key, cpu, "this process may not use this CPU", fix))
}

/// Refuses properties of a path, which the machine's loopback does not have.
fn check_loopback(scenario: &Scenario) -> Result<(), Error> {
    let way = &scenario.path;
    let link = &way.link;
    let in_the_way = [
        ("path.rate", link.rate < Rate::from_bps(10_000_000_000)),
        ("path.rtt", way.rtt > Span::from_micros(100)),
        ("path.rate_pattern", link.rate_pattern.is_some()),
        ("path.change", !way.changes.is_empty()),
        ("link", scenario.links().count() > 1),
    ];
    let own = in_the_way.into_iter().find(|(_, is)| *is);
    // These keys have no effect without a queue.
    let mut altered = way.altered_keys();
    let altered =
        altered.find(|key| !["path.queue", "path.ecn", "path.ack_filter"].contains(&key.as_str()));
    let Some(key) = own.map(|(key, _)| key.to_owned()).or(altered) else {
        return Ok(());
    };
    let fix = "omit the key, or omit path.kind to run behind the path";
    Err(scenario.error(
        &key,
        "…",
        "this machine's own loopback can't emulate this",
        fix,
    ))
}

/// Refuses a flow that QUIC does not support. Returns its algorithm with the parameters.
pub(crate) fn check_flow(
    scenario: &Scenario,
    spec: &Flow,
    registry: &Registry,
) -> Result<(&'static Descriptor, Config), Error> {
    check_algorithm(scenario, spec, registry)?;
    check_app(scenario, spec)?;
    check_socket(scenario, spec)?;
    let runner = fullpipe_setup::Runner {
        provides: PROVIDES,
        marks: false,
        smss: Bytes::new(MTU.into()),
    };
    fullpipe_setup::controller(scenario, spec, registry, &runner)
}

/// Refuses a flow without a sender-side congestion control.
fn check_algorithm(scenario: &Scenario, spec: &Flow, registry: &Registry) -> Result<(), Error> {
    if spec.is_unresponsive() {
        return Err(scenario.error(
            &spec.key("cc"),
            "\"none\"",
            "QUIC's flows require a congestion control",
            "give an algorithm, like \"cubic\"",
        ));
    }
    if spec.is_datagram() {
        return Err(scenario.error(
            &spec.key("transport"),
            "\"datagram\"",
            "this runner sends streams, not QUIC's DATAGRAM frames (RFC 9221)",
            "remove it and a media source, or run it on sim",
        ));
    }
    if registry.receiver(&spec.cc).is_some() || spec.receiver.is_some() {
        let key = if spec.receiver.is_some() {
            "receiver"
        } else {
            "cc"
        };
        let name = spec.receiver.as_deref().unwrap_or(&spec.cc);
        return Err(scenario.error(
            &spec.key(key),
            format_args!("{name:?}"),
            "an algorithm of the receiver needs timestamps, which QUIC does not have",
            "use an algorithm of the sender, like \"cubic\"",
        ));
    }
    Ok(())
}

/// Refuses applications other than a transfer or a constant rate.
fn check_app(scenario: &Scenario, spec: &Flow) -> Result<(), Error> {
    if spec.app.is_none() && spec.app_schedule.is_empty() {
        return Ok(());
    }
    let key = if spec.app.is_some() {
        "app"
    } else {
        "app_schedule"
    };
    Err(scenario.error(
        &spec.key(key),
        "…",
        "QUIC's runners support only transfers and constant rates",
        "omit the key, or give bytes or app_rate instead",
    ))
}

/// Refuses options that neither noq nor its sockets support.
fn check_socket(scenario: &Scenario, spec: &Flow) -> Result<(), Error> {
    let refuse = |key: &str, value: &str, problem: &str, fix: &str| {
        Err(scenario.error(&spec.key(key), value, problem, fix))
    };
    if let Some(ReceiveWindow::Auto { .. }) = spec.receive_window {
        return refuse(
            "receive_window",
            "\"auto\"",
            "QUIC's runners have no auto-tuning of the window",
            "give a size",
        );
    }
    if spec.ecn == EcnSetting::Ect1 {
        return refuse(
            "ecn",
            "\"ect1\"",
            "noq sends with ECT(0) or without ECN",
            "give \"ect0\", or omit the key",
        );
    }
    if spec.mss != PAYLOAD {
        return refuse(
            "mss",
            &format!("\"{}\"", spec.mss),
            "QUIC's packets have one size here",
            "omit the key",
        );
    }
    if let Some(key) = spec.stack.first_key() {
        return refuse(
            key,
            "…",
            "noq has no kernel's TCP beneath it",
            "omit the key, or set stack = \"rfc\"",
        );
    }
    if spec.optimistic_acks > Span::ZERO {
        return refuse(
            "optimistic_acks",
            &format!("\"{}\"", spec.optimistic_acks),
            "noq's receiver is honest",
            "omit the key",
        );
    }
    if spec.gro > Span::ZERO {
        return refuse(
            "gro",
            &format!("\"{}\"", spec.gro),
            "the socket determines how QUIC's datagrams are coalesced",
            "omit the key",
        );
    }
    Ok(())
}
