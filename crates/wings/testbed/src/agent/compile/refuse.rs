//! Refuses settings that a kernel's TCP does not have or that a runner can't provide.

use fullpipe_scenario::{
    App, CwndValidation, EcnFeedback, EcnSetting, Error, Flow, INITIAL_WINDOW, MetricsCache, On,
    PACKET, PAYLOAD, PROGRAM_FIX, Pacing, Scenario,
};
use fullpipe_units::Span;

use super::{Ends, auto_tuning, send_tuning};
use crate::algorithms::{
    LINUX, has_bpf, is_bpf, kernel_equivalent, kernel_name, offered_name, paces, refused_parameter,
};

/// Refuses a setting that a run of `scenario` can't have; the error names its key.
pub(super) fn refuse(scenario: &Scenario, ends: &Ends) -> Result<(), Error> {
    let Ends { runner, .. } = ends;
    if scenario.path.loopback {
        let problem = format!("--on {runner} emulates links, and a loopback has no links");
        let fix = "give rate, rtt and buffer, or run it on sim or quic";
        return Err(scenario.error("path.kind", "\"loopback\"", problem, fix));
    }
    if scenario.host.is_some() {
        let problem = format!("--on {runner} runs on a real host, so it can't model one");
        return Err(scenario.error("host", "…", problem, "remove [host], or run it on sim"));
    }
    if let Some(workload) = scenario.workloads.first().filter(|_| !ends.arrivals) {
        let problem = format!("--on {runner} does not support workloads");
        let fix = "remove [[workload]], or run it on sim or kernel";
        let cc = format!("{:?}", workload.flow.cc);
        return Err(scenario.error(&workload.key("cc"), cc, problem, fix));
    }
    let programs = scenario.flows.iter().filter_map(Flow::program_key);
    if let Some((key, value)) = programs.into_iter().next().filter(|_| !ends.programs) {
        let problem = format!("--on {runner} does not run programs yet");
        return Err(scenario.error(&key, value, problem, PROGRAM_FIX));
    }
    let specs = || {
        let workloads = scenario.workloads.iter().map(|workload| &workload.flow);
        let own = scenario.flows.iter().filter(|flow| flow.program.is_none());
        own.chain(workloads)
    };
    for spec in specs() {
        if let Some(Refusal {
            key,
            value,
            problem,
            fix,
        }) = algorithm(spec, ends)
            .or_else(|| settings(spec))
            .or_else(|| segments(spec, ends))
        {
            return Err(scenario.error(&spec.key(&key), value, problem, fix));
        }
    }
    initial_windows(scenario)?;
    let mut tuned = specs().filter_map(|flow| Some((flow, auto_tuning(flow)?)));
    if let Some((_, most)) = tuned.next()
        && let Some((other, _)) = tuned.find(|(_, max)| *max != most)
    {
        let problem = "auto-tuning has one limit for all flows of a kernel (tcp_rmem)";
        let fix = "give all flows the same limit, or run it on sim";
        return Err(scenario.error(&other.key("receive_window"), "\"auto\"", problem, fix));
    }
    let mut tuned = specs().filter_map(|flow| Some((flow, send_tuning(flow)?)));
    if let Some((_, most)) = tuned.next()
        && let Some((other, _)) = tuned.find(|(_, max)| *max != most)
    {
        let problem = "auto-tuning has one limit for all flows of a kernel (tcp_wmem)";
        let fix = "give all flows the same limit, or run it on sim";
        return Err(scenario.error(&other.key("send_buffer"), "\"auto\"", problem, fix));
    }
    let last = usize::from(ends.first_port) + scenario.flows.len();
    if last > usize::from(u16::MAX) {
        let problem = format!("each flow needs a port, and {last} is beyond the last port");
        let fix = "run fewer flows, or run it on sim";
        return Err(scenario.error("flow", scenario.flows.len(), problem, fix));
    }
    Ok(())
}

