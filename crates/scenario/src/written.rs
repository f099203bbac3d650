//! A scenario as its keys say it, every default written out.

use std::collections::BTreeMap;

use fullpipe_units::Span;

use crate::app_schedule::AppSchedule;
use crate::choices::{PathKind, Switch};
use crate::expect::Conditions;
use crate::impairment::InOrder;
use crate::kinds::{Algorithm, Delay, Extra, Name, Percent, Whole};
use crate::leaf::{Kind, Leaf};
use crate::model::{self, Value};
use crate::raw::{
    Change, Flow, Host, Link, NamedLink, Path, Quic, Scenario, Tcp, Workload, one_flow,
};
use crate::topology::Route;
use crate::workload::{Load, Text};

impl From<&model::Scenario> for Scenario {
    fn from(scenario: &model::Scenario) -> Scenario {
        Scenario {
            duration: Leaf::of(&scenario.duration),
            measure_from: Leaf::of(&scenario.measure_from),
            seed: Leaf::of(&Whole(scenario.seed)),
            start_jitter: Leaf::of(&scenario.start_jitter),
            send_jitter: Leaf::of(&Delay(scenario.send_jitter)),
            expect: (!scenario.expect.is_empty())
                .then(|| Leaf::of(&Conditions(scenario.expect.clone()))),
            path: Path::from(&scenario.path),
            link: scenario.links().skip(1).map(NamedLink::from).collect(),
            host: scenario.host.as_ref().map(Host::from),
            quic: (scenario.quic != model::Quic::default()).then(|| Quic::from(&scenario.quic)),
            flow: scenario
                .flows
                .iter()
                .map(|flow| Flow::of(flow, scenario))
                .collect(),
            workload: scenario
                .workloads
                .iter()
                .map(|workload| Workload::of(workload, scenario))
                .collect(),
            sweep: None,
        }
    }
}

impl From<&model::Host> for Host {
    fn from(host: &model::Host) -> Host {
        let wake = |of: fn(&model::Wake) -> Span| {
            host.wake.as_ref().map(|wake| Leaf::of(&Delay(of(wake))))
        };
        Host {
            send: Leaf::of(&Delay(host.send)),
            receive: Leaf::of(&Delay(host.receive)),
            ack: Leaf::of(&Delay(host.ack)),
            call: Leaf::of(&Delay(host.call)),
            batch: Leaf::of(&Whole(u64::from(host.batch))),
            rate_interval: Leaf::of(&Delay(host.rate_interval)),
            wake_min: wake(|wake| wake.min),
            wake_median: wake(|wake| wake.median),
            wake_max: wake(|wake| wake.max),
            variation: Leaf::of(&Percent(host.variation)),
        }
    }
}

impl From<&model::Quic> for Quic {
    fn from(quic: &model::Quic) -> Quic {
        let cpu = |cpu: Option<u32>| cpu.map(|cpu| Leaf::of(&Whole(u64::from(cpu))));
        Quic {
            server_cpu: cpu(quic.server_cpu),
            client_cpu: cpu(quic.client_cpu),
            busy_poll: Leaf::of(&Switch(quic.busy_poll)),
        }
    }
}

impl From<&model::Path> for Path {
    fn from(path: &model::Path) -> Path {
        Path {
            profile: None,
            kind: path.loopback.then(|| Leaf::of(&PathKind::Loopback)),
            link: Link::from(&path.link),
            rtt: Leaf::of(&Delay(path.rtt)),
            reverse_loss: Leaf::of(&path.reverse_loss),
            duplicate: Leaf::of(&Percent(path.duplicate)),
            reverse_duplicate: Leaf::of(&Percent(path.reverse_duplicate)),
            wifi: Leaf::of(&path.wifi),
            suspend: Leaf::of(&path.suspend),
            jitter: Leaf::of(&path.jitter),
            reverse_jitter: Leaf::of(&InOrder(path.reverse_jitter.clone())),
            change: path.changes.iter().map(Change::from).collect(),
        }
    }
}

impl From<&model::Link> for Link {
    fn from(link: &model::Link) -> Link {
        Link {
            rate: optional(&Some(link.rate)),
            rate_pattern: optional(&link.rate_pattern),
            buffer: optional(&Some(link.buffer)),
            queue: Leaf::of(&link.queue),
            loss: Leaf::of(&link.loss),
            policer: Leaf::of(&link.policer),
            shaper: Leaf::of(&link.shaper),
            ecn: Leaf::of(&link.ecn),
            ack_filter: Leaf::of(&Switch(link.ack_filter)),
        }
    }
}

