//! From a scenario to a simulation that can begin.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_cc::{Config, Descriptor, Registry};
use fullpipe_network::Impairments;
use fullpipe_path::Serialiser;
use fullpipe_scenario::{Error, On, ReceiveWindow, Scenario};
use fullpipe_tcp::{
    AckPolicy, App, Bursts, Client, Costs, Cpu, Cycle, EcnFeedback, Memory, Messages, Pacing,
    Receiver, SMSS, Schedule, Sender, SenderConfig, Unresponsive, WakeUp,
};
use fullpipe_trace::{FlowMeter, MeasuredTime};
use fullpipe_units::{Bytes, Draw, Rate, Rng, Span, Time};

use crate::arrivals::Workloads;
use crate::engine::Simulation;
use crate::event_queue::{EventKind, EventQueue, FlowKey};
use crate::flow::{AnySender, Flow, Network, Transitions};
use crate::flow_path::FlowPath;
use crate::host::{ReceivingHost, SendingHost};
use crate::in_flight::InFlight;
use crate::lazy_timer::LazyTimer;
use crate::link::NetworkLink;
use crate::observe::Measurement;
use crate::reverse::ReverseHop;
use fullpipe_setup::{Algorithms, choose, elements};
use fullpipe_trace::TraceLevel;

/// So many arriving flows at once the event queue is laid out for.
const UNDER_WAY: usize = 512;

/// An access link is this much faster than the fastest link.
const ACCESS_SPEED: u64 = 10;

pub(crate) fn simulation(
    scenario: &Scenario,
    registry: &Registry,
    level: TraceLevel,
) -> Result<Simulation, Error> {
    let window = MeasuredTime::of_run(scenario.measure_from, scenario.duration);
    let MeasuredTime { from, to: end } = window;
    let mut observer = Measurement::new(level);
    let links = scenario
        .links()
        .enumerate()
        .map(|(index, link)| network_link(scenario, index, link, window))
        .collect();
    let mut network = Network {
        event_queue: EventQueue::new(
            scenario.flows.len()
                + if scenario.workloads.is_empty() {
                    0
                } else {
                    UNDER_WAY
                },
        ),
        links,
        events: 0,
    };

    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (index, spec) in scenario.flows.iter().enumerate() {
        let start = Time::ZERO + scenario.start(spec);
        let (mut group, mut window_group) = (0, None);
        let (source, mut receiver) = match spec.is_unresponsive() {
            true => {
                let ecn = codepoint(spec.ecn).unwrap_or_default();
                let source = Unresponsive::new(constant_rate(scenario, spec)?, ecn, start);
                (AnySender::Unresponsive(source), receiver(scenario, spec))
            }
            false => {
                let algorithms = choose(scenario, spec, registry)?;
                group = declare(&mut groups, &mut observer, algorithms.sender.0);
                if let Some((descriptor, _)) = &algorithms.receiver {
                    check_window(scenario, spec)?;
                    window_group = Some(declare(&mut groups, &mut observer, descriptor));
                }
                connection(
                    scenario,
                    spec,
                    &algorithms,
                    app(scenario, spec),
                    Memory::default(),
                    start,
                    from,
                )
            }
        };
        let (index, key) = (index as u32, FlowKey::new(index as u32, index));
        let mut meter = FlowMeter::new(window, start);
        let mut total = spec.bytes;
        if let Some(fullpipe_scenario::App::Request { size, think }) = spec.app {
            let think_rng = Rng::stream(scenario.seed, &spec.name, "think");
            receiver = receiver.with_client(Client::new(
                messages(scenario, spec, size),
                think,
                think_rng,
                start,
            ));
            meter = meter.with_responses(observer.records());
            total = receiver.expects();
        }
        let path = flow_path(scenario, spec, index, start);
        flows.push(Flow {
            transitions: Transitions {
                flow: index,
                wanted: observer.records(),
                rows: Vec::new(),
            },
            group,
            window_group,
            watched: level == TraceLevel::Acks,
            ..Flow::new(key, (source, receiver), path, meter, total)
        });
        network.event_queue.push(start, EventKind::Start, key, 0);
    }
    let workloads = Workloads::new(scenario, registry, window)?;
    workloads.begin(&mut network.event_queue);
    // Nothing that a short cut lets happen is after the end.
    network.event_queue.push(
        end + Span::from_nanos(1),
        EventKind::Sample,
        FlowKey::other(0),
        0,
    );
    if let Some(interval) = observer.interval() {
        network.event_queue.push(
            Time::ZERO + interval,
            EventKind::Sample,
            FlowKey::other(0),
            0,
        );
    }
    Ok(Simulation {
        scenario: scenario.clone(),
        network,
        flows,
        workloads,
        observer,
        now: Time::ZERO,
        end,
    })
}

