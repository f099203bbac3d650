//! From a scenario to the ends of its flows; what this runner can't do is refused, by its key.

use fullpipe_cc::Registry;
use fullpipe_scenario::{EcnSetting, Error, Flow, ReceiveWindow, Scenario};
use fullpipe_tcp::Pacing;
use fullpipe_trace::TraceLevel;
use fullpipe_trace::{FlowMeter, MeasuredTime};
use fullpipe_units::{Bytes, Rate, Rng, Span, Time};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::congestion_driver::{CongestionDriverConfig, PROVIDES};
use crate::endpoint_metrics::{MTU, Settings};
use crate::peer::BATCH;
use crate::trace_buffer::{self, TraceBuffer};

/// What QUIC does by itself (RFC 9000 §13.2.1, §18.2), and a scenario by default: two packets an
/// ACK. The longest that one waits is 25 ms there and 40 ms here.
const USUAL_ACKS: (u32, Span) = (2, Span::from_millis(40));

/// On the loopback silence is no outage of the path: the other end is gone.
const PATIENCE: Span = Span::from_secs(5);

/// Which clock runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runner {
    /// Virtual time, over the scenario's path.
    Virtual,
    /// The machine's clock, over its loopback or behind the scenario's path.
    Real,
}

impl Runner {
    /// As `--on` has it.
    pub fn name(self) -> &'static str {
        match self {
            Runner::Virtual => "quic-virtual",
            Runner::Real => "quic",
        }
    }
}

/// What one flow's two ends are made of.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) index: u32,
    pub(crate) start: Time,
    pub(crate) settings: Settings,
    pub(crate) driver: CongestionDriverConfig,
    pub(crate) meter: FlowMeter,
    pub(crate) ecn: bool,
    /// Datagrams of one system call at most.
    pub(crate) batch: usize,
    pub(crate) buffer: TraceBuffer,
    pub(crate) descriptor: &'static fullpipe_cc::Descriptor,
}

/// The plans of all flows.
///
/// # Errors
/// When the scenario has what this runner does not do.
pub(crate) fn plans(
    scenario: &Scenario,
    runner: Runner,
    level: TraceLevel,
) -> Result<Vec<Plan>, Error> {
    check(scenario, runner)?;
    let flows = scenario.flows.iter().enumerate();
    flows
        .map(|(index, spec)| plan(scenario, runner, index, spec, level))
        .collect()
}

/// Whether this runner can do it, with no run.
///
/// # Errors
/// When it can't.
pub fn check(scenario: &Scenario, runner: Runner) -> Result<(), Error> {
    if !scenario.path.loopback {
        fullpipe_emulator::check(scenario)?;
        if scenario.host.is_some() {
            let problem = match runner {
                Runner::Virtual => "in virtual time QUIC's programs take no time",
                Runner::Real => "behind a path the machine is what hosts are",
            };
            let fix = "leave [host] out, or run over this machine's loopback: [path] kind = \"loopback\" and --on quic";
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
        let problem = "QUIC's runners have no flows that arrive";
        return Err(scenario.error(
            &workload.key("cc"),
            "…",
            problem,
            "remove [[workload]], or run it on sim",
        ));
    }
    if runner == Runner::Real {
        check_cpus(scenario)?;
    }
    let registry = Registry::default();
    scenario
        .flows
        .iter()
        .try_for_each(|spec| check_flow(scenario, spec, &registry).map(drop))
}

/// Refuses CPUs that are not there, or not for this process.
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
    let fix = format!("give one of {}, or leave it out", cpus.join(", "));
    Err(scenario.error(key, cpu, "this process may not use such a CPU", fix))
}

/// The machine's loopback is what it is: refuses what a scenario says to be in the way.
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
    // These have no effect where nothing waits.
    let mut altered = way.altered_keys();
    let altered =
        altered.find(|key| !["path.queue", "path.ecn", "path.ack_filter"].contains(&key.as_str()));
    let Some(key) = own.map(|(key, _)| key.to_owned()).or(altered) else {
        return Ok(());
    };
    let fix = "leave it out, or path.kind, and then it runs behind the path";
    Err(scenario.error(
        &key,
        "…",
        "this machine's own loopback is no such path",
        fix,
    ))
}