impl From<&model::Link> for NamedLink {
    fn from(link: &model::Link) -> NamedLink {
        NamedLink {
            name: Leaf::of(&Name(link.name.clone())),
            link: Link::from(link),
            delay: Leaf::of(&Delay(link.delay)),
        }
    }
}

impl From<&model::Change> for Change {
    fn from(change: &model::Change) -> Change {
        Change {
            at: Leaf::of(&change.at),
            rate: optional(&change.rate),
            rtt: optional(&change.rtt.map(Delay)),
            buffer: optional(&change.buffer),
            loss: optional(&change.loss),
            reverse_loss: optional(&change.reverse_loss),
            duplicate: optional(&change.duplicate.map(Percent)),
            reverse_duplicate: optional(&change.reverse_duplicate.map(Percent)),
            wifi: optional(&change.wifi),
            suspend: optional(&change.suspend),
            policer: optional(&change.policer),
            shaper: optional(&change.shaper),
            jitter: optional(&change.jitter),
            reverse_jitter: optional(&change.reverse_jitter.clone().map(InOrder)),
        }
    }
}

fn optional<T: Kind>(value: &Option<T>) -> Option<Leaf<T>> {
    value.as_ref().map(Leaf::of)
}

fn written(params: &BTreeMap<String, Value>) -> BTreeMap<String, Leaf<Value>> {
    params
        .iter()
        .map(|(name, value)| (name.clone(), Leaf::of(value)))
        .collect()
}

impl Flow {
    fn of(flow: &model::Flow, scenario: &model::Scenario) -> Flow {
        Flow {
            name: Some(Leaf::of(&Name(flow.name.clone()))),
            cc: Leaf::of(&Algorithm(flow.cc.clone())),
            tcp: Tcp::of(flow, scenario),
            start: Leaf::of(&flow.start),
            app: optional(&flow.app),
            bytes: optional(&flow.bytes),
            app_rate: optional(&flow.app_rate),
            app_schedule: (!flow.app_schedule.is_empty())
                .then(|| Leaf::of(&AppSchedule(flow.app_schedule.clone()))),
            rtt: Leaf::of(&Extra(flow.extra_rtt)),
            count: one_flow(),
        }
    }
}

impl Tcp {
    fn of(flow: &model::Flow, scenario: &model::Scenario) -> Tcp {
        let names = |route: &[usize]| {
            Leaf::of(&Route(
                scenario
                    .route(route)
                    .map(|link| link.name.clone())
                    .collect(),
            ))
        };
        Tcp {
            ecn: Leaf::of(&flow.ecn),
            ecn_feedback: Leaf::of(&flow.ecn_feedback),
            route: names(&flow.route),
            reverse_route: names(&flow.reverse_route),
            pacing: Leaf::of(&flow.pacing),
            receiver: flow
                .receiver
                .clone()
                .map(|receiver| Leaf::of(&Name(receiver))),
            receiver_params: written(&flow.receiver_params),
            receive_window: optional(&flow.receive_window),
            delayed_ack: Leaf::of(&Whole(u64::from(flow.delayed_ack))),
            quick_acks: Leaf::of(&Whole(u64::from(flow.quick_acks))),
            ack_delay: Leaf::of(&Delay(flow.ack_delay)),
            gro: Leaf::of(&Delay(flow.gro)),
            params: written(&flow.params),
        }
    }
}

impl Workload {
    fn of(workload: &crate::Workload, scenario: &model::Scenario) -> Workload {
        Workload {
            name: Some(Leaf::of(&Name(workload.flow.name.clone()))),
            source: optional(&workload.source.clone().map(Text)),
            model: Leaf::of(&workload.model),
            load: optional(&workload.load.map(Load)),
            cc: Leaf::of(&Algorithm(workload.flow.cc.clone())),
            tcp: Tcp::of(&workload.flow, scenario),
            start: Leaf::of(&workload.flow.start),
            stop: optional(&workload.stop),
            rtt: Leaf::of(&workload.rtts),
            fingerprint: optional(&workload.fingerprint.clone().map(Text)),
        }
    }
}
