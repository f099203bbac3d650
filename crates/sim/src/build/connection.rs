//! The two ends of a connection.

use fullpipe_cc::{AnyController, Descriptor, Shared};
use fullpipe_scenario::{Error, Flow, ReceiveWindow, RtoInRecovery, Scenario, SendBuffer};
use fullpipe_setup::Algorithms;
use fullpipe_tcp::{
    AckPolicy, App, CwndValidation, EcnFeedback, LossDetection, Memory, MetricsCache, Pacing,
    Receiver, Sender, SenderConfig, Stack,
};
use fullpipe_units::{Rng, Span, Time};

use super::host::program;
use crate::flow::AnySender;
use crate::host::SendingHost;

/// Returns a TCP connection that begins at `start`: sender and receiver. Its controller may share
/// the state of its group in `shared`.
pub(crate) fn connection(
    (scenario, shared): (&Scenario, &mut Shared),
    spec: &Flow,
    algorithms: &Algorithms,
    app: App,
    (memory, cache): (Memory, Option<MetricsCache>),
    start: Time,
    from: Time,
) -> (AnySender, Receiver) {
    let mut receiver = receiver(scenario, spec).with_ecn_feedback(feedback(spec));
    if let Some((descriptor, config)) = &algorithms.receiver {
        receiver = receiver.with_controller((descriptor.build)(config));
    }
    let (descriptor, config) = &algorithms.sender;
    let controller = (descriptor.build)(config, shared);
    let mut sender = sender(scenario, spec, (descriptor, controller), app, memory, start);
    if let Some(cache) = cache {
        sender = sender.with_metrics(cache);
    }
    sender.limits().restart(from.max(start));
    let source = match &scenario.host {
        None => AnySender::Tcp(sender),
        Some(host) => {
            let (cpu, costs) = program(scenario, spec, host, "sender's host", start);
            AnySender::Hosted(Box::new(SendingHost::new(sender, cpu, costs)))
        }
    };
    (source, receiver)
}

/// Refuses auto-tuning next to a receiver's algorithm, which the cc may imply.
pub(super) fn check_window(scenario: &Scenario, spec: &Flow) -> Result<(), Error> {
    match spec.receive_window {
        Some(ReceiveWindow::Auto { .. }) => Err(scenario.error(
            &spec.key("receive_window"),
            "\"auto\"",
            "the receiver's algorithm decides the window",
            "give a size, or another cc",
        )),
        Some(ReceiveWindow::Fixed(_)) | None => Ok(()),
    }
}

/// Returns the ECN codepoint of a flow's packets; `None` if the congestion control decides.
pub(super) fn codepoint(ecn: fullpipe_scenario::EcnSetting) -> Option<fullpipe_cc::EcnCodepoint> {
    match ecn {
        fullpipe_scenario::EcnSetting::Auto => None,
        fullpipe_scenario::EcnSetting::Off => Some(fullpipe_cc::EcnCodepoint::NotEct),
        fullpipe_scenario::EcnSetting::Ect0 => Some(fullpipe_cc::EcnCodepoint::Ect0),
        fullpipe_scenario::EcnSetting::Ect1 => Some(fullpipe_cc::EcnCodepoint::Ect1),
    }
}

fn feedback(spec: &Flow) -> EcnFeedback {
    match spec.ecn_feedback {
        fullpipe_scenario::EcnFeedback::Accurate => EcnFeedback::Accurate,
        fullpipe_scenario::EcnFeedback::Classic => EcnFeedback::Classic,
        fullpipe_scenario::EcnFeedback::Dctcp => EcnFeedback::Dctcp,
        fullpipe_scenario::EcnFeedback::Concealed => EcnFeedback::Concealed,
    }
}

fn sender(
    scenario: &Scenario,
    spec: &Flow,
    (descriptor, controller): (&'static Descriptor, AnyController),
    app: App,
    memory: Memory,
    start: Time,
) -> Sender<AnyController> {
    let rng = Rng::stream(scenario.seed, &spec.name, "controller");
    let hosted = scenario.host.is_some();
    let rate_interval = scenario
        .host
        .as_ref()
        .map_or(Span::ZERO, |host| host.rate_interval);
    let config = SenderConfig {
        controller,
        owner: descriptor.recovery,
        app,
        pacing: pacing(spec),
        hosted,
        rate_interval,
        smss: spec.mss,
        initial_cwnd: spec.mss * u64::from(spec.initial_window),
        stack: stack(spec),
        rng,
    };
    Sender::within(memory, config, start)
        .with_ecn(feedback(spec), codepoint(spec.ecn))
        .with_signals(descriptor.needs)
}

pub(super) fn pacing(spec: &Flow) -> Pacing {
    match spec.pacing {
        fullpipe_scenario::Pacing::Auto => Pacing::Auto,
        fullpipe_scenario::Pacing::On => Pacing::On,
        fullpipe_scenario::Pacing::Off => Pacing::Off,
    }
}

pub(super) fn ack_policy(spec: &Flow) -> AckPolicy {
    AckPolicy {
        every: spec.delayed_ack,
        quick: spec.quick_acks,
        delay: spec.ack_delay,
        coalesce: spec.gro,
    }
}

/// Returns the parts of the operating system's TCP that the flow's sender has.
fn stack(spec: &Flow) -> Stack {
    Stack {
        cwnd_validation: match spec.stack.cwnd_validation {
            fullpipe_scenario::CwndValidation::Off => CwndValidation::Off,
            fullpipe_scenario::CwndValidation::Linux => CwndValidation::Linux,
            fullpipe_scenario::CwndValidation::Rfc7661 => CwndValidation::Rfc7661,
        },
        send_buffer: match spec.stack.send_buffer {
            SendBuffer::Unlimited => None,
            SendBuffer::Auto { max } => Some(max),
        },
        tso: spec.stack.tso,
        one_reduction: spec.stack.rto_in_recovery == RtoInRecovery::Keep,
        loss_detection: match spec.stack.loss_detection {
            fullpipe_scenario::LossDetection::Rfc8985 => LossDetection::Rfc8985,
            fullpipe_scenario::LossDetection::Linux => LossDetection::Linux,
        },
    }
}

pub(super) fn receiver(scenario: &Scenario, spec: &Flow) -> Receiver {
    let mut receiver = Receiver::new(ack_policy(spec), scenario.receive_window(spec), spec.mss);
    if spec.stack.ack_policy == fullpipe_scenario::AckPolicy::Linux {
        receiver = receiver.with_linux_acks();
    }
    if spec.stack.sack_compression > 0.0 {
        receiver = receiver.with_sack_compression(spec.stack.sack_compression);
    }
    if spec.optimistic_acks > Span::ZERO {
        receiver = receiver.with_optimistic_acks(spec.optimistic_acks);
    }
    match spec.receive_window {
        Some(ReceiveWindow::Auto { .. }) => receiver.with_auto_tuning(),
        Some(ReceiveWindow::Fixed(_)) | None => receiver,
    }
}