/// A TCP connection that begins at `start`: sender and receiver.
pub(crate) fn connection(
    scenario: &Scenario,
    spec: &fullpipe_scenario::Flow,
    algorithms: &Algorithms,
    app: App,
    memory: Memory,
    start: Time,
    from: Time,
) -> (AnySender, Receiver) {
    let mut receiver = receiver(scenario, spec);
    if let Some((descriptor, config)) = &algorithms.receiver {
        receiver = receiver.with_window_controller((descriptor.build)(config));
    }
    let mut sender = sender(scenario, spec, &algorithms.sender, app, memory, start);
    if sender.is_ecn_capable() {
        receiver = receiver.with_ecn_feedback(feedback(spec));
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

/// Refuses auto-tuning beside an algorithm of the receiver, which may come with the cc.
pub(crate) fn check_window(
    scenario: &Scenario,
    spec: &fullpipe_scenario::Flow,
) -> Result<(), Error> {
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

/// The group of trace columns of an algorithm, declared once.
fn declare<'a, Build>(
    groups: &mut BTreeMap<&'a str, usize>,
    observer: &mut Measurement,
    descriptor: &'a Descriptor<Build>,
) -> usize {
    *groups
        .entry(descriptor.name)
        .or_insert_with(|| observer.declare(descriptor))
}

/// A link of the network. The path's propagation delay lies in each flow's [path](flow_path), behind the
/// last link.
fn network_link(
    scenario: &Scenario,
    index: usize,
    link: &fullpipe_scenario::Link,
    window: MeasuredTime,
) -> NetworkLink {
    let accounts = scenario.flows.len() + scenario.workloads.len();
    let any = elements::link(scenario, index);
    NetworkLink::new(link, any, window, scenario.path.rtt, accounts)
}

/// A flow's own link to the network.
fn access_rate(scenario: &Scenario) -> Rate {
    Rate::from_bps(scenario.fastest().as_bps().saturating_mul(ACCESS_SPEED))
}

/// The rate of unresponsive traffic. What its access link can't carry would wait in front of it
/// without end.
fn constant_rate(scenario: &Scenario, spec: &fullpipe_scenario::Flow) -> Result<Rate, Error> {
    let rate = spec
        .app_rate
        .expect("a flow with cc = \"none\" has a rate, or the scenario is refused");
    let most = access_rate(scenario).mul_f64(SMSS.as_f64() / fullpipe_scenario::PACKET.as_f64());
    if rate > most {
        let problem = format!(
            "faster than its access link, which is {ACCESS_SPEED} x the fastest link, headers included"
        );
        return Err(scenario.error(
            &spec.key("app_rate"),
            format_args!("\"{rate}\""),
            problem,
            format!("give at most \"{most}\""),
        ));
    }
    Ok(rate)
}

/// The codepoint that a flow's packets are to have, if it is not for the congestion control to say.
fn codepoint(ecn: fullpipe_scenario::EcnSetting) -> Option<fullpipe_cc::EcnCodepoint> {
    match ecn {
        fullpipe_scenario::EcnSetting::Auto => None,
        fullpipe_scenario::EcnSetting::Off => Some(fullpipe_cc::EcnCodepoint::NotEct),
        fullpipe_scenario::EcnSetting::Ect0 => Some(fullpipe_cc::EcnCodepoint::Ect0),
        fullpipe_scenario::EcnSetting::Ect1 => Some(fullpipe_cc::EcnCodepoint::Ect1),
    }
}

fn feedback(spec: &fullpipe_scenario::Flow) -> EcnFeedback {
    match spec.ecn_feedback {
        fullpipe_scenario::EcnFeedback::Accurate => EcnFeedback::Accurate,
        fullpipe_scenario::EcnFeedback::Classic => EcnFeedback::Classic,
        fullpipe_scenario::EcnFeedback::Dctcp => EcnFeedback::Dctcp,
    }
}

fn sender(
    scenario: &Scenario,
    spec: &fullpipe_scenario::Flow,
    (descriptor, config): &(&'static Descriptor, Config),
    app: App,
    memory: Memory,
    start: Time,
) -> Sender<fullpipe_cc::AnyController> {
    let pacing = match spec.pacing {
        fullpipe_scenario::Pacing::Auto => Pacing::Auto,
        fullpipe_scenario::Pacing::On => Pacing::On,
        fullpipe_scenario::Pacing::Off => Pacing::Off,
    };
    let rng = Rng::stream(scenario.seed, &spec.name, "controller");
    let controller = (descriptor.build)(config);
    let hosted = scenario.host.is_some();
    let rate_interval = scenario
        .host
        .as_ref()
        .map_or(Span::ZERO, |host| host.rate_interval);
    let config = SenderConfig {
        controller,
        owner: descriptor.recovery,
        app,
        pacing,
        hosted,
        rate_interval,
        rng,
    };
    Sender::within(memory, config, start).with_ecn(feedback(spec), codepoint(spec.ecn))
}

fn app(scenario: &Scenario, spec: &fullpipe_scenario::Flow) -> App {
    let pauses = || Rng::stream(scenario.seed, &spec.name, "app pauses");
    match (spec.app, spec.app_rate, spec.bytes) {
        (
            Some(fullpipe_scenario::App::OnOff {
                on: On::Time(on),
                off,
            }),
            rate,
            bytes,
        ) => App::Scheduled(Box::new(Schedule::cycle(
            Cycle::new(on, off, rate, pauses()),
            bytes,
        ))),
        (
            Some(fullpipe_scenario::App::OnOff {
                on: On::Size(size),
                off,
            }),
            ..,
        ) => App::Bursts(Box::new(Bursts::new(
            messages(scenario, spec, size),
            off,
            pauses(),
        ))),
        (Some(fullpipe_scenario::App::Request { size, .. }), ..) => {
            App::Answers(Box::new(messages(scenario, spec, size).with_first()))
        }
        (None, rate, bytes) if !spec.app_schedule.is_empty() => {
            let changes = spec
                .app_schedule
                .iter()
                .map(|(at, rate)| (Time::ZERO + *at, *rate));
            App::Scheduled(Box::new(Schedule::new(rate, changes, bytes)))
        }
        (None, Some(rate), bytes) => App::Paced { rate, bytes },
        (None, None, Some(bytes)) => App::Transfer { bytes },
        (None, None, None) => App::Unlimited,
    }
}

/// The bursts or answers of a flow: the same to whoever writes and whoever waits for them.
fn messages(scenario: &Scenario, spec: &fullpipe_scenario::Flow, sizes: Draw<Bytes>) -> Messages {
    Messages::new(sizes, Rng::stream(scenario.seed, &spec.name, "app"))
}

/// One end's program. Both ends run on machines of one speed.
fn program(
    scenario: &Scenario,
    spec: &fullpipe_scenario::Flow,
    host: &fullpipe_scenario::Host,
    usage: &str,
    start: Time,
) -> (Cpu, Costs) {
    let stream = |usage: &str| Rng::stream(scenario.seed, &spec.name, usage);
    let wake = host.wake.map_or(WakeUp::NONE, |wake| {
        WakeUp::new(wake.min, wake.median, wake.max)
    });
    let factor = 1.0 + host.variation * (2.0 * stream("host's speed").unit() - 1.0);
    let fullpipe_scenario::Host {
        send,
        receive,
        ack,
        call,
        batch,
        ..
    } = *host;
    (
        Cpu::new(wake, stream(usage), start),
        Costs {
            send,
            receive,
            ack,
            call,
            batch,
        }
        .scaled(factor),
    )
}

fn receiver(scenario: &Scenario, spec: &fullpipe_scenario::Flow) -> Receiver {
    let policy = AckPolicy {
        every: spec.delayed_ack,
        quick: spec.quick_acks,
        delay: spec.ack_delay,
        coalesce: spec.gro,
    };
    let receiver = Receiver::new(policy, scenario.receive_window(spec));
    match spec.receive_window {
        Some(ReceiveWindow::Auto { .. }) => receiver.with_auto_tuning(),
        Some(ReceiveWindow::Fixed(_)) | None => receiver,
    }
}

/// What lies between the ends of a flow, and where it is counted.
pub(crate) fn flow_path(
    scenario: &Scenario,
    spec: &fullpipe_scenario::Flow,
    account: u32,
    start: Time,
) -> FlowPath {
    let stream = |usage: &str| Rng::stream(scenario.seed, &spec.name, usage);
    let jitter =
        (scenario.send_jitter > Span::ZERO).then(|| (stream("jitter"), scenario.send_jitter));
    let host = scenario
        .host
        .as_ref()
        .filter(|_| !spec.is_unresponsive())
        .map(|host| {
            let (cpu, costs) = program(scenario, spec, host, "receiver's host", start);
            Box::new(ReceivingHost::new(cpu, costs))
        });
    let losses: Box<[_]> = spec
        .route
        .iter()
        .map(|link| elements::loss(scenario, spec, *link))
        .collect();
    let back = |link: &usize| ReverseHop::new(*link, elements::ack_loss(scenario, spec, *link));
    let reverse_route: Box<[_]> = spec.reverse_route.iter().map(back).collect();
    FlowPath {
        access: Serialiser::new(access_rate(scenario)),
        jitter,
        last_entry: Time::ZERO,
        route: spec.route.iter().copied().collect(),
        in_flights: spec.route.iter().map(|_| InFlight::default()).collect(),
        line: elements::line(scenario, spec),
        reordered: BTreeMap::new(),
        arrivals: LazyTimer::default(),
        impairments: Impairments::new(losses, elements::copies(scenario, spec)),
        acks_in_flight: (0..=reverse_route.len())
            .map(|_| InFlight::default())
            .collect(),
        blocks: (0..=reverse_route.len()).map(|_| VecDeque::new()).collect(),
        reverse_route,
        reverse_line: elements::reverse_line(scenario, spec),
        reverse_impairments: Impairments::new(
            Box::new([elements::reverse_loss(scenario, spec)]),
            elements::reverse_copies(scenario, spec),
        ),
        delayed_ack: LazyTimer::default(),
        host,
        account,
        gone: false,
    }
}
