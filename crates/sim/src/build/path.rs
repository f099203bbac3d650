//! Construction of the links that flows share, and of each flow's own path.

use std::collections::{BTreeMap, VecDeque};

use fullpipe_network::Impairments;
use fullpipe_path::Serializer;
use fullpipe_scenario::{Flow, Link, Scenario};
use fullpipe_setup::elements;
use fullpipe_trace::{MeasuredTime, TraceLevel};
use fullpipe_units::{Rng, Span, Time};

use super::host::program;
use crate::flow_path::FlowPath;
use crate::host::ReceivingHost;
use crate::in_flight::InFlight;
use crate::lazy_timer::LazyTimer;
use crate::link::NetworkLink;
use crate::reverse::ReverseHop;

/// Creates a link of the network. The path's propagation delay is part of each flow's
/// [path](flow_path), behind the last link.
pub(super) fn network_link(
    scenario: &Scenario,
    index: usize,
    link: &Link,
    window: MeasuredTime,
    level: TraceLevel,
) -> NetworkLink {
    let accounts = scenario.flows.len() + scenario.workloads.len();
    let any = elements::link(scenario, index);
    let mut link = NetworkLink::new(link, any, window, scenario.path.rtt, accounts);
    if level != TraceLevel::Off {
        link.record_shares(accounts);
    }
    link
}

/// Returns the path between the ends of a flow, with the account in which its packets count.
pub(crate) fn flow_path(scenario: &Scenario, spec: &Flow, account: u32, start: Time) -> FlowPath {
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
        access: Serializer::new(scenario.access_rate()),
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
        datagrams: None,
        received: None,
        account,
        gone: false,
    }
}