/// Values of `sack_compression` that a kernel may have: the default, and its own 5 %.
const KERNELS_SACK_COMPRESSION: [f64; 2] = [0.0, 0.05];

/// A refused setting of a flow.
struct Refusal {
    key: String,
    value: String,
    problem: String,
    fix: String,
}

fn refusal(
    key: &str,
    value: impl Into<String>,
    problem: impl Into<String>,
    fix: impl Into<String>,
) -> Option<Refusal> {
    Some(Refusal {
        key: key.to_owned(),
        value: value.into(),
        problem: problem.into(),
        fix: fix.into(),
    })
}

fn on_sim(what: &str) -> String {
    format!("{what}, or run it on sim")
}

/// Checks a flow's algorithm.
fn algorithm(
    spec: &Flow,
    Ends {
        runner, offered, ..
    }: &Ends,
) -> Option<Refusal> {
    if spec.is_unresponsive() {
        let problem = format!("--on {runner} does not support unresponsive traffic");
        return refusal("cc", "\"none\"", problem, on_sim("remove the flow"));
    }
    if spec.is_datagram() {
        let problem = format!("--on {runner} runs the kernel's TCP, which has no datagrams");
        let fix = on_sim("give the flow another application, or transport = \"tcp\"");
        return refusal("transport", "\"datagram\"", problem, fix);
    }
    let name = &*offered_name(&spec.cc, offered.unwrap_or_default());
    if let Some(offered) = offered.filter(|offered| !offered.iter().any(|known| known == name)) {
        let list = offered.join(", ");
        let problem = match name == spec.cc {
            true => format!("the kernel of --on {runner} has no algorithm {name:?}"),
            false => {
                format!("the kernel of --on {runner} has no {name:?}, its name for this algorithm")
            }
        };
        let other = match name {
            _ if has_bpf(name) && *runner == crate::kernel::NAME => {
                "or run it on sim; fullpipe's version for the kernel is built by make kernel"
                    .to_owned()
            }
            _ if has_bpf(name) => {
                "or run it on sim, or on kernel, which loads fullpipe's version".to_owned()
            }
            _ if LINUX.contains(&name) => {
                format!("load a module (modprobe tcp_{name}), or run it on sim")
            }
            _ => "or run it on sim: Linux has no such algorithm".to_owned(),
        };
        let fix = format!("it has {list}: use one of these, {other}");
        return refusal("cc", format!("{:?}", spec.cc), problem, fix);
    }
    // The loader of a BPF version checks its parameters.
    if let Some((parameter, value)) = refused_parameter(spec).filter(|_| !is_bpf(name)) {
        let problem = format!("the kernel's {name} does not accept this setting");
        let key = format!("params.{parameter}");
        return refusal(&key, value.to_string(), problem, on_sim("remove it"));
    }
    let receiver = spec.receiver.as_ref()?;
    let problem = "a kernel's receiver can't run fullpipe's algorithms";
    refusal(
        "receiver",
        format!("{receiver:?}"),
        problem,
        on_sim("remove it"),
    )
}

/// Refuses initial windows that a route can't have.
fn initial_windows(scenario: &Scenario) -> Result<(), Error> {
    let workloads = scenario.workloads.iter().map(|workload| &workload.flow);
    let own = scenario.flows.iter().filter(|flow| flow.program.is_none());
    let all = own.chain(workloads);
    let first = all.clone().next().map(|flow| flow.initial_window);
    let differs = |flow: &&Flow| first.is_some_and(|first| flow.initial_window != first);
    match all.clone().find(differs) {
        Some(other) => Err(scenario.error(
            &other.key("initial_window"),
            other.initial_window,
            "a kernel has one initial window for all flows of a route (initcwnd)",
            "give all flows the same, or run it on sim",
        )),
        None => Ok(()),
    }
}