fn check_flow(
    scenario: &Scenario,
    spec: &Flow,
    registry: &Registry,
) -> Result<(&'static fullpipe_cc::Descriptor, fullpipe_cc::Config), Error> {
    let refuse = |key: &str, value: &str, problem: &str, fix: &str| {
        Err(scenario.error(&spec.key(key), value, problem, fix))
    };
    if spec.is_unresponsive() {
        return refuse(
            "cc",
            "\"none\"",
            "QUIC's flows have a congestion control",
            "name one, like \"cubic\"",
        );
    }
    if registry.window(&spec.cc).is_some() || spec.receiver.is_some() {
        let key = if spec.receiver.is_some() {
            "receiver"
        } else {
            "cc"
        };
        let name = spec.receiver.as_deref().unwrap_or(&spec.cc);
        let problem = "an algorithm of the receiver needs timestamps, which QUIC has not got";
        return refuse(
            key,
            &format!("{name:?}"),
            problem,
            "use an algorithm of the sender, like \"cubic\"",
        );
    }
    if spec.app.is_some() || !spec.app_schedule.is_empty() {
        let key = if spec.app.is_some() {
            "app"
        } else {
            "app_schedule"
        };
        return refuse(
            key,
            "…",
            "under QUIC there are transfers alone",
            "leave it out, or give bytes or app_rate",
        );
    }
    if let Some(ReceiveWindow::Auto { .. }) = spec.receive_window {
        return refuse(
            "receive_window",
            "\"auto\"",
            "QUIC's window is not tuned here",
            "give a size",
        );
    }
    if spec.ecn == EcnSetting::Ect1 {
        return refuse(
            "ecn",
            "\"ect1\"",
            "noq sends with ECT(0) or without",
            "write \"ect0\", or leave it out",
        );
    }
    if spec.gro > Span::ZERO {
        return refuse(
            "gro",
            &format!("\"{}\"", spec.gro),
            "QUIC's receiver takes what the socket gives",
            "leave it out",
        );
    }
    let runner = fullpipe_setup::Runner {
        provides: PROVIDES,
        marks: false,
        smss: Bytes::new(MTU.into()),
    };
    fullpipe_setup::controller(scenario, spec, registry, &runner)
}

fn plan(
    scenario: &Scenario,
    runner: Runner,
    index: usize,
    spec: &Flow,
    level: TraceLevel,
) -> Result<Plan, Error> {
    let (descriptor, config) = check_flow(scenario, spec, &Registry::default())?;
    let start = Time::ZERO + scenario.start(spec);
    let window = MeasuredTime {
        from: Time::ZERO + scenario.measure_from,
        to: Time::ZERO + scenario.duration,
    };
    let controller = (descriptor.build)(&config);
    let ecn = match spec.ecn {
        EcnSetting::Auto => {
            fullpipe_cc::Controller::decision(&controller).ecn != fullpipe_cc::EcnCodepoint::NotEct
        }
        ecn => ecn == EcnSetting::Ect0,
    };
    let pacing = match spec.pacing {
        fullpipe_scenario::Pacing::Auto => Pacing::Auto,
        fullpipe_scenario::Pacing::On => Pacing::On,
        fullpipe_scenario::Pacing::Off => Pacing::Off,
    };
    // An ACK answers a packet at least; with all packets that the path and its time can carry.
    let bytes = spec
        .bytes
        .map_or(u64::MAX, Bytes::get)
        .min(scenario.fastest().bytes_in(scenario.duration).get());
    let acks = bytes / u64::from(MTU) + 1024;
    let rows = match level {
        TraceLevel::Every(interval) => {
            acks.min(scenario.duration.as_nanos() / interval.as_nanos() + 1)
        }
        TraceLevel::Off | TraceLevel::Acks => acks,
    };
    let buffer = trace_buffer::reserve(
        index as u32,
        level,
        descriptor.fields.len(),
        rows,
        available(),
    )
    .map_err(|problem| {
        scenario.error(
            "duration",
            format!("\"{}\"", scenario.duration),
            problem,
            "trace less often",
        )
    })?;
    let delayed_ack = (spec.delayed_ack, spec.ack_delay);
    Ok(Plan {
        index: index as u32,
        start,
        settings: Settings {
            receive_window: scenario.receive_window(spec),
            delayed_ack: (delayed_ack != USUAL_ACKS).then_some(delayed_ack),
            patience: (runner == Runner::Real && scenario.path.loopback).then_some(PATIENCE),
            seed: Rng::stream(scenario.seed, &spec.name, "quic").next_u64(),
        },
        driver: CongestionDriverConfig {
            controller,
            owner: descriptor.recovery,
            pacing,
            rate_interval: scenario
                .host
                .as_ref()
                .map_or(Span::ZERO, |host| host.rate_interval),
            rng: Rng::stream(scenario.seed, &spec.name, "controller"),
            smss: Bytes::new(MTU.into()),
            measure_from: window.from,
        },
        meter: FlowMeter::new(window, start),
        ecn,
        batch: scenario
            .host
            .as_ref()
            .map_or(BATCH, |host| BATCH.min(host.batch as usize)),
        buffer,
        descriptor,
    })
}

/// Memory that is there to be had, as Linux estimates it.
fn available() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kib.map_or(u64::MAX, |kib| kib << 10)
}