/// Checks a flow's segments and initial window.
fn segments(spec: &Flow, Ends { runner, routes, .. }: &Ends) -> Option<Refusal> {
    if *routes {
        return None;
    }
    if spec.mss > PAYLOAD {
        let problem = format!(
            "packets of --on {runner} have at most {} bytes",
            PACKET.get()
        );
        let fix = format!("give at most \"{PAYLOAD}\", or run it on sim or uml");
        return refusal("mss", format!("\"{}\"", spec.mss), problem, fix);
    }
    if spec.initial_window != INITIAL_WINDOW {
        let problem = format!("--on {runner} leaves routes as they are (initcwnd)");
        let fix = "remove it, or run it on sim or uml";
        return refusal(
            "initial_window",
            spec.initial_window.to_string(),
            problem,
            fix,
        );
    }
    None
}

/// Checks a flow's other settings.
fn settings(spec: &Flow) -> Option<Refusal> {
    if let Some(App::OnOff {
        on: On::Size(_), ..
    }) = spec.app
    {
        let problem = "a program gets no notice when all its data is acknowledged";
        let fix = on_sim("give a time, like \"on 2s off 1s\", or requests");
        return refusal("app", "\"on SIZE off …\"", problem, fix);
    }
    if let Some(group) = &spec.group {
        let problem = "each socket is a connection of its own; Multipath TCP is not supported";
        return refusal("group", format!("{group:?}"), problem, on_sim("remove it"));
    }
    if spec.ecn == EcnSetting::Ect1 {
        let problem = "no algorithm that Linux lets a socket choose sends ECT(1)";
        return refusal("ecn", "\"ect1\"", problem, on_sim("use \"ect0\""));
    }
    let equivalent = kernel_equivalent(&spec.cc);
    if spec.ecn == EcnSetting::Ect0
        && spec.ecn_feedback != EcnFeedback::Classic
        && equivalent.is_none_or(|it| !it.both_ends)
    {
        let problem = "without DCTCP the kernel's feedback is classic ECN (RFC 3168)";
        return refusal("ecn", "\"ect0\"", problem, "add ecn_feedback = \"classic\"");
    }
    if spec.pacing == Pacing::Off && paces(&spec.cc) {
        let problem = format!("the kernel's {} always paces", kernel_name(&spec.cc));
        return refusal("pacing", "\"off\"", problem, on_sim("remove it"));
    }
    if spec.stack.cwnd_validation == CwndValidation::Rfc7661 {
        let problem = "Linux does not implement RFC 7661";
        return refusal(
            "cwnd_validation",
            "\"rfc7661\"",
            problem,
            on_sim("use \"linux\""),
        );
    }
    if spec.stack.metrics_cache == MetricsCache::Ssthresh {
        let problem =
            "the runner turns the kernel's cache off, so that runs do not depend on each other";
        return refusal(
            "metrics_cache",
            "\"ssthresh\"",
            problem,
            on_sim("remove it"),
        );
    }
    let (delayed_ack, ack_delay) = (fullpipe_scenario::DELAYED_ACK, fullpipe_scenario::ACK_DELAY);
    let (key, value) = if spec.delayed_ack != delayed_ack {
        ("delayed_ack", spec.delayed_ack.to_string())
    } else if spec.ack_delay != ack_delay {
        ("ack_delay", format!("\"{}\"", spec.ack_delay))
    } else if spec.gro != Span::ZERO {
        ("gro", format!("\"{}\"", spec.gro))
    } else if spec.optimistic_acks != Span::ZERO {
        ("optimistic_acks", format!("\"{}\"", spec.optimistic_acks))
    } else if !KERNELS_SACK_COMPRESSION.contains(&spec.stack.sack_compression) {
        (
            "sack_compression",
            format!("\"{}%\"", spec.stack.sack_compression * 100.0),
        )
    } else {
        return None;
    };
    let problem = "the kernel decides when to acknowledge";
    refusal(key, value, problem, on_sim("remove it"))
}
